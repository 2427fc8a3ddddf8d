# The fuzz targets, a hundred thousand mutants of each seed. MUTANTS: another number.
MUTANTS=${MUTANTS:-100000} . "$top/tests/tools/t-fuzz.sh"
