"""Every operator of onnx.defs with every type that it lists: ONNX's own cases with their values in that type. Each is evaluated, or refused
with 69 and the operator's name. every_type.py [OPERATOR...]: a line each on standard error."""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import warnings

import ml_dtypes  # noqa: F401
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import cases  # noqa: E402
import judge  # noqa: E402

NAMES = {
    "float": "FLOAT", "double": "DOUBLE", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "string": "STRING", "bool": "BOOL", "complex64": "COMPLEX64", "complex128": "COMPLEX128",
    **{x: x.upper() for x in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int4", "uint4", "int2", "uint2")},
    **{x: x.upper() for x in ("float4e2m1", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float6e2m3", "float6e3m2")},
}  # fmt: skip


# An attribute of the case says the type, or it must be of the size of another.
OTHERWISE = {("BitCast", ""), ("LabelEncoder", ""), ("TfIdfVectorizer", "tensor(string)"), ("DequantizeLinear", "tensor(float8e8m0)")}


def type_number(text):
    """The number of tensor(text); None: it is no tensor, or this onnx has no such type."""
    if not text.startswith("tensor("):
        return None
    return getattr(TensorProto, NAMES.get(text[7:-1], ""), None)


def converted(x, t):
    """Its numbers in type t; of strings 0, 1, 2, ..."""
    x = np.asarray(x)
    if x.dtype.kind in "OUS":
        x = np.arange(x.size).reshape(x.shape)
    if x.dtype.kind == "V" or x.dtype.name not in np.sctypeDict:
        x = x.astype(np.float64)
    if t == TensorProto.STRING:
        return x.astype(str).astype(object)
    to = np.dtype(helper.tensor_dtype_to_np_dtype(t))
    x = x.real if x.dtype.kind == "c" and to.kind != "c" else x
    return np.nan_to_num(x).astype(to)


def formal(schema, i):
    """The parameter that operand i is of."""
    return schema.inputs[min(i, len(schema.inputs) - 1)] if schema.inputs else None


def variants():
    """Operator, type, file of a model and its inputs."""
    seen = set()
    for case in cases.of_wheel("wheel"):
        g = case.model().graph if "/" not in case.name else None
        if g is None or len(g.node) != 1 or any(n.op_type == "Constant" for n in g.node) or g.initializer:
            continue
        n = g.node[0]
        if sys.argv[1:] and n.op_type not in sys.argv[1:] or (n.domain, n.op_type) in seen or any(a.type in (5, 10) for a in n.attribute):
            continue
        if any(not v.type.HasField("tensor_type") for v in [*g.input, *g.output]) or len(g.input) != sum(bool(i) for i in n.input):
            continue
        seen.add((n.domain, n.op_type))
        try:
            schema = onnx.defs.get_schema(n.op_type, n.domain)
        except onnx.defs.SchemaError:
            continue
        given = dict(zip([v.name for v in g.input], case.sets()[0][0]))
        for constraint in schema.type_constraints:
            for text in constraint.allowed_type_strs:
                t = type_number(text)
                if t is not None and (n.op_type, text) not in OTHERWISE and (n.op_type, "") not in OTHERWISE:
                    yield n.op_type, constraint.type_param_str, text[7:-1], typed(case.model(), schema, constraint.type_param_str, t, given)


def typed(model, schema, param, t, given):
    """The model with all values of one type parameter of type t; None: nothing is of it."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    n, feed, any_of = m.graph.node[0], {}, False
    for i, name in enumerate(n.input):
        if not name:
            continue
        v = next(v for v in m.graph.input if v.name == name)
        feed[name] = given[name]
        if formal(schema, i).type_str == param:
            any_of = True
            feed[name] = converted(given[name], t)
            v.type.tensor_type.elem_type = t
    for v in m.graph.output:
        v.ClearField("type")
    for o in m.opset_import:
        if o.domain in ("", "ai.onnx") and not onnx.defs.get_schema(n.op_type, n.domain).deprecated:
            o.version = max(o.version, schema.since_version, onnx.defs.onnx_opset_version())
    del m.graph.value_info[:]
    return (m, feed) if any_of else None


def run(v):
    op, param, text, built = v
    if built is None:
        return op, param, text, "no operand", ""
    m, feed = built
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/c.onnx", "wb") as f:
            f.write(m.SerializeToString())
        np.savez(d + "/in.npz", **{k: y for n, x in feed.items() for k, y in judge.named(n, x).items()})
        p = subprocess.run(["run-ref", "-q", d + "/c.onnx", "-i", d + "/in.npz", "-o", d + "/out.npz"], capture_output=True, text=True, errors="replace", timeout=100)
        made = os.path.exists(d + "/out.npz")
    said = p.stderr.strip().split("\n")[-1].replace(d + "/", "")
    if p.returncode == 0 and made:
        return op, param, text, "evaluated", ""
    if p.returncode == 69 and re.search(r"\(\w+\): ", said):
        return op, param, text, "refused", said
    return op, param, text, "wrong", "exit %d: %s" % (p.returncode, said)


def main():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, variants()))
    by = {}
    for op, param, text, verdict, said in results:
        by.setdefault((op, param), {}).setdefault(verdict, []).append((text, said))
    for (op, param), verdicts in sorted(by.items()):
        for verdict in ("refused", "wrong"):
            for text, said in verdicts.get(verdict, []):
                print("%-28s %-4s %-16s %-8s %s" % (op, param, text, verdict, said), file=sys.stderr)
        bad = verdicts.get("wrong", [])
        if set(verdicts) == {"no operand"}:
            continue
        print("%sok - %s %s: %d types evaluated, %d refused by name%s" % ("not " if bad else "", op, param, len(verdicts.get("evaluated", [])), len(verdicts.get("refused", [])), ": " + bad[0][0] + " " + bad[0][1] if bad else ""))
    count = {v: sum(r[3] == v for r in results) for v in ("evaluated", "refused", "wrong")}
    print("# %d operators: %s" % (len({r[0] for r in results}), ", ".join("%d %s" % (n, v) for v, n in count.items())))


if __name__ == "__main__":
    main()
