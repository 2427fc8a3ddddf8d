"""A compiled model, through the table that every library of hone exports (lib/runner/model_abi.h)."""
import os
from ctypes import CDLL, CFUNCTYPE, POINTER, Structure, addressof, byref, c_char, c_char_p, c_double, c_int, c_int64, c_long, c_size_t, c_void_p, memmove
from threading import Lock

import numpy as np

ABI = 8


class Tensor(Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("rank", c_int), ("shape", POINTER(c_long)), ("bytes", c_size_t), ("preset", c_long),
                ("symbol", POINTER(c_char_p))]


class Value(Structure):
    _fields_ = [("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)), ("data", c_void_p)]


class Options(Structure):
    _fields_ = [("threads", c_int)]


class State(Structure):
    _fields_ = [("input", c_int), ("output", c_int), ("place", c_long * 2), ("written", c_long)]


class Table(Structure):
    _fields_ = [("abi", c_int), ("name", c_char_p), ("cpu", c_char_p), ("compiler", c_char_p), ("vector_bytes", c_int),
                ("num_inputs", c_int), ("num_outputs", c_int), ("num_steps", c_int), ("inputs", POINTER(Tensor)), ("outputs", POINTER(Tensor)),
                ("steps", c_void_p), ("arena_bytes", c_size_t), ("weights_bytes", c_size_t),
                ("open", CFUNCTYPE(c_void_p, c_char_p, POINTER(Options))), ("run", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
                ("run_timed", c_void_p), ("preset", c_void_p), ("close", CFUNCTYPE(None, c_void_p)), ("error", CFUNCTYPE(c_char_p)),
                ("run_values", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, POINTER(c_double))), ("num_states", c_int),
                ("states", POINTER(State)), ("reset", CFUNCTYPE(c_int, c_void_p))]


def _types():
    """By hone's name of an element type: numpy's type, and ONNX's number. Narrow floats are ml_dtypes' where that is installed."""
    table = {"f32": ("float32", 1), "u8": ("uint8", 2), "i8": ("int8", 3), "u16": ("uint16", 4), "i16": ("int16", 5), "i32": ("int32", 6),
             "i64": ("int64", 7), "bool": ("bool", 9), "f16": ("float16", 10), "f64": ("float64", 11), "u32": ("uint32", 12),
             "u64": ("uint64", 13), "c64": ("complex64", 14), "c128": ("complex128", 15)}
    types = {name: (np.dtype(of), number) for name, (of, number) in table.items()}
    try:
        import ml_dtypes
        types["bf16"] = (np.dtype(ml_dtypes.bfloat16), 16)
    except ImportError:
        types["bf16"] = (np.dtype("uint16"), 16)
    return types


TYPES = _types()
NUMBERS = {number: of for of, number in TYPES.values()}


_NOTHING = c_char * 0


def _address(x):
    """Of a contiguous array. Its buffer gives that in a third of the time of its attribute, where it has a buffer: no narrow or read-only one."""
    try:
        return addressof(_NOTHING.from_buffer(x))
    except (TypeError, ValueError):
        return x.ctypes.data


class Port:
    """An input or an output: name, dtype (numpy's), shape, a tuple of sizes and, where a run gives the size, names or None."""

    def __init__(self, t, kept):
        self.name, self.type, self.kept, self.optional = t.name.decode(), t.type.decode(), kept, kept or t.preset != 0
        self.dtype, self.number = TYPES.get(self.type, (None, 0))
        self.shape = None if t.rank < 0 else tuple(t.shape[i] if t.shape[i] >= 0 else self._symbol(t, i) for i in range(t.rank))

    @staticmethod
    def _symbol(t, i):
        return t.symbol[i].decode() if t.symbol and t.symbol[i] else None

    def __repr__(self):
        sizes = "*" if self.shape is None else ",".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.name} {self.type}[{sizes}]"


class Model:
    """A library in memory, with one handle: calls of several threads take turns."""

    def __init__(self, path, weights=None, threads=0):
        self._handle, self._lock = None, Lock()  # first: __del__ runs where the rest fails, too
        path = os.path.abspath(path)
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        try:
            self._table = Table.in_dll(CDLL(path), "hone_model")
        except (OSError, ValueError) as e:
            raise ValueError(f"{path}: not a library made by hone ({e})") from None
        t = self._table
        if t.abi != ABI:
            raise ValueError(f"{path}: made by another version of hone (its table is {t.abi}, not {ABI}); build it again")
        kept = range(t.num_states)
        kept_in, kept_out = {t.states[i].input for i in kept}, {t.states[i].output for i in kept}
        self.path, self.name = path, t.name.decode()
        self.inputs = [Port(t.inputs[i], i in kept_in) for i in range(t.num_inputs)]
        self.outputs = [Port(t.outputs[i], i in kept_out) for i in range(t.num_outputs)]
        for port in self.inputs + self.outputs:
            if port.dtype is None:
                raise TypeError(f"{path}: {port!r}: numpy has no such type; call the library from C")
        beside = weights or path[:-3] + ".weights"
        self._handle = t.open(os.fsencode(beside), byref(Options(threads)))
        if not self._handle:
            raise RuntimeError(f"{path}: {self._error()}")
        self._run_fixed, self._run_open = t.run, t.run_values  # each look into the table would make a function
        self._is_fixed = not t.run_values and not t.num_states
        self._addresses = [(c_void_p * max(1, n))() for n in (t.num_inputs, t.num_outputs)]

    def _error(self):
        return (self._table.error() or b"unknown").decode(errors="replace")

    def close(self):
        """Gives the memory back; the model runs no more."""
        handle, self._handle = self._handle, None
        if handle:
            self._table.close(handle)

    __del__ = close

    def __repr__(self):
        return f"<hone.Model {self.name}: {', '.join(map(repr, self.inputs))} -> {', '.join(map(repr, self.outputs))}>"

    def _array(self, port, x, sizes):
        """x as an array that the library can read. Types are not converted: what is asked for is what is computed."""
        x = np.asarray(x)
        if x.dtype != port.dtype:
            raise TypeError(f"input {port.name}: {x.dtype}, not {port.dtype}")
        if x.shape != port.shape:
            fits = port.shape is None or len(port.shape) == x.ndim
            for want, is_ in zip(port.shape or (), x.shape):
                fits &= want is None or (sizes.setdefault(want, is_) if isinstance(want, str) else want) == is_
            if not fits:
                raise ValueError(f"input {port.name}: shape {list(x.shape)}, not that of {port!r}" +
                                 "".join(f", {k} = {v}" for k, v in sizes.items()))
        return x if x.flags.c_contiguous and x.flags.aligned else np.require(x, requirements=["C", "ALIGNED"])

    def _in_order(self, args, named):
        """Inputs in the model's order, None where one is left out."""
        names = [p.name for p in self.inputs]
        if len(args) > len(names):
            raise TypeError(f"{len(args)} inputs given, the model has {len(names)}")
        given = dict(zip(names, args))
        for name, x in named.items():
            if name not in names or name in given:
                raise TypeError(f"input {name}: " + ("given twice" if name in given else f"there is none; they are {', '.join(names)}"))
            given[name] = x
        return [given.get(name) for name in names]

    def _given(self, args, named):
        if named or len(args) != len(self.inputs):
            args = self._in_order(args, named)
        missing = [p.name for p, x in zip(self.inputs, args) if x is None and not p.optional]
        if missing:
            raise TypeError(f"inputs that are missing: {', '.join(missing)}")
        sizes = {}
        return [None if x is None else self._array(p, x, sizes) for p, x in zip(self.inputs, args)]

    def __call__(self, *args, **named):
        """Inputs as arrays, in their order or by name. The outputs, as a list of arrays, without states that the library keeps."""
        given = self._given(args, named)
        return self._run_values(given) if self._run_open else self._run(given)

    def run(self, inputs):
        """The same with dictionaries: inputs by name in, outputs by name out."""
        return dict(zip([p.name for p in self.outputs if not p.kept], self(**inputs)))

    def reset(self):
        """States are again what they were at first."""
        if self._table.num_states and self._table.reset(self._handle):
            raise RuntimeError(f"{self.path}: {self._error()}")

    @property
    def is_fixed(self):
        """True if all sizes are those of the library, and no input or output is a state."""
        return self._is_fixed

    def run_at(self, given, made):
        """For libraries of which all sizes are fixed: runs on two lists, the addresses of inputs and of outputs, C-contiguous memory of their
        types and sizes, None where one is left out. Nothing is checked."""
        with self._lock:
            if not self._handle:
                raise RuntimeError(f"{self.path}: closed")
            inputs, outputs = self._addresses
            inputs[:len(given)], outputs[:len(made)] = given, made
            if self._run_fixed(self._handle, inputs, outputs):
                raise RuntimeError(f"{self.path}: {self._error()}")

    def _run(self, given):
        made = [None if p.kept else np.empty(p.shape, p.dtype) for p in self.outputs]
        self.run_at(*([None if x is None else _address(x) for x in a] for a in (given, made)))
        return [x for x in made if x is not None]

    def _run_values(self, given):
        values, results = (Value * max(1, len(given)))(), (Value * max(1, len(self.outputs)))()
        for v, p, x in zip(values, self.inputs, given):
            if x is not None:
                v.type, v.rank, v.shape, v.data = p.number, x.ndim, (c_int64 * max(1, x.ndim))(*x.shape), _address(x)
        with self._lock:
            if not self._handle:
                raise RuntimeError(f"{self.path}: closed")
            if self._run_open(self._handle, values, results, None):
                raise RuntimeError(f"{self.path}: {self._error()}")
            return [self._copied(p, v) for p, v in zip(self.outputs, results) if not p.kept]

    @staticmethod
    def _copied(port, v):
        """A result as an array of its own: the library's memory is used again by the next run."""
        if v.type not in NUMBERS:
            raise TypeError(f"output {port.name}: numpy has no such type; call the library from C")
        x = np.empty(v.shape[:v.rank], NUMBERS[v.type])
        if x.nbytes:
            memmove(_address(x), v.data, x.nbytes)
        return x
