#!/bin/sh
# bench.sh [-o DIR] [MODEL...]: the compiled models against ONNX Runtime and OpenVINO, with the share of each kernel.
# Models are looked for as bench/find.sh says, made by bench/models.py where they are missing and torch is
# there, compiled into DIR (build/bench), and kept there until the model or hone changes.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
. bench/find.sh
HONE_BLOBS=${HONE_BLOBS:-$top/build/blobs}
export HONE_BLOBS
out=build/bench
[ "$1" != -o ] || { out=$2 && shift 2; }
mkdir -p "$out" build/models
[ $# -gt 0 ] || { set -- $(model_names bench) && all=1; }

python=$(python_with onnxruntime)
[ -n "$python" ] || echo "no python with onnxruntime (HONE_PYTHON): times without a peer"
torch=$(python_with torch,torchvision)
core=$(taskset -cp $$ | sed 's/.*[ ,-]//') # the last one allowed, as peers.py
failed=0

[ -z "$all" ] || { echo "== kernels by the default schedule, against the FMA peak" && build/bench/kernels && bench/tools.sh; }
[ -z "$all" ] || { echo "== planning gradients" && build/bench/plan && bench/plans.sh; }
for name; do
	echo "== $name"
	model=$(model_path "$name")
	if [ -z "$model" ] && [ -n "$torch" ] && grep -q "^    \"$name\":" bench/models.py; then
		"$torch" bench/models.py -o build/models "$name" && model=$(HONE_MODELS='' model_path "$name")
	fi
	if [ -z "$model" ]; then
		echo "skipped: no $name.onnx in ${HONE_MODELS:-build/models} (HONE_MODELS)"
		continue
	fi
	options=$(model_options "$name") range=$(model_ranges "$name")
	if [ ! -e "$out/$name.so" ] || [ -n "$(find bin "$model" -newer "$out/$name.so")" ]; then
		# shellcheck disable=SC2086 # no option, or several
		hone build "$model" -o "$out/$name" $options >"$out/$name.log" 2>&1 || { failed=1; tail "$out/$name.log"; continue; }
	fi
	if [ -n "$python" ]; then
		"$python" -B bench/peers.py "$model" "$out/$name.so" $options ${range:+--range "$range"} || { failed=1; continue; }
	fi
	taskset -c "$core" run-dev "$out/$name.so" --bench --kernels ${range:+--range "$range"} >"$out/$name.kernels" || failed=1
	head -14 "$out/$name.kernels"
	[ "$(wc -l <"$out/$name.kernels")" -le 14 ] || echo "... $out/$name.kernels"
done
exit $failed
