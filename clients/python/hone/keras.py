"""Models of Keras and TensorFlow as libraries of hone, through tf2onnx.

    python3 -m hone.keras net.keras [-o STEM] [--onnx FILE] [OPTION of hone build]...

The model is a .keras or .h5 file of Keras, the folder of a SavedModel, or a .tflite file. --onnx also keeps the ONNX model, for hone's other
verbs. In Python, hone.build("net.keras", "out/net") does the same, and takes a keras.Model, too; hone.keras.to_onnx only exports.

Wants tensorflow (or tensorflow-cpu), tf2onnx and onnx."""
import os
import subprocess
import sys
import tempfile

from . import tools

OPSET = 18  # the newest of tf2onnx


def is_model(model):
    """True if it is Keras' or TensorFlow's: a path of the four kinds, or an object that can be exported as one."""
    if not isinstance(model, (str, os.PathLike)):
        return hasattr(model, "export") and hasattr(model, "inputs")
    path = os.fspath(model)
    return path.endswith((".keras", ".h5", ".hdf5", ".tflite")) or os.path.exists(os.path.join(path, "saved_model.pb"))


# Both are programs rather than libraries, and say much on the way: a process of their own, whose last words count if it fails.
_EXPORT = """
import runpy, sys
model, folder, *words = sys.argv[1:]
try:
    import keras, tensorflow, tf2onnx
except ImportError as e:
    print(f"{e}: pip install tensorflow-cpu tf2onnx")
    sys.exit(69)
if model:
    try:
        net = keras.models.load_model(model, compile=False)
    except Exception as e:
        print("Keras:", str(e).splitlines()[0])
        sys.exit(65)
    net.export(folder, format="tf_saved_model", verbose=False)
sys.argv = ["tf2onnx", *words]
runpy.run_module("tf2onnx.convert", run_name="__main__")
"""


def _export(name, *words):
    environment = {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    done = subprocess.run([sys.executable, "-c", _EXPORT, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    if done.returncode:
        said = done.stdout.strip().splitlines() or [f"tf2onnx ended with {done.returncode}"]
        raise tools.HoneError(f"{name}: {said[-1]}", done.returncode if done.returncode in (65, 69) else 70)


def _graphs(graph):
    """A graph and those within it: branches and bodies."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs] if attribute.g.node or attribute.graphs else ():
                yield from _graphs(inner)


def _write_erfc(graph, helper):
    """Erfc, which Keras' GELU is made of, is no operator of ONNX: 1 - Erf."""
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        if node.op_type != "Erfc" or node.domain:
            graph.node.append(node)
            continue
        one, erf = node.output[0] + "/one", node.output[0] + "/erf"
        graph.node.extend([helper.make_node("Erf", node.input, [erf], erf), helper.make_node("Constant", [], [one], one, value_float=1.0),
                           helper.make_node("CastLike", [one, erf], [one + "/cast"], one + "/cast"),
                           helper.make_node("Sub", [one + "/cast", erf], node.output, node.name)])


def _mend(path):
    """Names the open sizes of inputs: batch the first, the others after input and axis; tf2onnx numbers them by the node. Writes operators that
    ONNX lacks in those it has."""
    import onnx
    model = onnx.load(path)
    for value in model.graph.input:
        for axis, size in enumerate(value.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                size.dim_param = "batch" if axis == 0 else f"{value.name.replace(':', '_')}_{axis}"
    for value in [*model.graph.output, *model.graph.value_info]:  # hone works these out
        for size in value.type.tensor_type.shape.dim:
            if not size.HasField("dim_value"):
                size.ClearField("dim_param")
    for graph in _graphs(model.graph):
        _write_erfc(graph, onnx.helper)
    onnx.save(model, path)


def to_onnx(model, path):
    """Writes a model of Keras, a path or an object, as ONNX. Inputs stay as they are: images with their channels last."""
    is_path = isinstance(model, (str, os.PathLike))
    name = os.fspath(model) if is_path else getattr(model, "name", "model")
    if is_path and not os.path.exists(name):
        raise tools.HoneError(f"{name}: No such file or directory", 66)
    with tempfile.TemporaryDirectory() as folder:
        file, kind, source = "", "--saved-model", folder
        if not is_path:
            model.export(folder, format="tf_saved_model", verbose=False)
        elif name.endswith(".tflite"):
            kind, source = "--tflite", name
        elif os.path.isdir(name):
            source = name
        else:
            file = name
        _export(name, file, folder, "--opset", str(OPSET), kind, source, "--output", path)
    _mend(path)


def build(model, stem, **given):
    """hone.build of a model of Keras."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(os.fspath(stem)) + ".onnx")
        to_onnx(model, path)
        return tools.build(path, stem, **given)


def main(words):
    models = [w for w in words if not w.startswith("-") and is_model(w)]
    if len(models) != 1 or "--help" in words:
        print(__doc__.strip(), file=sys.stdout if "--help" in words else sys.stderr)
        return 0 if "--help" in words else 64
    rest = [w for w in words if w != models[0]]
    stem = os.path.splitext(os.path.basename(os.path.abspath(models[0])))[0]
    kept = None
    if "--onnx" in rest and rest.index("--onnx") + 1 < len(rest):
        at = rest.index("--onnx")
        kept = rest[at + 1]
        del rest[at:at + 2]
    if not any(w.startswith("-o") or w.startswith("--output=") for w in rest):
        rest += ["-o", stem]
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = kept or os.path.join(folder, stem + ".onnx")
            to_onnx(models[0], path)
            return subprocess.run([tools.command(), "build", *rest, "--", path], env=tools.environment()).returncode
    except (tools.HoneError, OSError) as e:
        print(f"hone.keras: {e}", file=sys.stderr)
        return getattr(e, "code", 66)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
