# ge-plan: values that live at the same time do not overlap, the peak reaches the lower bound where it can,
# twice is once, and open sizes are asked for.
. "$top/tests/lib.sh"

# A chain, with a value that lives long, a view, and two results of one value.
cat >chain.txt <<'END'
hone-text 1
module ir=8 opset=28
const two = i64[2] [4, 256]
graph main {
  input x: f32[1024]
  a = Relu(x) "a"
  b = Softmax(a) {axis=0} "b"
  c = Softmax(b) {axis=0} "c"
  v = Reshape(c, @two) "v"
  d = Softmax(v) {axis=1} "d"
  e = Transpose(d) {perm=[1,0]} "e"
  f = ReduceSum(e) {keepdims=0} "f"
  g = Add(a, f) "g"
  output g = g
  output v = v
  output again = v
  output plain = x
}
END
ge-load chain.txt | ge-shape | ge-fuse -o chain.g
ge-plan chain.g -o planned.g 2>report && [ -s planned.g ]
ok $? "a chain is planned"
grep -Eq 'memory [0-9]+ bytes .* lower bound [0-9]+$' report
ok $? "peak and lower bound are reported"
peak=$(sed -E 's/.*memory ([0-9]+) .*/\1/' report) bound=$(sed -E 's/.*bound //' report)
[ "$peak" -ge "$bound" ] && [ "$peak" -le $((2 * bound)) ]
ok $? "the peak ($peak) is near the lower bound ($bound)"
ge-dump planned.g | grep -q "meta \"plan.bytes\" = \"$peak\""
ok $? "the stream says so too"
ge-stat --json planned.g | grep -q "\"arena\": {\"bytes\": $peak, \"values\": [0-9]*, \"bound\": $bound}" && ge-stat planned.g | grep -q 'of what is alive at one time'
ok $? "ge-stat reads it"

ge-plan --quiet planned.g -o twice.g
same_graph planned.g twice.g
ok $? "a plan twice is a plan once"
ge-plan --quiet --why chain.g 2>&1 >/dev/null | grep -q "in the caller's memory"
ok $? "--why tells where results are"
equal planned.g chain.g
ok $? "the numbers stay"

# Values of whole pages, eight in a row: no two that are alive together begin alike in their page.
{
	printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[64,64]\n  input y: f32[64,64]\n'
	before=x
	for i in 1 2 3 4 5 6 7 8; do
		echo "  v$i = MatMul($before, y) \"v$i\""
		before=v$i
	done
	printf '  s = Sum(v1, v2, v3, v4, v5, v6, v7, v8)\n  output s = s\n}\n'
} >pages.txt
ge-load pages.txt | ge-shape | ge-fuse | ge-plan -q | ge-dump - | sed -n 's/.*offsets=\[\([0-9]*\)\].*/\1/p' >offsets
awk '{ at[$1 % 4096]++ } END { for (a in at) if (at[a] > 1) exit 1; exit NR < 7 }' offsets
ok $? "values of whole pages begin each elsewhere in its page: $(tr '\n' ' ' <offsets)"

cat >open.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
graph main {
  input x: f32[n]
  y = Relu(x)
  output y = y
}
END
ge-load open.txt | ge-shape | ge-fuse -o open.g
ge-plan open.g 2>err | ge-dump - | grep -q 'offsets=\[-1\]' && grep -q '^ge-plan: open sizes: x f32\[n\]' err
ok $? "open sizes are named, and have no address"
ge-plan --why open.g 2>err >/dev/null
for want in 'sizes: n 0 or more' 'steps: 1 on kernels, 1 of them for all sizes; 0 native, 0 on the slow path' 'to build for one size: --set n=N' \
	'main/y (Fused): a kernel for all sizes of n, proved$' '1 kernels, 1 distinct; memory 0 bytes of fixed size (0 without reuse).*; buffers that grow as a run needs: 1, together 256 bytes where open sizes are 64$' 'main/y (Fused): f32\[n\] in buffer 0, as large as each run needs'; do
	grep -q "^ge-plan: $want" err
	ok $? "open sizes: $want" || cat err
done
printf 'hone-text 1\nmodule ir=10 opset=28\nsymbol n 0 inf\ngraph main {\n  input x: f32[n,64]\n  input y: f32[64,n]\n  p = MatMul(x, y)\n  output p = p\n}\n' | ge-load | ge-shape |
	ge-fuse | ge-layout | ge-plan 2>err >/dev/null
grep -q '^ge-plan: 1 kernels, 2 with those for some sizes; ' err
ok $? "a kernel in two forms" || cat err
ge-load open.txt | ge-shape --set n=5 | ge-fuse | ge-plan -o fixed.g 2>err && [ -s fixed.g ] && ! grep -q 'sizes:\|steps:' err
ok $? "nothing of it where all sizes are given"

cat >unfused.txt <<'END'
hone-text 1
module ir=8 opset=28
graph main {
  input x: f32[4]
  y = Relu(x) "the-node"
  output y = y
}
END
ge-load unfused.txt | ge-shape | ge-plan >out 2>err
[ $? = 69 ] && grep -q 'the-node.*ge-fuse' err
ok $? "a node outside every group: 69 and what to run"

# Placement by brute force: no two blocks that live at the same time share a byte.
awk 'BEGIN {
	srand(7); n = 60
	print "hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[16]"
	for (i = 0; i < n; i++) {
		a = i ? "v" int(rand() * i) : "x"; b = i ? "v" int(rand() * i) : "x"
		printf "  s%d = ReduceSum(%s) {keepdims=0}\n  t%d = ReduceMax(%s) {keepdims=0}\n  u%d = Add(s%d, t%d)\n", i, a, i, b, i, i, i
		printf "  w%d = Mul(x, u%d)\n  v%d = Softmax(w%d) {axis=0}\n", i, i, i, i
	}
	print "  output y = v" n - 1 "\n}"
}' >many.txt
ge-load many.txt | ge-shape | ge-fuse | ge-plan --quiet -o many.g && ge-emit many.g -o many --quiet && equal --runs 3 many.so many.g
ok $? "300 nodes with lives that cross: the library gives the evaluator's numbers"

# A plan holds for the graph it was made of. Passes that take results away, or make of an output something else, leave one
# that does not.
stale() { # WHAT NODE GRAPH
	ge-emit --quiet --no-compile "$3" -o never 2>err
	[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && grep -q "$2.*another graph; run ge-plan again" err && [ ! -e never.c ]
	ok $? "$1: 64, the node and what to run"
}
cat >top.txt <<'END'
hone-text 1
module ir=10 opset=28
const k = i64[1] [1000]
graph main {
  input x: f32[10000]
  v, i = TopK(x, @k) "top"
  a = Neg(v)
  b = Neg(i)
  output a = a
  output b = b
}
END
ge-load top.txt | ge-shape | ge-fuse | ge-layout | ge-plan --quiet -o top.g
ge-prune --output b top.g -o half.g
stale "a group lost a result" top half.g
ge-plan --quiet half.g -o again.g && ge-emit --quiet again.g -o again && equal again.so half.g
ok $? "planned again it is compiled, with the evaluator's numbers"
ge-prune --output g --output v planned.g -o fewer.g && ge-emit --quiet fewer.g -o fewer && equal fewer.so fewer.g
ok $? "without some outputs the plan holds"
cat >step.txt <<'END'
hone-text 1
module ir=8 opset=28
graph main {
  input x: f32[8,64]
  a = Softmax(x) {axis=1} "first"
  b = Softmax(a) {axis=0} "second"
  output a = a
  output b = b
}
END
ge-load step.txt | ge-shape | ge-fuse | ge-plan --quiet -o step.g
ge-prune --output b step.g -o inner.g
stale "an output became a value that is read" first inner.g
edited() { ge-dump planned.g | sed -E "$1" | ge-load -o edited.g; }
edited 's/offsets=\[[0-9]+\]/offsets=[0]/'
stale "two values in one place" '' edited.g
edited 's/"plan.bytes" = "[0-9]+"/"plan.bytes" = "64"/'
stale "a value past the arena" '' edited.g

# Indices that are shown to be in bounds however many elements there are.
printf 'hone-text 1\nmodule ir=8 opset=17\nconst around = i64[8] [0, 0, 1, 1, 0, 0, 1, 1]\nconst ends = i64[2] [200, 300]\ngraph main {\n  input x: f32[1,64,128,128]\n  input z: f32[300000]\n  y = Pad(x, @around) {mode="reflect"} "image"\n  w = Pad(z, @ends) {mode="reflect"} "sound"\n  output y = y\n  output w = w\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-plan -o pad.g 2>report && [ -s pad.g ] && ! grep -q 'slow path\|plain loops' report
ok $? "reflections of more than 2^18 elements are planned"
# Axes that are an input without elements are known: there are none.
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[3,2,2]\n  input axes: i64[0]\n  y = ReduceSum(x, axes)\n  output y = y\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-plan -o none.g 2>report && [ -s none.g ] && ! grep -q 'slow path' report
ok $? "a sum over axes of which there are none to name"
done_testing
