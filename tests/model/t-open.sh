# Models of open sizes: built once, run on any, from the tools and from C. Sizes that do not fit are refused by name.
. "$top/tests/lib.sh"

cat >vary.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
const w = f32[4] [1, 2, 3, 4]
const c = f32[2,2] [1, 2, 3, 4]
graph main {
  input x: f32[n,4]
  input y: f32[n,4]
  input z: f32[2,2]
  a = Add(x, @w) "add"
  b = Mul(a, y) "mul"
  p = Relu(b) "relu"
  i = NonZero(p) "where"
  s = ReduceSum(p) {keepdims=0} "sum"
  t = Add(z, @c) "known"
  u = Mul(t, s) "both"
  output b = b
  output i = i
  output u = u
  output x = x
}
END
ge-load vary.txt | ge-shape | ge-fuse | ge-layout -o vary.g && ge-plan -q vary.g -o plan.g && ge-emit -q plan.g -o vary && [ -s vary.so ]
ok $? "open sizes are compiled"
grep -q 'native_run(&m->scratch, [0-9]*, native_NonZero, ' vary.c
ok $? "a native step whose result size the data decide"
for n in 1 5 3 0 40; do
	run-dev vary.so --set n=$n -o y.npz && run-ref vary.g --set n=$n -o r.npz && [ -s y.npz ] && { equal y.npz r.npz || [ $n = 0 ]; }
	ok $? "n=$n: the evaluator's numbers"
done
run-dev vary.so --set n=7 --bench --kernels --seconds 0.05 >out 2>err && [ -s out ] && ! grep -q ' (slow path)$' out && ! grep -q 'slow path' vary.c
ok $? "it is timed, and no step is on the slow path"

# Sizes with branches that no bound settles: slices that small inputs cut short, and what is made of them. Each has a kernel for all sizes.
{
	echo 'hone-text 1
module ir=8 opset=28
symbol n 0 inf
symbol h 1 inf
symbol w 1 inf
const i0 = i64[1] [0]
const i2 = i64[1] [2]
const i3 = i64[1] [3]
const i4 = i64[1] [4]
const m1 = i64[1] [-1]
const m2 = i64[1] [-2]
const m6 = i64[1] [-6]
const last = i64[1] [9223372036854775807]'
	awk 'BEGIN {
		printf "const v = f32[5,2,3,3] ["; for (i = 0; i < 90; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101 - 50) / 100
		printf "]\nconst u = f32[5,6] ["; for (i = 0; i < 30; i++) printf "%s%g", i ? ", " : "", (i * 53 % 103 - 51) / 40
		print "]"
	}'
	echo 'graph main {
  input x: f32[n,2,h,w]
  l = Slice(x, @m2, @last, @i2) "tail"
  r = Slice(x, @i0, @i2, @i2) "head"
  c = Concat(l, x, r) {axis=2} "around"
  a = Slice(c, @i4, @i0, @i3, @m1) "mirrored"
  b = Slice(c, @m1, @m6, @i3, @m1) "mirrored-end"
  d = Concat(a, c, b) {axis=3} "padded"
  y = Conv(d, @v) {pads=[1,1,1,1]} "conv"
  z = Relu(y) "relu"
  output z = z
  t = Transpose(z) {perm=[0,2,3,1]} "last"
  p = MatMul(t, @u) "product"
  q = Softmax(p) {axis=1} "softmax"
  output q = q
}'
} >around.txt
ge-load around.txt | ge-shape | ge-fuse | ge-layout -o around.g && ge-plan around.g -o around-plan.g 2>said && ge-emit -q around-plan.g -o around
[ -s around.so ] && grep -q '^ge-plan: steps: [0-9]* on kernels.*; 0 native, 0 on the slow path$' said
ok $? "sizes with branches have kernels" || sed 's/^/# /' said
for s in n=1,h=1,w=1 n=2,h=1,w=3 n=1,h=2,w=1 n=2,h=3,w=5 n=3,h=5,w=4 n=1,h=9,w=33 n=1,h=40,w=6 n=0,h=2,w=2; do
	run-cmp -q --set $s --tol 2e-6 around.so around.g >said 2>&1
	ok $? "$s: the evaluator's numbers" || sed 's/^/# /' said
done

# Frames of a signal, without the first: a size with a branch. A run of too few samples has none, and its kernels are left out.
{
	echo 'hone-text 1
module ir=8 opset=28
symbol n 0 inf
const first = i64[1] [1]
const last = i64[1] [9223372036854775807]
const axis = i64[1] [2]'
	awk 'BEGIN {
		printf "const v = f32[40,1,8] ["; for (i = 0; i < 320; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101 - 50) / 100
		printf "]\nconst w = f32[20,40,3] ["; for (i = 0; i < 2400; i++) printf "%s%g", i ? ", " : "", (i * 53 % 103 - 51) / 400
		print "]"
	}'
	echo 'graph main {
  input x: f32[2,1,n]
  f = Conv(x, @v) {strides=[4]} "frames"
  s = Slice(f, @first, @last, @axis) "slice"
  a = Abs(s) "abs"
  c = Conv(a, @w) {pads=[1,1]} "conv"
  y = Relu(c) "relu"
  output y = y
}'
} >frames.txt
ge-load frames.txt | ge-shape | ge-fuse | ge-layout -o frames.g && ge-plan frames.g -o frames.p.g 2>err && ge-emit -q frames.p.g -o frames && [ -s frames.so ] &&
	! grep -q 'plain loops\|): on the slow path' err
ok $? "frames less one: kernels, scheduled" || cat err
for n in 8 11 12 16 20 23 77 200 1003; do
	run-dev frames.so --set n=$n -o y.npz && run-ref frames.g --set n=$n -o r.npz && [ -s y.npz ] && { equal y.npz r.npz || [ $n -lt 12 ]; }
	ok $? "n=$n: the evaluator's numbers"
done

cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vary.h"
static float x[64], y[64], z[4];
static int64_t sx[65], sy[65], sz[2] = {2, 2};
static int run(vary *m, struct hone_value *out)
{
	struct hone_value in[] = {{1, 2, sx, x}, {1, 2, sy, y}, {1, 2, sz, z}};
	return vary_run_values(m, in, out);
}
static void set(int64_t a, int64_t b, int64_t c, int64_t d) { sx[0] = a, sx[1] = b, sy[0] = c, sy[1] = d; }
static int refused(vary *m, const char *say)
{
	struct hone_value out[4];
	if (run(m, out) != -1)
		return 1;
	if (!strstr(vary_error(), say))
		return puts(vary_error()), 1;
	return 0;
}
int main(void)
{
	vary *m = vary_open("vary.weights", NULL);
	struct hone_value out[4], in[3] = {{0}};
	unsigned r = 1;
	if (!m)
		return 1;
	for (int i = 0; i < 64; i++)
		x[i] = y[i] = (float)i - 9;
	set(3, 4, 3, 4);
	if (run(m, out) || out[0].shape[0] != 3 || out[0].shape[1] != 4 || out[1].rank != 2 || out[2].shape[0] != 2 || out[3].data != x)
		return 2;
	if (vary_run(m, (const void *[]){x, y, z}, (void *[]){x, x, x, x}) != -1 || !strstr(vary_error(), "input x"))
		return 3;
	set(3, 4, 2, 4);
	if (refused(m, "input y: axis 0 is of size 2, not 3"))
		return 4;
	set(-3, 4, 3, 4);
	if (refused(m, "input x: axis 0 is of size -3"))
		return 5;
	set(1L << 60, 4, 1L << 60, 4);
	if (refused(m, "input x: it is larger than any memory"))
		return 6;
	set(0, 4, 0, 1L << 40);
	if (refused(m, "input y: axis 1 is of size 1099511627776, not 4"))
		return 11;
	set(3, 5, 3, 4);
	if (refused(m, "input x: axis 1 is of size 5, not 4"))
		return 7;
	if (vary_run_values(m, in, out) != -1 || !strstr(vary_error(), "input x: is not given"))
		return 8;
	for (int i = 0; i < 20000; i++) {
		int64_t v[4];
		for (int k = 0; k < 4; k++) {
			r = r * 1664525 + 1013904223;
			v[k] = (r >> 8) % 7 == 0 ? (int64_t)(r >> 8) << ((r >> 3) % 40) : k & 1 ? 4 : (r >> 16) % 18 - 1;
		}
		set(v[0], v[1], v[2], v[3]);
		int fits = v[0] >= 0 && v[0] == v[2] && v[1] == 4 && v[3] == 4;
		if (v[0] <= 16 && run(m, out) != (fits ? 0 : -1))
			return 9;
		if (fits && v[0] <= 16 && out[0].shape[0] != v[0])
			return 10;
	}
	vary_close(m);
	return 0;
}
END
${CC:-cc} $([ -z "${ASAN_OPTIONS-}" ] && echo -g) -Wall -Werror main.c vary.a -o program -lm -pthread 2>err && ./program >out 2>err
ok $? "from C: sizes that vary, and those that do not fit"

# The same with address sanitizer in the steps; the evaluator is without.
ge-emit -q --embed --no-compile plan.g -o vary && ${CC:-cc} -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	$(sed -n 's/.*Compile with: //p' vary.c | head -1) -O1 main.c vary.c "$top/build/libhone_eval.a" -o program -lm -pthread 2>err && ./program >out 2>err
ok $? "the same under sanitizers"

cat >pages.c <<'END'
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vary.h"
/* Is the memory at p to be on large pages? */
static int large(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	uintptr_t from, to;
	int here = 0, yes = 0;

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			here = from <= (uintptr_t)p && (uintptr_t)p < to;
		yes |= here && !strncmp(line, "VmFlags:", 8) && strstr(line, " hg");
	}
	return yes;
}
int main(void)
{
	int64_t n = 100000, s[] = {n, 4}, sz[] = {2, 2};
	float *x = calloc(4 * n, sizeof *x), z[4] = {0};
	struct hone_value in[] = {{1, 2, s, x}, {1, 2, s, x}, {1, 2, sz, z}}, out[4];
	vary *m = vary_open("vary.weights", NULL);

	return !m || vary_run_values(m, in, out) || !large(out[0].data);
}
END
if [ -d /sys/kernel/mm/transparent_hugepage ]; then
	${CC:-cc} $([ -z "${ASAN_OPTIONS-}" ] && echo -g) -Wall -Werror pages.c vary.a -o pages -lm -pthread 2>err && ./pages >out 2>err
	ok $? "large values lie on large pages"
fi

# An input without elements whose other size a kernel would count through for hours.
cat >long.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
symbol k 0 inf
graph main {
  input x: f32[n,4,k]
  y = ReduceSum(x) {keepdims=0} "sum"
  output y = y
}
END
ge-load long.txt | ge-shape | ge-fuse | ge-layout -o long.g && ge-plan -q --no-fallback long.g -o plan.g && ge-emit -q plan.g -o long && [ -s long.so ]
ok $? "a sum of all, of open sizes"
run-dev long.so --set n=0,k=7 -o y.npz && [ -s y.npz ]
ok $? "of no elements: 0"
for set in n=17179869184,k=0 n=0,k=17179869184; do
	timeout 20 run-dev long.so --set $set -o y.npz 2>err
	[ $? = 65 ] && grep -q 'input x: .*larger than any memory' err && [ "$(wc -l <err)" = 1 ]
	ok $? "$set: refused"
done

# Sizes that are meant to be equal, images, whose layout is the kernels' own, and a product of two sizes that may be 0.
weights() { yes "$2" | head -"$1" | paste -sd, -; }
cat >image.txt <<END
hone-text 1
module ir=8 opset=20
symbol b 1 inf
symbol h 0 inf
symbol w 0 inf
const k = f32[16,3,3,3] [$(weights 432 0.5)]
const d = f32[16,1,3,3] [$(weights 144 0.25)]
const twice = f32[4] [1, 1, 2, 2]
graph main {
  input x: f32[b,3,h,w]
  c = Conv(x, @k) {pads=[1,1,1,1]} "conv"
  e = Conv(c, @d) {pads=[1,1,1,1] group=16} "depth"
  p = MaxPool(e) {kernel_shape=[2,2] strides=[2,2]} "pool"
  q = Resize(p, -, @twice) {mode="nearest" coordinate_transformation_mode="asymmetric" nearest_mode="floor"} "resize"
  s = Add(e, q) "add"
  t = Concat(s, q) {axis=1} "join"
  output t = t
}
END
ge-load image.txt | ge-shape | ge-fuse | ge-layout -o image.g && ge-plan -q --no-fallback image.g -o plan.g && ge-emit -q plan.g -o image && [ -s image.so ]
ok $? "images of open sizes: no step on the slow path"
for set in b=1,h=8,w=8 b=2,h=6,w=50 b=1,h=2,w=2 b=3,h=34,w=18 b=1,h=64,w=2; do
	run-dev image.so --set $set -o y.npz && run-ref image.g --set $set -o r.npz && equal y.npz r.npz
	ok $? "$set: the evaluator's numbers"
done
run-dev image.so --set b=1,h=7,w=8 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step .*: axis 2 is of size [67], not [67]$' err
ok $? "sizes that do not fit each other: 65"

cat >joined.txt <<'END'
hone-text 1
module ir=8 opset=20
symbol b 1 inf
symbol h 24 inf
symbol w 0 inf
graph main {
  input x: f32[b,4,h,w]
  input y: f32[b,2,1,w]
  p = MaxPool(x) {kernel_shape=[24,1] strides=[24,1]} "pool"
  t = Concat(p, y) {axis=1} "join"
  output t = t
}
END
ge-load joined.txt | ge-shape | ge-fuse | ge-layout -o joined.g && ge-plan -q --no-fallback joined.g -o plan.g && ge-emit -q plan.g -o joined && [ -s joined.so ]
ok $? "a join of axes that must be equal has a kernel"
for set in b=2,h=24,w=8 b=1,h=40,w=3; do
	run-dev joined.so --set $set -o y.npz && run-ref joined.g --set $set -o r.npz && equal y.npz r.npz
	ok $? "$set: the evaluator's numbers"
done
run-dev joined.so --set b=1,h=48,w=8 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step .*: axis 2 is of size 2, not 1$' err
ok $? "and refuses others: 65"

# A slice to 40 rows at most, which then are all that kernels know.
cat >most.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
const zero = i64[1] [0]
const most = i64[1] [40]
graph main {
  input x: f32[n,32]
  input w: f32[32,48]
  c = Slice(x, @zero, @most)
  y = MatMul(c, w)
  t = Softmax(y) {axis=-1}
  output t = t
}
END
ge-load most.txt | ge-shape | ge-fuse | ge-layout -o most.g && ge-plan -q --no-fallback most.g -o plan.g && ge-emit -q plan.g -o most && [ -s most.so ]
ok $? "rows up to 40 have kernels"
for set in n=0 n=1 n=39 n=40 n=41 n=200; do
	run-dev most.so --set $set -o y.npz && run-ref most.g --set $set -o r.npz && equal y.npz r.npz
	ok $? "$set: the evaluator's numbers"
done
# Where the default schedule does not apply, a plainer one does, before plain loops.
printf '%s\n' 'hone-text 1' 'module ir=8 opset=20' 'symbol k 0 inf step 4' 'symbol m 2 40' 'symbol n 1 inf' 'graph main {' '  input x: f32[1,48,k,k]' \
	'  input z: f32[n,48,n,m]' '  b = LpNormalization(x) {axis=1}' '  s = Softmax(z) {axis=-1}' '  output b = b' '  output s = s' '}' >plainer.txt
ge-load plainer.txt | ge-shape | ge-fuse | ge-layout | ge-plan --why -o plainer.g 2>err && ! grep -q 'plain loops' err && ge-emit -q plainer.g -o plainer && [ -s plainer.so ]
ok $? "schedules that do not apply: plainer ones" || cat err
for s in k=4,m=2,n=1 k=12,m=33,n=3; do
	run-dev plainer.so --set $s -o y.npz && run-ref plainer.g --set $s -o r.npz && run-cmp y.npz r.npz >out && [ -s y.npz ]
	ok $? "they compute the same, $s" || cat out
done

# Rows of many tiles: a vector of maxima in each.
printf '%s\n' 'hone-text 1' 'module ir=8 opset=20' 'symbol b 1 inf' 'symbol t 1 inf' 'const a = i64[1] [-1]' 'const c = f32[] [0.5]' 'graph main {' \
	'  input x: f32[b,t,88,32]' '  m = ReduceMax(x, @a) {keepdims=0}' '  y = Mul(m, @c)' '  output y = y' '}' >blocks.txt
ge-load blocks.txt | ge-shape | ge-fuse | ge-layout | ge-plan --why -o blocks.g 2>err && ! grep -q 'plain loops\|plainer' err && ge-emit -q blocks.g -o blocks &&
	run-dev blocks.so --set b=2,t=3 -o y.npz && run-ref blocks.g --set b=2,t=3 -o r.npz && equal y.npz r.npz
ok $? "the largest of blocks: the default schedule" || cat err

# A size of which another is made, up and down: 1 is as large as any, and the last number that is none of the group.
printf '%s\n' 'hone-text 1' 'module ir=8 opset=28' 'symbol n 1 inf' 'const s = f32[3] [1, 1, 2]' 'graph main {' '  input x: f32[1,4,n]' \
	'  p = AveragePool(x) {kernel_shape=[2] pads=[0,1] strides=[2]}' '  u = Resize(p, -, @s) {mode="nearest"}' '  a = Add(x, u)' '  output a = a' '}' >halved.txt
ge-load halved.txt | ge-shape | ge-fuse | ge-layout | ge-plan --why -o halved.g 2>err && ge-emit -q halved.g -o halved
is "$(grep -c '(Fused): a kernel for all sizes of ' err) $(grep -c 'a native function where one operand.s is 1' err)" '3 1' 'halved and doubled: kernels' || cat err
for n in 1 2 8; do
	run-dev halved.so --set n=$n -o y.npz && run-ref halved.g --set n=$n -o r.npz && run-cmp y.npz r.npz >out && [ -s y.npz ]
	ok $? "it computes the same, n=$n" || cat out
done
run-dev halved.so --set n=3 -o y.npz 2>err
is "$? $(cat err)" '65 run-dev: halved.so: step a: axis 2 is of size 3, not 4' 'n=3 is refused'

# Padded copies are made for one image at a time; windows of few taps have none.
printf '%s\n' 'hone-text 1' 'module ir=8 opset=20' 'symbol h 1 inf' 'symbol n 1 inf' "const v = f32[32,32,1,1] [$(seq -s, 1024)]" \
	"const w = f32[32,1,5,5] [$(seq -s, 800)]" "const u = f32[32,1,9,9] [$(seq -s, 2592)]" 'graph main {' '  input x: f32[n,32,h,40]' \
	'  a = Conv(x, @v)' '  b = Conv(a, @w) {group=32 kernel_shape=[5,5] pads=[2,2,2,2]}' \
	'  c = Conv(b, @u) {group=32 kernel_shape=[9,9] pads=[4,4,4,4]}' '  y = Conv(c, @v)' '  output y = y' '}' >copies.txt
ge-load copies.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q -o copies.g && ge-emit -q copies.g -o copies
ge-emit --print-traces copies.g >traces
is "$(grep -c '^at pad conv.n' traces) $(grep -c '^inline pad' traces)" '1 1' "a padded copy of one image, and none" || cat traces
for s in n=1,h=1 n=2,h=2 n=3,h=5 n=1,h=17; do
	run-dev copies.so --set $s -o y.npz && run-ref copies.g --set $s -o r.npz && run-cmp y.npz r.npz >out && [ -s y.npz ]
	ok $? "it computes the same, $s" || cat out
done

# Channels that a constant has a number of, and the file leaves open.
printf '%s\n' 'hone-text 1' 'module ir=8 opset=20' 'symbol c 1 inf' 'symbol n 1 inf' 'const s = f32[3] [1, 2, 3]' 'const b = f32[3] [4, 5, 6]' \
	'graph main {' '  input x: f32[n,c,4]' '  y = BatchNormalization(x, @s, @b, @b, @s) {epsilon=1e-5}' '  output y = y' '}' >channels.txt
ge-load channels.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q -o channels.g && ge-emit -q channels.g -o channels && [ -s channels.so ]
ok $? "a normalisation of channels that are open"
run-dev channels.so --set n=2,c=3 -o y.npz && run-ref channels.g --set n=2,c=3 -o r.npz && run-cmp y.npz r.npz >out && [ -s y.npz ]
ok $? "it computes the same, c=3" || cat out
run-dev channels.so --set n=2,c=5 -o y.npz 2>err
is "$? $(cat err)" '65 run-dev: channels.so: step y: operand 1 has 3 elements for 5 channels' 'c=5 is refused'

# Rows that only a run knows the number of, three at most: kernels, though so few sizes tell no form.
printf '%s\n' 'hone-text 1' 'module ir=8 opset=28' 'const w = f32[2,3] [1, 2, 3, 4, 5, 6]' 'const flat = i64[1] [-1]' 'graph main {' '  input b: bool[3]' \
	'  input x: f32[3,2]' '  i = NonZero(b)' '  r = Reshape(i, @flat)' '  g = Gather(x, r)' '  m = MatMul(g, @w)' '  y = Tanh(m)' '  output y = y' '}' >few.txt
ge-load few.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q -o few.g && ge-emit -q few.g -o few 2>report && [ -s few.so ] && ! grep 'slow path' report
ok $? "few rows, which only a run counts, have kernels"
equal --runs 4 few.so few.g
ok $? "it computes the same"
# A product of two open sizes: rests of rows and of vectors are a nest for each pair, which is bounded.
for d in 4 8; do
	printf 'hone-text 1\nmodule ir=8 opset=28\nsymbol b 0 inf\nsymbol s 0 inf\ngraph main {\n  input q: f32[b,4,s,%d]\n  input k: f32[b,4,%d,s]\n  y = MatMul(q, k)\n  output y = y\n}\n' $d $d |
		ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q -o plan.g
	for t in x86-64 x86-64-v3 x86-64-v4; do
		ge-emit -q --no-compile --target $t plan.g -o product && [ "$(wc -c <product.c)" -lt 250000 ]
		ok $? "$d steps on $t: a bounded text" || wc -c product.c
	done
done

done_testing
