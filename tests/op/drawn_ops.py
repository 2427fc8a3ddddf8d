"""Makers for native_ops.py: operators that have kernels too, with attributes, optional operands, sizes and types drawn, signs mixed on one axis."""

import numpy as np
from onnx import TensorProto as T

FLOATS = [np.float32, np.float32, np.float64, np.float16]
INTS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
WIDE = [np.int32, np.int64]
MAKERS = []


def maker(f):
    MAKERS.append(f)
    return f


def shape(g, lo=1, hi=4, most=6):
    return [g.num(1, most) for _ in range(g.num(lo, hi))]


def data(g, kind, *s):
    """Small numbers, so that no sum or product of a few is beyond the type."""
    return (g.f(*s, scale=2) if np.dtype(kind).kind == "f" else g.ints(-3 if np.dtype(kind).kind == "i" else 0, 5, *s)).astype(kind)


@maker
def pad(g):
    s, mode = shape(g), g.pick(["constant", "edge", "reflect", "wrap"])
    axes = sorted(int(a) for a in g.rng.choice(len(s), g.num(1, len(s)), replace=False))
    begin, end = [], []
    for a in axes:
        b = g.num(-2, 4)
        b = 0 if s[a] + min(b, 0) < 1 else b
        e = g.num(-2, 4)
        e = 0 if s[a] + min(b, 0) + min(e, 0) < 1 else e
        left = s[a] + min(b, 0) + min(e, 0)
        most = left - 1 if mode == "reflect" else left if mode == "wrap" else 4
        begin.append(min(b, most))
        end.append(min(e, most))
    kind = g.pick(FLOATS + WIDE)
    fill = np.array(g.num(-3, 3)).astype(kind) if mode == "constant" and g.chance(0.5) else None
    signed = [a - len(s) if g.chance(0.3) else a for a in axes]
    return "Pad", [data(g, kind, *s), np.array(begin + end, np.int64), fill, np.array(signed, np.int64)], {"mode": mode}, 1


@maker
def cast(g):
    to = g.pick([T.FLOAT, T.DOUBLE, T.FLOAT16, T.INT8, T.UINT8, T.INT16, T.INT32, T.INT64, T.BOOL])
    kind = g.pick(FLOATS + INTS + [np.bool_])
    x = np.abs(data(g, kind, *shape(g))) if np.dtype(kind).kind == "f" else data(g, kind, *shape(g))
    return "Cast", [x if kind is not np.bool_ else x > 1], {"to": to}, 1


@maker
def quantize(g):
    s = shape(g, 2, 4)
    axis, kind, code = g.num(0, len(s) - 1), g.pick([np.float32, np.float32, np.float16]), g.pick([np.uint8, np.int8, np.uint16, np.int16])
    n = [] if g.chance(0.4) else [s[axis]]
    scale = np.array(2.0 ** g.rng.integers(-4, 1, n)).astype(kind)
    zero = g.ints(0, 9, *n).astype(code) if g.chance(0.6) else None
    a = {"axis": axis - len(s) if g.chance(0.4) else axis}
    if zero is None:
        a["output_dtype"] = {np.uint8: T.UINT8, np.int8: T.INT8, np.uint16: T.UINT16, np.int16: T.INT16}[code]
    return "QuantizeLinear", [g.f(*s, scale=3).astype(kind), scale, zero], a, 1


@maker
def dequantize(g):
    s = shape(g, 2, 4)
    axis, code = g.num(0, len(s) - 1), g.pick([np.uint8, np.int8, np.uint16, np.int16, np.int32])
    n = [] if g.chance(0.4) else [s[axis]]
    zero = g.ints(0, 9, *n).astype(code) if g.chance(0.6) and code is not np.int32 else None
    return "DequantizeLinear", [g.ints(0, 100, *s).astype(code), (np.abs(g.f(*n)) + np.float32(0.1)).astype(np.float32), zero], {"axis": axis - len(s) if g.chance(0.4) else axis}, 1


@maker
def reduce(g):
    s = shape(g)
    kind = g.pick(FLOATS + WIDE)
    op = g.pick(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"] + ([] if np.dtype(kind).kind == "i" else ["ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]))
    axes = [int(a) - (len(s) if g.chance(0.4) else 0) for a in g.rng.choice(len(s), g.num(0, len(s)), replace=False)]
    given = None if g.chance(0.2) else np.array(axes, np.int64)
    return op, [data(g, kind, *s), given], {"keepdims": g.num(0, 1), "noop_with_empty_axes": g.num(0, 1) if given is None or len(axes) else 0}, 1


@maker
def arg(g):
    s = shape(g)
    return g.pick(["ArgMax", "ArgMin"]), [data(g, g.pick(FLOATS + [np.int32, np.int8, np.uint8]), *s)], {
        "axis": g.num(-len(s), len(s) - 1), "keepdims": g.num(0, 1), "select_last_index": g.num(0, 1)}, 1


@maker
def slices(g):
    s = shape(g)
    axes = [int(a) for a in g.rng.choice(len(s), g.num(1, len(s)), replace=False)]
    step = [g.pick([1, 1, 2, 3, -1, -2]) for _ in axes]
    start = [g.num(0, s[a]) if t > 0 else g.num(0, s[a] - 1) for a, t in zip(axes, step)]
    end = [g.num(-s[a], s[a] + 2) if t > 0 else g.pick([-(2**40), 0, g.num(-s[a], -1)]) for a, t in zip(axes, step)]
    i = g.pick([np.int64, np.int32]) if min(end) > -(2**30) else np.int64
    return "Slice", [data(g, g.pick(FLOATS + INTS), *s)] + [np.array(v, i) for v in (start, end, [a - len(s) if g.chance(0.4) else a for a in axes], step)], {}, 1


@maker
def binary(g):
    s = shape(g)
    t = [d if g.chance(0.6) else 1 for d in s[g.num(0, len(s)):]]
    kind = g.pick(FLOATS + WIDE)
    op = g.pick(["Add", "Sub", "Mul", "Max", "Min", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"])
    a, b = data(g, kind, *s), data(g, kind, *t)
    return op, [a, b] if g.chance(0.5) else [b, a], {}, 1


@maker
def modulo(g):
    s = shape(g)
    kind = g.pick([np.float32, np.float64] + [np.int32, np.int64, np.int8, np.uint8])
    real = np.dtype(kind).kind == "f"
    b = data(g, kind, *s)
    b[b == 0] = 2
    return "Mod", [data(g, kind, *s), b], {"fmod": 1 if real else g.num(0, 1)}, 1


@maker
def windowed(g):
    n = g.num(1, 3)
    size, k = [g.num(4, 9) for _ in range(n)], [g.num(1, 3) for _ in range(n)]
    a = {"kernel_shape": k, "strides": [g.num(1, 3) for _ in k], "pads": [g.num(0, x - 1) for x in k * 2], "dilations": [g.num(1, 2) for _ in k]}
    for i in range(n):
        if size[i] + a["pads"][i] + a["pads"][n + i] < (k[i] - 1) * a["dilations"][i] + 1:
            return None
    op = g.pick(["MaxPool", "AveragePool", "LpPool", "Conv"])
    x = g.f(g.num(1, 2), 4, *size)
    if op == "Conv":
        group = g.pick([1, 2, 4])
        return op, [x, g.f(4 * g.num(1, 2), 4 // group, *k), None], dict(a, group=group), 1
    if op == "AveragePool":
        a["count_include_pad"] = g.num(0, 1)
    if op == "LpPool":
        a["p"] = g.num(1, 3)
    return op, [x], a, 1


@maker
def gemm(g):
    m, n, k = g.num(1, 9), g.num(1, 9), g.num(1, 9)
    a = {"transA": g.num(0, 1), "transB": g.num(0, 1), "alpha": g.pick([1.0, 0.5, -2.0]), "beta": g.pick([1.0, 0.0, 2.0])}
    c = g.pick([None, (m, n), (n,), (m, 1), (1, n), ()])
    kind = g.pick([np.float32, np.float64])
    return "Gemm", [data(g, kind, *([k, m] if a["transA"] else [m, k])), data(g, kind, *([n, k] if a["transB"] else [k, n])), None if c is None else data(g, kind, *c)], a, 1


@maker
def running(g):
    s = shape(g)
    return "CumSum", [data(g, g.pick([np.float32, np.float64, np.int32, np.int64]), *s), np.array(g.num(-len(s), len(s) - 1), np.int64)], {"exclusive": g.num(0, 1), "reverse": g.num(0, 1)}, 1


@maker
def normal(g):
    s = shape(g, 3, 4)
    c = s[1]
    op = g.pick(["InstanceNormalization", "LRN", "LpNormalization", "Softmax", "LogSoftmax", "Hardmax", "LayerNormalization"])
    if op == "InstanceNormalization":
        return op, [g.f(*s), g.f(c), g.f(c)], {"epsilon": 0.1}, 1
    if op == "LRN":
        return op, [g.f(*(s + [3])[:4])], {"size": g.pick([1, 3, 5]), "alpha": 0.3, "bias": 1.5}, 1
    axis = g.num(-len(s), len(s) - 1)
    if op == "LayerNormalization":
        t = s[axis:] if axis < 0 else s[axis:]
        return op, [g.f(*s), g.f(*t), g.f(*t) if g.chance(0.5) else None], {"axis": axis, "epsilon": 0.1}, 1
    return op, [g.f(*s)], {"axis": axis} if op != "LpNormalization" else {"axis": axis, "p": g.num(1, 2)}, 1


@maker
def moving(g):
    s = shape(g, 2, 4)
    kind = g.pick(FLOATS + INTS)
    op = g.pick(["Trilu", "Tile", "Expand", "Transpose", "Gather", "GatherElements", "ReverseSequence"])
    x = data(g, kind, *s)
    axis = g.num(-len(s), len(s) - 1)
    if op == "Trilu":
        return op, [x, np.array(g.num(-4, 4), np.int64)], {"upper": g.num(0, 1)}, 1
    if op == "Tile":
        return op, [x, np.array([g.num(0, 3) for _ in s], np.int64)], {}, 1
    if op == "Expand":
        y = data(g, kind, *[d if g.chance(0.5) else 1 for d in s])
        return op, [y, np.array([g.num(1, 2)] + s, np.int64)], {}, 1
    if op == "Transpose":
        return op, [x], {"perm": [int(i) for i in g.rng.permutation(len(s))]}, 1
    if op == "ReverseSequence":
        return op, [x, g.ints(1, s[1], s[0])], {"batch_axis": 0, "time_axis": 1}, 1
    if op == "Gather":
        return op, [x, g.ints(-s[axis], s[axis] - 1, *shape(g, 0, 2)).astype(g.pick(WIDE))], {"axis": axis}, 1
    return op, [x, g.ints(-s[axis], s[axis] - 1, *[g.num(1, d) for d in s]).astype(g.pick(WIDE))], {"axis": axis}, 1
