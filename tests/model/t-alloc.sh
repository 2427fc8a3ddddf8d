# What libraries of open sizes ask the C library for: nothing in a second run of the same sizes, nor in one of smaller ones; all of it is freed.
. "$top/tests/lib.sh"
export CC=cc # the program is the C library's allocator, which sanitizers would be
cc -O1 -g -fno-builtin -I"$top/lib" "$top/tests/model/sizes/alloc.c" -o alloc -ldl 2>err
prepared $? "a program that counts" || cat err

# The numbers of allocations, run by run.
counts() { sed -n 's/^[^ ]*=[^ ]* \([0-9]*\)$/\1/p' counted | tr '\n' ' '; }
# The first run may allocate, those that are not larger may not.
still() { # NAME SIZES SMALLER
	./alloc ./"$1".so "$2" "$2" "$3" "$2" "$2" >counted 2>err && counts | grep -q '^[0-9]* 0 0 0 0 $' && grep -q '^not freed 0$' counted
	ok $? "$1: a second run allocates nothing" || cat counted err
}

cat >straight.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol b 0 inf
symbol n 1 inf
const w = f32[4,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const k = f32[2,4,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const one = i64[1] [1]
const axis = i64[] [1]
const zero = f32[] [0]
const flat = i64[1] [-1]
graph main {
  input x: f32[b,n,4]
  p = MatMul(x, @w)
  s = Softmax(p) {axis=-1}
  t = Transpose(x) {perm=[0,2,1]}
  c = Conv(t, @k) {pads=[1,1]}
  g = Greater(x, @zero)
  i = NonZero(g)
  f = Reshape(s, @flat)
  v, j = TopK(f, @one)
  u, at, back, count = Unique(f)
  m = CumSum(s, @axis)
  output c = c
  output i = i
  output v = v
  output j = j
  output u = u
  output m = m
}
END
ge-load straight.txt | ge-shape -q | ge-fuse -q | ge-layout -q | ge-plan -q -o straight.g && ge-emit -q straight.g -o straight && [ -s straight.so ]
ok $? "a straight model"
still straight b=3,n=7 b=1,n=2

cat >held.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol n 1 inf
const one = i64[] [1]
const four = i64[] [4]
const yes = bool[] [1]
graph step {
  input i: i64[]
  input go: bool[]
  input l
  input x: f32[n,4]
  e = SequenceAt(l, @one) "at"
  t = Add(e, x) "add"
  m = SequenceInsert(l, t) "more"
  output go = go
  output m = m
}
graph each {
  input a
  b = Neg(a) "neg"
  output b = b
}
graph main {
  input x: f32[n,4]
  s = SequenceConstruct(x, x) "make"
  l = Loop(@four, @yes, s, x) {body=graph step captures=1} "loop"
  m = SequenceMap(l) {body=graph each} "map"
  p = SplitToSequence(x) "split"
  c = ConcatFromSequence(m) {axis=0} "join"
  o = Optional(m) "wrap"
  g = OptionalGetElement(o) "get"
  output c = c
  output g = g
  output p = p
}
END
ge-load held.txt | ge-shape -q | ge-fuse -q | ge-layout -q | ge-plan -q --no-fallback -o held.g && ge-emit -q held.g -o held && [ -s held.so ]
ok $? "sequences"
./alloc ./held.so n=7 n=7 n=7 n=2 n=7 >counted 2>err && counts | grep -q '^[0-9]* [0-9]* 0 0 0 $' && grep -q '^not freed 0$' counted
ok $? "held: a third run allocates nothing" || cat counted err

# A loop that keeps small values, and drops large ones between them: each of 64 KB, which small ones must not hold.
cat >pile.txt <<'END'
hone-text 1
module ir=10 opset=28
symbol n 0 inf
const yes = bool[] [1]
const two = i64[] [2]
const zero = i64[] [0]
const trips = i64[] [100]
const most = i64[] [4000000]
graph large {
  input l: ?[*]%"seq(tensor(float))"
  input x: f32[n,4]
  input y: f32[256]
  input z: f32[4]
  input f: i64[]
  p = SequenceConstruct(x, x) "parts"
  q = ConcatFromSequence(p) {axis=0} "join"
  k = ReduceSum(q) {keepdims=0} "sum"
  output l = l
  output k = k
}
graph small {
  input l: ?[*]%"seq(tensor(float))"
  input x: f32[n,4]
  input y: f32[256]
  input z: f32[4]
  input f: i64[]
  p = SplitToSequence(z, f) {axis=0} "few"
  q = ConcatFromSequence(p) {axis=0} "join"
  k = ReduceSum(q) {keepdims=0} "sum"
  m = SequenceInsert(l, y) "keep"
  output m = m
  output k = k
}
graph step {
  input i: i64[]
  input go: bool[]
  input l: ?[*]%"seq(tensor(float))"
  input x: f32[n,4]
  input y: f32[256]
  input z: f32[4]
  f = Max(i, @most) "size"
  r = Mod(i, @two) "odd"
  w = Equal(r, @zero) "even"
  m, c = If(w, l, x, y, z, f) {then_branch=graph large else_branch=graph small} "if"
  output go = go
  output m = m
  output c = c
}
graph main {
  input x: f32[n,4]
  input y: f32[256]
  input z: f32[4]
  l = SequenceConstruct(y) "start"
  m, c = Loop(@trips, @yes, l, x, y, z) {body=graph step captures=3} "loop"
  output c = c
  output m = m
}
END
ge-load pile.txt | ge-shape -q | ge-fuse -q | ge-layout -q | ge-plan -q --no-fallback -o pile.g && ge-emit -q pile.g -o pile
ok $? "a loop that keeps small values"
./alloc ./pile.so n=4096 n=4096 n=512 n=4096 >counted 2>err && counts | grep -q '^[0-9]* [0-9]* 0 0 $' && [ "$(sed -n 's/^bytes //p' counted)" -lt 1000000 ]
ok $? "pile: memory of dropped values is not kept with small ones" || cat counted err

if [ -n "${HONE_PYTHON-}" ]; then
	mkdir states vary && "$HONE_PYTHON" "$top/tests/model/state_models.py" states && hone build -q -o keys states/keys.onnx 2>err && [ -s keys.so ]
	ok $? "a decoder"
	still keys past=9,batch=2 past=3,batch=1
	set --
	for i in 0 1; do for x in key value; do set -- "$@" --alias "past_key_values.$i.$x=present.$i.$x"; done; done
	hone build -q "$@" -o kept states/keys.onnx 2>err && [ -s kept.so ]
	ok $? "the same with its caches kept"
	# What is given takes the place of what is kept if the run succeeds: each has memory after two runs.
	./alloc ./kept.so past=9,batch=2 past=9,batch=2 past=9,batch=2 past=3,batch=1 past=9,batch=2 >counted 2>err && counts | grep -q '^[0-9]* [0-9]* 0 0 0 $' &&
		grep -q '^not freed 0$' counted
	ok $? "kept: a third run allocates nothing" || cat counted err

	# Branches and loops exchange buffers: the second run gives each the largest that one was asked for.
	"$HONE_PYTHON" "$top/tests/model/control_models.py" "${SEED:-125}" "${COUNT:-3}" vary vary
	for f in vary/*.onnx; do
		n=v$(basename "$f" .onnx)
		hone build -q -o $n "$f" 2>err && ./alloc ./$n.so n=5 n=5 n=5 n=5 n=2 n=5 n=5 n=5 >counted 2>err && counts | grep -q '^[0-9]* [0-9]* 0 0 [0-9]* [0-9]* 0 0 $' &&
			grep -q '^not freed 0$' counted
		ok $? "$f: a third run allocates nothing" || cat counted err
	done
else
	skip "decoders, branches and loops" "no HONE_PYTHON"
fi
done_testing
