# Compiled models give the numbers of the evaluator and of ONNX Runtime: max|y-r| / max|r| at most 1e-4 on ten
# random inputs, which change the output by more than 10% of its scale; no kernel on a slow path. The models
# are those of bench/models.txt that are in HONE_MODELS (directories, divided by ":"; without it build/models).
. "$top/bench/find.sh"
python=$(python_with onnxruntime)

# The pass order of hone build; what ge-plan and ge-emit say goes to ./said.
build() { # FILE SIZES
	ge-import -q "$1" | ge-shape -q ${2:+--set "$2"} | ge-simplify | ge-fold | ge-simplify | ge-cse | ge-prune | ge-fuse | ge-layout -o model.g &&
		ge-plan model.g -o planned.g 2>said && ge-emit planned.g -o model 2>>said
}

for name in $(model_names); do
	file=$(model_path "$name") sizes=$(model_sizes "$name") range=$(model_ranges "$name")
	if [ -z "$file" ]; then
		echo "ok - $name # SKIP $name.onnx is not in HONE_MODELS (bench/models.py makes some)"
		continue
	fi
	if ! build "$file" "$sizes" 2>err; then
		echo "not ok - $name is compiled"
		cat err said
		continue
	fi
	if grep 'slow path\|plain loops' said; then
		echo "not ok - $name: a kernel on a slow path"
	else
		echo "ok - $name: no slow path"
	fi
	if run-cmp --runs=10 --change=0.1 ${sizes:+--set "$sizes"} model.so "$file" >cmp 2>&1; then
		echo "ok - $name: the evaluator's numbers on ten inputs"
	else
		echo "not ok - $name: the evaluator's numbers on ten inputs"
		cat cmp
	fi
	if [ -z "$python" ]; then
		echo "ok - $name: ONNX Runtime's numbers # SKIP no python with onnxruntime (HONE_PYTHON)"
	elif "$python" -B "$top/bench/peers.py" --rounds=0 ${range:+--range "$range"} "$file" model.so >cmp 2>&1; then
		echo "ok - $(cat cmp)"
	else
		echo "not ok - $name: ONNX Runtime's numbers on ten inputs"
		cat cmp
	fi
	rm -f model.* planned.g
done
