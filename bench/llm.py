#!/usr/bin/env python3
"""One token of a language model behind a context, hone against ONNX Runtime and, where it is installed, OpenVINO, in turns.

llm.py MODEL.onnx CONTEXT... in a directory where examples/llm/build.sh MODEL.onnx LONGEST was run: milliseconds of processor time of a token, the medians of
ROUNDS (environment, 15) rounds with their quartiles, each of 3 tokens, one thread. ONNX Runtime has its cache in one buffer for past and
present, bound once; OpenVINO keeps it as its states. CHUNK (environment) measures a chunk of the prompt instead, as many tokens as the model was built for. PROMPT (32) is the chunk that it was built
for: caches are filled by prompts."""
import importlib.metadata
import importlib.util
import os
import sys
import time
from ctypes import CDLL, POINTER, Structure, c_char_p, c_int, c_int64, c_long, c_void_p, cast, pointer

import numpy as np
import onnxruntime as ort

rounds, rows = int(os.environ.get("ROUNDS", 15)), int(os.environ.get("CHUNK", 1))
rng = np.random.default_rng(1)


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

    def fill(self, context):
        """A cache that was never written is one page of zeros for all of it, which no memory is read for."""
        step, at = int(os.environ.get("PROMPT", 32)), 0
        while at < context:  # the library is built for so many tokens, and for one
            n = step if context - at >= step else 1
            self.run(at, n)
            at += n

    def ready(self, context):
        pass

    def run(self, context, rows=rows):
        mask = np.zeros(self.longest, np.int64)
        mask[: context + rows] = 1
        self.kept = rng.integers(0, 32, rows), mask, (c_int64 * 2)(1, rows), (c_int64 * 2)(1, self.longest)
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
            shape, bits = (1, i.shape[1], longest, i.shape[3]), {"tensor(int8)": np.int8, "tensor(uint8)": np.uint8}.get(i.type)
            v = ort.OrtValue.ortvalue_from_numpy(rng.integers(0, 120, shape).astype(bits) if bits else rng.standard_normal(shape).astype(np.float32))
            self.caches.append(v)
            self.binding.bind_ortvalue_input(i.name, v)
            self.binding.bind_ortvalue_output(present.name, v)
        self.binding.bind_output("logits")

    def ready(self, context):
        pass

    def run(self, context):
        self.binding.bind_cpu_input("input_ids", np.ones((1, rows), np.int64))
        self.binding.bind_cpu_input("attention_mask", np.ones((1, context + rows), np.int64))
        self.session.run_with_iobinding(self.binding)


class OpenVino:
    def __init__(self, path):
        from openvino import Core
        from openvino._offline_transformations import apply_make_stateful_transformation

        core = Core()
        model = core.read_model(path)
        apply_make_stateful_transformation(model, {i.any_name: i.any_name.replace("past_key_values", "present") for i in model.inputs if i.any_name.startswith("past")})
        self.request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}).create_infer_request()

    def ready(self, context):
        """A run adds its rows to the states: they are cut again."""
        from openvino import Tensor

        self.request.reset_state()
        for s in self.request.query_state():
            s.state = Tensor(np.zeros((1, s.state.shape[1], context, s.state.shape[3]), np.float32))  # a state that was reset has a batch of none

    def run(self, context):
        self.request.infer({"input_ids": np.ones((1, rows), np.int64), "attention_mask": np.ones((1, context + rows), np.int64)})
        if self.request.get_output_tensor(0).shape[:2] != [1, rows]:
            sys.exit("OpenVINO: logits of another shape")


hone = Hone()
peers = {"ONNX Runtime " + ort.__version__: Runtime(sys.argv[1], hone.longest)}
if importlib.util.find_spec("openvino"):
    name = "OpenVINO " + importlib.metadata.version("openvino")
    try:
        peers[name] = OpenVino(sys.argv[1])
    except RuntimeError as e:
        refused = [line for line in str(e).splitlines() if "failed for:" in line] or str(e).splitlines()[-1:]
        print(f"{name} does not take the model: {' '.join(refused)}")
print(f"hone, {', '.join(peers)}: ms for {rows} token{'s' if rows > 1 else ''}, median and quartiles of {rounds} rounds, one thread")
for context in map(int, sys.argv[2:]):
    hone.fill(context)
    times = {who: [] for who in (hone, *peers.values())}
    for r in range(rounds + 1):
        for who in times:
            took = 0
            for turn in range(4):
                who.ready(context)
                start = time.process_time()
                who.run(context)
                took += time.process_time() - start if turn else 0
            if r:
                times[who].append(took / 3e-3)
    told = {who: np.percentile(t, [25, 50, 75]) for who, t in times.items()}
    a = told.pop(hone)
    print(f"context {context}: hone {a[1]:.3g} ({a[0]:.3g} to {a[2]:.3g})" +
          "".join(f", {name.rsplit(' ', 1)[0]} {b[1]:.3g} ({b[0]:.3g} to {b[2]:.3g}), ratio {a[1] / b[1]:.2f}" for name, b in zip(peers, told.values())), flush=True)
