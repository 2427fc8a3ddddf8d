#!/bin/sh
# lanes.sh [MODEL...]: with two threads, kernels that divide their loops (--lanes 1) against branches side by side wherever there are some
# (--lanes 2), and what ge-plan takes by itself; milliseconds, the least and the median of the runs of five turns. towers is two LSTMs of
# one input. Models are looked for as bench/find.sh says. Both CPUs must be free.
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
PATH=$top/bin:$PATH
. bench/find.sh
make -s all || exit
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
HONE_BLOBS=$work/blobs
export HONE_BLOBS
[ $# -gt 0 ] || set -- googlenet squeezenet1_1 shufflenet_v2_x1_0 towers

towers() { # what two LSTMs make of one input, joined
	echo 'hone-text 1'
	echo 'module ir=8 opset=28'
	echo 'graph main {'
	echo '  input x: f32[100,1,64]'
	for i in 0 1; do echo "  input w$i: f32[1,512,64]"; echo "  input r$i: f32[1,512,128]"; echo "  input b$i: f32[1,1024]"; done
	for i in 0 1; do echo "  y$i, h$i = LSTM(x, w$i, r$i, b$i) {hidden_size=128}"; echo "  t$i = Tanh(h$i)"; done
	echo '  z = Concat(t0, t1) {axis=2}'
	echo '  output z = z'
	echo '}'
}

graph() { # NAME
	case $1 in
	towers) towers | ge-load -o "$work/towers.0.g" && hone passes -q --until layout "$work/towers.0.g" ;;
	*) hone passes -q $(model_options "$1") --until layout "$(model_path "$1")" ;;
	esac
}

printf '%-22s %10s %10s %10s   %s\n' model divided lanes default "median of each; steps side by side, arena bytes of each"
for name; do
	[ "$name" = towers ] || [ -n "$(model_path "$name")" ] || { echo "$name: not in ${HONE_MODELS:-build/models} (HONE_MODELS)"; continue; }
	graph "$name" >"$work/$name.g" || exit
	for way in divided lanes default; do
		case $way in divided) lanes=--lanes=1 ;; lanes) lanes=--lanes=2 ;; default) lanes= ;; esac
		ge-plan --threads 2 $lanes -o "$work/plan.g" "$work/$name.g" 2>"$work/$way.said" && ge-emit -q -o "$work/$way" "$work/plan.g" || exit
		: >"$work/$way.times"
	done
	for turn in 1 2 3 4 5; do
		for way in divided lanes default; do
			run-dev --bench --json --seconds 0.6 "$work/$way.so" >>"$work/$way.times"
		done
	done
	for way in divided lanes default; do
		sed 's/.*"min":\([0-9.e-]*\),"median":\([0-9.e-]*\).*/\1 \2/' "$work/$way.times" | sort -g | awk -v way=$way '
			NR == 1 { least = $1 } { median[NR] = $2 } END { n = asort_(median, NR); print way, 1e3 * least, 1e3 * median[int((n + 1) / 2)] }
			function asort_(a, n,  i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t } return n }'
		sed -n 's/.* \([0-9]*\) steps run side by side.*/steps \1/p; s/.*; memory \([0-9]*\) bytes.*/arena \1/p' "$work/$way.said"
	done | awk -v name="$name" '
		NF == 3 { least[$1] = $2; median[$1] = $3; way = $1 } /^steps/ { steps[way] = $2 } /^arena/ { arena[way] = $2 }
		END { printf "%-22s %10.3f %10.3f %10.3f   %.3f %.3f %.3f; %d %d %d, %d %d %d\n", name, least["divided"], least["lanes"], least["default"],
			median["divided"], median["lanes"], median["default"], steps["divided"], steps["lanes"], steps["default"],
			arena["divided"], arena["lanes"], arena["default"] }'
done
