# The JSON form: ge-load reads what ge-dump --json prints to the same bytes, with keys in any order too, and says what is wrong with it.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
for f in "$top"/tests/passes/fold/*.txt "$top"/tests/passes/deadedge/*.txt; do ge-load "$f" | ge-dump; done >all.txt
ge-load all.txt -o all.g
is "$(ge-dump --json all.g | ge-load -o back.g && cmp all.g back.g && ge-dump all.g | grep -c '^hone-text')" "$(grep -c '^hone-text' all.txt)" "modules of all kinds, the same bytes"
ge-load -o odd.g - <<'END'
hone-text 1
module ir=8 opset=17
meta "a = \"b\"" = "c \x01\n"
symbol "n s" 1 inf step 4
const "two words" = f32[2] [1.5, -0.25]
graph main {
  input "an input": f32["n s",2]@"1 0"
  "a \\ b", - = my.Op("an input", -, @"two words") {s="x = {y}" t=f32[] [1] v=[1,2]} "its \"name\""
  output y = "a \\ b"
}
END
ok $? "a module with names of every kind"
is "$(ge-dump --json odd.g | ge-load -o back.g && cmp odd.g back.g && echo same)" same "and its bytes"
if command -v jq >/dev/null; then
	is "$(ge-dump --json odd.g | jq -S . | ge-load -o back.g && cmp odd.g back.g && echo same)" same "keys in another order"
	is "$(ge-dump --json odd.g | jq '.graphs[0].nodes[0].op = "my.Other"' | ge-load | ge-dump | grep -c 'my.Other(')" 1 "changed by jq"
else
	skip "keys in another order, changed by jq" "no jq"
fi
wrong() { # MESSAGE JSON
	printf '%s' "$2" >wrong.json
	is "$(rc ge-load wrong.json -o never.g) $(cat err)$(ls never.g 2>/dev/null)" "65 ge-load: wrong.json:$1" "refused: $2"
}
wrong '12: no JSON: it stops in the middle' '{"hone-json"'
wrong '15: "hone-json": 1 wanted' '{"hone-json": 2}'
wrong '9: another key wanted' '{"nodes": []}'
wrong '34: a string wanted' '{"hone-json":1,"graphs":[{"name":7}]}'
wrong '43: a string of one line wanted' '{"hone-json":1,"graphs":[{"name":"main {\n"}]}'
wrong "2: a module without a graph" '{"hone-json":1}'
done_testing
