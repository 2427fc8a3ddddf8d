/* Like xmalloc, for arrays of megabytes that are used as a whole: in huge pages if the system has them, which saves page faults. The
 * result may be given to free and realloc. */
#ifndef HONE_HUGE_H
#define HONE_HUGE_H
#include <stddef.h>
void *huge_alloc(size_t n);
#endif
