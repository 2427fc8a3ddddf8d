# ge-import --keep-foreign: an operator of another domain stays whole through every pass, shapes flow through it, it computes what its
# expansion computes, and ge-export writes it as it was.
. "$top/tests/lib.sh"
model() { # NAME META CONSTANTS NODES: a file of these nodes
	printf 'hone-text 1\nmodule ir=8 opset=28\nmeta "opset:ai.onnx" = "17"\nmeta "opset:%s" = "1"\n%s\ngraph g {\n%s\n}\n' "$2" "$3" "$4" >"$1.txt"
	ge-load "$1.txt" -o "$1.g" && ge-export "$1.g" -o "$1.onnx"
}
passes() { ge-import "$@" | ge-shape | ge-fold | ge-simplify --fewest | ge-deadedge | ge-cse | ge-dedup | ge-prune; }
# Operators of the file, in order, as the text form writes one that is not known: for this its domain becomes one that nothing knows.
foreign() {
	ge-export "$1" -o unknown.onnx && patched unknown.onnx "$2" "$3" && ge-import unknown.onnx | ge-dump | grep -F " = $3." | sed 's/^ *//; s/: [a-z0-9]*\[[^]]*\]//g'
}
whole() { # NAME DOMAIN UNKNOWN-DOMAIN-OF-THAT-LENGTH WHAT
	passes --keep-foreign "$1.onnx" >kept.g && passes "$1.onnx" >plain.g
	is "$(foreign kept.g "$2" "$3")" "$(foreign "$1.g" "$2" "$3")" "$4: as the file has it"
	run-cmp --rewritten kept.g "$1.onnx" >out 2>&1
	ok $? "$4: the same numbers" "$(cat out)"
	is "$(ge-dump plain.g | grep -c Foreign) $(ge-dump kept.g | sed -n 's/^  output/out/p; s/^  \([^:]*: .*\) = .*/\1/p' | grep -c '?')" "0 0" "$4: shapes flow through it"
}

model bits com.microsoft "symbol B 0 inf
const w = u8[4,1,8] [$(seq -s, 1 32)]
const s = f32[4] [0.5, 0.25, 1, 2]
const b = f32[4] [1, 2, 3, 4]" '  input x: f32[B,16]
  h = Identity(x)
  p = com.microsoft.MatMulNBits(h, @w, @s) {K=16 N=4 bits=4 block_size=16}
  q = com.microsoft.MatMulNBits(x, @w, @s) {K=16 N=4 bits=4 block_size=16}
  r = com.microsoft.MatMulNBits(x, @w, @s, -, -, @b) {K=16 N=4 bits=4 block_size=16}
  d = Add(p, q)
  e = Shape(r)
  y = Add(d, r)
  output y = y
  output e = e'
passes --keep-foreign bits.onnx >kept.g
is "$(ge-dump kept.g | grep -c hone.Foreign) $(ge-dump kept.g | grep -c '(x, @w, @s, @b).*operands=\[0,1,2,5\]')" "2 1" "equal ones become one; an operand that is not there leaves a gap"
sed -i '/^  q = /d; s/Add(p, q)/Add(p, p)/; s/^  h = .*//; s/Bits(h,/Bits(x,/' bits.txt && ge-load bits.txt -o bits.g && ge-export bits.g -o bits.onnx
whole bits com.microsoft com.microsaft MatMulNBits
is "$(ge-stat kept.g | sed -n 's/^\(MatMulNBits\|Foreign\|MatMul\) *\([0-9]\).*/\1 \2/p')" "MatMulNBits 2" "ge-stat calls it by its name"

model trees ai.onnx.ml '' '  input x: f32[6,2]
  l, s = ai.onnx.ml.TreeEnsembleClassifier(x) {class_ids=[0,1,2] class_nodeids=[1,3,4] class_treeids=[0,0,0] class_weights=[1.0,1.0,1.0] classlabels_int64s=[3,5,7] nodes_falsenodeids=[2,0,4,0,0] nodes_featureids=[0,0,1,0,0] nodes_modes=["BRANCH_LEQ","LEAF","BRANCH_LEQ","LEAF","LEAF"] nodes_nodeids=[0,1,2,3,4] nodes_treeids=[0,0,0,0,0] nodes_truenodeids=[1,0,3,0,0] nodes_values=[0.1,0.0,-0.2,0.0,0.0] post_transform="NONE"}
  output l = l'
whole trees ai.onnx.ml ai.onnx.mx TreeEnsembleClassifier
model words ai.onnx.ml '' '  input x: i64[3,2]
  z = ai.onnx.ml.LabelEncoder(x) {default_float=0.5 keys_int64s=[0,1,2] values_floats=[1.5,2.5,3.5]}
  y = Neg(z)
  output y = y'
whole words ai.onnx.ml ai.onnx.mx LabelEncoder
ge-import --keep-foreign words.onnx | ge-shape | ge-fuse | ge-layout | ge-plan | ge-emit -o kept &&
	run-cmp kept.so words.onnx >out 2>&1
ok $? "a library of a stream that keeps it" "$(cat out)"
# Types in the written file: results that are no outputs have one only where the file had it, and a size without a name gets none.
told() { # FILE: all names of sizes, and how often the value between the nodes stands in it
	echo "$(tr -c 'a-zA-Z0-9_' '\n' <"$1" | grep -c '^between$') $(tr -c 'a-zA-Z0-9_' '\n' <"$1" | grep -c 'x_dim_0$')"
}
model open ai.onnx.ml '' '  input x: i64[?,2]
  between = ai.onnx.ml.LabelEncoder(x) {default_float=0.5 keys_int64s=[0,1,2] values_floats=[1.5,2.5,3.5]}
  y = Neg(between)
  output y = y'
sed 's/between = /between: f32[?,2] = /' open.txt | ge-load | ge-export -o typed.onnx
for f in open typed; do passes --keep-foreign $f.onnx | ge-export -o $f.new.onnx; done
is "$(told open.onnx), $(told open.new.onnx), $(told typed.onnx), $(told typed.new.onnx)" "2 0, 2 0, 3 0, 3 0" "types of results and names of sizes: those of the file"
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph f {\n  input a: f32[2]\n  b = Neg(a)\n  output b = b\n}\ngraph g {\n  input x: f32[2]\n  y = hone.Foreign(x) {domain="d" graph=graph f operands=[-1] optype="O"}\n  output y = y\n}\n' >bad.txt
ge-load bad.txt 2>/dev/null | ge-export -o bad.onnx 2>err
is "$? $(cat err)" "65 ge-export: Foreign: 'operands' are no ascending positions, one for each" "positions that are none"
done_testing
