# Every pass writes the same bytes on AArch64 and here, for models of many kinds: those of HONE_MODELS and of libonnx-testdata, the largest
# of its cases, and texts of tests/passes. For make check-aarch64 CASES=N.
. "$top/tests/lib.sh"
. "$top/tests/cross/cross.sh"
{
	ls "$top"/examples/*/*.onnx "$top"/tests/passes/*/*.txt ${HONE_MODELS:+"$HONE_MODELS"/*.onnx}
	find /usr/share/libonnx-testdata -name model.onnx -size +3k -printf '%s %p\n' | sort -k1nr -k2 | head -n 30 | cut -d' ' -f2
} 2>/dev/null >models
while read -r model; do
	# What is wrong on purpose neither of them reads.
	{ case $model in *.txt) ge-load "$model" ;; *) ge-import "$model" ;; esac } >none 2>err || continue
	same_passes "$model" </dev/null
done <models
done_testing
