#!/usr/bin/env python3
"""kineto.py make KIND OUT: a timeline as PyTorch's profiler (Kineto) writes it of training on a GPU, from a small simulation of a
host that launches ahead of a device with two streams. KIND: ddp | late (all gradients at once) | loader | graphs.

kineto.py read TRACE: steps, step, compute, comm, exposed, idle, data and calls of it, in us a step, by painting every
microsecond: what tune-grad advise is to find, with none of its arithmetic."""
import gzip
import json
import random
import sys

BASE = 1700000000000000  # us: such times leave a double a quarter of a microsecond


class Machine:
    """The host's clock, when each stream is free, and the events."""

    def __init__(self, seed):
        self.r, self.host, self.free, self.events, self.id = random.Random(seed), 0, {7: 0, 20: 0}, [], 1000

    def event(self, **e):
        if "ts" in e:
            e["ts"] += BASE
        self.events.append(e)

    def on_host(self, cat, name, us, tid=4321, **args):
        self.event(ph="X", cat=cat, name=name, pid=4321, tid=tid, ts=self.host, dur=us, args={"External id": self.id, **args})
        self.host += us

    def launch(self, cat, name, us, stream=7, after=0, device=0, **args):
        """A call of the runtime, and the kernel that it starts: in the order of its stream, and not before `after`."""
        self.id += 1
        call = {"kernel": "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync", "gpu_memset": "cudaMemsetAsync"}[cat]
        self.event(ph="s", id=self.id, pid=4321, tid=4321, ts=self.host, cat="ac2g", name="ac2g")
        self.on_host("cuda_runtime", call, 5, correlation=self.id)
        start = max(self.host + 3, self.free.get(stream, 0), after)
        self.event(ph="X", cat=cat, name=name, pid=device, tid=stream, ts=start, dur=us,
                   args={"External id": self.id, "device": device, "context": 1, "stream": stream, "correlation": self.id, "grid": [8, 1, 1], **args})
        self.event(ph="f", id=self.id, pid=device, tid=stream, ts=start, cat="ac2g", name="ac2g", bp="e")
        self.free[stream] = start + us
        return start + us


def steps(kind, m, n=5):
    segments = {"late": 1}.get(kind, 6)
    for step in range(n):
        begin, first = m.host, len(m.events)
        load = m.r.randint(60000, 70000) if kind == "loader" else m.r.randint(200, 400)
        m.on_host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", load)
        m.event(ph="X", cat="python_function", name="torch/utils/data/dataloader.py(1330): _get_data", pid=4321, tid=99, ts=begin, dur=30000, args={"Python id": 5})
        copied = m.launch("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 900)
        sent = m.launch("kernel", "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 700, 20, copied,
                        **{"Collective name": "broadcast"})
        m.free[7] = max(m.free[7], sent)
        for layer in range(40):
            m.on_host("cpu_op", "aten::convolution", 12)
            m.launch("kernel", "void cutlass::Kernel2<cutlass_80_tensorop_s1688>(Params)", m.r.randint(150, 400))
        m.launch("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 4)
        for layer in range(40):
            m.on_host("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 10, tid=4400)
            end = m.launch("kernel", "cudnn::bn_bw_1C11_kernel_new", m.r.randint(300, 800))
            if (layer + 1) % (40 // segments) == 0 and len(m.events):
                m.on_host("cpu_op", "c10d::allreduce_", 8, tid=4400)
                m.event(ph="X", cat="user_annotation", name="nccl:all_reduce", pid=4321, tid=4400, ts=m.host, dur=20, args={})
                name = "ncclDevKernel_Generic(ncclDevKernelArgs)" if kind == "graphs" else "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                last = m.launch("kernel", name, m.r.randint(2500, 6000), 20, end, **({"Collective name": "allreduce"} if kind != "late" else {}))
        m.free[7] = max(m.free[7], last)
        for layer in range(6):
            m.launch("kernel", "multi_tensor_apply_kernel", 120)
        m.event(ph="X", cat="overhead", name="Activity Buffer Request", pid=-1, tid=0, ts=m.host, dur=2000, args={})
        if kind == "loader" or step == 2:  # loss.item()
            m.on_host("cuda_runtime", "cudaStreamSynchronize", max(1, m.free[7] - m.host))
        m.event(ph="X", cat="user_annotation", name=f"ProfilerStep#{step + 3}", pid=4321, tid=4321, ts=begin, dur=m.host - begin, args={"External id": 1})
        spans = [e for e in m.events[first:] if e.get("cat") == "kernel"]
        for stream in (7, 20):
            mine = [e for e in spans if e["tid"] == stream]
            m.event(ph="X", cat="gpu_user_annotation", name=f"ProfilerStep#{step + 3}", pid=0, tid=stream, ts=mine[0]["ts"] - BASE,
                    dur=mine[-1]["ts"] + mine[-1]["dur"] - mine[0]["ts"], args={})
        for e in [e for e in spans if e["tid"] == 20]:
            m.event(ph="X", cat="gpu_user_annotation", name="nccl:all_reduce", pid=0, tid=20, ts=e["ts"] - BASE, dur=e["dur"], args={})
        if kind == "graphs":  # another device of the same process
            for i in range(3):
                m.launch("kernel", "elementwise", 9000, 7 + 100, device=1)
        m.host += 30


def make(kind, path):
    m = Machine(kind)
    steps(kind, m)
    m.r.shuffle(m.events)
    out = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 1}], "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
           "displayTimeUnit": "ms", "traceEvents": [{"name": "process_labels", "ph": "M", "ts": BASE, "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}}] + m.events,
           "traceName": "x"}
    with gzip.open(path, "wt") as f:
        json.dump(out, f)


def read(path):
    with gzip.open(path, "rt") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    gpu = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["device"] == 0]
    called = {e["args"]["correlation"]: e["ts"] for e in events if e["cat"] == "cuda_runtime" and "correlation" in e["args"]}
    host = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#"))
    zero = min(e["ts"] for e in events)
    length = max(e["ts"] + e["dur"] for e in events) - zero
    row = {what: bytearray(length) for what in ("compute", "comm", "reduce", "data")}

    def paint(what, e):
        row[what][e["ts"] - zero:e["ts"] + e["dur"] - zero] = b"\1" * e["dur"]
    calls = 0
    for e in gpu:
        comm, copy = "nccl" in e["name"], "HtoD" in e["name"]
        paint("comm" if comm else "data" if copy else "compute", e)
        if comm and e["args"].get("Collective name") != "broadcast":
            calls += 1
            paint("reduce", e)
    for e in events:
        if e["cat"] == "user_annotation" and "DataLoader" in e["name"]:
            paint("data", e)
    begin = host[0][0] - zero
    end = max(e["ts"] + e["dur"] for e in gpu) - zero
    n = {"compute": 0, "comm": 0, "exposed": 0, "others": 0, "idle": 0, "data": 0}
    for t in range(begin, end):
        c, m, r, d = (row[what][t] for what in ("compute", "comm", "reduce", "data"))
        n["compute"] += c
        n["comm"] += m
        n["exposed"] += m and not c
        n["others"] += m and not c and not r
        n["idle"] += not m and not c
        n["data"] += d and not m and not c
    # The tail: of each step's last reduction and what lies between it and the last kernel of the backward pass, what is not covered.
    tail = 0
    for first, last in host:
        mine = [e for e in gpu if first <= called[e["args"]["correlation"]] < last]
        back = max(e["ts"] + e["dur"] for e in mine if "bn_bw" in e["name"]) - zero
        stop = max(e["ts"] + e["dur"] for e in mine if "nccl" in e["name"]) - zero
        tail += sum(row["comm"][t] and not row["compute"][t] for t in range(back, stop))
    k = len(host)
    print(k, *(f"{x / k:.3f}" for x in (end - begin, n["compute"], n["comm"], n["exposed"], tail, n["idle"], n["data"], n["others"], calls)))


if __name__ == "__main__":
    make(*sys.argv[2:]) if sys.argv[1] == "make" else read(sys.argv[2])
