"""Random models of branches and loops, from a seed: control_models.py SEED COUNT FOLDER [vary] writes FOLDER/N.onnx.

Every value has the same few shapes, so that any body fits any place. Bodies use what is around them. vary: sizes are known only in a
run. Input x has n rows; a size that is None is another for each value that has it."""

import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

ONES, TWOS = ["Relu", "Neg", "Tanh", "Abs", "Sigmoid", "Identity"], ["Add", "Mul", "Sub", "Max", "Min"]


class Maker:
    def __init__(self, seed, vary=False):
        self.rng = np.random.default_rng(seed)
        self.vary = vary
        self.count = 0
        self.consts = []

    def pick(self, xs):
        return xs[int(self.rng.integers(len(xs)))]

    def num(self, lo, hi):
        return int(self.rng.integers(lo, hi + 1))

    def name(self):
        self.count += 1
        return "v%d" % self.count

    def const(self, a):
        self.consts.append(numpy_helper.from_array(np.asarray(a), self.name()))
        return self.consts[-1].name

    def floats(self, *shape):
        return self.const((self.rng.standard_normal(shape) * 0.5).astype(np.float32))

    # A graph's nodes are in `nodes`; `seen` holds names of f32 values of each shape that may be read.
    def plain(self, nodes, seen):
        shape = self.pick(list(seen))
        y = self.name()
        if self.vary and len(shape) == 2 and self.rng.random() < 0.4:
            self.resized(nodes, seen)
            return
        if shape[0] is None:
            nodes.append(h.make_node(self.pick(ONES), [self.pick(seen[shape])], [y]))
        elif self.rng.random() < 0.3 and len(shape) == 2:
            nodes.append(h.make_node("MatMul", [self.pick(seen[shape]), self.floats(shape[1], shape[1])], [y]))
        elif self.rng.random() < 0.5:
            nodes.append(h.make_node(self.pick(TWOS), [self.pick(seen[shape]), self.pick(seen[shape] + [self.floats(*([s if isinstance(s, int) else 1 for s in shape[-1:]] if self.vary else shape))])], [y]))
        elif self.rng.random() < 0.1:
            nodes.append(h.make_node("CumSum", [self.pick(seen[shape]), self.const(np.int64(0))], [y]))
        else:
            nodes.append(h.make_node(self.pick(ONES), [self.pick(seen[shape])], [y]))
        seen[shape] = seen[shape] + [y]

    def resized(self, nodes, seen):
        """A value of another number of rows, of those that have any number of them."""
        rows = [n for s in seen for n in seen[s] if len(s) == 2]
        x, y, t, u = self.pick(rows), self.name(), self.name(), self.name()
        way = self.num(0, 5)
        if way == 0:
            nodes.append(h.make_node("Concat", [x, self.pick(rows)], [y], axis=0))
        elif way == 1:
            first, last = self.num(-3, 2), self.num(-1, 4)
            ints = [self.const(np.array([v], np.int64)) for v in (first, last, 0)]
            nodes.append(h.make_node("Slice", [x] + ints, [y]))
        elif way == 2:
            nodes.append(h.make_node("ReduceSum", [x, self.const(np.array([1], np.int64))], [t], keepdims=0))
            nodes.append(h.make_node("Greater", [t, self.const(np.float32(-0.2))], [u]))
            nodes.append(h.make_node("Compress", [x, u], [y], axis=0))
        elif way == 3:
            nodes.append(h.make_node("Reshape", [x, self.const(np.array([-1, 2], np.int64))], [t]))
            nodes.append(h.make_node("Neg", [t], [u]))
            nodes.append(h.make_node("Reshape", [u, self.const(np.array([-1, 4], np.int64))], [y]))
        elif way == 4:
            nodes.append(h.make_node("Unsqueeze", [x, self.const(np.array([0], np.int64))], [t]))
            nodes.append(h.make_node("Squeeze", [t, self.const(np.array([0], np.int64))], [y]))
        else:
            nodes.append(h.make_node("Shape", [x], [t]))
            nodes.append(h.make_node("ConstantOfShape", [t], [u], value=numpy_helper.from_array(np.array([0.5], np.float32))))
            nodes.append(h.make_node("Concat", [u, x, self.floats(1, 4)], [y], axis=0))
        seen[(None, 4)] = seen.get((None, 4), []) + [y]

    def truth(self, nodes, seen):
        """A bool that depends on data."""
        s, b = self.name(), self.name()
        nodes.append(h.make_node("ReduceSum", [self.pick(seen[self.pick(list(seen))])], [s], keepdims=0))
        nodes.append(h.make_node("Greater", [s, self.const(np.float32(0))], [b]))
        return b

    def body(self, seen, depth, n):
        nodes, own = [], {k: list(v) for k, v in seen.items()}
        for _ in range(n):
            self.step(nodes, own, depth)
        return nodes, own

    def fresh(self, own, shape):
        """The name of a value of the shape made last: a result of the body, unless it is one from around."""
        return own[shape][-1]

    def value(self, name, shape, t=T.FLOAT):
        return h.make_tensor_value_info(name, t, shape)

    def branch(self, nodes, seen, depth):
        cond, bodies, shapes = self.truth(nodes, seen), [], [self.pick(list(seen)) for _ in range(self.num(1, 2))]
        for _ in range(2):
            inner, own = self.body(seen, depth + 1, self.num(0, 3))
            outs = []
            for shape in shapes:
                y = self.name()
                inner.append(h.make_node(self.pick(ONES), [self.fresh(own, shape)], [y]))
                outs.append(self.value(y, shape))
            bodies.append(h.make_graph(inner, self.name(), [], outs))
        ys = [self.name() for _ in shapes]
        nodes.append(h.make_node("If", [cond], ys, then_branch=bodies[0], else_branch=bodies[1], name=self.name()))
        for shape, y in zip(shapes, ys):
            seen[shape] = seen[shape] + [y]

    def loop(self, nodes, seen, depth):
        shapes, trips = [self.pick(list(seen)) for _ in range(self.num(0, 2))], self.num(1 if self.vary else 0, 5)
        collected = [self.pick([s for s in seen if None not in s]) for _ in range(self.num(0 if shapes else 1, 1))]
        own = {k: list(v) for k, v in seen.items()}
        i, c = self.name(), self.name()
        ins = [self.value(i, [], T.INT64), self.value(c, [], T.BOOL)]
        for shape in shapes:
            ins.append(self.value(self.name(), shape))
            own[shape] = own[shape] + [ins[-1].name]
        inner, own = self.body(own, depth + 1, self.num(1, 4))
        go = self.name()
        ends = not collected and self.rng.random() < 0.5
        if ends:
            inner.append(h.make_node("Less", [i, self.const(np.int64(self.num(0, 4)))], [go]))
        else:
            inner.append(h.make_node("Identity", [c], [go]))
        outs = [self.value(go, [], T.BOOL)]
        for shape in shapes + collected:
            y = self.name()
            f, g = self.name(), self.name()
            inner.append(h.make_node("Cast", [i], [f], to=T.FLOAT))
            inner.append(h.make_node("Add", [self.fresh(own, shape), f], [g]))
            inner.append(h.make_node("Tanh", [g], [y]))
            outs.append(self.value(y, shape))
        ys = [self.name() for _ in shapes + collected]
        count = "" if ends and self.rng.random() < 0.5 else self.const(np.int64(trips))
        truth = self.const(np.bool_(True)) if count or ends else ""
        nodes.append(h.make_node("Loop", [count, truth] + [self.pick(seen[s]) for s in shapes], ys, body=h.make_graph(inner, self.name(), ins, outs), name=self.name()))
        for shape, y in zip(shapes, ys):
            seen[shape] = seen[shape] + [y]
        for shape, y in zip(collected, ys[len(shapes) :]):
            seen[(trips,) + shape] = seen.get((trips,) + shape, []) + [y]

    def scan(self, nodes, seen, depth):
        shape = self.pick([s for s in seen if len(s) == 2])
        axis, back, out_axis, out_back = self.num(0, 0 if self.vary else 1), self.num(0, 1), self.num(0, 1), self.num(0, 1)
        row = (shape[1 - axis],)
        state, x = self.name(), self.name()
        inner, own = self.body({row: [state, x]}, 2, self.num(1, 3))
        y, z, w = self.name(), self.name(), self.name()
        inner.append(h.make_node("Add", [state, x], [z]))
        inner.append(h.make_node("Tanh", [z], [y]))
        inner.append(h.make_node("Neg", [self.fresh(own, row)], [w]))
        body = h.make_graph(inner, self.name(), [self.value(state, row), self.value(x, row)], [self.value(y, row), self.value(w, row)])
        last, all = self.name(), self.name()
        nodes.append(
            h.make_node(
                "Scan", [self.floats(*row), self.pick(seen[shape])], [last, all], body=body, num_scan_inputs=1, scan_input_axes=[axis],
                scan_input_directions=[back], scan_output_axes=[out_axis], scan_output_directions=[out_back], name=self.name(),
            )
        )  # fmt: skip
        whole = (shape[axis],) + row if out_axis == 0 else row + (shape[axis],)
        if not isinstance(whole[-1], int):
            turned = self.name()
            nodes.append(h.make_node("Transpose", [all], [turned], perm=[1, 0]))
            whole, all = whole[::-1], turned
        seen[row] = seen.get(row, []) + [last]
        seen[whole] = seen.get(whole, []) + [all]

    def step(self, nodes, seen, depth):
        r = self.rng.random()
        if depth > 2 or r < 0.55:
            self.plain(nodes, seen)
        elif r < 0.75:
            self.branch(nodes, seen, depth)
        elif r < 0.9:
            self.loop(nodes, seen, depth)
        elif any(len(s) == 2 for s in seen):
            self.scan(nodes, seen, depth)

    def model(self):
        rows = "n" if self.vary else 3
        nodes, seen = [], {(rows, 4): ["x"], (4,): ["y"]}
        for _ in range(self.num(4, 9)):
            self.step(nodes, seen, 0)
        outs = []
        for shape, names in seen.items():
            for n in dict.fromkeys([n for n in names if n not in ("x", "y")][-3:]):
                y = self.name()
                nodes.append(h.make_node("Cos", [n], [y]))  # never all zero
                outs.append(self.value(y, shape))
        g = h.make_graph(nodes, "main", [self.value("x", (rows, 4)), self.value("y", (4,))], outs, self.consts)
        m = h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(m)
        return m


if __name__ == "__main__":
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for k in range(count):
        onnx.save(Maker(seed + k, sys.argv[4:] == ["vary"]).model(), "%s/%d.onnx" % (folder, k))
