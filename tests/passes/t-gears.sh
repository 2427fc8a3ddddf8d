# ge-gears: a branch for each size; the numbers of the graph it was made of, by the evaluator and as a library.
. "$top/tests/lib.sh"
passes() { ge-fold -q | ge-simplify -q | ge-deadedge -q | ge-cse -q | ge-dedup -q | ge-prune -q; }
made() { passes <"$1" | ge-integer -q | ge-fuse -q | ge-layout -q >$2.f.g && ge-plan -q --no-fallback $2.f.g -o $2.p.g && ge-emit -q $2.p.g -o $2 && [ -s $2.so ]; }
refused() { # CODE TEXT WHAT COMMAND...
	local code=$1 text=$2 what=$3
	shift 3
	"$@" >out 2>err
	[ $? = "$code" ] && grep -qF -- "$text" err
	ok $? "$what"
}

cat >image.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol h 1 inf
symbol w 1 inf
const k = f32[2,1,3,3] [0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9, 0.2, 0.1, 0.3, -0.4, 0.5, 0.6, -0.7, 0.8, 0.9]
graph main {
  input x: f32[1,1,h,w]
  c = Conv(x, @k) {pads=[1,1,1,1] strides=[2,2]}
  r = Relu(c)
  s = ReduceMean(x) {keepdims=0}
  output r = r
  output s = s
}
END
ge-load image.txt | ge-shape -q >image.g && ge-gears --gears h:w=8:8,6:10,16:4 image.g -o g.g && ge-check -q g.g && made g.g image
ok $? "gears of height and width"
for size in h=8,w=8 h=6,w=10 h=16,w=4; do
	run-dev image.so --set $size -o y.npz && run-ref image.g --set $size -o r.npz && equal y.npz r.npz
	ok $? "$size: the library gives the graph's numbers"
	run-ref g.g --set $size -o y.npz && equal y.npz r.npz
	ok $? "$size: the evaluator, too"
done
refused 65 "no gear for h=8,w=10; there are h=6,w=10; h=8,w=8; h=16,w=4" "a size between gears" run-dev image.so --set h=8,w=10 -o y.npz
ge-export -q g.g -o g.onnx && run-ref g.onnx --set h=16,w=4 -o y.npz && run-ref image.g --set h=16,w=4 -o r.npz && equal y.npz r.npz
ok $? "as ONNX"
ge-gears --gears w:h=8:8,10:6,4:16 g.g -o twice.g && same_graph g.g twice.g
ok $? "twice is once"
refused 64 "has other gears already" "other gears on top" ge-gears --gears h:w=8:8 g.g -o out.g
refused 64 "no symbol of that name; it has h, w" "an unknown symbol" ge-gears --gears batch=1 image.g -o out.g
refused 64 "symbol w has no size" "a symbol left" ge-gears --exact --gears h=8,16 image.g -o out.g
ge-gears --why --gears h=8,16 image.g -o out.g 2>err && grep -q '^ge-gears: h: other sizes stay open' err && ge-dump out.g | grep -q '^meta "hone.gears.h" = "8 16"' && ge-gears --gears h=8,16 out.g -o twice.g && same_graph out.g twice.g
ok $? "sizes beside others that stay open"
refused 64 "the model has other gears already" "others of these" ge-gears --gears h=8,32 out.g -o twice.g
refused 64 "a size is a number from 1 on" "no number" ge-gears --gears h=8,x image.g -o out.g
refused 64 "fewer sizes than symbols" "a size missing" ge-gears --gears h:w=8:8,9 image.g -o out.g
refused 64 "a symbol twice" "a symbol twice" ge-gears --gears h=8 --gears h:w=8:8 image.g -o out.g
refused 64 "sizes of which symbol? The inputs have h, w" "sizes without a name" ge-gears --gears 8 image.g -o out.g
printf 'hone-text 1\nmodule ir=8 opset=28\nsymbol n 0 inf\nconst w = f32[2,1] [1, 2]\ngraph main {\n  input x: f32[2,n]\n  y = MatMul(x, @w) "y"\n  output y = y\n}\n' |
	ge-load -o unfit.g
refused 65 "main.3/y (MatMul): " "a size that the model does not take" ge-gears --gears n=2,3 unfit.g -o out.g
refused 64 "which sizes?" "no gears" ge-gears image.g -o out.g
ge-gears --gears h=8,16 --gears w=4,12 image.g -o c.g && made c.g combined && run-dev combined.so --set h=16 --set w=12 -o y.npz &&
	run-ref image.g --set h=16,w=12 -o r.npz && equal y.npz r.npz
ok $? "all combinations of two symbols"

# Batches between gears: where rows do not meet, zeros are added and the results cut.
cat >batch.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol batch 1 inf
const w = f32[6,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6]
const s = i64[2] [-1, 6]
const t = i64[3] [-1, 2, 4]
const one = i64[1] [1]
graph main {
  input x: f32[batch,2,3]
  input y: f32[2,batch,4]
  r = Reshape(x, @s)
  p = MatMul(r, @w)
  n = Softmax(p) {axis=-1}
  u = Unsqueeze(n, @one)
  z = Transpose(y) {perm=[1,0,2]}
  a = Add(u, z)
  m = ReduceMean(a, @one) {keepdims=0}
  output a = a
  output m = m
  output y = y
}
END
ge-load batch.txt | ge-shape -q >batch.g && ge-gears --gears batch=1,4,8 batch.g --why -o b.g 2>err && grep -q 'batch: sizes between gears are padded' err && made b.g batch
ok $? "gears of batch"
for n in 1 2 3 4 5 7 8; do
	run-dev batch.so --set batch=$n -o y.npz && run-ref batch.g --set batch=$n -o r.npz && equal y.npz r.npz
	ok $? "batch $n: the library gives the graph's numbers"
	run-ref b.g --set batch=$n -o y.npz && equal y.npz r.npz
	ok $? "batch $n: the evaluator, too"
done
refused 65 "no gear for batch=9; there are 1, 4, 8" "a batch above the largest gear" run-dev batch.so --set batch=9 -o y.npz
ge-gears --exact --gears batch=1,4,8 batch.g -o e.g && made e.g exact
refused 65 "no gear for batch=3; there are 1, 4, 8" "no padding, on demand" run-dev exact.so --set batch=3 -o y.npz
# Sizes without a gear run in a graph of any size.
ge-gears --gears batch=1,4,open batch.g -o o.g && made o.g open && ge-gears --gears batch=1,4,open o.g -o twice.g && same_graph o.g twice.g
ok $? "gears and a graph of any size"
refused 64 "has other gears already" "the same gears without it" ge-gears --gears batch=1,4 o.g -o out.g
for n in 1 3 4 5 9 40; do
	run-dev open.so --set batch=$n -o y.npz && run-ref batch.g --set batch=$n -o r.npz && equal y.npz r.npz
	ok $? "batch $n: the library gives the graph's numbers"
	run-ref o.g --set batch=$n -o y.npz && equal y.npz r.npz
	ok $? "batch $n: the evaluator, too"
done
ge-export -q o.g -o o.onnx && run-ref o.onnx --set batch=4 -o y.npz && run-ref batch.g --set batch=4 -o r.npz && equal y.npz r.npz &&
	run-ref o.onnx --set batch=7 -o y.npz && run-ref batch.g --set batch=7 -o r.npz && equal y.npz r.npz
ok $? "as ONNX, too"
ge-gears --open --gears h:w=8:8,16:4 image.g -o oi.g && made oi.g anyimage && run-dev anyimage.so --set h=8,w=10 -o y.npz &&
	run-ref image.g --set h=8,w=10 -o r.npz && equal y.npz r.npz && run-dev anyimage.so --set h=16,w=4 -o y.npz && run-ref image.g --set h=16,w=4 -o r.npz && equal y.npz r.npz
ok $? "images between gears"
refused 64 "sizes are numbers" "open is the last" ge-gears --gears batch=1,open,4 batch.g -o out.g

# Images whose channels come last, in the graph of any size too.
awk 'function numbers(n) { for (i = 0; i < n; i++) printf "%s%.2f", i ? ", " : "", (i * 7 % 13 - 6) / 20; print "]" }
	BEGIN {
	printf "hone-text 1\nmodule ir=8 opset=28\nsymbol h 1 inf\nconst k = f32[16,3,3,3] ["; numbers(432)
	printf "const l = f32[16,16,3,3] ["; numbers(2304)
	print "graph main {\n  input x: f32[1,3,h,20]\n  a = Conv(x, @k) {pads=[1,1,1,1]}\n  b = Relu(a)\n  c = Conv(b, @l) {pads=[1,1,1,1] strides=[2,2]}"
	print "  d = MaxPool(c) {kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]}\n  y = Conv(d, @l)\n  output y = y\n}" }' >laid.txt
ge-load laid.txt | ge-shape -q >laid.g && ge-gears -q --gears h=12,20,open laid.g -o lo.g && made lo.g laid && ge-dump laid.f.g | grep -q '^graph main.open' && ge-dump laid.f.g | grep -q '@"0 2 3 1"'
ok $? "convolutions of any size beside gears"
for n in 12 17 20 31; do
	run-dev laid.so --set h=$n -o y.npz && run-ref laid.g --set h=$n -o r.npz && equal y.npz r.npz
	ok $? "height $n"
done

# The kernels of all gears are tasks, each as often as its gear is expected.
tune-op --tasks open.f.g >tasks && [ "$(grep -c MatMul tasks)" = 2 ]
ok $? "tasks of gears" || cat tasks
printf 'batch=1 90\nbatch=4 10\n' >seen && printf 'batch=1 1\nbatch=4 3\n' >took && ge-gears -q --open --histogram seen --times took -k 2 batch.g -o w.g && made w.g weighed &&
	tune-op --tasks --json weighed.f.g >tasks && grep MatMul tasks | grep '1x6 6x4' | grep -q '"weight": 0.9,' && grep MatMul tasks | grep '4x6 6x4' | grep -q '"weight": 0.1,'
ok $? "each as often as its gear is expected" || cat tasks

# Called with any sizes at all: run, or refused, and nothing is read or written outside.
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "batch.h"
int main(void)
{
	model_batch *m = model_batch_open("batch.weights", NULL);
	long ran = 0, refused = 0;

	if (!m)
		return puts(model_batch_error()), 1;
	srand(1);
	for (int i = 0; i < 100000; i++) {
		int64_t x[] = {rand() % 11 - 1, 2, 3}, y[] = {2, rand() % 4 ? x[0] : rand() % 11 - 1, 4};
		if (rand() % 16 == 0)
			x[rand() % 3] = rand() % 2 ? (int64_t)1 << (rand() % 63) : -(rand() % 9);
		int fits = x[0] >= 0 && x[0] <= 8 && x[1] == 2 && x[2] == 3 && y[1] == x[0];
		size_t nx = fits ? (size_t)x[0] * 6 : 1, ny = fits ? (size_t)y[1] * 8 : 1; /* not one element more */
		float *px = malloc(nx * sizeof *px), *py = malloc(ny * sizeof *py), sum = 0;
		for (size_t k = 0; k < nx; k++)
			px[k] = (float)k;
		for (size_t k = 0; k < ny; k++)
			py[k] = (float)k;
		struct hone_value in[] = {{1, rand() % 64 ? 3 : rand() % 5, x, px}, {1, 3, y, py}}, out[3];
		fits &= in[0].rank == 3;
		if (!model_batch_run_values(m, in, out)) {
			if (!fits || out[0].shape[0] != x[0] || out[1].shape[0] != x[0])
				return printf("ran %lld,%lld\n", (long long)x[0], (long long)y[1]), 1;
			for (int64_t k = 0; k < x[0] * 8; k++)
				sum += ((float *)out[0].data)[k];
			for (int64_t k = 0; k < x[0] * 4; k++)
				sum += ((float *)out[1].data)[k];
			ran += sum == sum;
		} else {
			refused++;
			if (fits && x[0] > 0)
				return puts(model_batch_error()), 1;
		}
		free(px);
		free(py);
	}
	model_batch_close(m);
	return printf("%ld ran, %ld were refused\n", ran, refused), !(ran > 10000 && refused > 10000);
}
END
gcc -O1 -g -march=native -fsanitize=address,undefined -w -o sizes main.c batch.c -lm -lpthread 2>err && ASAN_OPTIONS=detect_leaks=1 ./sizes >out 2>err
ok $? "100000 random sizes under the address sanitizer: $(cat out)"
ge-export -q b.g -o b.onnx && for n in 1 3 8; do
	run-ref b.onnx --set batch=$n -o y.npz && run-ref batch.g --set batch=$n -o r.npz && equal y.npz r.npz
	ok $? "batch $n: as ONNX, which pads and cuts itself"
done
refused 65 "" "as ONNX, a batch above the largest gear" run-ref b.onnx --set batch=9 -o y.npz

# States: what each of a batch keeps is its own.
cat >states.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol batch 1 inf
const w = f32[4,1,3] [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2]
const cos = f32[5,2] [1, 1, 0.5, 0.9, -0.4, 0.6, -0.9, 0.3, -0.6, -0.1]
const sin = f32[5,2] [0, 0, 0.8, 0.1, 0.9, 0.2, 0.1, 0.3, -0.7, 0.4]
graph main {
  input x: f32[batch,4,3]
  input s: f32[batch,4,2]
  input q: f32[batch,2,4]
  input r: f32[batch,1,4,4]
  input at: i64[batch,2]
  input c: f32[batch,5,3]
  input row: f32[batch,1,3]
  input p: i64[batch]
  y, sn = CausalConvWithState(x, @w, -, s)
  e = RotaryEmbedding(q, @cos, @sin, at) {num_heads=1}
  z, rn = LinearAttention(e, q, q, r) {q_num_heads=1 kv_num_heads=1 update_rule="linear"}
  d = TensorScatter(c, row, p) {axis=1 mode="circular"}
  output y = y
  output sn = sn
  output z = z
  output rn = rn
  output d = d
}
END
ge-load states.txt | ge-shape -q >states.g && ge-gears --gears batch=1,4 states.g --why -o sg.g 2>err && grep -q 'batch: sizes between gears are padded' err && made sg.g states
ok $? "gears of states" || cat err
for n in 1 3 4; do
	run-dev states.so --set batch=$n --range p=0:4 --range at=0:4 -o y.npz && run-ref states.g --set batch=$n --range p=0:4 --range at=0:4 -o r.npz && equal y.npz r.npz
	ok $? "states of a batch of $n"
done

# What looks across rows, or computes with their number.
mixes() { # NODES WHAT
	printf 'hone-text 1\nmodule ir=8 opset=28\nsymbol n 1 inf\nconst zero = i64[1] [0]\nconst k = i64[] [0]\nconst all = i64[1] [-1]\nconst back = i64[1] [-1]\nconst low = i64[1] [-9223372036854775807]\ngraph main {\n  input x: f32[n,3]\n  input q: f32[3,n]\n%s\n  output y = y\n}\n' "$1" >mix.txt
	ge-load mix.txt | ge-shape -q | ge-gears --why --gears n=1,4 -o mix.g 2>err && grep -q 'sizes between gears are refused' err
	ok $? "not padded: $2"
}
mixes '  y = Softmax(x) {axis=0}' "a softmax over rows"
mixes '  y = CumSum(x, @k)' "a sum over the rows before"
mixes '  y = ReduceMean(x, @zero)' "a mean over rows"
mixes '  y = MatMul(q, x)' "a product that sums rows"
mixes '  y = MatMul(x, q)' "rows times rows"
mixes '  y = Slice(x, @back, @low, @zero, @back)' "rows in another order"
mixes '  y = Reshape(x, @all)
  z = Shape(x)' "an output of several elements a row"
mixes '  s = Shape(x)
  c = Cast(s) {to=1}
  g = ReduceSum(c) {keepdims=0}
  y = Mul(x, g)' "the number of rows as a factor"
mixes '  a = Transpose(q)
  b = Reshape(q, @all)
  y = Add(a, x)
  z = Relu(b)' "elements of a row that are not neighbours"

# One file of weights: about that of the largest gear, though the gears' own schedules want others. The arena is the largest gear's.
model=$top/examples/digits/digits.onnx
hone build -q --gears batch=1,2,16 -o digits/g "$model" && hone build -q --set batch=16 -o digits/s "$model" && [ -s digits/g.so ]
ok $? "hone build --gears"
bytes() { stat -c %s "$1"; }
[ $(($(bytes digits/g.weights) * 100)) -le $(($(bytes digits/s.weights) * 102 + 200000)) ]
ok $? "weights: $(bytes digits/g.weights) bytes, of the largest gear alone $(bytes digits/s.weights)"
arena() { ge-dump "$1" | sed -n 's/.*"plan.bytes" *= *"\([0-9]*\)".*/\1/p'; }
plan=$(echo digits/g.d/*-plan.g)
[ "$(arena "$plan")" -le $(($(arena digits/s.d/*-plan.g) * 101 / 100 + 128)) ]
ok $? "arena: $(arena "$plan") bytes, of the largest gear alone $(arena digits/s.d/*-plan.g)"
for n in 1 2 3 16; do
	run-dev digits/g.so --set batch=$n -o y.npz && run-ref "$model" --set batch=$n -o r.npz && equal y.npz r.npz
	ok $? "digits, batch $n"
done
share=$(echo digits/g.d/*-share.g)
ge-gears --share "$share" -o twice.g && same_graph twice.g "$share"
ok $? "weights shared twice are shared once"

# Two orders of the weights: 40 rows of a product want another than one.
awk 'BEGIN { printf "hone-text 1\nmodule ir=8 opset=28\nsymbol n 1 inf\nconst w = f32[64,96] ["
	for (i = 0; i < 6144; i++) printf "%s%d", i ? ", " : "", i * 7 % 13 - 6
	print "]\ngraph main {\n  input x: f32[n,64]\n  y = MatMul(x, @w)\n  output y = y\n}" }' >product.txt
ge-load product.txt | ge-shape -q >product.g && ge-gears --gears 1,40 product.g | ge-fuse | ge-layout -o two.g
for way in two one; do
	[ $way = two ] || ge-gears --share --copies 0 --why two.g -o one.g 2>why
	ge-plan -q $way.g -o $way.p.g && ge-emit -q $way.p.g -o $way
done
[ "$(bytes two.weights)" -gt 45000 ] && [ "$(bytes one.weights)" -lt 30000 ] && grep -q 'reads its weights as another gear does' why
ok $? "weights in one order: $(bytes one.weights) bytes; each gear in its own: $(bytes two.weights)"
for n in 1 30 40; do
	run-dev one.so --set n=$n -o y.npz && run-ref product.g --set n=$n -o r.npz && equal y.npz r.npz
	ok $? "n=$n with shared weights"
done

# Weights of 4 bits: a chunk of rows widens them from the packing in which one row is multiplied by digits, blocks of any even length.
awk 'BEGIN { printf "hone-text 1\nmodule ir=11 opset=28\nsymbol n 1 inf\nconst w = i4[120,96] ["
	for (i = 0; i < 11520; i++) printf "%s%d", i ? ", " : "", i * 7 % 16 - 8
	printf "]\nconst s = f32[5,96] ["
	for (i = 0; i < 480; i++) printf "%s%g", i ? ", " : "", (i * 11 % 17 + 1) / 16
	print "]\ngraph main {\n  input x: f32[n,120]\n  v = DequantizeLinear(@w, @s) {axis=0 block_size=24}\n  y = MatMul(x, v)\n  output y = y\n}" }' >codes.txt
ge-load codes.txt | ge-shape -q >codes.g && ge-gears --gears 1,40 codes.g | ge-fuse | ge-layout -o two.g
ge-gears --share --copies 0 --target x86-64-v3 --why two.g -o v3.g 2>why
! ge-dump v3.g | grep -q 'algo digits' && ge-plan -q --target x86-64-v3 v3.g -o v3.p.g && ge-emit -q --target x86-64-v3 v3.p.g -o v3 && [ "$(bytes v3.weights)" -lt 12000 ]
ok $? "4 bits, one packing for a row and 40: $(bytes v3.weights) bytes" || cat why
ge-gears --share --copies 0 two.g | ge-plan -q -o one.p.g && ge-emit -q one.p.g -o one
for n in 1 40; do
	run-dev one.so --set n=$n -o y.npz && run-ref codes.g --set n=$n -o r.npz && equal y.npz r.npz
	ok $? "4 bits, n=$n with shared weights"
done

# So does a kernel for any number of rows, beside which there is one for a single row.
ge-fuse codes.g | ge-layout -o open.g && ge-plan --why --target x86-64-v3 open.g -o open.p.g 2>why && ge-emit -q --target x86-64-v3 open.p.g -o v3
grep -q 'y (Fused): a kernel for all sizes of n, proved, another where n is 1' why && [ "$(bytes v3.weights)" -lt 12000 ]
ok $? "4 bits, any number of rows: $(bytes v3.weights) bytes" || cat why
ge-plan -q open.g | ge-emit -q -o one
for n in 1 2 40; do
	run-dev one.so --set n=$n -o y.npz && run-ref codes.g --set n=$n -o r.npz && equal y.npz r.npz
	ok $? "4 bits, n=$n, any number of rows"
done

# From a histogram: the least expected time, by times that are given.
printf '# sizes\nbatch=1 50\nbatch=3 20 # three\nbatch=4 1\nbatch=8 29\n' >h.txt
printf 'batch=1 1\nbatch=2 2\nbatch=3 3\nbatch=4 2.5\nbatch=8 8\n' >t.txt
ge-gears --histogram h.txt -k 3 --times t.txt batch.g -o h.g 2>err && grep -q '3 gears, expected time of a run 3.345 s; with a gear for every size 3.445 s' err &&
	ge-dump h.g | grep -q 'counts=\[50,21,29\]' && ge-dump h.g | grep -q 'gears=i64\[3,1\] \[1, 4, 8\]'
ok $? "gears of a histogram: a larger gear may be the faster one"
# Random histograms, against all sets of gears there are.
awk -v seed=7 'BEGIN {
	srand(seed)
	for (i = 1; i <= 25; i++) {
		n = 2 + int(rand() * 6); k = 1 + int(rand() * 4); size = 0; total = 0; best = -1
		printf "" >"r" i ".h"; printf "" >"r" i ".t"
		for (j = 1; j <= n; j++) {
			size += 1 + int(rand() * 3)
			count[j] = rand() < 0.3 ? 0 : int(rand() * 50) + 1
			time[j] = (1 + int(rand() * 9) + 3 * j) / 8
			if (j == n && !total)
				count[j] = 1
			total += count[j]
			if (count[j])
				printf "batch=%d %d\n", size, count[j] >"r" i ".h"
			printf "batch=%d %.9g\n", size, time[j] >"r" i ".t"
		}
		for (set = 1; set < 2 ^ n; set++) {
			cost = gears = 0; last = -1
			for (j = n; j >= 1; j--) {
				if (int(set / 2 ^ (j - 1)) % 2) { gears++; last = time[j] }
				if (count[j] && last < 0) gears = n + 1
				cost += count[j] * last
			}
			if (gears <= k && (best < 0 || cost < best)) best = cost
		}
		printf "%d %.12g\n", k, best / total >"r" i ".best"
	}
}'
wrong=0
for i in $(seq 25); do
	read -r k best <r$i.best
	ge-gears --histogram r$i.h -k "$k" --times r$i.t batch.g -o out.g 2>err || wrong=$((wrong + 1))
	sed -n 's/.*expected time of a run \([^ ]*\) s;.*/\1/p' err | awk -v best="$best" '{ d = $1 - best } END { exit !(NR == 1 && d < best * 1e-3 && d > -best * 1e-3) }' ||
		{ wrong=$((wrong + 1)) && cat r$i.best r$i.h r$i.t err; }
done
[ $wrong = 0 ]
ok $? "gears of 25 random histograms: none better"
refused 65 "t.txt: there is no time for batch=5, which h2.txt has" "a size without a time" sh -c 'echo batch=5 1 >h2.txt; ge-gears --histogram h2.txt -k 3 --times t.txt batch.g -o out.g'
refused 65 "h.txt: 4 sizes, which cannot be padded, and 3 gears are too few" "too few gears" ge-gears --exact --histogram h.txt -k 3 --times t.txt batch.g -o out.g
for line in 'batch 5' 'batch=0 1' 'batch=5' 'batch=5 x' 'batch=5 -1' 'batch=5,batch=6 1' '=5 1' 'batch=5 1 2' 'batch=99999999999999999999 1'; do
	echo "$line" >bad.txt
	refused 65 "bad.txt:1: " "a line \"$line\"" ge-gears --histogram bad.txt -k 3 --times t.txt batch.g -o out.g
done
printf 'batch=5 1\nn=5 1\n' >bad.txt
refused 65 "bad.txt:2: other symbols" "other symbols" ge-gears --histogram bad.txt -k 3 --times t.txt batch.g -o out.g
printf 'batch=5 1\nbatch=5 1\n' >bad.txt
refused 65 "bad.txt:2: the same sizes twice" "a size twice" ge-gears --histogram bad.txt -k 3 --times t.txt batch.g -o out.g
seq 1 20000 | sed 's/.*/batch=& 1/' >bad.txt
refused 65 "bad.txt:16385: too many lines" "a file that is none" timeout 60 ge-gears --histogram bad.txt -k 3 --times bad.txt batch.g -o out.g
refused 64 "which times?" "no times" ge-gears --histogram h.txt -k 3 batch.g -o out.g
refused 64 "how many gears?" "no number of gears" ge-gears --histogram h.txt --times t.txt batch.g -o out.g
refused 66 "none.txt: " "no such file" ge-gears --histogram none.txt -k 3 --times t.txt batch.g -o out.g
printf 'batch=1 5\nbatch=6 3\nbatch=7 2\n' >h.txt
hone build --histogram h.txt -k 2 -o digits/h "$model" >out && grep -q '2 gears, expected time of a run' out && grep -q 'batch=7: 50.0% of the runs' out &&
	run-dev digits/h.so --set batch=6 -o y.npz && run-ref "$model" --set batch=6 -o r.npz && equal y.npz r.npz
ok $? "hone build --histogram"
done_testing
