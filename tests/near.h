/* What tests that compare numbers share: an infinity is equal to itself alone, NaN to NaN. */
#ifndef HONE_NEAR_H
#define HONE_NEAR_H
#include <math.h>

/* How far y is from r; infinitely, if one of them is no finite number and the other is not the same. */
static inline double off_by(double y, double r)
{
	if (y == r || (y != y && r != r))
		return 0;
	return isfinite(y) && isfinite(r) ? fabs(y - r) : INFINITY;
}

/* What r adds to the scale of all: nothing, if it is not finite. */
static inline double size_of(double r) { return isfinite(r) ? fabs(r) : 0; }
#endif
