"""The evaluator against onnx's reference implementation and ONNX Runtime, on the random cases of tests/op/random_cases.h: contents at the
edges of their types. Every file passes onnx.checker (full) and, where ONNX Runtime has the operator for the type, loads in it.
Where one of the two disagrees, EXPLAINED says why; anything else fails."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

EXACT, SUMS, NEAR, ZEROS = 1, 2, 4, 8
F8 = {17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e5m2fnuz}
SMALL_FLOATS = {16: ml_dtypes.bfloat16, **F8}
HIGHEST_OPSET = 26  # ONNX Runtime's

# Who disagrees (numpy: onnx's reference; ort: ONNX Runtime; or both), on what (a pattern of the task's text), which elements and why. An
# explanation covers a difference only where all elements that differ are such (see COVERS), and, of one of the two alone, only
# where the other has our numbers, cannot run it, or is explained itself.
UNDEFINED = "what an integer type does not have is undefined: the nearest it has, here; the lowest or any, there"
ZERO_TAPS = "multiplies with 0 what padding, dilation or a weight of 0 leaves out: of infinity that is NaN"
NAN = "NaN is lost in a comparison, or found there; here as Max, ReduceMax and ArgMax of the reference have it"
HALVES = "computes in halves, or in float what is double, and overflows or rounds on the way"
WIDE_SUMS = "sums of integers go through floats, or end at the largest; here they wrap, as Add does"
DOUBLES = "integers of 64 bits go through doubles"
REFUSED = "refuses a divisor of 0, what has no elements, or the type"
EXPLAINED = [
    ("both", r"(^|; )Cast(Like)?\b", "beyond", UNDEFINED),
    ("ort", r"^Cast\{saturate=0 to=(17|19)\}", "no number", "halfway to the first number out of range: to even, which is out of range"),
    ("numpy", r"^QuantizeLinear f16", "over", UNDEFINED),
    ("both", r"^Shrink\{.*\} u\d", "below", UNDEFINED),
    ("numpy", r"^Cast\{to=(21|22|25|26)\}", "fraction", "cuts off"),
    ("ort", r"^Cast\{to=(21|22|25|26)\}", "half", "halves go away from 0"),
    ("ort", r"^(MatMul|Conv)Integer", "any", "where a CPU has no sums of four products, sums of two end at the largest of 16 bits"),
    ("numpy", r"^MatMulInteger \S+ (\d+x)*(\d+)x\2 .* \2c( |$)", "any", "a zero point for each row is taken for one for each column"),
    ("both", r"^Pow (i32|i64) .* (f32|f64)", "huge", UNDEFINED),
    ("both", r"^Pow [iu]\d", "huge", UNDEFINED),
    ("both", r"^Shrink\{.*\} [iu]\d", "beyond", UNDEFINED),
    ("both", r"^Shrink\{.*\} [iu](32|64)", "huge", UNDEFINED),
    ("both", r"^QuantizeLinear", "wide", UNDEFINED),
    ("both", r"^QuantizeLinear\{.*block_size", "wide by blocks", UNDEFINED),
    ("both", r"^QuantizeLinear", "wide by axis", UNDEFINED),
    ("ort", r"^(Q|Deq)uantizeLinear\{.*block_size=\d+.*\} \S+ \d+ ", "refused", "refuses blocks of the only axis"),
    ("ort", r"^ReduceMean\S* i64", "any", WIDE_SUMS),
    ("both", r"^Resize", "no number", ZERO_TAPS),
    ("numpy", r"^(Conv|ConvTranspose|AveragePool)\{", "no number", ZERO_TAPS),
    ("both", r"^(MaxPool|GlobalMaxPool|ReduceM(ax|in)|ReduceLogSumExp|Sign|ScatterElements\{.*reduction=m(ax|in)|ScatterND\{.*reduction=m(ax|in)|Clip|LogSoftmax)", "no number", NAN),
    ("both", r"^(Hardmax|ArgM(ax|in)|TopK|MaxPool)\b", "nan", NAN),
    ("both", r"^LogSoftmax", "no number", "of infinity less infinity"),
    ("numpy", r"^LogSoftmax", "far below", "the logarithm of a Softmax, which is 0, or has few bits, where the difference is large"),
    ("numpy", r"^PRelu", "no number", "multiplies 0 with the slope too; by the standard's words only what is less than 0"),
    ("numpy", r"^Pow .*=0.5$", "no number", "NumPy takes the square root of -infinity instead of its power"),
    ("numpy", r"^(LRN|LpPool)", "any", "the reference squares, or averages, other elements than the standard's formula names (batch 0 of all, windows cut off)"),
    ("ort", r"^LRN", "no number", "a running sum: infinity less infinity"),
    ("numpy", r"^MaxPool\{.*pads=", "shape", "the reference mixes up beginnings and ends of the padding where they differ"),
    ("numpy", r"^MaxPool\{.*pads=\d,1\}", "any", "the reference cuts off what one row is padded with at its end"),
    ("numpy", r"^ConvTranspose\{.* group=[2-9]", "any", "the reference's groups and batches: other images"),
    ("numpy", r"^[^;]* f16|^(Erf|RMSNormalization)", "rounded", HALVES),
    ("ort", r"^Shrink\{.*\} f64", "rounded", HALVES),
    ("both", r"^InstanceNormalization f16", "no number", HALVES),
    ("numpy", r"^(Instance|Layer|RMS)Normalization\S* f16", "large", HALVES),
    ("both", r"^Reduce(Sum|L1|L2|LogSum|LogSumExp|Mean|Prod|SumSquare)\b\S* [iu]\d", "huge", WIDE_SUMS),
    ("numpy", r"^Reduce(L1|L2|SumSquare|LogSum|LogSumExp|Sum|Prod|Mean)\b\S* [iu]\d", "type", WIDE_SUMS),
    ("both", r"^Gemm.* [iu]\d", "huge", DOUBLES),
    ("ort", r"^Clip", "no number", "without a bound it is the largest number, not infinity"),
    ("ort", r"^Clip bf16", "refused", REFUSED),
    ("ort", r"(^|; )(Div|Mod)\b", "by zero", REFUSED),
    ("ort", r"(^|; )(MatMul|ArgM(ax|in)|(Layer|RMS)Normalization)\b", "empty", REFUSED),
    ("both", r"^Einsum\{[^}]*,[^}]*,", "no number", "of infinities and 0 what is multiplied and added first decides"),
    ("numpy", r"^Slice .*=-", "shapes", "as NumPy does: of a start before the axis nothing backwards, where the standard's words take the first"),
    ("numpy", r"^Slice", "any", "as NumPy does: of a start before the axis nothing backwards, where the standard's words take the first"),
    ("numpy", r"^BatchNormalization", "any", "the reference of old opsets mixes in the mean and variance of the batch"),
    ("numpy", r"^OneHot(\{.*\})? f", "any", "an index that is no whole number is none there; here it is cut off, as by ONNX Runtime"),
    ("ort", r"^MatMulInteger \S+ \d+x0 ", "any", "what a product of no columns is stays unwritten"),
    ("ort", r"^MatMulInteger .*[ui]8 \d+(x\d+)*c?( |$)", "refused", "takes one zero point for all rows, and for columns of matrices alone or of each"),
    ("ort", r"^Resize\{mode=nearest .* f16", "any", HALVES),
]


class Difference:
    """How got (of another program) differs from want (ours), and where."""

    def __init__(self, said, got=None, want=None, bad=None):
        self.said, self.got, self.want, self.bad = said, got, want, bad

    def of(self, feeds):
        """Elements that differ, of what they may be made of: the inputs of their shape, else all of every input."""
        same = [f[self.bad] for f in feeds if f.shape == self.bad.shape]
        return np.concatenate([x.reshape(-1).astype(np.float64) for x in same or feeds])


def all_of(condition):
    return bool(np.all(condition))


def nowhere_small(text, feeds, d):
    """What is cast, or shrunk, to an integer may be outside of it, at each element that differs."""
    least = 127 if re.search(r"(to=|CastLike .* |^Shrink\{.*\} )([23]\b|[iu]8)", text) else 2**15 - 1 if re.search(r"(to=|[iu]1)[456]", text) else 2**31 - 1
    same = [f for f in feeds if f.shape == d.bad.shape]
    if not same:
        return any(not all_of(np.abs(f.astype(np.float64)) < least) or all_of(f < 0) for f in feeds)
    outside = np.zeros(d.bad.shape, bool)
    for f in same:
        x = f.astype(np.float64)
        outside |= ~(np.abs(x) < least / 4) | (x < 0)  # some steps on the way add a little
    if "; Sub " in text and len(same) > 1:
        outside |= same[0].astype(np.float64) < same[1].astype(np.float64)
    return all_of(outside[d.bad])


def by_blocks(text, feeds):
    """What is quantised, by the scale of its block."""
    x, block, axis = feeds[0].astype(np.float64), int(re.search(r"block_size=(\d+)", text)[1]), re.search(r"axis=(-?\d+)", text)
    axis = int(axis[1]) if axis else 1
    scale = np.repeat(feeds[1].astype(np.float64), block, axis)
    with np.errstate(all="ignore"):
        return x / np.take(scale, range(x.shape[axis]), axis)


def by_axis(text, feeds):
    """What is quantised, by the scale of its place along the axis."""
    x, scale, axis = feeds[0].astype(np.float64), feeds[1].astype(np.float64), re.search(r"axis=(-?\d+)", text)
    if scale.size > 1:
        scale = scale.reshape([-1 if k == (int(axis[1]) if axis else 1) % x.ndim else 1 for k in range(x.ndim)])
    with np.errstate(all="ignore"):
        return x / scale


def first(feeds):
    return feeds[0].astype(np.float64)


def far(x):
    return ~(np.abs(x) < 2.0**31)


COVERS = {
    "any": lambda text, feeds, d: d.bad is not None,
    "nan": lambda text, feeds, d: d.bad is not None and any(np.isnan(f).any() for f in feeds if f.dtype.kind == "f"),
    "no number": lambda text, feeds, d: d.bad is not None and d.got.dtype.kind == "f" and all_of(~np.isfinite(d.got[d.bad]) | ~np.isfinite(d.want[d.bad])),
    "fraction": lambda text, feeds, d: d.bad is not None and all_of((np.rint(first(feeds)[d.bad]) != first(feeds)[d.bad]) | far(first(feeds)[d.bad])),
    "half": lambda text, feeds, d: d.bad is not None and all_of((np.abs(first(feeds)[d.bad]) % 1 == 0.5) | far(first(feeds)[d.bad])),
    "over": lambda text, feeds, d: d.bad is not None and all_of(~(np.abs(first(feeds)[d.bad]) < 6550)),
    "below": lambda text, feeds, d: d.bad is not None and all_of(first(feeds)[d.bad] < float(re.search(r"bias=([^ }]+)", text)[1])),
    "wide": lambda text, feeds, d: d.bad is not None and all_of(~(np.abs(d.of(feeds[:1])) < 2.0**31 / 10)),
    "wide by blocks": lambda text, feeds, d: d.bad is not None and all_of(~(np.abs(by_blocks(text, feeds)[d.bad]) < 2.0**31 / 10)),
    "wide by axis": lambda text, feeds, d: d.bad is not None and "block_size" not in text and all_of(~(np.abs(by_axis(text, feeds)[d.bad]) < 2.0**31 / 10)),
    "one": lambda text, feeds, d: d.bad is not None and (all_of(np.abs(d.got[d.bad].astype(np.float64) - d.want[d.bad]) <= 1) or not all_of(np.isfinite(d.of(feeds[:1])))),
    "huge": lambda text, feeds, d: d.bad is not None and all_of((np.abs(d.got[d.bad].astype(np.float64)) >= 2**24) | (np.abs(d.want[d.bad].astype(np.float64)) >= 2**24)),
    "rounded": lambda text, feeds, d: d.bad is not None and rounded(d.got[d.bad].astype(np.float64), d.want[d.bad].astype(np.float64), d.want),
    "beyond": lambda text, feeds, d: d.bad is not None and nowhere_small(text, feeds, d),
    "large": lambda text, feeds, d: d.bad is not None and any((np.abs(f) >= 256).any() for f in feeds),
    "far below": lambda text, feeds, d: d.bad is not None and all_of(~(d.want[d.bad] > -80)),
    "shape": lambda text, feeds, d: d.said.startswith("shape ") and not even(re.search(r"pads=([\d,]+)", text)[1].split(",")),
    "shapes": lambda text, feeds, d: d.said.startswith("shape "),
    "type": lambda text, feeds, d: re.match("type u?int64, ours u?int", d.said),
    "by zero": lambda text, feeds, d: re.search("Integer (modulo|division) by zero", d.said),
    "empty": lambda text, feeds, d: d.bad is None and any(f.size == 0 for f in feeds),
    "refused": lambda text, feeds, d: d.bad is None,
}


def even(pads):
    return pads[: len(pads) // 2] == pads[len(pads) // 2 :]


def rounded(got, want, all_want):
    """Off by a few grains of a half, or beyond its range."""
    scale = np.abs(all_want[np.isfinite(all_want)].astype(np.float64)).max(initial=1)
    return all_of(~np.isfinite(got) | ~np.isfinite(want) | (np.abs(got - want) <= 2.0**-6 * np.abs(want) + 2.0**-8 * scale))


def widened(a):
    return a.astype(np.float32) if a.dtype in SMALL_FLOATS.values() else a


def given(model, npz):
    feeds = {}
    for i in model.graph.input:
        a = npz[i.name]
        t = i.type.tensor_type.elem_type
        feeds[i.name] = a.astype(SMALL_FLOATS[t]) if t in SMALL_FLOATS else a
    return feeds


def epsilon(t):
    return {1: 2.0**-23, 11: 2.0**-52, 10: 2.0**-10, 16: 2.0**-7, 17: 2.0**-3, 18: 2.0**-3, 19: 2.0**-2, 20: 2.0**-2}.get(t, 0)


def differs(got, want, elem, flags, scale):
    """None, or a line: how got (of another program) differs from want (ours)."""
    got, want = np.asarray(widened(np.asarray(got))), widened(want)
    if got.shape != want.shape:
        return Difference("shape %s, ours %s" % (got.shape, want.shape))
    if got.dtype != want.dtype:
        return Difference("type %s, ours %s" % (got.dtype, want.dtype))
    if got.dtype.kind != "f":
        bad = got != want
    else:
        e = epsilon(elem)
        with np.errstate(all="ignore"):
            a, b = got.astype(np.float64), want.astype(np.float64)
            near = np.abs(a - b) <= 16 * e * np.abs(b) + (64 * max(e, 2.0**-23) * scale if flags & (SUMS | NEAR) else 0) + (2.0**-24 if elem == 10 else 2.0**-126 if elem in (1, 16) else 0)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        bad = ~(same | (near & np.isfinite(a) & np.isfinite(b)))
    if not bad.any():
        return None
    at = int(np.flatnonzero(bad.reshape(-1))[0])
    return Difference("element %d is %r, ours %r" % (at, got.reshape(-1)[at].item(), want.reshape(-1)[at].item()), got, want, bad)


def scale_of(feeds, outs):
    most = 1.0
    for a in list(feeds.values()) + outs:
        a = np.abs(widened(a).astype(np.float64))
        a = a[np.isfinite(a)]
        most = max(most, float(a.max()) if a.size else 0)
    return most


def by_numpy(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def with_floats(model):
    """Results that NumPy has no type for are cast to float32."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    for o in m.graph.output:
        if o.type.tensor_type.elem_type in SMALL_FLOATS:
            m.graph.node.append(onnx.helper.make_node("Cast", [o.name], [o.name + "_f32"], to=1))
            o.name += "_f32"
            o.type.tensor_type.elem_type = 1
    return m


def by_ort(model, feeds):
    o = ort.SessionOptions()
    o.log_severity_level = 4
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    s = ort.InferenceSession(with_floats(model).SerializeToString(), o, providers=["CPUExecutionProvider"])
    values = {}
    for i in model.graph.input:
        t, a = i.type.tensor_type.elem_type, feeds[i.name]
        values[i.name] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(a.view(np.uint16 if t == 16 else np.uint8), t) if t in SMALL_FLOATS else ort.OrtValue.ortvalue_from_numpy(a)
    return [v.numpy() for v in s.run_with_ort_values(None, values)]


def explained(who, text, feeds, d, alone):
    """alone: the other program does not have our numbers either, and nothing explains it."""
    for w, pattern, what, why in EXPLAINED:
        if w in (who, "both") and (w == "both" or not alone) and re.search(pattern, text) and COVERS[what](text, [widened(f) for f in feeds.values()], d):
            return why
    return None


class Count(dict):
    def add(self, key):
        self[key] = self.get(key, 0) + 1


def one(dir, n, flags, text, count, args):
    failed = []
    path = "%s/%s" % (dir, n)
    model = onnx.load(path + ".onnx")
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as e:
        failed.append("not valid: " + str(e).strip().split("\n")[0])
    feeds = given(model, np.load(path + ".in.npz"))
    npz = np.load(path + ".out.npz")
    want = [npz[o.name] for o in model.graph.output]
    scale = scale_of(feeds, want)
    found = {"numpy": [], "ort": []}
    for who, run in (("numpy", by_numpy), ("ort", by_ort)):
        if who == "ort" and any(o.version > HIGHEST_OPSET for o in model.opset_import if o.domain == ""):
            count.add("ort: opset too new")
            continue
        try:
            got = run(model, feeds)
        except Exception as e:
            said = str(e).strip().replace("\n", " ")
            count.add("%s cannot" % who)
            if args.verbose:
                print("# %s %s: %s: cannot: %s" % (n, text, who, said[:200]))
            if who == "ort" and not re.search("NOT_IMPLEMENTED|NotImplemented|Unsupported data type|not supported", said, re.I) and not explained(who, text, feeds, Difference(said), False):
                failed.append("ort: " + said[:300])
            continue
        for g, w, o in zip(got, want, model.graph.output):
            d = differs(g, w, o.type.tensor_type.elem_type, flags, scale)
            if d is None:
                count.add("%s equal" % who)
            else:
                found[who].append(d)
    for who, other in (("numpy", "ort"), ("ort", "numpy")):
        alone = any(not explained(other, text, feeds, d, False) for d in found[other])
        for d in found[who]:
            why = explained(who, text, feeds, d, alone)
            if why:
                count.add("%s differs: %s" % (who, why))
            else:
                failed.append("%s: %s" % (who, d.said))
    return failed


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("numbers", help="build/check/numbers")
    a.add_argument("--first", type=int, default=1)
    a.add_argument("--cases", type=int, default=300)
    a.add_argument("--verbose", action="store_true")
    args = a.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    dir = tempfile.mkdtemp()
    list = subprocess.run([args.numbers, "write", dir, str(args.first), str(args.cases)], capture_output=True, text=True)
    if list.returncode:
        sys.exit("numbers write: exit %d: %s" % (list.returncode, list.stderr))
    count, bad = Count(), 0
    lines = list.stdout.splitlines()
    if len(lines) != args.cases:
        bad += 1
        print("not ok - %d cases were written, not %d" % (len(lines), args.cases))
    for line in lines:
        n, flags, text = line.split("\t")[:3]
        if flags == "refused":
            count.add("not evaluated")
            continue
        for why in one(dir, n, int(flags), text, count, args):
            bad += 1
            print("not ok - %s %s: %s" % (n, text, why), flush=True)
        for end in (".onnx", ".in.npz", ".out.npz"):
            os.unlink("%s/%s%s" % (dir, n, end))
    os.rmdir(dir)
    for key in sorted(count):
        print("# %5d %s" % (count[key], key))
    print("%s - %d cases against onnx %s and ONNX Runtime %s" % ("not ok" if bad else "ok", args.cases, onnx.__version__, ort.__version__))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
