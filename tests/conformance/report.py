"""Results as text: a table by operator, reasons, and a form for diff."""

import collections
import os
import re

from judge import COLUMNS

GOOD = ("equal", "random", "sized", "fixed")
BAD = ("wrong", "crash")


def operator(model):
    """What a case is about: its operator, if it has one beside constants; else that of its first result."""
    g = model.graph
    types = {n.op_type for n in g.node} - {"Constant", "Identity"} or {n.op_type for n in g.node}
    if len(types) == 1:
        return types.pop()
    made = {o: n.op_type for n in g.node for o in n.output}
    return made.get(g.output[0].name, "?") if g.output else "?"


def operators(cases):
    """Of each case. What a function was expanded to is about the function."""
    by_name = {}
    named = []
    for c in cases:
        kind = c.name.split("/")[0] if "/" in c.name else ""
        named.append(kind or operator(c.model()))
        by_name[c.source, c.name] = named[-1]
    for k, c in enumerate(cases):
        base = c.name.split("_expanded")[0]
        if base != c.name:
            named[k] = by_name.get((c.source, base), named[k])
    return named


def verdicts(r):
    return [r["columns"][c]["verdict"] for c in COLUMNS]


def reason(x):
    return "%s%s" % ("exit %d: " % x["exit"] if "exit" in x else "", x.get("why", ""))


def line(r):
    """Source, name, verdicts, then the first reason."""
    why = next((reason(r["columns"][c]) for c in COLUMNS if r["columns"][c].get("why")), "")
    return "\t".join([r["source"], r["name"]] + verdicts(r) + [why])


def summary(results):
    """A line a source and column: how many of each verdict."""
    for source in dict.fromkeys(r["source"] for r in results):
        mine = [r for r in results if r["source"] == source]
        for c in COLUMNS:
            n = collections.Counter(r["columns"][c]["verdict"] for r in mine)
            good = sum(n[v] for v in GOOD)
            parts = ", ".join("%d %s" % (n[v], v) for v in GOOD[1:] + BAD + ("refused", "none") if n[v])
            yield "%-8s %-10s %5d of %d%s" % (os.path.basename(source), c, good, len(mine) - n["none"], " (%s)" % parts if parts else "")
        run = [r["columns"]["exported"] for r in mine if "onnxruntime" in r["columns"]["exported"].get("judges", ())]
        yield "%-8s %-10s %5d of %d for ONNX Runtime" % (os.path.basename(source), "exported", sum(x["verdict"] in GOOD for x in run), len(run))


def worst(results):
    """Wrong answers and crashes."""
    for r in results:
        for c in COLUMNS:
            x = r["columns"][c]
            if x["verdict"] in BAD:
                yield "%-7s %-10s %s %s: %s" % (x["verdict"], c, r["source"], r["name"], reason(x))


def by_operator(results):
    """A row an operator: cases, and how many are good in each column."""
    rows = collections.defaultdict(list)
    for r in results:
        rows[r["operator"]].append(r)
    yield "%-34s %6s %s" % ("operator", "cases", " ".join("%10s" % c for c in COLUMNS))
    for op in sorted(rows):
        mine = rows[op]
        good = [sum(r["columns"][c]["verdict"] in GOOD + ("none",) for r in mine) for c in COLUMNS]
        mark = "" if min(good) == len(mine) else "  *"
        yield "%-34s %6d %s%s" % (op, len(mine), " ".join("%10d" % n for n in good), mark)


# From best to worst, as the form for diff has them.
SHORT = {"equal": ".", "sized": "s", "fixed": "f", "random": "r", "wrong": "W", "crash": "C", "refused": "-", "none": "n"}


def code(r):
    return "".join(SHORT[v] for v in verdicts(r))


def read(path):
    """Of a file for diff: verdicts by source and name."""
    with open(path) as f:
        return {(s, n): c for c, s, n in (x.rstrip("\n").split("\t") for x in f if not x.startswith("#"))}


def worse(results, path):
    """Lines of cases that were better in a file for diff."""
    ranks = {x: k for k, x in enumerate(("nr.", "s", "f", "-", "WC"))}
    rank = {x: k for xs, k in ranks.items() for x in xs}
    was = read(path)
    for r in results:
        before, now = was.get((r["source"], r["name"]), "." * len(COLUMNS)), code(r)
        if any(rank[b] < rank[a] for b, a in zip(before, now)):
            yield "worse: %s %s: %s, was %s" % (r["source"], r["name"], now, before)


def updated(results, path):
    """The lines of a file for diff, with those cases as they are now and its heads counted again."""
    long = {x: v for v, x in SHORT.items()}
    with open(path) as f:
        lines = f.read().splitlines()
    heads = [x for x in lines if x.startswith("#")]
    rows = {tuple(x.split("\t")[1:]): x.split("\t")[0] for x in lines if not x.startswith("#")}
    change = collections.defaultdict(collections.Counter)
    for r in results:
        key = os.path.basename(r["source"]), r["name"]
        for c, was, now in zip(COLUMNS, rows.get(key, "." * len(COLUMNS)), code(r)):
            if "n" not in (was, now):
                change[key[0], c][long[was]] -= 1
                change[key[0], c][long[now]] += 1
        rows.pop(key, None)
        if set(code(r)) - set(".n"):
            rows[key] = code(r)
    for x in heads:
        m = re.fullmatch(r"# (\S+) +(\S+) +(\d+) of (\d+)(?: \((.*)\))?", x)
        if not m or not change[m[1], m[2]]:
            yield x
            continue
        n = collections.Counter({v: int(k) for k, v in (part.split() for part in (m[5] or "").split(", ") if part)})
        n.update(change[m[1], m[2]])
        good = int(m[3]) + sum(k for v, k in change[m[1], m[2]].items() if v in GOOD)
        parts = ", ".join("%d %s" % (n[v], v) for v in GOOD[1:] + BAD + ("refused", "none") if n[v])
        yield "# %-8s %-10s %5d of %s%s" % (m[1], m[2], good, m[4], " (%s)" % parts if parts else "")
    for key in sorted(rows):
        yield "\t".join((rows[key],) + key)


def update(path, results):
    lines = list(updated(results, path))
    with open(path + ".part", "w") as f:
        print(*lines, sep="\n", file=f)
    os.replace(path + ".part", path)


def write(out, results):
    results = sorted(results, key=lambda r: (r["source"], r["name"]))
    with open(os.path.join(out, "table.txt"), "w") as f:
        bad = list(worst(results))
        for x in bad + [""] * bool(bad) + list(by_operator(results)) + [""] + list(summary(results)):
            print(x, file=f)
    with open(os.path.join(out, "reasons.tsv"), "w") as f:
        print("source\tcase\toperator\tcolumn\tverdict\twhy", file=f)
        for r in results:
            for c in COLUMNS:
                x = r["columns"][c]
                if x["verdict"] not in ("equal", "random"):
                    print("\t".join([r["source"], r["name"], r["operator"], c, x["verdict"], reason(x)]), file=f)
    with open(os.path.join(out, "conformance.tsv"), "w") as f:
        for x in summary(results):
            print("# " + x, file=f)
        print("# a case that is not equal in every column: . equal, s once sizes were given, f once integers were constants, r random, W wrong, C crash, - refused, n not judged", file=f)
        for r in results:
            if set(code(r)) - set(".n"):
                print("%s\t%s\t%s" % (code(r), r["source"], r["name"]), file=f)
