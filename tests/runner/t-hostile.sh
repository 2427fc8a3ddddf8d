# Candidates that do harm: each is found out, in time, and nothing is left behind: no file, no process.
. "$top/tests/lib.sh"
if [ -n "${ASAN_OPTIONS-}" ]; then
	skip_all "candidates that do harm" "a sanitizer stands between them and the system calls they try"
fi
mkdir tmp && touch keep
within env TMPDIR="$PWD/tmp" "$top/build/check/device" "$top"/tests/runner/hostile/*.c
ran=$? # where it failed, that nothing is left says little
for i in 1 2 3 4 5 6 7 8 9 10; do # the directory goes right after the service
	[ -n "$(ls tmp)" ] || break
	sleep 0.2
done
[ $ran = 0 ] && [ -z "$(ls tmp)" ]
ok $? "no artifacts are left" || { echo "# left:"; ls -R tmp; }
[ $ran = 0 ] && [ ! -e left-behind ]
ok $? "no files are left" || echo "# a file is left"
for i in 1 2 3 4 5 6 7 8 9 10; do # a process that was killed goes when it has a turn
	left=$(grep -lz "$top/build/check/[d]evice" /proc/[0-9]*/cmdline 2>/dev/null)
	[ -n "$left" ] || break
	sleep 0.5
done
[ $ran = 0 ] && [ -z "$left" ]
ok $? "no processes are left" || echo "# processes are left: $left"

# However the service ends, its directory and its children go.
mkfifo in
TMPDIR=$PWD/tmp "$top/build/check/device" --serve <in >/dev/null &
service=$!
exec 3>in
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ -z "$(ls tmp)" ] || break
	sleep 0.2
done
[ -n "$(ls tmp)" ]
has=$?
ok $has "a service has a directory" || echo "# no directory"
kill -9 $service
wait $service 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ -n "$(ls tmp)" ] || break
	sleep 0.2
done
exec 3>&-
[ $has = 0 ] && [ -z "$(ls tmp)" ]
ok $? "killed, it leaves nothing" || echo "# killed, it leaves its directory"

# A directory that no code can be run in is refused before there is a candidate.
if unshare -rm mount -t tmpfs -o noexec none tmp 2>/dev/null; then
	unshare -rm sh -c 'mount -t tmpfs -o noexec none tmp; TMPDIR=$PWD/tmp "$0" --serve </dev/null 2>err' "$top/build/check/device"
	rc=$?
	[ $rc -eq 74 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$PWD/tmp: nothing in it can be run (it is mounted noexec)" err
	ok $? "a directory mounted noexec" || { echo "# a directory mounted noexec: $rc"; cat err; }
else
	skip "a directory mounted noexec" "no file system of our own"
fi

# Where there are no namespaces to be had, limits and the filter of system calls are enough.
bare() { unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all --inh-caps -all --no-new-privs "$@"' sh "$@"; }
if bare true 2>/dev/null && ! bare unshare -U true 2>/dev/null; then
	XDG_RUNTIME_DIR=$PWD bare "$top/build/check/device" "$top"/tests/runner/hostile/*.c >bare.out 2>&1 # root here is another root's name
	[ "$(grep -c '^ok' bare.out)" -gt 24 ] && ! grep -q '^not ok' bare.out
	ok $? "all are found out without namespaces" || { echo "# without namespaces"; grep '^not ok' bare.out | sed 's/^/# /'; }
else
	skip "all are found out without namespaces" "no way to be without"
fi
done_testing
