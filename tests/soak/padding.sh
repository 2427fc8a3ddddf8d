# What pads a size up to its gear is not seen: every operator that ge-gears pads, under sanitizers, with hostile runs (other sizes, NaN,
# infinities) between those that are compared with the evaluator. RUNS of each model, EACH: forms in one, SEED: other numbers.
. "$top/tests/lib.sh"
. "$top/tests/model/sizes/attack.sh"
python3 -B "$top/tests/model/sizes/gear_models.py" "$top/tests/op/operators.txt" . "${EACH:-14}" >said
ok $? "$(tail -n 1 said)"
[ "$(cut -d' ' -f1 said)" -ge 200 ] 2>/dev/null
ok $? "so many are padded that it says something"
export GEARS=n4=2,5,open BETWEEN=between
for model in pad*.txt; do
	attack "${model%.txt}" "${RUNS:-3000}" "${SEED:-$(date +%j)}"
	rm -f "${model%.txt}".*
done
done_testing
