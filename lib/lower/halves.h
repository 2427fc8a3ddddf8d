/* Products of f16 in f16, where the target multiplies and adds so and was measured to gain by it: each element of the result is a sum in
 * f32 of sums in f16, which are short, so that little is rounded away. */
#ifndef HONE_LOWER_HALVES_H
#define HONE_LOWER_HALVES_H
#include "lower/lowering.h"

#define ALGO_HALVES "halves"

/* Products of a short sum: the most bounds the error of adding in f16; with fewer than the least, adding in f32 takes too much of the
 * time. */
enum { HALVES_MOST = 32, HALVES_LEAST = 8 };
/* The longest short sums that make up so many products, more than one of them (whole: or one); 0: there are none. */
int64_t halves_short(int64_t products, bool whole);

/* Does the product of so many elements for each element of the result fit? Operand 1 is a constant matrix. */
bool halves_fit(struct lower *L, int64_t products);
/* The same of a convolution by points, whose rows are whole vectors of halves. */
bool halves_fit_points(struct lower *L, int64_t products);
/* Any convolution of constant weights, with vectors along the channels of the result. *speed: how many times as fast as one in f32, with
 * what is computed to fill vectors, tiles and short sums. */
bool halves_fit_conv(struct lower *L, double *speed);
void halves_conv(struct lower *L);
/* How many times as fast as those of f32 they are. */
double halves_speed(struct lower *L);
/* The stage of the sums, of the shape of result 0: factor makes operand i's element of the result's element and step k. */
stage_id halves_sums(struct lower *L, const char *name, int64_t products,
		     ex_id (*factor)(struct lower *L, uint32_t i, const poly *index, poly k, const void *arg), const void *arg);
#endif
