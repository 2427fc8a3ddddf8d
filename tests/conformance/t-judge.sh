# The judge of make conformance finds faults that are planted in results, also where cases are judged together.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, ml_dtypes')
if [ -z "$python" ]; then
	skip_all "judge" "no python with onnx and ml_dtypes (HONE_PYTHON)"
fi
within "$python" -B "$top/tests/conformance/judge_faults.py"
python=$(python_with 'onnx, onnxruntime, ml_dtypes')
if [ -n "$python" ]; then
	within "$python" -B "$top/tests/conformance/together_faults.py"
else
	skip "cases in one model" "no python with onnx, onnxruntime and ml_dtypes (HONE_PYTHON)"
fi
done_testing
