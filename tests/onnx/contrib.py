"""Quantised operators of com.microsoft, one a model: ge-import's standard operators against ONNX Runtime's own kernels."""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

ort.set_default_logger_severity(4)
rng = np.random.default_rng(5)
u8 = lambda *s: rng.integers(0, 256, s).astype(np.uint8)
i8 = lambda *s: rng.integers(-64, 65, s).astype(np.int8)  # no pair of products is too large for the 16 bits that ONNX Runtime has without VNNI
f = lambda *v: np.array(v[0] if len(v) == 1 else v, np.float32)
z = lambda v, t=np.uint8: np.array(v, t)
OPSETS = [h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]
results = 0


def check(what, op, operands, step=1, **attrs):
    """operands: (array, is it an input?) or an array (a constant) or None. A result of bytes is within step; floats within 1e-5."""
    global results
    feed, init, names = {}, [], []
    for k, a in enumerate(operands):
        a, fed = a if isinstance(a, tuple) else (a, False)
        names.append("" if a is None else f"o{k}")
        if a is None:
            continue
        if fed:
            feed[f"o{k}"] = a
        else:
            init.append(numpy_helper.from_array(a, f"o{k}"))
    g = h.make_graph([h.make_node(op, names, ["y"], domain="com.microsoft", **attrs)], "g",
                     [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feed.items()],
                     [onnx.ValueInfoProto(name="y")], init)
    onnx.save(h.make_model(g, opset_imports=OPSETS, ir_version=8), "c.onnx")
    np.savez("in.npz", **feed)
    why = ""
    try:
        want = ort.InferenceSession("c.onnx", providers=["CPUExecutionProvider"]).run(None, feed)[0]
        p = subprocess.run(["bash", "-o", "pipefail", "-c", "ge-import -q c.onnx | ge-shape -o c.g && ge-integer c.g -o i.g && run-ref -q -i in.npz c.g -o c.npz && "
                            "run-ref -q -i in.npz i.g -o i.npz && ge-export -q -o e.onnx i.g"], capture_output=True, text=True)
        assert p.returncode == 0, p.stderr
        onnx.checker.check_model("e.onnx", full_check=True)
        for file in ("c.npz", "i.npz"):
            got = np.load(file)["y"]
            assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
            d = np.abs(got.astype(float) - want.astype(float)).max()
            assert d <= (step if got.dtype.kind in "iu" else 1e-5 * np.abs(want).max()), (file, d)
    except Exception as e:
        why = f": {type(e).__name__}: {str(e)[:600]}"
    results += 1
    print(f"{'not ' if why else ''}ok - {what}{why}", flush=True)


def refused(what, why, operands, **attrs):
    """Bad input: one line that says why, and exit status 65."""
    global results
    init = [numpy_helper.from_array(a, f"o{k + 1}") for k, a in enumerate(operands)]
    node = h.make_node("MatMulNBits", ["o0"] + [t.name for t in init], ["y"], domain="com.microsoft", **{"K": 64, "N": 5, "bits": 4, "block_size": 16, **attrs})
    g = h.make_graph([node], "g", [h.make_tensor_value_info("o0", T.FLOAT, [3, 64])], [onnx.ValueInfoProto(name="y")], init)
    onnx.save(h.make_model(g, opset_imports=OPSETS, ir_version=8), "c.onnx")
    p = subprocess.run(["bash", "-o", "pipefail", "-c", "ge-import -q c.onnx | ge-shape | ge-integer -o i.g"], capture_output=True, text=True)
    good = p.returncode == 65 and p.stderr.count("\n") == 1 and why in p.stderr
    results += 1
    print(f"{'' if good else 'not '}ok - {what}{'' if good else ': ' + p.stderr[:300]}", flush=True)


x, y = (u8(2, 3, 4, 5), True), (u8(2, 3, 4, 5), True)
check("QLinearAdd", "QLinearAdd", [x, f(0.1), z(100), y, f(0.2), z(7), f(0.3), z(90)])
check("QLinearAdd of i8", "QLinearAdd", [(i8(2, 3), True), f(0.1), z(-5, np.int8), (i8(3), True), f(0.2), z(7, np.int8), f(0.3), z(9, np.int8)])
check("QLinearMul", "QLinearMul", [x, f(0.1), z(100), y, f(0.2), z(7), f(2), z(90)])
check("QLinearSigmoid", "QLinearSigmoid", [x, f(0.1), z(100), f(1 / 256), z(0)])
check("QLinearSigmoid of i8", "QLinearSigmoid", [(i8(2, 3), True), f(0.1), z(3, np.int8), f(1 / 256), z(-128, np.int8)])
check("QLinearLeakyRelu", "QLinearLeakyRelu", [x, f(0.1), z(100), f(0.1), z(50)], alpha=0.3)
check("QLinearGlobalAveragePool", "QLinearGlobalAveragePool", [x, f(0.1), z(100), f(0.08), z(90)])
check("QLinearAveragePool", "QLinearAveragePool", [x, f(0.1), z(100), f(0.08), z(90)], kernel_shape=[2, 2])
check("QLinearConcat", "QLinearConcat", [f(0.1), z(100), x, f(0.2), z(7), y, f(0.1), z(100)], axis=1)
check("QLinearSoftmax", "QLinearSoftmax", [x, f(0.1), z(100), f(1 / 256), z(0)], axis=-1, opset=13)
check("QLinearWhere", "QLinearWhere", [(rng.random((4, 5)) < 0.5, True), x, f(0.1), z(100), y, f(0.2), z(7), f(0.2), z(90)])
a, b, c = (u8(4, 6), True), i8(6, 3), rng.integers(-900, 900, 3).astype(np.int32)
check("QGemm", "QGemm", [a, f(0.1), z(100), b, f(0.2), z(0, np.int8), c, f(3), z(90)])
check("QGemm, a scale a column, transposed", "QGemm", [a, f(0.1), z(100), i8(3, 6), f(0.2, 0.1, 0.3), z([0, 0, 0], np.int8), c, f(3), z(90)], transB=1)
check("QGemm to a float", "QGemm", [a, f(0.1), z(100), b, f(0.2), z(0, np.int8), c], alpha=0.5)
v = (rng.standard_normal((4, 6)).astype(np.float32), True)
bias = rng.standard_normal(3).astype(np.float32)
check("DynamicQuantizeMatMul", "DynamicQuantizeMatMul", [v, b, f(0.2), z(0, np.int8), bias])
check("DynamicQuantizeMatMul without zero point and bias", "DynamicQuantizeMatMul", [v, b, f([0.2, 0.1, 0.5])])
check("MatMulIntegerToFloat", "MatMulIntegerToFloat", [a, b, f(0.1), f(0.2), z(100), z(0, np.int8), bias])
check("MatMulIntegerToFloat without zero points", "MatMulIntegerToFloat", [a, b, f(0.1), f([0.2, 0.1, 0.5])])
w, zw, sw = i8(2, 6, 3), i8(2, 1, 3), rng.uniform(0.01, 0.1, (2, 1, 3)).astype(np.float32)
check("MatMulIntegerToFloat, a scale and a zero point for each column of a batch", "MatMulIntegerToFloat", [(u8(2, 4, 6), True), w, f(0.1), sw, z(100), zw, bias])
check("DynamicQuantizeMatMul, the same", "DynamicQuantizeMatMul", [(rng.standard_normal((2, 4, 6)).astype(np.float32), True), w, sw, zw, bias])


def n_bits(what, bits, K, zeros=None, group=None, bias=None, t=np.float32):
    """MatMulNBits of 5 columns in blocks of 16: an operand each for zero points, g_idx and bias, or None."""
    n = (K + 15) // 16
    v = (rng.standard_normal((2, 3, K)).astype(t), True)
    scales = rng.uniform(-0.1, 0.1, 5 * n).astype(t)
    scales[3] = 0
    check(f"MatMulNBits, {bits} bits, K {K}, {what}", "MatMulNBits", [v, u8(5, n, 16 * bits // 8), scales, zeros, group, bias], K=K, N=5, bits=bits, block_size=16)


for bits in (2, 4, 8):
    n_bits("no zero points", bits, 64)
    for K in (64, 50):
        n_bits("zero points", bits, K, u8(5 * (((K + 15) // 16 * bits + 7) // 8)))
between = lambda n, t=np.float32: rng.uniform(0, 15, (5, n)).astype(t)
blocks = np.arange(50) // 16
for K in (64, 50):
    n_bits("zero points that are no integers", 4, K, between(4))
n_bits("zero points that are floats", 2, 64, np.round(between(4) / 5), None, bias=rng.standard_normal(5).astype(np.float32))
n_bits("elements of any block in any order", 4, 50, None, rng.permutation(blocks).astype(np.int32))
n_bits("the same, zero points that are floats", 4, 50, np.round(between(4)), rng.permutation(blocks).astype(np.int32))
n_bits("the same, zero points that are no integers", 4, 50, between(4), rng.permutation(blocks).astype(np.int32), rng.standard_normal(5).astype(np.float32))
n_bits("blocks of other lengths", 4, 50, between(4), rng.integers(0, 4, 50).astype(np.int32))
n_bits("in order", 4, 50, None, blocks.astype(np.int32))
w, s = np.zeros((5, 4, 8), np.uint8), np.full(20, 0.1, np.float32)
refused("MatMulNBits, blocks that are too short", "block_size 8", [w, s], block_size=8)
refused("MatMulNBits, N below 1", "N 0", [w, s], N=0)
refused("MatMulNBits, codes of another shape", "operand 1 has 120 elements", [w[:, :3], s])
refused("MatMulNBits, codes of another type", "operand 1 is i8, takes u8", [w.astype(np.int8), s])
refused("MatMulNBits, scales of another shape", "operand 2 has 19 elements", [w, s[1:]])
refused("MatMulNBits, zero points of another shape", "operand 3 has 3 elements", [w, s, np.zeros(3, np.uint8)])
refused("MatMulNBits, blocks of no power of two", "block_size 24", [w, s], block_size=24)
refused("MatMulNBits, an element of a block that there is not", "operand 4 has 4; there are 4 blocks", [w, s, np.zeros(10, np.uint8), np.full(64, 4, np.int32)])
refused("MatMulNBits, fewer blocks than elements", "operand 4 has 63 elements", [w, s, np.zeros(10, np.uint8), np.zeros(63, np.int32)])
for bad in (np.inf, np.nan):
    refused(f"MatMulNBits, a scale of {bad}", "scales are finite", [w, np.append(s[1:], np.float32(bad))])
check("QuantizeLinear", "QuantizeLinear", [v, f(0.02), z(100)])
check("DequantizeLinear", "DequantizeLinear", [a, f(0.02), z(100)])


def grouped(what, code, why, width=32, rotary=16, at=5, total=None):
    """GroupQueryAttention of one new row behind a cache of 16; what is wrong is told of the node, when it is built or when it runs."""
    global results
    shapes = {"q": [1, 1, width], "k": [1, 1, 16], "v": [1, 1, 16], "past_k": [1, 2, 16, 8], "past_v": [1, 2, 16, 8]}
    if width != 32:
        del shapes["k"], shapes["v"]
    table = [numpy_helper.from_array(np.ones((rotary, 4), np.float32), n) for n in ("cos", "sin")]
    inputs = [h.make_tensor_value_info(n, T.FLOAT, d) for n, d in shapes.items()] + [h.make_tensor_value_info(n, T.INT32, [1]) for n in ("last", "total")]
    node = h.make_node("GroupQueryAttention", [n if n in shapes else "" for n in ("q", "k", "v", "past_k", "past_v")] + ["last", "total", "cos", "sin"],
                       ["y", "new_k", "new_v"], "attend", domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)
    onnx.save(h.make_model(h.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=o) for o in node.output], table), opset_imports=OPSETS, ir_version=8), "c.onnx")
    np.savez("c.npz", last=np.array([at], np.int32), total=np.array([total or at + 1], np.int32), **{n: np.ones(d, np.float32) for n, d in shapes.items()})
    p = subprocess.run(["sh", "-c", "hone build -q c.onnx -o c && run-dev -q c.so -i c.npz -o r.npz"], capture_output=True, text=True)
    good = p.returncode == code and p.stderr.count("\n") == (code != 0) and all(w in p.stderr for w in why)
    results += 1
    print(f"{'' if good else 'not '}ok - GroupQueryAttention, {what}{'' if good else ': ' + p.stderr[:300]}", flush=True)


grouped("as it should be", 0, [])
grouped("a packed width of no heads", 65, ["attend/GroupQueryAttention/", "axis 2 has 60"], width=60)
grouped("tables that are too short", 65, ["attend/GroupQueryAttention/", "position 5 of 4"], rotary=4)
grouped("a length below 0", 65, ["attend/GroupQueryAttention/", "position -5 of 16"], at=-5)
grouped("a cache that grows to more room", 0, [], at=16, total=40, rotary=64)
grouped("a length beyond the cache", 65, ["attend/GroupQueryAttention/", "57 of 40"], at=17, total=40, rotary=64)

print(f"1..{results}")
