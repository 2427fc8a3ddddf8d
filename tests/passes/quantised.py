"""Random quantised patterns through ge-integer, many in one model: before and after the pass on the evaluator, and ONNX Runtime without
its optimisations on the model as it was and as it is written afterwards.

    quantised.py --each 200 --seed 1 [SHAPE...]

A result of bytes is equal, or a step away where the float before rounding lies within TIE steps of the middle between two steps: such
are counted. Floats are equal within 5e-5 of the largest: a bias may be as large as the sum and take it away."""
import argparse
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

TIE = 1e-3
SATURATES = "vnni" not in open("/proc/cpuinfo").read()  # ONNX Runtime adds pairs of products of bytes in 16 bits without that instruction
TYPES = {np.uint8: T.UINT8, np.int8: T.INT8, np.float32: T.FLOAT}


class Model:
    def __init__(self, rng):
        self.rng, self.nodes, self.init, self.inputs, self.outputs, self.feed, self.floats, self.n = rng, [], [], [], [], {}, {}, 0

    def name(self):
        self.n += 1
        return f"t{self.n}"

    def const(self, a):
        name = self.name()
        self.init.append(numpy_helper.from_array(np.asarray(a), name))
        return name

    def node(self, op, *ins, **attrs):
        out = self.name()
        self.nodes.append(h.make_node(op, list(ins), [out], name=f"n{out}", **attrs))
        return out

    def input(self, a):
        name = self.name()
        self.inputs.append(h.make_tensor_value_info(name, TYPES[a.dtype.type], a.shape))
        self.feed[name] = a
        return name

    def output(self, v, grid=None):
        """The result v; with a grid what is quantised to it."""
        if grid:
            q = self.node("QuantizeLinear", v, self.const(grid[0]), self.const(grid[1]))
            self.floats[q] = (v, grid)
            v = q
        self.outputs.append(v)
        return v

    # ---- what is drawn ----

    def byte(self):
        return self.rng.choice([np.uint8, np.int8])

    def grid(self, scale=None, t=None):
        t = t or self.byte()
        info = np.iinfo(t)
        zero = self.rng.choice([info.min, info.max, 0, 128 + info.min, self.rng.integers(info.min, info.max + 1)])
        return np.float32(scale or 10 ** self.rng.uniform(-3, 0)), np.asarray(zero).astype(t)

    def data(self, shape, t):
        info = np.iinfo(t)
        if self.rng.random() < 0.3:
            return self.rng.choice([info.min, info.max], shape, p=[0.1, 0.9]).astype(t)
        return self.rng.integers(info.min, info.max + 1, shape).astype(t)

    def dequantized(self, shape, grid=None):
        """A DequantizeLinear of an input, and the grid."""
        scale, zero = grid or self.grid()
        return self.node("DequantizeLinear", self.input(self.data(shape, zero.dtype.type)), self.const(scale), self.const(zero)), (scale, zero)

    def weights(self, shape, axis, one_zero=False):
        """A DequantizeLinear of a constant: one scale, or one for each index of axis; and the scales. one_zero: the same zero point for all."""
        t = self.rng.choice([np.int8, np.int8, np.uint8])
        per = self.rng.random() < 0.5
        n = (shape[axis],) if per else ()
        w = self.rng.choice([-127, 127], shape).astype(np.int8) if t == np.int8 and self.rng.random() < 0.3 else self.data(shape, t)
        scale = (10 ** self.rng.uniform(-3, -1, n)).astype(np.float32)
        zero = self.rng.integers(100, 156, n).astype(t) if t == np.uint8 else np.zeros(n, t) if self.rng.random() < 0.8 else self.rng.integers(-3, 4, n).astype(t)
        if one_zero and n:
            zero = np.full(n, zero[0], t)
        ins = [self.const(w), self.const(scale)] + ([self.const(zero)] if t == np.uint8 or zero.any() else [])
        return self.node("DequantizeLinear", *ins, **({"axis": axis} if per else {})), scale, w, zero

    def bias(self, n, sx, sw, shape=None):
        s = (sx * sw).astype(np.float32)
        q = self.rng.integers(-20000, 20000, n).astype(np.int32)
        if self.rng.random() < 0.5:
            return self.const((q * s).astype(np.float32).reshape(shape or (n,)))
        if s.ndim and len(s) != n:
            s = s.flat[0]
        return self.node("DequantizeLinear", self.const(q), self.const(s), **({"axis": 0} if np.ndim(s) else {}))

    def range_of(self, sx, sw, k):
        """A scale at which a sum of k products fills a byte, roughly."""
        return float(sx * np.mean(sw) * 90 * 90 * np.sqrt(k) / 60)

    def activation(self, v, unit):
        kind = self.rng.choice(["none", "Relu", "Clip", "LeakyRelu", "Clip6"])
        if kind == "Relu":
            return self.node("Relu", v)
        if kind == "LeakyRelu":
            return self.node("LeakyRelu", v, alpha=0.1)
        if kind in ("Clip", "Clip6"):
            return self.node("Clip", v, self.const(np.float32(0 if kind == "Clip6" else -20 * unit)), self.const(np.float32(50 * unit)))
        return v


# ---- shapes of patterns: each appends one to the model ----

def matmul(m):
    M, K, N = m.rng.integers(1, 6), m.rng.integers(1, 70), m.rng.integers(1, 10)
    x, (sx, _) = m.dequantized((2, M, K) if m.rng.random() < 0.3 else (M, K))
    if m.rng.random() < 0.25:
        w, (sw, _) = m.dequantized((K, N))
    else:
        w, sw, _, _ = m.weights((K, N), 1)
    y = m.node("MatMul", x, w)
    if m.rng.random() < 0.5:
        y = m.node("Add", y, m.bias(N, sx, sw))
    unit = m.range_of(sx, sw, K)
    m.output(m.activation(y, unit), None if m.rng.random() < 0.2 else m.grid(unit))


def gemm(m):
    M, K, N = m.rng.integers(1, 6), m.rng.integers(1, 70), m.rng.integers(1, 10)
    ta, tb = m.rng.integers(0, 2), m.rng.integers(0, 2)
    x, (sx, _) = m.dequantized((K, M) if ta else (M, K))
    w, sw, _, _ = m.weights((N, K) if tb else (K, N), 0 if tb else 1)
    ins = [x, w] + ([m.bias(N, sx, sw)] if m.rng.random() < 0.7 else [])
    y = m.node("Gemm", *ins, transA=int(ta), transB=int(tb), alpha=float(m.rng.choice([1, 0.5])), beta=float(m.rng.choice([1, 2])))
    unit = m.range_of(sx, sw, K)
    m.output(m.activation(y, unit), m.grid(unit))


def conv(m, depthwise=False, after=None, one_zero=True):
    g = int(m.rng.integers(1, 8)) if depthwise else int(m.rng.choice([1, 1, 2]))
    c = 1 if depthwise else int(m.rng.integers(1, 6))
    o = g * int(1 if depthwise else m.rng.integers(1, 5))
    k, s, p = int(m.rng.integers(1, 4)), int(m.rng.integers(1, 3)), int(m.rng.integers(0, 2))
    x, (sx, _) = m.dequantized((1, g * c, 7, 6))
    w, sw, _, _ = m.weights((o, c, k, k), 0, one_zero)
    y = m.node("Conv", x, w, *([m.bias(o, sx, sw)] if m.rng.random() < 0.7 else []), group=g, strides=[s, s], pads=[p, 0, 0, p])
    unit = m.range_of(sx, sw, c * k * k)
    if after:
        return after(m, y, unit)
    return m.output(m.activation(y, unit), None if m.rng.random() < 0.1 else m.grid(unit))


def depthwise(m):
    conv(m, True)


def conv_zeros(m):
    """A zero point for each channel of the weights, which ONNX Runtime has no ConvInteger for."""
    conv(m, one_zero=False)


def residual(m):
    a, (sa, _) = m.dequantized((2, 5, 3))
    b, (sb, _) = m.dequantized((2, 5, 3) if m.rng.random() < 0.7 else (5, 1))
    unit = float(sa + sb)
    y = m.node(m.rng.choice(["Add", "Add", "Sub"]), a, b)
    m.output(m.activation(y, unit), m.grid(unit))


def product(m):
    a, (sa, _) = m.dequantized((2, 5, 3))
    b, (sb, _) = m.dequantized((2, 5, 3) if m.rng.random() < 0.7 else (5, 1))
    m.output(m.node("Mul", a, b), m.grid(float(sa * sb * 60)))


def concat(m):
    grid = m.grid()
    some = [m.dequantized((2, int(m.rng.integers(1, 4)), 3), grid if m.rng.random() < 0.5 else None) for _ in range(3)]
    y = m.node("Concat", *[v for v, _ in some], axis=1)
    m.output(y, grid if m.rng.random() < 0.5 else m.grid(max(float(g[0]) for _, g in some)))


def pool(m):
    def after(m, y, unit):
        grid = m.grid(unit)
        s, z, window = m.const(grid[0]), m.const(grid[1]), {"kernel_shape": [2, 2], "pads": [0, 1, 1, 0]}
        before = m.node("MaxPool", y, **window)  # of floats: rounding is monotone, so the bytes are those of this
        y = m.node("DequantizeLinear", m.node("QuantizeLinear", y, s, z), s, z)
        m.outputs.append(m.node("QuantizeLinear", m.node("MaxPool", y, **window), s, z))
        m.floats[m.outputs[-1]] = (before, grid)
    if m.rng.random() < 0.5:
        return conv(m, after=after)
    x, (sx, _) = m.dequantized((1, 3, 6, 5))
    op = m.rng.choice(["MaxPool", "AveragePool", "GlobalAveragePool"])
    y = m.node(op, x, **({} if op[0] == "G" else {"kernel_shape": [2, 3], "pads": [0, 1, 1, 0]}))
    m.output(y, m.grid(float(sx)))


def activation(m):
    x, (sx, _) = m.dequantized((3, 7))
    op = m.rng.choice(["Sigmoid", "Tanh", "Relu", "HardSigmoid", "Erf", "Clip", "LeakyRelu", "Neg", "Abs"])
    y = m.node(op, x, *([m.const(np.float32(0)), m.const(np.float32(6))] if op == "Clip" else []))
    m.output(y, m.grid(float(sx) if op in ("Relu", "LeakyRelu", "Neg", "Abs") else 6 / 255 if op == "Clip" else 1 / 200))


def softmax(m):
    x, _ = m.dequantized((3, 7))
    m.output(m.node("Softmax", x, axis=-1), m.grid(1 / 256))


def layernorm(m):
    x, _ = m.dequantized((3, 16))
    g = m.const(m.rng.uniform(0.5, 2, 16).astype(np.float32))
    b = m.const(m.rng.uniform(-1, 1, 16).astype(np.float32))
    m.output(m.node("LayerNormalization", x, g, b, axis=-1), m.grid(1 / 32))


def moves(m):
    """Of one grid through everything that moves bytes."""
    x, (s, z) = m.dequantized((1, 4, 6, 4))
    for _ in range(m.rng.integers(1, 5)):
        op = m.rng.choice(["Transpose", "Reshape", "Slice", "Pad", "Unsqueeze", "Concat", "Resize"])
        ints = lambda *v: m.const(np.array(v, np.int64))
        if op == "Transpose":
            x = m.node("Transpose", m.node("Reshape", x, ints(1, 2, 2, -1)), perm=[0, 3, 1, 2])
        elif op == "Reshape":
            x = m.node("Reshape", x, ints(1, -1, 2, 2))
        elif op == "Slice":
            x = m.node("Slice", m.node("Reshape", x, ints(1, 2, 2, -1)), ints(0), ints(4), ints(3))
        elif op == "Pad":
            fill = [] if m.rng.random() < 0.5 else [m.const(np.float32((int(m.rng.integers(0, 100)) - int(z)) * s))]
            x = m.node("Pad", m.node("Reshape", x, ints(1, 2, 2, -1)), ints(0, 0, 1, 0, 0, 0, 1, 2), *fill)
        elif op == "Unsqueeze":
            x = m.node("Squeeze", m.node("Unsqueeze", x, ints(0)), ints(0))
        elif op == "Concat":
            x = m.node("Concat", x, x, axis=0)
            x = m.node("Reshape", x, ints(1, 2, 2, -1))
        else:
            x = m.node("Resize", m.node("Reshape", x, ints(1, 2, 2, -1)), "", m.const(np.array([1, 1, 2, 1], np.float32)), mode="nearest")
    m.output(x, (s, z) if m.rng.random() < 0.7 else m.grid(float(s)))


def qlinear(m):
    """QLinearConv, QLinearMatMul: rounding is as of the floats."""
    K, N = int(m.rng.integers(1, 20)), int(m.rng.integers(1, 6))
    t = m.byte()
    sx, zx = m.grid(t=t)
    w = m.data((K, N), np.int8)
    sw = (10 ** m.rng.uniform(-3, -1, (N,) if m.rng.random() < 0.5 else ())).astype(np.float32)
    zw = np.zeros(sw.shape, np.int8)
    unit = m.range_of(sx, sw, K)
    sy, zy = m.grid(unit, t)
    x = m.input(m.data((3, K), t))
    q = m.node("QLinearMatMul", x, m.const(sx), m.const(zx), m.const(w), m.const(sw), m.const(zw), m.const(sy), m.const(zy))
    m.outputs.append(q)
    d = m.node("MatMul", m.node("DequantizeLinear", x, m.const(sx), m.const(zx)), m.node("DequantizeLinear", m.const(w), m.const(sw), m.const(zw), axis=1))
    m.floats[q] = (d, (sy, zy))


SHAPES = {f.__name__: f for f in (matmul, gemm, conv, conv_zeros, depthwise, residual, product, concat, pool, activation, softmax, layernorm, moves, qlinear)}


# ---- running ----

def save(m, path, outputs):
    info = [h.make_tensor_value_info(o, t, None) for o, t in outputs]
    g = h.make_graph(m.nodes, "g", m.inputs, info, m.init)
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 21)], ir_version=10), path)


def ort_run(path, feed):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.log_severity_level = 4
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    names = [x.name for x in s.get_outputs()]
    return dict(zip(names, s.run(None, {i.name: feed[i.name] for i in s.get_inputs()})))


def sh(command):
    p = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(f"{command}: {p.stderr[-600:]}")


def compare(what, m, got, want, floats):
    ties = wrong = total = 0
    for o in m.outputs:
        a, b = got[o], want[o]
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{what}: {o} is {a.dtype}{list(a.shape)}, takes {b.dtype}{list(b.shape)}", 0, 0
        if a.dtype == np.float32:
            if not np.allclose(a, b, rtol=0, atol=5e-5 * max(1e-30, np.abs(b).max(initial=0))):
                return f"{what}: {o} differs by {np.abs(a - b).max()} of {np.abs(b).max()}", 0, 0
            continue
        d = np.abs(a.astype(int) - b.astype(int))
        total += d.size
        v, (s, _) = m.floats[o]
        v = floats[v].astype(float) / float(s)
        near = np.abs(np.abs(v - np.floor(v)) - 0.5) < TIE * np.maximum(1, np.abs(v) / 256)
        bad = (d > 1) | ((d == 1) & ~near)
        ties += int((d == 1).sum())
        if bad.any():
            i = np.unravel_index(np.argmax(bad), bad.shape)
            return f"{what}: {o}{list(i)} is {a[i]}, takes {b[i]}, of {v[i]} steps", 0, 0
    return None, ties, total


def check(name, each, seed):
    m = Model(np.random.default_rng([seed, sorted(SHAPES).index(name)]))
    for _ in range(each):
        SHAPES[name](m)
    kinds = {o: T.FLOAT if o not in m.floats else TYPES[m.floats[o][1][1].dtype.type] for o in m.outputs}
    save(m, "m.onnx", list(kinds.items()))
    save(m, "f.onnx", [(v, T.FLOAT) for v in {v for v, _ in m.floats.values()}])
    np.savez("in.npz", **m.feed)
    sh("ge-import -q m.onnx | ge-shape -q | ge-prune -o a.g && ge-integer a.g -o b.g && ge-integer b.g -o c.g && ge-export -q -o b.onnx b.g")
    sh('[ "$(ge-stat --digest b.g)" = "$(ge-stat --digest c.g)" ]')
    sh("run-ref -q -i in.npz a.g -o a.npz && run-ref -q -i in.npz b.g -o b.npz")
    onnx.checker.check_model("b.onnx", full_check=True)
    before, after, floats = np.load("a.npz"), np.load("b.npz"), ort_run("f.onnx", m.feed)
    first, last = ort_run("m.onnx", m.feed), None
    try:
        last = ort_run("b.onnx", m.feed)
    except Exception as e:  # what it has no kernel for
        if "NOT_IMPLEMENTED" not in str(e) and "not supported now" not in str(e):
            raise
    left = [n.op_type for n in onnx.load("b.onnx").graph.node if n.op_type in ("Conv", "MatMul", "Gemm", "QLinearConv", "QLinearMatMul")]
    pairs = [("after the pass", after, before)] + ([] if SATURATES and name == "qlinear" else [("ONNX Runtime", after, first)])
    pairs += [("exported", last, first)] if last and not SATURATES else []
    notes = []
    for what, a, b in pairs:
        why, ties, total = compare(what, m, a, b, floats)
        if why:
            return why
        notes.append(f"{what}: {ties} of {total} a step off")
    print("#", name, "; ".join(notes), f"; {len(left)} products left" if left else "", "" if last else "; not run by ONNX Runtime when exported")
    return f"{len(left)} products of floats are left" if left and name != "residual" else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--each", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("shapes", nargs="*")
    a = p.parse_args()
    bad = 0
    for name in a.shapes or SHAPES:
        try:
            why = check(name, a.each, a.seed)
        except Exception as e:
            why = f"{type(e).__name__}: {e}"
        print(f"{'not ' if why else ''}ok - {a.each} of {name}, seed {a.seed}{': ' + str(why)[:900] if why else ''}", flush=True)
        bad += why is not None
    print(f"1..{len(a.shapes or SHAPES)}")
    sys.exit(bad > 0)


main()
