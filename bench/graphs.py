#!/usr/bin/env python3
"""Make models of shapes that well-known networks have, with random weights, without torch: NAME.onnx.

  hifigan          HiFi-GAN V1 (vocoder): transposed and dilated convolutions of one axis, 16 frames
  poolformer_s12   PoolFormer-S12: averages in place of attention, GroupNormalization of one group, GELU
  regnet_x_400mf   RegNetX-400MF: grouped 3x3 convolutions
  vit_tiny         ViT-Ti/16, 224 px: a convolution of patches, 12 blocks of 192 channels

BatchNorm is folded into the convolutions, whose weights keep the scale of what they are given.  --qdq also makes NAME.qdq.onnx, quantised by ONNX
Runtime (QDQ, weights per channel).  Then `hone build NAME.onnx` and bench/peers.py time it.
"""

import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Graph:
    def __init__(self, name, shape):
        self.name, self.shape = name, shape
        self.nodes, self.consts, self.rng = [], [], np.random.default_rng(1)

    def const(self, a, dtype=np.float32):
        name = f"c{len(self.consts)}"
        self.consts.append(numpy_helper.from_array(np.asarray(a, dtype), name))
        return name

    def op(self, kind, *inputs, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=out, **attributes))
        return out

    def weights(self, shape, fan, gain=1.0):
        return self.const(self.rng.standard_normal(shape) * gain / np.sqrt(fan))

    def conv(self, x, cin, cout, k, stride=1, pad=None, dilation=1, group=1, axes=2, gain=1.0):
        pad = (k - 1) * dilation // 2 if pad is None else pad
        w = self.weights((cout, cin // group) + (k,) * axes, cin // group * k ** axes, gain)
        b = self.const(self.rng.standard_normal(cout) * 0.1)
        return self.op("Conv", x, w, b, kernel_shape=[k] * axes, strides=[stride] * axes, pads=[pad] * 2 * axes,
                       dilations=[dilation] * axes, group=group)

    def model(self, result):
        g = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)],
                              [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)], self.consts)
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        m = onnx.shape_inference.infer_shapes(m, strict_mode=True, data_prop=True)
        onnx.checker.check_model(m)
        return m


def hifigan(frames=16):
    g = Graph("hifigan", [1, 80, frames])
    c = 512
    x = g.conv("input", 80, c, 7, axes=1)
    for u, k in ((8, 16), (8, 16), (2, 4), (2, 4)):
        x = g.op("LeakyRelu", x, alpha=0.1)
        w, b = g.weights((c, c // 2, k), c * k / u, 1.4), g.const(g.rng.standard_normal(c // 2) * 0.1)
        x = g.op("ConvTranspose", x, w, b, kernel_shape=[k], strides=[u], pads=[(k - u) // 2] * 2)
        c //= 2
        blocks = []
        for size in (3, 7, 11):
            y = x
            for d in (1, 3, 5):
                z = g.conv(g.op("LeakyRelu", y, alpha=0.1), c, c, size, dilation=d, axes=1)
                y = g.op("Add", y, g.conv(g.op("LeakyRelu", z, alpha=0.1), c, c, size, axes=1, gain=0.5))
            blocks.append(y)
        x = g.op("Div", g.op("Add", g.op("Add", *blocks[:2]), blocks[2]), g.const(3.0))
    x = g.conv(g.op("LeakyRelu", x, alpha=0.01), c, 1, 7, axes=1, gain=0.3)
    return g.model(g.op("Tanh", x))


def group_norm(g, x, c, size):
    """As torch exports GroupNorm of one group."""
    flat = g.op("Reshape", x, g.const([0, 1, -1], np.int64))
    n = g.op("InstanceNormalization", flat, g.const([1.0]), g.const([0.0]), epsilon=1e-5)
    n = g.op("Reshape", n, g.const([1, c, size, size], np.int64))
    scale, bias = (g.const(g.rng.standard_normal((c, 1, 1)) * 0.1 + one) for one in (1, 0))
    return g.op("Add", g.op("Mul", n, scale), bias)


def gelu(g, x):
    e = g.op("Erf", g.op("Div", x, g.const(np.sqrt(2))))
    return g.op("Mul", g.op("Mul", x, g.op("Add", e, g.const(1.0))), g.const(0.5))


def poolformer_s12():
    g = Graph("poolformer_s12", [1, 3, 224, 224])
    x, c, size = "input", 3, 224
    for stage, (width, depth) in enumerate(((64, 2), (128, 2), (320, 6), (512, 2))):
        k, stride, pad = (7, 4, 2) if stage == 0 else (3, 2, 1)
        x, c, size = g.conv(x, c, width, k, stride=stride, pad=pad), width, (size + 2 * pad - k) // stride + 1
        for _ in range(depth):
            n = group_norm(g, x, c, size)
            p = g.op("AveragePool", n, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], count_include_pad=0)
            x = g.op("Add", x, g.op("Mul", g.op("Sub", p, n), g.const(g.rng.standard_normal((c, 1, 1)) * 0.3)))
            h = gelu(g, g.conv(group_norm(g, x, c, size), c, 4 * c, 1))
            x = g.op("Add", x, g.op("Mul", g.conv(h, 4 * c, c, 1), g.const(g.rng.standard_normal((c, 1, 1)) * 0.3)))
    x = g.op("ReduceMean", group_norm(g, x, c, size), axes=[-2, -1], keepdims=0)
    return g.model(g.op("Gemm", x, g.weights((1000, c), c), g.const(np.zeros(1000)), transB=1))


def regnet_x_400mf():
    g = Graph("regnet_x_400mf", [1, 3, 224, 224])
    x, c = g.op("Relu", g.conv("input", 3, 32, 3, stride=2, gain=1.4)), 32
    for width, depth in ((32, 1), (64, 2), (160, 7), (400, 12)):
        for i in range(depth):
            stride = 2 if i == 0 else 1
            short = g.conv(x, c, width, 1, stride=stride) if i == 0 else x
            y = g.op("Relu", g.conv(x, c, width, 1, gain=1.4))
            y = g.op("Relu", g.conv(y, width, width, 3, stride=stride, group=width // 16, gain=1.4))
            x, c = g.op("Relu", g.op("Add", short, g.conv(y, width, width, 1, gain=0.5))), width
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    return g.model(g.op("Gemm", x, g.weights((1000, c), c), g.const(np.zeros(1000)), transB=1))


def layer_norm(g, x, d):
    return g.op("LayerNormalization", x, g.const(g.rng.standard_normal(d) * 0.1 + 1), g.const(g.rng.standard_normal(d) * 0.1), axis=-1,
                epsilon=1e-6)


def linear(g, x, i, o, gain=1.0):
    return g.op("Add", g.op("MatMul", x, g.weights((i, o), i, gain)), g.const(g.rng.standard_normal(o) * 0.1))


def attention(g, x, tokens, d, heads):
    """As torch exports timm's: queries, keys and values by one product."""
    parts = g.op("Reshape", linear(g, x, d, 3 * d), g.const([1, tokens, 3, heads, d // heads], np.int64))
    parts = g.op("Transpose", parts, perm=[2, 0, 3, 1, 4])
    q, k, v = (g.op("Gather", parts, g.const(i, np.int64), axis=0) for i in range(3))
    q = g.op("Mul", q, g.const((d // heads) ** -0.5))
    a = g.op("Softmax", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    y = g.op("Transpose", g.op("MatMul", a, v), perm=[0, 2, 1, 3])
    return linear(g, g.op("Reshape", y, g.const([1, tokens, d], np.int64)), d, d, 0.3)


def vit_tiny(d=192, heads=3, blocks=12):
    g = Graph("vit_tiny", [1, 3, 224, 224])
    x = g.op("Reshape", g.conv("input", 3, d, 16, stride=16, pad=0), g.const([1, d, 196], np.int64))
    x = g.op("Concat", g.weights((1, 1, d), 1), g.op("Transpose", x, perm=[0, 2, 1]), axis=1)
    x = g.op("Add", x, g.weights((1, 197, d), 1, 0.5))
    for _ in range(blocks):
        x = g.op("Add", x, attention(g, layer_norm(g, x, d), 197, d, heads))
        x = g.op("Add", x, linear(g, gelu(g, linear(g, layer_norm(g, x, d), d, 4 * d)), 4 * d, d, 0.3))
    x = g.op("Gather", layer_norm(g, x, d), g.const(0, np.int64), axis=1)
    return g.model(g.op("Gemm", x, g.weights((1000, d), d), g.const(np.zeros(1000)), transB=1))


MODELS = {f.__name__: f for f in (hifigan, poolformer_s12, regnet_x_400mf, vit_tiny)}


def quantise(path, out, shape):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            rng = np.random.default_rng(2)
            self.left = iter([{"input": rng.standard_normal(shape).astype(np.float32)} for _ in range(4)])

        def get_next(self):
            return next(self.left, None)

    quantize_static(path, out, Reader(), quant_format=QuantFormat.QDQ, per_channel=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", choices=[[], *MODELS], help="all, if none is given")
    p.add_argument("-o", "--out", default="build/models")
    p.add_argument("--qdq", action="store_true", help="NAME.qdq.onnx, too")
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name in args.names or MODELS:
        m, path = MODELS[name](), os.path.join(args.out, name + ".onnx")
        onnx.save(m, path)
        print(path)
        if args.qdq:
            quantise(path, path[:-len("onnx")] + "qdq.onnx", [d.dim_value for d in m.graph.input[0].type.tensor_type.shape.dim])


if __name__ == "__main__":
    main()
