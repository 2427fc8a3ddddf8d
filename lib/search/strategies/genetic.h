/* Breeding, for a strategy that has come to its own end. */
#ifndef HONE_GENETIC_H
#define HONE_GENETIC_H
#include "search/strategy.h"

struct genetic {
	size_t next_origin; /* the first whose usual point has not been proposed */
	struct points pool; /* drawn, but not proposed */
};
struct genetic genetic_new(void);
/* First the usual point of every origin; then what is one decision away from the best, which at the start is the default's
 * (all of it, where a cost model ranks them), and offspring of the good ones. What the cost model passed over stays in the
 * pool. A point of the pool that another strategy proposes must be taken out of it (points_remove). */
size_t genetic_propose(struct search *s, struct genetic *g, size_t n, struct point **out);
void genetic_free(struct genetic *g);
#endif
