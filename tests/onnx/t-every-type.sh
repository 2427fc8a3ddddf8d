# Every operator of onnx.defs with every type that it lists is evaluated or refused by name: every_type.py says how.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import ml_dtypes, onnx.reference.ops.aionnx_preview.op_flex_attention' 2>/dev/null || skip_all "types of operators" "no python with a new onnx and ml_dtypes (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/every_type.py"
done_testing
