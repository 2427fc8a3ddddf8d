"""The opset minima of lib/onnx/opsets.c against the operators' histories as an installed onnx tells them: what came after opset 13, of
operators, types, attributes, is there. opsets.py FILE."""

import re
import sys

import onnx

TYPES = {"BFLOAT": ["bfloat16"], "FLOAT8": ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"], "SMALL": ["uint8", "int8", "uint16", "int16"],
         "SIGNED": ["int8", "int16", "int32", "int64"], "INT16": ["uint16", "int16"], "INT4": ["uint4", "int4"], "HALF": ["float16", "bfloat16"], "BIT(DT_STR)": ["string"],
         "BIT(DT_BOOL)": ["bool"], "BIT(DT_I32)": ["int32"], "BIT(DT_F64)": ["double"], "ANY": ["*"]}
KNOWN = set("float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 bfloat16".split() + TYPES["FLOAT8"] + TYPES["INT4"])
# Said by a function of its own there, or never written.
SPECIAL = {"Constant", "DFT", "OptionalGetElement", "OptionalHasElement", "RoiAlign", "Split"} | {
    "Reduce" + x for x in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")}
BY_VALUE = {("QuantizeLinear", "precision")}  # a function of opsets.c says which values need that opset


def table(text):
    """(operator, where, type) -> the opset that it came with; where: number of an operand, "R" with that of a result, or "anywhere"."""
    rows = {}
    part = text[text.index("arrivals[] ="):]
    for op, since, where, types in re.findall(r"\{OP_(\w+), (\d+), ([\w+ ]+), ([^}]+)\}", part[:part.index("};")]):
        where = where.replace("RESULT + ", "R").replace("RESULT", "R0")
        for t in types.split("|"):
            for name in TYPES[t.strip()]:
                rows[op, where.lower() if where == "ANYWHERE" else where, name] = int(since)
    return rows


def tensors(parameter):
    return {t[len("tensor("):-1] for t in parameter.types if t.startswith("tensor(")} & KNOWN


def shared(schema, kind, i):
    """Is the type that of an operand before it?"""
    at = getattr(schema, kind)[i].type_str
    return any(p.type_str == at for p in (schema.inputs[:i] if kind == "inputs" else schema.inputs))


def arrivals(op, versions, rows, text):
    base = max([v for v in versions if v <= 13], default=None)
    last = versions[max(versions)]
    if base is None:
        if rows.get((op, "0", "*"), 0) < min(versions):
            yield "it came with opset %d" % min(versions)
        base = min(versions)
    kept = {v: s for v, s in sorted(versions.items()) if v >= base and not s.deprecated}
    for kind, letter in (("inputs", ""), ("outputs", "R")):
        for i in range(len(getattr(last, kind))):
            seen = None
            for v, s in kept.items():
                if i >= len(getattr(s, kind)) or shared(last, kind, i):
                    continue
                now = tensors(getattr(s, kind)[i])
                for t in sorted(now - (now if seen is None else seen)):
                    have = max(rows.get((op, w, t), 0) for w in ("%s%d" % (letter, i), "anywhere"))
                    if max(have, rows.get((op, "0", "*"), 0)) < v:
                        yield "%s %d of %s came with opset %d" % (kind[:-1], i, t, v)
                seen = (seen or set()) | now
    before = None
    for v, s in kept.items():
        for name in sorted(set(s.attributes) - set(before.attributes)) if before else []:
            if (op, name) not in BY_VALUE and not re.search(r"\{OP_%s, %d, \"%s\"," % (op, v, name), text):
                yield "attribute %s came with opset %d" % (name, v)
        before = s


def main():
    with open(sys.argv[1]) as f:
        text = f.read()
    rows, history, bad, n = table(text), {}, 0, 0
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "":
            history.setdefault(s.name, {})[s.since_version] = s
    for op, versions in sorted(history.items()):
        if op in SPECIAL or versions[max(versions)].deprecated:
            continue
        n += 1
        for why in arrivals(op, versions, rows, text):
            bad += 1
            print("not ok - %s: %s, and %s does not say so" % (op, why, sys.argv[1]))
    print("%s - opset minima of %d operators" % ("not ok" if bad else "ok", n))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
