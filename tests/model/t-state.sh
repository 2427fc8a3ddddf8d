# State: inputs that a library keeps from run to run. 1,000 steps in which it is saved, loaded and reset give the numbers of steps whose
# state the caller carries; what does not fit is refused, and nothing is changed.
. "$top/tests/lib.sh"

# Two libraries of one graph: NAMEplain, whose caller carries the state, and NAME, which keeps it.
made() { # NAME IMPORTED SHAPE-OPTION...
	name=$1 from=$2
	shift 2
	ge-shape -q "$@" "$from" | ge-fold -q | ge-simplify -q | ge-prune -q | ge-fuse -q | ge-layout -q -o "$name.g" &&
		ge-plan -q "$name.g" -o "$name.plain.g" && ge-emit -q "$name.plain.g" -o "${name}plain"
}
kept() { # NAME ALIAS...
	name=$1
	shift
	ge-plan --why "$@" "$name.g" -o "$name.kept.g" 2>err && ge-emit -q "$name.kept.g" -o "$name" && [ -s "$name.so" ]
}

cat >steps.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runner/model_abi.h"

enum { STEPS = 1000, MOST = 64 };
static const struct hone_model *k, *p; /* the one that keeps states, the one that does not */
static void *plain, *kept;
static const void *given[MOST], *null[MOST];
static void *carried[MOST], *made[MOST], *want, *none[MOST];
static int is_state[MOST], is_next[MOST];

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s; %s; %s\n", what, k->error(), p->error());
	exit(1);
}

static const struct hone_model *load(const char *path)
{
	char full[200];
	snprintf(full, sizeof full, "%s%s", *path == '.' ? "" : "./", path);
	void *so = dlopen(full, RTLD_NOW | RTLD_LOCAL);
	return so ? dlsym(so, "hone_model") : NULL;
}

static void draw(int step)
{
	for (int i = 0; i < k->num_inputs; i++) {
		unsigned x = (unsigned)(step * 7919 + i * 104729 + 1);
		for (size_t j = 0; j < k->inputs[i].bytes / 4 && !is_state[i]; j++) {
			x = x * 1664525u + 1013904223u;
			((float *)given[i])[j] = (float)(x >> 8) / (1 << 23) - 1;
		}
		null[i] = is_state[i] ? NULL : given[i];
	}
}

/* Outputs that are no states, one after another. */
static size_t outputs(char *to)
{
	size_t n = 0;
	for (int o = 0; o < k->num_outputs; o++)
		if (!is_next[o]) {
			if (to)
				memcpy(to + n, made[o], k->outputs[o].bytes);
			n += k->outputs[o].bytes;
		}
	return n;
}

static size_t each;
/* Steps from..to-1 on the one that keeps; their outputs must be those of the steps from `like` on. */
static void steps(int from, int to, int like, const char *what)
{
	char *got = malloc(each);
	for (int s = from; s < to; s++) {
		draw(like + s - from);
		need(!k->run(kept, null, none), what);
		outputs(got);
		if (memcmp(got, (char *)want + (size_t)(like + s - from) * each, each)) {
			fprintf(stderr, "%s: other numbers in step %d\n", what, s);
			exit(1);
		}
	}
	free(got);
}

int main(int argc, char **argv)
{
	char *path = argv[1], weights[200];
	k = load(path);
	p = load(argv[2]);
	if (!k || !p)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	snprintf(weights, sizeof weights, "%.*s.weights", (int)strlen(path) - 3, path);
	need((kept = k->open(weights, NULL)) != NULL, "open");
	snprintf(weights, sizeof weights, "%.*s.weights", (int)strlen(argv[2]) - 3, argv[2]);
	need((plain = p->open(weights, NULL)) != NULL, "open");
	for (int i = 0; i < k->num_inputs; i++)
		given[i] = carried[i] = calloc(1, k->inputs[i].bytes + 64);
	for (int o = 0; o < k->num_outputs; o++)
		made[o] = calloc(1, k->outputs[o].bytes + 64);
	for (int s = 0; s < k->num_states; s++)
		is_state[k->states[s].input] = is_next[k->states[s].output] = 1;
	for (int o = 0; o < k->num_outputs; o++)
		none[o] = is_next[o] ? NULL : made[o];
	each = outputs(NULL);
	want = malloc(each * STEPS);

	for (int s = 0; s < STEPS; s++) { /* what it should be */
		draw(s);
		need(!p->run(plain, given, made), "plain");
		for (int i = 0; i < k->num_states; i++)
			memcpy(carried[k->states[i].input], made[k->states[i].output], k->outputs[k->states[i].output].bytes);
		outputs((char *)want + (size_t)s * each);
	}
	steps(0, 300, 0, "to 300");
	need(!k->save(kept, "at300"), "save");
	steps(300, 500, 300, "to 500");
	need(!k->reset(kept), "reset");
	steps(0, 50, 0, "after a reset");
	need(!k->load(kept, "at300"), "load");
	steps(300, 400, 300, "loaded");
	need(!k->save(kept, "at400"), "save");
	k->close(kept);
	snprintf(weights, sizeof weights, "%.*s.weights", (int)strlen(path) - 3, path);
	need((kept = k->open(weights, NULL)) != NULL, "open again");
	steps(0, 20, 0, "opened again");
	need(!k->load(kept, "at400"), "load");
	for (int bad = 3; bad < argc; bad++) { /* files that are refused, and change nothing */
		need(k->load(kept, argv[bad]) == -1, argv[bad]);
		printf("%s\n", k->error());
	}
	steps(400, STEPS, 400, "to the end");
	for (int i = 0; i < k->num_states; i++) { /* given and taken as without state */
		const struct hone_state *s = &k->states[i];
		memset(made[s->output], 1, k->outputs[s->output].bytes);
		none[s->output] = made[s->output];
		memset(carried[s->input], 0, k->inputs[s->input].bytes);
		null[s->input] = carried[s->input];
	}
	draw(0);
	need(!k->run(kept, given, none), "given");
	void *other[MOST];
	for (int o = 0; o < k->num_outputs; o++)
		other[o] = calloc(1, k->outputs[o].bytes + 64);
	need(!p->run(plain, given, other), "plain");
	for (int o = 0; o < k->num_outputs; o++)
		need(!memcmp(other[o], none[o], k->outputs[o].bytes), "state given and taken");
	k->close(kept);
	p->close(plain);
	return 0;
}
END
${CC:-cc} -O1 -I"$top/lib" steps.c -o steps -ldl 2>err
prepared $? "a program that steps"

${CC:-cc} -O1 -I"$top/lib" "$top/tests/model/states/open.c" -o open -ldl 2>err
prepared $? "a program that steps on open sizes"

cat >small.txt <<'END'
hone-text 1
module ir=8 opset=28
const one = i64[1] [1]
const w = f32[4,4] [1, 0.1, 0.2, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0.1, 0, 0.3, 0, 0.5]
graph main {
  input x: f32[1,4]
  input h: f32[1,4]
  input c: f32[1,8,4]
  input p: i64[1]
  input same: f32[2]
  a = MatMul(h, @w) "mm"
  b = Add(a, x) "add"
  n = Tanh(b) "tanh"
  u = Unsqueeze(n, @one) "uns"
  d = TensorScatter(c, u, p) {axis=1 mode="circular"} "ts"
  q = Add(p, @one) "inc"
  s = ReduceSum(d) {keepdims=0} "sum"
  output y = s
  output hn = n
  output again = n
  output cn = d
  output pn = q
  output samen = same
}
END
ge-load small.txt -o small.l.g && made small small.l.g && kept small --alias h=again --alias c=cn --alias p=pn --alias same=samen
ok $? "a small model"
grep -q '^ge-plan: state c = cn: 128 bytes in place$' err && grep -q '^ge-plan: state same = samen: 8 bytes in place$' err &&
	grep -q '^ge-plan: state h = again: 16 bytes in two places that take turns: main/mm (Fused), which makes the output' err &&
	grep -q 'a run copies 0 bytes of them$' err
ok $? "what is in place, and why not"
ge-plan -q small.kept.g -o twice.g && same_graph small.kept.g twice.g
ok $? "a plan twice is a plan once, with its states"
./steps small.so smallplain.so >out 2>err
ok $? "1,000 steps, saved, loaded and reset: the numbers of an uninterrupted run"

# Files of states that do not fit.
head -c 100 at400 >short && head -c 40 at400 >head && : >empty && { cat at400; printf x; } >long
{ head -c 8 at400; printf '\1'; tail -c +10 at400; } >version
{ head -c 600 at400; printf 'Z'; tail -c +602 at400; } >altered
sed 's/Tanh/Sin/' small.txt | ge-load -o other.l.g && made other other.l.g && kept other --alias h=again --alias c=cn --alias p=pn --alias same=samen &&
	mkdir -p o && (cd o && ../steps ../other.so ../otherplain.so) 2>err
ok $? "another model"
./steps small.so smallplain.so short head empty long version altered o/at400 none small.txt >out 2>err
ok $? "states that do not fit are refused, and change nothing"
is "$(sed 's/[0-9][0-9]* bytes/N bytes/; s/says [0-9]*/says N/' out)" "state short: cut short: it has N bytes, its head says N
state head: cut short: its head is not whole
state empty: not a file of states
state long: too long: it has N bytes, its head says N
state version: its version is 1, this library reads 2
state altered: its bytes are not those that were written
state o/at400: it is of another model
state none: No such file or directory
state small.txt: not a file of states" "each by its name"
[ -s small.so ] && ! ls at400.* >err 2>&1
ok $? "no part of a file is left"

# The same by a tool.
run-dev --steps 20 --seed 3 small.so -o all.npz && run-dev --steps 1 --seed 5 --save-state s1 small.so && [ -s s1 ]
ok $? "run-dev runs steps"
run-dev --steps 3 --load-state s1 --save-state s2 --seed 7 small.so -o a.npz && run-dev --steps 3 --load-state s1 --save-state s3 --seed 7 small.so -o b.npz &&
	same a.npz b.npz && same s2 s3 && run-dev --steps 3 --seed 7 small.so -o c.npz && ! cmp -s a.npz c.npz
ok $? "from one state the same numbers, from another not"
run-dev --steps 1 --load-state o/at400 small.so -o c.npz 2>err
is "$? $(cat err)" "65 run-dev: small.so: state o/at400: it is of another model" "a state of another model"
run-dev --steps 1 --save-state s4 smallplain.so 2>err
is "$? $(cat err)" "64 run-dev: smallplain.so: it keeps no state; ge-plan --alias" "a library without state"

# Sizes that are left open: the state's is another input's, or grows from nothing.
cat >vary.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol batch 1 inf
symbol past 0 inf
const half = f32[] [0.5]
graph main {
  input x: f32[batch,4]
  input h: f32[batch,4]
  input t: f32[past,4]
  input c: f32[2]
  m = Mul(h, @half)
  n = Add(m, x)
  s = ReduceSum(n) {keepdims=0}
  d = Add(c, s)
  u = Concat(t, n) {axis=0}
  v = Neg(n)
  output v = v
  output hn = n
  output tn = u
  output cn = d
}
END
ge-load vary.txt -o vary.l.g && made vary vary.l.g && kept vary --alias h=hn --alias t=tn --alias c=cn && grep -q 'kept: .* 2 of open sizes' err
ok $? "states of open sizes" || cat err
./open varyplain.so vary.so 0 3 at400 o/at400 2>err
ok $? "1,000 steps on open sizes"

# A size that no other input has: a tool says which the state begins with; without, there is nothing of it.
cat >own.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 0 inf
graph main {
  input x: f32[2]
  input c: f32[n,2]
  y = Add(c, x)
  output y = y
}
END
ge-load own.txt -o own.g && hone build -q own.g --alias c=y -o own && run-dev --steps 4 --set n=3 --range x=2:2 --save-state three own.so -o y.npy 2>err &&
	run-dev --steps 1 --set n=1 --range x=2:2 --load-state three own.so -o z.npy 2>>err && run-dev --steps 4 own.so -o none.npy 2>>err
is "$? $(tail -c 24 y.npy | od -An -tf4 -w24 | tr -s ' ') $(tail -c 24 z.npy | od -An -tf4 -w24 | tr -s ' ') $(tail -c +129 none.npy | wc -c)" \
	"0  8 8 8 8 8 8  10 10 10 10 10 10 0" "the size that a state begins with"
run-dev --steps 4 --set m=3 own.so -o y.npy 2>err
is "$? $(cat err)" "64 run-dev: --set m: the model has no symbol of that name; it has n" "a size that no state has"

# A step that reads the state as it was stands behind the one that writes it: it goes before it. One that needs the new state cannot.
cat >order.txt <<'END'
hone-text 1
module ir=8 opset=28
const one = i64[1] [1]
const two = f32[] [2]
graph main {
  input x: f32[1,1,4]
  input c: f32[1,8,4]
  input e: f32[1,8,4]
  input p: i64[1]
  d = TensorScatter(c, x, p) {axis=1 mode="circular"} "write"
  t = Softmax(d) "new"
  f = TensorScatter(e, x, p) {axis=1 mode="circular"} "other"
  v = Mul(e, f) "both"
  q = Add(p, @one) "inc"
  r = Reshape(c, @shape)
  s = ReduceSum(r) {keepdims=0} "old"
  output y = s
  output z = t
  output v = v
  output cn = d
  output en = f
  output pn = q
}
END
sed -i 's/^const two = .*/const shape = i64[2] [8, 4]/' order.txt
ge-load order.txt -o order.l.g && made order order.l.g && kept order --alias c=cn --alias e=en --alias p=pn && ./steps order.so orderplain.so 2>steps.log
ok $? "what reads the old state is moved before its writer" || cat steps.log
grep -q 'state c = cn: 128 bytes in place$' err && grep -q 'state e = en: 128 bytes in two places that take turns: main/both (Fused) reads it after main/other (Fused) has made' err
ok $? "in place where it could be moved" || grep state err
ge-plan -q order.kept.g -o twice.g && same_graph order.kept.g twice.g
ok $? "a plan twice is a plan once, with steps moved"

# A plan whose states are elsewhere than proved, or meet, is of another graph; weights in the C file.
ge-dump small.kept.g >small.kept.txt
wrong() { # WHAT SED
	sed "$2" small.kept.txt | ge-load | ge-emit -q --no-compile -o wrong 2>err
	is "$? $(sed 's/.*: \(the place\)/\1/' err)" "64 the place of state $1 is of another graph; run ge-plan again" "$2"
}
wrong h 's/"plan.state.h" = .*/"plan.state.h" = "0"/'
wrong h 's/"plan.state.h" = .*/"plan.state.h" = "0 32"/'
wrong h '/"plan.state.h"/d'
wrong c 's/"plan.state.c" = .*/"plan.state.c" = "64"/'
wrong same 's/"plan.state.same" = .*/"plan.state.same" = "100000000000"/'
wrong h 's/"plan.state.h" = .*/"plan.state.h" = "x"/'
ge-emit -q --embed small.kept.g -o embedded && ./steps embedded.so smallplain.so 2>err
ok $? "state and weights in the C file"

# Gears: each changes a state in place, whatever its size. What a step writes are the rows that it puts in.
cat >gear.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol seq 1 inf
const w = f32[4,4] [1, 0.1, 0.2, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0.1, 0, 0.3, 0, 0.5]
const axes = i64[2] [1, 2]
graph main {
  input x: f32[1,seq,4]
  input c: f32[1,1000,4]
  input p: i64[1]
  a = MatMul(x, @w)
  d = TensorScatter(c, a, p) {axis=1 mode="circular"} "write"
  s = ReduceMean(d, @axes)
  o = ReduceMax(c) {keepdims=0} "old"
  y = Mul(a, s)
  n = Shape(x) {start=1 end=2}
  q = Add(p, n)
  output y = y
  output o = o
  output cn = d
  output pn = q
}
END
ge-load gear.txt -o gear.g && hone build -q --gears seq=1,3 -o gearplain gear.g && hone build --gears seq=1,3 --alias c=cn --alias p=pn -o gear gear.g >out 2>err &&
	grep -q '2 inputs kept: 16000 bytes updated in place, 8 in two places' out
ok $? "a state in gears" || cat out err
for n in 1 3; do
	./open gearplain.so gear.so 0 $n 2>steps.log && run-dev --steps 40 --set seq=$n gear.so -o y.npz 2>err && grep -q ": $((16 * n + 8)) the last, $((16 * n + 8)) the most" err
	ok $? "$n rows: 1,000 steps, in place" || cat steps.log err
done
hone build --gears seq=1,3,open --alias c=cn --alias p=pn -o anygear gear.g >out 2>err && grep -q '2 inputs kept: 16000 bytes updated in place' out &&
	hone build -q --gears seq=1,3,open -o anygearplain gear.g && for n in 1 2 3; do ./open anygearplain.so anygear.so 0 $n 2>steps.log || exit 1; done
ok $? "and sizes without a gear" || cat out err steps.log
cat >rows.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol batch 1 inf
const w = f32[4,4] [1, 0.1, 0.2, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0.1, 0, 0.3, 0, 0.5]
const axes = i64[2] [1, 2]
const one = i64[1] [1]
graph main {
  input x: f32[batch,1,4]
  input other: f32[batch,100,4]
  input c: f32[batch,100,4]
  input p: i64[batch]
  a = MatMul(x, @w)
  d = TensorScatter(c, a, p) {axis=1 mode="circular"}
  s = ReduceMean(d, @axes)
  o = ReduceMax(other, @axes)
  m = Add(s, o)
  y = Mul(a, m)
  q = Add(p, @one)
  output y = y
  output cn = d
  output pn = q
}
END
cat >lies.c <<'END'
/* A caller may give the value of a state to another input: the library must not change it while it is read. */
#include <stdio.h>
#include <string.h>
#include "rows.h"
int main(void)
{
	rows *m = rows_open("rows.weights", NULL);
	static float x[4] = {1, 2, 3, 4}, zero[400], copy[400], y[4];
	int64_t sx[] = {1, 1, 4}, so[] = {1, 100, 4};
	struct hone_value in[4] = {{1, 3, sx, x}, {1, 3, so, zero}}, out[3];
	if (!m || rows_run_values(m, in, out) || rows_run_values(m, in, out) || rows_state_save(m, "at2"))
		return puts(rows_error()), 1;
	memcpy(copy, out[1].data, sizeof copy);
	in[1].data = out[1].data;
	if (rows_run_values(m, in, out))
		return puts(rows_error()), 1;
	memcpy(y, out[0].data, sizeof y);
	in[1].data = copy;
	return rows_state_load(m, "at2") || rows_run_values(m, in, out) || memcmp(y, out[0].data, sizeof y);
}
END
sed 's/  s = /  l = ReduceMax(d, @axes)\n  s = /; s/  m = Add(s, o)/  k = Add(s, l)\n  m = Add(k, o)/' rows.txt | ge-load -o rows.g
for way in open geared anysize; do
	set --
	[ $way = open ] || set -- --gears batch=1,4
	[ $way != anysize ] || set -- --gears batch=1,4,open
	hone build -q "$@" -o rowsplain rows.g 2>err && hone build "$@" --alias c=cn --alias p=pn -o rows rows.g >out 2>err && grep -q '2 of open sizes (1 updated, 0 grow in place)' out
	ok $? "$way: a state of any batch" || cat out err
	for n in 1 3 4 $([ $way = geared ] || echo 6); do
		./open rowsplain.so rows.so 0 $n 2>steps.log && run-dev --steps 40 --set batch=$n rows.so -o y.npz 2>err
		ok $? "$way, batch $n: 1,000 steps" || cat steps.log err
		case $way$n in geared3 | anysize3) continue ;; esac # padded to its gear: a copy
		grep -q ": $((24 * n)) the last, $((24 * n)) the most" err
		ok $? "$way, batch $n: in place" || cat err
	done
	${CC:-cc} -O1 -w -o lies lies.c rows.so -Wl,-rpath,. 2>err && ./lies
	ok $? "$way: a state is given to another input" || cat err
done
# Branches: one changes the state, one leaves it; a loop is no place for it.
cat >branch.txt <<'END'
hone-text 1
module ir=8 opset=28
const none = f32[] [0]
graph put {
  input c: f32[1,100,4]
  input x: f32[1,1,4]
  input p: i64[1]
  d = TensorScatter(c, x, p) {axis=1 mode="circular"}
  o = ReduceMax(c) {keepdims=0}
  output d = d
  output o = o
}
graph leave {
  input c: f32[1,100,4]
  input x: f32[1,1,4]
  input p: i64[1]
  o = ReduceMin(c) {keepdims=0}
  output c = c
  output o = o
}
graph main {
  input x: f32[1,1,4]
  input c: f32[1,100,4]
  input p: i64[1]
  s = ReduceSum(x) {keepdims=0}
  b = Greater(s, @none)
  d, y = If(b, c, x, p) {then_branch=graph put else_branch=graph leave captures=3}
  q = Add(p, @one)
  output y = y
  output cn = d
  output pn = q
}
END
sed -i 's/^const none.*/&\nconst one = i64[1] [1]/' branch.txt
ge-load branch.txt -o branch.l.g && made branch branch.l.g && kept branch --alias c=cn --alias p=pn && grep -q 'state c = cn: 1600 bytes in place$' err && ./steps branch.so branchplain.so 2>steps.log
ok $? "a state in branches" || cat err steps.log
ge-emit -q --embed --no-compile branch.kept.g -o branchan && ${CC:-cc} -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	$(sed -n 's/.*Compile with: //p' branchan.c | head -1) -O0 -w -fPIC -shared branchan.c -o branchan.so -lm -pthread &&
	cc -g -fsanitize=address -O1 -I"$top/lib" steps.c -o stepsan -ldl && ASAN_OPTIONS=detect_leaks=0 ./stepsan branchan.so branchplain.so 2>steps.log
ok $? "branches under the address sanitizer" || head -30 steps.log
sed 's/  output o = o/  output o = o\n  output again = c/; s/  d, y = If/  d, y, z = If/; s/^  output y = y/&\n  output z = z/' branch.txt | ge-load -o branch.l.g && made branch branch.l.g &&
	kept branch --alias c=cn --alias p=pn && grep -q 'state c = cn: 1600 bytes in two places that take turns: output again is the input as it was' err && ./steps branch.so branchplain.so 2>steps.log
ok $? "a branch that gives the old one, too" || cat err steps.log

# What is no alias.
bad() { # TEXT OPTION...
	want=$1
	shift
	ge-plan "$@" small.g -o no.g 2>err
	code=$?
	is "$code $(cat err)" "$want" "$*"
}
bad "64 ge-plan: --alias q=hn: write INPUT=OUTPUT; the model has no such input" --alias q=hn
bad "64 ge-plan: --alias h=q: the model has no output q" --alias h=q
bad "65 ge-plan: small.g: the state h = pn: the input is f32[1,4], the output i64[1]" --alias h=pn
bad "65 ge-plan: small.g: the state h = hn: the output is another state's" --alias x=hn --alias h=hn
for type in 'str[2]' '?[?,4]%"seq(tensor(float))"' '?[*]%"optional(tensor(float))"'; do
	printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input s: %s\n  y = Identity(s)\n  output y = y\n}\n' "$type" >told.txt
	ge-load told.txt -o told.g && ge-shape -q told.g | ge-plan -q --alias s=y >out 2>err
	grep -q 'the state s = y: only a tensor of numbers is kept, not ' err
	ok $? "a state of $type: it is refused" || cat err
done

if [ -n "${HONE_PYTHON-}" ]; then
	mkdir models && "$HONE_PYTHON" "$top/tests/model/state_models.py" models
	prepared $? "decoders"
	for n in tensor nd window; do
		ge-import -q models/$n.onnx -o $n.i.g && made $n $n.i.g &&
			kept $n --alias at=at_next --alias k0=k0_next --alias v0=v0_next --alias k1=k1_next --alias v1=v1_next &&
			./steps $n.so ${n}plain.so 2>steps.log
		ok $? "$n: 1,000 steps"
		grep -h 'inputs kept' err
		[ $n = window ] && [ -s window.so ] || { grep -q '5 inputs kept: 524288 bytes updated in place' err && grep -q 'copies 0 bytes' err; }
		ok $? "$n: caches are updated in place"
	done
	ge-import -q models/concat.onnx -o concat.i.g && made concat concat.i.g &&
		kept concat --alias at=at_next --alias k0=k0_next --alias v0=v0_next --alias k1=k1_next --alias v1=v1_next && ./open concatplain.so concat.so 0 1 2>steps.log
	ok $? "concat: 1,000 steps of a cache that grows" || cat steps.log
	# What each run adds goes behind what is there: the bytes that a step writes do not grow with the steps.
	set --
	for i in 0 1; do for x in key value; do set -- "$@" --alias "past_key_values.$i.$x=present.$i.$x"; done; done
	for n in cache keys shared past causal; do
		ge-import -q models/$n.onnx | ge-shape -q | ge-fold -q | ge-simplify -q | ge-prune -q | ge-fuse -q -o $n.f.g && ge-layout "$@" $n.f.g -o $n.g &&
			ge-plan $n.g -o $n.kept.g 2>err && ge-emit -q $n.kept.g -o $n && grep -q '4 of open sizes (4 grow in place)' err
		ok $? "$n: caches that grow in place" || cat err
		./open $n.so $n.so 0 2 2>steps.log
		ok $? "$n: 1,000 steps, given and kept" || cat steps.log
		run-dev --steps 1000 --set batch=2 --seed 1 $n.so -o all.npz 2>err && run-dev --steps 1000 --set batch=2 --seed 1 $n.so -o b.npz 2>b.err &&
			same all.npz b.npz && grep -q ': 1024 the last' err && [ "$(sed 's/.*, \([0-9]*\)[.0-9]* on average/\1/' err)" -lt 3000 ]
		ok $? "$n: a step writes the new rows" || cat err
		run-cmp -q --set batch=3,past=5 $n.so models/$n.onnx >cmp && [ -s $n.so ]
		ok $? "$n: the numbers of the model" || cat cmp
	done
	ge-emit -q --embed --no-compile keys.kept.g -o keysan && ${CC:-cc} -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		$(sed -n 's/.*Compile with: //p' keysan.c | head -1) -O0 -w -fPIC -shared keysan.c -o keysan.so -lm -pthread &&
		cc -g -fsanitize=address -O1 -DSTEPS=450 -I"$top/lib" "$top/tests/model/states/open.c" -o openasan -ldl && ASAN_OPTIONS=detect_leaks=1 ./openasan keysan.so keysan.so 0 2 2>steps.log
	ok $? "caches under the address sanitizer" || head -30 steps.log
	ge-plan "$@" cache.f.g -o cache.row.g 2>err && grep -q '(0 grow in place)' err && ge-layout -q --row-major "$@" cache.f.g | ge-plan -q -o /dev/null
	ok $? "row-major, they are made anew"
	ge-dump cache.g | grep -v '^meta "hone.alias' | ge-load | ge-plan -q -o no.g 2>err
	is "$? $(cat err)" "65 ge-plan: standard input: input past_key_values.0.key is not row-major, and no state that grows" "a layout of no state"
	"$HONE_PYTHON" "$top/tests/model/state_twice.py" twice.onnx && hone build -q --alias past=present -o pasttwice twice.onnx 2>err && run-cmp -q --set n=2,k=1 pasttwice.so twice.onnx >cmp && [ -s pasttwice.so ]
	ok $? "a state that is appended to itself" || cat err cmp
else
	skip "decoders" "no HONE_PYTHON"
fi

# One of those that people run, by the one command.
model=$(for d in $(printf %s "${HONE_MODELS:-$top/build/models}" | tr : ' '); do ls "$d"/*silero_vad_16k*.onnx; done 2>err | head -1)
if [ -n "$model" ]; then
	hone build -q --set batch=1,sequence=512 --const sr=16000 --alias state=stateN -o silero "$model" 2>err &&
		hone build -q --set batch=1,sequence=512 --const sr=16000 -o sileroplain "$model" && ./steps silero.so sileroplain.so 2>err
	ok $? "silero: 1,000 steps"
	hone build -q --const sr=16000 --alias state=stateN -o silero "$model" 2>err && hone build -q --const sr=16000 -o sileroplain "$model" 2>err &&
		./open sileroplain.so silero.so 2 2 2>err
	ok $? "silero of open sizes: 1,000 steps"
else
	skip "silero" "not in HONE_MODELS"
fi
done_testing
