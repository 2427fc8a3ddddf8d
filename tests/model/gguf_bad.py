"""GGUF files that are damaged, hostile or not supported: one line that says where, and the right status."""
import struct
import subprocess

import numpy as np

from gguf_models import Gguf, model

SMALL = dict(layers=1, width=32, inner=32, heads=1, groups=1, size=32, longest=16, vocab=8)
results = 0


def small(**values):
    g = model("llama", ("Q4_0", "Q8_0"), **SMALL)
    g.values.update({k.replace("__", "."): v for k, v in values.items()})
    return g


def refused(what, code, says, b):
    global results
    results += 1
    open("bad.gguf", "wb").write(b)
    try:
        p = subprocess.run(["ge-import", "-q", "bad.gguf", "-o", "bad.g"], capture_output=True, timeout=20)
        lines = p.stderr.decode(errors="replace").splitlines()
        why = "" if p.returncode == code and len(lines) == 1 and "bad.gguf:" in lines[0] and says in lines[0] and "\x1b" not in lines[0] else f"{p.returncode} {lines}"
    except subprocess.TimeoutExpired:
        why = "it takes more than 20 s"
    print(f"{'not ' if why else ''}ok - {what}{': ' + why if why else ''}", flush=True)


def changed(g, change):
    change(g)
    return g.bytes()


def put(b, at, fmt, *v):
    return b[:at] + struct.pack(fmt, *v) + b[at + struct.calcsize(fmt) :]


def entry(b, name, field):
    """Where that field (0: rank, then sizes, type, offset) of a tensor of rank 2 stands."""
    at = b.index(Gguf.text(name)) + 8 + len(name)
    return at + {"rank": 0, "size": 4, "type": 20, "offset": 24}[field]


good = small().bytes()
q, key = "blk.0.attn_q.weight", good.index(b"general.architecture") - 8
huge = 2**63 - 1
for cut in (4, 20, 24, key + 10, 400, entry(good, q, "size"), len(good) - 60):
    refused(f"cut to {cut} bytes", 65, "", good[:cut])
for what, at, fmt, *value in (("tensors", 8, "<Q", huge), ("values", 16, "<Q", huge), ("a key's length", key, "<Q", huge),
                              ("a key's length that overflows", key, "<Q", 2**64 - 8), ("rank 5", entry(good, q, "rank"), "<I", 5),
                              ("size 0", entry(good, q, "size"), "<Q", 0), ("a huge size", entry(good, q, "size"), "<Q", 2**62),
                              ("sizes that overflow", entry(good, q, "size"), "<QQ", 2**31 - 32, 2**31 - 1),
                              ("type 99", entry(good, q, "type"), "<I", 99), ("half a block a row", entry(good, q, "size"), "<Q", 48),
                              ("another shape", entry(good, q, "size"), "<Q", 64), ("an offset beyond the end", entry(good, q, "offset"), "<Q", 2**40),
                              ("an offset that overflows", entry(good, q, "offset"), "<Q", 2**64 - 32),
                              ("an offset that is not aligned", entry(good, q, "offset"), "<Q", 8), ("a type of value", key + 28, "<I", 77)):
    refused(what, 65, "", put(good, at, fmt, *value))
for kind, halves in (("Q4_0", (0,)), ("Q4_1", (0, 2)), ("Q5_0", (0,)), ("Q5_1", (2,)), ("Q8_0", (0,)), ("Q4_K", (2,)), ("Q5_K", (0,)), ("Q6_K", (208,)),
                     ("Q2_K", (80, 82)), ("Q3_K", (108,)), ("IQ4_XS", (0,))):
    for at, scale in zip(halves, (b"\x00\xfc", b"\x01\x7e")):
        g = small()
        g.random("token_embd.weight", kind, 8, 256, 1)
        g.values["llama.embedding_length"] = 256
        g.tensors["token_embd.weight"][2][at : at + 2] = np.frombuffer(scale, np.uint8)
        refused(f"{kind}: a scale of {scale.hex()}", 65, "'token_embd.weight': the scale of this block", g.bytes())
refused("version 1", 69, "version 1", put(good, 4, "<I", 1))
refused("the highest byte first", 69, "highest byte first", put(good, 4, ">I", 3))
refused("type TQ1_0", 69, "TQ1_0", put(good, entry(good, q, "type"), "<I", 34))
refused("an array of arrays", 69, "array of arrays", small(odd=[[1], [2]]).bytes())
refused("another family", 69, "mamba", small(general__architecture="mamba").bytes())
refused("a family that is a number", 65, "general.architecture", small(general__architecture=3).bytes())
refused("escapes in names", 69, "no place", changed(small(), lambda g: g.vector("\x1b[2J", 3)))
for k, v, code, says in (("block_count", 0, 65, "takes 1"), ("block_count", 2**32 - 1, 65, "takes 1"), ("block_count", 16384, 65, "no tensor 'blk.1."),
                         ("embedding_length", 64, 65, "shape"), ("context_length", 2**31 - 1, 69, "rotary tables"), ("attention.head_count", 3, 65, "shape"),
                         ("attention.head_count_kv", 4, 65, "for 4 of keys"), ("attention.head_count", [1, 1], 69, "layer to layer"),
                         ("attention.layer_norm_rms_epsilon", float("nan"), 65, "nan"), ("attention.layer_norm_rms_epsilon", "x", 65, "no number"),
                         ("attention.value_length", 16, 69, "different sizes"), ("rope.dimension_count", 33, 65, "even"), ("rope.dimension_count", 64, 65, "even"),
                         ("rope.scaling.type", "yarn", 69, "none or linear"), ("expert_count", 8, 69, "experts"), ("rope.freq_base", -1.0, 65, "more than 0"),
                         ("rope.scaling.factor", -2.0, 65, "more than 0"), ("final_logit_softcapping", -5.0, 65, "more than 0"),
                         ("block_count", 1.5, 65, "integer")):
    refused(f"{k} {v}", code, says, small(**{"llama." + k: v}).bytes())
refused("one of several files", 69, "several files", small(split__count=2).bytes())
refused("an alignment of 3", 65, "power of two", small(general__alignment=3).bytes())
refused("a tensor is missing", 65, "no tensor 'blk.0.ffn_up.weight'", changed(small(), lambda g: g.tensors.pop("blk.0.ffn_up.weight")))
refused("a tensor too many", 69, "no place", changed(small(), lambda g: g.vector("blk.0.attn_sinks.weight", 1)))
refused("a vector in blocks", 69, "vector of Q8_0", changed(small(), lambda g: g.random("output_norm.weight", "Q8_0", 1, 32, 1)))
refused("no values", 65, "general.architecture", changed(small(), lambda g: g.values.clear()))
refused("a tensor twice", 65, "twice", good.replace(Gguf.text("blk.0.attn_k.weight"), Gguf.text("blk.0.attn_v.weight")))
refused("a value twice", 65, "twice", small(aa=1, ab=2).bytes().replace(Gguf.text("ab"), Gguf.text("aa")))
print(f"1..{results}")
