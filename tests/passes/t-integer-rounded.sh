# A sum times its scale plus its bias is a half only if the product is rounded before the sum: with one rounding of both, half of the
# columns get another code. So it must not be, whatever the compiler.
. "$top/tests/lib.sh"
numbers() { # scales, or biases (b): 0.5 less the rounded product of the scale and 255 * 64
	awk -v b="$1" 'function f32(x,  e) { e = 2 ^ (int(log(x) / log(2) + 100) - 100 - 23); return int(x / e + 0.5) * e }
		BEGIN { for (i = 0; i < 64; i++) { m = f32((1 + i * 0.0137) / 100); printf "%s%.9g", i ? ", " : "", b ? 0.5 - f32(m * 16320) : m } }'
}
cat >model.txt <<END
hone-text 1
module ir=10 opset=21
const w = i8[64,64] [$(awk 'BEGIN { for (i = 0; i < 4096; i++) printf "%s1", i ? ", " : "" }')]
const m = f32[64] [$(numbers)]
const b = f32[64] [$(numbers b)]
const one = f32[] [1]
const z = u8[] [0]
graph main {
  input x: u8[9,64]
  s = MatMulInteger(x, @w)
  f = Cast(s) {to=1}
  p = Mul(f, @m)
  a = Add(p, @b)
  q = QuantizeLinear(a, @one, @z)
  output q = q
}
END
ge-load model.txt | ge-shape -o model.g && ge-export -q -o model.onnx model.g
for cc in gcc clang; do
	command -v $cc >/dev/null || { skip "$cc" "not there" && continue; }
	CC=$cc hone build -q model.onnx -o "by-$cc" && equal --tol 0 --range=x=255:255 "by-$cc.so" model.g
	ok $? "$cc: halves are halves" || cat cmp.log
done
done_testing
