"""Cases judged many at a time: their graphs beside each other in one model, where a start of each program costs more than what it does for
one of them (an emulator's)."""

import collections
import os
import tempfile

import onnx

import judge
from cases import Case

def rename(g, name):
    """All names of a graph and of those in it. An operand that is not there has none."""
    for node in g.node:
        node.name = name(node.name)
        for names in (node.input, node.output):
            names[:] = [name(x) for x in names]
        for a in node.attribute:
            for inner in [a.g] * a.HasField("g") + list(a.graphs):
                rename(inner, name)
    for x in list(g.input) + list(g.output) + list(g.value_info):
        x.name = name(x.name)
        rename_sizes(x.type, name)
    for x in g.initializer:
        x.name = name(x.name)
    for x in g.sparse_initializer:
        x.values.name = name(x.values.name)


def rename_sizes(type, name):
    kind = type.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        for d in getattr(type, kind).shape.dim:
            if d.HasField("dim_param"):
                d.dim_param = name(d.dim_param)
    elif kind in ("sequence_type", "optional_type"):
        rename_sizes(getattr(type, kind).elem_type, name)
    elif kind == "map_type":
        rename_sizes(type.map_type.value_type, name)


def kind(case):
    """Cases of one kind may be beside each other: the same versions, the same judges. None: it is judged alone."""
    model = case.model()
    made = {x.name for x in model.graph.initializer}
    free = [v for v in model.graph.input if v.name not in made]
    sets = case.sets()
    if model.functions or case.doubt or case.options or len(sets) != 1 or len(sets[0][0]) != len(free) or len(sets[0][1]) != len(model.graph.output):
        return None
    with tempfile.TemporaryDirectory(prefix="case.") as dir:
        run = judge.Run(case, dir)
        judges = [x == "good" for x in judge.in_child(lambda: judge.peers(run, run.path)).split("\n")]
    return repr((model.ir_version, sorted((o.domain, o.version) for o in model.opset_import), judges, run.random))


def beside(cases):
    """One case of many."""

    def model():
        all = None
        for k, c in enumerate(cases):
            m = onnx.ModelProto()
            m.CopyFrom(c.model())
            made = {x.name for x in m.graph.initializer}
            free = [v for v in m.graph.input if v.name not in made]
            del m.graph.input[:]
            m.graph.input.extend(free)
            del m.graph.quantization_annotation[:]
            rename(m.graph, lambda x: x and "c%d_%s" % (k, x))
            if all is None:
                all = m
            else:
                all.graph.MergeFrom(m.graph)
        all.graph.name = "together"
        return all

    def sets():
        each = [c.sets()[0] for c in cases]
        return [([x for i, _ in each for x in i], [x for _, o in each for x in o])]

    return Case("together", "together", model, sets, min(c.rtol for c in cases), min(c.atol for c in cases))


def groups(kinds, todo, most):
    """Lists of indices of cases: of one kind, at most so many."""
    by_kind = collections.OrderedDict()
    for k in todo:
        by_kind.setdefault(kinds.get(k) or k, []).append(k)
    for same in by_kind.values():
        n = -(-len(same) // max(most, 1))
        yield from (same[i::n] for i in range(n))


def all_equal(columns):
    return all(x["verdict"] == "equal" or (c == "exported" and x["verdict"] == "none") for c, x in columns.items())
