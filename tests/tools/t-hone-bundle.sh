# hone bundle: a folder that is copied elsewhere, and checks itself there.
. "$top/tests/lib.sh"
printf 'hone-text 1\nmodule ir=10 opset=20\nsymbol batch 0 inf\nconst w = f32[4,2] [1, -2, 3, 4, -5, 6, 7, 8]\ngraph main {\n  input x: f32[batch,4]\n  y = MatMul(x, @w)\n  z = Sigmoid(y)\n  k = ArgMax(y) {axis=1 keepdims=0}\n  output z = z\n  output k = k\n}\n' |
	ge-load -o net.g
for sizes in --set=batch=3 --embed; do # one size in a file of weights; open sizes without a file
	rm -rf "away from home"
	hone bundle net.g $sizes -o made >out 2>err && mv made "away from home" && make -s -C "away from home" check >log 2>err
	is "$? $(grep -c ': equal$' log) $(tail -1 log)" "0 6 the model computes here what it should" "$sizes: the check passes in another place"
done
make -s -C "away from home" source >log 2>err && make -s -C "away from home" verify >>log 2>err && [ "$(tail -1 log)" = "the model computes here what it should" ]
ok $? "compiled from its C there, and the digests fit"
is "$(make -s -C "away from home" check RUN="echo by")" "by ./selfcheck" "an emulator may run it"
printf '\0\0\200\077' | dd of="away from home/samples/0.outputs.0" conv=notrunc 2>/dev/null
make -s -C "away from home" check >log 2>err
is "$? $(grep -c DIFFERENT log) $(grep -c NOT log)" "2 1 1" "another expected number is seen"
! make -s -C "away from home" verify >log 2>&1 && grep -q 'samples/0.outputs.0: FAILED' log
ok $? "and its digest"
# Without an operating system: the same numbers, in the memory that it says; by an emulator where one is.
while read -r target model runner compiler; do
	command -v "${compiler%% *}" >/dev/null && command -v "$runner" >/dev/null || { skip "bare: $target" "no $compiler or $runner"; continue; }
	rm -rf bare
	hone bundle --freestanding "$model" --set batch=1 --target "$target" -o bare >out 2>err && make -s -C bare check "RUN=$runner" >log 2>&1
	is "$? $(grep -c ': equal$' log) $(grep -c 'calls nothing' out) $(nm -u bare/selfcheck | wc -l)" "0 $([ "$model" = net.g ] && echo 6 || echo 3) 1 0" "bare: $target"
	nm -t d -S bare/model.a | awk -v said="$(sed -n 's/.*RAM \([0-9]*\) bytes.*/\1/p' out)" '$3 ~ /[bBdD]/ { n += $2 } END { exit said < n || said > n + 64 }'
	ok $? "its memory is what it says: $(cat out)"
	awk '/^stack: / { n += $2 <= $5 && $5 < 2 * $2 + 400 } END { exit n != 1 }' log
	ok $? "its stack is as deep as counted: $(grep '^stack: ' log)"
done <<-END
	native net.g env ${CC:-gcc}
	aarch64 $top/examples/digits/digits.onnx qemu-aarch64 aarch64-linux-gnu-gcc
END
refused 69 "a size is known only in a run" "open sizes" hone bundle --freestanding net.g -o bare
printf 'hone-text 1\nmodule ir=10 opset=20\ngraph main {\n  input x: str[2]\n  y = Identity(x)\n  output y = y\n}\n' | ge-load -o text.g
refused 69 "is no tensor of numbers" "strings" hone bundle -q text.g -o text
done_testing
