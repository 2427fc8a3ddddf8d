"""Random applications of operators, those that are functions of lib/native and those that have kernels (drawn_ops.py), many of them in one model: the evaluator, and with --native a library,
against ONNX Runtime, and onnx's reference where that has none. native_ops.py [--first N] [--models N]: tools are found in PATH."""

import argparse
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

import drawn_ops

EACH = 16  # nodes of a model
TYPES = {"f": (np.float32, T.FLOAT), "l": (np.int64, T.INT64), "i": (np.int32, T.INT32), "b": (np.bool_, T.BOOL), "d": (np.float64, T.DOUBLE)}

class Draw:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def num(self, lo, hi):
        return int(self.rng.integers(lo, hi + 1))

    def pick(self, xs):
        return xs[self.num(0, len(xs) - 1)]

    def chance(self, p):
        return self.rng.random() < p

    def f(self, *shape, scale=1.0, at=0.0):
        return (self.rng.standard_normal(shape) * scale + at).astype(np.float32)

    def ints(self, lo, hi, *shape):
        return self.rng.integers(lo, hi + 1, shape).astype(np.int64)


MAKERS = []


def maker(f):
    MAKERS.append(f)
    return f


# Each: operator, operands (arrays, or None), attributes, number of results.

@maker
def grid_sample(g):
    three = g.chance(0.2)
    size = [g.num(1, 6) for _ in range(3 if three else 2)]
    n, c = g.num(1, 2), g.num(1, 3)
    to = [g.num(1, 5) for _ in size]
    mode = g.pick(["linear", "nearest"]) if three else g.pick(["linear", "nearest", "cubic"])
    return "GridSample", [g.f(n, c, *size), g.f(n, *to, len(size), scale=0.8)], {"mode": mode, "padding_mode": g.pick(["zeros", "border", "reflection"]), "align_corners": g.num(0, 1)}, 1


@maker
def affine_grid(g):
    three = g.chance(0.3)
    k = 3 if three else 2
    n = g.num(1, 3)
    return "AffineGrid", [g.f(n, k, k + 1), np.array([n, g.num(1, 3)] + [g.num(1, 5) for _ in range(k)], np.int64)], {"align_corners": g.num(0, 1)}, 1


@maker
def roi_align(g):
    n, r = g.num(1, 2), g.num(0, 4)
    hw = g.num(3, 9), g.num(3, 9)
    a = g.rng.uniform(0, 6, (r, 2))
    b = a + g.rng.uniform(0.5, 5, (r, 2))
    return "RoiAlign", [g.f(n, g.num(1, 3), *hw), np.concatenate([a, b], 1).astype(np.float32), g.ints(0, n - 1, r)], {
        "mode": g.pick(["avg", "max"]), "output_height": g.num(1, 4), "output_width": g.num(1, 4), "sampling_ratio": g.num(0, 3), "spatial_scale": g.pick([1.0, 0.5]),
        "coordinate_transformation_mode": g.pick(["half_pixel", "output_half_pixel"])}, 1


@maker
def max_roi_pool(g):
    n, r = g.num(1, 2), g.num(1, 4)
    rois = np.array([[g.num(0, n - 1), *sorted([g.num(0, 5), g.num(0, 5)]), 0] for _ in range(r)], np.float32)
    rois = np.concatenate([rois[:, :1], np.array([[g.num(0, 3), g.num(0, 3), g.num(3, 6), g.num(3, 6)] for _ in range(r)], np.float32)], 1)
    return "MaxRoiPool", [g.f(n, g.num(1, 3), g.num(5, 8), g.num(5, 8)), rois], {"pooled_shape": [g.num(1, 3), g.num(1, 3)], "spatial_scale": g.pick([1.0, 0.5])}, 1


@maker
def col2im(g):
    k = [g.num(1, 3) for _ in range(2)]
    d, s, p = [g.num(1, 2) for _ in k], [g.num(1, 2) for _ in k], [g.num(0, 1) for _ in range(4)]
    image = [(g.num(4, 8)) for _ in k]
    blocks = [(image[i] + p[i] + p[i + 2] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
    return "Col2Im", [g.f(g.num(1, 2), g.num(1, 3) * k[0] * k[1], blocks[0] * blocks[1]), np.array(image, np.int64), np.array(k, np.int64)], {"dilations": d, "pads": p, "strides": s}, 1


@maker
def center_crop_pad(g):
    s = [g.num(1, 7) for _ in range(g.num(1, 4))]
    axes = sorted(int(i) for i in g.rng.choice(len(s), g.num(1, len(s)), replace=False))
    return "CenterCropPad", [g.f(*s), np.array([g.num(1, 8) for _ in axes], np.int64)], {"axes": [i - len(s) if g.chance(0.3) else i for i in axes]}, 1


@maker
def dft(g):
    s = [g.num(1, 3)] + [g.num(1, 12) for _ in range(g.num(1, 2))]
    x = g.f(*s, g.pick([1, 2]))
    inverse = g.num(0, 1)
    one = x.shape[-1] == 1 and not inverse and g.chance(0.5)
    axis = g.num(1, len(s) - 1)
    length = None if g.chance(0.5) else np.array(g.num(1, 14), np.int64)
    return "DFT", [x, length, np.array(g.pick([axis, axis - len(s) - 1]), np.int64)], {"inverse": inverse, "onesided": int(one)}, 1


@maker
def stft(g):
    n = g.num(4, 8)
    return "STFT", [g.f(g.num(1, 2), g.num(n, 24), 1), np.array(g.num(1, 5), np.int64), g.f(n) if g.chance(0.5) else None, np.array(n, np.int64)], {"onesided": g.num(0, 1)}, 1


@maker
def deform_conv(g):
    group = g.pick([1, 1, 2])
    c, o = 2 * group, 2 * group
    k = [g.num(1, 3), g.num(1, 3)]
    size, s, d, p = [g.num(4, 7), g.num(4, 7)], [g.num(1, 2)] * 2, [g.num(1, 2)] * 2, [g.num(0, 1)] * 4
    out = [(size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
    if min(out) < 1:
        return None
    og = g.pick([1, 2])
    n = g.num(1, 2)
    return "DeformConv", [g.f(n, c, *size), g.f(o, c // group, *k), g.f(n, og * 2 * k[0] * k[1], *out), g.f(o) if g.chance(0.5) else None, g.f(n, og * k[0] * k[1], *out) if g.chance(0.5) else None], {
        "group": group, "offset_group": og, "kernel_shape": k, "strides": s, "dilations": d, "pads": p}, 1


@maker
def nms(g):
    b, c, n = g.num(1, 2), g.num(1, 3), g.num(30, 90) if g.chance(0.2) else g.num(1, 9)
    lo = g.rng.uniform(0, 5, (b, n, 2))
    boxes = np.concatenate([lo, lo + g.rng.uniform(0.2, 4, (b, n, 2))], 2).astype(np.float32)
    if g.chance(0.3):
        boxes[..., [0, 2]] = boxes[..., [2, 0]]
    more = [np.array([g.num(0, 4) if n < 30 else 70], np.int64), np.array([g.rng.uniform(0, 1)], np.float32), np.array([g.rng.uniform(0, 1)], np.float32)][: g.num(0, 3)]
    return "NonMaxSuppression", [boxes, g.rng.random((b, c, n)).astype(np.float32)] + more, {"center_point_box": g.num(0, 1)}, 1


@maker
def unique(g):
    s = [g.num(1, 5) for _ in range(g.num(1, 3))]
    a = {"sorted": 1}
    if g.chance(0.6):
        a["axis"] = g.num(-len(s), len(s) - 1)
    return "Unique", [g.ints(0, 3, *s).astype(g.pick([np.float32, np.int64]))], a, 4


@maker
def det(g):
    k = g.num(1, 6)
    return "Det", [g.f(*[g.num(1, 3) for _ in range(g.num(0, 2))], k, k)], {}, 1


@maker
def losses(g):
    c = g.num(1, 6)
    s = [g.num(1, 4)] + [g.num(1, 3) for _ in range(g.num(0, 2))]
    labels = g.ints(0, c - 1, *s)
    a = {"reduction": g.pick(["none", "sum", "mean"])}
    if g.chance(0.4):
        a["ignore_index"] = g.num(0, c)
        if g.chance(0.5):
            labels.reshape(-1)[0] = a["ignore_index"]
    x = g.f(s[0], c, *s[1:])
    ins = [x, labels] + ([np.abs(g.f(c)) + np.float32(0.1)] if g.chance(0.5) else [])
    if (labels >= c).any() and len(ins) == 3:
        ins = ins[:2]
    return g.pick([("NegativeLogLikelihoodLoss", ins, a, 1), ("SoftmaxCrossEntropyLoss", ins, a, 2)])


@maker
def recurrent(g):
    op = g.pick(["RNN", "GRU", "LSTM"])
    t, b, i, k = g.num(1, 5), g.num(1, 3), g.num(1, 5), g.num(1, 6)
    m = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    way = g.pick(["forward", "reverse", "bidirectional"])
    d = 2 if way == "bidirectional" else 1
    a = {"hidden_size": k, "direction": way}
    if op == "GRU":
        a["linear_before_reset"] = g.num(0, 1)
    if op != "LSTM" and g.chance(0.3):  # the text clips the input of every activation, ONNX Runtime not that of h
        a["clip"] = 0.7
    ins = [g.f(t, b, i), g.f(d, m * k, i, scale=0.5), g.f(d, m * k, k, scale=0.5), g.f(d, 2 * m * k, scale=0.5) if g.chance(0.7) else None,
           g.rng.integers(1, t + 1, b).astype(np.int32) if g.chance(0.4) else None, g.f(d, b, k) if g.chance(0.5) else None]
    if op == "LSTM" and g.chance(0.6):
        ins += [g.f(d, b, k) if g.chance(0.5) else None, g.f(d, 3 * k, scale=0.3) if g.chance(0.5) else None]
    return op, ins, a, 3 if op == "LSTM" else 2


@maker
def max_unpool(g):
    n, c, w = g.num(1, 2), g.num(1, 2), [g.num(2, 4), g.num(2, 4)]
    out = [x * 2 for x in w]
    at = np.stack([g.rng.choice(n * c * out[0] * out[1], w[0] * w[1], replace=False) for _ in range(n * c)]).reshape(n, c, *w)
    return "MaxUnpool", [g.f(n, c, *w), at.astype(np.int64)], {"kernel_shape": [2, 2], "strides": [2, 2]}, 1


@maker
def rotary(g):
    b, t, heads, d = g.num(1, 2), g.num(1, 5), g.num(1, 3), 2 * g.num(1, 4)
    a = {"interleaved": g.num(0, 1)}
    most = t + g.num(0, 3)
    if g.chance(0.5):
        return "RotaryEmbedding", [g.f(b, heads, t, d), g.f(most, d // 2), g.f(most, d // 2), g.ints(0, most - 1, b, t)], a, 1
    a["num_heads"] = heads
    return "RotaryEmbedding", [g.f(b, t, heads * d), g.f(most, d // 2), g.f(most, d // 2), g.ints(0, most - 1, b, t)], a, 1


@maker
def attention(g):
    b, h_, d = g.num(1, 2), g.pick([1, 2, 4]), g.num(1, 5)
    kv = g.pick([x for x in (1, 2, 4) if h_ % x == 0])
    t, s = g.num(1, 4), g.num(1, 5)
    a = {"is_causal": g.num(0, 1)}
    if g.chance(0.3):
        a["softcap"] = 2.0
    if g.chance(0.3):
        a["scale"] = 0.5
    mask = g.pick([None, g.f(t, s), g.rng.random((b, 1, t, s)) < 0.8])
    if mask is not None and mask.dtype == bool:
        mask[..., 0] = True
    return "Attention", [g.f(b, h_, t, d), g.f(b, kv, s, d), g.f(b, kv, s, g.num(1, 4)), mask], a, 1


@maker
def tensor_scatter(g):
    b, c, m, d = g.num(1, 2), g.num(1, 2), g.num(3, 6), g.num(1, 3)
    t = g.num(1, 3)
    return "TensorScatter", [g.f(b, c, m, d), g.f(b, c, t, d), g.ints(0, m - t, b)], {"mode": "linear", "axis": 2}, 1


@maker
def windows(g):
    return g.pick(["HannWindow", "HammingWindow", "BlackmanWindow"]), [np.array(g.num(1, 9), np.int64)], {"periodic": g.num(0, 1)}, 1


@maker
def mel(g):
    return "MelWeightMatrix", [np.array(v, np.int64) if isinstance(v, int) else np.array(v, np.float32) for v in (g.num(2, 8), g.pick([16, 32]), 8000, g.pick([0.0, 100.0]), 3500.0)], {}, 1


@maker
def top_k(g):
    s = [g.num(1, 6) for _ in range(g.num(1, 3))]
    axis = g.num(0, len(s) - 1)
    x = np.arange(np.prod(s), dtype=np.float32)
    g.rng.shuffle(x)
    return "TopK", [x.reshape(s), np.array([g.num(0, s[axis])], np.int64)], {"axis": axis, "largest": g.num(0, 1), "sorted": 1}, 2


@maker
def scatters(g):
    s = [g.num(1, 5) for _ in range(g.num(1, 3))]
    axis = g.num(0, len(s) - 1)
    long = g.chance(0.5)  # more of them than are taken at a time
    how = g.pick(["add", "max", "min"] if long else ["none", "add", "mul", "max", "min"])
    kind = g.pick([np.float32, np.float32, np.float64, np.int64, np.int32])
    data = lambda *shape: g.f(*shape, scale=5).astype(kind)
    if g.chance(0.5):
        s[-1] = g.num(250, 600) if long else s[-1]
        t = [g.num(1, d) for d in s]
        t[-1] = s[-1] if long else t[-1]
        at = g.ints(-s[axis], s[axis] - 1, *t)
        if how == "none":  # of equal indices any may be the last
            t[axis] = 1
            at = g.ints(-s[axis], s[axis] - 1, *t)
        return "ScatterElements", [data(*s), at, data(*t)], {"axis": axis, "reduction": how}, 1
    k = len(s) if long else g.num(1, len(s))
    n = 1 if how == "none" else g.num(250, 600) if long else g.num(1, 4)
    at = np.stack([g.ints(-d, d - 1, n) for d in s[:k]], -1)
    return "ScatterND", [data(*s), at, data(n, *s[k:])], {"reduction": how}, 1


@maker
def resize(g):
    s = [g.num(1, 2), g.num(1, 2)] + [g.num(1, 7) for _ in range(g.num(1, 2))]
    mode = g.pick(["nearest", "linear", "cubic"]) if len(s) == 4 else g.pick(["nearest", "linear"])
    how = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    a = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        a["nearest_mode"] = g.pick(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    return "Resize", [g.f(*s), None, None, np.array(s[:2] + [g.num(1, 9) for _ in s[2:]], np.int64)], a, 1


@maker
def lists(g):
    s = [g.num(1, 6) for _ in range(g.num(1, 3))]
    axis = g.num(0, len(s) - 1)
    if g.chance(0.5):
        return "Compress", [g.f(*s), g.rng.random(g.num(1, s[axis])) < 0.6], {"axis": axis - len(s) if g.chance(0.3) else axis}, 1
    return "NonZero", [g.ints(0, 1, *s).astype(np.float32)], {}, 1


def model(seed):
    """Of even seeds: applications of operators that have kernels, too."""
    g = Draw(seed)
    makers = MAKERS if seed % 2 else drawn_ops.MAKERS
    nodes, ins, outs, feeds = [], [], [], {}
    while len(nodes) < EACH:
        made = g.pick(makers)(g)
        if not made:
            continue
        op, operands, attrs, nout = made
        while operands and operands[-1] is None:
            operands = operands[:-1]
        names = []
        for k, x in enumerate(operands):
            names.append("" if x is None else "n%d_%d" % (len(nodes), k))
            if x is not None:
                ins.append(h.make_tensor_value_info(names[-1], h.np_dtype_to_tensor_dtype(x.dtype), x.shape))
                feeds[names[-1]] = x
        results = ["n%d_y%d" % (len(nodes), k) for k in range(nout)]
        nodes.append(h.make_node(op, names, results, **attrs))
        outs += [onnx.ValueInfoProto(name=r) for r in results]
    return nodes, ins, outs, feeds


def wrap(nodes, ins, outs, opset):
    return h.make_model(h.make_graph(nodes, "g", ins, outs), opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def others(node, ins, feeds, opset):
    """Results by ONNX Runtime, else by the reference."""
    mine = [i for i in ins if i.name in node.input]
    given = {i.name: feeds[i.name] for i in mine}
    m = wrap([node], mine, [onnx.ValueInfoProto(name=o) for o in node.output], opset)
    results = {}
    try:
        o = ort.SessionOptions()
        o.log_severity_level = 4
        results["ort"] = ort.InferenceSession(m.SerializeToString(), o, providers=["CPUExecutionProvider"]).run(None, given)
    except Exception:
        pass
    try:
        results["reference"] = ReferenceEvaluator(m).run(None, given)
    except Exception:
        pass
    return results


def differs(got, want):
    want = np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return "%s%s, not %s%s" % (got.dtype, got.shape, want.dtype, want.shape)
    if got.dtype.kind != "f":
        return None if np.array_equal(got, want) else "other elements: %s, not %s" % (got.reshape(-1)[:6], want.reshape(-1)[:6])
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= 2e-4 * max(1, np.abs(b[np.isfinite(b)]).max(initial=0)))
    return None if same.all() else "off by %g: %s, not %s" % (np.abs(a - b).max(), got.reshape(-1)[:4], want.reshape(-1)[:4])


def sh(dir, command):
    p = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=dir, capture_output=True, text=True)
    return "" if p.returncode == 0 else "exit %d: %s" % (p.returncode, p.stderr.strip()[-300:])


def show(node, feeds):
    return "%s(%s) {%s}" % (node.op_type, ", ".join("-" if not i else str(list(feeds[i].shape)) for i in node.input), ", ".join("%s=%s" % (a.name, h.get_attribute_value(a)) for a in node.attribute))


def one(seed, args, count):
    opset = args.opset
    nodes, ins, outs, feeds = model(seed)
    bad = []
    with tempfile.TemporaryDirectory() as dir:
        onnx.save(wrap(nodes, ins, outs, opset), dir + "/m.onnx")
        np.savez(dir + "/in.npz", **feeds)
        said = sh(dir, "run-ref -q m.onnx -i in.npz -o y.npz")
        if said:
            return ["seed %d: %s" % (seed, said)]
        with np.load(dir + "/y.npz") as f:
            y = dict(f)
        if args.native:
            said = sh(dir, "hone build -q m.onnx -o lib && run-dev -q lib.so -i in.npz -o z.npz")
            if said:
                bad.append("seed %d: library: %s" % (seed, said))
            else:
                with np.load(dir + "/z.npz") as f:
                    for n in nodes:
                        for o in n.output:
                            d = differs(f[o], y[o])
                            if d:
                                bad.append("seed %d: library: %s %s: %s" % (seed, o, show(n, feeds), d))
    for n in nodes:
        got = others(n, ins, feeds, opset)
        verdict = {who: [d for o, w in zip(n.output, r) for d in [differs(y[o], w)] if d] for who, r in got.items()}
        key = (n.op_type, "alone" if not verdict else "agrees" if not any(verdict.values()) else "differs")
        count[key] = count.get(key, 0) + 1
        if verdict and all(verdict.values()):
            bad.append("seed %d: %s: %s" % (seed, show(n, feeds), "; ".join("%s %s" % (w, d[0]) for w, d in verdict.items())))
    return bad


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--first", type=int, default=1)
    a.add_argument("--models", type=int, default=10)
    a.add_argument("--opset", type=int, default=24)
    a.add_argument("--native", action="store_true")
    args = a.parse_args()
    warnings.simplefilter("ignore")
    count, failed = {}, 0
    for seed in range(args.first, args.first + args.models):
        for line in one(seed, args, count):
            failed += 1
            print("not ok - " + line, flush=True)
    for (op, what), n in sorted(count.items()):
        print("# %4d %s %s" % (n, op, what))
    print("%s - %d models" % ("not ok" if failed else "ok", args.models))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
