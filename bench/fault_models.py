"""A dozen small models for faults.py: together they meet most passes, and each builds in about a second."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh


class Net:
    """Nodes one after the other; a name is made for each result."""

    def __init__(self, seed, **inputs):
        self.rng = np.random.default_rng(seed)
        self.inputs = inputs
        self.nodes, self.constants, self.count = [], [], 0

    def const(self, x):
        self.count += 1
        self.constants.append(nh.from_array(np.asarray(x), "c%d" % self.count))
        return "c%d" % self.count

    def draw(self, *shape, low=None):
        x = self.rng.standard_normal(shape) / max(1, np.prod(shape[1:])) ** 0.5 if low is None else self.rng.uniform(low, low + 1, shape)
        return self.const(x.astype(np.float32))

    def node(self, op, *inputs, n=1, **attributes):
        names = ["v%d" % len(self.nodes) + "_%d" % i * (i > 0) for i in range(n)]
        domain = attributes.pop("domain", "")
        self.nodes.append(h.make_node(op, list(inputs), names, domain=domain, name="n%d" % len(self.nodes), **attributes))
        return names[0] if n == 1 else names

    def scalar(self, x):
        return self.const(np.float32(x))

    def save(self, path, *outputs):
        kind = {"f": T.FLOAT, "i": T.INT64}
        graph = h.make_graph(self.nodes, "net", [h.make_tensor_value_info(k, kind[k[0]], s) for k, s in self.inputs.items()],
                             [h.make_tensor_value_info(o, T.UNDEFINED, None) for o in outputs], self.constants)
        for o in graph.output:
            o.ClearField("type")
        onnx.save(onnx.shape_inference.infer_shapes(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)), path)


def norm(n, x, channels):
    return n.node("BatchNormalization", x, n.draw(channels, low=0.5), n.draw(channels), n.draw(channels), n.draw(channels, low=0.5))


def layer_norm(n, x, size):
    mean = n.node("ReduceMean", x, n.const(np.array([-1])))
    d = n.node("Sub", x, mean)
    square = n.node("Pow", d, n.scalar(2))
    root = n.node("Sqrt", n.node("Add", n.node("ReduceMean", square, n.const(np.array([-1]))), n.scalar(1e-2)))
    return n.node("Add", n.node("Mul", n.node("Div", d, root), n.draw(size, low=0.5)), n.draw(size))


def gelu(n, x):
    e = n.node("Erf", n.node("Div", x, n.scalar(2 ** 0.5)))
    return n.node("Mul", n.node("Mul", x, n.node("Add", e, n.scalar(1))), n.scalar(0.5))


def convolutions(path):
    n = Net(1, f=[1, 3, 16, 16])
    x = n.node("Relu", norm(n, n.node("Conv", "f", n.draw(16, 3, 3, 3), pads=[1] * 4), 16))
    y = norm(n, n.node("Conv", x, n.draw(16, 16, 3, 3), n.draw(16), pads=[1] * 4), 16)
    x = n.node("Relu", n.node("Add", x, y))
    x = n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.node("Flatten", n.node("ReduceMean", x, n.const(np.array([2, 3]))))
    n.save(path, n.node("Softmax", n.node("Gemm", x, n.draw(10, 16), n.draw(10), transB=1)))


def mobile(path):
    n = Net(2, f=[1, 8, 12, 12])
    swish = lambda x: n.node("Mul", x, n.node("Div", n.node("Clip", n.node("Add", x, n.scalar(3)), n.scalar(0), n.scalar(6)), n.scalar(6)))
    x = swish(norm(n, n.node("Conv", "f", n.draw(24, 8, 1, 1)), 24))
    x = swish(n.node("Conv", x, n.draw(24, 1, 3, 3), n.draw(24), pads=[1] * 4, group=24))
    s = n.node("Relu", n.node("Conv", n.node("GlobalAveragePool", x), n.draw(8, 24, 1, 1), n.draw(8)))
    x = n.node("Mul", x, n.node("HardSigmoid", n.node("Conv", s, n.draw(24, 8, 1, 1), n.draw(24)), alpha=0.2))
    x = n.node("Add", "f", n.node("Conv", x, n.draw(8, 24, 1, 1), n.draw(8)))
    n.save(path, n.node("Div", x, n.draw(8, 1, 1, low=0.5)))


def transformer(path):
    n = Net(3, f=[12, 32])
    x = layer_norm(n, "f", 32)
    heads = lambda w, perm: n.node("Transpose", n.node("Reshape", n.node("Add", n.node("MatMul", x, w), n.draw(32)),
                                                       n.const(np.array([12, 4, 8]))), perm=perm)
    q, k, v = heads(n.draw(32, 32), [1, 0, 2]), heads(n.draw(32, 32), [1, 2, 0]), heads(n.draw(32, 32), [1, 0, 2])
    a = n.node("Softmax", n.node("Div", n.node("MatMul", q, k), n.scalar(8 ** 0.5)))
    a = n.node("Reshape", n.node("Transpose", n.node("MatMul", a, v), perm=[1, 0, 2]), n.const(np.array([12, 32])))
    x = n.node("Add", "f", n.node("MatMul", a, n.draw(32, 32)))
    y = gelu(n, n.node("Add", n.node("MatMul", layer_norm(n, x, 32), n.draw(32, 64)), n.draw(64)))
    n.save(path, n.node("Add", x, n.node("MatMul", y, n.draw(64, 32))))


def recurrent(path):
    n = Net(4, f=[10, 1, 12])
    y, last, _ = n.node("LSTM", "f", n.draw(1, 64, 12), n.draw(1, 64, 16), n.draw(1, 128), n=3, hidden_size=16)
    x = n.node("Squeeze", y, n.const(np.array([1])))
    g, _ = n.node("GRU", x, n.draw(1, 24, 16), n.draw(1, 24, 8), n.draw(1, 48), n=2, hidden_size=8, linear_before_reset=1)
    x = n.node("Tanh", n.node("MatMul", n.node("Squeeze", g, n.const(np.array([1]))), n.draw(8, 6)))
    n.save(path, n.node("Sub", x, n.node("ReduceMax", x, n.const(np.array([0])))), last)


def quantised(path):
    n = Net(5, f=[1, 4, 10, 10])
    zero, scale = n.const(np.uint8(120)), n.scalar(0.04)
    pair = lambda x: n.node("DequantizeLinear", n.node("QuantizeLinear", x, scale, zero), scale, zero)
    weights = lambda *s: n.node("DequantizeLinear", n.const(n.rng.integers(-90, 90, s).astype(np.int8)),
                                n.scalar(0.004), n.const(np.int8(0)))
    x = pair(n.node("Relu", n.node("Conv", pair("f"), weights(8, 4, 3, 3), pads=[1] * 4)))
    y = pair(n.node("Conv", x, weights(8, 8, 1, 1)))
    x = pair(n.node("Sigmoid", pair(n.node("Add", x, y))))
    x = n.node("Flatten", pair(n.node("GlobalAveragePool", x)))
    n.save(path, n.node("Gemm", x, weights(8, 5), n.draw(5)))


def ladder(path):
    """Down, up again, and joined: Concat, Resize, Split, Slice."""
    n = Net(6, f=[1, 4, 12, 12])
    a = n.node("LeakyRelu", n.node("Conv", "f", n.draw(8, 4, 3, 3), n.draw(8), pads=[1] * 4), alpha=0.1)
    b = n.node("Elu", n.node("Conv", n.node("AveragePool", a, kernel_shape=[2, 2], strides=[2, 2]), n.draw(8, 8, 3, 3), pads=[1] * 4))
    b = n.node("Resize", b, "", n.const(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    x = n.node("Concat", a, b, axis=1)
    p, q = n.node("Split", n.node("LeakyRelu", x, alpha=0.3), n.const(np.array([6, 10])), n=2, axis=1)
    x = n.node("Concat", q, p, axis=1)
    n.save(path, n.node("Slice", x, n.const(np.array([1])), n.const(np.array([11])), n.const(np.array([2]))))


def channels_last(path):
    """As TensorFlow writes it: Transposes around every convolution."""
    n = Net(7, f=[1, 10, 10, 4])
    first = lambda x: n.node("Transpose", x, perm=[0, 3, 1, 2])
    conv = lambda x, *w: n.node("Transpose", n.node("Conv", first(x), n.draw(*w), pads=[1] * 4), perm=[0, 2, 3, 1])
    x = n.node("Relu", n.node("Add", conv("f", 8, 4, 3, 3), n.draw(8)))
    y = n.node("Mul", conv(x, 8, 8, 3, 3), n.draw(8, low=0.5))
    x = n.node("Softplus", n.node("Sub", y, x))
    x = n.node("Transpose", n.node("Transpose", x, perm=[0, 2, 3, 1]), perm=[0, 2, 1, 3])
    n.save(path, n.node("Mul", x, n.draw(10, low=0.5)))


def twins(path):
    """Nodes that are nearly the same."""
    n = Net(8, f=[6, 20])
    a, b = n.node("LeakyRelu", "f", alpha=0.05), n.node("LeakyRelu", "f", alpha=0.4)
    s = n.node("Sub", n.node("Sub", a, "f"), n.node("Sub", "f", a))
    t = n.node("Mul", n.node("ReduceSum", b, n.const(np.array([0]))), n.node("ReduceSum", b, n.const(np.array([1]))))
    same = n.node("Add", n.node("Tanh", "f"), n.node("Tanh", "f"))
    x = n.node("Mul", n.node("Mul", n.node("Add", s, t), n.scalar(3)), n.scalar(0.25))
    x = n.node("Mul", x, n.node("Sigmoid", n.node("Mul", x, n.scalar(1.7))))
    n.save(path, n.node("Add", x, same))


def indices(path):
    n = Net(9, i=[5], f=[5, 16])
    i = n.node("Mod", n.node("Abs", "i"), n.const(np.int64(30)))
    x = n.node("Add", n.node("Gather", n.draw(30, 16), i), "f")
    c = n.node("CumSum", n.node("Where", n.node("Greater", x, n.scalar(0)), x, n.node("Neg", x)), n.const(np.int64(1)))
    x = n.node("Pad", n.node("Exp", n.node("Neg", c)), n.const(np.array([0, 1, 0, 2])), n.scalar(0.5))
    n.save(path, n.node("Max", x, n.scalar(0.1)), n.node("ArgMax", c, axis=1))


def signal(path):
    n = Net(10, f=[1, 2, 60])
    x = n.node("Conv", "f", n.draw(12, 2, 5), n.draw(12), strides=[2], pads=[2, 2])
    x = n.node("Div", x, n.node("Sqrt", n.node("Add", n.node("ReduceSumSquare", x, n.const(np.array([2]))), n.scalar(1))))
    x = n.node("PRelu", x, n.draw(12, 1, low=0))
    x = n.node("ConvTranspose", x, n.draw(12, 6, 4), strides=[2], pads=[1, 1])
    n.save(path, n.node("InstanceNormalization", x, n.draw(6, low=0.5), n.draw(6)))


def flow(path):
    """Constants to fold, an If that is decided, attention as one operator."""
    n = Net(11, f=[1, 8, 24])
    w = n.node("Mul", n.node("Transpose", n.draw(24, 24), perm=[1, 0]), n.draw(24, low=0.5))
    w = n.node("Concat", w, n.node("Exp", n.draw(24, 48)), axis=1)
    q, k, v = n.node("Split", n.node("MatMul", "f", w), n=3, axis=2, num_outputs=3)
    x = n.node("Softmax", n.node("MatMul", n.node("Mul", q, n.scalar(0.3)), n.node("Transpose", k, perm=[0, 2, 1])), axis=1)
    x = n.node("Min", n.node("Max", n.node("MatMul", x, v), n.scalar(-0.9)), n.scalar(0.8))
    n.save(path, n.node("LogSoftmax", n.node("Gelu", x), axis=-1))


def perceptron(path):
    n = Net(12, f=[4, 40])
    x = n.node("Tanh", n.node("Gemm", "f", n.draw(40, 64), n.draw(64), alpha=0.7))
    x = n.node("Selu", n.node("Div", n.node("MatMul", x, n.draw(64, 48)), n.draw(48, low=0.5)))
    x = n.node("Dropout", x)
    x = n.node("Softsign", n.node("Sub", n.node("MatMul", x, n.draw(48, 30)), n.draw(30)))
    n.save(path, n.node("ReduceL2", x, n.const(np.array([1]))), n.node("Reciprocal", n.node("Exp", x)))


MODELS = [convolutions, mobile, transformer, recurrent, quantised, ladder, channels_last, twins, indices, signal, flow, perceptron]
