"""hone in Python: compile ONNX models to native libraries and run them on numpy arrays.

    import hone
    net = hone.build("net.onnx", "out/net", set={"batch": 1})   # or hone.load("out/net.so")
    y, = net(x)                                                 # arrays in, a list of arrays out
    net.run({"input": x})["output"]                             # the same by name

hone.simplify and hone.quantize are hone's verbs of that name. torch.compile(model, backend="hone"): hone.dynamo.
"""
from .tools import HoneError, build, quantize, simplify

__version__ = "0.1.0"
__all__ = ["HoneError", "Model", "build", "load", "quantize", "simplify"]


def load(path, weights=None, threads=0):
    """A compiled model: path is that of the .so; its weights lie beside it. threads: at most so many."""
    from .library import Model
    return Model(path, weights, threads)


def __getattr__(name):
    if name == "Model":
        from .library import Model
        return Model
    raise AttributeError(f"module 'hone' has no attribute '{name}'")
