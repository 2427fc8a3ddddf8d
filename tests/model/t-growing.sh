# Caches that grow, in the forms of exports: growing.py says what is compared.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "growing" "no python with onnx and onnxruntime (HONE_PYTHON)"
within "$python" -B "$top/tests/model/growing.py"
done_testing
