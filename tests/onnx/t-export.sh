# ge-export: what it writes is read back the same, accepted by ONNX's checker, and gives the same numbers.
. "$top/tests/lib.sh"

# What an operator is made of for an older opset may need the newer one itself, as for its type: that is not done for ever.
printf 'hone-text 1\nmodule ir=8 opset=28\nmeta "opset:ai.onnx" = "17"\ngraph main {\n  input x: f8e4m3fn[2,3]\n  y = Shape(x) {start=1}\n  output y = y\n}\n' |
	ge-load | timeout 20 ge-export -o part.onnx 2>err && grep -q 'needs opset 19' err
ok $? "a part of the shape of float8 at opset 17: 19, said"
model=$top/examples/digits/digits.onnx
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || python=

ge-import "$model" -o a.g && ge-export a.g -o a.onnx && ge-import a.onnx | ge-export -o b.onnx && cmp a.onnx b.onnx
ok $? 'export of import of export is the same file'
mkdir -p sub && (cd sub && LC_ALL=C ge-export <../a.g >c.onnx) && cmp a.onnx sub/c.onnx
ok $? 'the same file from another directory, through pipes'
for opset in 6 29 x; do
	ge-export a.g --opset $opset -o no.onnx 2>err
	[ $? -eq 64 ] && [ ! -e no.onnx ] && [ "$(wc -l <err)" -eq 1 ]
	ok $? "--opset $opset is refused"
done
ge-export a.g --opset 21 -o c.onnx && ge-import c.onnx -o c.g && [ "$(ge-dump a.g | grep -c Conv)" -gt 0 ] && [ "$(ge-dump a.g | grep -c Conv)" = "$(ge-dump c.g | grep -c Conv)" ]
ok $? '--opset 21'
ge-export a.g --external a.bin -o x.onnx && [ -s a.bin ] && [ "$(wc -c <x.onnx)" -lt "$(wc -c <a.onnx)" ] && ge-import x.onnx | ge-export -o y.onnx && cmp y.onnx a.onnx
ok $? '--external: weights in a file of their own, read back the same'
ge-export a.g --external ../a.bin -o z.onnx 2>err
[ $? -eq 64 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e z.onnx ]
ok $? '--external takes a name, not a path'
cp a.onnx own.onnx && ln -s own.onnx link.onnx
for out in "own.onnx own.onnx" "own.onnx ./own.onnx" "own.onnx link.onnx" "new.onnx new.onnx"; do
	ge-export a.g --external "${out% *}" -o "${out#* }" 2>err
	[ $? -eq 64 ] && [ "$(wc -l <err)" -eq 1 ] && cmp a.onnx own.onnx && [ "$(echo own* new*)" = "own.onnx new*" ]
	ok $? "--external $out: not the model itself"
done
if [ -c /dev/full ]; then
	ge-export a.g >/dev/full 2>err
	[ $? -eq 74 ] && [ "$(wc -l <err)" -eq 1 ]
	ok $? 'a full disk'
fi

data=/usr/share/libonnx-testdata/data
if [ -d $data ]; then
	failed=0 same=0 i=0
	for f in $data/*/*/model.onnx; do
		i=$((i + 1))
		[ $((i % 2)) -eq 0 ] || continue
		ge-import "$f" -o t.g 2>err || continue
		ge-export t.g -o t1.onnx && ge-import t1.onnx -o t2.g && ge-export t2.g -o t2.onnx && cmp t1.onnx t2.onnx && same=$((same + 1)) && continue
		failed=1
		echo "# $f"
	done
	ok $failed "$same of ONNX's test models, every second: export of import of export is the same file"
else
	skip "ONNX's test models" "needs libonnx-testdata"
fi

if [ -z "$python" ]; then
	skip_all "checker and ONNX Runtime" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
cat >compare.py <<'END'
import sys, numpy as np, onnx, onnxruntime as ort
ort.set_default_logger_severity(4)
onnx.checker.check_model(sys.argv[2], full_check=True)
rng, worst = np.random.default_rng(1), 0
runs = [ort.InferenceSession(f, providers=["CPUExecutionProvider"]) for f in sys.argv[1:]]
def make(i):
    shape = [d if isinstance(d, int) else 2 for d in i.shape]
    return rng.standard_normal(shape).astype(np.float32) if "float" in i.type else rng.integers(0, 9, shape).astype(np.int64)
assert [o.name for o in runs[0].get_outputs()] == [o.name for o in runs[1].get_outputs()]
for _ in range(3):
    x = {i.name: make(i) for i in runs[0].get_inputs()}
    for a, b in zip(runs[0].run(None, x), runs[1].run(None, x)):
        assert np.abs(a).max() > 0
        worst = max(worst, float(np.abs(a - b).max() / np.abs(a).max()))
sys.exit(not worst <= 1e-5)
END
"$python" compare.py "$model" a.onnx
ok $? 'checker accepts it, ONNX Runtime gives the same numbers'
"$python" compare.py "$model" x.onnx
ok $? 'with external weights too'
ge-import "$model" | ge-shape --set batch=2 | ge-fuse | ge-layout | ge-export -o f.onnx && "$python" compare.py "$model" f.onnx
ok $? 'fused and laid out: dissolved, the same numbers'
"$python" -c 'import collections, onnx, sys
groups = collections.Counter(p.value for n in onnx.load(sys.argv[1]).graph.node for p in n.metadata_props if p.key == "hone.group")
print(len(groups), max(groups.values()))' f.onnx >groups
is "$(cat groups)" "$(ge-import "$model" | ge-shape --set batch=2 | ge-fuse | ge-dump | grep -c hone.Fused) 3" 'and each node says which group it was in'

{
	echo 'hone-text 1'
	echo 'module ir=8 opset=28'
	for b in Neg Abs Exp; do printf 'graph %s {\n  input x: f32[3]\n  y: f32[3] = %s(x)\n  output y = y\n}\n' $b $b; done
	echo 'graph g {'
	echo '  input s: i64[2]'
	echo '  input x: f32[3]'
	echo '  i: i64[] = hone.MapIndex(s) {gears = i64[3,2] [1, 128, 1, 256, 8, 128]}'
	echo '  y: f32[3] = hone.Case(i, x) {branches = [graph Neg, graph Abs, graph Exp]}'
	echo '  output y = y'
	echo '}'
} >case.txt
cat >case.py <<'END'
import numpy as np, onnx, onnxruntime as ort
ort.set_default_logger_severity(4)
onnx.checker.check_model("case.onnx", full_check=True)
s, x = ort.InferenceSession("case.onnx"), np.array([1, -2, 3], np.float32)
run = lambda *gear: s.run(None, {"s": np.array(gear, np.int64), "x": x})[0]
assert (run(1, 128) == -x).all() and (run(1, 256) == abs(x)).all() and np.allclose(run(8, 128), np.exp(x))
try:
    run(8, 256)
except Exception:
    raise SystemExit(0)
raise SystemExit(1)
END
ge-load case.txt | ge-export -o case.onnx && "$python" case.py
ok $? 'MapIndex and Case: the branch of the gear, an error for no gear'

# What passes and functions leave behind is no business of the file's: no attribute of ours, no name of a node twice, and the
# type that the file declares of an output.
cat >clean.py <<"END"
import subprocess, sys, onnx, onnxruntime as ort
from onnx import parser
ort.set_default_logger_severity(4)
PASSES = "ge-import -q %s | ge-shape | ge-fold | ge-simplify | ge-deadedge | ge-cse | ge-dedup | ge-prune | ge-export -o after.onnx"
def after(text, load=True):
    onnx.save(parser.parse_model(text), "before.onnx")
    files = []
    for command in ("ge-import -q %s | ge-export -o after.onnx", PASSES):
        subprocess.run(command % "before.onnx", shell=True, check=True)
        onnx.checker.check_model("after.onnx", full_check=True)
        if load:
            ort.InferenceSession("after.onnx", providers=["CPUExecutionProvider"])
        files.append(onnx.load("after.onnx"))
    return files
def nodes(graph):
    for n in graph.node:
        yield n
        for a in n.attribute:
            for g in [a.g] * a.HasField("g") + list(a.graphs):
                yield from nodes(g)
captures = after('''<ir_version: 8, opset_import: ["": 17]> g (float[2] x, bool t) => (float[2] y) {
  k = Constant <value = int64[1] {2}> ()
  y = If (t) <then_branch = a () => (float[2] o) { o = ConstantOfShape <value = float[1] {1}> (k) },
              else_branch = b () => (float[2] p) { z = Sub (x, x)  o = ConstantOfShape <value = float[1] {2}> (k)  p = Identity (o) }> }''')
for m in captures:
    assert not [a.name for n in nodes(m.graph) for a in n.attribute if a.name == "captures"]
twice = after('''<ir_version: 8, opset_import: ["": 17, "my": 1]> g (float[2] x) => (float[2] y) { a = my.F (x)  b = my.F (a)  y = my.F (b) }
<domain: "my", opset_import: ["": 17]> F (a) => (o) { [first] t = Neg (a)  [second] o = Tanh (t) }''')
for m in twice:
    names = [n.name for n in nodes(m.graph)]
    assert len(names) == len(set(names)) and "first" in names, names
for end in ("y = Identity (a)", "b = Identity (a)  y = Identity (b)", "y = Dropout (a)"):
    declared = after('<ir_version: 8, opset_import: ["": 17, "my": 1]> g (float[2] x) => (float[2] y) { a = my.MyOp (x)  %s }' % end, False)
    for m in declared:
        t = m.graph.output[0].type.tensor_type
        assert t.elem_type == 1 and [d.dim_value for d in t.shape.dim] == [2], (end, t)
own = after('<ir_version: 8, opset_import: ["": 17, "my": 1]> g (float[2] x, float[2] z) => (float[2] y) { y = my.MyOp <captures: int = 1> (x, z) }', False)
for m in own:
    assert list(m.graph.node[0].input) == ["x", "z"] and m.graph.node[0].attribute[0].name == "captures"
END
"$python" clean.py
ok $? 'no attribute of ours, names of nodes once, declared types of outputs stay, a custom attribute of that name too'

# An operator of ours that has no form in ONNX is named, not written as if it were ONNX's.
cat >trees.txt <<'END'
hone-text 1
module ir=8 opset=28
const nodes = i32[2,4] [1, 1, -1, 1056964608, 36, -2, -3, 0]
const start = i32[4] [0, 1, 2, 4]
const target = i32[4] [0, 0, 0, 1]
const w = f32[4] [1, 2, 4, 8]
const root = i32[1] [0]
graph g {
  input x: f32[3,3]
  y: f32[3,2] = hone.Trees(x, @nodes, @start, @target, @w, @root) {targets=2}
  output y = y
}
END
ge-load -o trees.g trees.txt && ! [ -e trees.onnx ]
ge-export -q -o trees.onnx trees.g && "$python" -c 'import onnx; onnx.checker.check_model("trees.onnx", full_check=True)'
ok $? 'trees are a TreeEnsemble'
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph g {\n  input x: f32[3,3]\n  y: f32[3,3] = hone.Coupling(x) {classes=3}\n  output y = y\n}\n' | ge-load -o coupling.g && ! [ -e coupling.onnx ]
ge-export -o coupling.onnx coupling.g 2>err
[ $? -eq 69 ] && grep -q 'hone.Coupling' err && ! [ -e coupling.onnx ]
ok $? 'an operator of ours that has no form in ONNX: 69'
"$python" -c 'import numpy as n; n.savez("trees.npz", x=n.array([[n.nan, 0, 1], [0, 0, -1], [1, 0, 0]], "f"))'
run-ref -q -i trees.npz -o ref.npz trees.g && run-ref -q -i trees.npz -o back.npz trees.onnx && hone build -q --no-fallback -o trees trees.g && run-dev -q ./trees.so -i trees.npz -o dev.npz &&
	"$python" -c 'import numpy as n
for f in ("ref.npz", "dev.npz", "back.npz"):
    assert n.load(f)["y"].tolist() == [[2, 0], [4, 8], [1, 0]], (f, n.load(f)["y"])'
ok $? 'trees: comparisons, NaN, a leaf of two votes; as steps and as a library'
# Integers that are small: as numbers of few bytes, read back the same.
{
	printf 'hone-text 1\nmodule ir=8 opset=17\nconst c = i64[300] ['
	seq -s ', ' -- -2 297 | tr -d '\n'
	printf ']\ngraph g {\n  input x: i64[300]\n  y = Add(x, @c)\n  output y = y\n}\n'
} | ge-load -o small.g && ge-export small.g -o small.onnx && [ "$(wc -c <small.onnx)" -lt 1000 ] && ge-import small.onnx -o again.g &&
	[ "$(ge-dump small.g | grep ^const)" = "$(ge-dump again.g | grep ^const)" ]
ok $? 'small integers take few bytes'
done_testing
