# tune-model: features, training, judging, showing; records and models that are none.
. "$top/tests/lib.sh"
unset HONE_KB
for rows in 48 64 96; do
	tune-op --quiet --runner fake --trials 24 --strategy random --seed 2 --kb "kb$rows" --task "MatMul f32 ${rows}x128 128x96c" >>records 2>/dev/null
	tune-op --quiet --runner fake --trials 12 --strategy random --seed 3 --kb "kb$rows" --task "Softmax{axis=-1} f32 ${rows}x384" >>records 2>/dev/null
done
awk '/^record / { $0 = "record" } /^target fake$/ { $0 = "target native" } !/^seal / { print }' records >as.native && mv as.native records # the fake runner times schedules of this machine
tune-model features records -o table 2>err && [ "$(awk -F'\t' 'NR > 1 && $2 == 1' table | wc -l)" = 6 ] && [ "$(wc -l <table)" -gt 40 ] &&
	awk -F'\t' 'NF != n && n { exit 1 } { n = NF }' table && grep -q ' of 6 tasks' err
ok $? "features: a line a schedule, the default of each task among them: $(cat err)"
tune-model features <records 2>/dev/null | cmp -s - table
ok $? "the same from standard input"
tune-model defaults -q records -o defaults && grep -qx 'kind default' defaults
ok $? "defaults: $(grep -c '^kind default' defaults) that records are ratios to"
# Of another program: its default is another schedule, which the records are ratios to.
awk '/^base / { $0 = "base 0123456789abcdef0123456789abcdef" } { print }' records >others
tune-model features others 2>/dev/null >nearest && [ "$(awk -F'\t' 'NR > 1 && $2 == 1' nearest | wc -l)" = 6 ] &&
	[ "$(awk -F'\t' 'NR > 1 && $2 == 1 && $3 == 1' nearest | wc -l)" = 6 ] && ! cmp -s table nearest
ok $? "a default that nobody recorded: the schedule that takes about as long stands for it"
if tune-model train -q --members 2 --trees 20 records -o one.model 2>err; then
	head -1 one.model | grep -qx 'hone-model 1' && [ "$(grep -c '^member$' one.model)" = 2 ] && [ "$(tail -1 one.model)" = end ]
	ok $? "train: two members"
	tune-model train -q --members 2 --trees 20 <records | cmp -s - one.model
	ok $? "the same records, the same model"
	tune-model train -q --members 2 --trees 20 --seed 9 records | cmp -s - one.model
	[ $? = 1 ]
	ok $? "another seed, another model"
	tune-model eval -q --model one.model records >out && grep -q '^6 tasks' out && awk '/^its first choice  / { exit !($4 < 1.5) }' out
	ok $? "eval: its first choice of schedules that it has seen is good: $(sed -n 3p out)"
	tune-model eval -q --members 1 --trees 20 --folds 3 --json records >out && grep -q '^{"tasks": 6, "first": ' out
	ok $? "judged without a model, as JSON: $(cat out)"
	tune-model show one.model >out && grep -q '^2 members, ' out && grep -q 'iterations of loops that stay loops' out
	ok $? "show"
else
	grep -q 'libxgboost.so.0: not here' err
	ok $? "train says what it lacks: $(cat err)"
	for what in members same seed judged folds show; do skip "train: $what" "no libxgboost0"; done
fi

refused 64 "no such verb" "an unknown verb" tune-model learn records
refused 66 none.txt "a file that is not there" tune-model train none.txt
printf 'this is no record\n' >garbage
refused 65 garbage:1 "records that are none" tune-model features garbage
refused 65 records:1 "a model that is none" tune-model eval -q --model records records
refused 65 garbage:1 "no model to show" tune-model show garbage
printf '' >empty
refused 65 "nothing to learn from" "no record" tune-model train -q empty
refused 64 --members "too many members" tune-model train --members 99 records
done_testing
