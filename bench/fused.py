#!/usr/bin/env python3
"""fused.py -o DIR [--dynamic] [--tol X] [--rounds N] MODEL.onnx [OPTION...]: a file as ONNX Runtime writes it, hone's library against ONNX Runtime.

DIR/NAME.onnx is the model saved at ONNX Runtime's level "extended" (FusedConv and the like) or, with --dynamic, by quantize_dynamic
(DynamicQuantizeLSTM, MatMulIntegerToFloat). It is built by hone build --no-fallback OPTION..., so no step is on the evaluator; then peers.py
compares numbers and times. hone must be in PATH."""
import argparse
import collections
import os
import subprocess
import sys

import onnx
import onnxruntime as ort

HERE = os.path.dirname(os.path.abspath(__file__))


def save(a, out):
    if a.dynamic:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(a.model, out, op_types_to_quantize=["LSTM", "MatMul", "Gemm"], weight_type=QuantType.QInt8)
        return
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    o.optimized_model_filepath, o.log_severity_level = out, 3
    ort.InferenceSession(a.model, o, providers=["CPUExecutionProvider"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("-o", "--out", required=True)
    p.add_argument("--dynamic", action="store_true")
    p.add_argument("--tol", default="1e-3")
    p.add_argument("--rounds", default="9")
    a, options = p.parse_known_args()
    os.makedirs(a.out, exist_ok=True)
    stem = os.path.join(a.out, os.path.splitext(os.path.basename(a.model))[0])
    save(a, stem + ".onnx")
    made = collections.Counter(n.op_type for n in onnx.load(stem + ".onnx", load_external_data=False).graph.node if n.domain not in ("", "ai.onnx"))
    print(f"{stem}.onnx: " + (", ".join(f"{n} {op}" for op, n in made.items()) or "nothing of other domains"), flush=True)
    subprocess.run(["hone", "build", "-q", "--no-fallback", stem + ".onnx", "-o", stem, *options], check=True)
    const = [o for o in options if o.startswith("--const=")]
    sys.exit(subprocess.run([sys.executable, "-B", os.path.join(HERE, "peers.py"), stem + ".onnx", stem + ".so", *const, "--inputs", "2", "--tol", a.tol,
                             "--rounds", a.rounds]).returncode)


if __name__ == "__main__":
    main()
