# Libraries for --target generic: C without a word of any CPU, which computes the same.
. "$top/tests/lib.sh"
export HONE_KB=$PWD/kb
unset HONE_TARGET
model=$top/examples/digits/digits.onnx

hone build "$model" --quiet --set batch=3 --threads 2 --target generic -o any/any 2>err && equal any/any.so "$model" --set batch=3
ok $? "a library for any CPU computes the same"
grep -q '^#define VL 4 ' any/any.c && ! grep -qE '__builtin_ia32|__SSE|__AVX|x86|-march' any/any.c
ok $? "its C names no CPU"
HONE_TARGET=generic tune-op --quiet --trials 1 --kb none --task 'MatMul f32 8x8 8x8c' >records 2>err && grep -q '^target .*arch=generic' records && [ ! -s err ]
ok $? "a machine passes for any"
HONE_TARGET=generic run-dev --serve --target x86-64 </dev/null >/dev/null 2>err
[ $? = 69 ] && grep -q 'this machine lacks x86' err
ok $? "which then is none of x86: 69"
for tool in ge-emit ge-plan run-dev kb; do
	"$tool" --help | tr -s ' \n' '  ' | grep -qF "$(ge-emit --target none 2>&1 | sed 's/.*there are //')"
	ok $? "$tool --help names all targets"
done
done_testing
