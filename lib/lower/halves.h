/* Products of f16 in f16, where the target multiplies and adds so and was measured to gain by it: each element of the result is a sum in
 * f32 of sums in f16, which are short, so that little is rounded away. */
#ifndef HONE_LOWER_HALVES_H
#define HONE_LOWER_HALVES_H
#include "lower/lowering.h"

#define ALGO_HALVES "halves"

/* Does the product of so many elements for each element of the result fit? Operand 1 is a constant matrix. */
bool halves_fit(struct lower *L, int64_t products);
/* The same of a convolution by points, whose rows are whole vectors of halves. */
bool halves_fit_points(struct lower *L, int64_t products);
/* How many times as fast as those of f32 they are. */
double halves_speed(struct lower *L);
/* The stage of the sums, of the shape of result 0: factor makes operand i's element of the result's element and step k. */
stage_id halves_sums(struct lower *L, const char *name, int64_t products,
		     ex_id (*factor)(struct lower *L, uint32_t i, const poly *index, poly k, const void *arg), const void *arg);
#endif
