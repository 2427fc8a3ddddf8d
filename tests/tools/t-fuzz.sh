# The fuzz targets on their seeds and mutants of them, the same in every run (MUTANTS: of each); make fuzz builds them for libFuzzer.
. "$top/tests/lib.sh"
seeds=$top/tests/fuzz/seeds
mkdir text stream onnx
i=0
for model in "$top"/tests/passes/simplify/*.txt; do
	[ $((i += 1)) -le 6 ] || break
	cp "$model" "text/$i"
	ge-load "$model" -o "stream/$i" 2>/dev/null && ge-export "stream/$i" -o "onnx/$i" 2>/dev/null
done
ge-import "$top/examples/digits/digits.onnx" -o stream/digits && ge-dump stream/digits >text/digits
mkdir passes model # of all stages, for what goes from a graph to C; and from ONNX files
hone passes -q --set batch=1 --until layout "$top/examples/digits/digits.onnx" -o passes/laid-out && ge-plan -q passes/laid-out -o passes/planned
ge-shape stream/digits | ge-fold | ge-simplify | ge-gears --gears batch=1,4 -o passes/geared
for stage in laid-out planned geared; do ge-dump passes/$stage >passes/$stage.txt; done
cp text/[1-4] passes/
cp onnx/[1-4] "$top/examples/digits/digits.onnx" model/
for op in conv_with_strides_padding loop11 lstm_defaults einsum_batch_matmul resize_downsample_sizes_cubic; do
	cp /usr/share/libonnx-testdata/data/node/test_$op/model.onnx model/$op 2>/dev/null
done
for target in "$top"/tests/fuzz/*.c; do
	target=$(basename "$target" .c) mutants=${MUTANTS:-3000}
	[ -z "${ASAN_OPTIONS-}" ] || mutants=${MUTANTS:-300} # slow there
	case $target in
	kb) set -- "$top/tests/kb/v1.txt" ;;
	text | stream | onnx | passes | model) set -- "$target"/* ;;
	*) set -- "$seeds/$target"/* ;;
	esac
	case $target in
	lines) mutants=$((mutants / 3)) ;;
	schedule | gguf) mutants=$((mutants / 6)) ;;
	alias) mutants=$((mutants / 60)) ;;
	passes | model) mutants=$((mutants / 120)) ;;
	esac
	if "$top/build/fuzzed/$target" "$mutants" "$@" >out 2>err && [ -s out ]; then
		ok 0 "$target: $(cat out)"
	else
		ok 1 "$target: ended with $?"
		tail -3 err | sed 's/^/# /'
		od -c culprit 2>/dev/null | head -20 | sed 's/^/# /'
	fi
	rm -f culprit
done
done_testing
