/* What to expect of a point that has not been timed, from those that have: see gaussian.c. Times are logarithms of shares of
 * the default's. Private to lib/search. */
#ifndef HONE_GAUSSIAN_H
#define HONE_GAUSSIAN_H
#include "search/search.h"

enum { GAUSSIAN_ROW = 192 };

/* Of what the search has been told by now. It belongs to the search. */
struct gaussian *gaussian_fit(struct search *s);
void gaussian_free(struct gaussian *g);
double gaussian_mean(const struct gaussian *g, const struct search *s, const struct point *p);
/* How far from that it may be: the standard deviation. row: GAUSSIAN_ROW numbers, for the next function. */
double gaussian_deviation(const struct gaussian *g, const struct search *s, const struct point *p, double *row);
/* From now on that point counts as told, as expected: a mean stays as it is, what is like the point is less uncertain. false:
 * no room. */
bool gaussian_believe(struct gaussian *g, const struct search *s, const struct point *p);
/* The deviation again, after one more gaussian_believe. */
double gaussian_deviation_after(const struct gaussian *g, const struct search *s, const struct point *p, double *row);
#endif
