# share/hone.mk: models made by rule, and made again only when needed.
. "$top/tests/lib.sh"
unset HONE_BLOBS MAKEFLAGS MFLAGS MAKELEVEL
cp "$top/examples/digits/digits.onnx" net.onnx
cat >Makefile <<END
all: net.so
include $top/share/hone.mk
net.g: HONE_SET = batch=\$(BATCH)
BATCH = 1
END

ran() { # MAKE-ARGUMENTS...: which of import and emit ran
	make "$@" >log 2>&1 || echo failed
	grep -o 'hone passes --until\|hone ge-emit' log | sed 's/.* passes --until/import/; s/.*-//' | tr '\n' ' '
}
is "$(ran)" "import emit " "made"
is "$(echo net.*)" "net.a net.c net.g net.g.args net.h net.onnx net.passed net.so net.so.args net.weights" "the files"
is "$(HONE_BLOBS=none run-cmp net.so net.g >log 2>&1; echo $?)" 66 "the weights are in a store of its own"
is "$(HONE_BLOBS=build/blobs run-cmp net.so net.g >log 2>&1; echo $?) $(grep -c ' equal$' log)" "0 1" "which is build/blobs; the numbers"
is "$(ran) $(ran net.a net.h net.weights) $(ls net.so)" "  net.so" "nothing to do"
before=$(stat -c %y net.so)
touch net.onnx
is "$(ran) $(ran)" "import  " "touched: the passes, no compiling"
is "$(stat -c %y net.so)" "$before" "touched: the library stays"
is "$(ran BATCH=2) $(ran BATCH=2)" "import emit  " "another size"
is "$(ran BATCH=2 HONE_EMIT=--embed) $(ran BATCH=2 HONE_EMIT=--embed)" "emit  " "another option of ge-emit"
mkdir newer && printf '#!/bin/sh\n[ "$1" != --version ] || { echo newer && exit; }\nexec "%s/bin/hone" "$@"\n' "$top" >newer/hone && chmod +x newer/hone
is "$(PATH=$PWD/newer:$PATH ran BATCH=2 HONE_EMIT=--embed) $(ran BATCH=2 HONE_EMIT=--embed)" "import emit  import emit " "another hone"
rm net.so
is "$(ran BATCH=2 HONE_EMIT=--embed)" "emit " "a lost library"
mkdir broken && printf '#!/bin/sh\nhead -c 100 "$2" >"$3"\nexit 1\n' >broken/cp && chmod +x broken/cp # cp -- FROM TO
is "$(PATH=$PWD/broken:$PATH ran BATCH=3) $(ran BATCH=3)" "failed
import  emit " "a graph that was not written whole is made again"
is "$(ls net.g*)" "net.g
net.g.args" "and nothing is left of it"
is "$(ran HONE_TARGET=x86-64-v4) $(grep -c 'passes for' log)" "import emit  0" "made for another machine"
is "$(ran HONE_TARGET=native,generic) $(ran HONE_TARGET=native,generic)" "import emit  " "made for several"
is "$(HONE_TARGET=generic HONE_BLOBS=build/blobs run-cmp net.so net.g >log 2>&1; echo $?) $(grep -c ' equal$' log) $(ls | grep -c part)" "0 1 0" "each computes the same"
is "$(ran other.so)" "failed" "no such model"
echo '<html>' >page.onnx
is "$(ran page.so) $(ls page.*)" "failed
import  page.g.args
page.onnx" "a bad model makes no graph"
is "$(grep -c '^ge-' log)" 1 "and one line"
mkdir sub && cp net.onnx sub
is "$(ran HONE_SHAPE=image:1x1x8x8 sub/net.so) $(ls sub/net.so)" "import emit  sub/net.so" "in a directory, with HONE_SHAPE"

# Tuned: the search between the graph and the library. The runner only pretends.
HONE_KB=$PWD/kb
export HONE_KB
printf 'net.tuned.g: HONE_TUNE = --runner fake --trials $(TRIALS)\nTRIALS = 4\n' >>Makefile
tuned() { make "$@" >log 2>&1 || echo failed; grep -o 'hone ge-emit\|hone tune-op\|hone passes --[a-z]* [a-z]*' log | sed 's/.*[- ]//' | tr '\n' ' '; }
is "$(tuned net.tuned.so) $(tuned net.tuned.so)" "schedule op plan emit  " "a tuned library"
is "$(HONE_BLOBS=build/blobs run-cmp net.tuned.so net.g >log 2>&1; echo $?) $(grep -c ' equal$' log)" "0 1" "the same numbers"
is "$(tuned net.tuned.so TRIALS=8)" "op plan emit " "other options: tuned again"
done_testing
