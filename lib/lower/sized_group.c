/* The sizes of a group: its values, the symbols in them, and symbols that stand for branches. */
#define _GNU_SOURCE
#include "lower/sized_impl.h"
#include <stdlib.h>
#include <string.h>
#include "op/op.h"

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
}

/* The number of the first size of the group that depends on the symbol; -1: none does. */
static int first_use(const struct group *g, poly_var symbol)
{
	int n = 0;

	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++, n++)
			if (poly_uses(g->m->dims, g->dims.a[i][d], symbol))
				return n;
	return -1;
}

/* By first use, so that groups whose sizes differ only by their names get equal kernels; those of one size by name. */
static int by_use(const void *x, const void *y, void *group)
{
	const struct group *g = group;
	poly_var a = *(const poly_var *)x, b = *(const poly_var *)y;
	int use = first_use(g, a) - first_use(g, b);

	return use ? use : strcmp(sym_str(poly_var_name(g->m->dims, a)), sym_str(poly_var_name(g->m->dims, b)));
}

static bool is_fixed(const struct group *g, poly_var v)
{
	for (int i = 0; i < g->sizes.fixed.n; i++)
		if (g->sizes.fixed.var[i] == v)
			return true;
	return false;
}

/* The symbols in the group's sizes. */
static void find_symbols(struct group *g)
{
	g->n = 0;
	for (poly_var v = 1; v <= poly_nvars(g->m->dims) && !g->why; v++) {
		if (is_fixed(g, v) || first_use(g, v) < 0)
			continue;
		if (g->n == LOOP_PARAMS_MAX)
			g->why = "too many symbols";
		else
			g->symbol[g->n++] = v;
	}
	if (g->n)
		qsort_r(g->symbol, (size_t)g->n, sizeof *g->symbol, by_use, g);
	for (int k = 0; k < g->n; k++)
		g->stands_for[k] = POLY_UNKNOWN;
}

/* All sizes of the group, and n more. */
struct sizes_of {
	VEC(poly *) at;
};
static struct sizes_of sizes_of(struct group *g, int n, dim *d)
{
	struct sizes_of all = {0};

	for (size_t i = 0; i < g->v.n; i++)
		for (int k = 0; k < val(g->m, g->v.a[i])->type.rank; k++)
			vec_push(&all.at, &g->dims.a[i][k]);
	for (int i = 0; i < n; i++)
		vec_push(&all.at, &d[i]);
	return all;
}

/* Do the shape rules of the body say of the sizes that symbols stand for what they say of any others? */
static bool stands_fit(struct group *g, const struct graph *body)
{
	bool fit = true;

	for (size_t i = 0; i < g->v.n; i++)
		val(g->m, g->v.a[i])->type.dims = g->dims.a[i];
	for (size_t i = 0; i < body->nodes.n && fit; i++)
		fit = infer_fits(g->m, body->nodes.a[i]);
	for (size_t i = 0; i < g->v.n; i++)
		val(g->m, g->v.a[i])->type.dims = g->declared.a[i];
	return fit;
}

static bool has_branches(const struct group *g)
{
	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			if (sized_branch(g->m->dims, g->dims.a[i][d], 0))
				return true;
	return false;
}

/* Symbols that stand for the sizes of a result that is a part of its operand. Returns how many; -1: it is no such part. */
static int stand_for_parts(struct group *g, const struct graph *body, struct sizes_of *all, struct stand *s)
{
	struct module *m = g->m;
	const struct node *x = node(m, body->nodes.a[0]);
	int64_t rest;
	int count = 0;
	size_t in = 0, out = 0;

	while (in < g->v.n && g->v.a[in] != x->in[0])
		in++;
	while (out < g->v.n && g->v.a[out] != x->out[0])
		out++;
	if (body->nodes.n > 1 || in == g->v.n || out == g->v.n || val(m, x->in[0])->type.rank != val(m, x->out[0])->type.rank)
		return -1;
	for (int d = 0; d < val(m, x->out[0])->type.rank; d++) {
		if (!sized_branch(m->dims, g->dims.a[out][d], 0))
			continue;
		if (g->dims.a[out][d] == g->dims.a[in][d] && count < LOOP_PARAMS_MAX) {
			s[count++] = sized_whole(m->dims, (int)all->at.n, all->at.a, g->dims.a[out][d]);
			continue;
		}
		if (count + 2 > LOOP_PARAMS_MAX || !lower_part(m, x, d, &rest) ||
		    sized_part(m->dims, (int)all->at.n, all->at.a, g->dims.a[in][d], g->dims.a[out][d], rest, s + count) < 0)
			return -1;
		count += 2;
	}
	return count;
}

/* Puts new symbols into the place of all branches, in the n sizes d, too. The branches stay if that is no group. */
static void stand_for_branches(struct group *g, const struct graph *body, int n, dim *d)
{
	struct stand s[2 * LOOP_PARAMS_MAX];
	struct sizes_of all = sizes_of(g, n, d);
	dim *was = ARENA_ARRAY(&g->m->arena, dim, all.at.n + 1);
	int stands = -1;

	for (size_t i = 0; i < all.at.n; i++)
		was[i] = *all.at.a[i];
	for (int parts = 1; parts >= 0 && stands < 0; parts--) {
		stands = parts ? stand_for_parts(g, body, &all, s) : sized_stands(g->m->dims, (int)all.at.n, all.at.a, LOOP_PARAMS_MAX, s);
		if (stands >= 0 && (parts ? !has_branches(g) : stands_fit(g, body)))
			break;
		stands = -1;
		for (size_t i = 0; i < all.at.n; i++)
			*all.at.a[i] = was[i];
	}
	vec_free(&all.at);
	for (int k = 0; k < g->n && stands >= 0; k++) /* those from before */
		if (g->stands_for[k] != POLY_UNKNOWN)
			s[stands++] = (struct stand){g->symbol[k], g->stands_for[k]};
	if (stands < 0)
		return;
	find_symbols(g);
	for (int i = 0; i < stands; i++)
		for (int k = 0; k < g->n; k++)
			g->stands_for[k] = g->symbol[k] == s[i].symbol ? s[i].is : g->stands_for[k];
}

/* Symbols that occur only in a branch, or only in a floor, stand for it. d: n more sizes. */
static void replace_branches(struct group *g, const struct graph *body, int n, dim *d)
{
	struct sizes_of all = sizes_of(g, n, d);

	for (int k = 0; k < g->n; k++)
		g->stands_for[k] = sized_stand(g->m->dims, (int)all.at.n, all.at.a, g->symbol[k]);
	vec_free(&all.at);
	if (has_branches(g))
		stand_for_branches(g, body, n, d);
}

/* Takes over bounds that hold where the result has elements; only for one result, as of several one may have none. */
static void settle_dims(struct group *g, const struct graph *body)
{
	const struct type *t = body->out.n == 1 ? &val(g->m, body->out.a[0])->type : NULL;
	dim *d = t ? arena_copy(&g->m->arena, t->dims, (size_t)t->rank * sizeof *d) : NULL;

	for (size_t i = 0; i < g->v.n && t; i++)
		sized_settle(g->m->dims, val(g->m, g->v.a[i])->type.rank, g->dims.a[i], t->rank, t->dims);
	if (t)
		sized_settle(g->m->dims, t->rank, d, t->rank, t->dims);
	find_symbols(g);
	if (g->why)
		return;
	replace_branches(g, body, t ? t->rank : 0, d);
	for (int i = 0; t && i < t->rank; i++)
		for (int k = 0; k < g->n; k++) {
			int64_t least = sized_least(g->m->dims, d[i], g->symbol[k]);
			g->least[k] = least > g->least[k] ? least : g->least[k];
		}
}

/* Some symbols are numbers. */
static void settle_fixed(struct group *g)
{
	const struct sizes_fixed *x = &g->sizes.fixed;
	struct polys *P = g->m->dims;
	poly is[FIXED_MAX];

	for (int k = 0; k < x->n; k++)
		is[k] = poly_const(P, x->size[k]);
	for (size_t i = 0; i < g->v.n && x->n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			g->dims.a[i][d] = poly_subst_many(P, g->dims.a[i][d], x->n, x->var, is);
}

struct group sized_group(struct module *m, node_id n, struct sized_for sizes)
{
	const struct graph *body = graph(m, attr_graph(node(m, n), "graph"));
	struct group g = {.m = m, .body = body, .sizes = sizes};

	for (size_t i = 0; i < body->in.n; i++)
		add_value(&g, body->in.a[i]);
	for (size_t i = 0; i < body->nodes.n; i++)
		for (uint32_t k = 0; k < node(m, body->nodes.a[i])->nout; k++)
			add_value(&g, node(m, body->nodes.a[i])->out[k]);
	if (!g.why)
		settle_dims(&g, body);
	if (!g.why)
		settle_fixed(&g);
	for (int k = 0; k < g.n; k++)
		g.least[k] = sizes.some && g.least[k] < 1 ? 1 : g.least[k];
	return g;
}

void sized_group_release(struct group *g)
{
	vec_free(&g->v);
	vec_free(&g->dims);
	vec_free(&g->declared);
}
