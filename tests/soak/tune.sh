# A tuning that is killed at random moments and started again ends with the records of one that was not, and times nothing
# twice. KILLS: how often (20).
. "$top/tests/lib.sh"
kills=${KILLS:-20}
model=$top/examples/digits/digits.onnx
[ -e m.g ] || hone passes -q --set batch=1 --until layout "$model" -o m.g
records() { kb dump --kb "$1" 2>/dev/null | grep -c '^kind kernel'; }
trials=${TRIALS:-32}

start=$(date +%s%N)
tune-op --runner fake --trials "$trials" --kb whole m.g -o whole.g >/dev/null 2>&1
whole=$(($(date +%s%N) - start))
kb dump --kb whole >whole.txt

k=0 cut=0
while [ $k -lt "$kills" ]; do
	k=$((k + 1))
	# later and later, up to the whole time
	after=$(od -An -N4 -tu4 /dev/urandom | awk -v t=$whole -v k=$k -v n="$kills" '{ printf "%.3f", 0.02 + $1 / 2^32 * t / 1e9 * k / n }')
	before=$(records cut)
	(timeout -s KILL "$after" tune-op --quiet --runner fake --trials "$trials" --kb cut m.g -o cut.g) 2>/dev/null
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
