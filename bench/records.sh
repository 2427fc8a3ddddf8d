#!/bin/sh
# records.sh [--every N] [--trials N] [--cold-weights MB] -o FILE [CORPUS]: records that tune-model learns from, as kb dump prints them.
# Every N-th task of bench/corpus.txt, in an order that mixes their kinds, is timed on this machine with weights that are not in a cache: a
# third of its schedules are random, the others those of a genetic search. FILE.kb has what is there already: the same command goes on.
# FILE.defaults has the default schedules that they are ratios to.
cd "$(dirname "$0")/.." || exit 1
PATH=$(pwd)/bin:$PATH
usage() { sed -n '2,5s/^# //p' "$0"; exit 64; }

every=1 trials=24 cold=32 out='' corpus=''
while [ $# -gt 0 ]; do
	case $1 in
	--every) every=$2 && shift 2 ;;
	--trials) trials=$2 && shift 2 ;;
	--cold-weights) cold=$2 && shift 2 ;;
	-o) out=$2 && shift 2 ;;
	-*) usage ;;
	*) corpus=$1 && shift ;;
	esac
done
if [ -z "$out" ] || [ "$every" -lt 1 ] || [ "$trials" -lt 1 ]; then usage; fi
trap 'kb --kb "$out.kb" dump -q -o "$out" && tune-model defaults -q -o "$out.defaults" "$out" && echo "$out: $(grep -c "^record " "$out") records"' EXIT
trap 'exit 1' INT TERM
grep -v '^#' "${corpus:-bench/corpus.txt}" | shuf --random-source=bench/corpus.txt | awk -v every="$every" 'NR % every == 0' >"$out.tasks" || exit
n=0
while IFS= read -r task; do
	n=$((n + 1))
	for search in "random $(((trials + 2) / 3))" "genetic $((trials - (trials + 2) / 3))"; do
		[ "${search#* }" -gt 0 ] || continue
		# A task that is not timed here says so, and the next one is.
		tune-op -q --task "$task" --strategy "${search% *}" --trials "${search#* }" --seed "$n" --cold-weights "$cold" --kb "$out.kb" </dev/null |
			kb put -q --kb "$out.kb"
	done
done <"$out.tasks"
rm -f "$out.tasks"
