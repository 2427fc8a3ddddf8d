# CASES of ONNX's conformance cases on AArch64, drawn by SEED: evaluated, after each pass, exported, as libraries, all by programs of the
# tree that the emulator runs. They do as well as doc/conformance.tsv says of this machine. Most of what a program takes there is its
# start, so up to 15 cases are one model. For make check-aarch64 CASES=N.
. "$top/tests/lib.sh"
. "$top/tests/cross/cross.sh"
. "$top/bench/find.sh"
python=$(python_with 'onnx, onnxruntime, ml_dtypes') || skip_all "conformance cases on AArch64" "no python with onnx, onnxruntime and ml_dtypes: make peers"
emulated_programs programs
prepared $? "programs"
"$python" -B "$top/tests/conformance/conformance.py" -j "$(nproc)" --out "$PWD/out" --programs "$PWD/programs" \
	--together 15 --draw "${CASES:-300}" --seed "${SEED:-1}" --against "$top/doc/conformance.tsv" >said 2>err
code=$?
cat said
[ $code = 0 ] && [ "$(wc -l <out/conformance.tsv)" -gt 1 ]
ok $? "${CASES:-300} cases, seed ${SEED:-1}: each does as well as here"
done_testing
