"""Writes a model whose state is joined with itself: state_twice.py FILE"""

import sys

import onnx
from onnx import TensorProto as T, helper


def value(name, size):
    return helper.make_tensor_value_info(name, T.FLOAT, [1, 2, size, 3])


node = helper.make_node("Concat", ["past", "new", "past"], ["present"], axis=2)
graph = helper.make_graph([node], "twice", [value("past", "n"), value("new", "k")], [value("present", None)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
