#!/bin/sh
# tune.sh [--seconds S | --trials N] [--seeds "1 2"] [--budget S] [-o DIR] [MODEL...]: tunes each model with each seed, from nothing,
# and times every task afresh: against the default schedule and, where there are two seeds, one result against the other; then the
# whole model, tuned against default, in turns.
# --budget: seconds that a pair of schedules may take (retime's).
# Models are looked for as bench/find.sh says. What was tuned and measured stays in DIR (build/bench/tune).
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
. bench/find.sh
HONE_BLOBS=${HONE_BLOBS:-$top/build/blobs}
export HONE_BLOBS
out=build/bench/tune
seeds=1 limit= budget=
while :; do
	case $1 in
	--seconds | --trials) limit="$limit $1 $2" && shift 2 ;;
	--seeds) seeds=$2 && shift 2 ;;
	--budget) budget="--budget $2" && shift 2 ;;
	-o) out=$2 && shift 2 ;;
	-*) sed -n '2,6s/^# //p' "$0" && exit 64 ;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || set -- resnet50 mobilenet_v2 bert_small_dyn efficientnet_b0
make -s all build/bench/retime build/bench/whole || exit
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit
export XDG_DATA_HOME="$out/none" # from nothing: a base of this user's is no help
failed=0
for name; do
	echo "== $name"
	model=$(model_path "$name")
	[ -n "$model" ] || { echo "skipped: no $name.onnx in ${HONE_MODELS:-build/models} (HONE_MODELS)"; continue; }
	options=$(model_options "$name")
	hone passes -q $options --until layout "$model" -o "$out/$name.g" || { failed=1; continue; }
	tuned=
	for seed in $seeds; do
		rm -f "$out/$name.$seed.kb"*
		tune-op --kb "$out/$name.$seed.kb" --seed "$seed" $limit "$out/$name.g" -o "$out/$name.$seed.g" || { failed=1; continue 2; }
		tuned="$tuned $out/$name.$seed.g"
	done
	# shellcheck disable=SC2086 # one or two files
	build/bench/retime $budget "$out/$name.g" $tuned || failed=1
	libraries= range=$(model_ranges "$name")
	for g in "$out/$name.g" $tuned; do
		ge-plan -q "$g" | ge-emit -q -o "${g%.g}" || { failed=1; continue 2; }
		libraries="$libraries ${g%.g}.so"
	done
	# shellcheck disable=SC2086 # two or three files
	build/bench/whole ${range:+--range "$range"} $libraries || failed=1
done
exit $failed
