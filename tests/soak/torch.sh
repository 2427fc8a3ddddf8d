# clients/torch_plan.py with four ranks: weights equal to those of DDP with the same buckets; a rank that is killed.
. "$top/tests/lib.sh"
for python in ${HONE_PYTHON:-python3} python3 /usr/bin/python3 none; do
	[ $python = none ] && skip_all "training with PyTorch" "no python3 with torch"
	$python -c 'import torch.distributed as d; d.is_gloo_available() or exit(1)' 2>/dev/null && break
done
client="$python -B $top/clients/torch_plan.py"
$client profile -i 3 -o grads.tsv
for plan in 17 '0 5 17' '0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17'; do
	printf '%s\n' $plan >plan
	$client compare --grads grads.tsv --plan plan -n 4 -i 5 >out 2>&1
	rc=$?
	nothing "weights equal to DDP's with the same $(wc -l <plan) buckets, four ranks" "$([ $rc = 0 ] || echo "exit $rc"; grep -q '^weights equal to ddp, same buckets: yes$' out || cat out)"
done
$client train --grads grads.tsv --plan plan -n 3 -i 100000 >out 2>err &
pid=$!
while ! grep -q 'step 3' out; do sleep 0.2; done
ranks=$(pgrep -P $pid -f spawn_main)
start=$(date +%s)
kill -KILL $(echo $ranks | cut -d' ' -f2)
wait $pid
rc=$?
took=$(($(date +%s) - start))
nothing "a rank that is killed" "$([ $rc = 71 ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] && grep -q 'was killed by signal 9' err || cat err; [ $took -le 5 ] || echo "$took s"
	for k in $ranks; do kill -0 "$k" 2>/dev/null && echo "process $k is left"; done)"
done_testing
