/* A profiler's timeline (PyTorch, Perfetto JSON): the events that matter to communication. */
#ifndef HONE_KINETO_H
#define HONE_KINETO_H
#include <stdbool.h>
#include "common/arena.h"
#include "common/vec.h"

enum span_kind { SPAN_COMPUTE, SPAN_COMM, SPAN_DATA, SPAN_STEP, SPAN_KINDS };
struct span {
	double from, to; /* us */
	const char *name;
	bool reduces; /* communication: it may be of gradients; not a broadcast, an all-gather and so on */
	double id;    /* of a device: which launch of the host it is from, 0: not known; and which device it ran on */
	int device;
};
struct launch {
	double id, at; /* us, on the host */
};
struct kineto {
	VEC(struct span) span[SPAN_KINDS]; /* by from; steps do not overlap */
	bool device;                       /* there are kernels of a device: compute and communication are theirs */
	int devices, chosen;               /* how many devices have kernels, and whose these are */
	VEC(struct launch) launch;         /* by id */
	struct arena arena;
};
/* Reads JSON, gzip or not: an array of events, or an object with "traceEvents". Neither: die(65). No compute: die(65).
 * A device runs behind its host. Where launches are in the trace, a step is the time on the device from the end of what the host's steps
 * before it launched to the end of what its own launched; the first one begins no sooner than the host's. Copies to the device are data. Of several
 * devices only the one that communicates most is kept, or computes most. */
void kineto_read(struct kineto *t, const char *path);
void kineto_free(struct kineto *t);
#endif
