#!/bin/sh
# several.sh [-r ROUNDS] [-t TARGET[,TARGET...]]... [MODEL...]: one library for several targets against a library for each alone: models of
# bench/models.txt (all), or .onnx files. A line a target: the time of the library for all to that of the one for it alone, each in turn
# (build/bench/whole), and bytes of code and of weights of the one alone. Then the code of the library for all to their sum, its weights
# to the largest of them, and the layers whose weights lie in another order for each target. Targets (x86-64-v3, x86-64-v4 and such a one
# with VNNI) that this CPU lacks are not timed. Ends with 1 if a library was not made.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd) rounds=51 targets=
PATH=$top/bin:$PATH
. bench/find.sh
usage() { sed -n '2s/^# \(.*\): one library.*/usage: \1/p' "$0" >&2; exit 64; }
while getopts r:t: option; do
	case $option in
	r) rounds=$OPTARG ;;
	t) targets=$targets,$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
targets=${targets:-,x86-64-v3,x86-64-v4,cpu=vnni;features=fma,avx2,avx512,vnni;l1=32K;l2=1024K;l3=16384K}
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(model_names)
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export HONE_BLOBS="$work/blobs"

# The targets, a line each: a row has commas of its own, between its names of features.
each_target() { printf '%s\n' "${targets#,}" | sed 's/,\(x86\|generic\|scalar\|native\|aarch64\|arm\|cpu=\)/\n\1/g'; }

# brief TARGET: a row by the name of its CPU.
brief() { echo "$1" | sed 's/^cpu=\([^;]*\);.*/\1/'; }

code() { size -A "$1" | awk '$1 ~ /^\.(text|rodata)/ { n += $2 } END { print n }'; }

# build STEM OPTION...: $path as it is, with the options of bench/models.txt.
build() {
	stem=$1
	shift
	# shellcheck disable=SC2046 # no option, or several
	hone build "$path" $(model_options "$name") "$@" -o "$stem" </dev/null >"$stem.report" 2>"$stem.err" || { cat "$stem.err" >&2 && return 1; }
}

# against TARGET N: the ratio of the medians, or why there is none.
against() {
	ranges=$(model_ranges "$name")
	if HONE_TARGET=$1 "$top/build/bench/whole" --rounds "$rounds" ${ranges:+--range "$ranges"} "$work/$2.so" "$work/all.so" >"$work/said" 2>&1; then
		sed -n 's/^.*all\.so .*  \([0-9.]*\) (\([^)]*\)) of the first.s, least \([0-9.]*\)$/time \1 (\2), least \3/p' "$work/said"
	else
		echo "not timed: $(head -n 1 "$work/said" | sed 's/.*: //')"
	fi
}

of_model() {
	set --
	while read -r target; do
		set -- "$@" --target "$target"
	done <"$work/targets"
	build "$work/all" "$@" || return
	n=0 sum=0
	while read -r target; do
		n=$((n + 1))
		build "$work/$n" --target "$target" || return
		bytes=$(code "$work/$n.so") sum=$((sum + bytes))
		printf '%-18s %-12.12s %s, code %d, weights %d\n' "$name" "$(brief "$target")" "$(against "$target" "$n" </dev/null)" "$bytes" "$(wc -c <"$work/$n.weights")"
	done <"$work/targets"
	bytes=$(code "$work/all.so")
	printf '%-18s %-12s code %d, %s of their sum; ' "$name" all "$bytes" "$(awk -v a="$bytes" -v b="$sum" 'BEGIN { printf "%.3f", a / b }')"
	sed -n '/^weights/,/^[^w ]/{/^[w ]/p}' "$work/all.report"
}

each_target >"$work/targets"
failed=0
for name; do
	path=$name
	case $name in
	*.onnx) name=$(basename "$name" .onnx) ;;
	*) path=$(model_path "$name") ;;
	esac
	[ -n "$path" ] || continue
	of_model || failed=1
done
exit $failed
