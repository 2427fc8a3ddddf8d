# Random quantised patterns of many seeds through ge-integer (tests/passes/quantised.py), and chains of layers (rounds.py).
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
"$python" -c 'import onnxruntime, onnx' 2>/dev/null || skip_all "quantised patterns" "no python with onnx and onnxruntime (HONE_PYTHON)"
for seed in 2 3 4 5 6 7 8; do
	within "$python" -B "$top/tests/passes/quantised.py" --each 200 --seed $seed
done
within "$python" -B "$top/tests/passes/rounds.py" --seeds 100:300
within "$python" -B "$top/tests/passes/rounds.py" --seeds 300:320 --libraries native
done_testing
