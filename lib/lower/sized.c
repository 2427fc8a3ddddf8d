/* Groups of varying sizes: lowered for several sizes, and what these programs have in common (prog_unify). The schedule is that of the
 * usual sizes: its trace says how loops are split, not how long they are. That its numbers hold for all sizes is shown on a grid of them
 * (sized_grid.c), where that is small; else they are compared at some. */
#define _GNU_SOURCE
#include "lower/sized_impl.h"
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/rng.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "lower/winograd.h"
#include "sched/schedule.h"

/* A group is lowered for POINTS sizes, which must tell the numbers that are forms of sizes apart (sized_grid.c and sized_check.c look at
 * others), and for its usual sizes. SIZES_MAX: different sizes that its values have; numbers that are forms of further ones differ. */
enum { POINTS = 5, USUAL = POINTS, SIZES_MAX = 32 };

/* Values of a group, their types, and the symbols in them. */
struct group {
	struct module *m;
	VEC(val_id) v;
	VEC(dim *) dims;     /* where the group has a result with elements */
	VEC(dim *) declared; /* as they are */
	int n;
	int64_t rest;  /* sizes are so much more than a multiple of that */
	int64_t scale; /* sizes are about so many times larger, so that none of the group is 1 */
	struct sized_for sizes;
	poly_var symbol[LOOP_PARAMS_MAX];
	poly stands_for[LOOP_PARAMS_MAX]; /* the branch that is meant where the symbol occurs; POLY_UNKNOWN: itself */
	int64_t least[LOOP_PARAMS_MAX];   /* value of each symbol with which the group has a result with elements; 0: not known */
	const char *why;
};

static void add_symbols(struct group *g, dim d)
{
	struct polys *P = g->m->dims;

	for (poly_var v = 1; v <= poly_nvars(P); v++) {
		bool known = !poly_uses(P, d, v) || v == g->sizes.one;
		for (int i = 0; i < g->n && !known; i++)
			known = g->symbol[i] == v;
		if (known)
			continue;
		if (g->n == LOOP_PARAMS_MAX) {
			g->why = "too many symbols";
			return;
		}
		g->symbol[g->n++] = v;
	}
}

static void add_value(struct group *g, val_id v)
{
	const struct type *t = &val(g->m, v)->type;

	if (!v || val(g->m, v)->kind == VAL_CONST || g->why)
		return;
	if (t->rank < 0) {
		g->why = "a value has no known rank";
		return;
	}
	vec_push(&g->v, v);
	vec_push(&g->dims, arena_copy(&g->m->arena, t->dims, (size_t)t->rank * sizeof *t->dims));
	vec_push(&g->declared, t->dims);
	for (int d = 0; d < t->rank && !g->why; d++)
		if (t->dims[d] == POLY_UNKNOWN)
			g->why = arena_printf(&g->m->arena, "a size of %s has no formula", sym_str(val(g->m, v)->name));
		else
			add_symbols(g, t->dims[d]);
}

static int by_name(const void *x, const void *y, void *P)
{
	return strcmp(sym_str(poly_var_name(P, *(const poly_var *)x)), sym_str(poly_var_name(P, *(const poly_var *)y)));
}

/* Symbols that occur only in a branch stand for it. d: n more sizes. */
static void replace_branches(struct group *g, int n, dim *d)
{
	VEC(poly *) all = {0};

	for (int i = 0; i < n; i++)
		vec_push(&all, &d[i]);
	for (size_t i = 0; i < g->v.n; i++)
		for (int k = 0; k < val(g->m, g->v.a[i])->type.rank; k++)
			vec_push(&all, &g->dims.a[i][k]);
	for (int k = 0; k < g->n; k++)
		g->stands_for[k] = sized_stand(g->m->dims, (int)all.n, all.a, g->symbol[k]);
	vec_free(&all);
}

/* What is known where the result has elements. A group of several may have one with elements and one without. */
static void settle_dims(struct group *g, const struct graph *body)
{
	const struct type *t = body->out.n == 1 ? &val(g->m, body->out.a[0])->type : NULL;
	dim *d = t ? arena_copy(&g->m->arena, t->dims, (size_t)t->rank * sizeof *d) : NULL;

	for (size_t i = 0; i < g->v.n && t; i++)
		sized_settle(g->m->dims, val(g->m, g->v.a[i])->type.rank, g->dims.a[i], t->rank, t->dims);
	if (t)
		sized_settle(g->m->dims, t->rank, d, t->rank, t->dims);
	replace_branches(g, t ? t->rank : 0, d);
	for (int i = 0; t && i < t->rank; i++)
		for (int k = 0; k < g->n; k++) {
			int64_t least = sized_least(g->m->dims, d[i], g->symbol[k]);
			g->least[k] = least > g->least[k] ? least : g->least[k];
		}
}

/* One symbol is 1. */
static void settle_one(struct group *g)
{
	struct polys *P = g->m->dims;
	poly one = poly_const(P, 1);

	for (size_t i = 0; i < g->v.n && g->sizes.one; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			g->dims.a[i][d] = poly_subst_many(P, g->dims.a[i][d], 1, &g->sizes.one, &one);
}

static struct group group_of(struct module *m, node_id n, struct sized_for sizes)
{
	struct group g = {.m = m, .sizes = sizes};
	const struct graph *body = graph(m, attr_graph(node(m, n), "graph"));

	for (size_t i = 0; i < body->in.n; i++)
		add_value(&g, body->in.a[i]);
	for (size_t i = 0; i < body->nodes.n; i++)
		for (uint32_t k = 0; k < node(m, body->nodes.a[i])->nout; k++)
			add_value(&g, node(m, body->nodes.a[i])->out[k]);
	if (g.n)
		qsort_r(g.symbol, (size_t)g.n, sizeof *g.symbol, by_name, m->dims);
	if (!g.why)
		settle_dims(&g, body);
	if (!g.why)
		settle_one(&g);
	for (int k = 0; k < g.n; k++)
		g.least[k] = sizes.some && g.least[k] < 1 ? 1 : g.least[k];
	return g;
}

static void group_release(struct group *g)
{
	vec_free(&g->v);
	vec_free(&g->dims);
	vec_free(&g->declared);
}

/* ---- sizes ---- */

/* Does the symbol count images: is it axis 0 of values of four axes and more, and nothing else? */
static bool counts_images(const struct group *g, poly_var symbol)
{
	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			if (poly_uses(g->m->dims, g->dims.a[i][d], symbol) &&
			    (d || poly_is_var(g->m->dims, g->dims.a[i][d]) != symbol || val(g->m, g->v.a[i])->type.rank < 4))
				return false;
	return true;
}

static void range_of(const struct group *g, int k, int64_t *lo, int64_t *hi)
{
	if (g->stands_for[k] != POLY_UNKNOWN)
		poly_range(g->m->dims, g->stands_for[k], lo, hi);
	else
		poly_var_range(g->m->dims, g->symbol[k], lo, hi);
}

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* Values that symbol k may have: from *lo to *hi by the step that is returned. */
static int64_t values_of(const struct group *g, int k, int64_t *lo, int64_t *hi)
{
	int64_t step = poly_var_divisor(g->m->dims, g->symbol[k]);

	range_of(g, k, lo, hi);
	*lo = *lo < g->least[k] ? g->least[k] : *lo;
	*lo = *lo < 0 ? 0 : (*lo + step - 1) / step * step;
	*hi = *hi == POLY_INF ? INT64_MAX : *hi / step * step;
	return step;
}

/* Where the range is short: from its end down to a third of it. */
static int64_t size_in_range(int point, int k, int64_t lo, int64_t hi, int64_t step)
{
	int64_t count = (hi - (lo > hi / 3 ? lo : hi / 3)) / step + 1, i = count * point / (POINTS + 1) + k;

	return hi - (i < count ? i : i % count) * step;
}

/* Size of symbol k at a point: primes, so that no product is another; the usual size last: of images a few, of rows many. */
static int64_t size_at(const struct group *g, int point, int k)
{
	static const int64_t prime[] = {17,  19,  23,  29,  31,  37,  41,  43,  47,  53,  59,  61,  67,  71,  73,  79,  83,  89,  97,  101,
					103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199};
	_Static_assert(sizeof prime / sizeof *prime >= POINTS * LOOP_PARAMS_MAX, "a prime for each");
	enum { ROWS = 120, LENGTH = 320, IMAGES = 2 }; /* more than a tile has rows, or vectors; such have many divisors */
	int64_t lo, hi, step = values_of(g, k, &lo, &hi), unit = step;
	bool images = counts_images(g, g->symbol[k]);

	if (g->scale > 1 && !images)
		unit *= g->scale;
	int64_t n = point != USUAL ? prime[point * g->n + k] : images ? IMAGES : unit == 1 ? ROWS : unit < 32 ? LENGTH / unit : 10;
	n = n * unit < lo ? lo + n * unit : n * unit;
	if (point == USUAL)
		return n < hi ? n : hi;
	n += images ? 0 : g->rest * step;
	return n <= hi ? n : size_in_range(point, k, lo, hi, step);
}

/* Is the size above 2 at the first point, and 20 at least at the usual sizes, but for those of images? */
static bool is_large(const struct group *g, dim d, int point, const int64_t *env)
{
	enum { FIRST = 3, FEW = 2, MANY = 20 };
	struct polys *P = g->m->dims;
	poly_var v = poly_is_var(P, d);
	int64_t least = point != USUAL ? FIRST : v && counts_images(g, v) ? FEW : MANY;

	return poly_is_const(P, d, NULL) || poly_eval(P, d, env) >= least;
}

/* The values of the module's symbols at a point. */
static int64_t *values_at(const struct group *g, const int64_t *size)
{
	int64_t *env = xcalloc(poly_nvars(g->m->dims) + 2, sizeof *env);

	for (int k = 0; k < g->n; k++)
		env[g->symbol[k]] = size[k];
	return env;
}

/* Are all sizes of the group that vary? */
static bool large_enough(const struct group *g)
{
	bool large = true;

	for (int point = 0; point <= USUAL; point += USUAL) {
		int64_t size[LOOP_PARAMS_MAX];
		for (int k = 0; k < g->n; k++)
			size[k] = size_at(g, point, k);
		int64_t *env = values_at(g, size);
		for (size_t i = 0; i < g->v.n; i++)
			for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
				large &= is_large(g, g->dims.a[i][d], point, env);
		free(env);
	}
	return large;
}

static bool has_branch(const struct polys *P, poly e)
{
	const uint32_t *atoms;
	bool has = false;

	for (int i = 0, n; i < poly_nterms(P, e) && !has; i++) {
		poly_term(P, e, i, &n, &atoms);
		for (int k = 0; k < n && !has; k++) {
			const struct poly_atom *a = poly_atom(P, atoms[k]);
			has = a->kind == POLY_MIN || a->kind == POLY_MAX || (a->kind == POLY_FLOOR && has_branch(P, a->a));
		}
	}
	return has;
}

/* From the values of size d at the points, is it seen what it is? NULL, or why not: it has branches of which the points know one, few
 * values, or is 1, which no axis of a program is. */
static const char *why_unseen(const struct group *g, dim d, const int64_t (*at)[LOOP_PARAMS_MAX])
{
	enum { VALUES_MIN = 3 };
	struct polys *P = g->m->dims;
	int64_t value[POINTS + 1];
	int values = 0;

	if (poly_is_const(P, d, NULL))
		return NULL;
	if (has_branch(P, d))
		return arena_printf(&g->m->arena, "the size %s has branches", poly_str(P, d, &g->m->arena));
	for (int i = 0; i <= POINTS; i++) {
		int64_t *env = values_at(g, at[i]);
		int k = 0;
		value[values] = poly_eval(P, d, env);
		free(env);
		if (value[values] < 2)
			return arena_printf(&g->m->arena, "the size %s is 1 or less too often", poly_str(P, d, &g->m->arena));
		while (value[k] != value[values])
			k++;
		values += k == values;
	}
	return values < VALUES_MIN ? arena_printf(&g->m->arena, "the size %s has too few values", poly_str(P, d, &g->m->arena)) : NULL;
}

static const char *why_group_unseen(const struct group *g, const int64_t (*at)[LOOP_PARAMS_MAX])
{
	const char *why = NULL;

	for (size_t i = 0; i < g->v.n && !why; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank && !why; d++)
			why = why_unseen(g, g->dims.a[i][d], at);
	return why;
}

/* The types of the group for the sizes at a point; NULL: as they are. */
static void set_types(struct group *g, const int64_t *size)
{
	struct polys *P = g->m->dims;
	poly by[LOOP_PARAMS_MAX];

	for (int k = 0; k < g->n && size; k++)
		by[k] = poly_const(P, size[k]);
	for (size_t i = 0; i < g->v.n; i++) {
		struct type *t = &val(g->m, g->v.a[i])->type;
		t->dims = g->declared.a[i];
		if (!size || !t->rank)
			continue;
		t->dims = arena_copy(&g->m->arena, g->dims.a[i], (size_t)t->rank * sizeof *t->dims);
		for (int d = 0; d < t->rank; d++)
			t->dims[d] = poly_subst_many(P, t->dims[d], g->n, g->symbol, by);
	}
}

/* ---- the program ---- */

static poly_var find_param(sym name, void *arg)
{
	struct loop_prog *q = arg;

	for (size_t i = 0; i < q->params.n; i++)
		if (q->params.a[i].name == name)
			return q->params.a[i].var;
	return 0;
}

/* With each of n forms, how many tiles it has. */
static int add_tiles(struct loop_prog *q, int tile, poly *form, int n, int max)
{
	int all = n;

	for (int i = 0; i < n && tile && all < max; i++)
		form[all++] = poly_ceildiv(q->P, form[i], tile);
	return all;
}

static bool is_size(const struct group *g, poly_var symbol)
{
	bool found = false;

	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			found |= poly_is_var(g->m->dims, g->dims.a[i][d]) == symbol;
	return found;
}

/* The sizes in the group's types as polynomials of q, then symbols that are no size themselves: of an even n, 2*floor(n/2) is n as well. */
static int forms_of(const struct group *g, struct loop_prog *q, poly *form, int max)
{
	int n = 0;

	for (int k = 0; k < g->n; k++)
		if (is_size(g, g->symbol[k]))
			form[n++] = poly_of(q->P, q->params.a[k].var);
	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++) {
			poly e = POLY_UNKNOWN;
			bool known = poly_is_const(g->m->dims, g->dims.a[i][d], NULL) ||
				     poly_parse(q->P, poly_str(g->m->dims, g->dims.a[i][d], &q->arena), find_param, q, &e);
			for (int k = 0; k < n && !known; k++)
				known = form[k] == e;
			if (!known && n < max)
				form[n++] = e;
		}
	for (int k = 0; k < g->n && n < max; k++)
		if (!is_size(g, g->symbol[k]))
			form[n++] = poly_of(q->P, q->params.a[k].var);
	return n;
}

static struct loop_prog *unify(const struct group *g, int n, struct loop_prog *const *p, const int64_t (*at)[LOOP_PARAMS_MAX],
			       const struct target *t, const char **why)
{
	struct loop_prog *q = prog_new(t);
	poly form[SIZES_MAX];

	for (int k = 0; k < g->n; k++) {
		int64_t lo, hi;
		range_of(g, k, &lo, &hi);
		lo = lo < g->least[k] ? g->least[k] : lo;
		prog_param(q, poly_var_name(g->m->dims, g->symbol[k]), lo < 0 ? 0 : lo, hi, poly_var_divisor(g->m->dims, g->symbol[k]));
	}
	int nforms = add_tiles(q, winograd_tile(p[0]->algo), form, forms_of(g, q, form, SIZES_MAX), SIZES_MAX);
	*why = prog_unify(q, n, p, at, nforms, form);
	if (!*why) {
		prog_start(q);
		return q;
	}
	*why = arena_str(&g->m->arena, *why);
	prog_free(q);
	return NULL;
}

/* The largest power of two in what floors of e divide by, or scale. */
static int64_t scale_of(struct polys *P, poly e, int64_t scale)
{
	const uint32_t *atoms;

	for (int i = 0, n; i < poly_nterms(P, e); i++) {
		poly_term(P, e, i, &n, &atoms);
		for (int k = 0; k < n; k++) {
			struct poly_atom a = *poly_atom(P, atoms[k]);
			if (a.kind == POLY_VAR)
				continue;
			int64_t two = a.c & -a.c;
			scale = a.kind == POLY_FLOOR && two > scale ? two : scale;
			scale = scale_of(P, a.a, scale);
			scale = a.kind == POLY_FLOOR ? scale : scale_of(P, a.b, scale);
		}
	}
	return scale;
}

/* Sizes for which nothing that varies is 1: an axis of one step would vanish. All that is halved is odd alike, or even: of an even
 * size a window of steps of two reads no border at the end. */
static void choose_scale(struct group *g)
{
	enum { SCALE_MAX = 256 }; /* a group that needs more has extents of 1 at all points, and is refused */

	g->scale = 1;
	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			g->scale = scale_of(g->m->dims, g->dims.a[i][d], g->scale);
	for (; g->scale < SCALE_MAX && !large_enough(g); g->scale *= 2)
		;
}

/* Do the constants of p stand for the same as those of the first program? Those that lowering makes are equal if their stages are. */
static bool same_constants(const struct lowered *first, const struct lowered *l, val_id made)
{
	bool same = l->nconst == first->nconst;

	for (int k = 0; k < l->nconst && same; k++)
		same = l->cval[k] == first->cval[k] || (l->cval[k] >= made && first->cval[k] >= made);
	return same;
}

/* The program for single sizes, to be compared with those for all, whose constants were computed as `computed` says. It has constants of
 * its own where they are computed otherwise. */
static struct lowered single(struct group *g, node_id n, const struct target *t, const char *algo, struct digest computed, const char **why)
{
	struct lowered l = lower_sketch(g->m, n, t, algo, why);

	if (*why || digest_eq(l.prog->constants, computed))
		return l;
	prog_free(l.prog);
	return lower_group(g->m, n, t, algo, why);
}

/* Is q for the values of its parameters the program for single sizes, l? */
static bool becomes(const struct lowered *q, const struct lowered *l, struct digest computed)
{
	return digest_eq(l->prog->constants, computed) && prog_becomes(q->prog, l->prog);
}

/* NULL, or where q, for the values of its parameters, the first of which is `size`, says other than l does. */
static const char *disagree(struct group *g, const struct lowered *q, const struct lowered *l, struct digest computed, int64_t size)
{
	return sized_agrees(g->m, q, l, !digest_eq(l->prog->constants, computed))
		       ? NULL
		       : arena_printf(&g->m->arena, "it is not what the program for %s = %ld is", sym_str(q->prog->params.a[0].name),
				      (long)size);
}

/* The programs for single sizes, among them the least and the greatest, say the same. NULL, or where not. Where they are the same, numbers are
 * compared at one point only, in case that is found wrongly. */
static const char *compare(struct group *g, node_id n, const struct target *t, const struct lowered *q, struct digest computed)
{
	enum { TRIES = 6, NUMBERS = 2 };
	static const int64_t few[TRIES] = {1, 2, 3, 7, 16, 33};
	const char *wrong = NULL;

	for (int i = 0; i < TRIES && !wrong; i++) {
		int64_t size[LOOP_PARAMS_MAX], lo, hi;
		const char *why;
		bool any = true;
		for (int k = 0; k < g->n; k++) {
			int64_t step = values_of(g, k, &lo, &hi);
			size[k] = (few[i] + (i ? k : 0)) * step;
			size[k] = size[k] < lo ? lo : size[k] > hi ? hi : size[k];
			q->prog->params.a[k].value = size[k];
		}
		int64_t *env = values_at(g, size);
		for (size_t v = 0; v < g->v.n; v++)
			for (int d = 0; d < val(g->m, g->v.a[v])->type.rank; d++)
				any &= poly_eval(g->m->dims, g->dims.a[v][d], env) > 0;
		free(env);
		if (!any)
			continue;
		set_types(g, size);
		struct lowered l = single(g, n, t, q->prog->algo, computed, &why);
		set_types(g, NULL);
		if (!why && (i == NUMBERS || !becomes(q, &l, computed)))
			wrong = disagree(g, q, &l, computed, size[0]);
		if (l.prog)
			prog_free(l.prog);
	}
	return wrong;
}

/* The program for single sizes on a grid that determines the numbers of q is q. *proved: it is, on all of it. NULL, or where it says otherwise. */
static const char *on_grid(struct group *g, node_id n, const struct target *t, const struct lowered *q, struct digest computed,
			   const int64_t *first, bool *proved)
{
	enum { GRID_MAX = 36 }; /* lowerings, milliseconds each; of a larger grid a few points are compared, and nothing is proved */
	struct sized_axis axis[LOOP_PARAMS_MAX];
	int *rank = ARENA_ARRAY(&g->m->arena, int, g->v.n + 1);
	const char *wrong = NULL;
	int64_t count = 1;

	for (size_t v = 0; v < g->v.n; v++)
		rank[v] = val(g->m, g->v.a[v])->type.rank;
	for (int k = 0; k < g->n && count <= GRID_MAX; k++) {
		int64_t lo, hi, unit = values_of(g, k, &lo, &hi);
		axis[k] = sized_axis(g->m->dims, g->symbol[k], g->v.n, rank, g->dims.a);
		axis[k].step *= unit / gcd(unit, axis[k].step);
		count *= axis[k].count;
		count = first[k] > hi - axis[k].step * (axis[k].count - 1) ? GRID_MAX + 1 : count;
	}
	*proved = count <= GRID_MAX;
	for (int64_t i = 0; *proved && i < count; i++) {
		int64_t size[LOOP_PARAMS_MAX], rest = i;
		const char *why;
		for (int k = 0; k < g->n; rest /= axis[k++].count)
			q->prog->params.a[k].value = size[k] = first[k] + rest % axis[k].count * axis[k].step;
		set_types(g, size);
		struct lowered l = single(g, n, t, q->prog->algo, computed, &why);
		set_types(g, NULL);
		*proved = !why && becomes(q, &l, computed);
		if (!why && !*proved)
			wrong = disagree(g, q, &l, computed, size[0]);
		if (l.prog)
			prog_free(l.prog);
	}
	return wrong;
}

/* The program that the first n of p have in common, if it is one for all sizes, into s. NULL, or why it is not. */
static const char *join(struct group *g, node_id id, const struct target *t, int n, struct loop_prog *const *p,
			const int64_t (*at)[LOOP_PARAMS_MAX], struct sized *s)
{
	const char *why;
	struct lowered l = s->low;

	l.prog = unify(g, n, p, at, t, &why);
	if (!why)
		why = loop_verify(l.prog);
	if (!why)
		why = compare(g, id, t, &l, p[0]->constants);
	if (!why)
		why = on_grid(g, id, t, &l, p[0]->constants, at[0], &s->proved);
	if (!why)
		s->low.prog = l.prog;
	else if (l.prog) {
		why = arena_str(&g->m->arena, why);
		prog_free(l.prog);
	}
	return why;
}

/* Says in p, the program for single sizes, which dims q has many sizes of. */
static void mark_varying(struct loop_prog *p, struct loop_prog *q)
{
	for (buf_id b = 1; b < p->bufs.n && b < q->bufs.n; b++)
		for (int d = 0; d < lbuf(p, b)->rank; d++)
			lbuf(p, b)->varies |= (uint32_t)(lbuf(q, b)->dim[d] != POLY_UNKNOWN) << d;
}

/* How many sizes of the group are odd, at all points but the usual one; beside that, how many are twice an odd number. */
static int odd_sizes(const struct group *g)
{
	enum { ODD = 1 << 12 };
	int odd = 0;

	for (int point = 0; point < USUAL; point++) {
		int64_t size[LOOP_PARAMS_MAX];
		for (int k = 0; k < g->n; k++)
			size[k] = size_at(g, point, k);
		int64_t *env = values_at(g, size);
		for (size_t i = 0; i < g->v.n; i++)
			for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++) {
				int64_t n = poly_eval(g->m->dims, g->dims.a[i][d], env);
				odd += n & 1 ? ODD : n & 2 ? 1 : 0;
			}
		free(env);
	}
	return odd;
}

/* Of odd sizes borders differ most: windows with steps reach beyond them. So do tiles of four, also where all sizes are even. */
static void choose_rest(struct group *g)
{
	enum { TRIES = 24 };
	struct rng r = {1};
	int64_t best = 0;
	int most = -1;

	for (int i = 0; i < TRIES && g->scale > 1; i++) {
		g->rest = i ? rng_range(&r, 1, 4 * g->scale) : 1;
		int odd = odd_sizes(g);
		best = odd > most ? g->rest : best;
		most = odd > most ? odd : most;
	}
	g->rest = best;
}

/* Has it the same stages, of other numbers? */
static bool same_form(const struct loop_prog *p, const struct loop_prog *q)
{
	return p->bufs.n == q->bufs.n && p->stages.n == q->stages.n && digest_eq(p->constants, q->constants);
}

/* Lowering may do otherwise at sizes that fill vectors, as the usual ones do. Then those one step larger, if they are like the points. */
static void retry_usual(struct group *g, node_id n, const struct target *t, int64_t *size, struct lowered *l, struct loop_prog **p)
{
	int64_t more[LOOP_PARAMS_MAX], lo, hi;
	const char *why;

	for (int k = 0; k < g->n; k++) {
		more[k] = size[k] + values_of(g, k, &lo, &hi);
		more[k] = more[k] <= hi ? more[k] : size[k];
	}
	set_types(g, more);
	struct lowered again = lower_sketch(g->m, n, t, p[USUAL]->algo, &why);
	if (!why && same_form(again.prog, p[0]) && again.nconst == l->nconst) {
		struct lowered old = *l;
		*l = again;
		again = old;
		p[USUAL] = l->prog;
		memcpy(size, more, sizeof *size * (size_t)g->n);
	}
	if (again.prog)
		prog_free(again.prog);
}

/* With types of usual sizes; an algorithm in the form that can vary. */
static struct lowered lower_usual(struct group *g, node_id n, const struct target *t, const char *algo, const char **why)
{
	struct lowered l = lower_sketch(g->m, n, t, algo, why);

	if (*why || !strcmp(winograd_of_lines(l.prog->algo), l.prog->algo))
		return l;
	algo = winograd_of_lines(l.prog->algo);
	prog_free(l.prog);
	return lower_sketch(g->m, n, t, algo, why);
}

static void lower_points(struct group *g, node_id n, const struct target *t, const char *algo, struct sized *s, const char **why)
{
	int64_t at[POINTS + 1][LOOP_PARAMS_MAX] = {{0}};
	struct lowered l[POINTS + 1] = {{0}};
	struct loop_prog *p[POINTS + 1] = {NULL};
	val_id made = (val_id)g->m->values.n;

	choose_scale(g);
	choose_rest(g);
	for (int i = 0; i <= POINTS; i++)
		for (int k = 0; k < g->n; k++)
			at[i][k] = size_at(g, i, k);
	*why = why_group_unseen(g, at);
	for (int i = POINTS; i >= 0 && !*why; i--) {
		set_types(g, at[i]);
		l[i] = i == USUAL ? lower_usual(g, n, t, algo, why) : (i ? lower_sketch : lower_group)(g->m, n, t, p[USUAL]->algo, why);
		p[i] = l[i].prog;
		if (!*why && !same_constants(&l[USUAL], &l[i], made))
			*why = "its constants differ with the sizes";
	}
	if (!*why && !same_form(p[USUAL], p[0]))
		retry_usual(g, n, t, at[USUAL], &l[USUAL], p);
	set_types(g, NULL);
	s->low = (struct lowered){NULL, l[0].nconst, l[0].cval};
	if (!*why)
		*why = join(g, n, t, POINTS + 1, p, at, s);
	if (*why && p[0]) /* guards that only odd sizes need do no harm to even ones */
		*why = join(g, n, t, POINTS, p, at, s);
	for (int k = 0; k < g->n; k++)
		s->arg[k] = g->stands_for[k] != POLY_UNKNOWN ? g->stands_for[k] : poly_of(g->m->dims, g->symbol[k]);
	if (s->low.prog) {
		s->low.cval = arena_copy(&s->low.prog->arena, s->low.cval, (size_t)s->low.nconst * sizeof *s->low.cval);
		s->usual = p[USUAL];
		mark_varying(s->usual, s->low.prog);
		p[USUAL] = NULL;
	}
	for (int i = 0; i <= POINTS; i++)
		if (p[i])
			prog_free(p[i]);
}

struct sized lower_sized(struct module *m, node_id n, const struct target *t, struct sized_for sizes, const char *algo, const char **why)
{
	struct group g = group_of(m, n, sizes);
	struct sized s = {0};

	*why = g.why;
	if (!*why && !g.n) {
		set_types(&g, (const int64_t[]){0});
		s.low = lower_group(m, n, t, algo, why);
		set_types(&g, NULL);
	} else if (!*why)
		lower_points(&g, n, t, algo, &s, why);
	if (*why && !g.why && g.n && !algo) { /* an algorithm whose numbers are no polynomials of sizes */
		*why = NULL;
		lower_points(&g, n, t, ALGO_USUAL, &s, why);
	}
	group_release(&g);
	return s;
}

void sized_usual(struct module *m, node_id n, struct loop_prog *p)
{
	struct group g = group_of(m, n, (struct sized_for){0});

	choose_scale(&g);
	for (int k = 0; k < g.n; k++)
		for (size_t i = 0; i < p->params.n; i++)
			if (p->params.a[i].name == poly_var_name(m->dims, g.symbol[k]))
				p->params.a[i].value = size_at(&g, USUAL, k);
	group_release(&g);
}

const char *sized_schedule(struct sized *s, const char *given, const struct samples *want, const char **trace)
{
	struct loop_prog *q = s->low.prog;
	const char *why;
	bool trace_given = given;

	if (s->usual) {
		s->usual->threads = q->threads;
		s->usual->usual = true;
	}
	if (!given)
		given = arena_str(&q->arena, schedule_with(s->usual ? s->usual : q, want, NULL));
	if (trace)
		*trace = given;
	if ((s->usual || trace_given) && (why = loop_apply(q, given, false)))
		return why;
	why = loop_legalize(q);
	return why ? why : loop_verify(q);
}

void sized_free(struct sized *s)
{
	if (s->low.prog)
		prog_free(s->low.prog);
	if (s->usual)
		prog_free(s->usual);
	*s = (struct sized){0};
}
