#!/usr/bin/env python3
"""One token of a language model behind a context, hone against ONNX Runtime, in turns.

llm.py MODEL.onnx CONTEXT... in a directory where examples/llm/build.sh MODEL.onnx LONGEST was run: milliseconds of processor time of a token, the medians of
ROUNDS (environment, 15) rounds with their quartiles, each of 3 tokens, one thread. ONNX Runtime has its cache in one buffer for past and
present, bound once. CHUNK (environment) measures a chunk of the prompt instead, as many tokens as the model was built for."""
import os
import sys
import time
from ctypes import CDLL, POINTER, Structure, c_char_p, c_int, c_int64, c_long, c_void_p, cast, pointer

import numpy as np
import onnxruntime as ort

rounds, rows = int(os.environ.get("ROUNDS", 15)), int(os.environ.get("CHUNK", 1))


class Value(Structure):
    _fields_ = [("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)), ("data", c_void_p)]


class Hone:
    def __init__(self):
        lib = self.lib = CDLL("./llm.so")
        for name, result, *operands in (("open", c_void_p, c_char_p, c_void_p), ("run_values", c_int, c_void_p, c_void_p, c_void_p), ("error", c_char_p),
                                        ("num_inputs", c_int), ("num_outputs", c_int), ("input_name", c_char_p, c_int),
                                        ("input_shape", POINTER(c_long), c_int, c_void_p)):
            f = getattr(lib, f"llm_{name}")
            f.restype, f.argtypes = result, operands
        self.at = {lib.llm_input_name(i).decode(): i for i in range(lib.llm_num_inputs())}
        self.model = lib.llm_open(b"llm.weights", None) or sys.exit(lib.llm_error().decode())
        self.longest = lib.llm_input_shape(self.at["attention_mask"], pointer(c_int()))[1]
        self.given, self.results = (Value * len(self.at))(), (Value * lib.llm_num_outputs())()

    def run(self, context):
        mask = np.zeros(self.longest, np.int64)
        mask[: context + rows] = 1
        self.kept = np.ones(rows, np.int64), mask, (c_int64 * 2)(1, rows), (c_int64 * 2)(1, self.longest)
        self.given[self.at["input_ids"]] = Value(7, 2, self.kept[2], self.kept[0].ctypes.data)
        self.given[self.at["attention_mask"]] = Value(7, 2, self.kept[3], mask.ctypes.data)
        if self.lib.llm_run_values(self.model, self.given, self.results):
            sys.exit(self.lib.llm_error().decode())


class Runtime:
    def __init__(self, path, longest):
        o = ort.SessionOptions()
        o.intra_op_num_threads = 1
        self.session = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
        self.binding, self.caches = self.session.io_binding(), []
        for i, present in zip([i for i in self.session.get_inputs() if i.name.startswith("past")], [x for x in self.session.get_outputs() if x.name.startswith("present")]):
            v = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, i.shape[1], longest, i.shape[3]), np.float32))
            self.caches.append(v)
            self.binding.bind_ortvalue_input(i.name, v)
            self.binding.bind_ortvalue_output(present.name, v)
        self.binding.bind_output("logits")

    def run(self, context):
        self.binding.bind_cpu_input("input_ids", np.ones((1, rows), np.int64))
        self.binding.bind_cpu_input("attention_mask", np.ones((1, context + rows), np.int64))
        self.session.run_with_iobinding(self.binding)


hone = Hone()
peer = Runtime(sys.argv[1], hone.longest)
print(f"hone, ONNX Runtime {ort.__version__}: ms for {rows} token{'s' if rows > 1 else ''}, median and quartiles of {rounds} rounds, one thread")
for context in map(int, sys.argv[2:]):
    times = {hone: [], peer: []}
    for r in range(rounds + 1):
        for who in times:
            who.run(context)
            start = time.process_time()
            for _ in range(3):
                who.run(context)
            if r:
                times[who].append((time.process_time() - start) / 3e-3)
    a, b = (np.percentile(t, [25, 50, 75]) for t in times.values())
    print(f"context {context}: hone {a[1]:.3g} ({a[0]:.3g} to {a[2]:.3g}), ONNX Runtime {b[1]:.3g} ({b[0]:.3g} to {b[2]:.3g}), ratio {a[1] / b[1]:.2f}", flush=True)
