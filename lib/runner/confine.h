/* Confinement of compilers. A source is untrusted and may name files (#include, .incbin), whose contents would then be in the library or in
 * messages. Compilers may open the files of the toolchain and one directory, nothing else of this machine (landlock(7)). */
#ifndef HONE_CONFINE_H
#define HONE_CONFINE_H
#include <stdbool.h>

/* What may be opened: to read, the toolchain's own; to read and write, what lies in dir. A file; -1: the kernel has no such thing. */
int confine_open(const char *dir);
/* The caller and all that it starts, for good. False: it could not be done. -1: true, nothing. */
bool confine_enter(int rules);
/* In words: "landlock", or that there is nothing. */
const char *confine_kind(void);
#endif
