# Models of open sizes beside those of known sizes: one row, recurrent networks, steps that only make sizes.
. "$top/tests/lib.sh"

weights() { yes "$2" | head -"$1" | paste -sd, -; }
# A product of rows: of one row another kernel, with the same weights. An LSTM of any length: a kernel, and of no step only the states.
cat >rows.txt <<END
hone-text 1
module ir=8 opset=20
symbol b 0 inf
symbol t 0 inf
const k = f32[64,24,3] [$(weights 4608 0.125)]
const w = f32[1,64,16] [$(awk 'BEGIN { for (i = 0; i < 1024; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101 - 50) / 200 }')]
const r = f32[1,64,16] [$(awk 'BEGIN { for (i = 0; i < 1024; i++) printf "%s%g", i ? ", " : "", (i * 53 % 103 - 51) / 200 }')]
const a = f32[1,128] [$(weights 128 0.25)]
graph main {
  input x: f32[b,24,5]
  input s: f32[t,2,16]
  input h: f32[1,2,16]
  input c: f32[1,2,16]
  v = Conv(x, @k) {pads=[1,1]} "conv"
  y, hn, cn = LSTM(s, @w, @r, @a, -, h, c) {hidden_size=16} "lstm"
  output v = v
  output y = y
  output hn = hn
  output cn = cn
}
END
ge-load rows.txt | ge-shape | ge-fuse | ge-layout -o rows.g && ge-plan --why rows.g -o plan.g 2>err && ge-emit -q plan.g -o rows && ge-emit -q --print-traces plan.g >traces &&
	! grep -q 'lstm.*: native: ' err && grep -q '^	if (m->size\[[0-9]*\] == 1) {$' rows.c && grep -q 'native_run(.*native_LSTM' rows.c
ok $? "a kernel for one row, and one of an LSTM of any length" || cat err
[ $(wc -c <rows.weights) -lt 50000 ]
ok $? "weights are there once"
for set in b=1,t=1 b=2,t=7 b=1,t=0 b=0,t=2 b=7,t=33; do
	run-dev rows.so --set $set -o y.npz && run-ref rows.g --set $set -o r.npz && { equal y.npz r.npz || { [ -s y.npz ] && { [ $set = b=0,t=2 ] || [ $set = b=1,t=0 ]; }; }; }
	ok $? "$set: the evaluator's numbers"
done

# Views whose sizes are known are no calls.
cat >view.txt <<END
hone-text 1
module ir=8 opset=20
symbol b 0 inf
symbol t 0 inf
const s = i64[2] [-1, 6]
const z = i64[1] [1]
graph main {
  input x: f32[b,2,3]
  input y: f32[b,1,t]
  a = Relu(x) "a"
  c = Reshape(a, @s) "c"
  d = Neg(c) "d"
  e = Squeeze(y, @z) "e"
  f = Exp(e) "f"
  output d = d
  output f = f
}
END
ge-load view.txt | ge-shape | ge-fuse | ge-layout -o view.g && ge-plan -q view.g -o plan.g && ge-emit -q plan.g -o view && ! grep -q 'native_run(' view.c &&
	[ $(grep -c 'if (size_view(' view.c) = 2 ]
ok $? "views of known sizes call nothing" || grep -n 'native_run\|size_view' view.c
for set in b=1,t=1 b=2,t=7 b=7,t=33; do
	run-dev view.so --set $set -o y.npz && run-ref view.g --set $set -o r.npz && equal y.npz r.npz
	ok $? "$set: the evaluator's numbers"
done
run-dev view.so --set b=0,t=3 -o y.npz && run-dev view.so --set b=3,t=0 -o none.npz && [ -s none.npz ]
ok $? "of no elements"

# Short lines with a border: whole vectors of all lines, then what is left of all.
cat >border.txt <<END
hone-text 1
module ir=8 opset=20
symbol b 1 inf
symbol n 1 inf
const k = f32[32,24,3] [$(weights 2304 0.125)]
const w = f32[24,32,3] [$(weights 2304 0.25)]
graph main {
  input x: f32[b,24,n]
  c = Conv(x, @k) {pads=[1,1] strides=[32]} "c"
  y = Conv(c, @w) {pads=[1,1]} "y"
  output y = y
}
END
ge-load border.txt | ge-shape | ge-fuse | ge-layout -o border.g && ge-plan -q border.g -o plan.g && ge-emit -q plan.g -o border &&
	ge-plan -q --target x86-64-v3 border.g | ge-emit -q --target x86-64-v3 --print-traces - >traces &&
	grep -q '^reorder pad.w.0 pad.n pad.c pad.w.1' traces
ok $? "what is left of short lines is loaded for all at once" || cat traces
for set in b=1,n=1 b=1,n=33 b=3,n=500 b=2,n=512 b=5,n=1100; do
	run-dev border.so --set $set -o y.npz && run-ref border.g --set $set -o r.npz && equal y.npz r.npz
	ok $? "$set: the evaluator's numbers"
done
done_testing
