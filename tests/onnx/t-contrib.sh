# Quantised operators of com.microsoft are read as ONNX's: contrib.py says what is compared. What is not as they have it goes through.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "operators of com.microsoft" "no python with onnx and onnxruntime (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/contrib.py"
done_testing
