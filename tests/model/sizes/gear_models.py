"""gear_models.py OPERATORS FOLDER EACH: models whose axis n4 has gears that sizes between them are padded to. OPERATORS is
tests/op/operators.txt. An axis of the first operand is n4, or that axis of every operand that is as long there; ge-gears says whether it
pads. EACH nodes side by side are one model, FOLDER/padNN.txt; the last line printed says how many forms are padded and how many are not.
"""
import re
import subprocess
import sys

GEARS = "n4=2,5,open"
DRAWN = ("Random", "Bernoulli", "Multinomial", "Dropout")  # the evaluator's numbers are others
OPERAND = r"(\w+)\[([^\]]*)\](?: = (\[.*\]))?"


def parse(line):
    """NAME(OPERAND, ...) {ATTRIBUTES} RESULTS: the operator, its operands (type, sizes, value or None; None: left out), and the rest."""
    op, operands, attributes, results = re.fullmatch(r"(\w+)\((.*)\)(?: (\{.*\}))? (\d+)", line).groups()
    out = []
    for text in re.findall(r"-|\w+\[[^\]]*\](?: = \[[^\]]*\])?", operands):
        m = re.fullmatch(OPERAND, text)
        out.append(m and (m[1], [int(n) for n in m[2].split(",") if n], m[3]))
    return op, out, attributes or "", int(results)


def places(operands):
    """The (operand, axis) that become n4, a list for each form."""
    given = [i for i, o in enumerate(operands) if o and not o[2] and o[1]]
    forms = []
    for axis in (0, 1, -1, 2):
        at = [(i, axis % len(operands[i][1])) for i in given if axis < len(operands[i][1])]
        alike = [p for p in at if operands[p[0]][1][p[1]] == operands[at[0][0]][1][at[0][1]]]
        for form in alike[:1], alike:
            if form and form not in forms:
                forms.append(form)
    return forms


def model(nodes):
    """The text of a model that has these (op, operands, attributes, results, places) side by side."""
    consts, inputs, lines, outputs = [], [], [], []
    for at, (op, operands, attributes, results, open_at) in enumerate(nodes):
        args = []
        for i, operand in enumerate(operands):
            if not operand:
                args.append("-")
            elif operand[2]:
                consts.append(f"const c{at}_{i} = {operand[0]}[{','.join(map(str, operand[1]))}] {operand[2]}")
                args.append(f"@c{at}_{i}")
            else:
                sizes = ["n4" if (i, d) in open_at else str(n) for d, n in enumerate(operand[1])]
                inputs.append(f"  input p{at}i{i}: {operand[0]}[{','.join(sizes)}]")
                args.append(f"p{at}i{i}")
        names = [f"p{at}o{k}" for k in range(results)]
        lines.append(f"  {', '.join(names)} = {op}({', '.join(args)}) {attributes}")
        outputs += [f"  output {n} = {n}" for n in names]
    return "\n".join(["hone-text 1", "module ir=10 opset=28", "symbol n4 1 inf", *consts, "graph main {", *inputs, *lines, *outputs, "}", ""])


def is_padded(node):
    """Whether ge-gears pads every size between gears of a model of this node alone."""
    shaped = subprocess.run("ge-load | ge-shape -q", shell=True, input=model([node]).encode(), capture_output=True)
    geared = subprocess.run(["ge-gears", "--why", "--gears", GEARS, "-o", "/dev/null"], input=shaped.stdout, capture_output=True)
    said = geared.stderr.decode()
    return not shaped.returncode and not geared.returncode and not any(w in said for w in ("are refused", "not padded", "own size"))


def main():
    operators, folder, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
    padded, others = [], 0
    for line in open(operators):
        op, operands, attributes, results = parse(line.strip())
        if op.startswith(DRAWN):
            continue
        for form in places(operands):
            node = (op, operands, attributes, results, form)
            if is_padded(node):
                padded.append(node)
            else:
                others += 1
    for k in range(0, len(padded), each):
        with open(f"{folder}/pad{k // each:02}.txt", "w") as f:
            f.write(model(padded[k : k + each]))
    print(f"{len(padded)} forms are padded, {others} are not")


main()
