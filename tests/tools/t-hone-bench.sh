# hone bench and run-dev --peer: a table of models, beside a peer that speaks the protocol, which here is a script with known times.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
cp "$top/examples/digits/digits.onnx" net.onnx
# Passes for a python with onnxruntime. Its outputs are the evaluator's, its runs take a second each.
cat >python <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
run-ref -q --set batch="${BATCH:-1}" -i "$HONE_PEER_INPUTS" -o "$HONE_PEER_OUTPUTS" "${MODEL:-net.onnx}" || exit
echo hone-peer 1 Slow 2.0
while read -r seconds; do echo 1 1 1; done
END
chmod +x python
hone build -q net.onnx --set batch=1 -o lib/net
printf 'hone-text 1\nmodule ir=10 opset=20\ngraph main {\n  input x: f32[4]\n  y = Relu(x)\n  output y = y\n}\n' | ge-load | ge-shape -o tiny.g &&
	hone build -q -o lib/tiny tiny.g
run-dev lib/net.so --bench --seconds 0.1 --peer ./python >out 2>err && grep -q '^Slow 2.0: min 1000.0000 ms, median 1000.0000 ms' out &&
	grep -q '^the library takes 0\.0[0-9]* (0\.0[0-9]* to 0\.0[0-9]*) of its time, [1-9][0-9]* turns; outputs differ by [0-9.]*e-0[5-9]$' out
ok $? "a peer is timed in turns, and its outputs are compared"
sed 's/$HONE_PEER_INPUTS" -o/$HONE_PEER_INPUTS" --seed 5 -o/; s/-i "$HONE_PEER_INPUTS"//' python >other && chmod +x other
run-dev lib/net.so --bench --json --seconds 0.1 --peer ./other >out 2>err && grep -q '"differs":[0-9.]*[,}]' out && ! grep -q '"differs":[0-9.]*e-' out
ok $? "other outputs are seen"
refused 69 "ended with 3" "a peer that ends" run-dev lib/net.so --bench --peer 'exit 3'
refused 69 "ended by signal 9" "one that is killed" run-dev lib/net.so --bench --peer 'kill -9 $$'
refused 65 "not what a peer says" "one that says something else" run-dev lib/net.so --bench --peer 'echo good morning; cat'
refused 65 "not what a peer says" "times that are none" run-dev lib/net.so --bench --peer 'echo hone-peer 1 x; read a; echo -1'
refused 69 "closed its output" "one that hangs up and stays" run-dev lib/net.so --bench --peer 'exec >&-; exec sleep 60'
refused 65 "a line of more than" "a line without end" run-dev lib/net.so --bench --peer 'exec cat /dev/zero'
refused 69 "wrote no outputs" "no outputs" run-dev lib/net.so --bench --seconds 0.1 --peer 'echo hone-peer 1 x; while read s; do echo 1; done'
refused 69 "no answer in 0.2 seconds" "one that never answers" run-dev lib/net.so --bench --peer-wait 0.2 --peer 'sleep 60 & echo $! >pid; wait'
for _ in $(seq 40); do # one that has ended may wait for its parent
	grep -q '^State:.[^Z]' "/proc/$(cat pid)/status" 2>/dev/null || break
	sleep 0.05
done
! grep -q '^State:.[^Z]' "/proc/$(cat pid)/status" 2>/dev/null
ok $? "what it has started ends with it"
sed 's/^while.*/while read -r s; do sleep 0.3; echo 1; done/' python >slow && chmod +x slow
run-dev lib/net.so --bench --seconds 0.2 --peer ./slow >out 2>err && grep -q ' [1-3] turns; ' out
ok $? "turns that take it longer are fewer" || cat out err
sed 's/^while.*/trap "" HUP; while read -r seconds; do echo 1; done; exec sleep 60/' python >stays && chmod +x stays
timeout 20 run-dev lib/net.so --bench --seconds 0.1 --peer ./stays >out 2>err && grep -q '^Slow 2.0' out
ok $? "one that stays when its input ends is ended" || cat err
refused 64 --peer "--peer without --bench" run-dev lib/net.so -o x.npz --peer ./python
is "$(ls -d "${TMPDIR:-/tmp}"/hone-peer-* 2>/dev/null | wc -l)" 0 "nothing is left"

export HONE_PYTHON=./python
bench="hone bench net.onnx --seconds 0.1"
$bench --set batch=1 -o t.md >out 2>err && [ ! -s err ] && grep -q '^the peer is Slow 2.0, timed in turns$' out &&
	grep -q '^net.onnx  *-  *1  *[0-9.]*  .* 1000.0000  *0\.0[0-9]*  *0\.0[0-9]*  *0\.0[0-9]*  *[0-9.]*e-0[5-9]$' out
ok $? "a table"
is "$(sed -n 2p t.md | tr -cd '|' | wc -c) $(grep -c '^| net.onnx | - | 1 | ' t.md)" "$(sed -n 1p t.md | tr -cd '|' | wc -c) 1" "Markdown"
name='a|'"'"'b" $(touch run).onnx'
cp net.onnx "$name" && hone bench "$name" --set batch=1 --seconds 0.1 -o t.md >out 2>err && [ ! -s err ] && [ ! -e run ] &&
	grep -Fq "| a\\|'b" t.md && grep -q '^the peer is Slow' out
ok $? "a name with a bar, quotes and a command in it" || cat err
for python in $(unset HONE_PYTHON; python_with onnxruntime); do
	"$python" "$top/clients/onnxruntime_peer.py" none.onnx >out 2>err
	is "$? $(wc -l <err) $(grep -c '^onnxruntime_peer.py: .*none.onnx' err)" "1 1 1" "ONNX Runtime without the model: one line"
done
$bench --sizes batch=1,3 --threads 1,2 --alone -o t.csv >out 2>err
is "$(cut -d, -f1-3 t.csv | tr '\n' ' ')" "model,sizes,threads net.onnx,batch=1,1 net.onnx,batch=1,2 net.onnx,batch=3,1 net.onnx,batch=3,2 " "sizes and threads, each with each"
run-dev lib/tiny.so --bench --seconds 0.1 | grep -q '^min [0-9.]* us, median [0-9.]* us, p99'
ok $? "times of less than a tenth of a millisecond"
for s in 0.1 1; do
	run-dev lib/tiny.so --bench --json --seconds $s | sed 's/.*"memory":\([0-9]*\).*/\1/'
done >memory
is "$(awk 'NR == 1 { m = $1 } END { print NR, ($1 > 0), ($1 < 1.5 * m) }' memory)" "2 1 1" "the memory of a model is not that of its times: $(tr '\n' ' ' <memory)"
! grep -q peer t.csv && grep -q '^without ONNX Runtime: --alone$' out
ok $? "--alone"
hone bench lib/net.so --seconds 0.1 --json >t.json 2>err && [ ! -s err ] && grep -q '"median":[0-9]' t.json && ! grep -q '"peer' t.json
ok $? "a library as it is, and JSON"
hone bench none.onnx net.onnx --set batch=1 --alone --seconds 0.1 >out 2>err
is "$? $(grep -c 'none.onnx: No such file' err) $(grep -c '^none.onnx .* - ' out) $(grep -c '^net.onnx  *-  *1  *[0-9.]' out)" "66 1 1 1" "one that cannot be built: the others are timed"
$bench >out 2>err
is "$? $(tail -1 err)" "64 hone: give them, for example: hone bench net.onnx --seconds 0.1 --set batch=1" "sizes are missing: the command to give them"
MODEL=none.onnx $bench --set batch=1 >out 2>err
is "$? $(grep -c '^run-dev: --peer .* ended with 66' err) $(grep -c '^net.onnx  *-  *1  *[0-9.]' out)" "0 1 1" "a peer that cannot run it: without"
printf '#!/bin/sh\nexec sleep 60\n' >sleeper && chmod +x sleeper
HONE_PYTHON=./sleeper $bench --set batch=1 --peer-wait 0.2 >out 2>err && grep -q '^without ONNX Runtime: ./sleeper does not answer in 0.2 seconds' out
ok $? "a python that never answers"
HONE_PYTHON=false $bench --set batch=1 >out 2>err && grep -q '^without ONNX Runtime: false has no onnxruntime' out
ok $? "no ONNX Runtime: $(sed -n 2p out)"
refused 64 --sizes "sizes without a name" hone bench net.onnx --sizes 3
refused 64 --sizes "a size that is none" hone bench net.onnx --sizes batch=x
refused 64 --threads "no threads" hone bench net.onnx --threads 1,0
refused 64 t.pdf "a table of another kind" hone bench net.onnx -o t.pdf
refused 64 bench "no model" hone bench
done_testing
