"""A decoder whose caches grow, as files have them: in one layer as exports of PyTorch are (Concat, heads repeated, MatMul, Softmax, the size of the
mask named as a sum), in the other Attention of opset 23 with heads side by side. Prompt, tokens and chunks
on two threads against ONNX Runtime; then caches of codes of 8 bits, against ONNX Runtime on the graph that ge-narrow makes."""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

from library import Library

HIDDEN, HEADS, GROUPS, SIZE, VOCAB = 32, 4, 2, 8, 64
LAYERS = ("products", "attention")
rng = np.random.default_rng(3)


class Decoder:
    def __init__(self):
        self.nodes, self.init, self.n = [], [], 0

    def const(self, a):
        self.n += 1
        self.init.append(numpy_helper.from_array(np.asarray(a), f"c{self.n}"))
        return f"c{self.n}"

    def ints(self, *v):
        return self.const(np.array(v, np.int64))

    def node(self, op, *operands, out=None, **attrs):
        self.n += 1
        out = out or [f"{op}_{self.n}"]
        self.nodes.append(h.make_node(op, operands, out, name=f"{op}_{self.n}", **attrs))
        return out[0]

    def linear(self, x, k, n, **more):
        return self.node("MatMul", x, self.const((rng.standard_normal((k, n)) * k**-0.5).astype(np.float32)), **more)

    def axis(self, x, a):
        return self.node("Unsqueeze", self.node("Gather", self.node("Shape", x), self.const(np.int64(a)), axis=0), self.ints(0))

    def number(self, x, a):
        return self.node("Squeeze", self.axis(x, a), self.ints(0))

    def heads_of(self, x, n):
        y = self.node("Reshape", x, self.node("Concat", self.axis(x, 0), self.axis(x, 1), self.ints(n), self.ints(SIZE), axis=0))
        return self.node("Transpose", y, perm=[0, 2, 1, 3])

    def rotated(self, x):
        half = SIZE // 2
        a = self.node("Slice", x, self.ints(0), self.ints(half), self.ints(3))
        b = self.node("Slice", x, self.ints(half), self.ints(2**63 - 1), self.ints(3))
        y = self.node("Concat", self.node("Neg", b), a, axis=-1)
        return self.node("Add", self.node("Mul", x, self.cos), self.node("Mul", y, self.sin))

    def repeated(self, x):
        b, t, each = self.axis(x, 0), self.axis(x, 2), self.ints(SIZE)
        y = self.node("Expand", self.node("Unsqueeze", x, self.ints(2)), self.node("Concat", b, self.ints(GROUPS), self.ints(HEADS // GROUPS), t, each, axis=0))
        return self.node("Reshape", y, self.node("Concat", b, self.ints(HEADS), t, each, axis=0))

    def tables(self):
        inv = self.const((10000.0 ** (-np.arange(0, SIZE, 2) / SIZE)).astype(np.float32).reshape(1, -1, 1))
        f = self.node("MatMul", inv, self.node("Cast", self.node("Unsqueeze", "position_ids", self.ints(1)), to=T.FLOAT))
        f = self.node("Transpose", f, perm=[0, 2, 1])
        f = self.node("Concat", f, f, axis=-1)
        self.cos, self.sin = (self.node("Unsqueeze", self.node(op, f), self.ints(1)) for op in ("Cos", "Sin"))

    def mask(self):
        zero, one, none, low = (self.const(v) for v in (np.int64(0), np.int64(1), np.float32(0), np.finfo(np.float32).min))
        past = self.number("past_key_values.0.key", 2)
        total = self.node("Add", past, self.number("input_ids", 1))
        keys, rows = self.node("Range", zero, total, one), self.node("Range", past, total, one)
        later = self.node("Greater", self.node("Unsqueeze", keys, self.ints(0)), self.node("Unsqueeze", rows, self.ints(1)))
        ahead = self.node("Unsqueeze", self.node("Where", later, low, none), self.ints(0, 1))
        self.bias = self.node("Where", self.node("Equal", self.node("Unsqueeze", "attention_mask", self.ints(1, 2)), zero), low, ahead)

    def attention(self, x, i):
        q, k, v = (self.linear(x, HIDDEN, n * SIZE) for n in (HEADS, GROUPS, GROUPS))
        past, present = ([f"{stem}.{i}.{kind}" for kind in ("key", "value")] for stem in ("past_key_values", "present"))
        if LAYERS[i] == "attention":
            y = self.node("Attention", q, k, v, "", *past, out=[f"attention{i}", *present], is_causal=1, q_num_heads=HEADS, kv_num_heads=GROUPS)
            return self.linear(y, HEADS * SIZE, HIDDEN)
        q, k, v = self.rotated(self.heads_of(q, HEADS)), self.rotated(self.heads_of(k, GROUPS)), self.heads_of(v, GROUPS)
        k, v = (self.repeated(self.node("Concat", p, new, axis=-2, out=[o])) for p, new, o in zip(past, (k, v), present))
        s = self.node("Mul", self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2])), self.const(np.float32(SIZE**-0.5)))
        y = self.node("MatMul", self.node("Softmax", self.node("Add", s, self.bias), axis=-1), v)
        y = self.node("Transpose", y, perm=[0, 2, 1, 3])
        return self.linear(self.node("Reshape", y, self.node("Concat", self.axis(x, 0), self.axis(x, 1), self.ints(-1), axis=0)), HEADS * SIZE, HIDDEN)

    def model(self):
        x = self.node("Gather", self.const(rng.standard_normal((VOCAB, HIDDEN)).astype(np.float32)), "input_ids")
        self.tables()
        self.mask()
        for i in range(len(LAYERS)):
            x = self.node("Tanh", self.node("Add", x, self.attention(x, i)))
        self.linear(x, HIDDEN, VOCAB, out=["logits"])
        info, total = h.make_tensor_value_info, "past_sequence_length + sequence_length"
        ins = [info("input_ids", T.INT64, ["batch_size", "sequence_length"]), info("attention_mask", T.INT64, ["batch_size", total]),
               info("position_ids", T.INT64, ["batch_size", "sequence_length"])]
        outs = [info("logits", T.FLOAT, ["batch_size", "sequence_length", VOCAB])]
        for i in range(len(LAYERS)):
            for kind in ("key", "value"):
                ins.append(info(f"past_key_values.{i}.{kind}", T.FLOAT, ["batch_size", GROUPS, "past_sequence_length", SIZE]))
                outs.append(info(f"present.{i}.{kind}", T.FLOAT, ["batch_size", GROUPS, total, SIZE]))
        return h.make_model(h.make_graph(self.nodes, "g", ins, outs, self.init), opset_imports=[h.make_opsetid("", 23)], ir_version=10)


TYPES = {"tensor(float)": np.float32, "tensor(int8)": np.int8}


def compared(stem, session, batch, runs):
    """What differs in so many rows a run."""
    library = Library(stem)
    inputs = [i for i in session.get_inputs() if i.name.startswith("past")]
    names, outputs = [i.name for i in inputs], [o.name for o in session.get_outputs()]
    cache, seen, mask = {i.name: np.zeros((batch, GROUPS, 0, i.shape[3]), TYPES[i.type]) for i in inputs}, 0, np.zeros((batch, 0), np.int64)
    for number, rows in enumerate(runs):
        mask = np.concatenate([mask, np.ones((batch, rows), np.int64)], 1)
        mask[-1, 0] = seen < 9  # what is looked at changes
        feed = {"input_ids": rng.integers(0, VOCAB, (batch, rows)), "attention_mask": mask, "position_ids": np.tile(np.arange(seen, seen + rows), (batch, 1))}
        seen += rows
        want = session.run(None, {**feed, **cache})
        cache = {n: want[outputs.index(n.replace("past_key_values", "present"))] for n in names}
        d = np.abs(library.run(**feed)["logits"] - want[0]).max()
        for n in names:
            got = library.state(n.replace("past_key_values", "present"))
            d = max(d, np.abs(got.astype(np.float32) - cache[n]).max() if got.shape == cache[n].shape and got.dtype == cache[n].dtype else np.inf)
        if not d < 2e-5:
            return f"run {number}: {d:.2g} apart"
    try:
        library.run(**{**feed, "attention_mask": mask})  # of one row too few
        return "a mask of another size is taken"
    except RuntimeError as e:
        return "" if "attention_mask" in str(e) or "past" in str(e) else str(e)


def built(stem, more, states):
    p = run(f"hone build d.onnx -o {stem} --threads 2 {keep} {more}")
    return "" if not p.returncode and f"{states} of open sizes ({states} grow in place)" in p.stdout and " 0 on the slow path" in p.stdout else p.stdout[-600:]


def run(command):
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ok(what, why):
    print(f"{'not ' if why else ''}ok - {what}", why, flush=True)


RUNS = ((1, (7, 1, 1, 3, 1, 140, 1)), (2, (5, 1, 4, 1)))
onnx.save(Decoder().model(), "d.onnx")
keep = " ".join(f"--alias past_key_values.{i}.{k}=present.{i}.{k}" for i in range(len(LAYERS)) for k in ("key", "value"))
ok("all caches grow in place", built("grows", "", 4))
session = ort.InferenceSession("d.onnx", providers=["CPUExecutionProvider"])
for batch, runs in RUNS:
    ok(f"batch {batch}: the numbers of ONNX Runtime", compared("grows", session, batch, runs))
p = run(f"ge-import -q d.onnx | ge-shape -q | ge-narrow {keep} --state-type f16 | ge-dump | grep -c 'input past.*: f16'")
ok("both kinds of caches are kept in f16", "" if "4 states kept in f16" in p.stdout and p.stdout.endswith("\n4\n") else p.stdout)
p = run(f"ge-import -q d.onnx | ge-shape -q | ge-narrow -q {keep} --state-type i8 | ge-export -q -o codes.onnx")
ok("codes and their scales grow in place", p.stdout if p.returncode else built("codes", "--state-type i8", 8))
codes = ort.InferenceSession("codes.onnx", providers=["CPUExecutionProvider"])
for batch, runs in RUNS:
    ok(f"batch {batch}, codes: the numbers of ONNX Runtime", compared("codes", codes, batch, runs))
print("1..7")
