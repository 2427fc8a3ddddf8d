# make install: what lands where, and that it works without the tree.
. "$top/tests/lib.sh"
rc() { "$@" >log 2>&1; echo $?; }
unset MAKEFLAGS MFLAGS MAKELEVEL
here=$PWD model=$PWD/net.onnx
cp "$top/examples/digits/digits.onnx" net.onnx
ls "$top/bin" >tools

is "$(rc make -C "$top" install DESTDIR="$here/stage" PREFIX=/opt/hone) $(ls stage/opt/hone/bin | diff - "$here/tools")" "0 " "make install with PREFIX and DESTDIR: every tool can be called"
cd stage/opt/hone || exit 1
is "$(ls "$here/stage" include lib share | tr '\n' ' ')" \
	"$here/stage: opt  include: hone  lib: hone libhone.a pkgconfig  share: bash-completion doc hone man " "only there"
is "$(cd libexec/hone && echo *)" "$(cd "$top/bin" && ls | grep -vx hone | tr '\n' ' ' | sed 's/ $//')" "the tools in libexec"
for page in "$top"/tools/*/*.1; do
	[ -e "share/man/man1/$(basename "$page")" ] || ok 1 "$(basename "$page") is installed"
done
is "$(ls share/man/man5/ge-stream.5 share/man/man7/hone.7 share/hone/hone.mk share/bash-completion/completions/hone | wc -l)" 4 "pages, rules, completion"
is "$(ls share/doc/hone | tr '\n' ' ')$(ls share/doc/hone/examples/digits/digits.onnx)" "LICENSE NEWS README.md examples share/doc/hone/examples/digits/digits.onnx" "licence, news, examples"
nothing "no program has symbols" "$(for f in bin/hone libexec/hone/*; do readelf -S "$f" 2>/dev/null | grep -q '\.symtab' && echo "$f"; done)"
nothing "DESTDIR is in no file" "$(grep -rlF "$here" . | head -3)"

is "$(rc make -C "$top" install DESTDIR="$here/again" PREFIX=/usr) $(rc make -C "$top" uninstall DESTDIR="$here/again" PREFIX=/usr) $(find "$here/again" ! -type d | wc -l)" \
	"0 0 0" "make uninstall leaves nothing"
is "$(rc make -s --no-print-directory -C "$top" help) $(grep -c '^make ' log)" "0 $(grep -c . log)" "make help"

# Other options of the compiler build anew; options that were given stay.
mkdir tree && ln -s "$top/lib" "$top/tools" tree && cp "$top/Makefile" tree
made() { env -u CFLAGS make --no-print-directory -C tree "$@" build/lib/common/arena.o 2>&1 | grep -o -e '-O[0-9]' | tr '\n' ' '; }
is "$(made CFLAGS=-O0)$(made), $(made CFLAGS=-O1)$(made CFLAGS=-O1)" "-O0 , -O1 " "other options of the compiler: made anew"

# With nothing of the tree at hand, from another place than PREFIX, and through a link.
cd "$here" || exit 1
mkdir elsewhere
mv stage/opt/hone elsewhere/tree
mkdir bin && ln -s ../elsewhere/tree/bin/hone bin/hone
alone() { rc env -i PATH="$here/bin:/usr/bin:/bin" HOME="$here" HONE_BLOBS="$here/own" ASAN_OPTIONS="${ASAN_OPTIONS-}" CC="${CC-}" "$@"; }
# Commands of README and of the pages' examples: with nothing but PREFIX/bin on the path each program is there and knows its options.
{
	sed -n 's/^    \([a-z].*\)/\1/p' "$top/README.md"
	awk '/^\.Sh/ { example = $2 == "EXAMPLES" } example && sub(/^\.Dl /, "")' "$top"/tools/*/*.1
} | sed "s/  *# .*//; s/'/|/g" | awk 'BEGIN { while ((getline tool < "tools") > 0) own[tool] } {
	n = split($0, stage, /[|;&]+/)
	for (i = 1; i <= n; i++) {
		m = split(stage[i], word, " ")
		for (at = 1; at <= m && !(word[at] in own); at++);
		if (at > m) continue
		print word[at] "\t"
		verb = word[at + 1] ~ /^[a-z]+$/ ? word[at + 1] : ""
		for (w = at + 1; w <= m; w++) if (sub(/^--/, "--", word[w])) { sub(/=.*/, "", word[w]); print word[at] "\t" word[w] "\t" verb }
	}
}' | sort -u >commands
known() { env -i PATH="$here/elsewhere/tree/bin" "$@" 2>/dev/null; }
nothing "README and examples: $(wc -l <commands) programs and options" "$(while IFS='	' read -r tool option verb; do
	{ known "$tool" --help; [ -z "$verb" ] || known "$tool" "$verb" --help; } </dev/null >help
	[ -s help ] && grep -q -e "${option:-$tool}" help || echo "$tool $verb $option"
done <commands)"
is "$(alone hone build "$model" -o made/net --set batch=1) $(ls made/net.so)" "0 made/net.so" "hone build"
is "$(alone hone run-cmp --set batch=1 made/net.so "$model")" 0 "hone TOOL"
is "$(alone hone simplify "$model" small.onnx)" 0 "hone simplify"
is "$(alone hone kb stat) $(sed -n 's/^.*(built-in, .*: \([0-9]* records\) .*/\1/p' log)" "0 $(grep -c '^record ' "$top/share/kb/winners.txt") records" "records that came with hone"
is "$(alone hone --version) $(cat log)" "0 hone (hone) $("$top/lib/common/version.sh")" "--version"
is "$(strings made/net.so | sed -n 's/^hone \(.*\), graph [0-9a-f]\{32\}, weights [0-9a-f]\{32\}$/\1/p') $(nm -D made/net.so | grep -c ' T net_version$')" \
	"$("$top/lib/common/version.sh") 1" "a library says which hone made it, of what"
printf 'hone-text 1\nmodule ir=8 opset=17\ngraph main {\n  input x: f32[2,1,1,1,1,1,1,1,1,1,1,1,3]\n  y = Softmax(x)\n  output y = y\n}\n' >axes.txt
is "$(alone sh -c 'hone ge-load axes.txt | hone ge-shape -o axes.g && hone ge-fuse axes.g | hone ge-plan | hone ge-emit -o part') $(grep -c 'slow path' log)" \
	"0 2" "a model with the evaluator in it"
is "$(alone hone run-cmp part.so axes.g)" 0 "and its numbers"
printf 'include elsewhere/tree/share/hone/hone.mk\nnet.g: HONE_SET = batch=1\n' >Makefile
is "$(alone make net.so) $(ls net.so)" "0 net.so" "hone.mk"

# Examples are built of the installed tree alone.
cp -r elsewhere/tree/share/doc/hone/examples/pass pass
printf '%s\n' 'hone-text 1' 'module ir=8 opset=17' 'const one = f32[] [1]' 'graph main {' '  input x: f32[4,8]' '  e = Exp(x)' '  s = Add(@one, e)' \
	'  y = Log(s)' '  output y = y' '}' >sum.txt
is "$(alone env PKG_CONFIG_PATH="$here/elsewhere/tree/lib/pkgconfig" make -s -C pass "CC=${CC:-cc}") $(pass/softplus --summary)" \
	"0 Replace log(1 + exp(x)) by Softplus." "examples/pass"
is "$(alone sh -c 'hone ge-load sum.txt -o sum.g && hone build sum.g --pass pass/softplus -o made/sum') $("$top/bin/ge-dump" made/sum.d/14-prune.g | grep -c Softplus)" \
	"0 1" "hone build --pass"
is "$(alone hone run-cmp made/sum.so sum.g)" 0 "and its numbers"
cp -r elsewhere/tree/share/doc/hone/examples/operator operator
is "$(alone env PKG_CONFIG_PATH="$here/elsewhere/tree/lib/pkgconfig" make -s -C operator "CC=${CC:-cc}") $(nm operator/moments.o | grep -c ' T moments')" "0 1" "examples/operator"
is "$(echo '#include "hone.hpp"' | PKG_CONFIG_PATH="$here/elsewhere/tree/lib/pkgconfig" sh -c '! command -v g++ >/dev/null || g++ -std=c++17 $(pkg-config --cflags hone) -fsyntax-only -x c++ -' 2>&1; echo $?)" 0 "hone.hpp"
done_testing
