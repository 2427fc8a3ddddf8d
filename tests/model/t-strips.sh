# Steps that run image by image: which may, which must not, the numbers of both, and what a stream may not claim.
. "$top/tests/lib.sh"

# Each line between two Softmax of every row, which go by image; batch 4.
apart='Conv(s, @w3) {pads=[1,1]}
Conv(s, @wd) {pads=[2,0] group=8}
ConvTranspose(s, @w3) {pads=[1,1]}
MatMul(s, @k)
MatMul(s, t)
Transpose(s) {perm=[0,2,1]}
ReduceMean(s, @two) {keepdims=1}
LayerNormalization(s, @g) {axis=2}
Concat(s, s) {axis=1}
MaxPool(s) {kernel_shape=[3] pads=[1,1]}
CumSum(s, @one0)
Slice(s, @zero, @two, @one)
Softmax(s) {axis=1}'
together='Transpose(s) {perm=[1,0,2]}
Softmax(s) {axis=0}
ReduceMean(s, @zero) {keepdims=1}
Concat(s, s) {axis=0}
CumSum(s, @zero0)
Slice(s, @minus, @far, @zero, @minus)
MatMul(s, @images2)
Gather(s, @turned) {axis=0}
Einsum(s, t) {equation="abc,dbc->abd"}'
{
	echo 'hone-text 1'
	echo 'module ir=8 opset=23'
	numbers() { awk -v n="$2" -v t="$1" 'BEGIN { printf "const %s [", t; for (i = 0; i < n; i++) printf "%s%.3f", i ? ", " : "", (i * 7919 % 101 - 50) / 100; print "]" }'; }
	numbers 'w3 = f32[8,8,3]' 192
	numbers 'wd = f32[8,1,3]' 24
	numbers 'k = f32[16,16]' 256
	numbers 'g = f32[16]' 16
	numbers 'images2 = f32[4,16,4]' 256
	for c in zero=0 one=1 two=2 minus=-1 far=-9; do
		echo "const ${c%=*} = i64[1] [${c#*=}]"
	done
	echo 'const zero0 = i64[] [0]'
	echo 'const one0 = i64[] [1]'
	echo 'const turned = i64[4] [2, 3, 0, 1]'
	echo 'graph main {'
	echo '  input x: f32[4,8,16]'
	echo '  input z: f32[4,8,16]'
	printf '%s\n' "$apart" "$together" | awk '{
		n = NR; line = $0
		sub(/\(s/, "(s" n, line); gsub(/, s\)/, ", s" n ")", line); gsub(/, t\)/, ", t" n ")", line)
		print "  s" n " = Softmax(x) {axis=2} \"s" n "\""
		print "  t" n " = " (line ~ /MatMul.*t/ ? "Transpose(z) {perm=[0,2,1]}" : "Softmax(z) {axis=1}") " \"t" n "\""
		print "  m" n " = " line " \"m" n "\""
		print "  y" n " = Softmax(m" n ") {axis=-1} \"y" n "\""
		print "  output y" n " = y" n
	}'
	echo '}'
} >each.txt
# shellcheck disable=SC2016
target='cpu=x;features=;l1=1K;l2=2K;l3=2K'
ge-load each.txt | ge-shape | ge-fuse -o each.g && ge-plan each.g --target "$target" --why -o each.p.g 2>why && [ -s each.p.g ] && [ -s why ]
ok $? "a batch of 4 is planned for small caches"
seen() { grep ' image by image' why | grep -c "[/\" ]m$1[:\" ]"; }
n=0
printf '%s\n' "$apart" "$together" >lines
while IFS= read -r line; do
	n=$((n + 1))
	if [ $n -le "$(printf '%s\n' "$apart" | wc -l)" ]; then
		[ "$(seen $n)" = 1 ]
		ok $? "image by image: $line"
	else
		[ -s why ] && [ "$(seen $n)" = 0 ]
		ok $? "whole batches: $line"
	fi
done <lines
ge-emit each.p.g --target "$target" -q -o each && grep -q 'for (long image = 0; image < 4; image++)' each.c && equal --runs 3 each.so each.g
ok $? "the library loops over images, and has the evaluator's numbers"
equal each.p.g each.g
ok $? "the evaluator's numbers stay"

# Only a chain whose values leave the cache, of one thread, without a trace.
for with in "--target cpu=x;features=;l1=32K;l2=1024K;l3=8192K" '--threads 2'; do
	ge-plan each.g "${with%% *}" "${with#* }" -q | ge-dump >whole.txt && [ -s whole.txt ] && ! grep -q strip= whole.txt
	ok $? "no strips: $with"
done
ge-plan -q each.p.g --target "$target" -o again.g && same_graph again.g each.p.g
ok $? "a plan twice is a plan once"

# A stream's claims are proven, and its places are those of its strips.
ge-dump each.p.g >each.p.txt
awk '/"m15"/ { sub(/workspace=/, "strip=[9,4] workspace=") } 1' each.p.txt | ge-load >claim.g
ge-emit claim.g --target "$target" -q --no-compile -o claim 2>err
[ $? = 65 ] && grep -q 'm15.*does not run image by image' err
ok $? "what does not run image by image is refused: $(cat err)"
for other in 3 8 64 -4 9223372036854775807; do
	sed 's/strip=\[\([0-9]*\),4\]/strip=[\1,OTHER]/' each.p.txt | replaced OTHER "$other" | ge-load >claim.g
	ge-emit claim.g --target "$target" -q --no-compile -o claim 2>err
	code=$?
	[ $code = 65 ] || [ $code = 64 ]
	ok $? "$other images of a batch of 4 are refused: $(cat err)"
done
sed 's/strip=\[[0-9]*,4\]//' each.p.txt | ge-load >claim.g
ge-emit claim.g --target "$target" -q --no-compile -o claim 2>err
[ $? = 64 ] && grep -q 'run ge-plan again' err
ok $? "places of one image do not do for all: $(cat err)"
done_testing
