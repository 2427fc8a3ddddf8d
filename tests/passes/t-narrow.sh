# ge-narrow: a Slice or a Gather of few places moves before what it reads of, past products; numbers stay, and what cannot move stays.
. "$top/tests/lib.sh"

load() { # NAME: the text on standard input, with shapes, before and after the pass
	{ printf 'hone-text 1\nmodule ir=8 opset=21\n'; cat; } | ge-load | ge-shape -o "$1".g && ge-narrow --why "$1".g -o "$1.n.g" 2>"$1".why
}
same() { run-cmp -q --set n=7 "$1".g "$1.n.g" >cmp 2>&1; is "$? $(grep -c 'computes only' "$1".why)" "0 $2" "$3"; }

load head <<'END'
const w = f32[4,8] [0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.3,1.4,1.5,1.6,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.3,1.4,1.5,1.6]
const b = f32[8] [1,2,3,4,5,6,7,8]
const zero = i64[] [0]
const split = i64[4] [0,0,2,4]
symbol n 1 inf
graph main {
  input x: f32[2,n,4]
  h = MatMul(x, @w)
  s = Add(h, @b)
  g = Gelu(s)
  l = LayerNormalization(g, @b, @b)
  r = Reshape(l, @split)
  t = Transpose(r) {perm=[0,2,1,3]}
  q = Softmax(t)
  y = Gather(q, @zero) {axis=2}
  output y = y
}
END
same head 7 "the first token of a classifier: one row of all that computes by row"
is "$(ge-dump head.n.g | grep -c 'f32\[2,1,8\] = MatMul')" 1 "the product is of one row"

load last <<'END'
const w = f32[4,4] [1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7]
const from = i64[1] [-2]
const to = i64[1] [9223372036854775807]
const axis = i64[1] [1]
symbol n 3 inf
graph main {
  input x: f32[2,n,4]
  input z: f32[n,4]
  h = MatMul(x, @w)
  k = Mul(z, z)
  s = Add(h, k)
  y = Slice(s, @from, @to, @axis)
  output y = y
}
END
same last 2 "the last two of an open axis; operands that broadcast along others"

load kept <<'END'
const w = f32[4,4] [1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7]
const from = i64[1] [0]
const to = i64[1] [1]
const most = i64[1] [5]
const axis = i64[1] [1]
const last = i64[1] [2]
const merged = i64[2] [2,28]
graph main {
  input x: f32[2,7,4]
  a = MatMul(x, @w)
  ya = Slice(a, @from, @to, @last)
  b = MatMul(x, @w)
  yb = Slice(b, @from, @to, @axis)
  ub = Neg(b)
  c = MatMul(x, @w)
  sc = Softmax(c) {axis=1}
  yc = Slice(sc, @from, @to, @axis)
  d = MatMul(x, @w)
  yd = Slice(d, @from, @most, @axis)
  e = MatMul(x, @w)
  re = Reshape(e, @merged)
  ye = Slice(re, @from, @to, @axis)
  f = Exp(x)
  yf = Slice(f, @from, @to, @axis)
  output ya = ya
  output yb = yb
  output ub = ub
  output yc = yc
  output yd = yd
  output ye = ye
  output yf = yf
}
END
same kept 0 "columns of a product, what others read, a softmax along the axis, most of it, a merged axis, and where no product is: they stay"

ge-prune --output h last.g | ge-narrow --last h -o l.g && is "$(ge-dump l.g | grep -c 'f32\[2,1,4\] = MatMul')" 1 "--last: the last row"
ge-narrow l.g | ge-dump | grep -v provenance >twice
ge-dump l.g | grep -v provenance | cmp -s - twice
is $? 0 "again: nothing changes"
ge-narrow --last nothing last.g -o x.g 2>err; is "$? $(grep -c "no output 'nothing'" err)" "64 1" "--last of no output"

# Caches of narrower types: rows are rounded once, when they come in, and read as they are stored.
cat >cache.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol past 0 inf
const at = i64[1] [3]
const rows = i64[1] [70]
const more = f32[1,2,1,8] [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
graph main {
  input q: f32[1,4,1,8]
  input k: f32[1,2,69,8]
  input v: f32[1,2,69,8]
  input new: f32[1,2,1,8]
  input h: f32[1,2]
  wide = Concat(k, @more) {axis=2}
  k_next = TensorScatter(wide, new, @at) {axis=2}
  v_next = Concat(v, new) {axis=2}
  y = Attention(q, k_next, v_next, -, -, -, @rows) {is_causal=1}
  h_next = Neg(h)
  output y = y
  output k_next = k_next
  output v_next = v_next
  output h_next = h_next
}
END
ge-load -o cache.g cache.txt
kept="--alias k=k_next --alias v=v_next --alias h=h_next"
for type in f16 bf16 i8; do
	# shellcheck disable=SC2086
	ge-shape cache.g | ge-narrow $kept --state-type $type -o n.g 2>err
	is "$(grep -c 'state h stays f32\[1,2\]: main/h_next (Neg) makes it anew' err) $(grep -c "^ge-narrow: 2 states kept in $type" err)" "1 1" "$type: caches, and why not others"
	ge-fuse n.g -o f.g && ge-dump f.g | grep -q "Attention(q, k_next, v_next, -, -, -, @rows[,)]"
	is $? 0 "$type: Attention reads them as they are"
	run-ref --seed 3 n.g -o n.npz && run-ref --seed 3 f.g -o f.npz && run-cmp n.npz f.npz >out 2>&1
	is $? 0 "$type: the same numbers"
	# shellcheck disable=SC2086
	ge-narrow -q $kept --state-type $type -o twice.g n.g && same_graph twice.g n.g
	is $? 0 "$type: again: nothing changes"
done
ge-fuse f.g | ge-export -q -o f.onnx && ge-import -q f.onnx | run-ref -q --seed 3 -o x.npz && run-cmp -q x.npz n.npz; is $? 0 "i8: as a file, with the codes apart"
sed 's/input h:/input k.scale:/; s/Neg(h)/Neg(k.scale)/' cache.txt | ge-load | ge-shape | ge-narrow --alias k=k_next --state-type i8 -o x.g 2>err
is "$(grep -c "state k stays .*: its scales have an input's name" err)" 1 "i8: a name that is taken"
ge-shape cache.g | ge-narrow --state-type f16 -o x.g 2>err; is "$? $(grep -c "no state is named" err)" "64 1" "--state-type without a state"
done_testing
