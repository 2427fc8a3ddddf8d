/* Primitives on loops: split, fuse, reorder, marks; and on buffers: layout, scope; inline. */
#include "loop/prim.h"
#include <string.h>
#include "common/msg.h"
#include "loop/nest.h"

static const int64_t STEPS_MAX = 1ll << 40; /* of a loop that a primitive makes */

static nest_id find_loop(struct loop_prog *p, nest_id n, sym name, bool in_calls)
{
	nest_id found = 0;
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_CALL && !in_calls)
		return 0;
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->name == name)
		return n;
	for (size_t i = 0; i < lnest(p, n)->kid.n && !found; i++)
		found = find_loop(p, lnest(p, n)->kid.a[i], name, in_calls);
	return found;
}

nest_id loop_find(struct loop_prog *p, const char *name) { return find_loop(p, p->root, intern(name), false); }

const char *loop_missing(struct loop_prog *p, const char *name)
{
	return whynot(p, find_loop(p, p->root, intern(name), true) ? "%s is part of a call" : "no loop %s", name);
}

/* The loop, or NULL with the reason in *why. */
static nest_id want_loop(struct loop_prog *p, const char *name, const char **why)
{
	nest_id n = loop_find(p, name);
	if (!n)
		*why = loop_missing(p, name);
	return n;
}

static bool marked(const struct nest *l) { return l->mark != LOOP_SERIAL || l->outline || l->ahead.n; }

/* The value of the split loop in its parts, and the inner extents, from the outside in. */
struct parts {
	int n; /* parts: inner factors + 1 */
	poly extent[LOOP_AXES_MAX];
	VEC(int64_t) cut; /* of part 0 */
};

/* Two parts of a constant extent; sets the parts' extents, the outer loop's cuts and what the old variable is,
 * as base (of the outer variable vo, made here) plus the inner variable. */
static poly split_base(struct loop_prog *p, poly extent, int64_t f, enum split_tail tail, poly vo, struct parts *q)
{
	struct polys *P = p->P;
	int64_t e = 0;
	bool fixed = poly_is_const(P, extent, &e);
	poly base = poly_mulc(P, vo, f);
	q->extent[1] = poly_const(P, f);
	if (tail == TAIL_GUARD || tail == TAIL_PAD || !fixed || e % f == 0)
		return base;
	int64_t n = (e + f - 1) / f;
	if (tail == TAIL_PEEL) {
		q->extent[1] = poly_min(P, poly_const(P, f), poly_sub(P, extent, base));
		vec_push(&q->cut, e / f);
	} else if (tail == TAIL_BALANCE) {
		int64_t size = e / n, more = e % n;
		poly left = poly_max(P, poly_const(P, 0), poly_sub(P, poly_const(P, more), vo));
		base = poly_add(P, poly_mulc(P, vo, size), poly_min(P, vo, poly_const(P, more)));
		q->extent[1] = poly_addc(P, poly_min(P, poly_const(P, 1), left), size);
		vec_push(&q->cut, more);
	} else {
		base = poly_min(P, base, poly_const(P, e - f));
		vec_push(&q->cut, n - 1);
	}
	return base;
}

/* Guards e >= 0 on every block below n that depends on the loop at all. */
static void guard_below(struct loop_prog *p, nest_id n, poly e)
{
	int k;
	nest_id *block = nest_list(p, n, 0, &k);
	for (int i = 0; i < k; i++)
		vec_push(&lnest(p, block[i])->guard, e);
}

/* Would an index below n, which uses v, be too large for a number with `by` in its place? */
static bool too_large(struct loop_prog *p, nest_id n, poly_var v, poly by)
{
	int k;
	nest_id *block = nest_list(p, n, 0, &k);
	bool found = by == POLY_UNKNOWN;
	for (int i = 0; i < k; i++) {
		const struct nest *x = lnest(p, block[i]);
		for (int a = 0; a < lstage(p, x->stage)->naxes; a++)
			found |= x->bind[a] != POLY_UNKNOWN && poly_subst(p->P, x->bind[a], v, by) == POLY_UNKNOWN;
	}
	return found;
}

/* outer takes the place of loop id, inner its body, in which `whole` stands for its variable now. */
static void put_in_place(struct loop_prog *p, nest_id id, nest_id outer, nest_id inner, poly whole)
{
	nest_id body = lnest(p, id)->kid.a[0];
	nest_id seq = lnest(p, id)->parent;
	size_t at = nest_index(p, id);
	lnest(p, inner)->kid.a[0] = body;
	lnest(p, body)->parent = inner;
	nest_insert(p, nest_body(p, outer), 0, inner);
	lnest(p, seq)->kid.a[at] = outer;
	lnest(p, outer)->parent = seq;
	poly_var v = lnest(p, id)->var;
	nest_subst(p, inner, 1, &v, &whole);
}

/* The loop over tiles of `step` elements of elems, in place of one with that extent. */
static void make_tiles(struct loop_prog *p, nest_id id, poly elems, int64_t step)
{
	int64_t lo, hi;
	poly_range(p->P, elems, &lo, &hi);
	int64_t last = hi == POLY_INF ? hi : hi > step ? (hi - 1) / step * step : 0;
	struct nest *n = lnest(p, id);
	n->var = poly_var_new(p->P, n->name, 0, last, step);
	n->len = poly_var_new(p->P, n->name, 1, hi > 0 && hi < step ? hi : step, 1);
	n->step = step;
	n->elems = elems;
	n->extent = poly_ceildiv(p->P, elems, step);
}

/* Splits a loop whose extent varies with the parameters. Whatever the tail is to be, the last tile is shorter: loop_legalize makes it
 * nests of their own. */
static const char *split_varying(struct loop_prog *p, nest_id id, int64_t f, const char *name0, const char *name1)
{
	struct polys *P = p->P;
	struct nest l = *lnest(p, id);
	int64_t rest;
	bool even = !l.step && poly_is_const(P, poly_mod(P, l.extent, f), &rest) && !rest;
	nest_id outer = nest_for(p, intern(name0), poly_ceildiv(P, l.extent, f), l.reduce, l.of);
	poly whole, size = poly_const(P, f);
	if (!even) {
		int64_t step = (l.step ? l.step : 1) * f;
		if (step > STEPS_MAX)
			return whynot(p, "factor %ld of %s is too large", (long)f, sym_str(l.name));
		make_tiles(p, outer, l.step ? l.elems : l.extent, step);
		size = poly_of(P, lnest(p, outer)->len);
	}
	nest_id inner = nest_for(p, intern(name1), size, l.reduce, l.of);
	if (l.step) {
		make_tiles(p, inner, size, l.step);
		poly_var v = l.len;
		poly by = poly_of(P, lnest(p, inner)->len);
		nest_subst(p, nest_body(p, id), 1, &v, &by);
	}
	lnest(p, outer)->overlap = l.overlap;
	lnest(p, outer)->scan = lnest(p, inner)->scan = l.scan;
	whole = poly_of(P, lnest(p, outer)->var);
	whole = poly_add(P, even ? poly_mulc(P, whole, f) : whole, poly_of(P, lnest(p, inner)->var));
	put_in_place(p, id, outer, inner, whole);
	return NULL;
}

/* A loop of varying length whose steps too many do nothing. */
static bool guards_rest(struct loop_prog *p, nest_id id, enum split_tail tail)
{
	return tail == TAIL_GUARD && !lnest(p, id)->step && prog_fixed(p, lnest(p, id)->extent);
}

static const char *split_two(struct loop_prog *p, nest_id id, int64_t f, enum split_tail tail, const char *name0, const char *name1)
{
	struct polys *P = p->P;
	struct nest *l = lnest(p, id);
	int64_t e = 0;
	bool fixed = poly_is_const(P, l->extent, &e);
	if (f < 1)
		return whynot(p, "factor %ld of %s is less than 1", (long)f, sym_str(l->name));
	if (l->cut.n)
		return whynot(p, "%s is cut already; split it the other way round", sym_str(l->name));
	if (l->mark != LOOP_SERIAL)
		return whynot(p, "%s is marked", sym_str(l->name));
	if (!fixed && p->params.n && !guards_rest(p, id, tail))
		return split_varying(p, id, f, name0, name1);
	if (!fixed && tail != TAIL_GUARD && tail != TAIL_PEEL)
		return whynot(p, "%s has an extent that varies: only tail=guard or peel", sym_str(l->name));
	if (fixed && f > e && tail != TAIL_PAD && tail != TAIL_GUARD)
		f = e > 0 ? e : 1;
	struct parts q = {0};
	poly old_extent = l->extent;
	nest_id outer = nest_for(p, intern(name0), poly_ceildiv(P, old_extent, f), lnest(p, id)->reduce, lnest(p, id)->of);
	poly vo = poly_of(P, lnest(p, outer)->var);
	poly base;
	if (!fixed && tail == TAIL_PEEL) {
		base = poly_mulc(P, vo, f);
		q.extent[1] = poly_min(P, poly_const(P, f), poly_sub(P, old_extent, base));
		lnest(p, outer)->tail_at = poly_floordiv(P, old_extent, f);
	} else {
		base = split_base(p, old_extent, f, tail, vo, &q);
	}
	nest_id inner = nest_for(p, intern(name1), q.extent[1], lnest(p, id)->reduce, lnest(p, id)->of);
	lnest(p, outer)->overlap = lnest(p, id)->overlap || tail == TAIL_OVERLAP;
	lnest(p, outer)->scan = lnest(p, inner)->scan = lnest(p, id)->scan;
	for (size_t i = 0; i < q.cut.n; i++)
		vec_push(&lnest(p, outer)->cut, q.cut.a[i]);
	vec_free(&q.cut);
	poly whole = poly_add(P, base, poly_of(P, lnest(p, inner)->var));
	if (fixed && f > e && too_large(p, id, lnest(p, id)->var, whole)) /* else it is at most twice what it was */
		return whynot(p, "factor %ld of %s is too large", (long)f, sym_str(lnest(p, id)->name));
	put_in_place(p, id, outer, inner, whole);
	int64_t lo, hi;
	if (tail == TAIL_GUARD) {
		poly room = poly_addc(P, poly_sub(P, old_extent, whole), -1);
		poly_range(P, room, &lo, &hi);
		if (lo < 0)
			guard_below(p, inner, room);
	}
	return NULL;
}

/* Does buffer b have room for `size` elements along dim d, by its layout's blocks? What lies there is zero. */
static bool layout_room(const struct loop_buf *b, int d, int64_t size)
{
	for (int i = 0; i < b->layout.n; i++) {
		int64_t block = b->layout.part[i].mod;
		if (b->layout.part[i].axis == d && block && (b->shape[d] + block - 1) / block * block >= size)
			return true;
	}
	return false;
}

/* The copy that stage w makes grows along its axis d: zero behind what there was. */
static const char *grow_copy(struct loop_prog *p, stage_id w, int d, int64_t size)
{
	struct stage *s = lstage(p, w);
	const char *name = arena_printf(&p->arena, "%s.%s", sym_str(s->name), sym_str(s->axis[d].name));
	nest_id loop = loop_find(p, name);
	int64_t e;
	if (!loop || s->comb != COMB_NONE || !poly_is_const(p->P, lnest(p, loop)->extent, &e) || e != s->axis[d].extent ||
	    lnest(p, loop)->cut.n || nest_blocks(p, loop, 0, NULL, 0) != nest_blocks(p, loop, w, NULL, 0))
		return whynot(p, "tail=pad: %s is scheduled already", sym_str(s->name));
	poly_var v = poly_var_new(p->P, s->axis[d].name, 0, size - 1, 1), lv = poly_var_new(p->P, s->axis[d].name, 0, size - 1, 1);
	poly by = poly_of(p->P, v), room = poly_addc(p->P, poly_mulc(p->P, by, -1), s->axis[d].extent - 1);
	ex_id body = ex_subst(p, s->body, 1, &s->axis[d].var, &by);
	body = ex_guard(p, 1, &room, body, ex_const(p, lbuf(p, lstage(p, w)->out)->dtype, 0));
	s = lstage(p, w);
	s->body = body;
	s->axis[d].var = v;
	s->axis[d].extent = lbuf(p, s->out)->shape[d] = lbuf(p, s->out)->extent[d] = size;
	poly lby = poly_of(p->P, lv);
	nest_subst(p, loop, 1, &lnest(p, loop)->var, &lby);
	lnest(p, loop)->var = lv;
	lnest(p, loop)->extent = poly_const(p->P, size);
	return NULL;
}

static const char *pad_reads(struct loop_prog *p, stage_id s, int axis, int64_t size, bool grow);

/* The axis of stage s, which is that of its result, has so many steps from now on; so has its loop. */
static void widen_axis(struct loop_prog *p, stage_id of, int axis, nest_id loop, int64_t size)
{
	struct stage *s = lstage(p, of);
	poly_var v = poly_var_new(p->P, s->axis[axis].name, 0, size - 1, 1); /* ranges over the padding too */
	poly by = poly_of(p->P, v);
	ex_id body = ex_subst(p, s->body, 1, &s->axis[axis].var, &by);

	s = lstage(p, of);
	s->axis[axis].extent = size;
	lbuf(p, s->out)->shape[axis] = lbuf(p, s->out)->extent[axis] = size;
	s->body = body;
	s->axis[axis].var = v;
	lnest(p, loop)->extent = poly_const(p->P, size);
}

/* The sums that stage w makes grow along its axis d: of what there is in the room behind it. */
static const char *grow_sums(struct loop_prog *p, stage_id w, int d, int64_t size, bool grow)
{
	struct stage *s = lstage(p, w);
	nest_id loop = loop_find(p, arena_printf(&p->arena, "%s.%s", sym_str(s->name), sym_str(s->axis[d].name)));
	const char *why = sole_writer(p, w);
	int64_t e;

	if (!why &&
	    (s->scan || s->axis[d].kind == AXIS_SCAN || !loop || !poly_is_const(p->P, lnest(p, loop)->extent, &e) ||
	     e != s->axis[d].extent || lnest(p, loop)->cut.n || nest_blocks(p, loop, 0, NULL, 0) != nest_blocks(p, p->root, w, NULL, 0)))
		why = whynot(p, "tail=pad: %s is scheduled already", sym_str(s->name));
	if (!why && !(why = pad_reads(p, w, d, size, grow)) && grow)
		widen_axis(p, w, d, loop, size);
	return why;
}

/* What stage s reads along its axis must have room up to size. grow: and is given it, where it can be. */
static const char *pad_reads(struct loop_prog *p, stage_id s, int axis, int64_t size, bool grow)
{
	int n = stage_reads_of(p, s, NULL, 0);
	ex_id *read = ARENA_ARRAY(&p->arena, ex_id, n + 1);
	stage_reads_of(p, s, read, n);
	for (int i = 0; i < n; i++)
		for (int d = 0; d < lex(p, read[i])->n; d++) {
			poly_var v = lstage(p, s)->axis[axis].var, more = poly_var_new(p->P, 0, 0, size - 1, 1);
			buf_id b = lex(p, read[i])->buf;
			const char *name = sym_str(lbuf(p, b)->name);
			int64_t lo, was, hi, least;
			poly_range(p->P, lex(p, read[i])->index[d], &least, &was);
			poly_range(p->P, poly_subst(p->P, lex(p, read[i])->index[d], v, poly_of(p->P, more)), &lo, &hi);
			if (lo < 0 && least >= 0)
				return whynot(p, "tail=pad: %s is read backwards", name);
			if (hi < lbuf(p, b)->shape[d] || was >= lbuf(p, b)->shape[d])
				continue; /* inside, or guarded anyway */
			if (lex(p, read[i])->index[d] != poly_of(p->P, v))
				return whynot(p, "tail=pad: %s is not read element by element", name);
			stage_id w = buf_writer(p, b);
			const char *why = NULL;
			if (lbuf(p, b)->scope == SCOPE_CONST && layout_room(lbuf(p, b), d, size))
				continue;
			if (lbuf(p, b)->scope < SCOPE_SCRATCH || !w)
				return whynot(p, "tail=pad: %s has no room", name);
			if (lstage(p, w)->comb != COMB_NONE)
				why = grow_sums(p, w, d, size, grow);
			else if (grow)
				why = grow_copy(p, w, d, size);
			if (why)
				return why;
		}
	return NULL;
}

/* Padding rounds the axis itself up: what it writes must be a buffer of ours, what it reads must have room. */
static const char *pad_axis(struct loop_prog *p, nest_id id, int64_t f)
{
	stage_id of = lnest(p, id)->of;
	struct stage *s = lstage(p, of);
	const char *name = sym_str(lnest(p, id)->name), *why;
	int64_t e;
	if (!poly_is_const(p->P, lnest(p, id)->extent, &e))
		return whynot(p, "%s has an extent that varies", name);
	if (e % f == 0)
		return NULL;
	if (lbuf(p, s->out)->scope < SCOPE_SCRATCH)
		return whynot(p, "tail=pad: %s is of the kernel's interface", sym_str(lbuf(p, s->out)->name));
	int axis = -1;
	for (int a = 0; a < s->naxes; a++)
		if (!strcmp(name + strlen(sym_str(s->name)) + 1, sym_str(s->axis[a].name)))
			axis = a;
	if (axis < 0 || e != s->axis[axis].extent)
		return whynot(p, "tail=pad: %s is not a whole axis", name);
	if (axis >= s->nspatial)
		return whynot(p, "tail=pad: %s is a reduction", name);
	if (s->axis[axis].kind == AXIS_SCAN)
		return whynot(p, "tail=pad: %s is a scan", name);
	int64_t padded = (e + f - 1) / f * f;
	if ((why = sole_writer(p, of)))
		return why;
	int mine = nest_blocks(p, id, of, NULL, 0);
	if (mine != nest_blocks(p, id, 0, NULL, 0) || mine != nest_blocks(p, p->root, of, NULL, 0))
		return whynot(p, "tail=pad: %s is scheduled already", sym_str(s->name));
	if ((why = pad_reads(p, of, axis, padded, false)) || (why = pad_reads(p, of, axis, padded, true)))
		return why;
	widen_axis(p, of, axis, id, padded);
	return NULL;
}

/* NULL if every reduction below loop l is set to its identity there too. */
static const char *adds_to_outside(struct loop_prog *p, nest_id l)
{
	int n;
	nest_id *block = nest_list(p, l, 0, &n);
	for (int i = 0; i < n; i++) {
		stage_id s = lnest(p, block[i])->stage;
		if (lstage(p, s)->comb == COMB_NONE || lnest(p, block[i])->phase != BLOCK_UPDATE)
			continue;
		bool set = false;
		for (int j = 0; j < n; j++) {
			const struct nest *k = lnest(p, block[j]);
			set |= lstage(p, k->stage)->out == lstage(p, s)->out &&
			       (k->phase == BLOCK_INIT || lstage(p, k->stage)->comb == COMB_NONE);
		}
		if (!set || sole_writer(p, s))
			return whynot(p, "tail=overlap: %s goes on adding to what is set outside %s", sym_str(lstage(p, s)->name),
				      sym_str(lnest(p, l)->name));
	}
	return NULL;
}

const char *prim_split(struct loop_prog *p, const char *loop, int n, const int64_t *factor, enum split_tail tail)
{
	const char *why = NULL;
	nest_id id = want_loop(p, loop, &why);
	if (!id)
		return why;
	int64_t inner = 1;
	for (int i = 0; i < n; i++) {
		if (factor[i] < 1)
			return whynot(p, "factor %ld is less than 1", (long)factor[i]);
		if (__builtin_mul_overflow(inner, factor[i], &inner) || inner > STEPS_MAX)
			return whynot(p, "the factors of %s make more than 2^40", loop);
	}
	if ((why = nest_fits(p, id, nest_height(p, id) - 1 + n)))
		return why;
	if (marked(lnest(p, id)) || lnest(p, id)->cut.n)
		return whynot(p, "%s is marked or cut already", loop);
	if (p->params.n && !poly_is_const(p->P, lnest(p, id)->extent, NULL) && !guards_rest(p, id, tail))
		tail = TAIL_PEEL;
	if (tail != TAIL_GUARD && tail != TAIL_PEEL && lnest(p, id)->scan)
		return whynot(p, "%s is a scan: only tail=guard or peel", loop);
	if (tail == TAIL_OVERLAP && lnest(p, id)->reduce)
		return whynot(p, "tail=overlap: %s is a reduction, what it adds twice counts twice", loop);
	if (tail == TAIL_OVERLAP && (why = adds_to_outside(p, id)))
		return why;
	if (tail == TAIL_PAD && (why = pad_axis(p, id, inner)))
		return why;
	/* L becomes L.0 and the rest L.1, whose size is the product of the factors; then the rest is split again,
	 * exactly but where a shorter last tile is in it. */
	const char *rest = loop;
	for (int i = 0; i < n && !why; i++) {
		const char *outer = i ? rest : arena_printf(&p->arena, "%s.0", loop);
		const char *last = arena_printf(&p->arena, "%s.%d", loop, i + 1);
		why = split_two(p, loop_find(p, rest), inner, i ? TAIL_PEEL : tail, outer, last);
		inner /= factor[i];
		rest = last;
	}
	return why;
}

/* inner is the only thing in outer's body */
static bool directly_nested(struct loop_prog *p, nest_id outer, nest_id inner)
{
	struct nest *b = lnest(p, nest_body(p, outer));
	return b->kid.n == 1 && b->kid.a[0] == inner;
}

const char *prim_fuse(struct loop_prog *p, const char *a, const char *b)
{
	const char *why = NULL;
	nest_id outer = want_loop(p, a, &why), inner = outer ? want_loop(p, b, &why) : 0;
	if (!inner)
		return why;
	int64_t eo, ei, steps = 0;
	if (!directly_nested(p, outer, inner))
		return whynot(p, "%s is not directly inside %s", b, a);
	poly both = poly_mul(p->P, lnest(p, outer)->extent, lnest(p, inner)->extent);
	bool varies = p->params.n && !lnest(p, outer)->step && prog_fixed(p, both);
	if ((!poly_is_const(p->P, lnest(p, outer)->extent, &eo) && !varies) || !poly_is_const(p->P, lnest(p, inner)->extent, &ei))
		return whynot(p, "fuse: an extent varies");
	if (!varies && (__builtin_mul_overflow(eo, ei, &steps) || steps > STEPS_MAX))
		return whynot(p, "fuse: more than 2^40 steps");
	if (lnest(p, outer)->cut.n || lnest(p, inner)->cut.n)
		return whynot(p, "fuse: a loop is cut");
	if (marked(lnest(p, outer)) || marked(lnest(p, inner)))
		return whynot(p, "fuse: a loop is marked");
	if (lnest(p, outer)->scan || lnest(p, inner)->scan)
		return whynot(p, "fuse: %s is a scan", lnest(p, outer)->scan ? a : b);
	if (lnest(p, outer)->reduce != lnest(p, inner)->reduce)
		return whynot(p, "fuse: one is a reduction, the other is not");
	const char *last = strrchr(b, '.');
	nest_id f = nest_for(p, intern_printf("%s*%s", a, last ? last + 1 : b), varies ? both : poly_const(p->P, steps),
			     lnest(p, outer)->reduce, lnest(p, outer)->of);
	lnest(p, f)->overlap = lnest(p, outer)->overlap || lnest(p, inner)->overlap;
	poly v = poly_of(p->P, lnest(p, f)->var);
	poly_var vars[2] = {lnest(p, outer)->var, lnest(p, inner)->var};
	poly by[2] = {poly_floordiv(p->P, v, ei), poly_mod(p->P, v, ei)};
	nest_id body = lnest(p, inner)->kid.a[0], seq = lnest(p, outer)->parent;
	lnest(p, seq)->kid.a[nest_index(p, outer)] = f;
	lnest(p, f)->parent = seq;
	lnest(p, f)->kid.a[0] = body;
	lnest(p, body)->parent = f;
	nest_subst(p, f, 2, vars, by);
	return NULL;
}

const char *prim_reorder(struct loop_prog *p, int n, const char *const *names)
{
	nest_id l[NEST_DEPTH_MAX], chain[NEST_DEPTH_MAX];
	const char *why = NULL;
	if (n < 2 || n > NEST_DEPTH_MAX)
		return "reorder takes two or more loops";
	for (int i = 0; i < n; i++) {
		if (!(l[i] = want_loop(p, names[i], &why)))
			return why;
		for (int j = 0; j < i; j++)
			if (l[i] == l[j])
				return whynot(p, "%s is named twice", names[i]);
	}
	/* the chain from the outermost of them to the innermost */
	nest_id outer = l[0], inner = l[0];
	for (int i = 1; i < n; i++) {
		if (nest_inside(p, outer, l[i]))
			outer = l[i];
		if (nest_inside(p, l[i], inner))
			inner = l[i];
	}
	int k = 0;
	for (nest_id c = inner;; c = lnest(p, lnest(p, c)->parent)->parent) {
		if (!c || k == NEST_DEPTH_MAX || lnest(p, c)->kind != NEST_FOR)
			return "the loops are not on one chain";
		chain[k++] = c;
		if (c == outer)
			break;
		if (lnest(p, lnest(p, c)->parent)->kid.n != 1)
			return whynot(p, "there is more than %s in the loop around it", sym_str(lnest(p, c)->name));
	}
	/* place[i]: chain (inside out) positions that the named loops hold, outermost first */
	nest_id order[NEST_DEPTH_MAX];
	int next = 0;
	for (int i = k - 1; i >= 0; i--) {
		bool named = false;
		for (int j = 0; j < n; j++)
			named |= l[j] == chain[i];
		order[k - 1 - i] = named ? l[next++] : chain[i];
	}
	if (next != n)
		return "the loops are not on one chain";
	for (int i = 0; i < k; i++)
		for (int j = i; j < k; j++)
			if (poly_uses(p->P, lnest(p, order[i])->extent, lnest(p, order[j])->var) ||
			    (lnest(p, order[j])->len && poly_uses(p->P, lnest(p, order[i])->extent, lnest(p, order[j])->len)))
				return whynot(p, "the extent of %s depends on %s", sym_str(lnest(p, order[i])->name),
					      sym_str(lnest(p, order[j])->name));
	for (int i = 0; i < k; i++)
		if (nest_keeps_order(p, chain[i]) && order[k - 1 - i] != chain[i])
			return whynot(p, "nothing moves across %s, a scan", sym_str(lnest(p, chain[i])->name));
	for (int i = 0; i < k; i++)
		for (int j = 0; j < i && nest_keeps_order(p, order[i]); j++)
			if (!nest_inside(p, order[i], order[j]))
				return whynot(p, "nothing moves across %s, a scan", sym_str(lnest(p, order[i])->name));
	nest_id seq = lnest(p, outer)->parent;
	size_t at = nest_index(p, outer);
	nest_id body = nest_body(p, inner), seqs[NEST_DEPTH_MAX];
	for (int i = 0; i + 1 < k; i++)
		seqs[i] = nest_body(p, chain[k - 1 - i]);
	for (int i = 0; i < k; i++) {
		nest_id in = i + 1 < k ? seqs[i] : body;
		lnest(p, order[i])->kid.a[0] = in;
		lnest(p, in)->parent = order[i];
		if (i + 1 < k) {
			lnest(p, in)->kid.a[0] = order[i + 1];
			lnest(p, order[i + 1])->parent = in;
		}
	}
	lnest(p, seq)->kid.a[at] = order[0];
	lnest(p, order[0])->parent = seq;
	return NULL;
}

static void find_parallel(struct loop_prog *p, nest_id n, void *arg)
{
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_PARALLEL)
		*(nest_id *)arg = n;
}

/* A team does not start another. */
static const char *nested_parallel(struct loop_prog *p, nest_id loop)
{
	nest_id found = 0;

	nest_walk(p, loop, find_parallel, &found);
	for (nest_id n = loop; n; n = lnest(p, n)->parent)
		find_parallel(p, n, &found);
	return found ? whynot(p, "%s is parallel already, inside or around it", sym_str(lnest(p, found)->name)) : NULL;
}

const char *prim_mark(struct loop_prog *p, const char *loop, enum loop_mark mark, int unroll)
{
	const char *why = NULL;
	nest_id id = want_loop(p, loop, &why);
	if (!id)
		return why;
	struct nest *l = lnest(p, id);
	if (l->mark != LOOP_SERIAL)
		return whynot(p, "%s is marked already", loop);
	if ((mark == LOOP_PARALLEL || mark == LOOP_VECTOR) && l->scan)
		return whynot(p, "%s is a scan: each step needs the one before", loop);
	if (mark == LOOP_PARALLEL && l->reduce)
		return whynot(p, "%s is a reduction", loop);
	if (mark == LOOP_PARALLEL && ((why = nested_parallel(p, id)) || (why = outlined(p, id))))
		return why;
	if (mark == LOOP_PARALLEL && (why = parallel_races(p, id)))
		return why;
	if (mark == LOOP_VECTOR && l->ahead.n)
		return whynot(p, "%s prefetches: a vector has no iterations", loop);
	if (mark == LOOP_VECTOR) {
		struct nest *b = lnest(p, nest_body(p, id));
		for (size_t i = 0; i < b->kid.n; i++)
			if (lnest(p, b->kid.a[i])->kind != NEST_BLOCK)
				return whynot(p, "%s is not innermost", loop);
		int64_t lo, hi;
		poly_range(p->P, l->extent, &lo, &hi);
		if (hi > 16 && p->params.n && !poly_is_const(p->P, l->extent, NULL)) { /* usual sizes are one vector: so many of them */
			const char *lanes = arena_printf(&p->arena, "%s.lanes", loop);
			why = nest_fits(p, id, nest_height(p, id));
			if (why || (why = split_varying(p, id, 16, loop, lanes)))
				return why;
			l = lnest(p, loop_find(p, lanes));
		} else if (hi > 16)
			return whynot(p, "%s has %ld steps, a vector at most 16", loop, (long)hi);
	}
	l->mark = mark;
	l->unroll = unroll;
	return NULL;
}

const char *prim_partition(struct loop_prog *p, const char *loop, int n, const int64_t *points)
{
	const char *why = NULL;
	nest_id id = want_loop(p, loop, &why);
	if (!id)
		return why;
	if (!n && p->params.n)
		lnest(p, id)->part = true;
	if (!n)
		return partition_auto(p, id);
	int64_t e;
	if (!poly_is_const(p->P, lnest(p, id)->extent, &e))
		return p->params.n ? NULL : whynot(p, "%s has an extent that varies", loop);
	for (int i = 0; i < n; i++)
		if (points[i] <= 0 || points[i] >= e)
			return whynot(p, "point %ld is not inside %s", (long)points[i], loop);
	for (int i = 0; i < n; i++)
		vec_push(&lnest(p, id)->cut, points[i]);
	return NULL;
}

struct padding {
	buf_id b;
	int64_t before[LOOP_RANK_MAX];
	const char *why;
};

/* Reads of the padding that the layout had must find it in the new one. */
static void reads_padding(struct loop_prog *p, ex_id read, void *arg)
{
	struct padding *r = arg;
	for (int d = 0; d < lex(p, read)->n && lex(p, read)->buf == r->b; d++) {
		int64_t lo, hi;
		poly_range(p->P, lex(p, read)->index[d], &lo, &hi);
		if (hi >= lbuf(p, r->b)->shape[d] && hi < r->before[d] && hi >= buf_room(p, r->b, d))
			r->why = whynot(p, "%s is read in the padding of its layout", sym_str(lbuf(p, r->b)->name));
	}
}

const char *prim_layout(struct loop_prog *p, const char *buf, const char *spec)
{
	enum { LARGE = 1 << 20 }; /* elements */
	buf_id b = buf_find(p, buf);
	if (!b)
		return whynot(p, "no buffer %s", buf);
	enum scope s = lbuf(p, b)->scope;
	if (s == SCOPE_IN || s == SCOPE_OUT)
		return whynot(p, "%s is of the kernel's interface: its layout is a field of its type", buf);
	struct layout l;
	const char *why = layout_parse(&l, lbuf(p, b)->rank, spec);
	if (why)
		return why;
	struct layout old = lbuf(p, b)->layout;
	struct padding pad = {.b = b};
	for (int d = 0; d < lbuf(p, b)->rank; d++)
		pad.before[d] = buf_room(p, b, d);
	lbuf(p, b)->layout = (struct layout){0};
	int64_t plain = buf_elems(p, b);
	lbuf(p, b)->layout = l;
	if (buf_elems(p, b) > LARGE && buf_elems(p, b) / 64 > plain)
		pad.why = whynot(p, "the blocks would make %s more than 64 times as large", buf);
	for (stage_id t = 1; t < p->stages.n && !pad.why; t++)
		if (!lstage(p, t)->gone)
			ex_reads(p, lstage(p, t)->body, reads_padding, &pad);
	if (pad.why)
		lbuf(p, b)->layout = old;
	return pad.why;
}

const char *prim_scope(struct loop_prog *p, const char *buf, enum scope scope)
{
	buf_id b = buf_find(p, buf);
	if (!b)
		return whynot(p, "no buffer %s", buf);
	if (lbuf(p, b)->scope < SCOPE_SCRATCH)
		return whynot(p, "%s is of the kernel's interface", buf);
	if (scope < SCOPE_SCRATCH)
		return "scope is scratch, stack or register";
	lbuf(p, b)->scope = scope;
	return NULL;
}

/* Inlining: reads of buf become the body of stage s at those indices. */
static ex_id inline_into(struct loop_prog *p, ex_id *done, ex_id e, stage_id s, const char **why)
{
	if (!e || done[e])
		return e ? done[e] : 0;
	struct ex x = *lex(p, e);
	bool changed = false;
	for (int i = 0; i < 3; i++) {
		ex_id a = inline_into(p, done, x.a[i], s, why);
		changed |= a != x.a[i];
		x.a[i] = a;
	}
	if (x.kind == EX_READ && x.buf == lstage(p, s)->out) {
		if (x.dyn_dim >= 0) {
			*why = whynot(p, "%s is read at an index that is a value", sym_str(lstage(p, s)->name));
			return e;
		}
		poly_var v[LOOP_AXES_MAX];
		for (int a = 0; a < lstage(p, s)->nspatial; a++)
			v[a] = lstage(p, s)->axis[a].var;
		return done[e] = ex_subst(p, lstage(p, s)->body, lstage(p, s)->nspatial, v, x.index);
	}
	return done[e] = changed ? ex_new(p, x) : e;
}

const char *prim_inline(struct loop_prog *p, const char *stage)
{
	stage_id s = stage_find(p, stage);
	if (!s)
		return whynot(p, "no stage %s", stage);
	if (lstage(p, s)->comb != COMB_NONE)
		return whynot(p, "%s is a reduction", stage);
	if (lbuf(p, lstage(p, s)->out)->scope == SCOPE_OUT)
		return whynot(p, "%s is a result of the kernel", stage);
	if (lstage(p, s)->scan)
		return whynot(p, "%s is a scan", stage);
	const char *why = sole_writer(p, s);
	if (why)
		return why;
	ex_id *body = ARENA_ARRAY(&p->arena, ex_id, p->stages.n);
	ex_id *done = xcalloc(p->exs.n, sizeof *done);
	for (size_t t = 1; t < p->stages.n; t++)
		body[t] = p->stages.a[t].gone ? 0 : inline_into(p, done, p->stages.a[t].body, s, &why);
	free(done);
	if (why)
		return why;
	for (size_t t = 1; t < p->stages.n; t++)
		if (body[t])
			p->stages.a[t].body = body[t];
	int n;
	nest_id *block = nest_list(p, p->root, s, &n);
	for (int i = 0; i < n; i++)
		nest_remove(p, block[i]);
	lstage(p, s)->gone = true;
	prog_names_forget(p);
	return NULL;
}
