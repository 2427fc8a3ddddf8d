#!/usr/bin/env python3
"""mca.py [--target NAME] [--cpu CPU]... [--min SHARE] [LIBRARY.so...]: how near the innermost loops of AArch64 libraries come to the rate of
the CPU's units, as llvm-mca counts it, where there is no such machine to time them on. Without a library: those that hone builds of a matrix
product, convolutions of 3x3 and 1x1, depthwise ones (channels last, too: alone, and with a bias and ReLU), and products of bytes.

A line a loop that multiplies and adds: library, kernel, CPU, multiply-adds of how many instructions, cycles a turn, share of the rate at which
the CPU does such instructions alone, and share of the cycles that its busiest unit works: a store, or what follows a sum, takes units that
multiply, too. Loads are counted as found in the first-level cache. With --min, 1 is the exit status where the best loop of a library is below
that share of the rate. Environment: LLVM_MCA names llvm-mca (default: the newest there is), HONE_CROSS the binutils."""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ADDS = ("fmla", "fmul", "sdot", "udot", "usdot", "sudot", "bfdot", "smmla", "usmmla", "bfmmla", "smlal", "smlal2")
LEAST = 6  # instructions that multiply: shorter loops are none of a tile
TURNS = 200
SUMS = 24  # registers of the loop that shows a rate: more than latency times units


def layers():
    """Name, inputs, constants and node of each layer, as text of a graph."""
    def numbers(n, lo, hi):
        return ", ".join("%d" % random.randint(lo, hi) if isinstance(lo, int) else "%.4f" % random.uniform(lo, hi) for _ in range(n))

    def conv(x, w, attributes):
        count = w[0] * w[1] * w[2] * w[3]
        return "f32[%s]" % ",".join(map(str, x)), "const w = f32[%s] [%s]" % (",".join(map(str, w)), numbers(count, -1.0, 1.0)), "Conv(x, @w)" + attributes

    random.seed(1)
    yield "gemm", "f32[128,256]", "const w = f32[256,256] [%s]" % numbers(256 * 256, -1.0, 1.0), "MatMul(x, @w)"
    yield "conv3x3", *conv((1, 32, 28, 28), (64, 32, 3, 3), " {pads=[1,1,1,1]}")
    yield "conv1x1", *conv((1, 64, 28, 28), (128, 64, 1, 1), "")
    _, weights, node = conv((1, 64, 28, 28), (64, 1, 3, 3), " {pads=[1,1,1,1] group=64}")
    yield "depthwise", "f32[1,64,28,28]", weights, node
    last = "Transpose(x) {perm=[0,3,1,2]}\n  c = %s\n  %s\n  y = Transpose(%s) {perm=[0,2,3,1]}"
    conv_a, bias = node.replace("(x", "(a"), "const b = f32[64] [%s]" % numbers(64, -1.0, 1.0)
    yield "dw-last", "f32[1,28,28,64]", weights, "  a = " + last % (conv_a, "", "c")
    yield "dw-relu", "f32[1,28,28,64]", weights + "\n" + bias, "  a = " + last % (conv_a.replace("@w", "@w, @b"), "r = Relu(c)", "r")
    yield "int8", "u8[128,256]", "const w = i8[256,256] [%s]" % numbers(256 * 256, -127, 127), "MatMulInteger(x, @w)"
    codes = "const w = i8[64,32,3,3] [%s]" % numbers(64 * 32 * 9, -127, 127)
    yield "int8-3x3", "u8[1,32,28,28]", codes, "ConvInteger(x, @w) {pads=[1,1,1,1]}"


def build(target, folder):
    tools = os.path.join(TOP, "bin")
    env = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], HONE_BLOBS=os.path.join(folder, "blobs"), HONE_KB=os.path.join(folder, "kb"))
    for name, x, constant, node in layers():
        text = "hone-text 1\nmodule ir=8 opset=17\n%s\ngraph main {\n  input x: %s\n  %s\n  output y = y\n}\n" % (constant, x, node if " y = " in node else "y = " + node)
        graph, stem = os.path.join(folder, name + ".g"), os.path.join(folder, name)
        subprocess.run(["ge-load", "-o", graph], input=text, text=True, check=True, env=env)
        subprocess.run(["hone", "build", "--quiet", graph, "--target", target, "-o", stem], check=True, env=env)
        yield stem + ".so"


def find_mca():
    """The newest: older ones take new CPUs for older ones."""
    named = os.environ.get("LLVM_MCA")
    found = [named] if named else ["llvm-mca-%d" % v for v in range(40, 14, -1)] + ["llvm-mca"]
    for name in found:
        if shutil.which(name):
            return name
    sys.exit("mca.py: no %s here: Debian's llvm-19 has one; LLVM_MCA names another" % (named or "llvm-mca"))


def innermost(path):
    """(kernel, instructions) of each loop of the library that has no loop within."""
    cross = os.environ.get("HONE_CROSS", "aarch64-linux-gnu-")
    try:
        said = subprocess.run([cross + "objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True)
    except OSError as e:
        sys.exit("mca.py: %sobjdump: %s; HONE_CROSS names others" % (cross, e.strerror))
    if said.returncode or "aarch64" not in said.stdout:
        sys.exit("mca.py: %s: no library for AArch64" % path)
    code, kernel = [], "?"
    for line in said.stdout.splitlines():
        start, found = re.match(r"[0-9a-f]+ <(.*)>:$", line), re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)$", line)
        if start:
            kernel = start[1]
        if found:
            code.append((int(found[1], 16), found[2], re.sub(r"\s*//.*", "", found[3]), kernel))
    at = {c[0]: i for i, c in enumerate(code)}
    loops = []
    for i, (here, name, operands, _) in enumerate(code):
        to = re.match(r"(?:[wx]\d+, )?(?:#\d+, )?([0-9a-f]+) <", operands)
        if to and (name.startswith(("b.", "cb", "tb")) or name == "b") and at.get(int(to[1], 16), i + 1) <= i:
            loops.append((at[int(to[1], 16)], i))
    for first, last in loops:
        if not any(o != (first, last) and first <= o[0] and o[1] <= last for o in loops):
            yield code[first][3], [(c[1], c[2]) for c in code[first : last + 1]]


def cycles(mca, cpu, lines):
    """Cycles a turn, and those of them in which the busiest unit works."""
    said = subprocess.run([mca, "-mtriple=aarch64", "-mcpu=" + cpu, "-mattr=+dotprod,+fullfp16,+i8mm,+bf16,+sve", "-iterations=%d" % TURNS],
                          input="\n".join(lines) + "\n", capture_output=True, text=True)
    total = re.search(r"Total Cycles:\s+(\d+)", said.stdout)
    if not total:
        sys.exit("mca.py: %s -mcpu=%s: %s" % (mca, cpu, (said.stderr.strip() or "no answer").splitlines()[0]))
    units = re.search(r"Resource pressure per iteration:\n.*\n(.*)\n", said.stdout)[1].split()
    return int(total[1]) / TURNS, max([float(u) for u in units if u != "-"], default=0)


def alone(mca, cpu, name, operands, known):
    """Cycles of one such instruction beside others of its kind, whose sums are in other registers."""
    parts = re.match(r"([vz])\d+(\.\w+),\s*(p\d+/m,\s*)?[vz]\d+(\.\w+),\s*[vz]\d+(\.\w+)(\[\d+\])?$", operands)
    if not parts:
        return None
    key = (cpu, name) + parts.groups()
    if key not in known:
        kind, sums, mask, a, b, element = parts.groups()
        lines = ["%s %s%d%s, %s%s30%s, %s31%s%s" % (name, kind, i, sums, mask or "", kind, a, kind, b, element or "") for i in range(SUMS)]
        known[key] = cycles(mca, cpu, lines)[0] / SUMS
    return known[key]


def main():
    p = argparse.ArgumentParser(description=__doc__.split(":")[0])
    p.add_argument("--target", default="armv8.2-a", help="a name or a row: cpu=V1;arch=arm;features=dotprod,fp16;fma128=4;l1=64K;l2=1024K")
    p.add_argument("--cpu", action="append")
    p.add_argument("--min", type=float, default=0)
    p.add_argument("library", nargs="*")
    a = p.parse_args()
    mca, known, low = find_mca(), {}, False
    with tempfile.TemporaryDirectory() as folder:
        for path in a.library or build(a.target, folder):
            loops = list(innermost(path))
            for cpu in a.cpu or ["neoverse-n1", "neoverse-v1"]:
                best = 0
                for kernel, code in loops:
                    rates = [alone(mca, cpu, n, o, known) for n, o in code if n in ADDS]
                    if len(rates) < LEAST or None in rates:
                        continue
                    body = ["%s %s" % c for c in code[:-1] if "<" not in c[1]] + ["subs x9, x9, #1"]  # branches cost what a count does
                    took, works = cycles(mca, cpu, body)
                    best = max(best, sum(rates) / took)
                    print("%-12s %-8s %-12s %3d of %3d %8.2f cycles  %.3f of the units' rate, busiest unit %.3f" %
                          (os.path.basename(path)[:-3], kernel, cpu, len(rates), len(code), took, sum(rates) / took, works / took))
                low |= best < a.min
    sys.exit(low)


if __name__ == "__main__":
    main()
