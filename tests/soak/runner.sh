# The runner at full length: 400 mutants of emitted kernels, a thousand tries of equal kernels under load, a hundred of one
# slowed by 3% on what quiet there is. MUTANTS, TRIES: other numbers.
. "$top/tests/lib.sh"
within "$top/build/check/mutants" "${MUTANTS:-400}" 2
tries=${TRIES:-1000}
task='Gemm f32 128x256 256x256c 256c'
"$top/build/bench/runner" --times "$tries" --load aa "$task" >aa || ok 1 "a bench that ends"
cat aa | sed 's/^/# /'
for library in "$task" "  in another library"; do
	called=$(grep -F "$library" aa | grep -o 'faster [0-9]*' | cut -d' ' -f2)
	[ $((${called:-0} * 100)) -le "$tries" ]
	ok $? "equal kernels, $library: called faster ${called:-0} of $tries" || echo "# equal kernels, $library: called faster $called of $tries"
done
"$top/build/bench/runner" --times 100 slow "$task" >slow
sed 's/^/# /' slow
called=$(grep -o 'slower [0-9]*' slow | cut -d' ' -f2)
[ "${called:-0}" -ge 90 ]
ok $? "3% slower: called so $called of 100" || echo "# 3% slower: called so ${called:-0} of 100"
done_testing
