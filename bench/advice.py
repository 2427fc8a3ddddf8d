"""Ten models with a known bottleneck: does hone advise name it, and first?

advice.py [NAME...]      needs a python with onnx and numpy; hone on the PATH

Each model is small but for one thing that takes most of its time. A line a model: what was planted, what hone advise says first, and
everything it names. Ends with how many were named, and how many first."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

R = np.random.default_rng(7)


def weights(name, *shape):
    return nh.from_array((R.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32), name)


def model(nodes, inputs, outputs, constants=()):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                         [h.make_tensor_value_info(n, t, s) for n, t, s in outputs], list(constants))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)


def casts():
    n = [1, 2048, 2048]
    return model([h.make_node("Cast", ["x"], ["y"], to=T.FLOAT16), h.make_node("ReduceMax", ["y"], ["m"], keepdims=1)],
                 [("x", T.FLOAT, n)], [("y", T.FLOAT16, n), ("m", T.FLOAT16, [1, 1, 1])])


def quantised_pair():
    n = [1, 64, 128, 128]
    s = [nh.from_array(np.float32(0.02), "s"), nh.from_array(np.int8(3), "z")]
    return model([h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])],
                 [("x", T.FLOAT, n)], [("y", T.FLOAT, n), ("q", T.INT8, n)], s)


def slow():
    """Strings that no kernel and no native function joins."""
    return model([h.make_node("Relu", ["x"], ["r"]), h.make_node("Cast", ["r"], ["t"], to=T.STRING), h.make_node("Cast", ["t"], ["y"], to=T.FLOAT)],
                 [("x", T.FLOAT, [1, 4096])], [("y", T.FLOAT, [1, 4096])])


def transposes():
    n = [64, 96, 512]
    return model([h.make_node("Transpose", ["x"], ["y"], perm=[2, 0, 1]), h.make_node("ReduceMax", ["y"], ["m"], keepdims=1)],
                 [("x", T.FLOAT, n)], [("y", T.FLOAT, [512, 64, 96]), ("m", T.FLOAT, [1, 1, 1])])


def concatenation():
    n = [1, 256, 96, 96]
    return model([h.make_node("Concat", ["x", "y"], ["z"], axis=1)], [("x", T.FLOAT, n), ("y", T.FLOAT, n)],
                 [("z", T.FLOAT, [1, 512, 96, 96])])


def one_row():
    return model([h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Relu", ["m"], ["y"])], [("x", T.FLOAT, [1, 6144])],
                 [("y", T.FLOAT, [1, 6144])], [weights("w", 6144, 6144)])


def products():
    return model([h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Relu", ["m"], ["y"])], [("x", T.FLOAT, [768, 768])],
                 [("y", T.FLOAT, [768, 768])], [weights("w", 768, 768)])


def chain():
    """Each value is an output, so that the nodes stay apart."""
    n = [1, 64, 160, 160]
    ops = ["Relu", "Abs", "Neg", "Sqrt", "Floor"]
    nodes = [h.make_node(op, ["v%d" % i], ["v%d" % (i + 1)]) for i, op in enumerate(ops)]
    return model(nodes, [("v0", T.FLOAT, n)], [("v%d" % (i + 1), T.FLOAT, n) for i in range(len(ops))])


def loop():
    one = h.make_tensor_value_info
    body = h.make_graph([h.make_node("Identity", ["c"], ["d"]), h.make_node("Tanh", ["a"], ["b"])], "body",
                        [one("i", T.INT64, []), one("c", T.BOOL, []), one("a", T.FLOAT, [2])], [one("d", T.BOOL, []), one("b", T.FLOAT, [2])])
    return model([h.make_node("Loop", ["n", "t", "x"], ["y"], body=body)], [("n", T.INT64, []), ("x", T.FLOAT, [2])], [("y", T.FLOAT, [2])],
                 [nh.from_array(np.bool_(True), "t")])


def schedule():
    """A long sum along an axis that lies far apart, of few results: far from both roofs."""
    return model([h.make_node("CumSum", ["x", "axis"], ["y"])], [("x", T.FLOAT, [256, 2048])], [("y", T.FLOAT, [256, 2048])],
                 [nh.from_array(np.int64(1), "axis")])


PLANTED = {"casts": (casts, "types"), "quantised pair": (quantised_pair, "types"), "slow path": (slow, "slow path"),
           "transpose": (transposes, "moves"), "concatenation": (concatenation, "moves"), "one row": (one_row, "memory"),
           "products": (products, "arithmetic"), "chain": (chain, "chain"), "loop": (loop, "small steps"), "running sum": (schedule, "schedule")}
MORE = {"loop": ["--range", "n=200:200"]}


def main():
    named = first = tried = 0
    with tempfile.TemporaryDirectory() as d:
        for name, (make, wanted) in PLANTED.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            path = os.path.join(d, "m.onnx")
            onnx.save(make(), path)
            r = subprocess.run(["hone", "advise", "--json", "--seconds", "0.5", *MORE.get(name, []), path], capture_output=True, text=True)
            tried += 1
            if r.returncode:
                print("%-16s failed: %s" % (name, r.stderr.strip()))
                continue
            found = json.loads(r.stdout)["findings"]
            names = [f["name"] for f in found]
            named += wanted in names
            first += names[:1] == [wanted]
            print("%-16s %-10s %s" % (name, wanted, ", ".join("%s %.0f%%" % (f["name"], 100 * f["gain"]) for f in found)))
    print("%d of %d named, %d first" % (named, tried, first))


main()
