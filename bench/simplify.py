#!/usr/bin/env python3
"""simplify.py MODEL.onnx...: nodes that hone's passes and onnxsim leave.

Sizes are fixed as bench/models.txt says, for both; with --free they stay free. Counted are all nodes but
Constant, subgraphs included, in the files that both write; hone's tools must be in PATH.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import onnx

PASSES = ("ge-import -q '{model}' | ge-shape -q {sizes} | ge-fold | ge-simplify | ge-deadedge | ge-cse"
          " | ge-prune | ge-export -o '{out}'")
HERE = os.path.dirname(os.path.abspath(__file__))


def graphs(graph):
    yield graph
    for n in graph.node:
        for a in n.attribute:
            for g in [a.g] * a.HasField("g") + list(a.graphs):
                yield from graphs(g)


def count(model):
    ops = {}
    for g in graphs(model.graph):
        for n in g.node:
            if n.op_type != "Constant":
                ops[n.op_type] = ops.get(n.op_type, 0) + 1
    return ops


def sizes_of(name):
    with open(os.path.join(HERE, "models.txt")) as f:
        for line in f:
            words = line.split()
            if words[:1] == [name]:
                sets = [w[len("--set="):] for w in words[3:] if w.startswith("--set=")]
                return {k: int(v) for s in sets for k, v in (p.split("=") for p in s.split(","))}
    return {}


def by_hone(path, sizes, work):
    out = os.path.join(work, "out.onnx")
    command = PASSES.format(model=path, out=out, sizes=" ".join(f"--set {k}={v}" for k, v in sizes.items()))
    env = dict(os.environ, HONE_BLOBS=os.path.join(work, "blobs"))
    start = time.perf_counter()
    subprocess.run(command, shell=True, check=True, env=env)
    return count(onnx.load(out)), time.perf_counter() - start


def by_onnxsim(path, sizes):
    import onnxsim
    model = onnx.load(path)
    shapes = {}
    weights = {t.name for t in model.graph.initializer}
    for i in model.graph.input:
        dims = [d.dim_value if d.HasField("dim_value") else sizes.get(d.dim_param)
                for d in i.type.tensor_type.shape.dim]
        if i.name not in weights and sizes and None not in dims:
            shapes[i.name] = dims
    start = time.perf_counter()
    model, good = onnxsim.simplify(model, overwrite_input_shapes=shapes or None)
    return count(model), time.perf_counter() - start


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--free", action="store_true", help="leave sizes free")
    p.add_argument("--ops", action="store_true", help="also the operators whose numbers differ")
    p.add_argument("models", nargs="+")
    args = p.parse_args()
    print(f"{'nodes of':28}{'model':>8}{'hone':>8}{'onnxsim':>9}   seconds: hone, onnxsim")
    for path in args.models:
        name = os.path.basename(path)[:-len(".onnx")]
        sizes = {} if args.free else sizes_of(name)
        before = count(onnx.load(path, load_external_data=False))
        row = f"{name:28}{sum(before.values()):8}"
        ours = theirs = None
        with tempfile.TemporaryDirectory() as work:
            try:
                ours, a = by_hone(path, sizes, work)
            except subprocess.CalledProcessError:
                a = float("nan")
        try:
            theirs, b = by_onnxsim(path, sizes)
        except Exception as e:  # what it raises has no type of its own
            print(f"{name}: onnxsim: {e}", file=sys.stderr)
            b = float("nan")
        for ops in (ours, theirs):
            row += f"{sum(ops.values()) if ops is not None else 'fails':>{9 if ops is theirs else 8}}"
        print(f"{row}   {a:8.2f} {b:8.2f}", flush=True)
        if args.ops and ours is not None and theirs is not None:
            for op in sorted(ours.keys() | theirs.keys()):
                if ours.get(op, 0) != theirs.get(op, 0):
                    print(f"    {op:24}{before.get(op, 0):8}{ours.get(op, 0):8}{theirs.get(op, 0):9}")


if __name__ == "__main__":
    main()
