"""ONNX's conformance cases through emx-onnx-cgen (PyPI), another compiler of ONNX to C: what its own backend, which it gives to onnx's
test runner, makes of each, compared as tests/conformance does. Beside it, what hone's libraries made of them.

conformance_peer.py [-j N] [--sources wheel,debian,FOLDER] [--out FILE.tsv] [--hone results.jsonl] [NAME...]
Needs a python that has emx-onnx-cgen. results.jsonl is one of make conformance (build/conformance). FILE.tsv is gone on with."""

import argparse
import collections
import json
import multiprocessing
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "conformance"))
from emx_onnx_cgen.onnx_backend import EmxOnnxCgenBackend  # noqa: E402

import judge  # noqa: E402
from cases import collect  # noqa: E402

GOOD = ("equal", "random", "sized", "fixed")
cases = []


def answer(case, dir):
    """Verdict and why, in this process. What it says no to it says with an exception."""
    r = judge.Run(case, dir)
    for k, (inputs, _) in enumerate(r.sets):
        try:
            got = EmxOnnxCgenBackend.run_model(r.model, inputs)
        except Exception as e:
            why = " ".join(str(e).split())
            failed = why.startswith(("C compilation failed", "Execution failed")) or "timed out" in why
            return "%s\t%s: %s" % ("crash" if failed else "refused", type(e).__name__, why[:200])
        v = r.compare(lambda name, i: judge.stored(got[i]) if hasattr(got[i], "dtype") else got[i], k)
        if v["verdict"] not in ("equal", "random"):
            return "%s\t%s" % (v["verdict"], v["why"])
    return v["verdict"] + "\t"


def one(k):
    with tempfile.TemporaryDirectory(prefix="case.") as dir:
        tempfile.tempdir = dir
        said = judge.in_child(lambda: answer(cases[k], dir))
        tempfile.tempdir = None
    return k, said.replace("crash: ", "crash\t") if said.startswith("crash: ") else said


def read(path):
    try:
        with open(path) as f:
            return {tuple(x[:2]): x[2:] for x in (line.rstrip("\n").split("\t") for line in f) if len(x) == 4}
    except OSError:
        return {}


def read_hone(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f][1:]
    return {(r["source"], r["name"]): r["columns"] for r in rows}


def tell(theirs, ours):
    """How many of each verdict; where hone is behind."""
    for source in dict.fromkeys(k[0] for k in theirs):
        mine = {k: v for k, v in theirs.items() if k[0] == source}
        n = collections.Counter(v[0] for v in mine.values())
        print("%-8s emx-onnx-cgen  %5d of %d: %s" % (source, sum(n[v] for v in GOOD), len(mine), dict(n)))
        for column in ("native", "strict") if ours else ():
            n = collections.Counter(ours[k][column]["verdict"] for k in mine if k in ours)
            print("%-8s hone, %-8s %5d of %d: %s" % (source, column, sum(n[v] for v in GOOD), len(mine), dict(n)))
    for k, v in theirs.items():
        x = ours.get(k, {}).get("native", {})
        if x and v[0] in GOOD and x["verdict"] not in GOOD:
            print("behind: %s %s: %s: %s" % (*k, x["verdict"], x.get("why", "")))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("-j", type=int, default=2)
    p.add_argument("--sources", default="wheel,debian")
    p.add_argument("--out", default="build/conformance/emx.tsv")
    p.add_argument("--hone")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    cases.extend(collect(a.sources.split(","), a.names))
    done = read(a.out)
    todo = [k for k, c in enumerate(cases) if (c.source, c.name) not in done]
    os.makedirs(os.path.dirname(os.path.abspath(a.out)), exist_ok=True)
    with open(a.out, "a") as f, multiprocessing.Pool(a.j) as pool:
        for k, said in pool.imap_unordered(one, todo):
            c = cases[k]
            verdict, _, why = said.partition("\t")
            done[c.source, c.name] = [verdict, why]
            print("%s\t%s\t%s\t%s" % (c.source, c.name, verdict, why.replace("\t", " ")), file=f, flush=True)
    wanted = {(c.source, c.name) for c in cases}
    tell({k: v for k, v in done.items() if k in wanted}, read_hone(a.hone) if a.hone else {})


if __name__ == "__main__":
    main()
