"""torch.compile(model, backend="hone"): graphs that TorchDynamo cuts out of a module run as libraries of hone, through torch.export and ONNX.

What hone or the exporter refuses runs eagerly, and a warning says why. Weights become constants of the library; if one of them changes
later, the graph runs eagerly again. So does a run whose gradients are wanted: use torch.no_grad() or torch.inference_mode().
Sizes that Dynamo calls dynamic stay open in the library. options={"threads": 4, "kb": "FILE"}: options of hone build.

Libraries are kept in $XDG_CACHE_HOME/hone/torch by the content of the ONNX model: another process that compiles the same has them at once.
"""
import hashlib
import operator
import os
import shutil
import tempfile
import warnings

import numpy as np
import torch
from torch._dynamo.utils import get_static_address_type

from . import tools
from .library import Model
from .plain import plain


def _is_constant(x):
    return isinstance(x, torch.nn.Parameter) or (isinstance(x, torch.Tensor) and get_static_address_type(x) is not None)


def _symbol(size):
    """The name of a size that is not fixed; None: it is."""
    return str(size) if isinstance(size, torch.SymInt) and not str(size).isdigit() else None


class _Frozen(torch.nn.Module):
    """A graph as a module of its tensor inputs alone: constants are its buffers, and sizes are read off the tensors."""

    def __init__(self, graph, examples):
        super().__init__()
        self.graph, self.plan, self.inputs, self.dynamic = plain(graph), [], [], []
        seen = [node.meta.get("example_value") for node in graph.graph.nodes if node.op == "placeholder"]  # with sizes as Dynamo names them
        examples = [x if _is_constant(x) or s is None else s for x, s in zip(examples, seen)]
        for i, x in enumerate(examples):
            if _is_constant(x):
                self.register_buffer(f"constant{i}", x.detach())
                self.plan.append(("constant", f"constant{i}"))
            elif isinstance(x, torch.Tensor):
                self.plan.append(("input", len(self.inputs)))
                self.inputs.append(i)
                self.dynamic.append({d: torch.export.Dim.DYNAMIC for d, n in enumerate(x.shape) if _symbol(n)})
            else:
                self.plan.append(("size", x))
        self.plan = [("size", self._place(x, examples)) if kind == "size" else (kind, x) for kind, x in self.plan]

    def _place(self, size, examples):
        """Which extent of which tensor input a size is."""
        for k, i in enumerate(self.inputs):
            for d, n in enumerate(examples[i].shape):
                if _symbol(size) and _symbol(n) == _symbol(size):
                    return k, d
        raise NotImplementedError(f"an input {size!r} that is neither a tensor nor the size of one")

    def forward(self, *tensors):
        values = {"constant": lambda name: getattr(self, name), "input": lambda k: tensors[k], "size": lambda at: tensors[at[0]].shape[at[1]]}
        return self.graph(*(values[kind](x) for kind, x in self.plan))


def _examples(frozen, examples):
    """Tensors to export with."""
    sizes = [[n.node.hint if isinstance(n, torch.SymInt) else n for n in examples[i].shape] for i in frozen.inputs]
    return tuple(torch.zeros(shape, dtype=examples[i].dtype) for shape, i in zip(sizes, frozen.inputs))


def _export(frozen, examples, path):
    shapes = [d or None for d in frozen.dynamic]
    with warnings.catch_warnings(), torch._guards.tracing(None):  # what export assumes of sizes is no guard of Dynamo's
        warnings.simplefilter("ignore")
        torch.onnx.export(frozen, _examples(frozen, examples), path, dynamo=True, verbose=False, external_data=True,
                          dynamic_shapes={"tensors": tuple(shapes)} if any(shapes) else None)


def _library(folder, given):
    """The library of the model in folder: that of the cache, else built into it."""
    digest = hashlib.sha256(repr((tools.command(), sorted(given.items()))).encode())
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            while block := f.read(1 << 20):
                digest.update(block)
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hone", "torch")
    kept = os.path.join(cache, digest.hexdigest()[:32])
    if not os.path.exists(os.path.join(kept, "graph.so")):
        os.makedirs(cache, exist_ok=True)
        made = tempfile.mkdtemp(dir=cache)
        try:
            tools.build(os.path.join(folder, "graph.onnx"), os.path.join(made, "graph"), **given).close()
            os.rename(made, kept)
        except OSError:
            if not os.path.exists(os.path.join(kept, "graph.so")):  # another process was faster
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return Model(os.path.join(kept, "graph.so"))


def _to_numpy(x):
    x = x.detach().contiguous()
    return x.view(torch.uint16).numpy() if x.dtype == torch.bfloat16 else x.numpy()


def _torch_type(port):
    return torch.bfloat16 if port.type == "bf16" else torch.from_numpy(np.empty(0, port.dtype)).dtype


_REQUIRES_GRAD, _VERSION, _FORM = operator.attrgetter("requires_grad"), operator.attrgetter("_version"), operator.attrgetter("shape", "dtype")


class _Runner:
    """Called as the graph: its library, or the graph itself where that does not hold."""

    def __init__(self, graph, examples, given):
        frozen = _Frozen(graph, examples)
        self.graph, self.inputs = graph, frozen.inputs
        self.constants = [x for x in examples if _is_constant(x)]
        self.versions = list(map(_VERSION, self.constants))
        self.is_pure = not any(node.op == "call_function" and "rand" in getattr(node.target, "__name__", "") for node in graph.graph.nodes)
        if not self.is_pure:
            raise NotImplementedError("a graph with random numbers")
        with tempfile.TemporaryDirectory() as folder:
            _export(frozen, examples, os.path.join(folder, "graph.onnx"))
            self.model = _library(folder, given)
        if len(self.model.inputs) != len(self.inputs):
            raise NotImplementedError("an input that the exporter left out")
        self.types = [_torch_type(p) for p in self.model.outputs]
        self.forms = None  # shape and type of each input of which all sizes are fixed
        if self.model.is_fixed:
            self.forms = [(p.shape, _torch_type(p)) for p in self.model.inputs]
            self.results = [torch.empty(p.shape, dtype=t) for p, t in zip(self.model.outputs, self.types)]

    def __call__(self, *args):  # maps and no comprehensions: a small graph takes less time than the frames of these would
        tensors = [args[i] for i in self.inputs]
        wants_gradient = torch.is_grad_enabled() and any(map(_REQUIRES_GRAD, tensors + self.constants))
        if wants_gradient or list(map(_VERSION, self.constants)) != self.versions:
            return self.graph(*args)
        if list(map(_FORM, tensors)) == self.forms:
            tensors = list(map(torch.Tensor.contiguous, tensors))
            made = tuple(map(torch.empty_like, self.results))
            self.model.run_at(list(map(torch.Tensor.data_ptr, tensors)), list(map(torch.Tensor.data_ptr, made)))
            return made
        results = (torch.from_numpy(y) for y in self.model(*map(_to_numpy, tensors)))
        return tuple(y.view(t) if t == torch.bfloat16 else y for y, t in zip(results, self.types))


def backend(graph, examples, options=None, **_):
    """What torch.compile calls for each graph: returns a function of the same inputs."""
    given = {"threads": torch.get_num_threads(), **(options or {})}
    try:
        if any(isinstance(x, torch.Tensor) and x.device.type != "cpu" for x in examples):
            raise NotImplementedError("tensors that are not on the CPU")
        return _Runner(graph, examples, given)
    except Exception as e:  # whatever exporters raise: the graph itself is always right
        warnings.warn(f"hone: this graph runs eagerly: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}", stacklevel=2)
        return graph.forward
