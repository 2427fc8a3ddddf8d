# The table of opset minima is that of the installed onnx.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, onnx.defs')
[ -n "$python" ] || skip_all "opset minima" "no python with onnx (HONE_PYTHON)"
within "$python" -B "$top/tests/onnx/opsets.py" "$top/lib/onnx/opsets.c"
done_testing
