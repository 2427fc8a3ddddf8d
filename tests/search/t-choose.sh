# ge-schedule: traces by a cost model, for tasks and targets that it knows, and the same bytes each time.
. "$top/tests/lib.sh"
model=$top/tests/search/few.model
few="ge-schedule -q --target x86-64-v3 --model $model"
ge-load >raw.g <<'END'
hone-text 1
module ir=8 opset=17
graph main {
  input x: f32[1,33,27,29]
  input w: f32[40,33,3,3]
  input v: f32[1,40,1,1]
  input a: f32[37,50]
  input b: f32[50,61]
  c = Conv(x, w) {pads=[1,1,1,1]}
  d = Relu(c)
  e = Mul(d, v)
  p = MatMul(a, b)
  q = Softmax(p) {axis=-1}
  output e = e
  output q = q
}
END
ge-shape -q raw.g | ge-fuse -q | ge-layout -q -o laid.g
plain() { ge-dump "$1" | sed 's/ picoseconds=[0-9]*//' | ge-load | ge-stat --digest -; } # the graph without what its kernels take
seconds() { ge-dump "$1" | grep -c '^ .*picoseconds=[1-9][0-9]\{0,2\}0*[ }]'; } # to three digits
traces() { ge-dump "$1" | grep -c '^ .*trace="'; }
ge-schedule --why --target x86-64-v3 --model "$model" laid.g -o s.g 2>why && [ "$(traces s.g)" -ge 1 ] &&
	grep -q "$(traces s.g) of 3 kernels have another schedule than the default one" why && grep -q 'takes another schedule: 0.909 (0.881 to 0.909) of the' why
ok $? "what the model is sure of: $(tail -1 why)"
ge-stat --digest s.g >one && $few s.g | ge-stat --digest - | cmp -s - one
ok $? "twice is once"
cp "$model" other.model && $few laid.g -o again.g && ge-schedule -q --target x86-64-v3 --model other.model laid.g | cmp - again.g && cmp -s s.g again.g
ok $? "the same bytes, wherever the model lies"
$few -j 1 laid.g -o one.g && $few -j 3 laid.g -o three.g && cmp -s one.g three.g && cmp -s one.g again.g
ok $? "the same bytes by one process and by three"
for files in 5 6; do # too few for the pipes
	(ulimit -n $files && $few -j 3 laid.g -o alone.g) && cmp -s one.g alone.g
	ok $? "and where there is no room for so many: $files files open"
done
$few --candidates 1 laid.g -o first.g && is "$(seconds s.g) $(seconds first.g) $(seconds laid.g)" "3 3 0" "each kernel's predicted time"
printf 'hone-text 1\nmodule ir=10 opset=21\ngraph main {\n  input x: f32[1024,2048]\n  input w: f32[2048,4096]\n  y: f32[1024,4096] = MatMul(x, w)\n  output y = y\n}\n' |
	ge-load | ge-fuse -q | ge-layout -q | ge-schedule -q -o long.g && ge-dump long.g | grep -q 'picoseconds=[0-9]\{11,\}' && ge-check -q long.g && ge-plan -q long.g -o planned.g
ok $? "a kernel of many milliseconds"
ge-dump s.g | sed 's/ picoseconds=[0-9]*//' | ge-load | $few -o asked.g - && [ "$(seconds asked.g)" = 3 ] && [ "$(plain asked.g)" = "$(plain s.g)" ]
ok $? "also of a trace that is given"
ge-plan -q --target x86-64-v3 s.g | ge-emit -q --target x86-64-v3 --print-traces - >traces 2>err && [ ! -s err ] &&
	ge-plan -q --target x86-64-v3 laid.g | ge-emit -q --target x86-64-v3 --print-traces - | cmp -s - traces
[ $? = 1 ]
ok $? "ge-emit takes the traces"
# The traces of default schedules, too: the same kernels, and another model has no say any more.
$few --traces laid.g -o every.g && ge-plan -q --target x86-64-v3 every.g | ge-emit -q --target x86-64-v3 --print-traces - | cmp -s - traces
is "$? $(traces every.g) $(seconds every.g)" "0 3 3" "--traces: every group has the one that it gets"
ge-schedule --target x86-64-v3 every.g -o kept.g 2>err && same_graph kept.g every.g && grep -q '^ge-schedule: 3 keep the trace' err
ok $? "and keeps it"
if grep -q avx2 /proc/cpuinfo; then
	ge-plan -q --target x86-64-v3 s.g | ge-emit -q --target x86-64-v3 -o lib - && equal --runs 3 lib.so raw.g
	ok $? "the same numbers"
else
	skip "the same numbers" "no AVX2 here"
fi
ge-stat --digest laid.g >laid
for target in generic x86-64-v4; do # their vectors are shorter, and longer, than those that were learned from
	sed 's/learned lanes .*/learned lanes 112 112/' "$model" >lanes.model
	ge-schedule -q --target $target --model lanes.model laid.g -o unlike.g && plain unlike.g | cmp -s - laid
	ok $? "of targets unlike those it knows, as $target, the model says nothing"
done
sed 's/-12000/-40000/' "$model" >unsure.model
ge-schedule --target x86-64-v3 --model unsure.model laid.g -o unsure.g 2>err && plain unsure.g | cmp -s - laid && grep -q '^ge-schedule: 0 of 3' err
ok $? "members that differ by more than the gain: all stays"
plain first.g | cmp -s - laid
ok $? "--candidates 1: the default"

# The model's schedule of a task was timed here: a record that says it is slower, one that says nothing of the kind.
(
	HONE_TARGET='cpu=eight lanes;features=fma,avx2;l1=32K;l2=512K;l3=8192K' HONE_RATES=/dev/null
	export HONE_TARGET HONE_RATES
	task=$(tune-op -q --tasks laid.g | sed -n 2p)
	target=$(kb -q why "$task" | sed -n 's/^target: //p')
	ge-schedule -q --model "$model" laid.g -o here.g
	trace=$(ge-dump here.g | sed -n '/^  p:/s/.*trace="\([^"]*\)".*/\1/p' | sed 's/\\n/\n\t/g')
	tune-op -q --runner fake --trials 3 --task "$task" | awk -v RS= '/\nkind kernel/ { print; exit }' |
		awk -v trace="$trace" -v target="$target" '/^(record|seal|why|verdict) ?/ { next } /^target / { $0 = "target " target }
			/^trace / { print "trace " trace; skip = 1; next } skip && /^\t/ { next } { skip = 0; print }' >made
	tune-op -q --runner fake --trials 1 --only MatMul --kb first here.g -o first.g
	kb dump --kb first | awk -v RS= '/\ntrial 1\n/' | awk '/^trace / { on = 1; sub(/^trace /, "") } on && !/^(# trace|\t)/ { on = 0 } on' >second
	printf '%s\n' "$trace" >model.trace
	for verdict in slower wrong tie; do
		{ echo record && cat made && printf 'verdict %s\n\n' $verdict; } | kb -q --kb $verdict put --here
		ge-schedule --why --model "$model" --kb $verdict laid.g -o $verdict.g 2>$verdict.why
		traces $verdict.g
	done >counts
)
is "$(echo $(cat counts)) $(grep -c 'keeps the default schedule: by record .* the model.s choice is slower' slower.why)" "2 2 3 1" "a model's choice that was slower when timed, or wrong: the default stays"
[ -s second ] && cmp model.trace second >err
ok $? "a search tries first what a build takes"

ge-load >open.g <<'END'
hone-text 1
module ir=8 opset=17
symbol n 1 inf
graph main {
  input x: f32[n,64]
  input w: f32[64,48]
  y = MatMul(x, w)
  output y = y
}
END
ge-shape -q open.g | ge-fuse -q | ge-layout -q -o openl.g && ge-schedule --why --target x86-64-v3 --model "$model" openl.g -o opens.g 2>why &&
	grep -q 'left as it is: no task: ' why && [ "$(traces opens.g)" = 0 ]
ok $? "sizes that vary: $(head -1 why)"

awk 'BEGIN { n = 150; print "hone-text 1\nmodule ir=8 opset=17\ngraph main {"
	for (i = 0; i < n; i++) printf "  input x%d: f32[16,%d]\n  input w%d: f32[%d,32]\n", i, 16 + i, i, 16 + i
	for (i = 0; i < n; i++) printf "  y%d = MatMul(x%d, w%d)\n", i, i, i
	for (i = 0; i < n; i++) printf "  output y%d = y%d\n", i, i
	print "}" }' | ge-load | ge-shape -q | ge-fuse -q | ge-layout -q -o wide.g
ge-schedule --why --candidates 2 --target x86-64-v3 --model "$model" wide.g -o wides.g 2>why
is "$(grep -c 'less work' why) $(grep 'less work' why | grep -c 'main/y[0-9] ')" "22 10" "many tasks: those with most work"

hone passes -q --target x86-64-v3 --model "$model" --until schedule raw.g | ge-stat --digest - | cmp -s - one
ok $? "hone passes --model"
hone passes -q --target x86-64-v3 --model none --until schedule raw.g -o one.g && plain one.g | cmp -s - laid && [ "$(seconds one.g)" = 3 ] &&
	hone passes -q --target x86-64-v3 --model "$model" --threads 2 --until schedule raw.g -o two.g && same_graph one.g two.g
ok $? "none, and several threads: the default"

# Records: one that was measured here decides; one of elsewhere waits for hone tune.
if grep -q avx2 /proc/cpuinfo; then
	HONE_KB=$PWD/timed tune-op -q --runner 'run-dev --serve --target x86-64-v3' --trials 3 --only MatMul laid.g -o tuned.g
	kb dump --kb timed | twice_as_fast '\ntrace # trace.*\nverdict (slower|faster|tie|unsure)' >better && [ -s better ] &&
		kb put -q --here --kb ours <better && kb put -q --kb others <better
	prepared $? "a record"
	ge-schedule --kb ours --model "$model" --target x86-64-v3 --why laid.g -o r.g 2>why && grep -q 'record [0-9a-f]*: 0.5 of the default' why &&
		grep -q '^ge-schedule: 1 have the schedule that was measured to be faster' why
	ok $? "a record of this machine decides"
	kb apply -q --kb ours --target x86-64-v3 laid.g | ge-dump | grep -o 'trace="[^"]*"' >applied && [ -s applied ] && ge-dump r.g | grep -qFf applied
	ok $? "the trace that kb apply gives"
	ge-schedule --model "$model" --kb others --target x86-64-v3 laid.g -o o.g 2>err && grep -q 'not measured here; hone tune times' err && same_graph o.g s.g
	ok $? "one of elsewhere does not: $(tail -1 err)"
	HONE_KB=$PWD/ours ge-schedule --model "$model" -q --target x86-64-v3 laid.g -o h.g && same_graph h.g r.g &&
		HONE_KB=$PWD/ours ge-schedule --model "$model" -q --no-kb --target x86-64-v3 laid.g -o n.g && same_graph n.g o.g && ! same_graph r.g o.g
	ok $? "HONE_KB, and --no-kb"
	hone passes -q --model "$model" --kb ours --target x86-64-v3 --until schedule raw.g | ge-stat --digest - >d && ge-stat --digest r.g | cmp -s - d &&
		HONE_KB=$PWD/ours hone passes -q --model "$model" --no-kb --target x86-64-v3 --until schedule raw.g | ge-stat --digest - >d && ge-stat --digest o.g | cmp -s - d
	ok $? "hone --kb, --no-kb"
else
	skip "records" "no AVX2 here"
fi
refused 66 none.kb "a knowledge base that is not there" ge-schedule --kb none.kb laid.g
refused 64 --no-kb "both options" ge-schedule --kb ours --no-kb laid.g

refused 66 none.model "a model that is not there" ge-schedule --model none.model laid.g
refused 65 laid.g:1 "a model that is none" ge-schedule --model laid.g laid.g
head -9 "$model" >cut.model
refused 65 cut.model:9 "a model that is cut" ge-schedule --model cut.model laid.g
refused 64 nowhere "no such target" ge-schedule --model "$model" --target nowhere laid.g
refused 64 --candidates "no candidates" ge-schedule --model "$model" --candidates 0 laid.g
done_testing
