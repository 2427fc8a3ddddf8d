# A runner on another host: a real sshd in a network namespace of its own, reached over a pair of virtual links. Then a host
# that dies in the middle of work, and one that hangs.
. "$top/tests/lib.sh"
none() skip_all "a runner behind sshd" "$1"
sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) || none "no sshd"
command -v ssh >/dev/null && command -v ip >/dev/null || none "no ssh or no ip"
[ "$(id -u)" = 0 ] || none "not root"
mkdir -p /run/sshd 2>/dev/null || none "no /run/sshd"
box=hone-box-$$ here=hone-$$ link=hb$$
cleanup() {
	[ ! -s sshd.pid ] || kill "$(cat sshd.pid)" 2>/dev/null
	ip netns del "$box" 2>/dev/null
	ip netns del "$here" 2>/dev/null
}
trap cleanup EXIT
ip netns add "$box" 2>/dev/null && ip netns add "$here" 2>/dev/null || none "no network namespaces"
ip link add "${link}a" netns "$here" type veth peer name "${link}b" netns "$box" 2>/dev/null || none "no virtual links"
ip -n "$here" addr add 10.231.7.1/24 dev "${link}a" && ip -n "$here" link set "${link}a" up
ip -n "$box" addr add 10.231.7.2/24 dev "${link}b" && ip -n "$box" link set "${link}b" up
ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -q -t ed25519 -N '' -f hostkey && cp key.pub authorized
for line in "ListenAddress 10.231.7.2" "HostKey $PWD/hostkey" "AuthorizedKeysFile $PWD/authorized" "PidFile $PWD/sshd.pid" \
	"StrictModes no" "PermitRootLogin yes" "UsePAM no"; do
	echo "$line"
done >config
ip netns exec "$box" "$sshd" -f "$PWD/config" -E "$PWD/sshd.log" || none "sshd does not start: $(tail -1 sshd.log)"
ssh="ip netns exec $here ssh -q -i $PWD/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@10.231.7.2"
for i in 1 2 3 4 5 6 7 8 9 10; do
	$ssh true </dev/null && break
	sleep 0.3
done
$ssh true </dev/null || none "no way to log in: $(tail -1 sshd.log)"
within "$top/build/check/device" --remote "$ssh 'echo \$\$ >$PWD/service.pid; exec $top/build/check/device --serve'"
ran=$?
for i in 1 2 3 4 5 6 7 8 9 10; do
	left=$(grep -lz "$top/build/check/[d]evice" /proc/[0-9]*/cmdline 2>/dev/null)
	[ -n "$left" ] || break
	sleep 0.5
done
[ $ran = 0 ] && [ -z "$left" ]
ok $? "nothing runs there afterwards" || echo "# still there: $left"
done_testing
