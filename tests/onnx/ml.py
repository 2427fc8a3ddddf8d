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


def compare(got, want, tols):
    for k, w in want.items():
        g, tol = got[k], tols[k] if isinstance(tols, dict) else tols
        if np.asarray(w).dtype == object:
            g, w = g.astype(str), w.astype(str)
        assert g.shape == w.shape and g.dtype.kind == w.dtype.kind and (g.dtype == w.dtype or w.dtype.kind == "U"), (k, g.dtype, g.shape, w.dtype, w.shape)
        if w.dtype.kind in "iubU":
            assert (g == w).all(), (k, g.ravel()[:6], w.ravel()[:6])
        else:
            same = (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= tol * np.maximum(1, np.abs(w))) | (g == w)
            assert same.all(), (k, g[~same][:5], w[~same][:5])


class together:
    """Cases of `one` within become parts of few models, so that one build compares them all: those that are exported, and those that are not."""
    cases = None

    def __enter__(self):
        together.cases = []

    def __exit__(self, *failed):
        cases, together.cases = together.cases, None
        for key in {c["key"]: 0 for c in cases} if not failed[0] else ():
            self.run(*key, [c for c in cases if c["key"] == key])

    def run(self, native, export, version, cases):
        nodes, inputs, feed, tol, want = [], [], {}, {}, {}
        for k, c in enumerate(cases):
            names = {n: f"{k}{n}" for n in (*c["feed"], *c["outs"])}
            feed |= {names[n]: a for n, a in c["feed"].items()}
            inputs += [h.make_tensor_value_info(names[n], h.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in c["feed"].items()]
            nodes.append(h.make_node(c["op"], [names[n] for n in c["feed"]], [names[n] for n in c["outs"]], domain="ai.onnx.ml", **c["attrs"]))
            tol |= {names[n]: c["tol"] for n in c["outs"]}
        g = h.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=n) for n in tol])
        sets = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", version)]
        check("; ".join(c["what"] for c in cases), h.make_model(g, opset_imports=sets, ir_version=8), feed, tol, native=native, export=export)


def check(what, model, feed, tol=1e-5, want=None, keep=None, native=True, export=True):
    """want: what ONNX's text says, where ONNX Runtime does otherwise. keep: outputs that are compared. native: as a library, too.
    export: exported, too; "read": but only read back, not for ONNX Runtime."""
    onnx.save(model, "c.onnx")
    np.savez("in.npz", **feed)
    why = ""
    try:
        names = [o.name for o in model.graph.output if keep is None or o.name in keep]
        if want is None:
            want = dict(zip(names, ort.InferenceSession("c.onnx", providers=["CPUExecutionProvider"]).run(names, feed)))
        rc, err = run("run-ref -q -i in.npz c.onnx -o a.npz && "
              "ge-import -q c.onnx | ge-shape | ge-fold | ge-simplify -o s.g && run-ref -q -i in.npz s.g -o b.npz && "
                      "ge-export -q -o e.onnx s.g".replace("ge-export", "ge-export" if export else "true") + (" && hone build -q " + ("" if native is True else native) + " -o c c.onnx && run-dev -q c.so -i in.npz -o d.npz" if native else ""))
        assert rc == 0, err
        for file in "abd" if native else "ab":
            compare(np.load(file + ".npz"), want, tol)
        if not export:
            return report(what)
        onnx.checker.check_model("e.onnx", full_check=True)
        if export == "read":
            rc, err = run("run-ref -q -i in.npz e.onnx -o e.npz")
            assert rc == 0, err
            compare(np.load("e.npz"), want, tol)
            return report(what)
        back = ort.InferenceSession("e.onnx", providers=["CPUExecutionProvider"]).run(names, feed)
        compare(dict(zip(names, back)), want, tol)
    except Exception as e:
        why = f": {type(e).__name__}: {str(e)[:600]}"
    report(what, why)


def one(what, op, feeds, outs=("y",), tol=1e-5, want=None, consts={}, version=3, native=False, export=True, **attrs):
    feed = {f"x{i}": a for i, a in enumerate(feeds)}
    if together.cases is not None and want is None and not consts:
        together.cases.append(dict(key=(native, export, version), what=what, op=op, feed=feed, outs=outs, tol=tol, attrs=attrs))
        return
    init = [numpy_helper.from_array(a, n) for n, a in consts.items()]
    g = h.make_graph([h.make_node(op, [*feed, *consts], list(outs), domain="ai.onnx.ml", **attrs)], "g",
                     [h.make_tensor_value_info(n, onnx.TensorProto.STRING if a.dtype.kind == "U" else h.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feed.items()],
                     [onnx.ValueInfoProto(name=o) for o in outs], init)
    sets = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", version)]
    check(what, h.make_model(g, opset_imports=sets, ir_version=8), feed, tol, want, native=native, export=export)


def numeric():
    with together():
        rows_of_numbers()


def rows_of_numbers():
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
    one("LinearRegressor of more coefficients than columns", "LinearRegressor", [f32(4, 2)], coefficients=fl(f32(3, 4)), intercepts=fl(f32(3)), targets=3)
    one("LinearClassifier of more coefficients than columns", "LinearClassifier", [f32(4, 2)], outs=("l", "s"), coefficients=fl(f32(3, 4)), intercepts=fl(f32(3)),
        classlabels_ints=[0, 1, 2])
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
    with together():
        transforms()
    one_row()


def transforms():
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"):
        x, c = f32(6, 4), 3
        w, b = (f32(c, 4), f32(c)) if post != "PROBIT" else (f32(c, 4) * np.float32(0.02), np.full(c, 0.5, np.float32))
        one(f"LinearClassifier {post}", "LinearClassifier", [x], ("l", "s"), TOL[post], native=post in ("NONE", "PROBIT"), coefficients=fl(w), intercepts=fl(b), classlabels_ints=[7, 3, 5], post_transform=post)
        one(f"LinearRegressor {post}", "LinearRegressor", [x], tol=TOL[post], coefficients=fl(w), intercepts=fl(b), targets=3, post_transform=post)


def one_row():
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
    keys = rng.permutation(20000)[:5000] - 10000
    keys[:2] = 2**62 + 1, -2**62
    one("LabelEncoder of many keys", "LabelEncoder", [np.concatenate([rng.choice(keys, 300), ints(-10000, 10000, 300), [2**62, 2**62 + 1]])],
        keys_int64s=keys.tolist(), values_int64s=rng.integers(-2**62, 2**62, 5000).tolist(), native=True)
    one("LabelEncoder of tensors", "LabelEncoder", [ints(0, 6, 9)], version=4, keys_tensor=numpy_helper.from_array(np.array([5, 0, 2])),
        values_tensor=numpy_helper.from_array(np.array([0.25, 0.5, 0.75])), default_tensor=numpy_helper.from_array(np.array([9.0])))


def vectors():
    with together():
        regressors_of_vectors()


def regressors_of_vectors():
    for kernel, n in (("LINEAR", 5), ("POLY", 5), ("RBF", 5), ("SIGMOID", 5), ("LINEAR", 0)):
        one(f"SVMRegressor {kernel} of {n}", "SVMRegressor", [f32(4, 3)], tol=1e-4, kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], n_supports=n, rho=fl(f32(1)),
            coefficients=fl(f32(n or 3)), **({"support_vectors": fl(f32(n, 3))} if n else {}))


def grow(features, depth, modes, values):
    """A random tree: nested (feature, mode, value, nan, true, false) and leaf numbers."""
    count = [0]

    def node(d):
        if d == 0 or (d < depth and rng.random() < 0.2):
            count[0] += 1
            return count[0] - 1
        return (int(rng.integers(features)), modes[rng.integers(len(modes))], float(rng.choice(values)), int(rng.integers(2)), node(d - 1), node(d - 1))

    return node(depth), count[0]


def forest(trees, features, targets, votes, prefix, modes, values, positive=False, only=None, depth=5):
    """Attributes of TreeEnsembleRegressor or Classifier."""
    rows, cast = [], []
    for t in range(trees):
        tree, leaves = grow(features, int(rng.integers(0, depth)), modes, values)
        flat = []

        def walk(n):
            flat.append(n)
            me = len(flat) - 1
            if isinstance(n, tuple):
                flat[me] = (n[:4], walk(n[4]), walk(n[5]))
            return me

        walk(tree)
        for k, n in enumerate(flat):
            if isinstance(n, tuple):
                (f, m, v, nan), yes, no = n
                rows.append((t, k, f, m, v, yes, no, nan))
            else:
                rows.append((t, k, 0, "LEAF", 0.0, 0, 0, 0))
                for i in rng.choice(targets if only is None else only, votes, replace=False) if votes > 1 else [int(rng.integers(targets)) if only is None else only[0]]:
                    w = float(np.float32(rng.standard_normal()))
                    cast.append((t, k, int(i), abs(w) if positive else w))
    t, n, f, m, v, yes, no, nan = zip(*rows)
    a = dict(nodes_treeids=t, nodes_nodeids=n, nodes_featureids=f, nodes_modes=m, nodes_values=v, nodes_truenodeids=yes, nodes_falsenodeids=no, nodes_missing_value_tracks_true=nan)
    t, n, i, w = zip(*cast)
    a.update({prefix + "_treeids": t, prefix + "_nodeids": n, prefix + "_ids": i, prefix + "_weights": w})
    return a


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def trees():
    with together():
        forests()
    some_trees()


def forests():
    values = [-1.0, -0.5, 0.0, 0.5, 1.0]
    rows = lambda t, n=17: rng.choice(np.array(values + [np.nan]), (n, 4)).astype(t)
    for depth, modes in ((5, MODES), (7, ["BRANCH_LT"]), (9, MODES), (8, ["BRANCH_LEQ"])):  # from 32 rows on small trees are computed otherwise
        one(f"TreeEnsembleRegressor of many rows, depth {depth}", "TreeEnsembleRegressor", [rows(np.float32, 75)], native=True, export=False, n_targets=2,
            **forest(9, 4, 2, int(rng.integers(1, 3)), "target", modes, values, depth=depth))
    for t in (np.float32, np.float64):
        for how in ("SUM", "AVERAGE", "MIN", "MAX"):
            a = forest(9, 4, 3, 3, "target", MODES if t == np.float32 else ["BRANCH_LEQ"], values)
            base = {} if how in ("MIN", "MAX") else {"base_values": fl(f32(3))}
            one(f"TreeEnsembleRegressor {how} of {t.__name__}", "TreeEnsembleRegressor", [rows(t)], native=True, export=how not in ("MIN", "MAX"), n_targets=3, aggregate_function=how, **base, **a)
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        for labels in ({"classlabels_int64s": [7, 3, 5]}, {"classlabels_strings": ["a", "b", "c"]}):
            one(f"TreeEnsembleClassifier {post} {[*labels][0]}", "TreeEnsembleClassifier", [rows(np.float32)], ("l", "s"), TOL[post], native=True,
                post_transform=post, **labels, **forest(9, 4, 3, 3, "class", ["BRANCH_LEQ"], values))
    for positive in (True, False):
        for post in ("NONE", "LOGISTIC") if not positive else ("NONE",):
            one(f"TreeEnsembleClassifier {post} of one score, {'' if positive else 'not '}positive", "TreeEnsembleClassifier", [rows(np.float32)], ("l", "s"), TOL[post], native=True,
                post_transform=post, classlabels_int64s=[4, 2], base_values=[0.125], **forest(5, 4, 1, 1, "class", MODES, values, positive))


def some_trees():
    values = [-1.0, -0.5, 0.0, 0.5, 1.0]
    x = rng.choice(np.array(values + [np.nan]), (17, 4)).astype(np.float32)
    a = forest(3, 4, 2, 2, "class", ["BRANCH_LEQ"], values)
    one("TreeEnsembleRegressor of the same trees", "TreeEnsembleRegressor", [x], native=True, n_targets=2, **{k.replace("class_", "target_"): v for k, v in a.items()})
    shared = dict(nodes_treeids=[0] * 6, nodes_nodeids=list(range(6)), nodes_featureids=[0, 1, 2, 0, 0, 0], nodes_values=[0.1, -0.2, 0.3, 0, 0, 0],
                  nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"], nodes_truenodeids=[1, 3, 1, 0, 0, 0], nodes_falsenodeids=[2, 4, 5, 0, 0, 0],
                  target_treeids=[0] * 3, target_nodeids=[3, 4, 5], target_ids=[0] * 3, target_weights=[1.0, 2.5, -3.0])
    one("TreeEnsembleRegressor of a subtree that two nodes lead to", "TreeEnsembleRegressor", [x], native=True, export=False, n_targets=1, **shared)
    one("TreeEnsembleRegressor of the same trees again", "TreeEnsembleRegressor", [x], native=True, n_targets=2, **{k.replace("class_", "target_"): v for k, v in a.items()})
    s = np.load("a.npz")["y"]
    one("TreeEnsembleClassifier of two classes: the better one", "TreeEnsembleClassifier", [x], ("l", "s"), want={"l": np.array([8, 9])[s.argmax(1)], "s": s}, classlabels_int64s=[8, 9], **a)
    bad(forest(2, 4, 1, 1, "target", ["BRANCH_LEQ"], values))


def bad(a):
    """Trees that are none: one line that says so."""
    def broken(what, words, **change):
        b = dict(a, **change)
        g = h.make_graph([h.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **b)], "g",
                         [h.make_tensor_value_info("x", 1, (3, 4))], [onnx.ValueInfoProto(name="y")])
        onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), "c.onnx")
        rc, err = run("ge-import -q c.onnx -o c.g")
        report(f"trees with {what}", "" if rc == 65 and words in err and err.count("\n") == 0 else f": {rc} {err[:300]}")

    three = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], nodes_values=[0.0] * 3,
                 nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 2, 0], nodes_missing_value_tracks_true=[0, 0, 0], target_treeids=[0], target_nodeids=[2], target_ids=[0], target_weights=[1.0])
    broken("a cycle", "no tree has a root", **three)
    broken("a node that leads to itself", "leads back to itself", **dict(three, nodes_truenodeids=[0, 0, 0], nodes_falsenodeids=[1, 2, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                                                                        target_nodeids=[1]))
    broken("a cycle beside a tree", "leads back to itself", **dict(three, nodes_truenodeids=[2, 1, 0], nodes_falsenodeids=[2, 2, 0]))
    broken("a child that is not there", "there is no node 77 in tree 0", **dict(three, nodes_truenodeids=[77, 2, 0]))
    broken("a node twice", "is there twice", **dict(three, nodes_nodeids=[0, 0, 2]))
    broken("a feature that is none", "a node of feature -1", **dict(three, nodes_featureids=[-1, 0, 0]))
    g = h.make_graph([h.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **dict(a, nodes_featureids=[9] * len(a["nodes_featureids"])))], "g",
                     [h.make_tensor_value_info("x", 1, (3, 4))], [onnx.ValueInfoProto(name="y")])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), "c.onnx")
    rc, err = run("hone build -q -o c c.onnx")
    report("trees with a feature beyond the last, at build", "" if rc == 65 and "asks for feature 9 of 4" in err else f": {rc} {err[:300]}")
    broken("a vote for no target", "a vote for 5 of 1", target_ids=[5] * len(a["target_ids"]))
    broken("fewer weights", "weights of", target_weights=[1.0])
    broken("an unknown mode", "a node of the mode 'X'", nodes_modes=["X"] * len(a["nodes_modes"]))


def ensemble(t, how, post, targets=2):
    """TreeEnsemble of ai.onnx.ml 5, with sets of members. ONNX's reference implementation ends a set at 0 and leaves out the transform."""
    values = [-1.0, -0.5, 0.0, 0.5, 1.0]
    nodes, leaves, roots, members = [], [], [], []

    def add(n):
        if not isinstance(n, tuple):
            leaves.append((int(rng.integers(targets)), float(rng.standard_normal())))
            return len(leaves) - 1, 1
        k = len(nodes)
        nodes.append(None)
        yes, no = add(n[4]), add(n[5])
        nodes[k] = (n[0], n[1], n[2], n[3], *yes, *no)
        return k, 0

    for _ in range(4):
        tree = (0, 0, 0.0, 0, 0, 1)
        while not isinstance(tree, tuple) or tree == (0, 0, 0.0, 0, 0, 1):
            tree, _ = grow(4, 4, [0, 1, 2, 3, 4, 5, 6], values)
        roots.append(add(tree)[0])
    f, m, v, nan, yes, yl, no, nl = zip(*nodes)
    for k in m:
        if k == 6:
            members += [*rng.choice(values, int(rng.integers(1, 4)), replace=False), np.nan]
    tensor = lambda a, t: numpy_helper.from_array(np.array(a, t))
    ids, w = zip(*leaves)
    attrs = dict(n_targets=targets, aggregate_function=how, post_transform=post, tree_roots=roots, nodes_featureids=f, nodes_modes=tensor(m, np.uint8), nodes_splits=tensor(v, t),
                 nodes_missing_value_tracks_true=nan, nodes_truenodeids=yes, nodes_trueleafs=yl, nodes_falsenodeids=no, nodes_falseleafs=nl, leaf_targetids=ids, leaf_weights=tensor(w, t))
    if members:
        attrs["membership_values"] = tensor(members, t)
    x = rng.choice(np.array(values + [np.nan]), (19, 4)).astype(t)
    g = h.make_graph([h.make_node("TreeEnsemble", ["x0"], ["y"], domain="ai.onnx.ml", **attrs)], "g", [h.make_tensor_value_info("x0", h.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
                     [onnx.ValueInfoProto(name="y")])
    model = h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 5)], ir_version=8)
    sets = np.split(members, np.flatnonzero(np.isnan(members)) + 1) if members else []
    sets = dict(zip([k for k, mode in enumerate(m) if mode == 6], sets))
    holds = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal]

    def leaf(k, row):
        v = row[f[k]]
        is_so = nan[k] and np.isnan(v) or (v in sets[k] if m[k] == 6 else holds[m[k]](v, v.dtype.type(nodes[k][2])))
        k, end = (yes[k], yl[k]) if is_so else (no[k], nl[k])
        return leaves[k] if end else leaf(k, row)

    y = np.zeros((len(x), targets))
    for i, row in enumerate(x):
        for root in roots:
            target, weight = leaf(root, row)
            y[i, target] += weight / (1 if how else len(roots))
    e = np.exp(y)
    want = {"y": [y, e / e.sum(1, keepdims=True), e / (1 + e)][post].astype(t)}
    check(f"TreeEnsemble of {t.__name__}, aggregate {how}, transform {post}", model, {"x0": x}, 1e-5 if t != np.float16 else 5e-3, want, native=True, export="read" if members else True)  # ONNX Runtime takes only integers for members


def ensembles():
    for t in (np.float32, np.float64, np.float16):
        for how in (0, 1):
            ensemble(t, how, 0)
    ensemble(np.float32, 1, 1)
    ensemble(np.float32, 1, 2)


def machines():
    """SVMClassifier: pairs of classes, with probabilities and without."""
    with together():
        pairs_of_classes()
    w, b = f32(3, 4), f32(1)
    x = f32(6, 4)
    s = x @ w.T + b
    one("SVMClassifier, linear", "SVMClassifier", [x], ("l", "s"), 1e-4, coefficients=fl(w), rho=fl(b), classlabels_ints=[5, 7, 9], kernel_type="LINEAR",
        want={"l": np.array([5, 7, 9])[s.argmax(1)], "s": s})


def pairs_of_classes():
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        for classes in (2, 3, 5):
            count = rng.integers(1, 4, classes)
            n, pairs = int(count.sum()), classes * (classes - 1) // 2
            a = dict(kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], vectors_per_class=[int(c) for c in count], support_vectors=fl(f32(n, 3)), coefficients=fl(f32(classes - 1, n)),
                     rho=fl(f32(pairs)), classlabels_ints=[int(v) for v in rng.permutation(classes) + 3])
            one(f"SVMClassifier {kernel} of {classes} classes", "SVMClassifier", [f32(6, 3)], ("l", "s"), 1e-4, native=True, **a)
            p = dict(prob_a=fl(-np.abs(f32(pairs))), prob_b=fl(f32(pairs)))
            one(f"SVMClassifier {kernel} of {classes} classes, probabilities", "SVMClassifier", [f32(6, 3)], ("l", "s"), 1e-4, native=True, export=False, **a, **p)


def maps():
    words = ["a", "b", "c"]
    one("LabelEncoder of version 1, to numbers", "LabelEncoder", [np.array(["b", "x", "a"])], version=1, classes_strings=words, default_int64=-5, want={"y": np.array([1, -5, 0])})
    one("LabelEncoder of version 1, to strings", "LabelEncoder", [ints(0, 4, 5)], version=1, classes_strings=words, default_string="?")
    one("CategoryMapper to numbers", "CategoryMapper", [np.array([["b", "x", "a"]])], version=1, cats_strings=words, cats_int64s=[5, 6, 9])
    one("CategoryMapper to strings", "CategoryMapper", [np.array([6, 1, 5])], version=1, cats_strings=words, cats_int64s=[5, 6, 9])
    one("OneHotEncoder that knows all", "OneHotEncoder", [ints(0, 3, 4, 2)], cats_int64s=[0, 1, 2], zeros=0, native=True, export=False)
    g = h.make_graph([h.make_node("OneHotEncoder", ["x0"], ["y"], domain="ai.onnx.ml", cats_int64s=[0, 1], zeros=0)], "g", [h.make_tensor_value_info("x0", onnx.TensorProto.INT64, (2,))],
                     [onnx.ValueInfoProto(name="y")])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), "c.onnx")
    np.savez("in.npz", x0=np.array([1, 2]))
    rc, err = run("run-ref -q -i in.npz c.onnx -o a.npz")
    report("OneHotEncoder that does not", "" if rc == 65 and "none of the categories" in err else f": {rc} {err}")


def zip_maps():
    """Maps of keys and scores: evaluated, as a library without the evaluator, exported, and left out."""
    for keys in ({"classlabels_int64s": [7, 3, -9223372036854775808]}, {"classlabels_strings": ["tea", "", 'a "quoted" word']}):
        for shape in ((4, 3), (0, 3), (3,)):
            x = f32(*shape)
            what = f"ZipMap of {len(shape)} axes, {'words' if 'classlabels_strings' in keys else 'numbers'}, {x.size} scores"
            g = h.make_graph([h.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", **keys)], "g", [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3] if x.ndim == 2 else [3])],
                             [onnx.ValueInfoProto(name="z")])
            g.output[0].type.sequence_type.elem_type.map_type.key_type = onnx.TensorProto.INT64 if "classlabels_int64s" in keys else onnx.TensorProto.STRING
            g.output[0].type.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = onnx.TensorProto.FLOAT
            onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), "z.onnx")
            np.savez("in.npz", x=x)
            rc, err = run("run-ref -q -i in.npz z.onnx -o a.npz && hone build -q --no-fallback -o z z.onnx && run-dev -q z.so -i in.npz -o b.npz && ge-import -q z.onnx | ge-export -q -o e.onnx && "
                          "hone build -q --no-maps -o t z.onnx && run-dev -q t.so -i in.npz -o c.npz")
            why = f": {rc} {err}" if rc else ""
            rows = list(x) if x.ndim == 2 else [x]
            for file in () if why else ("a.npz", "b.npz"):
                got = np.load(file)
                names = sorted(f"z[{i}]{part}" for i in range(len(rows)) for part in ("{keys}", "{values}")) or ["z[]"]
                if sorted(got.files) != names:
                    why = f": {file} has {got.files}"
                for i, row in enumerate(rows):
                    if not why and (list(got[f"z[{i}]{{keys}}"]) != [*keys.values()][0] or (got[f"z[{i}]{{values}}"] != row).any()):
                        why = f": {file} {i} differs"
            if not why and not (np.load("c.npz")["z"] == x).all():
                why = ": left out, it differs"
            try:
                want = ort.InferenceSession("e.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
                if not why and want != [{k: float(v) for k, v in zip([*keys.values()][0], r)} for r in rows]:
                    why = ": exported, it differs"
            except Exception as e:
                why = why or f": exported: {e}"
            report(what, why)
    for bad, say in (({}, "keys are either"), ({"classlabels_int64s": [1, 2]}, "3 scores a row for 2 keys"), ({"classlabels_int64s": [1, 2, 3], "classlabels_strings": ["a", "b", "c"]}, "keys are either")):
        g = h.make_graph([h.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", **bad)], "g", [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])], [onnx.ValueInfoProto(name="z")])
        onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), "z.onnx")
        rc, err = run("ge-import z.onnx | ge-shape >z.g")
        report(f"ZipMap with {len(bad)} lists of keys that do not fit", "" if rc == 65 and say in err else f": {rc} {err}")


def chain():
    """Types before an operator are looked for once a node, not once a path."""
    nodes = [h.make_node("Add", [f"a{k}", f"a{k}"], [f"a{k + 1}"]) for k in range(60)]
    nodes.append(h.make_node("Scaler", ["a60"], ["y"], domain="ai.onnx.ml", scale=[2.0]))
    g = h.make_graph(nodes, "g", [h.make_tensor_value_info("a0", onnx.TensorProto.FLOAT, None)], [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)]), "chain.onnx")
    rc, err = run("timeout 20 ge-import -q chain.onnx >chain.g")
    report("Scaler behind 60 sums of unknown rank", f": {rc} {err}" if rc else "")


def texts():
    """Strings that are moved and looked for, as native steps of one library: empty ones, long ones, bytes that C would escape."""
    words = np.array(["", "a", "bb", "l\u00e4ngs", "x" * 60, '"quote\\?', "new\nline", "0"])
    x, z = rng.choice(words, (5, 4)), rng.choice(words, (5, 1))
    const = {"one": np.array([2, 0, -1]), "flat": np.array([-1]), "from": np.array([1]), "to": np.array([4]), "twice": np.array([2, 1]), "wide": np.array([5, 3]),
             "at": np.array([[0, 1], [4, 3]]), "is": rng.random((5, 1)) < 0.5, "some": np.array([True, False, True]), "w": words[:4].astype(object), "tail": np.array(["x-"], object)}
    moves = [("Gather", "x one", dict(axis=1)), ("Concat", "x z x", dict(axis=1)), ("Transpose", "x", {}), ("Reshape", "x flat", {}), ("Identity", "x", {}), ("Slice", "x from to", {}),
             ("Tile", "x twice", {}), ("Expand", "z wide", {}), ("GatherND", "x at", {}), ("Where", "is x w", {}), ("Compress", "x some", dict(axis=0)),
             ("Equal", "x z", {}), ("StringConcat", "z x", {}), ("StringConcat", "x tail", {})]
    nodes = [h.make_node(op, names.split(), [f"y{i}"], **a) for i, (op, names, a) in enumerate(moves)] + [h.make_node("Split", ["x"], ["s0", "s1"], axis=1, num_outputs=2)]
    nodes += [h.make_node("StringSplit", ["y13"], ["p0", "n0"], delimiter="x"), h.make_node("StringSplit", ["y13"], ["p1", "n1"], delimiter="-", maxsplit=0)]
    nodes += [h.make_node("LabelEncoder", ["x"], ["code"], domain="ai.onnx.ml", keys_strings=[str(w) for w in words[1:7]], values_int64s=list(range(6))),
              h.make_node("LabelEncoder", ["code"], ["word"], domain="ai.onnx.ml", keys_int64s=list(range(6)), values_strings=[str(w) for w in words[::-1][1:7]]),
              h.make_node("OneHotEncoder", ["z"], ["hot"], domain="ai.onnx.ml", cats_strings=[str(w) for w in words[[3, 0, 7, 4]]], zeros=1)]
    tokens = [dict(tokenexp="[a-zA-Z0-9_]+", mark=0), dict(tokenexp="\\b\\w\\w+\\b|[^\\w]", mark=1), dict(tokenexp="(?i)X?(l|\u00c4n)*", mark=0), dict(separators=[""], mark=1),
              dict(separators=["[\\?b-l]+", "\\Bx|\n"], mark=0), dict(tokenexp="x*y|[a-z]", mark=0), dict(separators=["x*a", "x{7}"], mark=1)]
    nodes += [h.make_node("Tokenizer", ["x"], [f"t{i}"], domain="com.microsoft", pad_value="#", mincharnum=1, **a) for i, a in enumerate(tokens)]
    nodes += [h.make_node("TfIdfVectorizer", ["x"], ["grams"], mode="TFIDF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 4], ngram_indexes=[5, 1, 3, 2, 4, 0],
                          pool_strings=[str(w) for w in words[[1, 2, 3, 7, 1, 2, 3, 3]]], weights=fl(f32(6))),
              h.make_node("Reshape", ["x", "flat"], ["line"]), h.make_node("StringNormalizer", ["line"], ["lower"], case_change_action="LOWER", locale="C"),
              h.make_node("StringNormalizer", ["line"], ["upper"], case_change_action="UPPER", locale="C", is_case_sensitive=1, stopwords=["a", "0", str(words[3])])]
    g = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, onnx.TensorProto.STRING, [n + "0", a.shape[1]]) for n, a in (("x", x), ("z", z))],
                     [onnx.ValueInfoProto(name=o) for n in nodes for o in n.output], [numpy_helper.from_array(a, n) for n, a in const.items()])
    model = h.make_model(g, opset_imports=[h.make_opsetid("", 20), h.make_opsetid("ai.onnx.ml", 3), h.make_opsetid("com.microsoft", 1)], ir_version=9)
    check("strings, moved, compared, joined, looked for and cut into tokens", model, {"x": x, "z": z}, native="--no-fallback", export=False)


def nuls():
    """An attribute's string with a NUL within is data that would be another: refused."""
    for op, domain, a in (("TfIdfVectorizer", "", dict(mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0], pool_strings=["a\0b"])),
                          ("LabelEncoder", "ai.onnx.ml", dict(keys_strings=["a"], values_strings=["b"], default_string="d\0e")),
                          ("Tokenizer", "com.microsoft", dict(separators=[""], mark=0, mincharnum=1, pad_value="#\0#"))):
        g = h.make_graph([h.make_node(op, ["x"], ["y"], domain=domain, **a)], "g", [h.make_tensor_value_info("x", onnx.TensorProto.STRING, [3])], [onnx.ValueInfoProto(name="y")])
        onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 18), h.make_opsetid("ai.onnx.ml", 3), h.make_opsetid("com.microsoft", 1)], ir_version=8), "c.onnx")
        rc, err = run("ge-import -q c.onnx -o c.g")
        report(f"{op} with a NUL", "" if rc == 69 and "NUL" in err else f": {rc} {err[:300]}")


if __name__ == "__main__":
    for part in (texts, nuls, numeric, linear, encoders, vectors, trees, ensembles, machines, maps, zip_maps, chain):
        part()
    print(f"# seed {seed}: {results} results")
