"""The conformance cases of an installed onnx, written to DIR as tests/op/ops.c reads them (HONE_ONNX_DATA=DIR):
KIND/CASE/model.onnx, test_data_set_0/input_N.pb, output_N.pb. The onnx package computes its node cases when asked."""

import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

KINDS = ["simple", "pytorch-operator", "pytorch-converted"]


def proto(x, info):
    if not hasattr(x, "dtype") and hasattr(x, "SerializeToString"):
        return x
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(x, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(x, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(x, info.name)
    return x if isinstance(x, TensorProto) else numpy_helper.from_array(np.asarray(x), info.name)


def write(case, dir):
    os.makedirs(dir + "/test_data_set_0", exist_ok=True)
    onnx.save(case.model, dir + "/model.onnx")
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
        for i, (x, info) in enumerate(zip(values, infos)):
            if x is not None:
                with open("%s/test_data_set_0/%s_%d.pb" % (dir, kind, i), "wb") as f:
                    f.write(proto(x, info).SerializeToString())


def main():
    to = sys.argv[1]
    warnings.simplefilter("ignore")
    cases = collect_testcases(None)
    for case in cases:
        write(case, os.path.join(to, "node", case.name))
    data = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data")
    for kind in KINDS:
        if os.path.isdir(os.path.join(data, kind)):
            shutil.copytree(os.path.join(data, kind), os.path.join(to, kind), dirs_exist_ok=True)
    print("%d node cases of onnx %s" % (len(cases), onnx.__version__))


if __name__ == "__main__":
    main()
