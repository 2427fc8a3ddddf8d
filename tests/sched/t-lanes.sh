# Vectors of every type, by clang.
. "$top/tests/lib.sh"
command -v clang >/dev/null || skip_all "vectors by clang" "no clang"
unset HONE_TARGET
CC=clang "$top/build/check/lanes"
