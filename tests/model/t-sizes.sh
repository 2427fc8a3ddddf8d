# Models of open sizes at random ones, fitting and hostile, under sanitizers, every value in memory of just its size: kernels, native steps,
# views, branches and loops. make soak has random models.
. "$top/tests/lib.sh"
. "$top/tests/model/sizes/attack.sh"
runs=${RUNS:-700}

cat >kernels.txt <<END
hone-text 1
module ir=8 opset=20
symbol b 0 inf
symbol n 0 inf
symbol k 0 inf
const w = f32[12,10] [$(seq -s, 1 120)]
const g = f32[10] [$(seq -s, 1 10)]
const v = f32[5,3,3] [$(seq -s, 1 45)]
graph main {
  input x: f32[b,n,12]
  input y: f32[b,3,k]
  input z: f32[b,1,n]
  a = MatMul(x, @w) "product"
  c = Add(a, @g) "bias"
  d = Softmax(c) {axis=-1} "soft"
  e = Transpose(d) {perm=[0,2,1]} "turn"
  f = Add(e, z) "add"
  h = Conv(y, @v) {pads=[1,1] strides=[2]} "conv"
  i = Relu(h) "relu"
  j = GlobalAveragePool(i) "pool"
  output f = f
  output j = j
}
END
cat >found.txt <<END
hone-text 1
module ir=8 opset=20
symbol n 0 inf
symbol k 0 inf
const zero = i64[1] [0]
const pair = i64[2] [-1, 2]
const floor = f32[] [0]
graph main {
  input x: f32[n,4]
  input i: i64[k]
  input t: i64[]
  input s: i64[2]
  tu = Unsqueeze(t, @zero) "tu"
  nz = NonZero(x) "nz"
  tr = Transpose(nz) "tr"
  ga = GatherND(x, tr) "ga"
  re = Relu(ga) "re"
  gx = Gather(x, i) {axis=0} "gx"
  r = Reshape(gx, @pair) "r"
  q = Neg(r) "q"
  sh = Shape(q) "sh"
  c = ConstantOfShape(sh) {value=f32[1] [2]} "c"
  m = Mul(c, q) "m"
  ti = Tile(m, s) "ti"
  ex = Expand(t, s) "ex"
  sl = Slice(x, @zero, tu, @zero) "sl"
  tk, ti2 = TopK(x, tu) {axis=0} "tk"
  output re = re
  output ti = ti
  output ex = ex
  output sl = sl
  output tk = tk
  output ti2 = ti2
}
END
cat >grows.txt <<END
hone-text 1
module ir=8 opset=20
symbol n 0 inf
const go = bool[] [1]
const none = f32[] [0]
const row = f32[1,4] [1, 2, 3, 4]
symbol m 0 inf
graph more {
  input x: f32[n,4]
  a = Concat(x, @row) {axis=0} "more"
  output a = a
}
graph less {
  input x: f32[n,4]
  b = Abs(x) "less"
  output b = b
}
graph body {
  input i: i64[]
  input c: bool[]
  input h: f32[m,4]
  d = Identity(c) "d"
  e = Concat(h, @row) {axis=0} "grow"
  s = ReduceSum(e) {keepdims=0} "sum"
  output d = d
  output e = e
  output s = s
}
graph main {
  input x: f32[n,4]
  input t: i64[]
  u = ReduceSum(x) {keepdims=0} "u"
  p = Greater(u, @none) "p"
  f = If(p, x) {captures=1 then_branch=graph more else_branch=graph less} "if"
  l, k = Loop(t, @go, f) {body=graph body} "loop"
  y = Sin(l) "y"
  output y = y
  output k = k
}
END
for model in kernels found grows; do attack $model "$runs" 1; done

# Operators with operands that do not fit and values out of range, side by side in a few models (make soak has all of them).
mkdir each && "$top/build/check/unfit_sizes" models each TopK OneHot Gather Slice Squeeze Split ArgMax AveragePool QuantizeLinear ScatterElements
for model in each/*.txt; do mv "$model" . && attack "$(basename "$model" .txt)" "$((runs / 7))" 1; done
done_testing
