"""Fused operators of PyTorch that its ONNX exporter does not know, computed by plain ones that it does."""
import torch
from torch.nn import functional as F


def _kept(mask, kind):
    """PyTorch's mask, True where a key is left out, as one of what is kept, for [batch, head, query, key]. kind: 0 a mask of queries and keys,
    1 one of the keys of each row of the batch, 2 one of all four."""
    if mask is None:
        return None
    mask = mask.to(torch.bool)
    return ~(mask[None, None] if kind == 0 else mask[:, None, None] if kind == 1 else mask)


def _attention(x, heads, qkv_weight, qkv_bias, weight, bias, mask, kind):
    """Self-attention of x [batch, position, width]."""
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in F.linear(x, qkv_weight, qkv_bias).chunk(3, -1))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=_kept(mask, kind))
    return F.linear(y.transpose(1, 2).flatten(2), weight, bias)


def _self_attention(query, key, value, width, heads, qkv_weight, qkv_bias, weight, bias, mask=None, need_weights=True, average_attn_weights=True,
                    mask_type=None):
    if need_weights or key is not query or value is not query:
        raise NotImplementedError("attention that returns its weights, or of other keys than queries")
    return _attention(query, heads, qkv_weight, qkv_bias, weight, bias, mask, mask_type), None


def _encoder_layer(x, width, heads, qkv_weight, qkv_bias, weight, bias, use_gelu, norm_first, eps, norm1_weight, norm1_bias, norm2_weight,
                   norm2_bias, up_weight, up_bias, down_weight, down_bias, mask=None, mask_type=None):
    def attended(x):
        return _attention(x, heads, qkv_weight, qkv_bias, weight, bias, mask, mask_type)

    def forward(x):
        return F.linear((F.gelu if use_gelu else F.relu)(F.linear(x, up_weight, up_bias)), down_weight, down_bias)

    def norm1(x):
        return F.layer_norm(x, (width,), norm1_weight, norm1_bias, eps)

    def norm2(x):
        return F.layer_norm(x, (width,), norm2_weight, norm2_bias, eps)

    if norm_first:
        x = x + attended(norm1(x))
        return x + forward(norm2(x))
    x = norm1(x + attended(x))
    return norm2(x + forward(x))


_PLAIN = {torch._native_multi_head_attention: _self_attention, torch._transformer_encoder_layer_fwd: _encoder_layer}


def plain(module):
    """A torch.fx.GraphModule with plain operators in place of fused ones; module itself where it has none of them."""
    if not any(node.target in _PLAIN for node in module.graph.nodes if node.op == "call_function"):
        return module
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for node in graph.nodes:
        if node.op == "call_function":
            node.target = _PLAIN.get(node.target, node.target)
    return torch.fx.GraphModule(module, graph)
