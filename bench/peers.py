#!/usr/bin/env python3
"""Compare a compiled model with ONNX Runtime: first the numbers, then the time.

Both get the same inputs and write into arrays made beforehand (ONNX Runtime through
IOBinding), on one thread of one core.  They take turns: in every round each runs once
unmeasured, so that its weights are where they would be if it ran alone, then as often as
fits 20 ms; who begins changes from round to round.  Time is the processor time of the whole
process, all threads together: what else runs on the core does not count.  Printed are quartiles
of the time of a run and of the ratio of one round's two times.
"""

import argparse
import os
import sys
import time

import numpy as np
import onnxruntime as ort

from native import Model

SLICE = 0.02


def session(path):
    ort.set_default_logger_severity(3)
    o = ort.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.add_session_config_entry("session.set_denormal_as_zero", "1")  # as the library does
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def fill(x, name, ranges, rng):
    if x.dtype.kind == "f":
        x[...] = rng.standard_normal(x.shape)
    elif x.dtype.kind == "b":
        x[...] = rng.integers(0, 2, x.shape)
    else:
        low, high = ranges.get(name, (0, 1))
        x[...] = rng.integers(low, high + 1, x.shape)


def bind_peer(peer, model, x, y):
    b = peer.io_binding()
    for t, a in zip(model.inputs, x):
        b.bind_cpu_input(t.name.decode(), a)
    for t, a in zip(model.outputs, y):
        b.bind_output(t.name.decode(), "cpu", 0, a.dtype.type, a.shape, a.ctypes.data)
    options = ort.RunOptions()
    return lambda: peer.run_with_iobinding(b, options)


def difference(y, r):
    if not (np.isfinite(y).all() and np.isfinite(r).all()):
        return float("nan")
    if y.dtype.kind != "f":
        return 0.0 if (y == r).all() else float("inf")
    return float(np.abs(y.astype(np.float64) - r).max() / np.abs(r).max()) if r.any() else float("nan")


def check(model, ours, theirs, x, y, r, args, rng):
    """The largest difference over the inputs, and how much the reference changes between the first two."""
    worst, change, first = 0.0, 0.0, None
    for _ in range(args.inputs):
        for t, a in zip(model.inputs, x):
            fill(a, t.name.decode(), args.range, rng)
        for a in y:
            a.view(np.uint8)[...] = 0xff  # NaN, unless written
        ours()
        theirs()
        worst = np.maximum(worst, np.max([difference(a, b) for a, b in zip(y, r)]))  # NaN stays
        if first is None:
            first = [b.copy() for b in r]
        else:
            change = max([change] + [difference(a, b) for a, b in zip(first, r) if a.dtype.kind == "f"])
    return float(worst), change


def measure(run):
    run()
    n, start = 0, time.process_time()
    while True:
        run()
        n += 1
        took = time.process_time() - start
        if took >= SLICE:
            return took / n


def quartiles(t):
    return np.percentile(t, [25, 50, 75])


def parse_range(text):
    name, _, bounds = text.rpartition("=")
    low, high = bounds.split(":")
    return name, (int(low), int(high))


def cpu():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "unknown")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("onnx")
    p.add_argument("library", help="STEM.so, its weights beside it")
    p.add_argument("--range", action="append", default=[], type=parse_range, metavar="NAME=LO:HI",
                   help="of an integer input")
    p.add_argument("--inputs", type=int, default=10, help="random inputs to compare (10)")
    p.add_argument("--tol", type=float, default=1e-4, help="of max|y-r| / max|r| (1e-4)")
    p.add_argument("--rounds", type=int, default=25, help="of timing (25); 0: compare only")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    args.range = dict(args.range)

    core = sorted(os.sched_getaffinity(0))[-1]
    os.sched_setaffinity(0, {core})
    model, peer = Model(args.library), session(args.onnx)
    x = [t.empty() for t in model.inputs]
    y, r = ([t.empty() for t in model.outputs] for _ in range(2))
    ours, theirs = model.bind(x, y), bind_peer(peer, model, x, r)

    worst, change = check(model, ours, theirs, x, y, r, args, np.random.default_rng(args.seed))
    good = worst <= args.tol and change > 0.1
    print(f"{model.table.name.decode()}: max|y-r|/max|r| {worst:.2g} on {args.inputs} inputs, "
          f"which change r by {change:.0%} of its scale{'' if good else ': WRONG'}", flush=True)
    if not good:
        return 1
    if not args.rounds:
        return 0
    times = np.array([[measure(f) for f in ((ours, theirs), (theirs, ours))[i % 2]][::1 - 2 * (i % 2)]
                      for i in range(args.rounds)])
    print(f"  {cpu()}, core {core}; compiler {model.table.compiler.decode()}; ONNX Runtime {ort.__version__}, one thread each")
    print(f"  {'':14}{'25%':>10}{'median':>10}{'75%':>10}")
    for name, t in (("hone", times[:, 0]), ("ONNX Runtime", times[:, 1])):
        print(f"  {name:14}" + "".join(f"{q * 1e3:10.3f}" for q in quartiles(t)) + " ms")
    print(f"  {'ratio':14}" + "".join(f"{q:10.3f}" for q in quartiles(times[:, 0] / times[:, 1]))
          + f"       of medians {np.median(times[:, 0]) / np.median(times[:, 1]):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
