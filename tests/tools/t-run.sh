# run-ref and run-cmp: NumPy's files in and out, good and bad; what counts as equal.
. "$top/tests/lib.sh"
python=${HONE_PYTHON:-python3}
load() { printf 'hone-text 1\nmodule ir=10 opset=28\n%s\ngraph main {\n%s\n}\n' "$1" "$2" | ge-load; }
holds() { [ "$1" "$2" "$3" ]; ok $? "$4" || echo "# $4: '$1' '$3'"; }
refuses() { # CODE PATTERN WHAT COMMAND...
	code=$1 pattern=$2 what=$3
	shift 3
	"$@" >refused.out 2>err
	rc=$?
	[ $rc -eq "$code" ] && [ ! -s refused.out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$pattern" err
	ok $? "$what" || { echo "# $what: $rc"; cat err; }
}

load 'symbol n 0 inf' '  input x: f32[n,3]
  y = Relu(x)
  output y = y' >relu.g
load '' '  input x: f32[2,3]
  y = Relu(x)
  z = Neg(x)
  output y = y
  output z = z' >two.g

# What is written is what is read.
run-ref --set n=2 relu.g -o a.npy && run-ref relu.g -i a.npy -o b.npy && equal --tol 0 a.npy b.npy
holds $? -eq 0 "an array through two runs"
run-ref two.g -o a.npz && equal --tol 0 a.npz two.g
holds $? -eq 0 "several arrays"
refuses 64 'input x is given twice: b.npy and a.npy' "an input that is given twice" run-ref relu.g -i x=b.npy -i x=a.npy -o /dev/null
run-ref two.g -o b.npz
cmp -s a.npz b.npz
holds $? -eq 0 "the same bytes"
run-ref --seed 1 two.g -o b.npz
run-cmp a.npz b.npz >cmp.out
holds $? -eq 1 "another seed is different"
grep -q '^z .*DIFFERENT' cmp.out
holds $? -eq 0 "and says so"
run-cmp --json a.npz a.npz | grep -q '"output": "z", .*"equal": true'
holds $? -eq 0 "as JSON"
for op in Identity Neg; do
	printf 'hone-text 1\nmodule ir=10 opset=21\ngraph main {\n  input x: f32[4,3]\n  y = %s(x)\n  output y = y\n}\n' $op | ge-load -o $op.g
done
run-cmp --argmax Neg.g Identity.g >cmp.out
run-cmp --argmax Identity.g Identity.g >>cmp.out && [ "$(sed -n 's/.*; argmax of \(.*\) differs/\1/p' cmp.out | tr '\n' ' ')" = "4 of 4 rows 0 of 4 rows " ]
holds $? -eq 0 "rows whose largest element is another"

# Files by hand: magic, version, header length (118), header, data.
npy() { # DESCR ORDER SHAPE
	head=$(printf "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" "$1" "$2" "$3")
	printf '\223NUMPY\001\000\166\000%-117s\n' "$head"
}
floats() { printf '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100\000\000\240\100\000\000\300\100'; } # 1 to 6
big() { printf '\077\200\000\000\100\000\000\000\100\100\000\000\100\200\000\000\100\240\000\000\100\300\000\000'; }
(npy '<f4' False '(2, 3)'; floats) >x.npy
run-ref relu.g -i x=x.npy | grep -q '1 2 3 4 5 6'
holds $? -eq 0 "an array by hand"
(npy '>f4' False '(2, 3)'; big) >big.npy
equal --tol 0 x.npy big.npy
holds $? -eq 0 "big-endian"
(npy '<f4' True '(2, 3)'; floats) >fortran.npy
run-ref relu.g -i fortran.npy | grep -q '1 3 5 2 4 6'
holds $? -eq 0 "column-major"

# Bad ones.
refuses 65 'x.txt:0: not a NumPy array' "not an array" sh -c 'echo "<html>" >x.txt; run-ref relu.g -i x=x.txt -o n.npy'
head -c 140 x.npy >cut.npy
refuses 65 'cut.npy:140: the file ends inside its data; 12 bytes of 24' "cut in its data" run-ref relu.g -i cut.npy -o n.npy
head -c 60 x.npy >cut.npy
refuses 65 'cut.npy:60: the file ends inside its header' "cut in its header" run-ref relu.g -i cut.npy -o n.npy
(cat x.npy; echo) >long.npy
refuses 65 'long.npy:152: bytes after the end' "too long" run-ref relu.g -i long.npy -o n.npy
(npy '<f8' False '(1, 3)'; floats) >f8.npy
refuses 65 'holds f64\[1,3\], input x is f32' "another type" run-ref relu.g -i f8.npy -o n.npy
(npy '<f4' False '(3, 2)'; floats) >shape.npy
refuses 65 'axis 1 of input x .* is 3' "another shape" run-ref relu.g -i shape.npy -o n.npy
(npy '<f4' False '(6,)'; floats) >rank.npy
refuses 65 'holds f32\[6\]' "another rank" run-ref relu.g -i rank.npy -o n.npy
(npy '|O' False '(6,)'; floats) >object.npy
refuses 65 "Python's objects" "Python objects" run-ref relu.g -i object.npy -o n.npy
(npy '<f4' False '(4611686018427387904, 4)'; floats) >huge.npy
refuses 65 'huge.npy' "an impossible shape" run-ref relu.g -i huge.npy -o n.npy
refuses 66 'missing.npy' "no such file" run-ref relu.g -i missing.npy -o n.npy
head -c 300 a.npz >cut.npz
refuses 65 'cut.npz:0: not a zip' "a cut archive" run-cmp cut.npz a.npz
size=$(wc -c <a.npz)
bytes_before() { head -c "$1" a.npz; printf '\377'; tail -c +$(($1 + 2)) a.npz; }
bytes_before 170 >flip.npz
refuses 65 'checksum' "a flipped bit" run-cmp flip.npz a.npz
bytes_before $((size - 50)) >flip.npz
run-cmp flip.npz a.npz >flip.out 2>err
rc=$?
[ $rc -eq 65 ] || [ $rc -eq 1 ]
ok $? "a flipped bit in the directory" || echo "# a flipped bit in the directory: $rc"
refuses 64 'no input w; it has x' "an unknown input" run-ref relu.g -i w=x.npy -o n.npy
refuses 64 'has 2 outputs' "two outputs in one array" run-ref two.g -o n.npy
run-ref relu.g -o n.npy 2>err
holds $? -eq 64 "sizes that are missing"
grep -q 'x  *f32\[n,3\]' err && grep -q 'run-ref --set n=1' err
holds $? -eq 0 "and the command to paste"
[ -s err ] && [ ! -e n.npy ]
holds $? -eq 0 "no output when it fails"
equal --set n=2 relu.g relu.g
holds $? -eq 0 "a size that both have"
run-ref --set n=2 relu.g -o sized.npz && equal --set n=2 relu.g sized.npz
holds $? -eq 0 "a size that one has"
refuses 64 'set q=3: neither side' "a size that neither has" run-cmp --set n=2,q=3 relu.g relu.g
run-cmp --set n=2 two.g two.g >cmp.out 2>err
holds "$? $(grep -c 'nothing to set' err)" = "0 1" "a size for graphs that have none"
refuses 64 'set q=3: neither side' "a rewritten graph, too" run-cmp --rewritten --set n=2 --set q=3 relu.g relu.g

# What proves nothing is not equal.
load 'const nan = f32[1] [nan]
const zero = f32[1] [0]' '  input x: f32[1]
  y = Add(x, @nan)
  z = Mul(x, @zero)
  output y = y
  output z = z' >nothing.g
run-cmp nothing.g nothing.g >cmp.out
holds $? -eq 1 "NaN and zero"
grep -q '^y .*NaN' cmp.out && grep -q '^z .*proves nothing' cmp.out
holds $? -eq 0 "and why"
load 'const k = f32[1] [0.001]' '  input x: f32[1]
  y = Mul(x, @k)
  one = Exp(y)
  output one = one' >flat.g
run-cmp flat.g flat.g --runs 2 --change 0.1 >cmp.out 2>err
holds $? -eq 1 "a model that answers alike"
grep -q 'proves little' err
holds $? -eq 0 "and why"
run-cmp flat.g flat.g --change 0.1 >cmp.out 2>err
holds $? -eq 1 "two runs are made for that"
refuses 64 'neither x.npy nor big.npy can be run' "arrays do not change" run-cmp --change 0.1 x.npy big.npy

# An infinity is equal to itself, and makes nothing of the others.
(npy '<f4' False '(3,)'; printf '\000\000\200\177\000\000\200\077\000\000\000\100') >inf.npy      # inf 1 2
(npy '<f4' False '(3,)'; printf '\000\000\200\177\000\000\200\077\000\000\200\100') >inf-other.npy # inf 1 4
(npy '<f4' False '(3,)'; printf '\000\000\200\377\000\000\200\077\000\000\000\100') >inf-sign.npy  # -inf 1 2
(npy '<f4' False '(3,)'; printf '\000\000\200\177\000\000\200\177\000\000\000\100') >inf-more.npy  # inf inf 2
equal --tol 0 inf.npy inf.npy
holds $? -eq 0 "an infinity on both sides"
run-cmp inf-other.npy inf.npy >cmp.out
holds $? -eq 1 "a number beside an infinity"
grep -q ' 1 \[2\]' cmp.out
holds $? -eq 0 "of the scale of the others"
for f in inf-sign inf-more; do
	run-cmp $f.npy inf.npy >cmp.out
	holds $? -eq 1 "$f.npy is not inf.npy"
done
run-cmp inf.npy inf-more.npy >cmp.out
holds $? -eq 1 "an infinity that is not there"
grep -q 'an infinity in the reference, not here' cmp.out
holds $? -eq 0 "and why"
run-cmp --json inf-more.npy inf.npy >json
[ -s json ] && ! grep -i -q 'inf,\|nan' json
holds $? -eq 0 "as JSON that can be read"

# Whole numbers that doubles do not tell apart.
(npy '<i8' False '(1,)'; printf '\001\000\000\000\000\000\000\020') >long1.npy
(npy '<i8' False '(1,)'; printf '\002\000\000\000\000\000\000\020') >long2.npy
run-cmp --tol 0 long1.npy long2.npy >cmp.out
holds $? -eq 1 "2^60 + 1 and 2^60 + 2"
load '' '  input ids: i64[7]
  input t: f32[5,2]
  e = Gather(t, ids)
  output e = e' >ids.g
run-ref ids.g --seed 3 >out && [ -s out ]
holds $? -eq 0 "random indices within their axis"
run-ref relu.g --set n=1 --range x=3:3 -o equal.npy && holds "$(tail -c 12 equal.npy | od -An -tf4 | tr -s ' ')" = ' 3 3 3' "a range of one number"
refuses 65 'index 9 is outside the axis of extent 5' "an index outside" run-ref ids.g --range ids=9:9 -o n.npy
load '' '  input x: u8[30]
  d = ImageDecoder(x)
  output d = d' >image.g
refuses 69 'main/d (ImageDecoder): no evaluator' "no evaluator" run-ref image.g -o n.npy

# Operands that do not fit each other are neither read nor written past their ends.
unfit() { # CONSTS NODE
	if load "$1" "  input x: f32[1,2,2,2]
  input q: u8[1,2,2,2]
  y = $2
  output y = y" >unfit.g 2>unfit.err; then
		refuses 65 "main/y (${2%%(*}): .*not fit" "$2" run-ref unfit.g -o n.npy
	else # the rule has seen it
		refuses 65 "^1 .*main/y (${2%%(*}): operand " "$2" sh -c 'echo "$(wc -l <unfit.err) $(cat unfit.err)" >&2; exit 65'
	fi
}
quant='const w = u8[3,2,1,1] [1, 2, 3, 4, 5, 6]
const s = f32[] [0.5]
const s2 = f32[2] [0.5, 0.25]
const none = f32[0] []
const z = u8[] [1]
const z1 = u8[1] [1]
const z2 = u8[2] [1, 2]
const one = u8[1,1] [1]'
unfit 'const w = f32[3,2,1,1] [1, 2, 3, 4, 5, 6]
const b = f32[2] [1, 2]' 'Conv(x, @w, @b)'
unfit 'const w = f32[2,3,1,1] [1, 2, 3, 4, 5, 6]
const b = f32[2] [1, 2]' 'ConvTranspose(x, @w, @b)'
unfit "$quant" 'ConvInteger(q, @w, @z, @z2)'
unfit "$quant" 'ConvInteger(q, @w, @z2)'
unfit "$quant" 'QLinearConv(q, @s, @z, @w, @s2, @z, @s, @z)'
unfit "$quant" 'QLinearConv(q, @none, @z, @w, @s, @z, @s, @z)'
unfit "$quant" 'QLinearConv(q, @s, @z, @w, @s, @z, @s, @z2)'
unfit "$quant" 'MatMulInteger(q, q, @z, @w)'
unfit "$quant" 'QuantizeLinear(x, @s2, @z1) {axis=1}'
unfit "$quant" 'DequantizeLinear(q, @s2, @z1) {axis=1}'
scatter='const d = i64[2,2] [1, 2, 3, 4]
const i = i64[2,3] [0, 1, 0, 1, 0, 1]
const u = i64[2,3] [1, 2, 3, 4, 5, 6]
const i2 = i64[2,1] [0, 1]
const u2 = u8[2,1] [1, 2]
const u4 = u8[2,2] [1, 2, 3, 4]'
unfit "$scatter" 'ScatterElements(@d, @i, @u)'
unfit "$scatter" 'ScatterElements(@d, @i2, @u2)'
unfit "$scatter" 'ScatterND(@d, @i2, @u4)'
unfit 'const d = f32[1,3] [1, 2, 3]
const i = i64[2,1] [0, 1]' 'GatherND(@d, @i) {batch_dims=1}'
load "$quant
const p = u8[2,2,1] [10, 20, 30, 40]" '  input x: f32[1]
  y = MatMulInteger(@p, @one, @z2)
  output y = y' >batch.g
run-ref batch.g | grep -q '9 18 29 38'
holds $? -eq 0 "zero points of the rows of a batch"

if "$python" -c 'import numpy' 2>/dev/null; then
	"$python" - <<-'E'
		import numpy as np
		np.savez_compressed("c.npz", y=np.arange(60000, dtype=np.int64).reshape(3, 20000), z=np.float16([1, 2]), b=np.array(True))
		np.savez("s.npz", y=np.arange(60000, dtype=np.int64).reshape(3, 20000), z=np.float16([1, 2]), b=np.array(True))
	E
	equal --tol 0 c.npz s.npz
	holds $? -eq 0 "NumPy's own archives, deflated and stored"
	"$python" -c 'import numpy as np; a = np.load("a.npz"); assert sorted(a) == ["y", "z"] and a["y"].shape == (2, 3) and a["z"].dtype == np.float32'
	holds $? -eq 0 "NumPy reads ours"
else
	skip "NumPy's own archives" "no numpy"
fi

# Bytes that changed while the file kept its size and time: whoever uses them says so, and the next import looks again.
if command -v touch >/dev/null; then
	{ printf 'hone-text 1\nmodule ir=10 opset=28\nconst w = f32[200,200] ['; seq -s, 40000 | tr -d '\n'; printf ']\ngraph main {\n  input x: f32[2,200]\n  y = MatMul(x, @w)\n  output y = y\n}\n'; } | ge-load | ge-export -o kept.onnx
	touch -d '2020-01-01' kept.onnx
	HONE_BLOBS=$PWD/kept.blobs # where it is only referred to
	ge-import kept.onnx -o kept.g && run-ref kept.g -o 1.npz
	printf '\001' | dd of=kept.onnx bs=1 seek=$(($(stat -c %s kept.onnx) / 2)) conv=notrunc 2>/dev/null
	touch -d '2020-01-01' kept.onnx
	refuses 65 'have changed; import the model again' "bytes that changed under their time" run-ref kept.g -o none.npz
	ge-import kept.onnx -o kept.g && run-ref kept.g -o 2.npz && [ -s 2.npz ] && ! cmp -s 1.npz 2.npz
	holds $? = 0 "and imported again they are used"
fi

# Zeros alone have no scale by the formula of the standard: 1, as in ONNX Runtime.
load 'const z = f32[3] [0, 0, 0]' '  input x: f32[3]
  m = Mul(x, @z)
  y, s, p = DynamicQuantizeLinear(m)
  r = DequantizeLinear(y, s, p)
  output s = s
  output r = r' >zeros.g
holds "$(run-ref zeros.g | tr -d '\n')" = 's: f32[], 1 to 1, mean 1    1r: f32[3], 0 to 0, mean 0    0 0 0' "DynamicQuantizeLinear of zeros"
done_testing
