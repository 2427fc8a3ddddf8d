# Recurrent networks and cumulative sums are compiled, not left to the evaluator: the conformance cases, and sizes with
# remainders, several sequences, both directions.
. "$top/tests/lib.sh"

data=/usr/share/libonnx-testdata/data/node
for case in gru_batchwise gru_defaults gru_with_initial_bias lstm_batchwise lstm_with_initial_bias \
	rnn_seq_length simple_rnn_batchwise; do
	if [ ! -e $data/test_$case/model.onnx ]; then
		skip "$case" "libonnx-testdata is not installed"
		continue
	fi
	hone build -q --no-fallback $data/test_$case/model.onnx -o m && equal --runs 2 m.so $data/test_$case/model.onnx
	ok $? "$case, compiled"
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
	ge-load $m.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q --no-fallback -o $m.g && ge-emit -q $m.g -o $m && equal --runs 3 $m.so $m.g
	ok $? "$m, compiled"
done

# A single step has no scan: its products are tiles all the same, and what the zero state makes nothing of is not computed.
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%g", i ? ", " : "", (i * 37 % 101) / 50 - 1 }'; }
{
	printf 'hone-text 1\nmodule ir=8 opset=17\nconst w = f32[1,96,24] [%s]\nconst r = f32[1,96,32] [%s]\nconst b = f32[1,192] [%s]\n' "$(numbers 2304)" "$(numbers 3072)" "$(numbers 192)"
	printf 'graph main {\n  input x: f32[1,3,24]\n  input h: f32[1,3,32]\n'
	for linear in 0 1; do
		printf '  y%d, - = GRU(x, @w, @r, @b) {hidden_size=32 linear_before_reset=%d}\n  output y%d = y%d\n' $linear $linear $linear $linear
		printf '  z%d, - = GRU(x, @w, @r, @b, -, h) {hidden_size=32 linear_before_reset=%d}\n  output z%d = z%d\n' $linear $linear $linear $linear
	done
	echo '}'
} >step.txt
ge-load step.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q --no-fallback -o step.g 2>err && ge-emit step.g -o step 2>>err && equal --runs 3 step.so step.g && [ ! -s err ]
ok $? "one step: the evaluator's numbers $(head -c 300 err)"
[ "$(grep -c 'stage gates(' step.c)" -eq 2 ] && ! grep -E '\+= (0\.0f \*|i[0-9]\[)' step.c
ok $? "one step: products in vectors"
done_testing
