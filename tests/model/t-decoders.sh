# Language models in the layout of onnxruntime-genai, and the program of examples/llm: decoders.py says what is compared.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "decoders" "no python with onnx and onnxruntime (HONE_PYTHON)"
within "$python" -B "$top/tests/model/decoders.py"
done_testing
