# Small models that would take all memory or for ever: a bound, and one line that says which and where.
. "$top/tests/lib.sh"
model() { printf 'hone-text 1\nmodule ir=8 opset=28\nconst yes = bool[] [1]\nconst two = i64[1] [2]\nconst big = i64[1] [1099511627776]\nconst one = f32[1] [1]\nconst pair = f32[2] [1, 2]\nsymbol a 0 inf\nsymbol b 0 inf\n%s\ngraph main {\n%s\n}\n' "$1" "$2" | ge-load; }
ends() { # CODE PATTERN WHAT COMMAND...: with one line, soon
	code=$1 pattern=$2 what=$3
	shift 3
	(ulimit -t 20; "$@") >out 2>err
	rc=$?
	[ $rc -eq "$code" ] && [ "$(grep -c . err)" -eq 1 ] && grep -Eq "$pattern" err
	ok $? "$what" || echo "# $what: $rc $(head -c 300 err)"
}
chain() { # OP-OF-% OUT-LINE: 45 of them
	awk -v op="$1" 'BEGIN { print "  input x: f32[2]"; last = "x"
		for (i = 0; i < 45; i++) { s = op; gsub(/%/, last, s); print "  t" i " = " s; last = "t" i }
		print "  output y = " last }'
}

beyond='^run-ref: .*: main/[a-z0-9]* \(.*\): out of memory: .* are beyond the limit of 64.0 MiB; --memory SIZE allows more$'
model '' "$(chain 'Concat(%, %) {axis=0}')" >concat.g
ends 71 "$beyond" "45 doublings by Concat" run-ref --memory 64M concat.g
ends 71 'HONE_MEMORY=SIZE allows more$' "the environment bounds, too" env HONE_MEMORY=64M run-ref concat.g
model '' "$(chain 'Tile(%, @two)')" >tile.g
ends 71 "$beyond" "45 doublings by Tile" run-ref --memory 64M tile.g
model '' '  input x: i64[1]
  m = Mul(@big, @big)
  n = Add(x, @big)
  y = Expand(@one, n)
  output y = y' >expand.g
ends 71 "$beyond" "Expand to a computed size" run-ref --memory 64M expand.g
model '' '  input x: i64[1]
  n = Add(x, @big)
  y = ConstantOfShape(n)
  output y = y' >fill.g
ends 71 "$beyond" "ConstantOfShape of a computed size" run-ref --memory 64M fill.g
body() { printf 'graph body {\n  input i: i64[]\n  input go: bool[]\n  input a: f32[%s]\n  b = %s\n  output go = go\n  output b = b\n}' "$1" "$2"; }
model "$(body '?' 'Concat(a, a) {axis=0}')" '  input x: f32[2]
  y = Loop(-, @yes, x) {body=graph body}
  output y = y' >double.g
ends 71 "$beyond" "a Loop that doubles" run-ref --memory 64M double.g

model "$(body 2 'Add(a, a)')" '  input x: f32[2]
  y = Loop(-, @yes, x) {body=graph body}
  output y = y' >forever.g
ends 69 '^run-ref: .*: main/y \(Loop\): bodies have run 5000 times, .* --bodies N allows more$' "a Loop without end" run-ref --bodies 5000 forever.g
model "$(body 2 'Add(a, @pair)')" '  input x: f32[2]
  z = Loop(-, @yes, @pair) {body=graph body}
  y = Add(x, z)
  output y = y' >constant.g
(ulimit -t 5; ge-fold constant.g | ge-simplify | ge-deadedge | ge-shape) >folded.g 2>err
[ $? -eq 0 ] && [ ! -s err ] && [ -s folded.g ]
ok $? "a constant Loop without end goes through the passes" || echo "# a constant Loop: $(cat err)"
ge-fuse folded.g | ge-layout | ge-plan -q | ge-emit -q -o forever 2>err
ends 65 '5000 steps, and it does not end; HONE_BODIES=N allows more$' "a library with a Loop without end" env HONE_BODIES=5000 run-dev forever.so -o out.npz
(run-ref forever.g 2>err & child=$!; sleep 0.2; kill -INT $child; kill -TERM $child; wait $child; [ $? -gt 128 ])
[ $? -eq 0 ]
ok $? "a signal ends it" || echo "# a signal does not end it"

# The check of hone simplify.
ge-export -q concat.g -o concat.onnx
HONE_MEMORY=64M hone simplify -q concat.onnx simple.onnx 2>err
[ $? -eq 0 ] && [ -s simple.onnx ] && grep -q 'not checked: .*out of memory' err
ok $? "a model that takes all memory is written unchecked" || echo "# a model that takes all memory: $(cat err)"
model '' '  input x: f32[4000,4000]
  a = MatMul(x, x)
  y = MatMul(a, x)
  output y = y' | ge-export -q -o slow.onnx
hone simplify -q --check-seconds 0.3 slow.onnx simple.onnx 2>err
[ $? -eq 0 ] && [ -s simple.onnx ] && grep -q 'not checked: it takes longer than --check-seconds' err
ok $? "a model that takes long is written unchecked" || echo "# a model that takes long: $(cat err)"

# A compiler without memory, or without a stack, is no fault of ours.
hone passes -q --set batch=1 --until plan "$top/examples/digits/digits.onnx" -o digits.g
if [ -z "${ASAN_OPTIONS-}" ]; then
	(ulimit -v 50000; ge-emit -q digits.g -o starved 2>err; [ $? = 71 ]) && [ "$(wc -l <err)" = 1 ] && [ -z "$(find . -name 'starved*' -o -name '.ge-emit*')" ]
	ok $? "a compiler without memory: 71, one line, nothing left: $(cat err)"
else
	skip "a compiler without memory" "a sanitizer takes more"
fi

# Sizes whose polynomials double at each step: unknown, at some point.
awk 'BEGIN { print "hone-text 1\nmodule ir=8 opset=28\nsymbol a 0 inf\nsymbol b 0 inf\nconst zero = i64[1] [0]\nconst first = i64[1] [1]\nconst three = i64[1] [3]\nconst one = f32[1] [1]\ngraph main {\n  input x: f32[a,b]"
	print "  s = Shape(x)\n  z0 = Gather(s, @zero)\n  d = Gather(s, @first)"
	for (i = 0; i < 60; i++) { print "  v" i " = Div(z" i ", @three)\n  w" i " = Mul(v" i ", d)\n  z" i + 1 " = Add(w" i ", z" i ")" }
	print "  y = Expand(@one, z60)\n  output y = y\n}" }' | ge-load >floors.g
(ulimit -t 5; ge-shape floors.g | ge-fold | ge-simplify >small.g) && [ -s small.g ]
ok $? "nested floors"
awk 'BEGIN { print "hone-text 1\nmodule ir=8 opset=28\nsymbol n 0 inf\nsymbol m 0 inf\nconst b = i64[1] [1]\nconst e = i64[1] [1000000]\nconst ax = i64[1] [0]\nconst st = i64[1] [3]\ngraph main {\n  input x: f32[n,2]\n  input z: f32[m,2]\n  t0 = Relu(x)"
	for (i = 0; i < 40; i++) print "  s" i " = Concat(t" i ", " (i % 2 ? "z" : "x") ") {axis=0}\n  t" i + 1 " = Slice(s" i ", @b, @e, @ax, @st)"
	print "  output y = t40\n}" }' | ge-load >slices.g
(ulimit -t 5; ge-shape slices.g | ge-fold | ge-simplify >small.g) && [ -s small.g ]
ok $? "nested minima"
done_testing
