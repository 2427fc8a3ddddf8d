# Kernels against the evaluator on contents at the edges of their types, many times what make check does. CASES, FIRST: other numbers.
. "$top/tests/lib.sh"
within "$top/build/check/numbers" "${FIRST:-1000}" "${CASES:-20000}"
done_testing
