# Random models give ONNX Runtime's numbers: after the passes, compiled, and with sizes left free. The seeds are
# fixed; make soak runs others.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with onnxruntime)
if [ -z "$python" ] || ! "$python" -c 'import onnx' 2>/dev/null; then
	skip_all "random models" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
if "$python" -B "$top/tests/tools/random_models.py" --seeds 25 --no-shrink --keep . >out 2>&1; then
	ok 0 "random models: $(tail -n 1 out)"
else
	ok 1 "random models"
	cat out
fi
done_testing
