# A tuning that is killed after random numbers of records and started again ends with the records of one that was not, and times nothing
# twice. KILLS: how often (20).
. "$top/tests/lib.sh"
kills=${KILLS:-20}
model=$top/examples/digits/digits.onnx
[ -e m.g ] || hone passes -q --set batch=1 --until layout "$model" -o m.g
records() { kb dump --kb "$1" 2>/dev/null | grep -c '^kind kernel'; }
trials=${TRIALS:-32}

tune-op --runner fake --trials "$trials" --kb whole m.g -o whole.g >/dev/null 2>&1
kb dump --kb whole >whole.txt
whole=$(records whole)

k=0 cut=0
while [ $k -lt "$kills" ]; do
	k=$((k + 1))
	# When some more are there, up to all but a few, and a moment later.
	before=$(records cut) random=$(od -An -N4 -tu4 /dev/urandom)
	target=$((before + random % (2 * (whole - before) / (kills - k + 2) + 1)))
	tune-op --quiet --runner fake --trials "$trials" --kb cut m.g -o cut.g 2>/dev/null &
	while [ "$(records cut)" -le "$target" ] && grep -q '^State:.[^Z]' /proc/$!/status 2>/dev/null; do sleep 0.1; done
	sleep 0.0$((random % 10))
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	[ $? = 137 ] && cut=$((cut + 1))
	kb fsck --quiet --kb cut >/dev/null 2>&1 || [ ! -e cut ] || ok 1 "fsck after kill $k"
	[ "$(records cut)" -ge "$before" ] || ok 1 "kill $k lost records"
done
before=$(records cut)
tune-op --runner fake --trials "$trials" --kb cut m.g -o cut.g 2>said >/dev/null && [ -s cut.g ]
ok $? "the tuning ends after $cut kills"
kb dump --kb cut >cut.txt; same cut.txt whole.txt
ok $? "its records are those of the tuning that was left alone"
same cut.g whole.g
ok $? "and so is the model"
timed=$(sed -n 's/.*; \([0-9]*\) trials timed.*/\1/p' said)
[ "$timed" = $(($(records cut) - before)) ]
ok $? "of $(records cut) trials $before were known: $timed timed"
[ "$cut" -ge $((kills / 3)) ]
ok $? "$cut of $kills kills met it at work"
done_testing
