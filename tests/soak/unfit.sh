# Every operator with everything that does not fit it.
"$top/build/tests/unfit" 1
