/* Doubles in order. */
#ifndef HONE_SORTED_H
#define HONE_SORTED_H
#include <stddef.h>

/* For qsort of doubles, none of them NaN. */
static inline int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}
/* Of n > 0 that are sorted. */
static inline double sorted_median(const double *x, size_t n) { return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2; }
#endif
