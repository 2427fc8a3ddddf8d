/* How far apart two tensors are. */
#ifndef HONE_DIFFERENCE_H
#define HONE_DIFFERENCE_H
#include "graph/module.h"

struct difference {
	const char *why; /* they cannot be equal; NULL: look at the numbers */
	double error;    /* max|y-r| / max|r| */
	double scale;    /* max|r| */
	int64_t at;      /* element of the largest difference */
	double cosine;
};
/* y to the reference r. An infinity is equal to itself alone, a NaN to nothing, or with nan_equal to a NaN. */
struct difference difference_of(const struct tensor *y, const struct tensor *r, bool nan_equal);
#endif
