# ge-cse: what is shared, what is not, inside bodies too; twice is once.
. "$top/tests/lib.sh"
body() { ge-load "$1" | ge-cse | ge-dump | sed -n '/^const/p;/^graph/,/^}/p'; }

cat >a.txt <<'X'
hone-text 1
module ir=10 opset=28
const w = f32[2,2] [1, 2, 3, 4]
const w2 = f32[2,2] [1, 2, 3, 4]
const flat = f32[4] [1, 2, 3, 4]
const four = i64[1] [4]
const other = f32[2,2] [1, 2, 3, 5]
graph main {
  input x: f32[2,2]
  q1 = MatMul(x, @w)
  q2 = MatMul(x, @w2)
  q3 = Add(q1, q2)
  q4 = Add(q2, q1)
  q5 = Sub(q4, q3)
  s1 = Sub(q5, x)
  s2 = Sub(x, q5)
  m1 = MatMul(x, @other)
  t1 = Softmax(m1) {axis=1}
  t2 = Softmax(m1) {axis=0}
  u1 = Add(t1, t2)
  u2 = Reshape(@flat, @four)
  r1 = RandomNormalLike(x)
  r2 = RandomNormalLike(x)
  o1 = acme.Thing(x)
  o2 = acme.Thing(x)
  f1 = Max(s1, s2, u1)
  f2 = Max(u1, s1, s2)
  output y = q5
  output a = s1
  output b = s2
  output c = u1
  output d = u2
  output e = r1
  output f = r2
  output g = o1
  output h = o2
  output i = f1
  output j = f2
}
X
is "$(body a.txt)" 'const w = f32[2,2] [1, 2, 3, 4]
const other = f32[2,2] [1, 2, 3, 5]
const flat = f32[4] [1, 2, 3, 4]
const four = i64[1] [4]
graph main {
  input x: f32[2,2]
  q1 = MatMul(x, @w)
  q3 = Add(q1, q1)
  q5 = Sub(q3, q3)
  s1 = Sub(q5, x)
  s2 = Sub(x, q5)
  m1 = MatMul(x, @other)
  t1 = Softmax(m1) {axis=1}
  t2 = Softmax(m1) {axis=0}
  u1 = Add(t1, t2)
  u2 = Reshape(@flat, @four)
  r1 = RandomNormalLike(x)
  r2 = RandomNormalLike(x)
  o1 = acme.Thing(x)
  o2 = acme.Thing(x)
  f1 = Max(s1, s2, u1)
  output y = q5
  output a = s1
  output b = s2
  output c = u1
  output d = u2
  output e = r1
  output f = r2
  output g = o1
  output h = o2
  output i = f1
  output j = f1
}' "equal nodes and constants are shared, unequal, random and unknown ones are not"

cat >b.txt <<'X'
hone-text 1
module ir=10 opset=28
graph yes {
  input x: f32[2]
  a = Exp(x)
  b = Exp(x)
  c = Mul(a, b)
  output o = c
}
graph no {
  input x: f32[2]
  a = RandomNormalLike(x)
  output o = a
}
graph main {
  input c: bool[]
  input x: f32[2]
  p = hone.PartitionedCall(x) {graph=graph yes}
  q = hone.PartitionedCall(x) {graph=graph yes}
  r = hone.PartitionedCall(x) {graph=graph no}
  s = hone.PartitionedCall(x) {graph=graph no}
  i = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  j = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  k = If(c, x) {captures=1 else_branch=graph yes then_branch=graph yes}
  l = If(c, x) {captures=1 else_branch=graph yes then_branch=graph yes}
  z = Sum(p, q, r, s, i, j, k, l)
  output z = z
}
X
is "$(body b.txt)" 'graph yes {
  input x: f32[2]
  a = Exp(x)
  c = Mul(a, a)
  output o = c
}
graph no {
  input x: f32[2]
  a = RandomNormalLike(x)
  output o = a
}
graph main {
  input c: bool[]
  input x: f32[2]
  p = hone.PartitionedCall(x) {graph=graph yes}
  r = hone.PartitionedCall(x) {graph=graph no}
  s = hone.PartitionedCall(x) {graph=graph no}
  i = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  j = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  k = If(c, x) {captures=1 else_branch=graph yes then_branch=graph yes}
  z = Sum(p, p, r, s, i, j, k, k)
  output z = z
}' "inside bodies, and calls of pure bodies"

for f in a.txt b.txt; do
	ge-load $f | ge-cse | ge-dump | grep -v '^provenance' >once
	ge-load $f | ge-cse | ge-cse | ge-dump | grep -v '^provenance' >twice
	is "$(cat twice)" "$(cat once)" "twice is once: $f"
done
is "$(ge-load a.txt | ge-cse --why 2>&1 >/dev/null | grep -c dropped)" 3 "--why says what was dropped"
is "$(ge-load a.txt | ge-cse --why 2>&1 >/dev/null | grep -c random)" 2 "--why says why not"

# 100,000 nodes in pairs
awk 'BEGIN {
	print "hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input v0: f32[4]\n  input w0: f32[4]"
	for (i = 1; i <= 50000; i++) printf "  v%d = Sin(v%d)\n  w%d = Sin(v%d)\n", i, i - 1, i, i - 1
	print "  y = Add(v50000, w50000)\n  output y = y\n}" }' </dev/null >big.txt
is "$(ge-load big.txt | ge-cse | ge-dump | grep -c Sin)" 50000 "100,000 nodes"
done_testing
