#!/bin/sh
# tools.sh [-r RUNS] [MODEL]: how long the tools take on a model (resnet50), process start included; ONNX file to model.g
# against the creation of ONNX Runtime's session; hone build.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
. bench/find.sh
runs=15
[ "$1" != -r ] || { runs=$2 && shift 2; }
name=${1:-resnet50}
model=$(model_path "$name") options=$(model_options "$name")
[ -n "$model" ] || { echo "skipped: no $name.onnx in ${HONE_MODELS:-build/models} (HONE_MODELS)" && exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
HONE_BLOBS=$work/blobs
export HONE_BLOBS
cat "$model" >/dev/null # into the page cache

row() { printf '%-28s %8s %8s %8s  %s\n' "$@"; }

# Minimum, median and maximum of $runs runs, in milliseconds.
clock() { # NAME NOTE COMMAND...
	label=$1 note=$2
	shift 2
	: >"$work/times"
	for _ in $(seq $runs); do
		[ "$note" != "empty store" ] || rm -rf "$HONE_BLOBS"
		start=$(date +%s%N)
		"$@" >"$work/said" 2>&1 || { cat "$work/said" && exit 1; }
		echo $(($(date +%s%N) - start)) >>"$work/times"
	done
	sort -n "$work/times" | awk -v name="$label" -v note="$note" '{ t[NR] = $1 / 1e6 }
		END { printf "%-28s %8.1f %8.1f %8.1f  %s\n", name, t[1], t[int((NR + 1) / 2)], t[NR], note }'
}

pass() { # TOOL OPTION...
	tool=$1
	shift
	clock "$tool" "$([ "$tool" = ge-import ] && echo "empty store")" "$tool" "$@" -q "$last" -o "$work/$tool.g"
	last=$work/$tool.g
	[ -s "$last" ] || { echo "$tool makes nothing" && exit 1; }
}

echo "$name, $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $runs runs, milliseconds"
row tool min median max ""
clock "(a process that ends)" "" true
last=$model
pass ge-import
for tool in "ge-shape $options" ge-fold ge-simplify ge-deadedge ge-cse ge-dedup ge-prune ge-narrow ge-integer ge-fuse ge-layout ge-join ge-schedule ge-plan; do
	pass $tool
done
clock ge-check "" ge-check "$last"
clock ge-stat "" ge-stat "$last"
clock "ge-dump | ge-load" "" sh -c 'ge-dump "$0" | ge-load' "$last"

python=$(python_with onnxruntime)
if [ -n "$python" ]; then
	"$python" -B bench/session.py --rounds "$runs" "$model" $options
else
	echo "no python with onnxruntime (HONE_PYTHON): no comparison with its session creation"
fi
rm -rf "$HONE_BLOBS"
echo "hone build, empty store:"
hone build $options -o "$work/$name" "$model"
