# The unit tests on AArch64, by the emulator, except rooms that time what they run: each to its end. Those that draw at random, or go through
# many operators, do less of it there, and one that takes minutes is left out; EVERY=1 has all, as on this machine. For make
# check-aarch64 CASES=N, which builds them. A line a unit says the processor's seconds that it took.
. "$top/tests/lib.sh"
. "$top/tests/cross/cross.sh"
export HONE_CROSS="${HONE_CROSS-aarch64-linux-gnu-}"
[ -n "${EVERY-}" ] || export LOOP_TEST_SCHEDULES=80 LOOP_TEST_COMPILED=4 SPACE_TEST_VECTORS=6 WINOGRAD_CASES=10 KERNELS_SCHEDULES=4 # of 400, 20, 50, 40 and 10

# Arguments of a unit: what is in its first comment.
arguments() {
	case ${EVERY-}$1 in
	unfit) echo 96 ;;      # one of so many goes to C, not one of 12
	unfit_sizes) echo 2 ;; # trials of an operator, not 25
	order) echo norm ;;    # the cases with this in their names
	lanes) echo generic aarch64 armv8.2-a ;;
	esac
}
# seconds FILE: processor time of what `times` has waited for, as it wrote it there; a subshell has waited for nothing.
seconds() { awk -F '[ms ]+' 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }' "$1"; }

for unit in "$top"/tests/*/*.c; do
	room=$(basename "$(dirname "$unit")") name=$(basename "$unit" .c)
	[ -x "$tree/build/check/$name" ] || continue
	case $room in
	fuzz | net) continue ;; # no units
	comm | runner | tune) skip "$name" "tests/$room times what it runs" && continue ;;
	esac
	case ${EVERY-}$name in sized) skip "$name" "too slow by an emulator: EVERY=1 runs it" && continue ;; esac
	mkdir "$name"
	times >before
	# shellcheck disable=SC2046 # words
	(cd "$name" && TAP_COUNT=$PWD/count && : >count && within emulated 16 "build/check/$name" $(arguments "$name")) >said 2>&1
	grep -v '^ok' said
	times >after
	took=$(awk -v a="$(seconds before)" -v b="$(seconds after)" 'BEGIN { printf "%.1f", b - a }')
	! grep -q '^not ok' said
	ok $? "$name: $(grep -c '^ok' said) results, $took s"
	rm -rf "$name"
done
done_testing
