#!/usr/bin/env python3
"""Gears against static builds and against powers of two.

  bench/gears.py build MODEL.onnx DIRECTORY SIZES...   one library with gears, and a static library for each of them: bytes of weights,
                                                       arena, time of a run of each size (least of turns)
  bench/gears.py histograms MODEL.onnx DIRECTORY       gears of five histograms of batches against powers of two, as many of them: expected
                                                       time, by the cost model and by runs of a library that has all those gears

SIZES are those of a gear, "batch=4" or "h=320,w=320"; other symbols: --set NAME=SIZE behind the first word. --batch makes axis 0 of all inputs
and outputs the symbol batch. SECONDS in the environment: of each turn (0.3). To be run alone on a core (taskset)."""
import json
import math
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ["PATH"] = os.path.join(TOP, "bin") + ":" + os.environ["PATH"]
TURNS, SECONDS = 5, float(os.environ.get("SECONDS", 0.3))


def run(*args, **more):
    return subprocess.run(args, check=True, text=True, capture_output=True, **more)


def with_batch(model, path):
    import onnx

    m = onnx.load(model)
    for v in list(m.graph.input) + list(m.graph.output):
        v.type.tensor_type.shape.dim[0].dim_param = "batch"
    del m.graph.value_info[:]
    onnx.save(m, path)
    return path


def arena(stem):
    folder = stem + ".d"
    plan = next(f for f in sorted(os.listdir(folder)) if f.endswith("-plan.g"))
    text = run("ge-dump", os.path.join(folder, plan)).stdout
    return int(next(line for line in text.splitlines() if line.startswith('meta "plan.bytes"')).split('"')[3])


def least(library, sets):
    args = ["--set=" + s for s in sets]
    return json.loads(run("run-dev", "--bench", "--json", "--seconds", str(SECONDS), *args, library).stdout)["min"]


def gears_option(sizes):
    names = [[p.split("=")[0] for p in s.split(",")] for s in sizes]
    return "--gears=" + ":".join(names[0]) + "=" + ",".join(":".join(p.split("=")[1] for p in s.split(",")) for s in sizes)


def build(model, folder, sizes, fixed):
    stems = {s: os.path.join(folder, "static-%d" % i) for i, s in enumerate(sizes)}
    geared = os.path.join(folder, "geared")
    if not os.path.exists(geared + ".so"):
        run("hone", "build", "-q", *fixed, gears_option(sizes), "-o", geared, model)
    for s in sizes:
        if not os.path.exists(stems[s] + ".so"):
            run("hone", "build", "-q", *fixed, "--set=" + s, "-o", stems[s], model)
    weights = {s: os.path.getsize(stems[s] + ".weights") for s in sizes}
    arenas = {s: arena(stems[s]) for s in sizes}
    print("weights: %d bytes, %.3f of the largest alone" % (os.path.getsize(geared + ".weights"), os.path.getsize(geared + ".weights") / max(weights.values())))
    print("arena: %d bytes, %.4f of the largest alone" % (arena(geared), arena(geared) / max(arenas.values())))
    for s in sizes:
        a, b = [], []
        for _ in range(TURNS):
            a.append(least(geared + ".so", [s]))
            b.append(least(stems[s] + ".so", []))
        print("%s: %.4g ms, static %.4g ms, %.3f" % (s, 1e3 * min(a), 1e3 * min(b), min(a) / min(b)))


def histograms():
    return {
        "uniform, 1 to 16": {n: 1 for n in range(1, 17)},
        "geometric, mean 3": {n: 1e4 * (2 / 3) ** (n - 1) / 3 for n in range(1, 17)},
        "Poisson, mean 6": {n: 1e4 * math.exp(-6) * 6**n / math.factorial(n) for n in range(1, 17)},
        "two peaks, 1 and 11": {1: 500, 10: 100, 11: 300, 12: 100},
        "a queue that fills up to 12": {n: 10 if n < 12 else 200 for n in range(1, 13)},
    }


PASSES = "ge-fold ge-simplify ge-deadedge ge-fold ge-simplify ge-prune ge-integer ge-fuse ge-layout".split()


def model_times(model, most):
    """Seconds by the cost model, of each batch."""
    times = {}
    for n in range(1, most + 1):
        out = run("sh", "-c", 'ge-import -q "$1" | ge-shape -q --set "batch=$2" | ' + " | ".join(p + " -q" for p in PASSES) + " | ge-gears --time -o /dev/null",
                  "sh", model, str(n))
        times[n] = float(out.stderr.split(":")[-1].split()[0])
    return times


def write_table(path, table):
    with open(path, "w") as f:
        f.writelines("batch=%d %.9g\n" % line for line in table.items())


def chosen(graph, counts, folder, k):
    write_table(os.path.join(folder, "counts"), counts)
    err = run("ge-gears", "--histogram", os.path.join(folder, "counts"), "-k", str(k), "--times", os.path.join(folder, "times"), graph, "-o", "/dev/null").stderr
    return [int(line.split("batch=")[1].split(":")[0]) for line in err.splitlines() if "batch=" in line]


def expected(counts, gears, time):
    return sum(c * time[min(g for g in gears if g >= n)] for n, c in counts.items()) / sum(counts.values())


def compare(model, folder):
    times = model_times(model, 16)
    write_table(os.path.join(folder, "times"), times)
    graph = os.path.join(folder, "model.g")
    run("hone", "passes", "-q", "--until", "prune", "-o", graph, model)
    rows = []
    for name, counts in histograms().items():
        powers = [2**i for i in range(math.ceil(math.log2(max(counts))) + 1)]
        rows.append((name, counts, powers, chosen(graph, counts, folder, len(powers))))
    union = sorted({g for r in rows for g in r[2] + r[3]})
    stem = os.path.join(folder, "all")
    if not os.path.exists(stem + ".so"):
        run("hone", "build", "-q", "--gears=batch=" + ",".join(map(str, union)), "-o", stem, model)
    real = {g: min(least(stem + ".so", ["batch=%d" % g]) for _ in range(3)) for g in union}
    ratios = [[], []]
    for name, counts, powers, gears in rows:
        both = [expected(counts, gears, t) / expected(counts, powers, t) for t in (times, real)]
        ratios[0].append(both[0])
        ratios[1].append(both[1])
        print("%s: gears %s against %s: %.3f by the cost model, %.3f measured" % (name, gears, powers, *both))
    print("geometric means: %.3f, %.3f" % tuple(math.exp(sum(map(math.log, r)) / len(r)) for r in ratios))


def main(args):
    fixed = []
    batch = "--batch" in args
    args = [a for a in args if a != "--batch"]
    while len(args) > 1 and args[1] == "--set":
        fixed.append("--set=" + args[2])
        del args[1:3]
    what, model, folder = args[:3]
    os.makedirs(folder, exist_ok=True)
    if batch:
        model = with_batch(model, os.path.join(folder, "model.onnx"))
    if what == "build":
        build(model, folder, args[3:], fixed)
    else:
        compare(model, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
