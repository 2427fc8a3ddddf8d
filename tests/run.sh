#!/bin/sh
# Runs every test in tests/ROOM/: C programs (built into build/check; tests/tap.h) and shell scripts t-*.sh (tests/lib.sh), each
# printing TAP lines ("ok - what", "not ok - what", "ok - what # SKIP why") and at its end its plan, "1..N": without, or with another
# N than there were results, it stopped early, which fails. Ends with "N passed, N failed, N skipped".
# run.sh NAME... runs only those.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
HONE_BLOBS=$tmp/blobs
XDG_DATA_HOME=$tmp/data # not the knowledge base of who runs them
unset HONE_KB HONE_RATES
# Python with the peers, if make peers was run.
[ -n "${HONE_PYTHON-}" ] || [ ! -x build/python/bin/python ] || HONE_PYTHON=$top/build/python/bin/python
[ -z "${HONE_PYTHON-}" ] || export HONE_PYTHON
TAP_COUNT=$tmp/count
export top PATH TAP_COUNT HONE_BLOBS XDG_DATA_HOME
[ $# -gt 0 ] || set -- $(ls tests/*/*.c tests/*/t-*.sh | grep -v '^tests/\(fuzz\|net\)/' | sed 's,.*/,,;s,\.c$,,' | LC_ALL=C sort)
pass=0 fail=0 skip=0
for t; do
	mkdir -p "$tmp/$t"
	: >"$TAP_COUNT"
	start=$(date +%s)
	case $t in
	*.sh) (cd "$tmp/$t" && sh "$(ls "$top"/tests/*/"$t")") >"$tmp/out" 2>&1 ;;
	*) (cd "$tmp/$t" && "$top/build/check/$t") >"$tmp/out" 2>&1 ;;
	esac
	rc=$?
	p=$(grep -c '^ok' "$tmp/out") s=$(grep -c '^ok.*# SKIP' "$tmp/out") f=$(grep -c '^not ok' "$tmp/out")
	plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$tmp/out")
	[ "$plan" = $((p + f)) ] && [ "$plan" -gt 0 ] || { f=$((f + 1)); echo "not ok - $t: $p passed, its plan is ${plan:-missing}" >>"$tmp/out"; }
	[ $rc -ne 0 ] && [ "$f" -eq 0 ] && { f=1; echo "not ok - $t ended with $rc" >>"$tmp/out"; }
	grep -h '# SKIP' "$tmp/out" | sed "s,^ok,$t: skipped,"
	if [ "$f" -gt 0 ]; then # what failed, some lines behind each, and the end
		awk -v t="$t" -v n="$(wc -l <"$tmp/out")" '/^not ok/ { show = 9 } show-- > 0 || NR > n - 20 { print t ": " $0 }' "$tmp/out" | tail -200
	fi
	printf '%-28s %4d passed %3d failed %3d skipped  %3ds\n' "$t" $((p - s)) "$f" "$s" $(($(date +%s) - start))
	pass=$((pass + p - s)) fail=$((fail + f)) skip=$((skip + s))
	rm -rf "${tmp:?}/$t"
done
echo "$pass passed, $fail failed, $skip skipped"
[ "$fail" -eq 0 ]
