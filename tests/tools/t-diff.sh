# ge-diff and ge-patch: a patch of two stages makes the bytes of the second, whatever the stages; it is small where the change is; a patch
# that is damaged or of another base is refused; the text says what went, came and changed. PAIRS: of stages.
. "$top/tests/lib.sh"

# ---- patches ----

mkdir stages
stages() { # MODEL NAME OPTIONS: the stages of a build
	ge-import -q "$1" -o stages/$2-0.g || return
	ge-shape -q $3 stages/$2-0.g -o stages/$2-1.g || return
	last=$2-1
	for pass in fold simplify cse prune fuse layout schedule plan; do
		ge-$pass -q stages/$last.g -o stages/$2-$pass.g || return
		last=$2-$pass
	done
}
stages "$top/examples/digits/digits.onnx" digits --set=batch=1
prepared $? "stages of digits"
data=/usr/share/libonnx-testdata/data/node
for name in conv_with_strides_padding loop11 lstm_defaults einsum_batch_matmul resize_downsample_sizes_cubic if_seq; do
	[ ! -e $data/test_$name/model.onnx ] || stages $data/test_$name/model.onnx $name 2>/dev/null
done
for file in stages/digits-fold.g stages/digits-plan.g; do ge-pack "$file" -o "${file%.g}-packed.g"; done
cat stages/digits-1.g stages/digits-fuse.g >stages/two.g
remade() { ge-diff --patch "$1" "$2" -o patch || [ $? = 1 ] && ge-patch patch <"$1" >made.g && cmp -s made.g "$2"; } # A B
ls stages/*.g | awk -v n="${PAIRS:-60}" 'BEGIN { srand(7) } { file[NR] = $0 }
	END { while (n--) print file[int(rand() * NR) + 1], file[int(rand() * NR) + 1] }' >pairs
while read -r a b; do remade "$a" "$b" || echo "$a $b"; done <pairs >bad
nothing "$(wc -l <pairs) pairs of $(ls stages | wc -l) stages: the patch makes the second of the first" "$(cat bad)"

awk 'BEGIN { print "hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[4,4]"; last = "x"
	for (i = 0; i < 10000; last = "a" i++) print "  a" i ": f32[4,4] = " (i % 2 ? "Relu" : "Sigmoid") "(" last ")"
	print "  output y = " last "\n}" }' >long.txt
ge-load long.txt -o long.g
small() { # WHAT: the chain becomes changed.txt
	ge-load changed.txt -o changed.g && remade long.g changed.g && [ "$(wc -c <patch)" -lt 2000 ]
	ok $? "one node of 10,000: $1, a patch of $(wc -c <patch) bytes"
}
sed 's/^  a5000: \(.*\)Sigmoid/  a5000: \1Tanh/' long.txt >changed.txt; small "another operator"
sed 's/^  a5000: .*/& "named"/' long.txt >changed.txt; small "another name"
sed 's/(a4999)/(new)/; s/^  a4999.*/&\n  new: f32[4,4] = Softplus(a4999)/' long.txt >changed.txt; small "one more"
sed '/^  a5000: /d; s/(a5000)/(a4999)/' long.txt >changed.txt; small "one less"
refused 65 "a patch of another stream" "of another base" ge-patch patch changed.g -o none.g
[ ! -e none.g ] || ok 1 "a refused patch leaves a file"
cp patch damaged
printf '\377' | dd of=damaged bs=1 seek=$(($(wc -c <patch) / 2)) conv=notrunc 2>/dev/null
for n in 1 40 $(($(wc -c <patch) - 1)); do head -c $n patch >cut && ! ge-patch cut long.g >none.g 2>err || break; done && [ "$(wc -l <err)" = 1 ] &&
	! ge-patch damaged long.g >none.g 2>err && [ "$(wc -l <err)" = 1 ]
ok $? "a patch that is cut or damaged"

# ---- the text ----

cat >a.txt <<'END'
hone-text 1
module ir=10 opset=28
const w = f32[2] [1, 2]
const old = f32[2] [3, 4]
graph main {
  input x: f32[2,2]
  input k: f32[2]
  c = Add(x, @w)
  r = Relu(c)
  gone = Sigmoid(r)
  s = LeakyRelu(gone) {alpha=0.5}
  y = Sub(s, @old)
  output y = y
}
END
sed 's/\[1, 2\]$/[1, 5]/; /^const old/d; s/x: f32\[2,2\]/x: f32[4,2]/; /  input k/d; /gone = /d; s/(gone) {alpha=0.5}/(r) {alpha=0.25}/
	s/y = Sub(s, @old)/more = Exp(s)\n  renamed: f32[4,2] = Tanh(more)/; s/output y = y/output y = renamed/; s/c = Add/c: f32[4,2] = Add/' a.txt >b.txt
ge-load a.txt -o a.g && ge-load b.txt -o b.g
ge-diff a.g b.g >out
is "$? $(sed 1,2d out)" "1 ~ input x f32[2,2] -> f32[4,2]
- input k f32[2]
~ output y ?[*] -> f32[4,2] of y -> renamed
graph main: 2 removed, 2 added, 2 changed
  - Sigmoid gone
  - Sub y
  + Exp more
  + Tanh renamed
  ~ Add c
      type: ?[*] -> f32[4,2]
  ~ LeakyRelu s
      operand 0: gone -> r
      alpha: 0.5 -> 0.25
~ constant w f32[2] 4533ce61 -> f32[2] def03f57
- constant old f32[2] 3997b87a
nodes: 2 removed, 2 added, 2 changed
constants: 1 removed, 0 added, 1 changed" "what differs"
ge-cse a.g >same.g && ge-diff a.g same.g >out
is "$? $(wc -c <out)" "0 0" "equal but for provenance: 0, and nothing printed"
ge-diff stages/digits-prune.g stages/digits-fuse.g >out
is "$(grep -c '+ hone.Fused' out) $(sed -n 's/^nodes: 0 removed, \([0-9]*\) added, 0 changed, [0-9]* in other graphs/\1/p' out)" \
	"$(ge-dump stages/digits-fuse.g | grep -c hone.Fused) $(ge-dump stages/digits-fuse.g | grep -c hone.Fused)" "what ge-fuse does: groups come, nodes move, none changes"
done_testing
