/* Loop nests: building and walking them, and regions.
 *
 * A region is the box of a buffer that the blocks under a node touch, one interval for each dim, as polynomials in the variables of
 * the loops outside. It is found by interval arithmetic: each affine index is replaced by its least and greatest value over the
 * loops inside (bound), and the boxes of all accesses are joined. */
#include "loop/nest.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "loop/prim.h"
#include <string.h>

const char *whynot(struct loop_prog *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return arena_str(&p->arena, text);
}

static nest_id nest_new(struct loop_prog *p, struct nest n)
{
	vec_push(&p->nests, n);
	return (nest_id)p->nests.n - 1;
}

nest_id nest_seq(struct loop_prog *p, nest_id parent) { return nest_new(p, (struct nest){.kind = NEST_SEQ, .parent = parent}); }

nest_id nest_for(struct loop_prog *p, sym name, poly extent, bool reduce, stage_id of)
{
	int64_t lo, hi;
	poly_range(p->P, extent, &lo, &hi);
	poly_var v = poly_var_new(p->P, name, 0, hi == POLY_INF ? hi : hi > 1 ? hi - 1 : 0, 1);
	nest_id f = nest_new(p, (struct nest){.kind = NEST_FOR, .name = name, .var = v, .extent = extent, .reduce = reduce, .of = of});
	nest_id body = nest_seq(p, f);
	vec_push(&lnest(p, f)->kid, body);
	return f;
}

nest_id nest_block(struct loop_prog *p, stage_id s, enum block_phase phase)
{
	return nest_new(p, (struct nest){.kind = NEST_BLOCK, .stage = s, .phase = phase, .of = s});
}

nest_id nest_body(struct loop_prog *p, nest_id n) { return lnest(p, n)->kind == NEST_FOR ? lnest(p, n)->kid.a[0] : n; }

void nest_insert(struct loop_prog *p, nest_id seq, size_t at, nest_id kid)
{
	struct nest *s = lnest(p, seq);
	vec_push(&s->kid, kid);
	memmove(s->kid.a + at + 1, s->kid.a + at, (s->kid.n - 1 - at) * sizeof *s->kid.a);
	s->kid.a[at] = kid;
	lnest(p, kid)->parent = seq;
}

bool nest_keeps_order(struct loop_prog *p, nest_id n)
{
	int64_t steps;
	return lnest(p, n)->kind == NEST_FOR && lnest(p, n)->scan && !(poly_is_const(p->P, lnest(p, n)->extent, &steps) && steps == 1);
}

size_t nest_index(struct loop_prog *p, nest_id n)
{
	struct nest *s = lnest(p, lnest(p, n)->parent);
	for (size_t i = 0; i < s->kid.n; i++)
		if (s->kid.a[i] == n)
			return i;
	BUG("nest %u is not in its parent", n);
}

void nest_remove(struct loop_prog *p, nest_id n)
{
	nest_id seq = lnest(p, n)->parent;
	size_t i = nest_index(p, n);
	struct nest *s = lnest(p, seq);
	memmove(s->kid.a + i, s->kid.a + i + 1, (s->kid.n - i - 1) * sizeof *s->kid.a);
	s->kid.n--;
	lnest(p, n)->parent = 0;
	if (!s->kid.n && seq != p->root)
		nest_remove(p, lnest(p, s->parent)->kind == NEST_FOR ? s->parent : seq);
}

bool nest_inside(struct loop_prog *p, nest_id n, nest_id outer)
{
	for (; n; n = lnest(p, n)->parent)
		if (n == outer)
			return true;
	return false;
}

int nest_loops(struct loop_prog *p, nest_id n, nest_id *out)
{
	int k = 0;
	for (n = lnest(p, n)->parent; n; n = lnest(p, n)->parent)
		if (lnest(p, n)->kind == NEST_FOR) {
			if (k == NEST_DEPTH_MAX)
				BUG("nest deeper than %d loops", NEST_DEPTH_MAX);
			out[k++] = n;
		}
	for (int i = 0; i < k / 2; i++) {
		nest_id t = out[i];
		out[i] = out[k - 1 - i];
		out[k - 1 - i] = t;
	}
	return k;
}

int nest_height(struct loop_prog *p, nest_id n)
{
	int most = 0;
	for (size_t i = 0; i < lnest(p, n)->kid.n; i++) {
		int h = nest_height(p, lnest(p, n)->kid.a[i]);
		most = h > most ? h : most;
	}
	return most + (lnest(p, n)->kind == NEST_FOR);
}

const char *nest_fits(struct loop_prog *p, nest_id l, int loops)
{
	nest_id around[NEST_DEPTH_MAX];
	int n = nest_loops(p, nest_body(p, l), around) + loops;
	return n > NEST_LOOPS_MAX ? whynot(p, "%d nested loops, at most %d are allowed", n, NEST_LOOPS_MAX) : NULL;
}

void nest_walk(struct loop_prog *p, nest_id n, void (*f)(struct loop_prog *, nest_id, void *), void *arg)
{
	f(p, n, arg);
	for (size_t i = 0; i < lnest(p, n)->kid.n; i++)
		nest_walk(p, lnest(p, n)->kid.a[i], f, arg);
}

struct subst {
	int n;
	const poly_var *v;
	const poly *by;
};

static void subst_one(struct loop_prog *p, nest_id id, void *arg)
{
	struct subst *s = arg;
	struct nest *n = lnest(p, id);
	if (n->kind == NEST_FOR) {
		n->extent = poly_subst_many(p->P, n->extent, s->n, s->v, s->by);
		if (n->step)
			n->elems = poly_subst_many(p->P, n->elems, s->n, s->v, s->by);
		if (n->tail_at != POLY_UNKNOWN)
			n->tail_at = poly_subst_many(p->P, n->tail_at, s->n, s->v, s->by);
	}
	if (n->kind != NEST_BLOCK)
		return;
	for (int a = 0; a < lstage(p, n->stage)->naxes; a++)
		if (n->bind[a] != POLY_UNKNOWN)
			n->bind[a] = poly_subst_many(p->P, n->bind[a], s->n, s->v, s->by);
	for (size_t i = 0; i < n->guard.n; i++)
		n->guard.a[i] = poly_subst_many(p->P, n->guard.a[i], s->n, s->v, s->by);
}

void nest_subst(struct loop_prog *p, nest_id n, int nv, const poly_var *v, const poly *by)
{
	struct subst s = {nv, v, by};
	nest_walk(p, n, subst_one, &s);
}

static poly bound_loop(struct loop_prog *p, poly e, nest_id l, bool upper);

/* Is e >= 0 whatever loops there are? Inner ones were made after those around them. */
static bool never_negative(struct loop_prog *p, poly e)
{
	int64_t lo, hi;

	for (nest_id l = p->params.n ? (nest_id)p->nests.n : 0; l-- > 1 && e != POLY_UNKNOWN;)
		if (lnest(p, l)->kind == NEST_FOR)
			e = bound_loop(p, e, l, false);
	poly_range(p->P, e, &lo, &hi);
	return e != POLY_UNKNOWN && lo >= 0;
}

/* Adds the guard e >= 0, unless it always holds. */
static void add_guard(struct loop_prog *p, nest_id block, poly e)
{
	if (!never_negative(p, e))
		vec_push(&lnest(p, block)->guard, e);
}

/* Binds an axis of the block's stage to `at`; unless the region lies within the axis (whole), with guards for its ends. */
static void bind_axis(struct loop_prog *p, nest_id block, int axis, poly at, bool whole)
{
	const struct stage *s = lstage(p, lnest(p, block)->stage);
	lnest(p, block)->bind[axis] = at;
	if (whole)
		return;
	add_guard(p, block, at);
	add_guard(p, block, poly_sub(p->P, poly_addc(p->P, axis_size(p, &s->axis[axis]), -1), at));
}

/* Loops over the region, spatial ones first: an init block inside these, then reduce loops and the update block. */
static nest_id build(struct loop_prog *p, stage_id id, const poly *lo, const poly *extent, const char *infix, bool init, bool update)
{
	nest_id top = nest_seq(p, 0), seq = top, iblock = 0, ublock = 0;
	poly at[LOOP_AXES_MAX];
	bool whole[LOOP_AXES_MAX];
	int naxes = update ? lstage(p, id)->naxes : lstage(p, id)->nspatial;
	init &= !update || lstage(p, id)->comb != COMB_NONE;
	for (int a = 0; a <= naxes; a++) {
		if (a == lstage(p, id)->nspatial && init) {
			iblock = nest_block(p, id, BLOCK_INIT);
			nest_insert(p, seq, lnest(p, seq)->kid.n, iblock);
		}
		if (a == naxes)
			break;
		const struct axis *x = &lstage(p, id)->axis[a];
		sym name = intern_printf("%s.%s%s", sym_str(lstage(p, id)->name), infix, sym_str(x->name));
		bool reduce = a >= lstage(p, id)->nspatial;
		nest_id f = nest_for(p, name, extent[a], reduce, id);
		lnest(p, f)->scan = lstage(p, id)->axis[a].kind == AXIS_SCAN;
		nest_insert(p, seq, lnest(p, seq)->kid.n, f);
		seq = nest_body(p, f);
		at[a] = poly_add(p->P, lo[a], poly_of(p->P, lnest(p, f)->var));
		int64_t l, e;
		x = &lstage(p, id)->axis[a];
		whole[a] =
			poly_is_const(p->P, lo[a], &l) && l >= 0 &&
			(x->size != POLY_UNKNOWN ? !l && extent[a] == x->size : poly_is_const(p->P, extent[a], &e) && l + e <= x->extent);
	}
	if (update) {
		ublock = nest_block(p, id, BLOCK_UPDATE);
		nest_insert(p, seq, lnest(p, seq)->kid.n, ublock);
	}
	for (int a = 0; a < naxes; a++) {
		if (iblock && a < lstage(p, id)->nspatial)
			bind_axis(p, iblock, a, at[a], whole[a]);
		if (ublock)
			bind_axis(p, ublock, a, at[a], whole[a]);
	}
	if (lnest(p, top)->kid.n == 1) {
		nest_id only = lnest(p, top)->kid.a[0];
		lnest(p, only)->parent = 0;
		return only;
	}
	return top; /* a rank 0 reduction: init, then loops */
}

nest_id nest_of_stage(struct loop_prog *p, stage_id s, const poly *lo, const poly *extent)
{
	return build(p, s, lo, extent, "", true, true);
}

nest_id nest_of_phase(struct loop_prog *p, stage_id s, enum block_phase phase, const char *infix, const poly *lo, const poly *extent)
{
	return build(p, s, lo, extent, infix, phase == BLOCK_INIT, phase == BLOCK_UPDATE);
}

poly bind_poly(struct loop_prog *p, const struct nest *block, poly e)
{
	poly_var v[LOOP_AXES_MAX];
	poly by[LOOP_AXES_MAX];
	int n = 0;
	const struct stage *s = lstage(p, block->stage);
	for (int a = 0; a < s->naxes; a++)
		if (block->bind[a] != POLY_UNKNOWN) {
			v[n] = s->axis[a].var;
			by[n++] = block->bind[a];
		}
	return poly_subst_many(p->P, e, n, v, by);
}

/* The loops whose variables are replaced by their least or greatest values. */
struct bounding {
	struct loop_prog *p;
	int n;
	const nest_id *loops;
};

static poly bound(struct bounding *b, poly e, bool upper);

static poly bound_atom(struct bounding *b, uint32_t atom, bool upper)
{
	struct polys *P = b->p->P;
	struct poly_atom a = *poly_atom(P, atom);
	if (a.kind == POLY_VAR) {
		for (int i = 0; i < b->n; i++)
			if (lnest(b->p, b->loops[i])->var == a.var) /* the extent can depend on other loops of the list */
				return upper ? bound(b, poly_addc(P, lnest(b->p, b->loops[i])->extent, -1), true) : poly_const(P, 0);
		return poly_of(P, a.var);
	}
	poly x = bound(b, a.a, upper);
	if (x == POLY_UNKNOWN)
		return x;
	if (a.kind == POLY_FLOOR)
		return poly_floordiv(P, x, a.c);
	poly y = bound(b, a.b, upper);
	if (y == POLY_UNKNOWN)
		return y;
	return a.kind == POLY_MIN ? poly_min(P, x, y) : poly_max(P, x, y);
}

static poly bound(struct bounding *b, poly e, bool upper)
{
	struct polys *P = b->p->P;
	poly sum = poly_const(P, 0);
	for (int i = 0, n = poly_nterms(P, e); i < n; i++) {
		int natoms;
		const uint32_t *atoms;
		int64_t c = poly_term(P, e, i, &natoms, &atoms);
		if (natoms > 1)
			return POLY_UNKNOWN;
		uint32_t atom = natoms ? atoms[0] : 0;
		poly t = natoms ? bound_atom(b, atom, c > 0 ? upper : !upper) : poly_const(P, 1);
		sum = poly_add(P, sum, poly_mulc(P, t, c));
	}
	return sum;
}

bool poly_linear_part(struct polys *P, poly e, poly_var v, poly *coef, poly *rest)
{
	*coef = poly_const(P, 0);
	*rest = e;
	for (int i = 0, n = poly_nterms(P, e); i < n; i++) {
		int natoms, mine = 0;
		const uint32_t *atoms;
		poly c = poly_const(P, poly_term(P, e, i, &natoms, &atoms)), t = c;
		for (int k = 0; k < natoms; k++) {
			poly_term(P, e, i, &natoms, &atoms);
			struct poly_atom a = *poly_atom(P, atoms[k]);
			poly x = a.kind == POLY_VAR     ? poly_of(P, a.var)
				 : a.kind == POLY_FLOOR ? poly_floordiv(P, a.a, a.c)
				 : a.kind == POLY_MIN   ? poly_min(P, a.a, a.b)
							: poly_max(P, a.a, a.b);
			bool is = a.kind == POLY_VAR && a.var == v;
			if (!is && poly_uses(P, x, v))
				return false;
			mine += is;
			t = poly_mul(P, t, x);
			c = is ? c : poly_mul(P, c, x);
		}
		if (mine > 1)
			return false;
		if (mine) {
			*coef = poly_add(P, *coef, c);
			*rest = poly_sub(P, *rest, t);
		}
	}
	return *rest != POLY_UNKNOWN && *coef != POLY_UNKNOWN;
}

/* 1, -1, or 0: e is zero, or of either sign. */
static int sign_of(struct polys *P, poly e)
{
	int64_t lo, hi;

	poly_range(P, e, &lo, &hi);
	return lo > 0 || (lo == 0 && hi > 0) ? 1 : hi < 0 || (hi == 0 && lo < 0) ? -1 : 0;
}

/* e at the least or greatest that loop l makes of it. In a loop over tiles, begin and size of a tile are at most its elements together. */
static poly bound_loop(struct loop_prog *p, poly e, nest_id l, bool upper)
{
	struct polys *P = p->P;
	const struct nest n = *lnest(p, l);
	poly c, d, rest, zero = poly_const(P, 0);

	if (!poly_uses(P, e, n.var) && !(n.len && poly_uses(P, e, n.len)))
		return e;
	if (!poly_linear_part(P, e, n.var, &c, &rest))
		return POLY_UNKNOWN;
	int s = sign_of(P, c);
	if (c != zero && !s)
		return POLY_UNKNOWN;
	bool most = (s > 0) == upper; /* the greatest value of the variable is asked for */
	if (!n.len) {
		poly last = poly_addc(P, n.extent, -1);
		return c == zero ? rest : poly_add(P, rest, poly_mul(P, c, most ? last : zero));
	}
	if (!poly_linear_part(P, rest, n.len, &d, &rest))
		return POLY_UNKNOWN;
	int t = sign_of(P, d);
	if (d != zero && !t)
		return POLY_UNKNOWN;
	poly whole = poly_sub(P, d, c);
	if (s && t && s == t && most) { /* d (begin + size) and what is left of begin; or c of both and more size */
		int more = sign_of(P, whole);
		if (whole == zero)
			return poly_add(P, rest, poly_mul(P, c, n.elems));
		if (more == s)
			return poly_add(P, poly_add(P, rest, poly_mul(P, c, n.elems)), poly_mulc(P, whole, n.step));
		if (more == -s)
			return poly_add(P, poly_add(P, rest, poly_mul(P, d, n.elems)),
					poly_mul(P, poly_sub(P, c, d), poly_addc(P, n.elems, -1)));
		return POLY_UNKNOWN;
	}
	if (c != zero && most)
		rest = poly_add(P, rest, poly_mul(P, c, poly_addc(P, n.elems, -1)));
	if (d != zero)
		rest = poly_add(P, rest, poly_mulc(P, d, (t > 0) == upper ? n.step : 1));
	return rest;
}

/* The same where extents have parameters, from the inner loops to the outer ones. */
static poly bound_varying(struct loop_prog *p, poly e, int n, const nest_id *loops, bool upper)
{
	for (int i = n - 1; i >= 0 && e != POLY_UNKNOWN; i--)
		e = bound_loop(p, e, loops[i], upper);
	return e;
}

poly bound_over(struct loop_prog *p, poly e, int n, const nest_id *loops, bool upper)
{
	if (e == POLY_UNKNOWN)
		return e;
	if (p->params.n)
		return bound_varying(p, e, n, loops, upper);
	struct bounding b = {p, n, loops};
	return bound(&b, e, upper);
}

/* A region in the making: of buffer b, joined over the accesses seen so far. */
struct region {
	buf_id b;
	nest_id under;
	bool reads, writes, any;
	poly *lo, *hi;
	const struct nest *block;
	int nloops;
	nest_id loops[NEST_DEPTH_MAX];
};

static void region_add(struct loop_prog *p, struct region *r, int dim, poly at, bool all)
{
	poly lo = all ? POLY_UNKNOWN : bound_over(p, at, r->nloops, r->loops, false);
	poly hi = all ? POLY_UNKNOWN : bound_over(p, at, r->nloops, r->loops, true);
	if (lo == POLY_UNKNOWN || hi == POLY_UNKNOWN) {
		lo = poly_const(p->P, 0);
		hi = poly_addc(p->P, buf_dim(p, r->b, dim), -1);
	}
	r->lo[dim] = r->any ? poly_min(p->P, r->lo[dim], lo) : lo;
	r->hi[dim] = r->any ? poly_max(p->P, r->hi[dim], hi) : hi;
}

static void region_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct region *r = arg;
	if (lex(p, read)->buf != r->b)
		return;
	for (int d = 0; d < lex(p, read)->n; d++)
		region_add(p, r, d, bind_poly(p, r->block, lex(p, read)->index[d]), d == lex(p, read)->dyn_dim);
	r->any = true;
}

static void region_block(struct loop_prog *p, nest_id n, void *arg)
{
	struct region *r = arg;
	if (lnest(p, n)->kind != NEST_BLOCK)
		return;
	nest_id all[NEST_DEPTH_MAX];
	int k = nest_loops(p, n, all);
	r->nloops = 0;
	for (int i = 0; i < k; i++)
		if (all[i] != r->under && nest_inside(p, all[i], r->under))
			r->loops[r->nloops++] = all[i];
	r->block = lnest(p, n);
	if (r->writes && lstage(p, r->block->stage)->out == r->b) {
		for (int d = 0; d < lstage(p, r->block->stage)->nspatial; d++)
			region_add(p, r, d, r->block->bind[d], false);
		r->any = true;
	}
	if (r->reads && r->block->phase == BLOCK_UPDATE)
		ex_reads(p, lstage(p, r->block->stage)->body, region_read, r);
}

bool region_of(struct loop_prog *p, buf_id b, nest_id under, bool reads, bool writes, poly *lo, poly *extent)
{
	poly hi[LOOP_RANK_MAX];
	struct region r = {.b = b, .under = under, .reads = reads, .writes = writes, .lo = lo, .hi = hi};
	nest_walk(p, under, region_block, &r);
	if (!r.any)
		return false;
	for (int d = 0; d < lbuf(p, b)->rank; d++) {
		int64_t l, h, e;
		int64_t size = lbuf(p, b)->shape[d];
		if (poly_is_const(p->P, lo[d], &l) && l < 0)
			lo[d] = poly_const(p->P, l = 0);
		if (lbuf(p, b)->dim[d] != POLY_UNKNOWN) {
			poly_range(p->P, poly_sub(p->P, hi[d], lbuf(p, b)->dim[d]), &l, &h);
			hi[d] = l >= -1 ? poly_addc(p->P, lbuf(p, b)->dim[d], -1) : hi[d];
		} else if (poly_is_const(p->P, hi[d], &h) && h >= size) {
			hi[d] = poly_const(p->P, size - 1);
		}
		extent[d] = poly_addc(p->P, poly_sub(p->P, hi[d], lo[d]), 1);
		poly_range(p->P, extent[d], &l, &e);
		if (e > size) { /* the bounds say less than the shape does */
			lo[d] = poly_const(p->P, 0);
			extent[d] = buf_dim(p, b, d);
		}
	}
	return true;
}

struct blocks {
	stage_id s;
	nest_id *out;
	int n, max;
};

static void collect(struct loop_prog *p, nest_id n, void *arg)
{
	struct blocks *b = arg;
	if (lnest(p, n)->kind != NEST_BLOCK || (b->s && lnest(p, n)->stage != b->s))
		return;
	if (b->out && b->n < b->max)
		b->out[b->n] = n;
	b->n++;
}

int nest_blocks(struct loop_prog *p, nest_id n, stage_id s, nest_id *out, int max)
{
	struct blocks b = {s, out, 0, max};
	nest_walk(p, n, collect, &b);
	return b.n;
}

nest_id *nest_list(struct loop_prog *p, nest_id n, stage_id s, int *count)
{
	*count = nest_blocks(p, n, s, NULL, 0);
	nest_id *list = ARENA_ARRAY(&p->arena, nest_id, *count + 1);
	nest_blocks(p, n, s, list, *count);
	return list;
}

nest_id stage_whole(struct loop_prog *p, stage_id s) { return stage_whole_in(p, p->root, s); }

nest_id stage_whole_in(struct loop_prog *p, nest_id seq, stage_id s)
{
	const struct nest *in = lnest(p, seq);
	nest_id only = 0;
	for (size_t i = 0; i < in->kid.n; i++) {
		int mine = nest_blocks(p, in->kid.a[i], s, NULL, 0);
		if (!mine)
			continue;
		if (only || mine != nest_blocks(p, in->kid.a[i], 0, NULL, 0))
			return 0;
		only = in->kid.a[i];
	}
	if (!only)
		return 0;
	for (int a = 0; a < lstage(p, s)->naxes; a++) /* its loops have the names of its axes, so none has been split */
		if (!loop_find(p, arena_printf(&p->arena, "%s.%s", sym_str(lstage(p, s)->name), sym_str(lstage(p, s)->axis[a].name))))
			return 0;
	return only;
}

const char *sole_writer(struct loop_prog *p, stage_id s)
{
	for (stage_id t = 1; t < p->stages.n; t++)
		if (t != s && !lstage(p, t)->gone && lstage(p, t)->out == lstage(p, s)->out && nest_blocks(p, p->root, t, NULL, 0))
			return whynot(p, "%s writes %s too", sym_str(lstage(p, t)->name), sym_str(lbuf(p, lstage(p, s)->out)->name));
	return NULL;
}

static bool reads_it(struct loop_prog *p, ex_id e, void *arg) { return lex(p, e)->kind == EX_READ && lex(p, e)->buf == *(buf_id *)arg; }

bool stage_reads(struct loop_prog *p, stage_id t, buf_id b) { return ex_find(p, lstage(p, t)->body, reads_it, &b); }

struct read_list {
	ex_id *out;
	int n, max;
};

static void list_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct read_list *r = arg;
	if (r->n < r->max)
		r->out[r->n] = read;
	r->n++;
}

int stage_reads_of(struct loop_prog *p, stage_id s, ex_id *out, int max)
{
	struct read_list r = {out, 0, max};
	ex_reads(p, lstage(p, s)->body, list_read, &r);
	return r.n;
}
