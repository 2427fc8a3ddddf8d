# Lanes: branches that run side by side give the numbers of one thread, and lanes that would race are refused.
. "$top/tests/lib.sh"

# Two branches of steps that nothing divides, and a third one that is short; what is before, between and behind them.
{
	echo 'hone-text 1'
	echo 'module ir=8 opset=28'
	echo 'const axes = i64[1] [0]'
	echo 'graph main {'
	echo '  input x: f32[50,1,24]'
	for i in 0 1; do echo "  input w$i: f32[1,192,24]"; echo "  input r$i: f32[1,192,48]"; echo "  input b$i: f32[1,384]"; done
	echo '  a = Exp(x)'
	for i in 0 1; do
		echo "  y$i, h$i = LSTM(a, w$i, r$i, b$i) {hidden_size=48}"
		echo "  s$i = Softmax(y$i) {axis=0}"
		echo "  c$i = ReduceSum(s$i, @axes) {keepdims=0}"
	done
	echo '  n = Neg(h0)'
	echo '  z = Concat(c0, h0, c1) {axis=1}'
	echo '  output z = z'
	echo '  output h0 = h0'
	echo '  output n = n'
	echo '}'
} >towers.txt
ge-load towers.txt | ge-shape -q | ge-fuse -q | ge-layout -q -o t.g
for n in 1 2 5; do ge-plan --threads $n t.g -o plan$n.g 2>err$n && ge-emit -q plan$n.g -o t$n; done
ge-plan -q --threads 2 --lanes 1 t.g -o none.g && ge-emit -q none.g -o none && [ -s none.so ] && [ -s t1.so ] && [ -s t2.so ] && [ -s t5.so ]
ok $? "planned for 1, 2 and 5 threads"
grep -q 'steps run side by side, in 1 regions$' err2 && grep -q 'team_run(m->team, region_' t2.c
ok $? "two branches run side by side where that is faster" || cat err2
row=$(HONE_RATES=$PWD/rates run-dev --probe --force --seconds 0.1 >/dev/null; sed 's/;rates=.*//' rates)
for rate in 100 0.001; do
	echo "$row;rates=shared:$rate" >rates
	HONE_RATES=$PWD/rates ge-plan --threads 2 t.g -o /dev/null 2>&1 | grep -c 'steps run side by side'
done >out
is "$(tr '\n' ' ' <out)" "1 0 " "not where a core reads very slowly what another wrote"
for time in 1 900000000; do # picoseconds of each group, as the graph says
	ge-dump t.g | awk -v time=$time '/{graph=graph/ { sub(/}/, " picoseconds=" time "}") } { print }' | ge-load | ge-plan --threads 2 -o /dev/null - 2>&1 |
		grep -c 'steps run side by side'
done >out
is "$(tr '\n' ' ' <out)" "0 1 " "by the seconds that the graph says"
for n in 1 2 5; do run-dev --seed 3 t$n.so -o $n.npz; done
same 1.npz 2.npz && same 1.npz 5.npz && HONE_THREADS=1 run-dev --seed 3 t2.so -o alone.npz && same 1.npz alone.npz
ok $? "the numbers of one thread, bit for bit"
equal t2.so t.g
ok $? "the evaluator's numbers"
run-dev --bench --kernels --seconds 0.1 t2.so >out && [ "$(grep -c '^k' out)" -gt 3 ]
ok $? "each step is timed"
ge-plan -q --threads 2 plan2.g -o twice.g && same_graph plan2.g twice.g && ge-plan -q --threads 2 --lanes 2 plan2.g -o two.g && ge-plan -q --threads 2 --lanes 2 two.g -o twice.g &&
	same_graph two.g twice.g
ok $? "a plan twice is a plan once"

# With one thread there is no trace of them.
mark() { # LANES...: of the steps in order, "-": none
	ge-dump none.g | awk -v lanes="$*" '
		BEGIN { split(lanes, lane, " ") }
		/^graph main/ { main = 1 }
		main && /hone.Fused/ && lane[++n] != "-" { sub(/lane=\[[0-9,]*\] /, ""); sub(/ offsets=/, " lane=[" lane[n] "]&") }
		{ print }' | ge-load
}
ge-plan -q --threads 1 t.g -o one.g && ge-plan -q plan2.g -o back.g && [ -s back.g ] && ! ge-dump back.g | grep -q lane= && ! grep -q 'region_\|team' t1.c
ok $? "one thread: none"
ge-plan -q --threads 2 --lanes 1 plan2.g | ge-dump >alone.txt && [ -s alone.txt ] && ! grep -q lane= alone.txt
ok $? "--lanes 1: none"
ge-emit -q --threads 1 plan2.g -o serial && run-dev --seed 3 serial.so -o s.npz && same 1.npz s.npz && ! grep -q 'region_\|team' serial.c
ok $? "planned for two, compiled for one"

# Written by hand.
hand() { # WHAT LANES...: the plan of it, in hand.g; and what is said
	mark "$@" >hand.txt.g && ge-plan --threads 2 hand.txt.g -o hand.g 2>err
}
cat >small.txt <<'END'
hone-text 1
module ir=8 opset=28
const i = i64[2] [1, 0]
graph main {
  input x: f32[64,64]
  input j: i64[2]
  a = Softmax(x) "a"
  b = Softmax(a) "b"
  c = Softmax(a) "c"
  d = Softmax(b) "d"
  e = Softmax(c) "e"
  f = MatMul(d, e) "f"
  g = Gather(a, j) "g"
  s = Tanh(f) "s"
  output s = s
  output g = g
}
END
ge-load small.txt | ge-shape -q | ge-fuse -q | ge-layout -q >s.g
ge-plan -q --threads 2 --lanes 1 s.g -o none.g && ge-emit -q none.g -o none && run-dev none.so -o none.npz
names=$(ge-dump none.g | awk '/^graph main/ { main = 1 } main && /hone.Fused/ { print $1 }' | tr -d ':\n')
is "$names" "abcdegs" "the steps"
hand - 0,0 0,1 0,0 0,1 - - && ge-emit -q hand.g -o hand && grep -q 'region_1' hand.c && run-dev hand.so -o hand.npz && same none.npz hand.npz
ok $? "lanes by hand"
[ "$(ge-dump hand.g | grep -c 'lane=\[0,')" = 4 ] && ge-plan --why --threads 2 hand.g 2>err >again.g && grep -q 'lane 1 of 2, beside calls 1 to 4$' err && same_graph hand.g again.g
ok $? "they are kept"
refused() { # WANT WHAT LANES...
	want=$1 what=$2
	shift 2
	hand "$@"
	is "$? $(sed 's/^ge-plan: hand.txt.g: //' err)" "$want" "$what"
}
refused "65 main/d (Fused): its lane: it reads what main/b (Fused) makes at the same time, in another" "a race" - 0,0 0,1 0,1 0,1 - -
refused "65 main/e (Fused): its lane: it reads what main/c (Fused) makes at the same time, in another" "another race" - 0,0 0,1 0,0 0,0 - -
refused "65 main/d (Fused): its lane: steps of its region are elsewhere" "a region in two parts" - 0,0 - 0,0 0,1 - -
refused "65 main/g (Fused): its lane: it may fail" "a step that may fail" - - - - - 0,0 0,1
refused "65 main/b (Fused): its lane: not the number of a region and one of a lane" "no lane" - 0,-1 0,1 - - - -

# A plan in which two lanes share memory is found out: what was planned one after another is run side by side.
mark - 0,0 0,1 0,0 0,1 - - | ge-emit -q -o bad 2>err
is "$? $(sed 's/.*: \(its plan\)/\1/' err)" "64 its plan is of another graph; run ge-plan again" "memory that two lanes share"

# No data race that a sanitizer sees.
cat >main.c <<'END'
#include <stdio.h>
#include "t2.h"
static float in[8][20000], out[2][1000];
int main(void)
{
	const void *i[8];
	void *o[] = {out[0], out[1]};
	t2 *m = t2_open("t2.weights", NULL);
	for (int k = 0; k < 8; k++)
		i[k] = in[k];
	for (int k = 0; m && k < 20; k++)
		if (t2_run(m, i, o))
			return 1;
	t2_close(m);
	return !m;
}
END
echo 'int main(void) { return 0; }' >empty.c
if cc -fsanitize=thread -x c - -o tsan 2>log <empty.c && ./tsan 2>log; then
	flags=$(sed -n 's/^ \* Compile with: //p' t2.c | tr -d '*')
	cc -g -fsanitize=thread $flags -I. main.c t2.c -o tsan -lm -pthread 2>log && TSAN_OPTIONS=exitcode=9 ./tsan 2>err
	ok $? "no race in a region"
else
	skip "no race in a region" "no thread sanitizer"
fi
done_testing
