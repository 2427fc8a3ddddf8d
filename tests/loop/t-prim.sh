# Outlined nests in a model: the same bits as without, each distinct function once, whatever calls it; and the same bytes
# of C for the same traces.
. "$top/tests/lib.sh"
hone passes -q --set batch=1 "$top/examples/digits/digits.onnx" -o planned.g

ge-emit --print-traces planned.g >plain.trace
# The loop in which a tile of sums is complete becomes a function, and fetches what the next iteration needs of x.
awk '/^# kernel/ && loop { print "outline " loop; loop = "" } { print } $1 == "init" { loop = $3 } END { print "outline " loop }' \
	plain.trace >outlined.trace
ge-emit planned.g -o plain && ge-emit --trace outlined.trace planned.g -o outlined && [ -s plain.so ] && [ -s outlined.so ]
ok $? "traces with outlined nests are compiled"
[ -s plain.c ] && ! grep -q ' f_[0-9a-f]*(' plain.c
ok $? "without them there is no such function"
functions=$(sed -n 's/^__attribute__((noinline)) KERNEL void \(f_[0-9a-f]*\)(.*/\1/p' outlined.c)
[ "$(echo "$functions" | wc -l)" -ge 2 ] && [ "$(echo "$functions" | sort | uniq -d | wc -l)" -eq 0 ]
ok $? "functions, each once: $(echo $functions)"
calls=$([ -n "$functions" ]; echo $?)
for f in $functions; do grep -q "^	.*$f(" outlined.c || calls=1; done
ok $calls "each is called"
for lib in plain outlined; do run-dev --quiet --seed 3 $lib.so -o $lib.npz; done
same plain.npz outlined.npz
ok $? "the same bits"
cp outlined.c first.c
ge-emit -j 1 --trace outlined.trace planned.g -o outlined && cmp first.c outlined.c
ok $? "the same C again"

# Products of other heights share the function of their tile, which is in the file once.
ge-load <<'END' | ge-shape | ge-fuse | ge-plan --quiet -o two.g
hone-text 1
module ir=8 opset=17
graph main {
  input a: f32[40,20]
  input b: f32[56,20]
  input w: f32[20,48]
  input v: f32[20,48]
  c = MatMul(a, w)
  d = MatMul(b, v)
  output c = c
  output d = d
}
END
ge-emit --print-traces two.g | awk '/^#/ { print } /^# k[0-9]/ {
	print "split matmul.m 1 8\nsplit matmul.n 3 16\nreorder matmul.n.0 matmul.m.0 matmul.m.1 matmul.m.2 matmul.n.1 matmul.n.2"
	print "init matmul matmul.m.1\nreorder matmul.k matmul.m.2 matmul.n.1 matmul.n.2\nafter copy matmul.m.1\nscope matmul register"
	print "unroll matmul.m.2\nunroll matmul.n.1\nvector matmul.n.2\noutline matmul.m.1"
	print "unroll matmul.init.m\nsplit matmul.init.n 16\nunroll matmul.init.n.0\nvector matmul.init.n.1"
	print "unroll copy.m\nsplit copy.n 16\nunroll copy.n.0\nvector copy.n.1" }' >two.trace
ge-emit --trace two.trace two.g -o two && [ "$(grep -c 'f_[0-9a-f]*(' two.c)" = 4 ] && [ "$(grep -c '^__attribute__((noinline)) KERNEL void f_' two.c)" = 1 ]
ok $? "two kernels share a function"
equal --runs 3 two.so two.g
ok $? "and give the evaluator's numbers"
done_testing
