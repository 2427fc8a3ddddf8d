/* Counts instructions: a walk over the nest from the outside in, which knows for each block how often it runs, in how many copies, and
 * whether in lanes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cost/counts.h"
#include "loop/instr.h"
#include "loop/math.h"
#include "target/rate.h"

/* A loop around the place of the walk. */
struct around {
	nest_id loop;
	poly_var var;
	double n;      /* iterations, as many as there are in the middle of those around it */
	double serial; /* of n, those that stay iterations; the others are copies, or lanes */
	bool vector, reduce, cut;
};
/* The code between loops that stay: of one iteration. */
struct piece {
	double arith, load, store, other, chain, live, streams;
};
struct walk {
	struct loop_prog *p;
	const struct target *t;
	int64_t *env;
	struct counts *c;
	int n;
	struct around around[NEST_DEPTH_MAX];
	int inner;    /* the innermost loop around that stays, + 1; 0: none */
	double times; /* that the piece runs */
	bool parallel;
	struct piece *piece;
};

enum { PAGE = 4096, COPIES_MAX = 64 };

static double lanes_of(const struct target *t) { return t->vector_bytes / (double)sizeof(float); }

/* ---- where the walk is ---- */

/* Copies of what depends on e; all: whether it does or not. A vector loop counts as the vectors that it takes. */
static double copies(const struct walk *w, poly e, bool all)
{
	double n = 1;

	for (int i = 0; i < w->n; i++) {
		const struct around *x = &w->around[i];
		double more = x->n / x->serial;
		if (x->vector)
			more = ceil(x->n / lanes_of(w->t));
		if (more > 1 && (all || poly_uses(w->p->P, e, x->var)))
			n *= more;
	}
	return n;
}

static const struct around *vector_loop(const struct walk *w)
{
	for (int i = w->n; i-- > 0;)
		if (w->around[i].vector)
			return &w->around[i];
	return NULL;
}

/* The step of e from one iteration of x to the next, all other loops where they are; 0: none, or there is one iteration. */
static int64_t step_along(const struct walk *w, poly e, const struct around *x)
{
	int64_t was = w->env[x->var], here, next;

	if (x->n <= 1 || !poly_uses(w->p->P, e, x->var))
		return 0;
	w->env[x->var] = 0;
	here = poly_eval(w->p->P, e, w->env);
	w->env[x->var] = 1;
	next = poly_eval(w->p->P, e, w->env);
	w->env[x->var] = was;
	return next - here;
}

/* Does one of the copies of e lie a multiple of a page from the next, and more of them than a set of the first-level cache has ways? */
static bool conflicts(const struct walk *w, poly e, double size)
{
	for (int i = 0; i < w->n; i++) {
		const struct around *x = &w->around[i];
		int64_t step = x->vector || x->n / x->serial <= (double)w->t->l1 / PAGE ? 0 : step_along(w, e, x);
		if (step && (int64_t)((double)step * size) % PAGE == 0)
			return true;
	}
	return false;
}

static void keep_access(struct walk *w, buf_id b, poly off)
{
	struct access a = {.buf = b, .nloops = w->n, .loop = xcalloc((size_t)w->n + 1, sizeof *a.loop)};
	double size = (double)dtype_size(lbuf(w->p, b)->dtype);

	for (int i = 0; i < w->n; i++)
		a.loop[i] =
			(struct access_loop){w->around[i].loop, w->around[i].n, size * (double)llabs(step_along(w, off, &w->around[i]))};
	vec_push(&w->c->accesses.a, a);
}

/* ---- blocks ---- */

static void add(struct walk *w, enum feature f, double n) { w->c->of[f] += w->times * n; }

static bool is_narrow(enum dtype t) { return dtype_is_int(t) && dtype_size(t) < dtype_size(DT_F32); }

/* One access of the block at offset off. Copies that read the same place share one load. */
static void add_access(struct walk *w, buf_id b, poly off, bool store)
{
	const struct around *v = vector_loop(w), *in = w->inner ? &w->around[w->inner - 1] : NULL;
	double n = copies(w, off, store), *unit = store ? &w->piece->store : &w->piece->load;
	bool moves = in && poly_uses(w->p->P, off, in->var);

	if (lbuf(w->p, b)->scope == SCOPE_REGISTER)
		return;
	keep_access(w, b, off);
	w->piece->streams += moves;
	if (!store && in && !moves)
		add(w, FEATURE_STILL, n);
	if (!store && conflicts(w, off, (double)dtype_size(lbuf(w->p, b)->dtype)))
		add(w, FEATURE_CONFLICTS, n);
	if (!v) {
		add(w, store ? FEATURE_SINGLE_STORES : FEATURE_SINGLES, n);
		*unit += n;
		return;
	}
	int64_t step = step_along(w, off, v);
	if (is_narrow(lbuf(w->p, b)->dtype) && step) {
		add(w, FEATURE_CONVERTS, n);
		w->piece->arith += n;
	}
	if (step == 1 || (store && !step)) {
		add(w, store ? FEATURE_STORES : FEATURE_LOADS, n);
	} else if (!step) {
		n /= ceil(v->n / lanes_of(w->t));
		n = n < 1 ? 1 : n;
		add(w, FEATURE_SPREADS, n);
	} else {
		n *= fmin(v->n, lanes_of(w->t));
		add(w, store ? FEATURE_SCATTERS : FEATURE_GATHERS, n);
	}
	*unit += n;
}

static bool is_function(int fn) { return (fn >= FN_EXP && fn <= FN_COS) || fn >= FN_ACOS || fn == FN_POW || fn == FN_DIV || fn == FN_SQRT; }

/* The share of copies in which a guard holds: where copies decide it, they know. */
static double guard_share(struct walk *w, const struct nest *block, const struct ex *x, bool *asked)
{
	struct polys *P = w->p->P;
	int which[NEST_DEPTH_MAX], n = 0;
	double all = 1, held = 0, seen = 0;

	*asked = false;
	for (int i = 0; i < w->n; i++)
		for (int k = 0; k < x->n; k++) {
			const struct around *a = &w->around[i];
			if (a->n <= 1 || !poly_uses(P, bind_poly(w->p, block, x->index[k]), a->var))
				continue;
			if (a->serial == 1 && !a->vector)
				which[n++] = i;
			else
				*asked |= !a->cut;
			break;
		}
	for (int i = 0; i < n; i++)
		all *= w->around[which[i]].n;
	if (*asked || !n || all > COPIES_MAX)
		return 1;
	for (int64_t c = 0; c < (int64_t)all; c++, seen++) {
		int64_t rest = c;
		bool holds = true;
		for (int i = 0; i < n; i++) {
			w->env[w->around[which[i]].var] = rest % (int64_t)w->around[which[i]].n;
			rest /= (int64_t)w->around[which[i]].n;
		}
		for (int k = 0; k < x->n && holds; k++)
			holds = poly_eval(P, bind_poly(w->p, block, x->index[k]), w->env) >= 0;
		held += holds;
	}
	for (int i = 0; i < n; i++)
		w->env[w->around[which[i]].var] = (int64_t)w->around[which[i]].n / 2;
	return seen > 0 ? held / seen : 1;
}

struct body {
	double arith, functions, converts, guards, by_value;
};

/* Counts e, each expression under it once, so often as share says. */
static void count_body(struct walk *w, const struct nest *block, bool *seen, ex_id e, double share, struct body *b)
{
	const struct ex *x = lex(w->p, e);
	bool asked = false;
	double yes = share, no = share;

	if (!e || seen[e])
		return;
	seen[e] = true;
	switch (x->kind) {
	case EX_CALL: *(is_function(x->fn) ? &b->functions : &b->arith) += share; break;
	case EX_CAST: b->converts += share * (x->dtype != lex(w->p, x->a[0])->dtype); break;
	case EX_READ: b->by_value += share * (x->dyn_dim >= 0); break;
	case EX_GUARD:
		yes = share * guard_share(w, block, x, &asked);
		no = asked ? share : share - yes;
		b->guards += asked * share * x->n;
		break;
	default: break;
	}
	for (int i = 0; i < 3; i++)
		count_body(w, block, seen, x->a[i], x->kind == EX_GUARD && i ? no : yes, b);
}

/* A sum: its chain of additions, and the registers that it and its copies take. */
static void add_sum(struct walk *w, const struct stage *s, poly to, double n)
{
	double sums = 1, live = copies(w, to, false);

	for (int i = 0; i < w->n; i++)
		if (w->around[i].reduce && !w->around[i].vector)
			sums *= w->around[i].n / w->around[i].serial;
	bool in_register = lbuf(w->p, s->out)->scope == SCOPE_REGISTER;
	w->piece->chain = fmax(w->piece->chain, sums * w->t->fma_latency * (in_register ? 1 : 2));
	if (!in_register) {
		add(w, FEATURE_IN_MEMORY, n);
		return;
	}
	w->piece->live += live;
	if (live + 2 > w->t->vector_regs) {
		double more = 2 * (live + 2 - w->t->vector_regs);
		add(w, FEATURE_SPILLED, more);
		w->piece->load += more;
	}
}

static void add_block(struct walk *w, nest_id id)
{
	struct loop_prog *p = w->p;
	const struct nest *x = lnest(p, id);
	const struct stage *s = lstage(p, x->stage);
	const struct around *v = vector_loop(w);
	bool sums = s->comb != COMB_NONE && x->phase == BLOCK_UPDATE;
	poly at[LOOP_RANK_MAX];
	double n = copies(w, 0, true), width = 1;

	for (int a = 0; a < s->nspatial; a++)
		at[a] = x->bind[a];
	poly to = buf_offset(p, s->out, at);
	add_access(w, s->out, to, true);
	if (x->phase == BLOCK_INIT) {
		w->piece->other += n;
		return;
	}
	if (sums)
		add_access(w, s->out, to, false);
	ex_id read[NEST_DEPTH_MAX];
	int reads = stage_reads_of(p, x->stage, read, NEST_DEPTH_MAX);
	for (int i = 0; i < reads && i < NEST_DEPTH_MAX; i++)
		add_access(w, lex(p, read[i])->buf, bind_poly(p, x, buf_offset(p, lex(p, read[i])->buf, lex(p, read[i])->index)), false);
	bool *seen = xcalloc((size_t)s->body + 1, sizeof *seen);
	struct body b = {0};
	count_body(w, x, seen, s->body, 1, &b);
	free(seen);
	bool joined = s->comb == COMB_SUM && lex(p, s->body)->kind == EX_CALL && lex(p, s->body)->fn == FN_MUL;
	b.arith += sums && !joined;
	if (v)
		width = fmin(v->n, lanes_of(w->t));
	add(w, sums ? FEATURE_PRODUCTS : FEATURE_RESULTS, n * width);
	add(w, FEATURE_ARITH, n * b.arith);
	add(w, FEATURE_FUNCTIONS, n * b.functions);
	add(w, FEATURE_CONVERTS, n * b.converts);
	add(w, FEATURE_GUARDS, n * (b.guards + (double)x->guard.n));
	add(w, FEATURE_BY_VALUE, n * b.by_value);
	if (!v)
		add(w, FEATURE_SCALAR, n * (b.arith + b.functions));
	w->piece->arith += n * (b.arith + b.functions + b.converts + b.guards);
	if (sums)
		add_sum(w, s, to, n);
}

/* A row of the target's instructions in place of the nest. */
static void add_call(struct walk *w, nest_id n)
{
	const struct instr *row = instr_row(lnest(w->p, n)->instr);
	double calls = copies(w, 0, true), rate = target_rate(w->t, row->name), fma = target_fma_rate(w->t), products = 1, time = 1,
	       sums = 1;
	nest_id block = n;

	for (int i = 0; i < row->nloops; i++)
		products *= (double)row->extent[i];
	while (lnest(w->p, block)->kind != NEST_BLOCK)
		block = lnest(w->p, block)->kid.a[0];
	const struct nest *x = lnest(w->p, block);
	const struct stage *s = lstage(w->p, x->stage);
	if (row->accumulator)
		time = rate > 0 && fma > 0 ? products / lanes_of(w->t) * fma / rate : 1;
	else
		time = products / lanes_of(w->t);
	add(w, FEATURE_CALLS, calls);
	add(w, FEATURE_CALL_TIME, calls * time);
	add(w, row->accumulator ? FEATURE_PRODUCTS : FEATURE_RESULTS, calls * products);
	w->piece->arith += calls * time;
	ex_id read[INSTR_READS];
	int reads = stage_reads_of(w->p, x->stage, read, INSTR_READS);
	for (int i = 0; i < reads && i < INSTR_READS; i++) {
		buf_id b = lex(w->p, read[i])->buf;
		poly off = bind_poly(w->p, x, buf_offset(w->p, b, lex(w->p, read[i])->index));
		double loads = copies(w, off, false);
		add(w, FEATURE_LOADS, loads);
		w->piece->load += loads;
		keep_access(w, b, off);
	}
	if (!row->accumulator) {
		add(w, FEATURE_STORES, calls * time);
		w->piece->store += calls * time;
		return;
	}
	for (int i = 0; i < w->n; i++)
		if (w->around[i].reduce)
			sums *= w->around[i].n / w->around[i].serial;
	w->piece->chain = fmax(w->piece->chain, sums * w->t->fma_latency);
	if (lbuf(w->p, s->out)->scope == SCOPE_REGISTER)
		w->piece->live += calls / sums;
}

/* ---- loops ---- */

static void walk(struct walk *w, nest_id n);

/* The piece is counted: how long it takes, and whether it is the hottest. */
static void end_piece(struct walk *w, nest_id loop, double steps)
{
	const struct piece *x = w->piece;
	double instructions = x->arith + x->load + x->store + x->other, loads = x->load / 2;
	double cycles = fmax(fmax(x->arith / w->t->fma_ports, loads), fmax(x->store, instructions / (2.0 * w->t->fma_ports)));
	struct hot *h = &w->c->hot;

	w->c->of[FEATURE_CODE] += instructions;
	add(w, FEATURE_BOUND, cycles);
	if (x->chain > cycles)
		add(w, FEATURE_WAITS, x->chain - cycles);
	if (w->times * cycles > h->cycles)
		*h = (struct hot){loop, w->times * cycles, steps, instructions, x->live, x->streams};
}

/* A loop that stays: its body is a piece of its own. */
static void walk_serial(struct walk *w, nest_id n, struct around *x)
{
	struct piece piece = {0}, *was = w->piece;
	double times = w->times;
	int inner = w->inner;
	bool parallel = w->parallel;

	add(w, FEATURE_ENTRIES, 1);
	w->times *= x->serial;
	for (int i = 0; i < w->n - 1; i++)
		if (!w->around[i].vector)
			w->times *= w->around[i].n / w->around[i].serial;
	w->c->of[FEATURE_ITERATIONS] += w->times;
	if (lnest(w->p, n)->mark == LOOP_PARALLEL && !parallel) {
		w->c->of[FEATURE_PARALLEL] += w->times;
		w->parallel = true;
	}
	/* Copies of the loops outside are counted: inside there is one of each. */
	struct around save[NEST_DEPTH_MAX];
	memcpy(save, w->around, (size_t)w->n * sizeof *save);
	for (int i = 0; i < w->n - 1; i++)
		if (!w->around[i].vector)
			w->around[i].serial = w->around[i].n;
	w->inner = w->n;
	w->piece = &piece;
	for (size_t i = 0; i < lnest(w->p, n)->kid.n; i++)
		walk(w, lnest(w->p, n)->kid.a[i]);
	end_piece(w, n, x->serial);
	memcpy(w->around, save, (size_t)w->n * sizeof *save);
	w->piece = was;
	w->times = times;
	w->inner = inner;
	w->parallel = parallel;
}

static void walk(struct walk *w, nest_id n)
{
	const struct nest *x = lnest(w->p, n);

	if (x->kind == NEST_BLOCK) {
		add_block(w, n);
		return;
	}
	if (x->kind == NEST_SEQ) {
		for (size_t i = 0; i < x->kid.n; i++)
			walk(w, x->kid.a[i]);
		return;
	}
	if (x->mark == LOOP_CALL) {
		add_call(w, n);
		return;
	}
	int64_t e = poly_eval(w->p->P, x->extent, w->env);
	if (e < 1 || w->n == NEST_DEPTH_MAX)
		return;
	bool vector = x->mark == LOOP_VECTOR, unrolled = vector || (x->mark == LOOP_UNROLL && !x->unroll) || e == 1;
	double serial = unrolled ? 1 : x->mark == LOOP_UNROLL && x->unroll < e ? ceil((double)e / x->unroll) : (double)e;
	if (x->mark == LOOP_UNROLL && x->unroll >= e)
		serial = 1;
	struct around *a = &w->around[w->n++];
	*a = (struct around){n, x->var, (double)e, serial, vector, x->reduce, x->cut.n || x->part || x->tail_at};
	w->env[x->var] = e / 2;
	if (serial > 1)
		walk_serial(w, n, a);
	else
		for (size_t i = 0; i < x->kid.n; i++)
			walk(w, x->kid.a[i]);
	w->env[x->var] = 0;
	w->n--;
}

void count_work(struct loop_prog *p, const struct target *t, int64_t *env, struct counts *c)
{
	struct piece piece = {0};
	struct walk w = {.p = p, .t = t, .env = env, .c = c, .times = 1, .piece = &piece};

	walk(&w, p->root);
	end_piece(&w, 0, 1);
	c->of[FEATURE_LIVE] = c->hot.live;
	c->of[FEATURE_HOT_CODE] = c->hot.code;
	c->of[FEATURE_HOT_STEPS] = c->hot.steps;
	c->of[FEATURE_STREAMS] = c->hot.streams;
}
