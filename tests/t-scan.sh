# Recurrent networks and cumulative sums are compiled, not left to the evaluator: the conformance cases, and sizes with
# remainders, several sequences, both directions.
say() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi; }

data=/usr/share/libonnx-testdata/data/node
for case in gru_batchwise gru_defaults gru_with_initial_bias lstm_batchwise lstm_with_initial_bias \
	rnn_seq_length simple_rnn_batchwise; do
	if [ ! -e $data/test_$case/model.onnx ]; then
		echo "ok - $case # SKIP libonnx-testdata is not installed"
		continue
	fi
	hone build -q --no-fallback $data/test_$case/model.onnx -o m && run-cmp --runs 2 m.so $data/test_$case/model.onnx >/dev/null
	say $? "$case, compiled"
done

cat >net.txt <<'END'
hone-text 1
module ir=8 opset=17
graph main {
  input x: f32[11,3,19]
  input w: f32[2,148,19]
  input r: f32[2,148,37]
  input b: f32[2,296]
  input h: f32[2,3,37]
  input c: f32[2,3,37]
  input p: f32[2,111]
  y, yh, yc = LSTM(x, w, r, b, -, h, c, p) {clip=3.0 direction="bidirectional" hidden_size=37} "lstm"
  output y = y
  output yh = yh
  output yc = yc
}
END
cat >sum.txt <<'END'
hone-text 1
module ir=8 opset=17
const one = i64[] [1]
graph main {
  input x: f32[5,23,37]
  y = CumSum(x, @one) {exclusive=1 reverse=1} "before"
  z = CumSum(x, @one) "sum"
  output y = y
  output z = z
}
END
for m in net sum; do
	ge-load $m.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q --no-fallback -o $m.g && ge-emit -q $m.g -o $m && run-cmp --runs 3 $m.so $m.g >/dev/null
	say $? "$m, compiled"
done
