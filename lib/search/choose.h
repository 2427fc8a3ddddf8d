/* Schedules that are chosen by a learned cost model, and timed by nobody. */
#ifndef HONE_CHOOSE_H
#define HONE_CHOOSE_H
#include "cost/trees.h"
#include "search/search.h"

enum { SCHEDULES_LOOKED_AT = 64 }; /* of a task, unless asked otherwise */

struct chosen {
	const char *trace; /* stamped, of arena a; NULL: the default schedule stays */
	const char *from;  /* how the best that was found differs from the default: "default: rows=7"; NULL: the group has no kernel */
	double seconds;    /* that the group is predicted to take, by its trace; infinite: it has no kernel */
	struct gain gain;  /* of the best that was found, in units of cost/trees.h */
	size_t tried;      /* schedules that were looked at; 0: the model does not know such a task, or there is no kernel */
};
/* A schedule for Fused node n on the target that is faster than the default one, for sure (gain_is_sure) by the model. From the default, and the
 * default of each algorithm, it goes to the best schedule that is one decision away, as long as that is better than where it is, and ends
 * after `most` schedules. The same arguments, the same choice. */
struct chosen schedule_choose(struct module *m, node_id n, const struct target *t, const struct trees *model, size_t most, struct arena *a);
#endif
