# Codes of what is no number, of infinities and of numbers far beyond what scales reach, in every type of codes, by scales from the least
# to the greatest, one for all or one a row: the same as the evaluator's on every target that this CPU runs, and those that are known.
. "$top/tests/lib.sh"
scales='1 0.1 0.5 1e-40 1e-45 1e-39 1.2e-38 1e-37 1e30 3e38 3 0.007'
model() { # the text: nodes and outputs for each type
	local t low mid high n k
	printf 'hone-text 1\nmodule ir=10 opset=21\n'
	printf 'const f = f32[24] [nan, inf, -inf, 1, -1, 0, -0, 1e-30, 1.1754944e-38, -1.2e-38, 3e38, -3e38, 300, -300, 7e4, -7e4, 127.5, -128.5, 2.5, 1.5, -0.5, 1e10, nan, -1e10]\n'
	n=0
	for k in $scales; do printf 'const s%d = f32[] [%s]\n' $((n += 1)) "$k"; done
	printf 'const s%d = f32[6] [%s]\n' 13 "1, 1e-40, 0.1, 1e-45, 3e18, 0.5" 14 "3e38, 1e30, 3, 2, 1.2e-38, 8"
	types | while read -r t low mid high; do
		printf 'const z%s%d = %s[] [%s]\n' $t 1 $t $low $t 2 $t $mid $t 3 $t $high
		printf 'const v%s = %s[6] [%s, %s, %s, %s, %s, %s]\n' $t $t $low $mid $high $high $mid $low
	done
	printf 'graph main {\n  input x: f32[6,24]\n  y = Mul(x, @f)\n'
	types | while read -r t low mid high; do
		for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
			printf '  q%s%d = QuantizeLinear(y, @s%d, @z%s%d)\n  output q%s%d = q%s%d\n' $t $k $k $t $((k % 3 + 1)) $t $k $t $k
		done
		for k in 13 14; do printf '  q%s_%d = QuantizeLinear(y, @s%d, @v%s) {axis=0}\n  output q%s_%d = q%s_%d\n' $t $k $k $t $t $k $t $k; done
	done
	printf '  d, e, z = DynamicQuantizeLinear(y)\n  output d = d\n  output z = z\n'
	printf '  w = Where(@m, y, x)\n  d2, e2, z2 = DynamicQuantizeLinear(w)\n  output d2 = d2\n  output e2 = e2\n  output z2 = z2\n}\n'
}
types() { printf '%s\n' 'u8 0 131 255' 'i8 -128 3 127' 'u16 0 300 65535' 'i16 -32768 -7 32767' 'u4 0 7 15' 'i4 -8 1 7'; }
model | sed 's/^graph main/const m = bool[24] [1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0]\n&/' >model.txt
ge-load model.txt | ge-shape -o model.g && [ -s model.g ]
ok $? 'the model is read'
ge-export -q -o model.onnx model.g

# What is no number is the lowest code, in every type.
known() {
	printf 'hone-text 1\nmodule ir=10 opset=21\nconst one = f32[] [1]\n'
	types | while read -r t low mid high; do printf 'const z%s = %s[] [%s]\n' $t $t $mid; done
	printf 'graph main {\n  input x: f32[]\n  s = Sqrt(x)\n'
	types | while read -r t low mid high; do printf '  %s = QuantizeLinear(s, @one, @z%s)\n  i%s = Cast(%s) {to=6}\n  output i%s = i%s\n' $t $t $t $t $t $t; done
	printf '}\n'
}
known | ge-load | ge-shape -o known.g
run-ref --range=x=-2:-1 known.g >codes
is "$(sed -n 's/.*i32.* \(-\{0,1\}[0-9]*\).*/\1/p' codes | tr '\n' ' ')" '0 -128 0 -32768 0 -8 ' 'the code of what is no number is the lowest'

for target in x86-64 x86-64-v3 x86-64-v4 native; do
	case $target in
	*-v3) grep -qw avx2 /proc/cpuinfo ;;
	*-v4) grep -qw avx512vl /proc/cpuinfo ;;
	esac || { skip "$target" "not of this CPU" && continue; }
	for kind in '' $([ $target != native ] || echo --exact); do
		hone build -q --target="$target" $kind model.onnx -o "lib-$target" 2>err && [ -s "lib-$target.so" ]
		ok $? "$target $kind: is built"
		for range in 1:2 -2:-1; do
			equal --tol 0 --range=x=$range "lib-$target.so" model.g
			ok $? "$target $kind: x in $range" || cat cmp.log
		done
	done
done
# Activations are read twice: for their range, and for their codes, which are packed four vectors at a time.
printf 'hone-text 1\nmodule ir=10 opset=21\ngraph main {\n  input x: f32[3,7,500]\n  q, s, z = DynamicQuantizeLinear(x)\n  output q = q\n  output s = s\n  output z = z\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-layout -o range.g
ge-plan -q range.g | ge-emit -q -o range - && equal --tol 0 --range x=-3:5 range.so range.g
ok $? 'a range and its codes'
is "$(grep -c 'range_part.* < [0-9]*; ' range.c) $(grep -c '^	*vstore_bytes(' range.c) $(grep -c ' / vset' range.c)" '1 1 0' 'one loop for both ends of the range, one store for four vectors, no division'
done_testing
