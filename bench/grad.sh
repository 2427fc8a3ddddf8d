#!/bin/sh
# Gradient plans, measured: models x delays x ratios of computation to communication x ranks, on a network of namespaces.
#
# bench/grad.sh [-m MODEL]... [-d US]... [-r RATIO]... [-n RANKS]... [-i ITERATIONS] [-o RESULTS.tsv]
#
# Each cell runs the plan of tune-grad, DDP's and HCCL's defaults and every other baseline that the curve predicts within 1.15 of the
# best baseline (predictions are off by 5% at most, so none beyond is the best), in turns, ITERATIONS of each at least; all
# medians. The network sends one byte of SHRINK (20) at RATE (400) Mbit/s, as one SHRINK times as fast would send all: 8 Gbit/s. Its curve is measured up to MAX (20M) bytes. RESULTS.tsv has a
# line a cell and plan; what is there already is not measured again, so another network wants another file. Needs root.
cd "$(dirname "$0")/.." || exit 1
models= delays= ratios= ranks= iterations=5 results=build/bench/grad.tsv
shrink=${SHRINK:-20} rate=${RATE:-400}
while getopts m:d:r:n:i:o: o; do
	case $o in
	m) models="$models $OPTARG" ;; d) delays="$delays $OPTARG" ;; r) ratios="$ratios $OPTARG" ;;
	n) ranks="$ranks $OPTARG" ;; i) iterations=$OPTARG ;; o) results=$OPTARG ;;
	*) sed -n '4s/# /usage: /p' "$0" >&2; exit 64 ;;
	esac
done
: "${models:=resnet50 densenet121 mobilenet_v2 vit_b_16 mixture}" "${delays:=50 1000 10000}" "${ratios:=0.5 1 2}" "${ranks:=2 4}"
make -s all build/bench/grads build/tests/net/netlab || exit 1
PATH=$PWD/bin:$PWD/build/bench:$PATH
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
mkdir -p "$(dirname "$results")"
touch "$results"
export tmp results models ratios iterations shrink

# What runs beside one network: $1 us of delay, $2 ranks.
cat >"$tmp/cells" <<'END'
curve=$tmp/curve.$1.$2
tune-grad calibrate --hosts "$tmp/hosts" --max "${MAX:-20M}" -o "$tmp/here" || exit
awk -F'\t' -v OFS='\t' -v s="$shrink" '/^#/ { next } { print $1 * s, $2 }' "$tmp/here" >"$curve"
for model in $models; do
	for ratio in $ratios; do
		cell="$model	$1	$ratio	$2"
		grep -qF "$cell	" "$results" && continue
		# The time of all bytes in one segment, and a backward pass that many times as long.
		grads "$model" 1 >"$tmp/g" || exit
		all=$(tune-grad compare "$tmp/g" -c "$curve" | awk '$1 == "single" { print $5 }')
		grads "$model" 1 "$(awk -v a="$all" -v r="$ratio" 'BEGIN { print a * r }')" >"$tmp/g" || exit
		tune-grad compare "$tmp/g" -c "$curve" >"$tmp/predicted" || exit
		plans=$(awk 'NR > 2 && NF > 5 { end[$1] = $3; if (!least || $3 < least) least = $3 }
			END { for (p in end) if (end[p] < 1.15 * least || p == "ddp" || p == "hccl") print p }' "$tmp/predicted" | sort)
		bound=$(awk '/^lower bound/ { print $4 }' "$tmp/predicted") backward=$(tail -1 "$tmp/g" | cut -f3)
		# Short ones more often: a second of each plan, 40 iterations at most.
		i=$(awk -v i="$iterations" 'NR == 2 { n = 1e6 / $3; n = n > 40 ? 40 : n; print int(n > i ? n : i) }' "$tmp/predicted")
		tune-grad run "$tmp/g" best $plans --hosts "$tmp/hosts" -c "$curve" --shrink "$shrink" -i "$i" -o "$tmp/measured" || exit
		awk -v OFS='\t' -v cell="$cell" -v bound="$bound" -v back="$backward" 'NR > 1 { print cell, $1, $2, $3, $4, bound, back }' "$tmp/measured" >>"$results"
		awk -v cell="$cell" 'NR == 2 { us = $4; q = $4 / $3 } NR > 2 && (!low || $4 < low) { low = $4; name = $1 }
			END { printf "%s: %.1f ms, %.3f of predicted, %.3f of %s\n", cell, us / 1e3, q, us / low, name }' "$tmp/measured"
	done
done
END
for n in $ranks; do
	for d in $delays; do
		build/tests/net/netlab -f -n "$n" -d "$d" -r "$rate" -o "$tmp/hosts" sh "$tmp/cells" "$d" "$n" || exit
	done
done

# model delay ratio ranks plan segments predicted measured bound backward
sort -t'	' -k1,4 -s "$results" | awk -F'\t' '
function abs(x) { return x < 0 ? -x : x }
function close_cell() {
	if (!ours) return
	n++
	off[n] = abs(ours / said - 1)
	if (ours / base > worst) { worst = ours / base; where = last }
	over += ours > 1.01 * base
	if (base_tail_said > 0 && said - back <= 0.8 * base_tail_said) {
		far++
		t = (ours - back) / base_tail
		if (t > worst_tail) { worst_tail = t; where_tail = last }
	}
	excess += log(ours / bound)
	to_ddp += log(ddp / ours); to_hccl += log(hccl / ours)
}
{
	cell = $1 " " $2 " us ratio " $3 " ranks " $4
	if (cell != last) { close_cell(); last = cell; ours = base = base_tail = base_tail_said = 0 }
	if ($5 == "best") { ours = $8; said = $7; bound = $9; back = $10 }
	else {
		if (!base || $8 < base) { base = $8; base_tail = $8 - $10 }
		if (!base_tail_said || $7 - $10 < base_tail_said) base_tail_said = $7 - $10
		if ($5 == "ddp") ddp = $8
		if ($5 == "hccl") hccl = $8
	}
}
END {
	close_cell()
	for (i = 1; i <= n; i++) for (j = i; j > 1 && off[j] < off[j - 1]; j--) { t = off[j]; off[j] = off[j - 1]; off[j - 1] = t }
	printf "%d cells\n", n
	printf "measured against predicted: median off by %.2f%%, worst %.2f%%\n", 100 * off[int((n + 1) / 2)], 100 * off[n]
	printf "iteration against the best baseline: worst %.3f (%s); above 1.01 in %d\n", worst, where, over
	printf "predicted tail at most 0.8 of the best baseline in %d; measured tail there at most %.3f (%s)\n", far, worst_tail, where_tail
	printf "geometric means: %.3f of the lower bound; DDP takes %.3f, HCCL %.3f of the time\n", exp(excess / n), exp(to_ddp / n), exp(to_hccl / n)
}'
