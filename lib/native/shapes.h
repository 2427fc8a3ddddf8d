/* How many elements Range makes, from v[0] on, by steps v[2], which are not 0, up to v[1] without it. */
#ifndef HONE_NATIVE_SHAPES_H
#define HONE_NATIVE_SHAPES_H
#include <math.h>

#define SHAPES_RANGE_MAX 1e12 /* elements */

/* Of integers of 64 bits, signed or not. */
static inline double shapes_count(const __int128 *v)
{
	__int128 span = v[2] > 0 ? v[1] - v[0] : v[0] - v[1], step = v[2] > 0 ? v[2] : -v[2];

	return span <= 0 ? 0 : (double)((span + step - 1) / step);
}

/* Of numbers that need not be whole: it may be below 0, or NaN. */
static inline double shapes_real(const double *v) { return ceil((v[1] - v[0]) / v[2]); }
#endif
