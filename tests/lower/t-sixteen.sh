# Random nodes of bf16 and f16 against the evaluator, where an instruction sums products of bf16, where none does, and in vectors of 32 bytes.
. "$top/tests/lib.sh"
unset HONE_TARGET

# nodes TYPE SEED: convolutions of one to three axes, products and windows, each of an input of its own.
nodes() {
	awk -v t="$1" -v seed="$2" '
	function pick(lo, hi) { return lo + int(rand() * (hi - lo + 1)) }
	function tensor(name, dims, n,   i, s) {
		s = "const " name " = " t "[" dims "] ["
		for (i = 0; i < n; i++) s = s (i ? ", " : "") (pick(0, 64) - 32) / 32
		const = const s "]\n"
	}
	function add(dims, node) {
		inputs = inputs "  input x" k ": " t "[" dims "]\n"
		after = pick(0, 4)
		body = body "  z" k " = " node "\n  y" k " = " (after == 0 ? "Clip(z" k ", @lo, @hi)" : after == 1 ? "Abs(z" k ")" : after == 2 ? \
			"Relu(z" k ")" : after == 3 ? "Sigmoid(z" k ")" : "Identity(z" k ")") "\n"
		outputs = outputs "  output y" k " = y" k "\n"
		k++
	}
	function window(name, axes,   d, kernel, pads, strides, dil, attrs, n, size, taps, dims) {
		taps = 1
		for (d = 0; d < axes; d++) {
			n = pick(1, axes == 3 ? 3 : 5); taps *= n
			kernel = kernel (d ? "," : "") n
			size = pick(n + (n - 1) * (name == "Conv"), axes == 3 ? 7 : 19); dims = dims "," size
			pads = pads (d ? "," : "") (pad = pick(0, n - 1))
			strides = strides (d ? "," : "") pick(1, 3)
			dil = dil (d ? "," : "") (name == "Conv" ? pick(1, 2) : 1)
		}
		attrs = "pads=[" pads "," pads "] strides=[" strides "]" (name == "AveragePool" ? "" : " dilations=[" dil "]")
		if (name != "Conv") { add("1," pick(1, 40) dims, name "(x" k "){kernel_shape=[" kernel "] " attrs "}"); return }
		groups = pick(0, 2) ? 1 : pick(2, 40); per = groups > 1 && pick(0, 1) ? 1 : pick(1, groups > 1 ? 5 : 40)
		out = groups > 1 ? groups * pick(1, 2) : pick(1, 40)
		tensor("w" k, out "," per "," kernel, out * per * taps); tensor("b" k, out, out)
		add(pick(1, 2) "," groups * per dims, "Conv(x" k ", @w" k ", @b" k "){" attrs " group=" groups "}")
	}
	BEGIN {
		srand(seed)
		const = "const lo = " t "[] [-0.5]\nconst hi = " t "[] [2]\n"
		for (i = 0; i < 12; i++) window("Conv", 1 + i % 3)
		for (i = 0; i < 4; i++) window(i % 2 ? "MaxPool" : "AveragePool", 2)
		for (i = 0; i < 4; i++) {
			inner = pick(1, 70); n = pick(1, 70)
			tensor("w" k, inner "," n, inner * n)
			add(pick(1, 9) "," inner, "MatMul(x" k ", @w" k ")")
		}
		add(pick(1, 5) "," pick(1, 70), "ReduceMax(x" k "){keepdims=0}")
		add("1," pick(1, 40) "," pick(1, 9) "," pick(1, 9), "GlobalMaxPool(x" k ")")
		printf "hone-text 1\nmodule ir=10 opset=28\n%sgraph main {\n%s%s%s}\n", const, inputs, body, outputs
	}'
}

# agree WHAT TYPE SEED TARGET
agree() {
	nodes "$2" "$3" >n.txt && ge-load n.txt | ge-shape | ge-fuse | ge-layout -o n.g && ge-plan --quiet --target "$4" n.g 2>err |
		ge-emit --quiet --no-fallback --target "$4" -o lib - 2>>err && equal --tol 0.012 lib.so n.g
	ok $? "$1, $2, seed $3" || sed 's/^/# /' err cmp.log
}
: >none
export HONE_RATES=$PWD/none
for seed in 1 2 3; do
	agree "as this machine is" f16 $seed native
	agree "as this machine is" bf16 $seed native
done
agree "32 bytes" f16 4 x86-64-v3
agree "32 bytes" bf16 4 x86-64-v3
# What only chooses among such numbers is rounded once, when it is stored.
printf 'hone-text 1\nmodule ir=10 opset=28\nconst lo = f16[] [0]\nconst hi = f16[] [6]\ngraph main {\n  input x: f32[64,64]\n%s}\n' '  e = Exp(x)
  c = Cast(e){to=10}
  r = Clip(c, @lo, @hi)
  y = Abs(r)
  output y = y
' >once.txt
ge-load once.txt | ge-shape | ge-fuse | ge-layout | ge-plan --quiet --target x86-64-v3 2>err | ge-emit --quiet --target x86-64-v3 -o once - 2>>err
sed -n '/KERNEL void k00(.*)$/,/^}/p' once.c >kernel.c
grep -q 'vstore_f16(' kernel.c && ! grep -q 'vround_f16(' kernel.c
ok $? "rounded once" || sed 's/^/# /' err kernel.c
grep -q ' avx512_bf16 ' /proc/cpuinfo || skip_all "by the instruction" "no AVX512_BF16 here"
HONE_RATES=$PWD/some run-dev --probe --force --json --seconds 0.1 >/dev/null && sed 's/;rates=.*/;rates=fma512:100,vdpbf16ps:200/' some >rates
export HONE_RATES=$PWD/rates
for seed in 1 2 3 5 6 7; do
	agree "by the instruction" bf16 $seed native
	grep -q 'vdpbf16ps(' lib.c && grep -q ': spread, bf16' lib.c
	ok $? "channels of an odd number, too"
done
done_testing
