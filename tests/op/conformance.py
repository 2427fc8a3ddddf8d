"""The conformance cases of an installed onnx as compiled libraries: what hone build makes of a case gives the results that come with it.
conformance.py [NAME...]: only cases whose names have one of these in them."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

SMALL_FLOATS = {16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e5m2fnuz}
REFUSED = (64, 65, 69)  # sizes that data decides, types and operators that there are not
cases = []


def array(x):
    x = onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)
    return x.astype(np.float32) if x.dtype in SMALL_FLOATS.values() else x


def tool(*args):
    p = subprocess.run(args, capture_output=True, text=True, timeout=120)
    return p.returncode, p.stderr.strip().split("\n")[-1]


def differs(got, want, elem, case):
    if got.shape != want.shape or got.dtype != want.dtype:
        return "%s %s, not %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    if got.dtype.kind != "f":
        same = got == want
    else:
        e = {1: 1e-5, 11: 1e-7, 10: 2.0**-9, 16: 2.0**-6}.get(elem, 2.0**-2)
        a, b = got.astype(np.float64), want.astype(np.float64)
        most = float(np.abs(b[np.isfinite(b)]).max()) if np.isfinite(b).any() else 0
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= np.maximum(20 * e * np.abs(b) + e * most, case.atol + case.rtol * np.abs(b))))
    if same.all():
        return None
    at = int(np.flatnonzero(~same.reshape(-1))[0])
    return "element %d is %r, not %r" % (at, got.reshape(-1)[at].item(), want.reshape(-1)[at].item())


def one(k):
    case = cases[k]
    g = case.model.graph
    if any(i.type.WhichOneof("value") != "tensor_type" or i.type.tensor_type.elem_type in (8, 14, 15) for i in list(g.input) + list(g.output)):
        return "no tensors of numbers", ""
    inputs, outputs = case.data_sets[0]
    with tempfile.TemporaryDirectory() as dir:
        path = dir + "/case.onnx"
        onnx.save(case.model, path)
        feeds = {i.name: array(x) for i, x in zip(g.input, inputs) if x is not None}
        np.savez(dir + "/in.npz", **feeds)
        shapes = [a for i in g.input if i.name in feeds and feeds[i.name].ndim for a in ("--shape", "%s:%s" % (i.name, "x".join(map(str, feeds[i.name].shape))))]
        consts = [a for n, x in feeds.items() if x.dtype.kind in "iu" and x.ndim < 2 and 0 < x.size <= 16 for a in ("--const", "%s=%s" % (n, ",".join(map(str, x.reshape(-1)))))]
        tried, given = None, feeds
        for extra in ([], consts, shapes, shapes + consts):
            rc, said = tool("hone", "build", path, "-o", dir + "/case", *extra)
            tried = tried or (rc, said)
            if rc == 0:
                given = {n: x for n, x in feeds.items() if not (extra and "--const" in extra and any(a.startswith(n + "=") for a in extra))}
                break
            if rc not in REFUSED:
                return "failed", "hone build: exit %d: %s" % (rc, said)
        else:
            return "refused", tried[1]
        np.savez(dir + "/in.npz", **given)
        args = ["-i", dir + "/in.npz"] if given else []
        rc, said = tool("run-dev", dir + "/case.so", *args, "-o", dir + "/out.npz")
        if rc == 65 and "which is random" in said:
            return "random", said
        if rc:
            return "failed", "run-dev: exit %d: %s" % (rc, said)
        got = np.load(dir + "/out.npz")
        for o, want in zip(g.output, outputs):
            why = differs(got[o.name], array(want), o.type.tensor_type.elem_type, case) if o.name in got.files else "no output %s" % o.name
            if why:
                return "failed", "%s: %s" % (o.name, why)
    return "equal", ""


def main():
    warnings.simplefilter("ignore")
    cases.extend(c for c in collect_testcases(None) if len(sys.argv) < 2 or any(w in c.name for w in sys.argv[1:]))
    counts = {}
    with multiprocessing.Pool(2) as pool:
        for case, (verdict, said) in zip(cases, pool.imap(one, range(len(cases)))):
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict == "failed":
                print("not ok - %s: %s" % (case.name, said), flush=True)
            elif os.environ.get("VERBOSE"):
                print("# %s: %s %s" % (case.name, verdict, said))
    bad = counts.get("failed", 0)
    print("%s - compiled: %s" % ("not ok" if bad or not counts.get("equal") else "ok", ", ".join("%d %s" % (n, v) for v, n in sorted(counts.items()))))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
