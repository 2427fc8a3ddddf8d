# What a new user gets wrong with tune-op, kb, run-dev --serve and hone tune: one line that names tool and fault, the right exit
# code, no output file, and a knowledge base that is as it was.
. "$top/tests/lib.sh"
model=$top/examples/digits/digits.onnx
unset HONE_KB
hone passes -q --set batch=1 --until layout "$model" -o m.g
task=$(tune-op --tasks m.g | head -1)
tune-op --quiet --runner fake --trials 2 --kb good m.g -o done.g
kb --kb good dump >good.txt
printf 'this is no frame' >garbage
printf 'hone-kb 2\n\nrecord\nkind x\n\n' >newer.txt

# try CODE NAMED COMMAND...: one line that holds NAMED; nothing on standard output.
try() {
	code=$1 named=$2
	shift 2
	timeout 60 "$@" >out 2>err </dev/null
	rc=$? fault=
	[ $rc = "$code" ] || fault="exit $rc, not $code"
	[ "$(wc -l <err)" = 1 ] || fault="$fault; $(wc -l <err) lines"
	grep -qF -- "$named" err || fault="$fault; does not name $named"
	[ ! -s out ] || fault="$fault; $(wc -c <out) bytes on standard output"
	[ -z "$(ls -A never* 2>/dev/null)" ] || { fault="$fault; left $(ls -A never*)"; rm -rf never*; }
	tries=$((tries + 1))
	[ -z "$fault" ] || { printf '# %s: %s\n' "$*" "$fault" && sed 's/^/#   /' err; } | head -5 >>faults
}
begin() { tries=0 && : >faults; }
result() { # WHAT
	[ ! -s faults ]
	ok $? "$1 ($tries commands)"
	head -40 faults
}

begin
for option in --trials=x --trials=-1 --seconds=0 --seconds=nan --seconds=inf --cold-weights=1e30 --cold-weights=0.5 --report= --dump= --seed=99999999999999999999999 --strategy=best --cost-model=good \
	--scheduler=none --only=nothing --skip=nothing --runner= --kb=; do
	try 64 "${option%%=*}" tune-op --runner fake $option m.g -o never.g
done
try 64 "--json needs -o" tune-op --runner fake --kb good --json m.g
try 64 "-o: nothing is tuned with --tasks" tune-op --tasks m.g -o never.txt
try 64 "--report: nothing is tuned with --dump" tune-op --dump neverdir --report never.html m.g
try 64 "--task takes no model" tune-op --runner fake --task "$task" m.g
try 64 "--task takes no model" tune-op --runner fake --task "$task" --json
for option in --trials=x --seed=-1 --only=nothing; do
	try 64 "${option%%=*}" hone tune "$model" --set batch=1 --runner fake $option -o never
done
for option in frob "gc --keep x" "--kb= ls"; do try 64 "" kb $option; done
for option in "--keep=1 ls" "--dry-run dump" "--why best x" "-o never get x" "--for=m.g stat" "--salvage gc" "--json fsck" "--target=x gc" \
	"--target=x dump" "--for=m.g --salvage dump"; do
	try 64 "${option%%[= ]*}" kb --kb good $option
done
try 64 "--target=vax" run-dev --serve --target vax
try 64 "--target=vax" hone tune "$model" --set batch=1 --kb never.kb --target vax -o never
try 64 "--target=vax" ge-plan --target vax m.g -o never.g
result "options that cannot be"

begin
try 66 missing.g tune-op --runner fake missing.g -o never.g
try 65 good.txt tune-op --runner fake good.txt -o never.g
try 66 missing.onnx hone tune missing.onnx --runner fake -o never
try 65 "statement 0" tune-op --task 'Foo f32 3'
try 65 "any memory" tune-op --runner fake --task 'MatMul f32 99999999x99999999 99999999x4c'
try 74 "/nodir/t.g" tune-op --runner fake --kb good m.g -o /nodir/t.g
try 74 "/nodir/page.html" tune-op --runner fake --kb good --report /nodir/page.html m.g -o never.g
try 74 "good.txt: File exists" tune-op --dump good.txt m.g
for verb in "ls x" "get x" "best x"; do try 1 "no record" kb --kb good $verb; done
for verb in ls dump fsck stat gc "get 0" "best x"; do try 66 missing kb --kb missing $verb; done
for verb in ls dump fsck "merge m.g"; do try 65 m.g kb --kb m.g $verb; done
try 66 missing.txt kb --kb good load missing.txt
try 65 m.g:1 kb --kb good load m.g
try 69 newer.txt kb --kb good load newer.txt
try 66 missing kb --kb good merge missing
try 66 missing.g kb --kb good dump --for missing.g
try 74 /nodir/kb tune-op --runner fake --kb /nodir/kb m.g -o never.g
try 65 m.g tune-op --runner fake --kb m.g m.g -o never.g
try 66 "is not a file" tune-op --runner fake --kb . m.g -o never.g
kb --kb good dump | cmp -s - good.txt || echo "# the knowledge base is another" >>faults
result "files that are not there, or something else"

begin
try 69 "no C compiler" env CC=nosuchcc run-dev --serve
try 69 "tune-op: nosuchcc: no C compiler" env CC=nosuchcc tune-op --kb never.kb m.g -o never.g
try 69 "tune-op: nosuchcc: no C compiler" env CC=nosuchcc hone tune "$model" --set batch=1 --kb never.kb -o never
try 74 /nodir env TMPDIR=/nodir run-dev --serve
try 74 "standard input" sh -c 'run-dev --serve <&-'
try 74 "standard input" sh -c 'kb --kb good put <&-'
try 74 "standard output" sh -c 'kb --kb good dump >&-'
try 65 "standard input:0" sh -c 'run-dev --serve <garbage'
try 65 "ends inside a frame" sh -c 'head -c 3 garbage | run-dev --serve'
try 69 "not the runner's protocol" tune-op --runner 'cat garbage' --kb good m.g -o never.g
try 69 "exit status 3" tune-op --runner 'exit 3' --kb good m.g -o never.g
result "runners that cannot be"

# A disk that is full, one that is read-only.
disk=$PWD/disk
if mkdir disk && mount -t tmpfs -o size=4m none disk 2>/dev/null; then
	trap 'umount "$disk"' EXIT
	begin
	cp good disk/kb && dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null
	try 74 disk/kb tune-op --runner fake --trials 20 --kb disk/kb m.g -o never.g
	kb --kb disk/kb fsck >/dev/null 2>&1 || echo "# the knowledge base on the full disk is damaged" >>faults
	[ "$(kb --kb disk/kb dump | grep -c '^record')" -ge "$(grep -c '^record' good.txt)" ] || echo "# records are lost" >>faults
	try 74 disk/new tune-op --runner fake --kb disk/new m.g -o never.g
	try 74 disk/out.g tune-op --quiet --runner fake --kb good --trials 2 m.g -o disk/out.g
	try 74 disk/page tune-op --quiet --runner fake --kb good --trials 2 --report disk/page m.g -o never.g
	try 74 disk/dump kb --kb good dump -o disk/dump
	[ "$(ls disk | tr '\n' ' ')" = "fill kb " ] || echo "# left: $(ls disk | tr '\n' ' ')" >>faults
	result "a full disk"
	begin
	mount -o remount,ro "$disk"
	try 74 disk/kb tune-op --runner fake --kb disk/kb m.g -o never.g
	try 74 disk/kb kb --kb disk/kb load good.txt
	try 74 disk/out.g tune-op --runner fake --kb good m.g -o disk/out.g
	kb --kb disk/kb dump >read.txt 2>err && [ "$(grep -c '^record' read.txt)" -ge "$(grep -c '^record' good.txt)" ] || echo "# it cannot be read: $(cat err)" >>faults
	result "a disk for reading only"
else
	skip "a full disk" "nothing can be mounted here"
fi
done_testing
