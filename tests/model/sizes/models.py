"""Random models whose sizes are open, from a seed: models.py SEED COUNT FOLDER writes FOLDER/mSEED.onnx, and nothing for a seed of which
ONNX Runtime runs no model. Those of random_graphs.py, with most sizes of inputs free, and operators whose result's size the data decide."""

import os
import sys

import numpy as np
import onnx

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import random_graphs
import random_ops
from onnx import helper
from random_ops import MAKERS, Reject, activate, maker


def size_input(g, *values):
    """An input of integers, with these values where the model is tried."""
    n = g.input((len(values),), np.int64)
    g.value[n] = g.noisy[n] = np.array(values, np.int64)
    return n


def is_small(a):
    return a.size and a.size < 2000


@maker(12)
def found(g):
    x = g.of(lambda a: 1 <= a.ndim <= 3 and is_small(a))
    x = g.add("Relu", [x])
    y = g.add("NonZero", [x])
    if g.chance(0.5):
        y = g.add("Transpose", [y])
        y = g.add("GatherND", [x, y])
        activate(g, y)
    elif g.chance(0.5):
        g.add("Cast", [y], to=1)


@maker(8)
def kept(g):
    x = g.of(lambda a: 1 <= a.ndim <= 3 and is_small(a) and a.shape[0] > 0)
    s = g.shape(x)
    row = random_ops.reduce_of(g, "ReduceSum", x, list(range(1, len(s))), 0) if len(s) > 1 else x
    c = g.add("Greater", [row, g.const(np.float32(0))])
    y = g.add("Compress", [x, c], axis=0)
    if g.chance(0.5):
        activate(g, y)


@maker(8)
def told_shape(g):
    """Shapes that an input says."""
    x = g.of(lambda a: 1 <= a.ndim <= 3 and is_small(a))
    s = g.shape(x)
    how = g.num(0, 6)
    if how == 0:
        g.add("Tile", [x, size_input(g, *[g.num(1, 2) for _ in s])])
    elif how == 1:
        g.add("Expand", [x, size_input(g, g.num(1, 2), *[1 for _ in s])])
    elif how == 2:
        g.add("Reshape", [x, size_input(g, -1, *[1 for _ in range(g.num(0, 2))])])
    elif how == 3:
        y = g.add("ConstantOfShape", [size_input(g, g.num(1, 4), g.num(1, 4))], value=helper.make_tensor("v", 1, [1], [0.5]))
        activate(g, y)
    elif how == 4:
        g.add("Pad", [x, size_input(g, *[g.num(0, 2) for _ in s * 2])], mode=g.pick(["constant", "edge"]))
    elif how == 5:
        y = g.add("Range", [g.const(np.array(0, np.int64)), g.add("Squeeze", [size_input(g, g.num(1, 9))]), g.const(np.array(g.num(1, 2), np.int64))])
        g.add("Cast", [y], to=1)
    else:
        g.add("Slice", [x, size_input(g, 0), size_input(g, g.num(1, s[0])), g.ints(0), size_input(g, 1)])


@maker(6)
def told_index(g):
    x = g.of(lambda a: 1 <= a.ndim <= 3 and is_small(a))
    s = g.shape(x)
    how = g.num(0, 4)
    axis = g.num(0, len(s) - 1)
    if how == 0:
        y = g.add("Gather", [x, g.input((g.num(1, 3),), np.int64)], axis=axis)
        activate(g, y)
    elif how == 1:
        g.add("TopK", [x, size_input(g, 1)], 2, axis=axis)
    elif how == 2:
        g.add("ScatterND", [x, g.add("Unsqueeze", [size_input(g, 0), g.ints(1)]), g.add("Slice", [x, g.ints(0), g.ints(1), g.ints(0)])])
    elif how == 3:
        g.add("OneHot", [size_input(g, 0, 1), size_input(g, 4), g.const(np.array([0, 1], np.float32))], axis=-1)
    else:
        i = g.const(np.array(0, np.int64))
        g.add("GatherElements", [x, g.add("Mul", [g.add("Cast", [x], to=7), i])], axis=axis)


@maker(5)
def looped(g):
    """So many times, as an input says: a value carried, another collected."""
    x = g.of(lambda a: 1 <= a.ndim <= 2 and is_small(a))
    infos = [helper.make_tensor_value_info(n, t, s) for n, t, s in (("i", 7, []), ("c", 9, []), ("h", 1, None))]
    grows = g.chance(0.5)
    nodes = [helper.make_node("Concat", ["h", x], ["y"], axis=0) if grows else helper.make_node(g.pick(["Relu", "Tanh", "Neg"]), ["h"], ["y"]), helper.make_node("Identity", ["c"], ["d"]),
             helper.make_node("Sigmoid", [x], ["z"])]
    outs = [helper.make_tensor_value_info(n, t, s) for n, t, s in (("d", 9, []), ("y", 1, None), ("z", 1, None))]
    body = helper.make_graph(nodes, "body", infos, outs)
    n = g.add("Squeeze", [size_input(g, g.num(1, 3))])
    g.add("Loop", [n, g.const(np.array(True)), x], 2, graphs=[x], body=body)


@maker(3)
def unique(g):
    x = g.of(lambda a: 1 <= a.ndim <= 2 and is_small(a))
    y = g.add("Floor", [g.add("Mul", [x, g.const(np.float32(1.7))])])
    g.add("Unique", [y], 1, sorted=1)


class Open(random_graphs.Graph):
    def new_shape(self):
        c = self.pick([1, 3, 4, 7, 8, 16])
        n = self.num
        return self.pick([(n(1, 3), c, n(3, 9), n(3, 9)), (n(1, 3), c, n(5, 14)), (n(1, 4), n(1, 14), self.pick([8, 12, 16, 33])), (n(1, 6), n(1, 20)), (n(1, 20),)])

    def close(self):
        super().close()
        self.symbols = {}
        for n in self.inputs:
            self.dims[n] = [self.open(n, i, d) for i, d in enumerate(self.shape(n))]

    def open(self, n, i, d):
        if not d or not self.chance(0.6):
            return d
        name = "s%d" % d if self.chance(0.7) else "%s_%ds%d" % (n, i, d)  # the number at the end is a size that fits: drive.c
        self.symbols[name] = d
        return name


def model(seed):
    g = Open(seed).grow(2, 10)
    if not g.symbols:
        return None
    try:
        random_graphs.run(g.model(), g.feeds)
    except Exception:
        return None
    return g.model()


if __name__ == "__main__":
    first, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for seed in range(first, first + count):
        m = model(seed)
        if m:
            onnx.save(m, "%s/m%d.onnx" % (folder, seed))
