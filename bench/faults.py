"""Plants faults in the passes, the plan and the kernels of a dozen small models: does hone bisect name the stage, and is the part small?

faults.py [--count N] [--seed S] [--only WORD] [--keep FOLDER]      needs a python with onnx and onnxruntime; hone on the PATH

A fault is a rule of a pass made wrong (its C is changed and compiled), an operator, an attribute, an operand or a constant changed in what
a pass writes, a value's place in the plan, or a line of the kernels' C. One that is drawn and changes no output of the library, or ends the
build, is none: another is drawn. A line a fault: where it is, what hone bisect names, the nodes of its part. Ends with how many stages were
named, and how many parts have at most five nodes."""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BIN = os.path.join(TOP, "bin")

# The rule, its tool, and what of its source becomes what.
RULES = {
    "offset of a normalisation": ("ge-simplify", [("affine.c", "p[1][c] - p[2][c] * a->scale[c]", "p[1][c] + p[2][c] * a->scale[c]")]),
    "quotient by a vector": ("ge-simplify", [("affine.c", "a->scale[k] = 1 / c[k]", "a->scale[k] = c[k]")]),
    "offset that is subtracted": ("ge-simplify", [("affine.c", "i == 0 ? -c[k] : c[k]", "c[k]")]),
    "Gelu": ("ge-simplify", [("activation.c", "become(rw, n, OP_Gelu, x);", "become(rw, n, OP_Mish, x);")]),
    "Swish's factor": ("ge-simplify", [("activation.c", "(float)arg.k)", "1)")]),
    "HardSigmoid's beta": ("ge-simplify", [("activation.c", '"beta", 0.5f', '"beta", 0.25f')]),
    "bounds of a Clip": ("ge-simplify", [("activation.c", "NULL, &bound[1]), rw", "NULL, &bound[0]), rw")]),
    "weights of a Gemm": ("ge-simplify", [("pool.c", "(i * cols + j) * size, size", "(i * cols + (j + 1) % cols) * size, size")]),
    "global mean": ("ge-simplify", [
        ("pool.c", "OP_GlobalAveragePool, 1, (val_id[]){rw_in(rw, n, 0)});\n\tif",
         "OP_GlobalMaxPool, 1, (val_id[]){rw_in(rw, n, 0)});\n\tif")]),
    "Concat of a Split": ("ge-simplify", [
        ("move.c", 'return "the parts are in another order"', "break"), ("move.c", "parts != node(m, n)->nin", "!parts")]),
    "two scalars": ("ge-simplify", [("arith.c", "product ? a * b : a + b", "a + b")]),
    "Transposes": ("ge-simplify", [("shape.c", "both[i] = q[p[i]]", "both[i] = p[q[i]]")]),
    "equal but for attributes": ("ge-cse", [
        ("ge-cse.c", "h = attr_hash(&n->attr[i], h)", "h += 0"), ("ge-cse.c", "!attr_equal(m, &a->attr[i], &b->attr[i])", "false")]),
    "operands in any order": ("ge-cse", [
        ("ge-cse.c", "bool ordered = !op_is(n->op, OP_COMMUTATIVE)", "bool ordered = n->nin != 2"),
        ("ge-cse.c", "if (i == a->nin || !op_is(a->op, OP_COMMUTATIVE))", "if (i == a->nin || a->nin != 2)")]),
    "places that overlap": ("ge-plan", [("assign.c", "a->b[alive[k]].last >= t[i].first", "a->b[alive[k]].last > t[i].first + 1")]),
    "a gap too small": ("ge-plan", [("assign.c", "end = q->offset + q->bytes;", "end = q->offset + q->bytes / 2;")]),
}

OTHER = {"Relu": "Abs", "LeakyRelu": "Elu", "Elu": "LeakyRelu", "Tanh": "Softsign", "Sigmoid": "HardSigmoid", "HardSwish": "Mish",
         "Gelu": "Mish", "Swish": "Mish", "Exp": "Softplus", "Softplus": "Exp", "Neg": "Abs", "Add": "Sub", "Sub": "Add", "Mul": "Add",
         "Div": "Mul", "Max": "Min", "Min": "Max", "MaxPool": "AveragePool", "GlobalAveragePool": "GlobalMaxPool",
         "ReduceMean": "ReduceSum",
         "ReduceSum": "ReduceMean",
         "ReduceMax": "ReduceMin", "ReduceL2": "ReduceL1", "Softmax": "LogSoftmax", "LogSoftmax": "Softmax", "Selu": "Relu", "Sqrt": "Abs",
         "Reciprocal": "Neg", "ArgMax": "ArgMin", "Greater": "Less", "ReduceSumSquare": "ReduceL2", "Abs": "Neg"}
BARE = {"Abs", "Mish", "Softsign"}
SWAPPED = {"Sub", "Div", "MatMul", "Greater"}
NUMBER = re.compile(r"\b(alpha|beta|epsilon|axis|pads|strides|perm|direction|hidden_size|linear_before_reset)=(\[[-\d,]+\]|-?[\d.e-]+)")
NODE = re.compile(r"^(  \S.*? = )(\w+)\((.*?)\)( \{.*\})?(.*)$")


def change_node(kind, op, line):
    """The line with its node changed; None: the fault is not of such a node."""
    m = NODE.match(line)
    if not m or m[2] != op:
        return None
    head, _, operands, attributes, rest = m.groups("")
    if kind == "operator":
        return "%s%s(%s)%s%s" % (head, OTHER[op], operands, "" if OTHER[op] in BARE else attributes, rest)
    if kind == "operands":
        x = operands.split(", ")
        return "%s%s(%s)%s%s" % (head, op, ", ".join([x[1], x[0]] + x[2:]), attributes, rest)
    changed = NUMBER.sub(lambda a: "%s=%s" % (a[1], other_number(a[1], a[2])), attributes, count=1)
    return None if changed == attributes else "%s%s(%s)%s%s" % (head, op, operands, changed, rest)


def other_number(name, text):
    if text[0] == "[":
        x = text[1:-1].split(",")
        return "[%s]" % ",".join(x[1:] + x[:1])
    if name == "axis":
        return "0" if text != "0" else "1"
    return repr(float(text) * 3) if "." in text or "e" in text else str(1 - int(text))


def change_graph(kind, op, text):
    if kind == "place":
        return re.sub(r"offsets=\[(\d+)", lambda m: "offsets=[%d" % (int(m[1]) // 128 * 64), text)
    if kind == "constant":
        return re.sub(r"^(const \S+ = f32\[\] \[)(%s)\]" % re.escape(op),
                      lambda m: "%s%r]" % (m[1], float(m[2]) * 1.5 + 0.1), text, flags=re.M)
    return "\n".join(change_node(kind, op, line) or line for line in text.split("\n"))


def choices(text):
    """The faults that a graph can have."""
    found = set()
    for line in text.split("\n"):
        m = NODE.match(line)
        if m and m[2] in OTHER:
            found.add(("operator", m[2]))
        if m and m[2] in SWAPPED:
            found.add(("operands", m[2]))
        if m and change_node("attribute", m[2], line):
            found.add(("attribute", m[2]))
        c = re.match(r"^const \S+ = f32\[\] \[([^\],]+)\]", line)
        if c and re.fullmatch(r"-?[\d.]+(e-?\d+)?", c[1]):
            found.add(("constant", c[1]))
    return sorted(found)


# Lines of the kernels' C: what of them becomes what.
LINES = {
    "a loop's bound": (r"(for \(long \w+ = 0; \w+ < )(\d+)(; \w+\+\+\))", lambda m: "%s%d%s" % (m[1], max(1, int(m[2]) - 1), m[3])),
    "a sum's sign": (r" \+= ", " -= "),
    "a sum's start": (r" = vset\(0\.0f\);", " = vset(0.5f);"),
    "a load's place": (r"\bvload\((i\d) \+ ", r"vload(\1 + 1 + "),
    "a scalar's place": (r"\b(i\d|pad)\[", r"\1[1 + "),
    "a constant": (r"(?<![\w.])(\d+\.\d+(?:e-?\d+)?)f\b", lambda m: "%rf" % (float(m[1]) * 1.5)),
    "a difference": (r"\) - \(?t", lambda m: m[0].replace("-", "+")),
    "a store's lanes": (r"vstore_mask\((.*), vlanes\(0, (\d+)\)\);", lambda m: "vstore_mask(%s, vlanes(0, %d));" % (m[1], int(m[2]) - 1)),
    "a weight's place": (r"\bvload\((c\d) \+ ", r"vload(\1 + 1 + "),
    "a maximum": (r"\bvmax2?\((.*)\);$", r"vwrong(\1);"),
    "a product": (r" \* (r\d+|t\d+)\b", r" + \1"),
}


def change_kernels(kind, seed, text):
    """Of the lines that it can be in, a part: drawn by their own text, so that the same lines of a smaller model have it too."""
    pattern, by = LINES[kind]
    inside, out = False, []
    for line in text.split("\n"):
        inside = inside or re.match(r"^[^;]*\bKERNEL void k\w+\([^;]*$", line) is not None
        if inside and (zlib.crc32(re.sub(r"[\d_]", "", line).encode()) >> 4) % 3 == seed % 3:
            line = re.sub(pattern, by, line)
        inside = inside and line != "}"
        out.append(line)
    text = "\n".join(out)
    if "vwrong(" in text:
        text = text.replace("static inline vm veq(", "static inline vf vwrong(vf a, vf b) { return a + b; }\nstatic inline vm veq(", 1)
    return text


# ---- programs with a fault ----

def as_tool(tool, kind, what, words):
    """Runs the tool, and plants the fault in the graph that it writes."""
    code = subprocess.call([os.path.join(BIN, tool)] + words)
    if code:
        return code
    out = words[words.index("-o") + 1]
    text = subprocess.run([os.path.join(BIN, "ge-dump"), out], capture_output=True, text=True).stdout
    changed = change_graph(kind, what, text)
    if changed == text:
        return 0
    return subprocess.run([os.path.join(BIN, "ge-load"), "-o", out], input=changed, text=True).returncode


def as_compiler(kind, seed, words):
    for i, w in enumerate(words):
        if w.endswith(".c") and os.path.exists(w):
            name = "%s.%d.c" % (w[:-2], os.getpid())
            with open(w) as f, open(name, "w") as g:
                g.write(change_kernels(kind, int(seed), f.read()))
            words[i] = name
    os.execvp("gcc", ["gcc"] + words)


def script(path, words):
    with open(path, "w") as f:
        f.write("#!/bin/sh\nexec '%s' '%s' %s \"$@\"\n" % (sys.executable, os.path.abspath(__file__), " ".join("'%s'" % w for w in words)))
    os.chmod(path, 0o755)


def with_tool(folder, tool):
    """A folder with hone and its tools, but for that one; its path."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for name in os.listdir(BIN):
        if name not in ("hone", tool):
            os.symlink(os.path.join(BIN, name), os.path.join(folder, name))
    shutil.copy(os.path.join(BIN, "hone"), os.path.join(folder, "hone"))
    return os.path.join(folder, tool)


def compile_tool(folder, tool, edits):
    """The tool of a source with the edits."""
    place = with_tool(folder, tool)
    objects = []
    for name in dict.fromkeys(e[0] for e in edits):
        path = next(p for p in (os.path.join(TOP, d, name) for d in ("tools/" + tool, "lib/model")) if os.path.exists(p))
        text = open(path).read()
        for _, old, new in (e for e in edits if e[0] == name):
            if old not in text:
                sys.exit("faults.py: %s has no more: %s" % (path, old))
            text = text.replace(old, new, 1)
        made = os.path.join(folder, name)
        with open(made, "w") as f:
            f.write(text)
        objects.append(made)
    built = os.path.join(TOP, "build/tools", tool)
    changed = {os.path.basename(o)[:-2] + ".o" for o in objects}
    rest = [os.path.join(built, f) for f in os.listdir(built) if f.endswith(".o") and f not in changed]
    floors = re.search(r"^FLOORS = (.*)$", open(os.path.join(TOP, "Makefile")).read(), re.M)[1].replace("/", "").split()[::-1]
    include = ["-I" + os.path.join(TOP, d) for d in ("lib", "build/gen", "tools/" + tool, "")]
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-w", *include, "-o", place, *objects, *rest,
                    *[os.path.join(TOP, "build", "lib%s.a" % f) for f in floors],
                    "-lprotobuf-c", "-lmsgpackc", "-llmdb", "-lxxhash", "-lz", "-lm", "-pthread"], check=True)


# ---- one fault ----

def run(words, env):
    return subprocess.run(["timeout", "300"] + words, capture_output=True, text=True, env=env, cwd=env["WHERE"])


def library(hone, path, env):
    """The C and the weights of a build; None: it fails."""
    if run([hone, "build", "--quiet", path, "-o", "lib"], env).returncode:
        return None
    return [open(os.path.join(env["WHERE"], "lib" + end), "rb").read() for end in (".c", ".weights")]


def makes_another_library(path, env):
    """True if the library, which is built, differs from ONNX Runtime: what hone bisect did not see."""
    import numpy as np
    import onnxruntime
    s = onnxruntime.InferenceSession(path)
    rng = np.random.default_rng(5)
    x = {i.name: rng.standard_normal(i.shape).astype(np.float32) if "float" in i.type else rng.integers(0, 9, i.shape)
         for i in s.get_inputs()}
    np.savez(os.path.join(env["WHERE"], "in.npz"), **x)
    r = run([os.path.join(BIN, "run-dev"), "--quiet", "-i", "in.npz", "-o", "out.npz", "./lib.so"], env)
    if r.returncode:
        return True
    y = np.load(os.path.join(env["WHERE"], "out.npz"))
    wrong = 0
    for o, w in zip(s.get_outputs(), s.run(None, x)):
        wrong = max(wrong, float(np.nanmax(np.abs(y[o.name].astype(float) - w))) / max(1e-9, float(np.max(np.abs(w)))))
    return not wrong < (0.1 if "quantised" in path else 2e-3)


STAGES = "shape fold simplify deadedge cse dedup prune narrow integer fuse layout join schedule plan".split()


class Faults:
    def __init__(self, folder, seed):
        self.folder, self.rng, self.graphs, self.libraries = folder, random.Random(seed), {}, {}
        self.planted, self.compiled = os.path.join(folder, "planted"), None
        self.env = dict(os.environ, WHERE=folder, PATH=BIN + ":" + os.environ["PATH"])

    def graph(self, path, stage):
        if path not in self.graphs:
            stem = os.path.join(self.folder, "whole")
            run(["hone", "build", "--quiet", path, "-o", stem], self.env)
            self.graphs[path] = {}
            for f in sorted(os.listdir(stem + ".d")):
                name = f.split("-")[1][:-2]
                text = run(["ge-dump", os.path.join(stem + ".d", f)], self.env).stdout
                self.graphs[path].setdefault(name, text)
            shutil.rmtree(stem + ".d")
        return self.graphs[path].get(stage)

    def plant_rule(self, path, what):
        tool, edits = RULES[what]
        if self.compiled != what:
            compile_tool(self.planted, tool, edits)
            self.compiled = what
        return tool[3:], what, {}

    def plant_graph(self, path, stage):
        self.compiled, text = None, self.graph(path, stage)
        if text is None:
            return None
        possible = choices(text) + ([("place", "")] if stage == "plan" else [])
        if not possible:
            return None
        kind, what = self.rng.choice(possible)
        script(with_tool(self.planted, "ge-" + stage), ["--as", "ge-" + stage, kind, what])
        return stage, "%s %s" % (kind, what), {}

    def plant_kernels(self, path, kind):
        self.compiled = None
        with_tool(self.planted, "cc")
        script(os.path.join(self.planted, "cc"), ["--as", "cc", kind, str(self.rng.randrange(3))])
        return "emit", kind, {"CC": os.path.join(self.planted, "cc")}

    def try_one(self, path, plant, what):
        """A line of the table: stage, fault, what was named, nodes; None: no fault."""
        made = plant(path, what)
        if not made:
            return None
        stage, fault, more = made
        env, hone = dict(self.env, **more), os.path.join(self.planted, "hone")
        if path not in self.libraries:
            self.libraries[path] = library("hone", path, self.env)
        planted = library(hone, path, env)
        if planted is None or (plant != self.plant_kernels and planted == self.libraries[path]):
            return None
        since = time.time()
        r = run([hone, "bisect", path, "-o", "part"], env)
        if r.returncode == 0:
            if not makes_another_library(path, env):
                return None
            return stage, fault, "nothing", 0, time.time() - since
        if r.returncode != 1:
            return None
        named = re.search(r"^the numbers change in (\S+):", r.stdout, re.M)
        nodes = re.search(r"^the smallest part: (\d+) node", r.stdout, re.M)
        return stage, fault, named[1] if named else "nothing", int(nodes[1]) if nodes else 0, time.time() - since


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=50)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--keep", help="folder for the models and the last fault")
    a = p.parse_args()
    sys.path.insert(0, HERE)
    import fault_models
    folder = os.path.abspath(a.keep) if a.keep else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    f = Faults(folder, a.seed)
    paths = []
    for m in fault_models.MODELS:
        paths.append(os.path.join(folder, m.__name__ + ".onnx"))
        m(paths[-1])
    kinds = ["rule"] * len(RULES) + ["graph"] * 20 + ["kernels"] * 16
    drawn, seen, count, named, small = 0, set(), 0, 0, 0
    while count < a.count and drawn < 20 * a.count:
        drawn += 1
        kind = f.rng.choice(kinds)
        what = f.rng.choice(sorted(RULES) if kind == "rule" else STAGES if kind == "graph" else sorted(LINES))
        path = f.rng.choice(paths)
        if a.only not in "%s %s" % (kind, what):
            continue
        key = (what if kind == "rule" else (path, kind, what))
        if key in seen:
            continue
        plant = {"rule": f.plant_rule, "graph": f.plant_graph, "kernels": f.plant_kernels}[kind]
        for path in f.rng.sample(paths, len(paths)) if kind == "rule" else [path]: # the first model that the rule meets
            found = f.try_one(path, plant, what)
            if found:
                break
        seen.add(key)
        if not found:
            continue
        stage, fault, by, nodes, seconds = found
        count += 1
        named += by == stage
        small += by == stage and 0 < nodes <= 5
        print("%2d %-14s %-9s %-34s %-9s %3d node%s %5.1f s%s" % (
            count, os.path.basename(path)[:-5], stage, fault, by, nodes, " " if nodes == 1 else "s", seconds,
            "" if by == stage and 0 < nodes <= 5 else "  <-"), flush=True)
    print("%d faults (%d drawn): the stage named in %d, a part of at most 5 nodes in %d" % (count, drawn, named, small))
    if not a.keep:
        shutil.rmtree(folder)


if sys.argv[1:2] == ["--as"]:
    sys.exit(as_compiler(*sys.argv[3:5], sys.argv[5:]) if sys.argv[2] == "cc" else as_tool(*sys.argv[2:5], sys.argv[5:]))
main()
