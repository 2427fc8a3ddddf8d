#!/usr/bin/env python3
"""torch.compile(backend="hone") against torch's eager mode and inductor: the same numbers, and the time of a call, in turns.

    python3 bench/torch_compile.py [MODEL...]      resnet18 mobilenet_v3 bert_layer graph_break dynamic_batch

Wants torch 2, torchvision, onnx and onnxscript, and hone's package (pip install the wheel, or PYTHONPATH=clients/python with HONE=bin/hone).
Weights are random. The last column is the largest difference to eager over the largest element, of all batches that were tried."""
import statistics
import sys
import time
import warnings

import torch

import hone.dynamo

torch.set_num_threads(1)
torch.manual_seed(0)


class BertLayer(torch.nn.Module):
    """A layer as in BERT base: 12 heads, 768 wide, GELU."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)

    def forward(self, x):
        return self.layer(x)


class Break(torch.nn.Module):
    """Two parts with a branch on a value between them, which no graph can hold."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(256, 256), torch.nn.Linear(256, 64)

    def forward(self, x):
        h = torch.relu(self.a(x))
        if h.sum().item() < 0:
            h = -h
        return torch.softmax(self.b(h), -1)


def models():
    import torchvision.models as zoo
    image = (1, 3, 224, 224)
    return {"resnet18": (zoo.resnet18, [image]), "mobilenet_v3": (zoo.mobilenet_v3_small, [image]), "bert_layer": (BertLayer, [(1, 128, 768)]),
            "graph_break": (Break, [(32, 256)]), "dynamic_batch": (zoo.mobilenet_v3_small, [(n, 3, 96, 96) for n in (1, 2, 3, 5, 4)])}


def randomised(net):
    """Statistics of batch normalisation as after a training, so that what is folded into weights shows."""
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.uniform_(-0.2, 0.2)
            m.running_var.uniform_(0.5, 2)
    return net.eval()


def seconds(f, x, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        f(x)
        times.append(time.perf_counter() - start)
    return min(times) if rounds < 3 else statistics.median(times)


def run(name, make, shapes):
    net = randomised(make())
    others = {"hone": torch.compile(net, backend=hone.dynamo.backend), "inductor": torch.compile(net)}
    xs = [torch.randn(s) for s in shapes]
    error, first, broken = 0.0, {}, []
    for kind, f in others.items():
        start = time.perf_counter()
        try:
            for x in xs:
                want, got = net(x), f(x)
                if kind == "hone":
                    error = max(error, ((got - want).abs().max() / want.abs().max()).item())
        except Exception as e:
            broken.append(kind)
            print(f"{name}: {kind}: {type(e).__name__}: {str(e).splitlines()[0]}", file=sys.stderr)
        first[kind] = time.perf_counter() - start
    live = {"eager": net, **{k: f for k, f in others.items() if k not in broken}}
    times = {k: [] for k in live}
    for _ in range(7):
        for k, f in live.items():
            times[k].append(seconds(f, xs[-1], 10))
    ms = {k: 1e3 * statistics.median(v) for k, v in times.items()}
    ms = {k: ms.get(k, float("nan")) for k in ("eager", "inductor", "hone")}
    size = "x".join(map(str, shapes[-1])) + (f" after batches of {', '.join(str(s[0]) for s in shapes[:-1])}" if len(shapes) > 1 else "")
    print(f"| {name} | {size} | {ms['eager']:.3f} | {ms['inductor']:.3f} | {ms['hone']:.3f} | {ms['hone'] / ms['eager']:.2f} | {ms['hone'] / ms['inductor']:.2f} |"
          f" {first['hone']:.1f} | {first['inductor']:.1f} | {error:.1e} |", flush=True)
    return error


def main():
    all_models, worst = models(), 0.0
    eager = []
    warnings.showwarning = lambda m, *a, **k: eager.append(str(m)) if str(m).startswith("hone:") else None
    print(f"torch {torch.__version__}, one thread, milliseconds\n")
    print("| model | input | eager | inductor | hone | hone / eager | hone / inductor | first calls of hone, s | of inductor, s | difference |\n|---|---|---|---|---|---|---|---|---|---|")
    with torch.no_grad():
        for name in sys.argv[1:] or all_models:
            worst = max(worst, run(name, *all_models[name]))
    for why in eager:
        print(why)
    return 0 if worst <= 1e-4 and not eager else 1


if __name__ == "__main__":
    sys.exit(main())
