# One library with the code for several targets: the CPU's best is taken, or the one that HONE_TARGET names; each computes the same.
. "$top/tests/lib.sh"
export HONE_KB=$PWD/kb
unset HONE_TARGET
model=$top/examples/digits/digits.onnx
[ "$(uname -m)" = x86_64 ] || skip_all "several targets" "those of this test are x86's"
wide=x86-64-v3 near='cpu=near;features=fma,avx2;l1=32K;l2=512K;l3=16384K' lacked='cpu=x;features=fma,avx2,avx512,vnni,fp16,bf16,avxvnni,vbmi;l1=32K;l2=512K;l3=8192K'
grep -q ' avx2 ' /proc/cpuinfo || skip_all "several targets" "no AVX2 here"

# In a library: what lacks is not taken, whatever is asked for.
hone build "$model" --set batch=3 --threads 2 --target x86-64,$wide --target "$near" --target "$lacked" -o all/digits >report 2>err && [ ! -s err ]
ok $? "a library for four targets"
for target in '' x86-64 $wide "$near"; do
	HONE_TARGET=$target equal all/digits.so "$model" --set batch=3 --runs 2
	ok $? "${target:-the best} computes the same"
done
if ! grep -q ' avx512_fp16 ' /proc/cpuinfo; then
	HONE_TARGET=$lacked run-dev all/digits.so -o none.npz 2>err
	[ $? = 69 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'this CPU: it lacks avx512' err
	ok $? "one that this CPU lacks: 69"
fi
HONE_TARGET=x86-64-v2 run-dev all/digits.so -o none.npz 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && grep -qF "compiled for $lacked, $wide, $near, x86-64" err
ok $? "one that the library has not: 64, and those it has, the best first"
[ "$(grep -cF "$lacked, $wide, $near, x86-64" all/digits.h)" = 1 ] && [ "$({ ge-stat all/digits.so && ge-stat all/digits.a; } | grep -cF "$lacked, $wide, $near, x86-64")" = 2 ]
ok $? "the header and ge-stat say them"
size() { grep '^weights' report | grep -o " $1 [0-9]*" | tr -dc '0-9 ' | awk '{ print $NF }'; }
hone build "$model" --quiet --set batch=3 --threads 2 --target x86-64 -o one/digits 2>err
[ "$(size x86-64)" = "$(wc -c <one/digits.weights)" ] && grep -q "^weights $(wc -c <all/digits.weights) bytes for all" report
ok $? "the report says bytes of weights: of each, and of all"
grep -qF "(Fused): $lacked, $wide, $near " report && grep -q "Gemm (Fused): .* in order [^;]*; x86-64 [0-9]* in order [^;]*$" report
ok $? "and the layers whose weights lie otherwise"
[ "$(grep -c '^#define k[0-9]* shared_3_k' all/digits.c)" -ge 2 ] && [ "$(nm all/digits.a | grep -c ' t shared_3_k')" -ge 1 ]
ok $? "of two targets with the same features, equal kernels are there once"
# The code of a target is that of a library for it alone.
kernels() { awk '/^KERNEL void k/ { on = 1 } /^#define NUM_INPUTS/ { exit } on' "$@"; }
sed -n '/^#if TARGET == 4$/,$p' all/digits.c | kernels >of_several && kernels one/digits.c >alone && same of_several alone
ok $? "the kernels are those of a library for that target alone"

# Called from C: handles of two targets side by side, and reasons of what fails.
cat >both.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "all/digits.h"

static digits *opened(const char *target)
{
	setenv("HONE_TARGET", target, 1);
	return digits_open("all/digits.weights", NULL);
}

int main(int argc, char **argv)
{
	static float x[3 * 64], y[3 * 10], z[3 * 10];
	const void *in[] = {x};
	void *to_y[] = {y}, *to_z[] = {z};
	digits *a = opened("x86-64"), *b = opened(""), *none = opened("vax");
	float most = 0;

	for (int i = 0; i < 3 * 64; i++)
		x[i] = (float)(i * 37 % 256) / 256;
	printf("%s %s %d %s\n", digits_target(a), digits_target(b), none != NULL, digits_error());
	printf("%zu %d %d %d\n", digits_input_bytes(0), digits_run(a, in, to_y), digits_run(b, in, to_z), digits_verify(a));
	for (int i = 0; i < 3 * 10; i++)
		most = y[i] - z[i] > most ? y[i] - z[i] : z[i] - y[i] > most ? z[i] - y[i] : most;
	printf("%d %d\n", y[0] != y[1], most < 1e-4);
	digits_close(a);
	printf("%d ", digits_run(a, in, to_y));
	printf("%s\n", digits_error());
	printf("%d %d\n", digits_target(a) != NULL, digits_run(b, in, to_z));
	digits_close(b);
	digits_close(b);
	return 0;
}
END
best=$wide
HONE_TARGET=$lacked run-dev all/digits.so -o best.npz 2>err && best=$lacked # it is the first of the list
cat >said <<END
x86-64 $best 0 HONE_TARGET=vax: the model was compiled for $lacked, $wide, $near, x86-64
768 0 0 0
1 1
-1 handle: another call is in it, or it is not open
0 0
END
${CC:-gcc} -o both both.c all/digits.a -lm -pthread 2>err && ./both >out 2>>err && same out said
ok $? "handles of two targets side by side"

# What options add, for two targets: open sizes, a kept state, integers and strings on two threads; and gears.
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "", i * 37 % 255 - 127 }'; }
cat >many.txt <<END
hone-text 1
module ir=10 opset=21
symbol n 0 inf
const w = f32[8,5] [$(numbers 40)]
const k = i8[8,5] [$(numbers 40)]
const z = u8[] [7]
const tail = str[] ["!"]
const axes = i64[1] [0]
graph main {
  input x: f32[n,8]
  input m: u8[n,8]
  input t: str[n]
  input s: f32[5]
  y = MatMul(x, @w)
  r = ReduceSum(y, @axes) {keepdims=0}
  next = Add(s, r)
  p = MatMulInteger(m, @k, @z)
  u = StringConcat(t, @tail)
  output next = next
  output p = p
  output u = u
}
END
ge-load many.txt -o many.g && hone build many.g --quiet --threads 2 --alias s=next --target x86-64,$wide -o many/m 2>err &&
	hone build many.g --quiet --alias s=next --gears n=2,5 --target x86-64,$wide -o gears/m 2>err
prepared $? "libraries with options"
for target in x86-64 $wide; do
	HONE_TARGET=$target equal many/m.so many.g --set n=7 --runs 2 && HONE_TARGET=$target equal gears/m.so many.g --set n=5 --runs 2
	ok $? "open sizes, a state, integers, strings, threads, gears: right on $target"
done

# What no library can be made for.
bad() {
	hone "$@" "$model" -o never/digits >out 2>err
	[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && [ ! -e never ]
}
many=$(for i in $(seq 17); do printf '%s' "--target cpu=x;features=fma,avx2;l1=32K;l2=512K;l3=${i}K "; done)
bad build --target x86-64,vax && grep -q 'target=vax: there are ' err && bad build --target x86-64,x86-64 && bad build --target x86-64,aarch64 &&
	bad build --target generic --target aarch64 && bad build --target x86-64, &&
	bad build --target $wide --target 'cpu=x;features=avx512;l1=32K;l2=1024K' && grep -q 'avx512 without fma' err && bad build $many && grep -q 'at most 16' err
ok $? "a name that is none, twice the same, another kind of CPU, too many: 64, a line"
bad tune --target x86-64,$wide && bad passes --target x86-64,$wide
ok $? "tune and passes: one at a time"
ge-emit --target x86-64,$wide -o never/digits all/digits.d/*-x86-64.plan.g 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && grep -q '2 targets need 2 graphs' err
ok $? "ge-emit: a graph for each"
hone passes "$model" --quiet --set batch=2 -o other.g 2>err
ge-emit --target x86-64,$wide -o never/digits all/digits.d/*-x86-64.plan.g other.g 2>err
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'their inputs differ' err
ok $? "graphs of two models: 65"
done_testing
