# A runner of another target than this machine: code and schedules are made for the runner's.
. "$top/tests/lib.sh"
export HONE_KB=$PWD/kb
unset HONE_TARGET # this machine as it is, and lesser ones
task='MatMul f32 64x96 96x128c'

run-dev --serve --target pdp11 </dev/null 2>err
[ $? = 64 ] && grep -q 'target=pdp11: there are native, ' err
ok $? "a target that is none: 64, those there are"
run-dev --serve --target 'cpu=x;features=fma,avx2,avx512,vnni,fp16;l1=1K;l2=1K;l3=1K;cores=1' </dev/null >out 2>err
code=$?
{ [ $code = 0 ] && grep -q avx512_fp16 /proc/cpuinfo; } || { [ $code = 69 ] && grep -q 'this machine lacks .*fp16' err; }
ok $? "features that are not here: 69, named"
HONE_TARGET=pdp11 run-dev --serve </dev/null 2>err
[ $? = 64 ] && grep -q 'HONE_TARGET=pdp11: there are native, ' err
ok $? "HONE_TARGET: the same"
run-dev --target x86-64 none.so 2>err
[ $? = 64 ]
ok $? "--target without --serve: 64"
hone build "$top/examples/digits/digits.onnx" --quiet --set batch=1 --target scalar -o one/m 2>err &&
	run-cmp one/m.so "$top/examples/digits/digits.onnx" --set batch=1 >log && grep -q ' equal$' log
ok $? "a CPU without vectors: one lane"
grep -q ' avx2 ' /proc/cpuinfo || skip_all "a lesser target" "no AVX2 here"

# The driver is wrapped, so that it is run itself and looks at what it compiles.
real=${CC:-gcc}
cat >cc <<END
#!/bin/sh
case "\$*" in *'###'*) exit 1 ;; esac
for word; do case \$word in *.c) grep -q '#define VL 8 ' "\$word" || { echo "error: other vectors" >&2; exit 1; } ;; esac; done
case "\$*" in *-march=x86-64-v3*.c*) ;; *.c*) echo "error: for another machine" >&2; exit 1 ;; esac
exec $real "\$@"
END
chmod +x cc
lesser='run-dev --serve --target x86-64-v3'
CC=$PWD/cc tune-op --quiet --runner "$lesser" --trials 3 --task "$task" >records 2>err
[ $? = 0 ] && [ "$(grep -c '^verdict [fstu]' records)" -ge 1 ]
ok $? "tuned on a runner of AVX2"
grep '^target ' records | sort -u >targets
[ "$(grep -c . targets)" = 1 ] && grep -q ';features=fma,avx2;' targets
ok $? "records carry its target"
[ "$(grep -c '^why error: ' records)" = 0 ] && grep -q "compiler=$PWD/cc" targets
ok $? "compiled for it, vectors as wide as its own"
if command -v ld.lld >/dev/null; then # it writes beside the file it is given
	mkdir lld && ln -s "$(command -v ld.lld)" lld/ld
	CC="gcc -B$PWD/lld/" tune-op --quiet --trials 3 --task "$task" >linked 2>err
	is "$? $(grep -c '^why ' linked) $(grep -c '^verdict [fstu]' linked | sed 's/^[1-9][0-9]*$/some/')" "0 0 some" "the linker is LLVM's"
else
	skip "the linker is LLVM's" "no ld.lld here"
fi
kb put --quiet <records
before=$(kb dump | grep -c '^kind kernel')
CC=$PWD/cc tune-op --runner "$lesser" --trials 3 --task "$task" >again 2>err
[ $? = 0 ] && [ ! -s again ] && grep -q ' 0 trials timed' err
ok $? "again: known, nothing is timed"
grep -q ' avx512vl ' /proc/cpuinfo || skip_all "two targets" "no AVX-512 here"
tune-op --quiet --trials 1 --task "$task" >records && kb put --quiet <records &&
	[ "$(kb dump | grep '^target ' | sort -u | grep -c .)" = 2 ] && [ "$(kb dump | grep -c '^kind kernel')" -gt "$before" ]
ok $? "another target has records of its own"
tune-op --quiet --runner "$lesser" --runner 'run-dev --serve' --trials 1 --task "$task" >none 2>err
[ $? = 69 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'tune for each in a run of its own' err && [ ! -s none ]
ok $? "runners of two targets: 69, both named"

# Libraries for another target: made here, run here.
model=$top/examples/digits/digits.onnx
hone build "$model" --quiet --set batch=1 --target x86-64-v3 -o v3 2>err && grep -q -e '-march=x86-64-v3' v3.c && grep -q '^#define VL 8 ' v3.c &&
	equal v3.so "$model" --set batch=1
ok $? "hone build --target: a library for AVX2 computes the same"
hone build "$model" --quiet --set batch=1 --target x86-64 -o v1 2>err && ! grep -q -e '-march=' v1.c && equal v1.so "$model" --set batch=1
ok $? "and one without vectors beyond SSE2"
hone build "$model" --set batch=1 --target 'cpu=x;features=fma,avx2,avx512,vnni,fp16;l1=32K;l2=512K;l3=8192K;cores=4' -o far --keep >/dev/null 2>err
code=$?
[ $code != 0 ] || grep -q 'it lacks avx512fp16' far.c
ok $? "one for a machine that is only described says what it needs"
awk 'BEGIN { print "hone-text 1\nmodule ir=8 opset=17"; printf "const w = f32[96,64,1,1] ["
	for (i = 0; i < 6144; i++) printf "%s%g", i ? ", " : "", (i * 7919 % 1999 - 999) / 999
	print "]\ngraph main {\n  input x: f32[1,64,10,10]\n  y = Conv(x, @w)\n  output y = y\n}" }' | ge-load -o conv.g
for fma512 in '' 'fma512=1;' 'fma512=2;'; do
	hone build conv.g --target "cpu=x;features=fma,avx2,avx512;${fma512}l1=32K;l2=512K;l3=8192K;cores=4" -o "wide$fma512/wide" --keep >/dev/null 2>err
done
cmp wide/wide.c 'widefma512=2;/wide.c' && ! cmp -s wide/wide.c 'widefma512=1;/wide.c'
ok $? "multiply-adds of 64 bytes a cycle: one has other schedules, two is the usual"
if grep -q ' avx512vl ' /proc/cpuinfo; then
	equal './widefma512=1;/wide.so' conv.g
	ok $? "and they compute the same"
fi
hone build "$model" --set batch=1 --target "cpu=x;features=fma;fma512=9;l1=32K;l2=512K;l3=8192K;cores=4" -o never 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ]
ok $? "nine of them: 64"
for quiet in "" --quiet; do
	HONE_KB=$PWD/kb2 hone tune "$model" $quiet --set batch=1 --runner "$lesser" --only Gemm --trials 2 -o tuned >out 2>err && [ ! -s err ] &&
		grep -q -e '-march=x86-64-v3' tuned.c && equal tuned.so "$model" --set batch=1
	ok $? "hone tune $quiet --runner: the library is for the runner's target"
done
HONE_KB=$PWD/kb2 hone tune "$model" --quiet --set batch=1 --target x86-64-v3 --model none --only Gemm --trials 2 -o named/tuned 2>err &&
	for c in named/tuned.c tuned.c; do # without times that were predicted, which a runner's target has none of
		sed '/^#define MADE_OF /d; /^static const struct hone_step /,/^};/d' $c >$c.code
	done && cmp named/tuned.c.code tuned.c.code
ok $? "--target: the same, this machine passes for it"
# Whatever was faster here: a record of that target is made one.
kb dump --kb kb2 | twice_as_fast '\ntrace # trace.*\nverdict (slower|faster|tie|unsure)' >better
traces() { kb apply --quiet --kb "$1" --target x86-64-v3 tuned.d/*-layout.g | ge-dump | grep -c 'trace="# trace'; }
[ -s better ] && kb put --quiet --kb kb3 <better && [ "$(traces kb3)" = 1 ] && kb put --quiet --kb kb4 </dev/null && [ "$(traces kb4)" = 0 ]
ok $? "kb apply --target finds its records"
hone tune "$model" --set batch=1 --target x86-64-v3 --runner fake -o never 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e never.so ]
ok $? "--target and --runner: 64"
ge-plan --target pdp11 tuned.d/*-layout.g >never.g 2>err
[ $? = 64 ] && ge-emit --target pdp11 tuned.d/*-plan.g -o never 2>>err
[ $? = 64 ] && [ "$(grep -c 'target=pdp11: there are' err)" = 2 ]
ok $? "a target that is none: 64"
done_testing
