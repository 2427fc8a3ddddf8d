"""GGUF files with random weights, and what they compute in numpy, from the format's description alone.

gguf_models.py FAMILY OUT.gguf [TYPE...] [SIZE=N...]: tensors take the types in turn; sizes are those of SIZES. Blocks are random bytes, with scales that keep numbers about 1; Gguf
writes, decode() reads blocks, Reference computes as llama.cpp does, in float64: rotary pairs side by side for llama."""
import struct
import sys

import numpy as np

KEYS = dict(layers="block_count", width="embedding_length", inner="feed_forward_length", heads="attention.head_count", groups="attention.head_count_kv",
            size="attention.key_length", longest="context_length", turned="rope.dimension_count", window="attention.sliding_window")
SIZES = dict(layers=2, width=256, inner=256, heads=4, groups=2, size=64, longest=128, vocab=96)
FAMILIES = {
    "llama": {}, "qwen2": dict(bias=True), "qwen3": dict(norms=True, heads=8), "gemma": dict(scaled=True),
    "gemma2": dict(scaled=True, post=True, window=4, every=2, score_cap=50.0, cap=30.0),
    "gemma3": dict(scaled=True, post=True, norms=True, window=4, every=6, layers=7),
}
# number, numbers of a block, bytes of a block
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
         "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210),
         "IQ4_NL": (20, 32, 18), "IQ4_XS": (23, 256, 136), "BF16": (30, 1, 2)}
SCALE_AT = {"Q2_K": 80, "Q3_K": 108, "Q6_K": 208}  # of the block's scale; others begin with it
NAMED = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


def half(b, at):
    return np.ascontiguousarray(b[:, at : at + 2]).view(np.float16).astype(np.float64)


def nibbles(b, run):
    b = b.reshape(len(b), -1, run)
    return np.stack([b & 15, b >> 4], 2).reshape(len(b), -1).astype(np.int64)


def twos(b):
    """Codes of 2 bits, 32 bytes at a time, in parts of 16."""
    return np.stack([b.reshape(len(b), 2, 32) >> k & 3 for k in (0, 2, 4, 6)], 2).reshape(len(b), 16, 16).astype(np.int64)


def bits(b, n):
    return (np.unpackbits(b, axis=1, bitorder="little")[:, :n]).astype(np.int64)


def six(b):
    """Scales and minimums of 6 bits: eight of each, in 12 bytes."""
    low, mid, high = (b[:, i : i + 4].astype(np.int64) for i in (0, 4, 8))
    return (np.concatenate([low & 63, high & 15 | low >> 6 << 4], 1), np.concatenate([mid & 63, high >> 4 | mid >> 6 << 4], 1))


def decode(kind, raw, dims):
    """The numbers of bytes raw, float64, of shape dims."""
    number, block, size = TYPES[kind]
    if kind == "F32":
        return raw.view(np.float32).astype(np.float64).reshape(dims)
    if kind == "F16":
        return raw.view(np.float16).astype(np.float64).reshape(dims)
    if kind == "BF16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64).reshape(dims)
    b = raw.reshape(-1, size)
    d = half(b, SCALE_AT.get(kind, 0))
    if kind == "Q8_0":
        w = d * b[:, 2:].view(np.int8)
    elif kind == "Q4_0":
        w = d * (nibbles(b[:, 2:], 16) - 8)
    elif kind == "Q4_1":
        w = d * nibbles(b[:, 4:], 16) + half(b, 2)
    elif kind == "Q5_0":
        w = d * ((nibbles(b[:, 6:], 16) | bits(b[:, 2:6], 32) << 4) - 16)
    elif kind == "Q5_1":
        w = d * (nibbles(b[:, 8:], 16) | bits(b[:, 4:8], 32) << 4) + half(b, 2)
    elif kind == "IQ4_NL":
        w = d * NAMED[nibbles(b[:, 2:], 16)]
    elif kind == "IQ4_XS":
        s = nibbles(b[:, 4:8], 1) | (b[:, 2:4].copy().view("<u2").astype(np.int64) >> 2 * np.arange(8) & 3) << 4
        w = (d * (s - 32))[..., None] * NAMED[nibbles(b[:, 8:], 16)].reshape(-1, 8, 32)
    elif kind == "Q2_K":
        w = (d * (b[:, :16] & 15))[..., None] * twos(b[:, 16:80]) - (half(b, 82) * (b[:, :16] >> 4))[..., None]
    elif kind == "Q3_K":
        s = np.concatenate([b[:, 96:104] & 15, b[:, 96:104] >> 4], 1) | np.concatenate([b[:, 104:108] >> k & 3 for k in (0, 2, 4, 6)], 1) << 4
        third = np.stack([b[:, :32] >> k & 1 for k in range(8)], 1).reshape(-1, 16, 16).astype(np.int64)
        w = (d * (s.astype(np.int64) - 32))[..., None] * (twos(b[:, 32:96]) + 4 * third - 4)
    elif kind in ("Q4_K", "Q5_K"):
        s, m = six(b[:, 4:16])
        q = nibbles(b[:, 16 if kind == "Q4_K" else 48 :], 32).reshape(-1, 8, 32)
        if kind == "Q5_K":
            q = q | (b[:, None, 16:48] >> np.arange(8)[None, :, None] & 1).astype(np.int64) << 4
        w = (d * s)[..., None] * q - (half(b, 2) * m)[..., None]
    else:
        low = nibbles(b[:, :128].reshape(-1, 64), 64).reshape(len(b), 256)
        high = b[:, 128:192].reshape(len(b), 2, 1, 32) >> (2 * np.arange(4))[:, None] & 3
        q = (low | high.reshape(len(b), 256).astype(np.int64) << 4) - 32
        w = d * (b[:, 192:208].view(np.int8).repeat(16, 1).astype(np.int64) * q)
    return w.reshape(dims)


class Gguf:
    """Values and tensors, written as version 3."""

    def __init__(self, seed=1):
        self.rng, self.values, self.tensors = np.random.default_rng(seed), {}, {}

    def random(self, name, kind, n, k, spread):
        """[n, k] of that type; numbers of about that size."""
        number, block, size = TYPES[kind]
        if block == 1:
            w = (self.rng.standard_normal((n, k)) * spread).astype(np.float32)
            raw = {"F32": w, "F16": w.astype(np.float16), "BF16": (w.view(np.uint32) >> 16).astype(np.uint16)}[kind].ravel().view(np.uint8)
        else:
            b = self.rng.integers(0, 256, (n * k // block, size), np.uint8)
            d, m = {"Q4_0": (1 / 6, 0), "Q4_1": (1 / 6, -1.2), "Q5_0": (1 / 12, 0), "Q5_1": (1 / 12, -1.2), "Q8_0": (1 / 80, 0),
                    "Q2_K": (1 / 12, 1 / 8), "Q3_K": (1 / 48, 0), "Q4_K": (1 / 300, 1 / 40), "Q5_K": (1 / 600, 1 / 40), "Q6_K": (1 / 2400, 0),
                    "IQ4_NL": (1 / 80, 0), "IQ4_XS": (1 / 1600, 0)}[kind]
            d = (d * spread * self.rng.uniform(0.5, 1.5, len(b))).astype(np.float16)
            d[self.rng.random(len(b)) < 0.02] = 0
            at = SCALE_AT.get(kind, 0)
            b[:, at : at + 2] = d[:, None].view(np.uint8)
            if m:
                b[:, at + 2 : at + 4] = (m * spread * self.rng.uniform(0.5, 1.5, len(b))).astype(np.float16)[:, None].view(np.uint8)
            raw = b.ravel()
        self.tensors[name] = (kind, (n, k), raw)

    def vector(self, name, n, about=1.0, spread=0.1):
        self.tensors[name] = ("F32", (n,), (about + spread * self.rng.standard_normal(n)).astype(np.float32).view(np.uint8))

    @staticmethod
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    def value(self, v):
        if isinstance(v, bool):
            return struct.pack("<IB", 7, v)
        if isinstance(v, int):
            return struct.pack("<II", 4, v)
        if isinstance(v, float):
            return struct.pack("<If", 6, v)
        if isinstance(v, str):
            return struct.pack("<I", 8) + self.text(v)
        parts = [self.value(x) for x in v]
        return struct.pack("<I", 9) + parts[0][:4] + struct.pack("<Q", len(v)) + b"".join(p[4:] for p in parts)

    def bytes(self):
        head, data = [struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.values))], b""
        head += [self.text(k) + self.value(v) for k, v in self.values.items()]
        for name, (kind, dims, raw) in self.tensors.items():
            head.append(self.text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims[::-1]) + struct.pack("<IQ", TYPES[kind][0], len(data)))
            data += raw.tobytes() + bytes(-raw.nbytes % 32)
        head = b"".join(head)
        return head + bytes(-len(head) % 32) + data

    def __getitem__(self, name):
        return decode(self.tensors[name][0], self.tensors[name][2], self.tensors[name][1])


def model(family, kinds=("Q4_0",), embedding=None, tied=False, slower=False, bias=None, seed=1, **sizes):
    """A Gguf of that family, with its numbers as .s."""
    f = {**FAMILIES[family], **({} if bias is None else {"bias": bias})}
    s = {**SIZES, **{k: v for k, v in f.items() if k in SIZES or k == "window"}, **sizes}
    s.setdefault("turned", s["size"])
    g = Gguf(seed)
    g.s, g.f, g.family = s, f, family
    g.values = {"general.architecture": family, "general.name": "random", **{f"{family}.{k}": s[n] for n, k in KEYS.items() if n in s},
                f"{family}.attention.value_length": s["size"], f"{family}.attention.layer_norm_rms_epsilon": 1e-6,
                f"{family}.rope.freq_base": 20000.0, "tokenizer.ggml.model": "none", "tokenizer.ggml.tokens": [f"t{i}\"\x1b" for i in range(s["vocab"])],
                "tokenizer.ggml.scores": [i / 4 for i in range(3)], "tokenizer.ggml.add_bos_token": True}
    if family == "gemma3":
        g.values.update({"gemma3.rope.scaling.type": "linear", "gemma3.rope.scaling.factor": 8.0})
    turn = [0]

    def weight(name, n, k, kind=None):
        turn[0] += kind is None
        g.random(f"{name}.weight", kind or kinds[turn[0] % len(kinds)], n, k, k**-0.5)

    q, kv = s["heads"] * s["size"], s["groups"] * s["size"]
    weight("token_embd", s["vocab"], s["width"], embedding or kinds[0])
    if slower:
        g.vector("rope_freqs.weight", s["turned"] // 2, 2.0, 0.5)
    for i in range(s["layers"]):
        p = f"blk.{i}"
        for name, n, k in (("attn_q", q, s["width"]), ("attn_k", kv, s["width"]), ("attn_v", kv, s["width"]), ("attn_output", s["width"], q),
                           ("ffn_gate", s["inner"], s["width"]), ("ffn_up", s["inner"], s["width"]), ("ffn_down", s["width"], s["inner"])):
            weight(f"{p}.{name}", n, k)
            if f.get("bias") and name in ("attn_q", "attn_k", "attn_v"):
                g.vector(f"{p}.{name}.bias", n, 0, 0.5)
                kind, dims, raw = g.tensors[f"{p}.{name}.bias"]
                g.tensors[f"{p}.{name}.bias"] = (kind, (1,) * (i % 2) + dims, raw)  # sizes of 1 may follow
        for name in ["attn_norm", "ffn_norm"] + ["post_attention_norm", "post_ffw_norm"] * f.get("post", False):
            g.vector(f"{p}.{name}.weight", s["width"])
        for name in ["attn_q_norm", "attn_k_norm"] * f.get("norms", False):
            g.vector(f"{p}.{name}.weight", s["size"], 1.0, 0.5)
    g.vector("output_norm.weight", s["width"])
    if not tied:
        weight("output", s["vocab"], s["width"])
    return g


def norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


class Reference:
    def __init__(self, g):
        self.g, self.s, self.f = g, g.s, g.f
        self.w = {name: g[name] for name in g.tensors}

    def linear(self, x, name):
        return x @ self.w[f"{name}.weight"].T + self.w.get(f"{name}.bias", 0)

    def turn(self, x, window):
        """x [heads, tokens, size]."""
        n = self.s["turned"]
        base, factor = (10000, 1) if self.g.family == "gemma3" and window else (20000, 8 if self.g.family == "gemma3" else 1)
        step = base ** (-np.arange(0, n, 2) / n) / factor / self.w.get("rope_freqs.weight", 1)
        angle = np.arange(x.shape[1])[:, None] * step
        x, c, s = x.copy(), np.cos(angle), np.sin(angle)
        a, b = (slice(0, n, 2), slice(1, n, 2)) if self.g.family == "llama" else (slice(0, n // 2), slice(n // 2, n))
        u, v = x[..., a].copy(), x[..., b].copy()
        x[..., a], x[..., b] = u * c - v * s, u * s + v * c
        return x

    def attention(self, x, i):
        s, p = self.s, f"blk.{i}"
        window = bool(self.f.get("every")) and i % self.f["every"] < self.f["every"] - 1
        q, k, v = (self.linear(x, f"{p}.attn_{n}").reshape(len(x), -1, s["size"]).swapaxes(0, 1) for n in "qkv")
        if self.f.get("norms"):
            q, k = norm(q, self.w[f"{p}.attn_q_norm.weight"]), norm(k, self.w[f"{p}.attn_k_norm.weight"])
        q, k = self.turn(q, window), self.turn(k, window)
        k, v = (a.repeat(s["heads"] // s["groups"], 0) for a in (k, v))
        score = q @ k.swapaxes(1, 2) * s["size"] ** -0.5
        if self.f.get("score_cap"):
            score = np.tanh(score / 50) * 50
        back = np.arange(len(x))[:, None] - np.arange(len(x))
        score = np.where((back < 0) | (window & (back >= s.get("window", 0))), -np.inf, score)
        e = np.exp(score - score.max(-1, keepdims=True))
        return self.linear((e / e.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(x), -1), f"{p}.attn_output")

    def feed(self, x, i):
        gate, up = (self.linear(x, f"blk.{i}.ffn_{n}") for n in ("gate", "up"))
        act = 0.5 * gate * (1 + np.tanh((2 / np.pi) ** 0.5 * (gate + 0.044715 * gate**3))) if self.f.get("scaled") else gate / (1 + np.exp(-gate))
        return self.linear(act * up, f"blk.{i}.ffn_down")

    def logits(self, ids):
        """[tokens, vocab] of a sentence."""
        x = self.w["token_embd.weight"][ids] * (self.s["width"] ** 0.5 if self.f.get("scaled") else 1)
        for i in range(self.s["layers"]):
            for part, before, after in ((self.attention, "attn_norm", "post_attention_norm"), (self.feed, "ffn_norm", "post_ffw_norm")):
                y = part(norm(x, self.w[f"blk.{i}.{before}.weight"]), i)
                x = x + (norm(y, self.w[f"blk.{i}.{after}.weight"]) if self.f.get("post") else y)
        y = self.linear(norm(x, self.w["output_norm.weight"]), "output" if "output.weight" in self.w else "token_embd")
        return np.tanh(y / 30) * 30 if self.f.get("cap") else y


if __name__ == "__main__":
    sizes = {k: int(v) for k, v in (a.split("=") for a in sys.argv[3:] if "=" in a)}
    kinds = [a for a in sys.argv[3:] if "=" not in a]
    open(sys.argv[2], "wb").write(model(sys.argv[1], kinds or ("Q4_0",), **sizes).bytes())
