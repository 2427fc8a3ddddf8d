#!/bin/sh
# heldout.sh [--tasks N] [--trials N] [--seconds S] [--budget S] [--seed N] -o DIR MODEL.onnx...: how good is a default schedule on tasks
# that nobody fitted? N tasks (30) of these models, drawn by the seed (1) from those that neither bench/corpus.txt nor bench/records has,
# are searched with so many trials each (200), at most S seconds (no limit), cold weights; then build/bench/heldout times default and best
# again, --budget seconds (2) a pair. DIR has the tasks, the trials and the table: the same command goes on. HELDOUT_UNDER (environment): a
# command that runs them, "taskset -c 1".
cd "$(dirname "$0")/.." || exit 1
PATH=$(pwd)/bin:$PATH
usage() { sed -n '2,6s/^# //p' "$0"; exit 64; }

tasks=30 trials=200 seconds='' budget=2 seed=1 out=''
while [ $# -gt 0 ]; do
	case $1 in
	--tasks) tasks=$2 && shift 2 ;;
	--trials) trials=$2 && shift 2 ;;
	--seconds) seconds="--seconds $2" && shift 2 ;;
	--budget) budget=$2 && shift 2 ;;
	--seed) seed=$2 && shift 2 ;;
	-o) out=$2 && shift 2 ;;
	-*) usage ;;
	*) break ;;
	esac
done
[ -n "$out" ] && [ $# -gt 0 ] || usage
make -s all build/bench/heldout && mkdir -p "$out" || exit
known() { grep -v '^#' bench/corpus.txt; sed -n 's/^task //p' bench/records/*.txt; }
if [ ! -s "$out/tasks" ]; then
	known | LC_ALL=C sort -u >"$out/known"
	for model; do hone passes -q --until layout "$model" | tune-op -q --tasks 2>/dev/null; done | LC_ALL=C sort -u |
		LC_ALL=C comm -23 - "$out/known" | awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' |
		sort | cut -f 2- | head -n "$tasks" >"$out/tasks"
	rm -f "$out/known"
fi
while IFS= read -r task; do
	grep -qxF "$task" "$out/done" 2>/dev/null && continue
	# shellcheck disable=SC2086 # no option, or two words
	$HELDOUT_UNDER tune-op -q --task "$task" --trials "$trials" $seconds --seed "$seed" --cold-weights 32 --kb "$out/kb" </dev/null |
		kb put -q --kb "$out/kb" && echo "$task" >>"$out/done"
done <"$out/tasks"
$HELDOUT_UNDER build/bench/heldout --budget "$budget" --kb "$out/kb" "$out/done" | tee "$out/table"
