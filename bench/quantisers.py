"""Quantisers that are compared: a model of floats and samples in, the file of a quantised model out. And what they cost.

Samples are a dictionary of arrays by input; the first axis of each counts samples, as many to each as the model has there (or one).
"""

import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort


def rows(samples, units):
    """One dictionary for each sample."""
    n = min(len(x) // units[k] for k, x in samples.items())
    return [{k: x[i * units[k]:(i + 1) * units[k]] for k, x in samples.items()} for i in range(n)]


def units_of(path):
    dims = {i.name: i.type.tensor_type.shape.dim for i in onnx.load(path).graph.input}
    return {k: d[0].dim_value or 1 for k, d in dims.items() if d}


def by_hone(model, samples, *options):
    np.savez("data.npz", **samples)
    subprocess.run(["hone", "quantize", "-q", *options, model, "--data", "data.npz", "-o", "q.onnx"], check=True)
    return "q.onnx"


def by_onnxruntime(model, samples, method=None, products=False):
    """method: that of the ranges, with a scale for each channel of weights; None: all as its defaults are. products: Conv, Gemm and MatMul
    alone."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rows = iter(rows(samples, units_of(model)))

        def get_next(self):
            return next(self.rows, None)
    try:
        quant_pre_process(model, "pre.onnx")
    except Exception:  # its shape inference takes not every model; quantize_static does without
        quant_pre_process(model, "pre.onnx", skip_symbolic_shape=True)
    options = dict(quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                   calibrate_method=getattr(CalibrationMethod, method)) if method else {}
    if products:
        options["op_types_to_quantize"] = ["Conv", "Gemm", "MatMul"]
    try:
        quantize_static("pre.onnx", "q.onnx", Reader(), **options)
    except ValueError:  # some weights it takes only with one scale
        quantize_static("pre.onnx", "q.onnx", Reader(), **{**options, "per_channel": False})
    return "q.onnx"


def by_onnxruntime_dynamic(model, samples):
    """Ranges of each run; samples tell it nothing."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(model, "q.onnx", weight_type=QuantType.QInt8)
    return "q.onnx"


def by_nncf(model, samples, transformer=False):
    import nncf
    data = rows(samples, units_of(model))
    options = dict(model_type=nncf.ModelType.TRANSFORMER) if transformer else {}
    onnx.save(nncf.quantize(onnx.load(model), nncf.Dataset(data, lambda row: row), subset_size=len(data), **options), "q.onnx")
    return "q.onnx"


QUANTISERS = [
    ("hone, defaults", by_hone), ("hone, minmax", lambda m, x: by_hone(m, x, "--method", "minmax")),
    ("hone, percentile", lambda m, x: by_hone(m, x, "--method", "percentile")),
    ("hone, entropy", lambda m, x: by_hone(m, x, "--method", "entropy")),
    ("hone, 4-bit weights", lambda m, x: by_hone(m, x, "--weights", "4")),
    ("ONNX Runtime, defaults", by_onnxruntime),
    ("ONNX Runtime, minmax", lambda m, x: by_onnxruntime(m, x, "MinMax")),
    ("ONNX Runtime, minmax, products", lambda m, x: by_onnxruntime(m, x, "MinMax", True)),
    ("ONNX Runtime, entropy", lambda m, x: by_onnxruntime(m, x, "Entropy")),
    ("ONNX Runtime, percentile", lambda m, x: by_onnxruntime(m, x, "Percentile")),
    ("ONNX Runtime, dynamic", by_onnxruntime_dynamic), ("NNCF", by_nncf),
    ("NNCF, transformer", lambda m, x: by_nncf(m, x, True)),
]


def session(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def compare(data, model, samples, measure, names=None):
    """measure(session): of each test sample, how much of it is right (0 to 1), and the outputs. A row for each quantiser."""
    base, outputs = measure(session(model))
    found = [dict(data=data, quantiser="float", right=100 * base.mean())]
    for label, make in QUANTISERS:
        if names and label not in names:
            continue
        try:
            right, got = measure(session(make(model, samples)))
        except Exception as e:  # a quantiser that does not take the model has no row
            print(f"{data}: {label}: left out: {type(e).__name__}: {str(e).splitlines()[-1] if str(e) else ''}", file=sys.stderr)
            continue
        d = right - base
        found.append(dict(data=data, quantiser=label, right=100 * right.mean(), change=100 * d.mean(),
                          interval=100 * 1.96 * d.std() / np.sqrt(len(d)),
                          error=float(np.sqrt(((got - outputs)**2).mean() / (outputs**2).mean()))))
        print(f"{data}: {label}: {found[-1]['change']:+.2f}", file=sys.stderr)
    return found


def report(found, path):
    print("| data | quantiser | right, % | change, points | error of the outputs |\n|---|---|---|---|---|")
    for r in found:
        change = f"{r['change']:+.2f} +- {r['interval']:.2f} | {r['error']:.4f}" if "change" in r else " | "
        print(f"| {r['data']} | {r['quantiser']} | {r['right']:.2f} | {change} |")
    if path:
        with open(path, "w") as f:
            json.dump(found, f, indent=1)
