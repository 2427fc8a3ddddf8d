# Products with a softmax between them are one kernel, whose blocks of rows stay in the cache. Sizes are such that the last tile, the last
# block, the last panel and the last vector are no whole ones.
. "$top/tests/lib.sh"

# attention NAME INPUTS NODES [OPTION...]: one kernel, with the evaluator's numbers
attention() {
	name=$1
	{
		printf 'hone-text 1\nmodule ir=10 opset=23\nconst s = f32[] [0.3]\ngraph main {\n'
		for i in $2; do echo "  input ${i%%:*}: ${i#*:}"; done
		printf '%b  output y = y\n}\n' "$3"
	} >x.txt
	shift 3
	ge-load x.txt | ge-shape -q -o x.g && hone build -q x.g -o x "$@" &&
		[ "$(hone passes -q x.g | ge-dump | grep -c ' = hone.Fused(')" = 1 ] && equal --tol 2e-6 x.so x.g
	ok $? "$name" || cat cmp.log
}

attention 'blocks of rows' 'q:f32[2,701,24] k:f32[2,24,701] v:f32[2,701,20]' \
	'  p = MatMul(q, k)\n  r = Mul(p, @s)\n  e = Softmax(r)\n  y = MatMul(e, v)\n'
attention 'heads behind rows, a mask of keys' 'q:f32[2,33,3,16] k:f32[2,50,3,16] v:f32[2,50,3,40] m:f32[2,1,1,50]' \
	'  a = Transpose(q) {perm=[0,2,1,3]}\n  b = Transpose(k) {perm=[0,2,3,1]}\n  c = Transpose(v) {perm=[0,2,1,3]}\n  p = MatMul(a, b)\n  r = Div(p, @s)\n  t = Add(r, m)\n  e = Softmax(t)\n  y = MatMul(e, c)\n'
attention 'a bent score and a factor behind the softmax' 'q:f32[7,9] k:f32[9,130] v:f32[130,3]' \
	'  p = MatMul(q, k)\n  r = Tanh(p)\n  e = Softmax(r)\n  f = Mul(e, @s)\n  z = MatMul(f, v)\n  y = Relu(z)\n'
attention 'three threads' 'q:f32[2,300,24] k:f32[2,24,260] v:f32[2,260,24]' \
	'  p = MatMul(q, k)\n  e = Softmax(p)\n  y = MatMul(e, v)\n' --threads 3
done_testing
