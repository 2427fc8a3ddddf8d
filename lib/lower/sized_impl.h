/* Inside of sized*.c only. */
#ifndef HONE_SIZED_IMPL_H
#define HONE_SIZED_IMPL_H
#include "lower/sized.h"

/* Are the results of q, for the values of its parameters, those of p, the program for these sizes? Of random operands; constants are q's,
 * or p's own. true also where that cannot be compared: q has other constants, or too much is to be computed. */
bool sized_agrees(struct module *m, const struct lowered *q, const struct lowered *p, bool own);
/* Puts into each of n sizes what branches in them are wherever all sizes of a result are 1 or more (sized_branch.c). */
void sized_settle(struct polys *P, int n, poly *e, int nresult, const dim *result);
/* Where the symbol occurs in n sizes in one branch alone, as min(symbol, a number), they are made sizes of the symbol in the branch's place.
 * Returns the branch; POLY_UNKNOWN: nothing was done. */
poly sized_stand(struct polys *P, int n, poly *const *e, poly_var symbol);
/* The least value of a symbol with which e can be 1 or more, as far as intervals tell. */
int64_t sized_least(struct polys *P, poly e, poly_var symbol);
/* Sizes of a symbol to try: any one and so many more, each `step` larger. size: of n values. */
struct sized_axis {
	int64_t step, count;
};
struct sized_axis sized_axis(struct polys *P, poly_var symbol, size_t n, const int *rank, dim *const *size);
#endif
