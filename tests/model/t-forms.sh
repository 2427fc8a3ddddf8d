# Kernels that differ by numbers of their bodies, or by the names of sizes, are one function that takes the numbers.
. "$top/tests/lib.sh"

cat >layers.txt <<'END'
hone-text 1
module ir=8 opset=28
const s0 = f32[] [0.02]
const s1 = f32[] [0.03]
const s2 = f32[] [0.05]
const z0 = u8[] [128]
const z1 = u8[] [3]
const z2 = u8[] [77]
const c0 = f32[] [0.3]
const c1 = f32[] [-1.7]
const c2 = f32[] [2.5]
graph main {
  input x: f32[6,2,64]
  q0 = QuantizeLinear(x, @s0, @z0)
  d0 = DequantizeLinear(q0, @s0, @z0)
  q1 = QuantizeLinear(x, @s1, @z1)
  d1 = DequantizeLinear(q1, @s1, @z1)
  q2 = QuantizeLinear(x, @s2, @z2)
  d2 = DequantizeLinear(q2, @s2, @z2)
  m0 = Mul(d0, @c0)
  m1 = Mul(d1, @c1)
  m2 = Mul(d2, @c2)
  p0 = Softmax(m0) {axis=-1}
  p1 = Softmax(m1) {axis=-1}
  p2 = Softmax(m2) {axis=-1}
  output p0 = p0
  output p1 = p1
  output p2 = p2
}
END

cat >names.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol a 1 inf
symbol b 1 inf
symbol z 1 inf
graph main {
  input x: f32[b,z,5]
  input y: f32[z,a,5]
  s = Transpose(x) {perm=[1,0,2]}
  t = Transpose(y) {perm=[1,0,2]}
  output s = s
  output t = t
}
END

# functions FILE: how many kernels the C file has.
functions() { grep -c '^KERNEL void k[0-9]*(' "$1"; }

# made NAME [OPTION...]: NAME.so of NAME.txt
made() {
	local name=$1
	shift
	ge-load "$name.txt" | ge-shape -q | ge-fuse -q | ge-layout -q | ge-plan -q --no-fallback "$@" -o "$name.g" && ge-emit -q "$name.g" -o "$name"
}

made layers
ok $? "layers of other scales, zero points and factors"
is "$(functions layers.c)" 2 "a function for the codes of all layers, and one for their Softmax"
equal --runs 5 --tol 1e-6 layers.so layers.g
ok $? "each computes with its own numbers"
grep -q '0\.02' layers.c && grep -q ', float n0' layers.c
ok $? "the numbers are arguments"

made names
ok $? "sizes of other names"
is "$(functions names.c)" 1 "they are one function"
equal --runs 3 --set a=3,b=2,z=7 names.so names.g
ok $? "each call has its own sizes"

done_testing
