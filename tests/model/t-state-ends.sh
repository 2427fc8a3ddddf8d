# States where something goes wrong: runs that fail, outputs of another type, files that are no files of states, devices and pipes.
. "$top/tests/lib.sh"

# Every way in which a state is kept, and a table whose index a run may give out of range when all of them have been changed.
cat >fixed.txt <<'END'
hone-text 1
module ir=8 opset=28
const zero = f32[] [0]
const one = i64[1] [1]
const row = i64[2] [1, 4]
const two = i64[2] [1, 1]
const first = i64[1,1] [0]
const table = f32[4] [5, 6, 7, 8]
graph main {
  input x: f32[1,1,4]
  input idx: i64[]
  input at: i64[1]
  input c: f32[1,8,4]
  input e: f32[1,5,4]
  input h: f32[1,1,4]
  input p: i64[1]
  d = TensorScatter(c, x, at) {axis=1}
  u = Reshape(x, @row)
  w0 = Reshape(at, @two)
  w = Concat(@first, w0) {axis=1}
  f = ScatterND(e, w, u)
  n = Add(h, x)
  q = Add(p, @one)
  s = ReduceSum(d) {keepdims=0}
  t = ReduceSum(f) {keepdims=0}
  v = ReduceSum(n) {keepdims=0}
  z = Mul(s, @zero)
  zi = Cast(z) {to=7}
  i = Add(idx, zi)
  g = Gather(@table, i)
  a = Add(g, s)
  b = Add(t, v)
  y = Add(a, b)
  output y = y
  output cn = d
  output en = f
  output hn = n
  output pn = q
}
END
cat >open.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol batch 1 inf
symbol past 0 inf
const zero = f32[] [0]
const wide = i64[2] [-1, 4]
const table = f32[4] [5, 6, 7, 8]
graph main {
  input x: f32[batch,1,4]
  input idx: i64[]
  input at: i64[batch]
  input c: f32[batch,8,4]
  input h: f32[batch,1,4]
  input t: f32[past,4]
  input r: f32[2]
  d = TensorScatter(c, x, at) {axis=1}
  n = Add(h, x)
  rows = Reshape(x, @wide)
  u = Concat(t, rows) {axis=0}
  s = ReduceSum(d) {keepdims=0}
  v = ReduceSum(n) {keepdims=0}
  w = ReduceSum(u) {keepdims=0}
  rn = Add(r, s)
  z = Mul(s, @zero)
  zi = Cast(z) {to=7}
  i = Add(idx, zi)
  g = Gather(@table, i)
  a = Add(g, s)
  b = Add(w, v)
  y = Add(a, b)
  output y = y
  output cn = d
  output hn = n
  output tn = u
  output rn = rn
}
END
for n in fixed open; do
	case $n in fixed) set -- --alias c=cn --alias e=en --alias h=hn --alias p=pn ;; *) set -- --alias c=cn --alias h=hn --alias t=tn --alias r=rn ;; esac
	ge-load $n.txt -o $n.g && hone build -q --embed "$@" -o $n $n.g 2>err &&
		${CC:-cc} -g -fsanitize=address,undefined -fno-sanitize-recover=undefined $(sed -n 's/.*Compile with: //p' $n.c | head -1) -O1 -w -fPIC -shared $n.c -o ${n}an.so -lm -pthread 2>>err &&
		${CC:-cc} -g -fsanitize=address,undefined -O1 -I"$top/lib" "$top/tests/model/states/fail.c" -o fail -ldl 2>>err
	prepared $? "$n under sanitizers" || cat err
	./fail ./${n}an.so 200 >said 2>&1
	ok $? "$n: runs that fail leave the states as they were: $(tail -n 1 said)" || tail -30 said
done

${CC:-cc} -g -fsanitize=address,undefined -O1 -pthread -I"$top/lib" "$top/tests/model/states/many.c" -o many -ldl 2>err && ASAN_OPTIONS=detect_leaks=0 ./many ./fixedan.so >said 2>&1
ok $? "handles in threads, and in children of a fork" || cat err said

# What an output is, the input must take.
alias() { # WANT TEXT
	printf 'hone-text 1\nmodule ir=8 opset=28\nsymbol n 0 inf\nsymbol k 0 inf\nsymbol b 1 inf\n%s\n' "$2" >alias.txt
	rm -f alias.so
	ge-load alias.txt -o alias.g && hone build -q --embed --alias s=o -o alias alias.g 2>err
	is "$? $(sed 's/.*: the state //' err)" "$1" "a state of the model $(echo "$2" | tr '\n' ' ')"
}
runs() { # WHAT SETS...
	what=$1
	shift
	for sets; do
		run-dev --steps 3 --set "$sets" --range x=1:1 alias.so -o y.npz 2>err
		ok $? "$what, $sets" || cat err
	done
}
alias "65 s = o: the input is f32[n,1024], the output f32[n,4]" 'const ax = i64[1] [1]
graph main {
  input s: f32[n,1024]
  input x: f32[n,3]
  r = ReduceSum(s, @ax) {keepdims=1}
  o = Concat(r, x) {axis=1}
  output o = o
}'
alias "65 s = o: the input is f32[n,64], the output f32[1,64]: a second run takes it only where axis 0 of the input is 1; --set n=1" 'const ax = i64[1] [0]
graph main {
  input x: f32[n,64]
  input s: f32[n,64]
  y = Add(x, s)
  o = ReduceMax(y, @ax) {keepdims=1}
  output y = y
  output o = o
}'
for declared in ': f32[b,4]' ''; do
	alias "0 " "graph main {
  input x: f32[b,4]
  input s: f32[k,4]
  o$declared = Add(x, s)
  y = Relu(o)
  output o = o
  output y = y
}"
	runs "the first value is of the size that the output has" b=2 b=1
done
alias "0 " 'graph main {
  input x: f32[b,4]
  input s: f32[k,4]
  two = Concat(x, x) {axis=0}
  o: f32[2*b,4] = Add(two, s)
  output o = o
}'
runs "of a size that is told as a form of another" b=3
alias "0 " 'const zero = f32[] [0]
const low = i64[1] [1]
const first = i64[1] [0]
graph main {
  input x: f32[b,6]
  input s: f32[k,4]
  m = ReduceMax(x, @first) {keepdims=0}
  c = Greater(m, @zero)
  o = Compress(x, c) {axis=1}
  y = ReduceSum(s, @low) {keepdims=1}
  output o = o
  output y = y
}'
run-dev --steps 2 --set b=2 --range x=1:1 alias.so -o y.npz 2>err
is "$? $(cat err)" "65 run-dev: alias.so: state s: output o has 6 at axis 1, it takes 4" "a kept value is compared at each run"

# Files.
ge-load open.txt -o open.g && hone build -q --alias c=cn --alias h=hn --alias t=tn --alias r=rn -o kept open.g && run-dev --steps 3 --set batch=2 --range idx=0:3 --range at=0:7 --save-state s1 kept.so 2>err
ok $? "a file of states" || cat err
load() { timeout 20 run-dev --steps 1 --set batch=2 --range idx=0:3 --range at=0:7 --load-state "$1" kept.so -o y.npz 2>err; }
load s1
ok $? "it is loaded" || cat err
bytes=$(wc -c <s1) bad=
for at in $(seq 0 63) $(seq 64 49 $((bytes - 1))); do
	head -c "$at" s1 >s2
	tail -c +$((at + 1)) s1 | head -c 1 | LC_ALL=C tr '\000-\377' '\001-\377\000' >>s2
	tail -c +$((at + 2)) s1 >>s2
	load s2
	[ $? = 65 ] || bad="$bad $at"
done
[ -z "$bad" ]
ok $? "a byte that was altered is found, wherever it is" || echo "#$bad"
ulimit -v 4000000 2>/dev/null
load /dev/zero
is "$? $(cat err)" "65 run-dev: kept.so: state /dev/zero: not a file of states" "a file without end is refused by its beginning"
truncate -s 3G huge
load huge
is "$? $(cat err)" "65 run-dev: kept.so: state huge: not a file of states" "and a long one"
{ head -c 16 s1; printf '\377\377\377\377\377\377\377\177'; tail -c +25 s1; } >promise
load promise
ok $(($? != 65)) "a head that promises more than there is: $(sed 's/.*: //' err)"
mkfifo pipe && { cat pipe >piped & } && run-dev --steps 3 --set batch=2 --range idx=0:3 --range at=0:7 --save-state pipe kept.so 2>err
code=$?
wait
is "$code $([ -p pipe ] && cmp s1 piped && echo the same)" "0 the same" "a pipe is written to"
{ cat s1 >pipe & } && load pipe
ok $? "and read" || cat err
wait
ln -s s3 link && cp s1 s3 && run-dev --steps 1 --set batch=2 --range idx=0:3 --range at=0:7 --save-state link kept.so 2>err && [ -L link ] && ! cmp -s s1 s3
ok $? "the file behind a link is replaced" || cat err
if [ -c /dev/full ]; then
	run-dev --steps 1 --set batch=2 --range idx=0:3 --range at=0:7 --save-state /dev/full kept.so 2>err
	code=$?
	is "$code $([ -c /dev/full ] && tail -n 1 err)" "74 run-dev: kept.so: state /dev/full: No space left on device" "a device stays one"
fi
done_testing
