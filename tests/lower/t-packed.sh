# Weights of 4 and 8 bits in blocks stay so in the library: what is compiled for every target that this CPU runs computes what the
# evaluator does, and the file of weights is not much larger than the codes.
. "$top/tests/lib.sh"

# numbers LO HI N: integers
numbers() { awk -v lo="$1" -v hi="$2" -v n="$3" 'BEGIN { srand(5); for (i = 0; i < n; i++) printf "%s%d", i ? ", " : "", lo + int(rand() * (hi - lo + 1)) }'; }
scales() { awk -v n="$1" 'BEGIN { srand(9); for (i = 0; i < n; i++) printf "%s%.4f", i ? ", " : "", 0.005 + rand() / 50 }'; }

# model TYPE LO HI ROWS K N BLOCK FORM ZEROS: FORM matmul ([K,N]), turned ([N,K] and a Transpose) or gemm ([N,K], transB)
model() {
	local type=$1 lo=$2 hi=$3 M=$4 K=$5 N=$6 block=$7 form=$8 zeros=$9 axis=1 count shape grid
	count=$(((K + block - 1) / block)) shape="$N,$K" grid="$N,$count"
	[ "$form" != matmul ] || { axis=0 shape="$K,$N" grid="$count,$N"; }
	echo 'hone-text 1
module ir=10 opset=21'
	echo "const w = $type[$shape] [$(numbers "$lo" "$hi" $((K * N)))]"
	echo "const s = f32[$grid] [$(scales $((N * count)))]"
	[ "$zeros" = 0 ] || echo "const z = $type[$grid] [$(numbers "$lo" "$hi" $((N * count)))]"
	echo "const b = f32[$N] [$(scales "$N")]"
	echo "graph main {
  input x: f32[$M,$K]
  v = DequantizeLinear(@w, @s$([ "$zeros" = 0 ] || printf ', @z')) {axis=$axis block_size=$block}"
	case $form in
	matmul) echo '  p = MatMul(x, v)' ;;
	turned) printf '  t = Transpose(v) {perm=[1,0]}\n  p = MatMul(x, t)\n' ;;
	gemm) echo '  p = Gemm(x, v) {transB=1}' ;;
	esac
	printf '  a = Add(p, @b)\n  y = Relu(a)\n  output y = y\n}\n'
}

# built TARGET: m.so, and no kernel whose trace does not apply
built() { hone build m.onnx -o m --target "$1" >log 2>err && ! grep -q 'plain loops' err log; }

targets=x86-64
[ "$(uname -m)" = x86_64 ] || targets=native
grep -qw avx2 /proc/cpuinfo && targets="$targets x86-64-v3"
grep -qw avx512vl /proc/cpuinfo && targets="$targets x86-64-v4"
grep -qwE 'avx512_vnni|avx_vnni' /proc/cpuinfo && targets="$targets native"
each() { # TYPE LO HI ROWS K N BLOCK FORM ZEROS
	model "$@" >m.txt && ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g || { ok 1 "$* is written"; return; }
	for t in $targets; do
		built "$t" && equal --tol 2e-6 m.so m.g
		ok $? "$* on $t"
	done
}
# The order of the weights is the model's alone: it is for all targets what it is for one.
every=$targets
for form in matmul turned gemm; do
	[ $form = matmul ] || targets=native
	each u4 0 15 1 64 80 16 $form 1
	each i4 -8 7 1 70 37 32 $form 0
	each u8 0 255 1 70 37 32 $form 1
	each i8 -128 127 1 64 16 64 $form 0
done
targets=$every
each i4 -8 7 1 256 300 32 turned 1
each u4 0 15 1 256 300 64 turned 0
each i4 -8 7 1 100 88 8 matmul 1
each u4 0 15 1 60 88 20 matmul 1
each u4 0 15 5 70 37 32 turned 1
each i4 -8 7 17 64 48 16 matmul 0
each u4 0 15 40 300 70 32 turned 1
each u8 0 255 64 300 37 32 matmul 1
each i8 -128 127 3 70 48 32 gemm 1
each u4 0 15 4 256 96 32 matmul 1
each i4 -8 7 7 250 80 32 gemm 0
each u4 0 15 13 64 100 16 turned 1
each i8 -128 127 5 100 96 32 matmul 1
each u8 0 255 9 96 100 16 gemm 0
each i8 -128 127 1 250 161 32 turned 1

# Of rows that only a run knows: one kernel, or one more for one row.
for type in i4 u8; do
	model $type 0 7 m 256 96 32 turned 1 | sed 's/^graph main/symbol m 0 inf\n&/' >m.txt
	ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g
	for t in $targets; do
		built "$t" && [ "$(grep -c 'steps: .* 0 native, 0 on the slow path' log)" = 1 ] && [ "$(wc -c <m.weights)" -lt $((256 * 96 * 2)) ]
		ok $? "$type, open rows: kernels of packed weights on $t"
		for rows in 1 2 7 40; do
			equal --tol 2e-6 --shape x:${rows}x256 m.so m.g
			ok $? "$type, $rows of open rows on $t"
		done
	done
done
model i4 -8 7 200 512 256 32 turned 0 >m.txt && ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g && built native
[ "$(wc -c <m.weights)" -lt $((512 * 256 / 2 + 512 * 256 / 32 * 4 + 16384)) ]
ok $? "for many rows weights stay packed"

# One row is multiplied in integers, as near as in f32 whatever its size is. Where it is no number, no result of it is one.
model i4 -8 7 1 256 300 32 turned 1 | sed '/Relu/d; s/output y = y/output y = a/' >m.txt
ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g && built native
! grep -qw avx2 /proc/cpuinfo || grep -q 'block.* = vdp_nibbles(' m.c
ok $? "one row of 4 bits: integer products"
model i4 -8 7 1 256 40 32 turned 1 >few.txt && ge-load few.txt | ge-shape | ge-fuse | ge-layout | ge-plan -q | ge-emit -q -o few - && [ -s few.c ] && ! grep -q vdp_nibbles few.c
ok $? "of few columns it stays in floats"
for size in 1e-30 1 1e30; do
	equal --tol 2e-6 --range "x=-$size:$size" m.so m.g
	ok $? "a row of $size"
done
model u8 0 255 5 256 96 32 turned 1 | sed '/Relu/d; s/output y = y/output y = a/' >m.txt
ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g && built native
! grep -qwE 'avx512_vnni|avx_vnni' /proc/cpuinfo || grep -q 'block.* = vdp_codes(' m.c
ok $? "several rows of 8 bits: integer products"
for size in 1e-30 1 1e30; do
	equal --tol 2e-6 --range "x=-$size:$size" m.so m.g
	ok $? "rows of $size"
done
model i4 -8 7 1 256 300 32 turned 1 | sed '/Relu/d; s/output y = y/output y = a/' >m.txt
ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g && built native
# Blocks whose sum of products of digits may be beyond 32 bits stay in floats: at the largest codes all sums are too large.
if [ -n "${HONE_PYTHON-}" ]; then
	"$HONE_PYTHON" - >said 2>&1 <<'END'
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
block, columns = 66320, 72
rows = 2 * block
w, s = np.full((rows, columns), 127, np.int8), np.full((2, columns), 1e-6, np.float32)
steps = [h.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=block), h.make_node("MatMul", ["x", "d"], ["y"])]
info = [h.make_tensor_value_info(n, T.FLOAT, [1, k]) for n, k in (("x", rows), ("y", columns))]
g = h.make_graph(steps, "g", info[:1], info[1:], [nh.from_array(w, "w"), nh.from_array(s, "s")])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 21)], ir_version=10), "long.onnx")
np.savez("long.npz", x=np.ones((1, rows), np.float32))
END
	hone build -q -o long long.onnx 2>err && run-dev -q long.so -i long.npz -o y.npz && run-ref -q long.onnx -i long.npz -o r.npz && equal --tol 2e-6 y.npz r.npz
	ok $? "long blocks of 8 bits" || cat said err cmp.log
else
	skip "long blocks of 8 bits" "no HONE_PYTHON"
fi

row() { # VALUE: a row with it, x.npz
	awk -v v="$1" 'BEGIN { printf "hone-text 1\nmodule ir=10 opset=21\nconst c = f32[1,256] ["
		for (i = 0; i < 256; i++) printf "%s%s", i ? ", " : "", i == 70 ? v : i / 256
		print "]\ngraph main {\n  x = Abs(@c)\n  output x = x\n}" }' | ge-load | ge-shape | run-ref -q -o x.npz -
}
printf 'hone-text 1\nmodule ir=10 opset=21\ngraph main {\n  input y: f32[1,300]\n  i = IsNaN(y)\n  n = Cast(i) {to=7}\n  output n = n\n}\n' | ge-load | ge-shape >nan.g
printf 'hone-text 1\nmodule ir=10 opset=21\nconst one = i64[1,1] [1]\nconst s = i64[2] [1, 300]\ngraph main {\n  n = Expand(@one, @s)\n  output n = n\n}\n' |
	ge-load | ge-shape | run-ref -q -o ones.npz -
for odd in nan inf; do
	row "$odd" && run-dev -q m.so -i x.npz -o y.npz && run-ref -q nan.g -i y.npz -o nans.npz && equal nans.npz ones.npz
	ok $? "a row with $odd"
done

model i4 -8 7 20 512 256 32 turned 0 >m.txt && ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g && built native
[ "$(wc -c <m.weights)" -lt $((512 * 256 / 2 + 512 * 256 / 32 * 4 + 16384)) ]
ok $? "for several rows, too"
model i4 -8 7 1 512 256 32 turned 0 >m.txt && ge-load m.txt | ge-shape >m.g && ge-export -q -o m.onnx m.g && built native
[ "$(wc -c <m.weights)" -lt $((512 * 256 / 2 + 512 * 256 / 32 * 4 + 16384)) ]
ok $? "two weights of 4 bits share a byte of the library's weights"
[ "$(wc -c <m.onnx)" -lt $((512 * 256 / 2 + 512 * 256 / 32 * 4 + 4096)) ] && ge-import -q m.onnx | ge-shape | equal --tol 1e-30 - m.g
ok $? "and of the ONNX file, which is read back"

# refused WHAT ZERO AXIS BLOCK: in one line
refused() {
	model i4 -8 7 1 64 32 16 matmul 1 | sed 's/^const z = i4.*/const z = ZERO/' | replaced ZERO "$2" | replaced 'axis=0 block_size=16' "axis=$3 block_size=$4" >bad.txt
	ge-load bad.txt >bad.g 2>err
	is "$? $(wc -l <err)" "65 1" "$1"
}
zero() { echo "$1[$2] [$(numbers 0 1 "$3")]"; }
refused "zero points of another type" "$(zero u4 4,32 128)" 0 16
refused "fewer zero points than scales" "$(zero i4 3,32 96)" 0 16
refused "a block_size that does not fit the scales" "$(zero i4 4,32 128)" 0 32
refused "a block_size below 0" "$(zero i4 4,32 128)" 0 -16
refused "an axis that there is not" "$(zero i4 4,32 128)" 2 16
done_testing
