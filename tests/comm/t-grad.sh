# tune-grad without a network: profile, plan, compare, advise; what bad files get.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
HONE_KB=$PWD/own.kb
export HONE_KB
tab=$(printf '\t')

# Four tensors; alpha 20, beta 0.0001. By hand: a 100 to 220, b 300 to 520, then c and d together 520 to 540.51.
cat >g.tsv <<END
# forward 250
a${tab}1000000${tab}100
b${tab}2000000${tab}300
c${tab}100${tab}400
<d>${tab}5000${tab}500
END
printf '# a line\n1000\t20.1\n10000000\t1020\n' >c.tsv
plan="tune-grad plan g.tsv --alpha 20 --beta 0.0001"
is "$($plan -q | tr '\n' ' ')" "0 1 3 " "plan"
is "$($plan 2>&1 >/dev/null)" "tune-grad: 4 tensors in 3 segments: tail 40.5 us of 540.5, communication 360.5 us; no plan ends before 520.5" "plan says what to expect"
is "$($plan -q | cat - c.tsv | wc -l) $(tune-grad plan -q -c c.tsv <g.tsv | tr '\n' ' ')" "6 0 1 3 " "a curve through two points is a line; standard input"
is "$($plan -q -f size | tr '\n' ' ')" "1000000 2000000 5100 " "form size"
is "$($plan -q -f hccl)" "set_split_strategy_by_idx([0, 1, 3])" "form hccl"
is "$($plan -q -f ddp)" "[1000000, 2000000, 5100]" "form ddp"
is "$($plan -q -f horovod | tr -d '\n')" '[["a"], ["b"], ["c", "<d>"]]' "form horovod"
is "$($plan -q -f json | head -2 | tr -d '\n')" '{"tensors": 4, "end_us": 540.510, "tail_us": 40.510, "busy_us": 360.510, "bound_us": 520.510, "segments": [ {"last": 0, "bytes": 1000000, "ready_us": 100.000, "start_us": 100.000, "end_us": 220.000, "names": ["a"]},' "form json"
is "$(rc $plan -f yaml) $(cat err)" "64 tune-grad: -f yaml: expected idx, size, hccl, ddp, horovod or json" "no such form"
is "$($plan -q -k 1) $($plan -q -k 2 | tr '\n' ' ')" "3 1 3 " "at most K segments"
is "$($plan -q --slack 90%)" 3 "with much slack, one segment"
is "$($plan -q -o p.idx; cat p.idx | tr '\n' ' ')" "0 1 3 " "plan -o"
# Reversed, ready times are halved: a 50 to 170, b 170 to 390, c and d 390 to 410.51.
is "$($plan --gather 2>&1 >/dev/null | sed 's/.*tail/tail/')" "tail 160.5 us of 410.5, communication 360.5 us; no plan ends before 370.5" "the gathering hides behind the forward pass"
sed 1d g.tsv >no-forward.tsv
is "$(rc tune-grad plan no-forward.tsv --alpha 1 --gather) $(cat err)" "65 tune-grad: no-forward.tsv: no line '# forward US', which the gathering is to hide behind" "gathering needs the forward pass"

# Odd sizes.
: >none.tsv
is "$(rc tune-grad plan none.tsv -c c.tsv -o none.idx) $(wc -c <none.idx)" "0 0" "no tensor, no segment"
is "$(rc tune-grad compare none.tsv -c c.tsv --plot none.svg) $(ls none.svg)" "0 none.svg" "compare and plot of nothing"
printf 'x\t10000000000\t5.5\n' >one.tsv
is "$(tune-grad plan one.tsv --alpha 50 --beta 0.0001 -f json -q | grep -c '"end_us": 1000055.5.*')" 2 "one tensor of 10 GB"

# compare
tune-grad compare g.tsv --alpha 20 --beta 0.0001 --plot x.svg p.idx >cmp.txt
is "$(awk 'NR > 1 && NR < 11 { print $1, $2, $4 }' cmp.txt | tr '\n' ';')" "tune-grad 40.5 3;p.idx 40.5 3;none 60.5 4;single 320.5 1;ddp 140.5 2;hccl 140.5 2;horovod 320.5 1;mg-wfbp 40.5 3;fixed 40.5 3;" "compare with the seven"
is "$(awk '/^lower/ { print $3, $4 }' cmp.txt)" "20.5 520.5" "the lower bound"
is "$(tune-grad compare g.tsv --alpha 20 --beta 0.0001 --json | grep -c '"plan": ')" 8 "compare --json"
is "$(grep -c 'class="tail"><title>' x.svg) $(grep -c '<text[^>]*>mg-wfbp<' x.svg) $(tail -1 x.svg)" "9 1 </svg>" "the picture has a timeline a plan"
if command -v python3 >/dev/null; then
	is "$(python3 -c 'import xml.dom.minidom, sys; xml.dom.minidom.parse("x.svg"); print("well")' 2>&1)" well "the picture is well formed"
else
	skip "the picture is well formed" "no python3"
fi

# In a picture of 30,000 segments those too narrow to see are drawn together; a plan that takes much longer is cut, and says so.
awk 'BEGIN { for (i = 0; i < 30000; i++) printf "t%d\t4000\t%d\n", i, i }' >many.tsv
tune-grad compare many.tsv --alpha 50 --beta 0.00001 --plot many.svg >/dev/null
is "$(($(wc -c <many.svg) < 60000)) $(grep -c 'class="cut"' many.svg) $(grep -c '<title>segments 0 to 2[0-9]*: ' many.svg) $(grep -c '>ends at 1.501 s<' many.svg)" "1 1 1 1" "a picture of many segments is small"
cp p.idx "$(printf 'a<b&\377\303\251-and-a-long-name-of-a-plan')"
tune-grad compare g.tsv --alpha 20 --beta 0.0001 --plot odd.svg a* >/dev/null
tune-grad compare g.tsv --alpha 20 --beta 0.0001 --plot odd2.svg "$(cp p.idx "$(printf 'a<b&\377\303\251')"; printf 'a<b&\377\303\251')" >/dev/null
is "$(grep -c '>…[^<]*long-name-of-a-plan<' odd.svg) $(grep -c '>a&lt;b&amp;?é<' odd2.svg)" "1 1" "odd names in the picture"

# What is remembered.
is "$(rc tune-grad plan g.tsv --network lab) $(cat err)" "66 tune-grad: no curve is remembered of the network 'lab'; give it once with -c FILE" "nothing is remembered yet"
tune-grad plan -q g.tsv -c c.tsv --network lab --model toy >/dev/null
tune-grad plan -q g.tsv -c c.tsv --network lab --model toy >/dev/null
is "$(tune-grad plan -q g.tsv --network lab | tr '\n' ' ')" "0 1 3 " "a curve is remembered by its network"
is "$(kb ls | awk 'NR > 1 { $1 = $3 = ""; print }' | tr -s ' ' | tr '\n' ';')" " 1 all-reduce on lab; 1 gradients of toy on lab;" "what is the newest is not put again"
tune-grad plan -q g.tsv -k 1 --network lab --model toy >/dev/null
is "$(tune-grad compare g.tsv --network lab --model toy | awk '/^remembered/ { print $4 }')" 1 "the newest plan of a model"
is "$(rc tune-grad compare one.tsv --network lab --model toy) $(cat err)" "65 tune-grad: gradients of toy on lab:1: tensor 3: there are 1; is the plan of another grads file?" "a remembered plan for other tensors"
awk -F'\t' -v OFS='\t' '!/^#/ { $2 += 4 } 1' g.tsv >bigger.tsv
is "$(rc tune-grad compare bigger.tsv --network lab --model toy) $(cat err)" "65 tune-grad: gradients of toy on lab: the plan is of gradients of other names or sizes" "a remembered plan for tensors of other sizes"
# Records that somebody else made: with numbers that no later one is above, and curves that are none.
forged() { # NUMBER CURVE
	printf 'record\nkind curve\nnetwork lab\nnumber %s\ntask all-reduce on lab\ncurve %s\n\n' "$1" "$2" | kb put 2>>err
}
for number in 18446744073709551615 99999999999999999999 -1 nan 1e300; do forged $number "$(printf '0\t0\n\t1e6\t1')"; done
forged 900 "$(printf '0\tnan\n\t1e6\t-1e300')"
is "$(rc tune-grad plan g.tsv --network lab) $(tr '\n' ' ' <out) $(grep -c 'passed over' err)" "0 0 1 3  1" "of forged curves none is taken, and a note says so"
tune-grad plan -q g.tsv --alpha=5 --beta=0.001 --network lab >again.plan
is "$(tune-grad plan -q g.tsv --network lab | cmp - again.plan && echo same)" same "a curve that is put later is the newest"
is "$(rc tune-grad plan g.tsv -c c.tsv --model toy) $(wc -l <err)" "64 1" "a model without a network"

# --verify: the command says its time; fewer lines are faster here.
is "$($plan -q --verify 'wc -l <{}' -i 2 | tr '\n' ' ')" "1 3 " "verify keeps the fastest plan"
is "$($plan --verify 'wc -l <{}' -i 2 2>&1 >/dev/null | sed 's/.*measured *//' | head -2 | tr '\n' ' ')" "3.0 us 2.0 us " "verify says what it measured"
is "$(rc $plan --verify 'exit 3') $(wc -c <out) $(sed 's/;.*//' err)" "69 0 tune-grad: --verify: the command ended with 3 with the plan 'plan'" "verify: a command that fails"

# profile
is "$(rc tune-grad profile "$top/examples/digits/digits.onnx") $(tail -1 err)" "64 tune-grad: give them, for example: tune-grad profile --set batch=1" "profile asks for sizes"
ge-import "$top/examples/digits/digits.onnx" | ge-shape --set batch=32 | tune-grad profile -o d.tsv 2>err
is "$(head -1 d.tsv) $(grep -cv '^#' d.tsv) $(awk -F'\t' '!/^#/ { n += $2 } END { print n }' d.tsv)" "# estimated 11 96232" "profile: parameters and their bytes"
is "$(awk -F'\t' '/^# forward/ { split($0, w, " "); f = w[3] } !/^#/ { if ($3 < r) bad = 1; r = $3 } END { print bad + 0, (r <= 2 * f + 0.01) }' d.tsv)" "0 1" "profile: in ready order, within twice the forward pass"
is "$(tail -1 d.tsv | cut -f1)" "features.0.0.weight" "profile: the first layer's gradient is the last"
is "$(rc tune-grad compare d.tsv -c c.tsv)" 0 "a profile can be planned for"

# advise: 3 steps of 150 ms: 20 loading, 30 forward, 60 backward, two all-reduces that end 25 ms behind it, 10 optimizer.
events() { # MODE CAT COMM
	awk -v cat="$1" -v comm="$2" 'function ev(name, cat, ts, dur) {
		printf "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%d,\"dur\":%d,\"args\":{\"stream\":7,\"x\":[1,{\"y\":null}]}}", n++ ? ",\n" : "", cat, name, ts, dur }
	BEGIN { printf "{\"schemaVersion\": 1, \"traceEvents\": [\n{\"ph\":\"M\",\"name\":\"process_name\"},"
		for (s = 0; s < 3; s++) { t = s * 150000
			ev("ProfilerStep#" s, "user_annotation", t, 150000)
			ev("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation", t, 20000)
			ev("c10d::allreduce_", "cpu_op", t + 80000, 50)
			ev("gemm \\u00e9\\n", cat, t + 20000, 30000); ev("grad", cat, t + 50000, 60000)
			ev(comm, cat, t + 80000, 20000); ev(comm, cat, t + 105000, 30000); ev("sgd", cat, t + 135000, 10000) }
		printf "], \"traceName\": \"x\"}\n" }'
}
numbers() { sed -n 's/.*"step_us": \([0-9]*\)[^,]*, "compute_us": \([0-9]*\)[^,]*, "comm_us": \([0-9]*\)[^,]*, "exposed_us": \([0-9]*\)[^,]*, "tail_us": \([0-9]*\)[^,]*, "idle_us": \([0-9]*\)[^,]*, "data_us": \([0-9]*\)[^,]*, .*/\1 \2 \3 \4 \5 \6 \7/p'; }
events kernel ncclDevKernel_AllReduce_Sum_f32 >trace.json
is "$(tune-grad advise --json trace.json | numbers)" "150000 100000 50000 25000 25000 25000 20000" "advise: where a step goes, on a device"
is "$(events cpu_op gloo:all_reduce | gzip | tune-grad advise --json | numbers)" "150000 100000 50000 25000 25000 25000 20000" "advise: on a processor, gzipped"
is "$(tune-grad advise trace.json | sed -n 's/^the \([a-z]*\): .*/\1/p' | tr '\n' ' ')" "tail data " "advise: what to change"
is "$(tune-grad advise trace.json | grep -c '^gap at .*: 20000.0 us, waiting for data,')" 3 "advise: the longest gaps"
is "$(printf '[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":10}]' | tune-grad advise -q | tail -1)" "nothing stands out" "advise: a trace without communication"
# Two steps of clients/torch_plan.py with four segments and two ranks, recorded (PyTorch 1.13 without Kineto; what lies in two others was
# left out). By hand, from the file: the steps take 904200 and 919477 us. The last all-reduce of the first takes 14744 us, begins 15681 us
# behind the backward pass's last operator and ends at 882924; that of the second 61632 us. Two copies, 87 and 89 us, precede
# them; nothing else runs beside, so all of both is tail: 38188 us a step. Of the six all-reduces before, 247 us lie between operators.
is "$(tune-grad advise --json "$top/tests/comm/traces/torch.json" | numbers)" "911838 845910 210477 38311 38188 27616 0" "advise: a recorded trace"
is "$(tune-grad advise "$top/tests/comm/traces/torch.json" | grep -c '^gap at \(1725439.0 us: 35224.0\|852661.0 us: 15519.0\) us before gloo:all_reduce')" 2 "advise: what ends the gaps"
is "$(tune-grad advise "$top/tests/comm/traces/torch.json" | sed -n "s/^the tail: a step's last all-reduce takes \([0-9]*\) us.*/\1/p")" 38188 "advise: what to change, of a recorded trace"
# On a GPU: the host runs ahead, streams overlap, copies and broadcasts are no gradients. kineto.py paints every microsecond instead.
for kind in ddp late loader graphs; do
	command -v python3 >/dev/null || { skip "advise: a timeline of a GPU, $kind" "no python3"; continue; }
	python3 -B "$top/tests/comm/kineto.py" make $kind gpu.json.gz
	tune-grad advise -q --json gpu.json.gz >advice
	is "$(python3 -c 'import json; a = json.load(open("advice")); print(a["steps"], *(f"{a[k]:.3f}" for k in ("step_us", "compute_us", "comm_us", "exposed_us", "tail_us", "idle_us", "data_us", "others_us", "calls")))')" \
		"$(python3 -B "$top/tests/comm/kineto.py" read gpu.json.gz)" "advise: a timeline of a GPU, $kind"
done
bad_trace() { # what, the message's end
	is "$(rc tune-grad advise bad.json) $(wc -c <out) $(cat err)" "65 0 tune-grad: bad.json$2" "advise: $1"
}
head -c 700 trace.json >bad.json
bad_trace "a trace cut short" ":700: no JSON: it stops in the middle"
gzip -c trace.json | head -c 100 >bad.json
bad_trace "a gzipped one cut short" ":100: gzip: it stops in the middle"
echo '{"a": 1}' >bad.json
bad_trace "another file" ": no trace: neither a list of events nor an object with traceEvents"
echo '[]' >bad.json
bad_trace "an empty trace" ": no operator and no kernel in it; is it a trace of training?"
awk 'BEGIN { for (i = 0; i < 9999; i++) printf "[" }' >bad.json
bad_trace "nested without end" ":256: no JSON: nested too deep"
printf '[{"name": "\\ud83d\\ude00 \\x"}]' >bad.json
bad_trace "an unknown escape" ":25: no JSON: unknown escape"
printf '[1 2]' >bad.json
bad_trace "a missing comma" ":3: no JSON: expected ',' or ']'"

# Bad files: one line that says where.
bad() { # what, FILE's text, option, the message's end
	printf "$2" >bad.tsv
	if [ "$3" = grads ]; then set -- "$1" "$2" "$4" bad.tsv -c c.tsv; else set -- "$1" "$2" "$4" g.tsv -c bad.tsv; fi
	what=$1 want=$3
	shift 3
	is "$(rc tune-grad plan "$@") $(wc -c <out) $(cat err)" "65 0 tune-grad: bad.tsv:$want" "$what"
}
bad "a negative time" 'a\t1\t-5\n' grads "1: a: ready '-5': expected us, a number that is not negative"
bad "a time that is no number" 'a\t1\tnan\n' grads "1: a: ready 'nan': expected us, a number that is not negative"
bad "bytes that are not whole" 'a\t1.5\t5\n' grads "1: a: bytes '1.5': expected a whole number that is not negative"
bad "times that fall" '#\na\t1\t5\nb\t1\t4.5\n' grads "3: b: ready falls from 5 to 4.5; sort the tensors by it"
bad "two fields" 'a\t1\n' grads "1: 2 fields; expected name<TAB>bytes<TAB>ready_us"
bad "too many bytes" 'a\t9000000000000000\t1\nb\t9000000000000000\t1\n' grads "2: b: more than 2^53 bytes in all"
bad "a forward pass that is no number" '# forward x\n' grads "1: forward 'x': expected us, a number that is not negative"
bad "a curve that falls" '1\t10\n2\t9\n' curve "2: us falls from 10 to 9; a curve never falls: measure again, or give both points the higher one"
bad "a curve with a hole" '1\t10\n2\t\n' curve "2: us '': expected a number that is not negative"
bad "a point twice" '1\t10\n1\t11\n' curve "2: bytes 1 twice"
bad "points that are not sorted" '5\t10\n1\t11\n' curve "2: bytes fall from 5 to 1; sort by them"
bad "one point" '5\t10\n' curve "1: one point; a curve takes two, or --alpha and --beta in place of it"
bad "an empty curve" '' curve "0: no point; a curve takes two, or --alpha and --beta in place of it"
bad_plan() { # what, text, the message's end
	printf "$2" >bad.idx
	is "$(rc tune-grad compare g.tsv -c c.tsv bad.idx) $(cat err)" "65 tune-grad: bad.idx:$3" "$1"
}
bad_plan "a plan that stops" '0\n1\n' "2: ends at tensor 2 of 4; the last line is the last tensor's index"
bad_plan "a plan that goes back" '2\n1\n3\n' "2: tensor 1 after tensor 2; a segment ends behind the one before"
bad_plan "a plan of more tensors" '2\n9\n' "2: tensor 9: there are 4; is the plan of another grads file?"
bad_plan "no plan" 'x\n' "1: 'x': expected the index of a segment's last tensor"
is "$(rc tune-grad plan g.tsv) $(sed 's/;.*//' err)" "64 tune-grad: no network" "no curve"
is "$(rc tune-grad plan g.tsv --alpha 1 -c c.tsv) $(wc -l <err)" "64 1" "two curves"
is "$(rc tune-grad plan nowhere.tsv -c c.tsv) $(wc -l <err)" "66 1" "no such file"
is "$(rc tune-grad fuse) $(cat err)" "64 tune-grad: fuse: no such verb; tune-grad --help lists them" "no such verb"
is "$(rc tune-grad plan g.tsv --alpha 1 -k 0) $(rc tune-grad plan g.tsv --alpha -1) $(rc tune-grad plan g.tsv --alpha 1 --slack x)" "64 64 64" "bad numbers in options"
done_testing
