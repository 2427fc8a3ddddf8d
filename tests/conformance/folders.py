"""The cases that the installed onnx makes, as folders like those of Debian's libonnx-testdata: folders.py FOLDER [WORD...]. Sequences
and optionals are left out of the data, not of the models."""

import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import cases


def main(folder, words):
    for case in cases.collect(["wheel"], words):
        if "/" in case.name:
            continue  # a file already
        at = os.path.join(folder, "node", case.name, "test_data_set_0")
        os.makedirs(at)
        model = case.model()
        onnx.save(model, os.path.join(at, "..", "model.onnx"))
        for i, (x, v) in enumerate(zip(case.sets()[0][0], model.graph.input)):
            if not isinstance(x, (list, dict)) and x is not None:
                with open(os.path.join(at, "input_%d.pb" % i), "wb") as f:
                    f.write(numpy_helper.from_array(np.asarray(x), v.name).SerializeToString())


main(sys.argv[1], sys.argv[2:])
