#!/usr/bin/env python3
"""Single operators, by default and tuned, against TVM's MetaSchedule.

Each task is an ONNX model of one operator, made here. It is built three times, each for one thread:

  default   hone build, with the records and the model that hone brings along and no others
  tuned     hone tune, with an empty knowledge base
  TVM       MetaSchedule on the model as TVM's ONNX importer gives it, constant weights in any layout that it chooses

Both tuners stop after --seconds or --trials, whichever comes first; MetaSchedule ends the round of 16 trials that it is in, so
it may take longer, and few trials say little about it: the columns at the end tell both. The numbers of all three are compared with ONNX Runtime's.
Then the three take turns in one process, on one thread of one core: who begins changes from round to round, each runs once unmeasured
before it is timed for 20 ms, so weights are warm. Times are processor time, medians. A ratio is the median of the ratios of one round's
times; the share behind it is half the distance between its quartiles. Below 1 hone is faster.

Wants apache-tvm 0.27 with apache-tvm-ffi 0.1.14 and xgboost (0.1.15 crashes; pip takes the older one with --no-deps)."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import peers
from native import Model

HERE = os.path.dirname(os.path.abspath(__file__))
HONE = os.path.join(HERE, "..", "bin", "hone")

# name: operator, shape of the input, shapes of the constants (None: a second input of the first one's kind), attributes
TASKS = {
    "matmul": ("MatMul", [250, 512], [[512, 1000]], {}),
    "conv3x3": ("Conv", [1, 64, 56, 56], [[64, 64, 3, 3], [64]], {"pads": [1] * 4}),
    "conv1x1s2": ("Conv", [1, 256, 56, 56], [[128, 256, 1, 1], [128]], {"strides": [2, 2]}),
    "conv1d_k5": ("Conv", [1, 128, 400], [[256, 128, 5], [256]], {"pads": [2, 2]}),
    "conv1d_k9": ("Conv", [1, 96, 1000], [[96, 96, 9], [96]], {"pads": [4, 4]}),
    "transposed": ("ConvTranspose", [1, 64, 32, 32], [[64, 32, 4, 4], [32]], {"strides": [2, 2], "pads": [1] * 4}),
    "dilated": ("Conv", [1, 144, 56, 56], [[144, 1, 3, 3], [144]], {"group": 144, "dilations": [2, 2], "pads": [2] * 4}),
    "groupnorm": ("GroupNormalization", [1, 128, 64, 64], [[128], [128]], {"num_groups": 32}),
    "softmax": ("Softmax", [1536, 197], [], {"axis": -1}),
    "layernorm": ("LayerNormalization", [197, 768], [[768], [768]], {"axis": -1}),
    "maxpool": ("MaxPool", [1, 64, 112, 112], [], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
    "batch_matmul": ("MatMul", [12, 197, 64], None, {}),
}


def make(name, path):
    op, shape, constants, attributes = TASKS[name]
    rng = np.random.default_rng(0)
    shapes = {"x": shape}
    if constants is None:
        shapes["z"] = shape[:-2] + [shape[-1], shape[-2]]
    weights = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), f"w{i}") for i, s in enumerate(constants or [])]
    node = helper.make_node(op, list(shapes) + [w.name for w in weights], ["y"], **attributes)
    graph = helper.make_graph([node], name, [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}


def hone_library(stem, tuned, args):
    """The library of STEM.onnx, and the seconds that making it took."""
    out = stem + ("_tuned" if tuned else "_default")
    command = [HONE, "tune", "--seconds", str(args.seconds), "--trials", str(args.trials)] if tuned else [HONE, "build"]
    kb = stem + ".kb"
    if os.path.exists(kb):
        os.remove(kb)
    start = time.perf_counter()
    subprocess.run(command + ["-q", "--no-fallback", "-o", out, stem + ".onnx"], check=True, env=dict(os.environ, HONE_KB=kb))
    return out + ".so", time.perf_counter() - start


def bind_hone(library, x):
    model = Model(library)
    ins, outs = [t.empty() for t in model.inputs], [t.empty() for t in model.outputs]
    for t, a in zip(model.inputs, ins):
        a[...] = x[t.name.decode()]
    call = model.bind(ins, outs)
    call()
    return call, outs[0].copy(), (model, ins, outs)


def deadline(ms, seconds, over):
    """A callback that ends a tuning after so long, with an exception; the list over says that it was this one."""
    from tvm.ir.utils import derived_object
    end = time.monotonic() + seconds

    @derived_object
    class Deadline(ms.measure_callback.PyMeasureCallback):
        def apply(self, *_):
            if time.monotonic() >= end:
                over.append(True)
                raise RuntimeError("the seconds of this tuning are over")
    return Deadline()


def only_x86():
    """Other machines' intrinsics stay away: TVM parses all of them in each worker, for longer than a worker has for its work."""
    import inspect
    import sys
    import types
    if isinstance(inspect.stack, types.FunctionType):
        whole = inspect.stack
        inspect.stack = type("Stack", (), {"__call__": lambda self, context=0: whole(0)})()  # without source lines, which nobody reads
    for machine in ("cuda", "arm_cpu", "rocm", "hexagon", "riscv_cpu"):
        name = "tvm.s_tir.tensor_intrin." + machine
        sys.modules.setdefault(name, types.ModuleType(name))


def without_rfactor(ms):
    """TVM's space for LLVM without the rule that splits reductions, on which TVM 0.27 fails for sums of pairs, as group norm has."""
    rules = [r for r in ms.ScheduleRule.create("llvm") if "RFactor" not in type(r).__name__]
    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=ms.Postproc.create("llvm"), mutator_probs=ms.Mutator.create("llvm"))


def tune_tvm(ms, mod, target, work, args, space="post-order-apply"):
    """Leaves records of the module's functions in the folder work; its answer says which space was searched."""
    over = []
    callbacks = list(ms.MeasureCallback.create("default")) + [deadline(ms, args.seconds, over)]
    try:
        ms.relax_integration.tune_relax(
            mod, {}, target, work, max_trials_global=args.trials, num_trials_per_iter=min(16, args.trials), seed=args.seed, space=space,
            builder=ms.builder.LocalBuilder(max_workers=1, timeout_sec=10, initializer=only_x86),
            cost_model=ms.CostModel.create("xgb", num_tuning_cores=1), measure_callbacks=callbacks)
    except Exception as e:  # comes back through C as another one
        if "initial_indices_orig" in str(e) and space == "post-order-apply":
            tune_tvm(ms, mod, target, work, args, without_rfactor(ms))
            return " (no rfactor)"
        if not over:
            raise
    return ""


def bind_tvm(path, x, target, work, args):
    """A function that runs what MetaSchedule found for the model, what it computes, the seconds and trials of the tuning, in words."""
    import tvm
    from tvm import relax
    from tvm.relax import transform
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.s_tir import meta_schedule as ms
    mod, params = relax.frontend.detach_params(from_onnx(onnx.load(path), keep_params_in_input=True))
    only_x86()
    import tvm.s_tir.tensor_intrin  # noqa: F401
    start = time.perf_counter()
    with target:
        mod = tvm.transform.Sequential([
            transform.DecomposeOpsForInference(), transform.CanonicalizeBindings(), relax.get_pipeline("zero"),
            transform.AttachAttrLayoutFreeBuffers()])(mod)
        note = tune_tvm(ms, mod, target, work, args)
        mod = tvm.transform.Sequential([
            transform.MetaScheduleApplyDatabase(work), transform.SplitLayoutRewritePreproc(), transform.LiftTransformParams(),
            transform.FoldConstant()])(mod)
    seconds = time.perf_counter() - start
    with open(os.path.join(work, "database_tuning_record.json")) as f:
        trials = sum(1 for _ in f)
    vm = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    weights = params.get("main", [])
    if weights:
        weights = vm["main_transform_params"](weights)
    run, values = vm["main"], [tvm.runtime.tensor(a) for a in x.values()] + list(weights)

    def call():
        return run(*values)
    return call, call().numpy(), seconds, f"{trials:7}{note}"


def task(name, out, target, args):
    """Prints the task's row; the ratios of default and tuned to TVM, None where numbers are wrong."""
    stem = os.path.join(out, name)
    x = make(name, stem + ".onnx")
    want = ort.InferenceSession(stem + ".onnx", providers=["CPUExecutionProvider"]).run(None, x)[0]
    libraries, calls, results, keep = {}, {}, {}, []
    for kind in ("default", "tuned"):
        libraries[kind], took = hone_library(stem, kind == "tuned", args)
        calls[kind], results[kind], kept = bind_hone(libraries[kind], x)
        keep.append(kept)
    shutil.rmtree(stem + "_tvm", ignore_errors=True)
    calls["TVM"], results["TVM"], seconds, trials = bind_tvm(stem + ".onnx", x, target, stem + "_tvm", args)
    for kind, y in results.items():
        if not peers.difference(y, want) <= 1e-4:
            print(f"{name:14}{kind}: WRONG, max|y-r|/max|r| {peers.difference(y, want):.2g}", flush=True)
            return None
    times = peers.in_turns(calls, args.rounds)
    ratios = [times["default"] / times["TVM"], times["tuned"] / times["TVM"], times["tuned"] / times["default"]]
    print(f"{name:14}" + "".join(f"{np.median(times[kind]) * 1e6:10.1f}" for kind in calls)
          + "".join(f"{np.median(r):9.3f} {spread(r):4.1%}" for r in ratios) + f"{took:8.0f}{seconds:8.0f}{trials}", flush=True)
    return [float(np.median(r)) for r in ratios]


def spread(r):
    low, high = np.percentile(r, [25, 75])
    return (high - low) / 2 / np.median(r)


def summary(what, ratios, bound):
    r = np.array(ratios)
    print(f"{what}: {(r <= bound).sum()} of {len(r)} at most {bound}, geometric mean {np.exp(np.log(r).mean()):.3f}, worst {r.max():.3f}")


def report(args, out):
    import logging
    import tvm
    import tvm_ffi
    from tvm.target import codegen
    logging.disable(logging.WARNING)
    mcpu = args.mcpu or codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu, "num-cores": 1})
    print(f"{peers.cpu()}, -mcpu={mcpu}; TVM {tvm.__version__}, tvm-ffi {tvm_ffi.__version__}, LLVM {codegen.llvm_version_major()}, "
          f"ONNX Runtime {ort.__version__}; one thread, at most {args.seconds:g} s and {args.trials} trials a task and tuner, weights warm, "
          f"{args.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print(f"{'':14}{'default':>10}{'tuned':>10}{'TVM':>10} us {'default/TVM':>12}{'tuned/TVM':>14}{'tuned/default':>15}"
          f"{'hone s':>7}{'TVM s':>8}{'trials':>7}", flush=True)
    rows = [task(name, out, target, args) for name in args.tasks]
    good = [r for r in rows if r]
    if good:
        for what, bound, r in zip(("default / TVM", "tuned / TVM", "tuned / default"), (1.05, 1.02, 1.01), zip(*good)):
            summary(what, r, bound)
    return 0 if len(good) == len(rows) else 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tasks", default=",".join(TASKS), help="names, with commas between: " + ", ".join(TASKS))
    p.add_argument("--seconds", type=float, default=60, help="of each tuner for a task (60)")
    p.add_argument("--trials", type=int, default=1000, help="of each tuner for a task (1000)")
    p.add_argument("--rounds", type=int, default=15, help="of timing (15)")
    p.add_argument("--mcpu", help="LLVM's name of this CPU; without, what LLVM takes it for")
    p.add_argument("--seed", type=int, default=0, help="of MetaSchedule's search (0)")
    p.add_argument("-o", metavar="DIR", help="keep models, libraries and records in this folder")
    args = p.parse_args()
    args.tasks = args.tasks.split(",")
    unknown = [t for t in args.tasks if t not in TASKS]
    if unknown:
        sys.exit(f"metaschedule.py: no task {unknown[0]}; there are {', '.join(TASKS)}")
    if args.o:
        os.makedirs(args.o, exist_ok=True)
        return report(args, args.o)
    with tempfile.TemporaryDirectory() as out:
        return report(args, out)


if __name__ == "__main__":
    sys.exit(main())
