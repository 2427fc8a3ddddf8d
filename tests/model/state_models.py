"""Models with state: state_models.py FOLDER writes decoders whose caches of keys and values are inputs and outputs.

tensor.onnx   a cache of fixed length, rows written by TensorScatter, Attention over those that are there
nd.onnx       the same by ScatterND, with attention by products and a mask
concat.onnx   keys and values so far, as Attention's past and present: they grow
cache.onnx    keys and values so far, made by Concat along axis 2 and read by products: they grow, for a batch of any size
keys.onnx     the same, read by Attention
past.onnx     the same as Attention's past and present, for a batch of any size; causal.onnx: of which each query sees those before it
shared.onnx   the same, read by products for twice as many heads, behind Unsqueeze and Expand
window.onnx   the last keys and values: Attention's past and present, of which the oldest row goes"""

import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

WIDTH, HEADS, LAYERS, LENGTH, WINDOW = 32, 4, 2, 1024, 24
SIZE = WIDTH // HEADS


class Model:
    def __init__(self):
        self.nodes, self.consts, self.inputs, self.outputs = [], [], [], []
        self.rng = np.random.default_rng(1)

    def const(self, a):
        name = "c%d" % len(self.consts)
        self.consts.append(numpy_helper.from_array(np.asarray(a), name))
        return name

    def ints(self, *v):
        return self.const(np.array(v, np.int64))

    def weight(self, *shape):
        return self.const((self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def op(self, kind, *operands, results=1, **attrs):
        names = ["%s%d_%d" % (kind.lower(), len(self.nodes), k) for k in range(results)]
        self.nodes.append(h.make_node(kind, list(operands), names, name=names[0], **attrs))
        return names[0] if results == 1 else names

    def input(self, name, kind, shape):
        self.inputs.append(h.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, value, kind, shape):
        self.nodes.append(h.make_node("Identity", [value], [name]))
        self.outputs.append(h.make_tensor_value_info(name, kind, shape))

    def norm(self, x):
        return self.op("LayerNormalization", x, self.const(np.ones(WIDTH, np.float32)), self.const(np.zeros(WIDTH, np.float32)))

    def dense(self, x, n, m):
        return self.op("MatMul", x, self.weight(n, m))

    def heads(self, x):  # [1,1,WIDTH] -> [1,HEADS,1,SIZE]
        return self.op("Transpose", self.op("Reshape", x, self.ints(1, 1, HEADS, SIZE)), perm=[0, 2, 1, 3])

    def save(self, path):
        graph = h.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.consts)
        onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 25)], ir_version=10), path)


def tensor(m, i, q, k, v, at, count):
    shape = [1, HEADS, LENGTH, SIZE]
    caches = []
    for name, row in (("k", k), ("v", v)):
        cache = m.input("%s%d" % (name, i), T.FLOAT, shape)
        caches.append(m.op("TensorScatter", cache, row, at, axis=2))
        m.output("%s%d_next" % (name, i), caches[-1], T.FLOAT, shape)
    return m.op("Attention", q, *caches, "", "", "", count)


def nd(m, i, q, k, v, at, count):
    shape = [LENGTH, HEADS, SIZE]
    caches = []
    for name, row in (("k", k), ("v", v)):
        cache = m.input("%s%d" % (name, i), T.FLOAT, shape)
        row = m.op("Reshape", row, m.ints(1, HEADS, SIZE))
        caches.append(m.op("ScatterND", cache, m.op("Reshape", at, m.ints(1, 1)), row))
        m.output("%s%d_next" % (name, i), caches[-1], T.FLOAT, shape)
    keys = m.op("Unsqueeze", m.op("Transpose", caches[0], perm=[1, 2, 0]), m.ints(0))
    values = m.op("Unsqueeze", m.op("Transpose", caches[1], perm=[1, 0, 2]), m.ints(0))
    scores = m.op("Mul", m.op("MatMul", q, keys), m.const(np.float32(SIZE**-0.5)))
    there = m.op("Less", m.const(np.arange(LENGTH, dtype=np.int64)), count)
    scores = m.op("Where", there, scores, m.const(np.float32(-1e9)))
    return m.op("MatMul", m.op("Softmax", scores, axis=-1), values)


def window(m, i, q, k, v, at, count):
    shape = [1, HEADS, WINDOW, SIZE]
    past = [m.input("%s%d" % (name, i), T.FLOAT, shape) for name in "kv"]
    y, *present = m.op("Attention", q, k, v, "", *past, results=3)
    for name, x in zip("kv", present):
        last = m.op("Slice", x, m.ints(1), m.ints(WINDOW + 1), m.ints(2))
        m.output("%s%d_next" % (name, i), last, T.FLOAT, shape)
    return y


def concat(m, i, q, k, v, at, count):
    past = [m.input("%s%d" % (name, i), T.FLOAT, [1, HEADS, "past", SIZE]) for name in "kv"]
    y, *present = m.op("Attention", q, k, v, "", *past, results=3)
    for name, x in zip("kv", present):
        m.output("%s%d_next" % (name, i), x, T.FLOAT, [1, HEADS, "total", SIZE])
    return y


def decoder(attend):
    m = Model()
    x = m.input("x", T.FLOAT, [1, 1, WIDTH])
    at = m.input("at", T.INT64, [1])
    count = m.op("Add", at, m.ints(1))
    for i in range(LAYERS):
        y = m.norm(x)
        q, k, v = (m.heads(m.dense(y, WIDTH, WIDTH)) for _ in range(3))
        y = m.op("Reshape", m.op("Transpose", attend(m, i, q, k, v, at, count), perm=[0, 2, 1, 3]), m.ints(1, 1, WIDTH))
        x = m.op("Add", x, m.dense(y, WIDTH, WIDTH))
        y = m.dense(m.norm(x), WIDTH, 2 * WIDTH)
        x = m.op("Add", x, m.dense(m.op("Gelu", y), 2 * WIDTH, WIDTH))
    m.output("y", m.norm(x), T.FLOAT, [1, 1, WIDTH])
    m.output("at_next", count, T.INT64, [1])
    return m


def grown(m, i, q, k, v):
    present = []
    for name, row in (("key", k), ("value", v)):
        past = m.input("past_key_values.%d.%s" % (i, name), T.FLOAT, ["batch", HEADS, "past", SIZE])
        present.append(m.op("Concat", past, row, axis=2))
        m.output("present.%d.%s" % (i, name), present[-1], T.FLOAT, ["batch", HEADS, "total", SIZE])
    return present


def products(m, i, q, k, v):
    keys, values = grown(m, i, q, k, v)
    scores = m.op("Mul", m.op("MatMul", q, m.op("Transpose", keys, perm=[0, 1, 3, 2])), m.const(np.float32(SIZE**-0.5)))
    return m.op("MatMul", m.op("Softmax", scores, axis=-1), values)


def attention(m, i, q, k, v):
    return m.op("Attention", q, *grown(m, i, q, k, v))


def past(m, i, q, k, v, **attrs):
    names = ["past_key_values.%d.%s" % (i, x) for x in ("key", "value")]
    y, *present = m.op("Attention", q, k, v, "", *(m.input(n, T.FLOAT, ["batch", HEADS, "past", SIZE]) for n in names), results=3, **attrs)
    for name, x in zip(names, present):
        m.output(name.replace("past_key_values", "present"), x, T.FLOAT, ["batch", HEADS, "total", SIZE])
    return y


def causal(m, i, q, k, v):
    return past(m, i, q, k, v, is_causal=1, left_window_size=40)


def shared(m, i, q, k, v):
    def twice(x):
        size = m.op("Shape", x)
        batch, rows = (m.op("Gather", size, m.ints(axis)) for axis in (0, 2))
        wide = m.op("Expand", m.op("Unsqueeze", x, m.ints(2)), m.op("Concat", batch, m.ints(HEADS, 2), rows, m.ints(SIZE), axis=0))
        return m.op("Reshape", wide, m.op("Concat", batch, m.ints(2 * HEADS), rows, m.ints(SIZE), axis=0))

    keys, values = (twice(x) for x in grown(m, i, q, k, v))
    scores = m.op("MatMul", m.op("Concat", q, q, axis=1), m.op("Transpose", keys, perm=[0, 1, 3, 2]))
    return m.op("Add", *m.op("Split", m.op("MatMul", m.op("Softmax", scores, axis=-1), values), results=2, axis=1, num_outputs=2))


def batched(attend):
    m = Model()
    x = m.input("x", T.FLOAT, ["batch", 1, WIDTH])
    for i in range(LAYERS):
        rows = [m.op("Reshape", m.dense(m.norm(x), WIDTH, WIDTH), m.ints(0, 0, HEADS, SIZE)) for _ in range(3)]
        y = attend(m, i, *(m.op("Transpose", r, perm=[0, 2, 1, 3]) for r in rows))
        y = m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), m.ints(0, 0, WIDTH))
        x = m.op("Add", x, m.dense(y, WIDTH, WIDTH))
    m.output("y", m.norm(x), T.FLOAT, ["batch", 1, WIDTH])
    return m


batched(products).save("%s/cache.onnx" % sys.argv[1])
batched(shared).save("%s/shared.onnx" % sys.argv[1])
batched(attention).save("%s/keys.onnx" % sys.argv[1])
batched(past).save("%s/past.onnx" % sys.argv[1])
batched(causal).save("%s/causal.onnx" % sys.argv[1])
for f in (tensor, nd, window, concat):
    decoder(f).save("%s/%s.onnx" % (sys.argv[1], f.__name__))
