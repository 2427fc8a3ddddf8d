# hone advise: models with one cause that takes nearly all of their time, whatever the machine. run-dev --profile is in t-emit.sh.
. "$top/tests/lib.sh"
onnx() { # NAME: what is on standard input as an ONNX file
	ge-load | ge-export -o "$1"
}
cat <<'END' | onnx slow.onnx
hone-text 1
module ir=9 opset=20
graph main {
  input x: f32[4096]
  r = Relu(x) "first"
  t = Cast(r) {to=8} "to <text>"
  y = Cast(t) {to=1} "and back"
  output y = y
}
END
hone advise slow.onnx --seconds 0.1 --report page.html --profile profile.json >out 2>err && [ ! -s err ] && grep -q '^ 1\. slow path: [0-9.]*% of a run; ' out &&
	grep -q ' (Cast): .' out && grep -q '^    try: .*--no-fallback' out
ok $? "the slow path comes first, with the reason" || cat out err
grep -q '<svg' page.html && grep -q 'to &lt;text&gt;\|and back' page.html && ! grep -q '<text>[^<]*Cast\|to <text>' page.html
ok $? "a page, with names as text"
grep -q '"traceEvents"' profile.json
ok $? "--profile"
cat <<'END' | onnx chain.onnx
hone-text 1
module ir=9 opset=20
graph main {
  input x: f32[1000,1000]
  a = Relu(x) "a"
  b = Neg(a) "b"
  c = Floor(b) "c"
  p = ReduceMax(a)
  q = ReduceMax(b)
  output p = p
  output q = q
  output c = c
}
END
hone advise chain.onnx --seconds 0.1 --json >out 2>err && [ ! -s err ] && grep -q '"name":"chain"' out && grep -q '"node":"b","ops":"Neg"' out
ok $? "elementwise steps that were not joined" || cat out err
hone build -q slow.onnx -o lib.so && [ -e lib.so ] && [ ! -e lib.so.so ] && hone advise lib.so --seconds 0.1 >out 2>err && [ ! -s err ] && grep -q '^ 1\. slow path' out
ok $? "of a library; -o may name it with its ending" || cat out err
cat <<'END' | onnx open.onnx
hone-text 1
module ir=9 opset=20
symbol n 1 inf
graph main {
  input x: f32[n,64]
  y = Softmax(x) {axis=1} "soft"
  output y = y
}
END
hone advise open.onnx 2>err
[ $? = 64 ] && grep -q 'hone advise open.onnx --set n=' err
ok $? "open sizes are asked for"
hone build -q open.onnx -o open && hone advise open.so --set n=300 --seconds 0.1 >out 2>err && grep -q '^Steps of open sizes take ' out
ok $? "a library of open sizes"
cat <<'END' | ge-load >branch.g
hone-text 1
module ir=9 opset=20
graph yes {
  input x: f32[64,64]
  y = MatMul(x, x) "product"
  output y = y
}
graph no {
  input x: f32[64,64]
  y = Neg(x)
  output y = y
}
graph main {
  input c: bool[]
  input x: f32[64,64]
  y = If(c, x) {captures=1 else_branch=graph no then_branch=graph yes} "branch"
  output y = y
}
END
hone build -q branch.g -o branch && run-dev --bench --seconds 0.01 --kernels --json branch.so >out && grep -q '"kernel":"flow","node":"branch"[^}]*"flop":0[,}]' out &&
	grep -q '"node":"product"[^}]*"flop":524288[,}]' out
ok $? "what the bodies of a branch compute is not counted twice" || cat out
refused 66 none.onnx "no such model: 66" hone advise none.onnx
refused 64 'which model' "no model: 64" hone advise
refused 74 none/p.html "a page that cannot be written: 74" hone advise lib.so --seconds 0.01 --report none/p.html
done_testing
