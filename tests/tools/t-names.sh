# Names that a file gives, with all that could do something to a terminal or look like lines of ours: nothing of it is in what a
# tool prints, and the text form brings it back.
. "$top/tests/lib.sh"

odd='\033[31m\n# kernel 0\nINJECTED \302\2332J\233\177\r\007\342\200\256%%s%%n*/<b>&"' # for printf
e='\x1b[31m\x0a# kernel 0\x0aINJECTED \xc2\x9b2J\x9b\x7f\x0d\x07\xe2\x80\xae%s%n*/<b>&\x22' # in the text form
x="\"x$e\"" y="\"y$e\"" z="\"z$e\"" t="\"t$e\"" w="\"w$e\"" n="\"n$e\"" s="\"s$e\"" g="\"g$e\"" o="\"o$e\""
model() { # FILE LINE...: a model with further lines
	cat <<-END >"$1"
	hone-text 1
	module ir=10 opset=28
	meta $n = $s
	symbol $s 0 inf
	const $w = f32[4,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
	const k = i64[1] [1]
	graph $g {
	  input $x: f32[$s,4]
	  $y = MatMul($x, @$w) $n
	  $z = Relu($y) $n
	$2
	  output $o = $z
	  output $t = $t
	}
	END
}
model full.txt "  v, $t = TopK($z, @k) {axis=0} $n"
model other.txt "  $t = $x.$y($z) {$n=$s} $n"
for f in full other; do
	ge-load $f.txt -o $f.g 2>err || { ok 1 "the text form: $(cat err)"; continue; }
	ge-dump $f.g >dumped.txt
	is "$(ge-load dumped.txt | cmp - $f.g && echo same) $(grep -c 'INJECTED' dumped.txt | sed 's/^[1-9].*/some/')" "same some" "$f: load of dump is the same bytes, with all of the names"
done

# No control character but the end of a line, none of C1, nothing that is no UTF-8, and no line that a name began.
# Who has nothing to say has made a file, $made.
made=
clean() { # WHAT FILE...
	what=$1 && shift
	cat "$@" >all
	[ -s all ] || [ -s "$made" ] || { ok 1 "$what: nothing is said or made"; return; }
	bad=$(LC_ALL=C grep -c "$(printf '[\001-\010\013-\037\177]\|\302[\200-\237]\|\342\200[\252-\256]')" all)
	iconv -f utf-8 -t utf-8 all >/dev/null 2>&1 || bad="$bad, no UTF-8"
	is "$bad $(grep -c '^INJECTED\|^# kernel 0$\|^%s' all)" "0 0" "$what"
	[ "$bad" = 0 ] || LC_ALL=C cat -v all | head -20 | sed 's/^/# /'
}
said() { # TOOL...: what it prints, where that is text
	"$@" >out 2>err
	clean "$(printf '%s ' "$1") $(printf '%s ' "$@" | tr -cd 'a-z. -')" out err
}
for m in full other; do
	said ge-dump $m.g
	said ge-stat $m.g
	said ge-stat --json $m.g
	said ge-dot $m.g
	said ge-stat $m.g $m.g
	made=$m.g
	said ge-check $m.g
	made=next.g
	for pass in ge-shape ge-fold ge-simplify ge-deadedge ge-cse ge-dedup ge-prune ge-narrow ge-integer ge-fuse ge-layout ge-join ge-schedule; do
		rm -f $made
		$pass --why $m.g -o next.g 2>err
		clean "$m: $pass --why" err
	done
	said ge-shape --set "$(printf "none$odd")=2" $m.g -o none.g
	made=$m.onnx
	ge-export $m.g -o $m.onnx 2>err
	clean "$m: ge-export" err
	made=
	said ge-dump $m.onnx
	said hone build $m.onnx -o b
	said hone simplify $m.onnx small.onnx
	said run-ref $m.g
done
said ge-diff full.g other.g
said ge-shape --shape "$(printf "x$odd"):2x4x4" full.g -o none.g
printf "s$odd=2" >set
ge-shape --set "$(cat set)" full.g -o sized.g 2>err || ok 1 "its symbol is set: $(cat -v err)"
ge-fuse sized.g | ge-layout -o laid.g
ge-fuse --write-plan names.plan sized.g -o fused.g && ge-fuse --plan names.plan sized.g -o again.g && same_graph fused.g again.g
ok $? "names in a plan"
ge-plan --why laid.g -o planned.g 2>err
clean "ge-plan --why" err
said ge-emit --print-traces --report planned.g
is "$(ge-emit --print-traces planned.g | grep -c '^# kernel') $(ge-emit --print-traces planned.g >traces; ge-emit --trace traces planned.g --report >/dev/null && echo read)" "1 read" "--print-traces is what --trace reads"
ge-emit planned.g -o lib >out 2>err
clean "ge-emit: what it says, the C, the header" out err lib.c lib.h
said run-dev lib.so
said run-dev --bench --seconds 0.05 --kernels lib.so
said run-dev --bench --seconds 0.05 --kernels --json lib.so
said run-cmp lib.so sized.g
said run-cmp --json lib.so sized.g
said run-ref --time sized.g
said tune-graph --segments sized.g
said tune-graph --kb kb --trials 0 --why --write-plan names.plan sized.g -o none.g
said tune-op --tasks laid.g
said tune-op --tasks --json laid.g
said tune-op --kb kb --runner fake --trials 2 --report tuned.html laid.g -o tuned.g
clean "the report" tuned.html
HONE_KB=kb said kb ls
HONE_KB=kb said kb stat
said tune-grad profile sized.g
cp sized.g "$(printf 'f%s.g' "$(printf 'a\033[31m\nINJECTED\302\233')")"
said ge-stat f*.g
mv lib.so "$(printf 'f%s.so' "$(printf 'a\033[31m\nINJECTED\302\233')")"
mv full.onnx "$(printf 'f%s.onnx' "$(printf 'a\033[31m\nINJECTED\302\233')")"
said run-dev --bench --seconds 0.05 f*.so
said hone build f*.onnx
said hone build f*.onnx --set "$(cat set)"
said hone build none"$(printf '\033\302\233')".onnx
said ge-dump f*.g --nonsense
done_testing
