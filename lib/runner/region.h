/* Memory of a kernel's buffers. Each buffer has pages of its own between guard pages, so that it ends right before one (but for alignment) or
 * begins right after one; the rest of its pages is filled with a pattern. The subject's process and its parent share the pages; operands
 * are read-only for the subject. Files are mapped in the same way, read-only, in the subject's process only.
 *
 * For timing, a kernel finds its memory as in a compiled model: operands, results and workspace in one arena, in large pages if the system
 * has them. That memory belongs to the subject's process alone, as shared memory seldom has large pages; it copies in what the parent
 * wrote, and back. Ratios vary less between processes than in small pages, which lie elsewhere in each (doc/runner.md). There are no
 * guards in it: the kernel was called between guards before it is timed. */
#ifndef HONE_REGION_H
#define HONE_REGION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/vec.h"

enum place { PLACE_END, PLACE_START, PLACE_TIMED, PLACE_COUNT };   /* timed: starts spread over the sets of a cache */
enum region_kind { REGION_RESULT, REGION_INPUT, REGION_CONSTANT }; /* results, and workspace: what it may write */

struct region {
	uint64_t bytes, mapped; /* of the buffer; of its pages */
	uint64_t at;            /* in its file */
	bool operand;           /* for reading only */
	bool moves;             /* timed elsewhere: not constants, nor files */
	char *timed;            /* its address there, in the process under test; NULL: it does not move */
	int file;               /* -1: one of ours; else a whole file that was there */
	char *ours, *theirs;    /* addresses in the parent, and in the process under test */
};
struct regions {
	VEC(struct region) r;
	int fd[2]; /* what it may write; operands */
	uint64_t size[2];
	char *ours[2]; /* all of a file */
	char *reserve; /* address space for all, guards in between */
	uint64_t reserved;
	char *arena;         /* what moves: address space; memory in the process under test */
	uint64_t arena_size; /* whole large pages */
	char *arena_reserve; /* and what aligns and guards it */
};
/* Adds one; its number. */
int regions_add(struct regions *g, uint64_t bytes, enum region_kind kind);
int regions_add_file(struct regions *g, int fd, uint64_t bytes);
/* All are added: files and address space. Before the fork. */
const char *regions_open(struct regions *g);
/* In the process under test, and in its parent (afterwards). random: which large pages it gets. */
const char *regions_map_theirs(struct regions *g, uint64_t random);
const char *regions_map_ours(struct regions *g);
/* In the process under test: what its parent has written, operands or the others, goes to where it is timed; what was written
 * there goes to its parent. */
void regions_to_timed(const struct regions *g, bool operands);
void regions_from_timed(const struct regions *g);
void regions_close(struct regions *g);

uint64_t region_offset(const struct regions *g, int i, enum place p);
static inline void *region_ours(const struct regions *g, int i, enum place p) { return g->r.a[i].ours + region_offset(g, i, p); }
static inline void *region_theirs(const struct regions *g, int i, enum place p)
{
	const struct region *r = &g->r.a[i];
	return (p == PLACE_TIMED && r->timed ? r->timed : r->theirs) + region_offset(g, i, p);
}
/* Fills what is around the buffer with the pattern; is it still there? Else *where, in bytes from the buffer's
 * start (negative, or from bytes on). */
void region_paint(const struct regions *g, int i, enum place p);
bool region_intact(const struct regions *g, int i, enum place p, int64_t *where);
#endif
