"""Values of every type through run-ref: what NumPy and ml_dtypes write it reads, and what it writes they read.
values.py MODEL.g: its outputs are its inputs, out_NAME of NAME."""

import subprocess
import sys

import ml_dtypes
import numpy as np

small = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4}
numbers = {n: np.array([[1, 0, 3], [2, 7, 5]] if n == "u4" else [[1, -1, 3], [2, -7, 5]]).astype(t) for n, t in small.items()}
given = dict(numbers)
given["c64"] = np.array([1 + 2j, -3j], np.complex64)
given["str"] = np.array([["Ärger", ""], ["日本", "a b"]])
given["seq[0]"], given["seq[1]"] = np.arange(3, dtype=np.float32), np.zeros((2, 2), np.float32)
given["none[]"] = np.zeros(0, np.int64)
given["opt[0]"] = np.array(["x"])
given["empty?"] = np.zeros(0, np.float32)


def run(model, values):
    np.savez("in.npz", **values)
    p = subprocess.run(["run-ref", model, "-i", "in.npz", "-o", "out.npz"], capture_output=True, text=True)
    return p.returncode, p.stderr


def wrong(got, want):
    if want.dtype.type in small.values():
        got = got.astype(want.dtype)
    return got.dtype != want.dtype or got.shape != want.shape or not (got == want).all()


def check(what, bad):
    print("%s - %s" % ("not ok" if bad else "ok", what))


rc, said = run(sys.argv[1], given)
out = np.load("out.npz") if rc == 0 else {}
names = {"out_" + n for n in given}
check("all arrays are there: %s" % said.strip(), set(getattr(out, "files", [])) ^ names)
for n, x in given.items():
    check(n, "out_" + n not in getattr(out, "files", []) or wrong(out["out_" + n], x))
rc, said = run(sys.argv[1], {**given, **{n: x.astype(np.float32 if n[0] in "be" else np.int8 if n == "i4" else np.uint8) for n, x in numbers.items()}})
check("plain numbers for types that NumPy does not have", rc != 0 or any(wrong(np.load("out.npz")["out_" + n], x) for n, x in numbers.items()))
rc, said = run(sys.argv[1], {**given, "i4": np.array([[8, 0, 0], [0, 0, 0]], np.int8)})
check("8 is no i4", rc != 65 or "8 is no number of type i4" not in said)
rc, said = run(sys.argv[1], {**given, "c64": numbers["bf16"]})
check("bytes of no type are not taken for others", rc != 65 or "whose type it does not say" not in said)
