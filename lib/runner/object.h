/* Is it safe to load a shared object that nobody vouches for? What the dynamic loader calls or writes on its own account comes
 * before isolate_seal: constructors, destructors, resolvers of indirect functions, relocations of what is not the object's, other
 * libraries. A kernel's library has none of these. */
#ifndef HONE_OBJECT_H
#define HONE_OBJECT_H
#include <stdbool.h>
#include <stddef.h>
#include "common/arena.h"

/* NULL, or why not. The file is read as the loader reads it: by addresses, from the dynamic section. */
const char *object_check(const char *path, struct arena *a);
const char *object_check_bytes(const unsigned char *p, size_t n);
#endif
