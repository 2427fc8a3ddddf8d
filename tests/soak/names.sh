# Hostile names, 300 of them (NAMES), in every place where a file or an option reaches a script, a command or a message; another SEED, others.
# They are tried by JOBS programs side by side (as many as there are CPUs).
. "$top/tests/lib.sh"
jobs=${JOBS:-$(nproc)} seed=${SEED:-$$}
for part in $(seq "$jobs"); do
	mkdir -p "$part" && (cd "$part" && "$top/build/check/names" "${NAMES:-300}" "$seed" $((part - 1)) "$jobs" >../said"$part") &
done
wait
for part in $(seq "$jobs"); do within cat said"$part" || ok 1 "seed $seed"; done
done_testing
