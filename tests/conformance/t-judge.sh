# The judge of make conformance finds faults that are planted in results.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, ml_dtypes')
if [ -z "$python" ]; then
	skip_all "judge" "no python with onnx and ml_dtypes (HONE_PYTHON)"
fi
within "$python" -B "$top/tests/conformance/judge_faults.py"
done_testing
