/* The difference of two texts of bytes, as edits that make the second of the first. */
#ifndef HONE_DELTA_H
#define HONE_DELTA_H
#include <stddef.h>
#include <stdint.h>

/* Moves by `skip` from where the edit before it stopped in the first text (at its beginning), copies `keep` bytes from there, then adds
 * `nadd` bytes of its own. */
struct edit {
	int64_t skip;
	size_t keep, nadd;
	const char *add;
};
/* Calls put for each edit, in order. Linear in na + nb; the memory is a quarter of na. */
void delta_make(const char *a, size_t na, const char *b, size_t nb, void (*put)(const struct edit *e, void *arg), void *arg);
#endif
