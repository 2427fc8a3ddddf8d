# What tune-op says at the end: a table, JSON, a page; with a runner that only pretends.
. "$top/tests/lib.sh"
command -v python3 >/dev/null && python=python3 || python=
HONE_KB=$PWD/kb
export HONE_KB
hone passes -q --set batch=1 --until layout "$top/examples/digits/digits.onnx" -o m.g
check() { # WHAT COMMAND...
	what=$1
	shift
	if "$@"; then ok 0 "$what"; else ok 1 "$what"; fi
}

tune-op --runner fake --trials 12 --report page.html m.g -o tuned.g >table 2>err
check "a line a task" test "$(grep -c '^[A-Z][A-Za-z]* .*\(faster\|default\)' table)" = 6
check "totals say over what" grep -q 'of 6 tasks faster; counted are the 6 timed ones, 100.0% of the work' table
check "where the time went" grep -q 'generate .* search .* wait .*; on the runners: compile .*, run ' table
check "what is faster is in words" grep -q '^    .*in registers' table
check "no table with --quiet" test -z "$(tune-op --quiet --runner fake --trials 12 m.g -o again.g)" -a -s again.g

is "$(grep -o 'Whole model, predicted from its tasks' page.html) $(grep -c "<code>$(ge-stat --digest m.g)<" page.html) $(grep -c '<code>tune-op --runner fake --trials 12 --report page.html m.g -o tuned.g<' page.html)" \
	"Whole model, predicted from its tasks 1 1" "the page says what is predicted, for which graph, by which command"
check "the page has a curve a task" test "$(grep -c '<path ' page.html)" = 6
check "and a row a task" test "$(grep -c '^<tr><td>' page.html)" = 6
check "it needs nothing from elsewhere" test "$(grep -c 'http\|<script\|<link\|src=' page.html)" = 0
tune-op --runner fake --trials 12 --json m.g -o json.g >result.json 2>err
check "the graph is the same" cmp -s tuned.g json.g
if [ "$python" ]; then
	check "the page's tags fit" $python - page.html <<-'END'
		import html.parser, sys
		class P(html.parser.HTMLParser):
		    stack = []
		    def handle_starttag(self, tag, attrs):
		        if tag not in ("meta", "br"): self.stack.append(tag)
		    def handle_endtag(self, tag):
		        assert self.stack.pop() == tag, tag
		p = P()
		p.feed(open(sys.argv[1]).read())
		assert not p.stack
	END
	check "JSON: totals are sums, ratios have intervals" $python - <<-'END'
		import json
		r = json.load(open("result.json"))
		t = r["tasks"]
		assert len(t) == 6 and r["totals"]["tasks"] == 6
		before = sum(x["calls"] * x["before"] for x in t)
		after = sum(x["calls"] * x["before"] * (x["ratio"] or 1) for x in t)
		assert abs(before - r["totals"]["before"]) < 1e-6 * before and abs(after - r["totals"]["after"]) < 1e-6 * after
		core, memory = (lambda x: x["flops"] / x["after"] / r["peak"]), (lambda x: x["bytes"] / x["after"] / r["memory_rate"])
		assert all(abs(x["reached"] - (memory if x["bound"] == "memory" else core)(x)) < 1e-6 * x["reached"] for x in t)
		assert all(x["bound"] == ("cache" if memory(x) > 1 else "memory" if memory(x) > core(x) else "core") for x in t)
		assert all(x["lo"] <= x["ratio"] <= x["hi"] for x in t if x["ratio"])
		assert sum(1 for x in t if x["ratio"]) == r["totals"]["faster"] > 0
		assert all(x["trace"].startswith("# trace 1 ") for x in t if x["ratio"])
		assert all(x["curve"] == sorted(x["curve"], reverse=True) for x in t)
	END
else
	skip "the page and the JSON as a program reads them" "no python3"
fi
hone passes -q --set batch=2 --until layout "$top/examples/digits/digits.onnx" -o n.g
cat m.g n.g >both.g
tune-op --quiet --runner fake --trials 3 --report both.html both.g -o never.g
check "a stream of two models: one page with both" test "$(grep -c '<h1>' both.html) $(grep -c '^<tr><td>' both.html) $(grep -c '</html>' both.html)" = "2 12 1"
tune-op --dump both both.g
check "and one list of tasks" test "$(wc -l <both/tasks.txt)" = 12
mkdir dir
tune-op --quiet --runner fake --trials 1 --kb page.kb --report dir m.g -o never.g 2>err
check "a page that cannot be written: 74, one line, before the work" test "$? $(wc -l <err) $(ls page.kb 2>&1 | grep -c cannot)" = "74 1 1"

# What was not tried is not said to have been.
said() { tune-op --runner fake --kb none.kb --task "$1" 2>&1 >/dev/null; }
check "a task that has no kernel: why" test "$(said 'MatMul f32 0x5 5x3c' | grep -c 'not tuned: .*its result has no elements')" = 1
check "a task that has one schedule" test "$(said 'Add i64 16x33 16x33' | grep -c 'there is no other schedule')" = 1
tune-op --runner fake --trials 0 --kb none.kb m.g -o none.g >table 2>err
check "no trials: not tuned" test "$(grep -c ' not tuned  *0$' table) $(grep -c 'none of 6 tasks has been timed' table err)" = "6 table:1
err:1"

# A terminal shows how far it is, in one line of it.
if has_terminal; then
	NO_COLOR=1 script -qec 'stty cols 60; tune-op --seconds 2 --kb term.kb m.g -o term.g' /dev/null </dev/null | tr '\r' '\n' | grep -a '^tuning' >drawn
	check "progress: a bar, tasks, trials, best, gain: $(tail -1 drawn)" grep -q '^tuning \[[#-]*\] [0-9]/6 tasks, [0-9]* trials, best [01]\.' drawn
	check "in no more columns than there are" test -s drawn -a "$(awk 'length > 59' drawn | wc -l)" = 0
	NO_COLOR=1 script -qec 'stty cols 120; tune-op --trials 1 --seconds 1000 --only MaxPool --only Gemm --kb term.kb m.g -o term.g' /dev/null </dev/null | tr '\r' '\n' | grep -a '^tuning' >drawn
	check "and the time that is left: $(tail -1 drawn)" test "$(grep -c 'model -*[0-9.]*%, [0-9]* s left' drawn)" -gt 0 -o ! -s drawn -a -s term.g
else
	skip "progress on a terminal" "no script, or no terminals"
fi
done_testing
