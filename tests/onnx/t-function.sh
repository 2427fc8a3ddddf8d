# Functions of a model are expanded, bodies closed and opened again: the numbers of the original.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || python=
if [ -z "$python" ]; then
	skip_all "functions" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
cat >function.py <<'END'
import subprocess
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h

ort.set_default_logger_severity(4)
F = lambda n, *s: h.make_tensor_value_info(n, T.FLOAT, s)
V = [h.make_opsetid("", 17), h.make_opsetid("own", 1)]

def ref(node, name, to, kind):
    a = onnx.AttributeProto(name=name, ref_attr_name=to, type=kind)
    node.attribute.append(a)
    return node

def fn(name, ins, outs, nodes, attrs=(), defaults=()):
    return h.make_function("own", name, ins, outs, nodes, V, list(attrs), list(defaults))

def own(op, ins, outs, **attrs):
    return h.make_node(op, ins, outs, domain="own", **attrs)

def check(what, nodes, functions, inputs, outputs, feed, init=()):
    m = h.make_model(h.make_graph(nodes, "g", inputs, outputs, list(init)), opset_imports=V, functions=functions)
    m.ir_version = 9
    onnx.save(m, "t.onnx")
    try:
        want = ort.InferenceSession("t.onnx").run(None, feed)
        p = subprocess.run("ge-import t.onnx -o t.g && ge-check t.g && ge-export t.g -o u.onnx", shell=True, capture_output=True, text=True)
        assert p.returncode == 0, p.stderr
        onnx.checker.check_model("u.onnx", full_check=True)
        got = ort.InferenceSession("u.onnx").run(None, feed)
        assert all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(want, got))
        print("ok -", what)
    except Exception as e:
        print(f"not ok - {what}: {str(e)[:400]!r}")

x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
leaky = fn("leaky", ["a"], ["b"], [ref(h.make_node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", 1)], attrs=["slope"])
default = fn("dflt", ["a"], ["b"], [ref(h.make_node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", 1)], defaults=[h.make_attribute("slope", 0.3)])
outer = fn("outer", ["a"], ["b"], [ref(own("leaky", ["a"], ["t"]), "slope", "k", 1), own("leaky", ["t"], ["b"], slope=2.0)], attrs=["k"])
check("an attribute by reference", [own("leaky", ["x"], ["y"], slope=0.5)], [leaky], [F("x", 3, 4)], [F("y", 3, 4)], {"x": x})
check("a default, and what is given", [own("dflt", ["x"], ["t"]), own("dflt", ["t"], ["y"], slope=0.9)], [default], [F("x", 3, 4)], [F("y", 3, 4)], {"x": x})
check("a reference passed on", [own("outer", ["x"], ["t"], k=0.25), own("outer", ["t"], ["y"], k=0.75)], [leaky, outer], [F("x", 3, 4)], [F("y", 3, 4)], {"x": x})

then = h.make_graph([h.make_node("Mul", ["a", "c"], ["p"])], "then", [], [F("p", 3, 4)])
other = h.make_graph([h.make_node("Sub", ["c", "a"], ["q"])], "other", [], [F("q", 3, 4)])
cond = fn("cond", ["a", "f"], ["b"], [h.make_node("Exp", ["a"], ["c"]), h.make_node("If", ["f"], ["b"], then_branch=then, else_branch=other)])
for flag in (True, False):
    check(f"a body within a function, {flag}", [own("cond", ["x", "f"], ["t"]), own("cond", ["t", "f"], ["y"])], [cond],
          [F("x", 3, 4), h.make_tensor_value_info("f", T.BOOL, [])], [F("y", 3, 4)], {"x": x, "f": np.array(flag)})

two = fn("two", ["a", "b"], ["b2", "a2"], [h.make_node("Neg", ["b"], ["b2"]), h.make_node("Abs", ["a"], ["a2"])])
check("two results in another order", [own("two", ["x", "w"], ["p", "q"]), h.make_node("Add", ["p", "q"], ["y"])], [two],
      [F("x", 3, 4)], [F("y", 3, 4)], {"x": x}, [onnx.numpy_helper.from_array(2 * x, "w")])

# A loop within a loop; the inner body uses values of both graphs around it, of one under a name it hides.
inner = h.make_graph([h.make_node("Add", ["acc", "x"], ["s"]), h.make_node("Add", ["s", "o"], ["acc_out"]), h.make_node("Identity", ["ic"], ["ic_out"])],
                     "inner", [h.make_tensor_value_info("ii", T.INT64, []), h.make_tensor_value_info("ic", T.BOOL, []), F("acc", 3, 4)],
                     [h.make_tensor_value_info("ic_out", T.BOOL, []), F("acc_out", 3, 4)])
body = h.make_graph([h.make_node("Mul", ["o", "x"], ["m"]), h.make_node("Loop", ["three", "", "m"], ["o_out"], body=inner), h.make_node("Identity", ["c"], ["c_out"]),
                     h.make_node("Identity", ["w"], ["scan"])],
                    "body", [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("c", T.BOOL, []), F("o", 3, 4)],
                    [h.make_tensor_value_info("c_out", T.BOOL, []), F("o_out", 3, 4), F("scan", 2)])
three = onnx.numpy_helper.from_array(np.array(3, np.int64), "three")
w = onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "w")
check("a loop within a loop", [h.make_node("Loop", ["three", "", "x"], ["y", "ws"], body=body)], [], [F("x", 3, 4)], [F("y", 3, 4), F("ws", 3, 2)], {"x": x}, [three, w])

# Graphs whose output is an input.
same = h.make_graph([h.make_node("Identity", ["x"], ["p"])], "then", [], [F("p", 3, 4)])
neg = h.make_graph([h.make_node("Neg", ["x"], ["q"])], "other", [], [F("q", 3, 4)])
check("outputs that are no results", [h.make_node("If", ["f"], ["t"], then_branch=same, else_branch=neg), h.make_node("Identity", ["t"], ["y"]),
      h.make_node("Identity", ["x"], ["z"])], [], [F("x", 3, 4), h.make_tensor_value_info("f", T.BOOL, [])], [F("y", 3, 4), F("z", 3, 4)],
      {"x": x, "f": np.array(True)})
END
within "$python" function.py
done_testing
