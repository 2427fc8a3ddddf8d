# ge-join: a kernel that another one reads line by line becomes part of it; numbers stay, and what would not gain stays apart.
. "$top/tests/lib.sh"

# NAME H READERS: a depthwise convolution of HxH, Clip, a 1x1 one; READERS: nodes behind them
model() {
	ge-load -o "$1.g" <<-END
	hone-text 1
	module ir=8 opset=21
	symbol n 1 inf
	const zero = i64[] [0]
	const one = i64[] [1]
	const deep = i64[] [864]
	const many = i64[] [2304]
	const dw = i64[4] [96,1,3,3]
	const pw = i64[4] [24,96,1,1]
	const least = f32[] [0]
	const most = f32[] [6]
	graph main {
	  input x: f32[$2]
	  a = Range(@zero, @deep, @one)
	  b = Cast(a) {to=1}
	  c = Sin(b)
	  d = Reshape(c, @dw)
	  e = Range(@zero, @many, @one)
	  f = Cast(e) {to=1}
	  h = Cos(f)
	  w = Reshape(h, @pw)
	  wide = Conv(x, d) {group=96 pads=[1,1,1,1]}
	  bound = Clip(wide, @least, @most)
	  y = Conv(bound, w)
	$3
	  output y = y
	}
	END
	hone passes -q --until layout "$1.g" -o "$1.l.g"
	ge-join --target x86-64-v3 --why "$1.l.g" -o "$1.j.g" 2>"$1.why"
}
groups() { ge-dump "$1" | grep -c '= hone.Fused('; }

model pair 1,96,56,56 ''
is "$(groups pair.l.g) $(groups pair.j.g) $(grep -c ': joined into .* 0\.[0-9]* of the time' pair.why)" "2 1 1" "two kernels are one"
is "$(ge-check pair.j.g 2>&1; run-cmp -q pair.g pair.j.g >/dev/null && echo equal)" equal "its numbers are the model's"
is "$(ge-join --target x86-64-v3 pair.j.g 2>&1 | ge-stat --digest -)" "$(ge-stat --digest pair.j.g)" "again: nothing changes"
is "$(ge-dump pair.j.g | ge-load | ge-stat --digest -)" "$(ge-stat --digest pair.j.g)" "as text, and back"
is "$(tune-op --tasks pair.j.g | tr ';' '\n' | grep -c Conv)" 2 "one task with both"
ge-plan -q pair.j.g | ge-emit -q --embed -o pair && run-cmp pair.so pair.g --runs 2 >cmp 2>&1
is "$? $(grep -c ' equal$' cmp)" "0 2" "the kernel's numbers are the model's"
hone build -q pair.g -o built >/dev/null 2>&1 && is "$(grep -c . built.h >/dev/null; ge-dump built.d/*-join.g | grep -c '= hone.Fused(')" 1 "a build joins them"
hone tune -q --trials 0 pair.g -o tuned >/dev/null 2>&1
is "$(ge-dump tuned.d/*-tune.g | grep -c '= hone.Fused(')" 1 "so does a tuning"
hone build -q --model none pair.g -o plain >/dev/null 2>&1
is "$(ge-dump plain.d/*-plan.g | grep -c '= hone.Fused(')" 2 "--model none: it does not"

model used 1,96,56,56 '  z = Sigmoid(bound)
  output z = z'
is "$(groups used.l.g) $(grep -c ': joined' used.why)" "$(groups used.j.g) 0" "a result that another one reads, too, stays"
model small 1,96,4,4 ''
is "$(groups small.j.g) $(grep -c ': joined' small.why)" "2 0" "what fits the cache stays apart"
model open n,96,56,56 ''
is "$(groups open.l.g) $(grep -c ': joined' open.why)" "$(groups open.j.g) 0" "open sizes stay apart"
model traced 1,96,56,56 ''
ge-dump traced.l.g | sed '/Fused(/s/{graph/{trace="# trace 1" graph/' | ge-load -o given.g && ge-join -q --target x86-64-v3 given.g -o still.g
is "$(groups still.g)" 2 "a trace that is there stays"
# Equal kernels, of which one is read by a product, the other by a sum: which pair comes first changes nothing.
ordered() { # NAME: the pairs on standard input
	{
		printf 'hone-text 1\nmodule ir=8 opset=21\nconst zero = i64[] [0]\nconst one = i64[] [1]\nconst deep = i64[] [864]\nconst many = i64[] [9216]\n'
		printf 'const dw = i64[4] [96,1,3,3]\nconst pw = i64[4] [96,96,1,1]\ngraph main {\n'
		printf '  input %s: f32[1,96,56,56]\n' x y x2
		printf '  a = Range(@zero, @deep, @one)\n  b = Cast(a) {to=1}\n  c = Sin(b)\n  d = Reshape(c, @dw)\n  e = Range(@zero, @many, @one)\n'
		printf '  f = Cast(e) {to=1}\n  h = Cos(f)\n  w = Reshape(h, @pw)\n  m = Conv(x2, d) {group=96 pads=[1,1,1,1]}\n'
		cat
		printf '  output q = q\n  output q2 = q2\n}\n'
	} | ge-load -o "$1.g" && hone passes -q --until layout "$1.g" -o "$1.l.g" && ge-join -q --target x86-64-v3 "$1.l.g" -o "$1.j.g"
}
product='  k = Conv(x, d) {group=96 pads=[1,1,1,1]}
  p = Conv(k, w)
  q = Add(p, m)'
sum='  k2 = Conv(y, d) {group=96 pads=[1,1,1,1]}
  p2 = Conv(m, w)
  q2 = Add(p2, k2)'
printf '%s\n' "$product" "$sum" | ordered one && printf '%s\n' "$sum" "$product" | ordered two
is "$(groups one.j.g) $(groups two.j.g)" "4 4" "equal kernels that are read otherwise: each pair by itself"
refused 64 nowhere "no such target" ge-join --target nowhere pair.l.g
refused 66 none.g "a file that is not there" ge-join none.g -o x.g
done_testing
