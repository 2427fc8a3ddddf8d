# tune-op --trace: a schedule of one's own against the default one.
. "$top/tests/lib.sh"
printf 'hone-text 1\nmodule ir=10 opset=20\ngraph main {\n  input x: f32[64,96]\n  input w: f32[96,64]\n  y = MatMul(x, w) "product"\n  z = Relu(y)\n  s = Softmax(z) "soft"\n  output s = s\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-layout -o m.g
tune-op --dump tasks --only product m.g 2>err
trace=$(ls tasks/*.trace)
tune-op --trace "$trace" --only product --seconds 0.2 m.g >out 2>err
is "$? $(wc -l <out) $(grep -c '^default [0-9.]* us, tasks/[0-9a-f]*\.trace [0-9.]* us: [0-9.]* ([0-9.]* \.\. [0-9.]*) of its time, [a-z]*, [0-9]* pairs$' out)" "0 2 1" "the default's own trace" || cat out err
: >plain.trace
tune-op --trace plain.trace --task "$(cat tasks/*.task)" --seconds 0.2 --json >out 2>err && grep -q '"verdict": "slower"' out && grep -q '"ratio": [1-9]' out
ok $? "plain loops are slower; of a task's text, as JSON" || cat out err
sed 's/^unroll .*/unroll nosuch.loop/' "$trace" >other.trace
refused 65 'other.trace: line' "a loop that is not there" tune-op --trace other.trace --only product m.g
refused 66 none.trace "no such trace" tune-op --trace none.trace --only product m.g
refused 64 'not for 2' "several tasks" tune-op --trace "$trace" m.g
refused 64 '--trace times one task' "with a place for a graph" tune-op --trace "$trace" --only product m.g -o x.g
tune-op --runner fake --trace "$trace" --only product m.g >out 2>err
is "$? $(grep -c ': 1\.000 (.*) of its time, tie, ' out)" "0 1" "by a runner, which says what it is for" || cat out err
done_testing
