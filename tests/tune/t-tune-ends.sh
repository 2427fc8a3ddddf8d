# tune-op and those beside it: readers that go away, runners that fail, what a model came with.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
fake="--runner fake --trials 12"
hone passes -q --set batch=1 --until layout "$model" -o m.g

# Where the report goes.
tune-op --quiet $fake --kb kb1 m.g -o want.g
tune-op $fake --kb kb2 --json m.g -o closed.g 2>err | true
cmp want.g closed.g && ! ls closed.g.* 2>/dev/null
ok $? "nobody reads the report: the graph is there, and nothing else"
tune-op $fake --kb kb3 m.g -o - 2>err | ge-stat --digest >digest && [ -s digest ] && ge-stat --digest want.g | cmp - digest
ok $? "-o -: the graph alone goes to standard output"
ge-import "$model" | tune-op --tasks --json >none && [ "$(cat none)" = "[]" ]
ok $? "--tasks --json of a model without tasks"
ge-import "$model" | ge-shape | ge-simplify | ge-fold | ge-fuse | ge-layout | tune-op --tasks 2>err >none && [ ! -s none ] &&
	[ "$(grep -c 'no task: .*f32\[batch,1,8,8\]' err)" = 1 ] && ge-import "$model" | tune-op $fake --kb kb1 -o none.g 2>err >none && grep -q 'no task: no node is a group' err
ok $? "no task: it says why"
tune-op --runner fake --trials 0 --kb kb9 m.g -o none.g 2>err >none && [ -s none.g ] && ! ls kb9* 2>/dev/null
ok $? "--trials 0 makes no knowledge base"
ends() { sed -n 's/.*"curve": \[\([^]]*\)\].*/\1/p' "$1" | sed 's/.*, //'; }
tune-op $fake --quiet --kb kb10 --json m.g -o none.g >first && tune-op $fake --quiet --kb kb10 --json --report again.html m.g -o none.g >again
[ "$(ends first | grep -c '^0')" -ge 2 ] && [ "$(ends first)" = "$(ends again)" ] && grep -q 'Best so far, by trial' again.html
ok $? "with nothing left to do it draws the curves of before"

# A model that has been tuned before.
kb dump --kb kb1 | twice_as_fast '\nverdict slower.*\ntask Gemm|\ntask Gemm.*\nverdict slower' >worse
[ -s worse ] && kb put --quiet --kb lies <worse && kb apply --kb lies --target fake m.g -o given.g && ge-dump given.g | grep -q 'trace="# trace'
ok $? "a model that comes with a trace"
HONE_KB=$PWD/kb4 tune-op $fake --json --trials 40 --only Gemm given.g -o dropped.g >report 2>err
if grep -q '"verdict": "default"' report; then ! ge-dump dropped.g | grep -q 'trace="# trace'; else ge-dump dropped.g | grep -q 'trace="# trace'; fi
ok $? "what it came with is dropped where the default is faster, and replaced where another is"
kb put --here --quiet --kb kb4b <worse && tune-op --kb kb4b --quiet $fake --rotation 16 --only Gemm m.g -o so.g --json >report 2>err && ! grep -q '"ratio": 0\.5[^0-9]' report &&
	tune-op --kb kb4b --quiet $fake --rotation 16 --trials 0 --only Gemm m.g -o so.g --json >report 2>err && [ -s report ] && ! grep -q '"ratio": 0\.5[^0-9]' report
ok $? "a record with other cold weights says nothing against what was timed with these (--rotation, as they were called)"
kb put --here --quiet --kb kb4c <worse && tune-op --kb kb4c --quiet $fake --rotation 16 --trials 0 --only Gemm m.g -o so.g --json 2>err | grep -q '"ratio": 0.5'
ok $? "but it is better than none"

# Runners.
tune-op --kb kb5 --quiet --trials 2 --only Gemm --runner 'ulimit -f 16; exec run-dev --serve' --runner 'run-dev --serve' m.g -o two.g --json >report 2>err &&
	grep -q '"trials": 2' report && ! grep -q 'not tuned.*File size' report
ok $? "one of two runners cannot build: the other does"
tune-op --kb kb5c --quiet --trials 1 --only Gemm --runner run-dev m.g -o plain.g --json 2>err | grep -q '"trials": 1'
ok $? "run-dev alone, between programs, serves"
tune-op --kb kb5b --quiet --trials 2 --only Gemm --runner 'ulimit -f 16; exec run-dev --serve' m.g -o none.g --json 2>err | grep -q 'File too large'
ok $? "no runner can build: the report says why"
tune-op --kb kb6 --quiet --seconds 14 --only Conv m.g -o stalled.g >report 2>err &
tuner=$!
# Until it has become the runner, the runner's process has the name of the tuner, too.
for i in $(seq 100); do
	sleep 0.1
	store=$(pgrep -P $tuner tune-op)
	[ "$i" -ge 10 ] && [ "$(printf '%s\n' "$store" | grep -c .)" = 1 ] && break
done
kill -STOP "$store" && sleep 11 && kill -CONT "$store" && wait $tuner && [ -s stalled.g ] && ! grep -q 'said nothing' err
ok $? "what the runner said while the knowledge base stood still is not silence"
from=$(date +%s)
timeout -s TERM 1 tune-op --kb kb7 --runner "exec sleep 29.$$" m.g -o unanswered.g 2>err
[ $? = 124 ] && [ $(($(date +%s) - from)) -le 10 ] && ! pgrep -f "sleep 29.$$" && [ ! -e unanswered.g ]
ok $? "interrupted before a runner has answered: it ends, with the runner"
if has_terminal; then
	(sleep 1; echo secret; sleep 3) | script -qec "tune-op --kb kb8 --quiet --trials 1 --only Gemm --runner 'read a </dev/tty; echo \$a >asked; exec run-dev --serve' m.g -o asked.g" /dev/null >/dev/null
	[ "$(cat asked)" = secret ] && [ -s asked.g ]
	ok $? "a runner that asks for a password on the terminal"
else
	skip "a runner that asks on the terminal" "no script, or no terminals"
fi
done_testing
