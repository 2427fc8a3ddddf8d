# Branches and loops as steps of a compiled model: the evaluator's numbers, without the evaluator.
. "$top/tests/lib.sh"
passes() { ge-shape -q "$@" | ge-fuse -q | ge-layout -q; }
made() { passes <"$1" >$2.g && ge-plan -q $2.g -o $2.plan.g && ge-emit -q $2.plan.g -o $2 && [ -s $2.so ]; }

if [ -n "${HONE_PYTHON-}" ]; then
	mkdir models && "$HONE_PYTHON" "$top/tests/model/control_models.py" "${SEED:-100}" "${COUNT:-8}" models
	ok $? "models of branches and loops"
	for f in models/*.onnx; do
		n=m$(basename "$f" .onnx)
		ge-import -q "$f" -o $n.i.g && made $n.i.g $n && equal --runs 3 $n.so "$f"
		ok $? "$(basename "$f"): the library gives the evaluator's numbers"
		ge-plan -q $n.plan.g -o twice.g && same_graph $n.plan.g twice.g
		ok $? "$(basename "$f"): a plan twice is a plan once"
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
ge-load case.txt -o case.i.g && made case.i.g case && [ -z "$(ge-plan case.i.g 2>&1 >/dev/null | grep 'slow path')" ]
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
done_testing
