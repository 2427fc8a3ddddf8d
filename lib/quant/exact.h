/* Sums of 32-bit floats without rounding: the same in whatever order they are added. */
#ifndef HONE_QUANT_EXACT_H
#define HONE_QUANT_EXACT_H
#include <stdint.h>

enum { EXACT_LIMBS = 6, EXACT_UNIT = -149 };

struct exact {
	uint64_t limb[EXACT_LIMBS]; /* least first: a two's complement number in units of the least float */
};
void exact_add(struct exact *s, float v); /* v is finite */
/* Adds x[0], x[stride], ..., n of them; those that are not finite count as nothing. */
void exact_add_all(struct exact *s, const float *x, int64_t n, int64_t stride);
void exact_merge(struct exact *s, const struct exact *from);
double exact_value(const struct exact *s);
#endif
