"""A library of hone's, STEM.so with STEM.weights, from Python: values by name."""
from ctypes import CDLL, POINTER, Structure, byref, c_char, c_char_p, c_int, c_int64, c_void_p

import numpy as np

TYPES = {np.dtype(np.float32): 1, np.dtype(np.int8): 3, np.dtype(np.int64): 7, np.dtype(np.float16): 10}


class Value(Structure):
    _fields_ = [("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)), ("data", c_void_p)]


def array(v):
    shape, kind = v.shape[: v.rank], {n: t for t, n in TYPES.items()}[v.type]
    n = int(np.prod(shape)) * kind.itemsize
    return np.frombuffer((c_char * n).from_address(v.data) if n else b"", kind).reshape(shape).copy()


class Library:
    def __init__(self, stem):
        lib = CDLL(f"./{stem}.so")
        for name, result, *operands in (("open", c_void_p, c_char_p, c_void_p), ("run_values", c_int, c_void_p, c_void_p, c_void_p), ("error", c_char_p),
                                        ("num_inputs", c_int), ("num_outputs", c_int), ("input_name", c_char_p, c_int), ("output_name", c_char_p, c_int),
                                        ("state_value", c_int, c_void_p, c_int, c_void_p), ("state_save", c_int, c_void_p, c_char_p),
                                        ("state_load", c_int, c_void_p, c_char_p), ("reset", c_int, c_void_p)):
            f = getattr(lib, f"{stem}_{name}", None)
            if f:
                f.restype, f.argtypes = result, operands
                setattr(self, name, f)
        self.inputs = {self.input_name(i).decode(): i for i in range(self.num_inputs())}
        self.outputs = {self.output_name(i).decode(): i for i in range(self.num_outputs())}
        self.model = self.open(f"{stem}.weights".encode(), None)
        self.check(not self.model)

    def check(self, failed):
        if failed:
            raise RuntimeError(self.error().decode())

    def run(self, **feed):
        """The results that have data."""
        given, made, kept = (Value * len(self.inputs))(), (Value * len(self.outputs))(), []
        for name, a in feed.items():
            a = np.ascontiguousarray(a)
            shape = (c_int64 * max(a.ndim, 1))(*a.shape)
            kept += [a, shape]
            given[self.inputs[name]] = Value(TYPES[a.dtype], a.ndim, shape, a.ctypes.data)
        self.check(self.run_values(self.model, given, made))
        return {name: array(made[k]) for name, k in self.outputs.items() if made[k].data}

    def state(self, output):
        v = Value()
        self.check(self.state_value(self.model, self.outputs[output], byref(v)))
        return array(v)

    def save(self, path):
        self.check(self.state_save(self.model, path.encode()))

    def load(self, path):
        self.check(self.state_load(self.model, path.encode()))
