"""Random chains of quantised layers: every quantiser rounds, whichever products are in floats.

    rounds.py --seeds 1:9 [--libraries TARGET,...]

Each model is put into streams with all products in integers, with all in floats, and with some in floats. On the evaluator their codes at the end are
those of the model, all but FEW, for one of three inputs at least: a number in the middle between two codes is rare, and moves some of those
that follow. A quantiser that is dropped moves more for every input: ge-mixed --drop has to be found out. --libraries: the streams in floats and mixed are compiled, with the codes of
all layers as outputs, and run-cmp --layers judges each."""
import argparse
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

FEW = 0.02
LAYERS = 9
PASSES = "ge-fold -q | ge-simplify -q | ge-prune -q | ge-integer -q"


class Chain:
    """Layers of floats, and which values and weights are quantised."""

    def __init__(self, seed):
        self.rng, self.nodes, self.init, self.values, self.weights, self.n = np.random.default_rng(seed), [], {}, [], {}, 0
        self.shape = {}

    def name(self):
        self.n += 1
        return f"v{self.n}"

    def const(self, a, channels=None):
        """channels: the axis that has a scale for each index; None: no weight."""
        name = self.name()
        self.init[name] = np.asarray(a)
        if channels is not None:
            self.weights[name] = channels
        return name

    def normal(self, *shape, channels=None):
        fan = np.prod(shape) / shape[channels]
        return self.const((self.rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32), channels)

    def node(self, op, *ins, quantise=True, **attrs):
        out = self.name()
        self.nodes.append(h.make_node(op, list(ins), [out], name=out, **attrs))
        if quantise:
            self.values.append(out)
        return out

    def layer(self, x, c):
        """A layer of images of c channels; the channels and the value after it."""
        pick = self.rng.choice(["conv", "conv", "pointwise", "depthwise", "residual", "activation", "pool", "attention", "norm", "transposed", "concat"])
        bias = lambda n: [self.const((0.1 * self.rng.standard_normal(n)).astype(np.float32))] if self.rng.random() < 0.7 else []
        if pick in ("conv", "pointwise"):
            o, k = int(self.rng.choice([4, 8, 12])), 1 if pick == "pointwise" else 3
            y = self.node("Conv", x, self.normal(o, c, k, k, channels=0), *bias(o), pads=[k // 2] * 4, quantise=False)
            return o, self.node("Relu", y) if self.rng.random() < 0.5 else self.node("Identity", y)
        if pick == "depthwise":
            return c, self.node("Conv", x, self.normal(c, 1, 3, 3, channels=0), *bias(c), pads=[1] * 4, group=c)
        if pick == "residual":
            y = self.node("Conv", x, self.normal(c, c, 3, 3, channels=0), *bias(c), pads=[1] * 4)
            return c, self.node("Add", x, y)
        if pick == "activation":
            op = self.rng.choice(["Sigmoid", "LeakyRelu", "Erf", "Mul"])
            return c, self.node("Mul", x, self.node("Sigmoid", x)) if op == "Mul" else self.node(op, x)
        if pick == "pool":
            op = self.rng.choice(["MaxPool", "AveragePool"])
            return c, self.node(op, x, kernel_shape=[3, 3], pads=[1] * 4)
        if pick == "attention":
            y = self.node("Transpose", x, perm=[0, 1, 3, 2])
            return c, self.node("MatMul", self.node("Softmax", self.node("MatMul", x, y), axis=-1), x)
        if pick == "norm":
            y = self.node("Transpose", x, perm=[0, 2, 3, 1])
            y = self.node("LayerNormalization", y, self.const(self.rng.uniform(0.5, 2, c).astype(np.float32)), axis=-1)
            y = self.node("MatMul", y, self.normal(c, c, channels=1))
            return c, self.node("Transpose", y, perm=[0, 3, 1, 2])
        if pick == "transposed":
            y = self.node("ConvTranspose", x, self.normal(c, c, 2, 2, channels=1), *bias(c), strides=[2, 2])
            return c, self.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
        y = self.node("Conv", x, self.normal(4, c, 1, 1, channels=0))
        return c + 4, self.node("Concat", x, y, axis=1)

    def make(self, path):
        c, x = 4, "x"
        self.values.append("x")
        for _ in range(LAYERS):
            c, x = self.layer(x, c)
        wide = [h.make_tensor_value_info("x", T.FLOAT, [1, 4, 10, 9])]
        init = [numpy_helper.from_array(a, n) for n, a in self.init.items()]
        outs = [h.make_tensor_value_info(v, T.FLOAT, None) for v in self.values if v != "x"]
        model = h.make_model(h.make_graph(self.nodes, "g", wide, outs, init), opset_imports=[h.make_opsetid("", 21)], ir_version=10)
        feed = {"x": self.rng.standard_normal((1, 4, 10, 9)).astype(np.float32)}
        seen = dict(zip([o.name for o in outs], ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)))
        seen["x"] = feed["x"]
        self.quantised(path, seen, x, wide)

    def quantised(self, path, seen, last, wide):
        nodes, init, of = [], [], {}

        def pair(v, scale, zero, axis=None, codes=None):
            s, z, d = f"{v}_s", f"{v}_z", f"{v}_d"
            init.extend([numpy_helper.from_array(scale, s), numpy_helper.from_array(zero, z)])
            if codes is None:
                nodes.append(h.make_node("QuantizeLinear", [v, s, z], [f"{v}_q"], name=f"{v}_q"))
            else:
                init.append(numpy_helper.from_array(codes, f"{v}_q"))
            nodes.append(h.make_node("DequantizeLinear", [f"{v}_q", s, z], [d], name=d, **({} if axis is None else {"axis": axis})))
            of[v] = d

        def grid(v):
            lo, hi = min(0, float(seen[v].min())), max(0, float(seen[v].max()))
            scale = np.float32(max(hi - lo, 1e-3) / 255)
            return scale, np.uint8(np.clip(round(-lo / scale), 0, 255))

        for v, axis in self.weights.items():
            w = self.init[v]
            scale = (np.abs(w).max(axis=tuple(i for i in range(w.ndim) if i != axis)) / 127).astype(np.float32)
            shape = [-1 if i == axis else 1 for i in range(w.ndim)]
            pair(v, scale, np.zeros(scale.shape, np.int8), axis, np.rint(w / scale.reshape(shape)).astype(np.int8))
        pair("x", *grid("x"))
        for n in self.nodes:
            n = onnx.NodeProto.FromString(n.SerializeToString())
            n.input[:] = [of.get(i, i) for i in n.input]
            nodes.append(n)
            if n.output[0] in self.values:
                pair(n.output[0], *grid(n.output[0]))
        init += [numpy_helper.from_array(a, n) for n, a in self.init.items() if n not in self.weights]
        out = [h.make_tensor_value_info(f"{last}_q", T.UINT8, None)]
        g = h.make_graph(nodes, "g", wide, out, init)
        onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 21)], ir_version=10), path)


def sh(command):
    p = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(f"{command}: {p.stdout[-1500:]}{p.stderr[-600:]}")
    return p.stdout


def products():
    p = onnx.load("m.onnx")
    return [n.name for n in p.graph.node if n.op_type in ("Conv", "MatMul", "ConvTranspose")]


def moved(form):
    """The share of codes at the end that a stream has otherwise than the model, the least for three inputs."""
    sh(f"ge-mixed -q {form} m.g | {PASSES} -o f.g")
    least = 1
    for seed in range(3):
        a, b = [list(np.load(f).values())[0] for f in (run("m.g", seed, "a.npz"), run("f.g", seed, "b.npz"))]
        least = min(least, float((a != b).mean()))
    return least


def run(graph, seed, out):
    sh(f"run-ref -q --seed {seed} --range x=-3:3 {graph} -o {out}")
    return out


def forms(rng):
    keep = " ".join(f"--keep {n}" for n in products() if rng.random() < 0.5)
    return {"in integers": "--all low", "in floats": "--all high", "mixed": f"--all high {keep}"}


def check(seed, targets):
    Chain(seed).make("m.onnx")
    sh("ge-import -q m.onnx | ge-shape -q -o m.g")
    some = forms(np.random.default_rng(seed))
    for what, form in some.items():
        share = moved(form)
        if share > FEW:
            return f"{what}: {share:.3f} of the codes at the end are others", 0
    for target in targets:
        for what in ("in floats", "mixed"):
            sh(f"ge-prune -q --codes m.g -o codes.g && ge-mixed -q {some[what]} codes.g | {PASSES} | ge-fuse -q | ge-layout -q | ge-plan -q | "
               f"ge-emit -q --target {target} -o lib -")
            try:
                sh("run-cmp --layers --runs 2 --range x=-3:3 lib.so codes.g")
            except RuntimeError as e:
                return f"{what}, {target}: {e}", 0
    return None, moved("--drop --all high")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seeds", default="1:5")
    p.add_argument("--libraries", default="")
    a = p.parse_args()
    first, end = map(int, a.seeds.split(":"))
    bad, dropped = 0, []
    for seed in range(first, end):
        try:
            why, share = check(seed, [t for t in a.libraries.split(",") if t])
        except RuntimeError as e:
            why, share = str(e), 0
        dropped.append(share)
        bad += why is not None
        print(f"{'not ' * (why is not None)}ok - chain {seed}{': ' + why if why else ''}", flush=True)
    found = sum(s > FEW for s in dropped)
    print(f"{'not ' * (found * 2 < len(dropped))}ok - quantisers that are dropped are found out in {found} of {len(dropped)}")
    print(f"1..{end - first + 1}")
    return bad or found * 2 < len(dropped)


if __name__ == "__main__":
    raise SystemExit(main())
