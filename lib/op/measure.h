/* The measures of a graph that is being rewritten (enum measure): they show that rewriting comes to an end. */
#ifndef HONE_MEASURE_H
#define HONE_MEASURE_H
#include "op/rewrite.h"

struct measures {
	uint64_t sum[MEASURES]; /* without MEASURE_MISPLACED */
	uint64_t *misplaced;    /* MEASURE_MISPLACED by height: the number of nodes that work between a node and the outputs */
	size_t heights;
};
struct measures measures_take(struct rewrite *rw);
/* Is a smaller than b in measure `what`, and no larger in any before it? Else *bad is the measure that fails. */
bool measures_reduced(const struct measures *a, const struct measures *b, enum measure what, enum measure *bad);
void measures_free(struct measures *m);
const char *measure_name(enum measure m); /* "work" */
#endif
