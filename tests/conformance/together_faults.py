"""Cases beside each other in one model, whose values have the same names: right as they are, and not with a result that is wrong."""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import judge
import together
from cases import Case

bad = 0


def check(good, what):
    global bad
    bad += not good
    print("%sok - %s" % ("" if good else "not ", what))


def case(name, nodes, n, want):
    """From x of n elements and the weight w, 2, to y."""
    values = [helper.make_tensor_value_info(v, TensorProto.FLOAT, ["n"]) for v in ("x", "y")]
    w = helper.make_tensor("w", TensorProto.FLOAT, [1], [2])
    g = helper.make_graph(nodes, "g", [values[0], helper.make_tensor_value_info("w", TensorProto.FLOAT, [1])], [values[1]], [w])
    model = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return Case("here", name, lambda: model, lambda: [([np.arange(n, dtype=np.float32)], [np.asarray(want, np.float32)])])


def branch(op):
    y = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node(op, ["x", "w"], ["b"])], "branch", [], [y])


cond = [helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [1], [False]))]
chosen = cond + [helper.make_node("If", ["c"], ["y"], then_branch=branch("Mul"), else_branch=branch("Sub"))]
clipped = [helper.make_node("Clip", ["x", "", "w1"], ["y"]), helper.make_node("Squeeze", ["w"], ["w1"])][::-1]
cases = [case("sum", [helper.make_node("Add", ["x", "w"], ["y"])], 3, [2, 3, 4]), case("branches", chosen, 2, [-2, -1]), case("clip", clipped, 4, [0, 1, 2, 2])]
wrong = case("wrong", [helper.make_node("Mul", ["x", "w"], ["y"])], 3, [0, 2, 5])


def judged(cases):
    with tempfile.TemporaryDirectory(prefix="case.") as dir:
        os.environ["HONE_BLOBS"] = dir + "/blobs"
        return judge.judge(together.beside(cases), dir)


model = together.beside(cases).model()
onnx.checker.check_model(model, full_check=True)
check(len(model.graph.input) == 3 and len({d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim}) == 3, "weights are no inputs, sizes are each case's own")
columns = judged(cases)
check(together.all_equal(columns), "three beside each other: equal in every column: %s" % {c: x["verdict"] for c, x in columns.items()})
check(not together.all_equal(judged(cases + [wrong])), "one of four is wrong: they are not equal")
check(together.kind(cases[0]) == together.kind(cases[1]) != None, "the same versions and judges: of one kind")  # noqa: E711
more = Case("here", "two", cases[0].model, lambda: cases[0].sets() * 2)
check(together.kind(more) is None, "two sets of inputs: judged alone")
groups = list(together.groups({0: "a", 1: None, 2: "a", 3: "b", 4: "a", 5: "a"}, range(6), 3))
check(sorted(map(sorted, groups)) == [[0, 4], [1], [2, 5], [3]], "groups are of one kind, and of like size")
sys.exit(bad > 0)
