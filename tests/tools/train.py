"""A training of hone train beside the same in numpy, in double: train.py make writes the model and its samples, train.py check compares."""

import sys

import numpy as np
import onnx
from onnx import helper as h
from onnx import numpy_helper

BATCH, EPOCHS, SEED, RATE, DECAY = 8, 3, 5, 0.01, 0.1
MASK = (1 << 64) - 1


def mixed(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def shuffled(i, n, key):
    half = next(b for b in range(1, 33) if 1 << 2 * b >= n)
    while True:
        left, right = i >> half, i & (1 << half) - 1
        for r in range(6):
            left, right = right, left ^ mixed(mixed(key + r & MASK) + right & MASK) & (1 << half) - 1
        i = left << half | right
        if i < n:
            return i


def make():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(52, 6)).astype(np.float32)
    y = (x @ rng.normal(size=(6, 3))).argmax(1)
    weights = {"w1": rng.normal(size=(6, 8)) / 2, "b1": rng.normal(size=8) / 9, "w2": rng.normal(size=(3, 8)) / 3, "b2": np.zeros(3)}
    init = [numpy_helper.from_array(w.astype(np.float32), k) for k, w in weights.items()]
    init[3] = h.make_tensor("b2", 1, [3], [0.0, 0.0, 0.0])  # as float_data
    nodes = [
        h.make_node("MatMul", ["x", "w1"], ["a"]),
        h.make_node("Add", ["a", "b1"], ["b"]),
        h.make_node("Relu", ["b"], ["c"]),
        h.make_node("Constant", [], ["two"], value=h.make_tensor("", 1, [1], [2.0])),
        h.make_node("Mul", ["c", "two"], ["d"]),
        h.make_node("Gemm", ["d", "w2", "b2"], ["y"], transB=1),
    ]
    io = [h.make_tensor_value_info(n, 1, ["n", k]) for n, k in (("x", 6), ("y", 3))]
    onnx.save(h.make_model(h.make_graph(nodes, "mlp", io[:1], io[1:], init), opset_imports=[h.make_opsetid("", 17)], ir_version=8), "mlp.onnx")
    np.save("x.npy", x)
    np.save("y.npy", y)
    np.save("far.npy", np.where(np.arange(52) == 7, 3, y))
    np.save("few.npy", y[:51])
    np.save("nan.npy", np.where(np.arange(52 * 6).reshape(52, 6) == 6 * 9 + 1, np.nan, x))


def train(w):
    """AdamW as PyTorch has it; vectors do not decay."""
    x, y = np.load("x.npy").astype(np.float64), np.load("y.npy")
    m, v, t = {k: 0 * a for k, a in w.items()}, {k: 0 * a for k, a in w.items()}, 0
    for epoch in range(EPOCHS):
        order = [shuffled(i, len(x), SEED * 0x9E3779B97F4A7C15 + epoch + 1 & MASK) for i in range(len(x) // BATCH * BATCH)]
        assert len(set(order)) == len(order)
        for at in range(0, len(order), BATCH):
            xb, yb = x[order[at : at + BATCH]], y[order[at : at + BATCH]]
            b = xb @ w["w1"] + w["b1"]
            d = 2 * np.maximum(b, 0)
            z = d @ w["w2"].T + w["b2"]
            p = np.exp(z - z.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(BATCH), yb] -= 1
            p /= BATCH
            back = 2 * (p @ w["w2"]) * (b > 0)
            g = {"w1": xb.T @ back, "b1": back.sum(0), "w2": p.T @ d, "b2": p.sum(0)}
            t += 1
            for k in w:
                m[k] = 0.9 * m[k] + 0.1 * g[k]
                v[k] = 0.999 * v[k] + 0.001 * g[k] ** 2
                decay = RATE * DECAY * w[k] if w[k].ndim > 1 else 0
                w[k] = w[k] - decay - RATE * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)
    return w


def check(path):
    before, after = onnx.load("mlp.onnx"), onnx.load(path)
    want = train({i.name: numpy_helper.to_array(i).astype(np.float64) for i in before.graph.initializer})
    got = {i.name: numpy_helper.to_array(i) for i in after.graph.initializer}
    del before.graph.initializer[:], after.graph.initializer[:]
    worst = max(np.abs(got[k] - want[k]).max() for k in want)
    print("%s %s" % ("close" if worst < 2e-5 else "off by %g" % worst, "else the same" if before == after else "another model"))


make() if sys.argv[1] == "make" else check(sys.argv[2])
