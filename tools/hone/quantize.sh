# shellcheck shell=sh disable=SC2086,SC2046,SC2154 # a part of hone.sh
# ---- hone quantize ----

# A library of a graph, of the sizes that samples have: $work/lib/NAME.so. False: there is none.
sized_library() { # GRAPH NAME
	graph=$1 library=$work/lib/$2 words=$IFS
	progress "compile $2"
	IFS='
'
	set -- $(sed 's/^/--shape=/' "$work/sizes" 2>/dev/null)
	IFS=$words
	run "$0" build -q "$@" -o "$library" "$graph" 2>"$work/messages"
}

# How long it takes: $work/NAME.json.
time_library() { # GRAPH NAME
	sized_library "$@" || return 1
	progress "time $2"
	run run-dev --bench --kernels --json --seconds 0.5 "$library.so" >"$work/$2.json" 2>"$work/messages"
}

count_values() { # SAMPLES...; $how: options
	set -- ge-calibrate $quiet $how $whole ${range:+"$range"} -o "$work/statistics" -- "$last" "$@"
	if [ -t 2 ] && [ -z "${how##--library=*}" ]; then # it has progress of its own
		progress ""
		run "$@"
	else
		progress calibrate
		run "$@" 2>"$work/messages"
	fi
}

# Samples are those words that begin with --data=. What takes the evaluator long is compiled.
calibrate() { # OPTION...
	for word; do
		shift
		case $word in --data=*) set -- "$@" "${word#--data=}" ;; esac
	done
	[ $# -gt 0 ] || [ -n "$no_data" ] || die 64 "quantize: which samples? --data names them"
	[ $# -gt 0 ] || return 0
	begin=$(clock) how=--seconds=10 code=0
	ge-calibrate --sizes $whole ${range:+"$range"} -o "$work/sizes" -- "$last" "$@" 2>/dev/null
	count_values "$@" || code=$?
	if [ $code = 69 ]; then
		how=--library=$work/lib/counting.so code=0
		ge-calibrate --expose -o "$work/exposed.g" -- "$last" 2>/dev/null && sized_library "$work/exposed.g" counting && count_values "$@" ||
			{ how='' && count_values "$@"; } || code=$?
	fi
	[ $code = 0 ] || failed $code
	tell_messages
	samples=$(sed -n 's/^samples //p;4q' "$work/statistics")
	calibrated=$(seconds "$begin")
}

# What --equalize and --smooth do; then the ranges are others.
balance() { # OPTION...
	[ -n "$equalize$smooth" ] || return 0
	[ -e "$work/statistics" ] || die 64 "--equalize, --smooth: which samples? --data names them"
	next=$work/balanced.g
	run ge-quantize $quiet $equalize ${smooth:+"$smooth"} --statistics="$work/statistics" -o "$next" -- "$last" 2>"$work/messages" || failed $?
	[ -n "$quiet" ] || tell_messages
	last=$next
	calibrate "$@"
}

# What layers take longer in float, measured: $times.
time_layers() { # OPTION...
	for word; do
		shift
		case $word in --metric=*) times=wanted ;; --drop=* | --seconds=*) ;; *) set -- "$@" "$word" ;; esac
	done
	[ -n "$times" ] || return 0
	times=''
	for half in 0 1 2; do
		alternate=--alternate=$half
		[ $half != 0 ] || alternate=''
		ge-quantize -q "$@" $alternate -o "$work/half$half.g" -- "$last" 2>"$work/messages" || return 0 # choose_bytes says why
		time_library "$work/half$half.g" "half$half" || return 0
	done
	times=--times=$work/half0.json,$work/half1.json,$work/half2.json
}

choose_bytes() { # OPTION...
	for word; do
		shift
		case $word in --set=* | --shape=* | --const=* | --data=*) ;; *) set -- "$@" "$word" ;; esac
	done
	[ ! -e "$work/statistics" ] || set -- "$@" "--statistics=$work/statistics"
	plain=$last times=''
	time_layers "$@"
	set -- "$@" $times
	progress ""
	begin=$(clock)
	run_search ge-quantize $quiet "$@" -o "$work/quantised.g" -- "$last"
	case $ended_by in HUP) exit 129 ;; esac
	end_by_signals
	[ -t 2 ] || tell_messages
	last=$work/quantised.g
	chosen=$(seconds "$begin")
}

quantize() { # OPTION...
	HONE_BLOBS=$work/blobs
	export HONE_BLOBS
	stage import ge-import --keep-foreign $const_inputs
	shape "$@"
	simplify_passes
	before_bytes=$(model_bytes) calibrated='' samples=''
	calibrate "$@"
	balance "$@"
	choose_bytes "$@"
	mkdir "$work/made"
	made=$work/made/$(basename "$stem")
	progress export # scales by channel are of opset 13
	ge-export ${opset:+"$opset"} -o "$made" -- "$last" 2>"$work/messages" || [ -n "$opset" ] ||
		ge-export --opset=13 -o "$made" -- "$last" 2>"$work/messages" || failed $?
	[ -e "$made" ] || failed 65
	tell_messages
	publish "$made" "$stem"
	after_bytes=$(file_bytes "$stem")
	[ -z "$quiet" ] || return 0
	[ -n "$ended_by" ] || { time_library "$plain" float && time_library "$last" bytes; }
	progress ""
	print "$(quantize_report)"
}

milliseconds() { sed -n 's/.*"median":\([0-9.e-]*\).*/\1/p' "$work/$1.json" 2>/dev/null; }

quantize_report() {
	cat "$work/table"
	echo
	ge-stat "$model" "$stem" | grep -v '^the graphs differ$'
	awk -v a="$before_bytes" -v b="$after_bytes" 'BEGIN { printf "%-28s %12d %12d %+7.1f%%\n", "bytes of the file", a, b, 100 * (b - a) / (a ? a : 1) }'
	awk -v a="$(milliseconds float)" -v b="$(milliseconds bytes)" 'BEGIN {
		if (a > 0 && b > 0) printf "%-28s %12.4g %12.4g %+7.1f%%\n", "milliseconds, as a library", 1000 * a, 1000 * b, 100 * (b - a) / a
		else print "milliseconds, as a library              not all sizes are known, or it has no kernels"
	}'
	printf '\n%s%s to choose\n' "${samples:+$samples samples in $calibrated seconds, }" "$chosen seconds"
}
