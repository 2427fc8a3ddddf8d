# Odd circumstances: names that are hard to write, no home, two at a time, more memory than there is.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
load() { printf 'hone-text 1\nmodule ir=10 opset=28\n%s\ngraph main {\n%s\n}\n' "$1" "$2" | ge-load; }
# refuses CODE TEXT COMMAND...: one line on standard error with the text, no file out*
refuses() {
	code=$1 text=$2
	shift 2
	"$@" >said 2>err </dev/null
	[ $? -eq "$code" ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "$text" err && [ -z "$(ls -A | grep '^out')" ]
}

# ---- names ----

load '' '  input x: f32[7]
  y = Relu(x)
  output y = y' >small.g
ge-export small.g -o small.onnx
ge-shape small.g | ge-fuse | ge-plan -q -o planned.g
for name in 'a b' "it's" 'double"quote' 'new
line' 'back\slash' '-dash' '3d-net' 'größe' int time errno '%s' '$(x)' '*' model; do
	cp small.onnx "./$name.onnx"
	hone build -q -o "lib dir/$name" -- "$name.onnx" 2>err && run-cmp -- "lib dir/$name.so" "$name.onnx" >/dev/null 2>>err &&
		hone simplify -q -- "$name.onnx" "smaller $name.onnx" 2>>err && [ -s "smaller $name.onnx" ] && [ ! -s err ]
	ok $? "a model called $(printf %s "$name" | tr '\n' '?')"
	[ "$name" = model ] || rm -f "./$name.onnx" "smaller $name.onnx"
done
[ -z "$(ls -A 'lib dir' | grep ge-emit)" ] && grep -q '\*model_open(' 'lib dir/model.h' && grep -q '\*model_int_open(' 'lib dir/int.h' &&
	grep -q '\*model_3d_net_open(' 'lib dir/3d-net.h'
ok $? "names of functions"
long=$(head -c 65000 /dev/zero | tr '\0' n)
printf 'hone-text 1\nmodule ir=10 opset=28\nsymbol s%s 0 inf\nconst c%s = f32[2] [1, 2]\ngraph g%s {\n  input x%s: f32[s%s,2]\n  y%s = Add(x%s, @c%s) "n%s"\n  output z%s = y%s\n}\n' \
	$long $long $long $long $long $long $long $long $long $long $long >long.txt
ge-load long.txt -o long.g 2>err && ge-dump long.g | ge-load | cmp -s - long.g && ge-export long.g -o long.onnx && hone build -q --set s$long=3 long.onnx 2>err &&
	run-dev long.so -o y.npz && run-ref --set s$long=3 long.g -o r.npz && equal y.npz r.npz
ok $? "names of 65,000 bytes"
refuses 74 'File name too long' ge-emit planned.g -o "out$long"
ok $? "a stem of 65,000 bytes"

# ---- places ----

(unset HONE_BLOBS XDG_DATA_HOME HOME && ge-cse planned.g >same.g 2>err && ge-stat "$model" >said 2>>err && [ ! -s err ] && [ -s same.g ] && [ -s said ])
ok $? "no home: what needs no blobs works"
(unset HONE_BLOBS XDG_DATA_HOME HOME && refuses 71 'HONE_BLOBS' ge-import "$model" -o out.g)
ok $? "no home: what needs some says so"
(unset HONE_BLOBS XDG_DATA_HOME && HOME=/proc/nothing refuses 74 'blob store' ge-import "$model" -o out.g)
ok $? "a home that cannot be written"
(HONE_BLOBS=/dev/null refuses 74 'blob store' ge-import "$model" -o out.g)
ok $? "a blob store that is no directory"
refuses 74 'mkdir -p nowhere' ge-emit planned.g -o nowhere/lib
ok $? "a directory that is not there"
mkdir none
refuses 69 'cannot run gcc' env PATH="$PWD/none" CC= "$top/bin/ge-emit" planned.g -o outlib
ok $? "no compiler: 69"
if [ "$(id -u)" != 0 ]; then
	mkdir shut && chmod 555 shut
	refuses 74 shut ge-emit planned.g -o shut/lib
	ok $? "a directory that cannot be written"
fi
mkdir a b
(cd a && LC_ALL=C TZ=UTC ge-import "$model" | ge-shape --set batch=1 | ge-fuse | ge-layout | ge-plan -q | ge-emit --no-compile -o lib) 2>err &&
	(cd b && LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 ge-import "$model" | ge-shape --set batch=1 | ge-fuse | ge-layout | ge-plan -q | ge-emit --no-compile -o lib) 2>>err &&
	cmp a/lib.c b/lib.c && cmp a/lib.weights b/lib.weights
ok $? "other locales: the same C"

# ---- several at a time ----

for i in 1 2 3 4 5 6; do HONE_BLOBS=$PWD/store ge-import --copy "$model" -o many$i.g 2>err$i & done
wait
cat err? >err && [ ! -s err ] && for i in 2 3 4 5 6; do cmp many1.g many$i.g || echo differ >err; done
[ ! -s err ] && [ -z "$(ls -A store | grep tmp)" ] && HONE_BLOBS=$PWD/store ge-pack many3.g >/dev/null
ok $? "six imports into one empty store"
for i in 1 2 3; do ge-emit planned.g -o shared 2>err$i & done
wait
cat err1 err2 err3 >err && [ ! -s err ] && equal shared.so planned.g && [ -z "$(ls -A | grep '^.ge-emit')" ]
ok $? "three libraries of one name"

# ---- memory ----

# Under a limit, unless the program is instrumented and needs the address space.
limited() { ([ -n "${ASAN_OPTIONS-}" ] || ulimit -v 2000000; "$@"); }
cubed() { # N: a model of N x N x N elements
	load '' "  input x: f32[$1,$1,$1]
  y = Relu(x)
  output y = y"
}
cubed 100000 >huge.g
: >failed
for tool in ge-shape ge-simplify ge-fold ge-fuse; do limited $tool huge.g >made.g 2>err && [ -s made.g ] && [ ! -s err ] || { echo "$tool failed" && cat err; } >>failed; done
cp failed err; [ ! -s failed ] && ge-stat huge.g >said 2>err && [ -s said ]
ok $? "100000 cubed elements: passes do not mind"
ge-shape huge.g | ge-fuse >fused.g
refuses 69 'larger than any memory' ge-plan fused.g -o out.g
ok $? "they have no place"
cubed 4000000000 2>err >cut.g
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'Relu.*elements, at most [0-9]* are supported' err
ok $? "4000000000 cubed are more than can be counted"
load '' '  input x: f32[40000,40000]
  y = Relu(x)
  output y = y' >large.g
if [ -z "${ASAN_OPTIONS-}" ]; then
	refuses 71 'out of memory' limited run-ref large.g -o out.npy
	ok $? "run-ref: out of memory is 71"
	load 'const n = i64[] [120]
graph step {
  input i: i64[]
  input c: bool[]
  input s: f32[1000000]
  d = Identity(c)
  t = Identity(s)
  output d = d
  output t = t
}' '  input x: f32[1000000]
  y = Loop(@n, -, x) {body=graph step}
  output y = y' >steps.g
	(ulimit -v 400000; run-ref steps.g -o y.npy) 2>err && [ -s y.npy ]
	ok $? "the state of a loop of many steps"
	ge-shape large.g | ge-fuse | ge-plan -q | ge-emit -o large && refuses 71 'out of memory' limited run-dev large.so -o out.npy
	ok $? "run-dev: out of memory is 71"
fi
: >failed
constants='const x = f32[1,1,1] [2]
const s = i64[3] [100000, 100000, 100000]
const t = i64[3] [4000000000, 4000000000, 4000000000]
const p = i64[6] [9223372036854775807, 9223372036854775807, 100000, 9223372036854775807, 0, 0]
const n0 = i64[] [0]
const n1 = i64[] [1]
const n15 = i64[] [1000000000000000]
const least = i64[] [-9223372036854775808]
const i = i64[1] [0]
const v = f32[2] [0, 1]
const u = f32[3] [1e9, 1e30, nan]
const w = i64[3] [4294967296, 4294967296, 4294967296]
const o = f32[0,1,1] []
const m = i64[6] [0, 9223372036854775800, 0, 0, 0, 0]'
for node in 'Expand(@x, @s)' 'Expand(@x, @t)' 'Expand(@x, @w)' 'Tile(@x, @s)' 'Tile(@x, @t)' 'Tile(@x, @w)' 'ConstantOfShape(@s)' 'ConstantOfShape(@t)' 'ConstantOfShape(@w)' 'Pad(@o, @m)' 'Expand(@o, @w)' 'Reshape(@x, @s)' 'Pad(@x, @p)' \
	'Range(@n0, @n15, @n1)' 'Range(@n0, @n1, @n0)' 'Range(@least, @n15, @n1)' 'OneHot(@i, @n15, @v)' 'Resize(@x, -, -, @s)' 'Resize(@x, -, @u)' \
	'Div(@n1, @n0)' 'Mod(@least, @n0)' 'CumSum(@x, @n15)' 'Unsqueeze(@x, @s)' 'Slice(@x, @s, @p)' 'Gather(@x, @s)' 'Einsum(@x) {equation="ijk->kkkkkkkkk"}'; do
	load "$constants" "  input q: f32[1]
  y = $node
  z = Identity(y)
  output z = z" >node.g 2>err ||
		{ [ "$(wc -l <err)" = 1 ] && grep -q "main/y (${node%%(*}): " err && continue; } # refused at once
	for tool in ge-shape ge-fold run-ref; do
		limited $tool node.g >out.g 2>err
		case $?,$(grep -vc 'WARNING: AddressSanitizer failed to allocate' err) in 0,0) [ -s out.g ] || echo "$tool: $node: nothing" >>failed ;; 65,1 | 69,1 | 71,1) ;; *) { echo "$tool: $node:" && cat err; } >>failed ;; esac
		[ "$(wc -c <out.g)" -lt 10000 ] || echo "$tool: $node: its result is in the stream" >>failed
	done
	rm -f out.g
done
cp failed err && [ ! -s failed ]
ok $? "huge constants are not made"
done_testing
