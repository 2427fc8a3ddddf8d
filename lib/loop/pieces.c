/* Pieces of loops whose extents vary with parameters. */
#include <stdlib.h>
#include "common/msg.h"
#include "loop/copy.h"
#include "loop/math.h"

/* What tiles of loops leave over, as variables with a range (rest_of): a kernel has a few for each loop that is split. Beyond so many the
 * rest stays an expression: right as well, but of less known range, so that the verifier may not show that it stays in bounds. */
enum { RESTS_MAX = 24 };

bool copy_holds(struct loop_prog *p, poly g, nest_id seq)
{
	nest_id loops[NEST_DEPTH_MAX + 1];
	int n = nest_loops(p, seq, loops), k = 0;
	poly fact[NEST_DEPTH_MAX + RESTS_MAX];

	for (int i = 0; i < n; i++)
		if (lnest(p, loops[i])->known != POLY_UNKNOWN)
			fact[k++] = lnest(p, loops[i])->known;
	for (size_t i = 0; i < p->rests.n; i++)
		fact[k++] = p->rests.a[i].fact;
	return prog_follows(p, bound_over(p, g, n, loops, false), k, fact);
}

/* e, an expression of the block's stage, with those guards decided that the loops around the new seq decide. */
static ex_id decided(struct loop_prog *p, ex_id *done, ex_id e, nest_id block, nest_id seq)
{
	if (!e || done[e])
		return e ? done[e] : 0;
	struct ex x = *lex(p, e);
	bool changed = false;
	poly keep[2 * LOOP_RANK_MAX + 8];
	int n = 0;
	for (int i = 0; x.kind == EX_GUARD && i < x.n; i++) {
		poly g = bind_poly(p, lnest(p, block), x.index[i]);
		if (copy_holds(p, poly_addc(p->P, poly_mulc(p->P, g, -1), -1), seq))
			return done[e] = decided(p, done, x.a[1], block, seq);
		if (!copy_holds(p, g, seq))
			keep[n++] = x.index[i];
	}
	for (int i = 0; i < 3; i++) {
		ex_id a = decided(p, done, x.a[i], block, seq);
		changed |= a != x.a[i];
		x.a[i] = a;
	}
	if (x.kind == EX_GUARD && (changed || n < x.n))
		return done[e] = ex_guard(p, n, keep, x.a[0], x.a[1]);
	return done[e] = changed ? ex_new(p, x) : e;
}

void copy_decide(struct loop_prog *p, nest_id block, nest_id seq)
{
	struct stage s = *lstage(p, lnest(p, block)->stage);
	if (lnest(p, block)->phase == BLOCK_INIT)
		return;
	ex_id *done = xcalloc(p->exs.n, sizeof *done), body = decided(p, done, s.body, block, seq);
	free(done);
	if (body == s.body)
		return;
	s.body = body;
	vec_push(&p->stages, s);
	lnest(p, block)->stage = (stage_id)p->stages.n - 1;
}

/* ---- taps beyond borders ---- */

/* In the body of a sum of products of which one factor is a constant operand, or of another reduction: the guard that, where it does not
 * hold, leaves the result as it is. 0: there is none. Weights are taken to be finite. */
static ex_id idle_guard(struct loop_prog *p, const struct stage *s)
{
	const struct ex *x = lex(p, s->body);
	struct ex none = identity_const(s->comb, x->dtype);

	if (x->kind == EX_GUARD) {
		const struct ex *y = lex(p, x->a[1]);
		return y->kind == EX_CONST && y->c == none.c && y->ic == none.ic ? s->body : 0;
	}
	for (int i = 0; i < 2 && s->comb == COMB_SUM && x->kind == EX_CALL && x->fn == FN_MUL; i++) {
		const struct ex *a = lex(p, x->a[i]), *b = lex(p, x->a[!i]);
		if (a->kind != EX_GUARD || b->kind != EX_READ || lbuf(p, b->buf)->scope != SCOPE_CONST)
			continue;
		const struct ex *y = lex(p, a->a[1]);
		if (y->kind == EX_CONST && y->c == 0 && y->ic == 0)
			return x->a[i];
	}
	return 0;
}

/* Is g one for all that a tile does in a step of the reduction: does it depend on a reduce loop, and on no loop that is copied or a vector
 * beside reduce loops? */
static bool one_for_step(struct loop_prog *p, poly g, const nest_id *loops, int n)
{
	bool reduce = false;

	for (int i = 0; i < n; i++) {
		const struct nest *l = lnest(p, loops[i]);
		if (!poly_uses(p->P, g, l->var))
			continue;
		if (!l->reduce && l->mark != LOOP_SERIAL && l->mark != LOOP_PARALLEL)
			return false;
		reduce |= l->reduce;
	}
	return reduce;
}

bool copy_idle(struct loop_prog *p, nest_id block)
{
	const struct stage *s = lstage(p, lnest(p, block)->stage);
	ex_id id = lnest(p, block)->phase == BLOCK_UPDATE && s->comb != COMB_NONE ? idle_guard(p, s) : 0;
	int64_t lo, hi;

	for (int i = 0; id && i < lex(p, id)->n; i++) {
		poly_range(p->P, bind_poly(p, lnest(p, block), lex(p, id)->index[i]), &lo, &hi);
		if (hi < 0)
			return true;
	}
	return false;
}

void copy_skip(struct loop_prog *p, nest_id block, nest_id seq)
{
	struct stage s = *lstage(p, lnest(p, block)->stage);
	nest_id loops[NEST_DEPTH_MAX + 1];
	poly keep[2 * LOOP_RANK_MAX + 8];
	int n = nest_loops(p, seq, loops), kept = 0;
	ex_id id = lnest(p, block)->phase == BLOCK_UPDATE && s.comb != COMB_NONE ? idle_guard(p, &s) : 0;

	if (!id)
		return;
	struct ex x = *lex(p, id), body = *lex(p, s.body);
	for (int i = 0; i < x.n; i++) {
		poly g = bind_poly(p, lnest(p, block), x.index[i]);
		if (one_for_step(p, g, loops, n))
			vec_push(&lnest(p, block)->guard, g);
		else
			keep[kept++] = x.index[i];
	}
	if (kept == x.n)
		return;
	ex_id less = ex_guard(p, kept, keep, x.a[0], x.a[1]);
	if (id == s.body)
		s.body = less;
	else
		s.body = ex_call(p, body.fn, body.a[0] == id ? less : body.a[0], body.a[1] == id ? less : body.a[1], 0);
	vec_push(&p->stages, s);
	lnest(p, block)->stage = (stage_id)p->stages.n - 1;
}

/* ---- tiles ---- */

struct sized {
	poly_var len;
	bool unrolled;
	int64_t lanes; /* an unrolled loop inside goes over so many at a time, which need no unrolling (a vector): 0: there is none */
};

/* Is there a loop that must be unrolled, and whose extent is (a part of) the size of a tile? */
static void find_unrolled(struct loop_prog *p, nest_id id, void *arg)
{
	struct sized *s = arg;
	const struct nest *n = lnest(p, id);

	if (n->kind != NEST_FOR || !poly_uses(p->P, n->step ? n->elems : n->extent, s->len))
		return;
	s->unrolled |= n->mark == LOOP_UNROLL && !n->unroll;
	struct sized inner = {n->len};
	for (size_t i = 0; n->len && i < n->kid.n; i++)
		nest_walk(p, n->kid.a[i], find_unrolled, &inner);
	s->unrolled |= inner.unrolled;
	if (n->mark == LOOP_UNROLL && !n->unroll)
		s->lanes = n->len && !inner.unrolled && (!s->lanes || s->lanes == n->step) ? n->step : -1;
}

/* e, which is in [least, most] and not above `end`, as a variable: it keeps its range in what is made of it. */
static poly rest_of(struct loop_prog *p, sym name, poly e, int64_t least, int64_t most, poly end)
{
	int64_t lo, hi;

	poly_range(p->P, e, &lo, &hi);
	least = lo > least ? lo : least;
	most = hi < most ? hi : most;
	if (poly_is_const(p->P, e, NULL) || poly_is_var(p->P, e) || !prog_fixed(p, e) || p->rests.n == RESTS_MAX)
		return e;
	for (size_t i = 0; i < p->rests.n; i++)
		if (p->rests.a[i].value == e)
			return poly_of(p->P, p->rests.a[i].var);
	poly_var v = poly_var_new(p->P, name, least, most, 1);
	vec_push(&p->rests, ((struct loop_rest){v, e, poly_sub(p->P, end, poly_of(p->P, v))}));
	return poly_of(p->P, v);
}

/* 1 if e, which is not negative, is n or more, else 0. */
static poly at_least(struct polys *P, poly e, int64_t n)
{
	int64_t lo, hi;

	poly_range(P, e, &lo, &hi);
	return poly_min(P, poly_const(P, 1), hi < n ? poly_const(P, 0) : poly_floordiv(P, e, n));
}

/* What is left behind the whole tiles. */
struct left {
	poly full, end, size;
	sym name;
};

/* It as whole vectors and one that is whole or shorter, a nest for each number of vectors. */
static void copy_vectors(struct copy *c, nest_id from, nest_id seq, uint32_t team, const struct left *l, int64_t lanes)
{
	struct polys *P = c->p->P;
	int64_t f = lnest(c->p, from)->step;
	poly before = poly_mulc(P, poly_floordiv(P, poly_addc(P, l->size, -1), lanes), lanes);
	poly last = rest_of(c->p, l->name, poly_sub(P, l->size, before), 1, lanes, poly_addc(P, l->size, lanes));

	for (int64_t n = (f - 1) / lanes; n >= 0 && !c->why; n--) {
		poly size = poly_addc(P, last, n * lanes);
		struct tiles t = {l->end, size, poly_sub(P, l->size, size)};
		poly some = poly_sub(P, at_least(P, l->size, n * lanes + 1), at_least(P, l->size, (n + 1) * lanes + 1));
		copy_piece(c, from, l->full, some, seq, team, &t);
	}
}

void copy_tiles(struct copy *c, nest_id from, nest_id seq, uint32_t team)
{
	struct loop_prog *p = c->p;
	struct polys *P = p->P;
	poly elems = copy_sub(c, lnest(p, from)->elems);
	int64_t f = lnest(p, from)->step, lo, hi;
	struct sized s = {lnest(p, from)->len};
	nest_walk(p, nest_body(p, from), find_unrolled, &s);
	bool exact = s.unrolled && !(s.lanes > 0 && s.lanes <= f);
	poly full = poly_floordiv(P, elems, f), fewer = poly_floordiv(P, poly_addc(P, elems, -1), f);
	bool whole = !exact && !poly_is_const(P, full, NULL) && poly_is_const(P, fewer, NULL);
	if (whole)
		full = fewer; /* what is left may be a whole tile, but there is something */
	poly end = poly_mulc(P, full, f), left = poly_sub(P, elems, end);
	struct tiles t = {.begin = poly_const(P, 0), .len = poly_const(P, f)};

	copy_piece(c, from, poly_const(P, 0), full, seq, team, &t);
	poly_range(P, left, &lo, &hi);
	if (hi <= 0 || c->why)
		return;
	/* Unrolled tiles have fixed sizes. A rest below this has a nest of its size; a larger one is cut by its bits first, so that there
	 * are not as many nests as the tile has sizes. */
	enum { EXACT = 8 };
	sym name = intern_printf("%s.left", sym_str(lnest(p, from)->name));
	left = rest_of(p, name, left, whole, whole ? f : f - 1, poly_sub(P, elems, end));
	if (!s.unrolled || lo == hi) {
		t = (struct tiles){end, left, poly_addc(P, left, -1)};
		copy_piece(c, from, full, poly_min(P, poly_const(P, 1), left), seq, team, &t);
		return;
	}
	if (!exact) {
		copy_vectors(c, from, seq, team, &(struct left){full, end, left, name}, s.lanes);
		return;
	}
	int64_t size = 1;
	poly all = left;
	while (2 * size < f)
		size *= 2;
	for (; size >= EXACT && !c->why; size /= 2) { /* as many as a bit of what is left says: none or one */
		t = (struct tiles){poly_add(P, end, poly_sub(P, all, left)), poly_const(P, size), poly_addc(P, left, -size)};
		poly some = poly_floordiv(P, left, size);
		copy_piece(c, from, full, some, seq, team, &t);
		left = rest_of(p, name, poly_sub(P, left, poly_mulc(P, some, size)), 0, size - 1, all);
	}
	for (size = f < EXACT ? f - 1 : EXACT - 1; size && !c->why; size--) { /* the one nest of that size */
		t = (struct tiles){poly_add(P, end, poly_sub(P, all, left)), poly_const(P, size), poly_addc(P, left, -size)};
		poly some = poly_sub(P, at_least(P, left, size), at_least(P, left, size + 1));
		copy_piece(c, from, full, some, seq, team, &t);
	}
}

/* Where guards below a loop begin and cease to hold, whatever the loops inside do. */
struct cuts {
	struct copy *c;
	nest_id loop, block;
	int64_t first; /* they hold from here on, if that is a number */
	poly end;      /* and up to here; POLY_UNKNOWN: the loop's end */
};

static void cut_at_guard(struct cuts *x, poly g)
{
	struct loop_prog *p = x->c->p;
	nest_id around[NEST_DEPTH_MAX], inner[NEST_DEPTH_MAX];
	int n = 0;
	int64_t coef, lo, hi;
	poly rest;

	for (int k = nest_loops(p, x->block, around), i = 0; i < k; i++)
		if (around[i] != x->loop && nest_inside(p, around[i], x->loop))
			inner[n++] = around[i];
	g = bound_over(p, g, n, inner, false);
	if (g == POLY_UNKNOWN || !poly_linear_in(p->P, copy_sub(x->c, g), lnest(p, x->loop)->var, &coef, &rest) || !coef)
		return;
	if (coef > 0) {
		poly_range(p->P, rest, &lo, &hi);
		if (lo < 0 && lo > -(1 << 20) && (-lo + coef - 1) / coef > x->first)
			x->first = (-lo + coef - 1) / coef;
		return;
	}
	poly end = poly_addc(p->P, poly_floordiv(p->P, rest, -coef), 1);
	x->end = x->end == POLY_UNKNOWN ? end : poly_min(p->P, x->end, end);
}

static bool cut_at_fill(struct loop_prog *p, ex_id e, void *arg)
{
	struct cuts *x = arg;
	for (int i = 0; lex(p, e)->kind == EX_GUARD && i < lex(p, e)->n; i++)
		cut_at_guard(x, bind_poly(p, lnest(p, x->block), lex(p, e)->index[i]));
	return false;
}

void copy_parts(struct copy *c, nest_id from, nest_id seq, poly extent, uint32_t team)
{
	struct loop_prog *p = c->p;
	struct polys *P = p->P;
	struct cuts x = {.c = c, .loop = from};
	int n;
	nest_id *block = nest_list(p, from, 0, &n);

	for (int i = 0; i < n; i++) {
		x.block = block[i];
		for (size_t j = 0; j < lnest(p, block[i])->guard.n; j++)
			cut_at_guard(&x, lnest(p, block[i])->guard.a[j]);
		if (lnest(p, block[i])->phase == BLOCK_UPDATE)
			ex_find(p, lstage(p, lnest(p, block[i])->stage)->body, cut_at_fill, &x);
	}
	poly first = poly_min(P, poly_const(P, x.first), extent);
	poly end = x.end == POLY_UNKNOWN ? extent : poly_max(P, first, poly_min(P, x.end, extent));
	copy_piece(c, from, poly_const(P, 0), first, seq, team, NULL);
	if (!c->why)
		copy_piece(c, from, first, poly_sub(P, end, first), seq, team, NULL);
	if (!c->why)
		copy_piece(c, from, end, poly_sub(P, extent, end), seq, team, NULL);
}
