/* How much memory there is to take. */
#ifndef HONE_MEMORY_H
#define HONE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>

/* The least of what is free of the machine, what the control groups of this process allow, and what its resource limits
 * allow; SIZE_MAX where none of them says anything. */
size_t memory_free(void);
/* A number of bytes, with K, M or G behind it if one likes; false: it is none. */
bool memory_size(const char *text, size_t *bytes);
/* The same for people: "1.5 GiB". Of the calling thread; good until the second call after. */
const char *memory_text(size_t bytes);
#endif
