/* Seconds that a group is predicted to take: the one place that says so before anything is timed. Of one run by one thread, operands in the
 * caches where they fit. */
#ifndef HONE_PREDICT_H
#define HONE_PREDICT_H
#include "graph/module.h"
#include "loop/loop.h"
#include "loop/sampling.h"
#include "lower/lower.h"
#include "model/lanes.h"

/* A group lowered (in strips: an image of it) and scheduled. The strings lie in the program's arena. */
struct scheduled {
	struct lowered low;   /* its program; prog NULL: the group has no kernel */
	struct digest stages; /* of the program before it was scheduled */
	const char *trace;    /* that does the same, not stamped */
	double seconds;       /* of the whole group */
};
/* By the default schedule of algorithm algo (NULL: of the usual one), for one thread. want, got: as schedule_with takes them; may be NULL.
 * The program is not legalized. */
struct scheduled group_schedule(struct module *m, node_id fused, const struct target *t, const char *algo, const struct samples *want,
				struct samples *got);
/* What the graph says (fused_seconds); else by the trace that the group has; else by the default schedule. Infinite: it has no kernel. */
double group_seconds(struct module *m, node_id fused, const struct target *t);
/* Seconds by so many threads and the default schedule; by one thread, or without a kernel of known sizes: group_seconds. */
double group_seconds_by(struct module *m, node_id fused, const struct target *t, int threads);
/* Of the steps of a sketch for several threads, in memory of its module: what the graph says, else by the schedule that the kernel has. */
struct lane_seconds model_seconds(struct model *M);
/* Schedules a freshly started program by default. */
double program_seconds(struct loop_prog *p);
#endif
