/* What the algorithms of convolutions share. */
#ifndef HONE_LOWER_CONV_H
#define HONE_LOWER_CONV_H
#include "lower/windows.h"

/* ---- the input (padded.c) ---- */

/* The input as the taps see it: with padding a copy of that size, and the offset of tap 0 in it. */
struct padded {
	buf_id buf;
	int64_t offset[SPATIAL_MAX]; /* tap k of output i reads at i*stride + k*dilation - offset */
};

/* Data movement, but for codes that become another type t. All of the box that is read is there, so the convolution itself has no
 * borders. per: channels of a group in the copy, those beyond the input's are 0; groups: in the copy, those beyond the input's are 0. */
struct padded conv_input(struct lower *L, const struct window *w, enum dtype t, int64_t per, int64_t groups);
/* Elements of the copy with padding. */
double conv_padded_elements(struct lower *L, const struct window *w);
/* Element `at` of the input as type t, with `per` channels a group; padding is what stands for 0. Codes are as lower/integer.h has them: of
 * u8, or of i16 or f32 less their zero point. Changes `at`. */
ex_id conv_element(struct lower *L, enum dtype t, int64_t per, poly *at);
/* Groups of the node at hand. */
int64_t conv_groups(struct lower *L);
/* True if the weights of a ConvInteger have no zero points: channels beyond those of x are multiplied by 0 alone. */
bool conv_no_zeros(struct lower *L);

/* ---- the sums (grouped.c) ---- */

/* Elements x of the input and f of the weights whose products are summed in element `index` of stage s, with a reduce axis for each; group:
 * which of the groups, of `per` input channels each. */
void conv_index(struct lower *L, const struct window *w, const struct padded *q, stage_id s, const poly *index, poly group, int64_t per,
		poly *x, poly *f);
/* The block of m groups that channel o of the result is of. */
poly conv_block(struct lower *L, poly o, int64_t m);
/* Combines with what reduce axes there are. */
void conv_body(struct lower *L, stage_id s, ex_id body);
/* Groups whose channels of the result together are whole vectors and whose channels of x are whole steps of `step`; 1: a group is so
 * alone, or no number of them is. rest: the last of them may be fewer. */
int64_t merged_groups(struct lower *L, int64_t step, bool rest);
/* Buffer of the weights of m groups at a time: blocks along a diagonal, 0 beside them. element makes its elements of the weights. */
buf_id merged_weights(struct lower *L, int64_t m, enum dtype t, ex_id (*element)(struct lower *L, enum dtype t, ex_id weight, poly o));
#endif
