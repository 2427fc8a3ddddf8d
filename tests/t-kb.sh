# The knowledge base: records in and out, layers, what wins, bad input, damage of many kinds.
ok() { if [ "$1" = "$2" ]; then echo "ok - $3"; else printf 'not ok - %s\n# got %s\n# not %s\n' "$3" "$1" "$2"; fi; }
rc() { "$@" >out 2>err; echo $?; }
XDG_DATA_HOME=$PWD/data
export XDG_DATA_HOME
unset HONE_KB

# records SEED N: text of N records that differ
records() {
	awk -v seed="$1" -v n="$2" 'BEGIN {
		srand(seed)
		split("faster slower tie wrong crash", verdict, " ")
		for (i = 1; i <= n; i++) {
			r = rand() + 0.5
			printf "record\nkind kernel\ntask MatMul f32 %dx64 64x64c\ntarget cpu %d\n", int(rand() * 9) + 1, int(rand() * 3)
			printf "trace a%d\n\tb %d\n\t\n\tlast\nverdict %s\nagainst default\nratio %.4f\nlo %.4f\nhi %.4f\n", seed, i, verdict[int(rand() * 5) + 1], r, r - 0.01, r + 0.01
			printf "samples"
			for (j = 0; j < 60; j++) printf " %d/%d", rand() * 1e6, rand() * 1e6
			printf "\nby seed %d\n\n", seed
		}
	}'
}

records 1 50 >a.txt
ok "$(rc kb put <a.txt) $(cat err)" "0 kb: 50 records, 50 of them new" "put, where there was nothing"
ok "$(rc kb put <a.txt) $(cat err)" "0 kb: 50 records, 0 of them new" "records that are there are left out"
kb dump >a.dump
ok "$(sed -n 's/^record //p' a.dump | LC_ALL=C sort -c && grep -c '^record' a.dump)" 50 "dump is sorted"
ok "$(rc kb --kb b.kb load a.dump) $(kb --kb b.kb dump | cmp - a.dump && echo same)" "0 same" "load is its inverse"
ok "$(kb --kb b.kb fsck 2>&1)" "kb: b.kb is sound" "fsck"
ok "$(kb --kb b.kb stat --json | head -1 | sed 's/.*"records": \([0-9]*\), "tasks": \([0-9]*\).*/\1 \2/')" "50 9" "stat"
ok "$(kb --kb b.kb ls --target 'cpu 1' | awk 'NR > 1 { n += $2 } END { print NR, n }')" "10 50" "ls: a record in two layers is one"
