# Random groups of random symbols: each has a kernel that is right at all sizes that are tried, or is refused. SEEDS=N: how many.
. "$top/tests/lib.sh"
for seed in $(seq 1 "${SEEDS:-40}"); do
	awk -v seed="$seed" '
	function pick(list, n, a) { n = split(list, a, "|"); return a[1 + int(rand() * n)] }
	BEGIN {
		srand(seed)
		print "hone-text 1\nmodule ir=8 opset=20"
		print "symbol n " pick("0 inf|1 8|0 20|1 inf|8 64 step 8|0 inf step 6|3 9|5 12")
		print "symbol k " pick("0 inf|1 16|2 40|0 inf step 4")
		print "graph main {"
		c = pick("5|16|30|32|48")
		x = pick("n," c "|n,k," c "|k," c ",n|n," c ",k|n," pick("2|3") ",k," c)
		print "  input x: f32[" x "]"
		print "  a = " pick("Relu(x)|Neg(x)|Tanh(x)")
		print "  b = " pick("Softmax(a) {axis=-1}|Add(a, x)|Mul(a, a)|Sigmoid(a)")
		print "  c = " pick("Relu(b)|Transpose(b)|Abs(b)")
		print "  output c = c\n}"
	}' >g.txt
	SIZED_ANY=1 "$top/build/check/sized" g.txt >said 2>&1
	code=$?
	ok $code "groups of seed $seed" || { cat g.txt; grep '^not ok' said; }
done
done_testing
