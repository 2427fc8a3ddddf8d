#!/usr/bin/env python3
"""simplify.py MODEL.onnx... (or directories): what hone simplify, onnxsim and onnxslim leave of models.

Counted are all nodes but Constant in the files that each writes, bodies and functions included. Sizes stay as they are in
the models; with --fixed they are what bench/models.txt says, for all. Each is run as its users run it, in a process of its
own, and ONNX Runtime loads what hone wrote. hone must be in PATH. Ends with 1 if hone fails on a model, changes its opset, or
leaves more nodes than the better of the others on more than 5% of the models.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def graphs(graph):
    yield graph
    for n in graph.node:
        for a in n.attribute:
            for g in [a.g] * a.HasField("g") + list(a.graphs):
                yield from graphs(g)


def count(model):
    ops = {}
    for nodes in [g.node for g in graphs(model.graph)] + [f.node for f in model.functions]:
        for n in nodes:
            if n.op_type != "Constant":
                ops[n.op_type] = ops.get(n.op_type, 0) + 1
    return ops


def opset(model):
    return {o.domain: o.version for o in model.opset_import}.get("", 0)


def sizes_of(name):
    with open(os.path.join(HERE, "models.txt")) as f:
        for line in f:
            words = line.split()
            if words[:1] == [name] and words[1] != "-":
                return dict((k, int(v)) for k, v in (s.split("=") for s in words[1].split(",")))
    return {}


def shapes_of(path, sizes):
    import onnx
    model, shapes = onnx.load(path, load_external_data=False), {}
    weights = {t.name for t in model.graph.initializer}
    for i in model.graph.input:
        dims = [d.dim_value if d.HasField("dim_value") else sizes.get(d.dim_param) for d in i.type.tensor_type.shape.dim]
        if i.name not in weights and sizes and None not in dims:
            shapes[i.name] = dims
    return shapes


def by_hone(path, sizes, out):
    subprocess.run(["hone", "simplify", "-q", *(f"--set={k}={v}" for k, v in sizes.items()), path, out], check=True)


def by_onnxsim(path, sizes, out):
    import onnx
    import onnxsim
    model, _ = onnxsim.simplify(onnx.load(path), overwrite_input_shapes=shapes_of(path, sizes) or None)
    onnx.save(model, out)


def by_onnxslim(path, sizes, out):
    import onnx
    import onnxslim
    shapes = [f"{k}:{','.join(map(str, v))}" for k, v in shapes_of(path, sizes).items()]
    onnx.save(onnxslim.slim(path, input_shapes=shapes or None), out)


PEERS = {"hone": by_hone, "onnxsim": by_onnxsim, "onnxslim": by_onnxslim}


def one(peer, path, sizes, loads):
    """What a peer makes of a model, as JSON, for another process."""
    import onnx
    with tempfile.TemporaryDirectory() as work:
        out, start = os.path.join(work, "out.onnx"), time.perf_counter()
        PEERS[peer](path, sizes, out)
        took = time.perf_counter() - start
        model = onnx.load(out, load_external_data=False)
        result = {"ops": count(model), "opset": opset(model), "bytes": os.path.getsize(out), "seconds": took, "why": ""}
        if loads:
            import onnxruntime as ort
            ort.set_default_logger_severity(4)
            try:
                onnx.checker.check_model(out, full_check=True)
                ort.InferenceSession(out, providers=["CPUExecutionProvider"])
            except Exception as e:  # what it raises has no type of its own
                result["why"] = str(e).strip().splitlines()[0][:200]
        print("\n" + json.dumps(result))


def run(peer, path, sizes):
    command = [sys.executable, __file__, "--one", peer, "--sizes", json.dumps(sizes), path]
    try:
        p = subprocess.run(command, capture_output=True, text=True, timeout=600)
        return json.loads(p.stdout.splitlines()[-1]), ""
    except (subprocess.TimeoutExpired, ValueError, IndexError) as e:
        lines = [] if isinstance(e, subprocess.TimeoutExpired) else [s for s in p.stderr.splitlines() if s.strip()]
        said = [s for s in lines if s.startswith(("hone", "ge-", "run-"))] or lines or ["took too long"]
        return None, said[-1][:160]


def find(paths):
    for p in paths:
        if not os.path.isdir(p):
            yield p
        for folder, _, files in sorted(os.walk(p)):
            yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith(".onnx"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--fixed", action="store_true", help="fix sizes as bench/models.txt says")
    p.add_argument("--ops", action="store_true", help="where hone leaves more, the operators whose numbers differ")
    p.add_argument("--one", help=argparse.SUPPRESS)
    p.add_argument("--sizes", help=argparse.SUPPRESS)
    p.add_argument("models", nargs="+")
    args = p.parse_args()
    if args.one:
        one(args.one, args.models[0], json.loads(args.sizes), args.one == "hone")
        return 0
    import onnx
    print(f"{'nodes of':36}{'model':>7}" + "".join(f"{x:>9}" for x in PEERS) + f"{'file':>8}   seconds")
    done = failed = more = 0
    for path in find(args.models):
        name = os.path.basename(path)[:-len(".onnx")]
        sizes = sizes_of(name) if args.fixed else {}
        model = onnx.load(path, load_external_data=False)
        before, results, notes = count(model), {}, []
        for peer in PEERS:
            results[peer], why = run(peer, path, sizes)
            if why:
                notes.append(f"{peer}: {why}")
        ours = results["hone"]
        totals = {k: sum(r["ops"].values()) if r else None for k, r in results.items()}
        best = min((v for k, v in totals.items() if k != "hone" and v is not None), default=None)
        done += 1
        if not ours or ours["why"] or ours["opset"] != opset(model):
            failed += 1
            if ours:
                notes.append(ours["why"] or f"opset {opset(model)} became {ours['opset']}")
        elif best is not None and totals["hone"] > best:
            more += 1
            notes.append(f"{totals['hone'] - best} more than the best")
        size = f"{100 * ours['bytes'] / os.path.getsize(path) - 100:+7.1f}%" if ours else f"{'':8}"
        print(f"{name:36}{sum(before.values()):7}"
              + "".join(f"{totals[x] if totals[x] is not None else 'fails':>9}" for x in PEERS) + size
              + " ".join(f"{r['seconds']:7.1f}" if r else "      -" for r in results.values())
              + "".join(f"\n    {n}" for n in notes), flush=True)
        if args.ops and ours and best is not None and totals["hone"] > best:
            other = results[min((k for k in totals if k != "hone" and totals[k] is not None), key=lambda k: totals[k])]
            for op in sorted(ours["ops"].keys() | other["ops"].keys()):
                a, b = ours["ops"].get(op, 0), other["ops"].get(op, 0)
                if a != b:
                    print(f"    {op:32}{before.get(op, 0):7}{a:9}{b:9}")
    print(f"{done} models: hone fails on {failed}, leaves more nodes than the better of the others on {more}")
    return failed > 0 or more > 0.05 * done


if __name__ == "__main__":
    sys.exit(main())
