# Values whose size only a run knows: native steps and views on them, and shapes that are computed, all without the evaluator.
. "$top/tests/lib.sh"
built() { ge-load $1.txt | ge-shape -q | ge-fuse -q | ge-layout -q -o $1.g && ge-plan -q $1.g -o $1.p.g && ge-emit -q $1.p.g -o $1 && [ -s $1.so ]; }
# Runs of NAME with options give what the evaluator gives; it knows the names of sizes.
same_run() {
	name=$1
	shift
	run-dev $name.so "$@" -o y.npz && run-ref $name.g "$@" -o r.npz && run-cmp -q y.npz r.npz && [ -s y.npz ]
}

cat >views.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
const pairs = i64[2] [-1, 2]
const one = i64[1] [1]
const zero = i64[1] [0]
const mone = i64[1] [-1]
graph main {
  input x: f32[n,5]
  input z: f32[2,6]
  input k: i64[1]
  a = Slice(x, @zero, @mone, @one) "a"
  r = Reshape(a, @pairs) "r"
  f = Flatten(a) "f"
  u = Unsqueeze(r, @zero) "u"
  s = Squeeze(u, @zero) "s"
  sh = Shape(a) "sh"
  sz = Size(a) "sz"
  c = Concat(sh, @one) {axis=0} "c"
  b = Reshape(a, c) "b"
  q = Reshape(z, k) "q"
  xr = Reshape(x, @mone) "xr"
  sl = Slice(s, @one, @mone, @zero) "sl"
  tt = Transpose(sl) "tt"
  nz = NonZero(a) "nz"
  nt = Transpose(nz) "nt"
  output s = s
  output f = f
  output q = q
  output b = b
  output u = u
  output xr = xr
  output sl = sl
  output tt = tt
  output nt = nt
  output sh = sh
  output r = r
}
END
built views
ok $? "views of varying size"
ge-plan -q --no-fallback views.g -o whole.g && [ -s whole.g ] && grep -q '^#define OPAQUE_BYTES 0$' views.c
ok $? "none of its steps is on the slow path"
for n in 1 2 7 0 31; do
	for k in 12 -1; do
		same_run views --set n=$n --range k=$k:$k
		ok $? "n=$n, k=$k"
	done
done
run-dev views.so --set n=3 --range k=11:11 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step q: 12 elements do not reshape to 11' err && [ "$(wc -l <err)" = 1 ]
ok $? "a shape that does not fit"

cat >shapes.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
const one = i64[1] [1]
const ones = i64[] [1]
const zero = i64[] [0]
const twice = i64[2] [2, 1]
const three = i64[1] [3]
const minus = i64[2] [-1, -1]
const most = i64[2] [0, -9223372036854775808]
const axes = i64[2] [0, 1]
const back = i64[2] [-1, -2]
graph main {
  input x: f32[n,4]
  input i: i64[3]
  input k: i64[]
  input e: i64[2]
  sh = Shape(x) "sh"
  sz = Size(x) "sz"
  o = ConstantOfShape(e) {value=i32[1] [7]} "o"
  g = Range(@zero, k, @ones) "g"
  gs = Range(sz, k, @ones) "gs"
  t = Tile(x, e) "t"
  ex = Expand(x, sh) "ex"
  en = Expand(k, e) "en"
  r = Slice(x, @minus, @most, @axes, @back) "r"
  pads = Concat(e, e) {axis=0} "pads"
  p = Pad(x, pads) {mode="constant"} "p"
  pe = Pad(x, pads) {mode="edge"} "pe"
  ga = Gather(x, i) {axis=1} "ga"
  tr = Trilu(x, k) {upper=0} "tr"
  s1, s2 = Split(x) {axis=1} "sp"
  t2 = Tile(x, @twice) "t2"
  ct = Concat(x, t2, x) {axis=0} "ct"
  i2 = Slice(i, @one, @three) "i2"
  oh = OneHot(g, k, i2) "oh"
  output sh = sh
  output o = o
  output g = g
  output gs = gs
  output t = t
  output ex = ex
  output en = en
  output r = r
  output p = p
  output pe = pe
  output ga = ga
  output tr = tr
  output s1 = s1
  output s2 = s2
  output ct = ct
  output oh = oh
}
END
built shapes
ok $? "shapes that data decide"
ge-plan -q --no-fallback shapes.g -o whole.g && [ -s whole.g ]
ok $? "none of its steps is on the slow path"
for n in 1 2 7 31; do
	for k in 0 3 5; do
		same_run shapes --set n=$n --range k=$k:$k --range i=-4:3 --range e=0:3
		ok $? "n=$n, k=$k"
	done
done
run-dev shapes.so --set n=3 --range k=1:1 --range i=0:1 --range e=-2:-2 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step o: a negative extent' err && [ "$(wc -l <err)" = 1 ]
ok $? "an extent that is negative"
run-dev shapes.so --set n=3 --range k=1:1 --range i=4:4 --range e=1:1 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step ga: .*index.* is out' err && [ "$(wc -l <err)" = 1 ]
ok $? "an index that is out of range"
for e in 4000000 2000000000; do
	run-dev shapes.so --set n=3 --range k=1:1 --range i=1:1 --range e=$e:$e -o y.npz 2>err
	[ $? = 65 ] && [ "$(wc -l <err)" = 1 ]
	ok $? "$e times $e: 65"
done
# Sizes with which an extent would be negative are refused at the door.
cat >small.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol s 0 inf
const w = f32[1,1,8] [1, 2, 3, 4, 5, 6, 7, 8]
const one = i64[1] [1]
const far = i64[1] [1000000]
const two = i64[1] [2]
graph main {
  input x: f32[1,1,s]
  c = Conv(x, @w) {kernel_shape=[8] strides=[4]} "c"
  y = Slice(c, @one, @far, @two) "y"
  output y = y
}
END
built small && ge-dump small.g | grep -q '^symbol s 4 inf$'
ok $? "the least size is known"
same_run small --set s=12 && same_run small --set s=31
ok $? "sizes that fit"
run-dev small.so --set s=3 -o y.npz 2>err
[ $? != 0 ] && [ "$(wc -l <err)" = 1 ]
ok $? "one that does not"

# A group of which not all has a kernel: its nodes are steps of their own.
cat >parts.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
symbol m 0 inf
graph main {
  input x: f32[n,4]
  input y: f32[m,4]
  c = Concat(x, y) {axis=1} "c"
  z = Tanh(c) "z"
  output z = z
}
END
built parts
ok $? "a group of which not all has a kernel"
ge-plan -q --no-fallback parts.g -o whole.g && [ -s whole.g ]
ok $? "none of its parts is on the slow path"
same_run parts --set n=3,m=3
ok $? "operands of one size"
run-dev parts.so --set n=3,m=2 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step c: axis 0 is of size 2, not 3' err && [ "$(wc -l <err)" = 1 ]
ok $? "operands that do not fit"
done_testing
