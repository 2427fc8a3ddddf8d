# hone tune: the passes with a search between them.
. "$top/tests/lib.sh"
HONE_KB=$PWD/kb
export HONE_KB
model=$top/examples/digits/digits.onnx

hone tune "$model" --set batch=1 --runner fake --trials 24 --report page.html -o lib/digits >out 2>err
[ $? = 0 ] && [ -s lib/digits.so ] && [ -s lib/digits.d/*-tune.g ] && [ ! -s err ]
ok $? "a library, and the graph after each stage"
grep -q '^tune  *10  *6' out && grep -q 'tasks faster; counted are' out && grep -q '^Conv 3x3' out
ok $? "one report of it all"
grep -q 'Tuning of digits.g<' page.html && [ "$(ge-dump lib/digits.d/*-tune.g | grep -c 'trace="# trace')" -ge 3 ]
ok $? "options go on to tune-op"
is "$(grep -c "Whole model: not measured here" page.html) $(grep -c "SHA-256 <code>$(sha256sum "$model" | cut -c1-64)<" page.html) $(grep -c "<code>hone tune .*--report page.html -o lib/digits<" page.html)" \
	"1 1 1" "the page has the model's digest and the command, and does not say that a model was timed which was not"
equal lib/digits.so lib/digits.d/*-layout.g
ok $? "it computes the same"

[ -z "$(hone tune "$model" --quiet --set batch=1 --runner fake --trials 8 -o lib/quiet 2>&1)" ] && [ -s lib/quiet.so ]
ok $? "--quiet says nothing"
hone tune "$model" --json --set batch=1 --runner fake --cold-weights 4 --trials 8 -o lib/json >out 2>err && grep -q '^ "totals": {"tasks": 6' out && [ "$(head -c 1 out)" = '{' ] &&
	[ "$(tail -c 2 out)" = '}' ] && [ ! -s err ] && [ -s lib/json.so ] && hone kb dump | grep -q '^cold-weights 4194304$'
ok $? "--json: tune-op's report alone; --cold-weights goes on to it"
hone tune "$model" --set batch=1 --runner fake --only nothing -o never >out 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e never.so ]
ok $? "what tune-op refuses: its line, its code, no files"
hone tune "$model" --set batch=1 --seconds soon -o never >out 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ]
ok $? "an option that is no number: 64"
hone tune "$model" --runner fake -o never >out 2>err
[ $? = 64 ] && grep -q 'for example: hone tune .*--set batch=1' err && ! grep -q '^tune-op' err
ok $? "a size that lacks: the command with it, before any search"

# Kernels timed here: the whole model by default and tuned, in turns.
hone tune "$model" --set batch=1 --trials 2 --only Gemm --report real.html -o real >out 2>err
[ $? = 0 ] && grep -q '^the whole model, fastest run of 3 turns each: [0-9.]* ms by default, [0-9.]* ms tuned' out &&
	grep -q 'Whole model, measured: [0-9.]* [mu]s before, [0-9.]* [mu]s after ' real.html
ok $? "on this machine: the whole model before and after, in the page too"

hone tune "$model" --graph --seconds 6 --set batch=1 --trials 1 --only Gemm --report page.html -o graph >out 2>err
[ $? = 0 ] && grep -q '^tune-graph: [0-9]* of [0-9]* segments' err && grep -q '^regroup  *10  *[1-9]' out && equal graph.so graph.d/*-integer.g && hone kb dump | grep -q '^kind graph$'
ok $? "--graph: other groups are tried first"
is "$(grep -o '<h1>[^<]*' page.html | tr '\n' ' ') $(grep -c '</html>' page.html) $(grep -c '^<svg .*role="img"><title>the usual groups' page.html)" "<h1>Groups of digits.g <h1>Tuning of digits.g  1 2" "and both are on one page"
hone tune "$model" --learn --trials 1 --set batch=1 -o learned >out 2>err
[ $? = 0 ] && [ -s learned.so ] && grep -q -e '^tune-model: times of its choices' -e '^tune-model: nothing is learned' -e 'libxgboost.so.0: not here' err
ok $? "--learn: $(grep tune-model err | head -1)"
refused 64 --learn "--learn with a runner" hone tune "$model" --learn --runner fake --set batch=1 -o never
hone tune "$model" --graph --runner fake --set batch=1 -o never >out 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ]
ok $? "--graph with a runner: 64"

# An hour of search, which a signal to hone's process alone ends, as a service manager sends it; the second one ends hone.
gone() { for i in 1 2 3 4 5 6 7 8 9 10; do pgrep -f "tune-[a-z]*.* --kb=$PWD/$1 " >/dev/null || return 0; sleep 0.2; done; return 1; }
started() { for i in 1 2 3 4 5 6 7 8 9 10; do pgrep -f "$1.* --kb=$PWD/$2 " >/dev/null && sleep 1 && return 0; sleep 0.5; done; return 1; }
HONE_PROGRESS=1 hone tune "$model" --set batch=1 --seconds 3600 --kb "$PWD/stopped" -o stopped >out 2>err &
tuner=$!
started tune-op stopped && sleep 6 && grep -q '^tune-op: tuning .*[0-9] trials' err && ! grep -v '^tune-op: ' err
ok $? "without a terminal its progress is lines"
kill -TERM $tuner
wait $tuner
[ $? = 0 ] && gone stopped && equal stopped.so stopped.d/*-integer.g && grep -q 'interrupted' err
ok $? "SIGTERM: the library has the best so far"
hone tune "$model" --set batch=1 --graph --seconds 3600 --kb "$PWD/regrouped" -o regrouped >out 2>err &
tuner=$!
started tune-graph regrouped && kill -TERM $tuner
from=$(date +%s)
wait $tuner
[ $? = 0 ] && [ $(($(date +%s) - from)) -le 60 ] && gone regrouped && equal regrouped.so regrouped.d/*-integer.g && grep -q '^tune-graph: interrupted' err && ! grep -q '^[^t]' err
ok $? "while it tries other groups: so it does"
hone tune "$model" --set batch=1 --seconds 3600 --kb "$PWD/killed" -o killed >out 2>err &
tuner=$!
started tune-op killed && kill -TERM $tuner && sleep 0.4 && kill -TERM $tuner
from=$(date +%s)
wait $tuner
[ $? = 143 ] && [ $(($(date +%s) - from)) -le 10 ] && gone killed && ! ls killed.so* 2>/dev/null
ok $? "at the second signal it ends at once, with all that it started"
done_testing
