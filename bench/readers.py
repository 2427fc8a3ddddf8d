#!/usr/bin/env python3
"""readers.py MODEL.onnx... (or directories): is what hone simplify writes slower or larger for others?

For each model ONNX Runtime's time (one thread, its own optimisations on) of what hone simplify wrote, as a share of the time of the model as
it is, and the same of their bytes. Both run in turns; the least processor time of many runs counts. Sizes that are open are 1 for the first axis and --size
for the others; floats are random, integers 1. A model that ONNX Runtime does not run so is named and left out. hone must be in PATH. Ends
with 1 if a model is above 1.05 of the time (and of a run more than 2 microseconds), or of its bytes above 1.01, or fails."""
import argparse
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from simplify import find

SLOWER, LARGER, NOTHING = 1.05, 1.01, 2e-6


def session(path):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed_of(s, size):
    rng, feed = np.random.default_rng(1), {}
    names = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": bool, "string": object}
    for i in s.get_inputs():
        kind = i.type[i.type.index("(") + 1:-1]
        dims = [d if isinstance(d, int) and d > 0 else 1 if k == 0 else size for k, d in enumerate(i.shape)]
        t = np.dtype(names.get(kind, kind))
        feed[i.name] = rng.standard_normal(dims).astype(t) if t.kind == "f" else np.full(dims, "1" if t.kind == "O" else 1, t)
    return feed


def least(s, feed, seconds):
    best, end = math.inf, time.process_time() + seconds
    while time.process_time() < end or best == math.inf:
        start = time.process_time()
        s.run(None, feed)
        best = min(best, time.process_time() - start)
    return best


def ratio(before, after, size, seconds):
    """Least times of both, in turns of a hundredth of the time, so that slow phases of a machine meet both."""
    a, b = session(before), session(after)
    feed = feed_of(a, size)
    a.run(None, feed), b.run(None, feed)
    best = [math.inf, math.inf]
    for _ in range(50):
        for k, s in enumerate((a, b)):
            best[k] = min(best[k], least(s, feed, seconds / 100))
    return best


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--size", type=int, default=64, help="what open sizes are, but of first axes (64)")
    p.add_argument("--seconds", type=float, default=1, help="for each model (1)")
    p.add_argument("models", nargs="+")
    args = p.parse_args()
    shares, bad = [], 0
    print(f"{'model':44}{'ms':>10}{'time':>8}{'bytes':>8}")
    with tempfile.TemporaryDirectory() as work:
        for path in find(args.models):
            name, out = os.path.basename(path)[:43], os.path.join(work, "out.onnx")
            try:
                feed = feed_of(session(path), args.size)
                session(path).run(None, feed)
            except Exception as e:  # what it raises has no type of its own
                print(f"{name:44} not run: {str(e).strip().splitlines()[0][:90]}", flush=True)
                continue
            p = subprocess.run(["hone", "simplify", "-q", path, out], capture_output=True, text=True)
            if p.returncode:
                bad += 1
                print(f"{name:44} hone simplify: {p.stderr.strip()[-160:]}", flush=True)
                continue
            try:
                before, after = ratio(path, out, args.size, args.seconds)
            except Exception as e:
                bad += 1
                print(f"{name:44} after it: {str(e).strip().splitlines()[0][:160]}", flush=True)
                continue
            size = os.path.getsize(out) / os.path.getsize(path)
            worse = (after > SLOWER * before and after - before > NOTHING) or size > LARGER
            bad += worse
            shares.append(after / before)
            print(f"{name:44}{before * 1e3:10.3f}{after / before:8.3f}{size:8.3f}{'  worse' if worse else ''}", flush=True)
    if shares:
        print(f"{len(shares)} models, time {math.exp(sum(map(math.log, shares)) / len(shares)):.3f} (geometric mean); {bad} worse or failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
