# One integer stream on every target that this CPU runs: the same bytes as before ge-integer on the evaluator, with activations of 0 and
# 255 and weights of -127 and 127, whose pairs a saturating sum of 16 bits would lose; functions of one code, which are tables;
# and codes of infinities and of what is no number.
. "$top/tests/lib.sh"
signs() { awk -v n="$1" 'BEGIN { srand(7); for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "", i < n / 4 || rand() < 0.5 ? 127 : -127 }'; }
cat >model.txt <<END
hone-text 1
module ir=10 opset=21
const s = f32[] [0.037]
const z = u8[] [131]
const w = i8[64,24] [$(signs 1536)]
const sw = f32[] [0.0123]
const sy = f32[] [5.3]
const c = i8[16,8,3,3] [$(signs 1152)]
const sc = f32[16] [0.01, 0.02, 0.03, 0.011, 0.012, 0.013, 0.014, 0.015, 0.016, 0.017, 0.018, 0.019, 0.02, 0.021, 0.022, 0.023]
const dw = i8[48,1,3,3] [$(signs 432)]
const dw5 = i8[48,1,5,5] [$(signs 1200)]
const zy = u8[] [128]
const sc3 = f32[] [0.011]
const row = f32[23] [0, -0, 1e-38, -1e-30, 1e30, 1, -1, 0.5, -0.25, 0.125, 2, -2, 4, 8, 16, -32, 64, 1e-3, 1e-5, -1e-4, 1e-7, 3, 7]
const col = f32[5,23] [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
const st = f32[] [0.01]
const zs = i8[] [-7]
const zi = u8[] [3]
graph main {
  input x: u8[16,64]
  input i: u8[1,8,9,9]
  input t: u8[1,8,9,9]
  input e8: u8[1,48,11,13]
  input j: i8[5,23]
  d = DequantizeLinear(x, @s, @z)
  v = DequantizeLinear(@w, @sw)
  y = MatMul(d, v)
  q = QuantizeLinear(y, @sy, @zy)
  e = DequantizeLinear(i, @s, @z)
  u = DequantizeLinear(@c, @sc) {axis=0}
  p = Conv(e, u) {kernel_shape=[3,3] pads=[1,1,1,1]}
  r = QuantizeLinear(p, @sy, @zy)
  pr = DequantizeLinear(r, @sy, @zy)
  ps = Sigmoid(pr)
  pm = Mul(pr, ps)
  mapped = QuantizeLinear(pm, @sy, @zy)
  de = DequantizeLinear(e8, @s, @z)
  d3 = DequantizeLinear(@dw, @sc3)
  p3 = Conv(de, d3) {group=48 kernel_shape=[3,3] pads=[1,1,1,1]}
  q3 = QuantizeLinear(p3, @sy, @z)
  d5 = DequantizeLinear(@dw5, @sc3)
  e3 = DequantizeLinear(q3, @sy, @z)
  p5 = Conv(e3, d5) {group=48 kernel_shape=[5,5] pads=[2,1,2,3] strides=[2,1]}
  q5 = QuantizeLinear(p5, @sy, @z)
  e5 = DequantizeLinear(q5, @sy, @z)
  p6 = Conv(e5, d3) {group=48 kernel_shape=[3,3] strides=[3,2]}
  q6 = QuantizeLinear(p6, @sy, @zy)
  a = DequantizeLinear(t, @s, @z)
  b = Tanh(a)
  bytes = QuantizeLinear(b, @st, @zs)
  f = DequantizeLinear(j, @s)
  g = Exp(f)
  signed = QuantizeLinear(g, @sy, @zi)
  far = Div(f, @row)
  none = Mul(far, @col)
  bounds = QuantizeLinear(none, @sy, @zi)
  fb = DequantizeLinear(bounds, @sy, @zi)
  fr = Mul(fb, f)
  more = QuantizeLinear(fr, @sy, @zy)
  output q6 = q6
  output bounds = bounds
  output more = more
  output q = q
  output r = r
  output mapped = mapped
  output bytes = bytes
  output signed = signed
}
END
ge-load model.txt | ge-shape -o model.g && ge-export -q -o model.onnx model.g
for target in x86-64 x86-64-v3 x86-64-v4 native; do
	case $target in
	*-v3) grep -qw avx2 /proc/cpuinfo ;;
	*-v4) grep -qw avx512vl /proc/cpuinfo ;;
	esac || { skip "$target" "not of this CPU" && continue; }
	hone build -q --integers --target="$target" model.onnx -o "lib-$target" 2>err && [ -s "lib-$target.so" ]
	ok $? "$target is built"
	for range in 255:255 0:255 254:255; do
		equal --tol 0 --runs 2 --range=x=$range --range=i=$range --range=e8=$range "lib-$target.so" model.g
		ok $? "$target: bytes of x in $range" || cat cmp.log
	done
done
done_testing
