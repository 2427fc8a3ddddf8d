/* All bytes, or an error: read and write may do a part, or be interrupted by a signal. */
#ifndef HONE_WHOLE_H
#define HONE_WHOLE_H
#include <stdbool.h>
#include <stddef.h>

/* n bytes at p go to fd. False: errno says why not all. */
bool write_whole(int fd, const void *p, size_t n);
/* n bytes of fd come to p. False: it ended before, or errno says why. */
bool read_whole(int fd, void *p, size_t n);
#endif
