# The slow path: what has no kernel is run by the evaluator inside the library, is counted, and can be refused.
# A step that fails there, or an index that is out of range, fails the run and not the process.
. "$top/tests/lib.sh"
passes() { ge-shape "$@" | ge-simplify | ge-fold | ge-fuse | ge-layout; }

# Control flow, an operator without a kernel between two convolutions, and kernels around them. A scale that only a run knows keeps it so.
cat >mix.txt <<'END'
hone-text 1
module ir=8 opset=28
const w1 = f32[4,3,1,1] [.1, .2, .3, -.1, .5, .6, .7, -.8, .9, 1, -1.1, 1.2]
const w2 = f32[2,4,1,1] [.1, .2, .3, -.4, .5, -.6, .7, .8]
const zero = f32[] [0]
const w3 = u8[4,4,2,2] [1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2]
const scale = f32[] [.05]
const middle = u8[] [100]
const none = u8[] [0]
graph yes {
  input a: f32[?,?,?,?]
  y = Sin(a)
  output y = y
}
graph no {
  input a: f32[?,?,?,?]
  y = Neg(a)
  output y = y
}
graph main {
  input x: f32[1,3,6,6]
  input k: f32[]
  c = Conv(x, @w1) "conv1"
  q = QuantizeLinear(c, @scale, @middle) "codes"
  h = Exp(k) "scale"
  r = QLinearConv(q, @scale, @middle, @w3, h, @none, @scale, @middle) "codes2"
  e = DequantizeLinear(r, @scale, @middle) "numbers"
  d = Conv(e, @w2) "conv2"
  s = ReduceSum(d) {keepdims=0} "sum"
  p = Greater(s, @zero) "positive"
  f = If(p, d) {captures=1 else_branch=graph no then_branch=graph yes} "branch"
  t = Tanh(f) "tanh"
  output f = f
  output t = t
}
END
ge-load mix.txt | passes >mix.g
ge-plan mix.g -o planned.g 2>report && [ -s planned.g ]
ok $? "a graph with an If and a QLinearConv is planned"
grep -Eq '^ge-plan: 1 of [0-9]+ steps on the slow path: codes2 \(QLinearConv\)$' report
ok $? "ge-plan names the steps on the slow path"
ge-dump planned.g | grep -q 'codes2.*"0 2 3 1"\|"0 2 3 1".*codes2'
ok $? "an operand of theirs has its channels innermost"
ge-plan --quiet planned.g -o twice.g && same_graph planned.g twice.g
ok $? "a plan twice is a plan once"
ge-emit planned.g -o mix 2>report && grep -q '^ge-emit: 1 of .* steps on the slow path: ' report
ok $? "ge-emit compiles it and says so"
ge-emit planned.g --no-compile -o . 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'names a directory' err
ok $? "ge-emit used wrongly: one line, about that"
equal --runs 4 --change 0.1 mix.so mix.g
ok $? "the library gives the evaluator's numbers"
ge-emit --embed --quiet planned.g -o inside && equal inside.so mix.g
ok $? "the same with weights inside"
[ -s mix.so ] && { [ -n "${ASAN_OPTIONS-}" ] || [ -z "$(nm -D --undefined-only mix.so | grep -v '@GLIBC\| w ')" ]; }
ok $? "it needs the C library only"
[ -s mix.so ] && { [ -n "${ASAN_OPTIONS-}" ] || [ "$(nm -D --defined-only mix.so | awk '$3 !~ /^(mix_|hone_model$)/' | wc -l)" = 0 ]; }
ok $? "the evaluator shows nowhere"
run-dev mix.so --bench --kernels --seconds 0.1 >out && [ "$(grep -c '(slow path)$' out)" = 1 ]
ok $? "run-dev --kernels marks the steps"
ge-plan --no-fallback mix.g >never.g 2>err
[ $? = 69 ] && grep -q 'codes2 (QLinearConv)' err
ok $? "ge-plan --no-fallback: 69, naming them"
ge-emit --no-fallback planned.g -o never 2>err
[ $? = 69 ] && grep -q 'codes2 (QLinearConv)' err && [ ! -e never.so ]
ok $? "ge-emit --no-fallback: 69, naming them"
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input a: f32[3]\n  y = Cast(a) {to=8} "text"\n  output y = y\n}\n' |
	ge-load | ge-export -o words.onnx && hone build -q --no-fallback words.onnx -o never 2>err
[ $? = 69 ] && grep -q 'text (Cast)' err && [ ! -e never.so ]
ok $? "hone build --no-fallback: 69, naming them"
hone build words.onnx -o built >out 2>err && grep -q 'on the slow path: ' out && [ -s built.so ]
ok $? "hone build reports them"

# From C: failures of one run leave the process and the next run alone; handles in two threads; nothing is lost.
cat >fails.txt <<'END'
hone-text 1
module ir=8 opset=28
const table = f32[5,2] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
graph yes {
  input a: f32[4]
  input n: i64[2]
  l, r = Split(a, n)
  output l = l
}
graph no {
  input a: f32[4]
  input n: i64[2]
  m, s = Split(a, n)
  output s = s
}
graph main {
  input x: f32[4]
  input n: i64[2]
  input first: bool[]
  input i: i64[3]
  h: f32[2] = If(first, x, n) {captures=2 else_branch=graph no then_branch=graph yes} "half"
  g = Gather(@table, i) {axis=0} "rows"
  y = Add(g, h) "add"
  output y = y
}
END
ge-load fails.txt | passes | ge-plan --quiet -o fails.g && ge-emit --quiet fails.g -o fails && [ -s fails.so ]
ok $? "sizes that data decides, but not between steps"
cat >main.c <<'END'
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "fails.h"
#include "mix.h"
static const float x[4] = {1, 2, 3, 4};
static const char first = 1;
static int run(fails *m, long a, long b, long row, float *y)
{
	const long n[2] = {a, b}, i[3] = {0, row, 4};
	return fails_run(m, (const void *[]){x, n, &first, i}, (void *[]){y});
}
static void *many(void *arg)
{
	fails *m = fails_open("fails.weights", NULL);
	float y[6];
	int bad = !m;
	for (int k = 0; k < 2000 && !bad; k++)
		bad = run(m, 2, 2, 1, y) || y[5] != 11 || run(m, 2, 2, 9, y) != -1;
	fails_close(m);
	return bad ? arg : NULL;
}
int main(void)
{
	fails *m = fails_open("fails.weights", NULL);
	mix *other = mix_open("mix.weights", NULL);
	float y[6];
	pthread_t t;
	void *bad;
	if (!m || !other)
		return 1;
	if (run(m, 2, 2, -5, y) || y[0] != 1 || y[1] != 3 || y[2] != 1 || y[5] != 11)
		return 2;
	if (run(m, 3, 3, 0, y) != -1 || !puts(fails_error()))
		return 3;
	if (run(m, 1, 3, 0, y) != -1 || !puts(fails_error()))
		return 4;
	if (run(m, 2, 2, 5, y) != -1 || !puts(fails_error()))
		return 5;
	if (run(m, 2, 2, -6, y) != -1 || run(m, 2, 2, 1L << 62, y) != -1)
		return 6;
	if (run(m, 2, 2, 1, y) || y[2] != 3)
		return 7;
	size_t before = mallinfo2().uordblks;
	for (int k = 0; k < 1000; k++)
		if (run(m, 2, 2, 1, y) || run(m, 3, 3, 0, y) != -1 || run(m, 1, 3, 0, y) != -1)
			return 8;
	if (mallinfo2().uordblks > before + 1000)
		return 9;
	pthread_create(&t, NULL, many, y);
	if (many(y) || pthread_join(t, &bad) || bad)
		return 10;
	fails_close(m);
	mix_close(other);
	return 0;
}
END
${CC:-cc} -Wall -Werror main.c fails.a mix.a -o program -lm -pthread && ./program >out
ok $? "two archives in one program: runs fail and go on, in two threads, no memory lost"
grep -q '^step l: the sizes do not add up' out
ok $? "a step that fails says why"
grep -q '^step half: a value is of shape \[1\] for these inputs, not as planned$' out
ok $? "a result of another size is refused"
grep -q '^step rows: an index is out of range$' out
ok $? "an index out of range is told"
run-dev fails.so --range i=7:7 -o y.npy 2>err
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e y.npy ]
ok $? "run-dev: 65 and one line"
${CC:-cc} $(sed -n 's/.*Compile with: //p' mix.c | head -1) -Wall -Wno-unused-function -Werror -c mix.c -o mix.o
ok $? "the C file compiles in one piece"
cp fails.weights w && printf x | dd of=w bs=1 seek=$(($(wc -c <w) - 300)) conv=notrunc 2>/dev/null && run-dev fails.so --weights w -o y.npy 2>err
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ]
ok $? "steps with a changed byte: 65"

# More axes than a stage has: a function.
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[2,1,1,1,1,1,1,1,1,1,1,1,2]\n  y = Neg(x) "all"\n  output y = y\n}\n' |
	ge-load | passes >axes.g && ge-plan axes.g -o planned.g 2>report && grep -q '1 of 1 steps native: all (Neg)$' report &&
	ge-emit --quiet planned.g -o axes && equal --runs 2 axes.so axes.g
ok $? "a negative of thirteen axes"

# A size that depends on data; what cannot be compiled at all.
cat >dynamic.txt <<'END'
hone-text 1
module ir=8 opset=28
graph main {
  input x: f32[4]
  a = Relu(x)
  i = NonZero(a) "where"
  output i = i
}
END
ge-load dynamic.txt | ge-shape | ge-fuse -o dynamic.g && ge-plan -q dynamic.g -o planned.g && ge-emit -q planned.g -o dynamic &&
	equal --runs 3 dynamic.so dynamic.g
ok $? "a size that depends on data"
sed 's,i = NonZero(a),i: f32[4] = your.domain.Thing(a),' dynamic.txt >foreign.txt
ge-load foreign.txt | ge-shape | ge-fuse | ge-plan 2>err >out
[ $? = 69 ] && grep -q where err
ok $? "an operator of an unknown domain: 69"

# A Resize of bytes has no kernel: a function in C computes it, row-major, also before a pool that is faster with channels innermost.
cat >bytes.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
const sizes = f32[4] [1, 1, 2, 2]
const s = f32[] [0.05]
const z = u8[] [128]
graph main {
  input q: u8[n,8,6,5]
  r = Resize(q, -, @sizes) {mode="linear"}
  d = DequantizeLinear(r, @s, @z)
  p = AveragePool(d) {kernel_shape=[2,2] strides=[2,2]}
  m = MaxPool(p) {kernel_shape=[2,2]}
  output m = m
}
END
ge-load bytes.txt | ge-shape -q | ge-fuse | ge-layout --why 2>why | ge-plan -q --no-fallback -o planned.g && ge-emit -q planned.g -o bytes &&
	equal --set n=3 --runs 3 bytes.so planned.g
ok $? "a Resize of bytes before a pool needs no evaluator"
grep -q 'r stays row-major: it is the result of a native step' why && grep -q 'p has its channels innermost' why
ok $? "its result stays row-major, and what follows does not"

# Conformance cases of operators that had no kernel when this was written.
data=/usr/share/libonnx-testdata/data/node
if [ -d $data ]; then
	for case in cumsum_2d_axis_1 dynamicquantizelinear bitshift_left_uint16 gru_defaults hardmax_axis_1 if lstm_with_peepholes \
		reversesequence_batch scan9_sum scatternd simple_rnn_with_initial_bias tril; do
		[ -e $data/test_$case/model.onnx ] || continue
		ge-import $data/test_$case/model.onnx | passes >case.g && ge-plan --quiet case.g -o planned.g 2>err || { ok 1 "$case"; continue; }
		ge-emit --quiet planned.g -o case && equal --seed 3 case.so case.g
		ok $? "$case"
	done
else
	skip "conformance cases" "no libonnx-testdata"
fi
done_testing
