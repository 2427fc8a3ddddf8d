# Products of bf16: by the target's instruction where it was measured to be faster than f32, and right.
. "$top/tests/lib.sh"
unset HONE_TARGET
row='cpu=x;features=fma,avx2,avx512,bf16;l1=32K;l2=1024K;l3=32768K'
awk 'BEGIN {
	print "hone-text 1\nmodule ir=10 opset=28"
	printf "const w = bf16[64,48] ["
	for (i = 0; i < 64 * 48; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101 - 50) / 64
	print "]\ngraph main {\n  input x: bf16[9,64]\n  y = MatMul(x, @w)\n  output y = y\n}"
}' >m.txt
ge-load m.txt | ge-shape | ge-fuse | ge-layout -o m.g
# lib STEM TARGET
lib() { ge-plan --target "$2" m.g 2>/dev/null | ge-emit --quiet --target "$2" -o "$1" - >log 2>err; }
lib slow "$row" && [ -s slow.c ] && ! grep -q 'vdpbf16ps(' slow.c
ok $? "not known to be faster: multiply-adds"
lib low "$row;rates=fma512:200,vdpbf16ps:110" && [ -s low.c ] && ! grep -q 'vdpbf16ps(' low.c
ok $? "known to be slower: the same"
lib fast "$row;rates=fma512:118,vdpbf16ps:236" && grep -q 'vdpbf16ps(' fast.c
ok $? "known to be faster: the dot product"
grep -q '^SUMS_STAY ' fast.c && ! grep -q SUMS_STAY slow.c
ok $? "whose sums stay in registers"
# What was rounded to bf16 on the way may be a step of bf16 off, whatever the result's type.
tune-op --task 'Conv{pads=1,1,1,1 strides=2,2} bf16 1x64x28x28@0,2,3,1 128x64x3x3c 128c; Cast{to=1} %0; Relu %1 -> %2@0,2,3,1' --kb none --trials 2 >records 2>err
grep -q '^verdict' records && ! grep -q '^verdict wrong' records
ok $? "a result of f32 that was bf16 is right in steps of bf16"
# A convolution of 3x3: by Winograd's algorithm in f32, or by the instruction, whichever counting says is faster at the measured rates.
awk 'BEGIN {
	print "hone-text 1\nmodule ir=10 opset=28"
	printf "const w = bf16[64,64,3,3] ["
	for (i = 0; i < 64 * 64 * 9; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101 - 50) / 64
	print "]\ngraph main {\n  input x: bf16[1,64,28,28]\n  c = Conv(x, @w){pads=[1,1,1,1]}\n  y = MaxPool(c){kernel_shape=[2,2] strides=[2,2]}\n  output y = y\n}"
}' >c.txt
ge-load c.txt | ge-shape | ge-fuse | ge-layout -o c.g
of_conv() { ge-plan --target "$2" c.g 2>/dev/null | ge-emit --quiet --target "$2" -o "$1" - >log 2>err; }
of_conv little "$row;rates=fma512:118,vdpbf16ps:140" && [ -s little.c ] && ! grep -q 'vdpbf16ps(' little.c
ok $? "a little faster: Winograd's algorithm takes less time"
of_conv eight "$row;rates=fma512:118,vdpbf16ps:944" && grep -q 'vdpbf16ps(' eight.c
ok $? "eight times as fast: the instruction does"
sed -n '/^__attribute.* k01(/,/^}/p' little.c >pool.c
grep -q 'vmax(' pool.c && ! grep -q 'bf16_put(' pool.c
ok $? "the greatest of windows: in vectors"
grep -q ' avx512_bf16 ' /proc/cpuinfo || skip_all "what it computes" "no AVX512_BF16 here"
equal --tol 0.01 fast.so m.g
ok $? "it computes the same but for rounding"
printf '%s;rates=fma512:118,vdpbf16ps:236\n' "$(run-dev --probe --json --seconds 0.1 >/dev/null; sed -n '1s/;rates=.*//p' "$XDG_DATA_HOME/hone/rates")" >rates
HONE_RATES=$PWD/rates lib here native && grep -q 'vdpbf16ps(' here.c && equal --tol 0.01 here.so m.g
ok $? "the file of rates says so of this machine"
done_testing
