# Models of scikit-learn against ONNX Runtime: scikit.py says which.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, skl2onnx, sklearn' 2>/dev/null || skip_all "models of scikit-learn" "no python with onnxruntime, skl2onnx and sklearn (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/scikit.py"
done_testing
