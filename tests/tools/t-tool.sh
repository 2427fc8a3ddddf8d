# What every tool does alike: options, ends, and where its output goes. Tried on the simplest one.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }

printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[2]\n  y = Relu(x)\n  output y = y\n}\n' >a.txt
ge-load a.txt -o a.g
is "$(rc ge-cse --version) $(cat out)" "0 ge-cse (hone) 0.1.0" "--version"
is "$(rc ge-cse --help) $(grep -c 'Usage: ge-cse' out)" "0 1" "--help"
is "$(rc ge-cse --nonsense)" 64 "an unknown option is 64"
is "$(rc ge-cse a.g b.g)" 64 "an argument too many is 64"
is "$(rc ge-cse missing.g) $(wc -l <err)" "66 1" "a missing file is 66, one line"
is "$(rc ge-cse .) $(wc -l <err)" "66 1" "a directory is 66"
is "$(rc ge-cse a.g -o no/such/dir.g) $(wc -l <err)" "74 1" "an output that cannot be written is 74"
is "$(rc ge-cse "$(printf 'a\033[31m\nb')") $(wc -l <err) $(grep -c 'x1b' err)" "66 1 1" "control characters do not reach the terminal"
for word in -x --x --wh --why=1; do
	is "$(rc ge-cse "$(printf '%s\033[31m' $word)") $(wc -l <err) $(grep -c 'x1b' err)" "64 1 1" "nor those of an option $word"
done
is "$(rc ge-cse a.g "$(printf 'b\033[31m')") $(grep -c 'x1b' err)" "64 1" "nor those of an argument too many"
if [ -c /dev/full ]; then
	ge-cse a.g >/dev/full 2>err
	is "$? $(wc -l <err)" "74 1" "a full disk is 74"
	ge-dump a.g >/dev/full 2>err
	is "$? $(wc -l <err)" "74 1" "and so it is for text"
	(ge-cse a.g -o /dev/full) 2>err
	is $? 74 "and with -o"
else
	skip "a full disk is 74" "no /dev/full"
fi
awk 'BEGIN { print "hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input v0: f32[4]"
	for (i = 1; i < 20000; i++) printf "  v%d = Sin(v%d)\n", i, i - 1
	print "  output y = v19999\n}" }' </dev/null | ge-load -o big.g
{ ge-dump big.g; echo $? >code; } 2>err | head -1 >/dev/null
is "$(cat code) $(wc -c <err)" "141 0" "a closed pipe ends a tool silently"
{ ge-cse --why big.g -o said.g; echo $? >code; } 2>&1 | head -1 >/dev/null
is "$(cat code) $(echo said.g*)" "141 said.g*" "and when it is that of the messages, no temporary is left"
echo old >keep.g
ge-cse </dev/null -o keep.g 2>/dev/null
is "$? $(cat keep.g) $(ls keep.g*)" "65 old keep.g" "a failed run leaves the old output and no temporary"
echo old >real.g
ln -s real.g link.g
ge-cse a.g -o link.g
is "$(readlink link.g) $(ge-check real.g && ge-dump real.g | head -1)" "real.g hone-text 1" "an output through a link"
is "$(umask 027 && ge-cse a.g -o mode.g && ls -l mode.g | cut -c1-10)" "-rw-r-----" "the output's mode obeys the umask"
is "$(ge-cse a.g | ge-prune --output y | ge-cse | ge-dump | grep provenance | tr '\n' ' ')" \
	'provenance "ge-cse 0.1.0" provenance "ge-prune 0.1.0 --output=y" provenance "ge-cse 0.1.0" ' "provenance"
{ head -c 60 a.g | ge-cse | ge-prune | ge-cse >/dev/null; echo $? >code; } 2>err
is "$(cat code) $(wc -l <err)" "65 1" "a fault upstream is told once"

# What can have one value is not given two: not silently the last.
printf 'hone-text 1\nmodule ir=8 opset=17\nsymbol n 0 inf\ngraph g {\n  input x: f32[n,2]\n  input s: f32[2]\n  y = Add(x, s)\n  t = Neg(s)\n  output y = y\n  output t = t\n}\n' | ge-load -o two.g
twice() { is "$(rc "$@") $(wc -l <err) $(grep -c 'given twice\|has an alias already' err)" "64 1 1" "given twice: $*"; }
for tool in ge-shape run-ref; do
	twice $tool --set n=1,n=2 two.g -o out
	twice $tool --set n=1 --set n=1 two.g -o out
	twice $tool --shape x:1x2 --shape x:2x2 two.g -o out
	twice $tool --const s=1,2 --const s=2,1 two.g -o out
done
twice run-ref --range x=0:1 --range x=0:2 two.g -o out
twice run-dev --range x=0:1 --range x=0:2 -o y.npz none.so
twice run-cmp --range x=0:1 --range x=0:2 two.g two.g
twice run-cmp --set n=1,n=2 two.g two.g
twice run-cmp --shape x:1x2 --shape x:2x2 two.g two.g
twice run-dev --set n=1,n=2 -o y.npz none.so
twice ge-calibrate --set n=1,n=2 two.g none.npy
ge-shape two.g | ge-fuse -o fused.g
twice ge-layout --alias s=t --alias s=t fused.g -o out
twice ge-plan --alias s=t --alias s=t fused.g -o out
twice hone build -q --set n=1,n=2 two.g -o never
ge-export -q -o two.onnx two.g
twice hone simplify -q --shape x:1x2 --shape=x:1x2 two.onnx never.onnx
twice hone simplify -q --set n=2 --range x=0:1 --range x=0:2 two.onnx never.onnx
done_testing
