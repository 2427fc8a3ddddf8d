# The unit tests on AArch64, by the emulator, except rooms that time what they run and those that take half an hour of it: with EVERY=1 these,
# too. For make check-aarch64 CASES=N, which builds them.
. "$top/tests/lib.sh"
. "$top/tests/cross/cross.sh"
export HONE_CROSS="${HONE_CROSS-aarch64-linux-gnu-}"
for unit in "$top"/tests/*/*.c; do
	room=$(basename "$(dirname "$unit")") name=$(basename "$unit" .c)
	case $room in comm | runner | tune | fuzz | net) continue ;; esac
	[ -x "$tree/build/check/$name" ] || continue
	case ${EVERY-}$name in sized) skip "$name" "too slow by an emulator: EVERY=1 runs it" && continue ;; esac
	echo "# $name"
	mkdir "$name"
	(cd "$name" && within emulated 16 "build/check/$name") >said 2>&1
	grep -v '^ok' said
	! grep -q '^not ok' said
	ok $? "$name: $(grep -c '^ok' said) results"
	rm -rf "$name"
done
done_testing
