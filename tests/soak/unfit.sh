# Every operator with everything that does not fit it; and what is refused, against onnx (a python that has it: HONE_PYTHON).
. "$top/tests/lib.sh"
within "$top/build/check/unfit" 1
within "$top/build/check/unfit_sizes" "${TRIALS:-1000}" "${SEED:-$(date +%j)}"
# Libraries of all, with open sizes and with values that a run tells, under sanitizers. RUNS of each line of operators.txt.
. "$top/tests/model/sizes/attack.sh"
mkdir each && "$top/build/check/unfit_sizes" models each
for model in each/*.txt; do
	mv "$model" . && attack "$(basename "$model" .txt)" "${RUNS:-1000}" "${SEED:-$(date +%j)}"
	rm -f "$(basename "$model" .txt)".*
done
if "${HONE_PYTHON:-python3}" -c 'import onnx.reference' 2>/dev/null; then
	within "${HONE_PYTHON:-python3}" "$top/tests/op/unfit_onnx.py" "$top/build/check/unfit" "${EVERY:-10}"
else
	skip "as onnx has it" "no onnx for ${HONE_PYTHON:-python3}"
fi
done_testing
