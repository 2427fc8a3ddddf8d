#!/usr/bin/env python3
"""Decoders in the layout of onnxruntime-genai's builder, hone against ONNX Runtime.

decoders.py families [--context N]... [--level N]... [FAMILY...]: milliseconds of processor time of a token behind N tokens (128 and 1024), for each
    family and accuracy_level (0 and 4), in turns (bench/llm.py, and its variables of the environment), and how many steps of each library are on the slow path.
decoders.py greedy [TYPE...]: TOKENS (environment, 1000) tokens of a library of open sizes, saved and loaded by another process in the middle, for each
    --state-type (f32, i8); the first token that ONNX Runtime has otherwise, and the most memory beside weights and cache. ROOM=0: caches grow, and have no room for all from the first.
decoders.py batch: sentences of lengths of their own in one batch, against each by itself.

SIZES (environment) is what examples/llm/decoder.py makes; the weights are random. One thread. The work is done in a directory of its own."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort

top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(top, "tests/model"), os.path.join(top, "bench"), os.path.join(top, "examples/llm")]
from library import Library  # noqa: E402
from native import Model  # noqa: E402

sizes = os.environ.get("SIZES", "layers=8 hidden=1024 heads=16 groups=4 size=64 inner=2816 vocab=32000 longest=4608").split()
of = {k: int(v) for k, v in (s.split("=") for s in sizes)}
llm = os.path.join(top, "examples/llm")
windows = {"phi": 512, "gemma": 512}  # of the families that have some
caches = [f"{i}.{kind}" for i in range(of["layers"]) for kind in ("key", "value")]


def decoder(family, *more):
    subprocess.run([sys.executable, f"{llm}/decoder.py", family, "m.onnx", *sizes, *more], check=True)


def library(stem, *options):
    """Of open sizes, with kernels for one token, too; its caches are states."""
    alias = [f"--alias=past_key_values.{c}=present.{c}" for c in caches]
    subprocess.run(["hone", "build", "-q", "m.onnx", "-o", stem, "--gears", "sequence_length=1,32", *alias, *options], check=True)


class Peer:
    """ONNX Runtime; the caches go in and out of each run."""

    def __init__(self, batch=1):
        o = ort.SessionOptions()
        o.intra_op_num_threads = 1
        self.session = ort.InferenceSession("m.onnx", o, providers=["CPUExecutionProvider"])
        self.cache = {f"past_key_values.{c}": np.zeros((batch, of["groups"], 0, of["size"]), np.float32) for c in caches}

    def run(self, ids, mask):
        y = self.session.run(None, {"input_ids": ids, "attention_mask": mask, **self.cache})
        self.cache = dict(zip(self.cache, y[1:]))
        return y[0]


class Own:
    """A library; its caches have room for so many tokens from the first run on, or grow."""

    def __init__(self, stem, room=0):
        self.library, self.room = Library(stem), room

    def run(self, ids, mask):
        wide = np.zeros((len(mask), max(self.room, mask.shape[1])), np.int64)
        wide[:, : mask.shape[1]] = mask
        return self.library.run(input_ids=ids, attention_mask=wide)["logits"]


def families(words):
    parser = argparse.ArgumentParser(prog="decoders.py families")
    parser.add_argument("--context", type=int, action="append")
    parser.add_argument("--level", type=int, action="append")
    parser.add_argument("family", nargs="*")
    given = parser.parse_args(words)
    contexts, names = given.context or [128, 1024], given.family
    longest = max(contexts) + 128  # room for the tokens that are timed
    if min(contexts) < 1 or longest > of["longest"]:
        parser.error(f"--context: from 1 to {of['longest'] - 128}, which SIZES has rows for")
    for family in names or ("llama", "qwen2", "qwen3", "phi", "gemma"):
        for level in given.level or (0, 4):
            os.makedirs(f"{family}{level}")  # a library is opened once by its name
            os.chdir(f"{family}{level}")
            decoder(family, f"level={level}", *([f"window={windows[family]}"] if family in windows else []))
            subprocess.run(["sh", f"{llm}/build.sh", "m.onnx", str(longest), "32"], check=True)
            steps = Model("llm.so").steps()
            print(f"{family}, accuracy_level {level}: {sum(s.slow == 1 for s in steps)} of {len(steps)} steps on the slow path", flush=True)
            subprocess.run([sys.executable, f"{top}/bench/llm.py", "m.onnx", *map(str, contexts)], check=True)
            os.chdir("..")


def text(who, ids, seen, count):
    """So many tokens, and their logits; where the cache is behind them."""
    made = []
    while len(made) < count:
        seen += len(ids)
        logits = who.run(np.array([ids], np.int64), np.ones((1, seen), np.int64))[0, -1]
        ids = [int(logits.argmax())]
        made.append((ids[0], logits))
    return made, seen


def memory(name):
    """Bytes of this process: VmRSS now, VmHWM at most."""
    with open("/proc/self/status") as f:
        return next(1024 * int(line.split()[1]) for line in f if line.startswith(name))


def half(stem, ids, seen, count, room, load, save):
    """A process of its own: tokens, and the most memory from before the library is opened."""
    pid = os.fork()
    if not pid:
        before = memory("VmRSS")
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # what it had at most begins anew
        who, made = Own(stem, room), []
        if load:
            who.library.load(load)
        while len(made) < count:
            seen += len(ids)
            ids = [int(who.run(np.array([ids], np.int64), np.ones((1, seen), np.int64))[0, -1].argmax())]
            made += ids
        most = memory("VmHWM") - before
        if save:
            who.library.save(save)
        with open("made", "w") as f:
            f.write(" ".join(map(str, [most, *made])))
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit("a process failed")
    with open("made") as f:
        most, *made = map(int, f.read().split())
    return most, made


def greedy(kinds):
    count = int(os.environ.get("TOKENS", 1000))
    decoder("llama", "level=0")
    prompt = np.random.default_rng(1).integers(0, of["vocab"], 24).tolist()
    want, length = text(Peer(), prompt, 0, count)
    bytes_of = {"f32": 4, "i8": 1 + 4 / of["size"]}  # of an element of the cache
    for kind in kinds or bytes_of:
        library("m", *(["--state-type", kind] if kind != "f32" else []))
        room = length + 1 if os.environ.get("ROOM", "1") != "0" else 0
        first = count // 2
        most, made = half("m", prompt, 0, first, room, None, "session")
        later, rest = half("m", made[-1:], len(prompt) + first - 1, count - first, room, "session", None)
        made += rest
        weights = os.path.getsize("m.weights")
        cache = 2 * of["layers"] * of["groups"] * of["size"] * (room or length) * bytes_of[kind]
        other = [i for i in range(count) if made[i] != want[i][0]]
        print(f"{kind}: {count - len(other)} of {count} tokens are ONNX Runtime's; at most {max(most, later) / 1e6:.1f} MB, weights {weights / 1e6:.1f}, cache "
              f"{cache / 1e6:.2f}: {max(most, later) / (weights + cache):.3f} of both", flush=True)
        if other:
            logits = np.sort(want[other[0]][1])
            print(f"    the first other is number {other[0]}, where ONNX Runtime's two largest logits are {(logits[-1] - logits[-2]) / np.abs(logits).max():.1e} of the largest apart")


def sentences_of(lengths):
    rng = np.random.default_rng(2)
    return [rng.integers(0, of["vocab"], (1, n)) for n in lengths]


def together_and_apart(together, apart, lengths, steps):
    """The largest difference of a logit, as a part of the largest one, and how many tokens are equal. Both read the tokens of those apart."""
    sentences, far, equal = sentences_of(lengths), 0, 0
    ids = np.zeros((len(lengths), max(lengths)), np.int64)
    for b, s in enumerate(sentences):
        ids[b, : s.shape[1]] = s
    for step in range(steps):
        seen = np.array(lengths) + step
        logits = together.run(ids, (np.arange(max(seen)) < seen[:, None]).astype(np.int64))
        got = [row[-1 if step else n - 1] for row, n in zip(logits, lengths)]
        want = [who.run(s, np.ones((1, n), np.int64))[0, -1] for who, s, n in zip(apart, sentences, seen)]
        far = max(far, *(np.abs(g - w).max() / np.abs(w).max() for g, w in zip(got, want)))
        equal += sum(g.argmax() == w.argmax() for g, w in zip(got, want))
        sentences = [np.array([[w.argmax()]]) for w in want]
        ids = np.concatenate(sentences)
    return far, equal


def batch():
    lengths, steps = [5, 31, 17, 64], 20
    for level in (0, 4):
        decoder("llama", f"level={level}")
        library(f"m{level}")
        print(f"accuracy_level {level}: {len(lengths)} sentences of {lengths} tokens and {steps} steps in a batch, to each by itself", flush=True)
        for name, make in (("hone", lambda batch: Own(f"m{level}")), ("ONNX Runtime", Peer)):
            far, equal = together_and_apart(make(len(lengths)), [make(1) for _ in lengths], lengths, steps)
            print(f"    {name}: at most {far:.1e} of the largest logit apart, {equal} of {steps * len(lengths)} tokens equal", flush=True)


if __name__ == "__main__":
    command = {"families": families, "greedy": greedy, "batch": lambda _: batch()}.get("".join(sys.argv[1:2]))
    if not command:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        command(sys.argv[2:])
