# ge-deadedge on its golden cases (deadedge/NAME.txt -> NAME.out): twice is once, the numbers of every module stay.
. "$top/tests/lib.sh"
cases=$top/tests/passes/deadedge
for txt in "$cases"/*.txt; do
	name=$(basename "$txt" .txt)
	ge-load "$txt" | ge-shape -o before.g && ge-deadedge before.g -o once.g && ge-deadedge once.g -o twice.g &&
		ge-dump once.g | grep -v '^provenance' >"$name.out"
	cmp -s "$name.out" "$cases/$name.out"
	ok $? "$name" || diff "$cases/$name.out" "$name.out"
	same_graph once.g twice.g
	ok $? "$name twice"
	awk -v stem=part. '/^hone-text/ { n++ } { print > (stem n) }' "$txt"
	for part in part.*; do
		ge-load "$part" -o before.g
		rm "$part"
		ge-deadedge before.g -o after.g && equal --tol 0 --range n=0:3 --range c=0:1 after.g before.g ||
			equal --tol 0 after.g before.g
			ok $? "$name: numbers of $part" || cat cmp.log
	done
done

# A body that hands its state on needs no node for that in the file.
awk '/^hone-text/ { n++ } n == 3' "$cases/state.txt" | ge-load -o handed.g && ge-export handed.g -o handed.onnx &&
	! ge-stat handed.onnx | grep -q Identity && equal --tol 0 --range n=0:3 handed.onnx handed.g
ok $? "state handed on in a file"

ge-load "$cases/unknown.txt" | ge-deadedge --why -o out.g 2>why
grep -q 'main/a (If): kept: its condition is not known' why && grep -q 'main/y (If): its branches are equal' why &&
	grep -q 'main/a (If): every branch gives z as b' why && [ "$(grep -c kept: why)" = 2 ]
	ok $? "why" || cat why

# Constants that a body is given, and what is computed from them, decide what happens inside; what is inside shows the rules a pair.
cat >turns.txt <<'END'
hone-text 1
module ir=10 opset=28
const two = f32[] [2]
const perm = i64[1] [0]
graph neg {
  input t: f32[2,3]
  u = Neg(t)
  output u = u
}
graph transpose {
  input t: f32[2,3]
  u = Transpose(t) {perm=[1,0]}
  output u = u
}
graph outer {
  input t: f32[2,3]
  input k: f32[]
  c = Greater(k, @two)
  u = If(c, t) {else_branch=graph neg then_branch=graph transpose}
  output u = u
}
graph main {
  input x: f32[2,3]
  input f: bool[]
  k = Mul(@two, @two)
  s = If(f, x, k) {else_branch=graph outer then_branch=graph outer}
  y = Transpose(s) {perm=[1,0]}
  output y = y
}
END
ge-load turns.txt -o turns.g
ge-fold turns.g | ge-deadedge | ge-simplify | ge-dump | grep -c '^ .*=.*(' | grep -qx 1
ok $? "fold, dead edges, simplify" || { ge-fold turns.g | ge-deadedge | ge-simplify | ge-dump; }
ge-export turns.g -o turns.onnx && hone simplify turns.onnx turned.onnx >table && [ "$(awk '$1 == "all" { print $3 }' table)" -le 1 ]
ok $? "hone simplify takes turns" || cat table
ge-export turns.g -o turns.onnx && hone build turns.onnx -o turned >table && ! grep -q 'slow path' table && equal turned.so turns.g
ok $? "hone build takes turns" || cat table

# Bodies in bodies without end: copies are bounded, and nothing is lost.
{
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst yes = bool[] [1]\ngraph g0 {\n  input t: f32[1]\n  u = Neg(t)\n  output u = u\n}\n'
	for i in $(seq 30); do
		printf 'graph g%d {\n  input t: f32[1]\n  a = If(@yes, t) {else_branch=graph g%d then_branch=graph g%d}\n  u = If(@yes, a) {else_branch=graph g%d then_branch=graph g%d}\n  output u = u\n}\n' \
			$i $((i - 1)) $((i - 1)) $((i - 1)) $((i - 1))
	done
	printf 'graph main {\n  input x: f32[1]\n  y = If(@yes, x) {else_branch=graph g30 then_branch=graph g30}\n  output y = y\n}\n'
} >many.txt
ge-load many.txt | ({ [ -n "${ASAN_OPTIONS-}" ] || ulimit -v 4000000; } && timeout 60 ge-deadedge --why -o many.g 2>why) && grep -q 'kept: the copies of its bodies are too many' why && ge-check many.g
ok $? "too many copies" || tail -3 why

# What one operand of And and Or decides.
cat >decided.txt <<'END'
hone-text 1
module ir=10 opset=28
const no = bool[] [0]
graph neg {
  input t: f32[3]
  u = Neg(t)
  output u = u
}
graph abs {
  input t: f32[3]
  u = Abs(t)
  output u = u
}
graph main {
  input x: f32[3]
  input c: bool[]
  d = And(c, @no)
  e = Not(d)
  f = Or(c, e)
  y = If(f, x) {else_branch=graph neg then_branch=graph abs}
  output y = y
}
END
ge-load decided.txt | ge-deadedge | ge-dump | grep -q 'y: f32\[3\] = Abs(x)'
ok $? "a condition that one operand decides"

# A condition is one element of whatever rank.
printf 'hone-text 1\nmodule ir=10 opset=28\ngraph f {\n  input t: f32[3]\n  u = Neg(t)\n  output u = u\n}\ngraph g {\n  input t: f32[3]\n  u = Abs(t)\n  output u = u\n}\ngraph main {\n  input x: f32[3]\n  input c: bool[1,1]\n  y = If(c, x) {else_branch=graph f then_branch=graph g}\n  output y = y\n}\n' >rank.txt
ge-load rank.txt -o rank.g && ge-shape rank.g | ge-fold | ge-deadedge -o after.g && equal rank.g after.g
ok $? "a condition of rank 2"

# --call: a branch that is taken is called. Without, calls are inlined; what only the other branch used goes, its weights too.
cat >call.txt <<'END'
hone-text 1
module ir=10 opset=28
const yes = bool[] [1]
const two = i64[] [2]
const w = f32[3] [1, 2, 3]
const v = f32[3] [4, 5, 6]
graph adds {
  input t: f32[3]
  u = Add(t, @w)
  output u = u
}
graph muls {
  input t: f32[3]
  u = Mul(t, @v)
  output u = u
}
graph main {
  input x: f32[3]
  n = Exp(x)
  a = If(@yes, x) {else_branch=graph muls then_branch=graph adds}
  b = hone.Case(@two, a) {branches=[graph muls, graph adds]}
  c = hone.PartitionedCall(b) {graph=graph adds}
  d = If(@yes, c, n) {else_branch=graph other then_branch=graph one}
  output d = d
}
END
sed -i 's/^graph main {/graph other {\n  input t: f32[3]\n  input n: f32[3]\n  u = Mul(n, @v)\n  output u = u\n}\ngraph one {\n  input t: f32[3]\n  input n: f32[3]\n  u = Neg(t)\n  output u = u\n}\n&/' call.txt
ge-load call.txt -o call.g && ge-deadedge --call --why call.g -o called.g 2>why && ge-dump called.g >called.txt && ge-deadedge --call called.g -o again.g &&
	same_graph called.g again.g
ok $? "calls"
is "$(grep -c 'hone.PartitionedCall' called.txt) $(grep -c 'If(\|Case(' called.txt) $(grep -c '^const' called.txt)" "4 0 1" "each branch is called, and the other is gone with its weights"
grep -q 'main/a (If): its condition is known: one branch takes its place, as a call' why
ok $? "why of calls"
equal called.g call.g
ok $? "the numbers of calls"
ge-deadedge called.g -o inlined.g && ge-deadedge call.g -o direct.g && ge-dump inlined.g >inlined.txt && ! grep -q 'Call\|Exp' inlined.txt && equal inlined.g call.g &&
	[ "$(ge-dump direct.g | grep -v '^provenance' | wc -l)" = "$(grep -vc '^provenance' inlined.txt)" ]
ok $? "calls are inlined without --call"
done_testing
