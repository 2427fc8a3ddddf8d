# tune-grad calibrate and run: processes here, then in namespaces with a rate and a delay; ranks that are killed, stopped, not there.
. "$top/tests/lib.sh"
lab=$top/build/tests/net/netlab
awk 'BEGIN { for (i = 0; i < 12; i++) printf "t%d\t%d\t%d\n", i, i % 4 ? 40000 : 400000, 2000 * (i + 1) }' >g.tsv

tune-grad calibrate -n 3 --max 1M -o curve.tsv 2>err
nothing "a curve of three processes" "$(cat err; awk -F'\t' '/^#/ { next } NF != 2 || $1 <= b || $2 < t { print } { b = $1; t = $2; n++ }
	END { if (n < 10 || b != 1048576) print n + 0 " points, last " b }' curve.tsv || echo "no curve")"
tune-grad run g.tsv best none single ddp -n 3 -i 2 -c curve.tsv >out 2>err
nothing "plans run on three processes" "$(cat err; awk 'NR > 1 && $4 >= 24000 { n++ } END { if (n != 4) print n " of 4 plans" }' out; cat out | grep -v . )"
tune-grad run g.tsv none -n 2 -i 2 --compute work --json >out 2>err
nothing "with work in place of sleep, as JSON" "$(cat err; grep -q '"compute": "work".*' out && grep -q '"plan": "none", "segments": 12, "predicted_us": null' out || { echo "not so:"; cat out; })"
: >empty.tsv
tune-grad run empty.tsv single -i 1 >out 2>&1 || nothing "no tensor" "$(cat out)"
nothing "no tensor is no segment" "$(awk 'NR == 2 && $2 == 0 { n++ } END { if (!n) print "no line" }' out)"

# Ranks that still run; who waits for them may be slow.
left() { for k in $ranks; do [ -e /proc/$k ] && [ "$(sed 's/.*) //' /proc/$k/stat 2>/dev/null | cut -c1)" != Z ] && echo "rank $k is left"; done; }
# What is remembered of a network and a model: calibrate its curve, plan and run by it, run the plan that was fastest.
HONE_KB=$PWD/own.kb
export HONE_KB
tune-grad run g.tsv remembered --network lab --model toy >out 2>err
rc=$?
nothing "no curve is remembered yet" "$([ $rc = 66 ] && grep -q "no curve is remembered of the network 'lab'" err || { echo "exit $rc"; cat err; })"
tune-grad calibrate -n 2 --max 64K --network lab -o curve2.tsv 2>err
nothing "calibrate remembers its curve" "$(cat err; kb ls | grep -q 'all-reduce on lab' || { echo "not among:"; kb ls; }
	[ "$(tune-grad plan g.tsv --network lab -q)" = "$(tune-grad plan g.tsv -c curve2.tsv -q)" ] || echo "another plan")"
tune-grad run g.tsv remembered --network lab --model toy >out 2>err
rc=$?
nothing "no plan is remembered yet" "$([ $rc = 66 ] && grep -q "no plan is remembered of the model 'toy' on the network 'lab'" err || { echo "exit $rc"; cat err; })"
tune-grad plan g.tsv --network lab --model toy -q -o plan.idx && tune-grad run g.tsv remembered single --network lab --model toy -n 2 -i 2 >out 2>err
nothing "run takes the plan that plan remembered" "$(cat err; awk -v n="$(wc -l <plan.idx)" 'NR == 2 && $1 == "remembered" && $2 == n && $3 != "-" { found = 1 } END { if (!found) print "no such row" }' out)"
fast=$(awk 'NR == 2 { us = $4; n = $2 } NR == 3 && $4 < us { n = $2 } END { print n }' out)
nothing "and remembers the fastest, with its times" "$(tune-grad compare g.tsv --network lab --model toy | awk -v n="$fast" '$1 == "remembered" && $4 == n { found = 1 } END { if (!found) print "no row of " n " segments" }'
	kb dump 2>/dev/null | grep -q 'samples' || echo "no times")"
nothing "run refuses a model without a network" "$(tune-grad run g.tsv best --alpha 5 --model toy >out 2>&1; grep -v 'on which --network' out; [ -s out ] || echo "not a word")"
unset HONE_KB

# One line, the code, and how long: what, expected code, expected words; the tool's code in rc, its words in err.
fault() {
	took=$(($(date +%s) - start))
	nothing "$1" "$([ $rc = "$2" ] || echo "exit $rc"; [ "$(wc -l <err)" = 1 ] || echo "not one line"; grep -q "$3" err || cat err
		[ $took -le 5 ] || echo "$took s"; pgrep -P $$ tune-grad; left)"
}
long() { # a run that lasts; its pid in pid, those of its ranks in ranks
	tune-grad run g.tsv none -n 3 -i 100000 --timeout 2 >out 2>err &
	pid=$! ranks=
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		ranks=$(pgrep -P $pid | tr '\n' ' ')
		[ "$(echo $ranks | wc -w)" = 3 ] && break
		sleep 0.1
	done
	sleep 0.5
	set -- $ranks
	second=$2
}
long; start=$(date +%s); kill -KILL $second; wait $pid; rc=$?
fault "a rank that is killed" 71 'rank 1 (127.0.0.1:[0-9]*) was killed by signal 9'
long; start=$(date +%s); kill -STOP $second; wait $pid; rc=$?
fault "a rank that is stopped" 69 'rank 1 (127.0.0.1:[0-9]*).*\(silent\|no answer\)'
long; start=$(date +%s); kill -KILL $pid; wait $pid 2>/dev/null; sleep 1
nothing "ranks end with the tool" "$(left; [ -n "$ranks" ] || echo "there were none")"
ranks= start=$(date +%s)
printf '127.0.0.1\n127.0.0.1 sleep 60;\n' >hosts; tune-grad calibrate --timeout 2 --hosts hosts >out 2>err; rc=$?
fault "a host that does not answer" 69 'rank 1 .*no answer within 2 s from: sleep 60'
printf '127.0.0.1\n127.0.0.1 sh -c "echo no route >\\&2; exit 3"\n' | tr -d '\\' >hosts; tune-grad calibrate --hosts hosts >out 2>err; rc=$? start=$(date +%s)
fault "a command that fails" 69 'rank 1 (127.0.0.1:0) ended with 3: no route; it was started by'
printf 'x\t1000000000000\t5\n' >big.tsv; tune-grad run big.tsv single >out 2>err; rc=$? start=$(date +%s)
fault "a segment longer than memory" 69 'this machine has'
printf '# nobody\n' >hosts; tune-grad calibrate --hosts hosts >out 2>err; rc=$?
fault "no host" 65 'hosts: no host'

# In namespaces: 200 Mbit/s, 1 ms. Without them netlab ends with 77. What is looked at is medians, of 100 measurements of each size and
# of 15 of each plan. A busy machine puts them off where it delays half of those: where it delays one in five, of 15 once in 200 times.
cat >script <<'END'
tune-grad calibrate --hosts hosts --max 256k -o net.tsv && tune-grad run g.tsv best single none --hosts hosts -i 15 -c net.tsv >measured
END
timeout 60 "$lab" -f -n 2 -d 1000 -r 200 -o hosts sh script 2>err
rc=$?
if [ $rc = 77 ]; then
	skip_all "a network of namespaces" "$(cat err)"
fi
nothing "a network of namespaces" "$([ $rc = 0 ] || { echo "exit $rc"; cat err; }; [ -e hosts ] && echo "hosts is left")"
# Twice the delay at least; 256 kB at 200 Mbit/s are 10.5 ms out of each rank. Wide bounds: this is no benchmark.
nothing "its curve has delay and rate" "$(awk -F'\t' '$1 == 4 && $2 >= 2000 && $2 <= 4000 || $1 == 262144 && $2 >= 10400 && $2 <= 20000 { n++ }
	END { if (n != 2) print n + 0 " of 2 points" }' net.tsv || echo "no curve")"
nothing "what was measured is near what was predicted" "$(awk 'NR > 1 && $(NF-1) >= 0.9 && $(NF-1) <= 1.2 { n++ } END { if (n != 3) print n + 0 " of 3 plans" }' measured || echo "nothing was measured")"
cat >script <<'END'
tune-grad run g.tsv none --hosts hosts -i 100000 2>said &
pid=$!
sleep 1.5
kill -KILL $(pgrep -P $pid | tail -1)
wait $pid
END
timeout 30 "$lab" -n 3 -d 1000 -r 200 -o hosts sh script; rc=$?
nothing "a rank killed in a namespace" "$([ $rc = 71 ] || echo "exit $rc"; grep -q 'rank 2 (10.99.0.3:[0-9]*) was killed by signal 9' said || cat said)"
cat >script <<'END'
sed '2s/10.99.0.2/10.99.0.77:7000/' hosts >wrong
tune-grad calibrate --timeout 2 --hosts wrong 2>said
END
timeout 30 "$lab" -n 2 -d 1000 -o hosts sh script; rc=$?
nothing "an address that is not a rank's" "$([ $rc = 69 ] || echo "exit $rc"; [ "$(wc -l <said)" = 1 ] || cat said)"
done_testing
