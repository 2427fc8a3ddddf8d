# The least and the greatest of all elements, and the codes that are made with them, in every layout and shape: the same bytes as the
# evaluator's, on each target that this CPU runs.
. "$top/tests/lib.sh"
numbers() { awk -v n="$1" 'BEGIN { srand(5); for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "", int(rand() * 255) - 127 }'; }
cat >m.txt <<END
hone-text 1
module ir=10 opset=21
const w = i8[24,3,3,3] [$(numbers 648)]
const v = i8[24,1,3,3] [$(numbers 216)]
const m = i8[37,20] [$(numbers 740)]
const bias = f32[1,24,1,1] [$(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '%s0.3%d, -1.7%d' "$([ $i = 1 ] || printf ', ')" $i $i; done)]
graph main {
  input i: f32[1,3,18,17]
  input x: f32[5,37]
  input one: f32[]
  input few: f32[2,7]
  q, s, z = DynamicQuantizeLinear(i)
  c = ConvInteger(q, @w, z) {kernel_shape=[3,3] pads=[1,1,1,1]}
  f = Cast(c) {to=1}
  g = Mul(f, s)
  n = Add(g, @bias)
  r = Relu(n)
  p, t, y = DynamicQuantizeLinear(r)
  d = ConvInteger(p, @v, y) {group=24 kernel_shape=[3,3] pads=[1,1,1,1]}
  df = Cast(d) {to=1}
  dm = Mul(df, t)
  da = Add(dm, @bias)
  a, b, e = DynamicQuantizeLinear(x)
  h = MatMulInteger(a, @m, e)
  o, u, k = DynamicQuantizeLinear(one)
  o2, u2, k2 = DynamicQuantizeLinear(few)
$(for v in p t y da a b h o u k o2 u2; do echo "  output $v = $v"; done)
}
END
ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g
targets=x86-64
[ "$(uname -m)" = x86_64 ] || targets=native
grep -qw avx2 /proc/cpuinfo && targets="$targets x86-64-v3"
grep -qw avx512vl /proc/cpuinfo && targets="$targets x86-64-v4 native"
for target in $targets; do
	rm -f m.so && hone build m.onnx -o m -q --target "$target" >log 2>err && [ -s m.so ]
	ok $? "$target is built"
	for range in -1:1 3:5 -9:-2 0:0; do
		equal --tol 0 --runs 2 --range=i=$range --range=x=$range --range=one=$range --range=few=$range m.so m.g
		ok $? "$target: numbers in $range"
	done
done
done_testing
