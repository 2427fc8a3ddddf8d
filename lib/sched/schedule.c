/* The default schedule: inlining, then the template that fits the program's shape. */
#include "sched/template.h"
#include <string.h>
#include "loop/math.h"
#include "sched/schedule.h"

enum {
	GUARD_OPERATIONS = 3,
	INLINE_FREE = 2,        /* operations up to which computing again costs nothing; */
	INLINE_MOST = 12,       /* is worth a sample */
	INLINE_READERS = 3,     /* readers up to which it is worth a sample */
	INLINE_GROWTH = 64,     /* times the work may grow */
	INLINE_WHOLE = 1 << 12, /* operations beyond which a stage stays: each reader that uses it twice would double it */
	WINDOW_TAPS = 49        /* taps up to which a padded copy is not made */
};

const struct target *sched_machine(struct loop_prog *p)
{
	if (!p->machine || p->machine_of != p->target) {
		struct target m = target_filled(p->target);
		p->machine = arena_copy(&p->arena, &m, sizeof m);
		p->machine_of = p->target;
	}
	return p->machine;
}

int sched_lanes(struct loop_prog *p) { return sched_machine(p)->vector_bytes / 4; }

int64_t axis_steps(struct schedule *r, stage_id s, int axis)
{
	nest_id loop = loop_find(r->p, axis_loop(r, s, axis, ""));
	int64_t all = lstage(r->p, s)->axis[axis].extent, least, most;

	if (!loop)
		return all;
	poly_range(r->p->P, lnest(r->p, loop)->extent, &least, &most);
	return most < all ? most : all;
}

struct uses {
	ex_id *read;
	int n;
	bool *none; /* by expression: there is no read under it */
};

static void list_uses(struct loop_prog *p, struct uses *u, ex_id e)
{
	int before = u->n;
	if (!e || u->n == READS_MAX || u->none[e])
		return;
	if (lex(p, e)->kind == EX_READ)
		u->read[u->n++] = e;
	for (int i = 0; i < 3; i++)
		list_uses(p, u, lex(p, e)->a[i]);
	u->none[e] = u->n == before;
}

int stage_all_reads(struct loop_prog *p, stage_id s, ex_id *out)
{
	ex_id body = lstage(p, s)->body;
	struct uses u = {out, 0, xcalloc((size_t)body + 1, sizeof *u.none)};
	list_uses(p, &u, body);
	free(u.none);
	return u.n;
}

bool read_uses(struct loop_prog *p, ex_id read, poly_var v)
{
	for (int i = 0; i < lex(p, read)->n; i++)
		if (poly_uses(p->P, lex(p, read)->index[i], v))
			return true;
	return false;
}

static int64_t poly_group(struct polys *P, poly e, poly_var v)
{
	int64_t group = 0;
	for (int i = 0; i < poly_nterms(P, e); i++) {
		int n;
		const uint32_t *atom;
		poly_term(P, e, i, &n, &atom);
		for (int k = 0; k < n; k++) {
			const struct poly_atom *x = poly_atom(P, atom[k]);
			bool floor = x->kind == POLY_FLOOR && x->a == poly_of(P, v);
			if (floor && (!group || group == x->c))
				group = x->c;
			else if (x->kind == POLY_VAR ? x->var == v
						     : poly_uses(P, x->a, v) || (x->kind != POLY_FLOOR && poly_uses(P, x->b, v)))
				return 1;
		}
	}
	return group;
}

int64_t read_group(struct loop_prog *p, ex_id read, poly_var v)
{
	int64_t group = 0;
	for (int i = 0; i < lex(p, read)->n; i++) {
		int64_t g = poly_group(p->P, lex(p, read)->index[i], v);
		if (g == 1 || (g && group && g != group))
			return 1;
		group = g ? g : group;
	}
	return group ? group : 1;
}

bool read_step(struct loop_prog *p, ex_id read, poly_var v, int64_t *step)
{
	poly rest;
	return poly_linear_in(p->P, buf_offset(p, lex(p, read)->buf, lex(p, read)->index), v, step, &rest);
}

int contiguous_axis(struct loop_prog *p, stage_id s) { return contiguous_dim(p, lstage(p, s)->out); }

int contiguous_dim(struct loop_prog *p, buf_id buf)
{
	const struct loop_buf *b = lbuf(p, buf);
	for (int i = (b->layout.n ? b->layout.n : b->rank) - 1; i >= 0; i--) {
		int axis = b->layout.n ? b->layout.part[i].axis : i;
		if (b->shape[axis] > 1)
			return axis;
	}
	return b->rank ? b->rank - 1 : -1;
}

static int count_readers(struct loop_prog *p, buf_id b, stage_id *last)
{
	int n = 0;
	for (stage_id t = 1; t < p->stages.n; t++)
		if (stage_here(p, t) && stage_reads(p, t, b)) {
			n++;
			*last = t;
		}
	return n;
}

stage_id sched_sole_reader(struct loop_prog *p, stage_id s)
{
	stage_id found = 0;
	for (stage_id t = 1; t < p->stages.n; t++) {
		if (!stage_here(p, t) || !stage_reads(p, t, lstage(p, s)->out))
			continue;
		if (found)
			return 0;
		found = t;
	}
	return found;
}

int sched_call_cost(int fn)
{
	return (fn >= FN_EXP && fn <= FN_COS) || fn == FN_POW || fn == FN_DIV || fn == FN_SQRT ? CALL_OPERATIONS : 1;
}

/* known: by expression, 1 more than its cost; 0: not known yet. */
static int cost_of(struct loop_prog *p, int *known, ex_id e)
{
	enum { COST_MAX = 1 << 20 };
	if (!e || known[e])
		return e ? known[e] - 1 : 0;
	const struct ex *x = lex(p, e);
	int c = 0;
	if (x->kind == EX_CALL)
		c = sched_call_cost(x->fn);
	else if (x->kind == EX_GUARD)
		c = GUARD_OPERATIONS;
	for (int i = 0; i < 3; i++)
		c += cost_of(p, known, x->a[i]);
	c = c < COST_MAX ? c : COST_MAX;
	known[e] = c + 1;
	return c;
}

int sched_cost(struct loop_prog *p, ex_id e)
{
	int *known = xcalloc((size_t)e + 1, sizeof *known), c = cost_of(p, known, e);
	free(known);
	return c;
}

static bool is_choice(struct loop_prog *p, ex_id e, void *arg)
{
	const struct ex *x = lex(p, e);
	return x->kind == EX_GUARD && x->n == 1 && lex(p, x->a[1])->kind != EX_CONST;
}

ex_id stage_choice(struct loop_prog *p, stage_id s)
{
	return s && lstage(p, s)->comb == COMB_NONE ? ex_find(p, lstage(p, s)->body, is_choice, NULL) : 0;
}

static double steps_of(const struct stage *s)
{
	double n = 1;
	for (int a = 0; a < s->naxes; a++)
		n *= (double)s->axis[a].extent;
	return n;
}

/* Does reader t read each element of s's result about once? Then inlining costs nothing. */
static bool read_once(struct loop_prog *p, stage_id s, stage_id t) { return steps_of(lstage(p, t)) <= READ_ONCE * steps_of(lstage(p, s)); }

/* Is s a padded copy that a window without channels reads (depthwise convolution, pooling)? Then loops that are partitioned at the borders
 * cost less than the copy, up to WINDOW_TAPS taps; beyond, the pieces are too much code. All that the window reads must vary along
 * the contiguous axis of the source. Where sizes vary a step of the window asks whether it is inside: for that, all else it reads are
 * weights. A group of several channels is no window without channels. */
static bool window_reads(struct loop_prog *p, stage_id s, stage_id t)
{
	ex_id read[READS_MAX], from[READS_MAX];
	double taps = 1;
	if (lex(p, lstage(p, s)->body)->kind != EX_GUARD || lstage(p, t)->comb == COMB_NONE || stage_all_reads(p, s, from) != 1)
		return false;
	const struct loop_buf *b = lbuf(p, lex(p, from[0])->buf);
	int v = b->layout.n ? b->layout.part[b->layout.n - 1].axis : b->rank - 1;
	if (v < 0 || v >= lstage(p, t)->nspatial || lex(p, from[0])->index[v] != stage_axis(p, s, v))
		return false;
	for (int a = lstage(p, t)->nspatial; a < lstage(p, t)->naxes; a++)
		taps *= (double)lstage(p, t)->axis[a].extent;
	for (int n = stage_all_reads(p, t, read), i = 0; i < n; i++) {
		buf_id x = lex(p, read[i])->buf;
		if (!read_uses(p, read[i], lstage(p, t)->axis[v].var) || read_group(p, read[i], lstage(p, t)->axis[v].var) > 1 ||
		    (p->usual && x != lstage(p, s)->out && lbuf(p, x)->scope != SCOPE_CONST))
			return false;
	}
	return taps <= WINDOW_TAPS;
}

/* May it pay to recompute s in its readers? */
static bool may_inline(struct loop_prog *p, stage_id s, int readers, stage_id reader, int cost)
{
	return readers >= 1 && readers <= INLINE_READERS && cost <= INLINE_MOST &&
	       steps_of(lstage(p, reader)) * (1 + cost) <= INLINE_GROWTH * steps_of(lstage(p, s));
}

/* A stage that is done element by element and is read once, by one that is done so. */
static stage_id only_reader(struct loop_prog *p, stage_id s)
{
	const struct stage *t = lstage(p, s);
	stage_id reader = 0;

	if (!stage_here(p, s) || t->scan || t->comb != COMB_NONE || is_result(p, t->out) || count_readers(p, t->out, &reader) != 1)
		return 0;
	return lstage(p, reader)->comb == COMB_NONE && read_once(p, s, reader) ? reader : 0;
}

static bool leads_to(struct loop_prog *p, stage_id s, stage_id end)
{
	while (s && s != end)
		s = only_reader(p, s);
	return s;
}

/* The number of stages that read s, and the last of them. Those that end in the last one anyway, each read once on the way, are inlined
 * before: then it may be the only one, and inlining s computes nothing twice. */
static int join_readers(struct schedule *r, stage_id s, stage_id *last)
{
	struct loop_prog *p = r->p;
	buf_id b = lstage(p, s)->out;
	int n = count_readers(p, b, last);

	for (stage_id t = s + 1; n > 1 && t < *last; t++)
		if (stage_here(p, t) && stage_reads(p, t, b) && leads_to(p, t, *last) &&
		    sched_try(r, PRIM_INLINE, sym_str(lstage(p, t)->name)))
			n = count_readers(p, b, last);
	return n;
}

/* Is what t reads of b the same along the contiguous axis of its result? */
static bool stands_still(struct loop_prog *p, stage_id t, buf_id b)
{
	ex_id read[READS_MAX];
	int v = contiguous_axis(p, t);

	for (int n = stage_all_reads(p, t, read), i = 0; i < n; i++)
		if (lex(p, read[i])->buf == b && v >= 0 && read_uses(p, read[i], lstage(p, t)->axis[v].var))
			return false;
	return v >= 0;
}

/* Does s copy what it reads in another order of memory, for sums of products alone? Then each of these reads lines, not columns. For one
 * sum that pays where a column has its elements in a page each. */
static bool turns_for_sums(struct loop_prog *p, stage_id s, int readers)
{
	enum { PAGE = 4096 };
	ex_id read = lstage(p, s)->body;
	int64_t step;
	int v = contiguous_axis(p, s);

	if (v < 0 || !read_step(p, read, lstage(p, s)->axis[v].var, &step) || step == 1 ||
	    (readers == 1 && step * (int64_t)dtype_size(lex(p, read)->dtype) < PAGE))
		return false;
	for (stage_id t = 1; t < p->stages.n; t++)
		if (stage_here(p, t) && stage_reads(p, t, lstage(p, s)->out) &&
		    (lstage(p, t)->comb != COMB_SUM || !has_reuse(p, t) || !stands_still(p, t, lstage(p, s)->out)))
			return false;
	return true;
}

/* Does a sum that an instruction makes read the stage as a copy, whoever else does? */
static bool some_dot_needs(struct loop_prog *p, stage_id s)
{
	for (stage_id t = 1; t < p->stages.n; t++)
		if (stage_here(p, t) && stage_reads(p, t, lstage(p, s)->out) && (dot_needs(p, s, t) || tile_needs(p, s, t)))
			return true;
	return false;
}

/* Inlines stages into their readers. Whether to is a sample, except for elementwise stages that are read once. A body that has grown
 * beyond INLINE_WHOLE stays: a reader that uses it twice would double it. */
static void inline_stages(struct schedule *r)
{
	struct loop_prog *p = r->p;
	for (stage_id s = 1; s < p->stages.n; s++) {
		struct stage *t = lstage(p, s);
		stage_id reader = 0;
		if (!stage_here(p, s) || t->scan || t->comb != COMB_NONE || is_result(p, t->out))
			continue;
		int cost = sched_cost(p, t->body), n = cost > INLINE_FREE ? join_readers(r, s, &reader) : count_readers(p, t->out, &reader);
		if (cost > INLINE_WHOLE || some_dot_needs(p, s) || (n == 1 && halves_need(p, s, reader)))
			continue;
		bool plain = lex(p, t->body)->kind == EX_READ, turns = plain && turns_for_sums(p, s, n); /* a copy */
		bool cheap = cost <= INLINE_FREE && !turns, once = n == 1 && read_once(p, s, reader);
		bool work = cost || lex(p, t->body)->kind == EX_CAST;
		if (n == 1 && stage_choice(p, s) && stage_choice(p, reader)) /* transforms one after the other */
			continue;
		bool bent = n > 1 && s == chain_bent(p); /* computed in the tile of those sums */
		bool usual = once || (plain && !turns) || (n == 1 && window_reads(p, s, reader)) ||
			     (cheap && !bent && !(n == 1 && lstage(p, reader)->comb != COMB_NONE && work));
		const char *name = sym_str(t->name), *sample = sched_name(r, "%s.inline", name);
		if (usual && once && lstage(p, reader)->comb == COMB_NONE) {
			sched_try(r, PRIM_INLINE, name);
		} else if (usual || may_inline(p, s, n, reader, cost)) {
			bool yes = sched_yes(r, sample, usual);
			if (yes && !sched_try(r, PRIM_INLINE, name)) {
				if (usual)
					sched_drop(r, sample);
				else
					sched_settle(r, sample, 0);
			}
		}
	}
}

/* Inlines padded copies that have become needless because their source was laid out anew. */
static void inline_windows(struct schedule *r)
{
	struct loop_prog *p = r->p;
	for (stage_id s = 1; s < p->stages.n; s++) {
		stage_id reader = 0;
		if (stage_here(p, s) && !lstage(p, s)->scan && lstage(p, s)->comb == COMB_NONE && !is_result(p, lstage(p, s)->out) &&
		    count_readers(p, lstage(p, s)->out, &reader) == 1 && window_reads(p, s, reader))
			sched_try(r, PRIM_INLINE, sym_str(lstage(p, s)->name));
	}
}

static bool same_order(const struct layout *a, const struct layout *b)
{
	bool same = a->n == b->n;

	for (int i = 0; same && i < a->n; i++)
		same = a->part[i].axis == b->part[i].axis && a->part[i].div == b->part[i].div && a->part[i].mod == b->part[i].mod;
	return same;
}

/* Does each axis of the stage go along the axis of that number of what it reads, and along no other? */
static bool axis_by_axis(struct loop_prog *p, stage_id s, ex_id read)
{
	const struct stage *t = lstage(p, s);
	bool by = lbuf(p, lex(p, read)->buf)->rank == lbuf(p, t->out)->rank;

	for (int d = 0; by && d < t->nspatial; d++)
		for (int a = 0; by && a < t->naxes; a++)
			by = a == d || !poly_uses(p->P, lex(p, read)->index[d], t->axis[a].var);
	return by;
}

/* The layout of all operands that the stage reads axis by axis, if there are no others but those of one element; NULL: they differ. */
static const struct layout *layout_of_reads(struct loop_prog *p, stage_id s)
{
	ex_id read[READS_MAX];
	const struct layout *found = NULL;

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		const struct loop_buf *b = lbuf(p, lex(p, read[i])->buf);
		if (buf_elems(p, lex(p, read[i])->buf) == 1)
			continue;
		if (!axis_by_axis(p, s, read[i]) || !b->layout.n || (found && !same_order(found, &b->layout)))
			return NULL;
		found = &b->layout;
	}
	return found;
}

/* What is kept on the way (padded copies) gets the layout of what it is made of. */
static void lay_out_copies(struct schedule *r)
{
	struct loop_prog *p = r->p;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (!stage_here(p, s) || lstage(p, s)->comb != COMB_NONE || lbuf(p, lstage(p, s)->out)->scope != SCOPE_SCRATCH)
			continue;
		const struct layout *l = layout_of_reads(p, s);
		if (l)
			sched_layout(r, sym_str(lbuf(p, lstage(p, s)->out)->name), l);
	}
}

/* The reduction with the most work; 0: there is none. */
static stage_id find_anchor(struct loop_prog *p)
{
	stage_id best = 0;
	for (stage_id s = 1; s < p->stages.n; s++)
		if (stage_here(p, s) && lstage(p, s)->comb != COMB_NONE && (!best || steps_of(lstage(p, s)) > steps_of(lstage(p, best))))
			best = s;
	return best;
}

/* Samples whether a buffer of lines has the axis last along which the constants of its product vary (channels). Usually it has, if that axis
 * fills a vector: lines are often shorter, and windows read them shifted. */
static void lay_out_channels(struct schedule *r, stage_id s)
{
	static const char *const order[] = {"lines", "channels"};
	struct loop_prog *p = r->p;
	stage_id product = find_anchor(p);
	int a = transformed_channels(r, s);
	const char *name = sym_str(lbuf(p, lstage(p, s)->out)->name), *sample = sched_name(r, "%s.order", name);

	if (a < 0 && product && lstage(p, product)->nspatial == lstage(p, s)->nspatial)
		a = sched_constants_axis(p, product);
	if (a < 0 || a == lstage(p, s)->nspatial - 1 || lstage(p, s)->nspatial < 3 || p->usual)
		return;
	if (sched_word(r, sample, order, 2, lstage(p, s)->axis[a].extent >= r->lanes) == 1 && !sched_axis_last(r, name, s, a))
		sched_settle(r, sample, 0);
}

/* Buffers that the part makes for others have their axes in the order of the program's result, if that has as many and is no row-major one. */
static void lay_out_results(struct schedule *r, stage_id result)
{
	struct loop_prog *p = r->p;
	const struct loop_buf *out = lbuf(p, lstage(p, result)->out);

	for (stage_id s = 1; s < p->stages.n; s++) {
		const struct stage *t = lstage(p, s);
		const struct loop_buf *b = lbuf(p, t->out);
		if (!stage_here(p, s) || b->scope != SCOPE_SCRATCH || !is_result(p, t->out) || b->rank != out->rank || b->layout.n)
			continue;
		if (out->layout.n == out->rank)
			sched_layout(r, sym_str(b->name), &out->layout);
		else if (!out->layout.n && b->dtype == DT_F32)
			lay_out_channels(r, s);
	}
}

/* Does a dim of the read depend on v and on a spatial axis? Then it is a window. */
static bool is_window(struct loop_prog *p, const struct stage *s, ex_id read, poly_var v)
{
	for (int d = 0; d < lex(p, read)->n; d++)
		for (int a = 0; a < s->nspatial && poly_uses(p->P, lex(p, read)->index[d], v); a++)
			if (poly_uses(p->P, lex(p, read)->index[d], s->axis[a].var))
				return true;
	return false;
}

/* Is what is read along v, in blocks (a scale of each), the same for all lanes of a vector? */
static bool is_same_in_lanes(struct loop_prog *p, ex_id read, poly_var v)
{
	int64_t group = read_group(p, read, v);

	return group > 1 && group % sched_lanes(p) == 0;
}

bool reduces_rows(struct loop_prog *p, stage_id s)
{
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, s, read);
	const struct axis *last = &lstage(p, s)->axis[lstage(p, s)->naxes - 1];

	for (int i = 0; i < n; i++) {
		int64_t step;
		if (!read_uses(p, read[i], last->var) || is_same_in_lanes(p, read[i], last->var))
			continue;
		if (!read_step(p, read[i], last->var, &step) || step != 1 || is_window(p, lstage(p, s), read[i], last->var))
			return false;
	}
	return true;
}

int count_reductions(struct loop_prog *p)
{
	int n = 0;
	for (stage_id s = 1; s < p->stages.n; s++)
		n += stage_here(p, s) && lstage(p, s)->comb != COMB_NONE;
	return n;
}

bool has_reuse(struct loop_prog *p, stage_id s)
{
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, s, read);
	for (int a = 0; a < lstage(p, s)->nspatial; a++) {
		int with = 0, without = 0;
		for (int i = 0; i < n; i++)
			*(read_uses(p, read[i], lstage(p, s)->axis[a].var) ? &with : &without) += 1;
		if (with && without && lstage(p, s)->axis[a].extent > 1)
			return true;
	}
	return false;
}

bool reads_rows_once(struct loop_prog *p, stage_id s, stage_id result)
{
	const struct stage *t = lstage(p, s);
	int v = contiguous_axis(p, lstage(p, result)->nspatial == t->nspatial ? result : s);
	ex_id read[READS_MAX];
	bool found = false;

	if (t->comb != COMB_SUM || t->naxes != t->nspatial + 1 || v < 0 || v >= t->nspatial || !reduces_rows(p, s))
		return false;
	for (int n = stage_all_reads(p, s, read), i = 0; i < n && !found; i++) {
		int64_t step;
		if (lbuf(p, lex(p, read[i])->buf)->scope == SCOPE_CONST || !read_uses(p, read[i], t->axis[v].var))
			continue;
		found = read_step(p, read[i], t->axis[v].var, &step) && step > 1;
		for (int a = 0; a < t->naxes; a++)
			found &= t->axis[a].extent == 1 || read_uses(p, read[i], t->axis[a].var);
	}
	return found;
}

/* Sums beside a product, of what it reads: each row in lanes. */
static void sum_rows(struct schedule *r, stage_id product)
{
	for (stage_id s = 1, n = (stage_id)r->p->stages.n; s < n; s++)
		if (s != product && stage_here(r->p, s) && lstage(r->p, s)->comb == COMB_SUM && stage_whole(r->p, s) &&
		    reduces_rows(r->p, s))
			template_row_sum(r, s);
}

/* Is the loop in no other but that one? outer NULL: in none. */
static bool is_just_inside(struct loop_prog *p, nest_id loop, const char *outer)
{
	nest_id n = lnest(p, loop)->parent;

	while (n && lnest(p, n)->kind == NEST_SEQ)
		n = lnest(p, n)->parent;
	return n == (outer ? loop_find(p, outer) : 0);
}

/* A padded copy of images of varying sizes, read by a window: of one image at a time, where the reader takes one after the other. (Known
 * sizes run image by image as a whole, or have no copy.) */
static void place_copy(struct schedule *r, stage_id s)
{
	static const char *const place[] = {"image", "whole"};
	struct loop_prog *p = r->p;
	stage_id reader = sched_sole_reader(p, s);
	ex_id read[READS_MAX];

	if (!p->usual || !reader || lex(p, lstage(p, s)->body)->kind != EX_GUARD || lstage(p, reader)->comb == COMB_NONE ||
	    lstage(p, s)->nspatial < 3 || lstage(p, s)->axis[0].extent < 2 || stage_all_reads(p, s, read) != 1 ||
	    lex(p, read[0])->index[0] != stage_axis(p, s, 0))
		return;
	const char *loop = axis_loop(r, reader, 0, ""), *name = sym_str(lstage(p, s)->name), *sample = sched_name(r, "%s.place", name);
	nest_id images = loop_find(p, loop);
	if (!images || !is_just_inside(p, images, NULL) || sched_word(r, sample, place, 2, 0) == 1)
		return;
	if (!sched_try(r, PRIM_AT, name, loop))
		sched_drop(r, sample);
}

/* A long sum that no template is for: its chains, at least, are short. */
static void sum_in_levels(struct schedule *r, stage_id s)
{
	const struct stage *t = lstage(r->p, s);
	struct long_sum sum = {0, 1, 1, false};
	struct words made = {0};

	if (t->naxes == t->nspatial)
		return;
	sum.steps = sum.all = t->axis[t->nspatial].extent;
	for (int a = t->nspatial + 1; a < t->naxes; a++)
		sum.terms *= t->axis[a].extent;
	sum.all *= sum.terms;
	sched_levels(r, sym_str(t->name), axis_loop(r, s, t->nspatial, ""), sum, "scratch", &made);
}

/* A window of each channel alone, whose result a part keeps with channels last: the operand is turned first, and the padded copy of it is then
 * inlined. */
static void turn_for_window(struct schedule *r, stage_id anchor, stage_id result)
{
	struct loop_prog *p = r->p;
	ex_id read[READS_MAX];
	int v = contiguous_axis(p, result), n = stage_all_reads(p, anchor, read);
	bool apart = v >= 0 && lstage(p, result)->nspatial == lstage(p, anchor)->nspatial;

	for (int i = 0; i < n && apart; i++)
		apart = read_uses(p, read[i], lstage(p, anchor)->axis[v].var);
	for (stage_id s = 1, all = (stage_id)p->stages.n; s < all && apart; s++) {
		if (!stage_here(p, s) || lex(p, lstage(p, s)->body)->kind != EX_GUARD || sched_sole_reader(p, s) != anchor ||
		    stage_all_reads(p, s, read) != 1)
			continue;
		const struct ex *x = lex(p, read[0]);
		const struct loop_buf *b = lbuf(p, x->buf);
		if (is_operand(p, x->buf) && !b->layout.n && b->dtype == DT_F32 && b->rank == lstage(p, s)->nspatial && v < b->rank - 1 &&
		    x->index[v] == stage_axis(p, s, v))
			sched_turn_operand(r, x->buf, s, "root", v);
	}
	inline_windows(r);
}

/* The stage that makes the result of the part, or of its results the one with the most work; 0: none. */
static stage_id find_result(struct loop_prog *p)
{
	stage_id found = 0;

	for (stage_id s = 1; s < p->stages.n; s++)
		if (stage_here(p, s) && is_result(p, lstage(p, s)->out) && (!found || steps_of(lstage(p, s)) > steps_of(lstage(p, found))))
			found = s;
	return found;
}

/* Schedules the stages of p->part; inlining is done. */
static void schedule_part(struct schedule *r)
{
	struct loop_prog *p = r->p;
	stage_id anchor = find_anchor(p);
	bool alone = anchor && (count_reductions(p) == 1 || is_dot(p, anchor));

	r->along = -1;
	r->leading = 0;
	if (alone && lstage(p, anchor)->comb == COMB_SUM && sched_across(r, anchor))
		inline_windows(r);
	stage_id result = find_result(p);
	if (p->part && alone && result)
		turn_for_window(r, anchor, result);
	lay_out_copies(r);
	bool done = template_transformed(r) || template_scan(r) || template_halves(r) || template_packed(r) || template_extremes(r) ||
		    template_sums(r) || template_windows(r) || template_windows_apart(r) || template_chain(r) || template_apart(r);
	if (!done && anchor && result && is_dot(p, anchor) && count_reductions(p) > 1 && (done = template_tile(r, anchor)))
		sum_rows(r, anchor);
	bool once = !done && anchor && result && count_reductions(p) == 1 && reads_rows_once(p, anchor, result);
	if (!done && !once && anchor && result && count_reductions(p) == 1 && (has_reuse(p, anchor) || !reduces_rows(p, anchor)))
		done = template_tile(r, anchor);
	if (!done && anchor && result && reduces_rows(p, anchor))
		done = template_rows(r, result);
	if (!done && anchor && result && count_reductions(p) > 1)
		done = template_blocks(r, result);
	for (stage_id s = 1, n = (stage_id)p->stages.n; !done && s < n; s++)
		if (stage_here(p, s) && lstage(p, s)->comb == COMB_SUM && stage_whole(p, s))
			sum_in_levels(r, s);
	for (stage_id s = 1; s < p->stages.n; s++)
		if (stage_here(p, s) && lstage(p, s)->comb == COMB_NONE && stage_whole(p, s)) {
			place_copy(r, s);
			template_map(r, s);
		}
}

/* Schedules the part, inside the loop inside[part] if a later part computes it there; places its own producer, if that pays. */
static void schedule_with_producer(struct schedule *r, const char **inside)
{
	static const char *const place[] = {"whole", "lines"};
	struct loop_prog *p = r->p;
	struct producer q;
	const char *sample = NULL;

	if (producer_find(p, &q)) {
		sample = sched_name(r, "%s.place", sym_str(lstage(p, q.maker)->name));
		if (sched_word(r, sample, place, 2, q.pays) == 1)
			r->lines = q.axis + 1;
	}
	r->outside = inside[p->part];
	schedule_part(r);
	r->outside = NULL;
	if (!r->lines)
		return;
	const char *loop = axis_loop(r, q.reader, q.axis, "");
	nest_id lines = loop_find(p, loop);
	r->lines = 0;
	if (lines && is_just_inside(p, lines, inside[p->part]) && producer_place(r, &q, loop))
		inside[q.part] = loop;
	else
		sched_settle(r, sample, 0);
}

/* Each part as if it were a program of its own, the last one first: a part may place earlier ones in its loops. */
static void schedule_parts(struct schedule *r, uint32_t parts)
{
	struct loop_prog *p = r->p;
	const char **inside = ARENA_ARRAY(&p->arena, const char *, parts + 1);
	stage_id result = find_result(p);

	for (p->part = 1; p->part <= parts; p->part++) {
		inline_stages(r);
		if (result)
			lay_out_results(r, result);
	}
	for (p->part = parts; p->part > 0; p->part--)
		schedule_with_producer(r, inside);
}

static bool has_scan(struct loop_prog *p)
{
	bool found = false;

	for (stage_id s = 1; s < p->stages.n; s++)
		found |= lstage(p, s)->scan;
	return found;
}

/* Are the parts scheduled apart, not as one by a template? A chain is one where rows are reduced between its two products. */
static bool are_apart(struct loop_prog *p, uint32_t parts)
{
	return parts > 1 && !has_scan(p) && !(count_reductions(p) > 2 && chain_fits(p));
}

bool schedule_has_producer(struct loop_prog *p)
{
	struct producer q = {0};
	uint32_t parts = sched_parts(p);
	bool found = false;

	for (p->part = are_apart(p, parts) ? parts : 0; p->part > 0; p->part--)
		found |= producer_find(p, &q) && q.pays;
	return found;
}

const char *schedule_with(struct loop_prog *p, const struct samples *want, struct samples *got)
{
	struct schedule r = {.p = p, .along = -1, .want = want};
	uint32_t parts = sched_parts(p);

	r.lanes = sched_lanes(p);
	if (strcmp(p->algo, ALGO_USUAL))
		sched_try(&r, PRIM_ALGO, p->algo);
	if (are_apart(p, parts)) {
		schedule_parts(&r, parts);
	} else {
		inline_stages(&r);
		schedule_part(&r);
	}
	for (size_t i = 0; got && i < r.met.n; i++)
		vec_push(got, r.met.a[i]);
	sched_threads(&r);
	const char *text = trace_write(&p->arena, &r.trace);
	vec_free(&r.met);
	vec_free(&r.trace);
	return text;
}

const char *default_schedule(struct loop_prog *p) { return schedule_with(p, NULL, NULL); }
