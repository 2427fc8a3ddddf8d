"""Models of scikit-learn as its converter (skl2onnx) writes them, maps and all: evaluated, and as libraries with nothing on the slow path, against ONNX Runtime's own
kernels. scikit.py [WORD...]: those with one of these in their names."""
import subprocess
import sys
import warnings

import numpy as np
import onnxruntime as ort
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import calibration, cluster, compose, datasets, decomposition, discriminant_analysis, ensemble, feature_extraction, feature_selection, impute, linear_model, mixture, multiclass
from sklearn import multioutput, naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree

warnings.simplefilter("ignore")
ort.set_default_logger_severity(4)
X, Y = datasets.make_classification(150, 6, n_classes=3, n_informative=4, random_state=1)
X = X.astype(np.float32)
TWO, WORDS, Z = Y > 0, np.array(["tea", "milk", "coffee"])[Y], (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)
HOLES, POSITIVE = X.copy(), np.abs(X)
HOLES[::7, 1] = HOLES[::5, 3] = np.nan
BOTH = np.stack([TWO, Y == 1], 1).astype(int)
KINDS = np.stack([WORDS, np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]], 1)
count = 0


def chain(*steps):
    return pipeline.make_pipeline(*steps)


MODELS = {
    "logistic regression": (linear_model.LogisticRegression(), X, Y),
    "logistic regression of two": (linear_model.LogisticRegression(), X, TWO),
    "logistic regression of words": (linear_model.LogisticRegression(), X, WORDS),
    "logistic regression with folds": (linear_model.LogisticRegressionCV(cv=3), X, Y),
    "stochastic gradient descent": (linear_model.SGDClassifier(loss="log_loss", random_state=1), X, Y),
    "stochastic gradient descent of two": (linear_model.SGDClassifier(loss="modified_huber", random_state=1), X, TWO),
    "perceptron": (linear_model.Perceptron(), X, Y),
    "ridge classifier": (linear_model.RidgeClassifier(), X, Y),
    "linear discriminants": (discriminant_analysis.LinearDiscriminantAnalysis(), X, Y),
    "quadratic discriminants": (discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1), X, Y),
    "linear vectors": (svm.LinearSVC(), X, Y),
    "vectors": (svm.SVC(), X, Y),
    "vectors, linear, of words": (svm.SVC(kernel="linear"), X, WORDS),
    "vectors, polynomials, of two": (svm.SVC(kernel="poly"), X, TWO),
    "vectors, by nu": (svm.NuSVC(nu=0.3), X, Y),
    "vectors for numbers": (svm.SVR(), X, Z),
    "a tree": (tree.DecisionTreeClassifier(max_depth=5, random_state=1), X, Y),
    "a tree of words": (tree.DecisionTreeClassifier(max_depth=5, random_state=1), X, WORDS),
    "a tree for numbers": (tree.DecisionTreeRegressor(max_depth=5, random_state=1), X, Z),
    "an extra tree": (tree.ExtraTreeClassifier(max_depth=5, random_state=1), X, Y),
    "a random forest": (ensemble.RandomForestClassifier(8, random_state=1), X, Y),
    "a random forest of two": (ensemble.RandomForestClassifier(8, random_state=1), X, TWO),
    "extra trees of words": (ensemble.ExtraTreesClassifier(8, random_state=1), X, WORDS),
    "gradient boosting": (ensemble.GradientBoostingClassifier(n_estimators=8, random_state=1), X, Y),
    "gradient boosting of two": (ensemble.GradientBoostingClassifier(n_estimators=8, random_state=1), X, TWO),
    "AdaBoost": (ensemble.AdaBoostClassifier(n_estimators=4, random_state=1), X, Y),
    "bagging": (ensemble.BaggingClassifier(n_estimators=4, random_state=1), X, Y),
    "voting": (ensemble.VotingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=1))], voting="soft", flatten_transform=False), X, Y),
    "stacking": (ensemble.StackingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=1))]), X, Y),
    "a network": (neural_network.MLPClassifier((16, 8), max_iter=80, random_state=1), X, Y),
    "a network of two, of words": (neural_network.MLPClassifier((8,), activation="tanh", max_iter=80, random_state=1), X, np.where(TWO, "yes", "no")),
    "a network of one layer": (neural_network.MLPClassifier((8,), activation="logistic", max_iter=80, random_state=1), X, TWO),
    "a network for numbers": (neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=80, random_state=1), X, Z),
    "naive Bayes": (naive_bayes.GaussianNB(), X, Y),
    "naive Bayes of counts": (naive_bayes.MultinomialNB(), POSITIVE, Y),
    "naive Bayes of bits": (naive_bayes.BernoulliNB(), X, WORDS),
    "neighbours": (neighbors.KNeighborsClassifier(3), X, Y),
    "neighbours for numbers": (neighbors.KNeighborsRegressor(3), X, Z),
    "the nearest centre": (cluster.KMeans(4, random_state=1, n_init=2), X, None),
    "a mixture": (mixture.GaussianMixture(2, reg_covar=0.1, random_state=1), X, None),
    "one against the rest": (multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), X, Y),
    "one against one": (multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), X, Y),
    "calibrated": (calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2), X, Y),
    "several outputs": (multioutput.MultiOutputClassifier(linear_model.LogisticRegression()), X, BOTH),
    "scaled": (chain(preprocessing.StandardScaler(), linear_model.LogisticRegression()), X, Y),
    "scaled to a range": (chain(preprocessing.MinMaxScaler(), linear_model.SGDClassifier(loss="log_loss", random_state=1)), X, WORDS),
    "scaled by medians": (chain(preprocessing.RobustScaler(), ensemble.RandomForestClassifier(4, random_state=1)), X, Y),
    "normalised": (chain(preprocessing.Normalizer(), linear_model.LogisticRegression()), X, Y),
    "holes filled": (chain(impute.SimpleImputer(), linear_model.LogisticRegression()), HOLES, WORDS),
    "holes filled by medians": (chain(impute.SimpleImputer(strategy="median"), ensemble.GradientBoostingClassifier(n_estimators=4, random_state=1)), HOLES, Y),
    "principal components": (chain(decomposition.PCA(3), linear_model.LogisticRegression()), X, Y),
    "polynomials": (chain(preprocessing.PolynomialFeatures(2), linear_model.LogisticRegression(max_iter=500)), X, Y),
    "the best features": (chain(feature_selection.SelectKBest(k=3), linear_model.LogisticRegression()), X, Y),
    "bins": (chain(preprocessing.KBinsDiscretizer(4, encode="onehot-dense"), linear_model.LogisticRegression()), X, Y),
    "categories": (chain(preprocessing.OneHotEncoder(handle_unknown="ignore"), linear_model.LogisticRegression()), KINDS, Y),
    "categories by number": (chain(preprocessing.OrdinalEncoder(), tree.DecisionTreeClassifier(random_state=1)), KINDS, WORDS),
    "hashed": (feature_extraction.FeatureHasher(8, input_type="string"), KINDS, None),
    "hashed without signs": (chain(feature_extraction.FeatureHasher(16, input_type="string", alternate_sign=False, dtype=np.float32), linear_model.LogisticRegression()), KINDS, Y),
    "columns apart": (chain(compose.ColumnTransformer([("a", preprocessing.StandardScaler(), [0, 1, 2]), ("b", preprocessing.MinMaxScaler(), [3, 4, 5])]), linear_model.LogisticRegression()), X, Y),
}


def report(what, why=""):
    global count
    count += 1
    print(f"{'not ' if why else ''}ok - {what}{': ' + why if why else ''}", flush=True)


def run(*command):
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert not p.returncode, f"{command[0]}: {p.returncode} {p.stderr.strip()[-400:]}"


def value(file, name):
    """What hone-npz(5) has under a name."""
    if name in file:
        return file[name]
    if name + "{keys}" in file:
        return dict(zip(file[name + "{keys}"].tolist(), file[name + "{values}"].tolist()))
    if name + "[]" in file:
        return []
    items = []
    while any(k.startswith(f"{name}[{len(items)}]") for k in file.files):
        items.append(value(file, f"{name}[{len(items)}]"))
    assert items, f"no {name}"
    return items


def same(got, want, what):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), f"{what}: {len(got)} values, not {len(want)}"
        for k, (g, w) in enumerate(zip(got, want)):
            same(g, w, f"{what}[{k}]")
    elif isinstance(want, dict):
        assert list(got) == list(want), f"{what}: keys {list(got)}, not {list(want)}"
        same(np.array(list(got.values()), np.float32), np.array(list(want.values()), np.float32), what)
    else:
        want = np.asarray(want)
        want = want.astype(str) if want.dtype == object else want
        assert got.shape == want.shape, f"{what}: {got.shape}, not {want.shape}"
        good = np.abs(got - want) <= 1e-4 * np.maximum(1, np.abs(want)) if want.dtype.kind == "f" else got == want
        assert np.all(good), f"{what}: {got[~good][:3]}, not {want[~good][:3]}"


def check(what, model, x, y):
    model.fit(x, y)
    kind = StringTensorType if x.dtype.kind == "U" else FloatTensorType
    proto = to_onnx(model, initial_types=[("x", kind([None, x.shape[1]]))], target_opset={"": 17, "ai.onnx.ml": 3})
    with open("c.onnx", "wb") as f:
        f.write(proto.SerializeToString())
    x = x[:40]
    np.savez("in.npz", x=x)
    session = ort.InferenceSession("c.onnx", providers=["CPUExecutionProvider"])
    want = session.run(None, {"x": x.astype(object) if x.dtype.kind == "U" else x})
    for program in (("run-ref", "-q", "c.onnx"), ("run-dev", "-q", "c.so")):
        if program[0] == "run-dev":
            run("hone", "build", "-q", "--no-fallback", "-o", "c", "c.onnx")
        run(*program, "-i", "in.npz", "-o", "out.npz")
        with np.load("out.npz") as file:
            for o, w in zip(session.get_outputs(), want):
                same(value(file, o.name), w, f"{program[0]}: {o.name}")


for what, (model, x, y) in MODELS.items():
    if len(sys.argv) > 1 and not any(word in what for word in sys.argv[1:]):
        continue
    try:
        check(what, model, x, y)
        report(what)
    except Exception as e:
        report(what, f"{type(e).__name__}: {' '.join(str(e).split())[:300]}")
print(f"# {count} models")
