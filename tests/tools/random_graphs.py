"""Random ONNX graphs, from a seed: Graph(seed).grow(), then .model() and .feeds.

Every node is run by ONNX Runtime as it is added, so shapes need no rules here, and twice: on the values, and on values
a little off. A node whose result moves far more than its operands did (a tie of ArgMax, a cancelled difference) is taken
back, so what remains has one answer whatever the order of a sum.
"""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from random_ops import MAKERS, Reject

DTYPE = {np.dtype(t): v for t, v in ((np.float32, 1), (np.uint8, 2), (np.int8, 3), (np.int32, 6), (np.int64, 7), (bool, 9), (np.float64, 11))}
LIMIT = 40000  # elements of a value
SUMS = set("Conv ConvTranspose MatMul Gemm Softmax LogSoftmax ReduceMean ReduceSum ReduceL2 ReduceSumSquare ReduceLogSumExp ReduceL1 AveragePool "
           "GlobalAveragePool BatchNormalization LayerNormalization InstanceNormalization GroupNormalization Einsum CumSum".split())
STEPS = set("Floor Ceil Round Sign Cast Greater Less GreaterOrEqual LessOrEqual Equal ArgMax ArgMin TopK Mod".split())


def options():
    ort.set_default_logger_severity(4)
    o = ort.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return o


OPTIONS = options()


def run(model, feeds):
    return ort.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]).run(None, feeds)


class Graph:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.opset = int(self.rng.integers(13, 22))
        self.nodes, self.inputs, self.consts = [], [], []
        self.value, self.noisy, self.used = {}, {}, {}
        self.count = 0
        self.odd = self.rng.random() < 0.05  # NaN and infinity allowed

    # ---- drawing ----

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, xs):
        return xs[int(self.rng.integers(len(xs)))]

    def num(self, lo, hi):
        return int(self.rng.integers(lo, hi + 1))

    def floats(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def name(self):
        self.count += 1
        return "t%d" % self.count

    # ---- values ----

    def of(self, test, kind="f"):
        """A value for which test(array) holds; recent and unused ones first."""
        found = [n for n, a in self.value.items() if n not in self.consts and (a.dtype == np.float32 if kind == "f" else a.dtype.kind in kind) and test(a)]
        if not found:
            raise Reject("no operand")
        weight = np.array([(3.0 if not self.used.get(n) else 1.0) * (1 + i) for i, n in enumerate(found)])
        return found[int(self.rng.choice(len(found), p=weight / weight.sum()))]

    def any(self):
        return self.of(lambda a: True)

    def rank(self, lo, hi=9):
        return self.of(lambda a: lo <= a.ndim <= hi and a.size > 0)

    def shape(self, n):
        return self.value[n].shape

    def const(self, array):
        array = np.ascontiguousarray(array)
        if self.chance(0.5):  # constants used again
            for n in self.consts:
                a = self.value[n]
                if a.dtype == array.dtype and a.shape == array.shape and (array.dtype.kind == "f" and array.size > 1 and self.chance(0.5) or np.array_equal(a, array)):
                    return n
        n = self.name()
        self.consts.append(n)
        self.value[n] = self.noisy[n] = array
        return n

    def ints(self, *xs):
        return self.const(np.array(xs, np.int64))

    def input(self, shape, dtype=np.float32):
        n = self.name()
        self.inputs.append(n)
        x = self.floats(*shape)
        self.value[n] = x if dtype == np.float32 else (self.rng.integers(0, 4, shape)).astype(dtype)
        self.noisy[n] = self.jitter(self.value[n], True)
        return n

    def jitter(self, a, absolute):
        if a.dtype.kind != "f" or not a.size:
            return a
        finite = a[np.isfinite(a)]
        scale = np.abs(finite).max() if finite.size else 0
        with np.errstate(all="ignore"):
            b = a * (1 + 1e-6 * self.rng.uniform(-1, 1, a.shape))
            return (b + 1e-6 * scale * self.rng.uniform(-1, 1, a.shape) * absolute).astype(a.dtype)

    def add(self, op, ins, nout=1, graphs=(), **attrs):
        outs = [self.name() for _ in range(nout)]
        node = helper.make_node(op, ins, outs, **attrs)
        if op == "Sigmoid" and self.value[ins[0]].min(initial=0) < -15:
            raise Reject("ONNX Runtime's is 0 there")
        names = dict.fromkeys(n for n in list(ins) + list(graphs) if n)
        var = [n for n in names if n not in self.consts]
        init = [numpy_helper.from_array(self.value[n], n) for n in names if n in self.consts]
        model = self.wrap([node], var, outs, init)
        try:
            s = ort.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
            exact = s.run(None, {n: self.value[n] for n in var})
            noisy = s.run(None, {n: self.noisy[n] for n in var})
            moved = [s.run(None, {n: self.shove(self.value[n], d) for n, d in zip(var, ds)}) for ds in self.shoves(op, len(var))]
        except Exception as e:
            raise Reject(str(e))
        for others in [noisy] + moved:
            for e, n in zip(exact, others):
                self.judge(e, n, 2e-5 if others is noisy else 1e-4)
        for o, e, n in zip(outs, exact, noisy):
            self.value[o], self.noisy[o] = e, self.jitter(n, op in SUMS)
        for n in names:
            self.used[n] = self.used.get(n, 0) + 1
        self.nodes.append(node)
        return outs[0] if nout == 1 else outs

    def shoves(self, op, n):
        """Which way to move each operand of an operator that has steps."""
        return [[(1, -1)[i % 2] for i in range(n)], [(-1, 1)[i % 2] for i in range(n)], [0] * n, [0] * n] if op in STEPS else []

    def shove(self, a, way):
        """Off by 1e-5 of its scale, up, down or (0) anyhow; zeros stay: what is cut off stays so."""
        if a.dtype.kind != "f" or not a.size:
            return a
        top = np.abs(a[np.isfinite(a)]).max(initial=0)
        return np.where(a == 0, a, a + 1e-5 * top * (way or self.rng.choice([-1, 1], a.shape))).astype(a.dtype)

    def judge(self, e, n, most):
        if e.shape != n.shape or e.size > LIMIT or e.dtype not in DTYPE:
            raise Reject("shape")
        if e.dtype.kind != "f":
            if not np.array_equal(e, n):
                raise Reject("tie")
            return
        finite = np.isfinite(e)
        if not np.array_equal(np.isnan(e), np.isnan(n)) or not np.array_equal(e[~finite & ~np.isnan(e)], n[~finite & ~np.isnan(e)]):
            raise Reject("unstable")
        if not finite.all() and not self.odd:
            raise Reject("not finite")
        if finite.any():
            top = np.abs(e[finite]).max()
            if top > 1e4 or 0 < top < 1e-6 or np.abs(e[finite] - n[finite]).max() > most * top:
                raise Reject("ill conditioned")

    # ---- the model ----

    def info(self, n, dims=None):
        a = self.value[n]
        return helper.make_tensor_value_info(n, DTYPE[a.dtype], a.shape if dims is None else dims)

    def wrap(self, nodes, ins, outs, init, infos=None):
        out = [self.info(o) if o in self.value else onnx.ValueInfoProto(name=o) for o in outs]
        g = helper.make_graph(nodes, "g", infos or [self.info(n) for n in ins], out, init)
        return helper.make_model(g, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def grow(self, least=5, most=25):
        names, weights = zip(*MAKERS)
        weights = np.array(weights) * self.rng.choice([0, 0.3, 1, 4], len(weights), p=[0.25, 0.25, 0.3, 0.2])  # a taste of its own
        weights /= weights.sum()
        for _ in range(self.num(1, 3)):
            self.input(self.new_shape())
        want = self.num(least, most)
        for _ in range(8 * most):
            if len(self.nodes) >= want:
                break
            state = (len(self.nodes), dict(self.value), dict(self.noisy), dict(self.used), list(self.consts))
            try:
                names[int(self.rng.choice(len(names), p=weights))](self)
            except Reject:
                del self.nodes[state[0]:]
                _, self.value, self.noisy, self.used, self.consts = state
                self.inputs = [n for n in self.inputs if n in self.value]
        self.close()
        return self

    def new_shape(self):
        c = self.pick([1, 3, 4, 7, 8, 16, 17, 32, 33, 48, 65])
        n = self.pick([1, 1, 2, 3])
        return self.pick([
            (n, c, self.num(3, 14), self.num(3, 14)), (n, min(c, 17), self.num(10, 30), self.num(10, 30)), (n, c, self.num(5, 20)), (n, c, self.num(2, 6), self.num(2, 6), self.num(2, 6)),
            (n, self.num(1, 40), self.pick([1, 8, 12, 16, 33, 64, 100])), (n, self.num(1, 40)), (self.num(1, 20),), (n, self.num(1, 4), self.num(1, 9), self.num(1, 9))])

    def close(self):
        """Outputs: what nobody reads, not always all of it; sometimes a value that is read too, rarely an input or a constant."""
        made = [o for n in self.nodes for o in n.output]
        free = [n for n in made if not self.used.get(n)]
        self.rng.shuffle(free)
        self.outputs = free[:max(4, len(made) // 6)] or made[-1:]
        read = [n for n in made if self.used.get(n)]
        if read and self.chance(0.4):
            self.outputs.append(self.pick(read))
        if self.chance(0.03):
            self.outputs.append(self.pick(self.inputs))
        self.dims = {}
        symbols = {}
        for n in self.inputs:  # some extents get names; equal ones may share
            self.dims[n] = list(self.shape(n))
            for i, d in enumerate(self.dims[n]):
                if self.chance(0.3 if i == 0 else 0.05) and d:
                    name = "s%d" % d if self.chance(0.5) else "%s_%d" % (n, i)
                    self.dims[n][i], symbols[name] = name, d
        self.symbols = symbols
        self.asnode = {n for n in self.consts if self.chance(0.2)}

    @property
    def feeds(self):
        return {n: self.value[n] for n in self.inputs}

    def model(self, nodes=None, outputs=None):
        nodes = self.nodes if nodes is None else nodes
        outputs = self.outputs if outputs is None else outputs
        read = {i for n in nodes for i in n.input} | set(outputs)
        for n in nodes:
            for a in n.attribute:
                read |= {i for m in a.g.node for i in m.input}
        consts = [n for n in self.consts if n in read]
        init = [numpy_helper.from_array(self.value[n], n) for n in consts if n not in self.asnode]
        head = [helper.make_node("Constant", [], [n], value=numpy_helper.from_array(self.value[n])) for n in consts if n in self.asnode]
        infos = [self.info(n, self.dims[n]) for n in self.inputs]
        g = helper.make_graph(head + nodes, "g", infos, [helper.make_tensor_value_info(o, DTYPE[self.value[o].dtype], None) for o in outputs], init)
        return helper.make_model(g, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
