/* Traces from a file, each for kernels of one digest, in place of the default ones. */
#ifndef HONE_MODEL_GIVEN_H
#define HONE_MODEL_GIVEN_H
#include <stddef.h>
#include "common/digest.h"

struct given_trace {
	struct digest digest; /* of the stages it is for */
	const char *text;
};
struct given_traces {
	struct given_trace *a;
	size_t n, cap;
};

/* Adds the sections of a file: "# kernel DIGEST" with the trace below, as ge-emit --print-traces prints them. Faults:
 * die(65) with file and line. */
void traces_read(struct given_traces *t, const char *path);
/* The trace for kernels of that digest; NULL: there is none. t may be NULL. */
const char *trace_given(const struct given_traces *t, struct digest d);
#endif
