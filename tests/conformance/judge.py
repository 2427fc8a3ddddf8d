"""One case in all columns. A verdict: equal; sized (equal, once the sizes of inputs were given), fixed (once integer inputs were made
constants); random (such results as no two runs have: types and shapes are right); wrong; crash (exit 70 or 71, a signal, a time-out);
refused (any other exit); none (not judged: the original does not pass there either)."""

import glob
import os
import re
import shutil
import signal
import subprocess

import numpy as np
import onnx

COLUMNS = ("evaluated", "passes", "exported", "native", "strict")
TIMEOUT = 120  # seconds, on a machine that does other things too
RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
PEERS = ("checker", "onnxruntime")
EXPORTED = ("import", "prune", "integer", "layout")  # after these passes


def tool(*args):
    """Its exit code, negative for a signal, and its last line. A time-out is SIGALRM."""
    try:
        p = subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT, errors="replace")
    except subprocess.TimeoutExpired:
        return -signal.SIGALRM, "%s: more than %d s" % (args[0], TIMEOUT)
    lines = [re.sub(r"/\S*/case\.\w+/", "", x) for x in p.stderr.strip().split("\n") if x]  # without names of temporary folders
    return p.returncode, lines[-1] if lines else ""


def ended(code, said):
    crash = code < 0 or code > 128 or code in (70, 71)
    return {"verdict": "crash" if crash else "refused", "exit": code, "why": said}


# ---- values in files ----


def stored(x):
    """As .npz files hold it: what NumPy has no type for as float32, or a byte each."""
    if x.dtype.kind == "V" or x.dtype.name.startswith(("bfloat", "float8", "float6_", "float4", "int4", "uint4", "int2", "uint2")):
        small = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}
        return x.astype(small.get(x.dtype.name, np.float32))
    return x


def named(name, x):
    """A value's arrays by name, as hone-npz(5) has them."""
    if x is None:
        return {name + "?": np.zeros(0, np.float32)}
    if isinstance(x, dict):
        return {name + "{keys}": np.asarray(list(x)), name + "{values}": np.asarray(list(x.values()))}
    if isinstance(x, (list, tuple)):
        return {k: y for i, e in enumerate(x) for k, y in named("%s[%d]" % (name, i), e).items()} or {name + "[]": np.zeros(0, np.float32)}
    x = stored(np.asarray(x))
    return {name: x.astype(str) if x.dtype == object else x}


def feed(values, arrays):
    """The inputs of a run by name. An operand that is not there is left out."""
    given = [(v, x) for v, x in zip(values, arrays) if x is not None or v.type.HasField("optional_type")]
    return {k: y for v, x in given for k, y in named(v.name, x).items()}


def result(got, name):
    """What a file of results has under a name."""
    if name in got.files:
        return got[name]
    if name + "{keys}" in got.files:
        return dict(zip(got[name + "{keys}"].tolist(), got[name + "{values}"].tolist()))
    if name + "[]" in got.files:
        return []
    items = []
    while any(k.startswith("%s[%d]" % (name, len(items))) for k in got.files):
        items.append(result(got, "%s[%d]" % (name, len(items))))
    return items or None


def precision(x):
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10}.get(x.dtype.name, 2.0**-23 if x.dtype == np.float32 else 2.0**-52)


# Types of 8 bits and fewer: bits of the mantissa, the least exponent. Nothing is summed in them, so results are the bits that were wanted.
SMALL = {"float8_e4m3fn": (3, -6), "float8_e4m3fnuz": (3, -7), "float8_e5m2": (2, -14), "float8_e5m2fnuz": (2, -15), "float8_e8m0fnu": (0, -127),
         "float6_e2m3fn": (3, 0), "float6_e3m2fn": (2, -2), "float4_e2m1fn": (1, 0)}  # fmt: skip


def units(got, want, kind):
    """How many units in the last place of that type, at the larger of both, a result is off; a sign of a zero is as much as can be."""
    mantissa, least = SMALL[kind]
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(a), np.abs(b)))), least)
        off = np.abs(a - b) / 2.0 ** (exponent - mantissa)
    same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0, np.where(np.isfinite(off) & (off > 0), off, np.inf))


def differs(got, want, case, narrow=False):
    """None, or why a result is not the one that was wanted: onnx's own tolerance, or two units in the last place of a half and one of
    the largest element, since onnx's own numbers were summed in the type. Types of 8 bits and fewer: none."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "a list of %s, not %d" % (len(got) if isinstance(got, (list, tuple)) else "no", len(want))
        return next((w for w in (differs(g, x, case) for g, x in zip(got, want)) if w), None)
    if want is None:
        return None if got is None else "a value, not none"
    if got is None:
        return "none, not a value"
    e = 2.0**-7 if narrow else precision(np.asarray(want))
    kind = np.asarray(want).dtype.name
    want = stored(np.asarray(want))
    got = np.asarray(got)
    if want.dtype.kind in "OUS":
        got, want = got.astype(str), want.astype(str)
    if got.shape != want.shape or (got.dtype != want.dtype and want.dtype.kind not in "OUS"):
        return "%s %s, not %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    if got.dtype.kind not in "fc":
        same = got == want
    elif kind in SMALL:
        same = units(got, want, kind) == 0
    else:
        with np.errstate(all="ignore"):
            a, b = (got, want) if got.dtype.kind == "c" else (got.astype(np.float64), want.astype(np.float64))
            most = float(np.abs(b[np.isfinite(b)]).max()) if np.isfinite(b).any() else 0
            near = np.abs(a - b) <= case.atol + np.maximum(case.rtol, 2 * e) * np.abs(b) + e * most
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b) & near)
    if np.all(same):
        return None
    at = int(np.flatnonzero(~np.asarray(same).reshape(-1))[0])
    return "element %d is %r, not %r" % (at, got.reshape(-1)[at].item(), want.reshape(-1)[at].item())


def alike(got, want):
    """Types and shapes alone."""
    return got is not None and np.asarray(got).shape == np.asarray(want).shape and np.asarray(got).dtype == stored(np.asarray(want)).dtype


class Run:
    """A case with its files."""

    def __init__(self, case, dir):
        self.case, self.dir, self.model = case, dir, case.model()
        self.path = dir + "/case.onnx"
        onnx.save(self.model, self.path)
        self.sets = case.sets()
        self.feeds = []
        for k, (inputs, _) in enumerate(self.sets):
            self.feeds.append(feed(self.inputs(len(inputs)), inputs))
            np.savez("%s/in%d.npz" % (dir, k), **self.feeds[-1])
        self.random = any(n.op_type in RANDOM or (n.op_type == "Dropout" and len(n.input) > 2 and n.input[2]) for n in self.model.graph.node)

    def inputs(self, n):
        """Those that n arrays are for: old files list their weights among the inputs, too."""
        made = {x.name for x in self.model.graph.initializer}
        free = [v for v in self.model.graph.input if v.name not in made]
        return free if len(free) == n else self.model.graph.input

    def narrow(self, i):
        v = self.model.graph.output[i]
        return v.type.HasField("tensor_type") and v.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16

    def compare(self, got, k):
        """Results by name against set k; a verdict."""
        if not self.sets[k][1]:
            return {"verdict": "none", "why": "no results to compare with"}
        for i, (o, want) in enumerate(zip(self.model.graph.output, self.sets[k][1])):
            x = got(o.name, i)
            why = differs(x, want, self.case, self.narrow(i))
            if why and self.random and want is not None and not isinstance(want, (list, tuple)) and alike(x, want):
                continue
            if why and self.case.doubt:
                return {"verdict": "none", "why": self.case.doubt}
            if why:
                return {"verdict": "wrong", "why": "%s: %s" % (o.name, why)}
        return {"verdict": "random" if self.random else "equal"}

    def run(self, program, file, k, feeds=None):
        """One of our programs on one file with the inputs of set k."""
        given = self.feeds[k] if feeds is None else feeds
        path = "%s/in%d.npz" % (self.dir, k)
        if feeds is not None:
            path = self.dir + "/given.npz"
            np.savez(path, **given)
        out = self.dir + "/out.npz"
        if os.path.exists(out):
            os.unlink(out)
        code, said = tool(program, file, *(["-i", path] if given else []), "-o", out)
        if code:
            return ended(code, said)
        with np.load(out, allow_pickle=False) as got:
            return self.compare(lambda name, i: result(got, name), k)

    def run_all(self, program, file, dropped=()):
        for k in range(len(self.sets)):
            feeds = {n: x for n, x in self.feeds[k].items() if n not in dropped} if dropped else None
            r = self.run(program, file, k, feeds)
            if r["verdict"] not in ("equal", "random"):
                return r
        return r


# ---- the columns ----


def name_of(stage):
    return os.path.basename(stage)[3:-2]


def passes(r, stages, evaluated, built):
    """The graph after each stage, evaluated where the stage changed it."""
    if evaluated["verdict"] not in ("equal", "random"):
        return dict(evaluated)
    last = None
    for stage in stages:
        now = digest(stage)
        if now and now == last:
            continue
        last = now
        got = r.run("run-ref", stage, 0)
        if got["verdict"] not in ("equal", "random"):
            return dict(got, why="after %s: %s" % (name_of(stage), got.get("why", "")))
    if not stages or not any(name_of(s) == "layout" for s in stages):
        return ended(*built)
    return {"verdict": evaluated["verdict"]}


def digest(path):
    """Of a graph, without its history; by this machine's own program, whatever machine's programs are judged."""
    return subprocess.run([os.environ.get("CONFORMANCE_STAT", "ge-stat"), "--digest", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def once_is_enough(r, stages):
    """Each pass again on what it made: the same graph."""
    again = r.dir + "/again.g"
    for stage in stages:
        name = name_of(stage)
        if name in ("import", "plan"):
            continue
        code, said = tool("ge-" + name, "--quiet", stage, "-o", again)
        if code:
            return dict(ended(code, said), why="%s twice: %s" % (name, said))
        if not digest(stage) or digest(stage) != digest(again):
            return {"verdict": "wrong", "why": "%s twice is not once" % name}
    return None


def in_child(work):
    """What a function prints, from a process of its own: a fault of a library is no fault of this program."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(r)
            signal.alarm(TIMEOUT)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(w, work().encode()[:4000])
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        said = f.read().decode()
    _, status = os.waitpid(pid, 0)
    return said if said else "crash: signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "crash: no answer"


def peers(r, path):
    """What onnx's checker and ONNX Runtime say of a file: a line each, "good" or why not."""
    import onnxruntime

    def said(work):
        try:
            return work() or "good"
        except Exception as e:
            return " ".join(str(e).split()) or type(e).__name__

    def check():
        onnx.checker.check_model(path, full_check=True)

    def run():
        o = onnxruntime.SessionOptions()
        o.log_severity_level, o.intra_op_num_threads, o.inter_op_num_threads = 4, 1, 1
        s = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
        names = {i.name for i in s.get_inputs()} | {i.name for i in s.get_overridable_initializers()}
        given = {}
        for v, x in zip(r.model.graph.input, r.sets[0][0]):
            if v.name not in names:
                continue
            if isinstance(x, np.ndarray) and x.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int4", "uint4", "float4_e2m1fn"):
                x = onnxruntime.OrtValue.ort_value_from_numpy_with_onnx_type(x, v.type.tensor_type.elem_type)
            given[v.name] = x
        got = s.run(None, given)
        return r.compare(lambda name, i: got[i], 0).get("why")

    return said(check) + "\n" + said(run)


def exported(r, stages, built):
    """Files of the graphs: what of checker and ONNX Runtime the original passes, they must."""
    was = in_child(lambda: peers(r, r.path)).split("\n")
    if "good" not in was:
        return {"verdict": "none", "why": "the original: " + "; ".join(was)}
    judges = [who for who, said in zip(PEERS, was) if said == "good"]
    if not stages:
        return dict(ended(*built), judges=judges)
    last = None
    for stage in stages:
        if name_of(stage) not in EXPORTED:
            continue
        path = r.dir + "/exported.onnx"
        code, said = tool("ge-export", stage, "-o", path)
        if code:
            return dict(ended(code, said), why="after %s: %s" % (name_of(stage), said), judges=judges)
        with open(path, "rb") as f:
            bytes = f.read()
        if bytes == last:
            continue
        last = bytes
        now = in_child(lambda: peers(r, path)).split("\n")
        for who, a, b in zip(PEERS, was, now + [""]):
            if a == "good" and b != "good":
                wrong = "wrong" if "element" in b[:40] or ", not " in b else "refused"
                return {"verdict": wrong, "why": "after %s: %s: %s" % (name_of(stage), who, b), "judges": judges}
    return {"verdict": "equal", "judges": judges}


def sizes(r):
    """Options that give the sizes of inputs, and those that make integers constants, with the names of these."""
    shapes, consts, names = [], [], []
    for n, x in r.feeds[0].items():
        if x.ndim:
            shapes += ["--shape", "%s:%s" % (n, "x".join(map(str, x.shape)))]
        if x.dtype.kind in "iu" and x.ndim < 2 and 0 < x.size <= 16:
            consts += ["--const", "%s=%s" % (n, ",".join(map(str, x.reshape(-1))))]
            names.append(n)
    return shapes, consts, names


def build(r, *options):
    shutil.rmtree(r.dir + "/lib.d", ignore_errors=True)
    code, said = tool("hone", "build", "-q", "--keep", "-j", "1", r.path, "-o", r.dir + "/lib", *r.case.options, *options)
    return (code, said), sorted(glob.glob(r.dir + "/lib.d/[0-9][0-9]-*.g"))


def library(r, built, stages, dropped=()):
    """Verdicts of a library: native, strict."""
    if built[0]:
        e = ended(*built)
        return e, dict(e)
    native = r.run_all("run-dev", r.dir + "/lib.so", dropped)
    if native["verdict"] not in ("equal", "random"):
        return native, dict(native)
    before = [s for s in stages if name_of(s) != "plan"][-1]
    code, said = tool("ge-plan", "--quiet", "--no-fallback", before, "-o", r.dir + "/strict.g")
    return native, ended(code, said) if code else dict(native)


def judge(case, dir):
    r = Run(case, dir)
    evaluated = r.run_all("run-ref", r.path)
    built, stages = build(r)
    kept = [s for s in stages if name_of(s) != "plan"]
    columns = {"evaluated": evaluated, "passes": passes(r, stages, evaluated, built), "exported": exported(r, kept, built)}
    if os.environ.get("CONFORMANCE_TWICE"):
        columns["passes"] = once_is_enough(r, stages) or columns["passes"]
    native, strict = library(r, built, stages)
    if native["verdict"] == "refused" and evaluated["verdict"] == "equal":
        shapes, consts, names = sizes(r)
        for verdict, options, dropped in (("sized", shapes, ()), ("fixed", consts, names), ("fixed", shapes + consts, names)):
            if not options or (dropped and len(r.sets) > 1):
                continue
            again, stages = build(r, *options)
            a, b = library(r, again, stages, dropped)
            if a["verdict"] == "refused":
                continue
            why = native.get("why", "")
            native, strict = [dict(x, verdict=verdict, why=why) if x["verdict"] == "equal" else x for x in (a, b)]
            break
    columns["native"], columns["strict"] = native, strict
    return columns
