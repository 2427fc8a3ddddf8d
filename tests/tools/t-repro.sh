# The same bytes whatever the directory, locale and blob store; each pass twice is the pass once; ge-load of
# ge-dump is the same bytes. On digits, on ONNX's test models, and on the models of HONE_MODELS.
. "$top/tests/lib.sh"
. "$top/bench/find.sh"
locale=$(locale -a 2>/dev/null | grep -iv '^\(C\|POSIX\)$' | tail -1)

# Every stage of the pipeline as a file, NN-TOOL.g.
stages() { # FILE OPTIONS
	last=$1 n=0
	for tool in ge-import ge-shape ge-fold ge-simplify ge-deadedge ge-cse ge-dedup ge-prune ge-narrow ge-integer ge-fuse ge-layout ge-join ge-schedule; do
		n=$((n + 1))
		[ $tool = ge-shape ] && options=$2 || options=
		$tool -q $options "$last" -o $n-$tool.g || return
		last=$n-$tool.g
	done
}

# What has no lowering (69) or no static shape (64) ends with ge-layout.
emit() {
	ge-plan -q 12-ge-layout.g -o 12-ge-plan.g 2>said && ge-emit --no-compile 12-ge-plan.g -o model 2>said
	rc=$?
	[ $rc -eq 0 ] || [ $rc -eq 64 ] || [ $rc -eq 69 ] || { cat said && return 1; }
}

same_again() { # FILE OPTIONS: from another directory, with another store and locale
	mkdir "other place"
	(
		cd "other place" || exit
		LC_ALL=${locale:-C.UTF-8} LANGUAGE=de HONE_BLOBS=$PWD/blobs
		export LC_ALL LANGUAGE HONE_BLOBS
		stages "$1" "$2" && emit
	) || return
	md5sum *-ge-*.g $(ls model.* 2>/dev/null) >sums && (cd "other place" && md5sum -c --quiet ../sums)
}

twice() { # OPTIONS: but --const, whose input is gone
	set -- "$(printf '%s\n' $1 | grep -v '^--const=' | tr '\n' ' ')"
	files=$(ls [2-9]-ge-*.g 1[01]-ge-*.g 2>/dev/null)
	for f in $files; do
		tool=${f#*-}
		tool=${tool%.g}
		[ "$tool" = ge-shape ] && options=$1 || options=
		"$tool" -q $options "$f" || return
	done >twice.g
	cat $files | ge-stat --digest >digests
	ge-stat --digest twice.g >digests-of-twice
	[ "$(wc -l <digests)" = "$(echo $files | wc -w)" ] && cmp digests digests-of-twice && return
	echo "# $(printf '%s\n' $files | paste - digests digests-of-twice | awk '$2 != $3 { print $1; exit }')" && return 1
}

dumped() {
	cat *-ge-*.g >all.g && ge-dump all.g | ge-load | cmp - all.g && [ -s all.g ]
}

try() { # NAME FILE OPTIONS
	rm -rf try && mkdir try && cd try || exit
	stages "$2" "$3" && emit && [ -s 12-ge-layout.g ]
	made=$?
	[ $made -eq 0 ] && same_again "$2" "$3"
	repeated=$?
	twice "$3" && dumped
	properties=$?
	cd ..
}

for name in $(model_names); do
	file=$(model_path "$name")
	if [ -z "$file" ]; then
		skip "$name" "$name.onnx is not in HONE_MODELS (bench/models.py makes some)"
		continue
	fi
	try "$name" "$file" "$(model_options "$name")"
	ok $made "$name: goes through the passes"
	ok $repeated "$name: the same bytes in another directory, locale and blob store"
	ok $properties "$name: a pass twice is the pass once, load of dump the same bytes"
done

data=/usr/share/libonnx-testdata/data
if [ -d $data ]; then
	i=0 tried=0 bad=0
	for file in $data/node/*/model.onnx; do
		i=$((i + 1))
		[ $((i % 10)) -eq 0 ] && ge-import -q "$file" 2>said | ge-shape -q >shaped 2>said2 || continue
		[ -s said ] && continue # an operator or opset that is refused, or a model that contradicts itself
		[ -s said2 ] && continue
		tried=$((tried + 1))
		try "" "$file" "" >said 2>&1
		[ $((made + repeated + properties)) -eq 0 ] || { bad=$((bad + 1)) && marked "# $file: " <said; }
	done
	ok $bad "$tried of ONNX's test models: all of this"
else
	skip "ONNX's test models" "needs libonnx-testdata"
fi
done_testing
