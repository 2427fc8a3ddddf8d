/* Sizes with which no run can be: where the extent of a value that every run makes would be negative. */
#include "graph/symbols.h"
#include "op/op.h"
#include "op/rules.h"

/* The one symbol in e; 0: there are none, or several. */
static poly_var only_symbol(struct polys *P, poly e)
{
	poly_var found = 0;

	for (poly_var v = 1; v <= poly_nvars(P); v++)
		if (poly_uses(P, e, v)) {
			if (found)
				return 0;
			found = v;
		}
	return found;
}

/* Is e negative for every v from lo to hi? The ranges of all symbols: vlo and vhi. */
static bool negative(struct polys *P, poly e, poly_var v, int64_t lo, int64_t hi, int64_t *vlo, int64_t *vhi)
{
	int64_t least, most;

	vlo[v] = lo;
	vhi[v] = hi;
	poly_range_in(P, e, vlo, vhi, &least, &most);
	return most < 0;
}

static bool narrow(struct polys *P, poly e, int64_t *vlo, int64_t *vhi)
{
	int64_t lo, hi, least, most, first, past = 1;
	poly_var v;

	poly_range(P, e, &least, &most);
	if (least >= 0 || !(v = only_symbol(P, e)))
		return false;
	poly_var_range(P, v, &lo, &hi);
	if (!negative(P, e, v, lo, lo, vlo, vhi))
		return false;
	while (past < INT32_MAX && lo + past < hi && negative(P, e, v, lo, lo + past, vlo, vhi))
		past *= 2;
	for (first = lo, past += lo; past - first > 1;) { /* negative up to first, not up to past */
		int64_t middle = first + (past - first) / 2;
		if (negative(P, e, v, lo, middle, vlo, vhi))
			first = middle;
		else
			past = middle;
	}
	if (past >= hi)
		return false;
	poly_var_narrow(P, v, past, hi);
	return true;
}

bool bounds_found(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	uint32_t n = poly_nvars(m->dims) + 1;
	int64_t *vlo = ARENA_ARRAY(&m->arena, int64_t, n), *vhi = ARENA_ARRAY(&m->arena, int64_t, n);
	bool any = false;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *x = node(m, g->nodes.a[i]);
		for (uint32_t k = 0; k < x->nout; k++) {
			const struct type *t = x->out[k] ? &val(m, x->out[k])->type : NULL;
			for (int d = 0; t && !t->other && d < t->rank; d++)
				any |= t->dims[d] && !poly_is_const(m->dims, t->dims[d], NULL) && narrow(m->dims, t->dims[d], vlo, vhi);
		}
	}
	return any;
}

/* Puts `by` into the place of v in all types. */
static void put_size(struct module *m, poly_var v, poly by)
{
	for (size_t i = 1; i < m->values.n; i++) {
		struct type *t = &m->values.a[i].type;
		bool uses = false;
		for (int k = 0; k < t->rank && !uses; k++)
			uses = t->dims[k] && poly_uses(m->dims, t->dims[k], v);
		if (!uses)
			continue;
		t->dims = arena_copy(&m->arena, t->dims, sizeof *t->dims * (size_t)t->rank);
		for (int k = 0; k < t->rank; k++)
			t->dims[k] = t->dims[k] ? poly_subst(m->dims, t->dims[k], v, by) : POLY_UNKNOWN;
	}
}

/* Is a module in which v is 0 one that no run can be of? */
static bool refuses_zero(struct module *m, poly_var v)
{
	struct type *saved = ARENA_ARRAY(&m->arena, struct type, m->values.n);

	for (size_t i = 1; i < m->values.n; i++)
		saved[i] = m->values.a[i].type;
	put_size(m, v, poly_const(m->dims, 0));
	bool refused = !infer_would(m);
	for (size_t i = 1; i < m->values.n; i++)
		m->values.a[i].type = saved[i];
	return refused;
}

bool bounds_above_zero(struct module *m)
{
	enum { TRIALS_MAX = 32 }; /* each infers the module */
	const struct graph *g = graph(m, m->main);
	struct symbols s = {0};
	int64_t lo, hi;
	bool any = false;

	for (size_t i = 0; i < g->in.n; i++)
		symbols_mark(&s, m, &val(m, g->in.a[i])->type);
	for (size_t i = 0; i < s.list.n && i < TRIALS_MAX; i++) {
		poly_var_range(m->dims, s.list.a[i], &lo, &hi);
		if (lo != 0 || hi == 0 || !refuses_zero(m, s.list.a[i]))
			continue;
		poly_var_narrow(m->dims, s.list.a[i], 1, hi);
		any = true;
	}
	symbols_free(&s);
	return any;
}
