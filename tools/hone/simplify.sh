# shellcheck shell=sh disable=SC2086,SC2046,SC2154 # a part of hone.sh
# ---- hone simplify ----

# Does it compute the same? By a command of the user's, else on three random inputs; $checked says how it was found.
check() { # NEW OLD OPTION...
	checked='it was not checked'
	[ -z "$no_check" ] || return
	if [ -n "$check_by" ]; then
		sh -c "$check_by"' "$@"' sh "$1" "$2" >"$work/compared" 2>&1
		code=$?
		checked="the same by $check_by"
	else
		check_numbers "$@"
	fi
	[ $code != 0 ] || return
	cat "$work/compared" >&2
	die 1 "$model: the simplified model does not compute the same; nothing is written"
}

check_numbers() { # NEW OLD OPTION...
	new=$1 old=$2 given=''
	shift 2
	for word; do
		shift
		case $word in
		--set=* | --shape=* | --const=* | --range=*) ;;
		--check-set=*) given="$given $word" word=--give=${word#*=} ;;
		*) continue ;;
		esac
		set -- "$@" "$word"
	done
	run-cmp --runs=3 --rewritten --seconds="$check_seconds" "$@" -- "$new" "$old" >"$work/compared" 2>"$work/messages"
	code=$?
	given=$given$(sed -n 's/^run-cmp: sizes that were not given are//p; s/^run-cmp: integers are / integers /p' "$work/messages" | tr -d '\n')
	left=$(sed -n 's/^run-cmp: left out: //p' "$work/messages")
	sed -i '/^run-cmp: sizes that were not given are /d; /^run-cmp: integers are /d; /^run-cmp: left out: /d' "$work/messages"
	checked="the same numbers on 3 random inputs${given:+ (with$given)}${left:+, without $left}"
	if [ $code = 69 ]; then # written all the same: this program is not all there is to run a model
		checked='it was not checked'
		printf 'hone: %s: not checked: %s; --check-set gives sizes and values, --check-seconds time, --check another program\n' "$model" \
			"$(sed -n '$s/^run-cmp: //p' "$work/messages")" >&2
		code=0
	fi
	[ $code -le 1 ] || failed $code
}

# The model, written to $made; with --external its weights beside it.
write_model() {
	progress export
	ge-export ${opset:+"$opset"} ${external:+--external="$external"} -o "$made" -- "$last" 2>"$work/messages" || failed $?
	tell_messages
}

file_bytes() { # FILE...
	cat "$@" 2>/dev/null | wc -c
}

# Of the model as it came, with the files beside it that its weights are in.
model_bytes() {
	grep -rhax '/.*' "$work/blobs" 2>/dev/null | sort -u | while IFS= read -r file; do
		[ ! -f "$file" ] || [ "$file" = "$(readlink -f "$model")" ] || wc -c <"$file"
	done | awk -v n="$(file_bytes "$model")" '{ n += $1 } END { print n }'
}

# With --no-grow what folding adds is taken back, and what is larger even so is not written.
undo_growth() {
	[ -n "$no_grow" ] && [ "$(file_bytes "$made" ${external:+"$work/made/$external"})" -gt "$before_bytes" ] || return 0
	last=$shaped fold=--limit=0
	simplify_passes
	write_model
	after=$(file_bytes "$made" ${external:+"$work/made/$external"})
	[ "$after" -le "$before_bytes" ] ||
		die 1 "$model: simplified it has $after bytes, and had $before_bytes; with --no-grow nothing is written"
}

simplify() { # OPTION...
	fewest=yes fold=--limit=1M
	leave="--skip=swish --skip=global-pool" # an operator that few runtimes have; one node more, for kernels
	HONE_BLOBS=$work/blobs
	export HONE_BLOBS
	stage import ge-import --keep-foreign $const_inputs
	shape "$@"
	shaped=$last before_bytes=$(model_bytes)
	simplify_passes
	mkdir "$work/made"
	made=$work/made/$(basename "$stem")
	if [ -n "$external" ]; then
		[ "$external" != "$(basename "$stem")" ] || die 64 "--external $external: is the name of the model itself"
		grep -rqxF -- "$(readlink -f "$(dirname "$stem")")/$external" "$work/blobs" 2>/dev/null &&
			die 64 "--external $external: $model has its own weights in it; take another name"
	fi
	write_model
	undo_growth
	[ -z "$external" ] || check_place "$(dirname "$stem")/$external"
	progress check
	check "$made" "$model" "$@"
	progress ""
	after_bytes=$(file_bytes "$made" ${external:+"$work/made/$external"})
	[ -z "$external" ] || publish "$work/made/$external" "$(dirname "$stem")/$external"
	publish "$made" "$stem"
	[ -n "$quiet" ] || print "$(simplify_report)"
}

check_place() { # TARGET
	[ ! -d "$1" ] || die 74 "$1: is a directory"
	[ ! -e "$1" ] || [ -f "$1" ] || die 74 "$1: is no regular file, and would be replaced by one"
}

# Written beside the target, then renamed: whole or not there.
publish() { # FILE TARGET
	part=$(mktemp "$2.XXXXXX" 2>/dev/null) || die 74 "$2: cannot be written"
	{ cat "$1" >"$part" && chmod "$(printf %o $((0666 & ~$(umask))))" "$part" && mv -T "$part" "$2"; } 2>/dev/null ||
		die 74 "$2: cannot be written"
	part=''
}

simplify_report() {
	ge-stat "$model" "$stem" | grep -v '^the graphs differ$'
	awk -v a="$before_bytes" -v b="$after_bytes" 'BEGIN {
		printf "%-28s %12d %12d", "bytes of the file", a, b
		if (a > 0 && a != b) printf " %+7.1f%%", 100 * (b - a) / a
		print ""
	}'
	printf '\n%s\n' "$checked"
}
