# hone: build and simplify on the digits model, what a failure leaves, the same bytes from anywhere.
. "$top/tests/lib.sh"
export HONE_KB="$PWD/kb" # that of all tests stays empty
rc() { "$@" >out 2>err; echo $?; }
model=$top/examples/digits/digits.onnx

# build
is "$(rc hone build "$model" -o made/digits --set batch=1) $(wc -c <err) $(ls made/digits.so)" "0 0 made/digits.so" "build"
is "$(cd made && echo *)" "digits.a digits.c digits.d digits.h digits.so digits.weights" "build: the files"
is "$(awk '$1 == "import" || $1 == "prune" { print $2 } $1 == "fuse" { print $3 }' out | tr '\n' ' ')" "18 10 6 " "build: nodes and groups in the report"
is "$(grep -c 'kernels.*distinct; memory' out) $(grep -c made/digits out)" "1 6" "build: memory and files in the report"
is "$(rc run-cmp --runs 3 made/digits.so made/digits.d/01-import.g --set batch=1) $(grep -c ' equal$' out)" "0 3" "build: the library's numbers are the model's"
ge-import "$model" | ge-shape --set batch=1 | ge-fold | ge-simplify | ge-deadedge | ge-cse | ge-dedup | ge-prune | ge-narrow | ge-integer | tune-graph --recall | ge-fuse | ge-layout | ge-join | ge-schedule --quiet | ge-plan --quiet -o byhand.g
is "$(cmp byhand.g made/digits.d/16-plan.g && echo same)" same "build: the pipe by hand gives the same bytes"
ge-load - -o tiny.g <<'END'
hone-text 1
module ir=8 opset=17
symbol batch 0 inf
const w = f32[4,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
graph main {
  input image: f32[batch,4]
  m = MatMul(image, @w)
  y = Relu(m)
  output y = y
}
END
tiny=$PWD/tiny.onnx # compiled in less time
ge-export -o tiny.onnx tiny.g
is "$(rc hone build -q --embed -j1 "$tiny" -o made/in --shape image:2x4) $(cat out err) $(cd made && echo in.*)" \
	"0  in.a in.c in.d in.h in.so" "build: --quiet, --embed, --shape"
mkdir here && cp "$tiny" here/net.onnx
is "$(cd here && hone build -q net.onnx --set=batch=1 && echo net.*)" "net.a net.c net.d net.h net.onnx net.so net.weights" "build: without -o, here"
is "$(mkdir 'a dir' && cp "$tiny" "a dir/a'b.onnx" && rc hone build -q "a dir/a'b.onnx" --set batch=1 -o 'a dir/a b') $(rc run-dev 'a dir/a b.so' -o y.npz) $(ls y.npz)" "0 0 y.npz" "build: blanks and quotes in names"
for word in int run step index new A; do
	hone build -q "$tiny" -o names/$word --set batch=1 2>>err && [ -s names/$word.so ] && printf 'ok '
done >out
is "$(cat out)" "ok ok ok ok ok ok " "build: names that C owns"

# sizes that are not given stay open
is "$(rc hone build "a dir/a'b.onnx" --embed -o never/m) $(ls never/m.so) $(grep -c 'open sizes: image f32' out err | tr '\n' ' ')" "0 never/m.so out:1 err:0 " "no sizes: they stay open"
is "$(grep -c '^sizes: [a-z0-9_]* [01] or more\|^steps: .* 0 on the slow path$\|^to build for one size: --set [a-z0-9_]*=N$\|^time of a run with --set .*, [0-9.]* ms: kernels .*, slow path 0.0%' out)" 4 \
	"what varies, what runs it, and for how long" || cat out
MAKEFLAGS=' -j2 --jobserver-auth=3,4' hone build "a dir/a'b.onnx" --set batch=1 -o never/m >out 2>&1
is "$? $(grep -vc "^a'b.onnx: " out) $([ -s out ] && echo lines)" "0 0 lines" "under make -j each line names the model"
echo 'hone-text 1
module ir=8 opset=28
symbol n 0 inf
const at = i64[1] [40]
graph main {
  input x: f32[n]
  y = Gather(x, @at) "pick"
  output y = y
}' | ge-load | ge-shape | ge-export -o far.onnx
is "$(rc hone build far.onnx -o made/far) $(grep -c '^time of a run with --set n=64, [0-9.]* ms: ' out)" "0 1" "a run of one element fails: one of more is timed" || cat out err
is "$(rc hone build -q "$model" -o made/open) $(rc run-cmp --set batch=3 made/open.so "$model") $([ -s made/open.so ]; echo $?)" "0 0 0" "no sizes: any can be run"

# what fails says so in one line and leaves nothing
fails() { # CODE WHAT COMMAND...
	want=$1 what=$2
	shift 2
	ls -aR . >before
	is "$(rc "$@") $(wc -l <err) $(wc -c <out) $(ls -aR . | diff before - | wc -l)" "$want 1 0 0" "$what: $want, one line, nothing left"
}
touch before out err empty.onnx
echo '<html>' >page.onnx
head -c 50000 "$model" >cut.onnx
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp
for verb in build simplify; do
	out= && [ $verb = simplify ] && out=out.onnx
	fails 66 "$verb, missing file" hone $verb missing.onnx $out
	fails 65 "$verb, empty file" hone $verb empty.onnx $out
	fails 65 "$verb, HTML" hone $verb page.onnx $out
	fails 65 "$verb, cut model" hone $verb cut.onnx $out
	fails 64 "$verb, bad size" hone $verb "$model" --set batch=x $out
	fails 64 "$verb, no such symbol" hone $verb "$model" --set nope=1 $out
	fails 64 "$verb, no such option" hone $verb "$model" --nonsense $out
	fails 64 "$verb, no model" hone $verb
done
fails 74 "build, a directory that cannot be made" hone build "$tiny" --set batch=1 -o /proc/none/m
fails 74 "simplify, no such directory" hone simplify "$model" none/m.onnx
fails 69 "no compiler" env CC=no-such-compiler hone build "$tiny" --set batch=1 -o m
fails 69 "a program that is no compiler" env CC=false hone build "$tiny" --set batch=1 -o m
fails 64 "-o of a directory" hone build "$model" -o made/
fails 64 "simplify, no output" hone simplify "$model"
fails 64 "simplify, an output of another kind" hone simplify "$model" smaller.model
fails 64 "an argument too many" hone build "$model" b.onnx
fails 64 "no such tool" hone frobnicate
refused 65 "ge-shape: $model: torch_jit//classify/Gemm (Gemm): f32[0,0] times f32[10,64]: inner extents differ" "a size that does not fit: the model is named" hone build --set batch=0 -o none "$model"
refused 64 'biuld: no such tool; hone build? ' "a verb that is mistyped" hone biuld "$model"
refused 64 'ge-fus: no such tool; hone ge-fuse? ' "a tool" hone ge-fus
refused 64 'no such option; --shape? ' "an option of another program" hone build --overwrite-input-shape x:1,3 "$model"
refused 64 'no such option; --threads? ' "an option that is mistyped" hone build --thread 2 "$model"
run-dev made/digits.so >out 2>err && grep -q '^input .*: f32\[1,' out && grep -q '^output .*: f32\[1,10\]$' out
ok $? "run-dev alone: what the library takes and gives"
refused 65 'a model; hone build makes a library of it' "a model in place of a library" run-dev "$model" --bench
refused 64 'nothing to do' "inputs, and nothing to do with them" run-dev made/digits.so --seed 3 --set batch=1
fails 64 "a path is no tool" hone ../bin/ge-dump
CC=no-such-compiler hone build --keep "$tiny" --set batch=1 -o kept 2>err
is "$(ls kept.d | wc -l) $(ls -d kept.*)" "16 kept.d" "--keep: the graphs of a failed build"
fails 66 "--keep, missing file, earlier graphs" hone build --keep missing.onnx -o kept
ls tmp >left
nothing "no temporary is left" "$(cat left; [ -d kept.d ] || echo "nothing was built")"

# A signal to hone alone: what runs ends first, and all is there or nothing.
for signal in TERM HUP; do
	# nohup makes it one that a shell cannot catch.
	if [ $signal = HUP ] && [ $((0x$(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/$$/status) & 1)) = 1 ]; then
		skip "SIGHUP while it compiles" "it is ignored here"
		continue
	fi
	mkdir -p ended
	hone build "$model" --set batch=1 -o ended/m 2>/dev/null >/dev/null &
	pid=$!
	for i in $(seq 500); do
		[ -n "$(ls -d ended/.m.ge-emit-* ended/.ge-emit-* 2>/dev/null)" ] && break
		sleep 0.01
	done
	kill -$signal $pid
	wait $pid 2>/dev/null
	is "$? $(ls -A ended | tr '\n' ' ')" "$([ $signal = TERM ] && echo 143 || echo 129) " "SIG$signal while it compiles: nothing is left"
	rm -rf ended
done
# Killed, it leaves folders; the next build into that stem takes them away, and no other's.
mkdir killed places
TMPDIR=$PWD/places hone build -q "$model" --set batch=1 -o killed/m 2>/dev/null >/dev/null &
pid=$!
for i in $(seq 500); do
	[ -n "$(ls -d killed/.ge-emit-* 2>/dev/null)" ] && break
	sleep 0.01
done
emit=$(pgrep -P $pid)
for i in $(seq 500); do
	compilers=$(pgrep -P "$emit") && break
	sleep 0.01
done
kill -KILL $pid $emit $compilers
wait $pid 2>/dev/null
left=$(ls -d places/hone.* killed/m.d/.hone.* killed/.ge-emit-* | wc -l)
while pgrep -f "$PWD/killed|killed/.ge-emit" >/dev/null; do sleep 0.1; done # its compilers
for lock in places/hone.*/.lock; do flock "$lock" true; done # whoever has it still
is "$left $(TMPDIR=$PWD/places rc hone build -q "$tiny" --set batch=1 -o killed/m) $(ls -A places) $(cd killed && echo * .[!.]* m.d/.[!.]*)" \
	"3 0  m.a m.c m.d m.h m.so m.weights .[!.]* m.d/.[!.]*" "what a killed build and its compilers leave goes with the next"
# Two at once into one stem: of one alone.
cp "$tiny" other.onnx
for i in 1 2 3; do
	hone build -q "$tiny" --set batch=1 -o both/m & hone build -q other.onnx --set batch=5 -o both/m
	wait $!
	run-dev --seed 3 both/m.so -o y.npz && run-ref --seed 3 both/m.d/*-plan.g -o r.npz && equal y.npz r.npz && printf '%s ' "$(ls both/m.d | wc -l) $(ls -A both | tr -d '\n')"
done >out 2>err
is "$(cat out)" "16 m.am.cm.dm.hm.som.weights 16 m.am.cm.dm.hm.som.weights 16 m.am.cm.dm.hm.som.weights " "two builds into one stem: one of them whole" || cat out err
mkdir taken && : >taken/m.d
fails 74 "a file where the graphs go" hone build "$tiny" --set batch=1 -o taken/m
is "$(ls -A taken) $(grep -c taken/m.d err)" "m.d 1" "and nothing is there"

# simplify
is "$(rc hone simplify "$model" small.onnx) $(wc -c <err) $(ls small.onnx)" "0 0 small.onnx" "simplify"
is "$(awk '$1 == "all" { print $2, $3, $4 } /^the same numbers/' out | tr '\n' ' ')" "18 10 -8 the same numbers on 3 random inputs (with --set batch=2) " "simplify: table and check"
is "$(rc run-cmp --runs 3 --set batch=7 small.onnx "$model") $(grep -c ' equal$' out)" "0 3" "simplify: the numbers, with another size"
is "$(ls -l small.onnx | cut -c1-10)" "$(touch plain && ls -l plain | cut -c1-10)" "simplify: mode of the output"
mkdir linked && : >linked/behind.onnx && ln -s behind.onnx linked/link.onnx
is "$(rc hone simplify -q "$model" linked/link.onnx) $(readlink linked/link.onnx) $(cmp linked/behind.onnx small.onnx && ls linked | tr '\n' ' ')" \
	"0 behind.onnx behind.onnx link.onnx " "simplify: a link is followed"
is "$(rc hone simplify -q --opset=17 small.onnx again.onnx) $(ge-stat again.onnx | grep -c '^all  *10')" "0 1" "simplify: its own output"
is "$(rc hone simplify --check-set batch=3 "$model" three.onnx) $(tail -1 out) $(cmp small.onnx three.onnx && echo same)" \
	"0 the same numbers on 3 random inputs (with --check-set=batch=3) same" "simplify: sizes for the check only"
cat >blanks.txt <<'END'
hone-text 1
module ir=8 opset=28
symbol "the batch" 0 inf
const table = f32[3,2] [1, 2, 3, 4, 5, 6]
graph main {
  input "the 'ids'": i64["the batch",4]
  y = Gather(@table, "the 'ids'") {axis=0}
  output y = y
}
END
ge-load blanks.txt | ge-export -o blanks.onnx
is "$(rc hone simplify --range "the 'ids'=0:1" blanks.onnx calm.onnx) $(tail -1 out)" \
	"0 the same numbers on 3 random inputs (with --set 'the batch'=2)" "simplify: blanks and quotes in names of inputs and symbols"
is "$(rc hone simplify --range "the 'ids'=5:6" blanks.onnx never.onnx) $(ls never.onnx 2>/dev/null)" "65 " "simplify: its range is heard"
# Names are never read by a shell, nor what a tool says of them.
for name in '$(touch${IFS}pwned)' ';touch pwned;`touch pwned`' "' \$(touch pwned) '" '"; touch pwned; "'; do
	printf '%s\n' 'hone-text 1' 'module ir=8 opset=28' "symbol \"$(printf %s "$name" | sed 's/"/\\"/g')\" 0 inf" "graph g {" \
		"  input \"$(printf %s "$name" | sed 's/"/\\"/g')\": f32[\"$(printf %s "$name" | sed 's/"/\\"/g')\",?]" \
		"  y = Neg(\"$(printf %s "$name" | sed 's/"/\\"/g')\")" "  output y = y" "}" >named.txt
	rm -f named2.onnx
	ge-load named.txt | ge-export -o named.onnx
	is "$(rc hone simplify named.onnx named2.onnx) $(ls named2.onnx) $(ls pwned 2>&1 | grep -c '^pwned')" "0 named2.onnx 0" "simplify: no shell reads $name"
	is "$(rc hone build named.onnx) $(rc hone tune named.onnx) $(ls pwned 2>&1 | grep -c '^pwned')" "0 64 0" "build and tune: no shell reads $name"
	is "$(HONE_BLOBS=named.blobs hone tune named.onnx --runner fake --trials 1 -o named 2>&1 | sed -n 's/.*for example: //p' >try; [ -s try ] && HONE_BLOBS=named.blobs sh ./try >/dev/null 2>err; echo $?) $(ls pwned 2>&1 | grep -c '^pwned')" \
		"0 0" "the command that is proposed works, pasted: $name"
done
cat >computed.txt <<'END'
hone-text 1
module ir=8 opset=28
const w = f32[2,2,1,1] [1, 2, 3, 4]
const a = f32[2] [1, 2]
const b = f32[2] [0.5, 2]
const zero = f32[2] [0, 0]
graph main {
  input x: f32[1,2,4,4]
  c = Conv(x, @w)
  scale = Mul(@a, @b)
  variance = Exp(@zero)
  y = BatchNormalization(c, scale, @zero, @zero, variance)
  output y = y
}
END
ge-load computed.txt | ge-export -o computed.onnx
is "$(rc hone simplify computed.onnx conv.onnx) $(awk '$1 == "all" { print $2, $3 }' out)" "0 4 1" "simplify: rules see what had to be computed first"
mkdir apart
is "$(rc hone simplify --external new.onnx "$model" apart/out.onnx) $(ls apart) $(stat -c %a apart/new.onnx)" "0 new.onnx
out.onnx $(stat -c %a plain)" "simplify: --external"
is "$(rc run-cmp --set batch=3 apart/out.onnx "$model") $(($(wc -c <apart/out.onnx) < 20000 && $(wc -c <apart/new.onnx) > 50000))" "0 1" "simplify: --external, the numbers, the bytes"
fails 64 "--external in a file of the input" hone simplify apart/out.onnx --external=new.onnx apart/again.onnx
fails 64 "--external in the model" hone simplify "$model" --external=out.onnx apart/out.onnx
fails 64 "--external elsewhere" hone simplify "$model" --external ../w apart/out.onnx
mkdir dir.onnx && mkfifo pipe.onnx
fails 74 "simplify, a directory" hone simplify "$model" dir.onnx
fails 74 "simplify, a directory, --external" hone simplify "$model" dir.onnx --external w.bin
fails 74 "simplify, a pipe" hone simplify -q "$model" pipe.onnx
fails 74 "--external is a directory" hone simplify "$model" new.onnx --external=apart
cat >rate.txt <<'END'
hone-text 1
module ir=8 opset=28
graph main {
  input x: f32[4]
  input rate: i64[]
  f = Cast(rate) {to=1}
  r = Sqrt(f)
  y = Mul(x, r)
  output y = y
}
END
ge-load rate.txt | ge-export -o rate.onnx
is "$(rc hone simplify --const rate=16 rate.onnx rate16.onnx) $(awk '$1 == "all" { print $3 }' out) $(rc run-cmp --const rate=16 rate16.onnx rate.onnx)" "0 1 0" "simplify: --const"
is "$(rc hone build -q --const=rate=9 rate.onnx -o rate9) $(rc run-cmp --const rate=9 rate9.so rate.onnx)" "0 0" "build: --const"
cat >liar <<END
#!/bin/sh
"$top/bin/run-cmp" "\$@"
exit 1
END
mkdir fake && cp "$top"/bin/* fake && rm fake/run-cmp && mv liar fake/run-cmp && chmod +x fake/run-cmp
fails_check() { fake/hone simplify "$model" "$1" >out 2>err; }
is "$(fails_check never.onnx; echo $?) $(ls never.onnx 2>/dev/null) $(grep -c 'nothing is written' err)" "1  1" "simplify: other numbers: 1, no output"

# any tool, help, version
is "$(rc hone ge-stat --digest byhand.g) $(cat out)" "0 $(ge-stat --digest byhand.g)" "hone TOOL"
is "$(rc hone --version) $(sed "s,+[0-9]*\.[0-9a-f]*$,," out)" "0 hone (hone) 0.1.0" "--version"
is "$(rc hone help) $(grep -c '^  ge-' out)" "0 $(ls "$top"/bin/ge-* | wc -l)" "help lists the tools"
is "$(rc hone help ge-stat) $(head -1 out)" "0 Usage: ge-stat [OPTION...] [FILE [FILE]]" "help TOOL"
for verb in build tune simplify quantize; do
	hone $verb --help >out
	printf '%s ' "$(head -1 out | cut -d' ' -f1-3)" $(grep -c '^hone [a-z]* [a-z]*s ' out) $(grep -cE '^  --(lanes|seconds|no-grow|metric) ' out)
done >all
is "$(cat all)" "Usage: hone build 1 1 Usage: hone tune 1 2 Usage: hone simplify 1 1 Usage: hone quantize 1 2 " "--help of a verb is of that verb"
is "$(rc hone) $(grep -c Usage err)" "64 1" "no argument: usage"
[ -c /dev/full ] || skip "a full disk" "no /dev/full"
for what in help --version 'build --help'; do
	[ -c /dev/full ] || break
	hone $what >/dev/full 2>err
	is "$? $(wc -l <err) $(cut -d: -f1 err)" "74 1 hone" "$what on a full disk: 74, one line of hone"
done
for verb in 'build -q -o never' 'simplify --no-check'; do
	said=$(trap '' XFSZ; ulimit -f 0; TMPDIR=$PWD hone $verb "$model" --set batch=1 $([ "$verb" = "${verb#simp}" ] || echo never.onnx) 2>&1; echo $?)
	is "$said" "hone: $PWD: no space for intermediate files; TMPDIR says where else they go
74" "$verb, no space for intermediate files"
done
for blocks in 20 100; do # enough for the first files, not for all
	mkdir limited
	(cd limited && ulimit -f $blocks && hone build -q "$model" --set batch=1 -o small 2>&1) >limited.out
	is "$? $(wc -l <limited.out) $(ls -A limited)" "74 1 " "files of $blocks blocks at most: 74, one line, nothing is left"
	rm -rf limited
done
is "$(TMPDIR=/nowhere rc hone build "$model") $(cat err)" "74 hone: /nowhere: cannot be written: No such file or directory; TMPDIR says where else intermediate files go" "no TMPDIR"
unread hone help 2>err
is "$? $(wc -c <err)" "141 0" "help that nobody reads: silence"

# the same bytes: another directory, locale, blob store, number of jobs, and twice
mkdir -p 'other place'
cp "$model" 'other place/copy.onnx'
(cd 'other place' && LC_ALL=C.UTF-8 LANG=C.UTF-8 TZ=Asia/Tokyo HONE_BLOBS=$PWD/blobs hone build -q -j1 copy.onnx -o digits --set batch=1)
same=0
[ -z "${ASAN_OPTIONS-}" ] || rm -f made/digits.so made/digits.a # the sanitizer puts names of files into objects
for f in made/digits.d/*.g made/digits.*[achos]; do
	[ -d "$f" ] || cmp "$f" "other place/${f#made/}" || same=1
done
is $same 0 "another directory, locale and store: the same bytes"
cp -r made once
LC_ALL=C hone build -q "$model" -o made/digits --set batch=1
[ -z "${ASAN_OPTIONS-}" ] || rm -f made/digits.so made/digits.a
nothing "twice: the same bytes" "$(diff -r once made; [ -s made/digits.so ] || [ -n "$(ls made)" ] || echo nothing was made)"
done_testing
