# ge-import: files that are not models, cut and damaged models, the same bytes from anywhere.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
n=0

# refuse CODE TEXT WHAT < file: exit code, one line with the text, and a stream that says so
refuse() {
	cat >bad.onnx
	ge-import bad.onnx >out.g 2>err
	rc=$?
	[ $rc -eq "$1" ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "$2" err
	good=$?
	ge-dump out.g >/dev/null 2>err2 && good=1
	[ -s err2 ] && good=1
	ok $good "$3"
	[ $good -eq 0 ] || cat err err2 | marked "# $rc "
}

refuse 65 'empty file' 'an empty file' </dev/null
printf '<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n' | refuse 65 'HTML' 'HTML'
printf '\n  <html>' | refuse 65 'HTML' 'HTML after blanks'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n' | refuse 65 'git lfs pull' 'a git-LFS pointer'
printf 'PK\003\004\024\000\000\000\010\000' | refuse 65 'zip' 'a zip'
printf '\037\213\010\000\000\000\000\000' | refuse 65 'compressed' 'a gzip'
printf '{"nodes": []}' | refuse 65 'JSON' 'JSON'
printf '\211HDF\r\n\032\n' | refuse 65 'HDF5' 'HDF5'
printf '\224\244hone\001' | refuse 65 'it has been imported' 'a graph stream'
printf 'hone-text 1\nmodule ir=8 opset=28\n' | refuse 65 'ge-load reads it' 'the text form'
printf 'just some text' | refuse 65 'bad.onnx:' 'text'
ge-import no-such.onnx >out.g 2>err
[ $? -eq 66 ] && grep -q no-such.onnx err
ok $? 'a missing file'

size=$(wc -c <"$model")
failed=0 at=0
while [ "$at" -lt "$size" ]; do
	head -c "$at" "$model" >cut.onnx
	ge-import cut.onnx -o cut.g 2>err
	[ $? -eq 65 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e cut.g ] || { failed=1; marked "# cut at $at: " <err; }
	at=$((at + 1000))
done
ok $failed "cut at every 1,000th byte ($((size / 1000 + 1)) files)"

failed=0 at=1 i=0
while [ $i -lt 150 ]; do
	at=$(((at * 7919 + 4099) % 6000)) i=$((i + 1))
	{ head -c $at "$model"; printf "\\$(printf %o $((i * 37 % 256)))"; tail -c +$((at + 2)) "$model"; } >flip.onnx
	ge-import flip.onnx >flip.g 2>err
	rc=$?
	case $rc in
	0) [ -s flip.g ] || failed=1 ;;
	65 | 69) [ "$(wc -l <err)" -eq 1 ] || { failed=1; marked "# byte $at: " <err; } ;;
	*) failed=1; echo "# byte $at: exit $rc" ;;
	esac
done
ok $failed "150 models with one wrong byte"

ge-import "$model" -o a.g && mkdir -p sub && cp "$model" sub/other.onnx && (cd sub && LC_ALL=C ge-import other.onnx -o ../b.g) && cmp a.g b.g
ok $? 'the same stream from another directory and name'
ge-import <"$model" >c.g && cmp a.g c.g
ok $? 'the same stream from standard input'
HONE_BLOBS=$PWD/copied ge-import --copy "$model" -o d.g && cmp a.g d.g && [ ! -e copied/refs ]
ok $? '--copy: the same stream, no references'
ge-import <"$model" >/dev/null && HONE_BLOBS=$PWD/piped ge-import <"$model" | cmp - a.g && [ ! -e piped/refs ]
ok $? 'a file on standard input is copied'

# References: one index a file; what it knows of a file that has not changed is not hashed again, and what turns out
# false is looked at again.
HONE_BLOBS=$PWD/known
cp "$model" good.onnx && cp "$model" other.onnx && printf '\377' | dd of=other.onnx bs=1 seek=$(($(wc -c <"$model") / 2)) conv=notrunc 2>/dev/null
touch -d '1 hour ago' good.onnx && touch -r good.onnx other.onnx
cp -p good.onnx again.onnx && ge-import again.onnx -o once.g && ge-import again.onnx -o twice.g && cmp once.g a.g && cmp twice.g a.g &&
	[ "$(find known -type f | wc -l)" = 1 ]
ok $? 'one index file for all tensors, the same stream twice'
cp other.onnx again.onnx && ge-import again.onnx -o new.g && [ -s new.g ] && ! cmp -s new.g once.g
ok $? 'other bytes, another time: another stream'
cp -p other.onnx again.onnx && ge-import again.onnx -o false.g && cmp false.g once.g
ok $? 'other bytes, the same time and size: believed'
ge-pack -o p.g false.g 2>err
[ $? = 65 ] && grep -q 'have changed; import the model again' err && ge-import again.onnx -o true.g && cmp -s true.g new.g && ge-pack -o p.g true.g
ok $? 'but not by ge-pack, and not after that'
ge-gc true.g >gc && ge-pack -o p.g true.g && printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[]\n  output x = x\n}\n' |
	ge-load -o no.g && ge-gc no.g >gc && [ -s gc ] && [ -z "$(find known -type f)" ]
ok $? 'ge-gc keeps the index that a stream refers to'
[ -s a.g ] && [ -s d.g ] && ge-check a.g && ge-check d.g
ok $? 'the stream is in order'
[ "$(ge-import "$model" | head -c 10 | wc -c)" = 10 ]
ok $? 'a closed pipe'
if [ -c /dev/full ]; then
	ge-import "$model" >/dev/full 2>err
	[ $? -eq 74 ] && [ "$(wc -l <err)" -eq 1 ]
	ok $? 'a full disk'
fi

# Sizes of inputs without a name get one each, which nothing in the file has.
cat >open.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol "-1" 0 inf
symbol "?" 0 inf
symbol n 0 inf
symbol x_dim_0 0 inf
const one = f32[] [1]
graph g {
  input x: f32[?,"?",3,n]
  input "2/y=:0": f32["?","-1","-1",3]
  input z: f32[x_dim_0]
  a = Mul(x, @one)
  b = Mul("2/y=:0", @one)
  c = Mul(z, @one)
  output a = a
  output b = b
  output c = c
}
END
ge-load open.txt | ge-export -o open.onnx
is "$(ge-import open.onnx | ge-shape | ge-dump | sed -n 's/^  input.*: //p; s/^  [abc]: \([^ ]*\) .*/\1/p' | tr '\n' ' ')" \
	"f32[x_dim_0_2,x_dim_1,3,n] f32[_2_y__0_dim_0,_2_y__0_dim_1,_2_y__0_dim_2,3] f32[x_dim_0] f32[x_dim_0_2,x_dim_1,3,n] \
f32[_2_y__0_dim_0,_2_y__0_dim_1,_2_y__0_dim_2,3] f32[x_dim_0] " 'sizes without a name'
ge-import open.onnx -o 1.g && ge-export -o again.onnx 1.g && ge-import again.onnx -o 2.g
is "$(ge-stat --digest 2.g)" "$(ge-stat --digest 1.g)" 'their names are written, and read again'
is "$(ge-shape --set x_dim_0_2=5,_2_y__0_dim_2=7 --shape x:?x4x3x? 1.g | ge-dump | grep '^  input' | tr '\n' ' ')" \
	'  input x: f32[5,4,3,n]   input "2/y=:0": f32[_2_y__0_dim_0,_2_y__0_dim_1,7,3]   input z: f32[x_dim_0] ' 'ge-shape gives them sizes'
run-ref open.onnx 2>err
is "$? $(tail -1 err)" '64 run-ref: give them, for example: run-ref --set _2_y__0_dim_0=1,_2_y__0_dim_1=1,_2_y__0_dim_2=1,n=1,x_dim_0=1,x_dim_0_2=1,x_dim_1=1' \
	'what is missing is proposed by name'
equal --set "$(sed -n 's/.*--set //p' err)" open.onnx 2.g
ok $? 'as proposed'

data=/usr/share/libonnx-testdata/data
if [ -d $data ]; then
	find $data -name model.onnx | sort >list
	failed=0 sound=0
	while read -r f; do
		rm -f t.g
		ge-import "$f" -o t.g 2>err
		rc=$?
		case $rc in
		0) [ -s t.g ] && sound=$((sound + 1)) ;;
		65 | 69) [ "$(wc -l <err)" -eq 1 ] || failed=1 ;;
		*) failed=1; echo "# $f: exit $rc" ;;
		esac
	done <list
	[ $sound -ge 900 ] || failed=1
	ok $failed "ONNX's $(wc -l <list) test models: $sound imported, the others refused"
else
	skip "ONNX's test models" "needs libonnx-testdata"
fi
done_testing
