# shellcheck shell=sh disable=SC2086,SC2046,SC2154 # a part of hone.sh
# ---- hone tune ----

hand_on() { # SIGNAL
	heard=$1
	[ "$1" = INT ] || ended_by=$1
	[ -z "$search" ] || kill -TERM "$search" 2>/dev/null
}

await_search() { # its exit code; 127 of wait: it has said that before
	wait "$search"
	code=$?
	while [ -n "$heard" ]; do
		heard=''
		wait "$search"
		again=$?
		[ $again = 127 ] || code=$again
	done
	search=''
	return $code
}

# An interrupt ends the search, not what comes after it; other signals end both. The search runs in the background, for a shell hears
# of a signal at once only while it waits; there it does not get the keyboard's interrupt, so whatever comes is handed on.
run_search() { # COMMAND...: its table in $work/table, what it says in $work/messages or on the terminal
	search='' ended_by='' heard=''
	for signal in INT TERM HUP; do trap "hand_on $signal" $signal; done
	if [ -t 2 ]; then
		"$@" >"$work/table" &
	else
		"$@" >"$work/table" 2>"$work/messages" &
	fi
	search=$!
	[ -z "$ended_by" ] || hand_on "$ended_by" # it came before there was anything to hand it to
	await_search || failed $?
}

search() { # OPTION...
	plain=$last begin=$(clock) count=$((count + 1))
	next=$work/$(printf %02d "$count")-tune.g
	named=$work/$(basename "$model" .onnx).g # for the report
	for word; do
		shift
		case $word in --set=* | --shape=* | --const=* | --alias=* | --gears=* | --histogram=* | --times=* | -k*) ;; *) set -- "$@" "$word" ;; esac
	done
	if [ -n "$target" ]; then # what is wrong with it, the runner alone says
		run-dev --serve --target="$target" </dev/null >/dev/null 2>"$work/messages" || failed $?
		set -- "$@" "--runner=run-dev --serve$(quoted "--target=$target")"
	fi
	[ -z "$quiet$json" ] || set -- "$@" --json # the table is silent with --quiet
	ln "$plain" "$named"
	progress ""
	run_search tune-op $quiet "$@" -o "$next" -- "$named"
	case $ended_by in TERM) exit 143 ;; HUP) exit 129 ;; esac
	end_by_signals
trap '' XFSZ # tools say that they cannot write, and take away what they began
	if [ ! -t 2 ]; then
		sed -i '/tasks faster than the default/d; /tasks has been timed$/d' "$work/messages" # the report has it
		tell_messages
	fi
	case $runner$target in
	?*) # the library is for where kernels were timed
		target=$(sed -n 's/^timed on \(.*;.*\)$/\1/p; s/^{"model": .*, "target": "\([^"]*;[^"]*\)".*/\1/p' "$work/table") ;;
	esac
	row tune "$begin" "$next"
	last=$next
}

least() { # LIBRARY: seconds of its fastest run
	run-dev --bench --json --seconds 0.3 "$1" 2>/dev/null | sed -n 's/.*"min": *\([0-9.e-]*\).*/\1/p'
}

library() { # NAME GRAPH
	progress "timing $1"
	ge-plan --quiet ${threads:+"$threads"} -- "$2" | ge-emit --quiet ${jobs:+"$jobs"} -o "$work/$1" 2>/dev/null
}

# The choice is one of sums of kernels; what counts is the whole model. Three turns each; a form of one kind that is faster takes its place.
fastest_form() {
	[ "$(ge-stat --digest "$high")" != "$(ge-stat --digest "$low")" ] || return 0
	mixture=$last
	library mixture "$mixture" && library high "$high" && library low "$low" || return 0
	for turn in 1 2 3; do
		for form in mixture high low; do
			echo "$form $(least "$work/$form.so")"
		done
	done >"$work/forms"
	progress ""
	best=$(awk 'NF == 2 { if (!($1 in t) || $2 < t[$1]) t[$1] = $2 }
		END { b = "mixture"; for (f in t) if (t[f] < 0.99 * t["mixture"] && t[f] < t[b]) b = f; print b
			printf "the whole model: %.4g ms mixed, %.4g ms with all high, %.4g ms with all low\n", 1e3 * t["mixture"], 1e3 * t["high"], 1e3 * t["low"] }' "$work/forms")
	whole_forms=${best#*
}
	case $best in high*) last=$high ;; low*) last=$low ;; esac
}

# The whole model, tuned and not, in turns. Where kernels were timed elsewhere this machine says nothing.
time_both() {
	library default "$plain" || return 0
	case $stem in */*) library=$stem.so ;; *) library=./$stem.so ;; esac
	for turn in 1 2 3; do
		least "$work/default.so" >>"$work/before"
		least "$library" >>"$work/after"
	done
	paste "$work/before" "$work/after" | awk '
		NF == 2 { if (!n++ || $1 < b) b = $1; if (n == 1 || $2 < a) a = $2 }
		END { if (n) printf "the whole model, fastest run of 3 turns each: %.4g ms by default, %.4g ms tuned (%+.1f%%)\n", 1e3 * b, 1e3 * a, 100 * (a / b - 1) }'
}

tune() { # OPTION...
	optimise "$@"
	# What cannot be planned is not searched for: sizes that are missing, --no-fallback.
	ge-plan --quiet --no-open $no_fallback ${threads:+"$threads"} ${target:+--target="$target"} -- "$last" >/dev/null 2>"$work/messages" || failed $?
	search "$@"
	compile "$@"
	whole=''
	[ -n "$quiet$json$runner$target" ] || whole=$(time_both)
	keep_stages
	[ -z "$json" ] || print "$(cat "$work/table")"
	[ -n "$quiet$json" ] || print "$(cat "$work/table")${whole_forms:+
$whole_forms}${whole:+
$whole}

$(build_report)"
}
