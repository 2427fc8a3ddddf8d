# The evaluator and compiled libraries against others, many times what make check does: random cases by onnx's reference and ONNX
# Runtime, and all conformance cases of the installed onnx, evaluated, lowered and compiled.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, onnxruntime, ml_dtypes, onnx.reference')
if [ -z "$python" ]; then
	skip_all "references" "no python with onnx, onnxruntime and ml_dtypes (HONE_PYTHON)"
fi
within "$python" -B "$top/tests/op/references.py" "$top/build/check/numbers" --first 10000 --cases "${CASES:-20000}"
within "$python" -B "$top/tests/op/native_ops.py" --first 10000 --models "${MODELS:-200}" --native
within "$python" -B "$top/tests/op/schema_ops.py" --first 10000 --models "$((${MODELS:-200} * 10))"
within "$python" -B "$top/tests/op/schema_ops.py" --first 100000 --models "${MODELS:-200}" --native --simplify
"$python" -B "$top/tests/onnx/onnx_cases.py" cases
for t in ops lower; do
	HONE_ONNX_DATA=$PWD/cases "$top/build/check/$t" >out 2>said && ok 0 "onnx's own cases: $t: $(tail -n 1 said)" || grep -h '^not ok' out
done
"$python" -B "$top/tests/conformance/conformance.py" --out conformance --against "$top/doc/conformance.tsv" >table
nothing "conformance cases: no wrong answer, no crash, none worse than in doc/conformance.tsv" "$(grep -E '^(wrong|crash|worse)' table)"
done_testing
