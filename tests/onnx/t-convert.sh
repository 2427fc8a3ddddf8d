# Old opsets: the canonical form, exported to the opset it came from and to older and newer ones, gives the numbers of the
# original (both in ONNX Runtime). Those before 7, which it does not run, are held against numpy and recorded results.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || python=
if [ -z "$python" ]; then
	skip_all "old opsets" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
cat >convert.py <<'END'
import subprocess
import numpy as np
import onnx
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator
from onnx import TensorProto as T, helper as h, numpy_helper as nh

ort.set_default_logger_severity(4)
rng = np.random.default_rng(0)

def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)

def i(*v):
    return np.array(v, np.int64)

cases = []

# low: an opset below its own to which it goes, in other words
def case(opset, op, inputs, outputs=1, consts=(), out_types=None, tol=1e-5, types=True, low=99, **attrs):
    cases.append((opset, op, inputs, outputs, consts, out_types, tol, types, attrs, low))

x4, x3, x2 = f(2, 3, 4, 5), f(2, 6, 5), f(4, 6)
for opset in (7, 9, 11):
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        case(opset, op, [x4])
        case(opset, op, [x4], types=False)
        case(opset, op, [x4], axis=3)
        case(opset, op, [x4], axis=2)
        case(opset, op, [x2], axis=1)
        case(opset, op, [x4], axis=0)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    case(11, op, [x4], axis=-1)
    case(11, op, [x4], axis=-2)
    case(13, op, [x4], axis=1)
case(7, "Squeeze", [f(1, 3, 1, 5)], axes=[0, 2])
case(11, "Squeeze", [f(1, 3, 1, 5)])
case(11, "Squeeze", [f(1, 3, 1, 5)], axes=[-2])
case(7, "Unsqueeze", [x2], axes=[0, 3])
case(11, "Unsqueeze", [x2], axes=[-1])
for op in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split():
    for opset in (7, 11, 13) if op != "Sum" else (7, 11):
        x = np.abs(x4) + 0.1
        case(opset, "Reduce" + op, [x], axes=[1, 3])
        case(opset, "Reduce" + op, [x], keepdims=0)
        case(opset, "Reduce" + op, [x], axes=[2], keepdims=0)
case(13, "ReduceSum", [x4, i(1, 2)], consts=(1,))
case(18, "ReduceMean", [x4, i(1, 2)], consts=(1,), keepdims=0)
case(18, "ReduceMean", [x4, i(1, 2)], keepdims=0)
case(18, "ReduceMean", [x4], noop_with_empty_axes=1)
case(7, "Pad", [x4], pads=[0, 0, 1, 2, 0, 0, 2, 1])
case(7, "Pad", [x4], pads=[0, 0, 1, 2, 0, 0, 2, 1], value=1.5)
case(7, "Pad", [x4], pads=[0, 0, 1, 2, 0, 0, 2, 1], value=1.5, types=False)
case(10, "Pad", [x4], pads=[0, 0, 1, 2, 0, 0, 2, 1], mode="reflect")
case(10, "Pad", [x4.astype(np.float64)], pads=[0, 0, 1, 2, 0, 0, 2, 1], value=-1.0)
case(11, "Pad", [x4, i(0, 0, 1, 2, 0, 0, 2, 1)], consts=(1,), mode="edge")
case(18, "Pad", [x4, i(1, 2), np.float32(2).reshape(()), i(2)], consts=(1, 2, 3))
case(7, "Slice", [x4], starts=[1, -3], ends=[2**31 - 1, -1], axes=[1, 3])
case(9, "Slice", [x4], starts=[0, 1], ends=[1, 3])
case(10, "Slice", [x4, i(3), i(-9), i(2), i(-1)], consts=(1, 2, 3, 4))
case(7, "Clip", [x4], min=-0.5, max=0.5)
case(7, "Clip", [x4], min=0.0)
case(7, "Clip", [x4], max=0.0, types=False)
case(7, "Clip", [x4])
case(10, "Clip", [x4.astype(np.float32)], min=-1.0, max=1.0)
case(7, "Split", [x3], outputs=2, axis=1)
case(7, "Split", [x3], outputs=3, axis=1, split=[1, 2, 3])
case(11, "Split", [x3], outputs=3, axis=-2)
case(13, "Split", [x3], outputs=3, axis=1)
case(13, "Split", [x3, i(2, 4)], outputs=2, axis=1, consts=(1,))
case(18, "Split", [x3], outputs=4, axis=1, num_outputs=4)
case(18, "Split", [x3], outputs=3, axis=1, num_outputs=3)
case(7, "TopK", [x3], outputs=2, k=2, axis=1, out_types=(T.FLOAT, T.INT64))
case(10, "TopK", [x3, i(3)], outputs=2, consts=(1,), out_types=(T.FLOAT, T.INT64))
case(11, "TopK", [x3, i(3)], outputs=2, consts=(1,), out_types=(T.FLOAT, T.INT64), largest=0)
case(7, "Dropout", [x3], ratio=0.3)
case(10, "Dropout", [x3], ratio=0.3)
case(12, "Dropout", [x3], outputs=2, out_types=(T.FLOAT, T.BOOL))
case(7, "Upsample", [x4], scales=[1.0, 1.0, 2.0, 3.0])
case(7, "Upsample", [x4], scales=[1.0, 1.0, 2.0, 2.0], mode="linear")
case(9, "Upsample", [x4, np.array([1, 1, 2, 3], np.float32)], consts=(1,))
case(9, "Upsample", [x4, np.array([1, 1, 2, 2], np.float32)], consts=(1,), mode="linear")
for s in ([1, 1, 2, 3], [1, 1, 0.5, 0.6], [1, 1, 1.5, 2.25], [1, 1, 0.75, 0.6]):
    case(10, "Resize", [f(1, 2, 8, 10), np.array(s, np.float32)], consts=(1,))
    case(10, "Resize", [f(1, 2, 8, 10), np.array(s, np.float32)], consts=(1,), mode="linear")
    for mode in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        case(11, "Resize", [f(1, 2, 8, 10), f(0), np.array(s, np.float32)], consts=(1, 2), mode="linear", coordinate_transformation_mode=mode)
    for nearest in ("floor", "round_prefer_floor"):
        case(11, "Resize", [f(1, 2, 8, 10), f(0), np.array(s, np.float32)], consts=(1, 2), nearest_mode=nearest,
             coordinate_transformation_mode="tf_half_pixel_for_nn")
case(11, "Resize", [f(1, 2, 8, 10), f(0), f(0), i(1, 2, 5, 7)], consts=(1, 2, 3), mode="cubic")
case(13, "Resize", [f(1, 2, 8, 10), f(0), f(0), i(1, 2, 5, 7)], consts=(1, 2, 3), mode="linear")
bn = [x4, f(3), f(3), f(3), np.abs(f(3)) + 0.5]
for opset in (7, 9, 14, 15):
    case(opset, "BatchNormalization", bn, consts=(1, 2, 3, 4), epsilon=1e-3)
case(7, "BatchNormalization", bn, consts=(1, 2, 3, 4), spatial=1)
case(18, "GroupNormalization", [f(2, 6, 4, 4), f(3), f(3)], consts=(1, 2), num_groups=3, tol=1e-4)
case(21, "GroupNormalization", [f(2, 6, 4, 4), f(6), f(6)], consts=(1, 2), num_groups=3, tol=1e-4)
roi = np.array([[0, 0, 4, 3], [1, 1, 3, 3]], np.float32)
case(10, "RoiAlign", [f(1, 2, 6, 7), roi, i(0, 0)], output_height=2, output_width=3, sampling_ratio=2)
case(16, "RoiAlign", [f(1, 2, 6, 7), roi, i(0, 0)], output_height=2, output_width=3, sampling_ratio=2)
grid = (rng.random((1, 3, 4, 2)) * 1.6 - 0.8).astype(np.float32)
case(16, "GridSample", [f(1, 2, 5, 6), grid], mode="bilinear")
case(16, "GridSample", [f(1, 2, 5, 6), grid], mode="bicubic")
case(20, "GridSample", [f(1, 2, 5, 6), grid], mode="cubic")
case(17, "DFT", [f(1, 8, 3, 1)], axis=1, tol=1e-4)
case(17, "DFT", [f(1, 8, 4, 1)], axis=2, tol=1e-4)
case(20, "DFT", [f(1, 8, 4, 1)], tol=1e-4)
case(9, "Scatter", [f(3, 3), i(0, 1, 2).reshape(1, 3), f(1, 3)], consts=(1,))
case(13, "Cast", [x2], to=T.FLOAT16, out_types=(T.FLOAT16,))
case(12, "ArgMax", [x3], axis=1, select_last_index=1, out_types=(T.INT64,))
case(14, "Reshape", [f(0, 3), i(3, 0)], consts=(1,), allowzero=1)
case(15, "Shape", [x4], start=1, end=-1, out_types=(T.INT64,))
case(19, "AveragePool", [x4], kernel_shape=[2, 2], ceil_mode=1, strides=[2, 2])
case(10, "AveragePool", [x4], kernel_shape=[3, 3], count_include_pad=1, pads=[1, 1, 1, 1])
case(10, "MaxPool", [x4], outputs=2, kernel_shape=[2, 2], ceil_mode=1, strides=[2, 2], out_types=(T.FLOAT, T.INT64))
case(20, "Gelu", [x4])
case(14, "LSTM", [f(4, 2, 3), f(1, 20, 3), f(1, 20, 5)], consts=(1, 2), outputs=3, hidden_size=5)
case(7, "Gemm", [f(3, 4), f(4, 5), f(5)], consts=(1, 2))
case(16, "ScatterElements", [f(3, 3), i(0, 1, 0).reshape(1, 3), f(1, 3)], consts=(1,), reduction="add")
case(18, "ScatterElements", [f(3, 3), i(0, 1, 0).reshape(1, 3), f(1, 3)], consts=(1,), reduction="max")

h16 = lambda *shape: f(*shape).astype(np.float16)
case(14, "HardSwish", [x4 * 3], low=7)
case(24, "Swish", [x4], low=7)
case(24, "Swish", [x4], alpha=1.702, low=7)
case(24, "Swish", [h16(2, 5)], low=7, tol=2e-3)
case(20, "Gelu", [x4], low=9)
case(20, "Gelu", [x4], approximate="tanh", low=7)
case(18, "Mish", [x4], low=7)
case(17, "LayerNormalization", [x4, f(5), f(5)], consts=(1, 2), low=7)
case(17, "LayerNormalization", [x4, f(4, 5)], consts=(1,), axis=2, epsilon=0.1, low=7)
case(17, "LayerNormalization", [x4, f(5), f(5)], low=7)
case(17, "LayerNormalization", [x3 * 10 + 7, f(5), f(5)], low=7, tol=1e-4)
case(17, "LayerNormalization", [x4, f(3, 4, 5), f(3, 4, 5)], axis=1, low=7)
case(17, "LayerNormalization", [x2 * 0 + 2, f(6), f(6)], low=7)
case(7, "Squeeze", [f(1, 3, 1, 5)])
case(9, "Squeeze", [f(1, 3, 1, 5)], types=False)
case(17, "LayerNormalization", [h16(3, 40), h16(40), h16(40)], consts=(1, 2), low=7, tol=4e-3)
case(23, "RMSNormalization", [x4, f(5)], consts=(1,), low=7)
case(21, "GroupNormalization", [f(2, 6, 4, 4), f(6), f(6)], num_groups=3, tol=1e-4, low=7)
case(21, "GroupNormalization", [f(2, 6, 4), np.repeat(f(3), 2), np.repeat(f(3), 2)], consts=(1, 2), num_groups=3, tol=1e-4, low=7)
case(12, "Celu", [x4], low=7)
case(12, "Celu", [x4], alpha=2.5, low=7)
for op in ("GreaterOrEqual", "LessOrEqual"):
    case(16, op, [np.array([1, 2, np.nan], np.float32), np.array([1, 3, 1], np.float32)], out_types=(T.BOOL,), low=11)
    case(16, op, [i(1, 2, 3), i(1, 3, 1)], out_types=(T.BOOL,), low=9)
case(15, "CastLike", [x4, i(1)], out_types=(T.INT64,), low=7)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    case(13, op, [x4], axis=1, low=7)
    case(13, op, [x4], axis=-4, low=7)
    case(13, op, [f(2, 5, 1, 1)], axis=1, low=7)
    case(13, op, [x4], low=7)
case(14, "Trilu", [x4], low=9)
case(14, "Trilu", [x4, np.array(-1, np.int64)], consts=(1,), upper=0, low=9)
case(15, "Shape", [x4], start=-3, end=-1, out_types=(T.INT64,), low=7)
case(18, "Pad", [x4, i(1, 2), np.float32(2).reshape(()), i(-2)], consts=(1, 2, 3), low=7)
case(18, "Pad", [x4, i(1, 2, 0, 1), np.float32(2).reshape(()), i(3, 0)], consts=(1, 2, 3), low=7)
case(18, "Split", [f(2, 7)], outputs=3, axis=1, num_outputs=3, low=7)
case(13, "Split", [x3, i(2, 4)], outputs=2, axis=1, consts=(1,), low=7)
case(13, "Squeeze", [f(1, 3, 1, 5), i(-2, 0)], consts=(1,), low=7)
case(13, "Squeeze", [f(1, 3, 1, 5)], low=7)
case(13, "Unsqueeze", [x2, i(-1, 0)], consts=(1,), low=7)
case(13, "ReduceSum", [x4, i(1, -1)], consts=(1,), low=7)
case(13, "ReduceSum", [x4, i(1, -1)], consts=(1,), keepdims=0, low=7)
case(18, "ReduceMax", [x4, i(-1)], consts=(1,), low=7)
case(13, "Clip", [x4, np.float32(-0.5).reshape(()), np.float32(0.5).reshape(())], consts=(1, 2), low=7)
case(13, "Pad", [x4, i(0, 0, 1, 2, 0, 0, 2, 1), np.float32(1.5).reshape(())], consts=(1, 2), low=7)
case(13, "Slice", [x4, i(1), i(3), i(-2)], consts=(1, 2, 3), low=7)
case(13, "TopK", [x3, i(3)], outputs=2, consts=(1,), out_types=(T.FLOAT, T.INT64), low=7)
case(13, "Dropout", [x3, np.float32(0.3).reshape(())], consts=(1,), low=7)
case(13, "Dropout", [x3, np.float32(0.3).reshape(())], consts=(1,), outputs=2, out_types=(T.FLOAT, T.BOOL), low=12)
case(13, "Resize", [x4, f(0), np.array([1, 1, 2, 3], np.float32)], consts=(1, 2), coordinate_transformation_mode="asymmetric", nearest_mode="floor", low=7)
case(13, "Resize", [f(1, 2, 8, 10), f(0), np.array([1, 1, 0.5, 0.5], np.float32)], consts=(1, 2), mode="linear", coordinate_transformation_mode="asymmetric", low=10)
case(13, "Resize", [f(1, 2, 8, 10), f(0), f(0), i(1, 2, 5, 7)], consts=(1, 2, 3), mode="linear", low=11)
case(13, "ScatterElements", [f(3, 3), i(0, 1, 2).reshape(1, 3), f(1, 3)], consts=(1,), low=9)
case(13, "Gemm", [f(3, 4), f(4, 5)], consts=(1,), low=7)
case(13, "Pow", [np.abs(x4), i(3)], consts=(1,), low=7)
case(13, "Concat", [x4, x4], axis=-2, low=7)
case(13, "ArgMax", [x3], axis=-1, out_types=(T.INT64,), low=7)
case(13, "Flatten", [x4], axis=-2, low=7)
case(13, "Gather", [x4, i(1, 0)], consts=(1,), axis=-3, low=7)
case(13, "Max", [x4, f(5)], low=8)
q = rng.integers(0, 255, (3, 4)).astype(np.uint8)
case(13, "DequantizeLinear", [q, np.float32(0.1).reshape(()), np.uint8(128).reshape(())], consts=(1, 2), out_types=(T.FLOAT,), low=10)
case(13, "QuantizeLinear", [x2, np.float32(0.1).reshape(()), np.uint8(128).reshape(())], consts=(1, 2), out_types=(T.UINT8,), low=10)
case(13, "AveragePool", [f(1, 2, 7, 7)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1], low=10)
case(13, "MaxPool", [f(1, 2, 7, 7)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, low=10)

def build(opset, op, inputs, outputs, consts, out_types, tol, types, attrs, low):
    names = [f"i{k}" for k in range(len(inputs))]
    info = [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, (n, v) in enumerate(zip(names, inputs)) if k not in consts]
    init = [nh.from_array(inputs[k], names[k]) for k in consts]
    kind = out_types or (h.np_dtype_to_tensor_dtype(inputs[0].dtype),) * outputs
    outs = [h.make_tensor_value_info(f"o{k}", t, None) for k, t in enumerate(kind)]
    nodes, first = [], names[0]
    if not types:  # the type is hidden behind an operator that nobody knows until it is inferred
        nodes, first = [h.make_node("Identity", [first], ["hidden"])], "hidden"
    nodes.append(h.make_node(op, [first] + names[1:], [f"o{k}" for k in range(outputs)], **attrs))
    m = h.make_model(h.make_graph(nodes, "g", info, outs, init), opset_imports=[h.make_opsetid("", opset)])
    m.ir_version = {7: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8}.get(opset, 8 if opset < 19 else 9 if opset < 21 else 10)
    if opset < 9:
        m.ir_version = 4
    return m, {n: v for k, (n, v) in enumerate(zip(names, inputs)) if k not in consts}

for c in cases:
    m, feed = build(*c)
    what = f"{c[1]} of opset {c[0]} {c[8] or ''}{'' if c[7] else ' (type to be inferred)'}"
    onnx.save(m, "t.onnx")
    try:
        want = ort.InferenceSession("t.onnx").run(None, feed)
    except Exception as e:
        if c[9] == 99:
            print(f"# {what}: ONNX Runtime does not run the original: {str(e)[:150]}")
            continue
        want = ReferenceEvaluator(m).run(None, feed)
    for o, w in zip(m.graph.output, want):
        o.CopyFrom(h.make_tensor_value_info(o.name, o.type.tensor_type.elem_type, w.shape))
    onnx.save(m, "t.onnx")
    for to in (0, 7, 9, 10, 11, 13, 20) if c[9] < 99 else (0, 7, 13):
        to_what = f"{what}, as opset {to}" if to else what
        must = not to or to >= c[0] or to >= c[9]
        p = subprocess.run(f"ge-import -q t.onnx | ge-export {f'--opset {to}' if to else ''} -o u.onnx", shell=True, capture_output=True, text=True)
        if p.returncode == 69 and not must and p.stderr.count("\n") == 1:
            continue
        try:
            assert p.returncode == 0, p.stderr
            u = onnx.load("u.onnx")
            assert u.opset_import[0].version == (to or c[0]), u.opset_import
            assert to or u.ir_version == m.ir_version, u.ir_version
            onnx.checker.check_model("u.onnx", full_check=True)
            got = ort.InferenceSession("u.onnx").run(None, feed)
            for a, b in zip(want, got):
                assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
                if a.dtype == bool:
                    assert (a == b).all()
                    continue
                assert np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=c[6], atol=c[6], equal_nan=True), np.abs(a - b).max()
            print(f"ok - {to_what}")
        except Exception as e:
            print(f"not ok - {to_what}: {str(e)[:300]!r}")

# Scan had a batch axis in front. Its body has a value from around it, and its sequences go either way.
F = lambda name, *shape: h.make_tensor_value_info(name, T.FLOAT, shape)
body = h.make_graph([h.make_node("Add", ["s", "a"], ["t"]), h.make_node("Mul", ["t", "b"], ["u"]), h.make_node("Add", ["u", "c"], ["v"])], "body",
                    [F("s", 3), F("a", 3), F("b", 3)], [F("u", 3), F("v", 3)])
for directions in ([0, 0], [1, 0]):
    scan = h.make_node("Scan", ["", "i0", "i1", "i2"], ["o0", "o1"], body=body, num_scan_inputs=2, directions=directions)
    m = h.make_model(h.make_graph([scan], "g", [F("i0", 2, 3), F("i1", 2, 4, 3), F("i2", 2, 4, 3), F("c", 3)], [F("o0", 2, 3), F("o1", 2, 4, 3)]),
                     opset_imports=[h.make_opsetid("", 8)])
    m.ir_version = 3
    onnx.save(m, "t.onnx")
    feed = {"i0": f(2, 3), "i1": f(2, 4, 3), "i2": f(2, 4, 3), "c": f(3)}
    want = ort.InferenceSession("t.onnx").run(None, feed)
    p = subprocess.run("ge-import -q t.onnx | ge-shape | ge-export -q --opset 13 -o u.onnx", shell=True, capture_output=True, text=True)
    got = ort.InferenceSession("u.onnx").run(None, feed) if p.returncode == 0 else []
    good = len(got) == 2 and all(a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-5) for a, b in zip(want, got))
    print(f"{'ok' if good else 'not ok'} - Scan of opset 8, directions {directions}{'' if good else ': ' + p.stderr[:300]}")
END
within "$python" convert.py
cat >oldest.py <<'END'
import glob
import subprocess
import sys
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh
from onnx.reference import ReferenceEvaluator

ort.set_default_logger_severity(4)
rng = np.random.default_rng(0)

def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)

# inputs by name, initializers by name, nodes, what is right. The first input goes through an Identity, which hides its rank.
def case(what, opset, inputs, consts, nodes, want, refused=None):
    kinds = [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
    weights = [nh.from_array(v, n) for n, v in consts.items()]
    outs = [h.make_tensor_value_info("o", h.np_dtype_to_tensor_dtype(want.dtype), want.shape)]
    extra = kinds + [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in consts.items()]
    for hidden in (False, True):
        body = nodes
        if hidden:
            body = [h.make_node("Identity", ["x"], ["hidden"])] + [h.make_node(n.op_type, ["hidden" if i == "x" else i for i in n.input], n.output) for n in nodes]
            for n, old in zip(body[1:], nodes):
                n.attribute.extend(old.attribute)
        m = h.make_model(h.make_graph(body, "g", extra, outs, weights), opset_imports=[h.make_opsetid("", opset)])
        m.ir_version = 3
        if opset == 1:  # as files of then have it
            m.ir_version = 2
            del m.opset_import[:]
        onnx.save(m, "t.onnx")
        check(f"{what} of opset {opset}{', rank to be inferred' if hidden else ''}", "t.onnx", inputs, [want], refused)

def check(what, file, feed, want, refused=None):
    p = subprocess.run(["sh", "-c", 'ge-import -q "$0" -o t.g && ge-export t.g -o u.onnx', file], capture_output=True, text=True)
    if refused:
        good = p.returncode == 69 and p.stderr.count("\n") == 1 and all(r in p.stderr for r in refused)
        print(f"{'ok' if good else 'not ok'} - {what} is refused{'' if good else ': ' + repr(p.stderr)}")
        return
    try:
        assert p.returncode == 0, p.stderr
        assert p.stderr.count("\n") == 1 and "not written" in p.stderr, p.stderr
        u = onnx.load("u.onnx")
        assert u.opset_import[0].version == 7, u.opset_import
        onnx.checker.check_model("u.onnx", full_check=True)
        try:
            s = ort.InferenceSession("u.onnx")
        except ort.capi.onnxruntime_pybind11_state.NotImplemented:
            s = ReferenceEvaluator(u)
        got = s.run(None, {n: v for n, v in feed.items() if n in {i.name for i in u.graph.input}})
        assert len(got) == len(want)
        for a, b in zip(want, got):
            assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
            assert np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-4, atol=1e-5, equal_nan=True), np.abs(a.astype(np.float64) - b).max()
        print(f"ok - {what}")
    except Exception as e:
        print(f"not ok - {what}: {str(e)[:300]!r}")

def one(op, ins=("x",), **attrs):
    return [h.make_node(op, list(ins), ["o"], **attrs)]

x, y, z = f(2, 3, 4, 5), f(3, 4), f(3)
full = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Less": np.less, "Greater": np.greater}
for opset in (1, 5, 6):
    for op, g in full.items():
        a = np.abs(x) + 0.5
        old = {"consumed_inputs": [0, 0]} if opset < 6 and op in ("Add", "Sub", "Mul", "Div") else {}
        case(f"{op}, axis 1", opset, {"x": a, "y": y}, {}, one(op, "xy", axis=1, broadcast=1, **old), g(a, y[..., None]))
    case("Add, a weight at axis 1", opset, {"x": x}, {"w": z}, one("Add", "xw", axis=1, broadcast=1), x + z[:, None, None])
    w = f(4, 5)
    case("Mul, the last axes", opset, {"x": x, "y": w}, {}, one("Mul", "xy", broadcast=1), x * w)
    case("Mul, one number at an axis", opset, {"x": x}, {"w": z[:1]}, one("Mul", "xw", axis=1, broadcast=1), x * z[0])
    case("Sub, the same shape", opset, {"x": x, "y": x * 2}, {}, one("Sub", "xy"), -x)
    b = x > 0
    case("And, axis 1", opset, {"x": b, "y": y > 0}, {}, one("And", "xy", axis=1, broadcast=1), b & (y > 0)[..., None])
    case("Or, axis 0", opset, {"x": b, "y": y[:2, 0] > 0}, {}, one("Or", "xy", axis=0, broadcast=1), b | (y[:2, 0] > 0)[:, None, None, None])
    case("Xor, the last axis", opset, {"x": b, "y": b[0, 0, 0]}, {}, one("Xor", "xy", broadcast=1), b ^ b[0, 0, 0])
    k = rng.integers(0, 2, (2, 3)).astype(np.int32)
    case("Equal, axis 0", opset, {"x": k, "y": k[:, 1].copy()}, {}, one("Equal", "xy", axis=0, broadcast=1), k == k[:, 1:2])
    p, q = f(3, 4), f(4, 2)
    case("Gemm, a row", opset, {"x": p}, {"q": q, "c": np.float32([1, 2])}, one("Gemm", "xqc", broadcast=1), p @ q + np.float32([1, 2]))
    case("PRelu, a slope a channel", opset, {"x": x}, {"w": z}, one("PRelu", "xw"), np.where(x < 0, x * z[:, None, None], x))
    case("PRelu, one slope", opset, {"x": x}, {"w": z[:1]}, one("PRelu", "xw"), np.where(x < 0, x * z[0], x))
    case("two broadcasts", opset, {"x": x, "y": z}, {"w": y}, [h.make_node("Mul", ["x", "y"], ["t"], axis=1, broadcast=1),
         h.make_node("Add", ["t", "w"], ["o"], axis=1, broadcast=1)], x * z[:, None, None] + y[..., None])
    mean, var = f(3), np.abs(f(3)) + 0.5
    c4 = lambda v: v[:, None, None]
    bn = (x - c4(mean)) / np.sqrt(c4(var) + np.float32(1e-5)) * c4(z) + c4(z)
    old = {"consumed_inputs": [0, 0, 0, 1, 1]} if opset < 6 else {}
    case("BatchNormalization", opset, {"x": x}, {"s": z, "m": mean, "v": var}, one("BatchNormalization", "xssmv", is_test=1, **old), bn)
    case("BatchNormalization in training", opset, {"x": x}, {"s": z, "m": mean, "v": var}, one("BatchNormalization", "xssmv", **old), bn,
         ("BatchNormalization", f"opset {opset}", "training"))
    case("Dropout", opset, {"x": x}, {}, one("Dropout", is_test=1), x)
    case("Dropout in training", opset, {"x": x}, {}, one("Dropout"), x, ("Dropout", f"opset {opset}"))
    case("AveragePool with pads", opset, {"x": np.ones((1, 1, 4, 4), np.float32)}, {}, one("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
         np.ones((1, 1, 4, 4), np.float32))
    case("MaxPool", opset, {"x": x}, {}, one("MaxPool", kernel_shape=[2, 2]),
         np.maximum(np.maximum(x[..., :-1, :-1], x[..., 1:, :-1]), np.maximum(x[..., :-1, 1:], x[..., 1:, 1:])))
    case("Clip", opset, {"x": x}, {}, one("Clip", min=-0.5, max=0.25), np.clip(x, np.float32(-0.5), np.float32(0.25)))
    case("Clip, one bound", opset, {"x": x}, {}, one("Clip", max=0.25), np.minimum(x, np.float32(0.25)))
    case("Softmax from axis 1", opset, {"x": x}, {}, one("Softmax"), (lambda e: (e / e.sum(1, keepdims=True)).reshape(x.shape))(np.exp(x.reshape(2, -1))))
    case("TopK", opset, {"x": x}, {}, [h.make_node("TopK", ["x"], ["o", "i"], k=2, axis=1)], -np.sort(-x, 1)[:, :2])
    case("Upsample", opset, {"x": x}, {}, one("Upsample", height_scale=2.0, width_scale=3.0), x.repeat(2, 2).repeat(3, 3))
    case("LSTM", opset, {"x": f(4, 2, 3)}, {"w": np.zeros((1, 20, 3), np.float32), "r": np.zeros((1, 20, 5), np.float32)},
         one("LSTM", "xwr", hidden_size=5, output_sequence=1), np.zeros((4, 1, 2, 5), np.float32))
for opset in (1, 4, 5):
    for op, g in {"Relu": lambda v: np.maximum(v, 0), "LeakyRelu": lambda v: np.where(v < 0, v * np.float32(0.01), v), "Neg": np.negative,
                  "Abs": np.abs, "Exp": np.exp, "Tanh": np.tanh}.items():
        case(op, opset, {"x": x}, {}, one(op, consumed_inputs=[0]), g(x))
    case("Max", opset, {"x": x, "y": x * 2}, {}, one("Max", "xy", consumed_inputs=[0, 0]), np.maximum(x, x * 2))
    case("Cast by name", opset, {"x": x * 9}, {}, one("Cast", to="INT32"), (x * 9).astype(np.int32))
    case("Selu", opset, {"x": x}, {}, one("Selu", consumed_inputs=[0]), (np.float32(1.0507) * np.where(x > 0, x, np.float32(1.6732) * (np.exp(x) - 1))))
    number = lambda name, v: h.make_node("Constant", [], [name], value=nh.from_array(np.float32([v])))
    case("Tile on one axis", opset, {"x": x}, {}, [number("t", 3), number("a", 2)] + one("Tile", "xta"), np.tile(x, (1, 1, 3, 1)))
    case("Tile of computed times", opset, {"x": x, "t": np.float32([3])}, {}, [number("a", 2)] + one("Tile", "xta"), x, ("Tile", f"opset {opset}"))
for opset in (1, 4):
    case("Reshape to an attribute", opset, {"x": x}, {}, one("Reshape", shape=[0, -1]), x.reshape(2, -1))
for opset in (1, 3):
    case("Concat of no axis", opset, {"x": x, "y": x * 2}, {}, one("Concat", "xy"), np.concatenate([x, x * 2], 1))
case("Concat", 4, {"x": x, "y": x * 2}, {}, one("Concat", "xy", axis=2), np.concatenate([x, x * 2], 2))
case("Pad with paddings", 1, {"x": x}, {}, one("Pad", paddings=[0, 0, 1, 2, 0, 0, 2, 1], value=1.5), np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 1)], constant_values=1.5))
case("Pad", 2, {"x": x}, {}, one("Pad", pads=[0, 0, 1, 2, 0, 0, 2, 1]), np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 1)]))
case("Split by an attribute", 1, {"x": x}, {}, [h.make_node("Split", ["x"], ["o", "p"], axis=1, split=[1, 2])], x[:, :1])
sizes = h.make_node("Constant", [], ["s"], value=nh.from_array(np.float32([1, 2])))
case("Split by an operand", 1, {"x": x}, {}, [sizes, h.make_node("Split", ["x", "s"], ["o", "p"], axis=1)], x[:, :1])
case("Split", 2, {"x": x}, {}, [h.make_node("Split", ["x"], ["o", "p"], split=[1, 1])], x[:1])
case("Split of no axis", 1, {"x": x}, {}, [h.make_node("Split", ["x"], ["o", "p"])], x, ("Split", "opset 1"))
case("LpPool", 1, {"x": x}, {}, one("LpPool", kernel_shape=[4, 5], p=2.0), np.sqrt((x * x).sum((2, 3), keepdims=True)))
case("GlobalLpPool", 1, {"x": x}, {}, one("GlobalLpPool", p=1.0), np.abs(x).sum((2, 3), keepdims=True))
case("GlobalLpPool of a broken p", 1, {"x": x}, {}, one("GlobalLpPool", p=1.5), x, ("GlobalLpPool", "opset 1"))

# What was exported then, with what it gave.
tensor = lambda file: nh.to_array(onnx.load_tensor(file))
n = 0
for file in sorted(glob.glob("/usr/share/libonnx-testdata/data/*/*/model.onnx")):
    m = onnx.load(file)
    if m.opset_import[0].version > 6 or m.opset_import[0].domain:
        continue
    n += 1
    for data in glob.glob(file[:-10] + "test_data_set_*"):
        ins = [tensor(f"{data}/input_{k}.pb") for k in range(len(glob.glob(data + "/input_*.pb")))]
        outs = [tensor(f"{data}/output_{k}.pb") for k in range(len(glob.glob(data + "/output_*.pb")))]
        check(f"{file.split('/')[-2]} of opset {m.opset_import[0].version}", file, {i.name: v for i, v in zip(m.graph.input, ins)}, outs)
if not n:
    print("ok - ONNX's old test models # SKIP needs libonnx-testdata")
END
within "$python" oldest.py
done_testing
