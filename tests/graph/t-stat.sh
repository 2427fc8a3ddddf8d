# ge-stat: counts, comparison, JSON, and the digest that provenance does not change.
. "$top/tests/lib.sh"
cat >a.txt <<'X'
hone-text 1
module ir=10 opset=28
const w = f32[4,8] [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
graph twice {
  input x: f32[2,4]
  y = Exp(x)
  output y = y
}
graph main {
  input x: f32[2,4]
  a = hone.PartitionedCall(x) {graph=graph twice}
  b = hone.PartitionedCall(a) {graph=graph twice}
  c = MatMul(b, @w)
  d = MatMul(b, @w)
  y = Add(c, d)
  output y = y
}
X
ge-load a.txt -o a.g
ge-stat --json a.g >a.json
for want in '"MatMul": {"nodes": 2, "flops": 256}' '"Exp": {"nodes": 1, "flops": 16}' '"PartitionedCall": {"nodes": 2' \
	'"nodes": 6' '"graphs": 2' '"constants": 1' '"parameters": 32' '"constant_bytes": 128' '"result_bytes": 320' \
	'"inputs": [{"name": "x", "type": "f32[2,4]"}]'; do
	is "$(grep -cF "$want" a.json)" 1 "$want"
done
is "$(ge-stat a.g | awk '$1 == "all" { print $2 }')" 6 "the table"
ge-cse a.g -o b.g
is "$(ge-stat a.g b.g | awk '$1 == "MatMul" { print $2, $3, $4 }')" "2 1 -1" "a comparison"
is "$(ge-stat a.g b.g | tail -1)" "the graphs differ" "different graphs"
ge-prune a.g -o c.g
is "$(ge-stat --digest c.g)" "$(ge-stat --digest a.g)" "the digest leaves provenance out"
is "$(cat a.g b.g | ge-stat --digest | sort -u | wc -l)" 2 "a stream of two modules"
printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[?,4]\n  y = Relu(x)\n  output y = y\n}\n' | ge-load | ge-stat >n.txt
is "$(grep -c '1 nodes have results of unknown size' n.txt)" 1 "sizes that are not known are said to be so"
printf 'hone-text 1\nmodule ir=10 opset=28\nsymbol b 2 8 step 2\nsymbol n 0 inf\ngraph main {\n  input x: f32[b,n]\n  i = NonZero(x)\n  y = Relu(x)\n  output i = i\n  output y = y\n}\n' |
	ge-load | ge-shape | ge-fuse | ge-plan -q >open.g
ge-stat open.g >n.txt
is "$(sed -n '/^sizes/,/native/p' n.txt | tr -s ' \n' ' ')" "sizes b 2 to 8, a multiple of 2 n 0 or more 1 that only a run finds \
steps 1 on kernels, 1 of them for all sizes, 0 with others for some sizes, 0 in plainer loops \
1 native, 0 on the slow path, 0 branches and loops " "sizes that vary, and what runs the steps"
is "$(ge-stat --json open.g | sed 's/.*"sizes": //')" '[{"name": "b", "least": 2, "most": 8, "multiple": 2}, {"name": "n", "least": 0, "most": null, "multiple": 1}], "sizes_found": 1, "steps": {"kernels": 1, "open": 1, "versions": 0, "plain": 0, "native": 1, "slow": 0, "flow": 0}}' "the same in JSON"
printf 'hone-text 1\nmodule ir=10 opset=28\nmeta "opset:ai.onnx" = "17"\nsymbol n 0 inf\nconst w = f32[4,4] [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]\ngraph main {\n  input x: f32[n,4]\n  a = MatMul(x, @w)\n  b = MatMul(@w, @w)\n  c = Transpose(a)\n  output b = b\n  output c = c\n}\n' |
	ge-load | ge-shape | ge-stat >n.txt
is "$(grep -o 'opset [0-9]*' n.txt) $(awk '$1 == "MatMul" || $1 == "Transpose" || $1 == "all" { $2 = ""; print }' n.txt | tr -s ' \n' ' ')" \
	"opset 17 MatMul 128 + ? Transpose 0 all 128 + ? " "the opset of the file, and what open sizes leave open"
cat >groups.txt <<'X'
hone-text 1
module ir=10 opset=28
graph main {
  input x: f32[64,64]
  input y: f32[1,4096]
  p = MatMul(x, x)
  s = Softmax(y) {axis=-1}
  output p = p
  output s = s
}
X
ge-load groups.txt | ge-shape | ge-fuse -q | ge-layout -q -o laid.g
ge-schedule -q --no-kb --target x86-64-v3 laid.g -o scheduled.g
is "$(ge-stat scheduled.g | sed -n '/^group /,/^all /p' | awk 'NR > 1 && $2 > 0 { n[$1]++; t[NR] = $2; s += $4 } END { print n["p"], n["s"], n["all"], (t[2] >= t[3]), int(s + 0.5) }')" \
	"1 1 1 1 100" "groups, the longest first: times and shares"
is "$(ge-stat --json scheduled.g | grep -o '"picoseconds": [1-9][0-9]*, "share": 0[.]' | wc -l) $(ge-stat laid.g | grep -c '^group ')" "2 0" "the same in JSON; none before ge-schedule"
hone build -q "$top/examples/digits/digits.onnx" --set batch=1 -o lib/m 2>err
is "$(ge-stat lib/m.so | grep -c "^made by *hone [^ ]*, graph $(ge-stat --digest lib/m.d/*-plan.g), weights [0-9a-f]\{32\}$")" 1 "a library says which hone made it, of which graph and weights"
{ head -c 64 lib/m.so && echo ', graph , weights'; } >none.so && ge-stat none.so 2>err
is "$? $(cat err)" "65 ge-stat: none.so: a library, but none that hone made" "one that another program made"
ge-stat no-such-file 2>err
is "$? $(wc -l <err)" "66 1" "a missing file"
done_testing
