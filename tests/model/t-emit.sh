# ge-emit and run-dev: the digits model end to end against the evaluator; what the files promise.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx

hone passes -q --set batch=1 --until fuse "$model" -o digits.g
ge-plan --quiet digits.g -o planned.g
ge-emit planned.g -o digits && [ -s digits.so ]
ok $? "the digits model is compiled"
ls >list
for suffix in c h so a weights; do grep -qx "digits.$suffix" list; ok $? "there is digits.$suffix"; done
[ -s digits.c ] && ! ls -a | grep -q ge-emit-
ok $? "nothing temporary is left"
equal --runs 10 --change 0.1 digits.so planned.g
ok $? "its numbers are the evaluator's, on ten inputs"

# The same bytes from another directory, locale, number of jobs, and under another name of the directory.
mkdir -p "other place"
(cd "other place" && LC_ALL=C.UTF-8 ge-emit -j 1 ../planned.g -o digits)
same=0
suffixes='c h weights so a'
[ -z "${ASAN_OPTIONS-}" ] || suffixes='c h weights' # the sanitizer puts names of files into objects
for suffix in $suffixes; do cmp digits.$suffix "other place/digits.$suffix" || same=1; done
ok $same "another directory and one job: the same bytes"

# The C file compiles whole too, without warnings, and both kinds of library work from C.
cat >main.c <<'END'
#include <stdio.h>
#include "digits.h"
int main(int argc, char **argv)
{
	struct hone_opts opts = {.threads = 1};
	digits *m = digits_open(argc > 1 ? argv[1] : "digits.weights", &opts);
	float in[64], out[10];
	int rank;
	if (!m)
		return puts(digits_error()), 1;
	if (digits_num_inputs() != 1 || digits_input_bytes(0) != sizeof in || digits_output_bytes(0) != sizeof out)
		return 2;
	if (digits_output_shape(0, &rank)[1] != 10 || rank != 2)
		return 3;
	for (int i = 0; i < 64; i++)
		in[i] = (float)(i % 17);
	if (digits_run(m, (const void *[]){in}, (void *[]){out}))
		return 4;
	if (!digits_run(m, (const void *[]){NULL}, (void *[]){out}))
		return 5;
	for (int i = 0; i < 10; i++)
		printf("%.5f%c", out[i], i < 9 ? ' ' : '\n');
	digits_close(m);
	return 0;
}
END
flags=$(sed -n 's/.*Compile with: //p' digits.c | head -1)
${CC:-cc} $flags -Wall -Wno-unused-function -Werror main.c digits.c -o whole -lm && ./whole >1
ok $? "the C file compiles in one piece"
${CC:-cc} main.c digits.a -o linked -lm -pthread && ./linked >2 && cmp 1 2
ok $? "the archive gives the same numbers"
nm -g --defined-only digits.a | awk 'NF == 3 && $3 !~ /^digits_/ { bad = 1 } END { exit bad || !NR }'
ok $? "the archive exports the model's own names only"

# A matrix and its transpose, which two kernels want in one order of bytes.
awk 'function matrix(name, turned, i, k) {
	printf "const %s = f32[64,64] [", name
	for (i = 0; i < 64; i++)
		for (k = 0; k < 64; k++)
			printf "%s%d", i + k ? ", " : "", turned ? 64 * k + i : 64 * i + k
	print "]"
}
BEGIN {
	print "hone-text 1\nmodule ir=8 opset=28"
	matrix("w")
	matrix("turned", 1)
	print "graph main {\n  input x: f32[1,64]\n  a = MatMul(x, @w)\n  b = Gemm(a, @turned) {transB=1}\n  output b = b\n}"
}' </dev/null | ge-load | ge-shape | ge-fuse | ge-layout | ge-plan --quiet --target=x86-64-v3 -o packed.g
ge-emit --no-compile --quiet --target=x86-64-v3 --print-traces packed.g -o packed >traces
is "$(grep -c 'layout w' traces) $(wc -c <packed.weights)" "2 $((4096 + 64 * 64 * 4))" "weights of equal bytes in the end are stored once"

ge-emit --embed planned.g -o inside && [ ! -e inside.weights ] && equal inside.so planned.g
ok $? "--embed: no file of weights"
! grep -q 'inside\.weights' inside.h
ok $? "--embed: nor a word of one in the header"
ge-emit -q planned.g -o 0 && [ -s 0.so ]
ok $? "a stem that is a number"
ge-emit --no-compile planned.g -o text && [ -e text.c ] && [ ! -e text.so ]
ok $? "--no-compile: C only"

ge-emit planned.g --print-traces >traces
n=$(grep -c '^# kernel' traces)
[ "$n" -ge 5 ]
ok $? "--print-traces: $n kernels"
ge-emit planned.g --trace traces -o replayed && equal replayed.so planned.g && ge-emit planned.g --trace traces --print-traces | cmp - traces
ok $? "--trace: what was printed is replayed"
grep '^# kernel' traces >plain
ge-emit planned.g --trace plain -o plain && equal plain.so planned.g
ok $? "--trace: empty traces, plain loops, the same numbers"
d=$(head -1 traces)
printf '%s\nsplit nothing.m 4\n' "$d" >bad
ge-emit planned.g --trace bad -o never 2>err
[ $? = 65 ] && [ ! -e never.so ] && grep -q 'line 1: split' err
ok $? "--trace: a line that does not apply is named"

# Faults.
cp digits.weights w && printf x >>w && ./whole w >err
[ $? = 1 ] && grep -q 'cut short' err
ok $? "weights that are too long are refused"
head -c 5000 digits.weights >w && ./whole w >err
[ $? = 1 ] && grep -q 'cut short' err
ok $? "weights that are cut are refused"
./whole main.c >err
[ $? = 1 ] && grep -q 'not a file of weights' err
ok $? "something else is refused as weights"
cat planned.g planned.g | ge-emit -o never 2>err
[ $? = 65 ] && grep -q 'several modules' err
ok $? "two modules: 65"
ge-emit digits.g -o never 2>err
[ $? = 64 ] && grep -q 'ge-plan' err
ok $? "no plan: 64 and what to run"
ge-emit planned.g 2>err
[ $? = 64 ] && grep -q STEM err
ok $? "no stem: 64"
ge-emit planned.g -o no/such/dir/model 2>err
[ $? = 74 ]
ok $? "no such directory: 74"
CC=no-such-compiler ge-emit planned.g -o never 2>err
[ $? = 69 ] && [ ! -e never.so ] && [ ! -e never.c ] && ! ls -a | grep -q ge-emit-
ok $? "no compiler: 69, no files"
unread sh -c 'CC=no-such-compiler ge-emit planned.g -o never 2>&1'
[ $? != 0 ] && ! ls -a | grep -q ge-emit-
ok $? "nor where nobody reads the message"

run-dev digits.so -o y.npz && run-dev digits.so -o y.npy && equal y.npy y.npz
ok $? "run-dev writes .npy and .npz"
run-dev digits.so -i image=y.npy -o z.npz 2>err
[ $? = 65 ] && grep -q 'image' err
ok $? "an input of another shape: 65"
run-dev digits.so -i other=y.npy -o z.npz 2>err
[ $? = 64 ] && grep -q 'other' err
ok $? "an input that is not there: 64"
run-dev main.c -o z.npz 2>err
[ $? = 65 ]
ok $? "not a library: 65"
run-dev missing.so -o z.npz 2>err
[ $? = 66 ]
ok $? "no such library: 66"
mkdir alone && cp digits.so alone && run-dev alone/digits.so -o z.npz 2>err
[ $? = 66 ] && grep -q weights err
ok $? "no weights beside it: 66"
run-dev alone/digits.so --weights digits.weights -o z.npz && equal z.npz y.npz
ok $? "--weights names them"
run-dev digits.so --bench --kernels --seconds 0.2 >bench && grep -q 'min .* median .* p99' bench && grep -q 'of the .* GFLOP/s that FMAs alone' bench
ok $? "--bench: times, and the share of the peak"
run-dev digits.so --bench --profile profile.json --seconds 0.2 --json >bench
if command -v python3 >/dev/null; then
	python3 -c 'import json, sys; r = json.load(sys.stdin); assert r["median"] >= r["min"] > 0 and len(r["kernels"]) >= 5
assert "Conv" in r["steps"][0]["ops"] and r["steps"][0]["bytes"] > 0 and r["memory_rate"] > 0' <bench
	ok $? "--json"
	python3 - <<-'END' # each run has each step, in it and one after the other
		import json
		steps = [s["node"] for s in json.load(open("bench"))["steps"]]
		events = [e for e in json.load(open("profile.json"))["traceEvents"] if e["ph"] == "X"]
		while events:
		    run, parts, events = events[0], events[1:len(steps) + 1], events[len(steps) + 1:]
		    assert run["cat"] == "run" and [e["name"] for e in parts] == steps
		    ends = [e["ts"] + e["dur"] for e in parts]
		    assert all(e["ts"] >= end - 0.01 for e, end in zip(parts[1:], ends)) and ends[-1] <= run["ts"] + run["dur"] + 0.01
	END
	ok $? "--profile: trace events"
else
	skip "--json" "no python3"
	skip "--profile: trace events" "no python3"
fi
run-dev digits.so --profile none/p.json --seconds 0.01 >out 2>err
[ $? = 74 ] && [ "$(wc -l <err)" = 1 ]
ok $? "--profile: a folder that is not there is 74"

for type in i8 u8; do
	printf 'hone-text 1\nmodule ir=8 opset=17\ngraph main {\n  input x: %s[1,2,5,5]\n  y = MaxPool(x) {kernel_shape=[3,3] pads=[1,1,1,1]}\n  output y = y\n}\n' $type |
		ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q -o pool.g && ge-emit pool.g -o pool && equal --tol 0 --range x=$([ $type = u8 ] && echo 3:200 || echo -100:-5) pool.so pool.g
	ok $? "the padding of a pool of $type is its lowest number"
done

# What the file declares, for this model or another, is no model's name: that gets model_ before it.
cat >kept.txt <<'END' # with states, sizes of a run, natives and a branch
hone-text 1
module ir=8 opset=20
symbol k 0 inf
const w = f32[4] [1, 2, 3, 4]
graph yes {
  a = Unique(@w)
  output yes.o = a
}
graph no {
  b = Relu(@w)
  output no.o = b
}
graph main {
  input x: f32[k,4]
  input s: f32[4]
  input c: bool[]
  y = If(c) {else_branch=graph no then_branch=graph yes}
  z = Unique(x) {sorted=1}
  n = Tanh(s)
  output y = y
  output z = z
  output n = n
}
END
declared() {
	lib=$top/lib
	sed -nE 's/.*"static inline [a-z]+ ([a-z_0-9]+)\(.*/\1/p; s/.*"typedef .* ([a-z]+)( __attribute__|;).*/\1/p; s/.*LANE_BY_LANE\("([a-z]+).*/\1/p' \
		$lib/target/*/*.c "$lib/emit/prelude.c" "$lib/loop/math.c" "$lib/loop/instr.c"
	ge-emit --no-compile --embed pool.g -o embeds
	ge-load kept.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q --alias s=n -o kept.g && ge-emit --no-compile --threads 2 kept.g -o keeps
	sed -nE 's/^#define ([A-Za-z_]+).*/\1/p; s/^struct ([a-z_]+) \{.*/\1/p
		s/^(static|struct|const|extern|int|void|KERNEL)[^[(=;{]*[ *]([A-Za-z_][A-Za-z_0-9]*)[[(;= ].*/\2/p' \
		"$top"/lib/source/*.in "$top/lib/runner/model_abi.h" "$top/lib/op/opaque.h" "$top"/lib/op/hone_value.h embeds.c keeps.c | grep -v -e embeds -e keeps -e '^__'
	printf '%s\n' max_f32 min_i64 div_u8 bf16_get k00 k12_3 k12_3_work f_0123456789abcdef transpose8 transpose16_part
}
declared | sort -u >list
"$top/build/check/taken" - <list >free 2>err
prepared $? "the program that asks for names"
sed 's/^/# /' free
[ ! -s free ] && [ "$(wc -l <list)" -gt 100 ] && grep -qx vfu list && grep -qx team_wait list && grep -qx embedded list && grep -qx hone_opaque_run list
ok $? "a model has no name of the file's own"
for name in vl embedded hone_model .model timespec; do
	ge-emit --embed pool.g -o $name && run-dev --quiet ./$name.so -o y.npz || echo "# $name"
done >free 2>&1
cat free
[ ! -s free ] && [ -e .model.a ] && ! ls -a | grep -q ge-emit-
ok $? "stems that such names, or a dot, begin: compiled, nothing temporary is left"
# Stems that headers have as macros, or C for its own: the header compiles beside those of C, has all functions, and who reads the report is told.
for name in open at EPERM NAN M_PI SEEK_SET st_atime O_RDONLY BUFSIZ _Model __model FP_FAST_FMA; do
	ge-emit --no-compile --report pool.g -o $name | grep -q "the functions are model_${name}_open and so on" &&
		grep -q "^int model_${name}_num_inputs(void);" $name.h && ${CC:-cc} -w -fsyntax-only -include $name.h $name.c 2>&1 || echo "# $name"
done >free 2>&1
cat free
[ ! -s free ]
ok $? "stems that are macros of headers, or C's own"
ge-emit --no-compile pool.g -o k8s && grep -q '^typedef struct k8s k8s;' k8s.h &&
	ge-emit --no-compile pool.g -o swin_t && grep -q '^typedef struct swin_t swin_t;' swin_t.h
ok $? "others are left alone"

if command -v clang >/dev/null; then
	CC=clang ge-emit planned.g -o by_clang && equal by_clang.so digits.g
	ok $? "another compiler: clang"
else
	skip "another compiler" "no clang"
fi

# A NaN is more extreme than any number, its index inside the axis, as in numpy.
cat >nan.txt <<'END'
hone-text 1
module ir=8 opset=28
const c = f32[4,3] [1, nan, 2, nan, 1, nan, 3, 1, 2, nan, nan, nan]
const ax = i64[1] [-1]
graph main {
  input x: f32[1]
  a = Abs(x)
  e = Exp(a)
  y = Mul(e, @c)
  first = ArgMax(y) {axis=1}
  last = ArgMax(y) {axis=1 keepdims=0 select_last_index=1}
  least = ArgMin(y) {axis=-1 keepdims=0}
  bottom = ArgMin(y) {axis=0 keepdims=0 select_last_index=1}
  output first = first
  output last = last
  output least = least
  output bottom = bottom
}
END
ge-load nan.txt | ge-shape | ge-fuse | ge-plan --quiet -o nan.g && ge-emit --quiet nan.g -o nan && equal nan.so nan.g
ok $? "ArgMax of NaN: the evaluator's indices; a stem that the C library owns"

# A vector over several operands of a Concat reads each where it is, and nothing before the first.
cat >joined.txt <<'END'
hone-text 1
module ir=8 opset=28
graph main {
  input a: f32[1024,4]
  input b: f32[1024,4]
  y = Concat(a, b, b, a) {axis=-1}
  output y = y
}
END
ge-load joined.txt | ge-shape | ge-fuse | ge-plan --quiet -o joined.g && ge-emit --quiet joined.g -o joined && equal joined.so joined.g
ok $? "Concat inside a vector: reads stay inside their operands"

# NaN goes through Max and Min, on whichever side it is; the bound of one side is a number, of the other it is not.
printf 'hone-text 1\nmodule ir=8 opset=17\nconst c = f32[17] [nan, 1, nan, -3, 9, nan, 0, 0, 7, 8, 9, 1, 2, nan, 4, 5, nan]\nconst z = f32[] [0]\nconst six = f32[] [6]\nconst no = f32[] [nan]\ngraph main {\n  input x: f32[17]\n  s = Add(x, @c)\n  y = Clip(s, @z, @six)\n  w = Max(@z, s)\n  v = Min(@no, s)\n  by = IsNaN(y)\n  bw = IsNaN(w)\n  bv = IsNaN(v)\n  ny = Where(by, @six, y)\n  nw = Where(bw, @six, w)\n  nv = Where(bv, @six, v)\n  output ny = ny\n  output nw = nw\n  output nv = nv\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q -o nan.g && ge-emit nan.g -o nan && run-dev nan.so -o nan.npz && run-ref nan.g -o ref.npz && equal --tol 0 nan.npz ref.npz
ok $? "NaN goes through bounds"
grep -q 'vmax2(vset' nan.c && grep -q 'vmin(vload(' nan.c
ok $? "a bound that is a number takes one instruction"
[ "$(grep -c '^__attribute__((noinline)) KERNEL void k' digits.c)" -ge 5 ]
ok $? "kernels stay functions of their own"
grep -q 'LOADS_STAY;' digits.c
ok $? "what follows a reduction is loaded after it"

# Codes behind a sum are looked up in a table: on a machine of few registers the sums lie in memory by then.
printf 'hone-text 1\nmodule ir=8 opset=17\nconst w = i8[128,96] [%s]\nconst t = u8[256] [%s]\nconst one = f32[] [0.015625]\nconst z = u8[] [128]\ngraph main {\n  input x: u8[39,128]\n  s = MatMulInteger(x, @w)\n  f = Cast(s) {to=1}\n  m = Mul(f, @one)\n  q = QuantizeLinear(m, @one, @z)\n  i = Cast(q) {to=6}\n  y = Gather(@t, i)\n  output y = y\n}\n' \
	"$(awk 'BEGIN { for (i = 0; i < 12288; i++) printf "%s%d", i ? ", " : "", i * 37 % 201 - 100 }')" "$(awk 'BEGIN { for (i = 0; i < 256; i++) printf "%s%d", i ? ", " : "", i * 7 % 256 }')" |
	ge-load | ge-shape | ge-fuse | ge-layout -o table.g && ge-plan -q --target=x86-64-v3 table.g -o few.g && ge-emit --target=x86-64-v3 few.g -o few &&
	grep -q 'vlookup(' few.c && grep -q 'aside = ' few.c
ok $? "a table behind sums, 16 registers: sums wait in memory"
if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then
	equal few.so table.g
	ok $? "the same numbers"
else
	skip "the same numbers" "no AVX2"
fi

# A function behind a long reduction gets a loop of its own over the sums of a tile.
printf 'hone-text 1\nmodule ir=8 opset=17\ngraph main {\n  input x: f32[30,300]\n  input w: f32[300,48]\n  s = MatMul(x, w)\n  y = Sigmoid(s)\n  output y = y\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q -o apart.g && ge-emit apart.g --print-traces >traces && ge-emit apart.g -o apart && equal apart.so apart.g
ok $? "sums that wait in memory for a function: the same numbers"
grep -q '^sums = sample.choice registers memory := memory' traces && [ "$(grep -c 'vsigmoid(' apart.c)" -lt 10 ]
ok $? "and its text is there once a vector of a row, not of a tile"

# A window without channels, 5x5 with a stride, cuts its loops at the borders; no padded copy is made.
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101) / 50 - 1 }'; }
printf 'hone-text 1\nmodule ir=8 opset=17\nconst v = f32[24,24,1,1] [%s]\nconst w = f32[24,1,5,5] [%s]\ngraph main {\n  input x: f32[1,24,17,19]\n  s = Conv(x, @v)\n  y = Conv(s, @w) {group=24 pads=[2,2,2,2] strides=[2,1]}\n  output y = y\n}\n' "$(numbers 576)" "$(numbers 600)" |
	ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q -o window.g && ge-emit window.g --print-traces >traces && ge-emit window.g -o window && equal window.so window.g
ok $? "windows cut at the borders: the same numbers"
grep -q '^pad.inline = sample.choice no yes := yes' traces
ok $? "without a padded copy"

# Sums of everything: in vectors, though no axis is left.
printf 'hone-text 1\nmodule ir=8 opset=17\ngraph main {\n  input x: f32[1,213]\n  y = Softmax(x)\n  m = ReduceMean(x) {keepdims=0}\n  b = ReduceMax(y) {keepdims=1}\n  output y = y\n  output m = m\n  output b = b\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q -o total.g && ge-emit total.g -o total && equal --runs 3 total.so total.g
ok $? "sums of everything: the same numbers"
[ "$(grep -c 'vhsum(sum' total.c)" -ge 2 ] && grep -q 'vhmax(max' total.c
ok $? "in vectors"

# What uses its operand twice, in a row: as a tree its expression would have a leaf for each of 2^40 ways through it.
# chain LENGTH OPERATOR ANOTHER: LENGTH nodes, each with the one before for its operands.
chain() {
	awk -v n="$1" -v op="$2" -v more="$3" 'BEGIN {
		print "hone-text 1\nmodule ir=10 opset=22\ngraph main {\n  input x: f32[96]"
		for (i = 0; i < n; i++) { at = i ? "v" i - 1 : "x"; printf "  v%d = %s(%s%s)\n", i, op, at, more ? ", " at : "" }
		print "  output y = v" n - 1 "\n}"
	}'
}
chain 40 Mul twice >squares.txt && chain 24 Mish >mish.txt && chain 24 LeakyRelu >leaky.txt
for name in squares mish leaky; do
	ge-load $name.txt | ge-shape -o $name.g && timeout 10 ge-simplify $name.g | timeout 10 ge-fuse | timeout 10 ge-plan -q -o planned-$name.g &&
		timeout 10 ge-emit --no-compile planned-$name.g -o $name && timeout 10 tune-op --tasks planned-$name.g >tasks &&
		timeout 10 tune-op --quiet --dump files-$name planned-$name.g && [ "$(wc -c <$name.c)" -lt 200000 ]
	ok $? "$name in a row: $(wc -c <$name.c) bytes of C"
done
for name in mish leaky; do ge-emit planned-$name.g -o $name && equal $name.so $name.g; ok $? "$name in a row: the evaluator's numbers"; done

# Operands of whole vectors, channels innermost: each is copied by a loop of its own, with what follows, no vector reads two of them.
{
	awk 'BEGIN {
		print "hone-text 1\nmodule ir=8 opset=17"
		printf "const w = f32[32,16,1,1] ["; for (i = 0; i < 512; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101) / 50 - 1
		printf "]\nconst s = f32[640] ["; for (i = 0; i < 640; i++) printf "%s%g", i ? ", " : "", (i * 29 % 31) / 15 + 0.1
		print "]\nconst k = f32[640,1,1,1] @s\ngraph main {\n  input x: f32[1,16,5,5]"
	}' | grep -v '^const k'
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
		echo "  c$i = Conv(x, @w)"; echo "  r$i = LeakyRelu(c$i) {alpha=0.$i}"
	done
	echo '  j = Concat(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16, r17, r18, r19) {axis=1}'
	printf '  n = BatchNormalization(j, @s, @s, @s, @s)\n  t = Relu(n)\n  y = MaxPool(t) {kernel_shape=[2,2]}\n  output y = y\n}\n'
} >dense.txt
ge-load dense.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q -o dense.g && ge-emit dense.g -o dense && equal dense.so dense.g
ok $? "a block of 20 operands, normalised: the evaluator's numbers"
sed -n '/^\/\* k.*: t \*/,/^}/p' dense.c >joined.c
[ "$(grep -c 'vload(i' joined.c)" -eq 20 ] && ! grep -q vsel joined.c
ok $? "in one kernel, $(grep -c 'vload(i' joined.c) loops, $(grep -c vsel joined.c) masks"

# What lies across is turned in registers, block by block, the last ones too; what lies near each other is shuffled.
printf 'hone-text 1\nmodule ir=8 opset=17\nconst s = f32[4] [1, 1, 2, 3]\ngraph main {\n  input x: f32[3,40,53]\n  input z: f32[1,12,5,37]\n  a = Transpose(x) {perm=[0,2,1]}\n  b = Transpose(x) {perm=[2,0,1]}\n  c = Transpose(x) {perm=[2,1,0]}\n  d = DepthToSpace(z) {blocksize=2}\n  e = Resize(z, -, @s) {mode="nearest" coordinate_transformation_mode="asymmetric" nearest_mode="floor"}\n  output a = a\n  output b = b\n  output c = c\n  output d = d\n  output e = e\n}\n' |
	ge-load | ge-shape | ge-fuse -o moved.g && ge-plan -q -o turned.g moved.g && ge-emit turned.g -o turned && equal --tol 0 turned.so turned.g
ok $? "moved elements: the same numbers"
ge-plan -q --target=x86-64-v4 moved.g | ge-emit --no-compile --target=x86-64-v4 -o turned
[ "$(grep -c '^	.*transpose[0-9]*(o0' turned.c)" -ge 2 ] && [ "$(grep -c '__builtin_shufflevector(vload' turned.c)" -ge 2 ] && ! grep -q '(vf){[io]' turned.c
ok $? "in registers, none of them by itself"

# Windows where pixels are innermost: vectors of them, whatever stride and padding.
printf 'hone-text 1\nmodule ir=8 opset=19\ngraph main {\n  input x: f32[1,5,29,37]\n  input z: f32[2,3,13,13]\n  a = MaxPool(x) {kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]}\n  b = AveragePool(x) {kernel_shape=[3,3] pads=[1,1,1,1]}\n  c = MaxPool(z) {kernel_shape=[5,5] pads=[2,2,2,2]}\n  d = AveragePool(x) {kernel_shape=[2,3] strides=[2,3] ceil_mode=1 count_include_pad=1}\n  output a = a\n  output b = b\n  output c = c\n  output d = d\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-plan -q -o pools.g && ge-emit pools.g -o pools && equal pools.so pools.g
ok $? "pools: the evaluator's numbers"
! grep '^	.*max_f32.*\[' pools.c && [ "$(grep -c '__builtin_shufflevector(vload' pools.c)" -ge 4 ]
ok $? "no element by itself"

# Reductions one after the other along an axis that is not the contiguous one: columns in vectors, sums in registers.
printf 'hone-text 1\nmodule ir=8 opset=19\ngraph main {\n  input x: f32[2,19,7,37]\n  input z: f32[3,50,13]\n  a = Softmax(x) {axis=1}\n  b = LogSoftmax(z) {axis=1}\n  c = ArgMax(x) {axis=1}\n  d = ArgMin(z) {axis=0 keepdims=0 select_last_index=1}\n  e = LpNormalization(x) {axis=1}\n  output a = a\n  output b = b\n  output c = c\n  output d = d\n  output e = e\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-plan -q -o columns.g && ge-emit columns.g -o columns && equal columns.so columns.g
ok $? "reductions across: the evaluator's numbers"
! grep -E '^	.*(exp_f32|max_f32|min_f32)\(' columns.c && grep -q 'vf max_0' columns.c
ok $? "in vectors"

# Slices by tuples of indices, counted from the end too; one that is computed and out of range is told, though the slice it would be is there.
printf 'hone-text 1\nmodule ir=8 opset=19\nconst a = i64[3,2] [0, 1, -1, -2, 3, -5]\nconst b = i64[2,2,1] [0, -1, 2, 1]\nconst c = i64[1,2] [-4, 4]\nconst e = i64[1,2] [1, 5]\ngraph main {\n  input x: f32[4,5,6]\n  input w: f32[2,4,7]\n  input z: f32[4,5]\n  y = GatherND(x, @a)\n  v = GatherND(w, @b) {batch_dims=1}\n  u = GatherND(z, @c)\n  output y = y\n  output v = v\n  output u = u\n}\n' >tuples.txt
ge-load tuples.txt | ge-shape | ge-fuse | ge-plan --no-fallback -q -o tuples.g && ge-emit tuples.g -o tuples && equal --tol 0 tuples.so tuples.g
ok $? "slices by tuples: the evaluator's"
sed 's/u = GatherND(z, @c)/m = ReduceMax(z) {keepdims=0}\n  q = Equal(m, m)\n  i = Cast(q) {to=7}\n  j = Mul(i, @e)\n  u = GatherND(z, j)/' tuples.txt | ge-load | ge-shape | ge-fuse | ge-plan -q -o beyond.g && ge-emit beyond.g -o beyond && ! run-dev beyond.so -o beyond.npz 2>err && grep -q 'range' err
ok $? "an index beyond its axis: $(cat err)"

# Einsum: a product like any other.
i=0
for e in 'bij,bjk->bik 2,9,17 2,17,21' 'bhid,bhjd->bhij 1,3,7,16 1,3,9,16' 'bshd,hdo->bso 1,5,3,8 3,8,20' 'ij->ji 9,20' 'bij->b 5,6,7' 'bi,j->bij 5,6 7' \
	'...ij,jk 2,3,4,5 5,17' 'ii->i 6,6' 'ii 6,6' 'a,a 40 40' 'ba,ab 4,5 5,4' 'i...,i->... 3,4,5 3'; do
	set -- $e
	i=$((i + 1))
	echo "  input a$i: f32[$2]" >>inputs
	[ $# -lt 3 ] || echo "  input b$i: f32[$3]" >>inputs
	printf '  y%d = Einsum(a%d%s) {equation="%s"}\n  output y%d = y%d\n' $i $i "${3:+, b$i}" "$1" $i $i >>products
done
{ printf 'hone-text 1\nmodule ir=8 opset=19\ngraph main {\n' && cat inputs products && echo '}'; } >einsum.txt
ge-load einsum.txt | ge-shape | ge-fuse | ge-plan --no-fallback -q -o einsum.g && ge-emit einsum.g -o einsum && equal einsum.so einsum.g
ok $? "$i einsums: the evaluator's numbers"

# More operands than anybody would write: joined OPERANDS TYPE.
joined() {
	awk -v n="$1" -v type="$2" 'BEGIN {
		print "hone-text 1\nmodule ir=8 opset=17\ngraph main {"
		for (i = 0; i < n; i++) { printf "  input x%d: %s[2,8]\n", i, type; all = all (i ? ", " : "") "x" i }
		print "  y = Concat(" all ") {axis=1}\n  output y = y\n}"
	}' | ge-load | ge-shape | ge-fuse | ge-plan -q
}
joined 60 i32 >joined.g && ge-emit joined.g -o joined && equal joined.so joined.g
ok $? "Concat of 60 operands: the evaluator's numbers"
joined 200 f32 >joined.g && timeout 20 ge-emit --no-compile joined.g -o joined && [ -s joined.c ] && [ "$(wc -c <joined.c)" -lt 1000000 ]
ok $? "200 of them across vectors: $(wc -c <joined.c) bytes of C"

printf 'hone-text 1\nmodule ir=8 opset=17\nconst far = i64[4] [9, 0, 13, 0]\nconst one = i64[2] [2, 1]\ngraph main {\n  input x: f32[4,20]\n  input z: f32[1]\n  y = Pad(x, @far) {mode="reflect"}\n  w = Pad(z, @one) {mode="reflect"}\n  output y = y\n  output w = w\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-plan -q -o far.g && ge-emit far.g -o far && equal far.so far.g
ok $? "reflections there and back again: the evaluator's numbers"

# An input that has a default may be left out: NULL from C, not given to the tools.
ge-load - -o preset.g <<'END'
hone-text 1
module ir=8 opset=28
graph g {
  input x: f32[2]
  input w: f32[2] = f32[2] [1, -2]
  y: f32[2] = Mul(x, w)
  output y = y
}
END
cat >use.c <<'END'
#include <stdio.h>
#include "preset.h"
int main(void)
{
	preset *m = preset_open("preset.weights", NULL);
	float x[2] = {3, 5}, w[2] = {7, 11}, y[4];
	const float *usual;
	if (!m || !(usual = preset_input_default(m, 1)) || preset_input_default(m, 0) || preset_input_default(m, 2))
		return 1;
	if (preset_run(m, (const void *[]){x, NULL}, (void *[]){y}) || preset_run(m, (const void *[]){x, w}, (void *[]){y + 2}))
		return 2;
	if (!preset_run(m, (const void *[]){NULL, w}, (void *[]){y + 2}))
		return 3;
	printf("%g %g %g %g %g\n", usual[1], y[0], y[1], y[2], y[3]);
	preset_close(m);
	return 0;
}
END
ge-fuse preset.g | ge-layout | ge-plan -q | ge-emit -o preset && ${CC:-cc} use.c preset.a -o use -lm -pthread && [ "$(./use)" = "-2 3 -10 21 55" ]
ok $? "an input with a default may be NULL"
equal --runs 2 preset.so preset.g && run-dev --seed 1 preset.so -o a.npz && run-ref --seed 1 preset.g -o b.npz && equal a.npz b.npz
ok $? "and the tools take it"

# Weights: whose bytes were altered, and those of another build of the same shapes.
cat >verify.c <<'END'
#include <stdio.h>
#include "digits.h"
int main(int argc, char **argv)
{
	digits *m = digits_open(argv[1], NULL);
	printf("%s %s\n", m ? "opened" : digits_error(), m ? digits_verify(m) ? digits_error() : "sound" : "");
	digits_close(m);
	return 0;
}
END
${CC:-cc} verify.c digits.a -o verify -lm -pthread
at=$(($(stat -c %s digits.weights) / 2))
for byte in 4096 $at $(($(stat -c %s digits.weights) - 1)); do
	cp digits.weights altered.weights && chmod u+w altered.weights
	old=$(od -An -tu1 -j$byte -N1 altered.weights)
	printf "\\$(printf %o $((old ^ 1)))" | dd of=altered.weights bs=1 seek="$byte" conv=notrunc 2>/dev/null
	[ "$(./verify digits.weights; ./verify altered.weights; HONE_VERIFY=1 ./verify altered.weights)" = "opened sound
opened weights: their bytes are not those that were written
weights: their bytes are not those that were written " ]
	ok $? "byte $byte of the weights altered: verify says so, and open where it is asked to"
	run-dev digits.so --weights altered.weights -o none.npz 2>err
	[ $? = 65 ] && grep -q 'their bytes are not those' err && [ ! -e none.npz ]
	ok $? "and run-dev, 65"
done
ge-dump planned.g | sed 's/^const \([^ ]*\) = f32\[10\] \[[^]]*\]/const \1 = f32[10] [1,2,3,4,5,6,7,8,9,10]/' | ge-load -o twin.g && ! cmp -s twin.g planned.g && ge-emit --no-compile twin.g -o twin
[ "$(stat -c %s twin.weights)" = "$(stat -c %s digits.weights)" ] && ./verify twin.weights | grep -q 'not those of this build'
ok $? "weights of another build are refused"

# All files or none: the last name cannot be given, to files that are new or to others in their places; then a directory stands there.
cat >rename.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
int rename(const char *from, const char *to)
{
	int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
	size_t n = strlen(to);
	if (n > 3 && !strcmp(to + n - 3, ".so") && !strstr(from, "/old"))
		return errno = EIO, -1;
	return real(from, to);
}
END
if [ -z "${ASAN_OPTIONS-}" ] && ${CC:-cc} -shared -fPIC rename.c -o rename.so -ldl; then
	mkdir all && cp digits.* all && cd all && (cat digits.*; ls -A) >../before
	LD_PRELOAD=$PWD/../rename.so ge-emit ../pool.g -o digits 2>err
	[ $? = 74 ] && [ "$(wc -l <err)" = 1 ] && rm err && (cat digits.*; ls -A) | cmp -s - ../before
	ok $? "a last name that cannot be given: the files are those of before"
	LD_PRELOAD=$PWD/../rename.so ge-emit ../pool.g -o new 2>err
	[ $? = 74 ] && rm err && (cat digits.*; ls -A) | cmp -s - ../before
	ok $? "or there are none"
	cd ..
else
	skip "a last name that cannot be given" "no library before another"
fi
mkdir busy busy/m.so
ge-emit pool.g -o busy/m 2>err
[ $? = 74 ] && grep -q 'm.so: is a directory' err && [ "$(ls -A busy)" = m.so ]
ok $? "a directory in the place of one: none"
rmdir busy/m.so && mkfifo busy/m.so
ge-emit pool.g -o busy/m 2>err
[ $? = 74 ] && grep -q 'm.so: is a device or a pipe' err && [ "$(ls -A busy)" = m.so ] && [ -p busy/m.so ]
ok $? "nor is a pipe replaced"

# Inside a kernel bf16 is kept in f32 and rounded where it is stored or cast: a grain of the largest, however long the chain.
awk 'BEGIN { print "hone-text 1\nmodule ir=9 opset=28\nconst k = bf16[] [1.3]\nconst j = bf16[] [0.7]\ngraph main {\n  input x: bf16[33,65]\n  v0 = Tanh(x)"
	split("Mul(%, @k);Sub(%, x);Sigmoid(%);Tanh(%);Add(%, @j);Mul(%, x);Neg(%);Tanh(%)", op, ";")
	for (i = 0; i < 32; i++) { s = op[i % 8 + 1]; sub(/%/, "v" i, s); print "  v" i + 1 " = " s }
	print "  output y = v32\n}" }' | ge-load | ge-shape | ge-fuse | ge-layout -o chain.g
[ "$(ge-dump chain.g | grep -c Fused)" = 1 ] && ge-plan --quiet chain.g | ge-emit --quiet -o chain && equal --runs 3 --tol 0.0157 ./chain.so chain.g
ok $? "a chain of bf16 in one kernel is within two grains of the evaluator, which rounds after each"
done_testing
