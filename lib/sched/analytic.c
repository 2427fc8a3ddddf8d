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
#include "loop/instr.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "sched/template.h"
#include "target/rate.h"

enum { CHAIN_MAX = 32, LEVELS = 3 };

/* What takes more than an instruction. */
enum {
	SCALAR_CALL = 2,       /* times as long as on a vector's lane that a call of the C library takes */
	CHAIN_OPERATIONS = 15, /* of a statement that wait for each other, at most */
	LOOP_CYCLES = 1,       /* of an iteration's own instructions */
	STORE_LATENCY = 10,    /* cycles until a store can be loaded again */
	LANES_ARITH = 6,       /* operations of a sum across the lanes of a vector, */
	LANES_LATENCY = 30,    /* and its cycles */
	CONFLICT_LOADS = 4,    /* loads lost to each row that another pushes out of its cache set */
	GUARD_LEFT = 2,        /* operations of a guard that is asked; */
	CALL_VECTOR = 4        /* of an instruction sequence, a vector of elements */
};
static const double guard_cut = 0.2;     /* operations of a guard inside loops that are cut at borders */
static const double lane_load = 1.5;     /* instructions to load one lane of a vector that is gathered */
static const double decoded_slope = 0.1; /* slowdown for each doubling of code beyond what is kept decoded */

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
	const struct target *t;
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

/* e in the loops around the block, which binds the axes of its stage. */
static poly bound(struct costing *c, nest_id block, poly e)
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
	return poly_subst_many(c->p->P, e, n, var, by);
}

static poly bound_offset(struct costing *c, nest_id block, buf_id b, const poly *index)
{
	return bound(c, block, buf_offset(c->p, b, index));
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

static bool is_narrow(enum dtype t) { return dtype_is_int(t) && dtype_size(t) < dtype_size(DT_F32); }

/* Do the copies of a vector's store fill what is between its lanes, `step` apart? Then they are written together. */
static bool is_woven(const struct costing *c, poly off, int64_t step)
{
	int64_t one;
	poly rest;
	for (int i = 0; i < c->ncopy; i++)
		if (!c->copy[i].vector && c->copy[i].n == (double)step && poly_linear_in(c->p->P, off, c->copy[i].var, &one, &rest) &&
		    one == 1)
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
		if (!poly_linear_in(c->p->P, off, v->var, &step, &rest) || (step != 1 && !(store && is_woven(c, off, step))))
			each = lane_load * v->n; /* a lane at a time */
	}
	*unit += n * each;
	if (v && is_narrow(lbuf(c->p, b)->dtype)) /* widened or narrowed on the way */
		w->arith += n;
	if (!store && conflicts(c, off, (double)dtype_size(lbuf(c->p, b)->dtype)))
		w->load += CONFLICT_LOADS * n;
}

/* The share of the copies of a block in which e >= 0; -1: only a run knows. */
static double share_of_copies(struct costing *c, poly e)
{
	struct polys *P = c->p->P;
	int64_t lo, hi, k[CHAIN_MAX] = {0};
	double all = 0, held = 0;
	int n = 0, var[CHAIN_MAX];

	poly_range(P, e, &lo, &hi);
	if (lo >= 0 || hi < 0)
		return lo >= 0;
	for (int i = 0; i < c->ncopy; i++)
		if (!c->copy[i].vector && poly_uses(P, e, c->copy[i].var))
			var[n++] = i;
	for (bool more = n > 0; more; all++) {
		poly at = e;
		for (int i = 0; i < n; i++)
			at = poly_subst(P, at, c->copy[var[i]].var, poly_const(P, k[i]));
		poly_range(P, at, &lo, &hi);
		if (lo < 0 && hi >= 0)
			return -1;
		held += lo >= 0;
		more = false;
		for (int i = 0; i < n && !more; i++) {
			more = ++k[i] < (int64_t)c->copy[var[i]].n;
			k[i] = more ? k[i] : 0;
		}
	}
	return all > 0 ? held / all : -1;
}

/* Of a guard: its own operations, and the share of what it chooses from. */
static double guard_operations(struct costing *c, nest_id block, const struct ex *x, double *share)
{
	*share = 1;
	for (int i = 0; i < x->n; i++) {
		double held = share_of_copies(c, bound(c, block, x->index[i]));
		if (held < 0) {
			*share = -1;
			return c->pieces > 1 ? guard_cut : 1;
		}
		*share *= held;
	}
	return 0;
}

/* Operations of an expression. In partitioned loops a guard costs little: nearly all iterations are in the middle piece. One that the
 * loops around decide costs nothing: of what it chooses from, one is there in each copy. */
static double operations_of(struct costing *c, nest_id block, double *known, ex_id e)
{
	const struct ex *x = lex(c->p, e);
	double share = -1, n = 0;
	if (known[e] >= 0)
		return known[e];
	if (x->kind == EX_CALL)
		n = sched_call_cost(x->fn);
	else if (x->kind == EX_CAST)
		n = dtype_is_float(x->dtype) != dtype_is_float(lex(c->p, x->a[0])->dtype);
	else if (x->kind == EX_GUARD)
		n = guard_operations(c, block, x, &share);
	for (int i = 0; i < 3; i++)
		if (x->a[i])
			n += operations_of(c, block, known, x->a[i]) * (share < 0 ? 1 : i ? 1 - share : share);
	return known[e] = n;
}

static double operations(struct costing *c, nest_id block, ex_id e)
{
	double *known = xcalloc((size_t)e + 1, sizeof *known);
	for (ex_id i = 0; i <= e; i++)
		known[i] = -1;
	double n = operations_of(c, block, known, e);
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
	for (int i = 0, k = stage_all_reads(p, x->stage, read); i < k; i++) {
		const struct ex *e = lex(p, read[i]);
		if (scalar || e->dyn_dim < 0)
			add_access(c, w, bound_offset(c, block, e->buf, e->index), e->buf, false);
		else if (is_narrow(lbuf(p, e->buf)->dtype))
			w->arith += n * c->t->lookup_operations;
		else
			w->load += lane_load * n * vector_loop(c)->n;
	}
	double ops = operations(c, block, s->body);
	bool fma = s->comb == COMB_SUM && lex(p, s->body)->kind == EX_CALL && lex(p, s->body)->fn == FN_MUL;
	double arith = ops + (reduction && !fma ? 1 : 0);
	if (scalar && ops >= CALL_OPERATIONS) /* calls of the C library */
		arith *= SCALAR_CALL;
	w->arith += n * arith;
	w->other += n * (double)x->guard.n * (c->pieces > 1 ? guard_cut : GUARD_LEFT);
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i].reduce && !c->copy[i].vector)
			sums *= c->copy[i].n;
	if (!reduction) /* a later statement loads what this one stores */
		w->chain = fmax(w->chain, STORE_LATENCY + fmin(ops, CHAIN_OPERATIONS) * c->latency);
	if (reduction) { /* additions to one sum wait for each other; longer if it lies in memory */
		double wait = lbuf(p, s->out)->scope == SCOPE_REGISTER ? c->latency : 2 * c->latency;
		w->chain = fmax(w->chain, sums * wait);
		double live = n / sums + 2;
		if (lbuf(p, s->out)->scope == SCOPE_REGISTER && live > c->regs)
			w->load += 2 * (live - c->regs);
		const struct copy *v = vector_loop(c);
		if (v && v->reduce) { /* the sum across the lanes */
			w->arith += LANES_ARITH;
			w->chain += LANES_LATENCY;
		}
	}
}

static int64_t extent_now(struct costing *c, nest_id n)
{
	int64_t e = poly_eval(c->p->P, lnest(c->p, n)->extent, c->env);
	return e > 0 ? e : 0;
}

/* Arithmetic of a call that adds products to sums, in multiply-adds of f32: by the rates that were measured, else one. */
static double product_time(const struct costing *c, const struct instr *row)
{
	double rate = target_rate(c->t, row->name), fma = target_fma_rate(c->t), products = 1;
	for (int i = 0; i < row->nloops; i++)
		products *= (double)row->extent[i];
	return rate > 0 && fma > 0 ? products / c->lanes * fma / rate : 1;
}

/* A target instruction. A sequence that stands for one, as a transpose: about four operations a vector of elements. */
static void add_call(struct costing *c, struct work *w, nest_id n)
{
	const struct instr *row = instr_row(lnest(c->p, n)->instr);
	double calls = copies(c, 0, true), vectors = calls / c->lanes, sums = 1;
	ex_id read[READS_MAX];
	for (; lnest(c->p, n)->kind != NEST_BLOCK; n = lnest(c->p, n)->kid.a[0])
		if (lnest(c->p, n)->kind == NEST_FOR)
			vectors *= (double)extent_now(c, n);
	if (!row->accumulator) {
		w->load += vectors;
		w->store += vectors;
		w->other += CALL_VECTOR * vectors;
		return;
	}
	w->arith += calls * product_time(c, row);
	for (int i = 0, k = stage_all_reads(c->p, lnest(c->p, n)->stage, read); i < k; i++)
		w->load += copies(c, bound_offset(c, n, lex(c->p, read[i])->buf, lex(c->p, read[i])->index), false);
	for (int i = 0; i < c->ncopy; i++)
		if (c->copy[i].reduce)
			sums *= c->copy[i].n;
	w->chain = fmax(w->chain, sums * c->latency);
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
	double bound = fmax(fmax(w->arith / c->ports, w->load / c->t->load_ports), w->store);
	double instructions = w->arith + w->store + w->other + 0.5 * w->load; /* half of the loads are operands of others */
	c->uops += instructions * c->pieces;
	double busy = fmax(bound, instructions / c->t->issue);
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
			t.late = fmax(t.busy, t.late / fmax(1, c->t->ahead / (1 + t.instructions)));
		sum.busy += weight * (t.busy + LOOP_CYCLES) / factor;
		sum.late += weight * (t.late + LOOP_CYCLES) / factor;
		sum.instructions += weight * (t.instructions + 2) / factor;
		weights += weight;
	}
	c->env[x->var] = 0;
	c->pieces = pieces;
	double left = e > 8 ? c->t->exit_cycles : 0,
	       times = weights > 0 ? (double)e / weights : 0; /* the exit of a short loop is predicted */
	return (struct time){times * sum.busy + left, times * sum.late + left, times * sum.instructions};
}

/* ---- memory ---- */

static double trips_of(struct loop_prog *p, nest_id n)
{
	int64_t lo, hi;
	if (lnest(p, n)->kind != NEST_FOR)
		return 1;
	poly_range(p->P, lnest(p, n)->extent, &lo, &hi);
	return hi > 0 ? (double)hi : 0;
}

/* Elements of b that n, or one iteration of it, reads by an index that is a value; 0: none. */
static double read_by_value(struct loop_prog *p, buf_id b, nest_id n)
{
	ex_id read[READS_MAX];
	double elements = 0;
	if (lnest(p, n)->kind == NEST_BLOCK) {
		for (int i = 0, k = stage_all_reads(p, lnest(p, n)->stage, read); i < k; i++)
			elements += lex(p, read[i])->buf == b && lex(p, read[i])->dyn_dim >= 0;
		return elements;
	}
	for (size_t i = 0; i < lnest(p, n)->kid.n; i++) {
		nest_id kid = lnest(p, n)->kid.a[i];
		elements += trips_of(p, kid) * read_by_value(p, b, kid);
	}
	return elements;
}

/* Elements side by side in memory of a box that is size[d] long along axis d. */
static double run_of(const struct loop_buf *x, const int64_t *size)
{
	double run = 1;
	for (int i = (x->layout.n ? x->layout.n : x->rank) - 1; i >= 0; i--) {
		struct layout_part part = x->layout.n ? x->layout.part[i] : (struct layout_part){i, 1, 0};
		int64_t here = (size[part.axis] + part.div - 1) / part.div, all = (x->shape[part.axis] + part.div - 1) / part.div;
		all = part.mod && part.mod < all ? part.mod : all;
		run *= (double)(here < all ? here : all);
		if (here < all)
			break;
	}
	return run;
}

/* Bytes of the box of buffer b that is touched below n, in whole cache lines. */
static double box_bytes(struct costing *c, buf_id b, nest_id n)
{
	enum { LINE = 64 };
	struct loop_prog *p = c->p;
	const struct loop_buf *x = lbuf(p, b);
	poly lo[LOOP_RANK_MAX], extent[LOOP_RANK_MAX];
	int64_t from, size[LOOP_RANK_MAX];
	double bytes = (double)dtype_size(x->dtype);
	if (!region_of(p, b, n, true, true, lo, extent))
		return 0;
	for (int d = 0; d < x->rank; d++) {
		poly_range(p->P, extent[d], &from, &size[d]);
		if (size[d] > x->shape[d] || size[d] < 0)
			size[d] = x->shape[d];
		bytes *= (double)size[d];
	}
	double some = read_by_value(p, b, n) * (double)dtype_size(x->dtype);
	double run = run_of(x, size) * (double)dtype_size(x->dtype);
	bytes *= run > 0 && run < LINE && x->rank > 1 ? LINE / run : 1;
	return some > 0 ? fmin(bytes, some) : bytes;
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
	double trips = trips_of(p, n), inside[LEVELS] = {0};
	if (x->kind == NEST_BLOCK)
		return t;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		double one = in_memory(p, b) ? box_bytes(c, b, n) : 0;
		t.box += one;
		if (one > 0) /* beside a piece of a loop there may be others */
			t.whole += x->kind == NEST_FOR ? fmin(trips * one, box_bytes(c, b, x->parent)) : one;
	}
	for (size_t i = 0; i < lnest(p, n)->kid.n; i++) {
		struct traffic k = traffic_of(c, lnest(p, n)->kid.a[i]);
		for (int l = 0; l < LEVELS; l++)
			inside[l] += k.in[l];
	}
	for (int l = 0; l < LEVELS; l++)
		t.in[l] = t.box <= CACHE_SHARE * (double)c->cache[l] ? t.whole : trips * inside[l];
	return t;
}

static struct costing costing_of(struct loop_prog *p, const struct target *m)
{
	struct costing c = {.p = p, .t = m, .lanes = sched_lanes(p), .pieces = 1};

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
		double in = t.box <= CACHE_SHARE * (double)c.cache[l] ? 0 : t.in[l];
		memory = in / bytes_a_cycle[l];
		most = fmax(most, memory);
		sum += memory;
	}
	if (c.uops > m.decoded)
		most *= 1 + decoded_slope * log2(c.uops / m.decoded);
	return (most + MEMORY_OVERLAP * (sum - most)) / m.hertz;
}
