# The evaluator against onnx's reference and ONNX Runtime on contents at the edges of types; files valid to both; opset minima. make
# soak has many more.
. "$top/bench/find.sh"
python=$(python_with 'onnx, onnxruntime, ml_dtypes, onnx.reference')
if [ -z "$python" ]; then
	echo "ok - references # SKIP no python with onnx, onnxruntime and ml_dtypes (HONE_PYTHON)"
	exit 0
fi
"$python" -B "$top/tests/op/references.py" "$top/build/check/numbers" --cases 1000
"$python" -B "$top/tests/onnx/opsets.py" "$top/lib/onnx/opsets.c"
