# ge-fold on its golden cases (fold/NAME.txt -> NAME.out, options in NAME.opt): twice is once, the numbers stay.
. "$top/tests/lib.sh"
cases=$top/tests/passes/fold
for txt in "$cases"/*.txt; do
	name=$(basename "$txt" .txt)
	opt=$(cat "$cases/$name.opt" 2>/dev/null)
	ge-load "$txt" | ge-shape -o before.g && ge-fold $opt before.g -o once.g && ge-fold $opt once.g -o twice.g &&
		ge-dump once.g | grep -v '^provenance' >"$name.out"
	cmp -s "$name.out" "$cases/$name.out"
	ok $? "$name" || diff "$cases/$name.out" "$name.out"
	same_graph once.g twice.g
	ok $? "$name twice"
	grep -q Random "$txt" && continue
	if equal --tol 0 --set n=2 once.g before.g; then
		ok 0 "$name: the same numbers"
	else
		ok 1 "$name: the same numbers"
		cat cmp.log
	fi
done

ge-load "$cases/limit.txt" | ge-fold --limit 100 --why -o out.g 2>why
grep -q 'ones (ConstantOfShape): kept: its result of 256 bytes would make the model larger' why && grep -q 'r (RandomNormal): kept: random' why &&
	grep -q 't (Transpose): folded: t is a constant' why
	ok $? "why" || cat why
ge-load "$cases/limit.txt" | ge-fold | ge-dump | grep -q 'const ones = f32\[64\]'
ok $? "without the limit"

# What a node of constants becomes.
folds() { # WHAT CONSTANTS NODE WANT
	printf 'hone-text 1\nmodule ir=10 opset=28\n%s\ngraph main {\n  input q: f32[1]\n  y = %s\n  output y = y\n}\n' "$2" "$3" >node.txt
	ge-load node.txt | ge-fold | ge-dump >node.out && grep -qxF "const y = $4" node.out
	ok $? "$1" || cat node.out
}
rows='const x = f32[2,2] [1, -1, 2, 2]
const s = f32[2,2] [1, 2, 3, 4]'
folds "a scale of more axes than are normalised" "$rows" 'RMSNormalization(@x, @s) {epsilon=0.0}' 'f32[2,2] [1, -2, 3, 4]'
rows='const x = f32[2,2] [1, -1, 3, 1]
const s = f32[2,2] [1, 2, 3, 4]'
folds "and of a LayerNormalization" "$rows" 'LayerNormalization(@x, @s, @s) {epsilon=0.0}' 'f32[2,2] [2, 0, 6, 0]'
for want in none:7 add:17 mul:70 max:10 min:7; do
	r=${want%:*}
	folds "ScatterND, $r" 'const d = i64[3] [10, 20, 30]
const i = i64[1,1] [0]
const u = i64[1] [7]' "ScatterND(@d, @i, @u) {reduction=\"$r\"}" "i64[3] [${want#*:}, 20, 30]"
	folds "ScatterElements, $r" 'const d = i64[3] [20, 10, 30]
const i = i64[1] [1]
const u = i64[1] [7]' "ScatterElements(@d, @i, @u) {reduction=\"$r\"}" "i64[3] [20, ${want#*:}, 30]"
done
# Integers wrap to their type.
pair() { printf 'const a = %s\nconst b = %s' "$1" "$2"; }
folds "u8: 3 - 5" "$(pair 'u8[1] [3]' 'u8[1] [5]')" 'Sub(@a, @b)' 'u8[1] [254]'
folds "i8: 100 + 100" "$(pair 'i8[] [100]' 'i8[] [100]')" 'Add(@a, @b)' 'i8[] [-56]'
folds "i8: -(-128)" 'const a = i8[1] [-128]' 'Neg(@a)' 'i8[1] [-128]'
folds "i32: 65536 * 65536" "$(pair 'i32[2] [65536, 3]' 'i32[] [65536]')" 'Mul(@a, @b)' 'i32[2] [0, 196608]'
folds "u64: 2^63 + 5 > 1" "$(pair 'u64[1] [9223372036854775813]' 'u64[1] [1]')" 'Greater(@a, @b)' 'bool[1] [1]'
folds "70000 as u16" 'const a = i64[2] [70000, 65535]' 'Cast(@a) {to=4}' 'u16[2] [4464, 65535]'
folds "40000 as i16" 'const a = i64[1] [40000]' 'Cast(@a) {to=5}' 'i16[1] [-25536]'
folds "-1 as u32" 'const a = i32[1] [-1]' 'Cast(@a) {to=12}' 'u32[1] [4294967295]'
folds "i8: the sum of 100 and 100" 'const a = i8[2] [100, 100]' 'ReduceSum(@a) {keepdims=0}' 'i8[] [-56]'
folds "i32: the product of 65536 and 65536" 'const a = i32[2] [65536, 65536]' 'ReduceProd(@a) {keepdims=0}' 'i32[] [0]'
# What a body is given as the same constant wherever it is applied is that constant inside.
cat >given.txt <<'END'
hone-text 1
module ir=10 opset=28
const two = f32[] [2]
const also = f32[] [2]
const three = f32[] [3]
graph inner {
  input t
  input k
  input l
  s = Mul(k, k)
  u = Mul(t, s)
  v = Add(u, l)
  output u = v
}
graph main {
  input x: f32[3]
  p = hone.PartitionedCall(x, @two, @two) {graph=graph inner}
  y = hone.PartitionedCall(p, @also, @three) {graph=graph inner}
  output y = y
}
END
ge-load given.txt -o given.g && ge-fold given.g -o once.g && ge-fold once.g -o twice.g && equal --tol 0 given.g twice.g && ge-dump once.g >given.out &&
	same_graph once.g twice.g && grep -q 'const s = f32\[\] \[4\]' given.out && grep -q 'v: .* = Add(u, l)' given.out
ok $? "constants given to a body" || cat given.out

# Dropout that drops nothing: outside training, or at ratio 0 whatever its mode.
for with in "" ", @zero" ", @half" ", @half, @no" ", @zero, @no" ", @zero, @yes" ", @minus, @yes" ", @zero16, mode" ", -, @no"; do
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst zero = f32[] [0]\nconst minus = f32[] [-0]\nconst zero16 = f16[] [0]\nconst half = f32[] [0.5]\nconst yes = bool[] [1]\nconst no = bool[] [0]\ngraph main {\n  input x: f32[3]\n  input mode: bool[]\n  a = Neg(x)\n  y, - = Dropout(a%s)\n  output y = y\n}\n' "$with" >drop.txt
	ge-load drop.txt | ge-fold | ge-dump >dropped && grep -q '^graph main' dropped && ! grep -q Dropout dropped
	ok $? "Dropout(a$with) is a"
done
for with in ", @half, @yes" ", -, @yes" ", @half, mode" ", ratio, @yes"; do
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst half = f32[] [0.5]\nconst yes = bool[] [1]\ngraph main {\n  input x: f32[3]\n  input mode: bool[]\n  input ratio: f32[]\n  a = Neg(x)\n  y = Dropout(a%s)\n  output y = y\n}\n' "$with" >drop.txt
	ge-load drop.txt | ge-fold | ge-simplify | ge-dump | grep -q Dropout
	ok $? "Dropout(a$with) stays"
done

# Few elements, long to compute: they are not.
for node in 'Einsum(v, v, v, v) {equation="a,b,c,d->"}' 'Einsum(u, u, u, u) {equation="a,b,c,d->"}' \
	'AveragePool(@p) {kernel_shape=[1000000000,1000000000] pads=[500000000,500000000,500000000,500000000]}'; do
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst k = i64[1] [1000]\nconst p = f32[1,1,2,2] [1, 2, 3, 4]\ngraph main {\n  v = ConstantOfShape(@k) {value=f32[1] [1]}\n  u = ConstantOfShape(@k) {value=i64[1] [1]}\n  y = %s\n  output y = y\n}\n' "$node" >slow.txt
	ge-load slow.txt | timeout 60 ge-fold --why -o slow.g 2>why
	[ $? -eq 0 ] && grep -q "y (${node%%(*}): kept: it takes too long to compute" why
	ok $? "$node" || cat why
done

# The same bytes whatever the directory, locale or how often.
ge-load "$cases/pads.txt" | ge-shape | ge-fold >a.g
mkdir -p elsewhere && (cd elsewhere && ge-load "$cases/pads.txt" | LC_ALL=tr_TR.UTF-8 ge-shape | LC_ALL=C ge-fold >../b.g)
same a.g b.g
ok $? "the same bytes"

# What is computed on the way has a limit, all of it together, too: a constant that is doubled again and again, sizes that are drawn
# into one another, and many that are large.
{
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst c = f32[1,1] [1]\ngraph main {\n'
	last=@c
	for i in $(seq 40); do
		echo "  c$i = Concat($last, $last) {axis=0}"
		last=c$i
	done
	printf '  output y = %s\n}\n' $last
} >double.txt
{
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst k = i64[1] [900000]\ngraph main {\n  input x: f32[900000]\n'
	last=x
	for i in $(seq 60); do
		printf '  c%d = ConstantOfShape(@k) {value=f32[1] [%d]}\n  s%d = Add(%s, c%d)\n' $i $i $i $last $i
		last=s$i
	done
	printf '  output y = %s\n}\n' $last
} >many.txt
for f in double many; do
	ge-load $f.txt -o $f.g
	([ -n "${ASAN_OPTIONS-}" ] || ulimit -v 1000000; timeout 60 ge-fold --why $f.g -o folded.g 2>why)
	[ $? -eq 0 ] && grep -q 'kept: its result of [0-9]* bytes' why && [ "$(wc -c <folded.g)" -lt 200000 ]
	ok $? "$f: a limit, and its reason" || tail -3 why
done
done_testing
