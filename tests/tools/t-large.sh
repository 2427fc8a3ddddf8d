# Graphs of 40,000 nodes in shapes that a pass could be slow in: each takes its second or so. tests/soak/large.sh has more of them.
. "$top/tests/lib.sh"
limit() { # TOOL: seconds of CPU time that it may take; what is quadratic takes more
	[ -z "${ASAN_OPTIONS-}" ] || return 0
	[ "$1" = ge-plan ] && ulimit -t 30 || ulimit -t 4
}
chain() { # NODE...: a chain of them, one after another; % is the operand
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst c = f32[2,2] [1, 2, 3, 4]\nconst flat = i64[1] [-1]\nconst square = i64[2] [2, 2]\ngraph main {\n  input x: f32[2,2]\n'
	awk -v n=40000 'BEGIN { for (i = 1; i < ARGC; i++) op[i - 1] = ARGV[i]
		last = "x"
		for (i = 0; i < n; i++) { s = op[i % (ARGC - 1)]; sub(/%/, last, s); last = "v" i; print "  " last " = " s }
		print "  output y = " last "\n}" }' "$@"
}
wide() { # HOW: x fans out to 40,000 Sin, which come together again
	printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[1,2]\n'
	awk -v n=40000 -v how="$1" 'BEGIN {
		for (i = 0; i < n; i++) print "  a" i " = " (i % 2 ? "Sin" : "Exp") "(x)"
		if (how == "outputs") { for (i = 0; i < n; i++) print "  output o" i " = a" i }
		else if (how == "tree") { last = "a0"; for (i = 1; i < n; i++) { print "  b" i " = Add(" last ", a" i ")"; last = "b" i }; print "  output y = " last }
		else { printf "  y = " how "("; for (i = 0; i < n; i++) printf (i ? ", " : "") "a" i; print how == "Concat" ? ") {axis=0}" : ")"; print "  output y = y" }
		print "}" }'
}
inputs() { # HOW: 40,000 inputs
	printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n'
	awk -v n=40000 -v how="$1" 'BEGIN {
		for (i = 0; i < n; i++) print "  input x" i ": f32[1,2]"
		printf "  y = " how "("; for (i = 0; i < n; i++) printf (i ? ", " : "") "x" i; print how == "Concat" ? ") {axis=0}" : ")"; print "  output y = y\n}" }'
}
split() {
	printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[40000,2]\n  '
	awk -v n=40000 'BEGIN { for (i = 0; i < n; i++) printf (i ? ", " : "") "s" i; print " = Split(x) {axis=0 num_outputs=" n "}"; for (i = 0; i < n; i++) print "  output o" i " = s" i; print "}" }'
}
passes() { # WHAT: all passes of a build up to the plan, on model.txt
	slow=
	ge-load model.txt -o last.g || slow="ge-load"
	for tool in ge-shape ge-fold ge-simplify ge-deadedge ge-cse ge-dedup ge-prune ge-narrow ge-integer ge-fuse ge-layout ge-join ge-schedule ge-plan; do
		(ulimit -s 8192; limit $tool; $tool -q last.g -o next.g) >said 2>&1 && [ -s next.g ] || { slow="$slow $tool: $? $(head -c 100 said)"; break; }
		mv next.g last.g
	done
	[ -z "$slow" ] && [ -s last.g ]
	ok $? "$1" || echo "# $1:$slow"
}
chain 'Relu(%)' >model.txt; passes "a chain of Relu"
wide tree >model.txt; passes "a fan, tree"
inputs Concat >model.txt; passes "Concat of 40,000 inputs"
[ -n "${LARGE_ALL-}" ] || { done_testing; exit; }
chain 'Sin(%)' 'Mul(%, @c)' 'Neg(%)' >model.txt; passes "a chain of Sin, Mul and Neg"
chain 'Transpose(%) {perm=[1,0]}' >model.txt; passes "a chain of Transpose"
chain 'Reshape(%, @flat)' 'Reshape(%, @square)' >model.txt; passes "a chain of Reshape"
chain 'MatMul(%, @c)' 'Add(%, @c)' >model.txt; passes "a chain of MatMul and Add"
for how in outputs Concat Sum; do wide $how >model.txt; passes "a fan, $how"; done
for how in Sum Max; do inputs $how >model.txt; passes "$how of 40,000 inputs"; done
split >model.txt; passes "Split into 40,000"
done_testing
