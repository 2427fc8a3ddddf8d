"""Random models of sequences and optionals among branches and loops, from a seed: list_models.py SEED COUNT FOLDER writes FOLDER/N.onnx.

As control_models.py, of sizes that only a run knows; input s is a sequence of tensors of 4 columns, not empty. No sequence is ever empty,
so that all steps have what they ask for."""

import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

from control_models import Maker

LIST = h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, [None, 4]))


class Lists(Maker):
    def __init__(self, seed):
        super().__init__(seed, True)
        self.lists = ["s"]

    def node(self, nodes, op, ins, **attrs):
        y = self.name()
        nodes.append(h.make_node(op, ins, [y], **attrs))
        return y

    def put(self, nodes, op, ins, **attrs):
        self.lists.append(self.node(nodes, op, ins, **attrs))

    def typed(self, name):
        return h.make_value_info(name, LIST)

    def tensor(self, seen):
        return self.pick([n for s in seen if len(s) == 2 and s[1] == 4 for n in seen[s]])

    def body(self, seen, depth, n):
        had = len(self.lists)
        made = super().body(seen, depth, n)
        del self.lists[had:]
        return made

    def insert(self, nodes, seen):
        ins = [self.pick(self.lists), self.tensor(seen)]
        if self.rng.random() < 0.5:
            ins.append(self.const(np.int64(self.pick([0, -1, 1]))))
        self.put(nodes, "SequenceInsert", ins)

    def make(self, nodes, seen):
        way = self.num(0, 4)
        if way == 0:
            self.put(nodes, "SequenceConstruct", [self.tensor(seen) for _ in range(self.num(1, 3))])
        elif way == 1:
            empty = self.node(nodes, "SequenceEmpty", [], dtype=T.FLOAT)
            self.put(nodes, "SequenceInsert", [empty, self.tensor(seen)])
        elif way == 2:
            x = self.node(nodes, "Concat", [self.tensor(seen), self.floats(self.num(1, 3), 4)], axis=0)
            self.put(nodes, "SplitToSequence", [x] + ([self.const(np.int64(self.num(1, 3)))] if self.num(0, 1) else []), axis=0)
        elif way == 3:
            self.insert(nodes, seen)
            self.put(nodes, "SequenceErase", [self.lists[-1]] + ([self.const(np.int64(self.num(-1, 0)))] if self.num(0, 1) else []))
        else:
            self.insert(nodes, seen)

    def read(self, nodes, seen):
        x, way = self.pick(self.lists), self.num(0, 4)
        if way == 0:
            n = self.node(nodes, "Cast", [self.node(nodes, "SequenceLength", [x])], to=T.FLOAT)
            seen[(4,)] = seen[(4,)] + [self.node(nodes, "Add", [n, self.floats(4)])] if (4,) in seen else [self.node(nodes, "Add", [n, self.floats(4)])]
            return
        if way == 1:
            y = self.node(nodes, "ConcatFromSequence", [x], axis=0)
        elif way == 2:
            y = self.tensor(seen)
            same = self.node(nodes, "SequenceConstruct", [y, self.node(nodes, "Tanh", [y])])
            y = self.node(nodes, "ConcatFromSequence", [same], axis=self.num(0, 1), new_axis=1)
            y = self.node(nodes, "Reshape", [y, self.const(np.array([-1, 4], np.int64))])
        else:
            y = self.node(nodes, "SequenceAt", [x, self.const(np.int64(self.num(-1, 0)))])
        seen[(None, 4)] = seen.get((None, 4), []) + [y]

    def option(self, nodes, seen):
        x = self.node(nodes, "Optional", [self.pick(self.lists)])
        self.put(nodes, "OptionalGetElement", [x])
        has = self.node(nodes, "OptionalHasElement", [x])
        self.choose(nodes, seen, has)

    def choose(self, nodes, seen, cond):
        bodies = []
        for _ in range(2):
            had, inner, own = len(self.lists), [], {k: list(v) for k, v in seen.items()}
            for _ in range(self.num(0, 2)):
                self.step(inner, own, 3)
            y = self.node(inner, "SequenceInsert", [self.pick(self.lists), self.tensor(own)]) if self.num(0, 1) else self.node(inner, "Identity", [self.pick(self.lists)])
            del self.lists[had:]
            bodies.append(h.make_graph(inner, self.name(), [], [self.typed(y)]))
        self.put(nodes, "If", [cond], then_branch=bodies[0], else_branch=bodies[1], name=self.name())

    def carry(self, nodes, seen):
        """A Loop that carries a sequence and a tensor."""
        i, c, l, x = self.name(), self.name(), self.name(), self.name()
        had, inner, own = len(self.lists), [], {k: list(v) for k, v in seen.items()}
        self.lists.append(l)
        own[(None, 4)] = own.get((None, 4), []) + [x]
        for _ in range(self.num(1, 3)):
            self.step(inner, own, 3)
        y = self.node(inner, "SequenceInsert", [self.lists[-1], self.node(inner, "Neg", [self.tensor(own)])])
        z = self.node(inner, "SequenceAt", [y, self.const(np.int64(self.num(-1, 0)))])
        go = self.node(inner, "Identity", [c])
        del self.lists[had:]
        ins = [self.value(i, [], T.INT64), self.value(c, [], T.BOOL), self.typed(l), self.value(x, (None, 4))]
        body = h.make_graph(inner, self.name(), ins, [self.value(go, [], T.BOOL), self.typed(y), self.value(z, (None, 4))])
        out, last = self.name(), self.name()
        starts = ["", self.pick(self.lists), self.tensor(seen)]
        nodes.append(h.make_node("Loop", [self.const(np.int64(self.num(0, 4))), self.const(np.bool_(True))] + starts[1:], [out, last], body=body, name=self.name()))
        self.lists.append(out)
        seen[(None, 4)] = seen.get((None, 4), []) + [last]

    def mapped(self, nodes, seen):
        a, b, two = self.name(), self.name(), self.num(0, 1)
        src = self.pick(self.lists)
        inner, ins, own = [], [self.value(a, (None, 4))], {(None, 4): [a]}
        operands = [src]
        if two:
            ins.append(self.value(b, (None, 4)))
            other = src if self.num(0, 1) else self.tensor(seen)
            operands.append(other)
            own[(None, 4)].append(b)
        for _ in range(self.num(0, 2)):
            self.plain(inner, own)
        outs = [self.node(inner, self.pick(["Neg", "Identity", "Tanh"]), [own[(None, 4)][-1]])]
        if self.num(0, 1):
            outs.append(self.node(inner, "Concat", [own[(None, 4)][0], own[(None, 4)][-1]], axis=0))
        ys = [self.name() for _ in outs]
        body = h.make_graph(inner, self.name(), ins, [self.value(y, (None, 4)) for y in outs])
        nodes.append(h.make_node("SequenceMap", operands, ys, body=body, name=self.name()))
        self.lists += ys

    def step(self, nodes, seen, depth):
        r = self.rng.random()
        if not any(len(s) == 2 and s[1] == 4 for s in seen) or r < 0.3:
            super().step(nodes, seen, depth)
        elif r < 0.55:
            self.make(nodes, seen)
        elif r < 0.72:
            self.read(nodes, seen)
        elif depth > 2:
            self.make(nodes, seen)
        elif r < 0.8:
            self.mapped(nodes, seen)
        elif r < 0.87:
            self.option(nodes, seen)
        elif r < 0.93:
            self.choose(nodes, seen, self.truth(nodes, seen))
        else:
            self.carry(nodes, seen)

    def model(self):
        nodes, seen = [], {("n", 4): ["x"], (4,): ["y"]}
        for _ in range(self.num(5, 10)):
            self.step(nodes, seen, 0)
        outs = []
        for shape, names in seen.items():
            for n in dict.fromkeys([n for n in names if n not in ("x", "y")][-2:]):
                outs.append(self.value(self.node(nodes, "Cos", [n]), shape))
        for n in dict.fromkeys([n for n in self.lists if n != "s"][-3:]):
            outs.append(self.typed(n))
        if not outs:
            outs.append(self.value(self.node(nodes, "SequenceLength", ["s"]), [], T.INT64))
        g = h.make_graph(nodes, "main", [self.value("x", ("n", 4)), self.value("y", (4,)), self.typed("s")], outs, self.consts)
        m = h.make_model(g, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
        onnx.checker.check_model(m)
        return m


if __name__ == "__main__":
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for k in range(count):
        onnx.save(Lists(seed + k).model(), "%s/%d.onnx" % (folder, k))
