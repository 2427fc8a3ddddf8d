# ge-mixed: the lists, the cut on measured times, what it does to a model.
. "$top/tests/lib.sh"
unset HONE_TARGET
export HONE_KB=$PWD/kb
row='cpu=x;features=fma,avx2;l1=32K;l2=512K;l3=8192K'
mixed() { ge-mixed --quiet --target "$row" "$@"; }
# timed: tasks on standard input; each gets the time of the first pattern that it matches, as the arguments "PATTERN=MICROSECONDS".
timed() {
	awk -v row="$row" -v list="$*" 'BEGIN { n = split(list, e, " ") } {
		for (i = 1; i <= n; i++) { split(e[i], p, "="); if ($0 ~ p[1]) break }
		if (i > n) next
		printf "record\nkind kernel\ntask %s\ntarget %s\nverdict tie\nagainst default\nratio 1\nlo 1\nhi 1\nsamples %d/%d\ntrace a\n\n", $0, row, p[2] * 1e6, p[2] * 1e6
	}' | kb -q put
}

# weights TYPE: w and v.
weights() {
	rows='1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 1, 0, 2, 2, 2, 2'
	printf 'const w = %s[4,4] [%s]\nconst v = %s[4,8] [%s, %s]\n' "$1" "$rows" "$1" "$rows" "$rows"
}
cat >f.txt <<X
hone-text 1
module ir=10 opset=28
$(weights f32)
graph main {
  input x: f32[2,4]
  a = MatMul(x, @w)
  b = Relu(a)
  c = MatMul(b, @v)
  y = Softmax(c)
  output y = y
}
X
ge-load f.txt | ge-shape -o f.g
mixed f.g -o same.g 2>err && same_graph f.g same.g
ok $? "nothing is known to be faster: nothing is changed"
mixed --to bf16 f.g -o same.g 2>err && same_graph f.g same.g
ok $? "nothing was measured: nothing is changed"
mixed --to bf16 --tasks f.g >tasks 2>err
grep -qx 'MatMul bf16 2x4 4x8c' tasks && grep -qx 'MatMul f32 2x4 4x4c' tasks && grep -q '^Cast{to=16} f32 2x4' tasks && ! grep -q Softmax tasks
ok $? "--tasks: what was not measured"
timed 'MatMul.bf16=50' 'MatMul.f32=60' 'Cast=100' <tasks
mixed --to bf16 f.g -o same.g 2>err && same_graph f.g same.g
ok $? "casts that cost more than is gained"
rm -f kb*
timed 'MatMul.bf16=50' 'MatMul.f32=60' 'Cast=6' <tasks
mixed --to bf16 --tasks f.g >untimed 2>err && [ ! -s untimed ] && [ -s tasks ]
ok $? "all was measured: no tasks"
mixed --to bf16 --why f.g -o low.g 2>err && ge-dump low.g >low.txt && [ "$(grep -c '= Cast(' low.txt)" = 4 ]
ok $? "two casts, and two of weights, for both products and what is between"
grep -q 'Relu.*bf16: as its neighbours are' err && grep -q 'MatMul.*bf16: 50.0 us, 60.0 us in f32' err
ok $? "--why"
grep -q '/a (MatMul): x is cast to bf16: 6.0 us$' err && grep -q '/c (MatMul): its result is cast to f32: 6.0 us$' err && [ "$(grep -c 'is cast to' err)" = 2 ]
ok $? "--why: what each cast takes"
mixed --to bf16 --json f.g >json && grep -q '"before":0.00012,"after":0.000112,' json &&
	grep -q '"casts":\[{"value":"x","to":"bf16","seconds":6e-06,"measured":true},{"value":"c","to":"f32",' json
ok $? "--json: what it gains, and its casts"
timed 'MatMul.f32=0.000001' <tasks
mixed --to bf16 f.g -o same.g 2>err && same_graph low.g same.g
ok $? "a record of less time than any machine takes is not believed"
equal --tol 0.03 low.g f.g
ok $? "it computes the same, nearly"
mixed --to bf16 --keep c f.g -o kept.g 2>err && same_graph f.g kept.g
ok $? "--keep: what is left does not pay"
mixed --to bf16 --error 1 f.g -o all.g 2>err && same_graph low.g all.g
ok $? "--error that all keep to"
cat >e.txt <<X
hone-text 1
module ir=10 opset=28
$(weights f32)
graph main {
  input x: f32[2,4]
  a = MatMul(x, @w)
  d = Round(x)
  c = MatMul(d, @v)
  output y = a
  output z = c
}
X
ge-load e.txt | ge-shape -o e.g
rm -f kb*
timed 'MatMul.bf16=5' 'MatMul.f32=60' 'Cast=1' <<X
$(mixed --to bf16 --tasks e.g)
X
mixed --to bf16 --error 0.0001 --range x=0.1:4 --why e.g 2>err >one.g && grep -q '/c (MatMul): bf16: ' err && grep -q '/a (MatMul): f32: --error leaves no room' err &&
	run-cmp --tol 0.0001 --range x=0.1:4 one.g e.g >log
ok $? "--error: the product that is exact in fewer bits stays so, the other does not"
rm -f kb* && timed 'MatMul.bf16=50' 'MatMul.f32=60' 'Cast=6' <tasks
echo 'MatMul # no' >deny
mixed --to bf16 --deny deny f.g -o kept.g 2>err && same_graph f.g kept.g
ok $? "--deny"
echo 'MatMull' >deny
mixed --to bf16 --deny deny f.g >/dev/null 2>err
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ]
ok $? "a list with a name that is no operator: 65"
mixed --to bf16 --keep nothing f.g >/dev/null 2>err
[ $? = 64 ]
ok $? "--keep of no node: 64"

rm -f kb*
cat >q.txt <<X
hone-text 1
module ir=10 opset=28
const s = f32[] [0.125]
const z = u8[] [128]
const zw = i8[] [0]
$(weights i8)
graph main {
  input x: f32[2,4]
  xq = QuantizeLinear(x, @s, @z)
  xd = DequantizeLinear(xq, @s, @z)
  wd = DequantizeLinear(@w, @s, @zw)
  a = MatMul(xd, wd)
  r = Relu(a)
  aq = QuantizeLinear(r, @s, @z)
  ad = DequantizeLinear(aq, @s, @z)
  vd = DequantizeLinear(@v, @s, @zw)
  c = MatMul(ad, vd)
  cq = QuantizeLinear(c, @s, @z)
  y = DequantizeLinear(cq, @s, @z)
  output y = y
}
X
ge-load q.txt | ge-shape -o q.g
mixed q.g -o same.g 2>err && same_graph q.g same.g
ok $? "a quantised model of which nothing was measured stays so"
mixed --drop --tasks q.g >tasks 2>err
grep -q '^MatMulInteger u8 2x4 i8 4x8c' tasks && grep -qx 'MatMul f32 2x4 4x8c' tasks && grep -q '^QuantizeLinear f32 2x4' tasks
ok $? "its tasks"
timed 'MatMul.f32.*4x8=10' 'MatMulInteger.*4x8=40' 'MatMul.f32=40' 'MatMulInteger=10' 'Quan=1' 'Dequan=1' <tasks
mixed --why q.g 2>err | ge-prune | ge-dump -o mixed.txt
[ "$(grep -c '= QuantizeLinear(' mixed.txt)" = 3 ] && grep -q 'MatMul.*: f32: 40.0 us, 10.0 us in f32' err
ok $? "the layer that is slower in integers is computed in floats, and every quantiser stays"
ge-load mixed.txt | ge-integer | ge-dump | grep -c 'MatMulInteger' | grep -qx 1
ok $? "the other becomes integers"
ge-load mixed.txt -o mixed.g && equal --tol 0 --runs 3 --range x=-12:12 mixed.g q.g
ok $? "it computes the same"
mixed --drop --error 100 --why q.g 2>err | ge-prune | ge-dump -o dropped.txt
[ "$(grep -c '= QuantizeLinear(' dropped.txt)" = 2 ]
ok $? "--drop: a quantiser between two nodes in floats goes"
ge-load dropped.txt -o dropped.g && equal --tol 0.1 --range x=0.5:2 dropped.g q.g
ok $? "it computes the same but for a rounding less"
mixed --drop --error 1e-9 --range x=0.5:2 q.g -o same.g 2>err && same_graph q.g same.g
ok $? "--drop: not where it changes outputs more than --error"
ge-mixed --drop --all high q.g 2>err | ge-prune -o float.g
ge-mixed --drop --target "$row" --range x=0.5:2 q.g -o least.g 2>err && error=$(sed -n 's/.*outputs change by \([^ ]*\) of.*/\1/p' err) &&
	run-cmp --json --tol 9 --range x=0.5:2 float.g q.g >ends.json &&
	awk -v e="$error" 'match($0, /"error": [0-9.e+-]*/) { most = substr($0, RSTART + 9, RLENGTH - 9) } END { exit !(e != "" && e <= 1.001 * most) }' ends.json
ok $? "--drop: never further from the model than all of it in floats"
mixed --to bf16 q.g >/dev/null 2>err
[ $? = 64 ]
ok $? "--to of another type for it: 64"
# A quantiser leaves out the Relu that its range implies: floats keep it.
sed 's/QuantizeLinear(r, /QuantizeLinear(a, /; s/DequantizeLinear(aq, @s, @z)/DequantizeLinear(aq, @s, @lowest)/; s/aq = QuantizeLinear(a, @s, @z)/aq = QuantizeLinear(a, @s, @lowest)/; /r = Relu/d
/^const z = /a const lowest = u8[] [0]' q.txt >implied.txt
ge-load implied.txt | ge-shape -o implied.g && ge-mixed --drop --all high implied.g 2>err | ge-prune -o float.g && ge-dump float.g >float.txt
grep -q 'f32\[\] \[31.875\]' float.txt && [ "$(grep -c '= Clip(' float.txt)" = 3 ] && run-cmp --tol 0.1 --range x=-2:2 float.g implied.g >log 2>err
ok $? "--all high: what the codes of a layer cannot be, its floats are not"
sed 's/ad = DequantizeLinear(aq, @s, @z)/ad = DequantizeLinear(aq, @s2, @z)/; /^const s = /a const s2 = f32[] [0.25]' q.txt >scaled.txt
ge-load scaled.txt | ge-shape -o scaled.g && ge-mixed --drop --all high scaled.g 2>err | ge-prune -o float.g && ge-dump float.g | grep -q 'aq.* = QuantizeLinear(' && run-cmp --tol 0.1 --range x=-2:2 float.g scaled.g >log 2>err
ok $? "what is dequantised by another scale stays quantised"

# QLinearConv, as ONNX Runtime's optimiser writes it, has the choice of the Conv that it stands for.
cat >whole.txt <<'END'
hone-text 1
module ir=8 opset=21
const s = f32[] [0.05]
const z = u8[] [9]
const t = f32[] [0.02]
const o = i8[] [0]
const w = i8[2,2,1,1] [3, -70, 20, 111]
graph main {
  input x: f32[1,2,3,4]
  q = QuantizeLinear(x, @s, @z)
  c = QLinearConv(q, @s, @z, @w, @t, @o, @s, @z)
  y = DequantizeLinear(c, @s, @z)
  output y = y
}
END
ge-load whole.txt | ge-shape -o whole.g && ge-mixed --all high whole.g 2>err | ge-prune -o float.g && ge-dump float.g | grep -q '= Conv(' &&
	! ge-dump float.g | grep -q 'QLinearConv\|const w = i8' && equal --tol 0.1 --runs 3 float.g whole.g # a tie may go apart
ok $? "--all high: QLinearConv is a Conv in floats between codes"

# Times of the groups that the two forms have.
for form in high low; do
	ge-mixed --all $form q.g 2>err | ge-fold | ge-simplify | ge-prune | ge-integer | ge-fuse | ge-layout -o $form.g
done
by_groups() { mixed --high high.g --low low.g "$@"; }
rm -f kb*
by_groups --tasks q.g >tasks 2>err
grep -q '^MatMulInteger .*; QuantizeLinear' tasks && grep -q '^MatMul f32 2x4 4x4c; Relu.*; QuantizeLinear' tasks
ok $? "--high, --low: the tasks are their groups"
by_groups q.g -o same.g 2>err && same_graph q.g same.g
ok $? "of which none was measured: nothing is changed"
timed 'MatMul.f32.*4x8=10' 'MatMulInteger.*4x8=40' 'MatMul.f32=40' 'MatMulInteger=10' 'Quan=1' 'Dequan=1' <tasks
by_groups --why q.g 2>err | ge-prune | ge-dump -o groups.txt
[ "$(grep -c '= QuantizeLinear(' groups.txt)" = 3 ] && grep -q 'MatMul.*: f32: 4[01].0 us, 1[01].0 us in f32' err
ok $? "the choice by their times"
sed -n 's/.*MatMul): //p' err >times.txt
sed 's/a = MatMul/v7 = MatMul/; s/Relu(a)/Relu(v7)/; s/c = MatMul/v1 = MatMul/; s/(c, /(v1, /' q.txt | ge-load | ge-shape -o named.g
for form in high low; do
	ge-mixed --all $form named.g 2>err | ge-fold | ge-simplify | ge-prune | ge-integer | ge-fuse | ge-layout -o named.$form.g
done
mixed --why --high named.high.g --low named.low.g named.g 2>err >named.out.g
[ -s times.txt ] && sed -n 's/.*MatMul): //p' err | cmp -s - times.txt
ok $? "names that streams make up as well: the same times" || diff times.txt err
mixed --high high.g q.g >/dev/null 2>err
[ $? = 64 ]
ok $? "--high without --low: 64"
sed 's/a = MatMul/m = MatMul/; s/Relu(a)/Relu(m)/; s/b = /n = /; s/MatMul(b/MatMul(n/; s/c = /o = /; s/(c)/(o)/; s/y = Soft/p = Soft/; s/= y/= p/' f.txt | ge-load | ge-shape | ge-fuse -o other.g
mixed --high other.g --low other.g q.g >/dev/null 2>err
[ $? = 65 ] && grep -q 'other.g: no group' err
ok $? "groups of another model: 65"
printf 'hone-text 1\nmodule ir=10 opset=21\nconst w = f32[4,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]\ngraph g {\n  input x: f32[9,4]\n  b = MatMul(x, @w)\n  output y = b\n}\n' | ge-load | ge-shape | ge-fuse -o shapes.g
mixed --high shapes.g --low shapes.g q.g >/dev/null 2>err
is "$? $(sed 's/.*shapes.g: \(.*\) is x.*/\1/' err)" "65 it is of another model: input 0" "groups of a model with other inputs: 65"
cat high.g high.g >twice.g && mixed --high twice.g --low low.g q.g >/dev/null 2>err
is "$? $(sed 's/.*twice.g: //' err)" "65 there is more than one model" "two models: 65"
mixed --all middle q.g >/dev/null 2>err
[ $? = 64 ]
ok $? "--all of no form: 64"
mixed --all low --error 0.1 q.g >/dev/null 2>err
is "$? $(wc -l <err)" "64 1" "--all leaves --error nothing to bound"
mixed --error 0.1 q.g >/dev/null 2>err
is "$? $(wc -l <err)" "64 1" "--error is of f16 and bf16"

# What was not measured, by the cost model: a window of 3x3 and many channels, Winograd's in floats, against products of 16 bits.
rm -f kb*
awk 'BEGIN { printf "hone-text 1\nmodule ir=10 opset=28\nconst s = f32[] [0.0625]\nconst z = u8[] [128]\nconst zw = i8[] [0]\nconst w = i8[64,64,3,3] ["
	for (i = 0; i < 36864; i++) printf "%s%d", i ? ", " : "", i * 37 % 201 - 100
	printf "]\ngraph main {\n  input x: f32[1,64,40,40]\n  xq = QuantizeLinear(x, @s, @z)\n  xd = DequantizeLinear(xq, @s, @z)\n"
	printf "  wd = DequantizeLinear(@w, @s, @zw)\n  c = Conv(xd, wd) {pads=[1,1,1,1]}\n  cq = QuantizeLinear(c, @s, @z)\n  y = DequantizeLinear(cq, @s, @z)\n  output y = y\n}\n" }' |
	ge-load | ge-shape -o window.g
predicted() { # OPTION...: of window.g
	for form in high low; do
		ge-mixed -q --all $form "$@" window.g | ge-fold -q | ge-simplify -q | ge-prune -q | ge-integer -q | ge-fuse -q | ge-layout -q -o w.$form.g
	done
	ge-mixed --why --predict "$@" --high w.high.g --low w.low.g window.g 2>err >w.g
}
predicted --target "$row" && grep -q 'Conv): f32: .*, by the cost model' err
ok $? "--predict: what is slower in integers is in floats, and --why says by what"
predicted --target 'cpu=x;features=fma,avx2,avx512,vnni;l1=32K;l2=1024K;l3=8192K' && grep -q 'Conv): u8: .*, by the cost model' err
ok $? "and in integers on a machine that has dot products of bytes"
mixed --predict window.g >/dev/null 2>err
is "$? $(wc -l <err)" "64 1" "--predict knows groups only"
ge-export -q window.g -o window.onnx && HONE_KB=$PWD/none hone build --target x86-64-v3 window.onnx -o qf/q >report 2>err && grep -q '^1 of 1 quantised nodes are in floats.*--integers' report &&
	ge-dump qf/q.d/*-plan.g >plan.txt && grep -q '= Conv(' plan.txt && [ "$(grep -c '= QuantizeLinear(' plan.txt)" = 2 ]
ok $? "hone build computes it in floats, between its two quantisers, and says so"
ge-prune --codes window.g -o codes.g && HONE_KB=$PWD/none hone build -q --target x86-64-v3 codes.g -o qf/codes 2>err && run-cmp --layers --runs 2 qf/codes.so codes.g >cmp.log 2>&1 &&
	grep -q '^cq .*equal$' cmp.log
ok $? "run-cmp --layers: its codes are the nearest" || cat cmp.log
ge-dump codes.g | sed '/ = Conv(/s/pads=\[1,1,1,1\]/pads=[0,1,2,1]/' | ge-load -o other.g && run-cmp --layers qf/codes.so other.g >cmp.log 2>&1
[ $? = 1 ] && grep -q '^cq .*DIFFERENT$' cmp.log && grep -q '^y .*equal$' cmp.log
ok $? "run-cmp --layers: a layer that is wrong is, and not what follows it" || cat cmp.log
for option in --integers --exact; do
	hone build -q $option --target x86-64-v3 window.onnx -o qi/q 2>err && ge-dump qi/q.d/*-plan.g | grep -q '= ConvInteger('
	ok $? "$option: not so"
done
# Codes that cannot saturate need no Clip.
sed 's/r = Relu(a)/r = Sigmoid(a)/; s/aq = QuantizeLinear(r, @s, @z)/aq = QuantizeLinear(r, @unit, @lowest)/; s/ad = DequantizeLinear(aq, @s, @z)/ad = DequantizeLinear(aq, @unit, @lowest)/
/^const z = /a const unit = f32[] [0.00392156862745098]\nconst lowest = u8[] [0]' q.txt >sigmoid.txt
ge-load sigmoid.txt | ge-shape -o sigmoid.g && ge-mixed --drop --all high sigmoid.g 2>err | ge-prune -o float.g && ge-dump float.g >float.txt
[ "$(grep -c '= Clip(' float.txt)" = 2 ] && run-cmp --tol 0.1 --range x=-2:2 float.g sigmoid.g >log 2>err
ok $? "a Sigmoid whose codes are from 0 to 1 is not clipped"

ge-export q.g -o q.onnx && HONE_KB=$PWD/none hone build --quiet --mixed --error 0.5 q.onnx -o q/q 2>err && grep -q . q/q.d/*-mixed.g && equal q/q.so q.onnx --range x=0.5:2
ok $? "hone build --mixed"
HONE_KB=$PWD/tuned hone tune --quiet --mixed --trials 1 --runner fake q.onnx -o qt/q 2>err && grep -q . qt/q.d/*-mixed.g && kb --kb tuned dump 2>/dev/null | grep -q '^task MatMul f32' &&
	equal qt/q.so q.onnx --range x=0.5:2
ok $? "hone tune --mixed: both forms are measured"
done_testing
