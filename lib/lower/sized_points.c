/* Which sizes a group is lowered for, so that they tell the numbers that are forms of sizes apart. */
#include "lower/sized_impl.h"
#include <stdlib.h>
#include "common/memory.h"
#include "common/rng.h"

enum { MANY = 20 }; /* usual sizes are at least this */

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

void sized_range(const struct group *g, int k, int64_t *lo, int64_t *hi)
{
	if (g->stands_for[k] != POLY_UNKNOWN && poly_uses(g->m->dims, g->stands_for[k], g->symbol[k]))
		poly_range(g->m->dims, g->stands_for[k], lo, hi);
	else
		poly_var_range(g->m->dims, g->symbol[k], lo, hi);
	*hi = g->beyond && *hi < MANY ? POLY_INF : *hi;
}

bool sized_go_beyond(struct group *g)
{
	bool any = false;
	int64_t lo, hi;

	for (int k = 0; k < g->n; k++) {
		sized_range(g, k, &lo, &hi);
		any |= hi < MANY;
	}
	return g->beyond = any;
}

int64_t sized_values(const struct group *g, int k, int64_t *lo, int64_t *hi)
{
	int64_t step = poly_var_divisor(g->m->dims, g->symbol[k]);

	sized_range(g, k, lo, hi);
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

int64_t sized_at(const struct group *g, int point, int k)
{
	static const int64_t prime[] = {17,  19,  23,  29,  31,  37,  41,  43,  47,  53,  59,  61,  67,  71,  73,  79,  83,  89,  97,  101,
					103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199};
	_Static_assert(sizeof prime / sizeof *prime >= POINTS * LOOP_PARAMS_MAX, "a prime for each");
	enum { ROWS = 120, LENGTH = 320, IMAGES = 2 }; /* more than a tile has rows, or vectors; such have many divisors */
	int64_t lo, hi, step = sized_values(g, k, &lo, &hi), unit = step, part = sized_divisor(g->m->dims, g->stands_for[k]);
	bool images = counts_images(g, g->symbol[k]);

	if (g->scale > 1 && !images)
		unit *= g->scale;
	int64_t n = point != USUAL ? prime[point * g->n + k] : images ? IMAGES : unit == 1 ? ROWS : unit < 32 ? LENGTH / unit : 10;
	if (point == USUAL && part > 1 && unit == 1) /* what is usual is the length that the floor is of */
		n = LENGTH / part > MANY ? LENGTH / part : MANY;
	n = n * unit < lo ? lo + n * unit : n * unit;
	if (point == USUAL)
		return n < hi ? n : hi;
	n += images ? 0 : g->rest * step;
	return n <= hi ? n : size_in_range(point, k, lo, hi, step);
}

/* Is the size above 2 at the first point, and 20 at least at the usual sizes, but for those of images? */
static bool is_large(const struct group *g, dim d, int point, const int64_t *env)
{
	enum { FIRST = 3, FEW = 2 };
	struct polys *P = g->m->dims;
	poly_var v = poly_is_var(P, d);
	int64_t least = point != USUAL ? FIRST : v && counts_images(g, v) ? FEW : MANY;

	return poly_is_const(P, d, NULL) || poly_eval(P, d, env) >= least;
}

int64_t *sized_symbols(const struct group *g, const int64_t *size)
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
			size[k] = sized_at(g, point, k);
		int64_t *env = sized_symbols(g, size);
		for (size_t i = 0; i < g->v.n; i++)
			for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
				large &= is_large(g, g->dims.a[i][d], point, env);
		free(env);
	}
	return large;
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
	if (sized_branch(P, d, 0))
		return arena_printf(&g->m->arena, "the size %s has branches", poly_str(P, d, &g->m->arena));
	for (int i = 0; i <= POINTS; i++) {
		int64_t *env = sized_symbols(g, at[i]);
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

const char *sized_unseen(const struct group *g, const int64_t (*at)[LOOP_PARAMS_MAX])
{
	const char *why = NULL;

	for (size_t i = 0; i < g->v.n && !why; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank && !why; d++)
			why = why_unseen(g, g->dims.a[i][d], at);
	return why;
}

void sized_set_types(struct group *g, const int64_t *size)
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

void sized_choose_scale(struct group *g)
{
	enum { SCALE_MAX = 256 }; /* a group that needs more has extents of 1 at all points, and is refused */

	g->scale = 1;
	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			g->scale = scale_of(g->m->dims, g->dims.a[i][d], g->scale);
	for (; g->scale < SCALE_MAX && !large_enough(g); g->scale *= 2)
		;
}

/* How many sizes of the group are odd, at all points but the usual one; beside that, how many are twice an odd number. */
static int odd_sizes(const struct group *g)
{
	enum { ODD = 1 << 12 };
	int odd = 0;

	for (int point = 0; point < USUAL; point++) {
		int64_t size[LOOP_PARAMS_MAX];
		for (int k = 0; k < g->n; k++)
			size[k] = sized_at(g, point, k);
		int64_t *env = sized_symbols(g, size);
		for (size_t i = 0; i < g->v.n; i++)
			for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++) {
				int64_t n = poly_eval(g->m->dims, g->dims.a[i][d], env);
				odd += n & 1 ? ODD : n & 2 ? 1 : 0;
			}
		free(env);
	}
	return odd;
}

void sized_choose_rest(struct group *g)
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
