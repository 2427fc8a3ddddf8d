# Operators of com.microsoft are read as ONNX's: contrib.py and contrib_forms.py say what is compared. FORMS: forms of each operator,
# SEED: what they are drawn from. What is not as ONNX has it goes through.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "operators of com.microsoft" "no python with onnx and onnxruntime (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/contrib.py"
within "$python" -B "$top/tests/onnx/contrib_forms.py" "${FORMS:-2}" "${SEED:-1}"
done_testing
