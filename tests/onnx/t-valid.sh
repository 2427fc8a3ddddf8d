# Every file that is written passes onnx.checker and loads in ONNX Runtime, keeps its opset (below 7: 7 or more) and its IR version: ONNX's test
# models (libonnx-testdata, the node cases of the onnx package) and those in HONE_MODELS, after import and export and after all
# passes. One of HONE_EVERY of them (7; 1: all). What the originals themselves fail is listed.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || python=
if [ -z "$python" ]; then
	skip_all "valid files" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
cat >valid.py <<'END'
import glob, os, subprocess, sys, warnings
warnings.simplefilter("ignore")
import onnx, onnxruntime as ort
ort.set_default_logger_severity(4)
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = 1
every = int(os.environ.get("HONE_EVERY", 7))
PASSES = "ge-shape -q t.g | ge-fold | ge-simplify --skip=swish | ge-deadedge | ge-fold | ge-cse | ge-dedup | ge-prune | ge-export -q -o all.onnx"

def models():
    yield from sorted(glob.glob("/usr/share/libonnx-testdata/data/*/*/model.onnx"))[::every]
    try:
        from onnx.backend.test.case.node import collect_testcases
        cases = [c for c in collect_testcases(None) if c.model is not None][::every]
    except Exception as e:
        print(f"ok - node cases of the onnx package # SKIP {str(e)[:80]!r}")
        cases = []
    for c in cases:
        onnx.save(c.model, c.name + ".onnx")
        yield c.name + ".onnx"
    for d in filter(None, os.environ.get("HONE_MODELS", "").split(":")):
        yield from sorted(glob.glob(d + "/*.onnx"))

def fails(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:
        return "onnx.checker: " + str(e).strip().replace("\n", " ")[:150]
    try:
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        return "ONNX Runtime: " + str(e).strip().replace("\n", " ")[:150]

def opset(m):
    return {o.domain: o.version for o in m.opset_import}.get("")

OLDEST = 7  # that is written

def kept(before, after):
    if opset(before) < OLDEST:
        return opset(after) >= OLDEST
    return (opset(before), before.ir_version) == (opset(after), after.ir_version)

count = wrong = unread = 0
originals = []
for path in models():
    p = subprocess.run(["ge-import", "-q", path, "-o", "t.g"], capture_output=True, text=True)
    if p.returncode in (65, 69):  # what is not read is not written
        unread += 1
        continue
    was, before = None, onnx.load(path, load_external_data=False)
    for command, out in (("ge-export -q t.g -o io.onnx", "io.onnx"), (PASSES, "all.onnx")):
        p = subprocess.run(["bash", "-c", "set -o pipefail; " + command], capture_output=True, text=True)
        count += 1
        why = p.stderr.strip() if p.returncode else fails(out)
        after = onnx.load(out, load_external_data=False) if not p.returncode else None
        if not why and opset(before) and not kept(before, after):
            why = f"opset {opset(before)}, IR {before.ir_version} became {opset(after)}, {after.ir_version}"
        if why and was is None:
            was = fails(path) or False
            if was:
                originals.append(f"{path}: {was}")
        if why and not was:
            wrong += 1
            print(f"# {path}: {command.split()[0]}: {why}")
for line in originals:
    print("# the original fails:", line)
print(f"{'not ok' if wrong else 'ok'} - {count} files are valid ({unread} models are not read, {len(originals)} fail before)")
END
within "$python" valid.py
done_testing
