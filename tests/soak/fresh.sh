#!/bin/sh
# README's two commands on a bare machine: fresh.sh [-c] [FOLDER] makes a minimal Debian 12 in FOLDER (a new one in TMPDIR, removed at the
# end), with git and make, and this tree as it is committed. First a user without sudo tries, and must be told what root has to type; then
# root runs make demo, and with -c make check. Needs root, debootstrap, the net, 4 GB, and half an hour for -c.
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
checks=
[ "${1-}" != -c ] || { checks=1; shift; }
[ "$(id -u)" = 0 ] || { echo "fresh.sh: only root can make a chroot" >&2; exit 77; }
command -v debootstrap >/dev/null || { echo "fresh.sh: apt install debootstrap" >&2; exit 69; }
root=${1-}
[ -n "$root" ] || { root=$(mktemp -d) && made=1; }
finish() {
	umount -R -l "$root/proc" "$root/dev" 2>/dev/null
	[ -z "${made-}" ] || rm -rf --one-file-system "$root"
}
trap finish EXIT
trap 'exit 1' INT TERM
bad=0
say() { # STATUS WHAT
	if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; bad=1; fi
}
inside() { chroot "$root" /usr/bin/env -i HOME="$home" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

home=/root
[ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail -3 "$root.log" >&2; exit 69; }
rm -f "$root.log"
chmod 755 "$root"
cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev" || exit 1
inside apt-get install -y -q git make >/dev/null 2>&1 || { echo "fresh.sh: apt-get install git make failed in $root" >&2; exit 69; }
git clone -q --no-hardlinks "$top" "$root/root/hone" && cp -r "$root/root/hone" "$root/tmp/hone" || exit 1

inside useradd -m someone
inside chown -R someone /tmp/hone
inside su someone -c 'cd /tmp/hone && make demo' >"$root/tmp/out" 2>&1
[ $? != 0 ] && grep -q 'root must run: apt-get' "$root/tmp/out" && [ "$(wc -l <"$root/tmp/out")" -le 6 ]
say $? "a user without sudo is told what root must type: $(grep 'root must run' "$root/tmp/out" | cut -c1-100)"
inside sh -c 'cd /root/hone && make demo' >"$root/tmp/out" 2>&1
say $? "make demo: $(tail -1 "$root/tmp/out")"
inside su someone -c 'cd /tmp/hone && make demo' >"$root/tmp/out" 2>&1
say $? "make demo by that user, when all is installed: $(tail -1 "$root/tmp/out")"
if [ -n "$checks" ]; then
	inside sh -c 'cd /root/hone && make check' >"$root/tmp/out" 2>&1
	say $? "make check: $(grep ' passed, ' "$root/tmp/out" | tail -1)"
	grep '^[^ ]*: not ok' "$root/tmp/out"
fi
exit $bad
