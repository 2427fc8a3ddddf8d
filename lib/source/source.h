/* The files of a planned model: C, header and weights. */
#ifndef HONE_SOURCE_H
#define HONE_SOURCE_H
#include "target/target.h"
#include "model/functions.h"
#include "model/memory_plan.h"
#include "model/weights.h"

struct emission {
	struct model *M;
	const struct target *target;
	const char *name; /* C identifier */
	bool embed;       /* the weights are in the C file */
	struct functions functions;
	struct weights weights;
	uint64_t weights_sum; /* of the bytes behind the head; weights_write knows it */
};

/* ---- source.c ---- */
/* From a planned module to kernels, arena and weights: all but the files. e: all zero but for target and embed. threads that
 * the library uses at most; 0: as planned. no_fallback: a step on the slow path: die(69). */
void emission_make(struct emission *e, struct module *m, const struct given_traces *traces, int threads, bool no_fallback);
/* The C file. It needs the name, and weights_sum unless the weights are embedded. header: the name of the header file. */
void emit_source(struct emission *e, const char *path, const char *header);
void emit_header(struct emission *e, const char *path);

/* ---- name.c ---- */
/* The stem of the files as a C identifier: what the type is called, and what the functions' names begin with. Free it. */
char *model_name(const char *stem);

/* ---- weights.c ---- */
/* The file of weights; fills weights_sum. */
void weights_write(struct emission *e, const char *path);
#endif
