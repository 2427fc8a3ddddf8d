/* May the iterations of a loop run at once? For every buffer written in it, other than those that live in an
 * iteration, some dim of all accesses must tell the iterations apart: each iteration has an interval of its own. */
#include <stdlib.h>
#include "common/msg.h"
#include "loop/nest.h"

/* The interval of indices in one dim that an access touches while the loop stands still; both depend on its variable. */
struct span {
	poly least, most;
};

struct races {
	struct loop_prog *p;
	nest_id l;
	buf_id b;
	int dim;
	const struct nest *block;
	int ninner;
	nest_id inner[NEST_DEPTH_MAX]; /* loops around the block, inside l */
	VEC(struct span) spans;
	bool unknown;
};

static void add_span(struct races *r, poly at)
{
	struct loop_prog *p = r->p;
	struct span s = {bound_over(p, at, r->ninner, r->inner, false), bound_over(p, at, r->ninner, r->inner, true)};

	r->unknown |= s.least == POLY_UNKNOWN || s.most == POLY_UNKNOWN;
	for (size_t i = 0; i < r->spans.n; i++)
		if (r->spans.a[i].least == s.least && r->spans.a[i].most == s.most)
			return;
	vec_push(&r->spans, s);
}

static void add_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct races *r = arg;
	const struct ex *e = lex(p, read);

	if (e->buf != r->b)
		return;
	r->unknown |= e->dyn_dim == r->dim;
	add_span(r, bind_poly(p, r->block, e->index[r->dim]));
}

static void add_block(struct races *r, nest_id block)
{
	struct loop_prog *p = r->p;
	nest_id loops[NEST_DEPTH_MAX];

	r->block = lnest(p, block);
	r->ninner = 0;
	for (int n = nest_loops(p, block, loops), i = 0; i < n; i++)
		if (loops[i] != r->l && nest_inside(p, loops[i], r->l))
			r->inner[r->ninner++] = loops[i];
	if (lstage(p, r->block->stage)->out == r->b)
		add_span(r, r->block->bind[r->dim]);
	if (r->block->phase == BLOCK_UPDATE)
		ex_reads(p, lstage(p, r->block->stage)->body, add_read, r);
}

/* All spans move by the same step, which is more than they spread. */
static bool apart_by_step(struct races *r)
{
	struct loop_prog *p = r->p;
	int64_t step = 0, coef, lo, hi;
	poly_var v = lnest(p, r->l)->var;
	VEC(struct span) rest = {0};
	bool apart = true;

	for (size_t i = 0; i < r->spans.n && apart; i++) {
		struct span s;
		apart = poly_linear_in(p->P, r->spans.a[i].least, v, &coef, &s.least) && coef && (!i || coef == step);
		step = coef;
		apart = apart && poly_linear_in(p->P, r->spans.a[i].most, v, &coef, &s.most) && coef == step;
		if (apart)
			vec_push(&rest, s);
	}
	for (size_t i = 0; i < rest.n && apart; i++)
		for (size_t j = 0; j < rest.n && apart; j++) {
			poly_range(p->P, poly_sub(p->P, rest.a[i].most, rest.a[j].least), &lo, &hi);
			apart = hi < (step < 0 ? -step : step) * (lnest(p, r->l)->step ? lnest(p, r->l)->step : 1);
		}
	vec_free(&rest);
	return apart;
}

/* Iteration by iteration: each begins behind the end of all before it. (Tiles of two sizes.) */
static bool apart_by_count(struct races *r)
{
	enum { COUNT_MAX = 1 << 14 };
	struct loop_prog *p = r->p;
	poly_var v = lnest(p, r->l)->var;
	poly base = poly_subst(p->P, r->spans.a[0].least, v, poly_const(p->P, 0));
	int64_t n, c, end = INT64_MIN;

	if (!poly_is_const(p->P, lnest(p, r->l)->extent, &n) || n > COUNT_MAX)
		return false;
	for (size_t i = 0; i < r->spans.n; i++)
		for (int k = 0; k < 2; k++) { /* nothing else varies */
			poly *e = k ? &r->spans.a[i].most : &r->spans.a[i].least;
			*e = poly_sub(p->P, *e, base);
			if (!poly_is_const(p->P, poly_subst(p->P, *e, v, poly_const(p->P, 0)), &c) ||
			    !poly_is_const(p->P, poly_subst(p->P, *e, v, poly_const(p->P, n - 1)), &c))
				return false;
		}
	int64_t *env = xcalloc(poly_nvars(p->P) + 2, sizeof *env);
	bool apart = true;
	for (int64_t x = 0; x < n && apart; x++) {
		int64_t last = end;
		env[v] = x;
		for (size_t i = 0; i < r->spans.n; i++) {
			int64_t most = poly_eval(p->P, r->spans.a[i].most, env);
			apart &= poly_eval(p->P, r->spans.a[i].least, env) > end;
			last = most > last ? most : last;
		}
		end = last;
	}
	free(env);
	return apart;
}

static bool apart_in(struct races *r, int dim, int nblocks, const nest_id *block)
{
	r->dim = dim;
	r->spans.n = 0;
	r->unknown = false;
	for (int i = 0; i < nblocks; i++)
		add_block(r, block[i]);
	return !r->unknown && (apart_by_step(r) || apart_by_count(r));
}

static bool touches(struct loop_prog *p, nest_id block, buf_id b)
{
	const struct nest *n = lnest(p, block);
	return lstage(p, n->stage)->out == b || (n->phase == BLOCK_UPDATE && stage_reads(p, n->stage, b));
}

static int count_touching(struct loop_prog *p, nest_id under, buf_id b, bool writes_only)
{
	int n = nest_blocks(p, under, 0, NULL, 0), count = 0;
	nest_id *block = xcalloc((size_t)n + 1, sizeof *block);

	nest_blocks(p, under, 0, block, n);
	for (int i = 0; i < n; i++)
		count += writes_only ? lstage(p, lnest(p, block[i])->stage)->out == b : touches(p, block[i], b);
	free(block);
	return count;
}

/* Does b live in an iteration of l? */
static bool lives_in(struct loop_prog *p, buf_id b, nest_id l)
{
	if (lbuf(p, b)->scope < SCOPE_SCRATCH)
		return false;
	if (p->legalized)
		return lbuf(p, b)->alloc && nest_inside(p, lbuf(p, b)->alloc, l);
	return count_touching(p, p->root, b, false) == count_touching(p, l, b, false);
}

const char *parallel_races(struct loop_prog *p, nest_id l)
{
	int64_t lo, n;
	const char *why = NULL;

	poly_range(p->P, lnest(p, l)->extent, &lo, &n);
	if (n <= 1)
		return NULL;
	int nblocks = nest_blocks(p, l, 0, NULL, 0);
	nest_id *block = xcalloc((size_t)nblocks + 1, sizeof *block);
	nest_blocks(p, l, 0, block, nblocks);
	struct races r = {.p = p, .l = l};
	for (r.b = 1; r.b < p->bufs.n && !why; r.b++) {
		if (!count_touching(p, l, r.b, false) || lives_in(p, r.b, l))
			continue;
		if (lbuf(p, r.b)->scope == SCOPE_REGISTER)
			why = whynot(p, "parallel loop %s: register buffer %s outlives an iteration", sym_str(lnest(p, l)->name),
				     sym_str(lbuf(p, r.b)->name));
		bool apart = !count_touching(p, l, r.b, true);
		for (int d = 0; d < lbuf(p, r.b)->rank && !apart; d++)
			apart = apart_in(&r, d, nblocks, block);
		if (!apart && !why)
			why = whynot(p, "parallel loop %s: its iterations are not shown to write %s apart", sym_str(lnest(p, l)->name),
				     sym_str(lbuf(p, r.b)->name));
	}
	vec_free(&r.spans);
	free(block);
	return why;
}
