#!/usr/bin/python3
"""Make the benchmark models, each from a seed, as NAME.onnx.

Weights are random: speed does not depend on them, but a check of the results
does, and an untrained network in eval mode hardly looks at its input.  So
BatchNorm takes its statistics from random images (where a network has none,
its convolutions are scaled by theirs), parameters that start as all zeros or
all ones are moved off them (no simplifier may drop a bias or a scale that a
trained model would have), and a model is only kept if two random inputs
change its output by more than 10% of its scale.

A file that is there already, made with the same seed, is checked and kept.
"""

import argparse
import os
import re
import sys
import warnings

import numpy as np

OPSET = 13
ENOUGH = 0.10
IMAGE = (1, 3, 224, 224)
VOCAB, SEQ = 30522, 128

# name: (input shape, what it is)
MODELS = {
    "mlp": ((1, 784), "784-512-256-10 perceptron with ReLU"),
    "squeezenet1_1": (IMAGE, "torchvision; convolutions without BatchNorm"),
    "mobilenet_v2": (IMAGE, "torchvision; depthwise, ReLU6"),
    "mobilenet_v3_small": (IMAGE, "torchvision; hard-swish, squeeze-excite"),
    "efficientnet_b0": (IMAGE, "torchvision; depthwise, SiLU, squeeze-excite"),
    "mnasnet1_0": (IMAGE, "torchvision; depthwise 3x3 and 5x5, ReLU"),
    "regnet_y_400mf": (IMAGE, "torchvision; grouped convolutions, squeeze-excite"),
    "shufflenet_v2_x1_0": (IMAGE, "torchvision; channels split and shuffled"),
    "googlenet": (IMAGE, "torchvision; branches joined by Concat"),
    "densenet121": (IMAGE, "torchvision; Concat of all layers before"),
    "resnet18": (IMAGE, "torchvision; 3x3 convolutions"),
    "resnet50": (IMAGE, "torchvision; bottlenecks"),
    "vgg11": (IMAGE, "torchvision; 3x3 convolutions, large Gemms"),
    "convnext_tiny": (IMAGE, "torchvision; depthwise 7x7, LayerNorm, GELU"),
    "swin_t": (IMAGE, "torchvision; attention in shifted windows"),
    "vit_b_16": (IMAGE, "torchvision; transformer on 16x16 patches"),
    "bert_base": ((1, SEQ), "BERT-base's encoder, 128 tokens in, last layer out"),
}


def random_input(name, rng):
    shape, _ = MODELS[name]
    if name == "bert_base":
        return rng.integers(0, VOCAB, shape, dtype=np.int64)
    return rng.standard_normal(shape, dtype=np.float32)


def mlp():
    from torch import nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(),
                         nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


def bert_base(width=768, layers=12, heads=12):
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (
                nn.Linear(width, width) for _ in range(4))
            self.up = nn.Linear(width, 4 * width)
            self.down = nn.Linear(4 * width, width)
            self.norm1 = nn.LayerNorm(width, eps=1e-12)
            self.norm2 = nn.LayerNorm(width, eps=1e-12)

        def split(self, x):
            return x.view(1, SEQ, heads, width // heads).transpose(1, 2)

        def forward(self, x):
            q, k, v = (self.split(f(x)) for f in (self.q, self.k, self.v))
            scores = q @ k.transpose(-1, -2) / (width // heads) ** 0.5
            mixed = scores.softmax(-1) @ v
            mixed = mixed.transpose(1, 2).reshape(1, SEQ, width)
            x = self.norm1(x + self.out(mixed))
            return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(VOCAB, width)
            self.positions = nn.Parameter(torch.randn(SEQ, width) * 0.02)
            self.norm = nn.LayerNorm(width, eps=1e-12)
            self.layers = nn.Sequential(*(Layer() for _ in range(layers)))
            nn.init.normal_(self.words.weight, std=0.02)

        def forward(self, ids):
            return self.layers(self.norm(self.words(ids) + self.positions))

    return Encoder()


def build(name, seed):
    import torch
    torch.set_num_threads(1)  # sums in one order: same seed, same file
    torch.manual_seed(seed)
    if name in ("mlp", "bert_base"):
        model = globals()[name]()
    else:
        import torchvision
        model = getattr(torchvision.models, name)(weights=None)
    model.eval()
    with torch.no_grad():
        for p in model.parameters():
            if (p == p.flatten()[0]).all():
                p += 0.02 * torch.randn_like(p)
        set_statistics(model)
    return model


def set_statistics(model):
    """BatchNorm's, averaged over random images; else the convolutions' own."""
    import torch

    def of(kind):
        return [m for m in model.modules() if isinstance(m, kind)]

    def standardise(conv, _, y):
        mean, std = y.mean((0, 2, 3)), y.std((0, 2, 3))
        conv.weight /= std[:, None, None, None]
        conv.bias.sub_(mean).div_(std)
        return (y - mean[:, None, None]) / std[:, None, None]

    norms, convs = of(torch.nn.BatchNorm2d), of(torch.nn.Conv2d)
    if norms:
        for m in norms:
            m.reset_running_stats()
            m.momentum = None  # the average of all batches
            m.train()
        for _ in range(4):
            model(torch.randn(8, *IMAGE[1:]))
        model.eval()
    elif convs:
        hooks = [m.register_forward_hook(standardise) for m in convs]
        model(torch.randn(8, *IMAGE[1:]))
        for h in hooks:
            h.remove()


def export(name, model, seed, path):
    import torch
    x = torch.from_numpy(random_input(name, np.random.default_rng(seed)))
    warnings.simplefilter("ignore", torch.jit.TracerWarning)
    torch.onnx.export(model, x, path, opset_version=OPSET,
                      input_names=["input"], output_names=["output"])
    params = sum(p.numel() for p in model.parameters())
    # Protobuf messages merge by concatenation: this adds one metadata_props.
    key, value = b"made", b"seed=%d params=%d" % (seed, params)
    entry = b"\x0a%c%s\x12%c%s" % (len(key), key, len(value), value)
    with open(path, "ab") as f:
        f.write(b"\x72%c%s" % (len(entry), entry))


def made(path):
    """The seed and number of parameters of a file, or None."""
    try:
        with open(path, "rb") as f:
            f.seek(max(0, os.path.getsize(path) - 128))
            m = re.search(rb"seed=(\d+) params=(\d+)$", f.read())
    except FileNotFoundError:
        return None
    return m and (int(m[1]), int(m[2]))


def runner(path, model):
    """How to run it: onnxruntime, else torch, else None."""
    try:
        import onnxruntime as ort
    except ImportError:
        if model is None:
            return None
        import torch
        return lambda x: model(torch.from_numpy(x)).detach().numpy()
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda x: session.run(["output"], {"input": x})[0]


def change(name, run, seed):
    """How far two random inputs move the output, against its scale."""
    rng = np.random.default_rng(seed + 1)
    a, b = (run(random_input(name, rng)) for _ in range(2))
    return float(np.abs(a - b).max() / np.abs(a).max())


def make(name, args):
    """Make or keep one model; say so; return whether it is good."""
    path = os.path.join(args.out, name + ".onnx")
    model, file = None, path
    kept = made(path)
    if args.force or not kept or kept[0] != args.seed:
        file = path + ".tmp"
        model = build(name, args.seed)
        export(name, model, args.seed, file)
    run = runner(file, model)
    ratio = change(name, run, args.seed) if run else None
    good = ratio is None or ratio > ENOUGH
    if model is not None:
        if good:
            os.replace(file, path)
        else:
            os.remove(file)
    _, params = made(path) if good else (0, 0)
    print(f"{name:20} {params:>11,} parameters  "
          + ("not checked" if ratio is None else f"{ratio:7.1%} change")
          + ("" if model is not None else "  kept")
          + ("" if good else "  TOO LITTLE"), flush=True)
    return good


def main():
    names = "\n".join(f"  {n:20}{what}" for n, (_, what) in MODELS.items())
    p = argparse.ArgumentParser(
        description=__doc__, epilog="models (all, if none is named):\n" + names
        + "\n\nneeds torch and torchvision to make them; onnxruntime, if there "
        "is one,\nchecks the files instead of the models in memory",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-o", dest="out", metavar="DIR", required=True,
                   help="where the files go; made if missing")
    p.add_argument("--seed", type=int, default=0, metavar="N",
                   help="seed of weights and inputs (default 0)")
    p.add_argument("--force", action="store_true",
                   help="make files again that are there already")
    p.add_argument("names", nargs="*", metavar="NAME", help="a model below")
    args = p.parse_args()
    for name in args.names:
        if name not in MODELS:
            p.error(f"no model {name}; there are: {' '.join(MODELS)}")
    os.makedirs(args.out, exist_ok=True)
    try:
        return 0 if all([make(n, args) for n in args.names or MODELS]) else 1
    except ImportError as e:
        sys.exit(f"models.py: {e}; Debian: python3-torch python3-torchvision")


if __name__ == "__main__":
    sys.exit(main())
