/* Cost models: what to expect of a schedule that has not been timed. */
#include <string.h>
#include "sched/analytic.h"
#include "search/search.h"

static double analytic(struct loop_prog *p, const void *arg) { return loop_cost(p); }

const struct cost_model cost_models[] = {
	{"analytic", "the target's ports, caches and latencies", analytic, NULL},
	{"none", "nothing is expected", NULL, NULL},
	{0},
};

const struct cost_model *cost_model_find(const char *name)
{
	for (const struct cost_model *c = cost_models; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
