# The evaluator against onnx's reference and ONNX Runtime on contents at the edges of types; files valid to both. make soak has many
# more.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, onnxruntime, ml_dtypes, onnx.reference')
if [ -z "$python" ]; then
	skip_all "references" "no python with onnx, onnxruntime and ml_dtypes (HONE_PYTHON)"
fi
within "$python" -B "$top/tests/op/references.py" "$top/build/check/numbers" --cases 1000
within "$python" -B "$top/tests/op/native_ops.py" --models 40
within "$python" -B "$top/tests/op/schema_ops.py" --models 40
done_testing
