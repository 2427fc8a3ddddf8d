/* Inside the blob store: references into other files, one index file for each import of such a file. */
#ifndef HONE_REFS_H
#define HONE_REFS_H
#include "graph/blob.h"

enum { REF_NAME = 16 + 1 + 32 }; /* hash of the path, "-", digest of the index file's text */

bool refs_has(struct digest d, size_t n);
/* As blob_bytes. *why is set where a reference is there but does not hold. */
const void *refs_map(struct digest d, size_t n, const char **why);
/* Calls f for each index file: its name in the directory refs. */
void refs_each(void (*f)(const char *name, uint64_t bytes, int n, const struct digest *d, void *arg), void *arg);

/* blob.c: writes the pieces to a temporary in the store and renames it to store/name. */
void blob_write(const char *name, int n, const void *const *p, const size_t *len);
#endif
