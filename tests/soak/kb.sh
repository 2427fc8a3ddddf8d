# The knowledge base, whole: every bit that LMDB is led by and one of every byte else flipped (STRIDE=1: every bit, which takes
# hours), every length a file can be cut to, 8 writers and 200 kills.
. "$top/tests/lib.sh"
within "$top/build/check/kb" whole "${STRIDE:-0}"
done_testing
