#!/usr/bin/env python3
"""Data-parallel training in PyTorch (gloo) whose gradients are fused as a plan of tune-grad says.

  torch_plan.py profile -o grads.tsv                      when each gradient is ready: what tune-grad plan reads
  torch_plan.py calibrate -o curve.tsv                    how long PyTorch's own all-reduce takes: the curve to plan with
  torch_plan.py train   --grads grads.tsv --plan plan     trains with the plan, prints losses and the weights' digest;
                                                          --trace writes a timeline for tune-grad advise
  torch_plan.py compare --grads grads.tsv --plan plan     the same steps with DDP and with the plan, in turns:
                                                          are the weights equal, and how long is a step; in it, when the
                                                          slowest rank has its last gradient, and the wait behind that

calibrate, train and compare start RANKS processes here (-n), or are one rank of them where RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT are set, as torchrun does.

Planned is the part to take over into other scripts:

    planned = Planned(model, read_plan("grads.tsv", "plan", model))
    loss.backward(); planned.finish(); optimizer.step()
"""
import argparse
import hashlib
import math
import os
import socket
import statistics
import sys
import time

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # DDP's advice on find_unused_parameters
os.environ.setdefault("GLOG_minloglevel", "2")
try:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
except ImportError as e:
    print(f"torch_plan.py: {e}; Debian has it in python3-torch", file=sys.stderr)
    sys.exit(69)


def fail(what, code=65):
    print(f"torch_plan.py: {what}", file=sys.stderr)
    sys.exit(code)


def lines(path):
    try:
        with open(path) as f:
            return [(i + 1, line.rstrip("\n")) for i, line in enumerate(f) if line.strip() and not line.startswith("#")]
    except OSError as e:
        fail(f"{path}: {e.strerror}", 66)


def read_plan(grads, plan, model):
    """Segments as lists of parameter indices, in the order of the grads file, cut where the plan (form idx) says."""
    index = {name: i for i, (name, p) in enumerate(named(model))}
    order, segments, at = [], [], 0
    for number, line in lines(grads):
        name = line.split("\t")[0]
        if name not in index:
            fail(f"{grads}:{number}: {name}: the model has no such parameter")
        order.append(index.pop(name))
    if index:
        fail(f"{grads}: {next(iter(index))} is not in it, a parameter of the model")
    for number, line in lines(plan):
        if not line.isdigit() or not at <= int(line) < len(order):
            fail(f"{plan}:{number}: '{line[:40]}': expected the index of a tensor, from {at} to {len(order) - 1}")
        segments.append(order[at:int(line) + 1])
        at = int(line) + 1
    if at != len(order):
        fail(f"{plan}: ends with tensor {at - 1} of 0..{len(order) - 1}")
    return segments


def named(model):
    return [(n, p) for n, p in model.named_parameters() if p.requires_grad]


def on_gradient(parameter, f):
    """Calls f when the parameter's gradient of a backward pass is there. Returns what must be kept alive for it."""
    node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
    node.register_hook(lambda *_: f())
    return node


class Planned:
    """Averages gradients over all ranks, one asynchronous all-reduce a segment, started in order as they become ready."""

    def __init__(self, model, segments):
        parameters = [p for _, p in named(model)]
        self.world = dist.get_world_size()
        for p in parameters:
            dist.broadcast(p.data, 0)
        self.flat, self.parts, self.size, self.kept = [], [], [len(s) for s in segments], []
        for s, members in enumerate(segments):
            flat = torch.zeros(sum(parameters[i].numel() for i in members))
            parts, at = [], 0
            for i in members:
                p = parameters[i]
                view = flat[at:at + p.numel()].view_as(p)
                at += p.numel()
                parts.append((p, view))
                self.kept.append(on_gradient(p, lambda p=p, view=view, s=s: self._ready(p, view, s)))
            self.flat.append(flat)
            self.parts.append(parts)
        self._begin()

    def _begin(self):
        self.missing, self.works = list(self.size), []

    def _ready(self, p, view, s):
        torch.div(p.grad, self.world, out=view)  # as DDP does: divided before they are summed
        self.missing[s] -= 1
        while len(self.works) < len(self.flat) and self.missing[len(self.works)] == 0:
            self.works.append(dist.all_reduce(self.flat[len(self.works)], async_op=True))

    def finish(self):
        """After backward(): waits, and leaves the averages in the parameters' gradients."""
        if len(self.works) < len(self.flat):
            raise RuntimeError(f"segment {len(self.works)} got no gradient of {self.missing[len(self.works)]} parameters")
        for work, parts in zip(self.works, self.parts):
            work.wait()
            for p, view in parts:
                p.grad.copy_(view)
        self._begin()


def with_buckets(model, segments):
    """DDP with the plan's segments for its buckets. find_unused_parameters keeps it from building its own after the first
    step."""
    real = dist._compute_bucket_assignment_by_size
    dist._compute_bucket_assignment_by_size = lambda tensors, *a, **k: (
        [list(s) for s in reversed(segments)], [sum(4 * tensors[i].numel() for i in s) for s in reversed(segments)])
    try:
        return DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
    finally:
        dist._compute_bucket_assignment_by_size = real


# Training.

def make_model(name):
    if name == "mlp":
        return torch.nn.Sequential(*[layer for i in range(8) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())],
                                   torch.nn.Dropout(0.1), torch.nn.Linear(256, 10))
    try:
        import torchvision
        return getattr(torchvision.models, name)()
    except (ImportError, AttributeError) as e:
        fail(f"--model {name}: {e}; mlp needs no torchvision", 69)


class Training:
    """One copy of the model with its data, the same for the same seed and rank."""

    def __init__(self, args, rank):
        torch.manual_seed(args.seed)
        self.model = make_model(args.model)
        self.raw = self.model
        self.planned = None
        self.data = torch.Generator().manual_seed(args.seed * 1000 + rank)
        self.shape = (args.batch, 256) if args.model == "mlp" else (args.batch, 3, args.image, args.image)
        self.classes = 10 if args.model == "mlp" else 1000

    def ready(self):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        return self

    def plan(self, segments):
        self.planned = Planned(self.raw, segments)
        return self.ready()

    def ddp(self, segments=None, cap=25):
        self.model = (with_buckets(self.raw, segments) if segments else
                      DistributedDataParallel(self.raw, bucket_cap_mb=cap, broadcast_buffers=False))
        return self.ready()

    def forward(self):
        x = torch.randn(self.shape, generator=self.data)
        y = torch.randint(self.classes, (self.shape[0],), generator=self.data)
        self.optimizer.zero_grad(set_to_none=False)
        torch.manual_seed(int(torch.randint(1 << 62, (), generator=self.data)))  # dropout: the same in every copy
        return torch.nn.functional.cross_entropy(self.model(x), y)

    def step(self):
        loss = self.forward()
        loss.backward()
        if self.planned:
            self.planned.finish()
        self.ended = time.perf_counter()
        self.optimizer.step()
        return float(loss)

    def watch(self):
        """From now on steps leave when their last gradient was there, and when all were averaged."""
        def ready():
            self.last = time.perf_counter()
        self.kept = [on_gradient(p, ready) for _, p in named(self.raw)]

    def weights(self):
        return [p.detach() for _, p in named(self.raw)]

    def digest(self):
        h = hashlib.sha256()
        for w in self.weights():
            h.update(w.numpy().tobytes())
        return h.hexdigest()[:16]


def write(path, text):
    """Lines to a file, whole or not at all, or to standard output."""
    if not path:
        return print(*text, sep="\n")
    try:
        with open(path + ".part", "w") as f:
            print(*text, sep="\n", file=f)
        os.rename(path + ".part", path)
    except OSError as e:
        fail(f"{path}: {e.strerror}", 74)


def profile(args):
    t = Training(args, 0).ready()
    parameters = named(t.raw)
    times, forward, start = [[] for _ in parameters], [], 0.0
    kept = [on_gradient(p, lambda i=i: times[i].append((time.perf_counter() - start) * 1e6)) for i, (_, p) in enumerate(parameters)]
    for i in range(args.iterations + 2):
        begin = time.perf_counter()
        loss = t.forward()
        start = time.perf_counter()
        loss.backward()
        t.optimizer.step()
        forward.append((start - begin) * 1e6)
    del kept
    median = [statistics.median(us[2:]) for us in times]  # two steps to warm up
    write(args.output, [f"# {args.model}, batch {args.batch}, {args.iterations} steps", f"# forward {statistics.median(forward[2:]):.3f}"] +
          [f"{name}\t{4 * p}\t{us:.3f}" for us, name, p in sorted((us, name, p.numel()) for us, (name, p) in zip(median, parameters))])


def recorder(path):
    """The profiler, started: it skips a step, warms up for one and writes the three behind them to path."""
    p = torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
                               on_trace_ready=lambda p: p.export_chrome_trace(path))
    p.start()
    return p


def train(args, rank):
    torch.manual_seed(args.seed)
    t = Training(args, rank)
    t.plan(read_plan(args.grads, args.plan, t.raw))
    record = recorder(args.trace) if args.trace and rank == 0 else None
    for i in range(args.iterations):
        loss = t.step()
        if record:
            record.step()
        if rank == 0:
            print(f"step {i} loss {loss:.6f}", flush=True)
    if record:
        record.stop()
    if rank == 0:
        print(f"weights {t.digest()}")
    return True


def calibrate(args, rank):
    """The curve of gloo's all-reduce: 4 bytes, 16, and so on, twice as close from 64 KB; the median of 0.3 s of them, 5 at least. What a
    plan meets is not the network alone: gloo has its own ring, copies and threads."""
    sizes, curve = [4], []
    while sizes[-1] < args.max:
        sizes.append(sizes[-1] * (2 if sizes[-1] >= 65536 else 4))
    for size in sizes:
        flat, took = torch.zeros(size // 4), []

        def once():
            start = time.perf_counter()
            dist.all_reduce(flat)
            took.append((time.perf_counter() - start) * 1e6)
        once()
        once()
        more = torch.tensor([max(5, min(100, int(3e5 / took[-1])))])
        dist.broadcast(more, 0)  # as often on all ranks
        took.clear()
        for _ in range(int(more)):
            once()
        curve.append(statistics.median(took))
    if rank == 0:
        write(args.output, [f"# gloo, {dist.get_world_size()} ranks"] + [f"{size}\t{us:.3f}" for size, us in zip(sizes, rising(curve))])
    return True


def rising(values):
    """The nearest that do not fall: those that do are pooled."""
    pools = []
    for v in values:
        pools.append((v, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, n), (b, m) = pools[-2:]
            pools[-2:] = [((n * a + m * b) / (n + m), n + m)]
    return [v for v, n in pools for _ in range(n)]


def same(a, b):
    return all(torch.equal(x.view(torch.int32), y.view(torch.int32)) for x, y in zip(a.weights(), b.weights()))


def paired(a, b):
    """The median of the ratios of steps of one round, and its 95% interval by the sign test: the ratios whose ranks a fair coin
    leaves outside in at most 5% of cases. None with fewer than six rounds, which cannot say so much."""
    ratios = sorted(x / y for x, y in zip(a, b))
    n, rank, outside = len(ratios), 0, 0.0
    while (outside := outside + 2 * math.comb(n, rank) / 2 ** n) <= 0.05:
        rank += 1
    return statistics.median(ratios), (ratios[rank - 1], ratios[n - rank]) if rank else None


def compare(args, rank):
    world = dist.get_world_size()
    runs = {"plan": Training(args, rank), "ddp": Training(args, rank), "ddp, same buckets": Training(args, rank)}
    segments = read_plan(args.grads, args.plan, runs["plan"].raw)
    runs["plan"].plan(segments)
    runs["ddp"].ddp(cap=args.cap)
    runs["ddp, same buckets"].ddp(segments)
    took, ready, tail = ({name: [] for name in runs} for _ in range(3))
    for run in runs.values():
        run.watch()
    for i in range(args.iterations + 2):
        turn = list(runs)
        for name in turn[i % 3:] + turn[:i % 3]:
            dist.barrier()
            start = time.perf_counter()
            runs[name].step()
            us = torch.tensor([x - start for x in (time.perf_counter(), runs[name].last, runs[name].ended)], dtype=torch.float64) * 1e6
            dist.all_reduce(us, op=dist.ReduceOp.MAX)  # a step ends with its slowest rank
            if i >= 2:
                took[name].append(float(us[0]))
                ready[name].append(float(us[1]))
                tail[name].append(float(us[2] - us[1]))
    equal = {name: same(runs["plan"], runs[name]) for name in runs if name != "plan"}
    flags = torch.tensor([int(v) for v in equal.values()])
    dist.all_reduce(flags, op=dist.ReduceOp.MIN)
    if rank == 0:
        print(f"{args.model}, {world} ranks, {len(segments)} segments, {args.iterations} steps")
        print(f"{'':18s} {'step ms':>9s} {'ready ms':>9s} {'tail ms':>9s}")
        for name in runs:
            print(f"{name:18s}", *(f"{statistics.median(x[name]) / 1e3:9.2f}" for x in (took, ready, tail)))
        ratio, within = paired(took["plan"], took["ddp"])
        print(f"plan / ddp {ratio:.3f}, median of {args.iterations} pairs" + (f", 95% {within[0]:.3f} .. {within[1]:.3f}" if within else ""))
        for name, flag in zip(equal, flags.tolist()):
            print(f"weights equal to {name}: {'yes' if flag else 'no'}")
    # Sums of more than two depend on where in a bucket a number lies; with the same buckets they are the same.
    return bool(flags[1]) and (bool(flags[0]) or world > 2)


# Processes.

def rank_main(rank, args, port=0, said=None):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(port))
    world = int(os.environ.get("WORLD_SIZE", args.ranks))
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", rank=rank, world_size=world)
        if args.nice:  # of this thread only: gloo's, which are there by now, run first where cores are few
            os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + args.nice)
        good = {"calibrate": calibrate, "train": train, "compare": compare}[args.verb](args, rank)
        dist.barrier()
        dist.destroy_process_group()
    except RuntimeError as e:
        what = f"rank {rank}: {str(e).splitlines()[0]}"
        if said is None:
            fail(what, 71)
        said.put(what)
        sys.exit(71)
    sys.exit(0 if good else 1)


def watch(procs, said):
    """Waits for all; one that fails takes the others along, and is what is told."""
    while any(p.is_alive() for p in procs):
        time.sleep(0.05)
        if any(p.exitcode not in (None, 0, 1) for p in procs):
            time.sleep(0.2)  # who was killed is known by then
            dead = [(r, p.exitcode) for r, p in enumerate(procs) if p.exitcode not in (None, 0, 1)]
            for p in procs:
                p.kill()
            killed = [f"rank {r} was killed by signal {-code}" for r, code in dead if code < 0]
            fail((killed or [said.get() if not said.empty() else f"rank {dead[0][0]} ended with {dead[0][1]}"])[0], 71)
    return max(p.exitcode for p in procs)


def start(args):
    if "RANK" in os.environ:
        rank_main(int(os.environ["RANK"]), args)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    if args.verb != "calibrate":
        read_plan(args.grads, args.plan, make_model(args.model))  # what is wrong with them is told once
    context = torch.multiprocessing.get_context("spawn")
    said = context.SimpleQueue()
    procs = [context.Process(target=rank_main, args=(r, args, port, said), daemon=True) for r in range(args.ranks)]
    for p in procs:
        p.start()
    sys.exit(watch(procs, said))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("verb", choices=("profile", "calibrate", "train", "compare"))
    a.add_argument("--model", default="mlp", help="mlp, or a torchvision model (mlp)")
    a.add_argument("--batch", type=int, default=8)
    a.add_argument("--image", type=int, default=64, help="side of the images of torchvision models (64)")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("-i", "--iterations", type=int, default=10)
    a.add_argument("-n", "--ranks", type=int, default=2)
    a.add_argument("--grads", help="the profile")
    a.add_argument("--plan", help="as tune-grad plan -f idx prints it")
    a.add_argument("--trace", help="train: a timeline of three steps of rank 0, from the third, for tune-grad advise")
    a.add_argument("--nice", type=int, default=0, help="compute at a priority so much lower than communication's (0)")
    a.add_argument("--cap", type=float, default=25, help="DDP's bucket_cap_mb (25)")
    a.add_argument("--max", type=int, default=64 << 20, help="calibrate up to this many bytes (64 MiB)")
    a.add_argument("-o", "--output")
    args = a.parse_args()
    torch.set_num_threads(1)
    if args.iterations < 1 or args.ranks < 1:
        fail("expected at least one step and one rank", 64)
    if args.verb == "profile":
        return profile(args)
    if args.verb != "calibrate" and (not args.grads or not args.plan):
        fail(f"{args.verb}: --grads and --plan", 64)
    if args.trace and (args.verb != "train" or args.iterations < 5):
        fail("--trace is for train, with five steps at least", 64)
    start(args)


if __name__ == "__main__":
    main()
