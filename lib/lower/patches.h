/* Convolutions whose windows do not overlap: each window is a row of a matrix, and the convolution is a product of matrices. */
#ifndef HONE_LOWER_PATCHES_H
#define HONE_LOWER_PATCHES_H
#include "lower/windows.h"

#define ALGO_PATCHES "patches"

/* True if no two windows of the node at hand have an element of its operand in common, and they are not simply its elements one by one.
 * All channels are in one group, and the weights are constant. */
bool patches_fit(struct lower *L, const struct window *w);
/* True if the direct sum, in steps of `step` channels, would copy the operand as well. */
bool patches_for_free(struct lower *L, const struct window *w, int64_t step);

/* How the rows and the weights are made. */
struct patch_parts {
	enum dtype x_type, w_type;
	int64_t step;                                                         /* a row's length is made a multiple of it, with 0 */
	ex_id (*weight)(struct lower *L, enum dtype t, ex_id weight, poly o); /* a weight of channel o of the result */
	ex_id (*product)(struct lower *L, ex_id a, ex_id b);
};

/* The stage of the sums. *weights: buffer of the weights as it takes them, channels of the result first. */
stage_id patches_sums(struct lower *L, const struct window *w, const struct patch_parts *of, buf_id *weights);
#endif
