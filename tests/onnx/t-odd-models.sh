# Odd models that ONNX allows (odd_models.py): the evaluator and the library compute what ONNX Runtime does, or say what they have not; what
# is written is valid, has the same outputs and computes the same. One of HONE_EVERY of them (7; 1: all), and those of WHOLE, are simplified
# and built.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || python=
if [ -z "$python" ]; then
	skip_all "odd models" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
"$python" "$top/tests/onnx/odd_models.py" . || exit 1
cat >odd.py <<'END_PY'
import glob, os, subprocess, warnings
warnings.simplefilter("ignore")
import numpy as np, onnx, onnxruntime as ort
from onnx.reference import ReferenceEvaluator
ort.set_default_logger_severity(4)
options = ort.SessionOptions()
options.intra_op_num_threads = 1
every = int(os.environ.get("HONE_EVERY", 7))
WHOLE = {"outputs-twice", "branch-two-outputs-one-value", "aspect-ratio", "name-3", "sizes-unknown", "unused-results", "sequence", "contrib", "contrib-unknown"}
NOT_BUILT = {"contrib-unknown"}
NOT_RUN = {"contrib-unknown", "optional", "sequence", "sequence-at", "strings"}
# Where ONNX Runtime or the checker is no judge: it hands the state on as memory that was overwritten.
NO_JUDGE = {"scan-state-is-output"}

def run(path, x):
    s = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return s.run(None, {k.name: x[k.name] for k in s.get_inputs()})

def tool(command):
    p = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    return p.returncode, p.stderr.strip()[-200:]

def same(got, want):
    return all(g is not None and np.shape(g) == np.shape(w) and (g.dtype == w.dtype or w.dtype.kind in "OU") and
               (np.allclose(g, w, 1e-4, 1e-5, equal_nan=True) if w.dtype.kind in "fiub" else w.dtype.kind not in "OU" or g.tolist() == w.tolist()) for g, w in zip(got, want))

def outputs(path, names):
    y = np.load(path)
    return [y[n] if n in y else None for n in names]

for number, path in enumerate(sorted(glob.glob("*.onnx"))):
    name, wrong, want = path[:-5], [], None
    x = dict(np.load(name + ".in.npz", allow_pickle=True))
    model = onnx.load(path)
    names = [o.name for o in model.graph.output]
    judged, whole = name not in NO_JUDGE, number % every == 0 or name in WHOLE
    try:
        want = run(path, x)
    except Exception:
        judged = False  # a runtime may want a node where a body gives what is not its own
        try:
            want = [np.asarray(v) for v in ReferenceEvaluator(model).run(None, x)]
        except Exception:
            pass
    if name in NO_JUDGE:
        want = None
    if name not in NOT_RUN:
        code, err = tool(f"run-ref {path} -i {name}.in.npz -o r.npz")
        if code or (want and not same(outputs("r.npz", names), want)):
            wrong.append(f"run-ref {code} {err}")
    os.makedirs("w", exist_ok=True)
    for what in (f"ge-import -q {path} -o t.g && ge-export -q t.g -o w/w.onnx", f"hone simplify -q {path} w/w.onnx")[:1 + whole]:
        code, err = tool(what)
        if not code:
            try:
                written = onnx.load("w/w.onnx")
                onnx.checker.check_model(written, full_check=True)
                if [o.name for o in written.graph.output] != names:
                    err = "other outputs"
                elif judged and not same(run("w/w.onnx", x), want):
                    err = "other numbers"
                else:
                    run("w/w.onnx", x)
            except Exception as e:
                err = str(e)[-200:]
        if code or err:
            wrong.append(f"{what.split()[0]} {code} {err}")
    code, err = tool(f"hone build -q {path} -o lib") if whole else (None, "")
    if not whole:
        pass
    elif name in NOT_BUILT:
        if code not in (64, 69):
            wrong.append(f"build {code} {err}")
    else:
        if not code:
            code, err = tool(f"run-dev lib.so -i {name}.in.npz -o d.npz")
        if code or (want and not same(outputs("d.npz", names), want)):
            wrong.append(f"library {code} {err}")
    print("not ok" if wrong else "ok", "-", name)
    for w in wrong:
        print("#", w.replace("\n", " "))
END_PY
within "$python" odd.py
done_testing
