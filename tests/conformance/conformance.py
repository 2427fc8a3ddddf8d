"""ONNX's conformance cases, in columns: evaluated (run-ref), passes (the graph after every pass of hone build, evaluated), exported
(the same as ONNX files, for onnx's checker and ONNX Runtime), native (hone build, run-dev), strict (native with --no-fallback).

conformance.py [-j N] [--sources wheel,debian,FOLDER] [--out FOLDER] [--fresh] [--list] [--against FILE.tsv] [--update FILE.tsv] [--twice] [--draw N] [--seed N]
    [--together N] [--programs FOLDER] [NAME...]
NAME: only cases with one of these in their names. --list: a line a case on standard output. What was done with the same programs
is not done again, unless --fresh. In FOLDER (build/conformance): table.txt, reasons.tsv, conformance.tsv. --against: names the cases
that do worse than in such a conformance.tsv (doc/conformance.tsv), and ends with 1 if there are any. --update: puts the cases that were
run into such a file, and counts its heads again. --twice: each pass again on what it made must change nothing, too. --draw:
so many of the cases, drawn by --seed (1). --together: up to N cases in one model, if --against has them equal in every column; if that
is not equal, each alone. --programs: the folder of hone's programs (bin);
others than bin's find a compiler themselves."""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time

import onnxruntime  # noqa: F401: here, so that it is there in each process that is forked

import judge
import report
import together
from cases import collect


def digest_of_programs(top, programs):
    h = hashlib.sha256()
    for folder in (programs, "build/libhone_eval.a", "tests/conformance"):
        path = os.path.join(top, folder)
        for f in sorted(os.listdir(path)) if os.path.isdir(path) else [""]:
            f = os.path.join(path, f) if f else path
            if os.path.isfile(f):
                with open(f, "rb") as x:
                    h.update(hashlib.file_digest(x, "sha256").digest() if hasattr(hashlib, "file_digest") else x.read())
    return h.hexdigest()[:16]


def earlier(path, digest):
    """Results of a run that was stopped; none if the programs are others."""
    try:
        with open(path) as f:
            lines = f.read().splitlines()
        if lines and json.loads(lines[0]).get("programs") == digest:
            return [json.loads(line) for line in lines[1:] if line.endswith("}")]
    except (OSError, ValueError):
        pass
    return []


cases = []


def judged(case):
    with tempfile.TemporaryDirectory(prefix="case.") as dir:
        os.environ["HONE_BLOBS"] = dir + "/blobs"
        try:
            return judge.judge(case, dir)
        except Exception as e:  # of this program: no case is lost
            return {c: {"verdict": "crash", "why": "conformance.py: %s: %s" % (type(e).__name__, str(e).split("\n")[0])} for c in judge.COLUMNS}


def some(ks):
    """The columns of each of these cases."""
    if len(ks) > 1:
        columns = judged(together.beside([cases[k] for k in ks]))
        if together.all_equal(columns):
            return [(k, columns) for k in ks]
    return [(k, judged(cases[k])) for k in ks]


def kind(k):
    return k, together.kind(cases[k])


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("-j", type=int, default=2)
    p.add_argument("--sources", default="wheel,debian")
    p.add_argument("--out", default=os.path.join(top, "build", "conformance"))
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--against")
    p.add_argument("--update")
    p.add_argument("--twice", action="store_true")
    p.add_argument("--draw", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--together", type=int, default=1)
    p.add_argument("--programs")
    p.add_argument("names", nargs="*")
    a = p.parse_args()

    programs = a.programs or os.path.join(top, "bin")
    os.makedirs(os.path.join(a.out, "objects"), exist_ok=True)
    os.environ["PATH"] = programs + ":" + os.environ["PATH"]
    os.environ["CACHED_CC"] = os.environ.get("CC", "gcc")
    os.environ["CACHED_OBJECTS"] = os.path.join(a.out, "objects")
    if a.programs is None:
        os.environ["CC"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cc.sh")
    os.environ["XDG_DATA_HOME"] = os.path.join(a.out, "data")
    os.environ["CONFORMANCE_STAT"] = os.path.join(top, "bin", "ge-stat")
    os.environ["CONFORMANCE_TWICE"] = "1" if a.twice else ""
    digest = digest_of_programs(top, programs) + ("+twice" if a.twice else "")
    store = os.path.join(a.out, "results.jsonl")
    results = [] if a.fresh else earlier(store, digest)
    done = {(r["source"], r["name"]): r for r in results}
    with open(store + ".part", "w") as f:
        print(json.dumps({"programs": digest}), file=f)
        for r in results:
            print(json.dumps(r), file=f)
    os.replace(store + ".part", store)

    cases.extend(collect(a.sources.split(","), a.names))
    if a.draw and a.draw < len(cases):
        cases[:] = random.Random(a.seed).sample(cases, a.draw)
    operators = report.operators(cases)
    todo = [k for k, c in enumerate(cases) if (c.source, c.name) not in done]
    begin = time.time()
    with open(store, "a") as f, multiprocessing.Pool(a.j, maxtasksperchild=200) as pool:
        other = report.read(a.against) if a.against and a.together > 1 else None
        alike = [k for k in todo if other is not None and (cases[k].source, cases[k].name) not in other]
        groups = list(together.groups(dict(pool.imap_unordered(kind, alike)), todo, a.together))
        for n, (k, columns) in enumerate(x for got in pool.imap_unordered(some, groups) for x in got):
            c = cases[k]
            r = {"source": c.source, "name": c.name, "operator": operators[k], "columns": columns}
            done[c.source, c.name] = r
            print(json.dumps(r), file=f, flush=True)
            if a.list:
                print(report.line(r), flush=True)
            elif sys.stderr.isatty() or n % 200 == 199:
                print("%d of %d, %d s" % (n + 1, len(todo), time.time() - begin), file=sys.stderr, end="\r" if sys.stderr.isatty() else "\n")
    results = [done[c.source, c.name] for c in cases]
    report.write(a.out, results)
    with open(os.path.join(a.out, "table.txt")) as f:
        shutil.copyfileobj(f, sys.stdout)
    if a.update:
        report.update(a.update, results)
    worse = list(report.worse(results, a.against)) if a.against else []
    print(*worse, sep="\n", end="\n" * bool(worse))
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
