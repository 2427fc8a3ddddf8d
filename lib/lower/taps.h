/* Convolution tap by tap: each tap of the window is a product of its own, of those places of the result that it reaches inside the
 * operand. Taps in the padding are then not computed, and there is no padded copy. As stages, for each tap that reaches anything:
 *
 *   turned   n h w c     the operand with its channels innermost, if they are not
 *   weights  c o         of the tap (made when the library is built)
 *   tap      n h w o     sum over c of operand * weights, for the box of results that the tap reaches
 *   conv     n o h w     sum over the taps of what each has there, and the bias */
#ifndef HONE_TAPS_H
#define HONE_TAPS_H
#include "lower/windows.h"

#define ALGO_TAPS "taps"

/* The algorithm fits the convolution at hand: f32, one group, constant weights, and some of the work is in the padding. */
bool taps_fit(struct lower *L, const struct window *w);
/* The share of products that read inside the operand, not its padding; taps_fit holds. */
double taps_share(struct lower *L, const struct window *w);
void taps_conv(struct lower *L, const struct window *w);
#endif
