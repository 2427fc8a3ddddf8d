"""Random models with states: models.py FIRST COUNT FOLDER writes N.txt, a graph as text, and N.how: options that say which states there are,
and gears. States are changed by scatters, recurrences and joins, some in branches; what reads the old or the new one stands anywhere."""

import random
import sys


class Model:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.batch = self.r.choice(["1", "2", "batch", "batch"])
        self.inputs, self.nodes, self.outputs, self.aliases, self.graphs = ["x: f32[%s,1,4]" % self.batch], [], [], [], []
        self.old, self.new = [], []  # values of rank 3 that readers may take
        self.count = 0

    def name(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def node(self, text, *uses, result=None):
        v = result or self.name("v")
        self.nodes.append(("%s = %s" % (v, text), set(uses), {v}))
        return v

    def state(self, name, kind, shape, out):
        self.inputs.append("%s: %s[%s]" % (name, kind, shape))
        self.outputs.append((name + "_next", out))
        self.aliases.append("%s=%s_next" % (name, name))

    def branch(self, text, takes, other):
        """The node in a branch; the other one gives its first operand, or the same by another node."""
        g = self.name("g")
        types = ["  input %s: %s" % (n, t) for n, t in takes]
        for suffix, body in (("a", text), ("b", other)):
            lines = ["graph %s%s {" % (g, suffix), *types]
            if body:
                lines += ["  d = " + body, "  output d = d"]
            else:
                lines += ["  output d = " + takes[0][0]]
            self.graphs.append("\n".join(lines + ["}"]))
        v = self.name("v")
        names = ", ".join(n for n, _ in takes)
        s = self.node("ReduceSum(x) {keepdims=0}", "x")
        b = self.node("%s(%s, @none)" % (self.r.choice(["Greater", "Less"]), s), s)
        self.nodes.append(("%s = If(%s, %s) {then_branch=graph %sa else_branch=graph %sb captures=%d}" % (v, b, names, g, g, len(takes)),
                           {b, *(n for n, _ in takes)}, {v}))
        return v

    def changed(self, text, takes, other):
        if self.r.random() < 0.4:
            return self.branch(text, takes, self.r.choice([None, other]))
        return self.node(text, *(n for n, _ in takes))

    def ring(self):
        c, p = self.name("c"), self.name("p")
        rows = self.r.choice([3, 8, 50])
        takes = [(c, "f32[%s,%d,4]" % (self.batch, rows)), ("x", "f32[%s,1,4]" % self.batch), (p, "i64[%s]" % self.batch)]
        text = 'TensorScatter(%s, x, %s) {axis=1 mode="circular"}' % (c, p)
        if self.r.random() < 0.3:  # through views
            a, b = (self.node("Unsqueeze(%s, @last)" % v, v) for v in (c, "x"))
            d = self.node(text.replace("%s, x" % c, "%s, %s" % (a, b)), a, b, p)
            d = self.node("Squeeze(%s, @last)" % d, d)
        else:
            d = self.changed(text, takes, "Neg(%s)" % c)
        self.state(c, "f32", "%s,%d,4" % (self.batch, rows), d)
        self.state(p, "i64", self.batch, self.node("Add(%s, @one)" % p, p))
        self.old.append(c)
        self.new.append(d)

    def single(self):
        e = self.name("e")
        m = self.node("ReduceMean(x) {keepdims=0}", "x")
        op = self.r.choice(["ScatterND", "ScatterElements"])
        at, with_ = ("@place", self.node("Expand(%s, @wide)" % m, m)) if op == "ScatterND" else ("@places", self.node("Reshape(%s, @row)" % m, m))
        shape = "f32[1,5,4]"
        takes = [(e, shape), (with_, "f32[1,4]" if op == "ScatterND" else "f32[1,1,1]")]
        attrs = "" if op == "ScatterND" else " {axis=1}"
        d = self.changed("%s(%s, %s, %s)%s" % (op, e, at, with_, attrs), takes, "Abs(%s)" % e)
        self.state(e, "f32", "1,5,4", d)
        self.old.append(e)
        self.new.append(d)

    def recurrent(self):
        h = self.name("h")
        m = self.node("MatMul(%s, @w)" % h, h)
        a = self.node("Add(%s, x)" % m, m, "x")
        n = self.node("Tanh(%s)" % a, a)
        self.state(h, "f32", "%s,1,4" % self.batch, n)
        self.old.append(h)
        self.new.append(n)

    def growing(self):
        t = self.name("t")
        n = self.node("Concat(%s, x) {axis=1}" % t, t, "x")
        self.state(t, "f32", "%s,past,4" % self.batch, n)
        self.new.append(n)

    def swapped(self):
        a, b = self.name("a"), self.name("b")
        for v in (a, b):
            self.inputs.append("%s: f32[%s,1,4]" % (v, self.batch))
        sum_ = self.node("Add(%s, x)" % a, a, "x")
        self.outputs += [(a + "_next", b), (b + "_next", sum_)]
        self.aliases += ["%s=%s_next" % (a, a), "%s=%s_next" % (b, b)]

    def reduced(self, kinds):
        v = self.r.choice(self.old + self.new)
        return self.node("%s(%s, @axes)" % (self.r.choice(kinds), v), v)

    def reader(self):
        m = self.reduced(["ReduceMax", "ReduceMean", "ReduceMin"])
        if self.r.random() < 0.3:
            n = self.reduced(["ReduceSum"])
            m = self.node("Add(%s, %s)" % (m, n), m, n)
        self.outputs.append((self.name("y"), m))

    def order(self):
        """In any order in which each stands behind what it needs."""
        left, there, out = list(self.nodes), {i.split(":")[0] for i in self.inputs}, []
        while left:
            ready = [n for n in left if n[1] <= there]
            n = self.r.choice(ready)
            left.remove(n)
            there |= n[2]
            out.append("  " + n[0])
        return out

    def text(self):
        consts = ["const w = f32[4,4] [1, 0.1, 0.2, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0.1, 0, 0.3, 0, 0.5]", "const axes = i64[2] [1, 2]",
                  "const one = i64[1] [1]", "const none = f32[] [0]", "const last = i64[1] [3]", "const row = i64[3] [1, 1, 1]", "const wide = i64[2] [1, 4]",
                  "const place = i64[1,2] [0, %d]" % self.r.randrange(5), "const places = i64[1,1,1] [%d]" % self.r.randrange(5)]
        symbols = ["symbol batch 1 inf"] * (self.batch == "batch") + ["symbol past 0 inf"] * any("past" in i for i in self.inputs)
        lines = ["hone-text 1", "module ir=8 opset=28", *symbols, *consts, *self.graphs, "graph main {"]
        lines += ["  input " + i for i in self.inputs] + self.order() + ["  output %s = %s" % o for o in self.outputs] + ["}"]
        return "\n".join(lines) + "\n"


def main(first, count, folder):
    for seed in range(int(first), int(first) + int(count)):
        m = Model(seed)
        kinds = [m.ring, m.ring, m.single, m.recurrent, m.swapped] + [m.growing] * (m.r.random() < 0.3)
        for _ in range(m.r.randint(1, 3)):
            m.r.choice(kinds)()
        for _ in range(m.r.randint(1, 3)):
            if m.old or m.new:
                m.reader()
        if not m.outputs or not m.aliases:
            m.ring()
        if m.old and m.r.random() < 0.15:
            m.outputs.append((m.name("same"), m.r.choice(m.old)))
        if m.new and m.r.random() < 0.15:
            m.outputs.append((m.name("again"), m.r.choice(m.new)))
        gears = m.batch == "batch" and not any("past" in i for i in m.inputs) and m.r.choice(["", "", "1,4", "1,4,open", "2,3"])
        with open("%s/%d.txt" % (folder, seed), "w") as f:
            f.write(m.text())
        with open("%s/%d.how" % (folder, seed), "w") as f:
            f.write("gears='%s'\nsizes='%s'\naliases='%s'\n" % (gears or "", "1 4" if gears == "1,4" else "2 3" if gears == "2,3" else "1 3",
                                                                 " ".join("--alias=" + a for a in m.aliases)))


if __name__ == "__main__":
    main(*sys.argv[1:])
