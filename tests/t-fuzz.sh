# The fuzz targets on their seeds and mutants of them, the same in every run (MUTANTS: of each); make fuzz builds them for libFuzzer.
seeds=$top/tests/fuzz/seeds
mkdir text stream onnx
i=0
for model in "$top"/tests/simplify/*.txt; do
	[ $((i += 1)) -le 6 ] || break
	cp "$model" "text/$i"
	ge-load "$model" -o "stream/$i" 2>/dev/null && ge-export "stream/$i" -o "onnx/$i" 2>/dev/null
done
ge-import "$top/examples/digits/digits.onnx" -o stream/digits && ge-dump stream/digits >text/digits
for target in "$top"/tests/fuzz/*.c; do
	target=$(basename "$target" .c) mutants=${MUTANTS:-3000}
	[ -z "${ASAN_OPTIONS-}" ] || mutants=${MUTANTS:-300} # slow there
	case $target in
	kb) set -- "$top/tests/kb/v1.txt" ;;
	text | stream | onnx) set -- "$target"/* ;;
	*) set -- "$seeds/$target"/* ;;
	esac
	[ "$target" != schedule ] || mutants=$((mutants / 6))
	if "$top/build/fuzzed/$target" "$mutants" "$@" >out 2>err; then
		echo "ok - $target: $(cat out)"
	else
		echo "not ok - $target: ended with $?"
		tail -3 err | sed 's/^/# /'
		od -c culprit 2>/dev/null | head -20 | sed 's/^/# /'
	fi
	rm -f culprit
done
