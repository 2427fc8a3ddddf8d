# ge-integer on its golden cases (integer/NAME.txt -> NAME.out), whose scales are powers of two: the numbers stay, twice is once, and
# what is exported is valid. Bad scales are refused.
. "$top/tests/lib.sh"
cases=$top/tests/passes/integer

for txt in "$cases"/*.txt; do
	name=$(basename "$txt" .txt)
	ge-load "$txt" | ge-shape -o shaped.g && ge-integer --why shaped.g -o after.g 2>why && ge-dump after.g | grep -v '^provenance' >"$name.out"
	grep ': not ' why | sed 's/^ge-integer: //' | sort -u >>"$name.out"
	if cmp -s "$name.out" "$cases/$name.out"; then ok 0 "$name"; else
		ok 1 "$name"
		diff "$cases/$name.out" "$name.out"
	fi
	ge-integer after.g -o twice.g
	same_graph after.g twice.g
	ok $? "$name twice"
	awk -v stem=part. '/^hone-text/ { n++ } { print > (stem n) }' "$txt"
	for part in part.*; do
		ge-load "$part" | ge-shape -o before.g && rm "$part" && ge-integer before.g -o after.g && run-ref -q --seed 7 before.g -o before.npz &&
			run-ref -q --seed 7 after.g -o after.npz && equal --tol 0 before.npz after.npz
		ok $? "$name: numbers of $part" || cat cmp.log
	done
done

ge-load "$cases/multiply.txt" | ge-shape | ge-integer --exact | ge-dump >exact.txt
grep -q 'q.* = QuantizeLinear(x, @s' exact.txt && ! grep -q ' = Mul(' exact.txt
ok $? "--exact: the scale stays, and divides"

# A long way to the constant that takes the scale.
{
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst s = f32[] [0.5]\ngraph main {\n  input x: u8[2,2]\n  input y: u8[2,2]\n  e = DequantizeLinear(y, @s)\n  v0 = DequantizeLinear(x, @s)\n'
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do printf '  v%d = Neg(v%d)\n' $i $((i - 1)); done
	printf '  a = Add(v30, e)\n  q = QuantizeLinear(a, @s)\n  output q = q\n}\n'
} >chain.txt
ge-load chain.txt | ge-shape | timeout 10 ge-integer | ge-dump | grep -q 'v.* = DequantizeLinear(x, @c'
ok $? "a chain of 30 nodes"

# bad WHAT SCALE ZERO: one line, 65.
bad() {
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst s = %s\nconst z = %s\ngraph main {\n  input x: f32[2,2]\n  y = QuantizeLinear(x, @s, @z)\n  d = DequantizeLinear(y, @s, @z)\n  output y = d\n}\n' "$2" "$3" >bad.txt
	{ ge-load bad.txt | ge-integer -o bad.g; echo $? >rc; } 2>err
	[ "$(cat rc)" = 65 ] && [ "$(wc -l <err)" = 1 ]
	ok $? "$1: $(cat err)"
}
bad "a scale of 0" 'f32[] [0]' 'u8[] [1]'
bad "a negative scale" 'f32[2] [1, -1]' 'u8[2] [1, 1]'
bad "a scale that is no number" 'f32[] [nan]' 'u8[] [1]'
bad "an infinite scale" 'f32[] [inf]' 'u8[] [1]'
bad "scales of another length" 'f32[3] [1, 1, 1]' 'u8[3] [1, 1, 1]'
bad "zero points of another length" 'f32[2] [1, 1]' 'u8[3] [1, 1, 1]'
bad "a zero point of another type" 'f32[] [1]' 'f32[] [1]'

# Zero points of other matrices than there are.
printf 'hone-text 1\nmodule ir=10 opset=28\nconst b = i8[2,1,2] [1, 2, 3, 4]\nconst z = i8[3,1,2] [1, 2, 3, 4, 5, 6]\ngraph main {\n  input a: u8[2,5,1]\n  input x: u8[]\n  y = MatMulInteger(a, @b, x, @z)\n  output y = y\n}\n' >zeros.txt
{ ge-load zeros.txt -o zeros.g; echo $? >rc; } 2>err
[ "$(cat rc)" = 65 ] && [ "$(wc -l <err)" = 1 ]
ok $? "zero points that do not fit: $(cat err)"
printf 'hone-text 1\nmodule ir=10 opset=28\nconst w = i8[2,1,1,1] [1, 2]\nconst z = i8[3] [1, 2, 3]\ngraph main {\n  input a: u8[1,1,2,2]\n  input x: u8[]\n  y = ConvInteger(a, @w, x, @z)\n  output y = y\n}\n' >zeros.txt
{ ge-load zeros.txt -o zeros.g; echo $? >rc; } 2>err
[ "$(cat rc)" = 65 ] && [ "$(wc -l <err)" = 1 ]
ok $? "zero points that do not fit a convolution: $(cat err)"
done_testing
