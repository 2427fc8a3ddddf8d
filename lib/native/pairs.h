/* Two operands whose elements meet by broadcasting: a walk over the elements of the result. */
#ifndef HONE_NATIVE_PAIRS_H
#define HONE_NATIVE_PAIRS_H
#include "native/native.h"

struct pairs {
	int rank;
	int64_t dims[NATIVE_RANK_MAX]; /* of the result */
	int64_t step[2][NATIVE_RANK_MAX], at[NATIVE_RANK_MAX];
	int64_t from[2]; /* the elements of the operands that meet here */
};

/* Begins at the first element. NULL, or why operands 0 and 1 do not broadcast. */
static const char *pairs_begin(struct native *n, struct pairs *p)
{
	const struct native_tensor *x = n->in;
	int64_t size[2] = {1, 1};

	*p = (struct pairs){.rank = x[0].rank > x[1].rank ? x[0].rank : x[1].rank};
	for (int i = p->rank - 1; i >= 0; i--) {
		int64_t d[2];
		for (int k = 0; k < 2; k++) {
			int at = i - (p->rank - x[k].rank);
			d[k] = at < 0 ? 1 : x[k].dims[at];
			p->step[k][i] = d[k] == 1 ? 0 : size[k];
			size[k] *= d[k];
		}
		if (d[0] != 1 && d[1] != 1 && d[0] != d[1])
			return native_why(n, "extents %lld and %lld do not broadcast", (long long)d[0], (long long)d[1]);
		p->dims[i] = d[0] == 1 ? d[1] : d[0];
	}
	return NULL;
}

/* Goes to the next element; after the last one to the first. */
static void pairs_next(struct pairs *p)
{
	for (int k = p->rank - 1; k >= 0; k--) {
		bool more = ++p->at[k] < p->dims[k];
		for (int j = 0; j < 2; j++)
			p->from[j] += more ? p->step[j][k] : -p->step[j][k] * (p->dims[k] - 1);
		if (more)
			return;
		p->at[k] = 0;
	}
}
#endif
