# The error of long sums, in every layout, against that of pairwise sums. make soak has more lengths.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, numpy')
if [ -z "$python" ]; then
	skip_all "sums" "no python with onnx and numpy (HONE_PYTHON)"
fi
within "$python" -B "$top/tests/lower/sums.py"
done_testing
