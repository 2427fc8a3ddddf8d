"""The error of long sums in f32, against f64, is at most twice that of numpy's pairwise sums of the same terms, and three times for products,
whose chains are longer (lib/sched/levels.c): rows, columns (channels last), all axes, windows; running sums at some of their places;
states of recurrent networks after many steps, beside the same steps in numpy; sizes that are known, and that only a run
gives. Winograd's algorithm multiplies the error by up to four more. The error is the root mean square over all results
of several draws of the inputs. The largest error of one draw would be no fair measure: it varies by a third from draw to draw, for numpy's
sums too. Results are rounded on the way, so no bound is below FLOOR of the largest result. sums.py [PLACES...]: so many
terms in a sum, else a few; tools are found in PATH. A line for each sum with its error and numpy's."""

import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOOR = 2.0**-24
DRAWS = 6
bad = 0


def pairs(x, axes):
    """Sums of numpy along the axes, which it adds up in pairs where they are contiguous."""
    keep = [a for a in range(x.ndim) if a not in axes]
    return np.ascontiguousarray(x.transpose(keep + list(axes))).reshape([x.shape[a] for a in keep] + [-1]).sum(-1)


def prefixes(x, axis):
    """Running sums at PLACES of the axis."""
    return np.stack([pairs(x.take(range(n), axis), (axis,)) for n in places_of(x.shape[axis])], axis)


def places_of(n):
    return [n * (k + 1) // 16 for k in range(16)]


def sigmoid(x):
    return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))


def lstm(x, w, r):
    """The state after each step, ONNX's gates i, o, f, c."""
    h = c = np.zeros((x.shape[1], r.shape[2]), x.dtype)
    out = []
    for row in x:
        i, o, f, g = np.split(row @ w[0].T + h @ r[0].T, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h[None])
    return np.stack(out)


def gru(x, w, r):
    """The same, gates z, r, h."""
    h = np.zeros((x.shape[1], r.shape[2]), x.dtype)
    n = r.shape[2]
    out = []
    for row in x:
        a, b = row @ w[0].T, h @ r[0].T
        z, q = sigmoid(a[:, :n] + b[:, :n]), sigmoid(a[:, n : 2 * n] + b[:, n : 2 * n])
        h = (1 - z) * np.tanh(a[:, 2 * n :] + (q * h) @ r[0, 2 * n :].T) + z * h
        out.append(h[None])
    return np.stack(out)


class Model:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.inputs, self.consts, self.want = [], {}, {}, {}

    def input(self, *shape, sign=False):
        x = "x%d" % len(self.inputs)
        self.inputs[x] = shape, sign
        return x

    def draw(self):
        return {x: (self.rng.standard_normal(shape) if sign else self.rng.random(shape) + 0.25).astype(np.float32) for x, (shape, sign) in self.inputs.items()}

    def const(self, x):
        self.consts["c%d" % len(self.consts)] = np.asarray(x)
        return "c%d" % (len(self.consts) - 1)

    def add(self, what, f, op, ins, most=2, pick=lambda r: r, **attrs):
        """f: what numpy makes of the floats among the operands, of their type. pick: the part of the result that it is compared with."""
        y = "y%d" % len(self.nodes)
        self.nodes.append(helper.make_node(op, ins, [y], **attrs))
        self.want[y] = what, f, ins, most, pick

    def errors(self, y, feeds, result):
        """Squares of the errors of result y and of numpy's, beside the largest number that is exact."""
        f, given = self.want[y][1], [{**feeds, **self.consts}[i] for i in self.want[y][2]]
        given = [g for g in given if g.dtype == np.float32]
        exact = f(*[g.astype(np.float64) for g in given])
        scale = np.abs(exact).max()
        return [(((r - exact) / scale) ** 2).mean() for r in (self.want[y][4](result), f(*given))]


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
        n = np.float32(np.prod([m.inputs[x][0][a] for a in axes]))
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
        if x != image:
            m.add("CumSum %s" % name, lambda v, a=axes[0]: prefixes(v, a), "CumSum", [x, axis], pick=lambda r, a=axes[0]: r.take([n - 1 for n in places_of(r.shape[a])], a))
    # More columns than registers hold.
    m.add("ReduceSum wide columns", lambda v: pairs(v, (0,)), "ReduceSum", [m.input(places + 7, 128, sign=sign), first], keepdims=0)
    m.add("Softmax rows", lambda v: np.exp(v - v.max(1, keepdims=True)) / pairs(np.exp(v - v.max(1, keepdims=True)), (1,))[:, None], "Softmax", [rows], axis=1)
    m.add("Softmax columns", lambda v: np.exp(v - v.max(0)) / pairs(np.exp(v - v.max(0)), (0,)), "Softmax", [columns], axis=0)
    m.add("GlobalAveragePool", lambda v: (pairs(v, (2, 3)) / v.dtype.type(side * side))[..., None, None], "GlobalAveragePool", [image])
    m.add("InstanceNormalization", lambda v, *_: moments(v, (2, 3)), "InstanceNormalization", [image, m.const(np.ones(32, np.float32)), m.const(np.zeros(32, np.float32))])
    m.add("LayerNormalization", lambda v, *_: moments(v, (1,)), "LayerNormalization", [rows, m.const(np.ones(places, np.float32))], axis=1)
    m.add("GroupNormalization", lambda v, *_: moments(v.reshape(1, 4, -1), (2,)).reshape(v.shape), "GroupNormalization", [image, m.const(np.ones(32, np.float32)), m.const(np.zeros(32, np.float32))], num_groups=4)
    m.add("LpNormalization", lambda v: v / np.sqrt(pairs(v * v, (1,)))[:, None], "LpNormalization", [rows], axis=1)
    return m


def products(places, seed, sign, is_open):
    """Weights are inputs where sizes are open: a constant would give them."""
    m = Model(seed)
    k, draw = min(places, 20000), m.rng.standard_normal if sign else lambda shape: m.rng.random(shape) + 0.25
    weights = lambda *shape: m.input(*shape, sign=sign) if is_open else m.const(draw(shape).astype(np.float32))
    a, w = m.input(12, k, sign=sign), weights(k, 40)
    two = lambda x, y: pairs(x[:, None, :] * y.T[None], (2,))
    m.add("MatMul", two, "MatMul", [a, w], 3)
    m.add("MatMul of a row", two, "MatMul", [m.input(1, k, sign=sign), weights(k, 200)], 3)
    k = min(k, 4096)
    x, c = m.input(1, k, 3, 3, sign=sign), weights(24, k, 1, 1)
    m.add("Conv 1x1", lambda v, u: pairs(v.reshape(-1, 9).T[None] * u.reshape(24, 1, -1), (2,)).reshape(1, 24, 3, 3), "Conv", [x, c], 3)
    k = max(k // 9, 1)
    x, c = m.input(1, k, 14, 14, sign=sign), weights(24, k, 3, 3)
    m.add("Conv 3x3", lambda v, u: windows(v, u)[:, :, ::2, ::2], "Conv", [x, c], 3, strides=[2, 2])
    m.add("Winograd", windows, "Conv", [x, c], 12)
    return m


def windows(x, w):
    cut = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), (1, 2))
    return np.stack([pairs(cut.transpose(1, 2, 0, 3, 4) * u, (2, 3, 4)) for u in w])[None]


def states(steps, seed):
    m = Model(seed)
    weights = lambda *shape: m.const((m.rng.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32))
    x = m.input(steps, 2, 24, sign=True)
    m.add("LSTM", lstm, "LSTM", [x, weights(1, 160, 24), weights(1, 160, 40)], 3, hidden_size=40)
    m.add("GRU", gru, "GRU", [x, weights(1, 120, 24), weights(1, 120, 40)], 3, hidden_size=40)
    return m


def run(m, what, is_open):
    global bad
    dims = {n: ["n%d" % d if is_open and d > 64 else d for d in shape] for n, (shape, _) in m.inputs.items()}
    consts = [numpy_helper.from_array(c, n) for n, c in m.consts.items()]
    g = helper.make_graph(m.nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in dims.items()], [onnx.ValueInfoProto(name=y) for y in m.want], consts)
    squares = {y: np.zeros(2) for y in m.want}
    with tempfile.TemporaryDirectory() as dir:
        onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), dir + "/m.onnx")
        for draw in range(DRAWS):
            feeds = m.draw()
            np.savez(dir + "/in.npz", **feeds)
            p = subprocess.run("%srun-dev -q lib.so -i in.npz -o y.npz" % ("" if draw else "hone build -q m.onnx -o lib && "), shell=True, cwd=dir, capture_output=True, text=True)
            if p.returncode:
                bad += 1
                print("not ok - %s: %s" % (what, p.stderr.strip()[-300:]))
                return
            with np.load(dir + "/y.npz") as y:
                for name in m.want:
                    squares[name] += m.errors(name, feeds, y[name])
    for name, (op, _, _, most, _) in m.want.items():
        off, usual = np.sqrt(squares[name] / DRAWS)
        good = off <= max(most * usual, FLOOR)
        bad += not good
        print("%sok - %s %s: off %.1e, numpy %.1e, ratio %.2f" % ("" if good else "not ", what, op, off, usual, off / max(usual, 1e-30)), flush=True)


if len(sys.argv) > 1:
    for is_open in (False, True):
        run(states(1000, 5), "1000 steps%s" % (", open" if is_open else ""), is_open)
for places in [int(p) for p in sys.argv[1:]]:
    for sign in (False, True):
        for is_open in (False, True):
            words = "%d places%s%s" % (places, ", of both signs" if sign else "", ", open" if is_open else "")
            run(sums(places, places + sign, sign), words, is_open)
            run(products(places, places + sign, sign, is_open), words, is_open)
if len(sys.argv) == 1:  # a part of it, for every day
    for is_open in (False, True):
        run(sums(9000, 1, False), "open" if is_open else "known", is_open)
    run(products(1000, 2, True, False), "of both signs", False)
sys.exit(bad > 0)
