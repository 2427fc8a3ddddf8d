# The knowledge base: records in and out, layers, what wins, bad input, damage of many kinds.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
XDG_DATA_HOME=$PWD/data
export XDG_DATA_HOME
unset HONE_KB
is "$(kb -q --json stat | sed 's/, "bytes.*//')" '{"file": null, "records": 0, "tasks": 0' "JSON of no knowledge base"

# records SEED N: text of N records that differ
records() {
	awk -v seed="$1" -v n="$2" 'BEGIN {
		srand(seed)
		split("faster slower tie wrong crash", verdict, " ")
		for (i = 1; i <= n; i++) {
			r = rand() + 0.5
			printf "record\nkind kernel\ntask MatMul f32 %dx64 64x64c\ntarget cpu %d\n", int(rand() * 9) + 1, int(rand() * 3)
			printf "trace a%d\n\tb %d\n\t\n\tlast\nverdict %s\nagainst default\nratio %.4f\nlo %.4f\nhi %.4f\n", seed, i, verdict[int(rand() * 5) + 1], r, r - 0.01, r + 0.01
			printf "samples"
			for (j = 0; j < 60; j++) printf " %d/%d", rand() * 1e6, rand() * 1e6
			printf "\nby seed %d\n\n", seed
		}
	}'
}

records 1 50 >a.txt
is "$(rc kb put <a.txt) $(cat err)" "0 kb: 50 records, 50 of them new" "put, where there was nothing"
is "$(rc kb put <a.txt) $(cat err)" "0 kb: 50 records, 0 of them new" "records that are there are left out"
kb dump >a.dump
is "$(sed -n 's/^record //p' a.dump | LC_ALL=C sort -c && grep -c '^record' a.dump)" 50 "dump is sorted"
is "$(rc kb --kb b.kb load a.dump) $(kb --kb b.kb dump >b.dump; same b.dump a.dump && echo same)" "0 same" "load is its inverse"
is "$(kb --kb b.kb fsck 2>&1)" "kb: b.kb is sound" "fsck"
is "$(kb --kb b.kb stat --json | head -1 | sed 's/.*"records": \([0-9]*\), "tasks": \([0-9]*\).*/\1 \2/')" "50 9" "stat"
is "$(kb --kb b.kb ls --target 'cpu 1' | awk 'NR > 1 { n += $2 } END { print NR, n }')" "10 50" "ls: a record in two layers is one"
is "$(kb get "$(sed -n 's/^record \(.....\).*/\1/p' a.dump | tail -1)" | tail -n +2 | cmp - a.dump 2>&1 | grep -c differ)$(kb get "$(sed -n 's/^record //p' a.dump | tail -1)" | grep -c ^record)" 11 "get by id"
is "$(rc kb get 'no such task') $(wc -l <err)" "1 1" "get of what is not there is 1"
hash=$(kb ls --target none | awk 'NR == 2 { print $1 }')
is "$(kb get "$hash" | sort -u | grep -c '^task ')" 1 "get of a task by its hash"
printf 'record\nkind x\ntask U96\n\nrecord\nkind x\ntask U375\n\n' | kb -q --kb digits.kb put
for digits in 2 2e 2e4 2ea 2e4ac5bff46fc02ae55558a4fb217c90 5; do
	echo "$(XDG_DATA_HOME=$PWD/none rc kb --kb digits.kb get $digits) $(sed -n 's/^task //p' out)$(cut -d: -f3- err)"
done >got
is "$(cat got)" "64  several records begin so; give more digits
64  a record and a task begin so; give more digits
0 U96
0 U96
0 U96
1  no record of such an id or task" "get: digits that mean several, a record, a task, an id, nothing"
awk 'BEGIN { for (i = 0; i < 6000; i++) printf "record\nkind x\ntask V%d\n\n", i }' | kb -q --kb many.kb load
if [ -z "${ASAN_OPTIONS-}" ]; then
	is "$(ulimit -v 400000; XDG_DATA_HOME=$PWD/none kb --kb many.kb ls --target X | wc -l)" 6001 "ls of thousands of tasks takes the memory of their records"
else
	skip "ls of thousands of tasks takes the memory of their records" "a sanitizer takes more"
fi
printf 'record\nkind k\033[2J\ntask T\033]0;x\007\ntarget X\n\t\303\251\nverdict f\n\taked\n\n' | kb -q --kb raw.kb put
raw=$(XDG_DATA_HOME=$PWD/none kb --kb raw.kb ls --json | sed 's/.*"hash": "\([^"]*\)".*/\1/')
{ kb --kb raw.kb ls; kb --kb raw.kb ls $raw; kb --kb raw.kb stat; kb --kb raw.kb --target X why $raw; } >out
is "$(LC_ALL=C grep -c '[^ -~]' out) $(LC_ALL=C sed -n 's/.*\(T.x1b]0;x.x07\)$/\1/p; s/.*\(k.x1b\[2J\) *\(f.x0aaked\).*\(X.x0a.xc3.xa9\)$/\1 \2 \3/p' out | sort | uniq -c | tr -s ' \n' ' ')" \
	'0  2 T\x1b]0;x\x07 2 k\x1b[2J f\x0aaked X\x0a\xc3\xa9 ' "ls, stat and why keep bytes from the terminal"
printf 'record\nid x\n\n' | kb -q --kb id.kb put
is "$(kb --kb id.kb dump --json)" '{"id": "'"$(kb --kb id.kb dump | sed -n 's/^record //p')"'", ".id": "x"}' "a field whose name is id does not hide the record's"
is "$(rc kb --kb dash.kb load d1.txt - <a.txt) $(rc kb --kb dash.kb load - <a.txt) $(cat err)" "66 0 kb: 50 records, 50 of them new" "load -: standard input"
is "$(rc kb --kb b.kb fsck b.kb) $(rc kb ls $hash --target X) $(rc kb ls $hash)" "64 64 0" "what would have no effect is refused"

# What comes out wins, and what was before a malformed record is kept.
for line in 'non/sense' ' x' 'Kind x'; do
	rm -f bad.kb*
	{ cat a.dump && printf 'record\nkind x\n%s\n\n' "$line"; } >bad.txt
	is "$(rc kb --kb bad.kb load bad.txt) $(cut -d: -f1-3 err) $(grep -c '50 records before it are kept' err) $(wc -l <err)" \
		"65 kb: bad.txt:$(($(wc -l <a.dump) + 3)) 1 1" "malformed: $line"
done
is "$(kb --kb bad.kb dump >bad.dump; same bad.dump a.dump && echo same)" same "and they are"
is "$(rc kb --kb bad.kb put <bad.txt) $(cut -d: -f1-3 err)" "65 kb: standard input:$(($(wc -l <a.dump) + 3))" "the same from standard input"
head -c 1000 a.dump >cut.txt
is "$(rc kb --kb cut.kb load cut.txt) $(grep -c 'cut short' err)" "65 1" "a text cut short"
is "$(sed 's/faster/slower/' a.dump | rc kb --kb cut.kb put) $(grep -c 'does not match its id' err)" "65 1" "a record that was changed"
is "$(printf 'hone-kb 2\nrecord\na b\n\n' | rc kb --kb cut.kb put)" 69 "text of a newer version is 69"
ln -s nowhere.kb link.kb
for verb in dump put; do
	is "$(rc kb --kb link.kb $verb <a.txt) $(cat err)" "66 kb: link.kb: is a symbolic link to what is not there" "$verb, and the file is a link to nothing"
done
is "$(kb -q --kb nowhere.kb load a.dump && kb --kb link.kb put <a.txt 2>&1)" "kb: 50 records, 0 of them new" "and to a file"
is "$(rc kb load none.txt) $(rc kb --kb none.kb dump) $(rc kb --kb . dump) $(rc kb nonsense) $(rc kb)" "66 66 66 64 64" "what is not there"
is "$(rc kb --kb a.txt dump) $(wc -l <err)" "65 1" "a file of something else"
: >empty.kb
is "$(rc kb --kb empty.kb dump) $(rc kb --kb empty.kb put <a.txt)" "65 65" "an empty file"
if [ -c /dev/full ]; then
	is "$(rc kb dump -o /dev/full) $(rc sh -c 'kb dump >/dev/full')" "74 74" "a full disk behind dump"
else
	skip "a full disk behind dump" "no /dev/full"
fi

{ printf 'x '; head -c 16777190 /dev/zero | tr '\0' a; printf '\n\n'; } >long.fields
{ echo record; cat long.fields; } >long.txt
is "$(rc kb --kb long.kb put <long.txt) $(kb --kb long.kb dump | tail -n +3 | cmp - long.fields && echo same) $(kb --kb long.kb fsck 2>&1)" \
	"0 same kb: long.kb is sound" "a record of almost 16 MiB"

# No place for a file, and one that is not there.
for verb in dump "dump --salvage" fsck put gc "gc -n"; do
	is "$(rc env -u HOME -u XDG_DATA_HOME kb $verb <a.txt) $(wc -l <out) $(cat err)" \
		"71 0 kb: no place for the knowledge base; set HONE_KB or HOME" "$verb, and nothing says where"
done
is "$(rc env -u HOME -u XDG_DATA_HOME kb ls) $(cat err) $(kb --kb b.kb ls | sed 's/.*/some/;q')" "0  some" "ls then sees no layer"
is "$(HONE_KB=none.kb rc kb gc) $(rc kb --kb none.kb gc) $(XDG_DATA_HOME=$PWD/none rc kb gc) $(ls -d none* 2>&1 | grep -c '^none')" "66 66 66 0" \
	"gc makes no file"

# Records are durable as they come: whoever ends the writer finds those that it was given before.
mkfifo pipe
kb --kb fifo.kb put <pipe 2>err &
pid=$!
exec 3>pipe
cat a.txt >&3
printf 'record\nkind half' >&3
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ "$(kb --kb fifo.kb dump 2>/dev/null | grep -c '^record')" = 50 ] && break
	sleep 0.2
done
kill -9 $pid
wait $pid 2>/dev/null
exec 3>&-
is "$(kb --kb fifo.kb dump | cmp - a.dump && kb --kb fifo.kb fsck 2>&1)" "kb: fifo.kb is sound" "killed in the middle of a record: whole records only"
kb --kb int.kb put <pipe 2>err &
pid=$!
exec 3>pipe
head -20 a.txt >&3
for i in $(seq 200); do # until it catches SIGINT
	[ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$pid/status) & 2)) != 0 ] && break
	sleep 0.05
done
kill -INT $pid
tail -n +21 a.txt >&3
exec 3>&-
wait $pid
is "$? $(kb --kb int.kb dump | cmp - a.dump && echo same)" "0 same" "an interrupt does not cut its input off"

records 4 40 >d.txt

# The map grows by itself, also where another process did it.
records 2 2000 | awk '{ print } /^task/ { printf "pad "; for (i = 0; i < 300; i++) printf "0123456789"; print "" }' >big.txt
kb --kb grow.kb put <pipe 2>err &
pid=$!
exec 3>pipe
cat a.txt >&3
kb --kb grow.kb load big.txt 2>/dev/null
records 3 5 >&3
exec 3>&-
wait $pid
is "$? $(kb --kb grow.kb dump | grep -c '^record') $(($(wc -c <grow.kb) > 4194304))" "0 2055 1" "the map grows, here and by another process"
is "$(kb --kb grow.kb fsck 2>&1)" "kb: grow.kb is sound" "and the file is sound"
kb -q --kb full.kb load d.txt
(ulimit -f 500 && rc kb --kb full.kb load big.txt >rcs)
is "$(cat rcs) $(wc -l <err) $(kb --kb full.kb fsck 2>&1)" "74 1 kb: full.kb is sound" "no room: $(cat err)"
is "$(kb --kb full.kb dump | grep -c '^record') $(kb --kb full.kb put <a.txt 2>&1)" "40 kb: 50 records, 50 of them new" "nothing is lost, and it goes on when there is"

# A file is made under another name first. What a killed process leaves of it goes, what one has locked stays.
: >.made.kb.making
is "$(kb -q --kb made.kb load d.txt && ls -A . | grep made.kb)" "made.kb
made.kb-lock" "what was left of a file that was being made is removed"
ln made.kb .made.kb.making && mv made.kb moved.kb
is "$(kb -q --kb made.kb put <a.txt && kb --kb moved.kb dump | grep -c '^record') $(ls -A . | grep made.kb)" "40 made.kb
made.kb-lock" "and not what it was the other name of"
ln made.kb .made.kb.making
is "$(flock .made.kb.making kb -q --kb made.kb put <d.txt; ls .made.kb.making) $(kb -q --kb made.kb put <d.txt; ls -A . | grep made.kb)" ".made.kb.making made.kb
made.kb-lock" "not while a process has it"
for i in 1 2 3 4 5 6 7 8; do
	for j in 1 2 3 4; do records $((10 * i + j)) 2 | timeout -s KILL 0.0$((i - 1))$j kb -q --kb race$i.kb put 2>/dev/null & done
	records 7 5 | kb -q --kb race$i.kb put
	wait
	kb -q --kb race$i.kb load d.txt
	kb --kb race$i.kb fsck
done >out 2>&1
is "$(grep -c sound out) $(ls -A . | grep -c making)" "8 0" "made by five at once, four of them killed: whole, and nothing left"

# Merge, gc.
kb -q --kb d.kb load d.txt
kb -q --kb m1.kb merge b.kb d.kb
kb -q --kb m2.kb merge d.kb b.kb m1.kb
kb --kb m1.kb dump >m1.txt
is "$(kb --kb m2.kb dump | cmp - m1.txt && grep -c '^record' m1.txt)" 90 "merge"
for t in 0 1 2; do kb --kb m1.kb ls --target "cpu $t"; done | awk '{ print $1, $3 }' >best.before
kb --kb m1.kb gc >out
for t in 0 1 2; do kb --kb m1.kb ls --target "cpu $t"; done | awk '{ print $1, $3 }' >best.after
is "$(cmp best.before best.after && kb --kb m1.kb dump | grep -c '^record') $(kb --kb m1.kb fsck 2>&1)" "90 kb: m1.kb is sound" "gc changes no best: $(cat out)"
is "$(grep -c '^kind dropped' m1.txt) $(($(kb --kb m1.kb dump | grep -c '^kind dropped') > 40))" "0 1" "and shortens what cannot win"
kb --kb m1.kb dump >m3.txt
is "$(kb --kb m1.kb gc | cut -d' ' -f3; kb --kb m1.kb dump | cmp - m3.txt && echo same)" "0
same" "twice is once"


# What wins was timed against another default than those of lower ratio are: it stays whole, whatever the base.
against() { # BASE RATIO SAMPLES TRACE
	printf 'record\nkind kernel\ntask T\ntarget X\nverdict faster\nagainst default\n'
	[ -z "$1" ] || printf 'base %s\n' "$1"
	printf 'ratio %s\nlo %s\nhi %s\nsamples %s\ntrace %s %0300d\n\n' "$2" "$2" "$2" "$3" "$4" 0
}
for base in new ''; do
	rm -f base.kb*
	{ for i in 1 2 3; do against old 0.3$i 300/1000 t$i; done; against "$base" 0.9 90/100 t4; against other 0.95 95/100 t5; } | kb -q --kb base.kb put
	before=$(kb --kb base.kb --target X best T)
	kb --kb base.kb gc --keep 1 >out
	is "$(kb --kb base.kb --target X best T) $(cut -d' ' -f3 out)" "$before 2" "gc goes by default: base '$base': $(kb --kb base.kb --target X best T | cut -c1-8 | grep ^trace)"
done

# Versions: of text, and of files.
kb -q --kb v1.kb load "$top/tests/kb/v1.txt"
is "$(kb --kb v1.kb dump | cmp - "$top/tests/kb/v1.txt" && echo same)" same "text of version 1"
gzip -dc "$top/tests/kb/v1.kb.gz" >v1.kb
is "$(kb --kb v1.kb dump | cmp - "$top/tests/kb/v1.txt" && kb --kb v1.kb fsck 2>&1)" "kb: v1.kb is sound" "a file of version 1"
for v in 1.1 2.0; do cp v1.kb v$v.kb && patched v$v.kb 'hone-kb 1.0' "hone-kb $v"; done
is "$(kb --kb v1.1.kb dump | cmp - "$top/tests/kb/v1.txt" && rc kb --kb v1.1.kb put <a.txt)" 69 "a newer minor version is read, not written"
is "$(rc kb --kb v2.0.kb dump) $(cat err)" "69 kb: v2.0.kb: is of version 2.0, this program reads 1; use a newer hone" "a newer major version is 69"

# Of a damaged file, what is whole: here the head is gone, then a page with records on it.
cp b.kb torn.kb
is "$(rc kb --kb torn.kb dump --salvage) $(cmp out a.dump && cat err)" "0 kb: 50 records are whole" "salvage of a sound file"
dd if=/dev/zero of=torn.kb bs=100 count=1 conv=notrunc 2>/dev/null
is "$(rc kb --kb torn.kb dump) $(rc kb --kb torn.kb dump --salvage) $(cmp out a.dump && cat err)" \
	"65 65 kb: torn.kb: is not a knowledge base; 50 records are whole" "of one without a head"
cp b.kb torn.kb
dd if=/dev/zero of=torn.kb bs=4096 seek=4 count=1 conv=notrunc 2>/dev/null
is "$(rc kb --kb torn.kb dump --salvage) $(wc -l <err) $(grep -c '^kb: torn.kb: damaged: .*; [1-4].* records are whole$' err) $(grep '^record' out | grep -cvxFf a.dump)" "65 1 1 0" "$(cat err)"
is "$(rc kb --kb none.kb dump --salvage) $(rc kb --kb . dump --salvage)" "66 66" "salvage of what is not there"

# Where nothing can be written, by a user who may not.
mkdir ro && cp v1.kb ro/kb && chmod 444 ro/kb && chmod 755 . .. && chmod 555 ro
as=
[ "$(id -u)" = 0 ] && as='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ -z "$as" ] || $as test -x "$top/bin/kb" -a -r ro/kb 2>/dev/null; then
	is "$($as kb --kb ro/kb dump | cmp - "$top/tests/kb/v1.txt" && ls ro)" kb "a file that can only be read"
	is "$($as kb --kb ro/kb put <a.txt 2>&1 | cut -d: -f1-2)" "kb: ro/kb" "and writing says so"
else
	skip "a file that can only be read" "this tree cannot be entered by another user"
fi
chmod 755 ro

# Network file systems, by a statfs that says so.
cat >nfs.c <<'END'
#include <string.h>
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *s) { memset(s, 0, sizeof *s); s->f_type = 0x6969; return 0; }
END
if ${CC:-gcc} -shared -fPIC -o nfs.so nfs.c 2>/dev/null && [ -z "${ASAN_OPTIONS-}" ]; then
	is "$(LD_PRELOAD=$PWD/nfs.so rc kb --kb b.kb dump) $(grep -c 'network file system (nfs)' err)" "69 1" "a network file system is 69"
else
	skip "a network file system is 69" "no compiler, or a sanitizer that wants to be first"
fi

# A model: its best traces are put on, and only those.
cat >net.txt <<'END'
hone-text 1
module ir=10 opset=28
graph main {
  input x: f32[4]
  y: f32[4] = Relu(x)
  z: f32[4] = Softmax(y)
  output z = z
}
END
ge-load net.txt | ge-fuse | ge-layout -o net.g
printf 'record\nkind kernel\ntask %s\ntarget here\ntrace one\n\ttwo\nverdict faster\nagainst default\nratio 0.5\nhi 0.6\n\n' 'Relu f32 4' >relu.txt
kb -q --kb net.kb load relu.txt a.txt
kb --kb net.kb --target here apply net.g -o tuned.g --why 2>err
is "$(ge-dump tuned.g | grep -c 'trace="one\\ntwo"') $(grep -c 'left as it is' err)" "1 $(($(ge-dump net.g | grep -c 'hone.Fused') - 1))" "apply: $(grep record err | head -1)"
kb -q --kb net.kb --target here apply tuned.g -o again.g
is "$(ge-stat --digest again.g)" "$(ge-stat --digest tuned.g)" "twice is once"
kb -q --kb net.kb --target there apply net.g -o same.g
is "$(ge-stat --digest same.g)" "$(ge-stat --digest net.g)" "on another target nothing is touched"
is "$(kb --kb net.kb --target here dump --for net.g | sed -n 's/^task //p')" "Relu f32 4" "dump --for"
is "$(kb --kb net.kb --target here why 'Relu f32 4' | grep -c '^wins: .* 0.5000 of the default')" 1 "why"
is "$(kb --kb net.kb --target here best 'Relu f32 4' --json | grep -c '"ratio": "0.5"') $(rc kb --kb net.kb --target there best 'Relu f32 4')" "1 1" "best"
# A text with attributes at their defaults, as older versions wrote some: found as it is, else as it is written now.
printf 'record\nkind kernel\ntask %s\ntarget here\ntrace one\nverdict faster\nagainst default\nratio 0.7\nhi 0.8\n\n' 'Softmax f32 4x8' >softmax.txt
kb -q --kb net.kb load softmax.txt
is "$(kb --kb net.kb --target here best 'Softmax{axis=-1} f32 4x8' | sed -n 's/^ratio //p')" 0.7 "a task whose default is written out"
printf 'record\nkind kernel\ntask %s\ntarget here\ntrace one\nverdict faster\nagainst default\nratio 0.6\nhi 0.8\n\n' 'Softmax{axis=-1} f32 4x8' >longer.txt
kb -q --kb net.kb load longer.txt
is "$(kb --kb net.kb --target here best 'Softmax{axis=-1} f32 4x8' | sed -n 's/^ratio //p')" 0.6 "records of an older text are found by it"
# best and why go by today's default, as apply does, where there is one. tune-op says which that is.
t='MatMul f32 16x32 32x16'
tune-op --quiet --runner fake --trials 1 --task "$t" >base.txt 2>/dev/null
today=$(sed -n 's/^base //p' base.txt | tail -1)
here=$(kb --kb net.kb why --json "$t" | sed 's/.*"target": "\([^"]*\)".*/\1/')
timed() { # BASE VERDICT MEAN SAMPLES TRACE [RATIO LO HI]
	printf 'record\nkind kernel\ntask %s\ntarget %s\ntrace %s\nverdict %s\nagainst default\nbase %s\n' "$t" "$here" "$5" "$2" "$1"
	printf 'ratio %s\nlo %s\nhi %s\nmean %s\nlooks 3\nsamples %s\n\n' "${6-0.5}" "${7-0.4}" "${8-0.6}" "$3" "$4"
}
{ timed old faster 0.55 50/100 'reorder matmul.n matmul.m # older'; timed "$today" faster 0.9 60/70 'reorder matmul.n matmul.m # newer'; } | kb -q --kb today.kb put
printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[16,32]\n  input w: f32[32,16]\n  y: f32[16,16] = MatMul(x, w)\n  output y = y\n}\n' |
	ge-load | ge-fuse -o matmul.g
kb --kb today.kb why "$t" >why
is "$(kb --kb today.kb dump --for matmul.g | grep ^trace) $(kb --kb today.kb best "$t" | grep ^trace)" "trace reorder matmul.n matmul.m # newer trace reorder matmul.n matmul.m # newer" "best names the record that apply uses"
is "$(grep -c "^wins: .* of the default's time (0.4000 .. 0.6000), mean 0.9000, " why) $(grep -c "^over: .* of an older default's time" why)" "1 1" "why says by what mean, and which default"
# What is no schedule of the task is passed over, with a line; what was not measured here is used, and it is said.
timed "$today" faster 0.5 50/100 'system("id")
	*/ abort(); /*' | kb -q --kb today.kb put
kb --kb today.kb apply matmul.g -o applied.g 2>err
is "$? $(grep -c 'line 1: system("id"): no such primitive; passed over' err) $(grep -c 'of 1 the record was not measured here' err) $(ge-dump applied.g | grep -c '# newer')" "0 1 1 1" "apply: a trace that is none: $(head -1 err)"
# Cores are no part of a target; what is, and differs, is said.
few=$(printf %s "$here" | sed 's/;compiler/;cores=77;compiler/') other=$(printf %s "$here" | sed 's/l3=[0-9]*K/l3=1K/')
is "$(kb --kb today.kb --target "$few" best "$t" | grep -c '^trace')" 1 "a record of a process that might use another number of cores"
is "$(kb --kb today.kb --target "$other" why "$t" | grep -c 'of another target (l3 [0-9]*K, not 1K)')" 1 "why says what differs of a target"
{ timed old faster 0.55 50/100 older; timed "$today" slower 1.5 60/40 newer 1.5 1.4 1.6; } | kb -q --kb late.kb put
is "$(rc kb --kb late.kb best "$t") $(kb --kb late.kb why "$t" | grep -c '^not: .* (the default takes less time now)')" "1 1" "none, where the default has become faster than all of them"
{ timed old faster 0.55 50/100 older; timed "$today" slower 1.2 "60/40 60/60 60/70 $(printf '60/80 60/55 %.0s' 1 2 3 4 5 6 7 8 9)" "newer $(printf '%0200d' 0)"; } | kb -q --kb later.kb put
kb --kb later.kb gc >out
is "$(cut -d' ' -f3 out) $(rc kb --kb later.kb best "$t") $(kb --kb later.kb dump | sed -n 's/^samples //p' | sort | tr '\n' ,)" "1 1 50/100,60/40 60/60," \
	"gc leaves what the default took at least"

is "$(ge-load net.txt | head -c 50 | rc kb --kb net.kb apply) $(wc -l <err)" "65 1" "apply passes an abort on"

# What gc has shortened is not measured again: neither by the same search nor by a longer one.
cp "$top/examples/digits/digits.onnx" . && hone passes -q --set batch=1 --until layout digits.onnx -o digits.g
tune-op --quiet --runner fake --trials 12 --kb tuned.kb digits.g -o tuned1.g 2>/dev/null
cp tuned.kb kept.kb
kb --kb tuned.kb gc >out
tune-op --quiet --runner fake --trials 20 --kb tuned.kb digits.g -o tuned2.g 2>/dev/null
tune-op --quiet --runner fake --trials 20 --kb kept.kb digits.g -o kept2.g 2>/dev/null
is "$(ge-stat --digest tuned2.g) $(kb --kb tuned.kb dump | grep -c '^record')" "$(ge-stat --digest kept2.g) $(kb --kb kept.kb dump | grep -c '^record')" \
	"tuning goes on after gc as without: $(cut -d: -f2 out)"
done_testing
