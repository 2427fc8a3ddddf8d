#!/usr/bin/env python3
"""shapes.py MODEL.onnx... (or directories): how many shapes ge-shape, onnx.shape_inference and ONNX Runtime's tool
(onnxruntime.tools.symbolic_shape_infer, which wants sympy) know.

Counted are the results of all nodes but Constant, bodies included. A shape is known if its rank and all its extents are: as numbers, or as
expressions of the symbols of the model's inputs, among them those that a tool names an input's size by that has no name in the file
(Paddle's "?" is none). Another name that a tool made up for an extent says nothing, and does not count. A shape is wrong if a run of
the model (ONNX Runtime, random inputs, two sets of sizes where it takes them) gives another; values of bodies are not looked at.
hone must be in PATH. Ends with 1 if ge-shape is wrong somewhere, or knows less of a model than another.
"""

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

ort.set_default_logger_severity(4)
SIZES = [48, 64, 1, 2, 3, 4, 5, 8, 16, 32, 128, 192, 256, 320, 512, 640]


def graphs(graph):
    yield graph
    for n in graph.node:
        for a in n.attribute:
            for g in [a.g] * a.HasField("g") + list(a.graphs):
                yield from graphs(g)


def results(graph):
    return [o for n in graph.node if n.op_type != "Constant" for o in n.output if o]


def dims_of(value):
    """Dimensions as text, None for an unknown one; None: no rank is known. What is no tensor has no shape to know."""
    t = value.type
    if not t.HasField("tensor_type"):
        return [] if t.WhichOneof("value") else None
    if not t.tensor_type.HasField("shape"):
        return None
    return [d.dim_param or None if not d.HasField("dim_value") else str(d.dim_value) if d.dim_value >= 0 else None for d in t.tensor_type.shape.dim]


def shapes_of(model):
    found = {}
    for g in graphs(model.graph):
        for v in list(g.value_info) + list(g.output) + list(g.input):
            found.setdefault(v.name, dims_of(v))
    return found


def by_onnx(path):
    return shapes_of(onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True))


def by_ort(path):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    return shapes_of(SymbolicShapeInference.infer_shapes(onnx.load(path), int_max=2**31 - 1, auto_merge=True))


def unquoted(name):
    return re.sub(r"\\(x..|.)", lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "x" and len(m[1]) > 1 else m[1], name[1:-1]) if name[0] == '"' else name


def split(dims):
    """At the commas that stand in no parentheses and no name."""
    parts, depth, quoted = [""] if dims else [], 0, False
    for c in dims:
        quoted ^= c == '"'
        depth += not quoted and (c == "(") - (c == ")")
        if c == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def by_hone(path):
    text = subprocess.run(["hone", "passes", "-q", "--until", "shape", path], check=True, stdout=subprocess.PIPE).stdout
    text = subprocess.run(["ge-dump"], input=text, check=True, stdout=subprocess.PIPE).stdout.decode()
    found, outputs = {}, {}
    for line in text.split("\n"):
        put = re.fullmatch(r'  output ("(?:[^"\\]|\\.)*"|[^ ]+) = @?("(?:[^"\\]|\\.)*"|[^ ]+)', line)
        if put:
            outputs[unquoted(put[1])] = unquoted(put[2])
        line = re.sub(r"^  input ", "  ", line)
        if not line.startswith("  ") or line.startswith("  output "):
            continue
        made = line[2:].split(" = ")[0]
        for name, type in re.findall(r'("(?:[^"\\]|\\.)*"|[^\s,"]+): (%"[^"]*"|[^ \[]+\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\])', made):
            dims = split(type[type.find("[") + 1 : -1])
            found.setdefault(unquoted(name), [] if type[0] == "%" else None if dims == ["*"] else [None if d == "?" else d for d in dims])
    for name in re.findall(r'^const ("(?:[^"\\]|\\.)*"|[^ ]+) =', text, re.M):
        found.setdefault(unquoted(name), [])
    for name, v in outputs.items():
        found.setdefault(name, found.get(v))
    return found


TOKEN = r'"((?:[^"\\]|\\.)*)"|([A-Za-z_][A-Za-z_0-9.]*)'
FUNCTIONS = {"floor": lambda x: math.floor(x + 1e-9), "ceiling": lambda x: math.ceil(x - 1e-9), "min": min, "max": max, "Min": min, "Max": max, "Mod": lambda a, b: a % b}


def symbols_in(dim):
    return {a or b for a, b in re.findall(TOKEN, dim)} - set(FUNCTIONS)


def known(dims, symbols):
    return dims is not None and all(d is not None and (d in symbols or ("?" not in d and symbols_in(d) <= symbols)) for d in dims)


def runs(model, symbols):
    """For two sets of sizes with which the model runs: the sizes, and the shape of each result in the main graph."""
    names = [o for o in results(model.graph)]
    all = onnx.ModelProto()
    all.CopyFrom(model)
    del all.graph.output[:]
    all.graph.output.extend([helper.make_empty_tensor_value_info(n) for n in names])
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        s = ort.InferenceSession(all.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        return
    given = 0
    for first in SIZES:
        sizes = {n: first for n in symbols}
        for i, n in enumerate(sorted(symbols)):
            if re.match("batch|N$|n$|DynamicDimension.0|.*:0$", n):
                sizes[n] = 1 + given
        try:
            y = s.run(None, feeds(s, sizes))
        except Exception:
            continue
        yield sizes, {n: list(v.shape) for n, v in zip(names, y) if isinstance(v, np.ndarray)}
        given += 1
        if given == 2 or not symbols:
            return


def feeds(s, sizes):
    rng = np.random.default_rng(1)
    fed = {}
    for i in s.get_inputs():
        shape = [d if isinstance(d, int) else sizes.get("%s:%d" % (i.name, k), sizes.get(d, 1)) for k, d in enumerate(i.shape)]
        kind = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool}.get(i.type, np.float32)
        fed[i.name] = rng.standard_normal(shape).astype(kind) if kind in (np.float32, np.float64) else np.full(shape, 16000 if i.name == "sr" else 1, kind)
    return fed


def value(dim, sizes):
    return sizes[dim] if dim in sizes else eval(re.sub(TOKEN, lambda m: str(sizes.get(m[1] or m[2], m[0])), dim), {"__builtins__": {}}, FUNCTIONS)


def wrong(found, symbols, names, ran):
    bad = []
    for sizes, shapes in ran:
        for n in names:
            dims, is_ = found.get(n), shapes.get(n)
            if is_ is None or dims is None or n not in found or (dims == [] and is_ != [] and n not in shapes):
                continue
            if len(dims) != len(is_):
                if dims:
                    bad.append("%s: rank %d, is %s" % (n, len(dims), is_))
                continue
            for d, x in zip(dims, is_):
                if known([d], symbols) and value(d, sizes) != x:
                    bad.append("%s: %s, is %s with %s" % (n, dims, is_, sizes))
                    break
    return bad


def is_name(dim):
    return bool(re.search(r"[^\W]", dim))


def unnamed(model):
    """Sizes of inputs without a name: INPUT:AXIS."""
    given = {i.name for i in model.graph.initializer}
    return [(i.name, k) for i in model.graph.input if i.name not in given for k, d in enumerate(i.type.tensor_type.shape.dim)
            if not is_name(d.dim_param) and (not d.HasField("dim_value") or d.dim_value < 0)]


def called(found, open_):
    """The names that a tool gave to sizes without one, each to one size."""
    names = [(found[i][k], "%s:%d" % (i, k)) for i, k in open_ if found.get(i) and found[i][k]]
    return {n: size for n, size in names if [m for m, _ in names].count(n) == 1}


TOOLS = (("hone", by_hone), ("onnx", by_onnx), ("ort", by_ort))


def measure(path):
    model = onnx.load(path)
    names = [o for g in graphs(model.graph) for o in results(g)]
    symbols = {d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim if is_name(d.dim_param)}
    open_ = unnamed(model)
    ran = list(runs(model, symbols | {"%s:%d" % x for x in open_})) if not quick else []
    row, told = [len(names)], []
    for tool, infer in TOOLS:
        try:
            found = infer(path)
        except Exception as e:
            told.append("%s: %s" % (tool, str(e).split("\n")[0][:100]))
            found = {}
        own = called(found, open_)
        mine = symbols | set(own)
        row.append(sum(known(found.get(n), mine) for n in names))
        bad = wrong(found, mine, set(names), [(sizes | {n: sizes[size] for n, size in own.items()}, shapes) for sizes, shapes in ran])
        row.append(len(bad))
        told += ["%s: %s" % (tool, b) for b in bad[:3]]
        if verbose and tool == "hone":
            told += ["unknown: %s %s" % (n, found.get(n)) for n in names if not known(found.get(n), mine)][:verbose]
    return row, told, len(ran)


def models(args):
    for a in args:
        if os.path.isdir(a):
            for d, _, files in sorted(os.walk(a)):
                yield from (os.path.join(d, f) for f in sorted(files) if f.endswith(".onnx"))
        else:
            yield a


p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("model", nargs="+")
p.add_argument("--no-run", action="store_true", help="do not compare with runs")
p.add_argument("--unknown", type=int, default=0, metavar="N", help="list up to N values of which hone does not know the shape")
args = p.parse_args()
quick, verbose = args.no_run, args.unknown
total, failed = [0] * 7, False
print("%-40s %7s %7s %6s %7s %6s %7s %6s %5s" % ("model", "values", "hone", "wrong", "onnx", "wrong", "ort", "wrong", "runs"))
for path in models(args.model):
    row, told, n = measure(path)
    total = [a + b for a, b in zip(total, row)]
    low = row[2] or row[1] < max(row[3], row[5])
    failed = failed or low
    print("%-40s %7d %7d %6d %7d %6d %7d %6d %5d%s" % (os.path.basename(path)[:40], *row, n, "  LOW" if low else ""), flush=True)
    for t in told:
        print("    " + t)
print("%-40s %7d %7d %6d %7d %6d %7d %6d" % ("all", *total))
sys.exit(failed)
