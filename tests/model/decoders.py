"""Decoders in onnxruntime-genai's layout, of five families: what the evaluator computes of a prompt, a token, several sentences and a chunk
behind a past, against ONNX Runtime; then examples/llm's program, greedy, prompt in chunks, with a session saved and loaded on the way,
against ONNX Runtime token by token; then
a library of open sizes, whose caches grow."""
import os
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort

llm = os.path.join(os.environ["top"], "examples/llm")
sys.path.insert(0, llm)
from decoder import FAMILIES, Decoder  # noqa: E402
from library import Library  # noqa: E402

rng = np.random.default_rng(3)
results = 0


def ok(what, why=""):
    global results
    results += 1
    print(f"{'not ' if why else ''}ok - {what}{': ' + why if why else ''}", flush=True)


def run(command, **more):
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, **more)


def step(model, session, batch, rows, past):
    feed = {"input_ids": rng.integers(0, 256, (batch, rows)), "attention_mask": np.ones((batch, past + rows), np.int64)}
    if batch > 1:
        feed["attention_mask"][1, rows + past // 2:] = 0  # the second sentence is shorter
    for i in session.get_inputs():
        if i.name.startswith("past"):
            feed[i.name] = rng.standard_normal((batch, 2, past, 16)).astype(np.float32)
    want = session.run(None, feed)
    np.savez("d.npz", **feed)
    p = run("run-ref -q -i d.npz d.g -o do.npz")
    if p.returncode:
        return p.stderr[-300:]
    got = np.load("do.npz")
    for o, w in zip(session.get_outputs(), want):
        g = got[o.name]
        if batch > 1 and o.name != "logits":
            w, g = w[:, :, : rows + past // 2], g[:, :, : rows + past // 2]
        d = np.abs(w - g).max() if w.size else 0
        if w.shape != g.shape or d > 1e-5 * max(1, np.abs(w).max()):
            return f"{o.name}: {d:.2g}"
    return ""


for family in FAMILIES:
    onnx.save(Decoder(family, bits=4 if family != "qwen2" else 8).model(), "d.onnx")
    session = ort.InferenceSession("d.onnx", providers=["CPUExecutionProvider"])
    p = run("ge-import -q d.onnx | ge-shape -o d.g")
    why = p.stderr[-300:] if p.returncode else ""
    for batch, rows, past in ((1, 5, 0), (1, 1, 5), (2, 1, 6), (1, 3, 4), (1, 1, 70)):
        why = why or (f"{e}; batch {batch}, {rows} behind {past}" if (e := step("d.g", session, batch, rows, past)) else "")
    ok(f"{family}: prompt, token, two sentences, chunk", why)


def greedy(path, ids, count):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs() if i.name.startswith("past")]
    cache = {n: np.zeros((1, 2, 0, 16), np.float32) for n in names}
    made, new, seen = [], list(ids), 0
    while len(made) < count:
        seen += len(new)
        y = session.run(None, {"input_ids": np.array([new], np.int64), "attention_mask": np.ones((1, seen), np.int64), **cache})
        cache = dict(zip(names, y[1:]))
        new = [int(y[0][0, -1].argmax())]
        made += new
    return made


onnx.save(Decoder("llama", seed=4).model(), "m.onnx")
prompt, count = rng.integers(0, 256, 21).tolist(), 60
want = greedy("m.onnx", prompt, count)
words = " ".join(map(str, prompt))
p = run(f"{llm}/build.sh m.onnx 96 8 && ./generate -c 8 -n {count} {words}")
ok("the program, prompt in chunks: ONNX Runtime's tokens", "" if p.stdout.split() == list(map(str, want)) else p.stderr[-300:] + p.stdout)
half = run(f"./generate -n 30 -w half {words} && ./generate -n 30 -l half {want[29]}")
ok("the same with a session saved and loaded", "" if half.stdout.split() == list(map(str, want)) else half.stderr[-300:] + half.stdout)
again = run(f"./generate -n 9 -l half -f 20 {prompt[20]}")
ok("a session cut to its first tokens", "" if again.stdout.split() == list(map(str, want[:9])) else again.stderr[-300:] + again.stdout)
drawn = [run(f"./generate -n 20 -t 0.9 -k 20 -p 0.9 -s {seed} {words}").stdout for seed in (1, 1, 2)]
ok("drawn tokens: the same of the same seed, others of another", "" if drawn[0] == drawn[1] != drawn[2] and len(drawn[0].split()) == 20 else repr(drawn))
texts = run(f"./generate -n 20 -t 0.9 -k 20 -p 0.9 -s 1 -b 2 {words}").stdout
ok("two texts of one prompt: each as by itself", "" if texts == drawn[2] + drawn[0] else repr(texts))
p = run(f"./generate -n 90 {words}")
ok("a full cache is said", "" if p.returncode == 1 and "holds 96 tokens" in p.stderr else p.stderr)
half = bytearray(open("half", "rb").read())
why = ""
for at in (0, 9, len(half) // 2, len(half)):
    changed = half + b"x" if at == len(half) else half[:at] + bytes([half[at] ^ 1]) + half[at + 1 :]
    open("changed", "wb").write(changed)
    p = run("./generate -n 1 -l changed 1")
    why = why or ("" if p.returncode == 1 and p.stdout == "" and p.stderr.count("\n") == 1 else f"byte {at}: {p.returncode} {p.stdout}{p.stderr}")
ok("a session of which a byte is altered is refused", why)
bad = ["-n 0", "-n -1", "-n x", "-t nan", "-t -1", "-t 1x", "-p 2", "-p ''", "-k -1", "-s -1", "-b 0", "-f -1", "-c 0", "-n 99999999999999999999"]
why = " ".join(o for o in bad if (p := run(f"./generate {o} 1")).returncode != 64 or p.stdout or p.stderr.count("\n") != 1)
ok("numbers of options that make no sense are refused", why)

# Sizes left open: prompt, tokens and chunks by one graph, with caches that grow, or that the first run makes as long as they will ever be.
keep = " ".join(f"--alias past_key_values.{i}.{k}=present.{i}.{k}" for i in range(2) for k in ("key", "value"))
p = run(f"hone build m.onnx -o grows --gears sequence_length=1,7 {keep}")
ok("open sizes: all caches grow in place", "" if "4 of open sizes (4 grow in place)" in p.stdout + p.stderr and p.stdout.count("others for some sizes") and re.search(r"\(m->size\[\d+\] == 1 && m->size\[\d+\] == 1\)", open("grows.c").read()) and not p.returncode else p.stdout[-300:] + p.stderr[-300:] + "?")


def grown(batch, runs, room):
    """What differs from ONNX Runtime in runs of so many rows; sentence b begins b rows late, as far as there are any."""
    library, cache = Library("grows"), {n: np.zeros((batch, 2, 0, 16), np.float32) for n in names}
    seen = 0
    for number, rows in enumerate(runs):
        seen += rows
        ids, mask = rng.integers(0, 256, (batch, rows)), np.zeros((batch, max(seen, room)), np.int64)
        for b in range(batch):
            mask[b, : max(seen - b, rows)] = 1
        want = session.run(None, {"input_ids": ids, "attention_mask": mask[:, :seen], **cache})
        cache = dict(zip(names, want[1:]))
        if number == 2:  # as if it were another process
            library.save("grown")
            library = Library("grows")
            library.load("grown")
        try:  # rows of no place in the cache: the run fails, and the next one goes on from before it
            library.run(input_ids=ids, attention_mask=np.zeros((batch, max(seen, room, rows + 1)), np.int64))
            return f"run {number}: lengths of no sentence are taken"
        except RuntimeError:
            pass
        given = cache_before if number == 3 and not room else {}
        d = np.abs(library.run(input_ids=ids, attention_mask=mask, **given)["logits"] - want[0]).max()
        if d > 1e-4 * np.abs(want[0]).max():
            return f"run {number}: {d:.2g} apart"
        for n in names:
            got = library.state(n.replace("past_key_values", "present"))
            if got.shape[2] != max(seen, room) or any(np.abs(got[b, :, : seen - b] - cache[n][b, :, : seen - b]).max() > 1e-5 for b in range(min(batch, seen))):
                return f"run {number}: {n} differs"
        cache_before = cache
    return ""


session = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
names = [i.name for i in session.get_inputs() if i.name.startswith("past")]
for what, batch, runs, room in (("grow", 1, (5, 1, 1, 7, 1, 30, 1), 0), ("have room", 1, (5, 1, 1, 7, 1, 30, 1), 64), ("of four sentences grow", 4, (1,) * 8, 0)):
    ok(f"caches that {what}: the numbers of ONNX Runtime", grown(batch, runs, room))

def by_themselves(family):
    """The first sentence whose numbers in a batch are not, bit by bit, its numbers by itself. Of 64 columns and fewer, products stay floats."""
    onnx.save(Decoder(family, level=4, hidden=128, heads=8, groups=4, size=32, inner=160).model(), f"{family}.onnx")
    p = run(f"hone build -q --level-seconds 0 {family}.onnx -o {family} --gears sequence_length=1,7 {keep}")
    if p.returncode or " QuantizeLinear(" not in run(f"cat {family}.d/*-integer.g | ge-dump").stdout:
        return p.stderr[-300:] + "no rows of bytes"
    lengths = np.array([5, 1, 19])
    together, apart = Library(family), [Library(family) for _ in lengths]
    for new in (lengths, *[np.ones(3, int)] * 3):
        seen = new if new is lengths else seen + 1
        ids, mask = rng.integers(0, 256, (3, max(new))), (np.arange(max(seen)) < seen[:, None]).astype(np.int64)
        got = together.run(input_ids=ids, attention_mask=mask)["logits"]
        for b, n in enumerate(new):
            want = apart[b].run(input_ids=ids[b : b + 1, :n], attention_mask=np.ones((1, seen[b]), np.int64))["logits"]
            if not np.array_equal(got[b : b + 1, :n], want):
                return f"sentence {b} behind {seen[b] - n}: {np.abs(got[b, :n] - want[0]).max():.2g} apart"
    return ""


if " avx2 " in open("/proc/cpuinfo").read():
    for family in FAMILIES:
        ok(f"{family}: sentences in a batch have the numbers of each by itself, with rows of bytes", by_themselves(family))
print(f"1..{results}")
