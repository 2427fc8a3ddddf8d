#!/bin/sh
# The digits model in 8-bit integers: calibrated on the first half of the held-out scans, measured on the other half. Needs the tools
# (make); what is made lands in build/digits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=${1:-$top/build/digits}
PATH=$top/bin:$PATH
HONE_BLOBS=$out/blobs
export HONE_BLOBS
mkdir -p "$out"
cd "$out"
half=180

{ # an array of NumPy's: a header of 128 bytes, then the numbers
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($half, 1, 8, 8), }"
	tail -c +129 "$here/images.npy" | head -c $((half * 256))
} >calibration.npy
hone quantize "$here/digits.onnx" --data calibration.npy -o digits-int8.onnx

accuracy() { # MODEL: of the scans that did not calibrate, what part is read right
	run-ref --quiet -i image="$here/images.npy" -o logits.npy "$1"
	tail -c +129 logits.npy | od -An -v -tf4 -w40 >logits.txt
	tail -c +129 "$here/labels.npy" | od -An -v -td8 -w8 | paste logits.txt - | awk -v half=$half '
		NR > half { best = 1; for (i = 2; i <= 10; i++) if ($i > $best) best = i; right += best - 1 == $11; n++ }
		END { printf "%d of %d, %.2f%%\n", right, n, 100 * right / n }'
}

echo
echo "read right in float:  $(accuracy "$here/digits.onnx")"
echo "read right in int8:   $(accuracy digits-int8.onnx)"
