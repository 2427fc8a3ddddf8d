# The error of sums of many lengths, in every layout, against that of pairwise sums.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, numpy')
if [ -z "$python" ]; then
	skip_all "sums" "no python with onnx and numpy (HONE_PYTHON)"
fi
within "$python" -B "$top/tests/lower/sums.py" 100 300 1000 3000 10000 65536 300000
done_testing
