"""FlexAttention and the optimizers against ONNX's reference implementation, Gradient against differences, Dropout in training against
what ONNX says of it: evaluated, after the passes, and as libraries without the slow path."""
import subprocess

import numpy as np
import onnx
from onnx import helper as h
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.aionnx_preview.op_flex_attention import FlexAttention
from onnx.reference.ops.aionnx_preview_training import op_adagrad, op_adam, op_momentum

rng = np.random.default_rng(7)
PREVIEW, TRAINING = "ai.onnx.preview", "ai.onnx.preview.training"
SETS = [h.make_opsetid("", 26), h.make_opsetid(PREVIEW, 1), h.make_opsetid(TRAINING, 1)]
OPS = [FlexAttention, op_adagrad.Adagrad, op_adam.Adam, op_momentum.Momentum]
TYPE = lambda a: h.np_dtype_to_tensor_dtype(np.asarray(a).dtype)
results = 0


def report(what, why=""):
    global results
    results += 1
    print("%sok - %s%s" % ("not " if why else "", what, why), flush=True)


def run(cmd):
    p = subprocess.run(["bash", "-o", "pipefail", "-c", cmd], capture_output=True, text=True, timeout=300)
    return p.returncode, p.stderr.strip()


def save(nodes, feed, outs, init={}, types={}):
    g = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, TYPE(a), np.shape(a)) for n, a in feed.items()],
                     [onnx.ValueInfoProto(name=o) if o not in types else h.make_tensor_value_info(o, types[o], None) for o in outs],
                     [numpy_helper.from_array(np.asarray(a), n) for n, a in init.items()])
    model = h.make_model(g, opset_imports=SETS, ir_version=10)
    onnx.save(model, "c.onnx")
    np.savez("in.npz", **feed)
    return model


def runs():
    """Results of the evaluator, of the graph after passes, and of a library whose steps are all native."""
    rc, err = run("run-ref -q -i in.npz c.onnx -o a.npz && ge-import -q c.onnx | ge-deadedge | ge-shape | ge-fold | ge-simplify -o s.g && run-ref -q -i in.npz s.g -o b.npz && "
                  "hone build -q --no-fallback -o c c.onnx && run-dev -q c.so -i in.npz -o d.npz")
    assert rc == 0, err
    return [np.load(f + ".npz") for f in "abd"]


def near(got, want, tol):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    assert np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=tol, atol=tol, equal_nan=True), (got.ravel()[:4], want.ravel()[:4])


def check(what, want, tol=1e-4):
    why = ""
    try:
        for got in runs():
            for n, w in want().items():
                near(got[n], w, tol)
    except Exception as e:
        why = ": %s: %s" % (type(e).__name__, str(e)[:500])
    report(what, why)


def refused(what, code, words):
    rc, err = run("run-ref -q -i in.npz c.onnx -o a.npz")
    report(what, "" if rc == code and words in err else ": exit %d: %s" % (rc, err[:300]))


def reference(model, feed):
    """Its results, of the types that the operators' text gives them."""
    types = {o.name: h.tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type) for o in model.graph.output}
    return lambda: {n: a.astype(types[n]) for n, a in zip(types, ReferenceEvaluator(model, new_ops=OPS).run(None, feed))}


# ---- FlexAttention ----


def body(t, *nodes, init=()):
    dims = ["B", "H", "L", "S"]
    return h.make_graph(list(nodes), "mod", [h.make_tensor_value_info("s", t, dims)], [h.make_tensor_value_info("o", t, dims)],
                        [numpy_helper.from_array(a, n) for n, a in init])


def attention(what, dtype, heads=4, kv=4, tol=1e-4, **attrs):
    x = lambda n, l, e: rng.standard_normal((2, n, l, e)).astype(dtype)
    feed = {"q": x(heads, 5, 8), "k": x(kv, 6, 8), "v": x(kv, 6, 4)}
    check("FlexAttention " + what, reference(save([h.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain=PREVIEW, **attrs)], feed, ["y"], types={"y": TYPE(feed["q"])}), feed), tol)


def attentions():
    F, D = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
    half = lambda t: np.array(0.5, t)
    for t, tol in ((np.float32, 1e-5), (np.float64, 1e-6), (np.float16, 3e-3)):
        attention("of " + t.__name__, t, tol=tol)
        attention("of %s, groups of heads" % t.__name__, t, 6, 2, tol=tol, scale=0.3)
    attention("with a softmax in f64", np.float32, softmax_precision=D)
    attention("with a softmax in f16", np.float32, softmax_precision=onnx.TensorProto.FLOAT16, tol=3e-3)
    cap = body(F, h.make_node("Mul", ["s", "c"], ["a"]), h.make_node("Tanh", ["a"], ["o"]), init=[("c", half(np.float32))])
    attention("with capped scores", np.float32, score_mod=cap)
    attention("with both graphs", np.float32, 4, 2, score_mod=cap, prob_mod=body(F, h.make_node("Mul", ["s", "c"], ["o"]), init=[("c", half(np.float32))]))
    # A graph that captures a value of the graph around it.
    feed = {"q": rng.standard_normal((1, 2, 3, 4)).astype(np.float32), "k": rng.standard_normal((1, 2, 5, 4)).astype(np.float32),
            "v": rng.standard_normal((1, 2, 5, 4)).astype(np.float32), "bias": rng.standard_normal((3, 5)).astype(np.float32)}
    save([h.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain=PREVIEW, score_mod=body(F, h.make_node("Add", ["s", "bias"], ["o"])))], feed, ["y"])
    s = feed["q"] @ feed["k"].swapaxes(2, 3) / 2 + feed["bias"]
    p = np.exp(s - s.max(-1, keepdims=True))
    check("FlexAttention whose graph captures a value", lambda: {"y": p / p.sum(-1, keepdims=True) @ feed["v"]})
    save([h.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain=PREVIEW, softmax_precision=7)], feed, ["y"])
    refused("a softmax of integers", 65, "softmax_precision")


# ---- optimizers ----


def optimizer(op, states, dtype, count, n, **attrs):
    names = [c + str(i) for c in ["x", "g", "v", "h"][: 2 + states] for i in range(n)]
    feed = {"r": np.array(0.1, dtype), "t": np.array(count, np.int64)}
    feed.update((k, np.abs(rng.standard_normal((3, i + 1 if (i := int(k[1])) else 2))).astype(dtype)) for k in names)
    outs = ["y%d" % i for i in range(n * (1 + states))]
    model = save([h.make_node(op, [*feed], outs, domain=TRAINING, **attrs)], feed, outs, types={o: TYPE(feed["x0"]) for o in outs})
    check("%s of %d tensors of %s, step %d" % (op, n, dtype.__name__, count), reference(model, feed), 1e-5)


def optimizers():
    for dtype in (np.float32, np.float64):
        for count in (0, 3):
            for n in (1, 2):
                optimizer("Adagrad", 1, dtype, count, n, norm_coefficient=0.01, decay_factor=0.1, epsilon=1e-3)
                optimizer("Adam", 2, dtype, count, n, norm_coefficient=0.01, norm_coefficient_post=0.1, alpha=0.8, beta=0.7, epsilon=1e-2)
                for mode in ("standard", "nesterov"):
                    optimizer("Momentum", 1, dtype, count, n, norm_coefficient=0.01, alpha=0.8, beta=0.7, mode=mode)
    feed = {"r": np.float32(0.1), "t": np.int64(0), "x": np.ones(2, np.float32), "g": np.ones(2, np.float32)}
    save([h.make_node("Adam", [*feed], ["a", "b"], domain=TRAINING)], feed, ["a", "b"])
    refused("an optimizer without its states", 65, "not a tensor, its gradient and 2 states each")


# ---- Gradient ----


def gradient(what, nodes, feed, xs, y="y", zs=(), init={}, given=()):
    """Against differences of the sum of y in double. given: operands of the Gradient where they are not those named."""
    operands = list(given) or [*xs, *zs]
    outs = ["d" + x for x in xs]
    save(nodes + [h.make_node("Gradient", operands, outs, domain=TRAINING, xs=list(xs), y=y, **({"zs": list(zs)} if zs else {}))], feed, [y] + outs, init)
    at = dict(feed)
    at.update(zip([*xs, *zs], (feed[g] for g in operands)))

    def f(values):
        g = h.make_graph(nodes, "f", [h.make_tensor_value_info(n, TYPE(a), np.shape(a)) for n, a in values.items()], [onnx.ValueInfoProto(name=y)],
                         [numpy_helper.from_array(np.asarray(a), n) for n, a in init.items()])
        return float(np.sum(ReferenceEvaluator(h.make_model(g, opset_imports=SETS[:1], ir_version=10)).run(None, values)[0]))

    def want():
        d = {}
        for x in xs:
            d["d" + x] = np.zeros_like(at[x])
            for i in np.ndindex(at[x].shape):
                up, down = (dict(at, **{x: at[x].copy()}) for _ in range(2))
                up[x][i] += 1e-6
                down[x][i] -= 1e-6
                d["d" + x][i] = (f(up) - f(down)) / 2e-6
        return d

    check("Gradient of " + what, want, 1e-5)


def gradients():
    n = lambda op, i, o="y", **a: h.make_node(op, i.split(), [o], **a)
    x = lambda *s: rng.uniform(0.5, 2, s)
    for op in ("Abs", "Cos", "Exp", "Identity", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sin", "Sqrt", "Tanh"):
        gradient(op, [n(op, "a")], {"a": x(2, 3)}, ["a"])
    for op in ("Add", "Sub", "Mul", "Div", "Pow"):
        gradient(op + ", broadcast", [n(op, "a b")], {"a": x(2, 1, 3), "b": x(4, 1)}, ["a", "b"])
    gradient("MatMul", [n("MatMul", "a b")], {"a": x(2, 3, 4), "b": x(4, 5)}, ["a", "b"])
    axes = {"axes": np.array([1], np.int64)}
    gradient("ReduceSum", [n("Mul", "a a", "s"), n("ReduceSum", "s axes", keepdims=0)], {"a": x(2, 3)}, ["a"], init=axes)
    gradient("ReduceMean", [n("Mul", "a a", "s"), n("ReduceMean", "s axes")], {"a": x(2, 3)}, ["a"], init=axes)
    gradient("ReduceMean of all", [n("Mul", "a a", "s"), n("ReduceMean", "s", keepdims=0)], {"a": x(2, 3)}, ["a"])
    gradient("Reshape", [n("Reshape", "a axes", "s"), n("Mul", "s s")], {"a": x(2, 3)}, ["a"], init={"axes": np.array([6], np.int64)})
    layer = [n("MatMul", "x w", "p"), n("Add", "p b", "q"), n("Tanh", "q", "r"), n("Mul", "r r", "s"), n("ReduceMean", "s", keepdims=0)]
    feed = {"x": x(4, 3), "w": x(3, 2), "b": x(2)}
    gradient("a layer", layer, feed, ["w", "b"], zs=["x"])
    save([n("Neg", "a", "q"), n("Mul", "q q"), h.make_node("Gradient", ["b"], ["d"], domain=TRAINING, xs=["q"], y="y")], {"a": x(3), "b": x(3)}, ["d"])
    check("Gradient by a value in between", lambda: {"d": 2 * np.load("in.npz")["b"]})
    gradient("a layer at other values", layer, dict(feed, w1=x(3, 2)), ["w"], zs=["x", "b"], given=["w1", "x", "b"])
    gradient("what does not depend on it", [n("Mul", "a a")], {"a": x(2), "b": x(3)}, ["a", "b"])
    feed = {"a": x(2, 3)}
    node = h.make_node("Gradient", ["a"], ["d"], domain=TRAINING, xs=["a"], y="y")
    save([n("Det", "a"), node], {"a": x(3, 3)}, ["y", "d"])
    refused("Gradient of Det", 69, "no derivative of Det, here of 'y'")
    save([n("Neg", "a", "z"), node], feed, ["z", "d"])
    refused("Gradient of a value that is not there", 69, "'y' is no value of this graph")


# ---- Dropout ----


def dropout(dtype, ratio, **attrs):
    what, why = "Dropout in training of %s at %g%s" % (dtype.__name__, ratio, " with a seed" if attrs else ""), ""
    feed = {"x": rng.uniform(1, 2, (50, 100)).astype(dtype)}
    save([h.make_node("Dropout", ["x", "ratio", "yes"], ["y", "mask"], **attrs)], feed, ["y", "mask"], {"ratio": np.float32(ratio), "yes": np.array(True)})
    try:
        kept = None
        for got in runs():
            y, mask = got["y"], got["mask"]
            assert mask.dtype == bool and abs(mask.mean() - (1 - ratio)) < 0.03, mask.mean()
            near(y, np.where(mask, feed["x"].astype(np.float64) / (1 - np.float64(np.float32(ratio))), 0).astype(dtype), 1e-3 if dtype == np.float16 else 1e-6)
            assert kept is None or (mask == kept).all(), "not the same each time"
            kept = mask
    except Exception as e:
        why = ": %s: %s" % (type(e).__name__, str(e)[:500])
    report(what, why)


attentions()
optimizers()
gradients()
for t in (np.float32, np.float64, np.float16):
    dropout(t, 0.5)
    dropout(t, 0.1, seed=3)
dropout(np.float32, 0.0)
