#!/bin/sh
# PyTorch with a plan of tune-grad beside DDP with its 25 MB, in turns, a rank a namespace: bench/torch.sh [MODEL [RANKS [STEPS
# [DELAY_US [MBIT]]]]]. Needs root and a python with torch (PYTHON).
cd "$(dirname "$0")/.." || exit 1
make -s all build/tests/net/netlab || exit 1
PATH=$PWD/bin:$PATH
model=${1:-resnet18} ranks=${2:-2} steps=${3:-15} delay=${4:-50} mbit=${5:-400}
client="${PYTHON:-/usr/bin/python3} -B $PWD/clients/torch_plan.py"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
$client profile --model "$model" -i 8 -o "$tmp/grads" || exit
export tmp model ranks steps client
cat >"$tmp/ranks" <<'END'
tune-grad calibrate --hosts "$tmp/hosts" -o "$tmp/curve" || exit
tune-grad plan "$tmp/grads" -c "$tmp/curve" -o "$tmp/plan" || exit
tune-grad compare "$tmp/grads" -c "$tmp/curve"
i=0
while read -r address enter; do
	WORLD_SIZE=$ranks RANK=$i MASTER_ADDR=10.99.0.1 MASTER_PORT=29500 GLOO_SOCKET_IFNAME=rank$i \
		$enter $client compare --model "$model" --grads "$tmp/grads" --plan "$tmp/plan" -i "$steps" &
	i=$((i + 1))
done <"$tmp/hosts"
wait
END
build/tests/net/netlab -n "$ranks" -d "$delay" -r "$mbit" -o "$tmp/hosts" sh "$tmp/ranks"
