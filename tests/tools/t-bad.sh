# Bad input to every tool that reads it: one line that names tool and file, the right exit code, nothing on standard output
# but a stream that says it was aborted, no output file, nothing left behind. What single formats promise beyond that is
# tested beside them: onnx_bad.c and t-import.sh (models), stream.c and t-stream.sh (streams), t-run.sh (arrays).
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
mkdir in run
in=$PWD/in
tab=$(printf '\t')

# ---- trying one command ----

# try CODE NAMED COMMAND...: in run/. NAMED: what the line must hold beside the tool's name. Faults go to ../faults.
try() {
	code=$1 named=$2
	shift 2
	(cd run && "$@") >out 2>err </dev/null
	rc=$? tool=$1
	[ "$tool" != hone ] || case $2 in build | simplify) ;; *) tool=$2 ;; esac
	fault=
	[ $rc -eq "$code" ] || fault="exit $rc, not $code"
	[ "$(wc -l <err)" -eq 1 ] || fault="$fault; $(wc -l <err) lines"
	# A stage of hone build speaks for itself.
	case $tool in hone) said='*' ;; *) said=$tool ;; esac
	case $(cat err) in $said:\ *"$named"*) ;; *) fault="$fault; does not name $tool and $named" ;; esac
	if [ -s out ]; then
		ge-check <out >/dev/null 2>err2
		[ $? -eq 65 ] && [ ! -s err2 ] || fault="$fault; $(wc -c <out) bytes on standard output"
	fi
	[ -z "$(ls -A run)" ] || { fault="$fault; left $(ls -A run | tr '\n' ' ')"; rm -rf run; mkdir run; }
	[ -z "$(find "$HONE_BLOBS" -name '.tmp*' 2>/dev/null)" ] || fault="$fault; left a temporary in the blob store"
	tries=$((tries + 1))
	[ -z "$fault" ] || { printf '# %s: %s\n' "$*" "$fault" && sed 's/^/#   /' err; } | head -5 >>faults
}
begin() { tries=0 && : >faults; }
result() { # WHAT
	[ ! -s faults ]
	ok $? "$1 ($tries commands)"
	head -40 faults
}

# each CODE KINDS FILE: all tools that read one of the kinds, on FILE.
each() {
	while IFS=$tab read -r kind command; do
		case " $2 " in *" $kind "*) ;; *) continue ;; esac
		set -- "$1" "$2" "$3" $command
		code=$1 kinds=$2 file=$3
		shift 3
		n=$#
		while [ "$n" -gt 0 ]; do
			case $1 in FILE) set -- "$@" "$file" ;; *) set -- "$@" "$1" ;; esac
			shift
			n=$((n - 1))
		done
		try "$code" "$(basename "$file")" "$@"
		set -- "$code" "$kinds" "$file"
	done <commands
}

sed 's/  */	/' >commands <<'END'
onnx   ge-import FILE
onnx   ge-import FILE -o out.g
onnx   hone build FILE -o lib
onnx   hone simplify FILE new.onnx
text   ge-load FILE
text   ge-load FILE -o out.g
stream ge-check FILE
stream ge-dump FILE -o out.txt
stream ge-stat --json FILE
stream ge-stat GOOD FILE
stream ge-dot FILE
stream ge-diff GOOD FILE
stream ge-diff FILE GOOD
stream ge-diff --patch GOOD FILE
stream ge-patch FILE GOOD
stream ge-patch PATCH FILE
stream ge-shape FILE
stream ge-simplify FILE -o out.g
stream ge-fold FILE
stream ge-deadedge FILE -o out.g
stream ge-integer FILE -o out.g
stream ge-cse FILE -o out.g
stream ge-prune FILE
stream ge-grad --loss ce FILE
stream ge-optim --optimizer sgd FILE -o out.g
stream ge-narrow FILE
stream ge-fuse FILE -o out.g
stream ge-layout FILE
stream tune-graph --trials 0 FILE -o out.g
stream ge-join FILE
stream ge-schedule -q FILE
stream ge-plan -q FILE -o out.g
stream ge-emit FILE -o lib
stream ge-emit FILE --print-traces
stream ge-export FILE
stream ge-export FILE -o new.onnx
stream ge-pack FILE
stream ge-pack -u FILE -o out.g
stream ge-gc FILE
stream ge-gc GOOD FILE
stream run-ref FILE
stream run-ref FILE -o out.npz
stream run-cmp FILE GOOD
stream run-cmp GOOD FILE
stream hone ge-cse FILE
lib    run-dev FILE -o out.npz
lib    run-dev FILE --bench
lib    run-cmp FILE GOOD
END

# flip FILE AT: the file with the lowest bit of that byte changed.
flip() {
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	head -c "$2" "$1"
	printf "\\$(printf %03o $((byte ^ 1)))"
	tail -c +$(($2 + 2)) "$1"
}

# ---- files ----

good=$in/good.g
hone passes -q --set batch=1 "$model" -o "$good" || ok 1 "the good one"
ge-diff --patch "$good" "$good" -o in/good.patch || ok 1 "a patch"
replaced GOOD "$good" <commands | replaced PATCH "$in/good.patch" >new && mv new commands
: >in/empty
printf '<!DOCTYPE html>\n<html><body>404</body></html>\n' >in/html
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n' >in/lfs
printf 'PK\003\004\024\000\000\000\010\000' >in/zip
printf '\037\213\010\000\000\000\000\000' >in/gzip
printf 'no graph at all\n' >in/text
printf '\200\201\377\000\001\002' >in/bytes
for f in empty html lfs zip gzip text bytes; do
	begin
	cp "in/$f" "in/$f.so" && cp "in/$f" "in/$f.onnx"
	each 65 'onnx text stream' "$in/$f"
	each 65 lib "$in/$f.so"
	for command in 'ge-stat --json' ge-dot ge-dump run-ref; do try 65 "$f.onnx" $command "$in/$f.onnx"; done
	result "$f"
done
begin
each 66 'onnx text stream' "$in/missing"
each 66 lib "$in/missing.so"
each 66 'onnx text stream' "$in/missing.onnx"
result "a missing file"
begin
mkdir in/folder in/folder.so
each 66 'onnx text stream' "$in/folder"
result "a folder"
begin
each 65 'text stream' /dev/zero
result "what never ends"

# ---- streams ----

size=$(wc -c <"$good")
begin
for at in 1 2 7 30 $((size / 3)) $((size / 2)) $((size - 12)) $((size - 1)); do
	head -c $at "$good" >in/cut.g
	each 65 stream "$in/cut.g"
done
result "streams cut short"
begin
for at in 0 9 $((size / 4)) $((size / 2)) $((size - 20)) $((size - 3)); do
	flip "$good" $at >in/flip.g
	each 65 stream "$in/flip.g"
done
result "streams with a flipped bit"
begin
(cat "$good" && echo garbage) >in/tail.g
each 65 stream "$in/tail.g"
result "garbage after the end of a stream"
begin
cat "$good" in/cut.g >in/second.g
each 65 stream "$in/second.g"
result "a second module that is cut short"
begin
cat "$good" "$good" >in/two.g
for command in "ge-emit -o lib" ge-export run-ref "run-cmp $good"; do try 65 two.g $command "$in/two.g"; done
result "two modules where there can be one"

# ---- graphs ----

graph() { printf 'hone-text 1\nmodule ir=8 opset=17\n%s\ngraph main {\n  input in0: f32[2,3]\n%s\n  output vb2 = vb2\n}\n' "$1" "$2"; }
body='  va1 = Relu(in0)
  vb2 = Neg(va1)'
graph '' "$body" | ge-load | ge-export -o in/sound.onnx || ok 1 "a sound model"
damage() { # WHAT EXPRESSION MESSAGE: in the text, and, where it has one, in the model; the same length
	begin
	graph '' "$body" | sed "$2" >in/bad.txt
	each 65 text "$in/bad.txt"
	LC_ALL=C sed "$3" in/sound.onnx >in/bad.onnx
	each 65 onnx "$in/bad.onnx"
	for command in 'ge-stat --json' ge-dot ge-dump run-ref; do try 65 bad.onnx $command "$in/bad.onnx"; done
	result "$1"
}
begin
LC_ALL=C sed s/Relu/Rexu/ in/sound.onnx >in/bad.onnx
ge-import "$in/bad.onnx" -o in/bad.g 2>err
try 69 bad.g run-ref "$in/bad.g"
result "an unknown operator, where it would be run"
damage "an undefined name" 's/(in0)/(in9)/' '0,/in0/s//in9/'
damage "a cycle" 's/(in0)/(vb2)/' '0,/in0/s//vb2/'
damage "a name defined twice" 's/ vb2 =/ va1 =/' 's/vb2/va1/'

begin
graph '' '  input in1: f32[2,3]
  va1 = Add(in0, in1)
  vb2 = Neg(va1)' | tee in/shapes.txt | ge-load | ge-export -o in/shapes.onnx
LC_ALL=C sed -i '0,/\x08\x03/s//\x08\x05/' in/shapes.onnx
ge-import in/shapes.onnx -o in/shapes.g
for command in ge-shape 'ge-fold -o out.g' 'ge-export -o new.onnx' 'run-ref -o out.npy' "run-cmp $good" 'hone ge-shape'; do
	try 65 main/va1 $command "$in/shapes.g"
done
for command in run-ref 'hone build -o lib' "run-cmp $good"; do try 65 va1 $command "$in/shapes.onnx"; done
try 65 va1 hone simplify "$in/shapes.onnx" new.onnx
result "a shape mismatch"

begin
i=0
while [ $i -lt 3000 ]; do
	printf 'graph g%d {\n  input a: f32[2,3]\n  b = hone.PartitionedCall(a) {graph=graph g%d}\n  output b = b\n}\n' $i $((i + 1))
	i=$((i + 1))
done >deep
printf 'graph g3000 {\n  input a: f32[2,3]\n  b = Neg(a)\n  output b = b\n}\n' >>deep
graph "$(cat deep)" '  vb2 = hone.PartitionedCall(in0) {graph=graph g0}' >in/deep.txt
each 65 text "$in/deep.txt"
result "3,000 graphs that call each other"

# ---- weights ----

begin
blobs=$HONE_BLOBS HONE_BLOBS=$PWD/nowhere
for command in 'ge-pack -o out.g' ge-export 'ge-export -o new.onnx' 'run-ref -o out.npz' "run-cmp $good" 'ge-emit -o lib'; do
	try 66 good.g $command "$good"
	grep -q 'nowhere.*ge-pack' err || echo "# $command: does not say where, and what to do" >>faults
done
HONE_BLOBS=$blobs
result "missing blobs"

# ---- arrays ----

npy() { # DESCR SHAPE BYTES
	printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
	head -c "$3" /dev/zero
}
ge-emit "$good" -o in/lib || ok 1 "a library"
input=image
begin
npy '<f4' '(1, 1, 8, 8)' 256 >in/x.npy
run-ref "$good" -i "$input=in/x.npy" -o in/y.npz && run-dev in/lib.so -i "$input=in/x.npy" -o in/z.npz &&
	equal in/y.npz in/z.npz || echo "# the good ones" >>faults
npy '<f8' '(1, 1, 8, 8)' 512 >in/type.npy
npy '<f4' '(1, 1, 8, 9)' 288 >in/shape.npy
npy '<f4' '(64,)' 256 >in/rank.npy
npy '<f4' '(1, 1, 8, 8)' 255 >in/short.npy
npy '<f4' '(1, 1, 8, 8)' 257 >in/long.npy
npy '<f4' '(4611686018427387904, 4)' 16 >in/huge.npy
npy '|O' '(1, 1, 8, 8)' 512 >in/objects.npy
head -c 100 in/x.npy >in/head.npy
head -c 100 in/y.npz >in/cut.npz
for f in type.npy shape.npy rank.npy short.npy long.npy huge.npy objects.npy head.npy cut.npz html; do
	try 65 $f run-ref "$good" -i "$input=$in/$f" -o out.npz
	try 65 $f run-dev "$in/lib.so" -i "$input=$in/$f" -o out.npz
	try 65 $f run-cmp "$good" "$in/lib.so" -i "$input=$in/$f"
done
for f in missing.npy missing.npz; do
	try 66 $f run-ref "$good" -i "$input=$in/$f" -o out.npz
	try 66 $f run-dev "$in/lib.so" -i "$input=$in/$f" -o out.npz
	try 66 $f run-cmp "$in/$f" "$in/x.npy"
done
result "arrays"

# ---- libraries ----

begin
for at in 1 100 5000 $(($(wc -c <in/lib.so) / 2)); do
	head -c $at in/lib.so >in/cut.so
	each 65 lib "$in/cut.so"
done
cp in/lib.so in/other.so && head -c 1000 in/lib.weights >in/other.weights
each 65 lib "$in/other.so"
flip in/lib.weights 12 >in/other.weights
each 65 lib "$in/other.so"
rm in/other.weights
for command in 'run-dev -o out.npz' 'run-dev --bench' "run-cmp $good"; do try 66 other.weights $command "$in/other.so"; done
result "libraries and their weights"

# ---- ends of pipes ----

begin
cat >faulty <<'END'
ge-import cut.onnx
ge-load text
ge-shape missing
ge-cse flip.g
END
head -c 3000 "$model" >in/cut.onnx
while read -r tool file; do
	case $file in missing) code=66 ;; *) code=65 ;; esac
	{ $tool "$in/$file" | ge-shape | ge-simplify | ge-fold | ge-cse | ge-prune | ge-fuse | ge-layout | ge-plan | ge-emit -o run/lib; echo $? >rc; } 2>err
	tries=$((tries + 1))
	[ "$(cat rc)" = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^$tool: .*$file" err && [ -z "$(ls -A run)" ] ||
		{ echo "# $tool $file: $(cat rc)" && cat err; } >>faults
	{ $tool "$in/$file" | ge-shape | ge-pack | ge-pack -u | ge-export -o run/new.onnx; echo $? >rc; } 2>err
	[ "$(cat rc)" = 65 ] && [ "$(wc -l <err)" = 1 ] && [ -z "$(ls -A run)" ] || { echo "# $tool $file: $(cat rc)" && cat err; } >>faults
	for last in 'run-ref -o run/y.npz' 'ge-stat --json' 'ge-dump -o run/g.txt' ge-check; do
		{ $tool "$in/$file" | ge-shape | $last; echo $? >rc; } >out 2>err
		[ "$(cat rc)" = 65 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && [ -z "$(ls -A run)" ] || { echo "# $tool $file | $last: $(cat rc)" && cat err; } >>faults
	done
done <faulty
result "a pipe of ten whose first tool fails: one line, 65"

ge-dump "$good" >in/good.txt
ge-fuse --undo "$good" -o in/other.g
cat >writers <<END
ge-import $model
ge-load $in/good.txt
ge-dump $good
ge-stat $good
ge-stat --json $good
ge-stat $good $good
ge-dot $good
ge-diff $good $in/other.g
ge-diff --patch $good $good
ge-patch $in/good.patch $good
ge-shape $good
ge-simplify $good
ge-fold $good
ge-deadedge $good
ge-integer $good
ge-cse $good
ge-prune $good
ge-narrow $good
ge-fuse $good
ge-layout $good
ge-plan -q $good
ge-emit --print-traces $good
ge-emit --report $good
ge-export $good
ge-pack $good
ge-gc --dry-run $good
run-ref $good
run-cmp $good $good
run-dev $in/lib.so --bench --seconds=0.05
hone build $model --set batch=1 -o run/lib
END
begin
while read -r command; do
	unread $command 2>err </dev/null
	code=$?
	tries=$((tries + 1))
	[ $code = 141 ] && [ ! -s err ] || { echo "# $command: exit $code" && cat err; } >>faults
	rm -rf run/lib*
done <writers
result "a closed pipe: not a word, SIGPIPE"

if [ -c /dev/full ]; then
	begin
	while read -r command; do
		$command >/dev/full 2>err </dev/null
		rc=$? tries=$((tries + 1))
		[ $rc = 74 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^${command%% *}: standard output" err || { echo "# $command: exit $rc" && cat err; } >>faults
		rm -rf run/lib*
	done <writers
	result "standard output on a full disk: 74"
	begin
	for command in ge-dump ge-shape ge-simplify ge-fold ge-deadedge ge-cse ge-dedup ge-prune ge-narrow ge-integer ge-fuse ge-layout ge-plan ge-export ge-pack; do
		try 74 /dev/full $command -q -o /dev/full "$good"
	done
	result "a full device"
fi
graph '' '  input large: f32[100,100]
  vb2 = Neg(large)' | ge-load -o in/large.g
if mkdir run/full && mount -t tmpfs -o size=16k tmpfs run/full 2>/dev/null; then
	begin
	while read -r command; do
		(cd run && $command </dev/null >../out 2>../err)
		rc=$? tries=$((tries + 1))
		[ $rc = 74 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && [ -z "$(ls -A run/full)" ] ||
			{ echo "# $command: exit $rc, left $(ls -A run/full)" && cat err; } >>faults
		rm -rf run/full/* run/full/.[!.]*
	done <<-END
		ge-emit $good -o full/lib
		ge-emit $good -o full/lib --no-compile
		ge-emit $good -o full/lib --embed
		hone build -q $model --set batch=1 -o full/lib
		hone simplify -q $model --set batch=1 full/new.onnx
		ge-export $good -o full/new.onnx
		ge-export $good -o full/new.onnx --external w.bin
		ge-pack $good -o full/packed.g
		run-ref $in/large.g -o full/y.npz
	END
	umount run/full
	result "files on a full disk: 74, nothing left"
	begin
	for size in 48k 100k 150k 200k 250k; do # full while compiling, linking, packing
		mount -t tmpfs -o size=$size tmpfs run/full
		(cd run && ge-emit "$good" -o full/lib >../out 2>../err)
		rc=$? tries=$((tries + 1))
		[ $rc = 0 ] || { [ $rc = 74 ] && [ "$(wc -l <err)" = 1 ] && [ -z "$(ls -A run/full)" ]; } ||
			{ echo "# $size: exit $rc, left $(ls -A run/full)" && cat err; } >>faults
		umount run/full
	done
	result "a disk that is full while compiling"
else
	skip "a full disk" "no right to mount"
fi
rmdir run/full
# A stream under the name of another format.
run=0
for tool in ge-quantize ge-shape ge-integer ge-import; do
	(cd run && "$tool" $([ $tool = ge-quantize ] && echo --activations dynamic) -o x.onnx "$model") >out 2>err
	[ $? = 64 ] && grep -q 'ge-export -o x.onnx' err && [ ! -e run/x.onnx ] || run=1
done
ok $run "a stream is not written as .onnx"
done_testing
