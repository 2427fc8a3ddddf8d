#!/usr/bin/env python3
"""Pipelines of scikit-learn, LightGBM, XGBoost and CatBoost, as their converters write them, against ONNX Runtime.

Each pipeline is trained on drawn data, written by skl2onnx, onnxmltools or CatBoost, with tensors for its scores and, of classifiers,
with maps (ZipMap).  Both are run on rows that were not trained on, 1, 7 and 1,000 of them: by the evaluator (run-ref) and as a library of
open sizes (hone build).  Integers and strings must be ONNX Runtime's, floats too but for --tol of the largest of their output.  Labels may
differ where ONNX Runtime's two best scores are as near to each other as that.  Then hone and ONNX Runtime take turns: one thread of one core,
whole calls from Python with inputs bound beforehand, processor time, medians of ratios.  Pipelines of packages that are not there are left
out, by name.  Exit: 1 where a number is wrong or a model is refused.
"""

import argparse
import contextlib
import importlib
import io
import os
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort

import peers
from native import Model

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = (1, 7, 1000)
FEATURES = 12
SUMS = 1e-4  # tolerance of sums of a thousand products of both signs, in f32


# ---- data ----

class Data:
    """Rows of numbers and rows of a table, drawn by a seed: classes and a number to predict follow them."""

    def __init__(self, rows, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
        words = [f"{a}{b}" for a in "ka lo mi nu pe ra so ti vu wy".split() for b in "n r st l nd rk sh m".split()]
        score = self.x[:, 0] * self.x[:, 1] + self.x[:, 2] - 0.5 * self.x[:, 3]
        column = lambda k: np.ascontiguousarray(self.x[:, k:k + 1])
        self.table = {"age": column(0), "income": column(1), "score": column(2), "visits": rng.integers(0, 9, (rows, 1)),
                      "city": rng.choice(words[:8], (rows, 1)), "job": rng.choice(words[:40], (rows, 1)),
                      "shop": np.array([f"shop {k}" for k in rng.integers(0, 2000, rows)]).reshape(-1, 1),
                      "place": rng.choice(words[:8] + [""], (rows, 1)),
                      "text": np.array([" ".join(rng.choice(words, rng.integers(3, 20))) for _ in range(rows)]).reshape(-1, 1)}
        score = score + (np.char.count(self.table["city"], "k") > 0)[:, 0] * 1.0 + 0.2 * np.char.count(self.table["text"], "n")[:, 0] - 0.5
        self.number = score.astype(np.float32)
        self.three = np.digitize(score, [-0.7, 0.7])
        self.two = (score > 0).astype(int)
        self.words = np.array(["few", "some", "many"])[self.three]
        self.holes = self.x.copy()
        self.holes[rng.random(self.x.shape) < 0.1] = np.nan

    def frame(self, columns):
        import pandas
        return pandas.DataFrame({c: self.table[c][:, 0] for c in columns})


# ---- pipelines ----

class Matrix:
    """A model of rows of f32: what is trained on and given."""

    def __init__(self, model, target, source="x", change=None, **options):
        self.model, self.target, self.options = model, target, options
        self.rows = lambda d: (change or (lambda a: a))(getattr(d, source))

    def fit(self, d):
        self.model.fit(self.rows(d), getattr(d, self.target) if self.target else None)
        return self.model

    def inputs(self, d):
        return {"x": self.rows(d)}


class Table(Matrix):
    """A model of columns, each an input of its own."""

    def __init__(self, model, target, columns, **options):
        super().__init__(model, target, **options)
        self.columns = columns.split()
        self.rows = lambda d: d.frame(self.columns)

    def inputs(self, d):
        return {c: d.table[c] for c in self.columns}


class Texts(Table):
    """A model of one column of texts, trained on the list of them."""

    def __init__(self, model, target, column="text", **options):
        super().__init__(model, target, column, **options)
        self.rows = lambda d: d.table[column][:, 0]


def table_pipelines():
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
    from sklearn.naive_bayes import ComplementNB, MultinomialNB
    from sklearn.pipeline import make_pipeline as chain
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
    from sklearn.tree import DecisionTreeRegressor
    numbers = ["age", "income", "score"]

    def columns(*parts):
        return ColumnTransformer([(str(i), step, c) for i, (step, c) in enumerate(parts)])

    one_hot = OneHotEncoder(handle_unknown="ignore")
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return {
        "one-hot logistic": lambda: Table(chain(columns((StandardScaler(), numbers), (one_hot, ["city", "job"])), LogisticRegression(max_iter=500)),
                                          "three", "age income score city job"),
        "one-hot of words": lambda: Table(chain(columns((MinMaxScaler(), numbers), (one_hot, ["city"])), LogisticRegression(max_iter=500)),
                                          "words", "age income score city"),
        "one-hot of 2000 keys": lambda: Table(chain(columns((StandardScaler(), numbers), (one_hot, ["shop"])), LogisticRegression(max_iter=500)),
                                              "two", "age income score shop"),
        "one-hot of integers": lambda: Table(chain(columns((one_hot, ["visits"]), (StandardScaler(), numbers)), LogisticRegression(max_iter=500)),
                                             "two", "visits age income score"),
        "ordinal forest": lambda: Table(chain(columns((ordinal, ["city", "job"]), ("passthrough", numbers)),
                                              RandomForestClassifier(10, max_depth=8, random_state=1)), "three", "city job age income score"),
        "ordinal of 2000 keys": lambda: Table(chain(columns((ordinal, ["shop"]), ("passthrough", numbers)),
                                                    DecisionTreeRegressor(max_depth=8, random_state=1)), "number", "shop age income score"),
        "imputed boosting": lambda: Table(chain(columns((chain(SimpleImputer(strategy="median"), StandardScaler()), numbers),
                                                        (chain(SimpleImputer(missing_values="", strategy="constant", fill_value="none"), one_hot), ["place"])),
                                                GradientBoostingClassifier(n_estimators=20, random_state=1)), "two", "age income score place"),
        "counts Bayes": lambda: Texts(chain(CountVectorizer(), MultinomialNB()), "three"),
        "counts of pairs": lambda: Texts(chain(CountVectorizer(ngram_range=(1, 2), min_df=3), ComplementNB()), "three", tol=SUMS),
        "tf-idf logistic": lambda: Texts(chain(TfidfVectorizer(), LogisticRegression(max_iter=500)), "words"),
        "tf-idf of letters": lambda: Texts(chain(TfidfVectorizer(analyzer="char", ngram_range=(1, 2)), Ridge()), "number"),
        "texts and columns": lambda: Table(chain(columns((TfidfVectorizer(), "text"), (one_hot, ["city", "job"]), (StandardScaler(), numbers)),
                                                 SGDClassifier(loss="log_loss", random_state=1)), "three", "text city job age income score"),
        "bins": lambda: Matrix(chain(KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), LogisticRegression(max_iter=500)), "three"),
        "polynomials": lambda: Matrix(chain(PolynomialFeatures(2), StandardScaler(), LogisticRegression(max_iter=500)), "three"),
    }


def forest_pipelines():
    from sklearn import ensemble as e
    pipelines = {}
    for n in (10, 100, 300):
        pipelines[f"random forest of {n}"] = lambda n=n: Matrix(e.RandomForestClassifier(n, random_state=1), "three")
        pipelines[f"extra trees of {n}"] = lambda n=n: Matrix(e.ExtraTreesRegressor(n, max_depth=10, random_state=1), "number")
        pipelines[f"boosting of {n}"] = lambda n=n: Matrix(e.GradientBoostingClassifier(n_estimators=n, random_state=1), "two")
    return pipelines | {
        "histogram boosting": lambda: Matrix(e.HistGradientBoostingClassifier(max_iter=100, random_state=1), "three", "holes"),
        "histogram boosting for numbers": lambda: Matrix(e.HistGradientBoostingRegressor(max_iter=300, random_state=1), "number"),
        "isolation forest": lambda: Matrix(e.IsolationForest(random_state=1), None),
        "AdaBoost": lambda: Matrix(e.AdaBoostClassifier(n_estimators=20, random_state=1), "two"),
        "bagging": lambda: Matrix(e.BaggingClassifier(n_estimators=10, random_state=1), "three"),
    }


def other_pipelines():
    from sklearn import calibration, cluster, decomposition, discriminant_analysis, ensemble, gaussian_process, linear_model, mixture
    from sklearn import multiclass, naive_bayes, neighbors, neural_network, svm, tree
    from sklearn.pipeline import make_pipeline as chain
    from sklearn.preprocessing import StandardScaler
    logistic, short = linear_model.LogisticRegression(), tree.DecisionTreeClassifier(max_depth=5, random_state=1)
    probable = {"probability": True, "random_state": 1}
    return {
        "SVC": lambda: Matrix(svm.SVC(**probable), "three", tol=SUMS),
        "SVC of two": lambda: Matrix(svm.SVC(kernel="poly", **probable), "two", tol=SUMS),
        "NuSVC": lambda: Matrix(svm.NuSVC(nu=0.1, **probable), "words", tol=SUMS),
        "SVC by votes": lambda: Matrix(svm.SVC(kernel="linear"), "three", tol=SUMS),
        "SVR": lambda: Matrix(svm.SVR(), "number"),
        "OneClassSVM": lambda: Matrix(svm.OneClassSVM(nu=0.1), None),
        "calibrated LinearSVC": lambda: Matrix(calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=3), "three"),
        "KNN": lambda: Matrix(neighbors.KNeighborsClassifier(5), "three"),
        "KNN for numbers": lambda: Matrix(neighbors.KNeighborsRegressor(5, weights="distance"), "number"),
        "Gaussian process": lambda: Matrix(gaussian_process.GaussianProcessRegressor(gaussian_process.kernels.RBF(2.0), alpha=0.1), "number", tol=SUMS),
        "MLP": lambda: Matrix(chain(StandardScaler(), neural_network.MLPClassifier((64, 32), max_iter=30, random_state=1)), "three"),
        "MLP for numbers": lambda: Matrix(neural_network.MLPRegressor(hidden_layer_sizes=(64,), max_iter=30, random_state=1), "number"),
        "GaussianNB": lambda: Matrix(naive_bayes.GaussianNB(), "three"),
        "BernoulliNB": lambda: Matrix(naive_bayes.BernoulliNB(), "words"),
        "MultinomialNB": lambda: Matrix(naive_bayes.MultinomialNB(), "three", change=np.abs),
        "CategoricalNB": lambda: Matrix(naive_bayes.CategoricalNB(min_categories=9), "three", change=lambda x: np.rint(np.abs(x) * 2).clip(0, 8)),
        "LDA": lambda: Matrix(discriminant_analysis.LinearDiscriminantAnalysis(), "three"),
        "QDA": lambda: Matrix(discriminant_analysis.QuadraticDiscriminantAnalysis(), "three"),
        "PCA": lambda: Matrix(chain(decomposition.PCA(5), logistic), "three"),
        "KMeans": lambda: Matrix(cluster.KMeans(8, random_state=1, n_init=1), None),
        "GaussianMixture": lambda: Matrix(mixture.GaussianMixture(4, random_state=1), None),
        "one against the rest": lambda: Matrix(multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), "three"),
        "voting": lambda: Matrix(ensemble.VotingClassifier([("a", logistic), ("b", short)], voting="soft", flatten_transform=False), "three"),
        "stacking": lambda: Matrix(ensemble.StackingClassifier([("a", logistic), ("b", short)], cv=3), "three"),
    }


def library_pipelines():
    """Of packages that a machine may lack."""
    pipelines = {}
    if has("xgboost", "onnxmltools"):
        import xgboost
        pipelines |= {
            "XGBoost": lambda: Matrix(xgboost.XGBClassifier(n_estimators=100), "three", "holes", by="xgboost"),
            "XGBoost of two": lambda: Matrix(xgboost.XGBClassifier(n_estimators=300, max_depth=4), "two", by="xgboost"),
            "XGBoost for numbers": lambda: Matrix(xgboost.XGBRegressor(n_estimators=300), "number", by="xgboost"),
        }
    if has("lightgbm", "onnxmltools"):
        import lightgbm
        quiet = {"verbose": -1, "n_jobs": 1}
        kinds = {"source": "x", "change": lambda x: np.concatenate([x[:, :6], np.rint(np.abs(x[:, 6:]) * 5).clip(0, 15)], 1)}
        pipelines |= {
            "LightGBM": lambda: Matrix(lightgbm.LGBMClassifier(n_estimators=100, **quiet), "three", by="lightgbm"),
            "LightGBM of two": lambda: Matrix(lightgbm.LGBMClassifier(n_estimators=300, **quiet), "two", "holes", by="lightgbm"),
            "LightGBM for numbers": lambda: Matrix(lightgbm.LGBMRegressor(n_estimators=300, **quiet), "number", by="lightgbm"),
            "LightGBM of categories": lambda: Matrix(Categories(lightgbm.LGBMClassifier(n_estimators=50, **quiet)), "two", by="lightgbm", **kinds),
        }
    if has("catboost"):
        import catboost
        quiet = {"verbose": 0, "thread_count": 1, "random_seed": 1, "allow_writing_files": False}
        pipelines |= {
            "CatBoost": lambda: Matrix(catboost.CatBoostClassifier(iterations=100, **quiet), "three", by="catboost"),
            "CatBoost of two": lambda: Matrix(catboost.CatBoostClassifier(iterations=100, **quiet), "two", by="catboost"),
            "CatBoost for numbers": lambda: Matrix(catboost.CatBoostRegressor(iterations=300, **quiet), "number", by="catboost"),
        }
    return pipelines


class Categories:
    """A model of LightGBM whose last six features are categories."""

    def __init__(self, model):
        self.model = model

    def fit(self, x, y):
        self.model.fit(x, y, categorical_feature=list(range(6, FEATURES)))


def has(*names):
    try:
        for name in names:
            importlib.import_module(name)
        return True
    except ImportError as e:
        print(f"left out: {names[0]} ({e})")
        return False


# ---- to ONNX ----

def types_of(inputs, module):
    kinds = {"f": "FloatTensorType", "i": "Int64TensorType", "U": "StringTensorType"}
    return [(name, getattr(module, kinds[a.dtype.kind])([None, a.shape[1]])) for name, a in inputs.items()]


def is_classifier(model):
    return hasattr(model, "classes_")


def converted(p, model, inputs, maps):
    by = p.options.get("by", "sklearn")
    if by == "catboost":
        path = os.path.join(p.out, "catboost.onnx")
        model.save_model(path, format="onnx")
        return onnx.load(path)
    if by == "sklearn":
        from skl2onnx import to_onnx
        from skl2onnx.common import data_types
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
        options = {CountVectorizer: {"locale": "C"}, TfidfVectorizer: {"locale": "C"}}  # the one that every machine has
        options |= {id(model): {"zipmap": maps}} if is_classifier(model) else {}
        return to_onnx(model, initial_types=types_of(inputs, data_types), options=options, target_opset={"": 18, "ai.onnx.ml": 3})
    from onnxmltools import convert
    from onnxmltools.convert.common import data_types
    model = getattr(model, "model", model)
    return getattr(convert, f"convert_{by}")(model, initial_types=types_of(inputs, data_types), target_opset=15, **({"zipmap": maps} if by == "lightgbm" else {}))


def variants(p, model, inputs):
    """The model, and the same with maps where it has scores of classes."""
    found = [("", converted(p, model, inputs, False))]
    if p.options.get("by", "sklearn") in ("sklearn", "lightgbm") and is_classifier(getattr(model, "model", model)):
        found.append((" maps", converted(p, model, inputs, True)))
    return found


# ---- comparing ----

def same(got, want, tol):
    """None, or what differs: arrays, and lists of maps as ONNX Runtime gives them."""
    if isinstance(want, list):
        if len(got) != len(want) or any(list(g) != list(w) for g, w in zip(got, want)):
            return "other maps"
        return same(np.array([list(g.values()) for g in got]), np.array([list(w.values()) for w in want]), tol)
    if got.shape != want.shape:
        return f"{got.shape}, not {want.shape}"
    if want.dtype.kind == "f":
        off = np.abs(got.astype(np.float64) - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-30) if np.isfinite(want).all() else np.nan
        return None if off <= tol or np.array_equal(got, want, equal_nan=True) else f"{off:.2g} of the largest off"
    bad = np.asarray(got, str) != np.asarray(want, str) if want.dtype == object else got != want
    return f"{int(bad.sum())} of {bad.size} labels differ" if bad.any() else None


def undecided(want, tol):
    """Rows whose two best scores ONNX Runtime has as near to each other as that."""
    for w in want[1:]:
        s = np.array([list(m.values()) for m in w]) if isinstance(w, list) else w
        if s.ndim == 2 and s.shape[1] > 1 and s.dtype.kind == "f":
            best = np.sort(s, 1)
            return best[:, -1] - best[:, -2] <= 2 * tol * np.abs(s).max()
    return np.zeros(len(want[0]), bool)


def compare(got, want, tol):
    near = undecided(want, tol)
    for i, (g, w) in enumerate(zip(got, want)):
        if not i and not isinstance(w, list) and w.dtype.kind != "f" and g.shape == w.shape and len(w) == len(near):
            g, w = g[~near], w[~near]
        why = same(g, w, tol)
        if why:
            return f"output {i}: {why}"
    return None


def value(file, name):
    """What hone-npz(5) has under a name."""
    if name in file:
        return file[name]
    if name + "{keys}" in file:
        return dict(zip(file[name + "{keys}"].tolist(), file[name + "{values}"].tolist()))
    items = []
    while any(k.startswith(f"{name}[{len(items)}]") for k in file.files):
        items.append(value(file, f"{name}[{len(items)}]"))
    return items


def call(*command):
    """None, or why the tool failed."""
    r = subprocess.run([os.path.join(HERE, "..", "bin", command[0]), *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return None if r.returncode == 0 else f"{command[0]}: exit {r.returncode}: {r.stdout.strip()[-300:]}"


def evaluated(stem, x, outputs):
    np.savez(stem + ".npz", **x)
    why = call("run-ref", "-q", stem + ".onnx", "-i", stem + ".npz", "-o", stem + ".out.npz")
    if why:
        return None, why
    with np.load(stem + ".out.npz") as file:
        return [value(file, o) for o in outputs], None


def texts_value(a):
    """Strings as ONNX Runtime's own value, which only a model makes."""
    t = onnx.helper.make_tensor("t", onnx.TensorProto.STRING, a.shape, [w.encode() for w in a.ravel()])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.STRING, a.shape)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["t"], ["y"])], "g", [], [out], [t])
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 18)])
    bound = (session := ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])).io_binding()
    bound.bind_output("y", "cpu")
    session.run_with_iobinding(bound)
    return bound.get_outputs()[0]


def bind_peer(session, x):
    bound = session.io_binding()
    for name, a in x.items():
        bound.bind_ortvalue_input(name, texts_value(a) if a.dtype.kind == "U" else ort.OrtValue.ortvalue_from_numpy(a))
    for o in session.get_outputs():
        bound.bind_output(o.name, "cpu")
    options = ort.RunOptions()
    try:
        for _ in range(3):
            session.run_with_iobinding(bound, options)
    except RuntimeError:  # sizes of results that the model declares wrongly cannot be bound
        feed = {name: a.astype(object) if a.dtype.kind == "U" else a for name, a in x.items()}
        return lambda: session.run(None, feed)
    return lambda: session.run_with_iobinding(bound, options)


# ---- one model ----

class Trial:
    def __init__(self, stem, args, tol):
        self.stem, self.args, self.tol = stem, args, tol or args.tol
        self.session = peers.session(stem + ".onnx")
        self.names = [i.name for i in self.session.get_inputs()]
        self.slow, self.why = "", None

    def reference(self, x):
        return self.session.run(None, {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in x.items()})

    def right(self, data):
        """Compares evaluator and library with ONNX Runtime; why not, or None."""
        if self.args.no_build:
            self.model = Model(self.stem + ".so")
            return None
        r = subprocess.run([os.path.join(HERE, "..", "bin", "hone"), "build", self.stem + ".onnx", "-o", self.stem],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if r.returncode:
            return f"hone build: exit {r.returncode}: {r.stdout.strip()[-300:]}"
        self.slow = "".join(line.split(": ", 1)[-1] for line in r.stdout.splitlines() if "slow path: " in line)
        self.model = Model(self.stem + ".so")
        outputs = [o.name for o in self.session.get_outputs()]
        for x in data:
            want = self.reference(x)
            got, why = evaluated(self.stem, x, outputs)
            why = why or compare(got, want, self.tol)
            if why:
                return f"evaluator, {len(next(iter(x.values())))} rows: {why}"
            run, results = self.model.bind_values([x[t.name.decode()] for t in self.model.inputs])
            run()
            why = compare(results(), want, self.tol)
            if why:
                return f"library, {len(next(iter(x.values())))} rows: {why}"
        return None

    def ratio(self, x):
        run, _ = self.model.bind_values([x[t.name.decode()] for t in self.model.inputs])
        t = peers.in_turns({"hone": run, "ONNX Runtime": bind_peer(self.session, x)}, self.args.rounds)
        return np.median(t["hone"]) * 1e6, np.median(t["ONNX Runtime"]) * 1e6, float(np.median(t["hone"] / t["ONNX Runtime"]))


def written(name, p, train, stem):
    """Trains the model and writes its files: their stems by kind."""
    with contextlib.redirect_stdout(io.StringIO()):
        found = variants(p, p.fit(train) or p.model, p.inputs(train))
    for kind, proto in found:
        onnx.save(proto, stem + kind.replace(" ", "-") + ".onnx")
    return [kind for kind, _ in found]


def try_pipeline(name, make, args, table):
    stem = os.path.join(args.out, name.replace(" ", "-"))
    p = make()
    p.out = args.out
    if args.no_build:
        kinds = [k for k in ("", " maps") if os.path.exists(stem + k.replace(" ", "-") + ".so")]
    else:
        try:
            kinds = written(name, p, Data(args.train, 1), stem)
        except Exception as e:  # what a converter cannot write is no model
            print(f"   -  {name}: not written: {type(e).__name__}: {' '.join(str(e).split())[:200]}", flush=True)
            return
    for kind in kinds:
        try:
            t = Trial(stem + kind.replace(" ", "-"), args, p.options.get("tol"))
        except Exception as e:
            print(f"   -  {name}{kind}: ONNX Runtime: {str(e)[:200]}", flush=True)
            continue
        data = [p.inputs(Data(n, 100 + n)) for n in ROWS]
        if len(t.names) == 1:
            data = [{t.names[0]: next(iter(x.values()))} for x in data]
        why = t.right(data)
        ratios = [t.ratio(x) for x in data] if args.rounds and not why else []
        table.append((name + kind, why, [r[2] for r in ratios], t.slow))
        times = "  ".join(f"{h:9.1f} {o:9.1f} us {r:5.2f}" for h, o, r in ratios)
        print(f"{'WRONG' if why else 'ok   '} {name + kind:36}{times}{'  ' + why if why else ''}{'  slow: ' + t.slow if t.slow else ''}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="*", help="only pipelines whose name has one of these")
    p.add_argument("-o", "--out", default=os.path.join(HERE, "..", "build", "pipelines"))
    p.add_argument("--train", type=int, default=1500, help="rows to train on (1500)")
    p.add_argument("--tol", type=float, default=1e-5, help="of max|y-r| / max|r| (1e-5)")
    p.add_argument("--rounds", type=int, default=7, help="of timing (7); 0: compare only")
    p.add_argument("--no-build", action="store_true", help="time what was built before")
    args = p.parse_args()
    warnings.simplefilter("ignore")
    os.makedirs(args.out, exist_ok=True)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    table = []
    for name, make in (table_pipelines() | forest_pipelines() | other_pipelines() | library_pipelines()).items():
        if not args.words or any(w in name for w in args.words):
            try_pipeline(name, make, args, table)
    wrong = sum(why is not None for _, why, _, _ in table)
    print(f"{len(table)} models, {wrong} wrong or refused, {sum(bool(slow) for *_, slow in table)} with steps on the slow path")
    for k, rows in enumerate(ROWS):
        q = [r[k] for _, _, r, _ in table if r]
        if q:
            print(f"{rows:5} rows: geomean {np.exp(np.mean(np.log(q))):.2f} of ONNX Runtime's time, {sum(v <= 1 for v in q)} of {len(q)} at most 1, worst {max(q):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
