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
	  --error X                    --mixed: outputs change by X of their largest element at most
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

columns() { printf '%-13s %8s %8s %9s\n' "$@"; }

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
	stage "$1" ge-mixed "--all=$1" ${mixed:+--drop} ${target:+--target="$target"}
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
	stage mixed ge-mixed ${target:+--target="$target"} $predict ${mixed:+--drop} ${error:+"$error"} "$@" --high="$high" --low="$low"
	simplify_form ""
}

# A quantised model is not slower than in floats: products that would be, by measured times or else by the cost model, are in floats,
# from codes to codes.
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
model='' stem='' files='' leave='' fewest='' fold='' no_check='' check_by='' check_seconds=300 no_grow='' quiet='' keep='' const_inputs='' embed='' exact='' integers='' predict='' error='' in_floats='' jobs='' no_fallback='' mixed='' target='' threads='' lanes='' opset='' external='' runner='' json='' part='' given='' child='' emits='' made='' range='' whole='' whole_forms='' no_data='' geared='' chosen_gears='' shares='' equalize='' smooth=''
shift
left=$#
while [ "$left" -gt 0 ]; do
	option=$1 value=''
	shift
	left=$((left - 1))
	[ "$files$option" != -- ] || { files=/ && continue; } # what follows names files
	case $files$option in
	-o | -j | --alias | --jobs | --lanes | --target | --threads | --gears | --histogram | --times | -k | --error | --set | --shape | --const | --range | --check-set | --check | --check-seconds | --opset | --external | --seconds | \
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
		build--error | tune--error) error=--error=$value ;;
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
[ -z "$error" ] || [ -n "$mixed" ] || die 64 "--error: how far --mixed may change outputs; without, it changes none"
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
