#!/usr/bin/env python3
"""Single operators against ONNX Runtime and OpenVINO: where a compiled model falls off a cliff.

Each line of bench/cliffs.txt is a model of some nodes (see there).  It is written as ONNX, built by
`hone build`, compared with ONNX Runtime (--reference: and with onnx's reference evaluator, which is
slow), and timed against it and OpenVINO: one thread of one core, in turns, processor time, medians of the
ratio to the faster of the two.  A call from Python costs each side something, which an empty model of each
tells; it is taken off.  Printed are a line a case (the times of hone, ONNX Runtime and OpenVINO, "-" where it
cannot run the model), slowest kinds last, and of each kind how many cases take at most 1.1 of the time of the
faster peer.  Exit: 1 where a number is wrong or a case does not build.
"""

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

import peers
from native import Model

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {"f32": "float", "f16": "float16", "f64": "double", "i64": "int64", "i32": "int32", "u8": "uint8", "i8": "int8", "bool": "bool"}
NUMPY = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i64": np.int64, "i32": np.int32, "u8": np.uint8, "i8": np.int8, "bool": np.bool_}
GOOD = 1.1


class Case:
    """kind | inputs and constants | nodes"""

    def __init__(self, text):
        self.text = text
        self.kind, values, nodes = (s.strip() for s in text.split("|", 2))
        self.rng = np.random.default_rng(zlib.crc32(text.encode()))
        self.ranges, inputs, constants = {}, [], []
        for v in values.split():
            name, dtype, shape, limit = re.fullmatch(r"(\w+):(?:(\w+):)?([^<]*)(?:<(\d+))?", v).groups()
            self.value(name, dtype or "f32", shape, limit, inputs, constants)
        outputs = [o for o in re.findall(r"(?:^|[;,])\s*(y\d*)\b(?=[^(]*=)", nodes)]
        body = "\n".join(s.strip() for s in nodes.split(";"))
        graph = f"g ({', '.join(inputs)}) => ({', '.join('float[] ' + o for o in outputs)}) {{ {body} }}"
        g = parser.parse_graph(graph)
        for o in g.output:
            o.ClearField("type")
        g.initializer.extend(constants)
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
        try:
            self.model = onnx.shape_inference.infer_shapes(m, strict_mode=True, data_prop=True)
        except onnx.shape_inference.InferenceError:  # it has no rule for GroupNormalization; the results are floats
            for o in m.graph.output:
                o.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
            self.model = m

    def value(self, name, dtype, shape, limit, inputs, constants):
        if "=" in shape:  # given: NAME:i64:=1,2,3
            a = np.array([float(x) for x in shape[1:].split(",") if x]).astype(NUMPY[dtype])
        elif name[0].isupper():
            dims = [int(d) for d in shape.split("x")]
            a = self.rng.integers(0, int(limit), dims) if limit else self.rng.standard_normal(dims) / 4
            a -= int(limit) // 2 if dtype == "i8" else 0
        else:
            inputs.append(f"{DTYPES[dtype]}[{shape.replace('x', ', ')}] {name}")
            if limit:
                self.ranges[name] = (0, int(limit) - 1)
            return
        constants.append(numpy_helper.from_array(np.asarray(a, NUMPY[dtype]), name))

    def stem(self, out):
        return os.path.join(out, f"{self.kind}-{zlib.crc32(self.text.encode()):08x}")


def read_cases(path, words):
    cases = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if line and (not words or any(w in line for w in words)):
                cases.append(Case(line))
    return cases


def build(case, out, options):
    """NULL, or why not; what hone build says of the slow path goes into case.slow."""
    stem = case.stem(out)
    onnx.save(case.model, stem + ".onnx")
    r = subprocess.run([os.path.join(HERE, "..", "bin", "hone"), "build", stem + ".onnx", "-o", stem, *options],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    case.slow = "slow path" in r.stdout
    return None if r.returncode == 0 else r.stdout.strip()[-300:]


def bind(stem, case, args):
    """The model, its arrays, ONNX Runtime's results, and what runs each: hone, ONNX Runtime and, where it can, OpenVINO."""
    model, peer = Model(stem + ".so"), peers.session(stem + ".onnx")
    x = [t.empty() for t in model.inputs]
    y, r = ([t.empty() for t in model.outputs] for _ in range(2))
    rng = np.random.default_rng(args.seed)
    for t, a in zip(model.inputs, x):
        peers.fill(a, t.name.decode(), case.ranges, rng)
    runs = {"hone": model.bind(x, y), "ONNX Runtime": peers.bind_peer(peer, model, x, r)}
    with contextlib.redirect_stdout(io.StringIO()):
        other, _ = peers.bind_openvino(stem + ".onnx", model, x, {}) if args.openvino and args.rounds else (None, None)
    if other:
        runs["OpenVINO"] = other
    return model, x, y, r, runs


def compare(case, model, x, y, r, reference):
    """The largest difference from the peer, and from onnx's evaluator, which is asked only if reference."""
    worst = max(peers.difference(a, b) if b.any() else float(np.abs(a).max()) for a, b in zip(y, r))
    if reference:
        from onnx.reference import ReferenceEvaluator
        z = ReferenceEvaluator(case.model).run(None, {t.name.decode(): a for t, a in zip(model.inputs, x)})
        worst = max([worst] + [peers.difference(a, np.asarray(b)) for a, b in zip(y, z)])
    return worst


def empty_calls(out, args):
    """Seconds, by name, that a call costs each where nothing is to do."""
    case = Case("empty | x:1 | y = Neg(x)")
    why = None if args.no_build and os.path.exists(case.stem(out) + ".so") else build(case, out, [])
    if why:
        raise SystemExit(why)
    *_, runs = bind(case.stem(out), case, args)
    return {name: np.median(t) for name, t in peers.in_turns(runs, args.rounds).items()}


def try_case(case, out, args, cost):
    """The ratio; NaN where the case is not right."""
    try:
        model, x, y, r, runs = bind(case.stem(out), case, args)
    except Exception as e:  # what ONNX Runtime refuses has no ratio
        print(f"      -  {case.text}: {str(e)[:120]}", flush=True)
        return None
    for a in y:
        a.view(np.uint8)[...] = 0xff
    runs["hone"]()
    runs["ONNX Runtime"]()
    worst = compare(case, model, x, y, r, args.reference)
    if not worst <= args.tol:
        print(f"  WRONG  {case.text}: max|y-r|/max|r| {worst:.2g}", flush=True)
        return float("nan")
    t = {name: a - cost[name] for name, a in peers.in_turns(runs, args.rounds).items()}
    best = min((name for name in t if name != "hone"), key=lambda name: np.median(t[name]))
    ratio = float(np.median(t["hone"] / t[best]))
    ms = " ".join(f"{np.median(t[name]) * 1e3:9.4f}" if name in t else f"{'-':>9}" for name in cost)
    print(f"{ratio:7.2f}  {ms} ms  {case.text}{'  (slow path)' if case.slow else ''}", flush=True)
    return ratio


def summary(ratios):
    print(f"\n{'kind':16}{'cases':>6}{'at most 1.1':>13}{'geomean':>9}{'worst':>8}")
    for kind, r in sorted(ratios.items(), key=lambda x: max(x[1])):
        print(f"{kind:16}{len(r):6}{sum(q <= GOOD for q in r):13}{np.exp(np.mean(np.log(r))):9.2f}{max(r):8.2f}")
    every = [q for r in ratios.values() for q in r]
    if every:
        print(f"{'all':16}{len(every):6}{sum(q <= GOOD for q in every):13}{np.exp(np.mean(np.log(every))):9.2f}{max(every):8.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="*", help="only cases whose line has one of these")
    p.add_argument("--list", default=os.path.join(HERE, "cliffs.txt"))
    p.add_argument("-o", "--out", default=os.path.join(HERE, "..", "build", "cliffs"))
    p.add_argument("--reference", action="store_true", help="compare with onnx's reference evaluator, too")
    p.add_argument("--rounds", type=int, default=9, help="of timing (9); 0: compare only")
    p.add_argument("--slice", type=float, default=0.01, help="seconds of one measurement (0.01)")
    p.add_argument("--tol", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--no-build", action="store_true", help="time what was built before")
    p.add_argument("--build-only", action="store_true", help="build, to time later")
    p.add_argument("--no-openvino", dest="openvino", action="store_false", help="against ONNX Runtime alone")
    p.add_argument("--target", help="as hone build takes it")
    args = p.parse_args()
    peers.SLICE = args.slice
    os.makedirs(args.out, exist_ok=True)
    cases, failed, ratios = read_cases(args.list, args.words), False, {}
    for c in list(cases):
        c.slow = False
        why = None if args.no_build else build(c, args.out, ["--target", args.target] if args.target else [])
        if why:
            print(f"no build  {c.text}: {why}", flush=True)
            cases.remove(c)
            failed = True
    if args.build_only:
        return failed
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    cost = empty_calls(args.out, args) if args.rounds else 0
    for c in cases:
        if not args.rounds:
            model, x, y, r, runs = bind(c.stem(args.out), c, args)
            for run in runs.values():
                run()
            worst = compare(c, model, x, y, r, args.reference)
            failed |= not worst <= args.tol
            print(f"{'ok' if worst <= args.tol else 'WRONG'}  {worst:.2g}  {c.text}", flush=True)
            continue
        q = try_case(c, args.out, args, cost)
        failed |= q is not None and q != q
        if q is not None and q == q:
            ratios.setdefault(c.kind, []).append(q)
    if args.rounds:
        summary(ratios)
    return failed


if __name__ == "__main__":
    sys.exit(main())
