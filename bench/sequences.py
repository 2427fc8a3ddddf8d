#!/usr/bin/env python3
"""Sequences and the loops that carry them, against ONNX Runtime.

Each case is a small model in ONNX's text form. It is built by `hone build --no-fallback`, compared with ONNX Runtime, and timed against it:
one thread of one core, in turns, processor time, medians."""

import argparse
import os
import subprocess

import numpy as np
import onnx
from onnx import parser

import peers
from native import Model

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 30
LOOP = 't = Constant<value_int = %d>() c = Constant<value = bool {1}>()'
CASES = {
    "a step reads the last element and appends one, 10 times": f"""{LOOP % 10} s = SequenceConstruct(x)
        l = Loop(t, c, s) <body = b (int64 i, bool go, seq(float[a,64]) q) => (bool more, seq(float[a,64]) r) {{
            z = Constant<value_int = -1>() more = Identity(go) e = SequenceAt(q, z) f = Tanh(e) r = SequenceInsert(q, f) }}>
        y = ConcatFromSequence<axis=0>(l)""",
    "a step appends its operand, 300 times": f"""{LOOP % 300} s = SequenceEmpty()
        l = Loop(t, c, s) <body = b (int64 i, bool go, seq(float[n,64]) q) => (bool more, seq(float[n,64]) r) {{
            more = Identity(go) r = SequenceInsert(q, x) }}>
        y = ConcatFromSequence<axis=0>(l)""",
    "rows apart, SequenceMap, together": """s = SplitToSequence<axis=0>(x)
        l = SequenceMap(s) <body = b (float[1,64] q) => (float[1,64] r) { f = Mul(q, q) r = Tanh(f) }>
        y = ConcatFromSequence<axis=0>(l)""",
    "rows apart, erase, insert, together": """z = Constant<value_int = 0>() s = SplitToSequence<axis=0>(x) e = SequenceErase(s, z)
        f = SequenceAt(s, z) h = SequenceInsert(e, f) y = ConcatFromSequence<axis=0>(h)""",
    "a branch that gives a sequence": """z = Constant<value_int = 0>() k = Constant<value_float = 0.0>() s = SplitToSequence<axis=0>(x)
        u = ReduceSum<keepdims=0>(x) g = Greater(u, k)
        l = If(g) <then_branch = a () => (seq(float[1,64]) p) { p = SequenceErase(s, z) },
                   else_branch = b () => (seq(float[1,64]) q) { q = Identity(s) }>
        y = ConcatFromSequence<axis=0>(l)""",
}


def bind(stem, text, build):
    m = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g (float[n,64] x) => (float[m,64] y) {{ {text} }}')
    onnx.save(m, stem + ".onnx")
    if build:
        subprocess.run([os.path.join(HERE, "..", "bin", "hone"), "build", "-q", "--no-fallback", "-o", stem, stem + ".onnx"], check=True)
    x = np.random.default_rng(0).standard_normal((ROWS, 64)).astype(np.float32)
    ours, made = Model(stem + ".so").bind_values([x])
    peer = peers.session(stem + ".onnx")

    def theirs():
        return peer.run(None, {"x": x})
    ours()
    np.testing.assert_allclose(made()[0], theirs()[0], rtol=1e-4, atol=1e-5)
    return ours, theirs


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="only cases with one of these in their names")
    p.add_argument("-o", "--out", default=os.path.join(HERE, "..", "build", "sequences"))
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--no-build", action="store_true", help="time what was built before")
    p.add_argument("--build-only", action="store_true", help="build and compare, do not time")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    for k, (name, text) in enumerate(CASES.items()):
        if a.names and not any(n in name for n in a.names):
            continue
        ours, theirs = bind(os.path.join(a.out, "case%d" % k), text, not a.no_build)
        if a.build_only:
            continue
        t = np.array([[peers.measure(f) for f in (ours, theirs)] for _ in range(a.rounds)])
        ms = np.median(t, axis=0) * 1e3
        print(f"{np.median(t[:, 0] / t[:, 1]):6.2f} {ms[0]:9.4f} {ms[1]:9.4f} ms  {name}", flush=True)


if __name__ == "__main__":
    main()
