# tune-grad calibrate and run on other hosts: two of them, network namespaces each with a real sshd, joined by a bridge. Then one
# that is not there, a rank that is killed, one whose host falls off the network, and a tool that is killed.
. "$top/tests/lib.sh"
none() skip_all "ranks behind sshd" "$1"
sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) || none "no sshd"
client=$(command -v ssh) && command -v ip >/dev/null || none "no ssh or no ip"
[ "$(id -u)" = 0 ] || none "not root"
mkdir -p /run/sshd 2>/dev/null || none "no /run/sshd"
here=hone-grad-$$ box1=hone-grad1-$$ box2=hone-grad2-$$
box_of() { case $1 in 1) echo "$box1" ;; 2) echo "$box2" ;; esac; }
cleanup() {
	for i in 1 2; do [ ! -s sshd$i.pid ] || kill "$(cat sshd$i.pid)" 2>/dev/null; done
	for n in $here $box1 $box2; do ip netns del $n 2>/dev/null; done
}
trap cleanup EXIT
for n in $here $box1 $box2; do ip netns add $n 2>/dev/null || none "no network namespaces"; done
ip -n $here link add bridge type bridge 2>/dev/null || none "no bridge"
ip -n $here link set bridge up && ip -n $here addr add 10.231.8.1/24 dev bridge
for i in 1 2; do
	box=$(box_of $i)
	ip -n $here link add to$i type veth peer name eth0 netns $box 2>/dev/null || none "no virtual links"
	ip -n $here link set to$i master bridge up && ip -n $box addr add 10.231.8.$((i + 1))/24 dev eth0 && ip -n $box link set eth0 up
	ip -n $box link set lo up
done
ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -q -t ed25519 -N '' -f hostkey && cp key.pub authorized
for i in 1 2; do
	box=$(box_of $i)
	printf '%s\n' "ListenAddress 10.231.8.$((i + 1))" "HostKey $PWD/hostkey" "AuthorizedKeysFile $PWD/authorized" "PidFile $PWD/sshd$i.pid" \
		"StrictModes no" "PermitRootLogin yes" "UsePAM no" "SetEnv PATH=$top/bin:$PATH" >config$i
	ip netns exec $box "$sshd" -f "$PWD/config$i" -E "$PWD/sshd.log" || none "sshd does not start: $(tail -1 sshd.log)"
done
# What a user has in ~/.ssh/config.
mkdir ssh-bin
printf '#!/bin/sh\nexec %s -q -i %s/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -l root "$@"\n' "$client" "$PWD" >ssh-bin/ssh
chmod +x ssh-bin/ssh
PATH=$PWD/ssh-bin:$PATH
go="ip netns exec $here"
for k in 1 2 3 4 5 6 7 8 9 10; do
	$go ssh 10.231.8.2 true </dev/null && $go ssh 10.231.8.3 true </dev/null && break
	sleep 0.3
done
$go ssh 10.231.8.3 true </dev/null || none "no way to log in: $(tail -1 sshd.log)"

printf '10.231.8.2\n10.231.8.3\n' >hosts
awk 'BEGIN { for (i = 0; i < 12; i++) printf "t%d\t%d\t%d\n", i, i % 4 ? 40000 : 400000, 2000 * (i + 1) }' >g.tsv
ranks() { for n in $box1 $box2; do for k in $(ip netns pids $n); do { tr '\0' ' ' </proc/$k/cmdline; } 2>/dev/null | grep -q '^tune-grad rank\|/tune-grad rank' && echo $k; done; done; }
nobody() { # what is left after a moment
	for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
		left="$(ranks) $(pgrep -f "$PWD/key.*tune-grad rank")"
		[ "$left" = " " ] && return
		sleep 0.25
	done
	echo "left:" $left
}
fault() { # what, expected code, expected words: one line of it, no later than 5 s since start where logging in is not slow, and nobody left on either side
	took=$(($(date +%s) - start))
	nothing "$1" "$([ $rc = "$2" ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] || { echo "not one line"; cat err; }; grep -q "$3" err || cat err
		[ $took -le $((5 + 2 * slow)) ] || echo "$took s"; nobody)"
}
long() { # a run that lasts, its pid in pid; on the way as soon as there are ranks
	$go tune-grad run g.tsv none --hosts hosts -i 100000 --timeout $((2 + slow)) >out 2>err &
	pid=$!
	for k in $(seq 100); do
		[ "$(ranks | wc -l)" = 2 ] && break
		sleep 0.1
	done
	sleep 0.7
	met=$(ranks | wc -l)
}

start=$(date +%s); $go tune-grad calibrate --hosts hosts --max 64k -o curve.tsv >out 2>&1
slow=$(($(date +%s) - start)) # seconds that two ranks and a curve take; where it is more than 3, what is timed below gets as many more
[ $slow -gt 3 ] || slow=0
nothing "a curve of two hosts" "$(cat out; [ "$(grep -vc '^#' curve.tsv)" -ge 8 ] || { echo "a short curve"; cat curve.tsv; }; nobody)"
$go tune-grad run g.tsv best none --hosts hosts -i 2 -c curve.tsv >out 2>&1
nothing "plans run on two hosts" "$(awk 'NR > 1 && $4 >= 24000 { n++ } END { if (n != 2) print n " of 2 plans" }' out; nobody)"

printf '10.231.8.2\n10.231.8.9\n' >away
start=$(date +%s); $go tune-grad calibrate --hosts away >out 2>err; rc=$?
fault "a host that is not there" 69 'rank 1 (10.231.8.9:0).*ssh 10.231.8.9 hone'
printf '10.231.8.2\n10.231.8.3 ssh 10.231.8.3 not-installed\n' >away
start=$(date +%s); $go tune-grad calibrate --hosts away >out 2>err; rc=$?
fault "a host without hone" 69 'rank 1 (10.231.8.3:0) ended with 127: .*not-installed'
long; start=$(date +%s); kill -KILL $(ranks | tail -1); wait $pid; rc=$?
fault "a rank that is killed there" 69 'rank 1 (10.231.8.3:[0-9]*) ended with 255: no connection, or the rank was killed there; it was started by: ssh 10.231.8.3 hone'
long; start=$(date +%s); ip -n $here link set to2 down; wait $pid; rc=$?
took=$(($(date +%s) - start))
nothing "a host that falls off the network" "$([ $rc = 69 ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] || echo "not one line"
	grep -q 'rank 1 (10.231.8.3:[0-9]*).*silent\|rank 1.*no answer' err || cat err; [ $took -le $((5 + 2 * slow)) ] || echo "$took s")"
ip -n $here link set to2 up
nothing "and has no rank left once it is back" "$(nobody; [ $met = 2 ] || echo "$met ranks were there")"
long; kill -KILL $pid; wait $pid 2>/dev/null
nothing "ranks there end with the tool" "$(nobody; [ $met = 2 ] || echo "$met ranks were there")"
done_testing
