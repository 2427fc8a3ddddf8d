"""The evaluator against onnx's reference implementation and ONNX Runtime, on the random cases of tests/random_cases.h: contents at the
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

# Who disagrees, on what (a pattern of the task's text), and why. numpy: onnx's reference; ort: ONNX Runtime.
UNDEFINED = "what an integer type does not have is undefined: the nearest it has, here; the lowest, there"
ZERO_TAPS = "multiplies what padding, dilation or weights of 0 leave out: 0 times infinity"
EXPLAINED = []


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
        return "shape %s, ours %s" % (got.shape, want.shape)
    if got.dtype != want.dtype:
        return "type %s, ours %s" % (got.dtype, want.dtype)
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
    return "element %d is %r, ours %r" % (at, got.reshape(-1)[at].item(), want.reshape(-1)[at].item())


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


def explained(who, text, feeds, said):
    for w, pattern, why in EXPLAINED:
        if w == who and re.search(pattern, text):
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
            if who == "ort" and not re.search("NOT_IMPLEMENTED|NotImplemented|Unsupported data type|not supported", said, re.I) and not explained(who, text, feeds, said):
                failed.append("ort: " + said[:300])
            continue
        for g, w, o in zip(got, want, model.graph.output):
            said = differs(g, w, o.type.tensor_type.elem_type, flags, scale)
            if said is None:
                count.add("%s equal" % who)
                continue
            why = explained(who, text, feeds, said)
            if why:
                count.add("%s differs: %s" % (who, why))
            else:
                failed.append("%s: %s (inputs %s)" % (who, said, " ".join("%s" % widened(f).reshape(-1)[:0] for f in ())))
    return failed


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("numbers", help="build/tests/numbers")
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
    for line in list.stdout.splitlines():
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
