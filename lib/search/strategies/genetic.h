/* Breeding, for a strategy that has come to its own end. */
#ifndef HONE_GENETIC_H
#define HONE_GENETIC_H
#include "search/strategy.h"

struct genetic {
	size_t next_origin; /* the first whose usual point has not been proposed */
	struct points pool; /* drawn, but not proposed */
};
struct genetic genetic_new(void);
/* First the default of every origin; then neighbours of the best point (all of them, if a cost model ranks them), which at the start is the
 * default, and offspring of good ones. Points that the cost model ranks low stay in the pool. If another strategy proposes a point
 * of the pool, it must remove it (points_remove). */
size_t genetic_propose(struct search *s, struct genetic *g, size_t n, struct point **out);
void genetic_free(struct genetic *g);
#endif
