/* Resize for the lowering, which computes what lib/native/resize.c does. */
#ifndef HONE_RESIZE_H
#define HONE_RESIZE_H
#include "graph/module.h"
#include "native/resize_map.h"

/* Resize (or Upsample) node n for an operand of those dims: every axis of it, arrays in the arena. roi, scales, sizes: with their
 * data; NULL: not there. NULL, or why not. */
const char *resize_node(struct module *m, const struct node *n, int rank, const int64_t *dims, const struct tensor *roi,
			const struct tensor *scales, const struct tensor *sizes, struct arena *arena, struct resize_axis *to);
#endif
