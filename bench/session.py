#!/usr/bin/env python3
"""session.py [--rounds N] MODEL.onnx [OPTION of ge-shape]...: from the file to model.g through the passes, and to a session of ONNX Runtime."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort


def passes(command, blobs):
    shutil.rmtree(blobs, ignore_errors=True)
    start = time.perf_counter()
    subprocess.run(command, check=True, env=dict(os.environ, HONE_BLOBS=blobs))
    return time.perf_counter() - start


def session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    start = time.perf_counter()
    s = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    took = time.perf_counter() - start
    del s
    return took


def main():
    ort.set_default_logger_severity(3)
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("model")
    args, options = p.parse_known_args()
    model = args.model
    with tempfile.TemporaryDirectory() as work:
        command = ["hone", "passes", "-q", "--until", "layout", *options, "-o", work + "/model.g", model]
        session(model)
        times = np.array([(passes(command, work + "/blobs"), session(model)) for _ in range(args.rounds)]) * 1e3
    print(f"file to model.g (empty blob store) and to a session of ONNX Runtime {ort.__version__}, in turns, {args.rounds} each:")
    for name, t in (("hone passes", times[:, 0]), ("session creation", times[:, 1])):
        print(f"{name:28} {t.min():8.1f} {np.median(t):8.1f} {t.max():8.1f}")
    print(f"{'ratio, median':28} {'':8} {np.median(times[:, 0] / times[:, 1]):8.3f}")


if __name__ == "__main__":
    main()
