# Parts that users add: passes (hone build --pass), operators (--extern, --link).
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
ge-load -o net.g - <<'END'
hone-text 1
module ir=8 opset=17
graph main {
  input x: f32[4,8]
  r = Relu(x)
  y = Neg(r)
  output y = y
}
END
swap='ge-dump | sed "s/= Relu(/= Abs(/" | ge-load'
is "$(rc hone passes net.g --pass "$swap" --until fuse -o a.g) $(ge-dump a.g | grep -c Abs) $(rc hone passes net.g --pass "fuse:$swap" --until fuse -o b.g) $(ge-dump b.g | grep -c Abs)" \
	"0 1 0 1" "after prune, and after a stage that is named"
same_graph a.g b.g
ok $? "the same graph by both"
is "$(rc hone passes net.g --pass "$swap" --pass 'ge-dump | sed "s/= Abs(/= Exp(/" | ge-load' --until prune -o c.g) $(ge-dump c.g | grep -c Exp)" "0 1" "two, in their order"
is "$(rc hone build net.g -q -o net --pass "$swap") $(ls net.d | grep own) $(rc run-cmp net.so a.g)" "0 08-own-ge-dump.g 0" "hone build: its graph is kept, its numbers are the library's"
refused() { # CODE MESSAGE OPTION...
	want="$1 $2" && shift 2
	is "$(rc hone build net.g -o never/m "$@") $(cat err)$(ls -d never 2>/dev/null)" "$want" "refused: $*"
}
refused 64 "hone: --pass no:cat: there is no stage 'no'; hone passes --list" --pass no:cat
refused 64 "hone: --pass emit:cat: nothing comes between emit and the library" --pass emit:cat
refused 64 "hone: --pass fuse:: which command?" --pass fuse:
refused 64 "hone: --pass :: there is no stage ''; hone passes --list" --pass :
refused 65 "hone: --pass exit 3: the command ended with 3" --pass 'exit 3'
refused 65 "ge-shape: --pass true:0: empty; a graph stream expected" --pass true
refused 65 "ge-shape: --pass head:55: the stream is cut short (a string of length 17)" --pass 'head -c 64'

# operators
ge-load -o moments.g - <<'END'
hone-text 1
module ir=8 opset=17
symbol n 0 inf
graph main {
  input x: f32[n,8]
  r = Relu(x)
  m, s = my.Moments(r) {epsilon=0.25}
  y = Neg(s)
  output m = m
  output y = y
}
END
cat >reference.txt <<'END'
hone-text 1
module ir=8 opset=17
symbol n 0 inf
const axes = i64[1] [1]
const e = f32[] [0.25]
graph main {
  input x: f32[n,8]
  r = Relu(x)
  m = ReduceMean(r, @axes) {keepdims=0}
  c = ReduceMean(r, @axes)
  d = Sub(r, c)
  q = Mul(d, d)
  v = ReduceMean(q, @axes) {keepdims=0}
  w = Add(v, @e)
  s = Sqrt(w)
  y = Neg(s)
  output m = m
  output y = y
}
END
${CC:-gcc} -std=gnu11 -O1 -fPIC -I"$top/lib" -c "$top/examples/operator/moments.c" && ge-load reference.txt -o reference.g
rule='my.Moments=moments:f32[n,c] -> f32[n] f32[n]'
for n in 4 open; do
	is "$(rc hone build moments.g -q $([ $n = 4 ] && echo --set n=4) --extern "$rule" --link moments.o -o own/$n) $(run-dev own/$n.so $([ $n = 4 ] || echo --set n=4) -o $n.npz 2>&1)$(run-ref reference.g --set n=4 -o want.npz 2>&1)" \
		"0 " "an operator of one's own, sizes $n" && run-cmp $n.npz want.npz >log
	ok $? "and its numbers"
done
is "$(ge-shape moments.g --extern 'my.Moments=f:T[n,c] -> i64[2*n+c,?] T' | ge-dump | grep -o '[ms]: .* = hone')" 'm: i64[2*n + 8,_1], s: f32[*] = hone' "types by the rule"
refuses() { # CODE MESSAGE ARGUMENT
	is "$(rc ge-shape moments.g --extern "$3" -o never.g) $(cat err)$(ls never.g 2>/dev/null)" "$1 ge-shape: $2" "refused: --extern $3"
}
refuses 64 '--extern Moments=m: DOMAIN.OP=FUNCTION or DOMAIN.OP=FUNCTION:RULE wanted, FUNCTION a name in C' Moments=m
for of in my.Moments no.Such; do refuses 64 "--extern $of=m:f32[n,c] -> f32[n: its rule 'f32[n,c] -> f32[n': ']' wanted at ''" "$of=m:f32[n,c] -> f32[n"; done
refuses 65 "moments.g: main/m (Extern): operand 0 has extent 8 at axis 1, not 7 (rule 'f32[n,7] -> f32[n] f32')" 'my.Moments=m:f32[n,7] -> f32[n] f32'
is "$(rc ge-shape moments.g --extern a.B=f -o m.g) $(cat err)" "0 ge-shape: --extern a.B: no node has this operator" "no node has the operator"
is "$(rc hone build moments.g -q --set n=4 --extern "$rule" -o own/open.so) $(cat err)" \
	"0 ge-emit: the library leaves open: moments; --link FILE has it, or the program that loads the library" "without --link"
ge-shape moments.g --extern "$rule" -o m.g
is "$(rc run-ref m.g --set n=4 -o r.npz) $(cat err)" "69 run-ref: m.g: main/m (Extern): no evaluator of my.Moments: the function moments computes it, which libraries call" "and run-ref"
is "$(rc run-ref moments.g --set n=4 -o r.npz) $(cat err)" "69 run-ref: moments.g: main/m (Moments): there is no implementation of my.Moments (1 node)" "without --extern"
printf '#include "native/native.h"\nconst char *moments(struct native *n) { return "not today"; }\n' >no.c && ${CC:-gcc} -fPIC -I"$top/lib" -c no.c &&
	hone build moments.g -q --set n=4 --extern "$rule" --link no.o -o own/no
is "$(rc run-dev own/no.so -o r.npz) $(grep -c 'not today' err)" "65 1" "a function that refuses ends the run"

# C++
if command -v g++ >/dev/null; then
	cat >net.cc <<'END'
#include "hone.hpp"
#include <cstdio>
int main(int n, char **argv)
{
	for (int i = 1; i < n; i++) {
		hone::model net(argv[i]);
		const float x[4] = {1, -2, 3, -4}, *y;
		auto out = net.run({hone::tensor::of({1, 4}, x)});
		y = out[0].data<float>();
		std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
		for (auto &wrong : {hone::tensor::of({2, 2}, x), hone::tensor::of({1, 4}, (const int *)x), hone::tensor()})
			try {
				net.run({wrong});
			} catch (const hone::error &e) {
				std::puts(e.what());
			}
	}
	try {
		hone::model("nowhere.so");
	} catch (const hone::error &e) {
		std::puts("refused");
	}
}
END
	printf '%s\n' 'hone-text 1' 'module ir=8 opset=17' 'symbol n 0 inf' 'graph main {' '  input x: f32[n,4]' '  y = Abs(x)' '  output y = y' '}' | ge-load -o abs.g
	hone build -q abs.g -o own/abs && hone build -q abs.g --set n=1 -o own/one
	is "$(g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$top/include" -I"$top/lib" net.cc -o net.bin -ldl && ./net.bin own/abs.so own/one.so)" \
		"$(printf '%s\n' '1 2 3 4' 'input x: another shape than the model'"'"'s' 'input x: i32, not f32' 'input x: is not given' \
			'1 2 3 4' 'input x: another shape than the model'"'"'s' 'input x: i32, not f32' 'input x: is NULL' refused)" "hone.hpp"
else
	skip "hone.hpp" "no g++"
fi
done_testing
