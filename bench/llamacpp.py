#!/usr/bin/env python3
"""A language model in Q4_0, hone against llama.cpp on the same codes, in turns: a token behind each CONTEXT, and a prompt of each CHUNK.

llamacpp.py [--context N]... [--chunk N]... [--level N]... [--f16]: milliseconds of processor time, medians of ROUNDS (environment, 9)
rounds with their quartiles, one thread; a ratio is the median of those of one round. The model is tests/model/gguf_models.py's Llama, 8
layers of 1,024 (SIZES, environment), with random weights. llama.cpp rounds rows to bytes and keeps its cache in f16; hone does so at
accuracy_level 4, and with --f16. "row" is a library built for one token and for the chunks, of one batch and a cache of known room; "open"
has all sizes open. The logits of a prompt are compared first.

Wants llama_cpp, as llama_cpp_python installs it. Or LLAMA_CPP, the folder of its source that has llama_cpp/llama_cpp.py, and
LLAMA_CPP_LIB_PATH, the one of libllama.so, made of its vendor/llama.cpp by cmake -DGGML_NATIVE=ON -DGGML_OPENMP=OFF. The work is done in a
directory of its own, or in the folder -o, whose files are kept."""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np

top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(top, "tests/model"), os.path.join(top, "bench")]
import gguf_models  # noqa: E402
from native import Model, Value  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", 9))
TURNS = 3  # tokens of a round, behind one that is not timed
ROOM = 4608
sizes = dict(layers=8, width=1024, heads=16, groups=4, size=64, inner=2816, vocab=32000, longest=ROOM)
sizes.update((k, int(v)) for k, v in (s.split("=") for s in os.environ.get("SIZES", "").split()))


def bindings():
    """llama.cpp's C interface; of an unpacked source without what the package imports beside it."""
    if "LLAMA_CPP" in os.environ:
        package = types.ModuleType("llama_cpp")
        package.__path__ = [os.path.join(os.environ["LLAMA_CPP"], "llama_cpp")]
        sys.modules["llama_cpp"] = package
    try:
        from llama_cpp import llama_cpp
    except (ImportError, OSError, RuntimeError) as e:
        sys.exit(f"llamacpp.py: skipped, no llama.cpp: {e} (LLAMA_CPP, LLAMA_CPP_LIB_PATH)")
    return llama_cpp


class Llama:
    """All calls are of one thread, where nobody else runs: llama.cpp sets tiles up once, and hone gives them back after each use."""

    def __init__(self, path):
        self.thread = ThreadPoolExecutor(1)
        self.l = bindings()
        self.quiet = self.l.llama_log_callback(lambda *_: None)
        self.l.llama_log_set(self.quiet, None)
        self.l.llama_backend_init()
        self.model = self.l.llama_model_load_from_file(path.encode(), self.l.llama_model_default_params())
        p = self.l.llama_context_default_params()
        p.n_ctx, p.n_batch, p.n_ubatch, p.n_threads, p.n_threads_batch = ROOM, 512, 512, 1, 1
        self.context = self.l.llama_init_from_model(self.model, p)
        if not self.context:
            sys.exit("llamacpp.py: llama.cpp does not take the model")
        self.filled = 0

    def run(self, ids):
        tokens = (ctypes.c_int32 * len(ids))(*ids)
        if self.thread.submit(self.l.llama_decode, self.context, self.l.llama_batch_get_one(tokens, len(ids))).result():
            sys.exit("llamacpp.py: llama_decode fails")
        return self.l.llama_get_logits_ith(self.context, -1)

    def cut(self, n):
        """The cache has n tokens."""
        memory = self.l.llama_get_memory(self.context)
        self.l.llama_memory_seq_rm(memory, 0, n, -1)
        self.filled = min(self.filled, n)
        while self.filled < n:
            step = min(512, n - self.filled)
            self.run([1] * step)
            self.filled += step

    def timed(self, context, rows):
        self.cut(context)
        start = time.process_time()
        self.run([1] * rows)
        took = time.process_time() - start
        self.l.llama_memory_seq_rm(self.l.llama_get_memory(self.context), 0, context, -1)
        return took

    def logits(self, ids):
        self.cut(0)
        got = np.ctypeslib.as_array(self.run(ids), (sizes["vocab"],)).copy()
        self.l.llama_memory_seq_rm(self.l.llama_get_memory(self.context), 0, 0, -1)
        return got


class Hone:
    """A library whose caches are states with room for ROOM tokens; the mask says how many of them there are."""

    def __init__(self, stem):
        self.model = Model(stem + ".so")
        self.names = [t.name.decode() for t in self.model.inputs]

    def run(self, ids, context):
        mask = np.zeros((1, ROOM), np.int64)
        mask[0, : context + len(ids)] = 1
        feed = {"input_ids": np.array([ids], np.int64), "attention_mask": mask}
        values = (Value * len(self.names))()
        kept = {n: Value.of(a) for n, a in feed.items()}
        for i, n in enumerate(self.names):
            if n in kept:
                values[i] = kept[n]
        made = (Value * len(self.model.outputs))()
        start = time.process_time()
        failed = self.model.table.run_values(self.model.handle, values, made, None)
        took = time.process_time() - start
        if failed:
            sys.exit(self.model.table.error().decode())
        return took, made

    def timed(self, context, rows):
        return self.run([1] * rows, context)[0]

    def logits(self, ids):
        made = self.run(ids, 0)[1]
        return next(made[i].array() for i, t in enumerate(self.model.outputs) if t.name == b"logits").reshape(-1)


def build(stem, options):
    if not os.path.exists(stem + ".so"):
        alias = [f"--alias=past_key_values.{i}.{kind}=present.{i}.{kind}" for i in range(sizes["layers"]) for kind in ("key", "value")]
        subprocess.run(["hone", "build", "-q", "m.gguf", "-o", stem, "--last", "logits", *alias, *options], check=True)
    return Hone(stem)


def libraries(args):
    """Name and library of each way to build."""
    known = f"--set=batch_size=1,past_sequence_length={ROOM},total_sequence_length={ROOM}"
    gears = ",".join(map(str, [1, *args.chunk]))
    made = {}
    for level in args.level:
        more = [f"--accuracy-level={level}"] if level else []
        more += ["--state-type=f16"] if args.f16 else []
        made[f"row, level {level}"] = build(f"row{level}", [known, f"--gears=sequence_length={gears}", *more])
        made[f"open, level {level}"] = build(f"open{level}", [f"--gears=sequence_length={gears}", "--gears=batch_size=1", *more])
    return made


def told(times):
    low, middle, high = np.percentile(np.array(times) * 1e3, [25, 50, 75])
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def compare(what, context, rows, llama, own, rounds):
    all_of = {"llama.cpp": llama, **own}
    times = {name: [] for name in all_of}
    for r in range(rounds + 1):
        for name, who in all_of.items():
            took = [who.timed(context, rows) for _ in range(TURNS + 1 if rows == 1 else 1)]
            if r:
                times[name].append(np.mean(took[1:] or took))
    peer = np.array(times["llama.cpp"])
    rows_of = [f"{name} {told(times[name])}, {np.median(np.array(times[name]) / peer):.2f}" for name in own]
    print(f"{what}: llama.cpp {told(peer)}", *rows_of, sep="; ", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--context", type=int, action="append")
    p.add_argument("--chunk", type=int, action="append")
    p.add_argument("--level", type=int, action="append")
    p.add_argument("--f16", action="store_true", help="hone's caches are in f16, too")
    p.add_argument("-o", metavar="DIR", help="keep the model and the libraries in this folder")
    args = p.parse_args()
    contexts, args.chunk, args.level = args.context or [128, 1024, 4096], args.chunk or [128, 512], args.level or [0, 4]
    if min(contexts + args.chunk) < 1 or max(contexts + args.chunk) > ROOM - 1:
        p.error(f"--context, --chunk: from 1 to {ROOM - 1}")
    os.environ["PATH"] = os.path.join(top, "bin") + ":" + os.environ["PATH"]
    bindings()
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(args.o or work, exist_ok=True)
        os.chdir(args.o or work)
        if not os.path.exists("m.gguf"):
            g = gguf_models.model("llama", ("Q4_0",), **sizes)
            g.values["llama.vocab_size"] = sizes["vocab"]
            with open("m.gguf", "wb") as f:
                f.write(g.bytes())
        own, llama = libraries(args), Llama("m.gguf")
        ids = np.random.default_rng(1).integers(0, sizes["vocab"], args.chunk[0]).tolist()
        want = llama.logits(ids)
        for name, who in own.items():
            far = np.abs(who.logits(ids) - want).max() / np.abs(want).max()
            print(f"{name}: the logits behind {len(ids)} tokens are at most {far:.1e} of the largest from llama.cpp's")
        print(f"milliseconds, median and quartiles of {ROUNDS} rounds; to llama.cpp; load {os.getloadavg()[0]:.1f}", flush=True)
        for n in contexts:
            compare(f"a token behind {n}", n, 1, llama, own, ROUNDS)
        for n in args.chunk:
            compare(f"prompt of {n}", 0, n, llama, own, max(3, ROUNDS // 2))


if __name__ == "__main__":
    main()
