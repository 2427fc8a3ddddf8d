# Native steps: operators without stages whose C the library carries along. They are counted apart, need no evaluator, and fail as a
# step does.
. "$top/tests/lib.sh"
passes() { ge-shape "$@" | ge-simplify | ge-fold | ge-fuse | ge-layout; }

# Two of them between convolutions, one with a constant operand, and one that has two readers.
cat >mix.txt <<'END'
hone-text 1
module ir=8 opset=28
const w1 = f32[4,3,1,1] [.1, .2, .3, -.1, .5, .6, .7, -.8, .9, 1, -1.1, 1.2]
const w2 = f32[2,4,1,1] [.1, .2, .3, -.4, .5, -.6, .7, .8]
const at = f32[1,2,2,2] [-.9, -.7, .2, .3, .5, 1.5, -2, 3]
graph main {
  input x: f32[1,3,6,6]
  input grid: f32[1,5,4,2]
  c = Conv(x, @w1) "conv1"
  r = GridSample(c, grid) {mode="cubic" padding_mode="reflection"} "bend"
  d = Conv(r, @w2) "conv2"
  s = GridSample(d, @at) {align_corners=1} "pick"
  t = Tanh(s) "tanh"
  output s = s
  output t = t
}
END
ge-load mix.txt | passes >mix.g && ge-plan mix.g -o planned.g 2>report &&
	grep -Eq '^ge-plan: 2 of [0-9]+ steps native: bend \(GridSample\), pick \(GridSample\)$' report && ! grep -q 'slow path' report
ok $? "ge-plan names the native steps"
[ "$(ge-dump planned.g | grep -c '^  [cdrs]: f32[[0-9,]*] = hone.Fused')" = 4 ]
ok $? "their operands are row-major"
{
	printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x0: f32[1,5,4,2]\n  input grid: f32[1,4,2,2]\n'
	for i in 1 2 3 4 5; do echo "  x$i = GridSample(x0, grid) {align_corners=$((i % 2))} \"bend$i\""; done
	for i in 1 2 3 4 5; do echo "  output x$i = x$i"; done
	echo '}'
} | ge-load | passes >many.g && ge-plan --why many.g -o /dev/null 2>report
[ "$(grep ' steps native: ' report)" = "ge-plan: 5 of 5 steps native: bend1 (GridSample), bend2 (GridSample), bend3 (GridSample) and 2 more (ge-plan --why names all)" ] &&
	[ "$(grep -c 'bend[1-5].*: native: ' report)" = 5 ]
ok $? "of many it names a few, and --why all" || cat report
ge-plan --quiet planned.g -o twice.g && same_graph planned.g twice.g
ok $? "a plan twice is a plan once"
ge-emit --quiet --no-fallback planned.g -o mix && equal --runs 4 --change 0.1 mix.so mix.g
ok $? "the library gives the evaluator's numbers, and is no fallback"
[ "$(grep -c '^NATIVE const char \*native_GridSample(struct native \*n)$' mix.c)" = 1 ] && grep -q "^#define OPAQUE_BYTES 0$" mix.c
ok $? "its text has the function once, and no evaluator"
ge-emit --embed --quiet planned.g -o inside && equal inside.so mix.g
ok $? "the same with weights inside"
[ -s mix.so ] && { [ -n "${ASAN_OPTIONS-}" ] || [ "$(nm -D --defined-only mix.so | awk '$3 !~ /^(mix_|hone_model$)/' | wc -l)" = 0 ]; }
ok $? "the functions show nowhere"
${CC:-cc} $(sed -n 's/.*Compile with: //p' mix.c | head -1) -Wall -Wno-unused-function -Werror -c mix.c -o mix.o
ok $? "the C file compiles in one piece"
run-dev mix.so --bench --kernels --seconds 0.1 >out && [ "$(grep -c '^native .* (native)$' out)" = 2 ] && ! grep -q '(slow path)' out
ok $? "run-dev --kernels marks the steps"
run-dev mix.so --bench --kernels --seconds 0.1 --json >out && [ "$(grep -o '"slow_path":false,"native":true' out | wc -l)" = 2 ]
ok $? "so does its JSON"
[ "$(ge-emit --report planned.g 2>err | grep -c '^native  *2 ')" = 1 ]
ok $? "ge-emit --report counts them"
ge-export mix.g -o mix.onnx && hone build --no-fallback mix.onnx -o built >out 2>err && grep -q '2 of .* steps native: bend' out && equal built.so mix.onnx
ok $? "hone build reports them"
for name in native native_run grid GRID_taps; do
	ge-emit --quiet --no-compile planned.g -o $name && grep -q "^typedef struct model_$name model_$name;" $name.h || echo $name
done >bad
nothing "models with names of theirs" "$(cat bad)"

# Indices are looked at where the result is known to have no element, too.
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[5,0]\n  input i: i64[3]\n  input c: f32[2,4,0]\n  input u: f32[2,1,0]\n  input w: i64[2]\n  y = Gather(x, i)\n  z = TensorScatter(c, u, w)\n  output y = y\n  output z = z\n}\n' | ge-load -o none.g
hone passes -q --until plan none.g -o nothing.g && ge-emit -q nothing.g -o nothing && run-dev --range i=-5:4 --range w=0:3 nothing.so -o y.npz &&
	! run-dev --range i=5:9 --range w=0:3 nothing.so -o y.npz 2>err && grep -q 'index [5-9] is outside the axis of extent 5' err &&
	! run-dev --range i=-5:4 --range w=4:9 nothing.so -o y.npz 2>err && grep -q '1 rows at [4-9] of 4' err
ok $? "an index out of range into a result of no elements"
# The text of models without native steps knows nothing of them.
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[4]\n  y = Relu(x)\n  output y = y\n}\n' | ge-load | passes | ge-plan --quiet |
	ge-emit --quiet --no-compile -o plain && [ -s plain.c ] && ! grep -qi native plain.c
ok $? "a model without them"
done_testing
