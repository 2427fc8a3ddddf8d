/* Predicts the time of a point from those that were timed: see gaussian.c. Times are logarithms of shares of the default's. Private to
 * lib/search. */
#ifndef HONE_GAUSSIAN_H
#define HONE_GAUSSIAN_H
#include "search/search.h"

enum { GAUSSIAN_ROW = 192 };

struct gaussian_kin {
	const struct gaussian *of; /* a search of a task near this one; NULL: that has none */
	double weight;
};
struct gaussian *gaussian_new(void);
/* Learns from all that the search and its kin have been told. Always called with the same search. */
void gaussian_fit(struct gaussian *g, const struct search *s, const struct gaussian_kin *kin, size_t nkin);
void gaussian_free(struct gaussian *g);
double gaussian_mean(struct gaussian *g, const struct search *s, const struct point *p);
/* The standard deviation of that prediction. row: GAUSSIAN_ROW numbers, for gaussian_deviation_after. */
double gaussian_deviation(struct gaussian *g, const struct search *s, const struct point *p, double *row);
/* Counts the point as told, with the predicted time: means stay, and similar points become less uncertain. false: no room. */
bool gaussian_believe(struct gaussian *g, const struct search *s, const struct point *p);
/* The deviation again, after one more gaussian_believe. */
double gaussian_deviation_after(struct gaussian *g, const struct search *s, const struct point *p, double *row);
#endif
