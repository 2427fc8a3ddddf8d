#!/bin/sh
# PyTorch with a plan of tune-grad beside DDP with its 25 MB, in turns, a rank a namespace, and the ratio of their steps:
# bench/torch.sh [MODEL [RANKS [STEPS [DELAY_US [MBIT [BATCH]]]]]]. Needs root and a python with torch and torchvision (PYTHON).
# MAX (32000000): the bytes up to which the curve is measured. NICE=5 lets communication go before computing, which has all the cores here.
# As it is, MobileNetV2's communication takes about as long as its backward pass, and DDP's second and last bucket, 9 MB, begins when
# that is over: there is something to hide. Three minutes or so.
cd "$(dirname "$0")/.." || exit 1
make -s all build/tests/net/netlab || exit 1
PATH=$PWD/bin:$PATH
model=${1:-mobilenet_v2} ranks=${2:-2} steps=${3:-30} delay=${4:-1000} mbit=${5:-400} batch=${6:-16}
client="${PYTHON:-/usr/bin/python3} -B $PWD/clients/torch_plan.py"
training="--model $model --batch $batch ${NICE:+--nice $NICE}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
# All ranks compute at once, and share the machine as they will in training: so they do here.
i=0
while [ $i -lt "$ranks" ]; do
	$client profile $training -i 8 -o "$tmp/grads$([ $i = 0 ] || echo .$i)" &
	i=$((i + 1))
done
wait
[ -s "$tmp/grads" ] || exit 1
export tmp training ranks steps client
cat >"$tmp/ranks" <<'END'
everywhere() {
	i=0
	while read -r address enter; do
		WORLD_SIZE=$ranks RANK=$i MASTER_ADDR=10.99.0.1 MASTER_PORT=29500 GLOO_SOCKET_IFNAME=rank$i $enter $client "$@" &
		i=$((i + 1))
	done <"$tmp/hosts"
	wait
}
everywhere calibrate --max "${MAX:-32000000}" -o "$tmp/curve"
tune-grad plan "$tmp/grads" -c "$tmp/curve" -o "$tmp/plan" || exit
tune-grad compare "$tmp/grads" -c "$tmp/curve"
# A step is the forward pass, till when the last all-reduce ends, and the optimizer.
tune-grad compare "$tmp/grads" -c "$tmp/curve" | awk -v f="$(awk '/^# forward/ { print $3 }' "$tmp/grads")" '
	$1 == "tune-grad" { plan = $3 } $1 == "ddp" { ddp = $3 } END { printf "predicted: plan / ddp %.3f\n", (f + plan) / (f + ddp) }'
everywhere compare $training --grads "$tmp/grads" --plan "$tmp/plan" -i "$steps"
END
build/tests/net/netlab -n "$ranks" -d "$delay" -r "$mbit" -o "$tmp/hosts" sh "$tmp/ranks"
