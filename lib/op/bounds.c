/* Sizes with which no run can be: where the extent of a value that every run makes would be negative. */
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
