/* Counts of one run of a program, before they become features. Private to lib/cost. */
#ifndef HONE_COST_COUNTS_H
#define HONE_COST_COUNTS_H
#include "cost/features.h"
#include "loop/nest.h"
#include "target/target.h"

enum { COST_LEVELS = 3 };

/* A loop around an access: what one iteration of it adds to the offset, in bytes. */
struct access_loop {
	nest_id loop;
	double n; /* iterations */
	double step;
};
/* A read or a write of a buffer in memory, by a block. */
struct access {
	buf_id buf;
	int nloops;
	struct access_loop *loop; /* from the outside in */
};
struct accesses {
	VEC(struct access) a;
};

struct hot { /* the piece with the most work */
	nest_id loop;
	double cycles, steps, code, live, streams;
};
struct counts {
	double of[FEATURE_COUNT];
	struct hot hot;
	struct accesses accesses;
};

/* ---- work.c: instructions. env: values of variables, of which those of loops are set on the way. ---- */
void count_work(struct loop_prog *p, const struct target *t, int64_t *env, struct counts *c);
/* ---- traffic.c: bytes, from the accesses that count_work found ---- */
void count_traffic(struct loop_prog *p, const struct target *t, struct counts *c);
#endif
