"""The judge of conformance on results with a fault in them: for each type of 8 bits and fewer every number, and then one sign, zero, NaN or unit
in the last place that is wrong."""

import sys
from types import SimpleNamespace

import ml_dtypes
import numpy as np

import judge

case = SimpleNamespace(atol=1e-7, rtol=1e-3)
bad = 0


def check(good, what):
    global bad
    bad += not good
    print("%sok - %s" % ("" if good else "not ", what))


for name in judge.SMALL:
    kind = np.dtype(getattr(ml_dtypes, name))
    bits = 8 if "8" in name[:6] else 6 if "6" in name[:6] else 4
    want = np.arange(2**bits, dtype=np.uint8).view(kind)
    good = want.astype(np.float32)
    check(judge.differs(good.copy(), want, case) is None, "%s: all of its numbers" % name)
    missed = []
    for i in range(len(good)):
        near = [k for k in (i - 1, i + 1) if 0 <= k < len(good) and np.isfinite(good[k]) and good[k] != good[i]]
        faults = [good[k] for k in near] + [-good[i] if good[i] or name.find("uz") < 0 else np.nan] + ([np.float32(0)] if good[i] else []) + ([] if np.isnan(good[i]) else [np.nan])
        for fault in faults:
            if np.isnan(good[i]) and np.isnan(fault) or (good[i] == fault and np.signbit(good[i]) == np.signbit(fault)):
                continue
            got = good.copy()
            got[i] = fault
            if judge.differs(got, want, case) is None:
                missed.append((good[i], fault))
    check(not missed, "%s: a sign, a zero, a NaN, a unit%s" % (name, "" if not missed else ": missed %s" % missed[:3]))
sys.exit(bad > 0)
