#!/usr/bin/env python3
"""Compare a compiled model with ONNX Runtime and, where there is one, OpenVINO: first the numbers, then the time.

All get the same inputs and write into arrays made beforehand (ONNX Runtime through
IOBinding), on one thread of one core, in fp32.  They take turns: in every round each runs once
unmeasured, so that its weights are where they would be if it ran alone, then as often as
fits 20 ms; who begins changes from round to round.  Time is the processor time of the whole
process, all threads together: what else runs on the core does not count.  Printed are quartiles
of the time of a run and of the ratios of one round's times.  The numbers must be ONNX Runtime's.
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


def constants(peer, const):
    """What --const gives, as arrays of the types and shapes that the model declares."""
    inputs = {i.name: i for i in peer.get_inputs()}
    types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
    return {name: np.array([float(v) for v in values.split(",")], types[inputs[name].type])
            .reshape([-1] if inputs[name].shape else [])
            for name, values in const.items()}


def bind_peer(peer, model, x, y, const={}):
    b = peer.io_binding()
    for t, a in zip(model.inputs, x):
        b.bind_cpu_input(t.name.decode(), a)
    for name, a in const.items():
        b.bind_cpu_input(name, a)
    for t, a in zip(model.outputs, y):
        b.bind_output(t.name.decode(), "cpu", 0, a.dtype.type, a.shape, a.ctypes.data)
    options = ort.RunOptions()
    return lambda: peer.run_with_iobinding(b, options)


def bind_openvino(path, model, x, const):
    """The same for OpenVINO; None, with a line that says why, where there is none or it cannot run the model."""
    try:
        import openvino as ov
        core = ov.Core()
        net = core.read_model(path)
        inputs = {t.name.decode(): a for t, a in zip(model.inputs, x)} | const
        net.reshape({name: list(a.shape) for name, a in inputs.items()})
        net = core.compile_model(net, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY", "CPU_DENORMALS_OPTIMIZATION": True, "ENABLE_CPU_PINNING": False})
    except (ImportError, RuntimeError) as e:
        print(f"  without OpenVINO: {str(e).strip().splitlines()[-1]}")
        return None, None
    request = net.create_infer_request()
    for name, a in inputs.items():
        request.set_tensor(name, ov.Tensor(a, shared_memory=True))
    request.infer()
    return request.infer, ov.__version__.split("-")[0]


def difference(y, r, scale=None):
    """max|y-r| against the scale, that of r without one; 0 or infinite for integers."""
    if y.dtype.kind != "f":
        return 0.0 if (y == r).all() else float("inf")
    scale = np.abs(r).max() if scale is None else scale
    if not (np.isfinite(y).all() and np.isfinite(r).all() and scale > 0):
        return float("nan")
    return float(np.abs(y.astype(np.float64) - r).max() / scale)


def check(model, ours, theirs, x, y, r, args, rng):
    """The largest difference over the inputs, and how much the reference changes from the first to the others.

    The scale of an output is its largest value for any of the inputs: one that is a single probability
    comes close to 0 for some.
    """
    ys, rs = [], []
    for _ in range(args.inputs):
        for t, a in zip(model.inputs, x):
            fill(a, t.name.decode(), args.range, rng)
        for a in y:
            a.view(np.uint8)[...] = 0xff  # NaN, unless written
        ours()
        theirs()
        ys.append([a.copy() for a in y])
        rs.append([b.copy() for b in r])
    scales = [float(max(np.abs(b.astype(np.float64)).max() for b in bs)) for bs in zip(*rs)]
    worst = np.max([difference(a, b, s) for y, r in zip(ys, rs) for a, b, s in zip(y, r, scales)])  # NaN stays
    change = max([0.0] + [difference(a, b, s) for r in rs[1:] for a, b, s in zip(rs[0], r, scales) if a.dtype.kind == "f"])
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


def in_turns(runs, rounds):
    """The times of all, by name: in each round another one begins."""
    names, times = list(runs), {name: [] for name in runs}
    for i in range(rounds):
        for name in names[i % len(names):] + names[:i % len(names)]:
            times[name].append(measure(runs[name]))
    return {name: np.array(t) for name, t in times.items()}


def report(runs, times):
    print(f"  {'':18}{'25%':>10}{'median':>10}{'75%':>10}")
    for name, t in times.items():
        print(f"  {name:18}" + "".join(f"{q * 1e3:10.3f}" for q in quartiles(t)) + " ms")
    for name, t in times.items():
        if name != "hone":
            print(f"  {'ratio, ' + name:18}" + "".join(f"{q:10.3f}" for q in quartiles(times["hone"] / t))
                  + f"       of medians {np.median(times['hone']) / np.median(t):.3f}")


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
    p.add_argument("--const", action="append", default=[], metavar="INPUT=VALUE,...",
                   help="an input that is a constant in the library")
    p.add_argument("--set", action="append", help="not looked at: sizes are the library's")
    p.add_argument("--shape", action="append", help="likewise")
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
    const = constants(peer, dict(c.split("=", 1) for c in args.const))
    ours, theirs = model.bind(x, y), bind_peer(peer, model, x, r, const)

    worst, change = check(model, ours, theirs, x, y, r, args, np.random.default_rng(args.seed))
    # An output that does not depend on its input proves nothing; one that changes by less than 10% may differ less.
    good = change > min(0.1, 10 * args.tol) and worst <= args.tol * min(1, 10 * change)
    print(f"{model.table.name.decode()}: max|y-r|/max|r| {worst:.2g} on {args.inputs} inputs, "
          f"which change r by {100 * change:.2g}% of its scale{'' if good else ': WRONG'}", flush=True)
    if not good:
        return 1
    if not args.rounds:
        return 0
    runs = {"hone": ours, "ONNX Runtime": theirs}
    versions = f"ONNX Runtime {ort.__version__}"
    other, version = bind_openvino(args.onnx, model, x, const)
    if other:
        runs["OpenVINO"] = other
        versions += f", OpenVINO {version}"
    print(f"  {cpu()}, core {core}; compiler {model.table.compiler.decode()}; {versions}, one thread each")
    report(runs, in_turns(runs, args.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
