/* Memory of a kernel's buffers. Each lies in pages of its own between pages that cannot be touched, so that it ends
 * right before one of them (but for alignment) or begins right behind one; the rest of its pages is filled with a pattern.
 * The process under test and its parent share the pages; those of operands it cannot write. Files that are there already are
 * mapped between such pages too, for reading, in the process under test only. */
#ifndef HONE_REGION_H
#define HONE_REGION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/vec.h"

enum place { PLACE_END, PLACE_START, PLACE_TIMED, PLACE_COUNT }; /* timed: starts spread over the sets of a cache */

struct region {
	uint64_t bytes, mapped; /* of the buffer; of its pages */
	uint64_t at;            /* in its file */
	bool operand;           /* for reading only */
	int file;               /* -1: one of ours; else a whole file that was there */
	char *ours, *theirs;    /* addresses in the parent, and in the process under test */
};
struct regions {
	VEC(struct region) r;
	int fd[2];           /* what it may write; operands */
	uint64_t size[2];
	char *ours[2];       /* all of a file */
	char *reserve;       /* address space for all, guards in between */
	uint64_t reserved;
};
/* Adds one; its number. */
int regions_add(struct regions *g, uint64_t bytes, bool operand);
int regions_add_file(struct regions *g, int fd, uint64_t bytes);
/* All are added: files and address space. Before the fork. */
const char *regions_open(struct regions *g);
/* In the process under test, and in its parent (afterwards). */
const char *regions_map_theirs(struct regions *g);
const char *regions_map_ours(struct regions *g);
void regions_close(struct regions *g);

uint64_t region_offset(const struct regions *g, int i, enum place p);
static inline void *region_ours(const struct regions *g, int i, enum place p)
{
	return g->r.a[i].ours + region_offset(g, i, p);
}
static inline void *region_theirs(const struct regions *g, int i, enum place p)
{
	return g->r.a[i].theirs + region_offset(g, i, p);
}
/* Fills what is around the buffer with the pattern; is it still there? Else *where, in bytes from the buffer's
 * start (negative, or from bytes on). */
void region_paint(const struct regions *g, int i, enum place p);
bool region_intact(const struct regions *g, int i, enum place p, int64_t *where);
#endif
