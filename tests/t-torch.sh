# clients/torch_plan.py with two ranks: a profile that tune-grad plans by, weights equal to DDP's bit for bit, bad input.
say() { if [ -z "$2" ]; then echo "ok - $1"; else echo "not ok - $1"; printf '%s\n' "$2" | sed 's/^/# /'; fi; }
for python in ${HONE_PYTHON:-python3} python3 /usr/bin/python3 none; do
	[ $python = none ] && { echo "ok - training with PyTorch # SKIP no python3 with torch"; exit 0; }
	$python -c 'import torch.distributed as d; d.is_gloo_available() or exit(1)' 2>/dev/null && break
done
client="$python -B $top/clients/torch_plan.py"
$client profile -i 3 -o grads.tsv >out 2>&1
say "a profile" "$(cat out; awk -F'\t' '/^#/ { next } NF != 3 || $3 < r { print } { r = $3; n++ } END { if (n != 18) print n " tensors" }' grads.tsv)"
tune-grad plan grads.tsv --alpha 100 --beta 0.001 -k 3 -o plan 2>/dev/null
say "tune-grad plans by it" "$([ -s plan ] || echo "no plan"; tail -1 plan | grep -vx 17)"
# The plan by hand, so that it does not depend on times: several segments, a short and a long one.
printf '0\n5\n17\n' >plan
$client compare --grads grads.tsv --plan plan -i 2 >out 2>&1
rc=$?
say "weights equal to DDP's, two ranks" "$([ $rc = 0 ] || echo "exit $rc"; [ "$(grep -c '^weights equal to .*: yes$' out)" = 2 ] || cat out)"
printf '0\n99\n' >bad
$client compare --grads grads.tsv --plan bad >out 2>err
rc=$?
say "a plan for other tensors" "$([ $rc = 65 ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] && grep -q "bad:2: '99'" err || cat err)"
