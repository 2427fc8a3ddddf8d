# ge-check: each promise, broken once: 65 and one line that names the node.
. "$top/tests/lib.sh"
bad() { # text of the graph, what the message must say, what this is
	printf 'hone-text 1\nmodule ir=10 opset=28\n%s\n' "$1" >bad.txt
	{ ge-load bad.txt | ge-check; } >out 2>err
	rc=$?
	if [ $rc = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q -- "$2" err; then
		ok 0 "$3"
	else
		ok 1 "$3 ($rc)"
		sed 's/^/# /' err
	fi
}
graph() { printf 'graph main {\n  input x: f32[2]\n%s\n  output y = y\n}' "$1"; }

printf 'hone-text 1\nmodule ir=10 opset=28\n%s\n' "$(graph '  y = Relu(x)')" >good.txt
if ge-load good.txt -o good.g && [ -s good.g ] && ge-check good.g >out 2>&1 && [ ! -s out ]; then ok 0 "silent when all is well"; else ok 1 "silent when all is well"; fi
bad "$(graph '  y = Add(x)')" 'main/y (Add): 1 operands, not 2' "too few operands"
bad "$(graph '  y = Relu(x, x)')" '2 operands, not 1' "too many operands"
bad "$(graph '  y = Add(x, -)')" 'operand 1 is missing' "a required operand is absent"
bad "$(graph '  y = Concat(x, -, x) {axis=0}')" 'main/y (Concat): operand 1 is missing' "one of several operands is absent"
bad "$(graph '  y = Max(x, -, x)')" 'main/y (Max): operand 1 is missing' "one of the operands of Max is absent"
bad "$(graph '  y, z = Relu(x)')" '2 results, not 1' "too many results"
bad "$(graph '  y = Softmax(x) {axis=1.5}')" "'axis' is a float, not an integer" "an attribute of the wrong kind"
bad "$(graph '  y = Cast(x)')" "'to' is missing" "a required attribute is absent"
for default in 'i64[2] [1, 2]: is f32, its default i64' 'f32[] [1]: has rank 1, its default 0' 'f32[3] [1, 2, 3]: has 2 in dimension 0, its default 3'; do
	bad "$(graph "  input w: f32[2] = ${default%%:*}
  y = Add(x, w)")" "main: input 'w' ${default#*: }" "a default that does not fit: ${default#*: }"
done
bad "graph f {
  input a: f32[2]
  b = Neg(a)
  output b = b
}
$(graph '  y = hone.PartitionedCall(x, x) {graph=graph f}')" "takes 1 inputs and gets 2" "a call with another number of operands"
bad "graph f {
  input a: f32[2]
  b = Neg(a)
  output b = b
}
$(graph '  y, z = hone.PartitionedCall(x) {graph=graph f}')" "gives 1 outputs, not 2" "a call with another number of results"
bad "graph main {
  input x
  y = Relu(x)
  output y = y
}" "no element type" "an input without a type"
bad "$(graph '  y = Transpose(x) {perm=[1]}')" 'main/y (Transpose): perm is not a permutation' "a perm that is none"
bad "$(graph '  y = Transpose(x) {perm=[0,1]}')" 'perm has 2 elements for rank 1' "a perm of another rank"
bad "$(graph '  y: f32[3] = Relu(x)')" 'result y has extent 2 at axis 0, the graph says 3' "a result of another size"
bad "$(graph '  y: f32[2,1] = Relu(x)')" 'result y has rank 1, the graph says 2' "a result of another rank"
bad "$(graph '  y: i64[2] = Relu(x)')" 'result y is f32, the graph says i64' "a result of another type"
bad "graph main {
  input x: f32[2,3]
  input t: i64[2]
  y: f32[], z: f32[2,4611686018427387904] = SoftmaxCrossEntropyLoss(x, t) {reduction=\"mean\"}
  output y = y
}" 'main/y (SoftmaxCrossEntropyLoss): result z has extent 3 at axis 1, the graph says 4611686018427387904' "a declared result of more elements than can be"
bad "graph main {
  input x: f32[0,3,9223372036854775807,28]
  y = AveragePool(x) {kernel_shape=[3,3] pads=[2,2,2,2]}
  output y = y
}" 'main/y (AveragePool): operand 0 has extent 9223372036854775807' "an extent that cannot be padded"
bad "graph main {
  input x: f32[2,0]
  input n: i64[2]
  y: f32[4,4] = Tile(x, n)
  output y = y
}" 'result y has extent 0 at axis 1, the graph says 4' "nothing, repeated so often that it is something"
bad "$(graph '  y: f32[2]@"1" = Relu(x)')" 'layout "1" of rank 1' "a layout of an axis that is not there"
bad "graph f {
  input a: f32[3]
  b = Neg(a)
  output b = b
}
$(graph '  y = hone.Fused(x) {graph=graph f}')" "main/y (Fused): what the body takes as a has extent 2 at axis 0, the graph says 3" "a group for another size"
bad "graph f {
  input a: f32[2]
  b = Neg(a)
  output b = b
  output c = b
}
$(graph '  y, - = hone.Fused(x) {graph=graph f}')" "main/y (Fused): result 1 is missing" "a group of which a result is missing"
bad "graph f {
  input a: f32[2]@\"0\"
  b = Neg(a)
  output b = b
}
$(graph '  y = hone.Fused(x) {graph=graph f}')" 'operand 0 has layout "", its body says "0"' "a group for another layout"
bad "graph then {
  y: f32[2,2] = RandomNormal() {shape=[2]}
  output y = y
}
graph else {
  y = RandomNormal() {shape=[2]}
  output y = y
}
const c = bool[] [0]
graph main {
  y = If(@c) {else_branch=graph else then_branch=graph then}
  output y = y
}" "then/y (RandomNormal): result y has rank 1, the graph says 2" "a branch that is never taken"

# A plan that is none.
printf 'hone-text 1\nmodule ir=10 opset=28\n%s\n' "$(graph '  y = Relu(x)')" | ge-load | ge-shape | ge-fuse | ge-plan -q | ge-dump >planned.txt
for bytes in -64 64x 9223372036854775807 99999999999999999999; do
	sed 's/\("plan.bytes"\) = "[0-9]*"/\1 = "BYTES"/' planned.txt | replaced BYTES "$bytes" | ge-load >planned.g
	ge-emit --no-compile planned.g -o lib >out 2>err
	[ $? = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q "no number of bytes" err
	ok $? "a plan of $bytes bytes" || { sed 's/^/# /' err; grep meta planned.txt; }
done

# What no ge-load writes, an importer may: every tool that reads it refuses it.
printf 'hone-text 1\nmodule ir=8 opset=28\ngraph main {\n  input x: f32[2,3]\n  y = Transpose(x) {perm=[1,0]}\n  output y = y\n}\n' | ge-load | ge-export -o perm.onnx
LC_ALL=C sed -i 's/perm@\x01@\x00/perm@\x01@\x05/' perm.onnx
ge-import perm.onnx -o perm.g
for tool in ge-check ge-shape ge-fold ge-simplify ge-deadedge ge-cse ge-dedup ge-prune ge-integer ge-fuse ge-layout ge-join ge-schedule ge-plan ge-pack ge-stat run-ref 'ge-emit -o lib' 'ge-export -o new.onnx' 'tune-op --tasks' 'run-cmp perm.g'; do
	$tool perm.g >out 2>err
	rc=$?
	if [ $rc = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'main/y (Transpose): perm is not a permutation' err; then
		ok 0 "$tool checks what it reads"
	else
		ok 1 "$tool checks what it reads ($rc)"
		sed 's/^/# /' err
	fi
done
# What ONNX asks of operands and attributes.
demand() { # NODE MESSAGE
	bad "const nine = i64[1] [9]
const three = i64[] [3]
const zero = u8[] [0]
graph main {
  input p: f32[1,2,3,4]
  input x: f32[2,4,3]
  input i: i64[2,3]
  input b: bool[2,4,3]
  input m: f32[1,4]
  input s: f32[]
  input w: f32[4,1,1]
  y = $1
  output y = y
}" "main/y (${1%%(*}): $2" "$1"
}
demand 'GatherElements(x, i)' 'operand 1 has rank 2, operand 0 3'
demand 'GatherElements(x, x)' 'operand 1 is f32, takes i32, i64'
demand 'GroupNormalization(x, m, m) {num_groups=2}' 'operand 1 has rank 2, takes rank 1'
demand 'RMSNormalization(m, x)' 'operand 1 has rank 3, broadcasts into rank 2'
demand 'RMSNormalization(x, m)' 'operand 1 has extent 4 at axis 1, broadcasts into 3'
demand 'LayerNormalization(m, x)' 'operand 1 has rank 3, broadcasts into rank 2'
demand 'CumSum(x, @three)' 'axis 3 outside rank 3'
demand 'SpaceToDepth(p) {blocksize=2}' 'the image does not divide by blocksize'
demand 'DepthToSpace(p) {blocksize=2}' 'channels do not divide by blocksize squared'
demand 'Einsum(x) {equation="abc->aa"}' 'a letter of the result is in no operand, or twice'
demand 'Einsum(x) {equation="abc->az"}' 'a letter of the result is in no operand, or twice'
demand 'Trilu(s)' 'operand 0 has rank 0, takes rank 2 or more'
demand 'Relu(b)' 'operand 0 is bool, takes '
demand 'Add(x, b)' 'operand 1 is bool, takes '
demand 'Concat(x, b) {axis=0}' 'operand 1 is bool, operand 0 is f32'
demand 'Conv(x, i)' 'operand 1 is i64, takes '
demand 'AveragePool(x) {kernel_shape=[2,2]}' "attribute 'kernel_shape' has 2 elements, takes 1"
demand 'AveragePool(x) {auto_pad="SAME" kernel_shape=[2]}' "attribute 'auto_pad' is \"SAME\", takes NOTSET,SAME_UPPER"
demand 'LRN(x) {size=0}' "attribute 'size' is 0, takes 1 to"
demand 'Softmax(x) {axis=3}' "attribute 'axis': axis 3 outside rank 3"
demand 'Cast(x) {to=99}' "attribute 'to' is 99, no element type"
demand 'QuantizeLinear(x, s, @zero) {output_dtype=3}' "attribute 'output_dtype' is i8, the zero point u8"
demand 'Resize(x, -, -, @nine)' '1 sizes for 3 axes'
demand 'ConvTranspose(x, w) {group=3}' '4 channels do not divide into 3 groups'
demand 'CumSum(x, i)' 'operand 1 is i64.2,3., takes one element'

bad "const nine = i64[1] [9]
$(graph '  y, i = TopK(x, @nine)')" 'main/y (TopK): 9 of 2 elements' "more elements than there are"
bad "$(graph '  a = Relu(b)
  b = Relu(a)
  y = Relu(b)')" "" "a cycle"

# What a body takes is there, and a BatchNormalization has a number for each channel.
printf 'hone-text 1\nmodule ir=10 opset=28\nconst yes = bool[] [1]\ngraph f {\n  input t\n  output u = t\n}\ngraph main {\n  input x: f32[3]\n  y = If(@yes, -) {else_branch=graph f then_branch=graph f}\n  output y = y\n}\n' >absent.txt
printf 'hone-text 1\nmodule ir=10 opset=28\nconst g = f32[2] [1, 2]\ngraph main {\n  input x: f32[1,17,4,4]\n  y = BatchNormalization(x, @g, @g, @g, @g)\n  output y = y\n}\n' >channels.txt
for case in "absent:operand 1 is missing" "channels:operand 1 (the constant g) has 2 elements for 17 channels"; do
	{ ge-load ${case%%:*}.txt | ge-shape | ge-deadedge -o out.g; echo $? >rc; } 2>err
	[ "$(cat rc)" = 65 ] && grep -q "${case#*:}" err
	ok $? "${case#*:}" || cat rc err
done
done_testing
