/* Gives one loop of each large nest to a team of threads: the spatial loop with the least estimated time. That is the largest share of the
 * work, plus the starts of the team (once for the outermost loop), plus data moved between caches (traffic.c). */
#include <math.h>
#include "sched/template.h"
#include "sched/schedule.h"

enum { CANDIDATES_MAX = 16 };

struct candidate {
	const char *loop;
	double cycles;
};

enum {
	START_LINES = 2,  /* lines of a cache that move to start a team, */
	THREAD_LINES = 2, /* and for each of its threads */
	WORTH_STARTS = 8  /* starts that a team must save */
};
static const double operation = 0.5;   /* cycles of a vector operation */
static const double heavy_share = 0.8; /* of the work, in the one loop that is searched for parallel ones */

/* Cycles of one run of a block's statement, as one of a vector if it is in one. */
static double block_cycles(struct schedule *r, nest_id block)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, lnest(p, block)->stage);
	ex_id read[READS_MAX];
	int work = sched_cost(p, s->body);

	if (lnest(p, block)->phase == BLOCK_INIT)
		return operation;
	if (s->comb == COMB_NONE) /* a reduction keeps its sums in registers */
		work += stage_all_reads(p, lnest(p, block)->stage, read) + 1;
	return operation * (work ? work : 1);
}

static double largest(struct loop_prog *p, nest_id loop)
{
	int64_t lo, hi;

	poly_range(p->P, lnest(p, loop)->extent, &lo, &hi);
	return hi > 0 ? (double)hi : 0;
}

static double cycles(struct schedule *r, nest_id n)
{
	const struct nest *x = lnest(r->p, n);
	double sum = 0, times = 1;

	if (x->kind == NEST_BLOCK)
		return block_cycles(r, n);
	if (x->kind == NEST_FOR)
		times = x->mark == LOOP_VECTOR || x->mark == LOOP_CALL ? (largest(r->p, n) + r->lanes - 1) / r->lanes : largest(r->p, n);
	for (size_t i = 0; i < lnest(r->p, n)->kid.n; i++)
		sum += cycles(r, lnest(r->p, n)->kid.a[i]);
	return times * sum;
}

/* Cycles to move all buffers that a nest reads and writes between the third-level cache and the core. */
static double memory_cycles(struct loop_prog *p, nest_id n)
{
	double bytes = 0;
	int nblocks = nest_blocks(p, n, 0, NULL, 0);
	nest_id *block = ARENA_ARRAY(&p->arena, nest_id, nblocks + 1);

	nest_blocks(p, n, 0, block, nblocks);
	for (buf_id b = 1; b < p->bufs.n; b++) {
		bool used = false;
		for (int i = 0; i < nblocks && lbuf(p, b)->scope <= SCOPE_OUT; i++)
			used |= lstage(p, lnest(p, block[i])->stage)->out == b || stage_reads(p, lnest(p, block[i])->stage, b);
		if (used)
			bytes += (double)buf_elems(p, b) * (double)dtype_size(lbuf(p, b)->dtype);
	}
	return bytes / sched_machine(p)->l3_a_cycle;
}

/* The child with nearly all of the work; 0: there is none. */
static nest_id heavy_kid(struct schedule *r, nest_id n)
{
	double all = 0, most = 0;
	nest_id heavy = 0;

	for (size_t i = 0; i < lnest(r->p, n)->kid.n; i++) {
		double c = cycles(r, lnest(r->p, n)->kid.a[i]);
		all += c;
		if (c > most) {
			most = c;
			heavy = lnest(r->p, n)->kid.a[i];
		}
	}
	return most >= heavy_share * all ? heavy : 0;
}

/* Cycles to start a team: cache lines that move for the work and the round, and for each thread to begin and to report its end. */
static double start_cycles(struct loop_prog *p) { return sched_machine(p)->line_cycles * (START_LINES + THREAD_LINES * p->threads); }

/* Is the gain worth several starts? A thread may be late or asleep, and what threads wrote lies in their caches. */
static bool is_worth(struct loop_prog *p, double work) { return work - work / p->threads >= WORTH_STARTS * start_cycles(p); }

static int candidates(struct schedule *r, nest_id n, struct candidate *out)
{
	struct loop_prog *p = r->p;
	double work = cycles(r, n), memory = memory_cycles(p, n);
	int count = 0;

	if (work < memory)
		work = memory;
	double all = work, starts = 1;
	for (; n && lnest(p, n)->kind != NEST_BLOCK && is_worth(p, work) && count < CANDIDATES_MAX; n = heavy_kid(r, n)) {
		const struct nest *x = lnest(p, n);
		int64_t steps;
		if (x->kind != NEST_FOR)
			continue;
		if (x->reduce || x->mark != LOOP_SERIAL || !poly_is_const(p->P, x->extent, &steps))
			break;
		if (steps > 1) {
			int64_t turns = (steps + p->threads - 1) / p->threads;
			double share = (double)turns / (double)steps;
			out[count++] =
				(struct candidate){sym_str(x->name), all * share + starts * start_cycles(p) + sched_moved(p, n, steps)};
		}
		work /= (double)steps;
		starts *= (double)steps;
	}
	return count;
}

static void find_parallel(struct loop_prog *p, nest_id n, void *arg) { *(bool *)arg |= lnest(p, n)->mark == LOOP_PARALLEL; }

void sched_threads(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct candidate c[CANDIDATES_MAX];
	bool has = false;

	nest_walk(p, p->root, find_parallel, &has);
	for (size_t i = 0; p->threads > 1 && !has && i < lnest(p, p->root)->kid.n; i++)
		for (int n = candidates(r, lnest(p, p->root)->kid.a[i], c); n > 0;) {
			int best = 0;
			for (int k = 1; k < n; k++)
				if (c[k].cycles < c[best].cycles)
					best = k;
			if (sched_try(r, PRIM_PARALLEL, c[best].loop))
				break;
			c[best] = c[--n];
		}
}

const char *schedule_threads(struct loop_prog *p)
{
	struct schedule r = {.p = p, .lanes = sched_lanes(p)};

	sched_threads(&r);
	const char *text = trace_write(&p->arena, &r.trace);
	vec_free(&r.trace);
	return text;
}

/* The first parallel loop of a nest; *starts: how often it begins. */
static nest_id parallel_loop(struct loop_prog *p, nest_id n, double *starts)
{
	const struct nest *x = lnest(p, n);
	nest_id found = x->kind == NEST_FOR && x->mark == LOOP_PARALLEL ? n : 0;

	for (size_t i = 0; !found && i < x->kid.n; i++)
		if ((found = parallel_loop(p, x->kid.a[i], starts)) && x->kind == NEST_FOR)
			*starts *= largest(p, n);
	return found;
}

double schedule_team_cost(struct loop_prog *p, double alone)
{
	struct schedule r = {.p = p, .lanes = sched_lanes(p)};
	double all = 0, shared = 0, extra = 0;

	for (size_t i = 0; i < lnest(p, p->root)->kid.n; i++) {
		nest_id kid = lnest(p, p->root)->kid.a[i];
		double work = cycles(&r, kid), starts = 1, share = 1;
		nest_id loop = parallel_loop(p, kid, &starts);
		double steps = loop ? largest(p, loop) : 0;
		if (steps > 0) {
			share = ceil(steps / p->threads) / steps;
			extra += starts * schedule_team_start(p);
		}
		all += work;
		shared += work * share;
	}
	return (all > 0 ? alone * shared / all : alone) + extra;
}

double schedule_moved_rate(struct loop_prog *p)
{
	const struct target *m = sched_machine(p);
	double rate = m->rate[RATE_SHARED];

	return rate > 0 ? rate : m->l3_a_cycle * m->hertz;
}

double schedule_team_start(struct loop_prog *p) { return start_cycles(p) / sched_machine(p)->hertz; }
