#!/bin/sh
# Runs every test in tests/ROOM/: C programs (built into build/check; tests/tap.h) and shell scripts t-*.sh (tests/lib.sh), each
# printing TAP lines ("ok - what", "not ok - what", "ok - what # SKIP why") and at its end its plan, "1..N": without, or with another
# N than there were results, it stopped early, which fails. A line a test says how many seconds it took, and in brackets of how many
# CPU seconds. Ends with "N passed, N failed, N skipped"; what failed is said again before it.
# run.sh NAME... runs only those. JOBS tests run at a time: as many as there are CPUs, if it does not say. With PROGRESS=N it says
# what starts, and every N seconds how far each is.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
unset HONE_KB HONE_RATES MAKEFLAGS MFLAGS MAKELEVEL # lines of hone under make -j begin with a model
# Python with the peers, if make peers was run.
[ -n "${HONE_PYTHON-}" ] || [ ! -x build/python/bin/python ] || HONE_PYTHON=$top/build/python/bin/python
[ -z "${HONE_PYTHON-}" ] || export HONE_PYTHON
HONE_ANSWERS=$tmp/answers
mkdir "$HONE_ANSWERS"
export top PATH TAP_COUNT HONE_BLOBS XDG_DATA_HOME HONE_ANSWERS

# The longest come first, so that no CPU waits for the last of them.
longest="t-bench.sh t-tune.sh t-state.sh t-hone-tune.sh t-aarch64.sh t-decoders.sh t-hone-quantize.sh t-preview.sh t-packed.sh t-models.sh
	t-fuzz.sh sized space kernels t-report.sh t-emit.sh t-repro.sh t-ml.sh
	t-lists.sh t-gears.sh t-sizes.sh t-torch.sh t-tune-graph.sh t-control.sh t-open.sh t-hone.sh t-references.sh t-valid.sh t-bad.sh lanes"
every=$(ls tests/*/*.c tests/*/t-*.sh | grep -v '^tests/\(cross/t-cross\|fuzz/\|net/\)' | sed 's,.*/,,;s,\.c$,,' | LC_ALL=C sort)
[ $# -gt 0 ] || set -- $longest $(echo "$every" | grep -vxF "$(printf '%s\n' $longest)")

# one NAME: runs it; what it says is in $tmp/NAME.said, its counts in $tmp/NAME.counts. It has a blob store and a knowledge base of its
# own: not those of who runs it, nor of a test beside it.
one() {
	t=$1 out=$tmp/$1.out start=$(date +%s)
	TAP_COUNT=$tmp/$t.tap HONE_BLOBS=$tmp/$t.home/blobs XDG_DATA_HOME=$tmp/$t.home/data
	: >"$TAP_COUNT"
	mkdir -p "$tmp/$t"
	[ -z "${PROGRESS-}" ] || { echo "$start" >"$tmp/$t.start"; printf '%s  %s begins\n' "$(date +%H:%M:%S)" "$t"; }
	case $t in
	*.sh) (cd "$tmp/$t" && sh "$(ls "$top"/tests/*/"$t")") >"$out" 2>&1 ;;
	*) (cd "$tmp/$t" && "$top/build/check/$t") >"$out" 2>&1 ;;
	esac
	rc=$?
	times >"$tmp/$t.times"
	p=$(grep -c '^ok' "$out") s=$(grep -c '^ok.*# SKIP' "$out") f=$(grep -c '^not ok' "$out")
	plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$out")
	[ "$plan" = $((p + f)) ] && [ "$plan" -gt 0 ] || { f=$((f + 1)); echo "not ok - $t: $p passed, its plan is ${plan:-missing}" >>"$out"; }
	[ $rc -ne 0 ] && [ "$f" -eq 0 ] && { f=1; echo "not ok - $t ended with $rc" >>"$out"; }
	{
		grep -h '# SKIP' "$out" | awk -v t="$t" '{ sub(/^ok/, ""); print t ": skipped" $0 }'
		if [ "$f" -gt 0 ]; then # what failed, some lines behind each, and the end
			awk -v t="$t" -v n="$(wc -l <"$out")" '/^not ok/ { show = 9 } show-- > 0 || NR > n - 20 { print t ": " $0 }' "$out" | tail -200
		fi
		printf '%-28s %4d passed %3d failed %3d skipped  %3ds (%s)\n' "$t" $((p - s)) "$f" "$s" $(($(date +%s) - start)) \
			"$(awk -F '[ms ]+' 'NR == 2 { printf "%.1f", $1 * 60 + $2 + $3 * 60 + $4 }' "$tmp/$t.times")"
	} >"$tmp/$t.said"
	echo $((p - s)) "$f" "$s" >"$tmp/$t.counts"
	rm -f "$tmp/$t.start"
	cat "$tmp/$t.said"
	rm -rf "${tmp:?}/$t" "$tmp/$t.home" "$out"
}

# Of each test that runs: since when, its results so far (those of a program in it, too) and the last line that it said.
progress() {
	while sleep "$PROGRESS" >/dev/null 2>&1; do
		for since in "$tmp"/*.start; do
			t=$(basename "$since" .start)
			began=$(cat "$since" 2>/dev/null) || continue
			cat "$tmp/$t.out" "$tmp/$t.tap.in.out" 2>/dev/null | awk -v when="$(date +%H:%M:%S)" -v t="$t" -v took=$(($(date +%s) - began)) '
				/^(not )?ok/ { n++ } /^not ok/ { bad++ } NF { last = $0 }
				END { printf "%s  %s: %d s, %d passed, %d failed so far%.100s\n", when, t, took, n - bad, bad, last ? ": " last : "" }'
		done
	done
}

# Their results hang on times: each of these runs by itself, when the others are done.
timed=" calibrate confirm device ring t-against.sh t-grad-net.sh t-grad-mpi.sh t-horovod.sh t-hostile.sh t-probe.sh "
is_timed() { case $timed in *" $1 "*) ;; *) return 1 ;; esac }

# A test takes a line from the pipe, and puts it back when it is done.
mkfifo "$tmp/free"
exec 3<>"$tmp/free"
for t in $(seq "${JOBS:-$(nproc)}"); do echo >&3; done
if [ -n "${PROGRESS-}" ]; then
	progress 3>&- &
	watcher=$!
	trap 'kill $watcher; rm -rf "$tmp"' EXIT
fi
running=
for t; do
	is_timed "$t" && continue
	read -r turn <&3
	(one "$t" 3>&-; echo >&3) &
	running="$running $!"
done
[ -z "$running" ] || wait $running
for t; do
	is_timed "$t" && (one "$t" 3>&-)
done
grep -h '^[^ ]*: not ok' "$tmp"/*.said | cut -c 1-200
grep -h '^[^ ]*: skipped - ' "$tmp"/*.said | awk '/[Pp]ython|peers/ { python++; next } /HONE_MODELS/ { models++; next } { other++ }
	END { if (NR) printf "skipped: %d want modules of Python, most of which make peers installs; %d want models (HONE_MODELS); %d others, as they say\n",
		python, models, other }'
cat "$tmp"/*.counts | awk '{ passed += $1; failed += $2; skipped += $3 }
	END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }'
