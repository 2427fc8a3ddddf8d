# Random models with states: a library that keeps them against one whose caller carries them, 1,000 steps, saved, loaded and reset between.
# MODELS, FIRST: other ones.
. "$top/tests/lib.sh"
"${HONE_PYTHON:-python3}" -B "$top/tests/model/states/models.py" "${FIRST:-1}" "${MODELS:-60}" . &&
	${CC:-cc} -O1 -I"$top/lib" "$top/tests/model/states/open.c" -o open -ldl
ok $? "models"
for model in *.txt; do
	n=m${model%.txt}
	. "./${model%.txt}.how"
	# shellcheck disable=SC2086 # options
	ge-load "$model" -o $n.g && hone build -q ${gears:+--gears=batch=$gears} -o ${n}plain $n.g 2>err && hone build ${gears:+--gears=batch=$gears} $aliases -o $n $n.g >out 2>err
	ok $? "$model builds" || cat err
	for size in $sizes; do
		BEFORE=${sizes##* } ./open ${n}plain.so $n.so 0 "$size" 2>err
		ok $? "$model: steps, batch $size; gears $gears; $(sed -n 's/.*inputs\{0,1\} kept: //p' out)" || cat err
	done
	rm -rf $n.* ${n}plain.*
done
done_testing
