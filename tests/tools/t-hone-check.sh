# hone build --check: the library against the model, and a build whose numbers are wrong.
. "$top/tests/lib.sh"
. "$top/tests/tools/planted.sh"
net=$top/examples/digits/digits.onnx
hone build --check "$net" --set batch=1 -o net >out 2>err
is "$? $(grep -c '^checked: the numbers of the model on 10 random inputs; at most, logits differs by [0-9.e-]* of its largest element (0.0001 allowed)$' out)" "0 1" \
	"a library computes what its model does: $(grep '^checked' out)"
hone build --dry-run --json "$net" --set batch=1 -o dry >out 2>err
is "$? $(grep -c '"as": "kernel"' out) $(grep -c '"coverage": {"kernels": 6, "native": 0, "slow_path": 0' out) $(ls | grep -c dry)" "0 6 1 0" "--dry-run compiles nothing"
printf 'hone-text 1\nmodule ir=10 opset=20\ngraph main {\n  input x: f32[4]\n  a = Exp(x)\n  b = Neg(a)\n  y = Abs(b)\n  output y = y\n}\n' | ge-load -o three.g
hone build -q three.g --outputs a,b -o three && run-dev three.so --outputs y,a -o some.npz && run-ref three.g -o y.npz
is "$? $(grep -ao "[a-z]\.npy" some.npz | sort -u | tr "\n" " ")" "0 a.npy y.npy " "--outputs: values within a model are kept, and some are written"
hone build -q three.g -o plain
refused 64 "--outputs a: the library has no such output; a value within the model is kept by hone build --outputs" "a value that is not kept" run-dev plain.so --outputs a -o a.npz
refused 64 "--outputs c: no value of the main graph has that name" "no such value" hone build -q three.g --outputs c -o none
planted ge-simplify '/= Relu\(/ && !n++ { sub(/= Relu/, "= Softplus") } { print }'
refused 1 "the library does not compute what the model does: logits differs by" "a rule made wrong" planted/hone build -q --check "$net" --set batch=1 -o bad
done_testing
