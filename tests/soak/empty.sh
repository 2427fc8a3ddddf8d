# No test passes on nothing: where every program does nothing and ends well, no test script says ok of what the programs
# do. EMPTY_TOOL: another program in their place. Left out are tests of the sources' text, which run no program.
. "$top/tests/lib.sh"
printf '#!/bin/sh\n' >nothing && chmod +x nothing # true has a --help
tool=${EMPTY_TOOL:-$PWD/nothing}
mkdir -p house/bin house/bench house/clients house/build/check house/build/fuzzed house/build/bench house/build/tests/net run
for f in "$top"/*; do
	case $f in */bin | */build | */bench | */clients) ;; *) ln -s "$f" house ;; esac
done
for f in "$top"/bench/* "$top"/clients/*; do # programs in Python as well
	case $f in *.py) ln -s "$PWD/nothing" "house/${f#"$top"/}" ;; *) ln -s "$f" "house/${f#"$top"/}" ;; esac
done
for f in "$top"/bin/* "$top"/build/check/* "$top"/build/fuzzed/* "$top"/build/bench/* "$top"/build/tests/net/netlab; do
	[ ! -x "$f" ] || ln -s "$tool" "house/${f#"$top"/}"
done
ln -s "$tool" house/bin/make
here=$PWD
for script in "$top"/tests/*/t-*.sh; do
	name=$(basename "$script")
	case $name in t-floors.sh | t-format.sh | t-doc.sh | t-opsets.sh) continue ;; esac # of the sources' text
	mkdir run/work
	(cd run/work && top=$here/house PATH=$here/house/bin:$PATH TAP_COUNT=$here/run/count timeout 100 sh "$script") >run/out 2>run/err </dev/null
	[ $? != 124 ] || echo "ok - it ends" >>run/out
	nothing "$name: nothing passes on nothing" "$(grep '^ok' run/out | grep -v '# SKIP')"
	rm -rf run/*
done
done_testing
