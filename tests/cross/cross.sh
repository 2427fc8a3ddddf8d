# Tests of AArch64 on a machine of another kind read this after tests/lib.sh: an emulator runs the programs of a tree that a cross compiler
# made (make check-aarch64).
export HONE_KB=$PWD/kb
unset HONE_TARGET CC
tree=$top/build/aarch64/tree
[ -x "$tree/bin/run-cmp" ] || skip_all "hone on AArch64" "not built: make check-aarch64"
[ "$tree/bin/run-cmp" -nt "$top/bin/run-cmp" ] || skip_all "hone on AArch64" "its tree is older than bin: make cross"
command -v qemu-aarch64 >/dev/null || skip_all "hone on AArch64" "no qemu-aarch64"
emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max,sve-default-vector-length"

# emulated BYTES COMMAND...: a program of the tree on a CPU whose vectors of SVE have so many bytes.
emulated() {
	local bytes=$1 name=$2
	shift 2
	$emulator="$bytes" "$tree/$name" "$@"
}

# emulated_programs FOLDER: fills it with a script for each program of the tree, which runs it by the emulator. hone looks for the others
# beside itself, so it starts these scripts.
emulated_programs() {
	local program name
	mkdir -p "$1" && cp "$tree/bin/hone" "$1/.hone" || return
	for program in "$tree"/bin/*; do
		name=${program##*/}
		[ "$name" != hone ] || program=$1/.hone
		printf '#!/bin/sh\nexec %s=16 "%s" "$@"\n' "$emulator" "$program" >"$1/$name" && chmod 755 "$1/$name" || return
	done
}

# right TARGET BYTES MODEL ARGUMENT...: its library of these sizes computes what the evaluator does, both emulated.
right() {
	local target=$1 bytes=$2 model=$3
	shift 3
	hone build "$model" --quiet --no-fallback --target "$target" "$@" -o lib/m 2>err &&
		emulated "$bytes" bin/run-cmp lib/m.so "$model" "$@" >log 2>&1 && grep -q ' equal$' log
}

# same_passes MODEL: reading it and every pass, up to one that refuses it, write the same bytes on both kinds of CPU. A text of a graph is loaded, all else imported.
same_passes() {
	local read=ge-import pass options differ=
	case $1 in *.txt) read=ge-load ;; esac
	$read "$1" >here.g 2>err && emulated 16 bin/$read "$1" >there.g 2>>err && same here.g there.g
	ok $? "$read: the same bytes: ${1##*/}" || return
	hone passes --list | awk '$2 ~ /^ge-/ && $2 !~ /^ge-(import|emit)$/ && $1 != "gears" { $1 = ""; print }' >passes
	while read -r pass options; do
		! "$pass" --help | grep -q -e '--target=' || options="$options --target=cpu=x;arch=arm;features=dotprod,fp16;l1=64K;l2=1024K"
		# shellcheck disable=SC2086 # none or two
		"$pass" $options <here.g >next.g 2>err || break # a text without its weights is not planned
		# shellcheck disable=SC2086
		emulated 16 "bin/$pass" $options <here.g >there.g 2>>err && same next.g there.g || differ="$differ $pass"
		mv next.g here.g
	done <passes
	nothing "passes: the same bytes: ${1##*/}" "$differ"
}
