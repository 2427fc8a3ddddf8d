"""Decoders in onnxruntime-genai's layout, of five families: what the evaluator computes of a prompt, a token, several sentences and a chunk
behind a past, against ONNX Runtime; then examples/llm's program, greedy, prompt in chunks, with a session saved and loaded on the way,
against ONNX Runtime token by token."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort

llm = os.path.join(os.environ["top"], "examples/llm")
sys.path.insert(0, llm)
from decoder import FAMILIES, Decoder  # noqa: E402

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

# Four sentences side by side, each as long as it is: the mask says so.
starts, steps = rng.integers(0, 4, 4), 8
ids = rng.integers(0, 256, (4, steps + 4))
feed = {"input_ids": np.zeros((steps, 4, 1), np.int64), "attention_mask": np.zeros((steps, 4, 32), np.int64)}
for t in range(steps):
    for b in range(4):
        feed["input_ids"][t, b] = ids[b, t]
        feed["attention_mask"][t, b, : max(t + 1 - starts[b], 1)] = 1  # it begins again until its start
np.savez("steps.npz", **feed)
keep = " ".join(f"--alias past_key_values.{i}.{k}=present.{i}.{k}" for i in range(2) for k in ("key", "value"))
p = run(f"hone build -q m.onnx -o four {keep} --set batch_size=4,sequence_length=1,past_sequence_length=32,total_sequence_length=32 && "
        f"run-dev -q four.so --steps {steps} -i steps.npz -o four.npz")
why = p.stderr[-300:] if p.returncode else ""
if not why:
    got = np.load("four.npz")["logits"]
    session = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    for b in range(4):
        n = steps - starts[b]
        cache = {i.name: np.zeros((1, 2, 0, 16), np.float32) for i in session.get_inputs() if i.name.startswith("past")}
        want = session.run(["logits"], {"input_ids": ids[b : b + 1, starts[b] : steps], "attention_mask": np.ones((1, n), np.int64), **cache})[0][0]
        d = np.abs(got[starts[b] :, b, 0] - want).max()
        why = why or ("" if d <= 1e-4 * np.abs(want).max() else f"sentence {b}: {d:.2g} apart")
ok("four sentences of lengths of their own: the numbers of each alone", why)
print(f"1..{results}")
