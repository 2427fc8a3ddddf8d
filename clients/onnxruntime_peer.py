"""ONNX Runtime as a peer that run-dev --bench --peer times in turns with a compiled model (run-dev(1), PEERS).

    run-dev model.so --bench --peer 'python3 onnxruntime_peer.py model.onnx'

Needs onnxruntime and numpy. Inputs that the model has and run-dev does not hand over were made constants: --const NAME=VALUE,...
"""
import argparse
import os
import sys
import time

import numpy as np
import onnxruntime as ort

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8, "tensor(bool)": np.bool_}


def session(path, threads):
    ort.set_default_logger_severity(3)
    o = ort.SessionOptions()
    o.intra_op_num_threads = threads
    o.inter_op_num_threads = 1
    o.add_session_config_entry("session.set_denormal_as_zero", "1")  # as the library does
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def constants(peer, given):
    types = {i.name: i for i in peer.get_inputs()}
    for text in given:
        name, values = text.split("=", 1)
        yield name, np.array([float(v) for v in values.split(",")], TYPES[types[name].type]).reshape([-1] if types[name].shape else [])


def bind(peer, inputs):
    """A function that runs once, with inputs and outputs at the same places each time, and the outputs by name."""
    names = [o.name for o in peer.get_outputs()]
    outputs = {n: np.ascontiguousarray(y) for n, y in zip(names, peer.run(names, inputs))}
    b = peer.io_binding()
    for name, x in inputs.items():
        b.bind_cpu_input(name, x)
    for name, y in outputs.items():
        b.bind_output(name, "cpu", 0, y.dtype.type, y.shape, y.ctypes.data)
    return lambda: peer.run_with_iobinding(b), outputs


def turn(run, seconds):
    """Times of runs for that long, after one that is not timed: it fills the caches."""
    run()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--const", action="append", default=[], metavar="NAME=VALUE,...")
    args = p.parse_args()
    peer = session(args.model, args.threads)
    given = dict(np.load(os.environ["HONE_PEER_INPUTS"]))
    inputs = {i.name: given[i.name] for i in peer.get_inputs() if i.name in given}
    run, outputs = bind(peer, inputs | dict(constants(peer, args.const)))
    run()
    np.savez(os.environ["HONE_PEER_OUTPUTS"], **outputs)
    print(f"hone-peer 1 ONNX Runtime {ort.__version__}", flush=True)
    for line in sys.stdin:
        print(*(f"{t:.9f}" for t in turn(run, float(line))), flush=True)


try:
    main()
except Exception as e:  # a model that ONNX Runtime does not run, inputs that do not fit: one line, as of hone's own tools
    sys.exit(f"onnxruntime_peer.py: {' '.join(str(e).split())[:500] or type(e).__name__}".encode("ascii", "backslashreplace").decode())
