"""Models of every family and type of GGUF: the graph that is imported against numpy, for a prompt and for a chunk behind it; then
examples/llm's program, greedy, token by token; what stays coded; and the metadata."""
import json
import os
import subprocess
import sys

import numpy as np

from gguf_models import Reference, model

llm = os.path.join(os.environ["top"], "examples/llm")
rng = np.random.default_rng(5)
results = 0
CASES = [
    ("llama", dict(kinds=("Q4_K", "Q6_K"), slower=True)),
    ("llama", dict(kinds=("F32", "Q8_0"), embedding="Q4_K", tied=True, turned=32, bias=True)),
    ("qwen2", dict(kinds=("IQ4_NL", "IQ4_XS"))),
    ("qwen3", dict(kinds=("Q5_K", "Q5_0"), embedding="Q5_K")),
    ("gemma", dict(kinds=("F16", "BF16"), tied=True)),
    ("gemma2", dict(kinds=("Q4_1", "Q5_1"), embedding="Q6_K", tied=True)),
    ("gemma3", dict(kinds=("Q2_K", "Q3_K", "Q4_0"), embedding="Q2_K", tied=True)),
]


def ok(what, why=""):
    global results
    results += 1
    print(f"{'not ' if why else ''}ok - {what}{': ' + why if why else ''}", flush=True)


def run(command):
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)


def evaluated(g, ids, cache):
    """Logits and the cache after ids."""
    s = g.s
    past = cache["past_key_values.0.key"].shape[2] if cache else 0
    empty = np.zeros((1, s["groups"], 0, s["size"]), np.float32)
    cache = cache or {f"past_key_values.{i}.{k}": empty for i in range(s["layers"]) for k in ("key", "value")}
    np.savez("g.npz", input_ids=np.array([ids]), attention_mask=np.ones((1, past + len(ids)), np.int64), **cache)
    p = run("run-ref -q -i g.npz g.g -o go.npz")
    if p.returncode:
        raise ValueError(p.stderr[-300:])
    got = np.load("go.npz")
    return got["logits"][0], {n.replace("present", "past_key_values"): got[n] for n in got.files if n != "logits"}


def compare(g):
    """A prompt, then a chunk. Weights are exact, or within a rounding of a float; what is left are sums in floats: 1e-5 of the largest."""
    p = run("ge-import -q g.gguf | ge-shape -o g.g")
    if p.returncode:
        return p.stderr[-300:]
    ids = rng.integers(0, g.s["vocab"], 12)
    want = Reference(g).logits(ids)
    try:
        first, cache = evaluated(g, ids[:7], None)
        then, _ = evaluated(g, ids[7:], cache)
    except ValueError as e:
        return str(e)
    d = np.abs(np.concatenate([first, then]) - want).max() / np.abs(want).max()
    return "" if d <= 1e-5 else f"{d:.2g} of the largest apart"


for family, how in CASES:
    g = model(family, **how, seed=len(family))
    open("g.gguf", "wb").write(g.bytes())
    ok(f"{family}, {' and '.join(how['kinds'])}: a prompt, and a chunk behind it", compare(g))

g = model("llama", ("Q4_K", "Q6_K"), seed=9)
open("m.gguf", "wb").write(g.bytes())
ids = rng.integers(0, 96, 11).tolist()
reference, all_ids = Reference(g), list(ids)
for _ in range(16):
    all_ids.append(int(reference.logits(np.array(all_ids))[-1].argmax()))
p = run(f"{llm}/build.sh m.gguf 64 4 && ./generate -c 4 -n 16 {' '.join(map(str, ids))}")
ok("examples/llm makes numpy's tokens", "" if p.stdout.split() == list(map(str, all_ids[11:])) else p.stderr[-300:] + p.stdout)
p = run("./generate -n 1 3x || ./generate -n 1 -- -1 || echo 3 x | ./generate -n 1")
ok("what is no id is refused", "" if not p.stdout and p.returncode == 64 and p.stderr.count("no id of a token") == 3 else p.stderr[-300:] + p.stdout)

p = run("ge-import -q < m.gguf | ge-dump")
ok("from standard input", p.stderr)
p = run("hone simplify -q m.gguf m.onnx && ge-import -q --keep-foreign m.onnx | ge-dump")
ok("hone simplify keeps the products coded", "" if p.returncode == 0 and p.stdout.count("MatMulNBits") >= 15 else p.stderr[-300:] + p.stdout[:300])
try:
    import onnx
    props = {e.key: e.value for e in onnx.load("m.onnx").metadata_props}
    same = json.loads(props["tokenizer.ggml.tokens"]) == g.values["tokenizer.ggml.tokens"] and json.loads(props["tokenizer.ggml.scores"]) == [0, 0.25, 0.5]
    ok("metadata", "" if same and props["llama.block_count"] == "2" and props["tokenizer.ggml.add_bos_token"] == "true" else repr(props)[:300])
    import onnxruntime as ort
    s = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    empty = np.zeros((1, 2, 0, 64), np.float32)
    y = s.run(["logits"], {"input_ids": np.array([ids]), "attention_mask": np.ones((1, 11), np.int64), **{i.name: empty for i in s.get_inputs()[2:]}})[0][0]
    d = np.abs(y - reference.logits(np.array(ids))).max() / np.abs(y).max()
    ok("ONNX Runtime computes the same of it", "" if d < 1e-4 else f"{d:.2g} of the largest apart")
except ImportError:
    pass
print(f"1..{results}")
