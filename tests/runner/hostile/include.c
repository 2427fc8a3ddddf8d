/* build error: No such file or directory (landlock) */
/* The first line of a file in words of the compiler. */
#include "/etc/passwd"
