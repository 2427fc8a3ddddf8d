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
model i4 -8 7 4 64 96 32 turned | ge-load | ge-shape | ge-integer --accuracy-level 3 2>err >out
is "$? $(wc -l <err)" "64 1" "another level"
done_testing
