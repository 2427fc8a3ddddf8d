"""A language model with random weights, in the layout that onnxruntime-genai's builder writes.

decoder.py FAMILY OUT.onnx [NAME=VALUE...]: FAMILY is llama, qwen2, qwen3, phi or gemma. They differ in norms, biases, how queries, keys and
values are packed, windows and caps of scores. Sizes are layers, hidden, heads, groups (heads of keys), size (numbers a head), inner,
vocab, longest (rows of the rotary tables), window; bits is 4, 8 or 32, level is accuracy_level of MatMulNBits, seed that of the weights.

Inputs: input_ids [batch_size, sequence_length], attention_mask [batch_size, total_sequence_length], past_key_values.I.key and .value
[batch_size, groups, past_sequence_length, size]. Outputs: logits, present.I.key and .value."""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

FAMILIES = {"llama": {}, "qwen2": {"bias": True}, "qwen3": {"norms": True}, "phi": {"packed": True, "window": 64},
            "gemma": {"scaled": True, "capped": True, "post": True, "window": 16}}
SIZES = dict(layers=2, hidden=64, heads=4, groups=2, size=16, inner=128, vocab=256, longest=512, window=0, bits=4, level=0, block=32, seed=1)


class Decoder:
    def __init__(self, family, **sizes):
        self.f = FAMILIES[family]
        self.s = {**SIZES, **{k: v for k, v in self.f.items() if k == "window"}, **sizes}
        self.__dict__.update(self.s)
        self.rng = np.random.default_rng(self.seed)
        self.nodes, self.init = [], []

    def const(self, name, a):
        self.init.append(numpy_helper.from_array(a, name))
        return name

    def node(self, op, operands, name, results=None, domain="", **attrs):
        results = results or [f"{name}/out"]
        self.nodes.append(h.make_node(op, operands, results, name=name, domain=domain, **attrs))
        return results[0]

    def micro(self, op, operands, name, results=None, **attrs):
        return self.node(op, operands, name, results, "com.microsoft", **attrs)

    def vector(self, name, n, about=1.0, spread=0.1):
        return self.const(name, (about + spread * self.rng.standard_normal(n)).astype(np.float32))

    def codes(self, n, k):
        """[n, k] of unsigned codes and scales in blocks along k, of numbers of variance 1 / k."""
        blocks = k // self.block
        q = np.clip(np.rint(self.rng.standard_normal((n, blocks, self.block)) * 2 ** (self.bits - 3)), -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)
        scales = ((0.5 + self.rng.random((n, blocks))) * k**-0.5 / 2 ** (self.bits - 3)).astype(np.float32)
        q = (q + 2 ** (self.bits - 1)).astype(np.uint8)
        return (q if self.bits == 8 else q[..., ::2] | q[..., 1::2] << 4).astype(np.uint8), scales

    def linear(self, x, name, k, n, bias=False):
        if self.bits == 32:
            y = self.node("MatMul", [x, self.const(f"{name}.weight", (self.rng.standard_normal((k, n)) * k**-0.5).astype(np.float32))], f"{name}/MatMul")
        else:
            q, s = self.codes(n, k)
            y = self.micro("MatMulNBits", [x, self.const(f"{name}.weight_Q{self.bits}", q), self.const(f"{name}.weight_scales", s)], f"{name}/MatMul_Q{self.bits}",
                           K=k, N=n, bits=self.bits, block_size=self.block, accuracy_level=self.level)
        return self.node("Add", [y, self.vector(f"{name}.bias", n, 0)], f"{name}/Add") if bias else y

    def embed(self):
        if self.bits == 32:
            table = self.const("model.embed_tokens.weight", self.rng.standard_normal((self.vocab, self.hidden)).astype(np.float32))
            x = self.node("Gather", [table, "input_ids"], "/model/embed_tokens/Gather")
        else:
            q, s = self.codes(self.vocab, self.hidden)
            x = self.micro("GatherBlockQuantized", [self.const("model.embed_tokens.weight_Q", q.reshape(self.vocab, -1)), "input_ids",
                                                    self.const("model.embed_tokens.scales", s * self.hidden**0.5)],
                           "/model/embed_tokens/GatherBlockQuantized", bits=self.bits, block_size=self.block, gather_axis=0, quantize_axis=1)
        return self.node("Mul", [x, self.const("embed_scale", np.float32(self.hidden**0.5))], "/model/embed_tokens/Mul") if self.f.get("scaled") else x

    def head_norm(self, x, name, heads):
        """Each head by itself, as Qwen 3 has it."""
        y = self.node("Reshape", [x, self.const(f"{name}/by_head", np.array([0, 0, heads, self.size], np.int64))], f"{name}/Reshape_1")
        y = self.node("SimplifiedLayerNormalization", [y, self.vector(f"{name}.weight", self.size)], f"{name}/SimplifiedLayerNormalization", axis=-1,
                      epsilon=1e-6, stash_type=1)
        return self.node("Reshape", [y, self.const(f"{name}/side_by_side", np.array([0, 0, heads * self.size], np.int64))], f"{name}/Reshape_2")

    def attention(self, x, i):
        p, q, kv = f"/model/layers.{i}/attn", self.heads * self.size, self.groups * self.size
        if self.f.get("packed"):
            parts = [self.linear(x, f"{p}/qkv_proj", self.hidden, q + 2 * kv), "", ""]
        else:
            parts = [self.linear(x, f"{p}/{n}_proj", self.hidden, w, self.f.get("bias")) for n, w in (("q", q), ("k", kv), ("v", kv))]
        if self.f.get("norms"):
            parts[0] = self.head_norm(parts[0], f"{p}/q_norm", self.heads)
            parts[1] = self.head_norm(parts[1], f"{p}/k_norm", self.groups)
        attrs = {"num_heads": self.heads, "kv_num_heads": self.groups, "do_rotary": 1, "rotary_interleaved": 0, "scale": self.size**-0.5,
                 "local_window_size": self.window if self.window and (not self.f.get("capped") or i % 2 == 0) else -1}
        if self.f.get("capped"):
            attrs["softcap"] = 50.0
        y = self.micro("GroupQueryAttention", parts + [f"past_key_values.{i}.key", f"past_key_values.{i}.value", "seqlens_k", "total_seq_len", "cos_cache", "sin_cache"],
                       f"{p}/GroupQueryAttention", [f"{p}/GroupQueryAttention/output_0", f"present.{i}.key", f"present.{i}.value"], **attrs)
        return self.linear(y, f"{p}/o_proj", q, self.hidden)

    def mlp(self, x, i):
        p = f"/model/layers.{i}/mlp"
        if self.f.get("packed"):
            y = self.linear(x, f"{p}/gate_up_proj", self.hidden, 2 * self.inner)
            gate, up = f"{p}/Split/gate", f"{p}/Split/up"
            self.node("Split", [y, self.const(f"{p}/halves", np.array([self.inner, self.inner], np.int64))], f"{p}/Split", [gate, up], axis=-1)
        else:
            gate, up = self.linear(x, f"{p}/gate_proj", self.hidden, self.inner), self.linear(x, f"{p}/up_proj", self.hidden, self.inner)
        if self.f.get("scaled"):
            act = self.micro("FastGelu", [gate], f"{p}/act_fn/FastGelu")
        else:
            act = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{p}/act_fn/Sigmoid")], f"{p}/act_fn/Mul")
        return self.linear(self.node("Mul", [act, up], f"{p}/Mul"), f"{p}/down_proj", self.inner, self.hidden)

    def skip_norm(self, x, y, name, last=False):
        """The sum of x and y, and it normalised. Gemma 2 normalises y first."""
        if self.f.get("post"):
            y = self.node("SimplifiedLayerNormalization", [y, self.vector(f"{name}.post", self.hidden)], f"{name}/Post", axis=-1, epsilon=1e-6, stash_type=1)
        normed, total = f"{name}/output_0", f"{name}/output_3"
        self.micro("SkipSimplifiedLayerNormalization", [x, y, self.vector(f"{name}.weight", self.hidden)], name, [normed] if last else [normed, "", "", total], epsilon=1e-6)
        return normed, total

    def lengths(self):
        y = self.node("ReduceSum", ["attention_mask", self.const("one_axis", np.array([1], np.int64))], "/model/attn_mask_reformat/ReduceSum", keepdims=1)
        y = self.node("Sub", [y, self.const("one", np.array([1], np.int64))], "/model/attn_mask_reformat/Sub")
        self.node("Cast", [y], "/model/attn_mask_reformat/Cast_1", ["seqlens_k"], to=T.INT32)
        y = self.node("Shape", ["attention_mask"], "/model/attn_mask_reformat/Shape")
        y = self.node("Gather", [y, self.const("axis_of_tokens", np.array(1, np.int64))], "/model/attn_mask_reformat/Gather", axis=0)
        self.node("Cast", [y], "/model/attn_mask_reformat/Cast_2", ["total_seq_len"], to=T.INT32)
        angle = np.arange(self.longest)[:, None] * 10000.0 ** (-np.arange(0, self.size, 2) / self.size)
        self.const("cos_cache", np.cos(angle).astype(np.float32))
        self.const("sin_cache", np.sin(angle).astype(np.float32))

    def model(self):
        self.lengths()
        x = self.embed()
        y = self.node("SimplifiedLayerNormalization", [x, self.vector("model.layers.0.input_layernorm.weight", self.hidden)], "/model/layers.0/input_layernorm",
                      axis=-1, epsilon=1e-6, stash_type=1)
        for i in range(self.layers):
            y, x = self.skip_norm(x, self.attention(y, i), f"/model/layers.{i}/post_attention_layernorm/SkipLayerNorm")
            y, x = self.skip_norm(x, self.mlp(y, i), f"/model/layers.{i + 1}/input_layernorm/SkipLayerNorm", i == self.layers - 1)
        y = self.linear(y, "/lm_head", self.hidden, self.vocab)
        if self.f.get("capped"):
            y = self.node("Div", [y, self.const("cap", np.float32(30))], "/lm_head/Div")
            y = self.node("Mul", [self.node("Tanh", [y], "/lm_head/Tanh"), "cap"], "/lm_head/Cap")
        self.node("Identity", [y], "/lm_head/Identity", ["logits"])
        info = h.make_tensor_value_info
        inputs = [info("input_ids", T.INT64, ["batch_size", "sequence_length"]), info("attention_mask", T.INT64, ["batch_size", "total_sequence_length"])]
        outputs = [info("logits", T.FLOAT, ["batch_size", "sequence_length", self.vocab])]
        for i in range(self.layers):
            for kind in ("key", "value"):
                inputs.append(info(f"past_key_values.{i}.{kind}", T.FLOAT, ["batch_size", self.groups, "past_sequence_length", self.size]))
                outputs.append(info(f"present.{i}.{kind}", T.FLOAT, ["batch_size", self.groups, "total_sequence_length", self.size]))
        g = h.make_graph(self.nodes, "main_graph", inputs, outputs, self.init)
        return h.make_model(g, opset_imports=[h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)], ir_version=10, producer_name="onnxruntime-genai")


if __name__ == "__main__":
    sizes = {k: int(v) for k, v in (a.split("=") for a in sys.argv[3:])}
    onnx.save(Decoder(sys.argv[1], **sizes).model(), sys.argv[2])
