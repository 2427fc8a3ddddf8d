#!/bin/sh
# hone: the passes in their order, and any tool by its name.
# shellcheck disable=SC2086 # options without a value are not there where they are empty
set -uf

here=$(dirname "$(readlink -f "$0")")
[ -x "$here/ge-import" ] || here=$here/../libexec/hone
PATH=$here:$PATH

# Paths and names of a model on one line, without what would do something to a terminal.
shown() { # TEXT
	printf %s "$1" | LC_ALL=C tr '\000-\037\177' '?' | iconv -c -f utf-8 -t utf-8 2>/dev/null | LC_ALL=C sed "s/$(printf '\302[\200-\237]')/?/g"
}

die() { # CODE MESSAGE
	[ -z "${2-}" ] || printf 'hone: %s\n' "$(shown "$2")" >&2
	exit "$1"
}

help() {
	cat <<-'END'
	Usage: hone build [OPTION...] MODEL.onnx [-o STEM]
	  or:  hone tune [OPTION...] MODEL.onnx [-o STEM]
	  or:  hone simplify [OPTION...] IN.onnx OUT.onnx
	  or:  hone quantize [OPTION...] MODEL.onnx --data SAMPLES -o OUT.onnx
	  or:  hone TOOL [ARGUMENT...]
	  or:  hone help [VERB|TOOL]

	hone build compiles a model to a library: STEM.so, .a, .h, .c and .weights, and
	the graph after each pass in STEM.d.
	hone tune searches for faster schedules on this machine, then compiles as hone
	build does. Stopped (Ctrl-C) it uses the best so far; run again it goes on.
	hone simplify writes a smaller model that computes the same.
	hone quantize writes a model that computes nearly the same on bytes.

	  --set NAME=SIZE,...          give symbols their sizes
	  --shape INPUT:1x3x224x224    give an input its shape
	  --const INPUT=VALUE,...      make an input a constant: a number or a list
	  --const-inputs               inputs with a default are constants
	  --no-maps                    leave every ZipMap out: scores stay a tensor
	  -q, --quiet                  no report and no progress

	hone build, hone tune:
	  -o STEM                      where to; without, MODEL in this directory
	  --alias INPUT=OUTPUT         the library keeps INPUT from run to run: what OUTPUT was is what it is next
  --embed                      put the weights into the C file
	  --gears NAME=SIZE,...        a graph for each of these sizes in one library, as ge-gears takes them
	  --histogram FILE, -k N       N gears, chosen by how often sizes come (lines NAME=SIZE COUNT); --times FILE: and how
	                               long they take, otherwise than by the cost model
	  --exact                      divide where a quantised model divides by a scale
	  --integers                   a quantised model in integers, also where floats are faster; as with --exact
	  --mixed                      nodes in the type that was measured to be the fastest, as ge-mixed says
	  --no-fallback                refuse a model of which a part would run on the slow path
	  --target NAME                made for one of the targets that hone ge-emit --help lists, or a row as kb prints them
	  --threads N                  the library uses at most N threads (1)
	  --lanes N                    branches side by side, N at a time; 1: none (where that is faster)
  -j, --jobs N                 compilers at a time
	  --keep                       keep the passes' graphs of a failed build, too

	hone tune:
	  --seconds S, --trials N      stop after so long; schedules to try a task (32)
	  --runner COMMAND             where kernels are timed; repeated: side by side
	  --kb FILE                    the knowledge base
	  --report FILE.html           curves, table and where the time went
	  --only WHAT, --skip WHAT, --strategy NAME, --cost-model NAME, --scheduler NAME, --seed N,
	  --cold-weights MB            as tune-op takes them
	  --json                       the report is tune-op's, as JSON

	hone simplify:
	  --range INPUT=LO:HI          range of a random input of the check
	  --check-set WHAT             for the check only: a size (NAME=2), the shape of an input
	                               (INPUT:1x3) or its value (INPUT=2,2); without, some that work
	  --check COMMAND              COMMAND NEW OLD says if they are the same (0)
	  --check-seconds S            processor time of the check (300); then the model is written unchecked
	  --no-check                   do not check
	  --no-grow                    the file does not become larger
	  --opset N                    write this opset
	  --external FILE              write weights into FILE beside OUT.onnx (needed above 2 GB)

	hone quantize:
	  --data SAMPLES               a .npy, a .npz or a directory of them; repeated: all of them
	  --range LO:HI, --whole       how files are read, as ge-calibrate takes them
	  -o OUT.onnx                  where to
	  --metric COMMAND             COMMAND MODEL.onnx prints how good the model is
	  --drop D                     how much of that may be lost (0.5)
  --seconds S                  end the search for that then, with the best so far
	  --method NAME, --percentile P, --weights BITS, --activations KIND, --no-correction,
	  --only WHAT, --skip WHAT     as ge-quantize takes them
	  --equalize, --smooth A       make the ranges of channels alike first
	  --opset N                    write this opset
	END
}

# What is said of one verb: its usage, its sentences, the options of all verbs and its own.
help_of() { # VERB
	help | awk -v verb="$1" '
	/^(Usage|  or):/ {
		if (index($0, "hone " verb " ")) { sub(/^[^:]*: */, ""); print "Usage: " $0 "\n" }
		next
	}
	/^$/ { parts++; if (parts == 2) print; next }
	/^hone [a-z, ]*:$/ { shown = index($0, "hone " verb); next }
	/^hone / { shown = index($0, "hone " verb) == 1 }
	parts == 2 || shown'
}

list_tools() {
	printf '\nTools:\n'
	(
		set +f
		cd "$here" && for tool in ge-* kb run-* tune-*; do
			[ ! -x "$tool" ] || printf '  %-12s %s\n' "$tool" "$("$tool" --help | awk '/^(Usage|  or):/ { next } /^$/ { exit } { printf "%s%s", sep, $0; sep = " " }')"
		done
	)
}

# ---- the way a stage runs ----

# What is for standard output, whole.
print() {
	printf '%s\n' "$1" 2>/dev/null || die 74 "standard output: writing failed"
}

columns() { printf '%-10s %8s %8s %9s\n' "$@"; }

clock() { [ -n "$quiet" ] || date +%s%N; } # for the report
seconds() { # FROM, in nanoseconds
	[ -n "$1" ] || return 0
	ms=$((($(clock) - $1) / 1000000))
	printf '%d.%03d' $((ms / 1000)) $((ms % 1000))
}

progress() {
	[ -z "$quiet" ] && [ -t 2 ] || return 0
	printf '\r\033[K%s' "${1:+hone: $1 ...}" >&2
}

# The line above the error: the same command with what it lacks. Temporary names are no use to anyone.
tell_messages() {
	progress ""
	[ -s "$work/messages" ] || return 0
	command=$(shown "$command") dir=$work/ awk '
	/: give them, for example: / {
		sub(/.*: give them, for example: [^ ]*/, "")
		$0 = "hone: give them, for example: " ENVIRON["command"] $0
	}
	{
		while (at = index($0, ENVIRON["dir"]))
			$0 = substr($0, 1, at - 1) substr($0, at + length(ENVIRON["dir"]))
		print
	}' "$work/messages" >&2
}

failed() { # CODE
	tell_messages
	[ -s "$work/messages" ] || unsaid "$1"
	[ -z "$keep" ] || [ "$count" -le 1 ] || keep_stages # of the first stage there is nothing to keep
	exit "$1"
}

no_space() { die 74 "${TMPDIR:-/tmp}: no space for intermediate files; TMPDIR says where else they go"; }

# A tool was killed, or its words had no place.
unsaid() { # CODE
	[ "$1" != 74 ] || no_space
	printf 'hone: %s\n' "$verb: a tool ended with $1 and said nothing" >&2
}

# A command in the background, for a shell hears of a signal at once only while it waits.
run() {
	"$@" &
	child=$!
	wait "$child"
	code=$?
	child=''
	return $code
}

# What runs ends first, and takes its temporaries with it. All files of a build that are there then have their graphs, too.
ended() { # CODE
	trap '' HUP INT TERM PIPE
	if [ -n "$child" ]; then
		kill -TERM "$child" 2>/dev/null
		wait "$child" 2>/dev/null && [ -n "$emits" ] && keep_stages
	fi
	exit "$1"
}

# stage NAME TOOL...: the tool makes the next graph of the last one; a line for the report.
stage() {
	name=$1 begin=$(clock) count=$((count + 1))
	shift
	progress "$name"
	next=$work/$(printf %02d "$count")-$name.g
	run "$@" $quiet -o "$next" -- "$last" 2>"$work/messages" || failed $?
	case $name in
	plan | gears) ;;
	mixed)
		[ -z "$predict" ] || cp "$work/messages" "$work/mixed"
		[ -n "$predict" ] || tell_messages
		;;
	*) tell_messages ;;
	esac
	row "$name" "$begin" "$next"
	last=$next
}

row() { # NAME BEGIN GRAPH
	[ -z "$quiet" ] || return 0
	took=$(seconds "$2")
	ge-stat --json "$3" >"$work/counts" 2>/dev/null # what it has against the graph the next pass says, too
	nodes=$(sed -n 's/.*"nodes": \([0-9]*\), "graphs".*/\1/p' "$work/counts")
	groups=$(sed -n 's/.*"Fused": {"nodes": \([0-9]*\).*/\1/p' "$work/counts")
	columns "$1" $((${nodes:-0} - ${groups:-0})) "$groups" "$took" 2>/dev/null >>"$work/report" || no_space
}

# Options with a value travel as they are in "$@"; each stage takes its own of them.
shape() { # OPTION...
	for word; do
		shift
		case $word in --set=* | --shape=* | --const=*) set -- "$@" "$word" ;; esac
	done
	stage shape ge-shape "$@"
}

# A branch that takes its If's place shows the rules what was hidden in it, and its captured constants to ge-fold.
simplify_passes() {
	while :; do
		stage fold ge-fold $fold
		stage simplify ge-simplify $leave
		before=$last
		stage deadedge ge-deadedge
		[ "$(ge-stat --digest "$before")" != "$(ge-stat --digest "$last")" ] || break
	done
	[ -z "$fewest" ] || stage fewest ge-simplify --fewest $leave
	stage cse ge-cse
	stage dedup ge-dedup
	stage prune ge-prune
}

# ---- hone build ----

# The graphs, where they belong but for one name, before anything else is there: what can fail fails here.
set_aside_stages() {
	[ -z "$part" ] || return 0
	[ -d "$stem.d" ] || { mkdir -p "$stem.d" 2>/dev/null && made=$stem.d; } || die 74 "$stem.d: cannot be written"
	set +f
	part=$(mktemp -d "$stem.d/.hone.XXXXXX" 2>/dev/null) && cp "$work"/[0-9][0-9]-*.g "$part" 2>/dev/null || die 74 "$stem.d: cannot be written"
	set -f
}

keep_stages() {
	set_aside_stages
	set +f
	rm -f "$stem.d"/[0-9][0-9]-*.g && mv "$part"/*.g "$stem.d" && rmdir "$part" || die 74 "$stem.d: cannot be written"
	set -f
	part='' made=''
}

# What comes before a choice of forms or after it: casts of weights become weights.
simplify_form() { # PREFIX
	stage "$1fold" ge-fold $fold
	stage "$1simplify" ge-simplify $leave
	stage "$1prune" ge-prune
}

kernels() { # PREFIX OPTION...
	prefix=$1
	shift
	for word; do
		shift
		case $word in --alias=*) set -- "$@" "$word" ;; esac
	done
	stage "${prefix}integer" ge-integer $exact
	stage "${prefix}fuse" ge-fuse
	stage "${prefix}layout" ge-layout "$@"
}

# All nodes that may in one form, up to their kernels.
form() { # high|low
	last=$unmixed
	stage "$1" ge-mixed "--all=$1" ${target:+--target="$target"}
	simplify_form "$1."
	kernels "$1."
}

# Times of the default schedules go into the knowledge base; those that are in it are not taken again.
measure() { # STREAM OPTION...
	stream=$1
	shift
	[ -z "$target" ] || set -- "$@" "--runner=run-dev --serve$(quoted "--target=$target")"
	progress "timing kernels"
	run tune-op --quiet "$@" --trials=1 --json -o "$work/timed.g" -- "$stream" >"$work/timed" 2>"$work/messages" || failed $?
}

# Where the two forms do not differ there is nothing to choose.
mixed_passes() { # OPTION...
	unmixed=$last
	for word; do
		shift
		case $word in --kb=* | --runner=* | --cold-weights=*) set -- "$@" "$word" ;; esac
	done
	form high
	high=$last
	form low
	low=$last last=$unmixed
	[ "$(ge-stat --digest "$high")" != "$(ge-stat --digest "$low")" ] || return 0
	if [ "$mixed$verb" = 1tune ]; then
		measure "$high" "$@"
		measure "$low" "$@"
	fi
	for word; do
		shift
		case $word in --kb=*) set -- "$@" "$word" ;; esac
	done
	stage mixed ge-mixed ${target:+--target="$target"} $predict "$@" --high="$high" --low="$low"
	simplify_form ""
}

# A quantised model is not slower than in floats: nodes that would be, by measured times or else by the cost model, are in floats.
unquantised_passes() { # OPTION...
	[ -z "$exact$integers" ] || return 0
	ge-stat --json -- "$last" 2>/dev/null | grep -q '"DequantizeLinear":' || return 0
	predict=--predict
	mixed_passes "$@"
	in_floats=$(sed -n 's/^ge-mixed: \([0-9]*\) of \([0-9]*\) nodes in u8.*/\1 \2/p' "$work/mixed" 2>/dev/null)
	in_floats=$(printf '%s' "$in_floats" | awk '$1 < $2 { print $2 - $1 " of " $2 " quantised nodes are in floats, which is faster; --integers: none" }')
}

# How long the sizes of a histogram take, by the cost model: $work/times.
time_sizes() { # HISTOGRAM
	sed 's/#.*//' "$1" 2>/dev/null >"$work/histogram" || die 66 "$1: cannot be read"
	: >"$work/times"
	while read -r size _; do
		[ -n "$size" ] || continue
		progress "times of $size"
		ge-shape -q "--set=$size" -- "$last" 2>"$work/messages" | ge-fold -q $fold | ge-simplify -q $leave | ge-deadedge -q | ge-fold -q $fold |
			ge-simplify -q $leave | ge-prune -q | ge-integer -q $exact | ge-fuse -q | ge-layout -q 2>>"$work/messages" |
			ge-gears --time ${target:+--target="$target"} -o /dev/null 2>>"$work/messages" || failed $?
		sed -n "s/^ge-gears: \([0-9.e+-]*\) s\$/$size \1/p" "$work/messages" >>"$work/times"
	done <"$work/histogram"
}

# A branch for each gear; then what its sizes make constant goes.
gears() { # OPTION...
	counts='' given_times=''
	for word; do
		shift
		case $word in --gears=* | --histogram=* | -k* | --times=*) set -- "$@" "$word" ;; esac
		case $word in --histogram=*) counts=${word#*=} ;; --times=*) given_times=1 ;; esac
	done
	[ $# = 0 ] && return 0
	[ -z "$counts" ] || [ -n "$given_times" ] || { time_sizes "$counts" && set -- "$@" "--times=$work/times"; }
	stage gears ge-gears "$@"
	[ -z "$counts" ] || chosen_gears=$(sed -n 's/^ge-gears: //p' "$work/messages")
	geared=1
	simplify_passes
}

optimise() { # OPTION...
	case $model in *.g) ;; *) stage import ge-import $const_inputs ;; esac
	shape "$@"
	simplify_passes
	gears "$@"
	if [ -n "$mixed" ]; then mixed_passes "$@"; else unquantised_passes "$@"; fi
	kernels "" "$@"
	[ -z "$geared" ] || stage share ge-gears --share ${target:+--target="$target"}
	[ "$mixed$verb" != 1tune ] || [ -n "$runner$target" ] || fastest_form
}

compile() { # OPTION...
	for word; do
		shift
		case $word in --alias=*) set -- "$@" "$word" ;; esac
	done
	stage plan ge-plan $no_fallback ${threads:+"$threads"} ${lanes:+"$lanes"} ${target:+--target="$target"} "$@"
	set -- ${target:+--target="$target"}
	memory=$(sed -n 's/^ge-plan: //p' "$work/messages")

	begin=$(clock)
	: >"$work/messages"
	mkdir -p "$(dirname "$stem")" 2>/dev/null || die 74 "$stem: its directory cannot be made"
	set_aside_stages
	progress ""
	emits=1
	if [ -t 2 ]; then # ge-emit has progress of its own
		run ge-emit $quiet $embed ${jobs:+"$jobs"} "$@" -o "$stem" -- "$last" || failed $?
	else
		run ge-emit $quiet $embed ${jobs:+"$jobs"} "$@" -o "$stem" -- "$last" 2>"$work/messages" || failed $?
		sed -i '/on the slow path/d' "$work/messages" # the report has it from ge-plan
		tell_messages
	fi
	[ -n "$quiet" ] || columns emit "" "" "$(seconds "$begin")" >>"$work/report"
}

# Whose the time of a run is, where not all steps are kernels of known sizes: of random inputs, of open sizes that work.
# Nothing if none do, or a run takes long.
measure_shares() {
	sizes=''
	case $quiet$target/$memory in /*'open sizes'* | /*' on the slow path'*) ;; *) return 0 ;; esac
	progress "timing a run"
	case $memory in *'open sizes'*)
		sizes=$(run-ref -o /dev/null -- "$last" 2>&1 | sed -n 's/.*give them, for example: run-ref --set \([^ ]*\)$/\1/p')
		case $sizes in '' | *"'"*) return 0 ;; esac # names that a shell would not read as they are
		;;
	esac
	time_some 10 "$sizes" || time_some 20 2 4 8 16 32 64 128 256 512 || return 0
	shares=$(sed -n '/^kernels .*, slow path /p' "$work/shares")
	[ -z "$shares" ] || shares="time of a run${sizes:+ with --set $sizes}, $(sed -n 's/^min .*, median \([0-9.]* ms\),.*/\1/p' "$work/shares"): $shares"
}

# A run of the first sizes that work: they may be too small for a window or a model's own tests.
time_some() { # SECONDS SIZES...: as --set takes them, or a number for each
	until=$(($(date +%s) + $1))
	shift
	for some; do
		case $some in *=* | '') ;; *) some=$(printf %s "$sizes" | sed "s/=[0-9]*/=$some/g") ;; esac
		rest=$((until - $(date +%s)))
		[ "$rest" -gt 0 ] || return 1
		timeout "$rest" run-dev --bench --kernels --seconds 0.2 ${some:+--set="$some"} -- "$stem.so" >"$work/shares" 2>/dev/null &&
			sizes=$some && return 0
	done
	return 1
}

build() { # OPTION...
	optimise "$@"
	compile "$@"
	keep_stages
	measure_shares
	progress ""
	[ -n "$quiet" ] || print "$(build_report)"
}

build_report() {
	columns stage nodes groups seconds
	cat "$work/report"
	columns all "" "" "$(seconds "$start")"
	[ -z "$chosen_gears" ] || printf '\n%s\n' "$chosen_gears"
	printf '\n%s\n' "$memory"
	[ -z "$in_floats" ] || printf '%s\n' "$in_floats"
	[ -z "$shares" ] || printf '%s\n' "$(shown "$shares")"
	name=$(shown "$stem")
	for suffix in so a h c weights; do
		[ ! -e "$stem.$suffix" ] || printf '%-40s %10d bytes\n' "$name.$suffix" "$(stat -c %s "$stem.$suffix")"
	done
	printf '%-40s %10s\n' "$name.d/" "the graph after each stage"
}

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
	stage import ge-import $const_inputs
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

# ---- the command line ----

quoted() { # ARGUMENT...: as a shell reads it
	for word; do
		case $word in
		'' | *[!A-Za-z0-9_./:=,+-]*) printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

verb=${1-}
case $verb in
build | quantize | simplify | tune) ;;
'')
	help >&2
	exit 64
	;;
help | --help | -h | '-?')
	case ${2-} in
	'')
		print "$(help; list_tools)"
		exit 0
		;;
	build | quantize | simplify | tune)
		print "$(help_of "$2")"
		exit 0
		;;
	*) exec "$0" "$2" --help ;;
	esac
	;;
--version | -V)
	print "$(ge-check --version | sed s/ge-check/hone/)"
	exit 0
	;;
*/* | hone) die 64 "$verb: no such tool; hone help lists them" ;;
*)
	[ -x "$here/$verb" ] || die 64 "$verb: no such tool; hone help lists them"
	shift
	exec "$here/$verb" "$@"
	;;
esac

command="hone$(quoted "$@")"
model='' stem='' files='' leave='' fewest='' fold='' no_check='' check_by='' check_seconds=300 no_grow='' quiet='' keep='' const_inputs='' embed='' exact='' integers='' predict='' in_floats='' jobs='' no_fallback='' mixed='' target='' threads='' lanes='' opset='' external='' runner='' json='' part='' given='' child='' emits='' made='' range='' whole='' whole_forms='' no_data='' geared='' chosen_gears='' shares='' equalize='' smooth=''
shift
left=$#
while [ "$left" -gt 0 ]; do
	option=$1 value=''
	shift
	left=$((left - 1))
	[ "$files$option" != -- ] || { files=/ && continue; } # what follows names files
	case $files$option in
	-o | -j | --alias | --jobs | --lanes | --target | --threads | --gears | --histogram | --times | -k | --set | --shape | --const | --range | --check-set | --check | --check-seconds | --opset | --external | --seconds | \
	--data | --smooth | --metric | --drop | --method | --percentile | --weights | --activations | --trials | --runner | --kb | --report | --only | --skip | --strategy | --cost-model | --scheduler | --seed | --cold-weights | --rotation)
		[ "$left" -gt 0 ] || die 64 "$option needs a value; hone help $verb"
		value=$1
		shift
		left=$((left - 1))
		;;
	--*=*) value=${option#*=} option=${option%%=*} ;;
	-[ojk]?*) value=${option#-?} option=${option%"$value"} ;;
	esac
	case $files$option in
	--set | --shape | --const) set -- "$@" "$option=$value" ;;
	--const-inputs | --no-maps) const_inputs="$const_inputs $option" ;;
	-q | --quiet) quiet=--quiet ;;
	-'?' | --help)
		print "$(help_of "$verb")"
		exit 0
		;;
	-*)
		case $verb$option in
		build-o | tune-o) stem=$value ;;
		build-j | build--jobs | tune-j | tune--jobs) jobs=--jobs=$value ;;
		build--lanes | tune--lanes) lanes=--lanes=$value ;;
		build--alias | tune--alias) set -- "$@" "$option=$value" ;;
		build--embed | tune--embed) embed=--embed ;;
		build--gears | build--histogram | build--times | tune--gears | tune--histogram | tune--times) set -- "$@" "$option=$value" ;;
		build-k | tune-k) set -- "$@" "-k$value" ;;
		build--exact | tune--exact) exact=--exact ;;
		build--integers | tune--integers) integers=1 ;;
		build--no-fallback | tune--no-fallback) no_fallback=--no-fallback ;;
		build--mixed | tune--mixed) mixed=1 ;;
		build--threads | tune--threads) threads=--threads=$value ;;
		build--keep | tune--keep) keep=1 ;;
		build--target | tune--target) target=$value ;;
		tune--seconds | tune--trials | tune--runner | tune--kb | tune--report | tune--only | tune--skip | tune--strategy | \
			tune--cost-model | tune--scheduler | tune--seed | tune--cold-weights | tune--rotation)
			[ "$option" != --runner ] || runner=1
			set -- "$@" "$option=$value"
			;;
		tune--json) json=--json ;;
		simplify--range | simplify--check-set) set -- "$@" "$option=$value" ;;
		quantize-o) stem=$value ;;
		quantize--range) range=--range=$value ;;
		quantize--whole) whole=--whole ;;
		quantize--equalize) equalize=--equalize ;;
		quantize--smooth) smooth=--smooth=$value ;;
		quantize--opset) opset=--opset=$value ;;
		quantize--no-correction) set -- "$@" "$option" ;;
		quantize--data | quantize--metric | quantize--drop | quantize--seconds | quantize--method | quantize--percentile | quantize--weights | \
			quantize--activations | quantize--only | quantize--skip)
			case $option=$value in --activations=none | --activations=dynamic) no_data=1 ;; esac
			set -- "$@" "$option=$value"
			;;
		simplify--check) check_by=$value ;;
		simplify--check-seconds) check_seconds=$value ;;
		simplify--no-check) no_check=1 ;;
		simplify--no-grow) no_grow=1 ;;
		simplify--opset) opset=--opset=$value ;;
		simplify--external) external=$value ;;
		*) die 64 "$verb $option: no such option; hone help $verb" ;;
		esac
		;;
	*)
		if [ -z "$model" ]; then
			model=$option
		elif [ "$verb" = simplify ] && [ -z "$stem" ]; then
			stem=$option
		else
			die 64 "$option: an argument too many; hone help $verb"
		fi
		;;
	esac
done
[ -z "$target" ] || [ -z "$runner" ] || die 64 "--target: a runner says itself what it is"
[ -n "$model" ] || die 64 "$verb: which model? hone help $verb"
case $model in -*) model=./$model ;; esac
if [ "$verb" = quantize ]; then
	[ -n "$stem" ] || die 64 "quantize: where to? -o OUT.onnx"
elif [ "$verb" != simplify ]; then
	if [ -z "$stem" ]; then
		stem=$(basename "$model" .onnx)
		stem=${stem%.pb}
	fi
	case $stem in */ | . | .. | */. | */..) die 64 "-o $stem: names a directory; -o takes the stem of the files, e.g. ${stem%/}/model" ;; esac
else
	[ -n "$stem" ] || die 64 "simplify: where to? hone simplify IN.onnx OUT.onnx"
fi
case $stem in -*) stem=./$stem ;; esac

work=$(mktemp -d 2>/dev/null) || die 74 "${TMPDIR:-/tmp}: cannot be written; TMPDIR says where else intermediate files go"
trap 'rm -rf "$work" ${part:+"$part"}; [ -z "$made" ] || rmdir "$made" 2>/dev/null' EXIT
end_by_signals() {
	trap 'ended 129' HUP
	trap 'ended 130' INT
	trap 'ended 143' TERM
	trap 'ended 141' PIPE
}
end_by_signals
count=0 last=$model start=$(clock)
case $verb in
simplify | quantize)
	check_place "$stem"
	case $stem in *.onnx) ;; *) die 64 "$stem: what a model goes to ends in .onnx" ;; esac
	;;
esac
"$verb" "$@"
