/* Groups whose sizes are known at run time only: one program for all sizes, which takes the values of the sizes' symbols. */
#ifndef HONE_SIZED_H
#define HONE_SIZED_H
#include "graph/module.h"
#include "loop/sampling.h"
#include "lower/lower.h"

/* Symbols that have one size each. */
enum { FIXED_MAX = 4 };
struct sizes_fixed {
	int n;
	poly_var var[FIXED_MAX];
	int64_t size[FIXED_MAX];
};

/* For which sizes. */
struct sized_for {
	bool some; /* all symbols are 1 or more */
	struct sizes_fixed fixed;
};

struct sized {
	/* Of a group with one result: right only where the result has elements; else there is nothing to run. */
	struct lowered low;        /* prog->params: the symbols that kernels take, in that order; started */
	poly arg[LOOP_PARAMS_MAX]; /* what each of them is: the module's symbol, or a branch or floor in which alone it occurs */
	bool proved;               /* its numbers are those of as many programs for single sizes as determine them (sized_grid.c) */
	struct loop_prog *usual;   /* the group for sizes that are usual: to schedule, and what records of timings are of; started */
};
/* The group of Fused node n, whose types may have symbols. prog NULL and *why: there is no such program. A group without symbols, or
 * without others than those that are fixed, is lowered as ever; usual is NULL then. */
struct sized lower_sized(struct module *m, node_id n, const struct target *t, struct sized_for sizes, const char *algo, const char **why);
/* Sets the parameters of p to values that are usual, those of images and rows among them. */
void sized_usual(struct module *m, node_id n, struct loop_prog *p);
/* Schedules by the trace, NULL: by the default schedule of the usual sizes, for as many threads as low.prog says, with samples decided
 * as in want (schedule_with; may be NULL); legalizes and verifies.
 * The trace that was applied goes to *trace (may be NULL), in the arena of low.prog. usual is spent. NULL, or why not. */
const char *sized_schedule(struct sized *s, const char *given, const struct samples *want, const char **trace);
void sized_free(struct sized *s);
#endif
