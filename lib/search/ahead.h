/* Schedules of many tasks, chosen side by side: each process chooses for some of them, ahead of the one that asks. */
#ifndef HONE_AHEAD_H
#define HONE_AHEAD_H
#include "search/choose.h"

struct ahead;
/* For each of the n tasks, of which node[i] is a node, as schedule_choose does it; by so many processes. The module, the target, the model and
 * the nodes stay as they are until the last answer. */
struct ahead *ahead_start(struct module *m, const node_id *node, size_t n, const struct target *t, const struct trees *model, size_t most,
			  size_t processes);
/* The choice for the next task, in the order of the nodes. A task that a process failed at is done here. */
struct chosen ahead_next(struct ahead *h, struct arena *a);
/* Ends the processes, whether all answers were taken or not. */
void ahead_stop(struct ahead *h);
#endif
