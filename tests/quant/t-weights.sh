# ge-quantize of weights alone, in 8 and in 4 bits: the file is smaller by that, ONNX Runtime computes what the evaluator does, and so does
# what is compiled, with the weights still in those bits.
. "$top/tests/lib.sh"
HONE_BLOBS=$PWD/blobs
export HONE_BLOBS
real() { awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%s%.4f", i ? ", " : "", (rand() + rand() - 1) / 8 }'; }
cat >m.txt <<END
hone-text 1
module ir=8 opset=17
const a = f32[200,96] [$(real 19200 1)]
const b = f32[96] [$(real 96 2)]
const c = f32[64,96] [$(real 6144 3)]
const d = f32[64] [$(real 64 4)]
graph main {
  input x: f32[1,200]
  p = MatMul(x, @a)
  q = Add(p, @b)
  r = Relu(q)
  y = Gemm(r, @c, @d) {transB=1}
  output y = y
}
END
ge-load m.txt | ge-shape >m.g
cat >ort.py <<'END'
import sys, numpy as np, onnx, onnxruntime as ort
onnx.checker.check_model(sys.argv[1], full_check=True)
o = ort.SessionOptions()
o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
np.save(sys.argv[3], ort.InferenceSession(sys.argv[1], o).run(None, {"x": np.load(sys.argv[2])})[0])
END
python=${HONE_PYTHON:-python3}
# close BITS BYTES NOISE OPTION..: bytes of the weights, and how much noise rounding may add
close() {
	local bits=$1 bytes=$2 noise=$3
	shift 3
	ge-quantize --weights "$bits" --activations none "$@" -o q.g m.g >log 2>err && ge-export -q -o q.onnx q.g 2>err && [ -s q.onnx ]
	ok $? "$bits bits $*: quantised"
	[ "$(wc -c <q.onnx)" -lt $((bytes + 2048)) ]
	ok $? "$bits bits $*: $(wc -c <q.onnx) bytes"
	equal --tol "$noise" q.g m.g && ! run-cmp -q --tol 1e-4 q.g m.g >log 2>&1
	ok $? "$bits bits $*: near the model of floats"
	hone build -q --no-fallback -o q q.onnx >log 2>err && equal --tol 2e-6 q.so q.g
	ok $? "$bits bits $*: compiled"
	[ "$(wc -c <q.weights)" -lt $((bytes + 12288)) ]
	ok $? "$bits bits $*: $(wc -c <q.weights) bytes of weights"
	"$python" -c 'import onnxruntime, onnx' 2>/dev/null || { skip "$bits bits: ONNX Runtime" "no python with it (HONE_PYTHON)"; return; }
	run-ref -q -i x.npy -o want.npy q.g && "$python" ort.py q.onnx x.npy got.npy 2>err && equal --tol 2e-6 got.npy want.npy
	ok $? "$bits bits $*: as ONNX Runtime has it"
}
"$python" -c 'import numpy as n; n.save("x.npy", n.random.default_rng(1).standard_normal((1, 200)).astype(n.float32))' 2>/dev/null
close 8 26000 0.02
close 8 29500 0.02 --block 32
close 4 16200 0.2
close 4 13400 0.25 --block 0
is "$(ge-quantize --weights 4 --activations none -o four.g m.g | awk '$2 == "int4" { n++ } END { print n }') $(ge-quantize --weights 8 --activations none -o eight.g m.g | awk '$2 == "int8" { n++ } END { print n }')" "2 2" "the report says 4 bits of the layers that have them"
is "$(ge-quantize --weights 4 --activations none --block 8 m.g 2>&1 >/dev/null; echo $?)" "ge-quantize: --block 8: 16 or more, or 0
64" "a block that is too short"
done_testing
