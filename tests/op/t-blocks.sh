# What native functions do in blocks for f32, against the same of f64. GridSample: every mode, padding and form, images of one to three
# axes, also of one column, more points than a block has, and images with numbers that are not finite. CumSum along a row.
. "$top/tests/lib.sh"
graphs() { # NAME IMAGE GRID: NAME.g of f32, NAME-64.g by way of f64
	for wide in '' -64; do
		printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[%s]\n  g32: f32[%s]\n' "$2" "$3" | sed 's/  g32/  input g/'
		[ -z "$wide" ] || echo '  d = Cast(x) {to=11}'
		n=0
		for mode in nearest linear cubic; do
			for padding in zeros border reflection; do
				for corners in 0 1; do
					n=$((n + 1))
					attrs="{align_corners=$corners mode=\"$mode\" padding_mode=\"$padding\"}"
					[ -n "$wide" ] || echo "  y$n = GridSample(x, g) $attrs"
					[ -z "$wide" ] || echo "  z$n = GridSample(d, g) $attrs
  y$n = Cast(z$n) {to=1}"
				done
			done
		done
		for i in $(seq $n); do echo "  output y$i = y$i"; done
		echo '}'
	done | awk -v name="$1" '/^hone-text/ { f = name (n++ ? "-64" : "") ".txt" } { print > f }'
	ge-load "$1.txt" -o "$1.g" && ge-load "$1-64.txt" -o "$1-64.g"
}
graphs plane 2,3,7,5 2,33,17,2
graphs column 1,2,6,1 1,5,4,2
graphs pixel 1,2,1,1 1,5,4,2
graphs pair 1,1,3,2 1,9,3,2
graphs line 2,3,9 2,13,1
graphs space 1,2,3,4,5 1,3,4,5,3
for name in plane column pixel pair line space; do
	run-cmp --runs 2 --tol 2e-6 $name.g $name-64.g >out 2>&1
	ok $? "$name" "$(grep -v equal out | head -5)"
done
"${HONE_PYTHON:-python3}" - <<'END' || skip "numbers that are not finite" "no python with numpy"
import numpy as np
rng = np.random.default_rng(1)
x, g = rng.standard_normal((2, 3, 7, 5)).astype(np.float32), rng.standard_normal((2, 33, 17, 2)).astype(np.float32)
x[0, 0, 0, 0], x[1, 2, 3, 3], x[1, 1, 6, 4] = np.inf, np.nan, -np.inf
g[0, 3, 4], g[1, 1, 1, 0], g[1, 2, 2, 1], g[0, 0, 0] = 1e30, np.nan, np.inf, -np.inf
np.savez("in.npz", x=x, g=g)
END
[ ! -f in.npz ] || {
	run-ref -i in.npz plane.g -o a.npz && run-ref -i in.npz plane-64.g -o b.npz && "${HONE_PYTHON:-python3}" -c '
import numpy as np
a, b = np.load("a.npz"), np.load("b.npz")
for k in a:
    np.testing.assert_allclose(a[k], b[k], rtol=1e-5, atol=1e-5, err_msg=k)
'
	ok $? "numbers that are not finite"
}

rows() { # TYPE: sums of rows of several lengths, each way, through values of that type
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst a = i64[] [-1]\ngraph main {\n'
	for n in 2 3 4 5 8 23; do echo "  input x$n: f32[3,$n]"; done
	for n in 2 3 4 5 8 23; do
		echo "  d$n = Cast(x$n) {to=$1}"
		for how in 0-0 0-1 1-0 1-1; do
			echo "  e$n-$how = CumSum(d$n, @a) {exclusive=${how%-*} reverse=${how#*-}}" | sed 's/e\([0-9-]*\) =/"e\1" =/'
			echo "  \"y$n-$how\" = Cast(\"e$n-$how\") {to=1}"
		done
	done
	for n in 2 3 4 5 8 23; do for how in 0-0 0-1 1-0 1-1; do echo "  output \"y$n-$how\" = \"y$n-$how\""; done; done
	echo '}'
}
rows 1 | ge-load -o rows.g && rows 11 | ge-load -o rows-64.g && run-cmp --runs 2 --tol 1e-7 rows.g rows-64.g >out 2>&1
ok $? "sums along a row" "$(grep -v equal out | head -5)"
done_testing
