# tune-op on the fake runner: the loop, what it keeps, going on after a kill, bad input.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
export HONE_KB=$PWD/kb
fake="--quiet --runner fake --trials 12"

hone passes -q --set batch=1 --until layout "$model" -o m.g

# What is done with a model.
tune-op $fake m.g -o tuned.g --why 2>why && [ -s tuned.g ]
ok $? "a model is tuned"
[ "$(grep -c "of the default's time" why)" -ge 3 ]
ok $? "--why says what was faster"
ge-dump tuned.g | grep -q 'trace="# trace 1 '
ok $? "the traces are on the nodes"
ge-plan --quiet tuned.g | ge-emit -o digits && equal digits.so m.g
ok $? "what is compiled with them computes the same"
kb dump --kb kb >one
tune-op $fake m.g -o again.g && cmp tuned.g again.g && kb dump --kb kb | cmp - one
ok $? "again: the same result, nothing is timed"
HONE_KB=$PWD/kb2 tune-op $fake --runner fake --runner fake m.g -o other.g && cmp tuned.g other.g && kb dump --kb kb2 | cmp - one
ok $? "three runners: the same result, the same records"
HONE_KB=$PWD/kb3 tune-op $fake --seed 2 m.g -o other.g && kb dump --kb kb3 | grep -q -e '--seed=2' && ! cmp -s tuned.g other.g
ok $? "another seed, another way"

# Tasks apart from a model.
tune-op --tasks m.g >tasks
[ "$(wc -l <tasks)" = 6 ] && [ "$(tune-op --tasks --only Conv m.g | wc -l)" = 3 ] && [ "$(tune-op --tasks --skip Conv m.g | wc -l)" = 3 ]
ok $? "--tasks, --only and --skip by type"
digest=$(tune-op --tasks --json m.g | sed -n '2s/.*"digest": "\([0-9a-f]*\)".*/\1/p')
[ -s tasks ] && [ "$(tune-op --tasks --only "$digest" m.g)" = "$(sed -n 2p tasks)" ] && [ "$(tune-op --tasks --only '*Gemm' m.g)" = "$(grep ^Gemm tasks)" ]
ok $? "--only by digest and by name"
while read -r task; do HONE_KB=$PWD/none tune-op $fake --task "$task" || echo failed; done <tasks >records
kb put --kb kb4 <records >/dev/null && ! grep -q failed records
HONE_KB=$PWD/kb4 tune-op $fake --trials 0 m.g -o four.g 2>err && [ "$(ge-dump four.g | grep -c 'trace="# trace')" -ge 3 ]
ok $? "--task by --task, kb put, and the model takes them"
tune-op $fake --task 'MatMul f32 128x768 768x768c' --trials 4 | grep -q '^task MatMul f32 128x768 768x768c$'
ok $? "a task that people wrote"
tune-op --dump files m.g && [ "$(ls files/*.task | wc -l)" = 6 ] && cmp files/tasks.txt tasks && run-ref "files/$digest.g" -o y.npz && [ -s "files/$digest.c" ]
ok $? "--dump: files that stand alone"

# A model whose constants leave the second level: single tasks are timed as it is, where --tasks said so.
{
	printf 'hone-text 1\nmodule ir=8 opset=17\nconst w = f32[1200,1800] ['
	awk 'BEGIN { for (i = 0; i < 1200 * 1800; i++) printf i ? ",%d" : "%d", i % 7 }'
	printf ']\ngraph main {\n  input x: f32[3,1200]\n  y = MatMul(x, @w)\n  output y = y\n}\n'
} | ge-load | ge-shape | ge-simplify | ge-fuse | ge-layout -o large.g
tune-op --tasks m.g 2>err >/dev/null && [ ! -s err ] && tune-op --tasks large.g 2>err >task && grep -q -e '--cold-weights=16 ' err
ok $? "--tasks says what constants a tuning goes through, where they are many"
tune-op $fake --cold-weights 16 --kb kblarge --task "$(cat task)" | kb put --quiet --kb kblarge && tune-op --runner fake --trials 12 --kb kblarge large.g 2>err >none &&
	grep -q ' 0 trials timed, [1-9][0-9]* known before' err
ok $? "then they are measurements of the model's tuning"

# A record of a shape, and tasks of others, on a machine that is written out, so that the cost model says the same everywhere. The
# record's schedule is the default but for one decision, which the cost model prefers; or it is the default, which promises nothing.
product() { echo "MatMul f32 $1x256 256x256c"; }
elsewhere() { HONE_TARGET='cpu=two levels of cache, SSE2;features=;l1=32K;l2=512K;l3=8192K' HONE_RATES=/dev/null tune-op --quiet --runner fake "$@"; }
elsewhere --trials 1 --kb kb10 --task "$(product 128)" >timed
elsewhere --dump near --task "$(product 128)" && mv near/*.trace usual
sed 's/^unroll = \(.*\) := 1$/unroll = \1 := 8\nunroll matmul.k unroll/' usual >unrolled
for which in unrolled usual; do
	{
		sed -n '1s/.*/record/; /^against/s/ .*/ default/; /^\(record\|against\|base\|kind\|session\|stages\|target\|task\|tool\)/p; /^$/q' timed
		printf '%s\n' 'ratio 0.5' 'lo 0.49' 'hi 0.51' 'mean 0.5' 'remeasurements 3' 'verdict faster' "trace $(sed '2,$s/^/\t/' $which)" ''
	} | kb put --here --quiet --kb kb-$which
	for rows in 64 96 100 120; do elsewhere --trials 0 --kb kb-$which --task "$(product $rows)" --why; done >none 2>why-$which
done
[ "$(diff usual unrolled | grep -c '^[<>]')" = 3 ] && [ ! -s none ] && [ "$(grep -c "(Fused): not timed: the trace of $(product 128) .*adapted; expected 0\." why-unrolled)" = 4 ]
ok $? "shapes that were not tuned take the nearest one's trace"
[ "$(grep -c '(Fused): not tuned: --trials 0' why-usual)" = 4 ] && kb dump --kb kb-usual | grep -q '^ratio 0.5'
ok $? "but not one that promises nothing"

# The same records, as if the default had been another one then: none of their ratios is to this one.
sed 's/^record .*/record/; s/^base .*/base 0123456789abcdef0123456789abcdef/' one | kb load --here --quiet --kb kbold
tune-op --runner fake --kb kbold --trials 0 m.g -o older.g --why 2>err
[ "$(grep -c 'not timed: record.*of a default of an older version' err)" -ge 3 ] && cp kbold kbold2 &&
	tune-op $fake --kb kbold2 m.g -o other.g && kb dump --kb kbold2 | grep -q '^base [^0]'
ok $? "an older default's ratios are not today's: said, and timed again"
here=$(kb why --kb kbold "$(sed -n 1p tasks)" | sed -n 's/^target: //p')
sed 's/^record .*/record/; s/^base .*/base 0123456789abcdef0123456789abcdef/; s/^target .*/target HERE/' one | replaced HERE "$here" | kb load --quiet --kb kbhere
kb apply --kb kbhere m.g -o other.g 2>err && grep -q 'timed against a default of an older version' err
ok $? "kb apply says so too"

# A real runner: whole numbers are compared as what they are, and rounding does not grow along a recurrence.
for task in 'ArgMax{axis=1} f32 8x17' 'LSTM{hidden_size=128} f32 60x1x8 1x512x8c 1x512x128c'; do
	tune-op --quiet --trials 2 --seconds 100 --kb nokb --task "$task" >records && [ "$(grep -c '^verdict' records)" -ge 2 ] && ! grep -q '^verdict wrong' records
	ok $? "what is right is not called wrong: ${task%%\{*} $(grep '^why' records | head -1)"
done

# Strategies and limits.
for s in random grid genetic descent bayes; do
	HONE_KB=$PWD/kb-$s tune-op $fake --strategy $s --trials 8 --scheduler round --only "$digest" m.g -o $s.g && [ "$(kb dump --kb kb-$s | grep -c '^kind search')" = 1 ]
	ok $? "--strategy $s"
done
# As much time as it takes here and now.
for seconds in 6 24 96; do
	rm -f kb5*
	HONE_KB=$PWD/kb5 tune-op --runner fake --seconds $seconds m.g -o sec.g >table 2>err || break
	[ "$(kb dump --kb kb5 | grep -c '^against default')" = 0 ] || break
done
[ -s sec.g ] && [ "$(kb dump --kb kb5 | grep -c '^against default')" -ge 1 ]
ok $? "--seconds: what was best is confirmed"
awk -v seconds=$seconds '$2 == "s:" { used = $1 } END { exit !(used >= 0.9 * seconds) }' table
ok $? "and what that leaves of the time goes to the searches"

# Killed, and interrupted.
within env KILLS=4 TRIALS=12 sh "$top/tests/soak/tune.sh"
recorded() { # KB: waits until it has a record of a measurement, or who measures has ended
	for i in $(seq 1000); do
		kb dump --kb "$1" 2>/dev/null | grep -q '^kind kernel' && return
		grep -q '^State:.[^Z]' /proc/$!/status 2>/dev/null || break
		sleep 0.1
	done
	return 1
}
HONE_KB=$PWD/kb6 env --default-signal=INT tune-op --runner fake --trials 12 m.g -o int.g 2>err >/dev/null &
recorded kb6 && kill -INT $! && wait $!
code=$?
[ $code = 0 ] && ge-check int.g && grep -q 'same command again goes on' err
ok $? "interrupted: the best so far, and how to go on"
HONE_KB=$PWD/kb6 tune-op $fake m.g -o int.g && cmp int.g tuned.g && kb dump --kb kb6 | cmp - one
ok $? "and going on ends where it would have"
while read -r task; do
	rm -f kbrest && awk -v RS= -v ORS='\n\n' -v t="task $task" '!index($0 "\n", "\n" t "\n")' one | kb put --quiet --kb kbrest
	HONE_KB=$PWD/kbrest tune-op $fake m.g -o rest.g && cmp tuned.g rest.g && kb dump --kb kbrest | cmp - one || echo differ
done >rest <<END
$(sed -n '1p;$p' tasks)
END
[ -s tasks ] && [ ! -s rest ]
ok $? "also where all other tasks are done: $(cat rest)"

# Late remeasurements: what they say of the choice counts, and where they take it back another is chosen, or the default.
task=$(awk -v RS= -v FS='\n' '/\nremeasurement 2\n/ && /\nagainst default\n/ { for (i = 1; i <= NF; i++) if ($i ~ /^task /) { print $i; exit } }' one)
edit() { # the late remeasurements of that task, said to have had this ratio; without what says that it is done
	awk -v RS= -v ORS='\n\n' -v t="\n$task\n" -v ratio="$1" '
		index($0 "\n", t) && /\nkind search\n/ { next }
		index($0 "\n", t) && /\nagainst default\n/ && /\nremeasurement [1-4]\n/ {
			if (!ratio) next
			sub(/\nratio [^\n]*/, "\nratio " ratio); sub(/\nlo [^\n]*/, "\nlo " ratio); sub(/\nhi [^\n]*/, "\nhi " ratio)
			sub(/\nverdict [^\n]*/, "\nverdict slower"); sub(/\nmean [^\n]*/, "\nmean 1.1")
		}
		{ print }' one | sed 's/^record .*/record/'
}
edit "" >without && edit 3 >slower && rm -f kbl1* kbl2*
kb put --quiet --kb kbl1 <without && kb put --here --quiet --kb kbl2 <slower
HONE_KB=$PWD/kbl1 tune-op $fake m.g -o late1.g && cmp late1.g tuned.g && kb dump --kb kbl1 | cmp - one
ok $? "late remeasurements, taken when all else was done: the same"
HONE_KB=$PWD/kbl2 tune-op $fake m.g -o late2.g && [ -s late2.g ] && ! cmp -s late2.g tuned.g
ok $? "late remeasurements that are slow: the choice is taken back"

HONE_KB=$PWD/kb tune-op --runner fake --seconds 0.001 m.g -o cut.g >table 2>err
same_graph cut.g tuned.g && grep -q 'counted are the 6 timed ones' table && ! grep -q ' 0$\|nearest' table
ok $? "a search for which there was no time: what is known stands"

# Faults.
tune-op $fake --only nothing m.g -o never.g 2>err
[ $? = 64 ] && grep -q 'only=nothing' err && [ ! -e never.g ]
ok $? "--only that fits nothing: 64"
tune-op $fake --strategy best m.g -o never.g 2>err
[ $? = 64 ] && grep -q 'bayes, descent, genetic, grid, random' err
ok $? "--strategy: the names there are"
tune-op --task 'MatMul f32 2x' 2>err
[ $? = 65 ] && grep -q 'statement 0' err
ok $? "a task that is none: 65, the statement is named"
tune-op --runner 'exit 3' m.g -o never.g 2>err
[ $? = 69 ] && grep -q 'exit 3' err && [ ! -e never.g ]
ok $? "a runner that cannot be had: 69, named"
tune-op --runner "printf '\\011\\000\\000\\000\\223\\000\\245hello\\177'; sleep 1" m.g -o never.g 2>err
[ $? = 69 ] && grep -q 'hello.*version 127' err
ok $? "a runner of another version: 69, named"
HONE_KB=$PWD/kb8 tune-op --only "$digest" --trials 8 --runner 'run-dev --serve' --runner 'echo $$ >second.pid; exec run-dev --serve' m.g -o real.g 2>err >/dev/null &
recorded kb8 && kill -KILL "$(cat second.pid)" && wait $!
[ $? = 0 ] && grep -q 'second.pid.*the others go on' err && [ "$(kb dump --kb kb8 | grep -c '^kind search')" = 1 ]
ok $? "a runner that is killed: the other finishes"
HONE_KB=$PWD/kb9 tune-op --seconds 200 --runner 'echo $$ >runner.pid; exec run-dev --serve' m.g -o never.g 2>err &
recorded kb9 && kill -KILL "$(cat runner.pid)" && wait $!
[ $? = 69 ] && grep -q 'echo $$ >runner.pid; exec run-dev' err && [ ! -e never.g ] && [ "$(kb dump --kb kb9 | grep -c ^record)" -ge 1 ]
code=$?
ok $code "the only one is killed: 69, named, what was measured is kept"
tune-op $fake "$model" -o never.g 2>err
[ $? = 65 ]
ok $? "not a stream: 65"
# Quotients of differences: where a rounding would change them, operands are others.
tune-op -q --trials 1 --task 'Mul f32 65536 65536; Sub %0 65536; Reciprocal %1' >records 2>err && grep -q '^verdict' records && ! grep '^verdict wrong' records
ok $? "results that a rounding changes much are not judged"
done_testing
