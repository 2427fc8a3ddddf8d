# ge-prune: what no output needs goes, through bodies; outputs can be chosen; twice is once.
. "$top/tests/lib.sh"
body() { f=$1; shift; ge-load "$f" | ge-prune "$@" | ge-dump | sed -n '/^const/p;/^graph/,/^}/p'; }

cat >a.txt <<'X'
hone-text 1
module ir=10 opset=28
const w = f32[2] [1, 2]
const dead = f32[2] [3, 4]
graph main {
  input x: f32[2]
  input unused: f32[2]
  a = Add(x, @w)
  b = Mul(x, @dead)
  c = Exp(b)
  p, q = Split(a) {num_outputs=2}
  output y = p
}
X
is "$(body a.txt)" 'const w = f32[2] [1, 2]
graph main {
  input x: f32[2]
  input unused: f32[2]
  a = Add(x, @w)
  p, q = Split(a) {num_outputs=2}
  output y = p
}' "dead nodes and their constants go; inputs of the model stay"
is "$(body a.txt --output c --output y | grep -v const)" 'graph main {
  input x: f32[2]
  input unused: f32[2]
  a = Add(x, @w)
  b = Mul(x, @dead)
  c = Exp(b)
  p, q = Split(a) {num_outputs=2}
  output c = c
  output y = p
}' "--output chooses outputs, and values by name"
ge-load a.txt | ge-prune --output nobody >/dev/null 2>err
is "$? $(grep -c "no output or value 'nobody'" err)" "64 1" "an unknown output is a usage error"

cat >b.txt <<'X'
hone-text 1
module ir=10 opset=28
graph inner {
  input a: f32[2]
  input b: f32[2]
  n = Neg(a)
  m = Abs(b)
  output n = n
  output m = m
}
graph outer {
  input a: f32[2]
  input b: f32[2]
  input c: f32[2]
  r, s = hone.PartitionedCall(a, b) {graph=graph inner}
  t = Exp(c)
  output r = r
  output s = s
  output t = t
}
graph yes {
  input p: f32[2]
  input q: f32[2]
  input r: f32[2]
  k = Abs(p)
  output k = k
}
graph no {
  input p: f32[2]
  input q: f32[2]
  input r: f32[2]
  k = Neg(r)
  output k = k
}
graph body {
  input i: i64[]
  input go: bool[]
  input state: f32[2]
  input cap1: f32[2]
  input cap2: f32[2]
  g = Identity(go)
  n = Add(state, cap2)
  output g = g
  output n = n
}
graph main {
  input cond: bool[]
  input n: i64[]
  input x: f32[2]
  x1 = Sin(x)
  x2 = Cos(x)
  x3 = Tan(x)
  d, e, f = hone.PartitionedCall(x1, x2, x3) {graph=graph outer}
  g = If(cond, d, x2, x3) {captures=3 else_branch=graph no then_branch=graph yes}
  h = Loop(n, cond, g, x1, x2) {body=graph body captures=2}
  output h = h
}
X
is "$(body b.txt)" 'graph inner {
  input a: f32[2]
  n = Neg(a)
  output n = n
}
graph outer {
  input a: f32[2]
  r = hone.PartitionedCall(a) {graph=graph inner}
  output r = r
}
graph no {
  input p: f32[2]
  input r: f32[2]
  k = Neg(r)
  output k = k
}
graph yes {
  input p: f32[2]
  input r: f32[2]
  k = Abs(p)
  output k = k
}
graph body {
  input i: i64[]
  input go: bool[]
  input state: f32[2]
  input cap2: f32[2]
  g = Identity(go)
  n = Add(state, cap2)
  output g = g
  output n = n
}
graph main {
  input cond: bool[]
  input n: i64[]
  input x: f32[2]
  x1 = Sin(x)
  x2 = Cos(x)
  x3 = Tan(x)
  d = hone.PartitionedCall(x1) {graph=graph outer}
  g = If(cond, d, x3) {captures=2 else_branch=graph no then_branch=graph yes}
  h = Loop(n, cond, g, x2) {body=graph body captures=1}
  output h = h
}' "bodies shed inputs and outputs through calls, branches and captured values"

for f in a.txt b.txt; do
	ge-load $f | ge-prune | ge-dump | grep -v '^provenance' >once
	ge-load $f | ge-prune | ge-prune | ge-dump | grep -v '^provenance' >twice
	is "$(cat twice)" "$(cat once)" "twice is once: $f"
done
is "$(ge-load a.txt | ge-prune --output y | ge-dump | grep provenance)" 'provenance "ge-prune 0.1.0 --output=y"' "provenance has the options that change the result"
done_testing
