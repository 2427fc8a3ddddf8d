# Random quantised patterns, 200 of each shape, through ge-integer: quantised.py says what is compared.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "quantised patterns" "no python with onnx and onnxruntime (HONE_PYTHON)"
within "$python" -B "$top/tests/passes/quantised.py" --each 200 --seed 1
done_testing
