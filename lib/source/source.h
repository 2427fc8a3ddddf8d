/* The files of a planned model: C, header and weights. */
#ifndef HONE_SOURCE_H
#define HONE_SOURCE_H
#include "target/list.h"
#include "model/functions.h"
#include "model/memory_plan.h"
#include "model/weights.h"

/* How the C of a machine without an operating system is compiled, beside the flags of its target. */
#define BARE_CFLAGS "-ffreestanding -fbuiltin -fno-stack-protector -fno-pic"

/* A function of one target that another calls, too. */
struct shared_function {
	const char *name; /* that both call it by; NULL: it is not shared */
	bool elsewhere;   /* it is in the code for target `of`, and not in this one's */
	int of;
};

struct emission {
	struct model *M;
	const struct target *target;
	const char *name;                     /* C identifier: what the type is called, and what names of functions begin with */
	const struct target_list *of_several; /* the targets of the library, of which this is for one; NULL: it is for one alone */
	int number;                           /* this one's there, from 1, the one that a CPU takes first */
	const char *model;                    /* then the name of the library's own type and functions */
	bool embed;                           /* the weights are in the C file */
	bool bare;                            /* for a machine without an operating system: kernels alone, and memory of its own */
	struct functions functions;
	struct shared_function *shared; /* by function, in a library for several targets; else NULL */
	struct digest graph;            /* module_digest of the planned module */
	struct weights weights;
	uint64_t weights_sum; /* of the bytes behind the head; weights_write knows it */
};

/* ---- source.c ---- */
/* From a planned module to kernels, arena and weights: all but the files. e: all zero but for target, embed and bare; one of several targets has
 * of_several and number, too, and a copy of the weights of the one before, which it shares and adds to. threads that the library uses at
 * most; 0: as planned. no_fallback: a step on the slow path: die(69). */
void emission_make(struct emission *e, struct module *m, const struct given_traces *traces, int threads, bool no_fallback);
/* After all of several targets are made: each is told of all weights. Callers that see other things of one than of another: die(65). */
void emissions_join(struct emission *e, int n);
/* The names of e[0] to e[n - 1], from that of the library. */
void emissions_name(struct emission *e, int n, const char *name);
/* The C file of the code for n targets. It needs the name, and weights_sum unless the weights are embedded. header: the name of the header
 * file. */
void emit_source(struct emission *e, int n, const char *path, const char *header);
void emit_header(struct emission *e, const char *path); /* of e, or of the library that it is a part of */

/* ---- name.c ---- */
/* The stem of the files as a C identifier: what the type is called, and what the functions' names begin with. Free it. */
char *model_name(const char *stem);

/* ---- weights.c ---- */
/* The file of weights of e[0] to e[n - 1], which is one; fills their weights_sum. */
void weights_write(struct emission *e, int n, const char *path);
#endif
