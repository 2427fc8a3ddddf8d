# Plans in the form horovod, trained with: its timeline shows one all-reduce a segment, in order. Slow to install, so mostly skipped.
. "$top/tests/lib.sh"
for python in ${HONE_PYTHON:-python3} python3 /usr/bin/python3 none; do
	[ $python = none ] && skip_all "training with Horovod" "no python3 with horovod.torch"
	$python -c 'import horovod.torch' 2>/dev/null && break
done
cat >train.py <<'END'
import json, sys, torch
import horovod.torch as hvd
hvd.init()
torch.manual_seed(1)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for i in range(6)])
named = dict(model.named_parameters())
groups = [[named[n] for n in group] for group in json.load(open("groups"))]
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), named_parameters=model.named_parameters(), groups=groups)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for i in range(6):  # the end of the timeline may be lost
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
END
cat >timeline.py <<'END'
import json, re
text = open("timeline").read().rstrip().rstrip(",")
events = [e for e in json.loads(text if text.endswith("]") else text + "]") if e]
names = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name" and "name" in e["args"]}
begun, sent = {}, []
for e in events:
    if e["ph"] == "B":
        begun.setdefault(e["pid"], []).append(e)
    elif e["ph"] == "E" and begun.get(e["pid"]):
        b = begun[e["pid"]].pop()
        if b["name"] in ("GLOO_ALLREDUCE", "MPI_ALLREDUCE"):
            sent.append((b["ts"], e["ts"], re.search(r"grouped_allreduce.(.*)_\d+of\d+$", names[e["pid"]])[1]))
row = []  # an all-reduce is told for each of its tensors: those that overlap are one
for begin, end, group in sorted(sent):
    if row and begin < row[-1][0]:
        row[-1] = (max(end, row[-1][0]), row[-1][1] + [group])
    else:
        row.append((end, [group]))
print(*("+".join(f"{g}:{groups.count(g)}" for g in sorted(set(groups))) for _, groups in row[:4 * len(json.load(open("groups")))]))
END
awk 'BEGIN { for (i = 5; i >= 0; i--) { printf "%d.bias\t256\t%d\n%d.weight\t16384\t%d\n", i, 1000 - 100 * i, i, 1000 - 100 * i } }' >grads.tsv
tune-grad plan grads.tsv --alpha 200 --beta 0.001 -k 4 --slack 0 -f horovod -o groups -q
want=$(for step in 1 2 3 4; do python3 -c 'import json; print(*(f"{g[0]}:{len(g)}" for g in json.load(open("groups"))))'; done | paste -sd' ')
HOROVOD_TIMELINE=$PWD/timeline HOROVOD_DISABLE_GROUP_FUSION=1 timeout 100 $python -c 'from horovod.runner.launch import run_commandline; run_commandline()' \
	--gloo -np 2 $python train.py >out 2>&1
rc=$?
nothing "training with Horovod" "$([ $rc = 0 ] || tail -5 out)"
nothing "its all-reduces are the segments" "$($python timeline.py 2>&1 | diff - /dev/fd/3 3<<END
$want
END
)"
done_testing
