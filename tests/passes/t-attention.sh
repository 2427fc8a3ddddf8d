# ge-fuse: Attention as products and a softmax.
. "$top/tests/lib.sh"

# graph OPERANDS ATTRIBUTES RESULTS: "-" is an operand that is not there. Symbols are those of t-state.
graph() {
	printf 'hone-text 1\nmodule ir=11 opset=28\nsymbol batch 1 inf\nsymbol rows 1 inf\nsymbol past 0 inf\ngraph main {\n'
	for o in $1; do [ "$o" = - ] || echo "  input ${o%%:*}: ${o#*:}"; done
	printf '  %s = Attention(%s) {%s}\n' "$3" "$(for o in $1; do printf '%s' "$sep${o%%:*}"; sep=', '; done)" "$2"
	for o in $(echo "$3" | tr -d ,); do echo "  output $o = $o"; done
	printf '}\n'
}

# becomes OPERANDS ATTRIBUTES [RESULTS [OPTION...]]: kernels, with the same numbers.
becomes() {
	graph "$1" "$2" "${3:-y}" >e.txt
	what="$1 $2"
	shift $(($# < 3 ? $# : 3))
	ge-load e.txt 2>err | ge-shape -q -o e.g && ge-fuse -q e.g -o f.g && ! ge-dump f.g | grep -q ' = Attention(' && ge-check -q f.g &&
		equal --tol "${tol:-1e-5}" --runs 2 "$@" f.g e.g
	ok $? "$what" || { cat cmp.log; cat e.txt; }
}

# stays OPERANDS ATTRIBUTES RESULTS WHY
stays() {
	graph "$1" "$2" "$3" >e.txt
	ge-load e.txt | ge-shape -q -o e.g && ge-fuse --why e.g 2>err | ge-dump | grep -q ' = Attention(' && grep -q "not attention: $4" err
	ok $? "stays: $4" || cat err
}

becomes 'q:f32[2,3,9,8] k:f32[2,3,7,8] v:f32[2,3,7,5]' ''
becomes 'q:f32[2,6,9,8] k:f32[2,2,9,8] v:f32[2,2,9,5]' 'is_causal=1 scale=0.7'
becomes 'q:f32[2,9,24] k:f32[2,7,24] v:f32[2,7,15]' 'q_num_heads=3 kv_num_heads=3 softcap=1.5'
becomes 'q:f32[2,3,9,8] k:f32[2,3,7,8] v:f32[2,3,7,5]' 'scale=3e38 softcap=0.7' # scores are infinite
becomes 'q:f32[2,9,48] k:f32[2,11,16] v:f32[2,11,10] m:f32[6,9,11]' 'q_num_heads=6 kv_num_heads=2 right_window_size=1'
becomes 'q:f32[2,6,9,8] k:f32[2,2,11,8] v:f32[2,2,11,5] m:bool[2,1,9,11]' ''
becomes 'q:f32[2,6,1,8] k:f32[2,2,11,8] v:f32[2,2,11,5] m:bool[2,6,1,11]' 'left_window_size=12'
becomes 'q:f32[2,9,24] k:f32[2,4,24] v:f32[2,4,15]' 'q_num_heads=3 kv_num_heads=3 left_window_size=2'
becomes 'q:f32[2,4,5,8] k:f32[2,4,3,8] v:f32[2,4,3,5]' '' 'y, k1, v1'
# Several tiles and blocks of the evaluator.
becomes 'q:f32[1,6,40,20] k:f32[1,2,150,20] v:f32[1,2,150,19] m:f32[40,150]' 'left_window_size=30 is_causal=1'
becomes 'q:f64[1,3,21,20] k:f64[1,3,70,20] v:f64[1,3,70,9]' 'right_window_size=40'
becomes 'q:f32[batch,rows,24] k:f32[batch,rows,24] v:f32[batch,rows,24]' 'q_num_heads=3 kv_num_heads=3 is_causal=1 left_window_size=2' y \
	--set batch=2,rows=7
tol=2e-3 becomes 'q:f16[2,3,9,8] k:f16[2,3,7,8] v:f16[2,3,7,5]' 'is_causal=1'
tol=2e-2 becomes 'q:bf16[2,9,24] k:bf16[2,7,24] v:bf16[2,7,15] m:bf16[9,7]' 'q_num_heads=3 kv_num_heads=3'
becomes 'q:f64[1,3,9,8] k:f64[1,3,7,8] v:f64[1,3,7,5]' ''

# A query that sees nothing is zeros, not NaN.
graph 'q:f32[1,1,2,4] k:f32[1,1,3,4] v:f32[1,1,3,4] m:bool[2,3]' '' y >e.txt
printf 'import numpy as np\nnp.save("m.npy", np.array([[0, 0, 0], [0, 1, 1]], bool))\n' >m.py
if [ -n "${HONE_PYTHON-}" ]; then
	"$HONE_PYTHON" m.py && ge-load e.txt | ge-shape -q -o e.g && ge-fuse -q e.g -o f.g && equal -i m=m.npy f.g e.g
	ok $? "a query that sees nothing" || cat cmp.log
fi

# Rows of a cache behind the filled ones are not looked at; one that is seen and is no number shows.
graph 'q:f32[2,4,3,16] k:f32[2,2,80,16] v:f32[2,2,80,16] - - - n:i64[2]' is_causal=1 y >e.txt
cat >m.py <<'E'
import numpy as np
r = np.random.default_rng(1)
q, k, v = (r.standard_normal((2, h, l, 16)).astype("f") for h, l in ((4, 3), (2, 80), (2, 80)))
n = np.array([70, 5])
want = np.zeros((2, 4, 3, 16))
for b in range(2):
    for h in range(4):
        for l in range(3):
            e = n[b] - 2 + l
            p = np.exp(k[b, h // 2, :e] @ q[b, h, l].astype(float) / 4)
            want[b, h, l] = p @ v[b, h // 2, :e] / p.sum()
    k[b, :, n[b]:] = v[b, :, n[b]:] = np.nan
v[1, 1, 4, 3] = np.nan
want[1, 2:, 2, 3] = np.nan
np.savez("in.npz", q=q, k=k, v=v, n=n)
np.savez("want.npz", y=want.astype("f"))
E
if [ -n "${HONE_PYTHON-}" ]; then
	"$HONE_PYTHON" m.py && ge-load e.txt | ge-shape -q -o e.g && run-ref -q -i in.npz e.g -o got.npz &&
		"$HONE_PYTHON" -c 'import numpy as np; np.testing.assert_allclose(np.load("got.npz")["y"], np.load("want.npz")["y"], 0, 1e-5)' >cmp.log 2>&1
	ok $? "rows of a cache that are not filled" || cat cmp.log
fi

stays 'q:f32[2,3,9,8] k:f32[2,3,7,8] v:f32[2,3,7,5]' '' 'y, k1, v1, s' 'its scores are asked for'
stays 'q:f32[2,3,9,8] k:f32[2,3,7,8] v:f32[2,3,7,5]' 'softmax_precision=10' y 'its softmax is in a narrower type'
stays 'q:f32[2,1,48] k:f32[2,1,16] v:f32[2,1,10] - pk:f32[2,2,6,8] pv:f32[2,2,6,5]' 'q_num_heads=6 kv_num_heads=2 is_causal=1' 'y, k1, v1' \
	'it reads a cache'
stays 'q:f32[3,4,2,8] k:f32[3,2,9,8] v:f32[3,2,9,5] - - - n:i64[3]' 'is_causal=1' y 'it reads a cache'
stays 'q:f32[2,3,9,8] k:f32[2,3,7,8] v:f32[2,3,7,5] m:f32[9,6]' '' y 'the sizes of its mask'

# A library widens keys and values of narrower types, several blocks of them, as the evaluator does.
for type in f16 bf16; do
	ge-load <<-END | ge-shape -o wide.g
	hone-text 1
	module ir=11 opset=28
	const rows = i64[1] [70]
	graph main {
	  input q: f32[1,4,1,12]
	  input k: $type[1,2,75,12]
	  input v: $type[1,2,75,19]
	  kw = Cast(k) {to=1}
	  vw = Cast(v) {to=1}
	  y = Attention(q, kw, vw, -, -, -, @rows) {is_causal=1}
	  output y = y
	}
	END
	ge-fuse wide.g -o read.g && ge-dump read.g | grep -q 'Attention(q, k, v' &&
		ge-layout read.g | ge-plan -q | ge-emit -q -o read && run-cmp -q --tol 1e-5 --range k=-0.001:0.0005 read.so wide.g
	ok $? "keys of $type are read as they are"
done
# Codes of 8 bits: a scale for each row, and one for each number of a head, several blocks of them.
codes() { # SHAPE-OF-V-SCALES
	ge-load <<-END | ge-shape -o wide.g
	hone-text 1
	module ir=11 opset=28
	const rows = i64[1] [70]
	graph main {
	  input q: f32[1,4,1,12]
	  input k: i8[1,2,75,12]
	  input v: i8[1,2,75,19]
	  input ks: f32[1,2,75,1]
	  input vs: f32[$1]
	  kf = Cast(k) {to=1}
	  vf = Cast(v) {to=1}
	  kw = Mul(kf, ks)
	  vw = Mul(vs, vf)
	  y = Attention(q, kw, vw, -, -, -, @rows) {is_causal=1}
	  output y = y
	}
	END
	ge-fuse wide.g -o read.g
}
codes 1,2,1,19 && ge-dump read.g | grep -q 'Attention(q, k, v, -, -, -, @rows, ks, vs)' && ge-layout read.g | ge-plan -q | ge-emit -q -o read &&
	run-cmp -q --tol 1e-5 --range ks=-0.01:0.02 read.so wide.g
ok $? "codes are read as they are"
# Codes of 4 bits, two in a byte; files have them as numbers.
ge-load <<-'END' | ge-shape -o read.g
	hone-text 1
	module ir=11 opset=28
	const rows = i64[1] [70]
	graph main {
	  input q: f32[1,4,1,12]
	  input k: u8[1,2,75,6]
	  input v: u8[1,2,75,11]
	  input ks: f32[1]
	  input vs: f32[1,2,1,22]
	  y = Attention(q, k, v, -, -, -, @rows, ks, vs) {is_causal=1}
	  output y = y
	}
END
ge-export -q read.g -o wide.onnx && ge-import -q wide.onnx -o wide.g && ! ge-dump wide.g | grep -q ', ks, vs)' && ge-layout read.g | ge-plan -q |
	ge-emit -q -o read && run-cmp -q --tol 1e-5 read.so wide.g
ok $? "codes of 4 bits are read as they are"
codes 1 && ge-dump read.g | grep -q ', ks, vs)' && equal --tol 1e-5 read.g wide.g; ok $? "one scale for all"
done_testing
