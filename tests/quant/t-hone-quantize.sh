# hone quantize: from a file to a file, the example, the library of it, what a failure leaves.
. "$top/tests/lib.sh"
digits=$top/examples/digits
rc() { "$@" >out 2>err; echo $?; }
is "$(rc hone quantize "$digits/digits.onnx" --data "$digits/images.npy" -o q.onnx) $(wc -l <err) $(ls q.onnx)" "0 0 q.onnx" "quantize"
is "$(grep -c int8 out) $(awk '$1 == "QuantizeLinear" { print $2, ($3 > 4) }' out) $(grep -c '^360 samples' out)" "5 0 1 1" "the report: layers, operators before and after, samples"
is "$(awk '/^bytes of the file/ { print ($6 < 0.4 * $5) }' out)" 1 "the file is smaller"
is "$(awk '/^milliseconds, as a library/ { print ($5 > 0 && $6 > 0) }' out)" 1 "the report: the time of a library before and after"
is "$(rc hone quantize -q "$digits/digits.onnx" --data="$digits/images.npy" -oagain.onnx) $(cat out err) $(cmp q.onnx again.onnx && echo same)" "0  same" "--quiet; the same bytes"
is "$(rc hone quantize -q "$digits/digits.onnx" --set batch=1 --activations none -o w.onnx) $(ge-dump w.onnx | grep -c ' = QuantizeLinear') $(ls w.onnx)" "0 0 w.onnx" "weights alone need no samples"
is "$(rc hone quantize "$digits/digits.onnx" --data "$digits/images.npy" --equalize -o e.onnx) $(grep -c int8 out) $(sed -n '/operands have channels/s/ op.*//p' err)" \
	"0 5 ge-quantize: 1" "--equalize"
is "$(sed -n 's/^output logits: [0-9.]* dB from float, .* on \([0-9]*\) samples$/\1/p' out)" 100 "the report: how far the output is from float"
# A channel a thousand times as large as the other, which its reader takes as small: by default made alike, without it is said.
cat >ruin.txt <<'END'
hone-text 1
module ir=10 opset=28
const w1 = f32[2,1,1,1] [1000, 1]
const w2 = f32[2,2,1,1] [0.001, 1, 0.001, -1]
graph main {
  input image: f32[1,1,8,8]
  a = Conv(image, @w1) "first"
  b = Relu(a)
  y = Conv(b, @w2) "second"
  output y = y
}
END
ge-load ruin.txt | ge-shape | ge-export -o ruin.onnx
as_read() { awk '$1 == "second" { print ($9 > 30) }' out; }
is "$(rc hone quantize ruin.onnx --data "$digits/images.npy" -o r.onnx) $(as_read) $(grep -c '1 operands have channels' err) $(wc -l <err)" "0 1 1 1" "channels are made alike where it is exact"
is "$(rc hone quantize ruin.onnx --data "$digits/images.npy" --no-equalize -o r.onnx) $(as_read) $(grep -c 'second: of its operand b it reads .*--equalize is predicted' err)" \
	"0 0 1" "--no-equalize: what it does, and what would help"
is "$(rc hone quantize "$digits/digits.onnx" --data "$digits/images.npy" --metric 'echo 1 #' -o m.onnx) $(sed -n 2p out | grep -c est) $(ge-dump m.onnx | grep -c '^graph')" "0 0 1" "--metric: times of layers are measured"
printf '#!/bin/sh\nn=$(ge-dump "$1" | grep -c "^const .*i8")\n[ "$n" = 0 ] || : >waits\n[ "$n" = 0 ] || exec sleep 20\necho 1\n' >slow
chmod +x slow
{ # of so many weights bytes are faster on any CPU
	printf 'hone-text 1\nmodule ir=10 opset=28\n'
	awk 'function put(name, shape, n) { printf "const %s = f32[%s] [", name, shape; for (i = 0; i < n; i++) printf (i ? ", " : "") "%.3f", (i * 37 % 101 - 50) / 200; print "]" }
		BEGIN { put("w1", "256,1,8,8", 16384); put("w2", "512,256,1,1", 131072) }'
	printf 'graph main {\n  input image: f32[1,1,8,8]\n  a = Conv(image, @w1)\n  b = Relu(a)\n  y = Conv(b, @w2)\n  output y = y\n}\n'
} >wide.txt
ge-load wide.txt | ge-shape | ge-export -o wide.onnx
hone quantize -q wide.onnx --data "$digits/images.npy" --metric ./slow -o stopped.onnx 2>err &
awaited
kill -TERM $!
wait $!
is "$? $(wc -l <err) $(ge-dump stopped.onnx | grep -c '^graph')" "0 1 1" "stopped: the best so far is written, one line"
ge-export --opset 11 -o old.onnx "$digits/digits.onnx" 2>err || ge-import "$digits/digits.onnx" | ge-export --opset 11 -o old.onnx
is "$(rc hone quantize -q old.onnx --data "$digits/images.npy" -o new.onnx) $(ge-dump new.onnx | sed -n 's/^meta "opset:ai.onnx" = //p')" '0 "13"' "a model of an opset without scales by channel"
is "$(rc hone build -q --integers q.onnx --set batch=1 -o q) $(ls q.so)" "0 q.so" "a library of it"
is "$(rc run-cmp --runs 3 --set batch=1 q.so q.onnx) $(grep -c ' equal$' out)" "0 3" "the library's numbers are the model's" || cat out

is "$("$digits/quantize.sh" "$PWD/example" 2>err | tail -2 | sed 's/.*: *//' | tr '\n' ' ')" "176 of 180, 97.78% 176 of 180, 97.78% " "examples/digits/quantize.sh: as many right"

fails() { # CODE WHAT COMMAND...
	want=$1 what=$2
	shift 2
	ls -aR . >before
	is "$(rc "$@") $(wc -l <err) $(wc -c <out) $(ls -aR . | diff before - | wc -l)" "$want 1 0 0" "$what: $want, one line, nothing left"
}
touch before out err
mkdir empty tmp
TMPDIR=$PWD/tmp
export TMPDIR
fails 64 "no samples" hone quantize "$digits/digits.onnx" -o x.onnx
fails 64 "nowhere to write" hone quantize "$digits/digits.onnx" --data "$digits/images.npy"
fails 64 "no such option" hone quantize "$digits/digits.onnx" --embed -o x.onnx
fails 64 "another kind of output" hone quantize "$digits/digits.onnx" --data "$digits/images.npy" -o x.g
fails 65 "an empty directory" hone quantize "$digits/digits.onnx" --data empty -o x.onnx
fails 65 "samples of another shape" hone quantize "$digits/digits.onnx" --data "$digits/labels.npy" -o x.onnx
fails 66 "missing samples" hone quantize "$digits/digits.onnx" --data missing -o x.onnx
fails 65 "a metric that fails" hone quantize "$digits/digits.onnx" --data "$digits/images.npy" --metric false -o x.onnx
done_testing
