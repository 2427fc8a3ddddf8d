#!/usr/bin/env python3
"""Write products with weights of few bits as ONNX files, to be timed with peers.py: one MatMulNBits of com.microsoft (blocks of 32,
symmetric, accuracy_level as ONNX Runtime has it by default: sums of floats; LEVEL in the environment is another), and the same product of
floats. Prints their names.

    packed.py DIR ROWS K N       DIR/w4.onnx w8.onnx f32.onnx
    hone build DIR/w4.onnx -o DIR/w4 && peers.py DIR/w4.onnx DIR/w4.so
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32


def save(path, node, weights, rows, k, n):
    graph = helper.make_graph([node], "packed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, k])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, n])], weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    print(path)


def main():
    where, rows, k, n = sys.argv[1], *map(int, sys.argv[2:5])
    rng = np.random.default_rng(1)
    os.makedirs(where, exist_ok=True)
    blocks = -(-k // BLOCK)
    for bits in 4, 8:
        codes = rng.integers(0, 256, (n, blocks, BLOCK * bits // 8)).astype(np.uint8)
        scales = rng.uniform(0.005, 0.025, n * blocks).astype(np.float32)
        node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=BLOCK,
                                accuracy_level=int(os.environ.get("LEVEL", 0)))
        save(f"{where}/w{bits}.onnx", node, [numpy_helper.from_array(codes, "w"), numpy_helper.from_array(scales, "s")], rows, k, n)
    w = numpy_helper.from_array(rng.standard_normal((k, n)).astype(np.float32), "w")
    save(f"{where}/f32.onnx", helper.make_node("MatMul", ["x", "w"], ["y"]), [w], rows, k, n)


if __name__ == "__main__":
    main()
