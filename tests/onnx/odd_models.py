"""Odd models that ONNX allows, each with inputs: what others run, hone runs, writes and builds, or says by name what it has not.
odd_models.py DIR: writes NAME.onnx and NAME.in.npz into DIR."""
import sys
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

OUT = sys.argv[1]
F, I, B, S = T.FLOAT, T.INT64, T.BOOL, T.STRING
node, graph, ten = h.make_node, h.make_graph, h.make_tensor


def vi(name, shape=(2,), t=F):
    return h.make_tensor_value_info(name, t, shape)


def f(name, *v):
    return ten(name, F, [len(v)], v)


def i(name, *v):
    return ten(name, I, [len(v)], v)


def save(name, nodes, ins, outs, init=(), opset=17, ir=8, functions=(), domains=(), feeds=None, **more):
    g = graph(nodes, more.pop("graph_name", "g"), ins, outs, list(init), **more)
    m = h.make_model(g, opset_imports=[h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in domains], functions=list(functions))
    m.ir_version = ir
    onnx.save(m, f"{OUT}/{name}.onnx")
    rng = np.random.default_rng(1)
    given = {x.name for x in init}
    x = {}
    for v in ins:
        if v.name in given:
            continue
        t = v.type.tensor_type
        shape = [d.dim_value or 2 if d.HasField("dim_param") else d.dim_value for d in t.shape.dim]
        kind = h.tensor_dtype_to_np_dtype(t.elem_type)
        x[v.name] = (rng.standard_normal(shape) if kind.kind == "f" else rng.integers(0, 2, shape)).astype(kind)
    x.update(feeds or {})
    np.savez(f"{OUT}/{name}.in.npz", **x)


X, Y = [vi("x")], [vi("y")]
# Absent operands in the middle.
save("clip-max-only", [node("Clip", ["x", "", "m"], ["y"])], X, Y, [ten("m", F, [], [0.1])])
save("slice-no-axes", [node("Slice", ["x", "a", "b", "", "s"], ["y"])], X, [vi("y", (1,))], [i("a", 1), i("b", -9), i("s", -2)])
save("lstm-states-only", [node("LSTM", ["x", "w", "r", "", "", "h"], ["", "y"], hidden_size=2)], [vi("x", (3, 1, 2)), vi("h", (1, 1, 2))],
     [vi("y", (1, 1, 2))], [ten("w", F, [1, 8, 2], [.1] * 16), ten("r", F, [1, 8, 2], [.2] * 16)])
save("resize-no-roi", [node("Resize", ["x", "", "s"], ["y"])], [vi("x", (1, 1, 2, 2))], [vi("y", (1, 1, 4, 4))], [f("s", 1, 1, 2, 2)])
save("resize-empty-scales", [node("Resize", ["x", "", "e", "s"], ["y"], mode="linear")], [vi("x", (1, 1, 2, 2))], [vi("y", (1, 1, 3, 4))],
     [ten("e", F, [0], []), i("s", 1, 1, 3, 4)])
save("trailing-empty-operand", [node("Clip", ["x", "m", ""], ["y"])], X, Y, [ten("m", F, [], [0.1])])
save("unused-results", [node("TopK", ["x", "k"], ["v", "n"]), node("Cast", ["n"], ["y"], to=F)], X, Y, [i("k", 2)])
save("dropout-mask", [node("Dropout", ["x"], ["d", "mask"]), node("Cast", ["mask"], ["c"], to=F), node("Add", ["c", "d"], ["y"])], X, Y)
save("sizes-unknown", [node("Add", ["x", "x"], ["y"])], [vi("x", ("?", "?"))], [vi("y", ("?", "?"))], feeds={"x": np.ones((2, 3), np.float32)})

# Bodies.
C = [vi("c", (), B)]


def branch(name, nodes, out, init=()):
    return graph(nodes, name, [], [vi(out, None)], list(init))


save("branch-outer-value", [node("Neg", ["x"], ["n"]), node("If", ["c"], ["y"], then_branch=branch("t", [], "n"), else_branch=branch("e", [], "x"))],
     X + C, Y)
save("branch-initializer", [node("If", ["c"], ["y"], then_branch=branch("t", [], "w", [f("w", 1, 2)]), else_branch=branch("e", [node("Abs", ["x"], ["a"])], "a"))],
     X + C, Y)
save("branch-outer-initializer", [node("If", ["c"], ["y"], then_branch=branch("t", [], "w"), else_branch=branch("e", [node("Add", ["x", "w"], ["a"])], "a"))],
     X + C, Y, [f("w", 1, 2)])
save("branch-same-names", [node("If", ["c"], ["y"], then_branch=branch("t", [node("Neg", ["x"], ["a"])], "a"), else_branch=branch("e", [node("Abs", ["x"], ["a"])], "a"))],
     X + C, Y)
save("branch-in-branch", [node("If", ["c"], ["y"], then_branch=branch("t", [node("If", ["d"], ["a"], then_branch=branch("tt", [node("Neg", ["x"], ["q"])], "q"),
     else_branch=branch("te", [], "x"))], "a"), else_branch=branch("e", [node("Exp", ["x"], ["b"])], "b"))], X + C + [vi("d", (), B)], Y)
save("branch-two-outputs-one-value", [node("If", ["c"], ["y", "z"], then_branch=graph([node("Neg", ["x"], ["a"])], "t", [], [vi("a", None), vi("a", None)]),
     else_branch=graph([node("Abs", ["x"], ["a"]), node("Exp", ["x"], ["b"])], "e", [], [vi("a", None), vi("b", None)]))], X + C, Y + [vi("z")])
save("branch-other-ranks", [node("If", ["c"], ["a"], then_branch=branch("t", [node("Unsqueeze", ["x", "o"], ["q"])], "q"),
     else_branch=branch("e", [node("Neg", ["x"], ["b"])], "b")), node("ReduceSum", ["a"], ["y"], keepdims=0)], X + C, [vi("y", ())], [i("o", 0)])
cond = ten("cond", B, [], [1])
body = graph([node("Add", ["a", "x"], ["b"]), node("Identity", ["k"], ["k2"])], "body", [vi("it", (), I), vi("k", (), B), vi("a")], [vi("k2", (), B), vi("b"), vi("a")])
save("loop-carries-and-scans", [node("Loop", ["n", "cond", "x"], ["y", "z"], body=body)], X, Y + [vi("z", (3, 2))], [ten("n", I, [], [3]), cond])
body = graph([], "body", [vi("it", (), I), vi("k", (), B), vi("a")], [vi("k", (), B), vi("a")])
save("loop-of-nothing", [node("Loop", ["n", "", "x"], ["y"], body=body)], X, Y, [ten("n", I, [], [3])])
body = graph([], "body", [vi("it", (), I), vi("k", (), B), vi("a")], [vi("k", (), B), vi("w"), vi("it", (), I)])
save("loop-output-outer", [node("Loop", ["n", "", "x"], ["y", "z"], body=body)], X, Y + [vi("z", (3,), I)], [ten("n", I, [], [3]), f("w", 5, 6)])
save("loop-no-trips", [node("Loop", ["n", "", "x"], ["y"], body=graph([node("Neg", ["a"], ["b"])], "body", [vi("it", (), I), vi("k", (), B), vi("a")],
     [vi("k", (), B), vi("b")]))], X, Y, [ten("n", I, [], [0])])
body = graph([node("Add", ["s", "e"], ["t"])], "body", [vi("s"), vi("e")], [vi("t"), vi("t")])
save("scan-state-is-output", [node("Scan", ["x", "m"], ["y", "z"], body=body, num_scan_inputs=1)], X + [vi("m", (3, 2))], Y + [vi("z", (3, 2))])

# Initializers and inputs.
for ir in range(3, 12):
    if ir >= 4:
        save(f"ir-{ir}", [node("Add", ["x", "w"], ["y"])], X, Y, [f("w", 1, 2)], ir=ir, opset=min(17, {4: 9, 5: 10, 6: 11, 7: 13}.get(ir, 17)))
    save(f"initialized-input-ir-{ir}", [node("Add", ["x", "w"], ["y"])], X + [vi("w")], Y, [f("w", 1, 2)], ir=ir,
         opset={3: 8, 4: 9, 5: 10, 6: 11, 7: 13}.get(ir, 17))
save("output-is-initializer", [node("Neg", ["x"], ["y"])], X, Y + [vi("w")], [f("w", 1, 2)])
save("output-is-input", [node("Neg", ["x"], ["y"])], X, Y + X)
save("outputs-twice", [node("Neg", ["x"], ["y"])], X, Y + Y)
save("no-nodes", [], X, X)
save("no-inputs", [node("Neg", ["w"], ["y"])], [], Y, [f("w", 1, 2)])
save("unused-initializer", [node("Neg", ["x"], ["y"])], X, Y, [f("w", 1, 2)])
save("constants-of-all-kinds", [node("Constant", [], ["a"], value_float=2.0), node("Constant", [], ["b"], value_floats=[1.0, 2.0]), node("Constant", [], ["c"], value_int=1),
     node("Cast", ["c"], ["d"], to=F), node("Sum", ["x", "a", "b", "d"], ["y"])], X, Y)
save("sparse-initializer", [node("Add", ["x", "w"], ["y"])], X, Y,
     sparse_initializer=[h.make_sparse_tensor(f("w", 3), i("i", 1), [2])], ir=8)
save("nodes-out-of-order-names", [node("Neg", ["x"], ["1"]), node("Abs", ["1"], ["y"])], X, Y)

# Names.
for k, name in enumerate(["a b", "it's", 'q"q', "größe", "a/b:0", "$(id)", "%s%n", "..", "-", "int", "main", "a\\b", "\u200b"]):
    save(f"name-{k}", [node("Neg", [name], [name + "'"], name=name), node("Abs", [name + "'"], [name + "''"], name=name + "2")], [vi(name)], [vi(name + "''")], graph_name=name)

# Sizes of nothing, scalars.
Z = [vi("x", (0, 3))]
save("empty-relu", [node("Relu", ["x"], ["y"])], Z, [vi("y", (0, 3))])
save("empty-reduce-sum", [node("ReduceSum", ["x", "a"], ["y"], keepdims=0)], Z, [vi("y", (3,))], [i("a", 0)])
save("empty-matmul", [node("MatMul", ["x", "w"], ["y"])], [vi("x", (2, 0))], [vi("y", (2, 3))], [ten("w", F, [0, 3], [])])
save("empty-concat", [node("Concat", ["x", "e"], ["y"], axis=0)], X, Y, [ten("e", F, [0], [])])
save("empty-gather", [node("Gather", ["x", "e"], ["y"])], X, [vi("y", (0,))], [ten("e", I, [0], [])])
save("empty-conv-batch", [node("Conv", ["x", "w"], ["y"])], [vi("x", (0, 1, 3, 3))], [vi("y", (0, 1, 2, 2))], [ten("w", F, [1, 1, 2, 2], [1] * 4)])
save("empty-split", [node("Split", ["x", "s"], ["y", "z"])], X, Y + [vi("z", (0,))], [i("s", 2, 0)])
save("empty-softmax", [node("Softmax", ["x"], ["y"], axis=0)], Z, [vi("y", (0, 3))])
save("empty-where", [node("Where", ["b", "x", "x"], ["y"])], Z, [vi("y", (0, 3))], [ten("b", B, [1, 1], [1])])
save("scalars", [node("Mul", ["x", "x"], ["a"]), node("Sqrt", ["a"], ["y"])], [vi("x", ())], [vi("y", ())])
save("scalar-reduce", [node("ReduceMax", ["x"], ["y"], keepdims=1)], [vi("x", ())], [vi("y", ())], opset=13)
save("scalar-flatten-transpose", [node("Transpose", ["x"], ["t"]), node("Flatten", ["t"], ["y"], axis=0)], [vi("x", ())], [vi("y", (1, 1))])
save("scalar-shape", [node("Shape", ["x"], ["y"])], [vi("x", ())], [vi("y", (0,), I)])
save("scalar-unsqueeze", [node("Unsqueeze", ["x", "a"], ["y"])], [vi("x", ())], [vi("y", (1, 1))], [i("a", 1, 0)])
save("rank-8", [node("Transpose", ["x"], ["t"], perm=[7, 6, 5, 4, 3, 2, 1, 0]), node("Add", ["t", "t"], ["y"])], [vi("x", (1, 2, 1, 2, 1, 2, 1, 2))],
     [vi("y", (2, 1, 2, 1, 2, 1, 2, 1))])

# Functions.
ops = [h.make_opsetid("", 17)]
leaky = h.make_node("LeakyRelu", ["p"], ["q"])
ref = leaky.attribute.add()
ref.name, ref.ref_attr_name, ref.type = "alpha", "slope", onnx.AttributeProto.FLOAT
with_ref = h.make_function("my", "L", ["p"], ["q"], [leaky], ops, ["slope"])
save("function-attribute", [node("L", ["x"], ["a"], domain="my", slope=0.5), node("L", ["a"], ["y"], domain="my", slope=0.25)], X, Y, functions=[with_ref], domains=["my"])
save("function-attribute-absent", [node("L", ["x"], ["y"], domain="my")], X, Y, functions=[with_ref], domains=["my"])
default = h.make_function("my", "D", ["p"], ["q"], [leaky], ops, [], [h.make_attribute("slope", 0.75)])
save("function-default", [node("D", ["x"], ["a"], domain="my"), node("D", ["a"], ["y"], domain="my", slope=0.1)], X, Y, functions=[default], domains=["my"], ir=9)
outer = h.make_function("my", "O", ["p"], ["r"], [node("L", ["p"], ["m"], domain="my", slope=0.5), node("L", ["m"], ["r"], domain="my", slope=0.1)],
                        ops + [h.make_opsetid("my", 1)])
save("function-in-function", [node("O", ["x"], ["a"], domain="my"), node("O", ["a"], ["y"], domain="my")], X, Y, functions=[with_ref, outer], domains=["my"])
passes = h.make_function("my", "P", ["p", "unused"], ["p2", "q"], [node("Identity", ["p"], ["p2"]), node("Neg", ["p"], ["q"])], ops)
save("function-absent-operand", [node("P", ["x"], ["", "y"], domain="my")], X, Y, functions=[passes], domains=["my"])
cond_f = h.make_function("my", "C", ["p", "c"], ["q"], [node("If", ["c"], ["q"], then_branch=branch("t", [node("Neg", ["p"], ["n"])], "n"),
                         else_branch=branch("e", [node("L", ["p"], ["n"], domain="my", slope=0.5)], "n"))], ops + [h.make_opsetid("my", 1)])
save("function-with-branches", [node("C", ["x", "c"], ["y"], domain="my")], X + C, Y, functions=[with_ref, cond_f], domains=["my"])
save("function-in-branch", [node("If", ["c"], ["y"], then_branch=branch("t", [node("L", ["x"], ["n"], domain="my", slope=0.5)], "n"),
     else_branch=branch("e", [], "x"))], X + C, Y, functions=[with_ref], domains=["my"])
shadow = h.make_function("my", "Relu", ["p"], ["q"], [node("Neg", ["p"], ["q"])], ops)
save("function-called-relu", [node("Relu", ["x"], ["a"], domain="my"), node("Relu", ["a"], ["y"])], X, Y, functions=[shadow], domains=["my"])

# Sequences, optionals, strings, domains of others: they go through.
save("sequence", [node("SequenceConstruct", ["x", "x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], X, [vi("y", (4,))])
save("sequence-at", [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=1), node("SequenceAt", ["s", "k"], ["y"])], X, [vi("y", (1,))], [ten("k", I, [], [1])])
save("optional", [node("Optional", ["x"], ["o"]), node("OptionalGetElement", ["o"], ["y"])], X, Y, opset=18)
save("strings", [node("Identity", ["s"], ["t"]), node("Neg", ["x"], ["y"])], X + [vi("s", (1,), S)], Y + [vi("t", (1,), S)], feeds={"s": np.array(["a"])})
save("domain-in-branch", [node("If", ["c"], ["y"], then_branch=branch("t", [node("Gelu", ["x"], ["n"], domain="com.microsoft")], "n"), else_branch=branch("e", [], "x"))],
     X + C, Y, domains=["com.microsoft"])
save("contrib", [node("Neg", ["x"], ["a"]), node("Gelu", ["a"], ["b"], domain="com.microsoft"), node("Abs", ["b"], ["y"])], X, Y, domains=["com.microsoft"])
save("contrib-unknown", [node("SampleOp", ["s"], ["t"], domain="com.microsoft"), node("Abs", ["t"], ["z"])], [vi("s", (2, 2))], [vi("z", (2, 2))],
     domains=["com.microsoft"])
save("domain-ai-onnx", [node("Neg", ["x"], ["y"], domain="ai.onnx")], X, Y)

# Types and shapes.
save("no-output-type", [node("Neg", ["x"], ["y"])], X, [vi("y", None)])
save("symbols-of-one-name", [node("MatMul", ["x", "w"], ["y"])], [vi("x", ("n", "n")), vi("w", ("n", 2))], [vi("y", ("n", 2))])
save("f64-f16-mix", [node("Cast", ["x"], ["a"], to=T.DOUBLE), node("Exp", ["a"], ["b"]), node("Cast", ["b"], ["c"], to=T.FLOAT16), node("Cast", ["c"], ["y"], to=F)], X, Y)
save("bool-arith", [node("Greater", ["x", "z"], ["a"]), node("Not", ["a"], ["b"]), node("Xor", ["a", "b"], ["e"]), node("Cast", ["e"], ["y"], to=F)], X, Y, [ten("z", F, [], [0])])
save("einsum-scalar", [node("Einsum", ["x", "x"], ["y"], equation="i,i->")], X, [vi("y", ())])
save("aspect-ratio", [node("Resize", ["x", "", "", "s"], ["y"], axes=[3, 2], keep_aspect_ratio_policy="not_larger", mode="linear")], [vi("x", (1, 1, 4, 6))],
     [vi("y", (1, 1, 5, 8))], [i("s", 8, 7)], opset=18)
save("pad-axes-negative", [node("Pad", ["x", "p", "", "a"], ["y"], mode="reflect")], [vi("x", (3, 4))], [vi("y", (3, 7))], [i("p", 1, 2), i("a", -1)], opset=18)
save("reduce-empty-axes-noop", [node("ReduceSum", ["x", "a"], ["y"], noop_with_empty_axes=1)], X, Y, [ten("a", I, [0], [])])
save("squeeze-all", [node("Squeeze", ["x"], ["y"])], [vi("x", (1, 2, 1))], Y)
save("reshape-zeros", [node("Reshape", ["x", "s"], ["y"])], [vi("x", (2, 0, 3))], [vi("y", (2, 0, 3))], [i("s", 0, 0, 3)])
save("expand-down", [node("Expand", ["x", "s"], ["y"])], X, Y, [i("s", 1)])
save("gather-scalar-index", [node("Gather", ["x", "k"], ["y"])], X, [vi("y", ())], [ten("k", I, [], [-1])])
save("shape-slice", [node("Shape", ["x"], ["s"], start=-1), node("Cast", ["s"], ["y"], to=F)], [vi("x", (2, 3))], [vi("y", (1,))], opset=15)
