# ge-dedup: which constants become one, in bodies too; twice is once.
. "$top/tests/lib.sh"
body() { ge-load "$1" | ge-dedup | ge-dump | sed -n '/^const/p;/^graph/,/^}/p'; }

cat >a.txt <<'X'
hone-text 1
module ir=10 opset=28
const w = f32[2,2] [1, 2, 3, 4]
const w2 = f32[2,2] [1, 2, 3, 4]
const flat = f32[1,4] [1, 2, 3, 4]
const bits = i32[2,2] [1065353216, 1073741824, 1077936128, 1082130432]
const two = i64[2] [2, 2]
const zero = f32[2,2] [0, 0, 0, 0]
const minus = f32[2,2] [-0, 0, 0, 0]
const in = f32[2,2] [1, 2, 3, 4]
graph yes {
  input x: f32[2,2]
  a = Add(x, @in)
  output o = a
}
graph no {
  input x: f32[2,2]
  a = Sub(x, @zero)
  output o = a
}
graph main {
  input c: bool[]
  input x: f32[2,2]
  input d: f32[2,2] = f32[2,2] [1, 2, 3, 4]
  a = MatMul(x, @w)
  b = MatMul(x, @w2)
  e = Reshape(@flat, @two)
  f = Cast(@bits) {to=1}
  g = Add(x, @minus)
  i = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  s = Sum(a, b, e, f, g, i, d)
  output s = s
  output k = @w2
}
X
is "$(body a.txt)" 'const zero = f32[2,2] [0, 0, 0, 0]
const in = f32[2,2] [1, 2, 3, 4]
const flat = f32[1,4] [1, 2, 3, 4]
const two = i64[2] [2, 2]
const bits = i32[2,2] [1065353216, 1073741824, 1077936128, 1082130432]
const minus = f32[2,2] [-0, 0, 0, 0]
graph no {
  input x: f32[2,2]
  a = Sub(x, @zero)
  output o = a
}
graph yes {
  input x: f32[2,2]
  a = Add(x, @in)
  output o = a
}
graph main {
  input c: bool[]
  input x: f32[2,2]
  input d: f32[2,2] = f32[2,2] [1, 2, 3, 4]
  a = MatMul(x, @in)
  b = MatMul(x, @in)
  e = Reshape(@flat, @two)
  f = Cast(@bits) {to=1}
  g = Add(x, @minus)
  i = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes}
  s = Sum(a, b, e, f, g, i, d)
  output s = s
  output k = @in
}' "equal ones in bodies and outputs; other types, shapes, zeros and defaults stay"
ge-load a.txt -o a.g
ge-dedup a.g -o once.g && ge-dedup once.g -o twice.g && same_graph once.g twice.g
ok $? "twice is once"
cat a.g a.g | ge-dedup | ge-dump | grep -c '^const in ' >two
is "$(cat two)" 2 "each module of a stream"
is "$(ge-dedup --why a.g 2>&1 >/dev/null | sed 's/^ge-dedup: //')" 'main/a (MatMul): w dropped: the same as in, 16 bytes
main/b (MatMul): w2 dropped: the same as in, 16 bytes
2 constants of 32 bytes are equal to others' "--why"

# What the nodes are is ge-cse's: equal constants are one operand to it, and stay two.
is "$(ge-cse a.g | ge-dump | grep -c 'MatMul')" 1 "nodes of equal constants are equal"
is "$(ge-cse a.g | ge-dump | grep -c '^const [a-z0-9]* = f32\[2,2\] \[1, 2, 3, 4\]')" 3 "ge-cse leaves constants"
done_testing
