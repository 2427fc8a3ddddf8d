# ge-dot: every node is a box, every value a line, whatever the names; groups stand together; a limit keeps what it says.
. "$top/tests/lib.sh"
cat >m.txt <<'END'
hone-text 1
module ir=10 opset=28
const one = f32[] [1]
graph then {
  input a
  t = Neg(a)
  output t = t
}
graph else {
  input a
  output a = a
}
graph group {
  input p: f32[2]
  q: f32[2] = Exp(p)
  r: f32[2] = Sin(q)
  output q = q
  output r = r
}
graph main {
  input x: f32[2]
  input c: bool[]
  "a \"b\" \\n": f32[2] = Add(x, @one)
  q: f32[2], r: f32[2] = hone.Fused("a \"b\" \\n") {graph=graph group picoseconds=12300000} "the group"
  z: f32[2] = If(c, q) {else_branch=graph else then_branch=graph then}
  s: f32[2] = Mul(z, r)
  output s = s
}
END
ge-load m.txt -o m.g && ge-dot m.g >m.dot 2>err
is "$(sed -n 's/^ *\(n[0-9]*\) \[label="\([^"\\]*\).*/\1 \2/p; s/^ *\(n.* -> .*\)/\1/p' m.dot | tr '\n' ';')" \
	"n1 input;n2 input;n3 Add;n4 Exp;n5 Sin;n6 Neg;n7 If;n8 Mul;n9 output;n1 -> n3;n3 -> n4;n4 -> n5;n4 -> n6;n2 -> n7;n4 -> n7;n4 -> n7;n6 -> n7;n7 -> n8;n5 -> n8;n8 -> n9;" \
	"boxes and lines, through bodies and groups"
is "$(grep -A 3 cluster_1 m.dot | tr -d '\n') $(grep -c 'label="Add\\na \\"b\\" \\\\n\\nf32\[2\]"' m.dot)" \
	'  subgraph cluster_1 {    label="the group\n12.3 us"    n4 [label="Exp\nq\nf32[2]"]    n5 [label="Sin\nr\nf32[2]"] 1' "a group, its time, and a name with quotes"
is "$(ge-dot -q --limit 5 m.g | grep -c '^ *n.*label=') $(ge-dot --limit 5 m.g 2>&1 >/dev/null)" "8 ge-dot: 6 nodes, more than --limit=5: each group is one box" \
	"a limit closes groups"
is "$(ge-dot -q --limit 2 m.g | grep -c '^ *n.*label.*\(Add\|Fused\)') $(ge-dot -q --limit 2 m.g | sed -n 's/^  label="\(.*\)"/\1/p')" "2 3 of 6 nodes are not shown" \
	"then keeps the first nodes"
is "$(ge-dot --around 'the group' --steps 1 m.g | sed -n 's/^ *n[0-9]* \[label="\([^"\\]*\).*/\1/p' | tr '\n' ' ')" "Add Exp Sin Neg If Mul " "around a group"
refused 64 "no node, group, input or output 'none'" "around nothing" ge-dot --around none m.g

# ---- the page ----

ge-dot --html m.g >m.html
is "$(grep -c '<g class="node' m.html) $(grep -c '<path ' m.html) $(grep -c '<g class="group"' m.html) $(grep -c '</html>' m.html)" "9 11 1 1" "a page has the same"
"${HONE_PYTHON:-python3}" - m.html 2>err <<'END' && [ ! -s err ]
import json, re, sys
d = json.loads(re.search('id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
assert len(d["items"]) == 10 and len(d["lines"]) == 11, d
assert d["items"][3]["n"] == r'a "b" \n' and d["items"][3]["i"] == ["x: f32[2]", "@one: f32[]"], d["items"][3]
assert d["groups"][1] == {"n": "the group", "t": "12.3 us"} and d["items"][4]["g"] == 1 and d["items"][6]["b"] == "then", d
END
ok $? "and what is known of each node, as JSON"
printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[2]\n  "</script><b>" = Relu(x) {k="<!--"}\n  output y = "</script><b>"\n}\n' |
	sed 's/Relu/a.b/' | ge-load | ge-dot --html -o odd.html
is "$(grep -c '<b>' odd.html) $(grep -c '<!--' odd.html) $(grep -o '</script>' odd.html | wc -l)" "0 0 3" "names are no tags"
ge-dot m.g -o named.html && cmp -s named.html m.html
ok $? "so has a file of that ending"
nothing "nothing comes from elsewhere" "$(grep -oE '(src|href)="[^#][^"]*"|url\([^)]*\)|@import|https?://[^"]*' m.html)"
hone passes -q --set batch=1 --until plan "$top/examples/digits/digits.onnx" -o planned.g && ge-dot --html planned.g >planned.html
is "$(sed -n '/class="arena"/,/<\/svg>/p' planned.html | grep -c '<rect') $(grep -c '^<tr><td' planned.html)" \
	"$(ge-plan --why planned.g 2>&1 >/dev/null | awk '/bytes at/ { n++ } / workspace [1-9][0-9]*$/ { n++ } END { print n }') $(ge-dump planned.g | grep -c hone.Fused)" \
	"a block for each value and workspace of the plan, a row for each group"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
	for width in 390 1280; do
		sed "s|</body>|<script>document.title = 'wide ' + document.documentElement.scrollWidth + ' shown ' + document.querySelectorAll('.part.in .node').length</script>&|" planned.html >seen.html
		timeout 60 "$browser" --headless --no-sandbox --disable-gpu --window-size=$width,900 --dump-dom "file://$PWD/seen.html" >dom.html 2>/dev/null
		sed -n 's/.*<title>wide \([0-9]*\) shown \([0-9]*\).*/\1 \2/p' dom.html >seen
		awk -v most=$width 'NR == 1 && $1 <= (most < 500 ? 500 : most) && $2 > 3 { good = 1 } END { exit !good }' seen
		ok $? "a browser $width wide shows nodes, and nothing beyond its window: $(cat seen)"
	done
else
	skip "a browser shows it" "no chromium"
fi
if command -v dot >/dev/null; then
	dot -Tsvg m.dot >m.svg 2>err && [ "$(grep -c '<g id="node' m.svg) $(grep -c '<g id="edge' m.svg) $(grep -c '<g id="clust' m.svg)" = "9 11 1" ] &&
		grep -q '>a &quot;b&quot; \\n</text>' m.svg
	ok $? "Graphviz draws it"
else
	skip "Graphviz draws it" "no dot (Debian: graphviz)"
fi
done_testing
