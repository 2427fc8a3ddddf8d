"""Operators of ai.onnx.ml, one a model, of random parameters: the file, the passes' standard operators and the exported model against
ONNX Runtime's own kernels. ml.py [SEED]."""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper as h, numpy_helper

ort.set_default_logger_severity(4)
seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
rng = np.random.default_rng(seed)
f32 = lambda *s: rng.standard_normal(s).astype(np.float32)
ints = lambda lo, hi, *s: rng.integers(lo, hi, s)
fl = lambda a: [float(v) for v in np.ravel(a)]
results = 0


def report(what, why=""):
    global results
    results += 1
    print(f"{'not ' if why else ''}ok - {what}{why}", flush=True)


def run(cmd):
    p = subprocess.run(["bash", "-o", "pipefail", "-c", cmd], capture_output=True, text=True, timeout=300)
    return p.returncode, p.stderr.strip()


def compare(got, want, tol):
    for k, w in want.items():
        g = got[k]
        assert g.shape == w.shape and g.dtype == w.dtype, (k, g.dtype, g.shape, w.dtype, w.shape)
        if w.dtype.kind in "iub":
            assert (g == w).all(), (k, g.ravel()[:6], w.ravel()[:6])
        else:
            same = (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= tol * np.maximum(1, np.abs(w))) | (g == w)
            assert same.all(), (k, g[~same][:5], w[~same][:5])


def check(what, model, feed, tol=1e-5, want=None, keep=None, native=True):
    """want: what ONNX's text says, where ONNX Runtime does otherwise. keep: outputs that are compared. native: as a library, too."""
    onnx.save(model, "c.onnx")
    np.savez("in.npz", **feed)
    why = ""
    try:
        names = [o.name for o in model.graph.output if keep is None or o.name in keep]
        if want is None:
            want = dict(zip(names, ort.InferenceSession("c.onnx", providers=["CPUExecutionProvider"]).run(names, feed)))
        rc, err = run("run-ref -q -i in.npz c.onnx -o a.npz && "
              "ge-import -q c.onnx | ge-shape | ge-fold | ge-simplify -o s.g && run-ref -q -i in.npz s.g -o b.npz && "
                      "ge-export -q -o e.onnx s.g" + (" && hone build -q -o c c.onnx && run-dev -q c.so -i in.npz -o d.npz" if native else ""))
        assert rc == 0, err
        onnx.checker.check_model("e.onnx", full_check=True)
        for file in "abd" if native else "ab":
            compare(np.load(file + ".npz"), want, tol)
        back = ort.InferenceSession("e.onnx", providers=["CPUExecutionProvider"]).run(names, feed)
        compare(dict(zip(names, back)), want, tol)
    except Exception as e:
        why = f": {type(e).__name__}: {str(e)[:600]}"
    report(what, why)


def one(what, op, feeds, outs=("y",), tol=1e-5, want=None, consts={}, version=3, native=False, **attrs):
    feed = {f"x{i}": a for i, a in enumerate(feeds)}
    init = [numpy_helper.from_array(a, n) for n, a in consts.items()]
    g = h.make_graph([h.make_node(op, [*feed, *consts], list(outs), domain="ai.onnx.ml", **attrs)], "g",
                     [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feed.items()],
                     [onnx.ValueInfoProto(name=o) for o in outs], init)
    sets = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", version)]
    check(what, h.make_model(g, opset_imports=sets, ir_version=8), feed, tol, want, native=native)


def numeric():
    c = int(rng.integers(2, 6))
    for t in (np.float32, np.float64, np.int64, np.int32):
        x = (f32(4, c) * 5).astype(t)
        one(f"Scaler of {t.__name__}", "Scaler", [x], offset=fl(f32(c)), scale=fl(f32(c)))
        one(f"Binarizer of {t.__name__}", "Binarizer", [x], threshold=0.5) if t in (np.float32,) else None
        w, b = f32(3, c), f32(3)
        one(f"LinearRegressor of {t.__name__}", "LinearRegressor", [x], tol=1e-5 * 10, coefficients=fl(w), intercepts=fl(b), targets=3, native=t == np.float64,
            want={"y": (x.astype(np.float64) @ w.T.astype(np.float64) + b).astype(np.float32)})
        for norm in ("MAX", "L1", "L2"):
            one(f"Normalizer {norm} of {t.__name__}", "Normalizer", [x], norm=norm, native=t == np.float32)
    one("Scaler, one for all", "Scaler", [f32(3, 2)], offset=[0.5], scale=[2.0])
    one("Normalizer of zeros", "Normalizer", [np.zeros((2, 3), np.float32)], norm="L2")
    x = f32(5, 3)
    x[0, 1] = x[4, 2] = np.nan
    one("Imputer of NaN", "Imputer", [x], imputed_value_floats=fl(f32(3)), replaced_value_float=float("nan"), native=True)
    one("Imputer of a number", "Imputer", [np.where(np.isnan(x), np.float32(-1), x)], imputed_value_floats=[4.5], replaced_value_float=-1.0)
    one("Imputer of integers", "Imputer", [ints(0, 3, 4, 3)], imputed_value_int64s=[7, 8, 9], replaced_value_int64=2)
    one("OneHotEncoder of integers", "OneHotEncoder", [ints(0, 5, 4, 2)], cats_int64s=[3, 1, 4], native=True)
    one("OneHotEncoder of floats", "OneHotEncoder", [(f32(4, 2) * 3)], cats_int64s=[0, 1, 2])
    one("FeatureVectorizer", "FeatureVectorizer", [f32(3, 2), f32(3, 4)], inputdimensions=[2, 4])
    one("FeatureVectorizer of integers", "FeatureVectorizer", [ints(0, 9, 3, 2)], inputdimensions=[2])
    one("ArrayFeatureExtractor", "ArrayFeatureExtractor", [f32(3, 5)], consts={"at": np.array([[4, 0, 0]])})
    one("ArrayFeatureExtractor of a vector", "ArrayFeatureExtractor", [f32(5)], consts={"at": np.array([4, 1])})


TOL = {"NONE": 1e-4, "LOGISTIC": 1e-4, "SOFTMAX": 1e-4, "SOFTMAX_ZERO": 1e-4, "PROBIT": 3e-3}  # the formula for probit cancels near 0


def linear():
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"):
        x, c = f32(6, 4), 3
        w, b = (f32(c, 4), f32(c)) if post != "PROBIT" else (f32(c, 4) * np.float32(0.02), np.full(c, 0.5, np.float32))
        one(f"LinearClassifier {post}", "LinearClassifier", [x], ("l", "s"), TOL[post], native=post in ("NONE", "PROBIT"), coefficients=fl(w), intercepts=fl(b), classlabels_ints=[7, 3, 5], post_transform=post)
        one(f"LinearRegressor {post}", "LinearRegressor", [x], tol=TOL[post], coefficients=fl(w), intercepts=fl(b), targets=3, post_transform=post)
    w, b = f32(4), f32(1)
    x = f32(6, 4)
    one("LinearClassifier of one row", "LinearClassifier", [x], ("l", "s"), coefficients=fl(w), intercepts=fl(b), classlabels_ints=[5, 9])
    s = x.astype(np.float64) @ w + b
    p = 1 / (1 + np.exp(-s))
    one("LinearClassifier of one row, LOGISTIC", "LinearClassifier", [x], ("l", "s"), coefficients=fl(w), intercepts=fl(b), classlabels_ints=[5, 9], post_transform="LOGISTIC",
        want={"l": np.where(s > 0, 9, 5), "s": np.stack([1 - p, p], 1).astype(np.float32)})
    one("LinearRegressor LOGISTIC of one", "LinearRegressor", [x], coefficients=fl(w), intercepts=fl(b), post_transform="LOGISTIC", want={"y": p.astype(np.float32)[:, None]})


def encoders():
    one("LabelEncoder int64 to float", "LabelEncoder", [ints(0, 6, 5, 2)], keys_int64s=[1, 3, 4], values_floats=[0.5, 1.5, 2.5], default_float=-2.0)
    x = rng.choice(np.array([1.5, 2.5, np.nan], np.float32), 8)
    one("LabelEncoder float to int64", "LabelEncoder", [x], keys_floats=[1.5, float("nan")], values_int64s=[10, 20], default_int64=-7, native=True,
        want={"y": np.where(np.isnan(x), 20, np.where(x == 1.5, 10, -7))})
    x = ints(0, 3, 9)
    one("LabelEncoder, a key twice", "LabelEncoder", [x], keys_int64s=[1, 2, 1], values_int64s=[10, 20, 30], want={"y": np.array([-1, 30, 20])[x]})
    one("LabelEncoder int64 to int64", "LabelEncoder", [ints(0, 6, 9)], keys_int64s=[5, 0, 2], values_int64s=[1, 2, 3])
    one("LabelEncoder of tensors", "LabelEncoder", [ints(0, 6, 9)], version=4, keys_tensor=numpy_helper.from_array(np.array([5, 0, 2])),
        values_tensor=numpy_helper.from_array(np.array([0.25, 0.5, 0.75])), default_tensor=numpy_helper.from_array(np.array([9.0])))


def vectors():
    for kernel, n in (("LINEAR", 5), ("POLY", 5), ("RBF", 5), ("SIGMOID", 5), ("LINEAR", 0)):
        one(f"SVMRegressor {kernel} of {n}", "SVMRegressor", [f32(4, 3)], tol=1e-4, kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], n_supports=n, rho=fl(f32(1)),
            coefficients=fl(f32(n or 3)), **({"support_vectors": fl(f32(n, 3))} if n else {}))


def chain():
    """Types before an operator are looked for once a node, not once a path."""
    nodes = [h.make_node("Add", [f"a{k}", f"a{k}"], [f"a{k + 1}"]) for k in range(60)]
    nodes.append(h.make_node("Scaler", ["a60"], ["y"], domain="ai.onnx.ml", scale=[2.0]))
    g = h.make_graph(nodes, "g", [h.make_tensor_value_info("a0", onnx.TensorProto.FLOAT, None)], [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)]), "chain.onnx")
    rc, err = run("timeout 20 ge-import -q chain.onnx >chain.g")
    report("Scaler behind 60 sums of unknown rank", f": {rc} {err}" if rc else "")


if __name__ == "__main__":
    for part in (numeric, linear, encoders, vectors, chain):
        part()
    print(f"# seed {seed}: {results} results")
