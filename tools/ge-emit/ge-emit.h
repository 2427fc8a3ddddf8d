/* ge-emit: the files of a planned module: C, header and weights, and a library of them. */
#ifndef GE_EMIT_H
#define GE_EMIT_H
#include <stdio.h>
#include "target/target.h"
#include "model/functions.h"
#include "model/memory_plan.h"
#include "model/weights.h"

struct emission {
	struct model *M;
	const struct target *target;
	const char *name; /* C identifier */
	bool embed;
	struct functions functions;
	struct weights weights;
	uint64_t weights_sum; /* of the bytes behind the head; weights_write knows it */
};

#define WEIGHTS_MAGIC "honewts2"

/* ---- weights.c ---- */
void weights_write(struct emission *e, const char *path);
void weights_print(struct emission *e, FILE *f); /* as a C array, for --embed */

/* ---- name.c ---- */
/* The stem as a C identifier: what the type is called, and what the functions' names begin with. Free it. */
char *model_name(const char *stem);

/* ---- ge-emit.c ---- */
/* From a planned module to kernels, arena and weights: all but the files. e has target and embed; threads 0: as planned. */
void emission_make(struct emission *e, struct module *m, const struct given_traces *traces, int threads, bool no_fallback);

/* ---- source.c ---- */
void emit_source(struct emission *e, const char *path, const char *header);
void emit_header(struct emission *e, const char *path);

/* ---- compile.c ---- */
/* dir/STEM.c to dir/STEM.so and dir/STEM.a, jobs compilers at a time; with the evaluator if there are opaque steps. A
 * compiler that fails: die(70). */
void compile_model(struct emission *e, const char *dir, const char *stem, int jobs);
/* Holds back the signals that end a process, so that nothing is left behind in the middle; on release they act. */
void signals_hold(bool hold);
#endif
