# --accuracy-level 4: rows times weights of 4 bits in blocks become bytes. The library computes what the graph then says, which is near to
# the model's numbers.
. "$top/tests/lib.sh"

numbers() { awk -v lo="$1" -v hi="$2" -v n="$3" 'BEGIN { srand(5); for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "", lo + int(rand() * (hi - lo + 1)) }'; }
scales() { awk -v n="$1" 'BEGIN { srand(9); for (i = 0; i < n; i++) printf "%s%.4f", i ? ", " : "", 0.005 + rand() / 50 }'; }

# model TYPE LO HI ROWS K N BLOCK PRODUCT: weights [N,K]; i4 without zero points
model() {
	local grid="$6,$(($5 / $7))"
	printf 'hone-text 1\nmodule ir=10 opset=21\nconst w = %s[%s,%s] [%s]\nconst s = f32[%s] [%s]\n' "$1" "$6" "$5" "$(numbers "$2" "$3" $(($5 * $6)))" \
		"$grid" "$(scales $(($5 / $7 * $6)))"
	[ "$1" = i4 ] || echo "const z = $1[$grid] [$(numbers "$2" "$3" $(($5 / $7 * $6)))]"
	printf 'graph main {\n  input x: f32[%s,%s]\n  v = DequantizeLinear(@w, @s%s) {axis=1 block_size=%s}\n' "$4" "$5" "$([ "$1" = i4 ] || printf ', @z')" "$7"
	if [ "$8" = gemm ]; then echo '  y = Gemm(x, v) {transB=1}'; else printf '  t = Transpose(v) {perm=[1,0]}\n  y = MatMul(x, t)\n'; fi
	printf '  output y = y\n}\n'
}

leveled() {
	model "$@" | ge-load | ge-shape >m.g && ge-integer -q --accuracy-level 4 -o l.g m.g && ge-fuse l.g | ge-layout | ge-plan -q | ge-emit -q -o l - &&
		equal --tol 2e-6 l.so l.g && equal --tol 3e-2 l.g m.g && ! equal --tol 1e-4 l.g m.g >log
	ok $? "$*: rows of bytes"
}
if grep -qw avx2 /proc/cpuinfo; then
	leveled i4 -8 7 1 256 300 32 turned
	leveled u4 0 15 5 256 96 64 turned
	leveled i4 -8 7 13 512 72 32 gemm
	grep -q 'vdp_nibbles(block' l.c || grep -q 'block.* = vdp_nibbles(' l.c
	ok $? "in integers"
	ge-stat --digest l.g >first && ge-integer -q --accuracy-level 4 l.g | ge-stat --digest - >again && cmp first again
	ok $? "once is enough"
	[ "$(ge-integer -q --accuracy-level 4 --target x86-64 m.g | ge-dump | grep -c ' QuantizeLinear(')" = 0 ]
	ok $? "not where no instruction is faster"
else
	skip "rows of bytes" "no AVX2"
fi
# Tiles of 16 rows; the last one begins earlier. Not where columns have zero points of their own, or fill no panel.
if grep -qw amx_int8 /proc/cpuinfo; then
	for form in "i4 -8 7 16 128 128 32 turned" "i4 -8 7 37 96 192 32 gemm" "i4 -8 7 50 256 320 64 turned" "i4 -8 7 33 512 128 128 gemm"; do
		leveled $form
		grep -q 'tile_start(1, ' l.c && grep -q 'tile_finish(1, block' l.c && ! grep -q 'tile_sums(block' l.c && grep -q 'widen_codes(' l.c && ! grep -q block_init l.c && grep -q 'does not let it use amx' l.c
		ok $? "$form: in tiles, of which two are under way"
	done
	leveled i4 -8 7 32 64 128 32 turned
	[ "$(grep -c 'tile_start([01], i0' l.c) $(grep -c 'tile_finish([01], block' l.c)" = "2 2" ]
	ok $? "as many blocks as tiles under way" || grep tile_ l.c
	for form in "u4 0 15 37 128 128 32 turned" "i4 -8 7 37 128 72 32 turned"; do
		leveled $form
		! grep -q -e tile_sums -e 'does not let it use amx' l.c
		ok $? "$form: not in tiles"
	done
	model i4 -8 7 200 1024 2048 32 turned | ge-load | ge-shape >m.g && ge-integer -q --accuracy-level 4 -o l.g m.g && ge-fuse l.g | ge-layout | ge-plan -q --threads 2 |
		ge-emit -q -o l - && grep -q '_work, &args' l.c && equal --tol 2e-6 l.so l.g
	ok $? "tiles by two threads"
else
	skip "tiles" "no AMX"
fi

# file LEVEL LEVEL [LINE]: an ONNX file with two MatMulNBits, and perhaps one more node.
file() {
	cat <<-END | ge-load | ge-export -q -o file.onnx
	hone-text 1
	module ir=10 opset=21
	meta opset:com.microsoft = 1
	const a = u8[96,2,16] [$(numbers 0 255 3072)]
	const s = f32[192] [$(scales 192)]
	const w = i4[96,64] [$(numbers -8 7 6144)]
	const t = f32[96,2] [$(scales 192)]
	graph main {
	  input x: f32[3,64]
	  input u: f32[3,64]
	  y = com.microsoft.MatMulNBits(x, @a, @s) {K=64 N=96 accuracy_level=$1 bits=4 block_size=32}
	  z = com.microsoft.MatMulNBits(u, @a, @s) {K=64 N=96 accuracy_level=$2 bits=4 block_size=32}
	  v = DequantizeLinear(@w, @t) {axis=1 block_size=32}
	  o = ${3:-Neg(x)}
	  output y = y
	  output z = z
	  output o = o
	}
	END
}
rounded() { # N [OPTION...]: of so many rows
	n=$1 && shift
	ge-import -q file.onnx | ge-shape >f.g && ge-integer "$@" -o r.g f.g 2>err && is "$(ge-dump r.g | grep -c ' QuantizeLinear(')" "$n" "a file's products: $n $*"
}
if grep -qw avx2 /proc/cpuinfo; then
	file 4 4 && rounded 2 && rounded 0 -q --accuracy-level 1 && rounded 0 -q --exact && hone build -q --accuracy-level 1 file.onnx -o kept && equal --tol 2e-6 kept.so f.g &&
		hone build file.onnx -o bytes >said 2>&1 && grep -q 'rows of 2 products are rounded to bytes.*as accuracy_level 4' said && ! equal --tol 1e-4 bytes.so f.g >log && equal --tol 3e-2 bytes.so f.g
	ok $? "accuracy_level 4 of the file" || cat err said
	ge-integer -q f.g -o r.g && run-cmp --runs 4 --tol 1 --argmax r.g f.g | awk '/^y .* differs$/ { if (100 * $3 > off) off = 100 * $3; flipped += $(NF - 4); rows += $(NF - 2) } END { print off, flipped, rows }' >want &&
		sed -n 's/^rounding rows to bytes: y differs by at most \([0-9.]*\)% of its largest element; .* in \([0-9]*\) of \([0-9]*\) rows (4 drawn inputs)$/\1 \2 \3/p' said >got && [ -s got ] &&
		paste -d ' ' want got | awk '{ exit !($1 > 0.01 && $4 > 0.9 * $1 && $4 < 1.1 * $1 && $5 == $2 && $6 == $3 && $6 == 12) }'
	ok $? "the report says what it changes: $(cat got)" || cat said want
	hone build --level-seconds 0 file.onnx -o bytes >said 2>&1 && ! grep -q 'rounding rows' said && hone build --level-seconds 0.001 file.onnx -o bytes >said 2>&1 &&
		grep -q 'rounding rows to bytes: what it changes was not measured: .*more than 0.001 seconds' said
	ok $? "not, or in no time" || cat said
	file 4 1 && rounded 1 && ! ge-dump r.g | grep -q ' = MatMul(x,' && ge-dump r.g | grep -q ' = MatMul(u,' && file 4 4 'Gemm(x, v) {transB=1}' && rounded 2
	ok $? "each product by its own word" || ge-dump r.g
	ge-dump f.g | grep -q accuracy_level && ! ge-dump r.g | grep -q accuracy_level && ge-export -q f.g | ge-import -q | ge-dump >back && ! grep -q accuracy_level back
	ok $? "the word is gone where it is done, and in files"
fi
model i4 -8 7 4 64 96 32 turned | ge-load | ge-shape | ge-integer --accuracy-level 3 2>err >out
is "$? $(wc -l <err)" "64 1" "another level"
done_testing
