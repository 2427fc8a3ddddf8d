#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "graph/symbols.h"

static void rename_in(struct module *m, struct type *t, int n, const poly_var *from, const poly *to)
{
	dim *dims = NULL;
	for (int i = 0; i < t->rank; i++) {
		dim d = poly_subst_many(m->dims, t->dims[i], n, from, to);
		if (d == t->dims[i])
			continue;
		if (!dims) /* others may share the array */
			dims = arena_copy(&m->arena, t->dims, sizeof *dims * (size_t)t->rank);
		dims[i] = d;
	}
	if (dims)
		t->dims = dims;
}

static void mark(struct symbols *s, const struct polys *P, poly e)
{
	for (int i = 0, n = e ? poly_nterms(P, e) : 0; i < n; i++) {
		int natoms;
		const uint32_t *atoms;
		poly_term(P, e, i, &natoms, &atoms);
		for (int k = 0; k < natoms; k++) {
			const struct poly_atom *x = poly_atom(P, atoms[k]);
			if (x->kind != POLY_VAR) {
				mark(s, P, x->a);
				if (x->kind != POLY_FLOOR)
					mark(s, P, x->b);
			} else if (!s->used[x->var]) {
				s->used[x->var] = true;
				vec_push(&s->list, x->var);
			}
		}
	}
}

void symbols_mark_dim(struct symbols *s, struct module *m, dim d)
{
	if (!s->used)
		s->used = xcalloc(poly_nvars(m->dims) + 1, sizeof *s->used);
	mark(s, m->dims, d);
}

void symbols_mark(struct symbols *s, struct module *m, const struct type *t)
{
	for (int i = 0; i < t->rank; i++)
		symbols_mark_dim(s, m, t->dims[i]);
}

static void mark_node(struct symbols *s, struct module *m, const struct node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		symbols_mark(s, m, &val(m, n->out[i])->type);
	for (uint32_t i = 0; i < n->nattr; i++)
		if (n->attr[i].kind == ATTR_TYPE)
			symbols_mark(s, m, n->attr[i].u.type);
}

void symbols_mark_module(struct symbols *s, struct module *m)
{
	struct graph_list order = {0};

	module_graph_order(m, &order);
	for (size_t k = 0; k < order.n; k++) {
		const struct graph *g = graph(m, order.a[k]);
		for (size_t i = 0; i < g->in.n; i++)
			symbols_mark(s, m, &val(m, g->in.a[i])->type);
		for (size_t i = 0; i < g->nodes.n; i++)
			mark_node(s, m, node(m, g->nodes.a[i]));
	}
	vec_free(&order);
}

static void rename_all(struct module *m, int n, const poly_var *from, const poly *to)
{
	for (size_t v = 1; n && v < m->values.n; v++)
		rename_in(m, &m->values.a[v].type, n, from, to);
	for (size_t i = 1; n && i < m->nodes.n; i++)
		for (uint32_t k = 0; k < m->nodes.a[i].nattr; k++)
			if (m->nodes.a[i].attr[k].kind == ATTR_TYPE)
				rename_in(m, m->nodes.a[i].attr[k].u.type, n, from, to);
}

void symbols_name(struct module *m)
{
	struct polys *P = m->dims;
	struct symbols all = {0};
	VEC(poly_var) from = {0};
	VEC(poly) to = {0};
	uint32_t made = 0;

	symbols_mark_module(&all, m);
	for (size_t i = 0; i < all.list.n; i++) {
		poly_var v = all.list.a[i];
		sym name = poly_var_name(P, v);
		int64_t lo, hi;
		if (name && poly_var_find(P, name) == v)
			continue;
		do
			name = intern_printf("_%u", ++made);
		while (poly_var_find(P, name));
		poly_var_range(P, v, &lo, &hi);
		vec_push(&from, v);
		vec_push(&to, poly_of(P, poly_var_new(P, name, lo, hi, poly_var_divisor(P, v))));
	}
	rename_all(m, (int)from.n, from.a, to.a);
	symbols_free(&all);
	vec_free(&from);
	vec_free(&to);
}

/* A symbol of inputs that no sum names. */
struct summand {
	const struct polys *P;
	const struct symbols *inputs;
};

static poly_var find_summand(sym name, void *arg)
{
	const struct summand *s = arg;
	poly_var v = poly_var_find(s->P, name);

	return v && s->inputs->used[v] && !strchr(sym_str(name), '+') ? v : 0;
}

void symbols_sum(struct module *m)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+ ";
	const struct graph *g = graph(m, m->main);
	struct symbols all = {0};
	VEC(poly_var) from = {0};
	VEC(poly) to = {0};
	poly e;

	for (size_t i = 0; i < g->in.n; i++)
		symbols_mark(&all, m, &val(m, g->in.a[i])->type);
	for (size_t i = 0; i < all.list.n; i++) {
		sym named = poly_var_name(m->dims, all.list.a[i]);
		const char *name = named ? sym_str(named) : "";
		if (!strchr(name, '+') || name[strspn(name, letters)] ||
		    poly_parse(m->dims, name, find_summand, &(struct summand){m->dims, &all}, &e) || poly_is_const(m->dims, e, NULL))
			continue;
		vec_push(&from, all.list.a[i]);
		vec_push(&to, e);
	}
	rename_all(m, (int)from.n, from.a, to.a);
	symbols_free(&all);
	vec_free(&from);
	vec_free(&to);
}

static int by_name(const void *a, const void *b, void *P)
{
	return strcmp(sym_str(poly_var_name(P, *(const poly_var *)a)), sym_str(poly_var_name(P, *(const poly_var *)b)));
}

void symbols_sort(struct symbols *s, struct module *m)
{
	if (s->list.n)
		qsort_r(s->list.a, s->list.n, sizeof *s->list.a, by_name, m->dims);
}

void symbols_free(struct symbols *s)
{
	free(s->used);
	vec_free(&s->list);
	s->used = NULL;
}

static poly_var lookup(sym name, void *dims) { return poly_var_find(dims, name); }

const char *dim_parse(struct module *m, const char *s, size_t n, dim *out)
{
	char *text = xmalloc(n + 1);
	memcpy(text, s, n);
	text[n] = 0;
	const char *why = strlen(text) < n ? "NUL byte" : poly_parse(m->dims, text, lookup, m->dims, out);
	int64_t c;
	if (!why && poly_is_const(m->dims, *out, &c) && c < 0)
		why = "negative";
	free(text);
	return why;
}
