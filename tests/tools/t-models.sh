# Compiled models give the numbers of the evaluator and of ONNX Runtime: max|y-r| / max|r| at most 1e-4 on ten random inputs, and at
# most a thousandth of what the output changes by between two of them; no kernel on a slow path, but where the list says so. The
# models are those of bench/models.txt that are in HONE_MODELS (directories, divided by ":"; without it build/models).
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with onnxruntime)

# The pass order of hone build; what ge-plan and ge-emit say goes to ./said.
build() { # FILE STEM OPTIONS OPTIONS-OF-GE-PLAN
	hone passes -q $3 --until layout "$1" -o "$2.g" &&
		ge-plan $4 "$2.g" -o "$2.planned" 2>said && ge-emit "$2.planned" -o "$2" 2>>said && [ -s "$2.so" ]
}

# An output that does not depend on its input proves nothing, and one that hardly does (a classifier of bytes, given random bytes)
# little: the less it changes, the less it may differ.
proven() { # ARGUMENT...: of run-cmp, whose table is in ./cmp
	for change in 0.1 0.01 0.001; do
		run-cmp --runs=10 --change=$change --tol="${change}e-3" "$@" >cmp 2>&1 && grep -q ' equal$' cmp && return
	done
	return 1
}

worst() { awk 'NR > 1 && $3 > most { most = $3 } END { print "max|y-r|/max|r|", most }' cmp; }

changes_by() { # HOW MUCH: a model whose output does
	printf 'hone-text 1\nmodule ir=8 opset=17\nconst k = f32[] [%s]\nconst one = f32[] [1]\n%s\n' "$1" 'graph main {
  input x: f32[64]
  t = Tanh(x)
  y = Mul(t, @k)
  z = Add(y, @one)
  output z = z
}' | ge-load | ge-shape
}
changes_by 0 >constant.g && changes_by 0.002 >hardly.g && proven hardly.g hardly.g && ! proven constant.g constant.g && grep -q 'proves little' cmp &&
	! proven constant.g hardly.g && grep -q DIFFERENT cmp
ok $? "an output that does not depend on its input proves nothing"

for name in $(model_names); do
	file=$(model_path "$name") options=$(model_options "$name") range=$(model_ranges "$name")
	if [ -z "$file" ]; then
		skip "$name" "$name.onnx is not in HONE_MODELS (bench/models.py makes some)"
		continue
	fi
	kernels=--no-fallback
	! model_names slow | grep -qx "$name" || kernels=
	if ! build "$file" "$name" "$options" $kernels 2>err; then
		ok 1 "$name is compiled"
		cat err said
		continue
	fi
	if grep 'plain loops' said; then
		ok 1 "$name: a kernel's trace does not apply"
	else
		ok 0 "$name: ${kernels:+all kernels, }their traces apply"
	fi
	if proven $options "$name.so" "$file"; then
		ok 0 "$name: the evaluator's numbers on ten inputs, $(worst)"
	else
		ok 1 "$name: the evaluator's numbers on ten inputs"
		cat cmp
	fi
	if [ -z "$python" ]; then
		skip "$name: ONNX Runtime's numbers" "no python with onnxruntime (HONE_PYTHON)"
	elif [ -n "${ASAN_OPTIONS-}" ]; then
		skip "$name: ONNX Runtime's numbers" "python does not load a library with a sanitizer"
	elif "$python" -B "$top/bench/peers.py" --rounds=0 $options ${range:+--range "$range"} "$file" "$name.so" >cmp 2>&1; then
		ok 0 "ONNX Runtime's numbers: $(cat cmp)"
	else
		ok 1 "$name: ONNX Runtime's numbers on ten inputs"
		cat cmp
	fi
	rm -f "$name".*
done

# A sample of ONNX's test models, compiled: those whose operators have kernels. All inputs are random; what
# refuses such axes, or answers NaN or zeros alone, is left out.
data=/usr/share/libonnx-testdata/data
if [ ! -d $data ]; then
	skip_all "ONNX's test models" "needs libonnx-testdata"
fi
i=0 equal=0
for file in $data/node/*/model.onnx; do
	i=$((i + 1))
	[ $((i % 16)) -eq 0 ] && build "$file" model "" --no-fallback 2>err || continue
	run-cmp --runs=3 model.so "$file" >cmp 2>&1
	case $? in
	0) ! grep -q ' equal$' cmp || equal=$((equal + 1)) ;;
	1)
		grep 'DIFFERENT' cmp | grep -qv 'in the reference$\|proves nothing$' || continue
		ok 1 "$file"
		cat cmp
		;;
	esac
done
[ $equal -ge 20 ]
ok $? "$equal of ONNX's test models" || echo "# only $equal of ONNX's test models were compared"
done_testing
