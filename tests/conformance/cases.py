"""ONNX's conformance cases: those of the installed onnx, made by its code, and a folder of them, such as Debian's libonnx-testdata."""

import glob
import os
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
DEBIAN = "/usr/share/libonnx-testdata/data"
BF16 = onnx.TensorProto.BFLOAT16
# Files whose results are not those of their model by ONNX's text, and why: later releases of onnx have others.
DOUBTS = {("debian", "test_adam_multiple"): "the results were made with an epsilon of 0.01 that the model does not have"}


class Case:
    """What to run: model() is a ModelProto, sets() are pairs of lists, what goes in and what must come out, in the model's order. doubt:
    why other results may be right, or None. options: of hone build."""

    def __init__(self, source, name, model, sets, rtol=1e-3, atol=1e-7, options=()):
        self.source, self.name, self.model, self.sets, self.rtol, self.atol, self.options = source, name, model, sets, rtol, atol, options
        self.doubt = DOUBTS.get((source, name))


def element_type(value):
    return value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0


def plain(x, value):
    """A value of a case as an array, a list of them, or None. Old data has bfloat16 as numbers of 16 bits."""
    if isinstance(x, onnx.TensorProto):
        x = numpy_helper.to_array(x)
    elif isinstance(x, onnx.SequenceProto):
        x = numpy_helper.to_list(x)
    elif isinstance(x, onnx.OptionalProto):
        x = numpy_helper.to_optional(x)
    if x is None or isinstance(x, (list, tuple, dict)):
        return x
    x = np.asarray(x)
    if element_type(value) == BF16 and x.dtype == np.uint16:
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return x


def read(path, value):
    kind = value.type.WhichOneof("value")
    proto = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
    with open(path, "rb") as f:
        proto.ParseFromString(f.read())
    return plain(proto, value)


def read_set(folder, values, which):
    """input_0.pb, input_1.pb, ... of one folder."""
    n = len(glob.glob(os.path.join(folder, which + "_*.pb")))
    return [read(os.path.join(folder, "%s_%d.pb" % (which, i)), v) for i, v in zip(range(n), values)]


def of_folder(source, name, folder):
    def model():
        return onnx.load(os.path.join(folder, "model.onnx"))

    def sets():
        g = model().graph
        return [(read_set(d, g.input, "input"), read_set(d, g.output, "output")) for d in sorted(glob.glob(os.path.join(folder, "test_data_set_*")))]

    return Case(source, name, model, sets)


def of_folders(source, data):
    """data/KIND/NAME/model.onnx; what has no model in it (those that are fetched) is left out."""
    for kind in KINDS + ("real",):
        for path in sorted(glob.glob(os.path.join(data, kind, "*", "model.onnx"))):
            name = os.path.basename(os.path.dirname(path))
            yield of_folder(source, name if kind == "node" else "%s/%s" % (kind, name), os.path.dirname(path))


def of_light(source, path):
    """Real networks with weights that are made, for an input that is made: as onnx's own runner makes it. Their weights are listed among the
    inputs; they are constants."""

    def model():
        return onnx.load(path)

    def sets():
        g = model().graph
        made = {x.name for x in g.initializer}
        shapes = [[d.dim_value or 1 for d in v.type.tensor_type.shape.dim] for v in g.input if v.name not in made]
        x = [(np.arange(np.prod(s)).reshape(s) / np.prod(s)).astype(np.float32) for s in shapes]
        return [(x, [read(path.replace(".onnx", "_output_0.pb"), g.output[0])])]

    return Case(source, "light/" + os.path.basename(path)[:-5].replace("light_", "test_"), model, sets, rtol=2e-3, options=("--const-inputs",))


def of_wheel(source):
    """The cases that the installed onnx makes, and those it brings as files."""
    from onnx.backend.test.case.node import collect_testcases

    def made(case):
        def sets():
            g = case.model.graph
            return [([plain(x, v) for x, v in zip(i, g.input)], [plain(x, v) for x, v in zip(o, g.output)]) for i, o in case.data_sets]

        return Case(source, case.name, lambda: case.model, sets, case.rtol, case.atol)

    warnings.simplefilter("ignore")
    for case in sorted(collect_testcases(None), key=lambda c: c.name):
        yield made(case)
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    yield from of_folders(source, data)
    for path in sorted(glob.glob(os.path.join(data, "light", "light_*.onnx"))):
        yield of_light(source, path)


def collect(sources, words):
    """All cases of these sources with one of these words in their names; without words all."""
    for source in sources:
        found = of_wheel(source) if source == "wheel" else of_folders(source, DEBIAN if source == "debian" else source)
        for case in found:
            if not words or any(w in case.name for w in words):
                yield case
