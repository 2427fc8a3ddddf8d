"""What random_graphs.py draws from: one function a kind of node or of pattern, with its weight."""

import numpy as np
from onnx import TensorProto, helper

MAKERS = []


class Reject(Exception):
    """This node cannot be, here: another is drawn."""


def maker(weight):
    def keep(f):
        MAKERS.append((f, weight))
        return f
    return keep


def spatial(g, x):
    return len(g.shape(x)) - 2


def window(g, x, kernel, allow_auto=True):
    """Strides, dilations and pads of a window that fits (where it does not, ONNX Runtime's rounding is its own)."""
    n = len(kernel)
    a = {}
    if g.chance(0.4):
        a["strides"] = [g.num(1, 3) for _ in range(n)]
    if g.chance(0.25):
        a["dilations"] = [g.num(1, 2) for _ in range(n)]
    if allow_auto and g.chance(0.15):
        a["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
        if a["auto_pad"] != "VALID":
            a.pop("dilations", None)  # ONNX Runtime pads, and sizes, as if there were none
            if any(s > k for s, k in zip(a.get("strides", [1] * n), kernel)):
                raise Reject("stride")  # what would be padded is negative: ONNX Runtime shifts the windows
    elif g.chance(0.5):
        p = [k // 2 for k in kernel]
        a["pads"] = p + p
    elif g.chance(0.5):
        a["pads"] = [g.num(0, k - 1) for k in kernel * 2]
    for i, k in enumerate(kernel):
        if g.shape(x)[i + 2] + sum(a.get("pads", [0] * 2 * n)[i::n]) < (k - 1) * a.get("dilations", [1] * n)[i] + 1:
            raise Reject("window")
    return a


def weight(g, *shape, scale):
    """Mostly constant; else computed, so that nothing can be prepared beforehand."""
    w = g.const(g.floats(*shape, scale=scale))
    return g.add("Mul", [w, g.input(())]) if g.chance(0.07) else w


# ---- convolution, pooling, normalisation ----

@maker(10)
def conv(g):
    x = g.of(lambda a: 3 <= a.ndim <= 5 and a.size)
    c, n = g.shape(x)[1], spatial(g, x)
    group = g.pick([1, 1, 1, c] + [d for d in range(2, c) if c % d == 0])
    out = group * g.pick([1, 1, 2, 3]) if group > 1 else g.pick([1, 3, 7, 8, 16, 17, 32, 33, 64])
    kernel = [g.pick([1, 1, 2, 3, 3, 5]) for _ in range(n)] if g.chance(0.3) else [g.pick([1, 3, 3, 5])] * n
    w = weight(g, out, c // group, *kernel, scale=1 / np.sqrt(c // group * np.prod(kernel)))
    a = window(g, x, kernel)
    if g.chance(0.8):
        a["kernel_shape"] = kernel
    bias = [g.const(g.floats(out))] if g.chance(0.5) else []
    y = g.add("Conv", [x, w] + bias, group=group, **a)
    if g.chance(0.3):
        y = batch_norm_of(g, y)
    if g.chance(0.4):
        y = activate(g, y)
    if g.shape(y) == g.shape(x) and g.chance(0.6):
        g.add("Add", [x, y] if g.chance(0.5) else [y, x])


@maker(2)
def conv_transpose(g):
    x = g.of(lambda a: 3 <= a.ndim <= 4 and a.size)
    c, n = g.shape(x)[1], spatial(g, x)
    group = g.pick([1, 1, c])
    kernel = [g.num(1, 4) for _ in range(n)]
    out = g.pick([1, 3, 5, 8])
    w = weight(g, c, out, *kernel, scale=0.5)
    a = {}
    if g.chance(0.6):
        a["strides"] = [g.num(1, 3) for _ in range(n)]
        if g.chance(0.4):
            a["output_padding"] = [g.num(0, s - 1) for s in a["strides"]]
    if g.chance(0.4):
        a["pads"] = [g.num(0, k - 1) for k in kernel * 2]
    if g.chance(0.2):
        a["dilations"] = [g.num(1, 2) for _ in range(n)]
    g.add("ConvTranspose", [x, w] + ([g.const(g.floats(out * group))] if g.chance(0.5) else []), group=group, **a)


def batch_norm_of(g, x):
    c = g.shape(x)[1]
    v = [g.const(g.floats(c)), g.const(g.floats(c)), g.const(g.floats(c)), g.const(np.abs(g.floats(c)) + np.float32(0.3))]
    return g.add("BatchNormalization", [x] + v, epsilon=g.pick([1e-5, 1e-3]))


@maker(3)
def batch_norm(g):
    batch_norm_of(g, g.rank(2, 5))


@maker(5)
def pool(g):
    x = g.of(lambda a: 3 <= a.ndim <= 5 and a.size)
    kernel = [g.num(1, 4) for _ in range(spatial(g, x))]
    a = window(g, x, kernel)
    kind = g.pick(["MaxPool", "AveragePool"])
    if np.isnan(g.value[x]).any():
        raise Reject("NaN")  # ONNX Runtime's maximum may or may not see it
    if g.chance(0.3) and "auto_pad" not in a:
        a["ceil_mode"] = 1
    if kind == "AveragePool":
        if g.opset < 19:
            a.pop("dilations", None)
        if g.chance(0.4):
            a["count_include_pad"] = 1
    g.add(kind, [x], kernel_shape=kernel, **a)


@maker(2)
def global_pool(g):
    y = g.add(g.pick(["GlobalAveragePool", "GlobalMaxPool"]), [g.of(lambda a: 3 <= a.ndim <= 5 and a.size and not np.isnan(a).any())])
    if g.chance(0.5):
        g.add("Flatten", [y])


@maker(2)
def squeeze_excite(g):
    x = g.rank(4, 4)
    c = g.shape(x)[1]
    m = g.num(1, 8)
    s = g.add("GlobalAveragePool", [x]) if g.chance(0.5) else reduce_of(g, "ReduceMean", x, [2, 3], 1)
    s = g.add("Conv", [s, g.const(g.floats(m, c, 1, 1, scale=0.5)), g.const(g.floats(m))])
    s = activate(g, s)
    s = g.add("Conv", [s, g.const(g.floats(c, m, 1, 1, scale=0.5)), g.const(g.floats(c))])
    s = g.add(g.pick(["Sigmoid", "HardSigmoid"]), [s])
    g.add("Mul", [x, s] if g.chance(0.5) else [s, x])


@maker(3)
def layer_norm(g):
    x = g.rank(1, 5)
    axis = g.num(-len(g.shape(x)), -1) if g.chance(0.3) else -1
    s = g.shape(x)[axis:]
    w, b = g.const(g.floats(*s)), g.const(g.floats(*s))
    if g.opset >= 17 and g.chance(0.5):
        g.add("LayerNormalization", [x, w] + ([b] if g.chance(0.7) else []), axis=axis)
        return
    axes = list(range(axis, 0))
    m = reduce_of(g, "ReduceMean", x, axes, 1)
    d = g.add("Sub", [x, m])
    sq = g.add("Pow", [d, g.const(np.float32(2))]) if g.chance(0.6) else g.add("Mul", [d, d])
    v = reduce_of(g, "ReduceMean", sq, axes, 1)
    r = g.add("Sqrt", [g.add("Add", [v, g.const(np.float32(g.pick([1e-5, 1e-12, 0.1])))])])
    y = g.add("Div", [d, r]) if g.chance(0.7) else g.add("Mul", [d, g.add("Reciprocal", [r])])
    if g.chance(0.8):
        y = g.add("Mul", [y, w] if g.chance(0.5) else [w, y])
        if g.chance(0.8):
            g.add("Add", [y, b])


@maker(1.5)
def other_norm(g):
    x = g.rank(3, 5)
    c = g.shape(x)[1]
    kind = g.pick(["instance", "group", "lrn", "lp"])
    each = g.value[x].reshape(*g.shape(x)[:2], -1)
    if kind in ("instance", "group") and (np.abs(each.mean(-1)) > 5 * each.std(-1)).any():
        raise Reject("cancels")  # ONNX Runtime's variance is one of squares
    if kind == "instance":
        g.add("InstanceNormalization", [x, g.const(g.floats(c)), g.const(g.floats(c))])
    elif kind == "group" and g.opset >= 18:
        n = g.pick([d for d in range(1, c + 1) if c % d == 0])
        k = c if g.opset >= 21 else n
        g.add("GroupNormalization", [x, g.const(g.floats(k)), g.const(g.floats(k))], num_groups=n)
    elif kind == "lrn":
        g.add("LRN", [x], size=g.pick([1, 3, 5]), alpha=0.3, bias=g.pick([1.0, 2.0]))
    elif kind == "lp":
        g.add("LpNormalization", [x], axis=g.num(-len(g.shape(x)), len(g.shape(x)) - 1), p=g.num(1, 2))


# ---- elementwise ----

SMOOTH = "Relu Sigmoid Tanh Softplus Softsign Abs Neg Exp Sqrt Erf Sin Cos Atan Elu Selu LeakyRelu HardSigmoid Celu ThresholdedRelu Reciprocal Log HardSwish Mish Gelu Sinh Asinh Identity".split()


def activate(g, x):
    kind = g.pick(["Relu", "Relu", "LeakyRelu", "Clip", "HardSwish", "Sigmoid", "Tanh", "Swish", "Elu", "PRelu"])
    if kind == "LeakyRelu":
        return g.add(kind, [x], alpha=g.pick([0.01, 0.3, -0.5, 1.5]))
    if kind == "Clip":
        lo, hi = g.pick([(0, 6), (-1, 1), (None, 0.5), (0, None), (0.5, 2)])
        return g.add(kind, [x, "" if lo is None else g.const(np.float32(lo))] + ([] if hi is None else [g.const(np.float32(hi))]))
    if kind == "HardSwish":
        t = g.add("Add", [x, g.const(np.float32(3))])
        t = g.add("Clip", [t, g.const(np.float32(0)), g.const(np.float32(6))])
        if g.chance(0.5):
            return g.add("Div", [g.add("Mul", [x, t]), g.const(np.float32(6))])
        return g.add("Mul", [x, g.add("Div", [t, g.const(np.float32(6))])])
    if kind == "Swish":
        return g.add("Mul", [x, g.add("Sigmoid", [x])])
    if kind == "PRelu":
        s = g.shape(x)
        return g.add(kind, [x, g.const(g.floats(*g.pick([(1,), s[-1:], tuple([s[1]] + [1] * (len(s) - 2)) if len(s) > 1 else (1,)])))])
    return g.add(kind, [x])


@maker(5)
def activation(g):
    activate(g, g.any())


@maker(8)
def unary(g):
    op = g.pick(SMOOTH)
    a = {}
    if op in ("Elu", "Celu", "ThresholdedRelu", "HardSigmoid", "LeakyRelu") and g.chance(0.6):
        a["alpha"] = g.pick([0.1, 0.5, 1.7])
    if op == "Selu" and g.chance(0.5):
        a = {"alpha": 1.2, "gamma": 0.7}
    if op == "Gelu" and g.chance(0.5):
        a["approximate"] = "tanh"
    x = g.any()
    if op in ("Log", "Sqrt") and g.chance(0.8):
        x = g.add("Add", [g.add("Abs", [x]), g.const(np.float32(0.1))])
    g.add(op, [x], **a)


@maker(2)
def rounded(g):
    x = g.any()
    op = g.pick(["Floor", "Ceil", "Round", "Sign"])
    g.add(op, [g.add("Mul", [x, g.const(np.float32(3.3))]) if g.chance(0.5) else x])


def partner(g, shape):
    """A shape that broadcasts with this one: some extents 1, leading ones left out, or more in front."""
    s = [d if g.chance(0.6) else 1 for d in shape]
    if g.chance(0.4):
        s = s[g.num(0, len(s)):]
    if g.chance(0.1):
        s = [g.num(1, 3)] + [1] * (len(shape) - len(s)) + s
    if g.chance(0.1):
        s = [g.num(2, 4) if d == 1 and full == 1 else d for d, full in zip(s, shape[len(shape) - len(s):])] if len(s) <= len(shape) else s
    return tuple(s)


def second(g, x):
    """An operand for a binary operator beside x: a constant, a computed value that broadcasts, or a new input."""
    s = g.shape(x)
    if g.chance(0.45):
        def fits(a):
            try:
                return np.broadcast_shapes(a.shape, s) is not None
            except ValueError:
                return False
        return g.of(fits)
    if g.chance(0.15):
        return g.input(partner(g, s))
    if g.chance(0.4):
        return g.const(np.float32(g.pick([0, 1, 2, -1, 0.5, 3, 6, 1e-3, -2.5])))
    return g.const(g.floats(*partner(g, s)))


@maker(14)
def binary(g):
    x = g.any()
    op = g.pick(["Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min", "Pow", "Mean", "Sum", "PRelu", "Mod"])
    y = second(g, x)
    if op == "Pow":
        if g.chance(0.5):
            y = g.const(g.pick([np.float32(2), np.float32(3), np.float32(0.5), np.float32(1), np.float32(0), np.float32(-1), np.int64(2), np.float32(-2)]))
        else:
            x = g.add("Add", [g.add("Abs", [x]), g.const(np.float32(0.5))])
        g.add(op, [x, y])
        return
    if op == "PRelu" and np.broadcast_shapes(g.shape(x), g.shape(y)) != tuple(g.shape(x)):
        raise Reject  # a slope broadcasts to x alone; ONNX Runtime widens x, too
    ins = [x, y] if op == "PRelu" or g.chance(0.6) else [y, x]
    if op in ("Max", "Min", "Mean", "Sum") and g.chance(0.3):
        ins.append(second(g, x))
    g.add(op, ins, **({"fmod": 1} if op == "Mod" else {}))


@maker(2)
def gelu(g):
    x = g.any()
    half = g.const(np.float32(0.5))
    if g.chance(0.6):
        e = g.add("Erf", [g.add("Div", [x, g.const(np.float32(np.sqrt(2)))])])
        e = g.add("Add", [e, g.const(np.float32(1))])
    else:
        c = g.add("Mul", [g.add("Pow", [x, g.const(np.float32(3))]), g.const(np.float32(0.044715))])
        e = g.add("Tanh", [g.add("Mul", [g.add("Add", [x, c]), g.const(np.float32(np.sqrt(2 / np.pi)))])])
        e = g.add("Add", [e, g.const(np.float32(1))])
    if g.chance(0.5):
        g.add("Mul", [g.add("Mul", [x, e]), half])
    else:
        g.add("Mul", [x, g.add("Mul", [e, half])] if g.chance(0.5) else [g.add("Mul", [half, x]), e])


@maker(4)
def affine_chain(g):
    """Scalars and per-channel constants after one another, which a simplifier merges."""
    x = g.any()
    for _ in range(g.num(2, 4)):
        c = g.pick([np.float32(g.pick([0, 1, 2, -1, 0.5, 3])), g.floats(1), g.floats(*partner(g, g.shape(x)))])
        op = g.pick(["Add", "Mul", "Sub", "Div"])
        x = g.add(op, [x, g.const(c)] if g.chance(0.7) else [g.const(c), x])


@maker(3)
def select(g):
    x = g.any()
    c = g.add(g.pick(["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"]), [x, second(g, x)])
    if g.chance(0.3):
        c = g.add("Not", [c])
    if g.chance(0.2):
        c = g.add(g.pick(["And", "Or", "Xor"]), [c, g.of(lambda a: a.shape == g.shape(c), "b")])
    if g.chance(0.7):
        g.add("Where", [c, x, second(g, x)] if g.chance(0.5) else [c, second(g, x), x])
    else:
        g.add("Cast", [c], to=g.pick([1, 6, 7, 2]))


@maker(3)
def cast(g):
    if g.chance(0.4):
        x = g.of(lambda a: True, "iub")
        g.add("Cast", [x], to=TensorProto.FLOAT)
        return
    x = g.any()
    if g.chance(0.5):
        x = g.of(lambda a: a.size and np.isfinite(a).all() and np.abs(a).max() < 100)
        i = g.add("Cast", [x], to=g.pick([6, 7, 9, 3]))
        if g.chance(0.6):
            g.add("Cast", [i], to=1)
    else:
        d = g.add("Cast", [x], to=11)
        d = g.add(g.pick(["Relu", "Neg", "Sigmoid", "Tanh", "Exp"]), [d])
        if g.chance(0.3):
            d = g.add("Add", [d, g.const(np.float64(0.1))])
        g.add("Cast", [d], to=1)


@maker(3)
def integers(g):
    x = g.of(lambda a: a.dtype in (np.int64, np.int32), "i")
    t = g.value[x].dtype.type
    op = g.pick(["Add", "Sub", "Mul", "Div", "Mod", "Abs", "Neg", "Max", "Min", "Equal", "Less", "Greater"])
    if op in ("Abs", "Neg"):
        g.add(op, [x])
    else:
        c = g.const(g.pick([np.array(g.pick([1, 2, 3, 5, 7]), t), g.rng.integers(1, 9, g.shape(x)).astype(t)]))
        g.add(op, [x, c], **({"fmod": g.num(0, 1)} if op == "Mod" else {}))


# ---- matrices ----

@maker(6)
def matmul(g):
    x = g.of(lambda a: a.ndim >= 1 and a.size)
    s = g.shape(x)
    n = g.pick([1, 3, 8, 16, 17, 33, 64, 100])
    k = s[-1]
    how = g.num(0, 6)
    scale = 1 / np.sqrt(k)
    if how <= 2:
        y = weight(g, k, n, scale=scale)
    elif how == 3:
        y = g.const(g.floats(k, scale=scale))
    elif how == 4 and len(s) >= 2:
        batch = tuple(d if g.chance(0.5) else 1 for d in s[:-2])
        y = g.const(g.floats(*batch[g.num(0, len(batch)):], k, n, scale=scale))
    elif how == 5:
        y = g.of(lambda a: a.ndim >= 1 and a.shape[-2 if a.ndim > 1 else 0] == k)
    else:
        y = g.add("Transpose", [x], perm=[*range(len(s) - 2), len(s) - 1, len(s) - 2]) if len(s) > 1 else x
    y = g.add("MatMul", [x, y]) if g.chance(0.85) or how in (5, 6) else g.add("MatMul", [g.const(g.floats(n, s[-2] if len(s) > 1 else k, scale=scale)), x])
    if g.chance(0.5) and g.shape(y):
        b = g.const(g.floats(g.shape(y)[-1]))
        y = g.add("Add", [y, b] if g.chance(0.5) else [b, y])
    if g.chance(0.3):
        activate(g, y)


@maker(4)
def gemm(g):
    x = g.rank(2, 2) if g.chance(0.7) else g.add("Flatten", [g.rank(1)], axis=g.num(0, 1))
    a, b = g.num(0, 1) if g.chance(0.3) else 0, g.num(0, 1)
    m, k = g.shape(x)[::-1] if a else g.shape(x)
    n = g.pick([1, 3, 10, 16, 33, 80])
    w = weight(g, *((n, k) if b else (k, n)), scale=1 / np.sqrt(max(k, 1)))
    ins = [x, w]
    if g.chance(0.7):
        ins.append(g.const(g.floats(*g.pick([(n,), (1, n), (m, 1), (m, n), (1,), ()]))))
    y = g.add("Gemm", ins, transA=a, transB=b, **g.pick([{}, {}, {"alpha": 0.5}, {"alpha": 2.0, "beta": 0.3}, {"beta": 0.0}, {"beta": -1.5}]))
    if g.chance(0.4):
        activate(g, y)


@maker(2)
def attention(g):
    x = g.rank(3, 3)
    b, t, c = g.shape(x)
    h = g.pick([d for d in (1, 2, 4) if c % d == 0])
    d = c // h
    heads = []
    if g.chance(0.3):
        qkv = g.add("MatMul", [x, g.const(g.floats(c, 3 * c, scale=1 / np.sqrt(c)))])
        parts = g.add("Split", [qkv], 3, axis=-1, **({"num_outputs": 3} if g.opset >= 18 else {}))
    else:
        parts = []
        for _ in range(3):
            y = g.add("MatMul", [x, g.const(g.floats(c, c, scale=1 / np.sqrt(c)))])
            parts.append(g.add("Add", [y, g.const(g.floats(c))]) if g.chance(0.6) else y)
    for i, y in enumerate(parts):
        y = g.add("Reshape", [y, g.ints(0, g.pick([t, 0]), h, d) if g.chance(0.5) else g.ints(b, -1, h, d)])
        heads.append(g.add("Transpose", [y], perm=[0, 2, 3, 1] if i == 1 else [0, 2, 1, 3]))
    q, k, v = heads
    if g.chance(0.3):
        q = g.add("Div", [q, g.const(np.float32(np.sqrt(d)))])
        s = g.add("MatMul", [q, k])
    else:
        s = g.add(*g.pick([("Div", [g.add("MatMul", [q, k]), g.const(np.float32(np.sqrt(d)))]), ("Mul", [g.add("MatMul", [q, k]), g.const(np.float32(0.3))])]))
    if g.chance(0.4):
        s = g.add("Add", [s, g.const(np.triu(np.full((t, t), -100, np.float32), 1))])
    p = g.add("Softmax", [s], axis=g.pick([-1, 3]))
    o = g.add("Transpose", [g.add("MatMul", [p, v])], perm=[0, 2, 1, 3])
    o = g.add("Reshape", [o, g.ints(0, 0, c)])
    o = g.add("MatMul", [o, g.const(g.floats(c, c, scale=1 / np.sqrt(c)))])
    if g.chance(0.7):
        g.add("Add", [x, o])


@maker(1)
def einsum(g):
    x = g.rank(2, 4)
    s = g.shape(x)
    letters = "abcd"[:len(s)]
    k = g.pick([3, 8])
    w = g.const(g.floats(s[-1], k, scale=0.5))
    g.add("Einsum", [x, w], equation="%s,%sz->%s" % (letters, letters[-1], g.pick([letters[:-1] + "z", "z" + letters[:-1], "z"])))


# ---- reductions ----

def reduce_of(g, op, x, axes, keep, **a):
    if g.opset >= 18 or op == "ReduceSum":
        return g.add(op, [x] + ([g.ints(*axes)] if axes is not None else []), keepdims=keep, **a)
    return g.add(op, [x], keepdims=keep, **({"axes": axes} if axes is not None else {}))


def some_axes(g, x):
    r = len(g.shape(x))
    axes = [i for i in range(r) if g.chance(0.5)] or [r - 1]
    return [i - r if g.chance(0.3) else i for i in axes]


@maker(6)
def reduction(g):
    x = g.rank(1)
    op = g.pick(["ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"])
    axes = None if g.chance(0.1) else some_axes(g, x)
    y = reduce_of(g, op, x, axes, g.num(0, 1))
    if g.shape(y) and len(g.shape(y)) == len(g.shape(x)) and g.chance(0.5):
        g.add(g.pick(["Sub", "Add", "Mul"]), [x, y])


@maker(4)
def softmax(g):
    x = g.rank(1)
    r = len(g.shape(x))
    g.add(g.pick(["Softmax", "Softmax", "LogSoftmax"]), [x], axis=g.num(-r, r - 1))


@maker(2)
def argmax(g):
    x = g.of(lambda a: a.ndim and a.size and not np.isnan(a).any())  # of NaN, numpy and ONNX Runtime give different ones
    r = len(g.shape(x))
    g.add(g.pick(["ArgMax", "ArgMin"]), [x], axis=g.num(-r, r - 1), keepdims=g.num(0, 1))


@maker(1)
def scans(g):
    x = g.rank(1, 4)
    axis = g.num(0, len(g.shape(x)) - 1)
    if g.chance(0.5):
        g.add("CumSum", [x, g.const(np.array(axis, np.int64))], reverse=g.num(0, 1), exclusive=g.num(0, 1))
    else:
        g.add("TopK", [x, g.ints(g.num(1, g.shape(x)[axis]))], 2, axis=axis, largest=g.num(0, 1))


# ---- movement ----

@maker(5)
def transpose(g):
    x = g.rank(2)
    perm = [int(i) for i in g.rng.permutation(len(g.shape(x)))]
    y = g.add("Transpose", [x], **({"perm": perm} if g.chance(0.85) else {}))
    if g.chance(0.3):
        y = activate(g, y)
    if g.chance(0.3):
        g.add("Transpose", [y], perm=[int(i) for i in np.argsort(perm)])


@maker(5)
def reshape(g):
    x = g.rank(1)
    s = list(g.shape(x))
    how = g.num(0, 5)
    if how == 0:
        g.add("Flatten", [x], axis=g.num(-len(s), len(s)))
    elif how == 1 and 1 in s:
        i = s.index(1)
        g.add("Squeeze", [x, g.ints(g.pick([i, i - len(s)]))] if g.chance(0.8) else [x])
    elif how == 2:
        axes = sorted({g.num(0, len(s)) for _ in range(g.num(1, 2))})
        g.add("Unsqueeze", [x, g.ints(*axes)])
    elif how == 3 and len(s) > 1:
        i = g.num(0, len(s) - 2)
        to = [0] * i + [-1] + s[i + 2:]
        g.add("Reshape", [x, g.ints(*to)])
    else:
        total, to = int(np.prod(s)), []
        for _ in range(g.num(0, 4)):
            d = g.pick([d for d in range(1, total + 1) if total % d == 0][:12])
            to.append(d)
            total //= d
        to.insert(g.num(0, len(to)), total)
        if g.chance(0.4):
            to[g.num(0, len(to) - 1)] = -1
        y = g.add("Reshape", [x, g.ints(*to)])
        if g.chance(0.3):
            g.add("Reshape", [activate(g, y) if g.chance(0.5) else y, g.ints(*s)])


@maker(4)
def shape_arithmetic(g):
    """Shape, Gather, Concat, Reshape, as exporters write a view."""
    x = g.rank(2)
    s = g.shape(x)
    shape = g.add("Shape", [x])
    one = [g.add("Gather", [shape, g.const(np.array(i, np.int64))], axis=0) for i in range(2)]
    if g.chance(0.5):
        first = g.add("Unsqueeze", [one[0], g.ints(0)])
        to = g.add("Concat", [first, g.ints(-1)], axis=0)
        g.add("Reshape", [x, to])
    elif g.chance(0.5):
        p = g.add("Mul", one)
        to = g.add("Concat", [g.add("Unsqueeze", [p, g.ints(0)]), g.add("Slice", [shape, g.ints(2), g.ints(99)])], axis=0)
        y = g.add("Reshape", [x, to])
        if g.chance(0.5):
            g.add("Reshape", [activate(g, y), shape])
    elif g.chance(0.5):
        half = g.add("Div", [one[1], g.const(np.array(2, np.int64))])
        g.add("Slice", [x, g.ints(0), g.add("Unsqueeze", [half, g.ints(0)]), g.ints(1)])
    else:
        c = g.add("ConstantOfShape", [shape], value=helper.make_tensor("v", 1, [1], [1.5]))
        g.add(g.pick(["Add", "Mul"]), [x, c])


@maker(3)
def expand(g):
    x = g.rank(0)
    s = list(g.shape(x))
    if g.chance(0.5):
        to = [g.num(1, 4) if d == 1 else g.pick([d, 1]) for d in s]
        if g.chance(0.3):
            to = [g.num(1, 3)] + to
        y = g.add("Expand", [x, g.ints(*to)])
        if g.chance(0.5):
            g.add(g.pick(["Add", "Mul", "Sub"]), [y, second(g, y)])
    else:
        g.add("Tile", [x, g.ints(*[g.pick([1, 1, 2, 3]) for _ in s])])


@maker(5)
def slice_(g):
    x = g.rank(1)
    s = g.shape(x)
    axes = sorted({g.num(0, len(s) - 1) for _ in range(g.num(1, 2))})
    start, end, step = [], [], []
    for i in axes:
        st = g.pick([1, 1, 1, 2, 3, -1, -2])
        a, b = g.num(0, s[i] - 1), g.num(1, s[i])
        if st < 0:
            start.append(g.pick([-1, s[i] - 1, 2 ** 40, b]))
            end.append(g.pick([-s[i] - 1, -2 ** 62, 0, a - s[i]]))
        else:
            start.append(g.pick([0, a, a - s[i]]))
            end.append(g.pick([s[i], 2 ** 63 - 1, b, -1]))
        step.append(st)
    ins = [x, g.ints(*start), g.ints(*end), g.ints(*[i - len(s) if g.chance(0.2) else i for i in axes])]
    if g.chance(0.7) or any(t != 1 for t in step):
        ins.append(g.ints(*step))
    y = g.add("Slice", ins)
    if 0 in g.shape(y) and g.chance(0.9):
        raise Reject("empty")


@maker(5)
def concat(g):
    x = g.rank(1)
    s = g.shape(x)
    axis = g.num(0, len(s) - 1)

    def fits(a):
        return a.ndim == len(s) and all(p == q for i, (p, q) in enumerate(zip(a.shape, s)) if i != axis)
    ins = [x] + [g.of(fits) for _ in range(g.num(1, 3))]
    if g.chance(0.2):
        t = list(s)
        t[axis] = g.num(1, 4)
        ins.insert(g.num(0, len(ins)), g.const(g.floats(*t)))
    y = g.add("Concat", ins, axis=g.pick([axis, axis - len(s)]))
    if g.chance(0.3):
        activate(g, y)


@maker(3)
def split(g):
    x = g.of(lambda a: a.ndim and a.size and max(a.shape) > 1)
    s = g.shape(x)
    axis = g.pick([i for i, d in enumerate(s) if d > 1])
    n = g.num(2, min(4, s[axis]))
    cuts = sorted(int(i) for i in g.rng.choice(np.arange(1, s[axis]), n - 1, replace=False))
    sizes = [b - a for a, b in zip([0] + cuts, cuts + [s[axis]])]
    if g.opset >= 18 and g.chance(0.3):
        parts = g.add("Split", [x], n, axis=axis, num_outputs=n)
    else:
        parts = g.add("Split", [x, g.ints(*sizes)], n, axis=axis)
    if g.chance(0.4):
        g.add("Mul", [parts[0], g.add("Sigmoid", [parts[1]])])
    if g.chance(0.3):
        g.add("Concat", parts if g.chance(0.6) else parts[::-1], axis=axis)


@maker(3)
def pad(g):
    x = g.rank(1, 5)
    s = g.shape(x)
    mode = g.pick(["constant", "constant", "reflect", "edge"])
    top = [2 if mode != "reflect" else min(2, d - 1) for d in s]
    pads = [g.num(0, t) if g.chance(0.6) else 0 for t in top * 2]
    if g.chance(0.15) and mode == "constant":
        pads[-1] = -1
    ins = [x, g.ints(*pads)]
    if mode == "constant" and g.chance(0.5):
        ins.append(g.const(np.float32(g.pick([0, 1.5, -2]))))
    g.add("Pad", ins, mode=mode)


@maker(4)
def gather(g):
    x = g.rank(1)
    s = g.shape(x)
    axis = g.num(0, len(s) - 1)
    n = s[axis]
    how = g.num(0, 4)
    if how == 0:
        g.add("Gather", [x, g.const(np.array(g.num(-n, n - 1), np.int64))], axis=axis)
    elif how <= 2:
        shape = g.pick([(1,), (3,), (2, 2), (n,)])
        g.add("Gather", [x, g.const(g.rng.integers(-n, n, shape).astype(g.pick([np.int64, np.int32])))], axis=axis)
    elif how == 3:
        i = g.of(lambda a: a.dtype in (np.int64, np.int32) and a.size and a.size < 30 and -n <= a.min() and a.max() < n, "i")
        g.add("Gather", [x, i], axis=axis)
    else:
        shape = tuple(g.num(1, d) for d in s)
        g.add("GatherElements", [x, g.const(g.rng.integers(-n, n, shape).astype(np.int64))], axis=axis)


@maker(1.5)
def scatter(g):
    x = g.rank(1, 4)
    s = g.shape(x)
    if g.chance(0.5):
        axis = g.num(0, len(s) - 1)
        shape = tuple(g.num(1, d) if i != axis else 1 for i, d in enumerate(s))
        g.add("ScatterElements", [x, g.const(g.rng.integers(0, s[axis], shape).astype(np.int64)), g.const(g.floats(*shape))], axis=axis)
    else:
        i = g.const(np.array([[g.num(0, s[0] - 1)]], np.int64))
        g.add("ScatterND", [x, i, g.const(g.floats(1, *s[1:]))])


@maker(2)
def blocks(g):
    x = g.rank(4, 4)
    n, c, h, w = g.shape(x)
    how = g.num(0, 3)
    if how == 0 and c % 4 == 0:
        g.add("DepthToSpace", [x], blocksize=2, mode=g.pick(["DCR", "CRD"]))
    elif how == 1 and h % 2 == 0 and w % 2 == 0:
        g.add("SpaceToDepth", [x], blocksize=2)
    elif how == 2:
        k = g.pick([d for d in range(1, c + 1) if c % d == 0])
        y = g.add("Reshape", [x, g.ints(n, k, c // k, h, w)])
        g.add("Reshape", [g.add("Transpose", [y], perm=[0, 2, 1, 3, 4]), g.ints(n, c, h, w)])
    else:
        mode, how = g.pick([("nearest", "asymmetric"), ("nearest", "half_pixel"), ("linear", "half_pixel"), ("linear", "align_corners"), ("linear", "asymmetric")])
        a = {"nearest_mode": "floor"} if mode == "nearest" and g.chance(0.6) else {}
        g.add("Resize", [x, "", g.const(np.array([1, 1, g.pick([1, 2, 3]), g.pick([1, 2])], np.float32))], mode=mode, coordinate_transformation_mode=how, **a)


@maker(1)
def trilu(g):
    if g.opset >= 14:
        g.add("Trilu", [g.rank(2, 4)] + ([g.const(np.array(g.num(-1, 1), np.int64))] if g.chance(0.5) else []), upper=g.num(0, 1))


# ---- uses ----

@maker(2)
def fork(g):
    x = g.any()
    a = activate(g, x)
    b = activate(g, x)
    g.add(g.pick(["Add", "Mul", "Sub"]), [a, b])


@maker(1.5)
def again(g):
    """The same node twice."""
    if not g.nodes:
        raise Reject("none")
    n = g.pick(g.nodes)
    if n.op_type == "If":
        raise Reject("none")
    outs = g.add(n.op_type, list(n.input), len(n.output), **{a.name: helper.get_attribute_value(a) for a in n.attribute})
    outs = [outs] if isinstance(outs, str) else outs
    if g.value[outs[0]].dtype == np.float32 and g.chance(0.6):
        g.add("Add", [outs[0], n.output[0]])


@maker(1.5)
def branch(g):
    x = g.any()
    t = helper.make_tensor_value_info("b", 1, None)
    bodies = []
    for i in range(2):
        op = g.pick(["Relu", "Neg", "Sigmoid", "Abs"])
        nodes = [helper.make_node(op, [x], ["a%d" % i]), helper.make_node(g.pick(["Add", "Mul"]), ["a%d" % i, x], ["b%d" % i])]
        if g.chance(0.3):
            nodes = [helper.make_node("Identity", [x], ["b%d" % i])]
        bodies.append(helper.make_graph(nodes, "body%d" % i, [], [helper.make_tensor_value_info("b%d" % i, 1, None)]))
    if g.chance(0.7):
        c = g.const(np.array(g.chance(0.5)))
    else:
        r = g.add("Shape", [x])
        c = g.add("Greater", [g.add("Gather", [r, g.const(np.array(0, np.int64))], axis=0), g.const(np.array(1, np.int64))]) if g.shape(x) else g.const(np.array(True))
    g.add("If", [c], graphs=[x], then_branch=bodies[0], else_branch=bodies[1])


@maker(0.7)
def more_input(g):
    g.input(g.new_shape())
