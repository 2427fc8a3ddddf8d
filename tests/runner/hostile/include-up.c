/* build error: No such file or directory (landlock) */
/* By a way around. */
#include "../../../../../../../../etc/../etc/passwd"
