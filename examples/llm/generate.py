#!/usr/bin/env python3
"""Text in, text out, with the model that build.sh made in this directory: generate.py TOKENIZER.json TEXT [COUNT].

TOKENIZER.json is what Hugging Face's models come with; `pip install tokenizers` reads it. Greedy; generate.c can do more."""
import sys
from array import array
from ctypes import CDLL, POINTER, Structure, c_char_p, c_float, c_int, c_int64, c_long, c_void_p, cast, pointer

from tokenizers import Tokenizer


class Value(Structure):
    _fields_ = [("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)), ("data", c_void_p)]


lib = CDLL("./llm.so")
for name, result, *operands in (("open", c_void_p, c_char_p, c_void_p), ("run_values", c_int, c_void_p, c_void_p, c_void_p), ("error", c_char_p),
                                ("num_inputs", c_int), ("num_outputs", c_int), ("input_name", c_char_p, c_int), ("output_name", c_char_p, c_int),
                                ("input_shape", POINTER(c_long), c_int, c_void_p), ("close", None, c_void_p)):
    f = getattr(lib, f"llm_{name}")
    f.restype, f.argtypes = result, operands
inputs = {lib.llm_input_name(i).decode(): i for i in range(lib.llm_num_inputs())}
outputs = {lib.llm_output_name(i).decode(): i for i in range(lib.llm_num_outputs())}
model = lib.llm_open(b"llm.weights", None) or sys.exit(lib.llm_error().decode())
longest = lib.llm_input_shape(inputs["attention_mask"], pointer(c_int()))[1]
mask, used = (c_int64 * longest)(), 0
given, results = (Value * len(inputs))(), (Value * len(outputs))()


def run(ids):
    """The logits behind the last of ids: one, or as many as the chunks that the library was built for."""
    global used
    if used + len(ids) > longest:
        sys.exit(f"the cache holds {longest} tokens")
    mask[used:used + len(ids)] = [1] * len(ids)
    used += len(ids)
    for name, n, data in (("input_ids", len(ids), (c_int64 * len(ids))(*ids)), ("attention_mask", longest, mask)):
        given[inputs[name]] = Value(7, 2, (c_int64 * 2)(1, n), cast(data, c_void_p))
    if lib.llm_run_values(model, given, results):
        sys.exit(lib.llm_error().decode())
    y = results[outputs["logits"]]
    rows, vocab = y.shape[1], y.shape[2]
    return array("f", cast(y.data, POINTER(c_float))[(rows - 1) * vocab:rows * vocab])


tokenizer = Tokenizer.from_file(sys.argv[1])
made = []
for i in tokenizer.encode(sys.argv[2]).ids:
    logits = run([i])
for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 64):
    made.append(max(range(len(logits)), key=logits.__getitem__))
    logits = run(made[-1:])
print(tokenizer.decode(made))
lib.llm_close(model)
