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

	# Additions: to any model, and to hone's, for this machine.
	tune-model train -q --base=one.model --trees 20 records -o added.model && [ "$(grep -c '^member$' added.model)" = 2 ] && sed -n 2p added.model | grep -qxE 'base [0-9a-f]{32}'
	ok $? "an addition has as many members as its base"
	refused 65 "adds to another model" "an addition to another model" tune-model show added.model
	tune-model train -q --base --trees 40 records -o mine.model && tune-model eval -q --model mine.model records >with && tune-model eval -q --model "$top/share/models/cost.model" records >without &&
		[ "$(awk '/^its first choice  / { print $4 }' with without | sort -g | head -1)" = "$(awk '/^its first choice  / { print $4 }' with)" ]
	ok $? "with an addition its choices of what it has seen are as good or better"
	tune-model learn --folds 3 --trees 40 --kb absent 2>err
	is "$? $(wc -l <err)" "66 1" "learn without a knowledge base: $(cat err)"
	kb put --kb few <one.model 2>err # no records
	head -c 0 /dev/null | kb put --kb few 2>err && tune-model learn --kb few 2>err && grep -q 'nothing is learned: records of 0 tasks' err && [ ! -e few.model ]
	ok $? "of no records nothing: $(cat err)"
	row=$(kb --kb few why --json none | sed 's/.*"target": "\([^"]*\)".*/\1/')
	here() { row=$row awk '/^target / { $0 = "target " ENVIRON["row"] } { print }' "$@"; }
	here records | kb put --kb alike 2>err && tune-model learn --folds 3 --trees 40 --kb alike 2>err
	is "$? $([ -e alike.model ] && echo kept)" "0 $(grep -q 'nothing is kept' err || echo kept)" "learn: $(head -1 err)"
	# A machine on which all is the other way round: what is slow elsewhere is fast.
	for rows in 32 48 64 80 96 112 128 160; do
		tune-op --quiet --runner fake --trials 40 --strategy random --seed 2 --kb "products$rows" --task "MatMul f32 ${rows}x128 128x96c" 2>/dev/null
	done | awk '/^record / { $0 = "record" } /^ratio / { $2 = 1 / $2 } !/^seal / { print }' >products
	here products | kb put --here --kb mine 2>err && tune-model learn --folds 4 --trees 40 --kb mine 2>err
	ok $? "learn: $(head -1 err)"
	# What was kept is what builds take: its digest is in the provenance; not where no knowledge base counts.
	hone passes -q --set batch=1 --until layout "$top/examples/digits/digits.onnx" -o laid.g
	usual=$(ge-schedule -q --no-kb laid.g | ge-dump | grep -o 'model=[0-9a-f]*')
	[ -s mine.model ] && grep -qxF "target $row" mine.model
	ok $? "it is kept beside the knowledge base, for this kind of machine"
	taken=$(ge-schedule -q --kb mine laid.g | ge-dump | grep -o 'model=[0-9a-f]*')
	[ -n "$taken" ] && [ "$taken" != "$usual" ]
	ok $? "a build takes it, and says so"
	is "$(ge-schedule -q --kb mine --no-records laid.g | ge-dump | grep -o 'model=[0-9a-f]*')" "$taken" "also where no record decides"
	sed -i 's/^target .*/target cpu=other/' mine.model
	is "$(ge-schedule -q --kb mine laid.g 2>err | ge-dump | grep -o 'model=[0-9a-f]*')$(cat err)" "$usual" "not one of another kind of machine"
	sed -i '/^target /d; s/^base .*/base 00000000000000000000000000000000/' mine.model
	is "$(ge-schedule -q --kb mine laid.g 2>err | ge-dump | grep -o 'model=[0-9a-f]*') $(grep -c 'mine.model: it adds to another model' err)" "$usual 1" "one of another hone is passed over, with a message"
else
	grep -q 'libxgboost.so.0: not here' err
	ok $? "train says what it lacks: $(cat err)"
	for what in members same seed judged folds show; do skip "train: $what" "no libxgboost0"; done
fi

refused 64 "no such verb" "an unknown verb" tune-model forget records
refused 66 none.txt "a file that is not there" tune-model train none.txt
printf 'this is no record\n' >garbage
refused 65 garbage:1 "records that are none" tune-model features garbage
refused 65 records:1 "a model that is none" tune-model eval -q --model records records
refused 65 garbage:1 "no model to show" tune-model show garbage
printf '' >empty
refused 65 "nothing to learn from" "no record" tune-model train -q empty
refused 64 --members "too many members" tune-model train --members 99 records
done_testing
