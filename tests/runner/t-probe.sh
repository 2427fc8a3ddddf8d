# run-dev --probe: rates of this machine, kept as a line of text that later tools read.
. "$top/tests/lib.sh"
unset HONE_TARGET
export HONE_RATES=$PWD/data/rates

run-dev --probe --force --seconds 0.2 >out 2>err && [ ! -s err ] && grep -q '^memory .* GB/s' out && grep -q '^l2 ' out
ok $? "it prints what it measured"
[ "$(wc -l <data/rates)" = 1 ] && grep -q '^cpu=.*;features=.*;rates=l2:[0-9.]*,memory:' data/rates
ok $? "and keeps a line for the machine"
echo 'cpu=other;features=;rates=l2:1' >>data/rates
run-dev --probe --force --seconds 0.2 --json >json 2>err && [ "$(wc -l <data/rates)" = 2 ] && grep -q '^cpu=other' data/rates
ok $? "again: its line is another, those of others stay"
[ "$(nproc)" = 1 ] || grep -q '^shared .* GB/s' out
ok $? "of what another core wrote, too"
grep -q '"rates":{"l2":[0-9.e+]*,"memory":' json
ok $? "as JSON, in operations and bytes a second"
if grep -q ' avx2 ' /proc/cpuinfo; then
	HONE_RATES=$PWD/data/lesser HONE_TARGET=x86-64-v3 run-dev --probe --force --seconds 0.2 >out 2>err && grep -q '^fma256 ' out && ! grep -q '^fma512 ' out
	ok $? "a lesser machine has what it has"
fi
# A record of what a quiet machine does stays where a busy one does less, and one that agrees stays as it is.
rate() { grep -v '^cpu=other' data/rates | grep -o "[=,]$1:[0-9.e+]*" | sed 's/.*://'; }
best=$(rate memory)
sed 's/memory:[0-9.]*/memory:THRICE/' data/rates | replaced THRICE "$(awk -v b="$best" 'BEGIN { print 3 * b }')" >thrice && cat thrice >data/rates
is "$(run-dev --probe --seconds 0.2 2>err >out; rate memory) $(grep -c 'memory: [0-9.]* GB/s measured, [0-9.]* on record: not kept' err)" \
	"$(awk -v b="$best" 'BEGIN { print 3 * b }') 1" "less than on record: not kept, with both numbers"
run-dev --probe --force --seconds 0.2 2>err >out
awk -v a="$(rate memory)" -v b="$best" 'BEGIN { exit !(a < 2 * b) }'
ok $? "--force keeps it"
# A process that writes memory all the time beside it. Several tries, for other tests run beside it, too.
hog() { while :; do head -c 64M /dev/zero | tail -c 1 >/dev/null; done; }
before=$(rate memory)
hog & hogs=$!
hog & hogs="$hogs $!"
run-dev --probe --seconds 0.2 >out 2>err
kill $hogs
awk -v a="$(rate memory)" -v b="$before" 'BEGIN { exit !(a >= b) }'
ok $? "a busy machine lowers no rate"
sed -i '/^cpu=other/!s/l2:[0-9.]*,memory:[0-9.]*,//' data/rates
hog & hogs=$!
hog & hogs="$hogs $!"
run-dev --probe --seconds 0.2 >out 2>err
kill $hogs
case $(nproc),$(rate memory),$(grep -c 'memory: .* nothing on record: not kept' err) in [1-8],,1 | [1-9]?*) true ;; *) false ;; esac
ok $? "nor is a rate that nothing is on record for kept from one"
# A build says which rates it used.
run-dev --probe --force --seconds 0.2 >out 2>err
HONE_BLOBS=$PWD/blobs
export HONE_BLOBS
ge-import "$top/examples/digits/digits.onnx" | ge-shape --set batch=1 -o m.g
plan() { ge-fuse m.g | ge-layout | ge-plan -o "$1" && ge-stat "$1" | sed -n 's/^rates *\([^ ,]*\),.*/\1/p'; }
is "$(plan mine.g)" "$(sed -n '1s/.*rates //p' out)" "a build says which rates it used"
is "$(HONE_RATES=/dev/null plan none.g) $(ge-dump none.g | grep -c '^provenance.*rates=built-in"')" "built-in $(ge-dump mine.g | grep -c '^provenance.*rates=[0-9a-f]*"')" "or that none was measured"
is "$(ge-stat mine.g none.g | grep -c '^the rates differ: ')" 1 "two builds that differ by them are told apart"
sed -i 's/;rates=l2:/;rates=l2:fast/; s/;rates=shared:/;rates=l2:fast,shared:/' data/rates
run-dev --probe --seconds 0.2 >out 2>err
[ $? = 65 ] && [ "$(wc -l <err)" = 1 ]
ok $? "a line that is none: 65"
mkfifo pipe
for f in /dev/urandom /dev/zero pipe .; do
	HONE_RATES=$f timeout 20 ge-plan -q none.g -o never.g 2>err
	echo "$? $(wc -l <err) $(grep -c "^ge-plan: $f: " err) $(ls never.g 2>/dev/null)"
done >got
is "$(tr '\n' ,<got)" "65 1 1 ,65 1 1 ,66 1 1 ,66 1 1 ," "rates without an end, or of no file, are refused"
run-dev --probe none.so 2>err
[ $? = 64 ]
ok $? "--probe with a library: 64"
done_testing
