# A million runs of models of open sizes, each at random sizes, fitting and hostile, under address and undefined-behaviour sanitizers;
# what one of library and evaluator refuses, the other refuses, and numbers are compared. MODELS, RUNS of each, FIRST: other numbers.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
. "$top/tests/model/sizes/attack.sh"
python=$(python_with onnxruntime)
[ -n "$python" ] && "$python" -c 'import onnx' 2>/dev/null || skip_all "random sizes" "no python with onnx and onnxruntime (HONE_PYTHON)"
first=${FIRST:-1} models=${MODELS:-30} runs=${RUNS:-34000}
mkdir branches lists && "$python" -B "$top/tests/model/sizes/models.py" "$first" "$models" . && "$python" -B "$top/tests/model/control_models.py" "$first" 3 branches vary &&
	"$python" -B "$top/tests/model/list_models.py" "$first" 3 lists
ok $? "models"
for model in branches/*.onnx; do mv "$model" "b$(basename "$model")"; done
for model in lists/*.onnx; do mv "$model" "l$(basename "$model")"; done
for model in *.onnx; do
	attack "${model%.onnx}" "$runs" "$first"
	rm -f "${model%.onnx}".* "${model%.onnx}".tight.c
done
done_testing
