# Random models against ONNX Runtime, as libraries of known sizes and of open ones. SEEDS, FIRST: other numbers. What fails is cut
# down and left in build/soak.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with onnxruntime)
if [ -z "$python" ] || ! "$python" -c 'import onnx' 2>/dev/null; then
	skip_all "random models" "no python with onnx and onnxruntime (HONE_PYTHON)"
fi
for sizes in known open; do
	option=$([ $sizes = known ] || echo --open)
	"$python" -B "$top/tests/tools/random_models.py" $option --first "${FIRST:-1}" --seeds "${SEEDS:-1000}" --keep "$top/build/soak/$sizes" >out
	ok $? "random models, $sizes sizes: $(tail -n 1 out)" || grep -A 3 ': failed: ' out | sed 's/^/# /'
done
done_testing
