# The knowledge base, whole: bits flipped (STRIDE=1: every one, which takes hours), every length a file can be cut to, 8
# writers and 200 kills.
"$top/build/tests/kb" whole "${STRIDE:-50}"
