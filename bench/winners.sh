#!/bin/sh
# winners.sh -o FILE RECORDS...: of records as kb dump prints them, those that win for their task on their target (kernels, and plans of segments),
# without their samples. An installed hone has them as the built-in layer of its knowledge base (hone-kb(5)).
cd "$(dirname "$0")/.." || exit 1
PATH=$(pwd)/bin:$PATH
[ "$1" = -o ] && [ $# -gt 2 ] || { sed -n '2,3s/^# //p' "$0"; exit 64; }
out=$2
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
kb load -q --kb "$work/kb" "$@" || exit
sed -n 's/^target //p' "$@" | sort -u | while IFS= read -r target; do
	kb ls --json --kb "$work/kb" --target "$target" | sed -n '/"best": null/!s/.*"hash": "\([0-9a-f]*\)".*/\1/p' | while read -r task; do
		kb best --kb "$work/kb" --target "$target" "$task" || exit
	done || exit
done >"$work/won" || exit
# A record's id is the digest of its text, so kb gives the shorter one another.
sed 's/^record .*/record/; /^samples /d; /^session /d; /^seal /d' "$work/won" >"$work/short"
kb load -q --kb "$work/short.kb" "$work/short" && kb dump -q --kb "$work/short.kb" -o "$out" && echo "$out: $(grep -c '^record ' "$out") records"
