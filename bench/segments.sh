#!/bin/sh
# segments.sh [MODEL...]: what tune-graph gains. Each model with the groups of the rules and with those of tune-graph: how many segments it has
# and how many of them have other groups; for each of these the ratio when it was chosen and re-timed; then the whole library against the
# other, both ways round, and against a copy of itself, which is what such a measurement can see. SEGMENTS_SECONDS: for the search (600);
# SEGMENTS_TIMED: for each comparison of libraries (10); SEGMENTS_KB: a knowledge base to go on from. The whole is timed with the winners of all segments, whether tune-graph takes them or not.
# Models are looked for as bench/find.sh says.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
. bench/find.sh
make -s all || exit
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
HONE_BLOBS=$work/blobs
export HONE_BLOBS
kb=${SEGMENTS_KB:-$work/kb}
[ $# -gt 0 ] || set -- squeezenet1_1 mobilenet_v3_small mobilenet_v2

compile() { ge-join -q "$1.g" | ge-schedule -q | ge-plan -q | ge-emit -q -o "$1"; }
against() { # BASE OTHER: "0.987 (0.980 to 0.994)"
	run-dev --seconds "${SEGMENTS_TIMED:-10}" --cold-weights 16 --against "$work/$1.so" "$work/$2.so" | sed 's/^[a-z]*: \(.*)\).*/\1/'
}
# Records of segments that won: those with a mean, and the measurement by which each was chosen.
chosen() {
	kb dump --kb "$kb" | awk 'BEGIN { RS = ""; FS = "\n" } {
			split("", field)
			for (i = 1; i <= NF; i++) { n = index($i, " "); field[substr($i, 1, n - 1)] = substr($i, n + 1) }
			if (field["kind"] != "graph" || field["verdict"] != "faster") next
			key = field["task"] "|" field["plan"]
			if (field["mean"]) { mean[key] = field["mean"]; how[key] = field["how"] } else ratio[key] = field["ratio"]
		}
		END { for (key in mean) printf "    chosen at %s, re-timed %.3f: %s\n", key in ratio ? sprintf("%.3f", ratio[key]) : "unknown", mean[key], how[key] }' | sort
}

for name; do
	[ -n "$(model_path "$name")" ] || { echo "$name: not in ${HONE_MODELS:-build/models} (HONE_MODELS)"; continue; }
	hone passes -q $(model_options "$name") --until integer "$(model_path "$name")" -o "$work/m.g" || exit
	tune-graph --seconds "${SEGMENTS_SECONDS:-600}" --kb "$kb" "$work/m.g" -o "$work/taken.g" 2>"$work/said" || { cat "$work/said"; exit 1; }
	kb dump --kb "$kb" | awk 'BEGIN { RS = ""; ORS = "\n\n" } !/\ntask model /' >"$work/segments"
	rm -f "$work/parts" && kb put -q --kb "$work/parts" <"$work/segments" >/dev/null
	tune-graph -q --trials 0 --kb "$work/parts" "$work/m.g" -o "$work/other.g" && ge-fuse "$work/m.g" | ge-layout -o "$work/usual.g" || exit
	compile "$work/usual" && compile "$work/other" || exit
	for suffix in so weights; do cp "$work/usual.$suffix" "$work/copy.$suffix"; done
	echo "$name: $(grep -o '[0-9]* of [0-9]* segments have other groups' "$work/said")"
	echo "    other to usual $(against usual other); usual to other $(against other usual); usual to itself $(against usual copy)"
done
# How far two fields are from the median time of each segment that was timed: what the cost model says, and what was expected on this machine, by
# how long the usual groups took or, before those were timed, by other segments.
off() {
	kb dump --kb "$kb" | awk 'BEGIN { RS = ""; FS = "\n" } {
			split("", field)
			for (i = 1; i <= NF; i++) { n = index($i, " "); field[substr($i, 1, n - 1)] = substr($i, n + 1) }
			if (field["kind"] != "graph" || !field["expected"] || !field["samples"]) next
			n = split(field["samples"], pair, " ")
			for (i = 1; i <= n; i++) { split(pair[i], of, "/"); x = of[1]; for (j = i - 1; j > 0 && t[j] > x; j--) t[j + 1] = t[j]; t[j + 1] = x }
			print "predicted", field["predicted"] / (1e-12 * t[int((n + 1) / 2)])
			print "expected" (field["expected-by"] == "usual" ? ", the usual groups timed," : ", by other segments,"), field["expected"] / (1e-12 * t[int((n + 1) / 2)])
		}' | sort -k1,1 -k2,2 -k3,3 | awk '
		function error(x) { return x > 1 ? x - 1 : 1 - x }
		{ x = $NF; sub(/ [^ ]*$/, ""); n[$0]++; value[$0, n[$0]] = x }
		END { for (name in n) {
			for (k = 0; k < 2; k++) {
				for (i = 1; i <= n[name]; i++) { x = k ? error(value[name, i]) : value[name, i]; for (j = i - 1; j > 0 && t[j] > x; j--) t[j + 1] = t[j]; t[j + 1] = x }
				middle[k] = t[int((n[name] + 1) / 2)]
			}
			printf "%s to timed: median %.2f, median off by %.0f%%, of %d\n", name, middle[0], 100 * middle[1], n[name] } }' | sort
}
chosen
off
