/* ge-emit: from a planned module to C, weights, and a library. */
#ifndef GE_EMIT_H
#define GE_EMIT_H
#include <stdio.h>
#include "common/vec.h"
#include "target/target.h"
#include "emit/emit.h"
#include "model/model.h"

/* A function of the emitted file; kernels whose texts are equal share one. */
struct function {
	char *text; /* with its name */
	char *name; /* "k07" */
	int part;   /* of the C file it is compiled with, from 1 */
	uint32_t ncalls;
	double flops;   /* of one call */
	uint32_t first; /* call */
};

/* The weights: one copy of equal bytes, each 64-aligned, behind a page with the head. */
struct weight {
	struct digest digest; /* of the bytes, or of bytes and layout: equal ones have equal bytes */
	int64_t bytes, offset;
	uint32_t call; /* that needs it first; with const number: how to make the bytes again */
	int number;
	val_id value;     /* a constant in plain order (call and number do not matter), or 0 */
	const void *data; /* or the bytes themselves, else NULL */
};

struct emission {
	struct model *M;
	const struct target *target;
	const char *name; /* C identifier */
	bool embed;
	int threads; /* 1: no kernel starts a team */
	VEC(struct function) functions;
	uint32_t *function_of;    /* kernel -> function */
	struct outlines outlines; /* functions that kernels call, and share */
	VEC(int) outline_part;    /* of the C file each is compiled with */
	VEC(struct weight) weights;
	int64_t **weight_of;   /* call -> constant number -> offset in the file of weights */
	int64_t weights_bytes; /* of the file */
	int64_t opaque;        /* offset there of the stream of opaque steps, and its bytes (0: none) */
	int64_t opaque_bytes;
	struct digest weights_digest;
	uint64_t weights_sum; /* of the bytes behind the head; weights_write knows it */
	int64_t arena_bytes;
	int64_t spill; /* offset in the arena of workspaces that are larger than planned */
	int nparts;
};

enum { WEIGHTS_HEAD = 4096, WEIGHTS_ALIGN = 64 };
#define WEIGHTS_MAGIC "honewts2"

/* ---- opaque.c ---- */
/* The calls on the slow path as a packed stream: a module with a Fused node each, in order. Free it. */
char *opaque_stream(struct model *M, size_t *n);
/* The evaluator as an archive, beside this program or where it was installed. Not there: die(69). */
char *opaque_archive(void);

/* ---- weights.c ---- */
void weights_lay_out(struct emission *e);
void weights_write(struct emission *e, const char *path);
void weights_print(struct emission *e, FILE *f);    /* as a C array, for --embed */
int64_t weight_value(struct emission *e, val_id v); /* offset of constant v in plain order */

/* ---- name.c ---- */
/* The stem as a C identifier: what the type is called, and what the functions' names begin with. Free it. */
char *model_name(const char *stem);

/* ---- plan.c ---- */
/* Needs the size of the arena. A plan that is not one of this graph (a result without a place, one past the arena, two at the
 * same time in one place): die(64) with the node. */
void plan_check(struct emission *e);

/* ---- ge-emit.c ---- */
/* From a planned module to kernels, arena and weights: all but the files. e has target and embed; threads 0: as planned. */
void emission_make(struct emission *e, struct module *m, const struct given_traces *traces, int threads, bool no_fallback);
int64_t call_workspace(struct emission *e, uint32_t call); /* offset in the arena */

/* ---- source.c ---- */
void emit_functions(struct emission *e);
void emit_source(struct emission *e, const char *path, const char *header);
void emit_header(struct emission *e, const char *path);

/* ---- compile.c ---- */
/* dir/STEM.c to dir/STEM.so and dir/STEM.a, jobs compilers at a time; with the evaluator if there are opaque steps. A
 * compiler that fails: die(70). */
void compile_model(struct emission *e, const char *dir, const char *stem, int jobs);
/* Holds back the signals that end a process, so that nothing is left behind in the middle; on release they act. */
void signals_hold(bool hold);
#endif
