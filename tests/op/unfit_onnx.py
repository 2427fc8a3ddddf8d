#!/usr/bin/env python3
"""What hone refuses of tests/unfit, and what onnx does: strict shape inference and the checker, and whether the reference
evaluator computes it all the same. unfit_onnx.py UNFIT [EVERY]: reads what `UNFIT EVERY list` prints."""
import collections, os, re, signal, subprocess, sys, warnings
import numpy as np, onnx
from onnx import helper, checker, shape_inference
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
# Where the two may differ, and why.
WE_TAKE = [
    (r"Unrecognized type|Field 'shape'|Bad node spec", "a result whose type onnx does not know, or an operator of another opset"),
    (r"op_type:(Attention|CausalConvWithState|CenterCropPad|Col2Im|DFT|DeformConv|Det|GridSample|HannWindow|HammingWindow|BlackmanWindow|LinearAttention|"
     r"MaxRoiPool|Scatter|MaxUnpool|MelWeightMatrix|Multinomial|NegativeLogLikelihoodLoss|NonMaxSuppression|Optional\w*|RoiAlign|RotaryEmbedding|STFT|Sequence\w*|"
     r"SoftmaxCrossEntropyLoss|SwiGLU|TensorScatter|TfIdfVectorizer|Unique|AffineGrid|ImageDecoder|SplitToSequence|String\w*)",
     "passed through: no rule, no evaluator"),
    (r"BatchNormalization.*Training_mode", "results of training that nobody wants"),
    (r"Gemm.*unification|Inferred elem type|unsupported type|inconsistent type|Constant", "onnx cuts a flag to 32 bits; types of its function bodies"),
    (r"not both of them", "sizes without elements are as good as none"),
]
WE_REFUSE = [
    (r"attribute '\w+' is (not there|missing|integers, not \w+|\w+, (no float|which nothing is|the zero point))", "an attribute that is not there, or of another kind or type"),
    (r"attribute '\w+'(: axis -?\d+ outside | is .*, (takes|no element type)| has .*, takes | has .* values for | has an axis twice)|ratio .*, takes ",
     "values that the text of the operator excludes"),
    (r"operand \d+( \(the constant \w+\))? (is .*, takes |has (rank|extent) .*, (takes|operand|broadcasts|another)|has another extent )",
     "operands that the text of the operator excludes"),
    (r"does not (broadcast with|reshape to|expand to) |result \d+ has extent -| \S+ elements, at most |\d+ of \d+ elements",
     "shapes that do not go together, or are too large"),
    (r"\d+ (pads|repeats|sizes|conditions) for (\d+|rank)|(perm|operand \d+) has \d+ elements|sizes add up to", "a list that is not as long as the rank, 0 axes too"),
    (r"axis -?\d+ (outside rank|has no elements|has extent|of extent|cannot be|is given twice|is repeated)|an axis is outside|outside the (time )?axis|at spatial axis \d+",
     "an axis, or what lies along it"),
    (r"'.*' is no \w+|expected", "a constant that its type cannot hold"),
    (r"kernel_shape says|channels(, the weights| do not divide)|result \S+ (is|has) .*, the graph says", "weights or results that contradict what is said of them"),
]
TYPES = dict(f32=1, u8=2, i8=3, u16=4, i16=5, i32=6, i64=7, str=8, bool=9, f16=10, f64=11, u32=12, u64=13, c64=14, c128=15, bf16=16,
             f8e4m3fn=17, f8e4m3fnuz=18, f8e5m2=19, f8e5m2fnuz=20)


def dims(s):
    return None if s == "*" else [int(d) if d.lstrip("-").isdigit() else None for d in s.split(",")] if s else []


def number(s):
    return float(s) if re.search(r"[.einfa]", s) else int(s)


def value(s):
    if s[0] == '"':
        return s[1:-1]
    if s[0] == "[":
        return [value(x.strip()) for x in s[1:-1].split(",")] if s[1:-1] else []
    return number(s)


def model(text):
    consts, inputs, outputs, node = [], [], [], None
    for line in text.split("\n"):
        if m := re.match(r"const (\w+) = (\w+)\[(.*?)\] \[(.*)\]$", line):
            t, vals = TYPES[m[2]], [number(x) for x in m[4].split(",")] if m[4] else []
            dtype = helper.tensor_dtype_to_np_dtype(t)
            consts.append(onnx.numpy_helper.from_array(np.array(vals).astype(dtype).reshape(dims(m[3])), m[1]))
        elif m := re.match(r"  input (\w+): (\w+)\[(.*)\]$", line):
            inputs.append(helper.make_tensor_value_info(m[1], TYPES[m[2]], dims(m[3])))
        elif m := re.match(r"  y0(.*?) = (\w+)\((.*?)\)(?: \{(.*)\})?$", line):
            node = m
    results = re.sub(r": \w+\[.*?\](@\".*?\")?", "", "y0" + node[1]).split(", ")
    declared = re.match(r": (\w+)\[(.*?)\]", node[1])
    attrs = {k: value(v) for k, v in re.findall(r'(\w+)=("[^"]*"|\[[^\]]*\]|\S+)', node[4] or "")}
    kind = lambda k, v: helper.make_attribute(k, v, attr_type=onnx.AttributeProto.INTS) if v == [] else helper.make_attribute(k, v)
    n = helper.make_node(node[2], ["" if x == "-" else x.lstrip("@") for x in node[3].split(", ")] if node[3] else [], results)
    n.attribute.extend(kind(k, v) for k, v in attrs.items())
    out = [helper.make_empty_tensor_value_info(r) for r in results]
    if declared:
        out[0] = helper.make_tensor_value_info("y0", TYPES[declared[1]], dims(declared[2]))
    g = helper.make_graph([n], "g", inputs, out, consts)
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", onnx.defs.onnx_opset_version())], ir_version=10), bool(declared)


def apart(f, m):
    """f(m), in a process of its own, since some of it ends the process; that is an answer, too."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(w, (f(m) or "").encode(errors="replace"))
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as said:
        why = said.read().decode(errors="replace")
    return "onnx ends the process" if os.waitpid(pid, 0)[1] else why or None


def onnx_says(m):
    return apart(strict, m)


def strict(m):
    try:
        i = shape_inference.infer_shapes(m, check_type=True, strict_mode=True, data_prop=True)
        checker.check_model(i, full_check=True)
        return None
    except Exception as e:
        return str(e).strip().replace("\n", " ")[-400:] or "refused"


def late(*_):
    raise TimeoutError


def computes(m):
    if re.search(r"\d{7}", str(m)):  # nothing that takes all memory
        return False
    r = np.random.default_rng(1)
    feeds = {}
    for i in m.graph.input:
        t = i.type.tensor_type
        feeds[i.name] = (r.integers(0, 2, [d.dim_value for d in t.shape.dim])).astype(helper.tensor_dtype_to_np_dtype(t.elem_type))
    signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    try:
        ReferenceEvaluator(m).run(None, feeds)
        return True
    except Exception:
        return False
    finally:
        signal.alarm(0)


def main():
    said = subprocess.run([sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "40", "list"], stdout=subprocess.PIPE, text=True).stdout
    n, differ = collections.Counter(), collections.defaultdict(list)
    for block in said.split("\n\n"):
        if not block.startswith("hone-text"):
            continue
        text, _, verdict = block.rpartition("\n")
        try:
            m, declared = model(text)
        except Exception:
            n["cannot be written as ONNX"] += 1
            continue
        why = onnx_says(m)
        taken = verdict.startswith("taken")
        if taken == (why is None):
            n["both take it" if taken else "both refuse it"] += 1
            continue
        key = "hone takes it, onnx does not" if taken else "hone refuses it, onnx does not"
        runs = not taken and computes(m)
        n[key + (", and its evaluator computes it" if runs else "")] += 1
        op = re.search(r" = (\w+)\(", text.split("graph main")[1])[1]
        differ[key + (" *" if runs else "")].append((op, (why if taken else verdict), text.split("graph main {")[1].replace("\n", ";")[:300]))
    bad = 0
    for k in sorted(differ):
        for x in differ[k]:
            if not any(re.search(r, x[1]) for r, _ in (WE_TAKE if "takes" in k else WE_REFUSE)):
                bad += 1
                print("not ok -", k, *x, sep=" | ")
    print("ok" if not bad and n["both take it"] and n["both refuse it"] else "not ok", "- as onnx has it:", ", ".join(f"{c} {k}" for k, c in sorted(n.items())))


main()
