# Streams between tools: the text form, bad input, abort records, the blob store, a full disk.
# refuses CODE WHAT COMMAND...: exit code, one line on standard error
. "$top/tests/lib.sh"
refuses() {
	code=$1 what=$2
	shift 2
	"$@" >out 2>err
	got=$?
	[ $got = "$code" ] && [ "$(wc -l <err)" = 1 ]
	ok $? "$what: $(cat err)"
}
HONE_BLOBS=$PWD/blobs
export HONE_BLOBS

cat >a.txt <<'END'
hone-text 1
module ir=10 opset=28
provenance "ge-import 0.1.0"
symbol batch 0 inf
const big = f32[100] blob:00112233445566778899aabbccddeeff
const b = f32[4] [1, 0.1, -0, nan]
const c = bf16[2] [0x7f81, 1.5]
graph body {
  input p
  q = Neg(p) "n1"
  output q = q
}
graph main {
  input input: f32[batch,4]
  input "odd ""name"": f32[] = f32[] [2]
  output: f32[batch,4] = Add(input, @b) "an \"add\""
  z: f32[batch,4] = hone.Fused(output) {graph=graph body} "n2"
  w = com.microsoft.Gelu(z, -, @big) {alpha=1e-05 beta=2 names=["a","b"]} "n3"
  output output = z
  output w = w
  output c = @c
}
END
sed -i 's/"odd ""name""/"odd \\"name\\""/' a.txt
ge-load -o a.g a.txt && [ -s a.g ]
ok $? "ge-load"
ge-dump a.g >b.txt
[ -s b.txt ] && ge-load b.txt | cmp -s - a.g
ok $? "ge-load of ge-dump is the same bytes"
ge-dump a.g | cmp -s - b.txt && ge-dump <a.g >c.txt && same c.txt b.txt
ok $? "ge-dump of a file and of standard input"
grep -v '^const big' b.txt | sort >b.sorted
grep -v '^const big' a.txt | sort | cmp -s - b.sorted
ok $? "a text in the writer's own form comes back as it was"
cat a.g a.g | ge-dump >two.txt && [ "$(grep -c hone-text two.txt)" = 2 ] && cat b.txt b.txt | cmp -s - two.txt
ok $? "cat a b is a stream of two modules"
mkdir x y
(cd x && LC_ALL=C ge-load ../a.txt >a.g) && (cd y && LC_ALL=de_DE.UTF-8 HONE_BLOBS=$PWD/b ge-load ../a.txt >a.g) && same x/a.g y/a.g
ok $? "two directories, two locales: the same bytes"

: >empty
printf '<html><body>404</body></html>' >html
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >lfs
printf 'PK\003\004aaaaaaaaaaaa' >zip
printf '\010\007\022\007pytorch' >onnx
for f in empty html lfs zip onnx a.txt; do refuses 65 "$f" ge-dump $f; done
refuses 66 "no such file" ge-dump none.g
refuses 66 "a directory" ge-dump .
(cat a.g; printf 'x') >tail.g
refuses 65 "one byte behind the end" ge-dump tail.g
(cat a.g; printf 'xxxxxxxxxxxxxxx') >tail.g
refuses 65 "garbage behind the end" ge-dump tail.g
head -c 200 a.g >cut.g
refuses 65 "a stream cut short" ge-dump cut.g
cp a.g c.g && printf '\002' | dd of=c.g bs=1 seek=6 conv=notrunc 2>/dev/null
refuses 65 "another version" ge-dump c.g
for line in 'x = Nonsense(input)' 'x = Relu(nothing)' 'x = Relu(x)' 'x = Relu(@nothing)' 'output: f32[q] = Relu(input)' \
	'x = Relu(input' 'x = Relu(input) {a=}' 'x = Relu(input) {a="' 'input late' 'x: f33[1] = Relu(input)'; do
	{ sed '/w = com/,$d' a.txt; echo "  $line"; sed -n '/w = com/,$p' a.txt; } >bad.txt
	refuses 65 "text '$line'" ge-load bad.txt
	grep -q 'bad.txt:18: ' err
	ok $? "and the line is named"
done
sed 's/f32\[4\] \[1, 0.1, -0, nan\]/f32[4] [1, 2]/' a.txt >bad.txt
refuses 65 "a tensor of the wrong size" ge-load bad.txt
sed '$d' a.txt >bad.txt
refuses 65 "a graph without an end" ge-load bad.txt

(ge-load bad.txt | ge-pack -u | ge-pack -u | ge-pack -u >p.g; echo $? >rc) 2>err
[ "$(wc -l <err)" = 1 ] && [ "$(cat rc)" = 65 ]
ok $? "a pipe of four: one line, exit 65: $(cat err)"
(ge-pack -u none.g | ge-pack -u | ge-dump >p.txt; echo $? >rc) 2>err
[ "$(wc -l <err)" = 1 ] && [ "$(cat rc)" = 65 ]
ok $? "a missing file at its head: $(cat err)"
(cat cut.g | ge-pack -u | ge-pack -u -o p2.g; echo $? >rc) 2>err
[ "$(wc -l <err)" = 1 ] && [ "$(cat rc)" = 65 ] && [ ! -e p2.g ] && [ -z "$(ls p2.g.* 2>/dev/null)" ]
ok $? "no partial output file"
(ge-load two.txt; echo $? >rc) 2>err | head -c 10 >ten
[ ! -s err ] && [ -s ten ]
ok $? "a closed pipe: not a word"

refuses 66 "a missing blob" ge-pack a.g
grep -q '1 of 1 .*blobs.*ge-pack' err
ok $? "says how many, where, and what to do"
printf 'hone-text 1\nmodule ir=10 opset=28\nconst w = u8[4294967296] blob:00112233445566778899aabbccddeeff\ngraph main {\n  output w = @w\n}\n' >4g.txt
ge-load -o 4g.g 4g.txt && refuses 69 "a tensor larger than a packed stream can hold" ge-pack -o p4g.g 4g.g
[ ! -e p4g.g ] && sed 's/4294967296/4294967295/' 4g.txt | ge-load -o 4g.g && refuses 66 "one byte less is looked for" ge-pack 4g.g

{
	printf 'hone-text 1\nmodule ir=10 opset=28\nconst w = u8[300] [0'
	i=1
	while [ $i -lt 300 ]; do
		printf ', %d' $((i % 256))
		i=$((i + 1))
	done
	printf ']\ngraph main {\n  output w = @w\n}\n'
} >w.txt
ge-load -o w.g w.txt && digest=$(ls -A blobs) && [ ${#digest} = 32 ] && [ "$(wc -c <"blobs/$digest")" = 300 ]
ok $? "large tensors go into the blob store"
ge-dump w.g | grep -q "^const w = u8\[300\] blob:$digest"
ok $? "and the stream names their digest"
cp "blobs/$digest" bytes
ge-pack w.g >packed.g && [ "$(wc -c <packed.g)" -gt 500 ]
ok $? "ge-pack carries the weights"
ge-dump packed.g >p1.txt && ge-dump w.g >w1.txt && same w1.txt p1.txt
ok $? "packed or not, the text is the same"
rm -rf blobs
ge-pack -u packed.g | cmp -s - w.g && cmp -s bytes "blobs/$digest"
ok $? "ge-pack --undo fills the store"
cp bytes blobs/0123456789abcdef0123456789abcdef
printf x >blobs/.tmp.abcdef && touch -d '2 days ago' blobs/.tmp.abcdef
ge-gc --dry-run w.g >out && grep -q 'would free 2 blobs' out && [ -e blobs/0123456789abcdef0123456789abcdef ]
ok $? "ge-gc --dry-run: $(cat out)"
refuses 65 "ge-gc and a broken file" ge-gc w.g cut.g
[ -e blobs/0123456789abcdef0123456789abcdef ]
ok $? "which frees nothing"
ge-gc --json w.g >out && grep -q '"freed": 2,' out && [ "$(ls -A blobs)" = "$digest" ]
ok $? "ge-gc keeps what the file refers to"
ge-gc >out 2>err
[ $? = 64 ]
ok $? "ge-gc without files: usage"
chmod u+w "blobs/$digest" && printf b | dd of="blobs/$digest" bs=1 conv=notrunc 2>/dev/null
refuses 65 "a blob that has changed" ge-pack w.g
truncate -s 100 "blobs/$digest"
refuses 66 "a blob cut short" ge-pack w.g

if mkdir full && mount -t tmpfs -o size=64k tmpfs full 2>/dev/null; then
	{ cat b.txt; i=0; while [ $i -lt 300 ]; do cat b.txt; i=$((i + 1)); done; } >many.txt
	refuses 74 "a full disk" ge-load -o full/a.g many.txt
	[ -s err ] && [ -z "$(ls -A full)" ]
	ok $? "leaves nothing behind"
	head -c 100000 /dev/zero >full/filler 2>/dev/null
	HONE_BLOBS=$PWD/full/blobs refuses 74 "a full blob store" ge-load -o w2.g w.txt
	[ -s err ] && [ ! -e w2.g ]
	ok $? "leaves no stream that names what is not there"
	umount full
else
	skip "a full disk" "no right to mount"
fi
if [ -c /dev/full ]; then
	(ge-dump a.g >/dev/full) 2>err
	[ $? = 74 ] && [ "$(wc -l <err)" = 1 ]
	ok $? "text to /dev/full: $(cat err)"
	(ge-load a.txt >/dev/full) 2>err
	[ $? = 74 ] && [ "$(wc -l <err)" = 1 ]
	ok $? "a stream to /dev/full: $(cat err)"
fi
done_testing
