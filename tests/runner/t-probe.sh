# run-dev --probe: rates of this machine, kept as a line of text that later tools read.
. "$top/tests/lib.sh"
unset HONE_TARGET
export HONE_RATES=$PWD/data/rates

run-dev --probe --seconds 0.2 >out 2>err && [ ! -s err ] && grep -q '^memory .* GB/s' out && grep -q '^l2 ' out
ok $? "it prints what it measured"
[ "$(wc -l <data/rates)" = 1 ] && grep -q '^cpu=.*;features=.*;rates=l2:[0-9.]*,memory:' data/rates
ok $? "and keeps a line for the machine"
echo 'cpu=other;features=;rates=l2:1' >>data/rates
run-dev --probe --seconds 0.2 --json >json 2>err && [ "$(wc -l <data/rates)" = 2 ] && grep -q '^cpu=other' data/rates
ok $? "again: its line is another, those of others stay"
[ "$(nproc)" = 1 ] || grep -q '^shared .* GB/s' out
ok $? "of what another core wrote, too"
grep -q '"rates":{"l2":[0-9.e+]*,"memory":' json
ok $? "as JSON, in operations and bytes a second"
if grep -q ' avx2 ' /proc/cpuinfo; then
	HONE_TARGET=x86-64-v3 run-dev --probe --seconds 0.2 >out 2>err && grep -q '^fma256 ' out && ! grep -q '^fma512 ' out
	ok $? "a lesser machine has what it has"
fi
sed -i 's/;rates=l2:/;rates=l2:fast/' data/rates
run-dev --probe --seconds 0.2 >out 2>err
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ]
ok $? "a line that is none: 65"
run-dev --probe none.so 2>err
[ $? = 64 ]
ok $? "--probe with a library: 64"
done_testing
