# Products of pairs of rows by the target's instruction: in the C where it fits and rates do not say that it is slower.
. "$top/tests/lib.sh"
unset HONE_TARGET
# product ROWS K COLUMNS LEFT RIGHT NODE: as m.g
product() {
	awk -v k="$2" -v n="$3" -v rows="$1" -v a="$4" -v b="$5" -v node="$6" 'BEGIN {
		print "hone-text 1\nmodule ir=10 opset=28\nsymbol m 0 inf"
		printf "const w = %s[%d,%d] [", b, k, n
		for (i = 0; i < k * n; i++) printf "%s%d", i ? ", " : "", i * 37 % 255 - (b == "u8" ? 0 : 127)
		printf "]\ngraph main {\n  input x: %s[%s,%d]\n  y = %s(x, @w)\n  output y = y\n}\n", a, rows, k, node
	}' | ge-load | ge-shape | ge-fuse | ge-layout -o m.g
}
# takes CALL [RATES [MORE FEATURES [FEATURES]]]: its C has this call
takes() {
	row="cpu=x;arch=arm;features=${4-dotprod,fp16,i8mm,bf16}${3-};l1=64K;l2=1024K${2:+;rates=$2}"
	ge-plan --target "$row" m.g 2>err | ge-emit --quiet --no-compile --target "$row" -o m - >log 2>&1 && grep -q "= $1(" m.c
}

product 13 40 27 u8 i8 MatMulInteger
takes vusmmla && grep -q 'vusmmla(.*, 2);' m.c && grep -q 'vusmmla(.*, 1);' m.c
ok $? "pairs of rows, and the last row alone"
takes vusmmla '' ,sve256
ok $? "in longer vectors"
takes vusmmla fma128:40,usdot:160,usmmla:320 && takes vusdot fma128:40,usdot:160,usmmla:160
ok $? "where rates say that it is faster"
product 13 37 27 u8 i8 MatMulInteger
takes vusmmla && ! grep -q vusdot m.c
ok $? "no whole groups: zeros behind them"
product m 40 27 u8 i8 MatMulInteger
takes vusmmla && grep -q 'vusmmla(.*, 1);' m.c
ok $? "rows that are open"
product 13 4 27 u8 i8 MatMulInteger
takes vusdot && ! grep -q vusmmla m.c
ok $? "one group of the dot product: no pair takes fewer steps"
product 1 40 27 u8 i8 MatMulInteger
takes vusdot && ! grep -q vusmmla m.c
ok $? "one row: the dot product"
product 37 64 48 u8 u8 MatMulInteger
takes vsdot '' '' dotprod
ok $? "u8 by u8, whose codes the sum for the zero points reads, too"
product 9 64 24 bf16 bf16 MatMul
takes vbfmmla fma128:40,bfdot:80,bfmmla:160 && takes vbfdot fma128:40,bfdot:80,bfmmla:80 && takes vbfdot fma128:40,bfdot:80
ok $? "of bf16: where it is known to be faster"
product 9 66 24 bf16 bf16 MatMul
takes vbfmmla fma128:40,bfdot:80,bfmmla:160 && ! grep -q vbfdot m.c && takes vbfdot fma128:40,bfdot:80,bfmmla:80
ok $? "of bf16 without whole groups"
product 9 33 24 bf16 bf16 MatMul
takes vbfdot fma128:40,bfdot:80 && takes vbfmmla fma128:40,bfdot:80,bfmmla:160
ok $? "and of an odd number of products"
product 9 64 24 bf16 bf16 MatMul
takes vbfmmla fma512:40,bfdot512:80,bfmmla512:160 ,sve512
ok $? "in longer vectors"
done_testing
