# Hostile names, 300 of them (NAMES), in every place where a file or an option reaches a script, a command or a message; another SEED, others.
. "$top/tests/lib.sh"
within "$top/build/check/names" "${NAMES:-300}" "${SEED:-$$}"
done_testing
