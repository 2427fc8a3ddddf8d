/* build error */
/* A file without an end. */
#include "/dev/zero"
