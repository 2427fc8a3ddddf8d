# All shapes of t-large.sh.
LARGE_ALL=1
. "$top/tests/t-large.sh"
