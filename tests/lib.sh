# Every test script reads this first (. "$top/tests/lib.sh") and calls done_testing last. run.sh fails a test that stops early: its
# plan, "1..N", is then missing. Results are counted in the file TAP_COUNT, a byte each, so that those of subshells count too.

# ok STATUS WHAT: passes where STATUS is 0, and says so to its caller. A failure shows the ends of ./err and ./log.
ok() {
	local shown
	printf . >>"$TAP_COUNT"
	[ "$1" != 0 ] || { printf 'ok - %s\n' "$2"; return 0; }
	printf 'not ok - %s\n' "$2"
	for shown in err log; do [ ! -f $shown ] || tail -n 20 $shown | marked "# $shown: "; done
	return 1
}

# marked TEXT: the lines of standard input, each with TEXT before it.
marked() { mark=$1 awk '{ print ENVIRON["mark"] $0 }'; }

# replaced OLD NEW: standard input with NEW in place of each OLD; neither is a pattern. (Texts of sed and awk hold no variable.)
replaced() {
	old=$1 new=$2 awk 'BEGIN { old = ENVIRON["old"]; new = ENVIRON["new"] }
		{ for (line = ""; at = index($0, old); $0 = substr($0, at + length(old))) line = line substr($0, 1, at - 1) new; print line $0 }'
}

# patched FILE OLD NEW: in a file of bytes NEW, which is as long, in place of each OLD.
patched() {
	LC_ALL=C grep -aboF -- "$2" "$1" | cut -d: -f1 | while read -r at; do printf %s "$3" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null; done
}

# is GOT WANTED WHAT: passes where the two texts are equal, and there are any.
is() {
	if [ -n "$1" ] && [ "$1" = "$2" ]; then ok 0 "$3"; else
		ok 1 "$3"
		printf '%s\n' "$1" | sed 's/^/# got /'
		printf '%s\n' "$2" | sed 's/^/# not /'
		return 1
	fi
}

# nothing WHAT TEXT: passes where the text, which says what is wrong, is empty.
nothing() {
	if [ -z "$2" ]; then ok 0 "$1"; else
		ok 1 "$1"
		printf '%s\n' "$2" | sed 's/^/# /'
		return 1
	fi
}

# same_graph FILE FILE: the digests of two graphs are equal, and there are any.
same_graph() {
	local digest
	digest=$(ge-stat --digest "$1") && [ -n "$digest" ] && [ "$digest" = "$(ge-stat --digest "$2")" ]
}

# same FILE FILE: the two hold the same bytes, and there are any.
same() { [ -s "$1" ] && cmp "$1" "$2"; }

# equal ARGUMENT...: run-cmp finds what it compares equal, and something to compare. Its table is in ./cmp.log.
equal() { run-cmp "$@" >cmp.log 2>&1 && grep -q ' equal$' cmp.log; }

# twice_as_fast PATTERN: of a dump of records, the first that matches, as one of half the time of the default.
twice_as_fast() {
	awk -v pattern="$1" 'BEGIN { RS = ""; ORS = "\n\n"; FS = "\n" }
		$0 ~ pattern && !n++ { sub(/^(hone-kb 1\n)?record [0-9a-f]*/, "record"); sub(/\nverdict [a-z]*/, "\nverdict faster")
			gsub(/\n(mean|remeasurements|remeasurement|against|kept|ratio|lo|hi|samples|why) [^\n]*/, "")
			print $0 "\nagainst default\nratio 0.5\nlo 0.4\nhi 0.6\nsamples 1/2" }'
}

# refused CODE NAMED WHAT COMMAND...: it ends with CODE, one line on standard error that holds NAMED, and nothing on standard output.
refused() {
	local code=$1 named=$2 what=$3
	shift 3
	"$@" >out 2>err </dev/null
	[ $? = "$code" ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$named" err
	ok $? "$what: $(head -1 err)"
}

# prepared STATUS WHAT: no program of hone had a part in what a test needs: no result, where it went well.
prepared() { [ "$1" = 0 ] || ok "$1" "$2"; }

# unread COMMAND...: its output goes to a pipe that nobody reads any more. Its exit code: 141 where SIGPIPE ended it.
unread() {
	rm -f nobody
	mkfifo nobody
	: <nobody &
	{ wait $! && "$@"; } >nobody
}

# skip WHAT WHY: a test that cannot be done here. skip_all: none of this script can.
skip() {
	printf . >>"$TAP_COUNT"
	printf 'ok - %s # SKIP %s\n' "$1" "$2"
}
skip_all() {
	skip "$1" "$2"
	done_testing
	exit 0
}

# has_terminal: script can give a command a terminal here.
has_terminal() { script -qec true /dev/null </dev/null >/dev/null 2>&1; }

# within COMMAND...: a test program of its own, whose results are this script's. It fails where its plan is another number; without a
# plan only scripts in Python may be, which do not end well before they are done.
within() {
	local inner=$TAP_COUNT.in status results planned
	: >"$inner"
	TAP_COUNT=$inner "$@" >"$inner.out"
	status=$?
	grep -v '^1\.\.[0-9]*$' "$inner.out"
	results=$(grep -c '^\(not \)\{0,1\}ok' "$inner.out")
	head -c "$results" /dev/zero >>"$TAP_COUNT"
	planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$inner.out")
	case $1 in *python*) planned=${planned:-$results} ;; esac
	[ "$planned" = "$results" ] && [ "$results" -gt 0 ] || { status=1; ok 1 "$1: $results results, its plan: ${planned:-none}"; }
	[ $status = 0 ] || grep -q '^not ok' "$inner.out" || ok 1 "$1 ended with $status"
	: >"$inner.out"
	return $status
}

done_testing() { echo "1..$(wc -c <"$TAP_COUNT")"; }
# awaited: what runs in the background ($!) has written the file "waits", or has ended.
awaited() { until [ -e waits ] || ! grep -q '^State:.[^Z]' /proc/$!/status 2>/dev/null; do sleep 0.05; done; }
