# No test passes on nothing: with every program a `true`, no test script says ok of what the programs do. What it may say is in
# ALLOWED: tests of the sources' text, which run no program.
. "$top/tests/lib.sh"
mkdir -p house/bin house/build/check house/build/fuzzed house/build/bench house/build/tests/net run
for f in "$top"/*; do
	case $f in */bin | */build) ;; *) ln -s "$f" house ;; esac
done
for f in "$top"/bin/* "$top"/build/check/* "$top"/build/fuzzed/* "$top"/build/bench/* "$top"/build/tests/net/netlab; do
	[ ! -x "$f" ] || ln -s "$(command -v true)" "house/${f#"$top"/}"
done
here=$PWD
for script in "$top"/tests/*/t-*.sh; do
	name=$(basename "$script")
	case $name in t-floors.sh | t-format.sh | t-doc.sh) continue ;; esac # of the sources' text
	mkdir run/work
	(cd run/work && top=$here/house PATH=$here/house/bin:$PATH TAP_COUNT=$here/run/count timeout 100 sh "$script") >run/out 2>run/err </dev/null
	[ $? != 124 ] || echo "ok - it ends" >>run/out
	nothing "$name: nothing passes on nothing" "$(grep '^ok' run/out | grep -v '# SKIP' )"
	rm -rf run/*
done
done_testing
