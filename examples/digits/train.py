#!/usr/bin/python3
"""Train a small network on 8x8 scans of digits; write digits.onnx and the
held-out images.npy and labels.npy beside this file (Debian: python3-torch
python3-sklearn)."""

import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

HERE = pathlib.Path(__file__).parent
EPOCHS, BATCH, HELD_OUT = 60, 64, 360


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU())


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 16), block(16, 32),
                                      nn.MaxPool2d(2), block(32, 64),
                                      nn.AdaptiveAvgPool2d(1))
        self.classify = nn.Linear(64, 10)

    def forward(self, image):
        x = self.features(image)
        return self.classify(x.view(x.size(0), -1))


def train(model, x, y):
    steps = EPOCHS * -(-len(x) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, steps)
    for _ in range(EPOCHS):
        for i in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[i]), y[i]).backward()
            optimizer.step()
            schedule.step()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)  # sums in one order: same seed, same weights
    torch.manual_seed(0)
    scans = load_digits()
    images = (scans.images[:, None] / 16).astype(np.float32)
    labels = scans.target.astype(np.int64)
    # Neighbours share a writer, so the last scans are mostly by other people
    # than the first: a harder test than a shuffle.
    x, held_x = torch.from_numpy(images).split([len(images) - HELD_OUT, HELD_OUT])
    y, held_y = torch.from_numpy(labels).split([len(images) - HELD_OUT, HELD_OUT])

    model = Digits()
    train(model, x, y)
    model.eval()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters; "
          f"accuracy: trained on {accuracy(model, x, y):.2%}, "
          f"held out {accuracy(model, held_x, held_y):.2%}")

    np.save(HERE / "images.npy", held_x.numpy())
    np.save(HERE / "labels.npy", held_y.numpy())
    # PRESERVE, in eval mode: BatchNorm nodes stay nodes.
    torch.onnx.export(model, held_x[:2], str(HERE / "digits.onnx"),
                      training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, opset_version=13,
                      input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"},
                                    "logits": {0: "batch"}})


if __name__ == "__main__":
    main()
