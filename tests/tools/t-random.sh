# Random models give ONNX Runtime's numbers: after the passes, compiled, and with sizes left free. The seeds are
# fixed; make soak runs others.
. "$top/bench/find.sh"
python=$(python_with onnxruntime)
if [ -z "$python" ] || ! "$python" -c 'import onnx' 2>/dev/null; then
	echo "ok - random models # SKIP no python with onnx and onnxruntime (HONE_PYTHON)"
	exit 0
fi
if "$python" -B "$top/tests/tools/random_models.py" --seeds 25 --no-shrink --keep . >out 2>&1; then
	echo "ok - random models: $(tail -n 1 out)"
else
	echo "not ok - random models"
	cat out
fi
