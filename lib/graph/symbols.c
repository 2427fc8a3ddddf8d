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

void symbols_name(struct module *m)
{
	struct polys *P = m->dims;
	VEC(poly_var) from = {0};
	VEC(poly) to = {0};
	uint32_t made = 0;
	for (poly_var v = 1, n = poly_nvars(P); v <= n; v++) {
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
	for (size_t v = 1; from.n && v < m->values.n; v++)
		rename_in(m, &m->values.a[v].type, (int)from.n, from.a, to.a);
	for (size_t n = 1; from.n && n < m->nodes.n; n++)
		for (uint32_t i = 0; i < m->nodes.a[n].nattr; i++)
			if (m->nodes.a[n].attr[i].kind == ATTR_TYPE)
				rename_in(m, m->nodes.a[n].attr[i].u.type, (int)from.n, from.a, to.a);
	vec_free(&from);
	vec_free(&to);
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

void symbols_mark(struct symbols *s, struct module *m, const struct type *t)
{
	if (!s->used)
		s->used = xcalloc(poly_nvars(m->dims) + 1, sizeof *s->used);
	for (int i = 0; i < t->rank; i++)
		mark(s, m->dims, t->dims[i]);
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
