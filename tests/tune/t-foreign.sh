# Records that were not measured here: another's, older ones, made up. What they say is timed before it is used, and what does not
# replay is passed over, with a line.
. "$top/tests/lib.sh"
task='MatMul f32 100x256 256x256c'
# On a machine that is written out the text of the kernels, and with it what the fake runner says of them, is the same everywhere:
# with this seed something is faster than the default.
HONE_TARGET='cpu=two levels of cache, SSE2;features=;l1=32K;l2=512K;l3=8192K' HONE_RATES=/dev/null seed=1
export HONE_TARGET HONE_RATES
fake="--runner fake --trials 24 --task"
tune-op --quiet $fake "$task" --seed $seed >one 2>err
# Of that tuning: one record that won, and what says that the search was done.
awk -v RS= -v ORS='\n\n' '/\nkind search/' one >done
awk -v RS= -v ORS='\n\n' '/\nverdict faster/ && /\nagainst default/ && !/\nkept no/ { print; exit }' one >won
[ -s won ] && [ -s done ] && grep -q '^seal ' won
ok $? "what is measured has a seal"
# One whose numbers agree, one whose samples say another ratio, one whose trace is none.
lie() { sed 's/^record .*/record/; s/^\(ratio\|lo\|hi\|mean\) .*/\1 0.1/; s,^samples .*,samples 100000/1000000,' won; }
absurd() { sed 's/^record .*/record/; s/^\(ratio\|lo\|hi\|mean\) .*/\1 0.1/' won; }
garbage() { awk '/^trace / { print "trace system(\"id\")\n\t*/ abort(); /*"; skip = 1; next } /^\t/ && skip { next } { skip = 0; print }' won | sed 's/^record .*/record/; s/^\(ratio\|lo\|hi\|mean\) .*/\1 0.2/; s,^samples .*,samples 100000/1000000,'; }
tune() { tune-op $fake "$task" --seed $seed --kb "$1" >records 2>err; }

kb -q --kb ours put <won && kb -q --kb ours put <done && tune ours && [ ! -s records ] && grep -q ' 0 trials timed' err
ok $? "measured here: nothing is timed again"
lie | kb -q --kb lie put && kb -q --kb lie put <done && tune lie && [ "$(grep -c '^against default' records)" = 1 ] &&
	grep -q 'record .* says 0.1 of the default.s time; timed here: 0[.][0-9]*$' err && ! grep -q '^ratio 0.1$' records
ok $? "a ratio that nobody here has seen is timed"
kb -q --kb lie put <records && tune lie && [ ! -s records ] && grep -q ' 0 trials timed' err && ! grep -q 'timed here' err
ok $? "once"
garbage | kb -q --kb lie put && tune lie && [ ! -s records ] && [ "$(grep -c 'no such primitive; passed over' err)" = 1 ]
ok $? "what does not replay is passed over: $(grep passed err)"
absurd | kb -q --kb absurd put && kb -q --kb absurd put <done && tune absurd && [ "$(grep -c 'its samples say another ratio; passed over' err)" = 1 ] &&
	! grep -q 'timed here' err
ok $? "numbers that contradict each other: neither used nor timed"
lie | kb -q --kb told put --here && kb -q --kb told put <done && tune told && [ ! -s records ] && grep -q ' 0 trials timed' err
ok $? "kb put --here: it is believed"
XDG_DATA_HOME=$PWD/elsewhere && export XDG_DATA_HOME && cp ours copied && tune copied && grep -q 'timed here' err
ok $? "another user's seal is none"
done_testing
