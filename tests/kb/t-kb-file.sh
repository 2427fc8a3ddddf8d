# The file of a knowledge base among other files: other names of it, names beside it, and what is not to be written over.
. "$top/tests/lib.sh"
rc() { "$@" >out 2>err; echo $?; }
XDG_DATA_HOME=$PWD/data
export XDG_DATA_HOME
unset HONE_KB
# records N...: text of these records
records() { for i; do printf 'record\nkind kernel\ntask T%s\ntarget X\ntrace %s\nverdict slower\n\n' "$i" "$i"; done; }
count() { kb --kb "$1" dump | grep -c '^record'; }
records 1 2 | kb -q --kb a.kb put
cp a.kb two.kb

# Names beside it are other people's, but the one that a file has while it is made.
records 3 4 5 | kb -q --kb a.kb.new put
is "$(rc kb --kb a.kb put </dev/null) $(count a.kb.new)" "0 3" "a file named like another with .new behind it stays"
mkdir .b.kb.making && ln -s nowhere .c.kb.making && mkfifo .d.kb.making
for f in b c d; do
	is "$(records 1 | rc timeout 9 kb --kb $f.kb put) $(grep -c "^kb: $f.kb: cannot be made: ./.$f.kb.making: " err) $(ls $f.kb 2>&1 | grep -c "^$f")" \
		"74 1 0" "no file where one is to be made: $(cat err)"
done
is "$(ls -d .b.kb.making .c.kb.making .d.kb.making | wc -l) $(grep -c 'cannot be made' err)" "3 1" "and it stays as it is"

# The same file by two names: one lock. By two that cannot be told from two files, the second writer is refused.
ln -s a.kb link.kb
is "$(rc kb --kb link.kb put </dev/null) $(ls link.kb* a.kb-lock | tr '\n' ' ')" "0 a.kb-lock link.kb " "a link has no lock of its own"
mkfifo pipe
# beside FILE COMMAND...: a writer of FILE, and a command between two of its commits
put_14() { records 14 | kb -q --kb a.kb put; }
put_15() { records 15 | kb -q --kb hard.kb put; }
beside() {
	kb -q --kb "$1" put <pipe 2>first.err &
	pid=$!
	exec 3>pipe
	records 10 11 >&3
	for i in $(seq 100); do kb --kb "$1" dump | grep -q '^task T11' && break; sleep 0.05; done
	shift
	"$@"
	records 12 >&3
	exec 3>&-
	wait $pid
}
beside link.kb put_14
is "$? $(count a.kb)" "0 6" "writers of a file and of a link to it lose nothing"
cp two.kb h.kb && ln h.kb hard.kb
beside h.kb put_15
is "$? $(count h.kb) $(grep -c 'h.kb: was written to with another lock file' first.err)" "74 5 1" "$(cat first.err)"

# Who has it open does not go on writing into what has no name any more.
cp two.kb other.kb
for how in 'rm r.kb' 'mv other.kb r.kb'; do
	rm -f r.kb* && cp two.kb r.kb
	beside r.kb $how # two words or three
	is "$? $(cat first.err)" "74 kb: r.kb: was removed or replaced while in use, and this write with it" "$how, beside a writer"
done
is "$(cmp r.kb two.kb && kb --kb r.kb fsck 2>&1)" "kb: r.kb is sound" "and what has its place stays as it was"

# Others write all the time: gc goes by what there was when it began.
long() { for i; do printf 'record\nkind kernel\ntask T\ntarget X\ntrace %s %04000d\nverdict slower\n\n' "$i" 0; done; }
long $(seq 400) | kb -q --kb busy.kb load
{ i=1000; while [ ! -e stop ]; do records $((i += 1)); done | kb -q --kb busy.kb put; } &
for i in $(seq 100); do kb --kb busy.kb dump | grep -q '^task T1' && break; sleep 0.05; done
is "$(rc timeout 60 kb --kb busy.kb gc) $(cut -d' ' -f3 out)" "0 400" "gc beside a busy writer"
: >stop
wait
is "$(kb --kb busy.kb dump | grep -c '^kind dropped') $(kb --kb busy.kb fsck 2>&1)" "400 kb: busy.kb is sound" "and nothing of either is lost"

# Not the file's fault.
is "$(rc prlimit --nofile=6 kb --kb a.kb fsck) $(wc -l <out) $(cat err)" "71 0 kb: a.kb: Too many open files" "fsck that cannot look says so"

# Where processes cannot close all they inherited at once, none of them holds another's socket.
cat >refuse.c <<'END'
int close_range(unsigned first, unsigned last, int flags) { return -1; }
END
if ${CC:-gcc} -shared -fPIC -o refuse.so refuse.c 2>/dev/null && [ -z "${ASAN_OPTIONS-}" ]; then
	is "$(LD_PRELOAD=$PWD/refuse.so rc timeout 60 kb --kb both.kb merge a.kb busy.kb)" 0 "several files, and no close_range"
else
	skip "several files, and no close_range" "no compiler, or a sanitizer that wants to be first"
fi

# What is read is not written over.
printf 'hone-text 1\nmodule ir=10 opset=28\ngraph main {\n  input x: f32[4]\n  y: f32[4] = Relu(x)\n  output y = y\n}\n' | ge-load | ge-fuse -o m.g
ln a.kb also.kb
sum=$(cat a.kb m.g | cksum)
for what in 'dump -o a.kb' 'dump -o a.kb-lock' 'dump -o also.kb' 'dump --salvage -o a.kb' 'dump --for m.g -o m.g' 'dump --for m.g -o a.kb' 'apply m.g -o a.kb' 'apply m.g -o a.kb-lock'; do
	is "$(rc kb --kb a.kb $what) $(cat err)" "64 kb: -o ${what##* }: is the file that is read" "$what"
done
is "$(rc kb --kb a.kb dump -o a.txt) $(cat a.kb m.g | cksum) $(rc kb --kb a.kb --target X apply m.g -o m.g)" "0 $sum 0" "and nothing was"

# A disk that fills up in the middle: what is said to be kept is kept, no more and no less.
record() { printf 'record\nkind kernel\ntask MatMul f32 %sx8 8x8c\nwhy %s\n\n' "$1" "$(head -c 2000000 /dev/zero | tr '\0' x)"; }
cat >fill.sh <<'END'
mount -t tmpfs -o size=12M none disk || exit 99
{ for i in 1 2 3 4 5 6 7 8; do cat record$i; sleep 0.2; done; } | kb --kb disk/full.kb put 2>err
echo $? >code
kb --kb disk/full.kb dump 2>/dev/null | grep -c '^record ' >kept
END
mkdir -p disk
for i in 1 2 3 4 5 6 7 8; do record $i >record$i; done
unshare -rm sh fill.sh 2>/dev/null
if [ "$(cat code 2>/dev/null)" = "" ]; then
	skip "a disk that fills up in the middle of put" "nothing can be mounted here"
else
	is "$(cat code) $(sed -n 's/.*nothing of this write is kept, the \([0-9]*\) records read before it are$/\1/p' err)" "74 $(cat kept)" "a disk that fills up in the middle of put"
fi
done_testing
