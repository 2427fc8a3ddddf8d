# Every program of bench/ still does what it is for: each runs once, as small as it can. What it measures is not looked at.
. "$top/tests/lib.sh"
cd "$top" || exit
. bench/find.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python=${HONE_PYTHON:-python3}
export HONE_BLOBS="$out/blobs"

ran=" "
try() { # NAME PATTERN COMMAND...: ends with 0 and prints a line that has PATTERN
	name=$1 pattern=$2
	ran="$ran${name%% *} "
	shift 2
	if "$@" >"$out/said" 2>&1 && grep -q -e "$pattern" "$out/said"; then
		ok 0 "$name"
	else
		ok 1 "$name"
		tail -5 "$out/said"
	fi
}

pass_over() { # NAME WHY
	ran="$ran$1 "
	skip "$1" "$2"
}

has() { python_has "$python" "$1"; }

# A model of one kernel stands for those that programs look for by name, where how many kernels there are is nothing to them.
export HONE_MODELS="$out/models"
mkdir "$HONE_MODELS" && ge-load -o "$out/one.g" <<'END' && ge-export -q "$out/one.g" -o "$HONE_MODELS/one.onnx"
hone-text 1
module ir=8 opset=17
const w = f32[4,3] [1,2,3,4,5,6,7,8,9,10,11,12]
graph main {
  input x: f32[2,4]
  n = MatMul(x, @w)
  y = Relu(n)
  output y = y
}
END
prepared $? "a model of one kernel"

task='Gemm f32 8x32 32x32c'
try kernels.c 'of peak' build/bench/kernels -r 1 'softmax 1536x128'
try cost.c Spearman build/bench/cost -n 2 'softmax 384x128'
try plan.c 'slack' build/bench/plan 1000
try grads.c '^[^#].*	' build/bench/grads mobilenet_v2 1
try products.c 'times f32' build/bench/products --budget 0.02 24x32x64
hone passes -q --until layout examples/digits/digits.onnx | ge-dump - >"$out/laid.txt"
try sized.c 'geomean' sh -c 'cd "$1" && "$2" laid.txt batch=1 batch=5' sh "$out" "$top/build/bench/sized"
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[4]\n  input s: f32[4]\n  n = Add(s, x)\n  y = Neg(n)\n  output y = y\n  output n = n\n}\n' |
	ge-load -o "$out/state.g" && hone build -q "$out/state.g" -o "$out/plain" && hone build -q "$out/state.g" --alias s=n -o "$out/kept"
try state.c 'kept by the library' build/bench/state "$out/plain.so" "$out/kept.so"
try groups.c 'at most 1.05' build/bench/groups --count 1 --budget 0.01
try runner.c Gemm build/bench/runner --times 2 trip "$task"
try strategies.c random build/bench/strategies --trials 2 --seeds 1 --strategy random --cost-model learned "$task"
try decisions.c '' build/bench/decisions --tries 1 "$task" ku=1
echo "$task" >"$out/corpus.txt"
try corpus.c 'the same text; geometric mean 1.0000' sh -c 'build/bench/corpus --write "$1" "$2" && build/bench/corpus "$1" "$1"' sh "$out/kernels" "$out/corpus.txt"
try corpus.sh 'the same text; geometric mean 1.0000' bench/corpus.sh --every 500 .
try same.sh 'the same: 1 models, [1-9][0-9]* digests' bench/same.sh . . one
hone passes -q --set batch=1 --until layout examples/digits/digits.onnx -o "$out/digits.g"
ge-plan -q "$out/digits.g" | ge-emit -q -o "$out/digits"
cp "$out/digits.so" "$out/again.so" && cp "$out/digits.weights" "$out/again.weights"
try whole.c again build/bench/whole --rounds 1 "$out/digits.so" "$out/again.so"
try several.sh 'of their sum; weights' bench/several.sh -r 1 -t generic,native one
try plans.sh 'geometric means: [0-9.]* of' bench/plans.sh mobilenet_v2
try tools.sh ge-plan bench/tools.sh -r 1 one
try tune.sh 'tuned/default' bench/tune.sh -o "$out/tune" --budget 0.01 --trials 1 --seeds 1 one
ran="${ran}retime.c " # by tune.sh
try heldout.sh 'geometric mean' bench/heldout.sh --tasks 1 --trials 1 --budget 0.01 -o "$out/heldout" "$HONE_MODELS/one.onnx"
ran="${ran}heldout.c " # by heldout.sh
try segments.sh 'usual to itself' env SEGMENTS_SECONDS=1 SEGMENTS_TIMED=0.1 bench/segments.sh digits
try arena.sh one bench/arena.sh one
printf '%s\n' "$task" >"$out/task"
try records.sh ' records$' bench/records.sh --trials 1 -o "$out/records" "$out/task"
awk 'BEGIN { RS = ""; ORS = "\n\n" } NR <= 4' share/kb/winners.txt >"$out/four"
try winners.sh ': 4 records$' bench/winners.sh -o "$out/winners" "$out/four"
try bench.sh 'kernel calls' env HONE_PYTHON=none bench/bench.sh -o "$out/bench" one

# shellcheck disable=SC2015 # try does not fail
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try peers.py 'ratio' "$python" -B bench/peers.py --rounds 1 "$HONE_MODELS/one.onnx" "$out/bench/one.so" ||
	pass_over peers.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxruntime && try session.py ratio "$python" -B bench/session.py examples/digits/digits.onnx --set=batch=1 ||
	pass_over session.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try cliffs.py transpose "$python" -B bench/cliffs.py -o "$out/cliffs" --rounds 1 "transpose | x:512x512" ||
	pass_over cliffs.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try sequences.py 'together' "$python" -B bench/sequences.py -o "$out/sequences" --rounds 1 erase ||
	pass_over sequences.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try open.py 'to static: geomean of 1' "$python" -B bench/open.py --models examples/digits --rounds 1 digits ||
	pass_over open.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxsim && try simplify.py digits "$python" -B bench/simplify.py examples/digits/digits.onnx ||
	pass_over simplify.py 'no python with onnxsim (HONE_PYTHON)'
has tvm,onnxruntime,onnx && [ -z "${ASAN_OPTIONS-}" ] &&
	try metaschedule.py 'default / TVM: ' "$python" -B bench/metaschedule.py -o "$out/metaschedule" --tasks maxpool --seconds 1 --trials 1 --rounds 1 ||
	pass_over metaschedule.py 'no python with tvm, onnxruntime and onnx (HONE_PYTHON)'
# It ends with 1 where one short turn is worse.
has onnxruntime && try readers.py 'geometric mean' sh -c '"$@"; [ $? -le 1 ]' sh "$python" -B bench/readers.py --seconds 0.1 examples/digits/digits.onnx ||
	pass_over readers.py 'no python with onnxruntime (HONE_PYTHON)'

has onnxruntime,onnx && [ -z "${ASAN_OPTIONS-}" ] &&
	try fused.py 'ratio' "$python" -B bench/fused.py -o "$out/fused" --rounds 1 examples/digits/digits.onnx --set=batch=1 ||
	pass_over fused.py 'no python with onnxruntime and onnx (HONE_PYTHON)'
has onnxruntime,torch,transformers && [ -z "${ASAN_OPTIONS-}" ] &&
	try optimised.py geomean "$python" -B bench/optimised.py -o "$out/optimised" --layers 1 --width 64 --rounds 1 bert ||
	pass_over optimised.py 'no python with onnxruntime, torch and transformers (HONE_PYTHON)'
has onnxruntime.quantization && try quantised.py digits_qdq "$python" -B bench/quantised.py -o "$out" --set batch=1 examples/digits/digits.onnx ||
	pass_over quantised.py 'no python with onnxruntime and onnx (HONE_PYTHON)'
has onnx && [ -z "${ASAN_OPTIONS-}" ] && try advice.py '1 of 1 named, 1 first' "$python" -B bench/advice.py 'slow path' ||
	pass_over advice.py 'no python with onnx (HONE_PYTHON)'
has onnx && [ -z "${ASAN_OPTIONS-}" ] &&
	try faults.py '1 faults .* named in 1, .* in 1$' "$python" -B bench/faults.py --count 1 --only 'graph fuse' ||
	pass_over faults.py 'no python with onnx (HONE_PYTHON)'
has onnx && try packed.py w4.onnx "$python" -B bench/packed.py "$out/packed" 2 64 8 ||
	pass_over packed.py 'no python with onnx (HONE_PYTHON)'
has onnxruntime && try shapes.py digits "$python" -B bench/shapes.py --no-run examples/digits/digits.onnx ||
	pass_over shapes.py 'no python with onnxruntime (HONE_PYTHON)'
has onnx && try graphs.py poolformer "$python" -B bench/graphs.py -o "$out/graphs" poolformer_s12 ||
	pass_over graphs.py 'no python with onnx (HONE_PYTHON)'
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try llm.py 'context 4: .*ratio' sh -c 'mkdir "$1" && cd "$1" && "$2" -B "$3/examples/llm/decoder.py" llama m.onnx layers=1 &&
		"$3/examples/llm/build.sh" m.onnx 16 4 && ROUNDS=1 "$2" -B "$3/bench/llm.py" m.onnx 4' sh "$out/llm" "$python" "$top" ||
	pass_over llm.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try decoders.py "f32: 3 of 3 tokens are ONNX Runtime's" env TOKENS=3 SIZES="layers=1 hidden=64 heads=4 groups=2 size=16 inner=96 vocab=50 longest=128 window=16" \
		"$python" -B bench/decoders.py greedy f32 || pass_over decoders.py 'no python with onnxruntime (HONE_PYTHON)'
has onnxruntime && [ -z "${ASAN_OPTIONS-}" ] &&
	try decoders.py 'context 9: .*ratio' env ROUNDS=1 SIZES="layers=1 hidden=64 heads=4 groups=2 size=16 inner=96 vocab=50 longest=192 window=16" \
		"$python" -B bench/decoders.py families --context 9 --level 4 llama || pass_over decoders.py 'no python with onnxruntime (HONE_PYTHON)'
has llama_cpp && [ -z "${ASAN_OPTIONS-}" ] &&
	try llamacpp.py 'prompt of 4: llama.cpp' env ROUNDS=1 SIZES="layers=1 width=256 heads=4 groups=2 size=64 inner=256 vocab=96" \
		"$python" -B bench/llamacpp.py --context 8 --chunk 4 || pass_over llamacpp.py 'no python with llama_cpp (HONE_PYTHON)'
has onnxruntime,skl2onnx && [ -z "${ASAN_OPTIONS-}" ] &&
	try pipelines.py 'geomean' "$python" -B bench/pipelines.py -o "$out/pipelines" --train 200 --rounds 1 KMeans LDA ||
	pass_over pipelines.py 'no python with onnxruntime and skl2onnx (HONE_PYTHON)'
has emx_onnx_cgen && try conformance_peer.py test_abs "$python" -B bench/conformance_peer.py -j 1 --sources wheel --out "$out/emx.tsv" test_abs ||
	pass_over conformance_peer.py 'no python with emx-onnx-cgen (HONE_PYTHON)'
has json && try gears.py 'of the largest alone' env SECONDS=0.02 "$python" -B bench/gears.py build examples/digits/digits.onnx "$out/gears" batch=1 batch=2 ||
	pass_over gears.py 'no python'
LLVM_MCA=no-such bench/mca.py >"$out/said" 2>&1
[ $? = 1 ] && grep -q 'no-such' "$out/said"
ok $? "mca.py: an llvm-mca that is not there is said"
command -v "${HONE_CROSS-aarch64-linux-gnu-}gcc" >/dev/null && command -v llvm-mca-19 >/dev/null &&
	hone build -q examples/digits/digits.onnx --set batch=1 --target aarch64 -o "$out/arm" &&
	try mca.py "of the units' rate" bench/mca.py --cpu neoverse-n1 "$out/arm.so" ||
	pass_over mca.py 'no cross compiler for AArch64, or no llvm-mca'
pass_over lanes.sh 'it wants two free CPUs, for minutes'
pass_over open_models.py 'it fetches wheels and exports networks, for minutes'
pass_over accuracy.py 'it downloads data and trains networks, for minutes'
pass_over trained.py 'it wants models that are not in the tree, and takes minutes'

torch=$(PYTHONPATH='' python_with torch,torchvision)
[ -n "$torch" ] && try models.py '% change\|not checked' "$torch" -B bench/models.py -o "$out" mlp ||
	pass_over models.py 'no python with torch and torchvision'
if [ "$(id -u)" != 0 ] || [ ! -c /dev/net/tun ] || ! unshare -n true 2>/dev/null; then
	pass_over grad.sh 'needs root, network namespaces and /dev/net/tun'
	pass_over torch.sh 'needs root, network namespaces and /dev/net/tun'
else
	try grad.sh 'of predicted' env RATE=4000 MAX=1M SHRINK=200 bench/grad.sh -m mobilenet_v2 -d 1000 -r 1 -n 2 -i 1 -o "$out/grad.tsv"
	[ -n "$torch" ] && try torch.sh 'weights equal to ddp: yes' env MAX=500000 PYTHON="$torch" bench/torch.sh mlp 2 1 100 4000 1 ||
		pass_over torch.sh 'no python with torch and torchvision'
fi

torch2=$(python_with 'torch._dynamo, torchvision, onnx, onnxscript')
[ -n "$torch2" ] && try torch_compile.py '| graph_break' env HONE="$top/bin/hone" PYTHONPATH="$top/clients/python" "$torch2" -B bench/torch_compile.py graph_break ||
	pass_over torch_compile.py 'no python with torch 2, torchvision, onnx and onnxscript'

known=$(sed -n 's/^ABI = \([0-9]*\) .*/\1/p' bench/native.py)
[ -n "$known" ] && grep -q "HONE_MODEL_ABI = $known }" lib/runner/model_abi.h
ok $? "native.py knows the interface of libraries"

for what in bench/*.c bench/*.sh bench/*.py; do
	case $ran in *" ${what#bench/} "*) continue ;; esac
	case ${what#bench/} in find.sh | native.py | quantisers.py | fault_models.py) continue ;; esac # are read by others
	ok 1 "$what is not tried here"
done
done_testing
