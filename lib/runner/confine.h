/* Compilers of sources that nobody vouches for: a source may name files (#include, .incbin), and what is in them would be in the
 * library, or in the compiler's words. They may open what a toolchain is made of, and one directory; nothing else of this
 * machine (landlock(7)). */
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
