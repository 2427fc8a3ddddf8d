# Tasks of whole models: each group's text comes back from the module made of it, with the same stages.
# (tests/op/task.c has the rest; here it gets files.)
. "$top/tests/lib.sh"
onnx=$top/examples/digits/digits.onnx
hone passes -q --set batch=3 --until fuse "$onnx" -o fused.g && hone passes -q --from layout --until layout fused.g -o laid.g
within "$top/build/check/task" fused.g laid.g

# The graphs of ge-fuse's cases: many ways to make a group.
for txt in "$top"/tests/passes/fuse/*.txt; do
	name=$(basename "$txt" .txt)
	ge-load "$txt" | ge-shape 2>err | ge-fuse | ge-layout -o "$name.g"
done
rm -f no-shape.g axes.g err # sizes that are not known have no task
within "$top/build/check/task" ./*.g
done_testing
