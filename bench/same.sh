#!/bin/sh
# same.sh OLD [NEW [MODEL...]]: whether two trees make the same of whole models, byte for byte: of each model of bench/models.txt that is
# here (bench/find.sh says where), for every machine of tests/sched/golden/targets.txt, and for the last once more with four threads,
# the stream behind ge-plan and ge-emit's C, header and weights. Both trees are built; NEW is this one if it is not given. What
# differs is printed; ends with 1 if anything does.
# same.sh --print [MODEL...]: the digests of this tree alone. A file of them can stand for OLD, or for NEW.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
. bench/find.sh
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export HONE_BLOBS="$work/blobs"

# Reads rows "NAME TARGET", divided by a tab.
machines() {
	sed -n 's/^\([^# ][^ ]*\) */\1	/p' tests/sched/golden/targets.txt
}

digest() { # WHAT FILE
	[ -s "$2" ] || { echo "$1 not made" && return 1; }
	printf '%s %s\n' "$1" "$(md5sum <"$2" | cut -d' ' -f1)"
}

# The digests of what this machine, NAME and target, gets of $work/model.g in directory $work/out.
make_for() { # BIN NAME TARGET OPTIONS
	mkdir -p "$work/out" && rm -f "$work/out/"*
	# shellcheck disable=SC2086 # no option, or several
	"$1/ge-plan" -q --target "$3" $4 -o "$work/out/plan.g" "$work/model.g" && digest "$2 stream" "$work/out/plan.g" &&
		"$1/ge-emit" -q --target "$3" --no-compile -o "$work/out/model" "$work/out/plan.g" &&
		for kind in c h weights; do
			digest "$2 $kind" "$work/out/model.$kind"
		done || echo "$2 refused"
}

# The digests of models that tree makes, a line each: model, machine, what, digest.
print_digests() { # TREE MODEL...
	bin=$1/bin
	shift
	for name; do
		model=$(model_path "$name")
		[ -n "$model" ] || continue
		# shellcheck disable=SC2046 # no option, or several
		"$bin/hone" passes -q $(model_options "$name") --until layout -o "$work/model.g" "$model" || continue
		machines | while IFS='	' read -r machine row; do
			make_for "$bin" "$machine" "$row" ''
			[ "$machine" != "$(machines | tail -1 | cut -f1)" ] || make_for "$bin" "$machine-threads" "$row" '--threads 4'
		done | name="$name" awk '{ print ENVIRON["name"], $0 }'
	done
}

# Digests of a tree, or those of a file.
digests() { # TREE-OR-FILE MODEL...
	if [ -d "$1" ]; then
		print_digests "$@"
	else
		grep -E "^($(shift && echo "$*" | tr ' ' '|')) " "$1"
	fi
}

old=${1-}
[ $# -gt 0 ] && shift
if [ "$old" = --print ]; then
	[ $# -gt 0 ] || set -- $(model_names)
	print_digests "$top" "$@"
	exit
fi
[ -e "$old" ] || { sed -n '2,6s/^# //p' "$0"; exit 64; }
new=${1:-$top}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $(model_names)
digests "$old" "$@" | sort >"$work/old.txt"
digests "$new" "$@" | sort >"$work/new.txt"
diff "$work/old.txt" "$work/new.txt" || exit 1
echo "the same: $(cut -d' ' -f1 "$work/new.txt" | sort -u | wc -l) models, $(wc -l <"$work/new.txt") digests"
[ -s "$work/new.txt" ]
