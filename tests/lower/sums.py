"""The error of long sums in f32, against f64: at most twice that of numpy's pairwise sums of the same terms, and four times for products, whose
chains are longer; five times where only a run gives the length. Rows, columns (channels last), all axes, windows; sizes that are known, and that only a run gives. Results are
rounded on the way, so no bound is below 1.5 times 2^-23, or 2^-22 there. sums.py [PLACES...]: so many terms in a sum; tools are found in PATH. A line for each sum with
its error and numpy's."""

import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOM = 1.5 * 2.0**-23
bad = 0


def pairs(x, axes):
    """Sums of numpy along the axes, which it adds up in pairs where they are contiguous."""
    keep = [a for a in range(x.ndim) if a not in axes]
    return np.ascontiguousarray(x.transpose(keep + list(axes))).reshape([x.shape[a] for a in keep] + [-1]).sum(-1)


class Model:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.inputs, self.consts, self.feeds, self.want = [], [], [], {}, {}

    def input(self, *shape, sign=False):
        x = self.rng.standard_normal(shape) if sign else self.rng.random(shape) + 0.25
        self.feeds["x%d" % len(self.feeds)] = x.astype(np.float32)
        return "x%d" % (len(self.feeds) - 1)

    def const(self, x):
        self.consts.append(numpy_helper.from_array(np.asarray(x), "c%d" % len(self.consts)))
        return "c%d" % (len(self.consts) - 1)

    def add(self, what, f, op, ins, most=2, **attrs):
        """f: what numpy makes of the inputs, of its type."""
        y = "y%d" % len(self.nodes)
        self.nodes.append(helper.make_node(op, ins, [y], **attrs))
        given = [self.feeds[i] for i in ins if i in self.feeds] + [numpy_helper.to_array(c) for i in ins for c in self.consts if c.name == i and c.data_type == 1]
        self.want[y] = what, f(*[g.astype(np.float64) for g in given]), f(*given), most


def moments(x, axes):
    n = int(np.prod([x.shape[a] for a in axes]))
    shape = [1 if a in axes else d for a, d in enumerate(x.shape)]
    mean = (pairs(x, axes) / x.dtype.type(n)).reshape(shape)
    return (x - mean) / np.sqrt((pairs((x - mean) ** 2, axes) / x.dtype.type(n)).reshape(shape) + x.dtype.type(1e-5))


def sums(places, seed, sign):
    m = Model(seed)
    side = int(places**0.5)
    rows, columns, image = m.input(32, places, sign=sign), m.input(places, 32, sign=sign), m.input(1, 32, side, side, sign=sign)
    last = m.const(np.array([1], np.int64))
    first = m.const(np.array([0], np.int64))
    both = m.const(np.array([2, 3], np.int64))
    for name, x, axis, axes in (("rows", rows, last, (1,)), ("columns", columns, first, (0,)), ("image", image, both, (2, 3))):
        n = m.feeds[x].dtype.type(np.prod([m.feeds[x].shape[a] for a in axes]))
        table = {
            "ReduceSum": lambda v, a=axes: pairs(v, a),
            "ReduceMean": lambda v, a=axes, n=n: pairs(v, a) / v.dtype.type(n),
            "ReduceL1": lambda v, a=axes: pairs(np.abs(v), a),
            "ReduceL2": lambda v, a=axes: np.sqrt(pairs(v * v, a)),
            "ReduceSumSquare": lambda v, a=axes: pairs(v * v, a),
            "ReduceLogSumExp": lambda v, a=axes: np.log(pairs(np.exp(v), a)),
        }
        if not sign:
            table["ReduceLogSum"] = lambda v, a=axes: np.log(pairs(v, a))
        for op, f in table.items():
            m.add("%s %s" % (op, name), f, op, [x, axis], keepdims=0)
    # More columns than registers hold; what is left over of the rows is one chain.
    m.add("ReduceSum wide columns", lambda v: pairs(v, (0,)), "ReduceSum", [m.input(places + 7, 128, sign=sign), first], most=4, keepdims=0)
    m.add("Softmax rows", lambda v: np.exp(v - v.max(1, keepdims=True)) / pairs(np.exp(v - v.max(1, keepdims=True)), (1,))[:, None], "Softmax", [rows], axis=1)
    m.add("Softmax columns", lambda v: np.exp(v - v.max(0)) / pairs(np.exp(v - v.max(0)), (0,)), "Softmax", [columns], axis=0)
    m.add("GlobalAveragePool", lambda v: (pairs(v, (2, 3)) / v.dtype.type(side * side))[..., None, None], "GlobalAveragePool", [image])
    m.add("InstanceNormalization", lambda v, *_: moments(v, (2, 3)), "InstanceNormalization", [image, m.const(np.ones(32, np.float32)), m.const(np.zeros(32, np.float32))])
    m.add("LayerNormalization", lambda v, *_: moments(v, (1,)), "LayerNormalization", [rows, m.const(np.ones(places, np.float32))], axis=1)
    m.add("GroupNormalization", lambda v, *_: moments(v.reshape(1, 4, -1), (2,)).reshape(v.shape), "GroupNormalization", [image, m.const(np.ones(32, np.float32)), m.const(np.zeros(32, np.float32))], num_groups=4)
    m.add("LpNormalization", lambda v: v / np.sqrt(pairs(v * v, (1,)))[:, None], "LpNormalization", [rows], axis=1)
    return m


def products(places, seed, sign):
    m = Model(seed)
    k = min(places, 16384)
    a, w = m.input(24, k, sign=sign), m.const((m.rng.random((k, 40)) + 0.25).astype(np.float32))
    two = lambda x, y: pairs(x[:, None, :] * y.T[None], (2,))
    m.add("MatMul", two, "MatMul", [a, w], 4)
    m.add("Gemm", two, "Gemm", [a, w], 4)
    m.add("Einsum", two, "Einsum", [a, w], 4, equation="mk,kn->mn")
    x, c = m.input(1, k, 3, 3, sign=sign), m.const((m.rng.random((24, k, 1, 1)) + 0.25).astype(np.float32))
    m.add("Conv", lambda v, u: pairs(v.reshape(k, 9).T[None] * u.reshape(24, 1, k), (2,)).reshape(1, 24, 3, 3), "Conv", [x, c], 4)
    return m


def run(m, what, is_open):
    global bad
    dims = {n: ["%s_%d" % (n, i) if is_open and d > 64 else d for i, d in enumerate(x.shape)] for n, x in m.feeds.items()}
    g = helper.make_graph(m.nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in dims.items()], [onnx.ValueInfoProto(name=y) for y in m.want], m.consts)
    with tempfile.TemporaryDirectory() as dir:
        onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), dir + "/m.onnx")
        np.savez(dir + "/in.npz", **m.feeds)
        p = subprocess.run(["bash", "-c", "hone build -q m.onnx -o lib && run-dev -q lib.so -i in.npz -o y.npz"], cwd=dir, capture_output=True, text=True)
        if p.returncode:
            bad += 1
            print("not ok - %s: %s" % (what, p.stderr.strip()[-300:]))
            return
        with np.load(dir + "/y.npz") as y:
            for name, (op, exact, pairwise, most) in m.want.items():
                scale = np.abs(exact).max()
                off, usual = np.abs(y[name] - exact).max() / scale, np.abs(pairwise - exact).max() / scale
                good = off <= max(5 * usual, 2.0**-22) if is_open else off <= max(most * usual, ROOM)
                bad += not good
                print("%sok - %s %s: off %.1e, numpy %.1e" % ("" if good else "not ", what, op, off, usual), flush=True)


for places in [int(p) for p in sys.argv[1:]] or [20000]:
    for sign in (False, True) if len(sys.argv) > 1 else (False,):
        for is_open in (False, True):
            words = "%d places%s%s" % (places, ", of both signs" if sign else "", ", open" if is_open else "")
            run(sums(places, places + sign, sign), words, is_open)
        run(products(places, places + sign, sign), "%d places" % places, False)
sys.exit(bad > 0)
