# Sequences and optionals as native steps: random models against the evaluator and ONNX Runtime, and under sanitizers.
. "$top/tests/lib.sh"
. "$top/tests/model/sizes/attack.sh"
runs=${RUNS:-300}

cat >mixed.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
const one = i64[] [1]
const zero = i64[] [0]
const row = f32[1,4] [1, 2, 3, 4]
const yes = bool[] [1]
graph each {
  input a
  input b
  c = Concat(a, b) {axis=0} "each"
  d = Shape(a) "shape"
  output c = c
  output d = d
}
graph step {
  input i: i64[]
  input go: bool[]
  input l: ?[*]%"seq(tensor(float))"
  input x: f32[n,4]
  t = Neg(x) "neg"
  m = SequenceInsert(l, t, @zero) "more"
  output go = go
  output m = m
}
graph whole {
  input l: ?[*]%"seq(tensor(float))"
  output l = l
}
graph less {
  input l: ?[*]%"seq(tensor(float))"
  k = SequenceErase(l) "erase"
  output k = k
}
graph main {
  input x: f32[n,4]
  input s: ?[?,4]%"seq(tensor(float))"
  input o: ?[*]%"optional(seq(tensor(float)))"
  input p: ?[*]%"optional(tensor(float))"
  input k: i64[]
  input way: bool[]
  has = OptionalHasElement(o) "has"
  hasp = OptionalHasElement(p) "hasp"
  e = SequenceInsert(s, x) "insert"
  m, sh = SequenceMap(e, x) {body=graph each} "map"
  l = Loop(k, @yes, m, x) {body=graph step captures=1} "loop"
  b = If(way, l) {then_branch=graph whole else_branch=graph less} "if"
  c = SequenceLength(b) "length"
  parts = SplitToSequence(x, k) {axis=0} "split"
  at = SequenceAt(e, k) "at"
  q = Optional(b) "wrap"
  g = OptionalGetElement(q) "get"
  output has = has
  output hasp = hasp
  output e = e
  output sh = sh
  output g = g
  output c = c
  output parts = parts
  output at = at
  output s = s
  output q = q
}
END
attack mixed "$runs" 1
cat >opened.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
const minus = i64[] [-1]
graph main {
  input s: ?[2,3]%"seq(tensor(float))"
  input o: ?[*]%"optional(tensor(float))"
  a = OptionalGetElement(o) "get"
  c = ConcatFromSequence(s) {axis=0} "join"
  d = ConcatFromSequence(s) {axis=-1 new_axis=1} "stack"
  e = SequenceAt(s, @minus) "last"
  t = SequenceConstruct(e, a, c) "make"
  u = SequenceErase(t, @minus) "erase"
  output a = a
  output d = d
  output u = u
}
END
attack opened "$runs" 2
# Steps on the slow path that make sequences of numbers for native ones.
cat >told.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
const zero = i64[] [0]
graph said {
  input a
  t = Cast(a) {to=8} "text"
  b = Cast(t) {to=1} "number"
  output b = b
}
graph main {
  input x: f32[n,4]
  input s: ?[?,4]%"seq(tensor(float))"
  m = SequenceMap(s) {body=graph said} "map"
  l = SequenceInsert(m, x, @zero) "insert"
  p = SplitToSequence(x) "split"
  q = SequenceMap(p) {body=graph said} "again"
  at = SequenceAt(q, @zero) "at"
  o = Optional(m) "wrap"
  output l = l
  output q = q
  output at = at
  output o = o
}
END
attack told "$runs" 3

# Parts that do not come out even: the last one is shorter.
printf '%s\n' 'hone-text 1' 'module ir=10 opset=28' 'symbol n 0 inf' 'const three = i64[] [3]' 'graph main {' '  input x: f32[n,4]' \
	'  p = SplitToSequence(x, @three) {axis=0} "split"' '  output p = p' '}' | ge-load -o uneven.g && hone build -q --no-fallback -o uneven uneven.g 2>err
for n in 1 3 7 8; do
	run-dev uneven.so --set n=$n -o y.npz 2>err && run-ref uneven.g --set n=$n -o r.npz && equal y.npz r.npz
	ok $? "$n rows in parts of 3" || cat err
done

if [ -n "${HONE_PYTHON-}" ]; then
	mkdir models && "$HONE_PYTHON" -B "$top/tests/model/list_models.py" "${SEED:-100}" "${COUNT:-4}" models
	prepared $? "models of sequences"
	for f in models/*.onnx; do
		n=m$(basename "$f" .onnx)
		cp "$f" $n.onnx && hone build -q --no-fallback -o $n $n.onnx 2>err && [ -s $n.so ]
		ok $? "$n: it has no step on the slow path" || cat err
		for rows in 1 2 5; do
			"$HONE_PYTHON" - $rows >said 2>&1 <<'END'
import sys
import numpy as np
r = np.random.default_rng(int(sys.argv[1]))
f = {"s[%d]" % i: r.standard_normal((int(r.integers(1, 4)), 4), np.float32) for i in range(int(r.integers(1, 4)))}
np.savez("in.npz", x=r.standard_normal((int(sys.argv[1]), 4), np.float32), y=r.standard_normal(4, np.float32), **f)
END
			run-dev $n.so -i in.npz -o y.npz && run-ref $n.onnx -i in.npz -o r.npz && run-cmp -q y.npz r.npz >out && [ -s y.npz ]
			ok $? "$n: $rows rows: the evaluator's numbers"
			"$HONE_PYTHON" - $n.onnx >said 2>&1 <<'END'
import sys
import numpy as np
try:
    import onnxruntime as ort
except ImportError:
    sys.exit(0)
ort.set_default_logger_severity(4)
f, y = np.load("in.npz"), np.load("y.npz")
s = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
feed = {"x": f["x"], "y": f["y"], "s": [f["s[%d]" % i] for i in range(len(f.files) - 2)]}
for o, v in zip(s.get_outputs(), s.run(None, feed)):
    for name, want in [(o.name, v)] if not isinstance(v, list) else [("%s[%d]" % (o.name, i), x) for i, x in enumerate(v)]:
        assert y[name].shape == want.shape, (name, y[name].shape, want.shape)
        np.testing.assert_allclose(y[name], want, rtol=1e-4, atol=1e-5, err_msg=name)
END
			ok $? "$n: $rows rows: ONNX Runtime's numbers" || cat said
		done
		attack $n "$runs" 3
	done
else
	skip "models of sequences" "no HONE_PYTHON"
fi
done_testing
