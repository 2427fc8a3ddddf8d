"""A compiled model (STEM.so beside STEM.weights), called through its table hone_model."""

import ctypes as c
import os

import numpy as np

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
         "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
         "u8": np.uint8, "bool": np.bool_}


ABI = 6  # that of the structures below, lib/runner/model_abi.h


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


class Table(c.Structure):
    _fields_ = [("abi", c.c_int), ("name", c.c_char_p), ("cpu", c.c_char_p), ("compiler", c.c_char_p),
                ("vector_bytes", c.c_int), ("num_inputs", c.c_int), ("num_outputs", c.c_int),
                ("num_steps", c.c_int), ("inputs", c.POINTER(Tensor)), ("outputs", c.POINTER(Tensor)),
                ("steps", c.c_void_p), ("arena_bytes", c.c_size_t), ("weights_bytes", c.c_size_t),
                ("open", c.CFUNCTYPE(c.c_void_p, c.c_char_p, c.c_void_p)),
                ("run", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p)),
                ("run_timed", c.c_void_p), ("preset", c.c_void_p), ("close", c.c_void_p),
                ("error", c.CFUNCTYPE(c.c_char_p)), ("run_values", c.c_void_p),
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
