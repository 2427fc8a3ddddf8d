# Operators of ai.onnx.preview and ai.onnx.preview.training, and Dropout in training: preview.py says what is compared.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnx.reference.ops.aionnx_preview.op_flex_attention' 2>/dev/null || skip_all "operators of ai.onnx.preview" "no python with an onnx that has FlexAttention (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/preview.py"
done_testing
