#!/bin/sh
# arena.sh [MODEL...]: the arena of each model of bench/models.txt (planned for this machine) against the most bytes of values that
# are alive at one time, which no arena is below; what workspaces add; and without any reuse. Models are looked for as bench/find.sh says.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
. bench/find.sh
make -s all || exit
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
HONE_BLOBS=$work/blobs
export HONE_BLOBS
[ $# -gt 0 ] || set -- $(model_names bench)
printf '%-26s %12s %12s %7s %12s %12s\n' model values bound ratio workspace "no reuse"
failed=0
for name; do
	model=$(model_path "$name")
	[ -n "$model" ] || { echo "$name: not in ${HONE_MODELS:-build/models} (HONE_MODELS)"; continue; }
	options=$(model_options "$name")
	hone passes -q $options --until layout "$model" | ge-plan -o "$work/plan.g" 2>"$work/said" || { cat "$work/said" && failed=1 && continue; }
	ge-stat --json "$work/plan.g" | sed -n 's/.*"arena": {"bytes": \([0-9]*\), "values": \([0-9]*\), "bound": \([0-9]*\)}.*/\1 \2 \3/p' |
		awk -v name="$name" -v all="$(sed -n 's/.* bytes (\([0-9]*\) without reuse).*/\1/p' "$work/said")" '{
			printf "%-26s %12d %12d %7.4f %12d %12d\n", name, $2, $3, $3 ? $2 / $3 : 1, $1 - $2, all }'
done
exit $failed
