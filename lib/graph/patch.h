/* Patches between graph streams, as ge-diff --patch writes and ge-patch applies them. The format is in ge-stream(5), PATCHES. */
#ifndef HONE_PATCH_H
#define HONE_PATCH_H
#include <stdbool.h>
#include <stddef.h>

struct bytes {
	char *p;
	size_t n;
};

/* The patch that makes stream b of stream a. It has been applied once, so its result is known to be b. The caller frees p of what these
 * two return. Names are for messages; what is no stream: die(65). */
struct bytes patch_make(const struct bytes *a, const char *a_name, const struct bytes *b, const char *b_name);
/* Applies the patch to the base. No patch, a damaged one, or one of another base: die(65). */
struct bytes patch_apply(const struct bytes *patch, const char *name, const struct bytes *base, const char *base_name);
/* Does a patch begin with these n bytes? As far as there are any. */
bool patch_begins(const unsigned char *p, size_t n);
#endif
