/* One kernel as a C file of its own: what is compiled, checked and timed when a schedule is tried. */
#ifndef HONE_CANDIDATE_H
#define HONE_CANDIDATE_H
#include "graph/module.h"
#include "loop/loop.h"

/* The file exports one function,
 *   void hone_kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace);
 * buffers are 64-aligned and in the layouts below, workspace too. */
struct candidate_buf {
	enum dtype dtype;
	int rank;
	int64_t shape[LOOP_RANK_MAX]; /* in, out: of the value; constants: as the program has it (equally many elements) */
	const char *layout;           /* "": row-major; else as layout_parse reads it */
	int64_t elems;                /* of storage: padded by the layout */
	val_id value; /* in, out: of the group's graph; constants: of the module, maybe made by lowering (without contents) */
};
struct candidate {
	struct arena arena;
	const char *trace;    /* that was applied, stamped, decisions as they were taken; the default one, if none was given */
	struct digest stages; /* digest of the stage text the trace was made for */
	const char *algo;     /* whose stages: constants are numbered as lower_group numbers them for it */
	const char *source;
	size_t nsource;
	int64_t workspace; /* bytes */
	int nin, nconst, nout;
	struct candidate_buf *in, *constant, *out;
};
/* Lowers Fused node n, applies the trace (NULL: the default schedule), legalizes, verifies, writes C. NULL and *why (arena
 * of m). adapt: as loop_apply. */
struct candidate *candidate_new(struct module *m, node_id n, const struct target *t, const char *trace, bool adapt, const char **why);
/* The default trace for the node, stamped, in the arena: its digest tells defaults apart (records have it as base). NULL and
 * *why (arena of m): it has no lowering. */
const char *default_trace(struct module *m, node_id n, const struct target *t, struct arena *a, const char **why);
void candidate_free(struct candidate *c);
/* Row-major logical data into storage of that layout (elems elements, padding zero), and back. */
void candidate_pack(const struct candidate_buf *b, const void *src, void *dst);
void candidate_unpack(const struct candidate_buf *b, const void *src, void *dst);
#endif
