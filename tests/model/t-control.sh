# Branches and loops as steps of a compiled model: the evaluator's numbers, without the evaluator.
. "$top/tests/lib.sh"
passes() { ge-shape -q "$@" | ge-fuse -q | ge-layout -q; }
made() { passes <"$1" >$2.g && ge-plan -q $2.g -o $2.plan.g && ge-emit -q $2.plan.g -o $2 && [ -s $2.so ]; }

if [ -n "${HONE_PYTHON-}" ]; then
	mkdir models && "$HONE_PYTHON" "$top/tests/model/control_models.py" "${SEED:-100}" "${COUNT:-8}" models
	prepared $? "models of branches and loops"
	for f in models/*.onnx; do
		n=m$(basename "$f" .onnx)
		ge-import -q "$f" -o $n.i.g && made $n.i.g $n && equal --runs 3 $n.so "$f"
		ok $? "$(basename "$f"): the library gives the evaluator's numbers"
		ge-plan -q $n.plan.g -o twice.g && same_graph $n.plan.g twice.g
		ok $? "$(basename "$f"): a plan twice is a plan once"
	done
	mkdir vary && "$HONE_PYTHON" "$top/tests/model/control_models.py" "${SEED:-100}" "${COUNT:-4}" vary vary
	prepared $? "the same of sizes that only a run knows"
	for f in vary/*.onnx; do
		n=v$(basename "$f" .onnx)
		ge-import -q "$f" -o $n.i.g && made $n.i.g $n
		ok $? "$f is compiled"
		for rows in 1 2 5; do
			run-dev $n.so --set n=$rows -o y.npz && run-ref $n.i.g --set n=$rows -o r.npz && equal y.npz r.npz
			ok $? "$f: $rows rows: the library gives the evaluator's numbers"
		done
		[ -s $n.c ] && ! grep -Eq '^ \* slow path: .*(If|Loop|Scan)' $n.c
		ok $? "$f: no branch or loop is on the slow path"
	done
else
	skip "models of branches and loops" "no HONE_PYTHON"
fi

# Case and a call, which no ONNX file has; a result that nobody wants, outputs that are operands or constants.
cat >case.txt <<'END'
hone-text 1
module ir=8 opset=28
const w = f32[4] [1, 2, 3, 4]
graph one {
  input a: f32[4]
  y = Sin(a)
  output y = y
  output y2 = @w
}
graph two {
  input a: f32[4]
  y = Neg(a)
  z = Add(y, @w)
  output z = z
  output a = a
}
graph three {
  input a: f32[4]
  y = Cos(a)
  output y = y
  output y2 = y
}
graph called {
  input a: f32[4]
  y = Tanh(a)
  output y = y
}
graph main {
  input x: f32[4]
  input i: i64[]
  p, q = hone.Case(i, x) {branches=[graph one, graph two, graph three]} "pick"
  p2, q2 = hone.Case(i, p) {branches=[graph three, graph one]} "drop"
  r = hone.PartitionedCall(p) {graph=graph called} "call"
  output p = p
  output q = q
  output r = r
  output p2 = p2
}
END
ge-load case.txt -o case.i.g && made case.i.g case && ge-plan -q --no-fallback case.g -o whole.g && [ -s whole.g ]
ok $? "Case and PartitionedCall are steps"
for i in -1 0 1 2 7; do
	run-dev case.so --range i=$i:$i -o y.npz && run-ref case.i.g --range i=$i:$i -o r.npz && equal y.npz r.npz
	ok $? "branch $i"
done

cat >endless.txt <<'END'
hone-text 1
module ir=8 opset=28
const one = f32[] [1]
graph body {
  input i: i64[]
  input go: bool[]
  input a: f32[]
  b = Add(a, @one)
  output go2 = go
  output b = b
}
graph main {
  input x: f32[]
  y = Loop(-, -, x) {body=graph body} "forever"
  output y = y
}
END
ge-load endless.txt -o endless.i.g && made endless.i.g endless
ok $? "a Loop without a condition"
run-dev endless.so -o y.npz 2>err
[ $? = 65 ] && grep -q 'step forever: 100000000 steps, and it does not end' err && [ "$(wc -l <err)" = 1 ]
ok $? "a Loop that does not end: 65, naming it"

# Values whose size changes from step to step, slices that are collected along another axis, backwards, and never; and limits.
cat >grow.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
const one = i64[1] [1]
const zero = i64[1] [0]
const two = i64[1] [2]
const yes = bool[] [1]
graph body {
  input i: i64[]
  input go: bool[]
  input a
  input b
  input x: f32[n,4]
  c = Concat(a, x) {axis=0} "cat"
  s = Reshape(i, @one) "s"
  t = Tile(s, @two) "tile"
  output go = go
  output b = b
  output c = c
  output x = x
  output t = t
}
graph step {
  input s: f32[n]
  input r: f32[n]
  t = Reshape(r, @zero) "t"
  output r = r
  output t = t
}
graph endless {
  input i: i64[]
  input go: bool[]
  input a: f32[n]
  output go = go
  output a = a
  output a2 = a
}
graph main {
  input k: i64[]
  input j: i64[]
  input x: f32[n,4]
  input s: f32[n]
  l, b, xs, ts = Loop(k, -, x, x, x) {body=graph body captures=1} "loop"
  sc, ss = Scan(s, x) {body=graph step num_scan_inputs=1 scan_input_axes=[1] scan_input_directions=[1] scan_output_axes=[-1] scan_output_directions=[1]} "scan"
  e, es = Loop(j, @yes, s) {body=graph endless} "endless"
  output l = l
  output b = b
  output xs = xs
  output ts = ts
  output sc = sc
  output ss = ss
  output es = es
}
END
ge-load grow.txt -o grow.i.g && made grow.i.g grow && ! grep -q 'slow path: ' grow.c
ok $? "carried values that grow"
for n in 1 3; do
	for k in 1 2 7; do
		run-dev grow.so --set n=$n --range k=$k:$k --range j=2:2 -o y.npz && run-ref grow.i.g --set n=$n --range k=$k:$k --range j=2:2 -o r.npz && equal y.npz r.npz
		ok $? "$n rows, $k steps"
	done
done
run-dev grow.so --set n=2 --range k=0:0 --range j=0:0 -o none.npz && [ -s none.npz ]
ok $? "no step"
run-dev grow.so --set n=0 --range k=3:3 --range j=1:1 -o norow.npz && [ -s norow.npz ]
ok $? "no row"
HONE_BODIES=1000 run-dev grow.so --set n=1 --range k=1:1 --range j=1001:1001 -o y.npz 2>err
[ $? = 65 ] && grep -q 'step endless: 1000 steps, and it does not end' err && [ "$(wc -l <err)" = 1 ]
ok $? "more steps than are allowed: 65"

# A step on the slow path in a branch and in a loop.
cat >slow.txt <<'END'
hone-text 1
module ir=8 opset=28
const three = i64[] [3]
const scale = f32[] [.5]
const zero = u8[] [3]
const w = u8[4,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2]
graph pooled {
  input a: u8[4,4]
  b = QLinearMatMul(a, @scale, @zero, @w, @scale, @zero, @scale, @zero)
  c = Add(b, b)
  output c = c
}
graph other {
  input a: u8[4,4]
  b = Add(a, a)
  output b = b
}
graph body {
  input i: i64[]
  input go: bool[]
  input a: u8[4,4]
  b = QLinearMatMul(a, @scale, @zero, @w, @scale, @zero, @scale, @zero)
  c = Add(b, a)
  output go2 = go
  output c = c
  output b = b
}
graph main {
  input which: bool[]
  input x: u8[4,4]
  p = If(which, x) {else_branch=graph other then_branch=graph pooled}
  q, all = Loop(@three, -, p) {body=graph body}
  y = QLinearMatMul(q, @scale, @zero, @w, @scale, @zero, @scale, @zero)
  output y = y
  output all = all
}
END
ge-load slow.txt -o slow.i.g && made slow.i.g slow && [ "$(grep -c 'opaque_run(m, [0-9]*, [0-9]*,' slow.c)" = 3 ]
ok $? "steps on the slow path in a branch, a loop and the main graph"
for which in 0 1; do equal --range which=$which:$which slow.so slow.i.g; ok $? "condition $which"; done

# Collected values whose declared lengths differ: no number of steps is right for both.
cat >lengths.txt <<'END'
hone-text 1
module ir=8 opset=28
const yes = bool[] [1]
graph body {
  input i: i64[]
  input go: bool[]
  input a: f32[3]
  b = Add(a, a)
  output go2 = go
  output b = b
  output b1 = b
  output b2 = b
}
graph main {
  input n: i64[]
  input l: f32[3]
  s: f32[3], y: f32[50000,3], z: f32[2,3] = Loop(n, @yes, l) {body=graph body} "loop"
  output y = y
  output z = z
}
END
ge-load lengths.txt -o lengths.i.g && made lengths.i.g lengths
ok $? "a Loop of which results have other lengths"
for n in 2 50000; do
	run-dev lengths.so --range n=$n:$n -o y.npz 2>err
	[ $? = 65 ] && [ "$(wc -l <err)" = 1 ]
	ok $? "$n steps of it: 65"
done

# Of many steps each so many are a function: outside, and of a body.
chain() { # FROM: v1 to v70
	awk -v from="$1" 'BEGIN { for (i = 1; i <= 70; i++) printf "  v%d = Softmax(%s) {axis=%d}\n", i, (i > 1 ? "v" (i - 1) : from), i % 2 }'
}
{
	printf 'hone-text 1\nmodule ir=8 opset=28\nsymbol n 1 inf\nconst yes = bool[] [1]\ngraph body {\n  input i: i64[]\n  input go: bool[]\n  input a: f32[n,3]\n'
	chain a
	printf '  output go2 = go\n  output v = v70\n}\ngraph main {\n  input x: f32[n,3]\n  input t: i64[]\n'
	chain x
	printf '  y: f32[n,3] = Loop(t, @yes, v70) {body=graph body} "loop"\n  output y = y\n}\n'
} >long.txt
ge-load long.txt -o long.i.g && made long.i.g long && grep -q '^	if (steps_0_64(m, m->arena, ' long.c && grep -q '^	if (steps_1_[0-9]*(m, arena, ' long.c
ok $? "many steps are divided"
for t in 0 1 3; do
	run-dev long.so --set n=5 --range t=$t:$t -o y.npz && run-ref long.i.g --set n=5 --range t=$t:$t -o r.npz && equal y.npz r.npz
	ok $? "their numbers, $t times"
done
run-dev long.so --set n=5 --range t=2:2 --bench --kernels --seconds 0.01 >out && [ "$(grep -c '^k0[01]  *70 ' out)" = 2 ]
ok $? "and times" || cat out
# Operations of a loop's body are those of all its steps, where their number is known; of a loop within a loop, too.
for trips in '@n' k; do
	ge-load -o counted.g <<-END
		hone-text 1
		module ir=8 opset=17
		const n = i64[] [5]
		const three = i64[] [3]
		const t = bool[] [1]
		graph inner {
		  input i: i64[]
		  input c: bool[]
		  input a: f32[8,8]
		  b = MatMul(a, a)
		  d = Identity(c)
		  output d = d
		  output b = b
		}
		graph outer {
		  input i: i64[]
		  input c: bool[]
		  input a: f32[8,8]
		  b = Loop(@three, c, a) {body=graph inner}
		  d = Identity(c)
		  output d = d
		  output b = b
		}
		graph main {
		  input x: f32[8,8]
		  input k: i64[]
		  y = Loop($trips, @t, x) {body=graph outer}
		  output y = y
		}
	END
	ge-shape counted.g | ge-fuse | ge-layout | ge-plan -q | ge-emit --no-compile -o counted
	grep -o '"MatMul", "", [0-9]*' counted.c
done >counts
is "$(tr '\n' ' ' <counts)" "\"MatMul\", \"\", $((15 * 1024)) \"MatMul\", \"\", $((3 * 1024)) " "operations of loops"
done_testing
