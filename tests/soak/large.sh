# All shapes of t-large.sh.
LARGE_ALL=1
. "$top/tests/tools/t-large.sh"
