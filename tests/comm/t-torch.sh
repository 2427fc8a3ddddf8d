# clients/torch_plan.py with two ranks: a profile that tune-grad plans by, weights equal to DDP's bit for bit, bad input.
. "$top/tests/lib.sh"
for python in ${HONE_PYTHON:-python3} python3 /usr/bin/python3 none; do
	[ $python = none ] && skip_all "training with PyTorch" "no python3 with torch"
	$python -c 'import torch.distributed as d; d.is_gloo_available() or exit(1)' 2>/dev/null && break
done
client="$python -B $top/clients/torch_plan.py"
$client profile -i 3 -o grads.tsv >out 2>&1
nothing "a profile" "$(cat out; awk -F'\t' '/^#/ { next } NF != 3 || $3 < r { print } { r = $3; n++ } END { if (n != 18) print n " tensors" }' grads.tsv || echo "none")"
tune-grad plan grads.tsv --alpha 100 --beta 0.001 -k 3 -o plan 2>/dev/null
nothing "tune-grad plans by it" "$([ -s plan ] || echo "no plan"; tail -1 plan | grep -vx 17)"
# The plan by hand, so that it does not depend on times: several segments, a short and a long one.
printf '0\n5\n17\n' >plan
$client compare --grads grads.tsv --plan plan -i 2 >out 2>&1
rc=$?
nothing "weights equal to DDP's, two ranks" "$([ $rc = 0 ] || echo "exit $rc"; [ "$(grep -c '^weights equal to .*: yes$' out)" = 2 ] || { echo "not so:"; cat out; })"
printf '0\n99\n' >bad
$client compare --grads grads.tsv --plan bad >out 2>err
rc=$?
nothing "a plan for other tensors" "$([ $rc = 65 ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] && grep -q "bad:2: '99'" err || cat err)"

# Form ddp: PyTorch's own function makes the segments of it, and DDP, given the list in place of its two limits, says that they are
# its buckets. With the two limits it makes as many of other tensors as the baseline has.
cat >buckets.py <<'END'
import json, sys, torch, torch.distributed as dist
sys.path.insert(0, sys.argv[1])
import torch_plan
model = torch_plan.make_model("mlp")
segments = torch_plan.read_plan("grads.tsv", "idx", model)
order = [i for s in segments for i in s]
sizes = json.load(open("ddp.json"))
real = dist._compute_bucket_assignment_by_size
def planned(tensors, limits, sparse, *rest):
    got, limits = real([tensors[i] for i in order], sizes, [sparse[i] for i in order])
    return [[order[i] for i in b] for b in reversed(got)], list(reversed(limits))
parameters = [p for _, p in torch_plan.named(model)]
if planned(parameters, [], [False] * len(order))[0][::-1] != segments:
    print("not the segments")
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=0, world_size=1)
dist._compute_bucket_assignment_by_size = planned
ddp = torch_plan.DistributedDataParallel(model, find_unused_parameters=True)
ddp(torch.zeros(1, 256)).sum().backward()
said = ddp._get_ddp_logging_data()["bucket_sizes"]
if [int(b) for b in said.split(",")] != sizes:
    print("buckets", said, "not", sizes)
others = [torch.empty(int(line.split("\t")[1]) // 4) for line in open("others.tsv")]
buckets = real(others, [dist._DEFAULT_FIRST_BUCKET_BYTES, 25 << 20], [False] * len(others))[0]
print("ddp", len(buckets))
END
awk 'BEGIN { srand(3); for (i = 0; i < 80; i++) printf "t%d\t%d\t%d\n", i, 4 * int(exp(rand() * 15)), 10 * i }' >others.tsv
tune-grad plan grads.tsv --alpha 100 --beta 0.001 -k 5 -o idx -q
tune-grad plan grads.tsv --alpha 100 --beta 0.001 -k 5 -f ddp -o ddp.json -q
$python -B buckets.py "$top/clients" "$PWD/store" >out 2>err
nothing "PyTorch makes its buckets of -f ddp" "$(grep -v '^ddp ' out; grep -q '^ddp ' out || cat err; [ "$(wc -l <idx)" -gt 1 ] || echo "one segment")"
nothing "DDP's own are those of the baseline" "$(tune-grad compare others.tsv --alpha 100 --beta 0.001 | awk '$1 == "ddp" { print "ddp", $4 }' | diff - out; [ -s out ] || echo "nothing is said")"
$client train --grads grads.tsv --plan plan -i 5 --trace trace.json >out 2>&1
rc=$?
nothing "a timeline of training is advised on" "$([ $rc = 0 ] || cat out; tune-grad advise --json trace.json >advice 2>&1; grep -q '"steps": 3.*"calls": 3.000' advice || { echo "another advice:"; cat advice; })"
$client calibrate --max 300000 -o curve.tsv >out 2>&1
rc=$?
nothing "gloo's own curve is one to plan with" "$([ $rc = 0 ] || cat out; tune-grad plan grads.tsv -c curve.tsv -o by-it -q 2>&1; [ -s by-it ] || echo "no plan"; [ "$(grep -cv '#' curve.tsv)" = 11 ] || { echo "another curve:"; cat curve.tsv; })"
done_testing
