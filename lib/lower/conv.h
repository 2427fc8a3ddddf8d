/* What the algorithms of convolutions share. */
#ifndef HONE_LOWER_CONV_H
#define HONE_LOWER_CONV_H
#include "lower/windows.h"

/* The input as the taps see it: with padding a copy of that size, and the offset of tap 0 in it. */
struct padded {
	buf_id buf;
	int64_t offset[SPATIAL_MAX]; /* tap k of output i reads at i*stride + k*dilation - offset */
};

/* Data movement, but for codes that become another type t. All of the box that is read is there, so the convolution itself has no
 * borders. per: channels of a group in the copy, those beyond the input's are 0. */
struct padded conv_input(struct lower *L, const struct window *w, enum dtype t, int64_t per);
#endif
