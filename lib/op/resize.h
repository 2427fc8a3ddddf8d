/* Resize, axis by axis: a result is a weighted sum of a few elements. The evaluator and the lowering compute the same. */
#ifndef HONE_RESIZE_H
#define HONE_RESIZE_H
#include "common/arena.h"
#include "graph/module.h"

struct resize_axis {
	int64_t in, out;
	int taps;       /* elements that a result is made of; 0: the axis does not change */
	int64_t *index; /* [out][taps]: which elements of the operand */
	double *weight; /* [out][taps] */
	bool *outside;  /* [out]: is it the extrapolation value? NULL: none is */
};

/* Resize (or Upsample) node n for an operand of those dims: every axis of it, arrays in the arena. roi, scales, sizes: with their
 * data; NULL: not there. NULL, or why not. */
const char *resize_map(const struct node *n, int rank, const int64_t *dims, const struct tensor *roi, const struct tensor *scales,
		       const struct tensor *sizes, struct arena *arena, struct resize_axis *to);
#endif
