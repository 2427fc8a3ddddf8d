# Trilu in a library: diagonals at the ends of 64 bits, and those of the matrix.
. "$top/tests/lib.sh"
i=0
for k in 9223372036854775807 -9223372036854775808 -4 -3 0 1 4 5; do
	i=$((i + 1))
	echo "const k$i = i64[] [$k]" >>consts
	for upper in 0 1; do
		printf '  t%d_%d = Trilu(x, @k%d) {upper=%d}\n  y%d_%d = Add(t%d_%d, x)\n  output y%d_%d = y%d_%d\n' $i $upper $i $upper $i $upper $i $upper $i $upper $i $upper >>nodes
	done
done
{
	printf 'hone-text 1\nmodule ir=10 opset=28\n'
	cat consts
	printf 'graph main {\n  input x: f32[2,3,4]\n'
	grep -v output nodes
	grep output nodes
	echo '}'
} | ge-load | ge-shape -o trilu.g
ge-fuse trilu.g | ge-plan -q | ge-emit -q --no-fallback -o trilu && [ -s trilu.so ] && run-cmp trilu.so trilu.g >out
ok $? "a library with kernels only"
ok "$([ "$(grep -c equal out)" -eq 16 ]; echo $?)" "16 triangles are the evaluator's"
done_testing
