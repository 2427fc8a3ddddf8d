#!/bin/sh
# The digits model from its ONNX file to a native library, tuned too, and what it can do. Needs the tools
# (make); all that is made lands in build/digits.
set -eu
unset MAKEFLAGS # under make -j lines of hone begin with a model
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$top/build/digits
PATH=$top/bin:$PATH
HONE_BLOBS=$out/blobs
export HONE_BLOBS
command -v hone >/dev/null || { echo "demo.sh: no hone; run make first" >&2; exit 69; }
mkdir -p "$out"
cd "$out"
cp "$here/digits.onnx" "$here/images.npy" "$here/labels.npy" .

npy_data() { tail -c +$((11 + $(od -An -tu2 -j8 -N2 "$1"))) "$1"; } # FILE.npy: its numbers, without the header

best_of_ten() { # LOGITS.npy: the place of the largest of each ten
	npy_data "$1" | od -An -v -tf4 -w40 | awk '{ best = 1; for (i = 2; i <= 10; i++) if ($i > $best) best = i; print best - 1 }'
}

accuracy() { # CLASSES: how many are the labels
	npy_data labels.npy | od -An -v -td8 -w8 | paste -d' ' - "$1" | awk '
		{ right += $1 == $2 } END { printf "%d of %d\n", right, NR }'
}

echo "== hone build digits.onnx -o digits --set batch=1: where the time goes"
hone build digits.onnx -o digits --set batch=1

echo
echo "== hone tune digits.onnx -o tuned/digits --set batch=1 --trials 8 --seconds 20: faster schedules, searched for on this machine"
HONE_KB=$out/kb hone tune digits.onnx -o tuned/digits --set batch=1 --trials 8 --seconds 20 --report tuning.html | sed '/^stage /,$d'
echo "curves: build/digits/tuning.html"

native() { # DIRECTORY: the classes that its library gives
	(cd "$1" && ${CC:-cc} -O2 -I. -o classify "$here/classify.c" digits.a -lm -lpthread && npy_data "$out/images.npy" | ./classify)
}

echo
echo "== the 360 held-out images"
run-ref --set batch=360 -i image=images.npy -o logits.npy digits.onnx
best_of_ten logits.npy >evaluated.txt
native . >native.txt
native tuned >tuned.txt
echo "the first 30           $(head -30 native.txt | tr '\n' ' ')"
echo "they show              $(npy_data labels.npy | od -An -v -td8 -w8 -N240 | tr -d ' ' | tr '\n' ' ')"
cmp -s evaluated.txt native.txt && cmp -s evaluated.txt tuned.txt || { echo "demo.sh: they differ" >&2; exit 1; }

fastest() { # LIBRARY: of its runs, in ms
	run-dev --bench --json --seconds 0.5 "$1" 2>/dev/null | sed -n 's/.*"min": *\([0-9.e-]*\).*/\1/p' | awk '{ printf "%.4f ms", 1e3 * $1 }'
}

evaluator=$(for seed in 1 2 3 4 5; do
	run-ref --time --seed $seed --set batch=1 digits.onnx 2>&1 >/dev/null
done | awk '$1 == "all" && (!least || $2 < least) { least = $2 } END { printf "%.2f ms", least }')
echo
row() { printf '%-22s %-22s %-22s %s\n' "$@"; }
row "" "reference evaluator" "native library" "tuned"
row "read right" "$(accuracy evaluated.txt)" "$(accuracy native.txt)" "$(accuracy tuned.txt)"
row "one image, fastest" "$evaluator" "$(fastest digits.so)" "$(fastest tuned/digits.so)"

echo
run-dev --bench --seconds 1 digits.so
