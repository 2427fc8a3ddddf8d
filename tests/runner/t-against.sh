# run-dev --against: a library that multiplies once against one that does it eight times; libraries that are not alike.
. "$top/tests/lib.sh"
export HONE_BLOBS=$PWD/blobs

library() { # NAME WIDTH COUNT: a library of so many products
	{
		printf 'hone-text 1\nmodule ir=10 opset=28\nconst w = f32[%d,%d] [%s]\n' "$2" "$2" \
			"$(awk -v n="$2" 'BEGIN { for (i = 0; i < n * n; i++) printf "%s%g", (i ? ", " : ""), (i % 7 - 3) / n }')"
		printf 'graph main {\n  input v0: f32[16,%d]\n' "$2"
		for i in $(seq "$3"); do printf '  v%d = MatMul(v%d, @w)\n' "$i" "$((i - 1))"; done
		printf '  y = Relu(v%d)\n  output y = y\n}\n' "$3"
	} | ge-load | ge-shape | ge-fuse | ge-layout | ge-plan -q | ge-emit -q -o "$1"
}
library one 64 1 && library eight 64 8 && library narrow 32 1
prepared $? "three libraries"
verdict() { awk -v v="$1" -v lo="$2" -v hi="$3" '$1 == v ":" && $2 >= lo && $2 <= hi && /of its time, [0-9]+ pairs$/ { good = 1 } END { exit !good }' out; }
run-dev --seconds 0.5 --against one.so eight.so >out 2>err && verdict slower 2 20
ok $? "eight products against one: $(cat out)"
run-dev --seconds 0.5 --against eight.so one.so --cold-weights 2 >out 2>err && [ ! -s err ] && verdict faster 0.05 0.5
ok $? "one against eight, with weights that move: $(cat out)"
run-dev --seconds 0.5 --against eight.so one.so --json >out 2>err && grep -qE '^\{"verdict":"faster","ratio":0\.[0-9]+,"lo":.*,"hi":.*,"samples":"[0-9]+/[0-9]+ .*[0-9]"\}$' out
ok $? "as JSON"
refused 65 narrow.so "other inputs" run-dev --against one.so narrow.so
refused 66 none.so "a base that is not there" run-dev --against none.so one.so
refused 64 --against "with --bench" run-dev --against one.so eight.so --bench
refused 64 --cold-weights "weights that move, alone" run-dev --cold-weights 2 one.so -o out.npy
done_testing
