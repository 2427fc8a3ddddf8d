#!/bin/sh
# corpus.sh [--every N] OLD_TREE [-o FILE.tsv]: the default schedules of two builds of hone, that tree's and this one's, on the tasks of
# bench/corpus.txt, in turns on one core; both trees are built. A row a task; a claim about speed is a file that this made.
# corpus.sh --tasks [MODEL...]: the tasks of those models, or of all in bench/models.txt that are here, each once, for bench/corpus.txt.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
. bench/find.sh

tasks() {
	PATH=$top/bin:$PATH
	[ $# -gt 0 ] || set -- $(model_names)
	echo "# The distinct tasks of the models of bench/models.txt, made by bench/corpus.sh --tasks."
	for name; do
		model=$(model_path "$name")
		[ -n "$model" ] || { echo "corpus.sh: no $name.onnx in ${HONE_MODELS:-build/models} (HONE_MODELS)" >&2; continue; }
		# shellcheck disable=SC2046 # no option, or several
		hone passes -q $(model_options "$name") --until layout "$model" | tune-op -q --tasks 2>/dev/null
	done | LC_ALL=C sort -u
}

every='' out='' old=''
while [ $# -gt 0 ]; do
	case $1 in
	--tasks) shift && tasks "$@" && exit ;;
	--every) every="--every $2" && shift 2 ;;
	-o) out=$2 && shift 2 ;;
	-*) sed -n '2,4s/^# //p' "$0" && exit 64 ;;
	*) old=$1 && shift ;;
	esac
done
[ -d "$old" ] || { sed -n '2,4s/^# //p' "$0"; exit 64; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT INT TERM
for tree in "$old" "$top"; do
	make -s -C "$tree" all build/bench/corpus || exit
done
# shellcheck disable=SC2086 # no option, or two words
"$old/build/bench/corpus" --write "$made/old" $every bench/corpus.txt && build/bench/corpus --write "$made/new" $every bench/corpus.txt || exit
core=$(taskset -cp $$ | sed 's/.*[ ,-]//')
PATH=$top/bin:$PATH taskset -c "$core" build/bench/corpus "$made/old" "$made/new" >"${out:-/dev/stdout}"
