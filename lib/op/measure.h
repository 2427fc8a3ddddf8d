/* The measures of a graph that is being rewritten (enum measure): what shows that its rules come to an end. */
#ifndef HONE_MEASURE_H
#define HONE_MEASURE_H
#include "op/rewrite.h"

struct measures {
	uint64_t sum[MEASURES]; /* but for MEASURE_MISPLACED */
	uint64_t *misplaced;    /* by height: nodes that work between a node and the outputs */
	size_t heights;
};
struct measures measures_take(struct rewrite *rw);
/* a is smaller than b in what rule says it reduces, and larger in nothing before it; else the measure that is not. */
bool measures_reduced(const struct measures *a, const struct measures *b, enum measure what, enum measure *bad);
void measures_free(struct measures *m);
const char *measure_name(enum measure m); /* "work" */
#endif
