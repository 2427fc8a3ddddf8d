# Memory that tools take for a model's weights: they stay in the file that they are in, and go from it to what is written one at a time.
. "$top/tests/lib.sh"
weights=6 # of 16 MB; what all arenas of a tool may take is less than two
export HONE_MEMORY=24M
{
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst one = f32[] [1]\nconst small = f32[] [1e-9]\nconst square = i64[2] [2048, 2048]\n'
	for i in $(seq $weights); do printf 'const from%d = f32[] [%d]\nconst to%d = f32[] [%d]\n' "$i" "$i" "$i" $((i + 4194304)); done
	printf 'graph main {\n  input x: f32[2,2048]\n  y0 = Relu(x)\n'
	for i in $(seq $weights); do
		printf '  r%d = Range(@from%d, @to%d, @one)\n  s%d = Mul(r%d, @small)\n  w%d = Reshape(s%d, @square)\n  y%d = MatMul(y%d, w%d)\n' "$i" "$i" "$i" "$i" "$i" "$i" "$i" "$i" $((i - 1)) "$i"
	done
	printf '  output y = y%d\n}\n' $weights
} | ge-load | ge-shape | env -u HONE_MEMORY ge-fold -q --limit=32M | ge-prune -q | ge-export -q -o weights.onnx
bytes=$(wc -c <weights.onnx)
[ "$bytes" -gt $((weights << 24)) ]
ok $? "a model whose weights lie at any place of its file"

# largest WHAT BYTES COMMAND...: the largest of its processes takes at most so many bytes, what it maps included.
largest() {
	local what=$1 bytes=$2
	shift 2
	[ -z "${ASAN_OPTIONS-}" ] || { skip "$what" "sanitizers keep what was freed"; return; }
	command -v python3 >/dev/null || { skip "$what" "no python3"; return; }
	nothing "$what" "$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[2:], check=True)
took = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if took > int(sys.argv[1]): print(took, "bytes")' "$bytes" "$@" 2>&1)"
}

# most WHAT COMMAND...: at most 1.3 of the weights.
most() {
	local what=$1
	shift
	"$@" 2>err
	ok $? "$what" && largest "$what: the memory of the largest process" $((bytes / 10 * 13)) "$@"
}
most "a build" hone build -q weights.onnx -o build
env -u HONE_MEMORY run-cmp build.so weights.onnx >cmp.log 2>err
ok $? "a build: the numbers"
cat >maps.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "build.h"
int main(void)
{
	build *m = build_open("build.weights", NULL);
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];
	while (m && f && fgets(line, sizeof line, f))
		if (strstr(line, "build.weights"))
			printf("%lu\n", strtoul(line, NULL, 16) % (2 << 20));
	build_close(m);
}
END
${CC:-cc} -I. -o maps maps.c build.a -lm && is "$(./maps)" 0 "its weights lie where a large page begins"
most "simplified" hone simplify -q --no-check weights.onnx simple.onnx
most "simplified, weights beside it" hone simplify -q --no-check weights.onnx --external simple.bin beside.onnx
ge-import weights.onnx -o weights.g
most "packed" ge-pack weights.g -o packed.g
unset HONE_MEMORY

# Weights in blocks become codes and scales of ONNX one tensor at a time.
python=${HONE_PYTHON:-python3}
if "$python" -c 'import numpy' 2>/dev/null; then
	"$python" -B "$top/tests/model/gguf_models.py" llama blocks.gguf Q4_K layers=5 width=1024 inner=2816 heads=16 groups=4
	for how in --quiet --keep-foreign; do largest "a GGUF file, $how: the bytes that it has" "$(wc -c <blocks.gguf)" ge-import -q $how blocks.gguf -o blocks.g; done
else
	skip "a GGUF file" "no python with numpy (HONE_PYTHON)"
fi

# What a plan keeps of a kernel is little: here of 1,000.
{
	printf 'hone-text 1\nmodule ir=10 opset=28\n'
	for i in $(seq 1000); do printf 'const c%d = f32[] [%d.5]\n' "$i" "$i"; done
	printf 'graph main {\n  input x: f32[8,8]\n  v0 = Relu(x)\n'
	for i in $(seq 1000); do printf '  s%d = Softmax(v%d)\n  a%d = Add(s%d, @c%d)\n  v%d = Transpose(a%d) {perm=[1,0]}\n' "$i" $((i - 1)) "$i" "$i" "$i" "$i" "$i"; done
	printf '  output y = v1000\n}\n'
} | ge-load | ge-shape | ge-fuse -q | ge-layout -q -o kernels.g
ge-plan kernels.g 2>&1 -o planned.g | grep -q ' 1002 distinct;'
ok $? "a plan of 1,000 kernels"
largest "a plan of 1,000 kernels: its memory" 40000000 ge-plan -q kernels.g -o planned.g
done_testing
