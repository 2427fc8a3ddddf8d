# hone tune: the passes with a search between them.
HONE_KB=$PWD/kb
export HONE_KB
model=$top/examples/digits/digits.onnx
say() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; cat out err; fi; }

hone tune "$model" --set batch=1 --runner fake --trials 24 --report page.html -o lib/digits >out 2>err
[ $? = 0 ] && [ -s lib/digits.so ] && [ -s lib/digits.d/09-tune.g ] && [ ! -s err ]
say $? "a library, and the graph after each stage"
grep -q '^tune  *10  *6' out && grep -q 'tasks faster; counted are' out && grep -q '^Conv 3x3' out
say $? "one report of it all"
grep -q 'Tuning of digits.g<' page.html && [ "$(ge-dump lib/digits.d/09-tune.g | grep -c 'trace="# trace')" -ge 3 ]
say $? "options go on to tune-op"
run-cmp lib/digits.so lib/digits.d/08-layout.g >out 2>err
say $? "it computes the same"

[ -z "$(hone tune "$model" --quiet --set batch=1 --runner fake --trials 8 -o lib/digits 2>&1)" ]
say $? "--quiet says nothing"
hone tune "$model" --set batch=1 --runner fake --only nothing -o never >out 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e never.so ]
say $? "what tune-op refuses: its line, its code, no files"
hone tune "$model" --set batch=1 --seconds soon -o never >out 2>err
[ $? = 64 ] && [ "$(wc -l <err)" = 1 ]
say $? "an option that is no number: 64"
hone tune "$model" --runner fake -o never >out 2>err
[ $? = 64 ] && grep -q 'for example: hone tune .*--set batch=1' err && ! grep -q '^tune-op' err
say $? "a size that lacks: the command with it, before any search"

# Kernels timed here: the whole model by the rule and tuned, in turns.
hone tune "$model" --set batch=1 --trials 2 --only Gemm -o real >out 2>err
[ $? = 0 ] && grep -q '^the whole model, fastest run of 3 turns each: [0-9.]* ms by the rule, [0-9.]* ms tuned' out
say $? "on this machine: the whole model before and after"
