# The knowledge base, whole: every bit of a file flipped, every length it can be cut to, 8 writers and 200 kills.
"$top/build/tests/kb" whole
