"""Operators of com.microsoft: random forms of each, what ge-import makes of them against ONNX Runtime's own kernels.

contrib_forms.py [FORMS [SEED [OPERATOR...]]]: so many forms of each operator, drawn from the seed. A form is the operator's attributes,
which operands and results there are, its types and extents. ONNX Runtime has no CPU kernel for some: those are compared with numpy, from
the operator's description. Results are within 2e-5 of the largest number, of halves 2e-3; a code within one step. A form that is refused
by hone must be refused by name (69); a form that ONNX Runtime refuses is drawn again. With an input of no
type, or of another, a form is read or refused."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

ort.set_default_logger_severity(4)
FORMS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
rng = np.random.default_rng(SEED)
f32 = lambda *s: rng.standard_normal(s).astype(np.float32)
pick = lambda *v: v[rng.integers(len(v))]
some = lambda p=0.5: bool(rng.random() < p)
n_of = lambda a, b: int(rng.integers(a, b + 1))
makers = {}


class Const:
    """An operand that is an initializer."""
    def __init__(self, a):
        self.a = a


class Form:
    """One node: operands are arrays (inputs), Const or None; results a list of names, "" for one that is not asked for. want: the results
    by numpy, where ONNX Runtime has no kernel. apart: what a result may differ by, as a share of its largest number."""
    def __init__(self, operands, results=("y",), attrs=None, domain="com.microsoft", want=None, apart=None, only=None):
        self.operands, self.results, self.attrs, self.domain = operands, results, attrs or {}, domain
        self.want, self.apart, self.only = want, apart, only or {}


def maker(f):
    makers[f.__name__] = f
    return f


# ---- activations, norms ----
gelu = lambda v: (v * 0.5 * (1 + np.vectorize(__import__("math").erf)(v.astype(np.float64) / np.sqrt(2)))).astype(np.float32)
sigmoid = lambda v: 1 / (1 + np.exp(-v.astype(np.float64)))


def shape(lo=1, hi=4):
    return [n_of(1, 6) for _ in range(n_of(lo, hi))]


@maker
def BiasGelu():
    s = shape(1, 4)
    return Form([f32(*s), pick(Const, lambda a: a)(f32(s[-1]))])


@maker
def FastGelu():
    s = shape(1, 4)
    return Form([f32(*s), Const(f32(s[-1])) if some() else None])


@maker
def Gelu():
    return Form([f32(*shape(0, 4)) * 3])


@maker
def QuickGelu():
    return Form([f32(*shape(0, 4)) * 3], attrs={"alpha": float(pick(1.702, 1, 0.5))} if some() else {})


@maker
def BiasSplitGelu():
    s = [n_of(1, 3), n_of(1, 5), 2 * n_of(1, 8)]
    x, b = f32(*s), f32(s[2])
    v = x + b
    return Form([x, b], want=[v[..., : s[2] // 2] * gelu(v[..., s[2] // 2:])])


@maker
def BiasAdd():
    s = [n_of(1, 3), n_of(1, 5), n_of(1, 8)]
    x, b, k = f32(*s), f32(s[2]), f32(*s)
    return Form([x, b, k], want=[x + b + k])


@maker
def BiasSoftmax():
    s = [n_of(1, 3), n_of(1, 4), n_of(1, 5), n_of(1, 5)]
    axis = pick(3, -1, 2)
    x, b = f32(*s), f32(*pick([s[0], 1, 1, s[3]], [1, 1, s[2], s[3]]))
    v = (x + b).astype(np.float64)
    e = np.exp(v - v.max())
    over = (3,) if axis != 2 else (2, 3)
    return Form([x, b], attrs={"axis": axis, "is_inner_broadcast": 0}, want=[(e / e.sum(over, keepdims=True)).astype(np.float32)])


@maker
def SimplifiedLayerNormalization():
    s = shape(2, 4)
    axis = n_of(-len(s), len(s) - 1)
    inverse = some(0.3)
    return Form([f32(*s), Const(f32(*s[axis:]))], results=["y", "inverse"] if inverse else ["y"],
                attrs={"axis": axis, "epsilon": float(pick(1e-5, 1e-3)), **({"stash_type": 1} if some() else {})}, domain="")


@maker
def SkipSimplifiedLayerNormalization():
    s = [n_of(1, 3), n_of(1, 5), n_of(1, 9)][pick(0, 1):]
    return Form([f32(*s), f32(*s), Const(f32(s[-1])), Const(f32(s[-1])) if some() else None],
                results=["y", "", "", "sum"] if some() else ["y"], attrs={"epsilon": float(pick(1e-5, 1e-2))} if some() else {})


@maker
def SkipLayerNormalization():
    s = [n_of(1, 3), n_of(1, 5), n_of(2, 9)]
    skip = pick(s, [1] + s[1:], s[1:])
    return Form([f32(*s), f32(*skip), Const(f32(s[-1])), Const(f32(s[-1])) if some(0.7) else None, Const(f32(s[-1])) if some() else None],
                results=["y", "", "", "sum"] if some() else ["y"], attrs={"epsilon": float(pick(1e-5, 1e-2))})


@maker
def EmbedLayerNormalization():
    b, s, d = n_of(1, 3), n_of(1, 6), n_of(2, 9)
    i32 = lambda n, *z: rng.integers(0, n, z).astype(np.int32)
    segments, mask, positions = some(), some(), some(0.3)
    m = (np.arange(s) < rng.integers(1, s + 1, (b, 1))).astype(np.int32)
    return Form([i32(20, b, s), i32(2, b, s) if segments else None, Const(f32(20, d)), Const(f32(12, d)), Const(f32(2, d)) if segments else None,
                 Const(f32(d)), Const(f32(d)), m if mask else None, i32(12, pick(1, b), s) if positions else None],
                results=["y", "index", "sum"] if some() else ["y", "index"], attrs={"epsilon": 1e-5})


@maker
def QEmbedLayerNormalization():
    b, s, d = n_of(1, 3), n_of(1, 6), n_of(2, 9)
    i32 = lambda n, *z: rng.integers(0, n, z).astype(np.int32)
    t = pick(np.uint8, np.int8)
    code = lambda *z: Const(rng.integers(0, 200, z).astype(np.uint8).view(t) if t == np.int8 else rng.integers(0, 255, z).astype(t))
    segments, mask = some(), some()
    scale, zero = lambda: Const(np.float32(rng.random() / 50 + 0.01)), lambda: Const(np.array(n_of(0, 100), t))
    m = (np.arange(s) < rng.integers(1, s + 1, (b, 1))).astype(np.int32)
    return Form([i32(20, b, s), i32(2, b, s) if segments else None, code(20, d), code(12, d), code(2, d) if segments else None, code(d), code(d),
                 m if mask else None, scale(), scale(), scale() if segments else None, scale(), scale(),
                 zero(), zero(), zero() if segments else None, zero(), zero()],
                results=["y", "index"], attrs={"epsilon": 1e-3}, apart=1e-4)


def group_norm(v, g, b, groups, eps, silu, last):
    x = np.moveaxis(v, -1, 1) if last else v
    y = x.reshape(x.shape[0], groups, -1).astype(np.float64)
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + eps)
    y = y.reshape(x.shape) * g.reshape(1, -1, 1, 1) + b.reshape(1, -1, 1, 1)
    y = y * sigmoid(y) if silu else y
    return (np.moveaxis(y, 1, -1) if last else y).astype(np.float32)


@maker
def GroupNorm():
    groups, last, silu = n_of(1, 3), n_of(0, 1), n_of(0, 1)
    c = groups * n_of(1, 3)
    s = [n_of(1, 2), n_of(2, 4), n_of(2, 4)]
    x, g, b = f32(*(s + [c] if last else s[:1] + [c] + s[1:])), f32(c), f32(c)
    return Form([x, Const(g), Const(b)], attrs={"groups": groups, "activation": silu, "channels_last": last, "epsilon": 1e-3},
                want=[group_norm(x, g, b, groups, 1e-3, silu, last)])


@maker
def SkipGroupNorm():
    groups, silu = n_of(1, 3), n_of(0, 1)
    c = groups * n_of(1, 3)
    s = [n_of(1, 2), n_of(2, 4), n_of(2, 4), c]
    x, g, b = f32(*s), f32(c), f32(c)
    skip = f32(*pick(s, [s[0], c], [s[0], 1, 1, c]))
    bias = f32(c) if some() else None
    v = x + (skip.reshape(s[0], 1, 1, c) if skip.ndim == 2 else skip) + (0 if bias is None else bias)
    return Form([x, Const(g), Const(b), skip, None if bias is None else Const(bias)], results=["y", "s"],
                attrs={"groups": groups, "activation": silu, "epsilon": 1e-3}, want=[group_norm(v, g, b, groups, 1e-3, silu, 1), v])


# ---- products, convolutions ----
def fused(name):
    m, k, n = n_of(1, 5), n_of(1, 5), n_of(1, 5)
    batch = [n_of(1, 3) for _ in range(n_of(0, 2))]
    attrs, dims = {}, []
    for a, (r, c) in (("A", (m, k)), ("B", (k, n))):
        t, move = n_of(0, 1), n_of(0, 1) if batch and name == "FusedMatMul" else 0
        r, c = (c, r) if t else (r, c)
        dims.append([r] + batch + [c] if move else batch + [r, c])
        attrs[f"trans{a}"] = t
        if move:
            attrs[f"transBatch{a}"] = 1
    if some():
        attrs["alpha"] = float(rng.random() * 2)
    return Form([f32(*dims[0]), pick(Const, lambda a: a)(f32(*dims[1]))], attrs=attrs)


@maker
def FusedMatMul():
    return fused("FusedMatMul")


@maker
def TransposeMatMul():
    return fused("TransposeMatMul")


@maker
def FusedGemm():
    m, k, n = n_of(1, 5), n_of(1, 5), n_of(1, 5)
    ta, tb = n_of(0, 1), n_of(0, 1)
    act = pick(("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Elu", {"activation_alpha": 0.7}), ("Sigmoid", {}), ("Tanh", {}),
               ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}), ("Softplus", {}), ("Softsign", {}),
               ("ThresholdedRelu", {"activation_alpha": 0.5}))
    return Form([f32(*((k, m) if ta else (m, k))), Const(f32(*((n, k) if tb else (k, n)))), Const(f32(*pick((n,), (m, n), (1, n)))) if some(0.7) else None],
                attrs={"transA": ta, "transB": tb, "alpha": 0.5, "beta": 0.7, "activation": act[0], **act[1]})


@maker
def GemmFastGelu():
    m, k, n = n_of(1, 5), n_of(1, 5), n_of(1, 5)
    x, w, b = f32(2, m, k), f32(k, n), f32(n) if some() else None
    v = (x @ w + (0 if b is None else b)).astype(np.float64)
    return Form([x, Const(w), None if b is None else Const(b)], want=[(0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3)))).astype(np.float32)], apart=1e-4)


def conv_attrs(k, group):
    attrs = {"group": group, "kernel_shape": [k, k], "strides": pick([1, 1], [2, 1])}
    if some(0.3):
        attrs["auto_pad"] = pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        attrs["pads"] = [n_of(0, k - 1) for _ in range(4)]
    return attrs


@maker
def FusedConv():
    group, k = n_of(1, 2), n_of(1, 3)
    ci, co = group * n_of(1, 3), group * n_of(1, 3)
    attrs = conv_attrs(k, group)
    act = pick(("Relu", []), ("LeakyRelu", [0.2]), ("Sigmoid", []), ("Tanh", []), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4]))
    attrs["activation"] = act[0]
    if act[1]:
        attrs["activation_params"] = [float(v) for v in act[1]]
    x, w = f32(n_of(1, 2), ci, 7, 6), f32(co, ci // group, k, k)
    z = None
    if some(0.4):
        y = ort_node("Conv", "", [x, w], {a: v for a, v in attrs.items() if not a.startswith("activation")})
        z = f32(*y[0].shape)
    return Form([x, Const(w), Const(f32(co)) if some() or z is not None else None, z], attrs=attrs)


@maker
def NhwcFusedConv():
    k = n_of(1, 3)
    ci, co = n_of(1, 3), n_of(1, 3)
    attrs = conv_attrs(k, 1)
    x, w, b = f32(1, 7, 6, ci), f32(co, ci, k, k), f32(co)
    y = ort_node("Conv", "", [np.moveaxis(x, -1, 1), w, b], attrs)[0]
    z = f32(*np.moveaxis(y, 1, -1).shape)
    return Form([x, Const(w), Const(b), z], attrs={**attrs, "activation": "Relu"}, want=[np.maximum(np.moveaxis(y, 1, -1) + z, 0)])


@maker
def NhwcMaxPool():
    t = pick(np.uint8, np.int8)
    return Form([rng.integers(0, 120, (1, n_of(4, 7), n_of(4, 7), n_of(1, 4))).astype(t)],
                attrs={"kernel_shape": [n_of(1, 3), n_of(1, 3)], "strides": [n_of(1, 2), n_of(1, 2)], "pads": [0, 0, 0, 0]})


@maker
def QLinearConv():
    last, k, ci, co = n_of(0, 1), n_of(1, 3), n_of(1, 4), n_of(1, 4)
    u8 = lambda *s: rng.integers(0, 255, s).astype(np.uint8)
    x = u8(1, 6, 7, ci) if last else u8(1, ci, 6, 7)
    s = lambda v: Const(np.float32(v))
    return Form([x, s(0.02), Const(np.uint8(120)), Const(rng.integers(-60, 60, (co, ci, k, k)).astype(np.int8)), s(0.01), Const(np.int8(0)), s(0.05),
                 Const(np.uint8(100)), Const(rng.integers(-500, 500, co).astype(np.int32)) if some() else None],
                attrs={"channels_last": last, "kernel_shape": [k, k], "pads": [n_of(0, k - 1) for _ in range(4)], "strides": [n_of(1, 2)] * 2})


def pool(global_):
    last, t = n_of(0, 1), pick(np.uint8, np.int8)
    s = [n_of(1, 2), n_of(1, 4), n_of(3, 6), n_of(3, 6)]
    x = rng.integers(0, 120, s[:1] + s[2:] + s[1:2] if last else s).astype(t)
    attrs = {} if global_ else {"kernel_shape": [n_of(1, 3), n_of(1, 3)], "strides": [n_of(1, 2), n_of(1, 2)], "pads": [0, 0, 0, 0]}
    return Form([x, Const(np.float32(0.1)), Const(np.array(3, t)), Const(np.float32(0.05)), Const(np.array(5, t))], attrs={"channels_last": last, **attrs})


@maker
def QLinearAveragePool():
    return pool(False)


@maker
def QLinearGlobalAveragePool():
    return pool(True)


@maker
def ConvTransposeWithDynamicPads():
    k = n_of(2, 3)
    ci, co = n_of(1, 3), n_of(1, 3)
    return Form([f32(1, ci, 4, 5), Const(f32(ci, co, k, k)), Const(np.array([n_of(0, 1) for _ in range(4)], np.int64)), Const(f32(co)) if some() else None],
                attrs={"kernel_shape": [k, k], "strides": [n_of(1, 2)] * 2})


# ---- attention ----
HIDDEN = 4e-3  # where all keys are hidden, -10000 in f32 leaves scores three digits


def padding(b, s, keys, forms):
    form = pick(*forms)
    if form == "ends":
        return rng.integers(1, keys + 1, b).astype(np.int32)
    if form == "both":
        end = rng.integers(1, keys + 1, b)
        return np.concatenate([end, np.minimum(rng.integers(0, keys, b), end - 1)]).astype(np.int32)
    if form == "rows":
        return (rng.random((b, keys)) < 0.7).astype(np.int32)
    if form == "queries":
        return (rng.random((b, s, keys)) < 0.7).astype(np.int32)


@maker
def Attention():
    b, s, heads, d, width, past = n_of(1, 3), n_of(1, 5), n_of(1, 3), 2 * n_of(1, 4), n_of(1, 8), pick(0, 0, n_of(1, 4))
    dv = d if past or some(0.7) else n_of(1, 5)
    attrs = {"num_heads": heads, "unidirectional": n_of(0, 1)}
    if dv != d or some(0.3):
        attrs["qkv_hidden_sizes"] = [heads * d, heads * d, heads * dv]
    if some(0.3):
        attrs["scale"] = 0.3
    if some(0.3):
        attrs["mask_filter_value"] = -100.0
    w = heads * (2 * d + dv)
    keys = past + s
    mask = padding(b, s, keys, ("none", "ends", "rows", "queries") + (("both",) if not past else ()))
    return Form([f32(b, s, width), Const(f32(width, w)), Const(f32(w)) if some(0.8) else None, mask, f32(2, b, heads, past, d) if past else None,
                 f32(pick(1, b), pick(1, heads), s, keys) if some(0.3) else None], results=["y", "present"] if past or (dv == d and some()) else ["y"], attrs=attrs, apart=HIDDEN if mask is not None else 1e-4)


@maker
def MultiHeadAttention():
    b, s, heads, d = n_of(1, 3), n_of(1, 5), n_of(1, 3), 2 * n_of(1, 4)
    form = pick("plain", "plain", "past", "cross", "packed", "kv")
    dv = d if form in ("packed", "kv") or some(0.7) else n_of(1, 5)
    keys = s if form in ("packed", "past") else n_of(1, 6)
    past = n_of(1, 4) if form == "past" else 0
    if form == "past":
        dv = d
    attrs = {"num_heads": heads, **({"unidirectional": 1} if some(0.3) and form in ("plain", "past") and keys == s else {})}
    if some(0.3):
        attrs["scale"] = 0.3
    if some(0.3):
        attrs["mask_filter_value"] = -100.0
    q, k, v = f32(b, s, heads * d), f32(b, keys, heads * d), f32(b, keys, heads * dv)
    if form == "packed":
        q, k, v = f32(b, s, heads, 3, d), None, None
    elif form == "kv":
        k, v = f32(b, keys, heads, 2, d), None
    elif form == "cross":
        k, v = f32(b, heads, keys, d), f32(b, heads, keys, dv)
    bias = Const(f32(heads * (2 * d + dv))) if some() and form != "kv" else None
    mask = padding(b, s, past + keys, ("none", "none", "ends", "rows", "queries") if form in ("plain", "past") else ("none", "rows"))
    return Form([q, k, v, bias, mask, f32(pick(1, b), pick(1, heads), s, past + keys) if some(0.3) else None,
                 f32(b, heads, past, d) if past else None, f32(b, heads, past, dv) if past else None],
                results=["y", "pk", "pv"] if past or (some(0.3) and form == "plain") else ["y"], attrs=attrs, apart=HIDDEN if mask is not None else 1e-4)


@maker
def DecoderMaskedMultiHeadAttention():
    b, heads, d, past = n_of(1, 3), n_of(1, 3), 4 * n_of(1, 3), n_of(1, 5)
    cross = some(0.3)
    attrs = {"num_heads": heads}
    if cross:
        return Form([f32(b, 1, heads * d), f32(b, heads, past, d), f32(b, heads, past, d)], attrs=attrs, apart=1e-4)
    return Form([f32(b, 1, heads * d), f32(b, 1, heads * d), f32(b, 1, heads * d),
                 (rng.random((b, past + 1)) < 0.7).astype(np.int32) if some() else None, f32(1, pick(1, heads), 1, past + 1) if some() else None,
                 f32(b, heads, past, d), f32(b, heads, past, d), None, None, None, Const(f32(3 * heads * d)) if some() else None],
                results=["y", "pk", "pv"], attrs=attrs, apart=1e-4)


@maker
def QAttention():
    b, s, heads, d, width, past = n_of(1, 3), n_of(1, 5), n_of(1, 3), 2 * n_of(1, 4), n_of(1, 8), pick(0, 0, n_of(1, 4))
    w = 3 * heads * d
    columns = some()
    return Form([rng.integers(0, 255, (b, s, width)).astype(np.uint8), Const(rng.integers(-60, 60, (width, w)).astype(np.int8)), Const(f32(w)),
                 Const(np.float32(0.01)), Const(np.full(w, 0.01, np.float32) * rng.random(w).astype(np.float32) if columns else np.float32(0.01)),
                 padding(b, s, past + s, ("none", "ends", "rows")), Const(np.uint8(120)), Const(np.zeros(w, np.int8) if columns else np.int8(3)),
                 f32(2, b, heads, past, d) if past else None],
                results=["y", "present"] if past else ["y"], attrs={"num_heads": heads, "unidirectional": n_of(0, 1)}, apart=1e-4)


@maker
def RotaryEmbedding():
    b, s, heads, d = n_of(1, 3), n_of(1, 5), n_of(1, 3), 8 * n_of(1, 3)
    four, part = some(), some(0.3)
    half = d // 2 if not part else d // 4
    x = f32(b, heads, s, d) if four else f32(b, s, heads * d)
    attrs = {"interleaved": n_of(0, 1)}
    if part:
        attrs.update(num_heads=heads, rotary_embedding_dim=2 * half)
    pos = np.array([n_of(0, 5)], np.int64) if some() else rng.integers(0, 12, (b, s)).astype(np.int64)
    table = f32(12, half)
    return Form([x, pos, Const(np.cos(table)), Const(np.sin(table))], attrs=attrs)


@maker
def GroupQueryAttention():
    groups, d, b = n_of(1, 3), 8 * n_of(1, 3), n_of(1, 3)
    heads = groups * n_of(1, 3)
    prompt, packed, rotary, shared = some(0.4), some(), some(), some()
    s = n_of(1, 5) if prompt or b == 1 else 1
    past = 0 if prompt else n_of(1, 6)
    total = past + s
    have = total + n_of(0, 4) if shared else past
    lengths = np.full(b, total) if prompt and some() else rng.integers(1 if prompt else s, total + 1, b)
    lengths[0] = total
    attrs = {"num_heads": heads, "kv_num_heads": groups}
    if rotary:
        attrs.update(do_rotary=1, rotary_interleaved=n_of(0, 1))
    if some(0.3):
        attrs["local_window_size"] = n_of(1, 6)
    if some(0.3):
        attrs["softcap"] = 3.0
    if some(0.3):
        attrs["scale"] = 0.3
    if some(0.2):
        attrs["smooth_softmax"] = 1
    sink = f32(heads) if "smooth_softmax" not in attrs and some(0.2) else None
    table = f32(16, d // 2)
    q = f32(b, s, (heads + 2 * groups) * d) if packed else f32(b, s, heads * d)
    kv = [None, None] if packed else [f32(b, s, groups * d), f32(b, s, groups * d)]
    bias = f32(pick(1, b), pick(1, heads), s, total) if some(0.2) else None
    scores = sink is None and "smooth_softmax" not in attrs and some(0.3)
    if scores:
        attrs["qk_output"] = n_of(1, 2)
    bits, by = pick(0, 0, 8, 4), pick("PER_TENSOR", "PER_CHANNEL")
    if bits and have:
        attrs.update(k_quant_type=by, v_quant_type=by, kv_cache_bit_width=bits)
        cache = lambda: rng.integers(-128, 128, (b, groups, have, d)).astype(np.int8) if bits == 8 else rng.integers(0, 256, (b, groups, have, d // 2)).astype(np.uint8)
        scale = lambda: (rng.random((1, groups, 1, d) if by == "PER_CHANNEL" else 1) / (60 if bits == 8 else 3) + 0.01).astype(np.float32)
    else:
        cache, scale = lambda: f32(b, groups, have, d), lambda: None
    chunk = None
    if have >= total and bias is None and not scores and some(0.3):  # padded chunks
        chunk = np.array([pick(*[q for q in range(min(s, n) + 1) if n - q + s <= have]) for n in lengths], np.int32)
        prompt = False
    form = Form([q] + kv + [cache(), cache(), (lengths - 1).astype(np.int32), np.array(have if chunk is not None else total, np.int32)] +
                ([Const(np.cos(table)), Const(np.sin(table))] if rotary else [None, None]) +
                [None, bias, None if sink is None else Const(sink), scale(), scale(), None, None, chunk],
                results=["y", "pk", "pv"] + ["scores"] * scores, attrs=attrs, apart=1e-4)
    # Rows behind a sentence's end are not compared: they are what was in memory.
    form.only = {"y": lambda a: [a[i, : (lengths[i] if prompt else s if chunk is None else chunk[i])] for i in range(b)], "pk": lambda a: [a[i, :, : lengths[i]] for i in range(b)],
                 "pv": lambda a: [a[i, :, : lengths[i]] for i in range(b)],
                 "scores": lambda a: [a[i, :, : (lengths[i] if prompt else s), : lengths[i]] for i in range(b)]}
    return form


# ---- blocks ----
@maker
def GatherBlockQuantized():
    bits, v, blocks, size = pick(4, 8), n_of(2, 9), n_of(1, 3), pick(16, 32)
    k = blocks * size
    q = rng.integers(0, 2**bits, (v, k)).astype(np.uint8)
    data = q if bits == 8 else (q[:, ::2] | q[:, 1::2] << 4).astype(np.uint8)
    zero = None
    if some():
        z = rng.integers(0, 2**bits, (v, blocks + blocks % 2)).astype(np.uint8)
        zero = Const(z[:, :blocks] if bits == 8 else (z[:, ::2] | z[:, 1::2] << 4).astype(np.uint8))
    idx = rng.integers(-v, v, [n_of(1, 4) for _ in range(n_of(0, 2))]).astype(pick(np.int32, np.int64))
    return Form([Const(data), np.array(idx), Const(f32(v, blocks)), zero], attrs={"bits": bits, "block_size": size, "gather_axis": 0, "quantize_axis": 1})


@maker
def MatMulNBits():
    bits, n, k, size = pick(4, 8), n_of(1, 9), n_of(1, 70), pick(16, 32)
    blocks = -(-k // size)
    w = rng.integers(0, 256, (n, blocks, size * bits // 8)).astype(np.uint8)
    zeros = Const(rng.integers(0, 256, (n * (-(-blocks * bits // 8)),)).astype(np.uint8)) if some() else None
    return Form([f32(*[n_of(1, 4) for _ in range(n_of(1, 2))], k), Const(w), Const(f32(n * blocks)), zeros, None, Const(f32(n)) if some(0.3) else None],
                attrs={"K": k, "N": n, "bits": bits, "block_size": size, **({"accuracy_level": 0} if some() else {})}, apart=1e-4)


@maker
def MatMulBnb4():
    n, k, size, kind = n_of(1, 6), 16 * n_of(1, 4), 16, n_of(0, 1)
    return Form([f32(n_of(1, 3), k), Const(rng.integers(0, 256, n * k // 2).astype(np.uint8)), Const(np.abs(f32(n * k // size)))],
                attrs={"K": k, "N": n, "block_size": size, "quant_type": kind}, apart=1e-4)


def routed():
    """What MoE and QMoE share: sizes, attributes, and whether rows are in batches."""
    experts, tokens, act = n_of(2, 5), n_of(1, 6), pick("relu", "gelu", "silu", "identity", "swiglu", "swiglu")
    attrs = {"k": n_of(1, min(experts, 3)), "activation_type": act, "normalize_routing_weights": n_of(0, 1)}
    if act == "swiglu":
        attrs.update(swiglu_fusion=pick(1, 1, 2), activation_alpha=float(pick(1.0, 1.702)), activation_beta=float(pick(0.0, 1.0)))
        if some():
            attrs["swiglu_limit"] = 0.7
    return experts, tokens, attrs, 2 if act == "swiglu" else 1


@maker
def MoE():
    experts, tokens, attrs, two = routed()
    h, inner = n_of(1, 9), n_of(1, 9)
    x = f32(*pick((tokens, h), (1, tokens, h)))
    return Form([x, f32(tokens, experts), Const(f32(experts, two * inner, h)), Const(f32(experts, two * inner)) if some() else None,
                 Const(f32(experts, h, inner)), Const(f32(experts, h)) if some() else None], attrs=attrs, apart=1e-4)


@maker
def QMoE():
    experts, tokens, attrs, two = routed()
    bits, block = pick(4, 8), pick(0, 16, 32)
    h, inner = 32 * n_of(1, 2), 32 * n_of(1, 2)
    code = lambda *s: Const(rng.integers(0, 256, s).astype(np.uint8))
    scales = lambda n, k: Const((rng.random([experts, n] + ([k // block] if block else [])) / 40).astype(np.float32))
    points = lambda n, k: code(experts, n, -(-(k // block) * bits // 8)) if block else code(experts, -(-n * bits // 8))
    attrs.update(expert_weight_bits=bits, **({"block_size": block} if block else {}))
    zero, mixing = some(), some(0.3)
    x = f32(*pick((tokens, h), (1, tokens, h)))
    z = [points(two * inner, h), points(h, inner), None] if zero else [None, None, None]
    return Form([x, f32(tokens, experts), code(experts, two * inner, h * bits // 8), scales(two * inner, h), Const(f32(experts, two * inner)) if some() else None,
                 code(experts, h, inner * bits // 8), scales(h, inner), Const(f32(experts, h)) if some() else None, None, None, None] + z +
                [np.abs(f32(tokens, experts)) if mixing else None], attrs=attrs,
                apart=1e-1 if bits == 8 and block else 2e-4)  # ONNX Runtime rounds rows to bytes where experts are of 8 bits in blocks: 5e-2 from the exact result, seen


# ---- others ----
@maker
def CDist():
    n = n_of(1, 6)
    return Form([f32(n_of(1, 5), n), f32(n_of(1, 5), n)], attrs={"metric": pick("euclidean", "sqeuclidean")}, apart=1e-4)


@maker
def DynamicQuantizeLSTM():
    s, b, n, hid, two = n_of(1, 5), n_of(1, 2), n_of(1, 6), n_of(1, 5), n_of(0, 1)
    t = pick(np.uint8, np.int8)
    code = lambda *z: Const(rng.integers(-60, 60, z).astype(np.int8) if t == np.int8 else rng.integers(68, 188, z).astype(np.uint8))
    zero = Const(np.full(1 + two, 0 if t == np.int8 else pick(3, 128), t))
    scale = lambda: Const(np.full(1 + two, 0.01, np.float32))
    return Form([f32(s, b, n), code(1 + two, n, 4 * hid), code(1 + two, hid, 4 * hid), Const(f32(1 + two, 8 * hid)) if some() else None, None,
                 f32(1 + two, b, hid) if some() else None, f32(1 + two, b, hid) if some() else None, None, scale(), zero, scale(), zero],
                results=["y", "h", "c"], attrs={"hidden_size": hid, "direction": "bidirectional" if two else pick("forward", "reverse")}, apart=1e-4)


@maker
def ExpandDims():
    s = shape(1, 3)
    return Form([f32(*s), Const(np.array(n_of(-len(s) - 1, len(s)), np.int32))])


@maker
def GatherND():
    return Form([f32(4, 5, 3), rng.integers(0, 4, (n_of(1, 4), n_of(1, 2))).astype(pick(np.int32, np.int64))])


@maker
def GatedRelativePositionBias():
    b, s, heads, d, w = n_of(1, 2), n_of(1, 4), n_of(1, 3), n_of(1, 4), 2 * n_of(1, 3)
    q, qb, rel, wt, wb, a = f32(b, s, heads * d), f32(heads * d), f32(1, heads, s, s), f32(d, w), f32(w), f32(1, heads, 1, 1)
    v = (q + qb).reshape(b, s, heads, d).transpose(0, 2, 1, 3) @ wt + wb
    g = sigmoid(v.reshape(b, heads, s, 2, w // 2).sum(-1))
    return Form([q, Const(qb), rel, Const(wt), Const(wb), Const(a)], attrs={"num_heads": heads},
                want=[((g[..., :1] * (g[..., 1:] * a - 1) + 2) * rel).astype(np.float32)])


@maker
def GridSample():
    mode = pick("bilinear", "nearest", "bicubic")  # the border of bicubic is not that of ONNX's reference in ONNX Runtime
    return Form([f32(1, n_of(1, 3), 5, 4), f32(1, 3, 4, 2)], attrs={"mode": mode, "align_corners": n_of(0, 1),
                                                                   "padding_mode": pick("zeros", "reflection", *(["border"] if mode != "bicubic" else []))})


@maker
def Inverse():
    n = n_of(1, 7)
    a = f32(*shape(0, 2), n, n)
    return Form([a + np.float32(2) * np.eye(n, dtype=np.float32)], apart=1e-2)


@maker
def MurmurHash3():
    s, kind = shape(0, 3), pick("U", "i4", "u4", "i8", "u8", "f4", "f8")
    attrs = {"seed": pick(0, 7, -1, -2**31, 2**32 - 1)} if some(0.7) else {}
    if kind == "U":
        x = np.array(["".join(pick("a", "Z", "\u00e4", "\U0001f600", " ") for _ in range(n_of(0, 9))) for _ in range(int(np.prod(s)))], "U").reshape(s)
    else:
        x = np.frombuffer(rng.bytes(int(np.prod(s)) * np.dtype(kind).itemsize), kind).reshape(s)
    return Form([x], attrs={**attrs, **pick({}, {"positive": 0}, {"positive": 1})})


@maker
def IsAllFinite():
    x = f32(4)
    if some():
        x[1] = pick(np.nan, np.inf, -np.inf)
    attrs = pick({}, {"isnan_only": 1}, {"isinf_only": 1})
    bad = (np.isnan(x) & ("isinf_only" not in attrs)) | (np.isinf(x) & ("isnan_only" not in attrs))
    return Form([x, f32(2, 3)], attrs=attrs, want=[np.array(not bad.any())])


@maker
def MulInteger():
    t = pick(np.uint8, np.int8)
    code = lambda *s: rng.integers(0, 120, s).astype(t)
    a, b, za, zb = code(2, 3), code(*pick((2, 3), (3,), (1, 3))), code(), code()
    return Form([a, np.array(za, t), b, np.array(zb, t)], want=[(a.astype(np.int32) - za) * (b.astype(np.int32) - zb)])


@maker
def NGramRepeatBlock():
    return Form([rng.integers(0, 4, (n_of(1, 3), n_of(1, 9))).astype(np.int64), None], attrs={"ngram_size": n_of(1, 3)})


@maker
def Pad():
    s = shape(1, 3)
    pads = np.array([n_of(0, 2) for _ in range(2 * len(s))], np.int64)
    return Form([f32(*s), Const(pads.reshape(1, -1) if some() else pads), Const(f32(1)[0]) if some() else None], attrs={"mode": "constant"} if some() else {})


@maker
def QLinearReduceMean():
    t = pick(np.uint8, np.int8)
    x = rng.integers(0, 120, (2, 3, 4)).astype(t)
    keep, axes = n_of(0, 1), pick([1], [0, 2], [-1])
    v = ((x.astype(np.float32) - 3) * np.float32(0.1)).mean(tuple(axes), keepdims=bool(keep), dtype=np.float32)
    i = np.iinfo(t)
    return Form([x, Const(np.float32(0.1)), Const(np.array(3, t)), Const(np.float32(0.05)), Const(np.array(5, t))], attrs={"axes": axes, "keepdims": keep},
                want=[np.clip(np.rint(v / np.float32(0.05)) + 5, i.min, i.max).astype(t)])


@maker
def Range():
    t = pick(np.float32, np.int32, np.int64)
    one = lambda v: Const(np.array(v if some() else [v], t))
    return Form([one(n_of(0, 3)), one(n_of(5, 9)), one(n_of(1, 3)) if some() else None])


@maker
def ReduceSumInteger():
    x = rng.integers(0, 120, (2, 3, 4)).astype(pick(np.uint8, np.int8))
    keep, axes = n_of(0, 1), pick([1], [0, 2], [-1])
    return Form([x], attrs={"axes": axes, "keepdims": keep}, want=[x.astype(np.int32).sum(tuple(axes), keepdims=bool(keep), dtype=np.int32)])


@maker
def RelativePositionBias():
    n, buckets, far, both = n_of(1, 40), pick(16, 32), pick(32, 128), n_of(0, 1)
    table = f32(buckets, n_of(1, 3))
    d = np.arange(n)[None] - np.arange(n)[:, None]
    half = buckets // 2 if both else buckets
    near = np.abs(d) if both else np.maximum(-d, 0)
    large = half // 2 + (np.log(np.maximum(near, 1).astype(np.float32) / np.float32(half // 2)) / np.float32(np.log(far / (half // 2))) * (half - half // 2)).astype(np.int64)
    bucket = np.where(near < half // 2, near, np.minimum(large, half - 1)) + (half * (d > 0) if both else 0)
    return Form([Const(table), Const(np.array(n, np.int64)), Const(np.array(n, np.int64))], attrs={"max_distance": far, "is_bidirectional": both},
                want=[table[bucket].transpose(2, 0, 1)[None]])


@maker
def ScaledSiLU():
    x, s = f32(2, 3), f32(1)[0]
    by = some()
    v = x * (s if by else np.float32(0.7))
    return Form([x, np.array(s) if by else None], attrs={"alpha": 0.7}, want=[(v * sigmoid(v)).astype(np.float32)])


@maker
def SwiGLU():
    both, limit, beta = some(), pick(0.0, 0.8), pick(0.0, 1.0)
    g, u = f32(2, 6) * 2, f32(2, 6) * 2
    a, b = (np.minimum(g, limit), np.clip(u, -limit, limit)) if limit else (g, u)
    want = a * sigmoid(1.3 * a) * (b + beta)
    return Form([g, u] if both else [np.concatenate([g, u], 1)], attrs={"activation_alpha": 1.3, "activation_beta": beta, "limit": limit},
                want=[want.astype(np.float32)])


@maker
def TorchEmbedding():
    w, i = f32(6, 4), rng.integers(0, 6, (2, 3)).astype(np.int64)
    return Form([Const(w), i], want=[w[i]])


@maker
def Trilu():
    return Form([f32(*shape(2, 3)), np.array(n_of(-2, 2), np.int64) if some() else None], attrs={"upper": n_of(0, 1)} if some() else {})


@maker
def Unique():
    return Form([rng.integers(0, 5, n_of(1, 12)).astype(np.float32)], results=["y", "idx", "counts"])


# ---- forms that once failed, of which each operator begins with its own; True: its inputs do not say how large they are ----
once = {
    "GroupQueryAttention": (lambda: Form([f32(1, 2, 48), f32(1, 2, 48), f32(1, 2, 48), f32(1, 3, 5, 16), f32(1, 3, 5, 16), np.array([6], np.int32),
                                          np.array(7, np.int32), Const(f32(16, 8)), Const(f32(16, 8))], ["y", "pk", "pv"],
                                         {"num_heads": 3, "kv_num_heads": 3, "do_rotary": 1}, apart=1e-4), False),
    "MultiHeadAttention": (lambda: Form([f32(2, 3, 24), f32(2, 3, 24), f32(2, 3, 15), Const(f32(63))], attrs={"num_heads": 3}, apart=1e-4), True),
}


# ---- one form ----
def model(name, form, open_sizes=False):
    feed, init, names = {}, [], []
    for k, a in enumerate(form.operands):
        names.append("" if a is None else f"o{k}")
        if isinstance(a, Const):
            init.append(numpy_helper.from_array(np.asarray(a.a), f"o{k}"))
        elif a is not None:
            feed[f"o{k}"] = np.asarray(a)
    while names and not names[-1]:
        names.pop()
    node = h.make_node(name, names, list(form.results), domain=form.domain, **form.attrs)
    dims = lambda a: [None] * np.ndim(a) if open_sizes else np.shape(a)
    g = h.make_graph([node], "g", [h.make_tensor_value_info(n, T.STRING if a.dtype.kind == "U" else h.np_dtype_to_tensor_dtype(a.dtype), dims(a)) for n, a in feed.items()],
                     [onnx.ValueInfoProto(name=r) for r in form.results if r], init)
    return h.make_model(g, opset_imports=[h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)], ir_version=10), feed


def ort_run(m, feed):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1  # with more, DynamicQuantizeLSTM rounds the states of parts of the batch
    feed = {k: a.astype(object) if a.dtype.kind == "U" else a for k, a in feed.items()}
    return ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feed)


def ort_node(name, domain, operands, attrs):
    m, feed = model(name, Form(operands, attrs=attrs, domain=domain))
    return ort_run(m, feed)


def differs(want, got, apart):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if not want.size:
        return ""
    if want.dtype.kind in "biu" and want.dtype.itemsize > 1 or want.dtype == bool:
        return "" if (want == got).all() else f"{(want != got).sum()} of {want.size} differ"
    w, g = want.astype(np.float64), got.astype(np.float64)
    if not (np.isfinite(w) == np.isfinite(g)).all() or not (w[~np.isfinite(w)] == g[~np.isfinite(w)]).all():
        return "other infinities"
    w, g = w[np.isfinite(w)], g[np.isfinite(g)]
    d, most = (np.abs(w - g).max(), 1 if want.dtype.kind in "iu" else (apart or 2e-5) * max(1, np.abs(w).max())) if w.size else (0, 0)
    return "" if d <= most else f"{d:.3g} apart, at most {most:.3g}"


def one(name, form):
    """'' if it is right, "refused" by name, or what is wrong. A third of the files do not say how large their inputs are."""
    m, feed = model(name, form, once.pop(name)[1] if name in once else some(0.3))
    want = form.want if form.want is not None else ort_run(m, feed)
    onnx.save(m, "c.onnx")
    np.savez("in.npz", **feed)
    p = subprocess.run(["bash", "-o", "pipefail", "-c", "ge-import -q c.onnx | ge-shape -o c.g && run-ref -q -i in.npz c.g -o c.npz"], capture_output=True, text=True)
    if p.returncode == 69:
        return "refused"
    if p.returncode:
        return f"status {p.returncode}: {p.stderr.strip()[-300:]}"
    got = np.load("c.npz")
    for n, w in zip([r for r in form.results if r], want):
        if n not in got.files:
            return f"{n} is not there"
        cut = form.only.get(n, lambda a: [a])
        if got[n].shape != np.asarray(w).shape:
            return f"{n}: {got[n].shape}, not {np.asarray(w).shape}"
        for a, b in zip(cut(np.asarray(w)), cut(got[n])):
            why = differs(a, b, form.apart)
            if why:
                return f"{n}: {why}"
    return ""


def untyped(name, form, types=None):
    """An input of no type, or of one that the operator does not take: read, or refused."""
    m, feed = model(name, form)
    for t in types or [pick(0, T.STRING, T.COMPLEX64, T.BOOL, T.INT4, T.DOUBLE)]:
        for i in range(len(m.graph.input)) if types else [n_of(0, len(feed) - 1)] if feed else []:
            odd = onnx.ModelProto()
            odd.CopyFrom(m)
            odd.graph.input[i].ClearField("type")
            if t:
                odd.graph.input[i].type.tensor_type.elem_type = t
            onnx.save(odd, "c.onnx")
            p = subprocess.run(["bash", "-o", "pipefail", "-c", "ge-import -q c.onnx | ge-shape -q | ge-fold -q -o c.g"], capture_output=True, text=True)
            if p.returncode not in (0, 65, 69):
                return f"input {i} of type {t}: status {p.returncode}: {p.stderr.strip()[-300:]}"
    return ""


def stays(name, form):
    """hone simplify leaves the operator in the file, and ONNX Runtime's results as they were."""
    m, feed = model(name, form)
    onnx.save(m, "c.onnx")
    p = subprocess.run(["hone", "simplify", "c.onnx", "s.onnx"], capture_output=True, text=True)
    if p.returncode:
        return f"simplify: status {p.returncode}: {p.stderr.strip()[-300:]}"
    s = onnx.load("s.onnx")
    if feed and name not in [n.op_type for n in s.graph.node]:
        return f"simplify: {[n.op_type for n in s.graph.node]}"
    if form.want is None:
        for r, w, g in zip([r for r in form.results if r], ort_run(m, feed), ort_run(s, feed)):
            cut = form.only.get(r, lambda a: [a])
            for a, b in zip(cut(w), cut(g)):
                if differs(a, b, 1e-6):
                    return f"simplify: {r}: {differs(a, b, 1e-6)}"
    return ""


def main():
    names, results = sys.argv[3:] or sorted(makers), 0
    for name in names:
        right = refused = unknown = tries = 0
        bad = ""
        while right + refused < FORMS and not bad and tries < 6 * FORMS:
            tries += 1
            form = once.get(name, [makers[name]])[0]()
            if name == "NGramRepeatBlock":
                form.operands[1] = f32(form.operands[0].shape[0], 4)
            try:
                why = one(name, form) or untyped(name, form) or (stays(name, form) if not right else "")
            except Exception as e:
                if os.environ.get("VERBOSE"):
                    print("#", name, str(e)[:300])
                unknown += 1  # ONNX Runtime refuses the form
                continue
            if why == "refused":
                refused += 1
            elif why:
                given = [None if a is None else list(np.shape(a.a if isinstance(a, Const) else a)) for a in form.operands]
                bad = f"{why}; operands {given}, {form.attrs}"
                onnx.save(onnx.load("c.onnx"), f"bad_{name}.onnx")
            else:
                right += 1
        results += 1
        ok = not bad and right
        print(f"{'' if ok else 'not '}ok - {name}: {right} right, {refused} refused, {unknown} that ONNX Runtime does not take{': ' + bad if bad else ''}", flush=True)
    print(f"1..{results}")


main()
