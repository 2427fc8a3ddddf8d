# ge-check: each promise, broken once: 65 and one line that names the node.
bad() { # text of the graph, what the message must say, what this is
	printf 'hone-text 1\nmodule ir=10 opset=28\n%s\n' "$1" >bad.txt
	{ ge-load bad.txt | ge-check; } >out 2>err
	rc=$?
	if [ $rc = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -q -- "$2" err; then
		echo "ok - $3"
	else
		echo "not ok - $3 ($rc)"
		sed 's/^/# /' err
	fi
}
graph() { printf 'graph main {\n  input x: f32[2]\n%s\n  output y = y\n}' "$1"; }

printf 'hone-text 1\nmodule ir=10 opset=28\n%s\n' "$(graph '  y = Relu(x)')" >good.txt
if ge-load good.txt | ge-check >out 2>&1 && [ ! -s out ]; then echo "ok - silent when all is well"; else echo "not ok - silent when all is well"; fi
bad "$(graph '  y = Add(x)')" 'main/y (Add): 1 operands, not 2' "too few operands"
bad "$(graph '  y = Relu(x, x)')" '2 operands, not 1' "too many operands"
bad "$(graph '  y = Add(x, -)')" 'operand 1 is missing' "a required operand is absent"
bad "$(graph '  y = Concat(x, -, x) {axis=0}')" 'main/y (Concat): operand 1 is missing' "one of several operands is absent"
bad "$(graph '  y = Max(x, -, x)')" 'main/y (Max): operand 1 is missing' "one of the operands of Max is absent"
bad "$(graph '  y, z = Relu(x)')" '2 results, not 1' "too many results"
bad "$(graph '  y = Softmax(x) {axis=1.5}')" "'axis' is a float, not an integer" "an attribute of the wrong kind"
bad "$(graph '  y = Cast(x)')" "'to' is missing" "a required attribute is absent"
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
bad "$(graph '  a = Relu(b)
  b = Relu(a)
  y = Relu(b)')" "" "a cycle"
