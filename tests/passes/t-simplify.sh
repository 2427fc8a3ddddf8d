# Every rule of ge-simplify on its golden case (simplify/RULE.txt -> RULE.out; all-NAME: all rules together),
# and of each module in them: the checker passes (every pass runs it), twice is once, and the numbers stay.
. "$top/tests/lib.sh"
cases=$top/tests/passes/simplify
stat_digest() { ge-stat --digest "$1"; }

for txt in "$cases"/*.txt; do
	name=$(basename "$txt" .txt)
	case $name in
	all-fewest-*) only=--fewest ;;
	all-*) only= ;;
	*) only="--only $name" ;;
	esac
	ge-load "$txt" | ge-shape -o shaped.g && ge-simplify --prove $only shaped.g -o after.g &&
		ge-dump after.g | grep -v '^provenance' >"$name.out"
	if cmp -s "$name.out" "$cases/$name.out"; then
		ok 0 "$name"
	else
		ok 1 "$name"
		diff "$cases/$name.out" "$name.out"
	fi
	ge-simplify $only after.g -o twice.g
	same_graph after.g twice.g
	ok $? "$name twice"

	# One module at a time: run-ref takes one.
	awk -v stem=part. '/^hone-text/ { n++ } { print > (stem n) }' "$txt"
	for part in part.*; do
		set=$(grep -q '^symbol batch' "$part" && echo "--set batch=2")
		ge-load "$part" | ge-shape -o before.g
		ge-simplify $only before.g -o after.g
		rm -f "$part"
		run-ref $set --seed 7 before.g -o before.npz 2>run.log
		case $?$(grep -o 'is random' run.log) in
		0) ;;
		69 | *random) skip "$name: numbers of $part" "$(cat run.log)"; continue ;;
		*) ok 1 "$name: $part before does not run"; cat run.log; continue ;;
		esac
		run-ref $set --seed 7 after.g -o after.npz && equal before.npz after.npz
		ok $? "$name: numbers of $part" || cat cmp.log
	done
done

# Every row of the table has a case.
for rule in $(ge-simplify --rules | cut -d' ' -f1); do
	[ -f "$cases/$rule.txt" ]
	ok $? "$rule has a case"
done

# Rules against each other: each reduces what it says, whatever the graph, so they end; twice is once, the numbers stay.
for seed in 1 2 3 4 5; do
	awk -v seed=$seed -v modules=300 -f "$cases/random.awk" >random.txt
	ge-load random.txt | ge-shape -o random.g && timeout 100 ge-simplify --prove random.g -o once.g && ge-simplify once.g -o twice.g &&
		same_graph once.g twice.g
		ok $? "random graphs $seed"
	ge-simplify --prove --fewest random.g -o once.g && ge-simplify --fewest once.g -o twice.g &&
		same_graph once.g twice.g
		ok $? "random graphs $seed, fewest"
	awk -v stem=random. '/^hone-text/ { n++ } n <= 8 { print > (stem n) }' random.txt
	for part in random.[1-8]; do
		ge-load "$part" -o before.g && ge-shape before.g | ge-simplify --fewest -o after.g && equal --tol 1e-4 before.g after.g || { ok 1 "numbers of $part, seed $seed"; cat cmp.log; }
	done
done

ge-simplify --only no-such-rule /dev/null 2>err
[ $? -eq 64 ] && grep -q 'no rule "no-such-rule"' err
ok $? "unknown rule"
done_testing
