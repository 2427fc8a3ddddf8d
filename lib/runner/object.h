/* Is an untrusted shared object safe to load? The dynamic loader itself calls or writes, before isolate_seal: constructors, destructors,
 * resolvers of indirect functions, relocations outside the object, other libraries. A kernel's library has none of these. */
#ifndef HONE_OBJECT_H
#define HONE_OBJECT_H
#include <stdbool.h>
#include <stddef.h>
#include "common/arena.h"

/* NULL, or why not. The file is read as the loader reads it: by addresses, from the dynamic section. */
const char *object_check(const char *path, struct arena *a);
const char *object_check_bytes(const unsigned char *p, size_t n);
#endif
