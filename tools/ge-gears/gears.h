/* Between the files of ge-gears. */
#ifndef HONE_GEARS_H
#define HONE_GEARS_H
#include "graph/pass.h"
#include "op/op.h"

enum { SYMBOLS_MAX = 16, GEARS_MAX = 4096 };

struct table;

/* Some symbols of a model, and sizes for them. */
struct gears {
	int n;                     /* symbols */
	sym name[SYMBOLS_MAX];     /* 0: the only one that the model has */
	poly_var var[SYMBOLS_MAX]; /* once a model is looked at */
	bool exact;                /* no size between gears */
	bool open;                 /* sizes without a gear run in a graph of any size */
	bool pad;                  /* sizes of the last symbol may be smaller than the gear's */
	VEC(int64_t) size;         /* n of each gear */
	int64_t *count;            /* how often each gear is expected; NULL: nobody said */
	/* The sizes are those of a histogram, of which the best `most` are to be chosen: */
	const struct table *histogram, *times;
	size_t most;
};
static inline size_t gears_count(const struct gears *g) { return g->n ? g->size.n / (size_t)g->n : 0; }

/* ---- sizes.c ---- */
/* "1,2,4", "batch=1,2,4", "h:w=320:320,640:480", with "open" at the end or not: all combinations with what is there already. Bad ones: die(64). */
void gears_add(struct gears *g, const char *arg);
/* Ascending, each once. */
void gears_sort(struct gears *g);
/* Symbol i becomes the last. */
void gears_put_last(struct gears *g, int i);
/* "batch=4", "h=320,w=480" of gear k. In arena a. */
const char *gear_text(const struct gears *g, size_t k, struct arena *a);

/* ---- build.c ---- */
/* Makes the gears of a module. Symbols that the model has not, or one more without sizes: die(64). */
void gears_build(struct module *m, struct gears *g, const struct pass_ctx *c);

/* ---- rows.c ---- */
/* Which axis of each value counts the samples that v says: row k of each result depends on row k of operands, and how many there are
 * changes nothing else. axis: by value, -1: it is the same for any number of samples. NULL, or why not. */
const char *rows_follow(struct module *m, poly_var v, const struct known *known, int *axis);
#endif
