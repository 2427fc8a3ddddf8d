#!/bin/sh
# plans.sh: predicted iterations of five models on networks of 50 us, 1 ms and 10 ms, 2 GB/s, with backward passes half as
# long as all gradients take at once, as long, and twice as long: against the best of the seven baselines, DDP's and
# HCCL's defaults, and the lower bound.
cd "$(dirname "$0")/.." || exit 1
PATH=$PWD/bin:$PATH
grads=$(mktemp)
trap 'rm -f "$grads"' EXIT INT TERM
beta=0.0005
for model in resnet50 densenet121 mobilenet_v2 vit_b_16 mixture; do
	bytes=$(build/bench/grads $model 1 | awk -F'\t' '!/^#/ { n += $2 } END { print n }')
	for alpha in 50 1000 10000; do
		for ratio in 0.5 1 2; do
			build/bench/grads $model 1 "$(awk -v r=$ratio -v a=$alpha -v b=$beta -v n="$bytes" 'BEGIN { print r * (a + b * n) }')" >"$grads"
			tune-grad compare "$grads" --alpha $alpha --beta $beta | awk -v model=$model -v alpha=$alpha -v ratio=$ratio '
				$1 == "tune-grad" { end = $3; tail = $2; n = $4 }
				$1 ~ /^(none|single|ddp|hccl|horovod|mg-wfbp|fixed)$/ && NF > 4 && (!best || $3 < best) { best = $3; btail = $2; name = $1 }
				$1 == "ddp" { ddp = $3 } $1 == "hccl" { hccl = $3 } $1 == "lower" { bound = $4 }
				END { print model, alpha, ratio, n, end, end / best, (btail > 0 ? tail / btail : 1), name, end / ddp, end / hccl, end / bound }'
		done
	done
done | awk 'BEGIN { printf "%-13s %6s %5s %4s %11s %8s %8s %-9s %6s %6s %7s\n", "model", "us", "ratio", "segs", "end us", "of best", "its tail", "best", "of ddp", "of hccl", "of bound" }
	{ printf "%-13s %6d %5g %4d %11.1f %8.4f %8.3f %-9s %6.3f %6.3f %7.4f\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
	  b += log($6); d += log($9); h += log($10); l += log($11); if ($6 > worst) worst = $6 }
	END { printf "geometric means: %.4f of the best baseline (at worst %.4f), %.3f of DDP, %.3f of HCCL, %.4f of the bound\n", exp(b / NR), worst, exp(d / NR), exp(h / NR), exp(l / NR) }'
