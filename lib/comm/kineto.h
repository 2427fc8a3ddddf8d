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
	bool reduces; /* communication that may be of gradients: no broadcast, all-gather and so on */
	double id;    /* spans of a device: the launch of the host that they are from (0: not known), and the device */
	int device;
};
struct launch {
	double id, at; /* us, on the host */
};
struct kineto {
	VEC(struct span) span[SPAN_KINDS]; /* by from; steps do not overlap */
	bool device;                       /* there are kernels of a device; then compute and communication are those of the device */
	int devices, chosen;               /* how many devices have kernels, and which one is kept */
	VEC(struct launch) launch;         /* by id */
	struct arena arena;
};
/* Reads JSON, gzipped or not: an array of events, or an object with "traceEvents". Neither, or no compute: die(65).
 *
 * A device runs later than its host. If launches are in the trace, a step is therefore the time on the device from the end of what the
 * earlier steps launched to the end of what this one launched; the first step begins no earlier than on the host. Copies to the device
 * are data. Of several devices only one is kept: the one that communicates most or, without communication, computes most. */
void kineto_read(struct kineto *t, const char *path);
void kineto_free(struct kineto *t);
#endif
