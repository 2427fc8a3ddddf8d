# What others go on with: unknown operators go through and the library refuses them, a declared shape that is wrong is dropped with a
# warning, what cannot be in a branch is no fault until it is taken; and what is said where something is refused.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
load() { printf 'hone-text 1\nmodule ir=8 opset=28\n%s\n' "$1" | ge-load -o "$2".g && ge-export -q "$2".g -o "$2".onnx; }

load 'graph main {
  input x: f32[2,3]
  a = Identity(x)
  b: f32[2,3] = my.dom.MyOp(a) {alpha=2.0}
  c = ai.onnx.Plugin_TRT(b)
  y: f32[2,3] = Neg(c)
  output y = y
}' custom
is "$(rc ge-import custom.onnx -o c.g) $(grep -c 'Plugin_TRT: no such operator' err) $(ge-export c.g | cmp - custom.onnx && echo same)" "0 1 same" "unknown operators go through"
is "$(rc hone build custom.onnx -o c) $(grep -c 'MyOp.*no implementation' err) $(ls c.* | grep -v '^c.g')" "69 1 " "the library refuses them, by name"

sed 's/a/a/' <<'END' >wrong.txt
hone-text 1
module ir=8 opset=28
symbol n 0 inf
graph main {
  input x: f32[n,4]
  y: f32[1,4] = Neg(x)
  output y = y
}
END
ge-load wrong.txt -o wrong.g
is "$(rc ge-shape --set n=3 wrong.g -o w.g) $(grep -c 'extent 3 at axis 0, the graph says 1; the operator is believed' err) $(ge-dump w.g | grep -c 'y: f32\[3,4\]')" "0 1 1" "a declared shape that is not that of the size given"

load 'const c = f32[6] [1,2,3,4,5,6]
const s4 = i64[1] [4]
const s6 = i64[2] [2,3]
const no = bool[] [0]
graph bad {
  r = Reshape(@c, @s4)
  output r = r
}
graph good {
  q = Reshape(@c, @s6)
  output q = q
}
graph main {
  input x: f32[2,3]
  i = If(@no) {then_branch=graph bad else_branch=graph good}
  z = Add(i, x)
  output z = z
}' branch
is "$(rc ge-shape branch.g -o b.g) $(rc hone build branch.onnx -o b) $(ls b.g b.so)" "0 0 b.g
b.so" "a size that cannot be, in a branch that is not taken"

load 'graph main {
  input x: f32[4]
  n = NonZero(x)
  y = Neg(n)
  output y = y
}' data
is "$(rc hone build data.onnx -o d) $(ls d.so)" "0 d.so" "what depends on data is built"

load 'symbol h 0 inf
symbol b 0 inf
const w = f32[1,1,7,7] [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
const s = i64[2] [-1,9]
graph main {
  input x: f32[b,1,h,h]
  c = Conv(x, @w) {strides=[2,2]}
  y = Reshape(c, @s)
  output y = y
}' sizes
is "$(rc hone build sizes.onnx -o s) $(rc run-cmp s.so sizes.onnx --set b=1,h=12) $(rc run-cmp s.so sizes.onnx --set b=3,h=12) $(ls s.so)" "0 0 0 s.so" "sizes that are not given stay open"
is "$(rc run-dev s.so --set b=1,h=10 -o y.npz)" 65 "sizes that do not work are refused"
is "$(rc hone build sizes.onnx --set b=1 -o some) $(rc run-cmp some.so sizes.onnx --set b=1,h=12) $(ls some.so)" "0 0 some.so" "some given, the others stay open"
is "$(rc hone simplify -q sizes.onnx part.onnx --set h=12) $(ls part.onnx)" "0 part.onnx" "some given are enough to simplify"

load 'graph main {
  input x: f32[2]
  y = Neg(x)
  output x = x
  output y = y
}' both
is "$(rc ge-import both.onnx -o b.g) $(rc ge-export b.g -o both2.onnx) $(cmp both.onnx both2.onnx && echo same)" "0 0 same" "an input that is an output"

load 'const w = f32[2] [1,2]
graph main {
  input x: f32[2]
  y = Neg(x)
  output y = y
  output x = x
  output w = @w
  output z = y
  output y = y
  output x = x
  output w = @w
}' twice
is "$(rc ge-import twice.onnx -o t.g) $(rc ge-export t.g -o twice2.onnx) $(cmp twice.onnx twice2.onnx && echo same) $(ge-dump twice.onnx | grep -c output)" "0 0 same 7" "outputs that are listed twice"
is "$(rc hone build twice.onnx) $(rc run-cmp twice.so twice.onnx) $(grep -c equal out) $(rc hone simplify twice.onnx t2.onnx) $(ge-dump t2.onnx | grep -c output)" "0 0 7 0 7" "and they are built"
load 'graph main {
  input x: f32[2]
  y = Neg(x)
  z = Abs(x)
  output y = y
  output y = z
}' other
is "$(rc ge-export other.g -o other.onnx) $(grep -c "two inputs or outputs are called 'y'" err)" "65 1" "two outputs of one name are not one"

for case in '1 0.25' '1 0' '0 0.25'; do
	set -- $case
	load "const yes = bool[] [$1]
const ratio = f32[] [$2]
graph main {
  input x: f32[2]
  y = Dropout(x, @ratio, @yes)
  output y = y
}" drop
	rm -f drop.so
	is "$(rc hone build drop.onnx -o drop) $(ls drop.so 2>/dev/null)" "0 drop.so" "Dropout in training mode $1 at ratio $2"
done

cp both.onnx model.pb
is "$(rc hone build model.pb) $(ls model.so) $(rc run-cmp model.so model.pb)" "0 model.so 0" "a model of another suffix"
for verb in build tune simplify; do
	is "$(rc hone $verb --help) $(head -1 out | cut -d' ' -f1-3) $(grep -c '^hone simplify writes ' out) $(hone help $verb | cmp - out && echo same)" \
		"0 Usage: hone $verb $([ $verb = simplify ] && echo 1 || echo 0) same" "help of $verb"
done
done_testing
