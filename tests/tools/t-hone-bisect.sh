# hone bisect: the stage, the first value and the smallest part, for faults planted in a pass and in a kernel.
. "$top/tests/lib.sh"
. "$top/tests/tools/planted.sh"
cat >net.text <<'END'
hone-text 1
module ir=10 opset=20
const w = f32[16,16] [1]
const two = f32[] [2]
graph main {
  input x: f32[8,16]
  a = MatMul(x, @w)
  b = Relu(a)
  c = Add(b, x)
  d = Sigmoid(c)
  e = Mul(d, @two)
  f = Tanh(e)
  output f = f
}
END
awk '/^const w/ { printf "const w = f32[16,16] ["; for (i = 0; i < 256; i++) printf "%s%s", i ? ", " : "", sin(i); print "]"; next } { print }' net.text |
	ge-load -o net.g
hone bisect net.g --model none -o net.bisect >out 2>err
is "$? $(grep -c '^no stage changes the numbers' out) $(ls | grep -c bisect)" "0 1 0" "a sound build"

planted ge-cse '/= Sigmoid\(/ { sub(/Sigmoid/, "HardSigmoid") } { print }'
planted/hone bisect net.g --model none -o part/x >out 2>err
is "$? $(grep -c '^the numbers change in cse: after ' out) $(grep -c '^the first value: d, off by' out) $(grep -c '^the smallest part: 1 node (Sigmoid), in part/x.onnx' out)" \
	"1 1 1 1" "a pass that makes another operator"
planted/ge-cse part/x.g -o after.g && ! equal --rewritten -i part/x.npz after.g part/x.g && grep -q DIFFERENT cmp.log && run-ref -i part/x.npz part/x.onnx >out
ok $? "the part shows it, with its inputs, and is a model"

planted/hone bisect net.g --model none --report errors.html -o part/x >out 2>err
is "$? $(awk '/^cse / { cse = $2 " " ($4 > 1e-3 && $3 > 0) " " $5 } /^dedup/ { dedup = $2 } /^simplify/ { simplify = $2 " " $4 } END { print cse, dedup, simplify }' out | sed 's/\[[0-9]*,[0-9]*\]/[]/')" \
	"1 DIFFERENT 1 f[] DIFFERENT equal 0" "the error after each stage"
is "$(grep -c '^<tr><td' errors.html) $(grep -o '<div title="different"' errors.html | wc -l) $(sed -n 's/.*>simplify<.*style="width:\([0-9.]*\)%.*/\1/p' errors.html)" \
	"$(grep -c '^[a-z]* *\(equal\|DIFF\)' out) $(grep -c '^[a-z]* *DIFF' out) 0.00" "and as a page, with a bar for each"

planted_kernels '/vstore/ { gsub(/vsigmoid\(/, "vtanh(") } { print }'
CC=$PWD/planted/cc hone bisect net.g --model none -o net.bisect >out 2>err
is "$? $(grep -c '^the numbers change in emit: after plan ' out) $(grep -c '^the smallest part: [1-4] node' out) $(ls net.bisect.* 2>/dev/null | wc -l)" "1 1 1 3" "a kernel: $(tail -1 out)"
planted ge-fuse '/= Tanh\(/ { sub(/Tanh/, "Softsign") } { print }'
planted/hone bisect net.g -o group >out 2>err
is "$? $(grep -c '^the numbers change in fuse: ' out) $(grep -c '^the smallest part: 1 node (Tanh)' out)" "1 1 1" "a group with another operator"
refused 64 --seconds "no number" hone bisect net.g --seconds x
refused 74 none/e.html "a page that cannot be written" hone bisect net.g --report none/e.html
refused 66 none.g "no model" hone bisect none.g
refused 66 none.npz "no inputs" hone bisect net.g -i none.npz
done_testing
