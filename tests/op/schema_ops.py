#!/usr/bin/env python3
"""Every operator that onnx's reference computes, drawn from its schema: the nodes of onnx's own cases with other types, extents (0, 1,
odd ones), values, attributes, fewer operands, and of older opsets. The evaluator, compiled libraries (--native) and `hone simplify`
followed by ONNX Runtime (--simplify) against the reference. schema_ops.py [--first N] [--models N] [OPERATOR...]: tools are found in PATH."""

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

EACH = 12  # nodes of a model
TYPES = {"float": T.FLOAT, "double": T.DOUBLE, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16, "int8": T.INT8, "uint8": T.UINT8, "int16": T.INT16, "uint16": T.UINT16,
         "int32": T.INT32, "uint32": T.UINT32, "int64": T.INT64, "uint64": T.UINT64, "bool": T.BOOL, "float8e4m3fn": T.FLOAT8E4M3FN, "float8e5m2": T.FLOAT8E5M2,
         "float8e4m3fnuz": T.FLOAT8E4M3FNUZ, "float8e5m2fnuz": T.FLOAT8E5M2FNUZ, "int4": T.INT4, "uint4": T.UINT4}
FILES = {T.FLOAT, T.DOUBLE, T.FLOAT16, T.INT8, T.UINT8, T.INT16, T.UINT16, T.INT32, T.UINT32, T.INT64, T.UINT64, T.BOOL}  # types of .npz
STEP = {T.FLOAT: 2.0**-23, T.DOUBLE: 2.0**-52, T.FLOAT16: 2.0**-10, T.BFLOAT16: 2.0**-7, T.FLOAT8E4M3FN: 2.0**-3, T.FLOAT8E5M2: 2.0**-2, T.FLOAT8E4M3FNUZ: 2.0**-3, T.FLOAT8E5M2FNUZ: 2.0**-2}
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
# What attributes with words may be, where cases of onnx do not have them all.
WORDS = {("Pad", "mode"): ["constant", "edge", "reflect", "wrap"], ("Resize", "mode"): ["nearest", "linear", "cubic"], ("GridSample", "padding_mode"): ["zeros", "border", "reflection"],
         ("ScatterElements", "reduction"): ["none", "add", "mul", "min", "max"], ("ScatterND", "reduction"): ["none", "add", "mul", "min", "max"],
         ("DepthToSpace", "mode"): ["DCR", "CRD"], ("Gelu", "approximate"): ["none", "tanh"], ("BitShift", "direction"): ["LEFT", "RIGHT"]}
FLAGS = {"keepdims", "noop_with_empty_axes", "select_last_index", "exclusive", "reverse", "largest", "count_include_pad", "ceil_mode", "fmod", "align_corners", "upper", "transA", "transB",
         "is_causal", "center_point_box", "detect_negative", "detect_positive", "linear_before_reset", "allowzero", "antialias", "exclude_outside", "interleaved", "periodic"}


# Differences where the reference is not right by the text of the operator, or the text leaves it open: operator, what it is about (a
# pattern of what is printed), the reason.
EXPLAINED = [
    ("Hardmax", r"^opset ([1-9]|1[0-2]):", "until opset 12 all axes from axis on are one; the reference has only the later text"),
    ("Softmax", r"^opset ([1-9]|1[0-2]):", "the same"),
    ("LogSoftmax", r"^opset ([1-9]|1[0-2]):", "the same"),
    ("LogSoftmax", r"not \[.*-inf", "the reference takes the logarithm of a Softmax, which is 0 far below"),
    ("LSTM", r"clip=", "the reference does not clip"),
    ("GRU", r"clip=", "the same"),
    ("RNN", r"clip=", "the same"),
    ("Celu", r"alpha=0", "divides by alpha"),
    ("DynamicQuantizeLinear", r"not \[0\.0039", "of zeros alone: 0 by the text; 1 here and by ONNX Runtime, 1/255 by the reference"),
    ("BatchNormalization", r"^opset ([1-9]|1[0-3]):", "the reference of old opsets mixes in the mean and variance of the batch"),
    ("MaxPool", r"pads=.*auto_pad=b'S|auto_pad=b'S.*pads=", "pads and auto_pad go not together; the reference adds both"),
    ("MaxPool", r"kernel_shape=\[1, 1\].*strides=\[[2-9].*auto_pad=b'S", "strides beyond the window: the reference has negative pads"),
    ("MaxPool", r"kernel_shape=\[5, 5\].*pads=.*\} 2: \[\d", "the reference counts the places of a small image in the padded one"),
    ("AveragePool", r"pads=.*auto_pad=b'S|auto_pad=b'S.*pads=", "the same"),
    ("ConvTranspose", r"output_shape=.*auto_pad|auto_pad.*output_shape=", "an output larger than the sum: half of a negative padding, rounded down by Python"),
    ("QuantizeLinear", r"\(float16.*int16", "the reference adds the zero point in float16, which is too small"),
    ("QLinearMatMul", r"float8", "the reference cuts off the fractions of float8"),
    ("LpNormalization", r"p=1", "the reference does not take absolute values"),
    ("TfIdfVectorizer", r"ngram_indexes or weights are not one for each", "more indices than n-grams"),
    ("SoftmaxCrossEntropyLoss", r"names number -", "a label is in [0, C)"),
    ("NegativeLogLikelihoodLoss", r"names number -", "the same"),
    ("ReverseSequence", r"takes 0 to 1", "axes are 0 or 1"),
    ("Cast", r"-\d.*to=(2|4|12|13|21)\W", "what a negative number is without a sign is not said; 0 here"),
    ("CastLike", r"-\d.*, uint", "the same"),
    ("Cast", r"to=(21|22)\W", "to 4 bits: the nearest, by the text; the reference cuts off"),
    ("CastLike", r", u?int4\[", "the same"),
    ("Erf", r"\(u?int", "just below 1 far out: the reference rounds to 1 in f32 before it cuts off"),
    ("Split", r"'num_outputs' is", "the reference cuts num_outputs parts and gives fewer"),
    ("GridSample", r"\((u?int|bool)|bfloat16|float16", "the reference computes with numbers of the operands' types, whole ones or of few bits"),
    ("LayerNormalization", r"\(float\S*\[[\d, ]*\b0\b[\d, ]*\]=\[\]", "the mean of nothing"),
    ("Resize", r"mode=b'nearest'.*exclude_outside=1|exclude_outside=1.*mode=b'nearest'", "exclude_outside is of cubic; the reference has weights of 0"),
    ("BatchNormalization", r"float16\[", "the reference mixes the types of image and scales, and rounds each step"),
    ("NonMaxSuppression", r"takes one element", "a number is one element"),
    ("LayerNormalization", r"^opset .*(bfloat16|float16)\[", "stash_type: Mean and InvStdDev are computed in f32; the reference rounds each step to the operand's type"),
    ("OneHot", r"(float|bfloat)\S*\[1?\]=\[-?\d*\.\d*[1-9]", "a depth that is no whole number is cut off here"),
]


class Draw:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def num(self, lo, hi):
        return int(self.rng.integers(lo, hi + 1))

    def pick(self, xs):
        return xs[self.num(0, len(xs) - 1)]

    def chance(self, p):
        return self.rng.random() < p


class Node:
    """A node with its operands; arrays are of the types of the node, or None."""

    def __init__(self, node, arrays, opset):
        self.node, self.arrays, self.opset = node, arrays, opset

    def copy(self):
        n = onnx.NodeProto()
        n.CopyFrom(self.node)
        return Node(n, list(self.arrays), self.opset)

    def schema(self):
        return onnx.defs.get_schema(self.node.op_type, self.opset, "")

    def show(self):
        a = ", ".join("-" if x is None else "%s%s%s" % (x.dtype, list(x.shape), "=%s" % x.reshape(-1).tolist() if x.size <= 8 else "") for x in self.arrays)
        return "opset %d: %s(%s) {%s} %d" % (self.opset, self.node.op_type, a, ", ".join("%s=%s" % (a.name, str(h.get_attribute_value(a))[:80]) for a in self.node.attribute), len(self.node.output))


def elem(x):
    return h.np_dtype_to_tensor_dtype(x.dtype)


def dtype(t):
    return h.tensor_dtype_to_np_dtype(t)


def is_real(t):
    return t in STEP


def cases(wanted):
    """Nodes of onnx's cases, by operator: single nodes of the default domain on tensors of numbers."""
    found = {}
    for c in collect_testcases(None):
        g = c.model.graph
        if len(g.node) != 1 or g.node[0].domain or g.initializer or not c.data_sets or g.node[0].op_type in RANDOM or (wanted and g.node[0].op_type not in wanted):
            continue
        if any(not o.type.HasField("tensor_type") for o in list(g.input) + list(g.output)) or any(a.type in (5, 10) for a in g.node[0].attribute):
            continue
        given = {i.name: x for i, x in zip(g.input, c.data_sets[0][0])}
        arrays = [np.asarray(given[i]) if i in given else None for i in g.node[0].input]
        if any(i and i not in given for i in g.node[0].input) or any(x is not None and (x.dtype.kind in "OUSc" or x.size > 5000) for x in arrays):
            continue
        opset = [o.version for o in c.model.opset_import if o.domain == ""][0]
        found.setdefault(g.node[0].op_type, []).append(Node(g.node[0], arrays, opset))
    x = np.array([[0, -1, 1.5, -2.5], [3, 100, -0.25, 7]], np.float32)  # onnx's own cases of these have extremes
    for op, node, arrays in (("Cast", h.make_node("Cast", ["x"], ["y"], to=T.INT32), [x]), ("CastLike", h.make_node("CastLike", ["x", "like"], ["y"]), [x, np.zeros(2, np.int8)])):
        if not wanted or op in wanted:
            found[op] = [Node(node, arrays, 24)]
    return found


# ---- other nodes from one ----

def other_types(g, x):
    """Another type for one of the schema's type parameters, of all operands that have it."""
    s = x.schema()
    free = [c for c in s.type_constraints if len(c.allowed_type_strs) > 1]
    if not free:
        return
    c = g.pick(free)
    names = [re.sub(r"tensor\((.*)\)", r"\1", t) for t in c.allowed_type_strs if t.startswith("tensor(")]
    names = [t for t in names if t in TYPES]
    if not names:
        return
    to = TYPES[g.pick(names)]
    for i, a in enumerate(x.arrays):
        p = s.inputs[min(i, len(s.inputs) - 1)]
        if a is not None and p.type_str == c.type_param_str:
            if a.dtype.kind == "f" and not is_real(to):
                a = np.rint(a * 2)
            if to in (T.UINT8, T.UINT16, T.UINT32, T.UINT64, T.UINT4, T.BOOL):
                a = np.abs(a.astype(np.float64))
            x.arrays[i] = a.astype(dtype(to))
    for a in x.node.attribute:
        if a.type == onnx.AttributeProto.INT and a.name in ("dtype", "to", "output_dtype") and g.chance(0.7):
            a.i = TYPES[g.pick(names)]


def other_extents(g, x):
    """One extent, wherever it stands, another: 0, 1, odd. Elements are repeated or left out."""
    seen = sorted({d for a in x.arrays if a is not None for d in a.shape if d < 40})
    if not seen:
        return
    old, new = g.pick(seen), g.pick([0, 1, 1, 2, 3, 5, 7])
    for i, a in enumerate(x.arrays):
        if a is not None and old in a.shape:
            s = [new if d == old else d for d in a.shape]
            x.arrays[i] = np.resize(a, s) if a.size else np.zeros(s, a.dtype)


def other_values(g, x):
    """Signs mixed; integers that are indices or sizes stay near."""
    for i, a in enumerate(x.arrays):
        if a is None or not a.size or g.chance(0.3):
            continue
        t = elem(a)
        if is_real(t):
            x.arrays[i] = (g.rng.standard_normal(a.shape) * g.pick([0.5, 1, 3])).astype(a.dtype)
        elif g.chance(0.5) and t != T.BOOL:
            b = a.copy().reshape(-1)
            k = g.num(0, b.size - 1)
            b[k] = (int(b[k]) + g.pick([-1, 1, -int(b[k]), -2 * int(b[k])])) if t in (T.INT64, T.INT32) else b[g.num(0, b.size - 1)]
            x.arrays[i] = b.reshape(a.shape)
        else:
            x.arrays[i] = g.rng.permutation(a.reshape(-1)).reshape(a.shape)


def fewer_operands(g, x):
    s = x.schema()
    most = [i for i in range(len(x.arrays)) if i < len(s.inputs) and s.inputs[i].option == onnx.defs.OpSchema.FormalParameterOption.Optional and x.arrays[i] is not None]
    if most:
        i = g.pick(most)
        x.arrays[i] = None
        x.node.input[i] = ""


def other_attributes(g, x, pool):
    s = x.schema()
    names = [n for n in s.attributes if n not in ("to", "dtype", "output_dtype", "seed", "hidden_size")]
    if not names:
        return
    name = g.pick(names)
    rank = next((a.ndim for a in x.arrays if a is not None), 0)
    values = list(pool.get((x.node.op_type, name), [])) + WORDS.get((x.node.op_type, name), [])
    there = next((a for a in x.node.attribute if a.name == name), None)
    value = None
    if name in FLAGS:
        value = g.num(0, 1)
    elif "axis" in name and s.attributes[name].type == onnx.defs.OpSchema.AttrType.INT and rank:
        value = g.num(-rank, rank - 1)
    elif s.attributes[name].type == onnx.defs.OpSchema.AttrType.FLOAT:
        value = float(g.pick([0.0, 1.0, 0.5, -1.5, 2.0]))
    elif values:
        value = g.pick(values)
    if there is not None:
        x.node.attribute.remove(there)
        if g.chance(0.2):
            value = None
    if value is not None:
        x.node.attribute.append(h.make_attribute(name, value))


def other_opset(g, x):
    """An older version of the operator, where the node is one of that too."""
    since = x.schema().since_version
    if since > 7:
        x.opset = g.num(7, since - 1)
    else:
        x.opset = g.num(max(since, 7), 24)


def drawn(g, x, pool):
    y = x.copy()
    for _ in range(g.pick([1, 1, 2, 3])):
        g.pick([lambda: other_types(g, y), lambda: other_extents(g, y), lambda: other_values(g, y), lambda: fewer_operands(g, y), lambda: other_attributes(g, y, pool),
                lambda: other_attributes(g, y, pool), lambda: other_opset(g, y)])()
    while y.arrays and y.arrays[-1] is None:
        y.arrays.pop()
        y.node.input.pop()
    return y


# ---- models ----

def alone(x):
    """The node with its own types; valid, or an exception."""
    ins = [h.make_tensor_value_info(n, elem(a), a.shape) for n, a in zip(x.node.input, x.arrays) if a is not None]
    outs = [onnx.ValueInfoProto(name=o) for o in x.node.output if o]
    m = h.make_model(h.make_graph([x.node], "g", ins, outs), opset_imports=[h.make_opsetid("", x.opset)], ir_version=10)
    m = onnx.shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=True)
    for o in m.graph.output:
        if not o.type.tensor_type.elem_type:
            raise ValueError("a result of no known type")
    onnx.checker.check_model(m)
    return m


def reference(m, x):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(m).run(None, {n: a for n, a in zip(x.node.input, x.arrays) if a is not None})


def joined(nodes):
    """Nodes side by side. What .npz has no type for goes in and comes out as f32 or i8, and a Cast stands between. Sizes that data decide are
    those of each: nothing is declared."""
    all_, ins, outs, feeds = [], [], [], {}
    for k, (x, m, want) in enumerate(nodes):
        p = "n%d_" % k
        names = []
        for n, a in zip(x.node.input, x.arrays):
            if a is None:
                names.append("")
                continue
            t = elem(a)
            name = p + n
            if t not in FILES:
                wide = np.float32 if is_real(t) else np.int8 if t == T.INT4 else np.uint8
                if name + "w" not in feeds:
                    all_.append(h.make_node("Cast", [name + "w"], [name], to=t, **({"saturate": 0} if is_real(t) and t != T.BFLOAT16 else {})))
                name += "w"
                a = a.astype(wide)
            if name not in feeds:
                ins.append(h.make_tensor_value_info(name, elem(a), a.shape))
            feeds[name] = a
            names.append(p + n)
        node = onnx.NodeProto()
        node.CopyFrom(x.node)
        del node.input[:], node.output[:]
        node.input.extend(names)
        node.output.extend(p + o if o else "" for o in x.node.output)
        node.name = p + "node"
        all_.append(node)
        for o in m.graph.output:
            t = o.type.tensor_type.elem_type
            name = p + o.name
            if t not in FILES:
                all_.append(h.make_node("Cast", [name], [name + "w"], to=T.FLOAT if is_real(t) else T.INT8 if t == T.INT4 else T.UINT8))
                name += "w"
            outs.append(onnx.ValueInfoProto(name=name))
    return h.make_model(h.make_graph(all_, "g", ins, outs), opset_imports=[h.make_opsetid("", nodes[0][0].opset)], ir_version=10), feeds


def differs(got, want, t, sums):
    """How got differs from the reference's; None: it does not. Floats may be some steps of their type off, of the largest."""
    want = np.asarray(want)
    if got.shape != want.shape:
        return "shape %s, not %s" % (got.shape, want.shape)
    if not is_real(t):
        a, b = got.astype(np.int64), want.astype(np.int64)
        return None if np.array_equal(a, b) else "%s, not %s" % (a[a != b][:4], b[a != b][:4])
    with np.errstate(all="ignore"):
        a, b = got.astype(np.float64), want.astype(np.float64)
        most = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0))
        near = np.abs(a - b) <= STEP[t] * (1.01 * np.abs(b) + 0.01) + max(STEP[t], 2.0**-23) * 64 * most * sums
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (near & np.isfinite(a) & np.isfinite(b))
    return None if same.all() else "%s, not %s" % (a[~same][:4], b[~same][:4])


def sh(dir, command):
    p = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=dir, capture_output=True, text=True)
    return "" if p.returncode == 0 else "exit %d: %s" % (p.returncode, p.stderr.strip()[-300:])


def compare(nodes, y, who):
    """y: results by name."""
    bad = []
    for k, (x, m, want) in enumerate(nodes):
        for o, w in zip(m.graph.output, want):
            t = o.type.tensor_type.elem_type
            name = "n%d_%s" % (k, o.name)
            d = differs(y[name] if t in FILES else y[name + "w"], w, t, 0.25 if t in (T.FLOAT16, T.BFLOAT16) or t not in FILES else 4)
            if d and not any(op in (x.node.op_type, "") and re.search(r, x.show() + ": " + d) for op, r, why in EXPLAINED):
                bad.append("%s: %s: %s: %s" % (who, x.show(), o.name, d))
    return bad


def by_ort(path, feeds):
    o = ort.SessionOptions()
    o.log_severity_level = 4
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in s.get_outputs()], s.run(None, {i.name: feeds[i.name] for i in s.get_inputs()})))


def one(nodes, args, count):
    """All in one model; where that is refused, each by itself."""
    with tempfile.TemporaryDirectory() as dir:
        m, feeds = joined(nodes)
        onnx.save(m, dir + "/m.onnx")
        np.savez(dir + "/in.npz", **feeds)
        said = sh(dir, "run-ref -q m.onnx -i in.npz -o y.npz")
        if said and len(nodes) > 1:
            return [line for x in nodes for line in one([x], args, count)]
        if said:
            return refused(dir, nodes[0][0], feeds, said, count)
        bad = []
        with np.load(dir + "/y.npz") as f:
            bad += compare(nodes, f, "evaluator")
        if args.native:
            said = sh(dir, "hone build -q m.onnx -o lib && run-dev -q lib.so -i in.npz -o z.npz")
            if said:
                bad.append("library: %s: %s" % (", ".join(x.node.op_type for x, _, _ in nodes), said))
            else:
                with np.load(dir + "/z.npz") as f:
                    bad += compare(nodes, f, "library")
        if args.simplify:
            said = sh(dir, "hone simplify -q --no-check m.onnx s.onnx")
            if said:
                bad.append("simplify: %s: %s" % (", ".join(x.node.op_type for x, _, _ in nodes), said))
            else:
                bad += simplified(dir, nodes, feeds, count)
        return bad


def refused(dir, x, feeds, said, count):
    """What ONNX Runtime refuses too is no fault: the reference does as NumPy does, without looking at what the text demands."""
    if any(op in (x.node.op_type, "") and re.search(r, x.show() + ": " + said) for op, r, why in EXPLAINED):
        return []
    try:
        by_ort(dir + "/m.onnx", feeds)
    except Exception:
        if said.startswith("exit 65"):
            count["refused, by ONNX Runtime too"] = count.get("refused, by ONNX Runtime too", 0) + 1
            return []
    count["refused"] = count.get("refused", 0) + 1
    return ["refused: %s: %s" % (x.show(), said)]


def simplified(dir, nodes, feeds, count):
    """What ONNX Runtime does not take as it was, or computes otherwise, it need not take simplified."""
    try:
        before = by_ort(dir + "/m.onnx", feeds)
    except Exception:
        if len(nodes) == 1:
            count["not by ONNX Runtime"] = count.get("not by ONNX Runtime", 0) + 1
            return []
        bad = []
        for x in nodes:
            with tempfile.TemporaryDirectory() as sub:
                m, f = joined([x])
                onnx.save(m, sub + "/m.onnx")
                said = sh(sub, "hone simplify -q --no-check m.onnx s.onnx")
                bad += ["simplify: %s: %s" % (x[0].show(), said)] if said else simplified(sub, [x], f, count)
        return bad
    try:
        after = by_ort(dir + "/s.onnx", feeds)
    except Exception as e:
        return ["simplify: %s: ONNX Runtime: %s" % ("; ".join(x.show() for x, _, _ in nodes), str(e)[:300])]
    bad = []
    for k, (x, m, want) in enumerate(nodes):
        for o in m.graph.output:
            t = o.type.tensor_type.elem_type
            name = "n%d_%s" % (k, o.name) + ("" if t in FILES else "w")
            d = differs(after[name], before[name], t, 4)
            if d and differs(after[name], want[[q.name for q in m.graph.output].index(o.name)], t, 4):
                bad.append("simplify: %s: %s: %s" % (x.show(), o.name, d))
    return bad


def apart(f):
    """What f says, in a process of its own: onnx ends the process for some nodes."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(r)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(w, "wb") as to:
            pickle.dump(f(), to)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as said:
        text = said.read()
    ended = os.waitpid(pid, 0)[1]
    return ([], {"models in which onnx ends the process": 1}) if os.WIFSIGNALED(ended) else pickle.loads(text) if text else (["a mistake of this program"], {})


def model(seed, found, pool, args):
    """The lines of what is wrong, and counts."""
    g, nodes, tries, count, names = Draw(seed), [], 0, {}, sorted(found)
    while len(nodes) < EACH and tries < 400:
        tries += 1
        try:
            x = drawn(g, g.pick(found[g.pick(names)]), pool)
            if nodes and x.opset != nodes[0][0].opset and not fits(x, nodes[0][0].opset):
                continue
            m = alone(x)
            want = reference(m, x)
        except Exception:
            count["not valid, or not by the reference"] = count.get("not valid, or not by the reference", 0) + 1
            continue
        if any(not isinstance(w, (np.ndarray, np.generic)) or np.asarray(w).size > 20000 or np.asarray(w).dtype.kind in "OUS" for w in want):
            continue
        if x.node.op_type == "Dropout" and len(x.arrays) > 2 and x.arrays[2] is not None and x.arrays[2].any():
            continue  # random
        nodes.append((x, m, want))
        count["nodes"] = count.get("nodes", 0) + 1
        count.setdefault("operators", set()).add(x.node.op_type)
    return one(nodes, args, count) if nodes else [], count


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("operators", nargs="*")
    a.add_argument("--first", type=int, default=1)
    a.add_argument("--models", type=int, default=10)
    a.add_argument("--native", action="store_true")
    a.add_argument("--simplify", action="store_true")
    args = a.parse_args()
    warnings.simplefilter("ignore")
    found, count, failed = cases(args.operators), {}, 0
    pool = {}
    for op, list_ in found.items():
        for x in list_:
            for b in x.node.attribute:
                v = h.get_attribute_value(b)
                if v not in pool.setdefault((op, b.name), []):
                    pool[op, b.name].append(v)
    for seed in range(args.first, args.first + args.models):
        lines, more = apart(lambda: model(seed, found, pool, args))
        for k, n in more.items():
            count[k] = count[k] | n if k == "operators" and k in count else n if k == "operators" else count.get(k, 0) + n
        for line in lines:
            failed += 1
            print("not ok - seed %d: %s" % (seed, line), flush=True)
    for k, n in sorted(count.items()):
        print("# %5d %s" % (n if isinstance(n, int) else len(n), k))
    print("%s - %d models of drawn operators" % ("not ok" if failed else "ok", args.models))
    sys.exit(failed > 0)


def fits(x, opset):
    """The same version of the operator is that of this opset."""
    try:
        if onnx.defs.get_schema(x.node.op_type, opset, "").since_version == x.schema().since_version:
            x.opset = opset
            return True
    except Exception:
        pass
    return False


if __name__ == "__main__":
    main()
