"""open_runs.py LIB.so NAME...: runs a compiled model in one process on NAME.npz of each name in turn, then once more; what comes goes to
NAME.out.npz, what it refuses to NAME.said. 1: the second time something else comes."""

import os
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from native import Model


def once(model, feeds):
    """The outputs, or why there are none."""
    x = [np.ascontiguousarray(feeds[i.name.decode()]) for i in model.inputs]
    if not model.table.run_values and any(a.shape != tuple(i.shape[:i.rank]) for a, i in zip(x, model.inputs)):
        return "its sizes are known when it is built"
    call, copies = model.bind_values(x)
    try:
        call()
    except SystemExit as e:
        return str(e)
    return copies()


def equal(a, b):
    return a == b if isinstance(a, str) or isinstance(b, str) else all(p.shape == q.shape and p.tobytes() == q.tobytes() for p, q in zip(a, b))


model = Model(sys.argv[1])
names = sys.argv[2:]
feeds = {}
for name in names:
    with np.load(name + ".npz") as f:
        feeds[name] = dict(f)
got = {}
for name in names:
    got[name] = once(model, feeds[name])
    if isinstance(got[name], str):
        with open(name + ".said", "w") as f:
            f.write(got[name])
    else:
        np.savez(name + ".out.npz", **{o.name.decode(): y for o, y in zip(model.outputs, got[name])})
for name in names:
    if not equal(once(model, feeds[name]), got[name]):
        sys.exit("the second run at the sizes of %s gives something else" % name)
