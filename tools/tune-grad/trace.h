/* A profiler's timeline (PyTorch, Perfetto JSON): the events that matter to communication. */
#ifndef HONE_TRACE_H
#define HONE_TRACE_H
#include <stdbool.h>
#include "common/arena.h"
#include "common/vec.h"

enum span_kind { SPAN_COMPUTE, SPAN_COMM, SPAN_DATA, SPAN_STEP, SPAN_KINDS };
struct span {
	double from, to; /* us */
	const char *name;
};
struct trace {
	VEC(struct span) span[SPAN_KINDS]; /* by from; steps do not overlap */
	bool device;                       /* there are kernels of a device: compute and communication are theirs */
	struct arena arena;
};
/* Reads JSON, gzip or not: an array of events, or an object with "traceEvents". Neither: die(65). No compute: die(65). */
void trace_read(struct trace *t, const char *path);
void trace_free(struct trace *t);
#endif
