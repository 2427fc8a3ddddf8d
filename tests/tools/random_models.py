#!/usr/bin/env python3
"""Random models through the whole pipeline, against ONNX Runtime.

For every seed: the passes of hone build, the numbers of the planned graph by run-ref and of the library by run-dev, and
those of the graph whose sizes stay free, also at other sizes; with --open those of the library that is built so, in place
of the other. On a difference run-ref follows every pass, which names the one to blame, and the model is cut down to the
nodes that matter. The tools are found in PATH.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import onnx

sys.dont_write_bytecode = True
from random_graphs import Graph, run

FRONT = ["ge-import -q", "ge-shape -q", "ge-fold -q", "ge-simplify -q --prove", "ge-deadedge -q", "ge-cse -q", "ge-dedup -q", "ge-prune -q", "ge-integer -q", "ge-fuse -q", "ge-layout -q", "ge-plan -q"]
TOLERANCE = 1e-4
RUNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "open_runs.py")


def difference(y, r):
    """None where y is r; else in words."""
    if y.dtype != r.dtype or y.shape != r.shape:
        return "%s%s, not %s%s" % (y.dtype, list(y.shape), r.dtype, list(r.shape))
    if r.dtype.kind != "f":
        return None if np.array_equal(y, r) else "%d of %d elements" % ((y != r).sum(), r.size)
    same = np.isfinite(r)
    if not np.array_equal(np.isnan(y), np.isnan(r)) or not np.array_equal(y[~same & ~np.isnan(r)], r[~same & ~np.isnan(r)]):
        return "NaN or infinity elsewhere"
    if not same.any():
        return None
    top, off = np.abs(r[same]).max(), np.abs(y[same].astype(np.float64) - r[same]).max()
    return None if off <= TOLERANCE * max(top, 1e-20) else "off by %.3g of %.3g" % (off, top)


def preload():
    """What a python wants before it, that is to load libraries of a compiler with the address sanitizer."""
    cc = os.environ.get("CC", "")
    if "fsanitize=address" not in cc:
        return ""
    find = [subprocess.run(cc.split() + ["-print-file-name=" + f], capture_output=True, text=True).stdout.strip() for f in ("libasan.so", "libstdc++.so")]
    return "LD_PRELOAD='%s'" % " ".join(find)


class Failure(Exception):
    """kind: what stays the same while a model is cut down."""

    def __init__(self, kind, said):
        super().__init__("%s: %s" % (kind, said))
        self.kind = kind


class Refused(Exception):
    pass


class Case:
    """One model in a directory of its own."""

    def __init__(self, dir, model, feeds, symbols):
        self.dir, self.model, self.feeds, self.symbols = dir, model, feeds, symbols
        self.names = [o.name for o in model.graph.output]
        os.makedirs(dir, exist_ok=True)
        onnx.save(model, dir + "/model.onnx")
        self.put("in.npz", feeds)
        self.want = run(model, feeds)

    def put(self, name, arrays):
        np.savez(os.path.join(self.dir, name), **arrays)

    def sh(self, command):
        p = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600, env=dict(os.environ, HONE_BLOBS=self.dir + "/blobs"))
        if p.returncode == 69:
            raise Refused(p.stderr.decode().strip())
        if p.returncode:
            said = [line.strip() for line in p.stderr.decode().strip().split("\n") if "Done" not in line and not re.fullmatch(r"\s*\d+\s*\|.*", line)]
            raise Failure("%s ended with %d" % (command.split()[0], p.returncode), " ".join(said)[-600:])

    def compare(self, what, file, want):
        with np.load(os.path.join(self.dir, file)) as got:
            for n, r in zip(self.names, want):
                d = difference(got[n], r)
                if d:
                    raise Failure(what, "%s: %s" % (n, d))

    def passes(self, sizes):
        tools = list(FRONT)
        tools[0] += " model.onnx"
        if sizes:
            tools[1] += " --set " + sizes
        return tools

    def sizes(self):
        return ",".join("%s=%d" % s for s in self.symbols.items())

    def native(self):
        self.sh(" | ".join(self.passes(self.sizes())) + " -o planned.g")
        self.sh("run-ref -q planned.g -i in.npz -o ref.npz")
        self.compare("run-ref after ge-plan", "ref.npz", self.want)

    def library(self):
        self.sh("ge-emit -q -j1 planned.g -o lib && run-dev -q lib.so -i in.npz -o out.npz")
        self.compare("run-dev", "out.npz", self.want)

    def free(self, rng):
        """Sizes stay free; at other sizes too, where ONNX Runtime takes them."""
        if not self.symbols:
            return
        self.sh(" | ".join(self.passes("")[:9]) + " -o free.g")
        self.sh("run-ref -q free.g -i in.npz -o free.npz")
        self.compare("run-ref, sizes free", "free.npz", self.want)
        feeds = self.resized({s: max(1, n + int(rng.integers(-1, 3))) for s, n in self.symbols.items()}, rng)
        try:
            want = run(self.model, feeds)
        except Exception:
            return
        self.put("other.npz", feeds)
        if not self.decided("other.npz", want):
            return
        self.sh("run-ref -q free.g -i other.npz -o other-out.npz")
        self.compare("run-ref at other sizes", "other-out.npz", want)

    def resized(self, sizes, rng):
        """Inputs at other sizes."""
        feeds = {}
        for i in self.model.graph.input:
            dims = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in i.type.tensor_type.shape.dim]
            old = self.feeds[i.name]
            feeds[i.name] = rng.standard_normal(dims).astype(old.dtype) if old.dtype.kind == "f" else rng.integers(0, 4, dims).astype(old.dtype)
        return feeds

    def decided(self, file, want):
        """Such data may sit on a tie, and ONNX Runtime takes empty operands of any shape: does the model itself give what it gives?"""
        try:
            self.sh("run-ref -q model.onnx -i %s -o decided.npz" % file)
            self.compare("run-ref", "decided.npz", want)
        except Failure:
            return False
        return True

    def opened(self, rng):
        """The library that is built without --set: in one process at sizes that change from run to run, 1 among them."""
        if not self.symbols:
            return
        self.sh(" | ".join(self.passes("")) + " -o open.g && ge-emit -q -j1 open.g -o open")
        near = [{s: max(1, n + int(rng.integers(-2, 4))) for s, n in self.symbols.items()} for _ in range(2)]
        wide = [{s: int(rng.integers(1, 2 * n + 2)) for s, n in self.symbols.items()} for _ in range(2)]
        mixed = {s: 1 if rng.random() < 0.5 else n for s, n in self.symbols.items()}
        want = {"at0": self.want}
        self.put("at0.npz", self.feeds)
        for sizes in (near[0], dict.fromkeys(self.symbols, 1), wide[0], mixed, near[1], wide[1]):
            name, feeds = "at%d" % len(want), self.resized(sizes, rng)
            self.put(name + ".npz", feeds)
            try:
                want[name] = run(self.model, feeds)
            except Exception:
                want[name] = None  # no model of such sizes: refused or not, it goes on
        self.sh("%s '%s' -B '%s' open.so %s" % (preload(), sys.executable, RUNS, " ".join(want)))
        for name in [n for n in want if want[n]]:
            try:
                if os.path.exists(self.dir + "/" + name + ".said"):
                    with open(self.dir + "/" + name + ".said") as f:
                        raise Failure("the open library refuses", f.read())
                self.compare("the open library", name + ".out.npz", want[name])
            except Failure:
                if name == "at0" or self.decided(name + ".npz", want[name]):
                    raise

    def blame(self, sizes):
        """The first pass after which run-ref gives other numbers."""
        last = ""
        for i, tool in enumerate(self.passes(sizes)):
            try:
                self.sh("%s %s -o pass.g.new && mv pass.g.new pass%d.g && run-ref -q pass%d.g -i in.npz -o pass.npz" % (tool, last, i, i))
                self.compare(tool.split()[0], "pass.npz", self.want)
            except (Failure, Refused) as e:
                return "%d %s" % (i, e)
            last = "pass%d.g" % i
        return "no pass: the emitted code"


def check(case, args, seed):
    case.native()
    if args.open:
        case.opened(np.random.default_rng(seed))
        return
    if args.native:
        case.library()
    case.free(np.random.default_rng(seed))


def shrink(g, args, seed, dir, first):
    """Nodes dropped from the end and from the middle (their results become inputs) while it fails in the same way."""
    def fails(nodes, outputs, inputs):
        g.inputs = inputs
        for n in inputs:
            g.dims.setdefault(n, list(g.shape(n)))
        shutil.rmtree(dir, ignore_errors=True)
        try:
            check(Case(dir, g.model(nodes, outputs), g.feeds, {s: n for s, n in g.symbols.items() if any(s in g.dims[i] for i in inputs)}), args, seed)
        except Failure as e:
            return e.kind == first.kind
        except Exception:
            return False
        return False

    def reads(n):
        return set(n.input) | {i for a in n.attribute for m in a.g.node for i in m.input}
    nodes, outputs, inputs = list(g.nodes), list(g.outputs), list(g.inputs)
    changed = True
    while changed:
        changed = False
        for o in list(outputs):
            less = [x for x in outputs if x != o]
            if less and fails(nodes, less, inputs):
                outputs, changed = less, True
        for n in list(reversed(nodes)):
            less = [m for m in nodes if m is not n]
            read = {i for m in less for i in reads(m)}
            outs = [o for o in outputs if o not in n.output] + [i for i in n.input if i and i not in g.consts and not (set(n.input) & read)][:1] if not set(n.output) & read else [o for o in outputs if o not in n.output]
            ins = inputs + [o for o in n.output if o in read]
            if less and outs and fails(less, outs, ins):
                nodes, outputs, inputs, changed = less, outs, ins, True
        used = {i for m in nodes for i in reads(m)} | set(outputs)
        if any(i not in used for i in inputs) and fails(nodes, outputs, [i for i in inputs if i in used]):
            inputs = [i for i in inputs if i in used]
    fails(nodes, outputs, inputs)


def one(seed, args):
    g = Graph(seed).grow(*args.nodes)
    dir = os.path.join(args.keep, "seed%d" % seed)
    shutil.rmtree(dir, ignore_errors=True)
    try:
        try:
            case = Case(dir, g.model(), g.feeds, g.symbols)
        except Exception as e:
            shutil.rmtree(dir, ignore_errors=True)
            return "invalid", str(e).split("\n")[0]  # to ONNX Runtime, whose shape inference has errors of its own
        check(case, args, seed)
    except Refused as e:
        shutil.rmtree(dir)
        return "refused", str(e)
    except Failure as e:
        said = str(e)
        if args.shrink:
            shrink(g, args, seed, dir, e)
        case = Case(dir, onnx.load(dir + "/model.onnx"), *[dict(p) for p in ((np.load(dir + "/in.npz")), {})])
        case.symbols = {d.dim_param: case.feeds[i.name].shape[k] for i in case.model.graph.input for k, d in enumerate(i.type.tensor_type.shape.dim) if d.dim_param}
        return "failed", "%s\n  blame: %s\n  nodes: %s\n  in %s" % (said, case.blame("" if "free" in said or "other" in said or "open" in said else case.sizes()), " ".join(n.op_type for n in case.model.graph.node), dir)
    shutil.rmtree(dir)
    return "equal", ""


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--first", type=int, default=1)
    a.add_argument("--seeds", type=int, default=25)
    a.add_argument("--nodes", type=int, nargs=2, default=(5, 25), metavar=("LEAST", "MOST"))
    a.add_argument("--keep", help="where failing models are left")
    a.add_argument("--no-native", dest="native", action="store_false", help="no compiler: the passes only")
    a.add_argument("--open", action="store_true", help="libraries of open sizes")
    a.add_argument("--no-shrink", dest="shrink", action="store_false")
    args = a.parse_args()
    args.keep = os.path.abspath(args.keep or tempfile.mkdtemp())
    counts = {}
    for seed in range(args.first, args.first + args.seeds):
        try:
            verdict, said = one(seed, args)
        except Exception:
            verdict, said = "failed", traceback.format_exc()
        counts[verdict] = counts.get(verdict, 0) + 1
        if said:
            print("seed %d: %s: %s" % (seed, verdict, said), flush=True)
        if (seed - args.first) % 10 == 9:
            print("%d of %d seeds" % (seed - args.first + 1, args.seeds), file=sys.stderr, flush=True)
    print(", ".join("%d %s" % (n, v) for v, n in sorted(counts.items())))
    sys.exit(1 if counts.get("failed") or not counts.get("equal") else 0)


if __name__ == "__main__":
    main()
