/* The analytic model: a roofline for each piece of code, and one for each level of memory.
 *
 * A piece is the straight-line code between loops that stay loops. Its time is that of the unit it uses most: arithmetic, loads,
 * stores, instructions issued, or the latency of a chain of sums.
 *
 * Memory: the box of a buffer is what one run of a loop touches of it. If the boxes of one iteration fit in a cache together, the
 * whole loop loads each byte of its box once; otherwise each iteration loads its own. */
#include "sched/analytic.h"
#include <math.h>
#include <string.h>
#include "sched/fitted.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "sched/template.h"

enum { CHAIN_MAX = 32, LEVELS = 3 };

/* Loops around a block that are fully unrolled. */
struct copy {
	poly_var var;
	double n; /* copies */
	bool vector, reduce;
};
/* What a piece uses of each unit. */
struct work {
	double arith, load, store, other; /* instructions, by unit */
	double chain;                     /* cycles of the longest chain of dependent operations */
	double cycles, late, inside;      /* of the loops in it: as struct time */
};
/* A loop or a piece: cycles if no operation had to wait (busy), cycles if each waited for its operands (late), instructions.
 * Independent iterations overlap as far as the machine looks ahead. */
struct time {
	double busy, late, instructions;
};
struct costing {
	struct loop_prog *p;
	int64_t *env; /* value of every variable */
	size_t nenv;
	int lanes, regs;
	double ports, latency, uops;
	int64_t cache[LEVELS];
	struct copy copy[CHAIN_MAX];
	int ncopy;
	double pieces; /* into which the loops around are partitioned at guards */
};

/* ---- straight-line code ---- */

static double copies(const struct costing *c, poly e, bool all)
{
	double n = 1;
	for (int i = 0; i < c->ncopy; i++)
		if (!c->copy[i].vector && (all || poly_uses(c->p->P, e, c->copy[i].var)))
			n *= c->copy[i].n;
	return n;
}

static const struct copy *vector_loop(const struct costing *c)
{
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i].vector)
			return &c->copy[i];
	return NULL;
}

static poly bound_offset(struct costing *c, nest_id block, buf_id b, const poly *index)
{
	const struct nest *x = lnest(c->p, block);
	const struct stage *s = lstage(c->p, x->stage);
	poly_var var[LOOP_AXES_MAX];
	poly by[LOOP_AXES_MAX];
	int n = 0;
	for (int a = 0; a < s->naxes; a++)
		if (x->phase != BLOCK_INIT || a < s->nspatial) {
			var[n] = s->axis[a].var;
			by[n++] = x->bind[a];
		}
	return poly_subst_many(c->p->P, buf_offset(c->p, b, index), n, var, by);
}

/* Rows that lie a multiple of 4 KB apart share a cache set. Are there more of them than it has ways? */
static bool conflicts(const struct costing *c, poly off, double size)
{
	int64_t step;
	poly rest;
	for (int i = 0; i < c->ncopy; i++)
		if (!c->copy[i].vector && c->copy[i].n > (double)c->cache[0] / 4096 - 3 &&
		    poly_linear_in(c->p->P, off, c->copy[i].var, &step, &rest) && step && (int64_t)((double)step * size) % 4096 == 0)
			return true;
	return false;
}

/* Instructions of one access at offset off. Copies that read the same place share one load. */
static void add_access(struct costing *c, struct work *w, poly off, buf_id b, bool store)
{
	double n = copies(c, off, store), each = 1;
	double *unit = store ? &w->store : &w->load;
	const struct copy *v = vector_loop(c);
	int64_t step;
	poly rest;
	if (lbuf(c->p, b)->scope == SCOPE_REGISTER)
		return;
	if (v && poly_uses(c->p->P, off, v->var)) {
		if (!poly_linear_in(c->p->P, off, v->var, &step, &rest) || step != 1)
			each = fitted.lane_load * v->n; /* a lane at a time */
	}
	*unit += n * each;
	if (!store && conflicts(c, off, (double)dtype_size(lbuf(c->p, b)->dtype)))
		w->load += fitted.conflict_loads * n;
}

/* Operations of an expression. In partitioned loops a guard costs little: nearly all iterations are in the middle piece. */
static double operations_of(const struct costing *c, double *known, ex_id e)
{
	const struct ex *x = lex(c->p, e);
	double n = x->kind == EX_CALL ? sched_call_cost(x->fn) : x->kind == EX_GUARD ? c->pieces > 1 ? fitted.guard_cut : 1 : 0;
	if (known[e] > 0)
		return known[e];
	for (int i = 0; i < 3; i++)
		if (x->a[i])
			n += operations_of(c, known, x->a[i]);
	return known[e] = n;
}

static double operations(const struct costing *c, ex_id e)
{
	double *known = xcalloc((size_t)e + 1, sizeof *known), n = operations_of(c, known, e);
	free(known);
	return n;
}

static void add_block(struct costing *c, struct work *w, nest_id block)
{
	struct loop_prog *p = c->p;
	const struct nest *x = lnest(p, block);
	const struct stage *s = lstage(p, x->stage);
	ex_id read[READS_MAX];
	double n = copies(c, 0, true), sums = 1;
	bool reduction = s->comb != COMB_NONE && x->phase == BLOCK_UPDATE, scalar = !vector_loop(c);
	poly out[LOOP_RANK_MAX];
	for (int a = 0; a < s->nspatial; a++)
		out[a] = stage_axis(p, x->stage, a);
	poly to = bound_offset(c, block, s->out, out);
	add_access(c, w, to, s->out, true);
	if (x->phase == BLOCK_INIT) {
		w->other += n;
		return;
	}
	if (reduction)
		add_access(c, w, to, s->out, false);
	for (int i = 0, k = stage_all_reads(p, x->stage, read); i < k; i++)
		add_access(c, w, bound_offset(c, block, lex(p, read[i])->buf, lex(p, read[i])->index), lex(p, read[i])->buf, false);
	double ops = operations(c, s->body);
	bool fma = s->comb == COMB_SUM && lex(p, s->body)->kind == EX_CALL && lex(p, s->body)->fn == FN_MUL;
	double arith = ops + (reduction && !fma ? 1 : 0);
	if (scalar && ops >= fitted.call) /* calls of the C library */
		arith *= fitted.scalar_call;
	w->arith += n * arith;
	w->other += n * (double)x->guard.n * (c->pieces > 1 ? fitted.guard_cut : fitted.guard_left);
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i].reduce && !c->copy[i].vector)
			sums *= c->copy[i].n;
	if (!reduction) /* a later statement loads what this one stores */
		w->chain = fmax(w->chain, fitted.store_latency + fmin(ops, fitted.chain_most) * c->latency);
	if (reduction) { /* additions to one sum wait for each other; longer if it lies in memory */
		double wait = lbuf(p, s->out)->scope == SCOPE_REGISTER ? c->latency : 2 * c->latency;
		w->chain = fmax(w->chain, sums * wait);
		double live = n / sums + 2;
		if (lbuf(p, s->out)->scope == SCOPE_REGISTER && live > c->regs)
			w->load += 2 * (live - c->regs);
		const struct copy *v = vector_loop(c);
		if (v && v->reduce) { /* the sum across the lanes */
			w->arith += fitted.lanes_arith;
			w->chain += fitted.lanes_latency;
		}
	}
}

static int64_t extent_now(struct costing *c, nest_id n)
{
	int64_t e = poly_eval(c->p->P, lnest(c->p, n)->extent, c->env);
	return e > 0 ? e : 0;
}

/* A target instruction, or a sequence that stands for one: about four operations a vector of elements. */
static void add_call(struct costing *c, struct work *w, nest_id n)
{
	double vectors = copies(c, 0, true) / c->lanes;
	for (; lnest(c->p, n)->kind != NEST_BLOCK; n = lnest(c->p, n)->kid.a[0])
		if (lnest(c->p, n)->kind == NEST_FOR)
			vectors *= (double)extent_now(c, n);
	w->load += vectors;
	w->store += vectors;
	w->other += fitted.call_vector * vectors;
}

static struct time loop_time(struct costing *c, nest_id n);

static void gather(struct costing *c, struct work *w, nest_id n)
{
	const struct nest *x = lnest(c->p, n);
	if (x->kind == NEST_BLOCK) {
		add_block(c, w, n);
		return;
	}
	if (x->kind == NEST_FOR && x->mark == LOOP_CALL) {
		add_call(c, w, n);
		return;
	}
	int pushed = 0;
	if (x->kind == NEST_FOR) {
		int64_t e = extent_now(c, n);
		bool unrolled = x->mark == LOOP_VECTOR || (x->mark == LOOP_UNROLL && !x->unroll) || e == 1;
		if (!unrolled || c->ncopy == CHAIN_MAX) {
			struct copy save[CHAIN_MAX]; /* a loop inside unrolled loops: counted once, times its copies */
			double times = copies(c, 0, true);
			int k = c->ncopy;
			memcpy(save, c->copy, sizeof save);
			c->ncopy = 0;
			struct time t = loop_time(c, n);
			w->cycles += times * t.busy;
			w->late += times * t.late;
			w->inside += times * t.instructions;
			memcpy(c->copy, save, sizeof save);
			c->ncopy = k;
			return;
		}
		c->env[x->var] = 0;
		if (x->mark == LOOP_VECTOR && e > c->lanes)
			w->other += 1;
		c->copy[c->ncopy++] = (struct copy){x->var, (double)e, x->mark == LOOP_VECTOR, x->reduce};
		pushed = 1;
	}
	for (size_t i = 0; i < lnest(c->p, n)->kid.n; i++)
		gather(c, w, lnest(c->p, n)->kid.a[i]);
	c->ncopy -= pushed;
}

static struct time piece_time(struct costing *c, const struct work *w)
{
	double bound = fmax(fmax(w->arith / c->ports, w->load / 2), w->store);
	double instructions = w->arith + w->store + w->other + 0.5 * w->load; /* half of the loads are operands of others */
	c->uops += instructions * c->pieces;
	double busy = fmax(bound, instructions / fitted.issue);
	return (struct time){busy + w->cycles, fmax(busy, w->chain) + w->late, instructions + w->inside};
}

/* ---- loops ---- */

struct depends {
	poly_var var;
	bool yes;
};

static void find_dependence(struct loop_prog *p, nest_id n, void *arg)
{
	struct depends *d = arg;
	d->yes |= lnest(p, n)->kind == NEST_FOR && lnest(p, n)->extent && poly_uses(p->P, lnest(p, n)->extent, d->var);
}

static struct time loop_time(struct costing *c, nest_id n)
{
	const struct nest *x = lnest(c->p, n);
	int64_t e = extent_now(c, n);
	int factor = x->mark == LOOP_UNROLL && x->unroll > 1 ? x->unroll : 1;
	struct depends d = {x->var, false};
	struct time sum = {0, 0, 0};
	double pieces = c->pieces, weights = 0;
	nest_walk(c->p, nest_body(c->p, n), find_dependence, &d);
	c->pieces *= (double)(x->cut.n + 1);
	for (int i = 0; i < (d.yes ? 3 : 1) && e > 0; i++) { /* first, middle, last: tiles of two sizes */
		double weight = !d.yes ? (double)e : i == 1 ? (double)e - 2 : 1;
		if (weight <= 0 || (i == 2 && e == 1))
			continue;
		struct work w = {0};
		c->env[x->var] = i == 0 ? 0 : i == 1 ? e / 2 : e - 1;
		if (factor > 1)
			c->copy[c->ncopy++] = (struct copy){x->var, factor, false, x->reduce};
		gather(c, &w, nest_body(c->p, n));
		c->ncopy -= factor > 1;
		struct time t = piece_time(c, &w);
		if (!x->reduce && !x->scan) /* independent iterations overlap */
			t.late = fmax(t.busy, t.late / fmax(1, fitted.in_flight / (1 + t.instructions)));
		sum.busy += weight * (t.busy + fitted.loop) / factor;
		sum.late += weight * (t.late + fitted.loop) / factor;
		sum.instructions += weight * (t.instructions + 2) / factor;
		weights += weight;
	}
	c->env[x->var] = 0;
	c->pieces = pieces;
	double left = e > 8 ? fitted.loop_exit : 0,
	       times = weights > 0 ? (double)e / weights : 0; /* the exit of a short loop is predicted */
	return (struct time){times * sum.busy + left, times * sum.late + left, times * sum.instructions};
}

/* ---- memory ---- */

/* Bytes of the box of buffer b that is touched below n, in whole cache lines. */
static double box_bytes(struct costing *c, buf_id b, nest_id n)
{
	struct loop_prog *p = c->p;
	const struct loop_buf *x = lbuf(p, b);
	poly lo[LOOP_RANK_MAX], extent[LOOP_RANK_MAX];
	double bytes = (double)dtype_size(x->dtype), line = bytes;
	int last = x->layout.n ? x->layout.part[x->layout.n - 1].axis : x->rank - 1;
	if (!region_of(p, b, n, true, true, lo, extent))
		return 0;
	for (int d = 0; d < x->rank; d++) {
		int64_t from, to;
		poly_range(p->P, extent[d], &from, &to);
		if (to > x->shape[d] || to < 0)
			to = x->shape[d];
		if (d == last)
			line *= (double)to;
		else
			bytes *= (double)to;
	}
	return bytes / (double)dtype_size(x->dtype) * (line < 64 && x->rank > 1 ? 64 : line);
}

/* Bytes that each level loads while n runs once; box: of what it touches, for a loop in one iteration; whole: in all. */
struct traffic {
	double in[LEVELS], box, whole;
};

static bool in_memory(struct loop_prog *p, buf_id b) { return lbuf(p, b)->scope != SCOPE_REGISTER && lbuf(p, b)->scope != SCOPE_STACK; }

static struct traffic traffic_of(struct costing *c, nest_id n)
{
	struct loop_prog *p = c->p;
	const struct nest *x = lnest(p, n);
	struct traffic t = {{0}, 0, 0};
	double trips = 1, inside[LEVELS] = {0};
	int64_t lo, hi;
	if (x->kind == NEST_BLOCK)
		return t;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		double one = in_memory(p, b) ? box_bytes(c, b, n) : 0;
		t.box += one;
		if (one > 0)
			t.whole += x->kind == NEST_FOR ? box_bytes(c, b, x->parent) : one;
	}
	for (size_t i = 0; i < lnest(p, n)->kid.n; i++) {
		struct traffic k = traffic_of(c, lnest(p, n)->kid.a[i]);
		for (int l = 0; l < LEVELS; l++)
			inside[l] += k.in[l];
	}
	if (x->kind == NEST_FOR) {
		poly_range(p->P, x->extent, &lo, &hi);
		trips = hi > 0 ? (double)hi : 0;
	}
	for (int l = 0; l < LEVELS; l++)
		t.in[l] = t.box <= fitted.cache_share * (double)c->cache[l] ? t.whole : trips * inside[l];
	return t;
}

static struct costing costing_of(struct loop_prog *p, const struct target *m)
{
	struct costing c = {.p = p, .lanes = sched_lanes(p), .pieces = 1};

	c.regs = m->vector_regs;
	c.ports = m->fma_ports;
	c.latency = m->fma_latency;
	c.cache[0] = m->l1;
	c.cache[1] = m->l2;
	c.cache[2] = m->l3;
	c.nenv = poly_nvars(p->P) + 1;
	c.env = ARENA_ARRAY(&p->arena, int64_t, c.nenv + 1);
	return c;
}

double loop_cycles(struct loop_prog *p)
{
	struct target m = target_filled(p->target);
	struct costing c = costing_of(p, &m);
	struct work w = {0};

	prog_values(p, c.env);
	gather(&c, &w, p->root);
	return piece_time(&c, &w).late;
}

double loop_cost(struct loop_prog *p)
{
	struct target m = target_filled(p->target);
	struct costing c = costing_of(p, &m);
	struct work w = {0};
	gather(&c, &w, p->root);
	double cycles = piece_time(&c, &w).late;
	struct traffic t = traffic_of(&c, p->root);
	double bytes_a_cycle[LEVELS] = {m.l2_a_cycle, m.l3_a_cycle, m.memory_a_cycle}, memory = 0, most = cycles, sum = cycles;
	for (int l = 0; l < LEVELS; l++) {
		/* what fits in the level is still there from the run before */
		double in = t.box <= fitted.cache_share * (double)c.cache[l] ? 0 : t.in[l];
		memory = in / bytes_a_cycle[l] * (l == 0 && fit_splits_vectors(&m) ? fitted.split_level : 1);
		most = fmax(most, memory);
		sum += memory;
	}
	if (c.uops > fitted.uops_fit)
		most *= 1 + fitted.uops_slope * log2(c.uops / fitted.uops_fit);
	return (most + fitted.memory_overlap * (sum - most)) / m.hertz;
}
