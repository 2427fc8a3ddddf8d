# ge-quantize: the digits model in bytes, a layer that is bad on purpose, the metric, bad input.
. "$top/tests/lib.sh"
digits=$top/examples/digits
rc() { "$@" >out 2>err; echo $?; }
HONE_BLOBS=$PWD/blobs
export HONE_BLOBS
# What part of the scans a model reads right, in percent.
cat >accuracy <<'END'
#!/bin/sh
here=$(dirname "$0")
run-ref -q -i "$here/images.npy" -o "$here/logits$$.npy" "$1" && [ -s "$here/logits$$.npy" ] || exit 1
tail -c 14400 "$here/logits$$.npy" | od -An -v -tf4 -w40 >"$here/logits$$"
tail -c 2880 "$here/labels.npy" | od -An -v -td8 -w8 | paste "$here/logits$$" - |
	awk '{ best = 1; for (i = 2; i <= 10; i++) if ($i > $best) best = i; right += best - 1 == $11 } END { if (NR) print 100 * right / NR }'
rm "$here/logits$$" "$here/logits$$.npy"
END
chmod +x accuracy
cp "$digits/images.npy" "$digits/labels.npy" .
ge-import "$digits/digits.onnx" | ge-shape | ge-fold | ge-simplify | ge-deadedge | ge-cse | ge-prune -o float.g
float=$(./accuracy float.g)
is "$float" 98.3333 "in float"
is "$(rc ge-calibrate float.g images.npy -o stats) $(ls stats)" "0 stats" "calibrated"

near() { awk -v a="$1" -v b="$float" 'BEGIN { print (a != "" && a > b - 0.6) ? "near" : a }'; }
for method in minmax percentile entropy mse; do
	is "$(rc ge-quantize -s stats --method $method -o $method.g float.g) $(near "$(./accuracy $method.g)")" "0 near" "$method: as accurate"
done
is "$(grep -c int8 out)" 5 "the report has five layers"
is "$(ge-dump mse.g | awk '/ = DequantizeLinear\(/ { n++ } /_read(: .*)? = / { named++ } END { print (n > 0), n - named }')" "1 0" "named for what they are of"
is "$(ge-check mse.g && ge-export mse.g -o mse.onnx && [ -s mse.onnx ] && ge-import mse.onnx | ge-shape | ge-check - && echo good)" good "exports, and comes back"
is "$(ge-integer mse.g -o int.g && ge-dump int.g | grep -c 'ConvInteger(')" 3 "ge-integer makes integers of all three convolutions"
is "$(ge-quantize -q -s stats --method mse float.g | cmp - mse.g && echo same)" same "the same bytes again"
is "$(ge-quantize -q -s stats --skip Conv --skip GlobalAveragePool float.g | ge-dump | grep -c ' = QuantizeLinear')" 2 "--skip"
is "$(ge-quantize -q -s stats --only Gemm float.g | ge-dump | grep -c 'i8\[' )" 1 "--only"
is "$(rc ge-quantize --activations none --json -o weights.g float.g) $(near "$(./accuracy weights.g)") $(ge-dump weights.g | grep -c ' = QuantizeLinear')" "0 near 0" \
	"weights alone, without statistics"
is "$(ge-quantize -q -s stats --activations none float.g | ge-dump | grep -c '^const .*_corrected = f32') $(ge-quantize -q -s stats --no-correction --activations none float.g | ge-dump | grep -c _corrected)" \
	"4 0" "weights alone, with statistics: biases are corrected"
is "$(grep -o '"quantised": true' out | wc -l)" 4 "the report as JSON"
is "$(rc ge-quantize -q --activations dynamic -o dynamic.g float.g) $(near "$(./accuracy dynamic.g)")" "0 near" "ranges of each run"
is "$(ge-dump dynamic.g | grep -oE ' = (ConvInteger|MatMulInteger|DynamicQuantizeLinear|Conv|Gemm)\(' | sort | uniq -c | tr -d ' \n')" \
	"3=ConvInteger(4=DynamicQuantizeLinear(1=MatMulInteger(" "ranges of each run: integer operators"
is "$(ge-export dynamic.g -o dynamic.onnx && [ -s dynamic.onnx ] && ge-import dynamic.onnx | ge-shape | ge-check - && echo good)" good "ranges of each run: exports, and comes back"

# The first input channel of the second convolution a thousand times larger, and what comes in as much smaller: the same numbers, and
# weights that rounding to 8 bits leaves nothing of.
ge-dump float.g | awk '
	/^graph/ { print "const big = f32[1,16,1,1] [1000" ones "]"; print "const small = f32[16,1,1] [0.001" ones "]" }
	/^  [^ ]*Conv_output|features.1.1.BatchNormalization_output_0: .* = Conv\(/ {
		match($0, /Conv\([^,]*, @[a-z0-9]*/); split(substr($0, RSTART + 5, RLENGTH - 5), part, ", ")
		print "  lowered = Mul(" part[1] ", @small)"
		print "  raised = Mul(" part[2] ", @big)"
		sub(/Conv\([^,]*, @[a-z0-9]*/, "Conv(lowered, raised")
	}
	{ print }
	BEGIN { for (i = 1; i < 16; i++) ones = ones ", 1" }' >bad.txt
is "$(ge-load bad.txt | ge-shape | ge-fold -o bad.g; ./accuracy bad.g)" "$float" "a bad layer: in float the same"
ge-calibrate bad.g images.npy -o bad.stats
ge-quantize -q -s bad.stats bad.g -o broken.g 2>err
is "$(near "$(./accuracy broken.g)" | sed 's/^[0-9].*/far/')" far "a bad layer: quantised with the others it ruins the model"
bad_layer=/features/features.1/features.1.1/BatchNormalization
is "$(rc ge-quantize -s bad.stats --samples images.npy -o broken.g bad.g) $(awk -v l=$bad_layer '$1 == l { print ($9 < 0), $10 }' out)" "0 1 0:" \
	"a bad layer: the report has what it reads, and the worst channel"
is "$(sed -n 's/^output logits: \(-*\)[0-9.]* dB.*same in [0-9.]*%, on 100 samples$/\1/p' out) $(grep -c 'output logits is far from float' err)" "- 1" \
	"a bad layer: how far the outputs are from float"
is "$(grep -c "$bad_layer: of its operand lowered it reads -[0-9.]* dB (channel 0: .*; --smooth 0.5 is predicted to leave 0.*--skip $bad_layer none" err)" 1 \
	"a bad layer: what helps"
is "$(rc ge-quantize --json -s stats --samples images.npy -o x.g float.g) $(wc -c <err) $(grep -c '"samples": 100, "outputs": \[{"name": "logits", "error": [0-9.e-]*, "worst_channel": [0-9], .*"same": 1}\]}$' out)" \
	"0 0 1" "a good model: no word, and the same as JSON"
fails_at_samples() { [ "$(rc ge-quantize -q -s stats --samples "$1" -o x.g float.g) $(wc -l <err)" = "$2 1" ]; }
fails_at_samples missing.npy 66 && fails_at_samples labels.npy 65
ok $? "samples that are not there, or of another shape"
is "$(rc ge-quantize -s bad.stats --metric ./accuracy --drop 0.5 -o mended.g bad.g) $(near "$(./accuracy mended.g)")" "0 near" "--metric: it holds"
is "$(awk '$2 == "float" { print $1 }' out)" /features/features.1/features.1.1/BatchNormalization "--metric: the bad layer alone is back in float"
is "$(awk '$2 == "float" { print ($7 > 5) }' out) $(sed -n 's/^metric: \([^ ]*\) in float.*/\1/p' out)" "1 98.3333" "the report has its harm"
is "$(rc ge-quantize -q -s stats --metric ./accuracy -o held.g float.g) $(same_graph held.g mse.g && echo same)" "0 same" "--metric that holds at once changes nothing"

# Two layers that do as much harm: the one that takes less time in float goes back first.
cat >two <<'END'
#!/bin/sh
n=$(ge-dump "$1" | grep -cE ' = (Conv|Gemm)\(.*_read, .*"/(features/features.1/features.1.1/BatchNormalization|classify/Gemm)"')
echo $((100 - n))
END
chmod +x two
steps() { # SECONDS OF THE CONVOLUTION, OF THE PRODUCT
	printf '{"steps":[{"kernel":"k0","node":"/features/features.1/features.1.1/BatchNormalization","seconds":%s},{"node":"/classify/Gemm","seconds":%s}]}\n' "$1" "$2"
}
steps 1e-6 1e-6 >all.json
steps 9e-6 2e-6 >cheap.json
steps 2e-6 9e-6 >dear.json
is "$(rc ge-quantize -s stats --times all.json --times cheap.json --times cheap.json --metric ./two --drop 1 -o x.g float.g) $(awk '$2 == "float" { print $1, $8 }' out) $(sed -n 2p out | grep -c est)" \
	"0 /classify/Gemm 1 0" "--times: the cheaper layer goes back"
is "$(rc ge-quantize -s stats --times all.json --times dear.json --times dear.json --metric ./two --drop 1 -o x.g float.g) $(awk '$2 == "float" { print $1, $8 }' out)" \
	"0 /features/features.1/features.1.1/BatchNormalization 1" "--times: and the other, if it is that one"
for half in 1 2; do ge-quantize -q -s stats --alternate $half float.g | ge-dump | grep -oE 'i8\[.*@?.*' | wc -l >half$half; done
is "$(cat half1 half2 | tr '\n' ' ')" "3 1 " "--alternate: layers with weights of either half"

steps 5e-6 5e-6 >slow.json
is "$(rc ge-quantize -s stats --times slow.json --times dear.json --times dear.json -o x.g float.g) $(awk '$2 == "float" { print $1, $8 }' out)" \
	"0 /features/features.1/features.1.1/BatchNormalization -3" "--times: what bytes make slower stays in float"

# Additions and averages that bytes save nothing for: of squares, and of what is read as floats, too.
cat >sums.txt <<'END'
hone-text 1
module ir=10 opset=28
const w = f32[1,1,1,1] [0.5]
const ones = f32[8] [1, 1, 1, 1, 1, 1, 1, 1]
const square = f32[8,8] [SQUARE]
graph main {
  input x: f32[1,1,8,8]
  c = Conv(x, @w) "c"
  sq = Mul(c, c)
  sum = Add(sq, x) "squares"
  d = Conv(sum, @w) "d"
  e = Relu(d)
  f = Conv(e, @w) "f"
  both = Add(f, e) "residual"
  k = Relu(both)
  l = Conv(k, @w) "l"
  p = MatMul(l, @square) "p"
  n = LayerNormalization(p, @ones) "norm"
  q = MatMul(n, @square) "q"
  sum2 = Add(q, n) "normalized"
  o = LayerNormalization(sum2, @ones)
  r = MatMul(o, @square) "r"
  g = GlobalAveragePool(both) "average"
  h = Sigmoid(both)
  output g = g
  output r = r
  output h = h
}
END
awk '/SQUARE/ { for (i = 0; i < 64; i++) all = all (i ? ", " : "") sprintf("%.2f", (i * 37) % 64 / 64 - 0.4); sub("SQUARE", all) } { print }' sums.txt | ge-load | ge-shape -o sums.g
ge-calibrate sums.g images.npy -o sums.stats
is "$(rc ge-quantize -s sums.stats -o x.g sums.g) $(awk '$2 == "int8" { print $1 }' out | tr '\n' ' ')" "0 c d f residual l p q r " "additions that bytes save nothing for stay in float"

# Rows of a table become bytes with a scale each; small tables, and those that are weights, too, stay as they are.
awk 'BEGIN {
	for (i = 0; i < 1024 * 16; i++) {
		big = big (i ? ", " : "") ((i * 7919) % 2003 - 1000) / (1 + int(i / 16))
		tied = tied (i ? ", " : "") ((i * 104729) % 2003 - 1000) / 1000
	}
	print "hone-text 1\nmodule ir=10 opset=28\nconst big = f32[1024,16] [" big "]\nconst tied = f32[16,1024] [" tied "]"
}' >table.txt
cat >>table.txt <<'END'
graph main {
  input ids: i64[2,3]
  input few: i64[2,1]
  rows = Gather(@big, ids) {axis=0} "rows"
  again = Gather(@big, few) {axis=0} "again"
  some = Gather(@tied, few) {axis=0} "some"
  y = MatMul(rows, @tied)
  output y = y
  output again = again
  output some = some
}
END
ge-load table.txt | ge-shape -o table.g
is "$(rc ge-quantize --activations none --skip MatMul -o table_q.g table.g) $(awk '$2 == "int8" { print $1 }' out | tr '\n' ' ')$(ge-dump table_q.g | grep -c '^const .* = i8\[1024,16\]')" \
	"0 rows again 1" "a table is bytes, once for all that take its rows"
is "$(($(ge-pack table_q.g | wc -c) < $(ge-pack table.g | wc -c) * 2 / 3))" 1 "a table: the model is smaller"
is "$(run-cmp --tol 0.005 --range ids=0:1023 --range few=0:15 table_q.g table.g | grep -c ' equal$')" 3 "a table: each row is as near as its scale"
is "$(ge-quantize -q --activations none --skip again table.g | ge-dump | grep -c ' = Cast(')" 1 "a table: --skip"

# A product that an addition reads after a bias is not rounded: its sum is no operand of bytes.
cat >block.txt <<'END'
hone-text 1
module ir=10 opset=28
const w = f32[8,8] [0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1, 0.5, -0.25, 0.125, 1]
const bias = f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
const half = f32[] [0.5]
const flat_shape = i64[2] [8, 8]
const shape = i64[4] [1, 1, 8, 8]
graph main {
  input image: f32[1,1,8,8]
  first = MatMul(image, @w) "first"
  product = MatMul(first, @w) "product"
  flat = Reshape(product, @flat_shape)
  biased = Add(flat, @bias) "bias"
  scaled = Mul(biased, @half)
  back = Reshape(scaled, @shape)
  sum = Add(back, first) "residual"
  y = MatMul(sum, @w) "y"
  output y = y
}
END
ge-load block.txt | ge-shape -o block.g
ge-calibrate block.g images.npy -o block.stats
ge-quantize -q -s block.stats block.g | ge-dump >block.out
is "$(grep -c 'QuantizeLinear(\(product\|flat\|biased\|scaled\|back\),' block.out) $(grep -c "^  sum_bytes.* = QuantizeLinear(sum," block.out)" "0 1" \
	"no rounding before an addition, a bias between or not"

is "$(rc ge-quantize -s stats --smooth 0.5 -o x.g float.g) $(sed -n 's/ operands.*//p' err) $(ge-dump x.g | grep -c ' = Mul(')" "0 ge-quantize: 0 0" \
	"--smooth leaves operands that it promises little for"
# The same made good by balancing: what is divided out of the operand goes into the weights, and back.
for how in --equalize "--smooth 0.5" "--equalize --smooth 0.5"; do
	is "$(rc ge-quantize -q -s bad.stats $how -o balanced.g bad.g) $(./accuracy balanced.g) $(ls balanced.g)" "0 $float balanced.g" "$how: in float the same"
	ge-calibrate balanced.g images.npy -o balanced.stats
	ge-quantize -q -s balanced.stats -o q.g balanced.g
	case $how in *smooth*) is "$(near "$(./accuracy q.g)")" near "$how: quantised as accurate" ;; esac
done

{ head -c 128 images.npy; head -c 256 /dev/zero | tr '\0' '\377'; tail -c +385 images.npy; } >nan.npy
ge-calibrate float.g nan.npy -o nan.stats
is "$(rc ge-quantize -s nan.stats -o x.g float.g) $(grep -c '4 layers stay in float' err)" "0 1" "samples that are no numbers: it says so"

# Stopped: the best so far is written.
cat >slow <<'END'
#!/bin/sh
[ ! -e "$(dirname "$0")/count4" ] || { touch "$(dirname "$0")/waits"; exec sleep 200; }
for i in 1 2 3 4; do [ -e "$(dirname "$0")/count$i" ] || { touch "$(dirname "$0")/count$i"; break; }; done
exec "$(dirname "$0")/accuracy" "$1"
END
chmod +x slow
ge-quantize -q -s bad.stats --metric ./slow -o stopped.g bad.g 2>err &
awaited
kill -TERM $!
wait $!
is "$? $(wc -l <err) $(ge-check stopped.g && echo whole)" "0 1 whole" "stopped: a whole model, one line"

rm -f count* waits
ge-quantize -q -s bad.stats --metric ./slow -o stopped.g bad.g 2>err &
awaited
kill -INT $! # which a shell's background command ignores, but for those that ask to hear of it
wait $!
is "$? $(wc -l <err) $(ge-check stopped.g && echo whole)" "0 1 whole" "interrupted: a whole model, one line"
rm -f count* waits
is "$(rc timeout 100 ge-quantize -q -s bad.stats --metric ./slow --seconds 2 -o late.g bad.g) $(wc -l <err) $(ge-check late.g && echo whole)" \
	"0 1 whole" "--seconds: a whole model, one line"

# Commands that print without end, that hear of no signal, that leave others behind: all of them end.
is "$(rc timeout 60 ge-quantize -s stats --metric yes -o x.g float.g) $(sed 's/.*: //' err)" "65 it prints without end" "--metric yes"
# The process in ./lasting runs no more; who started it may not have asked how it ended.
ended() {
	for i in 1 2 3 4 5 6 7 8 9 10; do
		case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$(cat lasting)/status" 2>/dev/null) in Z* | '') echo ended && return ;; esac
		sleep 0.1
	done
}
echo 'trap "" TERM INT HUP; echo $$ >lasting; while :; do sleep 0.1; done' >deaf
is "$(rc timeout 60 ge-quantize -q -s stats --metric 'sh deaf' --seconds 0.5 -o late.g float.g) $(wc -l <err) $(ge-check late.g && echo whole)" "0 1 whole" \
	"--seconds: a command that hears of no signal"
is "$(ended)" ended "and is there no more"
is "$(rc timeout 60 ge-quantize -q -s stats --metric 'sleep 300 & echo $! >lasting; echo 1 #' -o late.g float.g)" 0 "a command that leaves another behind"
is "$(ended)" ended "which is there no more"
mkdir 'a $(touch ran) "b'
is "$(TMPDIR="$PWD/"'a $(touch ran) "b' rc ge-quantize -q -s stats --metric 'test -s' -o x.g float.g) $(sed 's/.*: //' err) $(find . -name ran | wc -l)" \
	"65 it prints no number 0" "a folder for temporary files whose name is a command"

fails() { # CODE WHAT COMMAND...
	want=$1 what=$2
	shift 2
	is "$(rc "$@") $(wc -l <err)" "$want 1" "$what: $want, one line"
}
fails 64 "a typo of an operator" ge-quantize -s stats --skip Gem -o x.g float.g
is "$(sed 's/.*; //' err)" "the nearest is Gemm" "and what was meant"
fails 64 "a typo of a name" ge-quantize -s stats --only /classify/Gemn -o x.g float.g
is "$(sed 's/.*; //' err)" "the nearest is /classify/Gemm" "and what was meant"
fails 64 "a pattern that no name has" ge-quantize -s stats --only '*nothing*' -o x.g float.g
fails 64 "no statistics" ge-quantize -o x.g float.g
fails 64 "a part that there is not" ge-quantize -s stats --smooth 2 -o x.g float.g
fails 64 "no such method" ge-quantize -s stats --method best -o x.g float.g
fails 64 "bits that there are not" ge-quantize -s stats --weights 5 -o x.g float.g
fails 65 "statistics of another model" ge-quantize -s bad.stats -o x.g float.g
fails 65 "no statistics in the file" ge-quantize -s images.npy -o x.g float.g
# Stopped while layers are measured, each alone: the model of that one which holds is better than that of all.
cat >counts <<'E'
#!/bin/sh
n=$(($(cat n 2>/dev/null || echo 0) + 1))
echo $n >n
case $n in
1) echo 100 ;;
2) echo 20 ;;
3) echo 90 ;;
4) echo 99.9 ;;
*) touch waits && exec sleep 200 ;;
esac
E
chmod +x counts
rm -f n waits
ge-quantize -s bad.stats --metric ./counts --drop 0.5 -o late.g bad.g >out 2>err &
awaited
kill -TERM $!
wait $!
is "$? $(awk '$2 == "int8"' out | wc -l) $(sed -n 's/^metric: //p' out)" "0 1 100 in float, 99.9 quantised; it was run 5 times" \
	"stopped: the best layer alone"
fails 65 "a metric that fails" ge-quantize -s stats --metric false -o x.g float.g
fails 65 "a metric that is no command" ge-quantize -s stats --metric /nosuch -o x.g float.g
fails 65 "a metric that says nothing" ge-quantize -s stats --metric true -o x.g float.g
sed 's/"node":"/"node":"other/g' all.json >other.json
fails 65 "times of another model" ge-quantize -s stats --times other.json --times other.json --times other.json -o x.g float.g
fails 65 "no times" ge-quantize -s stats --times all.json --times stats --times all.json -o x.g float.g
fails 64 "two files of times" ge-quantize -s stats --times all.json --times all.json -o x.g float.g
fails 66 "times that are not there" ge-quantize -s stats --times all.json --times all.json --times missing.json -o x.g float.g
done_testing
