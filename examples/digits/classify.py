#!/usr/bin/env python3
"""Classify the held-out scans with the compiled model; print the accuracy."""

from array import array
from ctypes import CDLL, c_float, c_int, c_void_p, cast, pointer


def npy(path, code):
    with open(path, "rb") as f:
        head = f.read(10)
        f.seek(int.from_bytes(head[8:], "little"), 1)
        return array(code, f.read())


lib = CDLL("./digits.so")
lib.digits_open.argtypes, lib.digits_open.restype = [c_void_p] * 2, c_void_p
lib.digits_run.argtypes, lib.digits_run.restype = [c_void_p] * 3, c_int
lib.digits_close.argtypes, lib.digits_close.restype = [c_void_p], None

images, labels = npy("images.npy", "f"), npy("labels.npy", "q")
model = lib.digits_open(b"digits.weights", None)
if not model:
    raise SystemExit("digits.weights: cannot open the model")

image, logits = (c_float * 64)(), (c_float * 10)()
inputs, outputs = (pointer(cast(t, c_void_p)) for t in (image, logits))
right = 0
for n, label in enumerate(labels):
    image[:] = images[64 * n:64 * n + 64]
    if lib.digits_run(model, inputs, outputs):
        raise SystemExit(f"image {n}: the model failed")
    right += max(range(10), key=logits.__getitem__) == label
lib.digits_close(model)
print(f"{right} of {len(labels)} right: {right / len(labels):.2%}")
