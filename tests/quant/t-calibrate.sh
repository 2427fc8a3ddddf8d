# ge-calibrate: shards, kinds of samples, bad input.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx images=$top/examples/digits/images.npy
rc() { "$@" >out 2>err; echo $?; }
rows() { sed -n '/^value/,$p' "$1"; }
npy() { # SHAPE: the header of an array of floats
	printf '\223NUMPY\001\000\166\000'
	printf "%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
}
{ npy "24, 1, 8, 8"; tail -c +129 "$images" | head -c $((24 * 256)); } >few.npy
is "$(rc ge-calibrate "$model" few.npy -o all.stats) $(sed -n 3p all.stats)" "0 samples 24" "24 samples"
is "$(sed -n 2p all.stats)" "model $(ge-stat --digest "$model")" "the model's digest"
is "$(rows all.stats | sed 3q | tr '\n' ' ')" "value image elements 1536 0 0 range 0x0p+0 0x1p+0 " "the input's row"

for n in 2 3 7; do
	for k in $(seq "$n"); do ge-calibrate --shard "$k/$n" "$model" few.npy -o "shard$k"; done
	is "$(ge-calibrate merge $(seq "$n" | sed 's/^/shard/' | sort -r) | cmp - all.stats && echo same)" same "$n shards, merged backwards: the same bytes"
done
mkdir dir # the same, a file a sample
for i in $(seq 0 23); do { npy "1, 1, 8, 8"; tail -c +$((129 + i * 256)) "$images" | head -c 256; } >dir/$i.npy; done
is "$(ge-calibrate "$model" dir | cmp - all.stats && echo same)" same "a directory: the same bytes"
head -c 128 /dev/zero >raw
is "$(rc ge-calibrate --range -1:1 "$model" raw -o raw.stats) $({ sed -n 3p raw.stats; rows raw.stats | sed -n 3p; } | tr '\n' ' ')" "0 samples 2 range -0x1p+0 -0x1p+0 " "bytes"
is "$(rc ge-calibrate --shape image:4x1x8x8 "$model" few.npy) $(sed -n 3p out)" "0 samples 6" "four at a time"

# The same by a library of all values.
HONE_BLOBS=$PWD/blobs
export HONE_BLOBS
is "$(rc ge-calibrate --sizes "$model" few.npy) $(cat out)" "0 image:1x1x8x8" "the sizes of the first sample"
is "$(rc ge-calibrate --expose "$model" -o exposed.g) $(rc hone build -q --shape image:1x1x8x8 -o counting exposed.g) $(ls exposed.g counting.so | tr '\n' ' ')" "0 0 counting.so exposed.g " "all values are outputs, and compile"
is "$(rc ge-calibrate --library counting.so "$model" few.npy -o lib.stats) $(sed -n '3s/ .*//p;4p' lib.stats | tr '\n' ' ')" "0 library samples 24 " "a library counts"
for k in 3 1 2; do ge-calibrate --library counting.so --shard "$k/3" "$model" few.npy -o "part$k"; done
is "$(ge-calibrate merge part2 part3 part1 | cmp - lib.stats && echo same)" same "a library, 3 shards: the same bytes"
ranges() { awk '/^value/ { name = $2 } /^range/ { print name, $2, $3 }' "$1"; }
ranges all.stats >all.ranges
ranges lib.stats | paste - all.ranges | awk '
	function number(h,   part, i, v, e) {
		split(h, part, "p"); sub(/^-?0x/, "", part[1]); e = 0
		for (i = 1; i <= length(part[1]); i++) {
			if (substr(part[1], i, 1) == ".") { e = 1; continue }
			v = 16 * v + index("0123456789abcdef", substr(part[1], i, 1)) - 1
			if (e) e *= 16
		}
		return (h ~ /^-/ ? -1 : 1) * v / (e ? e : 1) * 2 ^ part[2]
	}
	{ n++; for (k = 2; k < 4; k++) { d = number($k) - number($(k + 3)); s = number($6) - number($5); if ($1 != $4 || d * d > 1e-8 * s * s) print "bad" } }
	END { print n }' >compared
is "$(cat compared)" "$(wc -l <all.ranges)" "a library: the ranges of the evaluator"

fails() { # CODE WHAT COMMAND...
	want=$1 what=$2
	shift 2
	is "$(rc "$@") $(wc -l <err) $(wc -c <out)" "$want 1 0" "$what: $want, one line"
}
mkdir empty
npy "0, 1, 8, 8" >none.npy
npy "1, 1, 4, 8" >shape.npy && head -c 128 /dev/zero >>shape.npy
head -c 200 "$images" >cut.npy
head -c 100 few.npy >raw
fails 65 "an empty directory" ge-calibrate "$model" empty
fails 65 "an array of no samples" ge-calibrate "$model" none.npy
fails 65 "another shape" ge-calibrate "$model" shape.npy
fails 65 "a cut array" ge-calibrate "$model" cut.npy
bytes() { # TYPE BYTES: a file of them, 4 elements
	npy 4 | replaced "<f4" "$1"
	printf "$2"
}
for t in bf16 u16; do
	printf 'hone-text 1\nmeta "opset:ai.onnx" = "22"\ngraph main {\n  input x : %s[2]\n  y = Cast(x) {to=1}\n  output y = y\n}\n' "$t" >"$t.txt"
	ge-load "$t.txt" -o "$t.g"
done
bytes '<V2' '\200\077\000\100\000\000\100\300' >v2.npy
bytes '|V1' '\001\002\003\004' >v1.npy
is "$(rc ge-calibrate bf16.g v2.npy) $(rows out | sed 3q | tr '\n' ' ')" "0 value x elements 4 0 0 range -0x1.8p+1 0x1p+1 " "bytes of ml_dtypes are read as the input's type"
fails 65 "a type that the file does not say" ge-calibrate u16.g v2.npy
is "$(sed 's/.*: //' err)" "holds elements of 2 bytes whose type it does not say, input x is u16" "and why"
fails 65 "elements of another size" ge-calibrate bf16.g v1.npy
fails 65 "a file of another name" ge-calibrate "$model" raw
fails 65 "bytes of no whole sample" ge-calibrate --range 0:1 "$model" raw
fails 66 "a missing file" ge-calibrate "$model" missing.npy
fails 64 "a bad range" ge-calibrate --range 1 "$model" raw
fails 64 "a bad shard" ge-calibrate --shard 3/2 "$model" few.npy
head -c 20000 all.stats >cut.stats
ge-dump "$model" | sed '/^const .*f32\[10\]/s/\[[-0-9.]*,/[7,/' | ge-load -o other.g
ge-calibrate other.g few.npy -o other.stats
fails 65 "cut statistics" ge-calibrate merge cut.stats
fails 65 "statistics of two models" ge-calibrate merge all.stats other.stats
sed 's/^elements 1536/elements 1537/' all.stats >odd.stats
fails 65 "counts that do not add up" ge-calibrate merge odd.stats
fails 65 "no statistics" ge-calibrate merge few.npy
# Any byte: what is altered is no statistics, or not those that were written.
size=$(wc -c <all.stats)
for at in 0 16 20 60 90 120 $((size / 2)) $((size - 60)) $((size - 40)) $((size - 2)); do
	{ head -c "$at" all.stats; tail -c +$((at + 1)) all.stats | head -c 1 | tr '0-9a-z\n .' '1-90b-za .\n'; tail -c +$((at + 2)) all.stats; } >odd.stats
	cmp -s odd.stats all.stats || [ "$(rc ge-calibrate merge odd.stats) $(wc -l <err)" = "65 1" ] || echo "$at: $(cat err)"
done >altered
nothing "altered bytes: 65, one line" "$(cat altered)"
{ echo hone-statistics 1; sed '1d; /^seen/,/^value/{ /^value/!d; }; s/^\(end [0-9]*\) .*/\1/' all.stats; } >old.stats
is "$(rc ge-calibrate merge old.stats -o new.stats) $(grep -c 'version 1' err) $(wc -l <err) $(rows new.stats | sed '$d' | cksum)" "0 1 1 $(rows all.stats | sed '$d' | cksum)" \
	"version 1 is read, with a word"
is "$(rc ge-calibrate merge shard1 shard2 shard1 -o twice.stats) $(wc -l <err) $(grep -c 'shard1: 4 of 4 samples.*merged twice' err)" "0 1 1" "a shard merged twice: it says so"
ge-calibrate merge shard1 shard2 -o part.stats
is "$(rc ge-calibrate merge part.stats shard3 shard2 -o twice.stats) $(wc -l <err) $(grep -c 'shard2: 4 of 4 samples' err)" "0 1 1" "and where one was part of another file"
fails 65 "statistics of a library and of the evaluator" ge-calibrate merge lib.stats all.stats
fails 65 "a library of other weights" ge-calibrate --library counting.so other.g few.npy
fails 65 "no library" ge-calibrate --library few.npy "$model" few.npy
fails 69 "time is over" ge-calibrate --seconds 1e-9 "$model" few.npy
done_testing
