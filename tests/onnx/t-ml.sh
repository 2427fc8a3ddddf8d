# Operators of ai.onnx.ml: ml.py says what is compared.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "operators of ai.onnx.ml" "no python with onnx and onnxruntime (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/ml.py"
done_testing
