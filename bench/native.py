"""A compiled model (STEM.so beside STEM.weights), called through its table hone_model."""

import ctypes as c
import os

import numpy as np

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
         "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
         "u8": np.uint8, "bool": np.bool_}


ABI = 8  # that of the structures below, lib/runner/model_abi.h


class Tensor(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_char_p), ("rank", c.c_int),
                ("shape", c.POINTER(c.c_long)), ("bytes", c.c_size_t), ("preset", c.c_long),
                ("symbol", c.c_void_p)]

    def empty(self):
        """An array like it, on a cache line of its own."""
        dtype = np.dtype(TYPES[self.type.decode()])
        room = np.empty(self.bytes + 64, np.uint8)
        start = -room.ctypes.data % 64
        return room[start:start + self.bytes].view(dtype).reshape(self.shape[:self.rank])


NUMBERS = {n: np.dtype(t) for n, t in enumerate((
    None, np.float32, np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64, None, np.bool_, np.float16, np.float64, np.uint32,
    np.uint64)) if t}


TEXT, SEQUENCE, MAP = 8, -1, -3


class Text(c.Structure):
    """struct hone_text, lib/op/hone_value.h"""
    _fields_ = [("s", c.c_void_p), ("n", c.c_size_t)]


class Value(c.Structure):
    """struct hone_value, lib/op/hone_value.h"""
    _fields_ = [("type", c.c_int), ("rank", c.c_int), ("shape", c.POINTER(c.c_int64)), ("data", c.c_void_p)]

    @classmethod
    def of(cls, a):
        shape = (c.c_int64 * max(a.ndim, 1))(*a.shape)
        if a.dtype.kind in "UO":
            words = [str(w).encode() for w in a.ravel()]
            texts = (Text * max(len(words), 1))(*(Text(c.cast(c.c_char_p(w), c.c_void_p), len(w)) for w in words))
            v = cls(TEXT, a.ndim, shape, c.addressof(texts))
            v.keep = words, texts
            return v
        number = next(n for n, t in NUMBERS.items() if t == a.dtype)
        return cls(number, a.ndim, shape, a.ctypes.data)

    def array(self):
        """A copy of it: of numbers, of strings (dtype object), a list of what is in a sequence, a dict of a map."""
        if self.type in (SEQUENCE, MAP):
            inside = [v.array() for v in c.cast(self.data, c.POINTER(Value))[:self.shape[0]]]
            return inside if self.type == SEQUENCE else dict(zip(*(a.tolist() for a in inside)))
        if self.type == TEXT:
            texts = c.cast(self.data, c.POINTER(Text))[:int(np.prod(self.shape[:self.rank]))]
            words = [c.string_at(t.s, t.n).decode() if t.n else "" for t in texts]
            return np.array(words, object).reshape(self.shape[:self.rank])
        a = np.empty(self.shape[:self.rank], NUMBERS[self.type])
        if a.nbytes:
            c.memmove(a.ctypes.data, self.data, a.nbytes)
        return a


class Step(c.Structure):
    _fields_ = [("kernel", c.c_char_p), ("node", c.c_char_p), ("ops", c.c_char_p), ("why", c.c_char_p), ("flops", c.c_double),
                ("bytes", c.c_double), ("predicted", c.c_double), ("slow", c.c_int)]


class Table(c.Structure):
    _fields_ = [("abi", c.c_int), ("name", c.c_char_p), ("cpu", c.c_char_p), ("compiler", c.c_char_p),
                ("vector_bytes", c.c_int), ("num_inputs", c.c_int), ("num_outputs", c.c_int),
                ("num_steps", c.c_int), ("inputs", c.POINTER(Tensor)), ("outputs", c.POINTER(Tensor)),
                ("steps", c.POINTER(Step)), ("arena_bytes", c.c_size_t), ("weights_bytes", c.c_size_t),
                ("open", c.CFUNCTYPE(c.c_void_p, c.c_char_p, c.c_void_p)),
                ("run", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p)),
                ("run_timed", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p)), ("preset", c.c_void_p), ("close", c.c_void_p),
                ("error", c.CFUNCTYPE(c.c_char_p)), ("run_values", c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Value), c.POINTER(Value), c.c_void_p)),
                ("num_states", c.c_int), ("states", c.c_void_p), ("reset", c.c_void_p),
                ("save", c.c_void_p), ("load", c.c_void_p), ("verify", c.c_void_p)]


class Model:
    def __init__(self, path):
        self.library = c.CDLL(os.path.abspath(path))
        self.table = Table.in_dll(self.library, "hone_model")
        if self.table.abi != ABI:
            raise SystemExit(f"{path}: interface version {self.table.abi}, known is {ABI}")
        self.inputs = self.table.inputs[:self.table.num_inputs]
        self.outputs = self.table.outputs[:self.table.num_outputs]
        self.handle = self.table.open((path[:-3] + ".weights").encode(), None)
        if not self.handle:
            raise SystemExit(f"{path}: {self.table.error().decode()}")

    def bind(self, x, y):
        """A function without arguments that computes y from x: arrays in the model's order."""
        def pointers(arrays):
            return (c.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        run, handle, ins, outs = self.table.run, self.handle, pointers(x), pointers(y)

        def call():
            if run(handle, ins, outs):
                raise SystemExit(self.table.error().decode())
        return call

    def bind_values(self, x):
        """A function that computes from x, arrays in the model's order, and one that copies what it computed; for models of any sizes."""
        if not self.table.run_values:
            y = [t.empty() for t in self.outputs]
            call = self.bind(x, y)
            call.arrays = x, y  # alive as long as it
            return call, lambda: [a.copy() for a in y]
        run, handle, ins, outs = self.table.run_values, self.handle, self.values(x), (Value * len(self.outputs))()

        def call():
            if run(handle, ins, outs, None):
                raise SystemExit(self.table.error().decode())
        call.arrays = x, ins
        return call, lambda: [v.array() for v in outs]

    def values(self, x):
        given = [Value.of(a) for a in x]
        values = (Value * len(x))(*given)
        values.keep = given  # strings alive as long as it
        return values

    def steps(self):
        return self.table.steps[:self.table.num_steps]

    def timed(self, x):
        """The seconds that each step takes in the second of two runs."""
        for _ in range(2):
            seconds = (c.c_double * self.table.num_steps)()
            if self.table.run_values:
                failed = self.table.run_values(self.handle, self.values(x), (Value * len(self.outputs))(), seconds)
            else:
                y = [t.empty() for t in self.outputs]
                ins, outs = ((c.c_void_p * len(v))(*(a.ctypes.data for a in v)) for v in (x, y))
                failed = self.table.run_timed(self.handle, ins, outs, seconds)
            if failed:
                raise SystemExit(self.table.error().decode())
        return list(seconds)
