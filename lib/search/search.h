/* Searching for schedules: rows of tables for space generators, strategies, cost models and task schedulers. */
#ifndef HONE_SEARCH_H
#define HONE_SEARCH_H
#include "common/rng.h"
#include "graph/module.h"
#include "loop/space.h"

/* One point of a space: a trace, and where it came from. */
struct point {
	const char *trace;   /* text, what identifies it */
	const char *from;    /* "rule", "template rows=7", "record 3f2a.. vectors=2" */
	double predicted;    /* by the cost model; lower is better */
	double measured;     /* ratio to the default; 0: not yet; infinite: wrong, crash, ... */
};
struct space;
/* A row each; see space.c, strategy.c, cost.c, schedule.c. */
struct space_row { const char *name, *summary; };
#endif
