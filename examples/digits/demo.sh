#!/bin/sh
# The digits model from its ONNX file to a native library, and what that library can do. Needs the tools
# (make); all that is made lands in build/digits.
set -eu
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
		{ right += $1 == $2 } END { printf "%d of %d right: %.2f%%\n", right, NR, 100 * right / NR }'
}

echo "== hone build digits.onnx -o digits --set batch=1: where the time goes"
hone build digits.onnx -o digits --set batch=1

echo
echo "== the 360 held-out images"
run-ref --set batch=360 -i image=images.npy -o logits.npy digits.onnx
best_of_ten logits.npy >evaluated.txt
evaluated=$(accuracy evaluated.txt)
${CC:-cc} -O2 -I. -o classify "$here/classify.c" digits.a -lm -lpthread
npy_data images.npy | ./classify >native.txt
native=$(accuracy native.txt)
echo "reference evaluator   $evaluated"
echo "native library        $native"
echo "the first 30           $(head -30 native.txt | tr '\n' ' ')"
echo "they show              $(npy_data labels.npy | od -An -v -td8 -w8 -N240 | tr -d ' ' | tr '\n' ' ')"
cmp -s evaluated.txt native.txt || { echo "demo.sh: they differ" >&2; exit 1; }

echo
echo "== one image"
for seed in 1 2 3 4 5; do
	run-ref --time --seed $seed --set batch=1 digits.onnx 2>&1 >/dev/null
done | awk '$1 == "all" && (!least || $2 < least) { least = $2 } END { print "reference evaluator: min " least " ms of 5 runs" }'
run-dev --bench --seconds 1 digits.so
