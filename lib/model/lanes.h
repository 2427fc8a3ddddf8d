/* Lanes: branches of the main graph that run side by side, one a thread.
 *
 * Neighbouring Fused nodes with the attribute LANE are a region: [number of the region, lane]. The steps of a lane run in their order, on one
 * thread; those of other lanes at the same time. So a step of a region reads nothing that another lane of it makes, and what a region makes
 * or reads last is alive from its first step to its last. Only kernels that cannot fail may be in a lane. A model for one thread has none. */
#ifndef HONE_LANES_H
#define HONE_LANES_H
#include "model/model.h"

#define LANE "lane"
enum { LANES_MAX = 256 };

/* Are there nodes with the attribute? Takes it off all. */
bool lanes_there(struct module *m);
void lanes_drop(struct module *m);

/* Seconds that the steps of a model's main graph are predicted to take (search/predict.h). */
struct lane_seconds {
	double *alone, *divided; /* of step number k, by one thread; by all that divide its loops. 0: it is no kernel */
	double start;            /* to start the threads once */
	double moved_rate;       /* bytes a second that a thread reads of what others wrote */
	double least_saved;      /* share of a region's time by divided kernels that lanes must save */
};
/* M: a sketch for several threads, without lanes. Finds branches that part behind one step and meet before another, and puts them into
 * lanes where that is faster by those seconds: most 0: than kernels that each divide their loops among the threads, one
 * after another; else, in as many lanes at most, than kernels of one thread. Steps are moved so that those of a region are neighbours. */
void lanes_choose(struct model *M, int most, const struct lane_seconds *s);
#endif
