#!/usr/bin/env python3
"""Make quantised models of float ones: NAME_qdq.onnx, by ONNX Runtime's quantiser, as its users do it.

Activations are u8, weights i8 a channel; both ranges come from random inputs, so the numbers mean nothing and the time does.
dynamic: only weights are quantised (NAME_dynamic.onnx).  A file that is there already is kept.

    quantised.py [--dynamic] [--shape NAME:1x3x640x640] -o DIR MODEL...
"""

import argparse
import os
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

SAMPLES = 4
PER_CHANNEL = 13  # the first opset whose DequantizeLinear has an axis


class Samples(CalibrationDataReader):
    def __init__(self, path, shapes, ranges):
        rng = np.random.default_rng(1)
        inputs = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()
        self.left = iter([{x.name: draw(x, shapes, ranges, rng) for x in inputs} for _ in range(SAMPLES)])

    def get_next(self):
        return next(self.left, None)


def draw(x, shapes, ranges, rng):
    shape = shapes.get(x.name, [d if isinstance(d, int) else ranges.get(d, 1) for d in x.shape])
    if x.type == "tensor(float)":
        return rng.standard_normal(shape, dtype=np.float32)
    return rng.integers(0, 2 if "mask" in x.name else 1000, shape).astype(np.int64 if "64" in x.type else np.int32)


def quantise(path, to, args):
    with tempfile.TemporaryDirectory() as dir:
        ready = os.path.join(dir, "ready.onnx")
        model = onnx.load(path)
        if next(x.version for x in model.opset_import if not x.domain) < PER_CHANNEL:
            path = os.path.join(dir, "raised.onnx")
            onnx.save(onnx.version_converter.convert_version(model, PER_CHANNEL), path)
        quant_pre_process(path, ready, skip_symbolic_shape=True)
        if args.dynamic:
            quantize_dynamic(ready, to, weight_type=QuantType.QInt8, per_channel=True)
        else:
            quantize_static(ready, to, Samples(ready, args.shapes, args.sizes), quant_format=QuantFormat.QDQ, per_channel=True,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", default=".", help="directory of the models")
    p.add_argument("--dynamic", action="store_true", help="quantise weights only; activations at run time")
    p.add_argument("--shape", action="append", default=[], help="of an input that has free dimensions, NAME:1x3x640x640")
    p.add_argument("--set", action="append", default=[], help="a free dimension, batch=1")
    p.add_argument("model", nargs="+")
    args = p.parse_args()
    args.shapes = {n: [int(d) for d in s.split("x")] for n, s in (x.rsplit(":", 1) for x in args.shape)}
    args.sizes = {n: int(v) for n, v in (x.split("=", 1) for x in args.set)}
    os.makedirs(args.o, exist_ok=True)
    for path in args.model:
        name = os.path.basename(path).removesuffix(".onnx")
        to = os.path.join(args.o, name + ("_dynamic" if args.dynamic else "_qdq") + ".onnx")
        if not os.path.exists(to):
            quantise(path, to + ".part", args)
            os.rename(to + ".part", to)
        print(to)


if __name__ == "__main__":
    main()
