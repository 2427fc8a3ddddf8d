# The check of hone simplify: what others go on with it goes on with, and what is wrong it finds.
. "$top/tests/lib.sh"
rc() {
	"$@" >out 2>err
	echo $?
}
says() { tail -1 out | sed 's/^the same numbers on 3 random inputs//'; }
# model NAME OPSET LINE...: constants, a line that begins the graph, nodes
model() {
	name=$1
	{
		printf '%s\n' 'hone-text 1' 'module ir=8 opset=28' "meta \"opset:ai.onnx\" = \"$2\"" 'meta "opset:my" = "1"'
		shift 2
		printf '%s\n' "$@" '}'
	} >"$name.txt"
	ge-load "$name.txt" | ge-export -o "$name.onnx"
}
good() { # NAME SAYS WHAT
	is "$(rc hone simplify "$1.onnx" "$1-new.onnx") $(says) $(ge-import "$1-new.onnx" 2>/dev/null | ge-dump | grep -c '^meta "opset:ai.onnx" = "'"$(sed -n 's/^meta "opset:ai.onnx" = "\(.*\)"/\1/p' "$1.txt")")" "0 $2 1" "$3"
}

twelve='[-0.58, -0.46, -1.04, 0.76, -0.11, 1.74, -1.36, 0.12, -1.28, 0.22, 1.16, -1.14]'
for t in f16 bf16; do
	model $t 22 "const w = $t[4,3,1,1] $twelve" "const s = $t[4] [-0.069, 1.445, -0.102, 1.31]" "const b = $t[4] [0.036, 1.085, 0.672, -0.21]" \
		"const m = $t[4] [-0.494, -0.076, 0.188, 0.33]" "const v = $t[4] [1.798, 0.853, 0.337, 0.71]" 'graph g {' "  input x: $t[1,3,6,6]" \
		'  a = Conv(x, @w)' '  y = BatchNormalization(a, @s, @b, @m, @v)' '  output y = y'
	good $t '' "$t: the tolerance is what rounding makes of it"
done
model zero 17 'const zero = f32[] [0]' 'graph g {' '  input x: f32[3]' '  a = Mul(x, @zero)' '  b = Identity(a)' '  y = Relu(b)' '  output y = y'
good zero '' 'all zero is equal to all zero'
model nan 17 'const bad = f32[3] [nan, inf, -inf]' 'graph g {' '  input x: f32[2,3]' '  i = Identity(x)' '  y = Add(i, @bad)' '  output y = y'
good nan '' 'NaN and infinities are equal to theirs'
model open 17 'symbol N 0 inf' 'graph g {' '  input x: f32[?,N]' '  r = Neg(x)' '  i = Identity(r)' '  y = Concat(i, r) {axis=1}' '  output y = y'
good open ' (with --set x_dim_0=2 --set N=8)' 'sizes with a name and without'
is "$(rc hone simplify --check-set x:5x3 open.onnx open2.onnx) $(says)" '0  (with --check-set=x:5x3)' '--check-set INPUT:EXTENTS'
is "$(rc hone simplify --check-set N=3 open.onnx open2.onnx) $(says)" '0  (with --check-set=N=3 --set x_dim_0=2)' '--check-set NAME=SIZE, and the rest'
model even 17 'symbol h 0 inf' 'const two = f32[3] [1, 1, 2]' 'const half = f32[3] [1, 1, 0.5]' 'graph g {' '  input x: f32[1,1,h]' '  i = Identity(x)' \
	'  d = Resize(i, -, @half)' '  u = Resize(d, -, @two)' '  y = Add(u, x)' '  output y = y'
good even ' (with --set h=8)' 'a size that works, where 1 does not'
model ninety 17 'symbol h 0 inf' 'const w = f32[64,1] ['"$(seq -s, 64)"']' 'graph g {' '  input x: f32[1,h]' '  i = Identity(x)' '  y = MatMul(i, @w)' '  output y = y'
good ninety ' (with --set h=64)' 'a size that constants ask for'
model shape 21 'const two = i64[2] [1, 1]' 'const one = i64[1] [-1]' 'graph g {' '  input x: f32[2,2]' '  input s: i64[1]' '  a = Reshape(s, @two)' '  b = Reshape(a, @one)' \
	'  y = Reshape(x, b)' '  output y = y'
good shape '' 'an input that is a shape'
is "$(rc hone simplify --check-set s=4 shape.onnx shape2.onnx) $(says)" '0  (with --check-set=s=4)' '--check-set INPUT=VALUE'
model choice 17 'const k = i64[] [16000]' 'const far = i64[2] [9, 9]' 'graph yes {' '  input x: f32[2]' '  y = Neg(x)' '  output y = y' '}' 'graph no {' \
	'  input x: f32[2]' '  y = Gather(x, @far)' '  output y = y' '}' 'graph g {' '  input rate: i64[]' '  input x: f32[2]' '  i = Identity(rate)' '  e = Equal(i, @k)' \
	'  y = If(e, x) {captures=1 else_branch=graph no then_branch=graph yes}' '  output y = y'
is "$(rc hone simplify choice.onnx choice2.onnx) $(says) $(ls choice2.onnx)" '0  choice2.onnx' 'a number that the model compares with'
model custom 17 'const one = f32[] [1]' 'graph g {' '  input x: f32[2,3]' '  a = Mul(x, @one)' '  b: f32[4] = my.Op(a) {k=1}' '  c = Identity(b)' '  d = my.Op(c)' \
	'  y: f32[3] = my.Op(d)' '  z = Neg(y)' '  output z = z'
good custom ', without 3 nodes without an evaluator: Op, ...' 'around what nothing here runs'
model string 17 'symbol n 0 inf' 'graph g {' '  input s: str[n,2]' '  t = Identity(s)' '  y = Shape(s)' '  output t = t' '  output y = y'
good string ' (with --set n=2)' 'strings'
model sequence 17 'const sp = i64[3] [2, 4, 1]' 'const i = i64[] [1]' 'graph g {' '  input x: f32[7,3]' '  s = SplitToSequence(x, @sp) {axis=0}' '  b: f32[4,3] = SequenceAt(s, @i)' \
	'  y = Neg(b)' '  output y = y'
good sequence '' 'sequences'
model never 17 'symbol n 0 inf' 'const w = f32[3000,1] ['"$(seq -s, 3000)"']' 'graph g {' '  input x: f32[1,n]' '  i = Identity(x)' '  y = MatMul(i, @w)' '  output y = y'
is "$(rc hone simplify never.onnx never2.onnx) $(tail -1 out) $(grep -c 'not checked: .*--check-set' err) $(ls never2.onnx)" '0 it was not checked 1 never2.onnx' 'no size is found: written, and said'
is "$(rc hone simplify --check-set n=3000 never.onnx never2.onnx) $(says)" '0  (with --check-set=n=3000)' 'it is given'
is "$(rc hone simplify --check-set q=3000 never.onnx never3.onnx) $(ls never3.onnx 2>/dev/null)" '64 ' 'no such size'
is "$(rc hone simplify --no-check never.onnx never2.onnx) $(tail -1 out) $(wc -c <err)" '0 it was not checked 0' '--no-check'
is "$(rc hone simplify --check 'cmp' never.onnx never4.onnx) $(ls never4.onnx 2>/dev/null) $(grep -c 'does not compute the same' err)" '1  1' '--check COMMAND: different'
is "$(rc hone simplify --check 'test -s' never.onnx "a b.onnx") $(ls "a b.onnx" 2>/dev/null)" '1 ' '--check COMMAND: it is given two files'
is "$(rc hone simplify --check 'run-cmp --set n=3000' never.onnx "a b.onnx") $(tail -1 out)" '0 the same by run-cmp --set n=3000' '--check COMMAND: the same'

# The file does not grow: constants that folding would add are computed when it runs.
model grows 17 'const s = i64[2] [100, 100]' 'graph g {' '  input x: f32[100,100]' '  c = ConstantOfShape(@s) {value = f32[1] [2]}' '  i = Identity(x)' '  y = Mul(i, c)' '  output y = y'
is "$(rc hone simplify grows.onnx grown.onnx) $(($(wc -c <grown.onnx) < 1500)) $(awk -v a="$(wc -c <grows.onnx)" -v b="$(wc -c <grown.onnx)" '/^bytes of the file/ { print $5 == a, $6 == b }' out)" '0 1 1 1' 'it does not, and its size is in the table'
is "$(rc hone simplify --no-grow grows.onnx same.onnx) $(($(wc -c <same.onnx) <= $(wc -c <grows.onnx)))" '0 1' '--no-grow'

# What is wrong is found: run-cmp --rewritten on models that do differ.
differs() { # NAME WHAT
	is "$(rc run-cmp --rewritten --runs=3 "$1-bad.onnx" "$1.onnx")" "$3" "$2"
}
bad() { # NAME SED
	sed "$2" "$1.txt" >"$1-bad.txt"
	ge-load "$1-bad.txt" | ge-export -o "$1-bad.onnx"
}
bad f16 's/1.445/1.4/' && differs f16 'another scale, in f16' 1
bad nan 's/inf, -inf/-inf, -inf/' && differs nan 'another infinity' 1
bad nan 's/nan, /1, /' && differs nan 'a number for a NaN' 1
bad zero 's/\[0\]/[1]/' && differs zero 'not all zero' 1
bad custom 's/a = Mul(x, @one)/a = Neg(x)/' && differs custom 'before what nothing here runs' 1
bad custom 's/z = Neg/z = Abs/' && differs custom 'behind it' 1
bad custom 's/my.Op(c)/my.Other(c)/' && differs custom 'another such operator' 69

# Nodes that are left in the file.
left() { # NAME NODES WHAT
	is "$(rc hone simplify "$1.onnx" "$1-new.onnx") $(ge-stat --json "$1-new.onnx" | sed 's/.*"nodes": \([0-9]*\), "graphs".*/\1/')" "0 $2" "$3"
}
model unnamed 11 "const w = f32[4,3,1,1] $twelve" 'const c = f32[1,4,1,1] [1, 2, 3, 4]' 'const s = f32[] [2]' 'graph g {' '  input x: f32[?,3,?,?]' '  a = Conv(x, @w)' \
	'  b = Add(a, @c)' '  m = Mul(b, @s)' '  y = Mul(m, @s)' '  output y = y'
left unnamed 1 'extents without a name do not hide a bias, nor scales'
model gelu 13 "const w = f32[3,4] $twelve" 'const k = f32[] [1.4142135]' 'const one = f32[] [1]' 'const half = f32[] [0.5]' 'graph g {' '  input x: f32[2,3]' '  d = Div(x, @k)' '  e = Erf(d)' \
	'  a = Add(e, @one)' '  m = Mul(x, a)' '  g = Mul(m, @half)' '  y = MatMul(g, @w)' '  output y = y'
left gelu 6 'Gelu is written as others fuse it'
model pool 17 'graph g {' '  input x: f64[1,3,4,4]' '  i = Identity(x)' '  y = ReduceMean(i) {keepdims=0}' '  output y = y'
left pool 1 'a mean stays one node, of its type'
model cond 17 'graph yes {' '  input x: f32[2]' '  y = Neg(x)' '  output y = y' '}' 'graph no {' '  input x: f32[2]' '  y = Abs(x)' '  output y = y' '}' 'graph g {' '  input c: bool[1,1]' \
	'  input x: f32[2]' '  y = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}' '  output y = y'
left cond 3 'a condition of one element, of any rank'

# Integers of a check are such as their use asks for.
model expand 17 'graph g {' '  input x: f32[1,1,7]' '  input s: i64[3]' '  y = Expand(x, s)' '  output y = y'
model slice 13 'graph g {' '  input x: f32[3,8]' '  input s: i64[2]' '  input e: i64[2]' '  input a: i64[2]' '  input t: i64[2]' '  y = Slice(x, s, e, a, t)' '  output y = y'
model roi 16 'symbol k 0 inf' 'graph g {' '  input x: f32[2,2,6,6]' '  input r: f32[k,4]' '  input b: i64[k]' '  y = RoiAlign(x, r, b) {output_height=2 output_width=2 sampling_ratio=2}' \
	'  output y = y'
model split 13 'graph g {' '  input x: f32[2,7]' '  input s: i64[3]' '  a, b, c = Split(x, s) {axis=1}' '  y = Concat(c, a, b) {axis=1}' '  output y = y'
model reshape 13 'graph g {' '  input x: f32[2,7]' '  input s: i64[2]' '  input i: i64[1,2]' '  r = Reshape(x, s)' '  y = GatherND(x, i)' '  output r = r' '  output y = y'
model squeeze 13 'graph g {' '  input x: f32[1,7]' '  input a: i64[3]' '  input t: i64[2]' '  u = Unsqueeze(x, a)' '  y = Tile(x, t)' '  output y = y'
for used in expand slice roi split reshape squeeze; do
	is "$(rc hone simplify "$used.onnx" "$used-new.onnx") $(grep -c 'the same numbers' out)" '0 1' "integers that $used takes"
done

# A number that comes to lie on the other side of a level is one level off, no more.
model levels 13 'const s = f32[1] [0.02]' 'const z = u8[] [128]' 'const k = f32[] [1]' 'const v = f32[] [3]' 'graph g {' '  input x: f32[40,50]' '  m = Mul(x, @k)' \
	'  q = QuantizeLinear(m, @s, @z)' '  d = DequantizeLinear(q, @s, @z)' '  y = Mul(d, @v)' '  output y = y'
good levels '' 'one number for a scale, a zero point in another rank'
bad levels 's/k = f32\[\] \[1\]/k = f32[] [1.0001]/' && is "$(rc run-cmp --rewritten --runs=3 levels-bad.onnx levels.onnx)" 0 'a level off'
bad levels 's/k = f32\[\] \[1\]/k = f32[] [1.05]/' && differs levels 'many levels off' 1

model fewest 13 "const w = f32[3,4] $twelve" "const u = f32[4,3] $twelve" 'const b = f32[4] [1, 2, 3, 4]' 'const c = f32[3] [1, 2, 3]' 'const i = i64[1] [1]' 'const j = i64[1] [2]' \
	'symbol n 1 inf' 'graph g {' '  input x: f32[n,3,3]' '  a = Slice(x, @i, @j, @i)' '  e = Squeeze(a, @i)' '  f = MatMul(e, @w)' '  g = Add(f, @b)' '  r = Tanh(g)' \
	'  h = MatMul(r, @u)' '  y = Add(@c, h)' '  output y = y'
is "$(rc hone simplify fewest.onnx fewest-new.onnx) $(ge-stat fewest-new.onnx | awk '/^(Gather|Gemm|Tanh) / { printf "%s %s ", $1, $2 } /^all/ { print $2 }')" '0 Gather 1 Gemm 2 Tanh 1 4' 'Gather and Gemm'
# LayerNormalization is there from opset 17 on; before, it is written as others fuse it.
for e in '2,5,3,4' 'n,m,4' '5,4'; do
	model rows 13 'const w = f32[4] [1, 2, 3, 4]' 'const b = f32[4] [1, -2, 3, -4]' 'const eps = f32[] [1e-6]' 'const l = i64[1] [-1]' 'symbol n 1 inf' 'symbol m 1 inf' 'graph g {' \
		"  input x: f32[$e]" '  u = ReduceMean(x, @l)' '  d = Sub(x, u)' '  q = Mul(d, d)' '  v = ReduceMean(q, @l)' '  a = Add(v, @eps)' '  s = Sqrt(a)' '  o = Div(d, s)' '  p = Mul(o, @w)' \
		'  y = Add(p, @b)' '  output y = y'
	is "$(rc hone simplify rows.onnx rows-new.onnx) $(ge-stat rows-new.onnx | awk '/^(Pow|ReduceMean|Sqrt) / { printf "%s ", $2 } /^all/ { print $2 }')" "0 1 2 1 9" "rows of $e are normalised"
done
done_testing
