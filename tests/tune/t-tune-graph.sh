# tune-graph: segments and their texts, what is tried and kept, going on, a winner that is applied, bad input.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
export HONE_KB=$PWD/kb

hone passes -q --set batch=1 --until integer "$model" -o m.g && ge-fuse m.g | ge-layout -o usual.g
prepared $? "a model"

tune-graph --segments m.g >segments && [ -s segments ] && ! grep -v '^[A-Z].*; ' segments
ok $? "segments are tasks of several nodes"
while read -r text; do tune-graph --trials 0 --segment "$text" || echo failed; done <segments >out 2>err && [ ! -s out ]
ok $? "their texts are read back"

# What is tried is recorded, and the same command again has nothing left to do. The numbers stay.
tune-graph --trials 1 --why m.g -o tuned.g 2>why && grep -q "of $(wc -l <segments)" why && equal tuned.g m.g
ok $? "a model is tuned"
kb dump >one && grep -q '^kind graph$' one && grep -q '^plan [0-9]' one && grep -q '^trials 1$' one
ok $? "records of kind graph"
is "$(grep -c '^expected-by ' one) $(awk '$1 == "expected-by" && $2 == 0' one | wc -l)" "$(grep -c '^expected [0-9]' one) 1" "what was expected: of the first by the cost model alone, of others by what was timed"
tune-graph --trials 1 m.g -o again.g 2>err && cmp tuned.g again.g && kb dump | cmp - one
ok $? "again: the same result, nothing is timed"
ge-check -q tuned.g && ge-schedule -q tuned.g | ge-plan -q | ge-emit -q -o lib && equal lib.so m.g
ok $? "it is compiled, and computes the same"

# A record of a choice that won, as another run of tune-graph would have written it.
awk 'BEGIN { RS = ""; FS = "\n" }
	/\nverdict/ && /how [^\n]*apart/ && !done {
		print "hone-kb 1\nrecord"
		for (i = 2; i <= NF; i++) if ($i !~ /^(record|samples|ratio|lo|hi|mean|seal|verdict|why) /) print $i
		print "verdict faster\nratio 0.5\nlo 0.5\nhi 0.5\nmean 0.5\n"
		done = 1
	}' one >won
kb put --kb won.kb <won >out 2>err && HONE_KB=won.kb tune-graph --trials 0 --write-plan won.plan m.g -o won.g 2>err && grep -q ': 0.500 of the usual time: .* apart' err
ok $? "a choice that won before is taken"
! same_graph won.g usual.g && equal won.g m.g
ok $? "there are other groups, and the same numbers"
ge-fuse m.g | ge-fuse --undo -o plain.g && ge-fuse --plan won.plan plain.g | ge-layout -o by-plan.g && same_graph by-plan.g won.g
ok $? "--write-plan is what ge-fuse reads"

# Values between groups that stay row-major: in a record, in a plan, and on the nodes, so that ge-layout leaves them another time.
awk 'BEGIN { RS = ""; FS = "\n" }
	/\nverdict/ && /\nplan / && /@0,2,3,1/ && /how [^\n]*(apart|with)/ && !done {
		print "hone-kb 1\nrecord"
		for (i = 2; i <= NF; i++) { if ($i ~ /^base /) base = substr($i, 6); if ($i !~ /^(record|samples|ratio|lo|hi|mean|seal|verdict|why|plan|how|expected|expected-by|predicted) /) print $i }
		print "plan row-major " base "\nhow row-major between groups\nverdict faster\nratio 0.6\nlo 0.6\nhi 0.6\nmean 0.6\n"
		done = 1
	}' one >rows && kb put --kb rows.kb <rows 2>err && HONE_KB=rows.kb tune-graph --trials 0 --write-plan rows.plan m.g -o rows.g 2>err && grep -q ': 0.600 of the usual time: row-major between groups' err
ok $? "a record of another layout"
grep -q '^row-major ' rows.plan && ge-fuse --plan rows.plan plain.g | ge-layout -o by-plan.g && same_graph by-plan.g rows.g && ! same_graph rows.g usual.g
ok $? "it is in the plan"
ge-fuse rows.g | ge-layout -o again.g && same_graph again.g rows.g && equal rows.g m.g
ok $? "and stays when layouts are chosen again; the numbers are the same"
ge-layout --why rows.g 2>&1 >/dev/null | grep -q 'stays row-major: .*group'
ok $? "ge-layout says why"
HONE_KB=none tune-graph --trials 0 m.g -o none.g 2>err && same_graph none.g usual.g
ok $? "without records the groups are the usual ones"

# A group that uses one thread: in a record of two threads, in a plan; of one thread it is another task.
sed 's/^task /&2 threads: /; s/^\(plan [0-9 ]*\)/\1 by 1/' won >few && kb put --kb few.kb <few 2>err && HONE_KB=few.kb tune-graph --threads 2 --trials 0 --write-plan few.plan m.g -o few.g 2>err
is "$? $(grep -c '^threads 1 group ' few.plan) $(grep -c 'of the usual time' err)" "0 1 1" "a record of fewer threads is in the plan"
ge-dump few.g | grep -q 'threads=1' && ge-plan -q --threads 2 few.g | ge-emit -q -o few && equal few.so m.g && HONE_KB=few.kb tune-graph --trials 0 m.g -o none.g 2>err && same_graph none.g usual.g
ok $? "it is compiled, and computes the same; by one thread the groups are the usual ones"

# Layouts at a cut: two segments with row-major ends were timed to be faster. One of them alone is none that fits.
measured() { awk -v rows="$1" 'BEGIN { RS = ""; FS = "\n" }
	/\nsamples/ && !/\nremeasurement/ {
		print "hone-kb 1\nrecord"
		for (i = 2; i <= NF; i++) {
			if (rows) { sub(/^samples .*/, "samples 1000/1000 1000/1000", $i); if ($i ~ /^task /) { sub(/ -> %[0-9]+@0,2,3,1$/, "", $i); sub(/@0,2,3,1/, "", $i) } }
			sub(/^verdict .*/, "verdict tie", $i)
			if ($i !~ /^(record|seal|mean|remeasurements) /) print $i
		}
		print ""
	}' one; }
{ measured 0; measured 1 | awk 'BEGIN { RS = "" } NR == 1 { print $0 "\n" }'; } | kb put --here --kb turned.kb 2>err
HONE_KB=turned.kb tune-graph --cold-weights 0 --trials 0 m.g -o turned.g 2>err && same_graph turned.g usual.g
ok $? "the best of one segment is not that of the model"
measured 1 | kb put --here --kb turned.kb 2>err
HONE_KB=turned.kb tune-graph --cold-weights 0 --trials 0 --write-plan turned.plan m.g -o turned.g 2>err && equal turned.g m.g
is "$? $(grep -c '^row-major ' turned.plan) $(grep -c '1 of 1 cuts pass images row-major' err)" "0 1 1" "both are taken"

# The page: each segment, and a second picture of the one that has other groups.
HONE_KB=won.kb tune-graph --trials 0 --report page.html --title digits m.g -o reported.g 2>err && same_graph reported.g won.g
is "$(grep -c '^<svg ' page.html) $(grep -c '^<h2>Segment' page.html) $(grep -c '<figcaption>after: 0.500 of that time' page.html) $(grep -c 'http\|<script\|<link\|src=' page.html)" \
	"$(($(wc -l <segments) + 1)) $(wc -l <segments) 1 0" "a picture a segment, and one of the groups that it has now"
is "$(grep -c '<h1>Groups of digits</h1>' page.html) $(grep -o 'class="op"' page.html | wc -l)" "1 $(($(grep -o '; ' segments | wc -l) + $(wc -l <segments) + $(sed -n 's/^task //p' won | grep -o '; ' | wc -l) + 1))" "with all its nodes"
tune-graph --trials 1 --report tried.html m.g -o reported.g 2>err
is "$(grep -c '^<tr><td>' tried.html)" "$(awk 'BEGIN { RS = "" } /\nhow / && !/\nremeasurement / && !/\nmean / { n++ } END { print n }' one)" "what was tried is in its table"
command -v python3 >/dev/null && for page in page tried; do python3 - $page.html <<'END' || echo $page; done >faults
import html.parser, sys
class P(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "path", "rect"): self.stack.append(tag)
    def handle_endtag(self, tag):
        if tag not in ("path", "rect"): assert self.stack.pop() == tag, tag
p = P()
p.feed(open(sys.argv[1]).read())
assert not p.stack
END
nothing "the page's tags fit" "$(cat faults)"
refused 74 none/page "a place for the page that is none" tune-graph --trials 0 --report none/page m.g -o never.g

HONE_KB=won.kb tune-graph --trials 1 m.g -o timed.g 2>err && kb dump --kb won.kb | grep -q '^samples' && ! grep -q '0\.500' err && equal timed.g m.g
ok $? "what others have measured is timed first"

# A build takes plans that were measured here, before it takes schedules; --no-kb and --model none take neither.
kb put --here --kb here.kb <won 2>err && tune-graph --recall --kb here.kb --why m.g -o known.g 2>why && grep -q '0.500 of the usual time: .* apart' why && same_graph known.g won.g
ok $? "--recall: what was measured here"
tune-graph --recall --kb won.kb.elsewhere m.g -o known.g 2>err && same_graph known.g m.g && kb put --kb won.kb.elsewhere <won 2>err &&
	tune-graph --recall --kb won.kb.elsewhere m.g -o known.g 2>err && same_graph known.g m.g && grep -q '^tune-graph: of 1 segments .* not measured here; hone tune --graph' err
ok $? "nothing is known, or from elsewhere: the graph as it is"
build() { hone build --set batch=1 "$model" -o "$@"; } 2>>err
build taken --kb here.kb >out && grep -q '^1 of [0-9]* segments have groups that were measured to be faster$' out && grep -q '^recall ' out && same_graph taken.d/*-layout.g won.g && equal taken.so m.g
ok $? "hone build takes it, and computes the same"
build taken2 -q --kb here.kb && cmp taken.weights taken2.weights && sed 's/taken2/taken/g' taken2.c | cmp -s - taken.c
ok $? "a second time the same bytes"
build none -q --no-kb && HONE_KB=$PWD/here.kb build plain -q --no-kb && sed 's/plain/none/g' plain.c | cmp - none.c && same_graph plain.d/*-layout.g usual.g &&
	build anchor -q --kb here.kb --model none && same_graph anchor.d/*-layout.g usual.g
ok $? "--no-kb and --model none: the usual groups"
# Kernels that were tuned since, of the usual groups or of the plan, as records say: the plan stands, or does not.
tuned() { # RATIO GRAPH
	tune-op --tasks "$2" | while IFS= read -r task; do
		printf 'hone-kb 1\nrecord\nkind kernel\ntask %s\n%s\ntrace x\nverdict faster\nagainst default\nratio %s\nlo %s\nhi %s\nmean %s\n\n' "$task" "$(grep '^target ' won)" "$1" "$1" "$1" "$1"
	done
}
tuned 0.2 usual.g | kb put --here --kb here.kb 2>err && tune-graph --recall --kb here.kb m.g -o known.g 2>err && same_graph known.g m.g &&
	grep -q '^tune-graph: 1 of 2 segments keep their usual groups, whose kernels were tuned since' err
ok $? "kernels of the usual groups are faster by now"
text=$(sed -n 's/^task //p' won)
kb why --kb here.kb "$text" >why
is "$? $(grep -c '^not used: with the kernels that were tuned since, 0\.[45].* of the usual groups. time then, these themselves 0\.2' why)" "1 1" "kb why says so"
tuned 0.1 won.g | kb put --here --kb here.kb 2>err && tune-graph --recall --kb here.kb m.g -o known.g 2>err && same_graph known.g won.g
is "$? $(kb why --kb here.kb "$text" | grep -c '^used: with the kernels that were tuned since, 0\.0')" "0 1" "then those of the plan, too"
refused 64 --recall "--recall and a search" tune-graph --recall --seconds 1 m.g -o never.g
cat m.g m.g | tune-graph -q --recall --kb here.kb | ge-stat --digest - >both && [ "$(sort -u both | wc -l) $(wc -l <both)" = "1 2" ]
ok $? "--recall of several graphs"

# kb says which plan wins, and why.
plan=$(sed -n 's/^plan //p' won)
kb why "$text" >why
is "$? $(grep -c '^no record wins' why)" "1 1" "kb why: no plan wins"
kb put --kb won2.kb <won 2>err && kb why --kb won2.kb "$text" >why
is "$? $(grep -c -e "^groups: $plan (usual: .*): .* apart" -e "^wins: .*: 0.5000 of the usual groups' time .*, not measured here" why)" "0 2" "kb why: the plan that wins"
kb dump -q --kb won2.kb >dump && "$top/bench/winners.sh" -o "$PWD/ships" "$PWD/dump" >out && is "$(grep -c "^plan $plan$" ships) $(grep -c '^usual-kernels ' ships)" "1 1" "bench/winners.sh ships it"
is "$(kb best --kb won2.kb "$text" | grep -c "^plan $plan$") $(kb ls --kb won2.kb | grep -c ' 0\.5 ')" "1 1" "kb best and kb ls, too"
kb why --kb won.kb "$text" | grep -q '^could not win: .*1 of a plan that was measured here'
ok $? "not one from elsewhere that was measured here"
{ sed '/^mean/d' won; sed 's/^mean .*/mean 0.995/' won; sed 's/^ratio .*/ratio 0.2/' won; sed 's/^target .*/target cpu=X/' won; } | kb put --kb bad.kb 2>err
kb why --kb bad.kb "$text" >why
is "$(grep -o -e '1 no faster by all remeasurements' -e '1 not believed' -e '1 not confirmed in other processes' -e '1 of another target' why | wc -l)" 4 "why others could not win"

# Segments alone: a sweep on two hosts, whose records are merged. Again, nothing is left to do.
export HONE_KB=$PWD/one.kb
sweep() { while read -r text; do tune-graph --trials 1 "$@" --segment "$text" 2>>err || echo failed; done; }
head -1 segments | sweep >one.records && HONE_KB=$PWD/two.kb && tail -n +2 segments | sweep --seed 2 >two.records
grep -qxF "task $(head -1 segments)" one.records && grep -qxF "task $(tail -1 segments)" two.records && kb put --kb one.kb <one.records 2>err && kb put --kb two.kb <two.records 2>err
ok $? "--segment prints records"
HONE_KB=$PWD/both.kb && kb merge one.kb two.kb 2>err && sweep <segments >none && [ ! -s none ] && HONE_KB=$PWD/other.kb kb merge two.kb one.kb 2>err &&
	kb dump >both && kb dump --kb other.kb | cmp - both
ok $? "of two bases, merged either way: nothing is left to do"
tune-graph --trials 1 --cold-weights 0 m.g -o merged.g 2>err && equal merged.g m.g && kb dump | grep '^task [^m]' >tasks
is "$(wc -l <tasks)" "$(grep -c '^task [^m]' both)" "the model has nothing to search, either"
export HONE_KB=$PWD/kb

# A body that is called like the main graph, and has many more groups: they are none of the main graph's.
{
	printf 'hone-text 1\nmodule ir=8 opset=21\nconst w = f32[1,1,1,1] [2]\ngraph main {\n  input b0: f32[1,1,8,8]\n'
	for i in $(seq 60); do printf '  t%d = Conv(b%d, @w)\n  b%d = Sigmoid(t%d)\n' "$i" $((i - 1)) "$i" "$i"; done
	printf '  output then.o = b60\n}\ngraph no {\n  input n0: f32[1,1,8,8]\n  n1 = Relu(n0)\n  output no.o = n1\n}\n'
	printf 'graph main#2 {\n  input c: bool[]\n  input x: f32[1,1,8,8]\n  p = Conv(x, @w)\n  q = Conv(p, @w)\n  r = Conv(q, @w)\n'
	printf '  y = If(c, r) {captures=1 then_branch=graph main else_branch=graph no}\n  output y = y\n}\n'
} | ge-load | ge-shape -o named.g
tune-graph --segments named.g >out 2>err && is "$(wc -l <out) $(grep -o Conv out | wc -l)" "1 3" "a body with the main graph's name"
refused 66 none "a model that is not there" tune-graph none.onnx.g -o out.g
refused 65 --segment "a text that is none" tune-graph --segment 'Conv f32'
refused 64 --segment "a segment and a model" tune-graph --segment 'Relu f32 3' m.g
refused 64 --segments "--segments and a result" tune-graph --segments m.g -o out.g
cat m.g m.g >two.g
refused 65 two.g "two models" tune-graph --trials 0 two.g -o out.g
done_testing
