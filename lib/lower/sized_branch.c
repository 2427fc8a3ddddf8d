/* Sizes with branches, min(a, b) and max(a, b), where a result has elements: a branch that would leave it none is not taken. */
#include "lower/sized_impl.h"
#include <stdlib.h>
#include "common/memory.h"

/* Of one size that are decided. Those beyond stay as they are: then the size is one with a branch, for which there may be no kernel. */
enum { BRANCHES_MAX = 16 };

static poly atom_with(struct polys *P, uint32_t x, uint32_t id, poly by)
{
	struct poly_atom a = *poly_atom(P, x);

	if (x == id)
		return by;
	switch (a.kind) {
	case POLY_VAR: return poly_of(P, a.var);
	case POLY_FLOOR: return poly_floordiv(P, sized_put(P, a.a, id, by), a.c);
	case POLY_MIN: return poly_min(P, sized_put(P, a.a, id, by), sized_put(P, a.b, id, by));
	case POLY_MAX: break;
	}
	return poly_max(P, sized_put(P, a.a, id, by), sized_put(P, a.b, id, by));
}

poly sized_put(struct polys *P, poly e, uint32_t id, poly by)
{
	poly sum = poly_const(P, 0);

	for (int i = 0, n = poly_nterms(P, e), natoms; i < n; i++) {
		const uint32_t *atom;
		poly t = poly_const(P, poly_term(P, e, i, &natoms, &atom));
		for (int k = 0; k < natoms; k++) {
			poly_term(P, e, i, &natoms, &atom); /* where atoms are may have changed */
			t = poly_mul(P, t, atom_with(P, atom[k], id, by));
		}
		sum = poly_add(P, sum, t);
	}
	return sum;
}

/* What the branch that is atom id is, wherever e >= 1. POLY_UNKNOWN: one or the other. */
static poly taken(struct polys *P, poly e, uint32_t id)
{
	struct poly_atom a = *poly_atom(P, id);
	int64_t lo, hi;

	poly_range(P, sized_put(P, e, id, a.a), &lo, &hi);
	if (hi <= 0)
		return a.b;
	poly_range(P, sized_put(P, e, id, a.b), &lo, &hi);
	return hi <= 0 ? a.a : POLY_UNKNOWN;
}

/* A branch in e that is known wherever most >= 1; 0: none. */
static uint32_t known_branch(struct polys *P, poly e, poly most, poly *by)
{
	uint32_t found = 0;

	for (int i = 0; i < poly_nterms(P, e) && !found; i++) {
		int n;
		const uint32_t *atom;
		poly_term(P, e, i, &n, &atom);
		for (int k = 0; k < n && !found; k++) {
			poly_term(P, e, i, &n, &atom);
			uint32_t id = atom[k];
			struct poly_atom a = *poly_atom(P, id);
			if (a.kind == POLY_FLOOR)
				found = known_branch(P, a.a, most, by);
			else if (a.kind != POLY_VAR && (*by = taken(P, most, id)) != POLY_UNKNOWN)
				found = id;
		}
	}
	return found;
}

void sized_settle(struct polys *P, int n, poly *e, int nresult, const dim *result)
{
	for (int d = 0; d < nresult; d++) {
		poly size = result[d], by;
		uint32_t id;
		for (int k = 0; k < BRANCHES_MAX && (id = known_branch(P, size, size, &by)); k++) {
			size = sized_put(P, size, id, by);
			for (int i = 0; i < n; i++)
				e[i] = sized_put(P, e[i], id, by);
		}
	}
}

uint32_t sized_branch(struct polys *P, poly e, poly_var symbol)
{
	uint32_t found = 0;
	const uint32_t *atom;

	for (int i = 0, n; i < poly_nterms(P, e) && !found; i++) {
		poly_term(P, e, i, &n, &atom);
		for (int k = 0; k < n && !found; k++) {
			struct poly_atom a = *poly_atom(P, atom[k]);
			if (a.kind == POLY_FLOOR)
				found = sized_branch(P, a.a, symbol);
			else if (a.kind != POLY_VAR && (!symbol || poly_uses(P, a.a, symbol) || poly_uses(P, a.b, symbol)))
				found = atom[k];
		}
	}
	return found;
}

poly sized_branch_size(struct polys *P, uint32_t id)
{
	struct poly_atom a = *poly_atom(P, id);

	return a.kind == POLY_MIN ? poly_min(P, a.a, a.b) : poly_max(P, a.a, a.b);
}

/* Is it a value that the symbol may have, whatever the symbol is? */
static bool may_stand(struct polys *P, poly branch, poly_var symbol)
{
	int64_t lo, hi, least, most;

	poly_range(P, branch, &least, &most);
	poly_var_range(P, symbol, &lo, &hi);
	for (poly_var v = 1; v <= poly_nvars(P); v++)
		if (v != symbol && poly_uses(P, branch, v))
			return false;
	return poly_var_divisor(P, symbol) == 1 && least >= lo && most <= hi;
}

/* The outermost floor, an atom, in e that depends on the symbol; 0: there is none. */
static uint32_t floor_in(struct polys *P, poly e, poly_var symbol)
{
	const uint32_t *atom;

	for (int i = 0, n; i < poly_nterms(P, e); i++) {
		poly_term(P, e, i, &n, &atom);
		for (int k = 0; k < n; k++)
			if (poly_atom(P, atom[k])->kind == POLY_FLOOR && poly_uses(P, poly_atom(P, atom[k])->a, symbol))
				return atom[k];
	}
	return 0;
}

int64_t sized_divisor(struct polys *P, poly e)
{
	const uint32_t *atom;
	int n;

	if (e == POLY_UNKNOWN || poly_nterms(P, e) != 1 || poly_term(P, e, 0, &n, &atom) != 1 || n != 1 ||
	    poly_atom(P, atom[0])->kind != POLY_FLOOR)
		return 1;
	return poly_atom(P, atom[0])->c;
}

poly sized_stand(struct polys *P, int n, poly *const *e, poly_var symbol)
{
	uint32_t id = 0, below = 0;
	poly one = poly_const(P, 1), size;

	for (int i = 0; i < n && !id; i++)
		id = sized_branch(P, *e[i], symbol);
	for (int i = 0; i < n && !id && !below; i++)
		below = floor_in(P, *e[i], symbol);
	if (!id && !below)
		return POLY_UNKNOWN;
	size = id ? sized_branch_size(P, id) : poly_floordiv(P, poly_atom(P, below)->a, poly_atom(P, below)->c);
	id = id ? id : below;
	for (int i = 0; i < n; i++)
		if (poly_uses(P, sized_put(P, *e[i], id, one), symbol))
			return POLY_UNKNOWN;
	if (!may_stand(P, size, symbol))
		return POLY_UNKNOWN;
	for (int i = 0; i < n; i++)
		*e[i] = sized_put(P, *e[i], id, poly_of(P, symbol));
	return size;
}

/* Can e be 1 or more where the symbol, whose highest value hi[symbol] is, is at most `most`? */
static bool positive(struct polys *P, poly e, poly_var symbol, int64_t most, const int64_t *lo, int64_t *hi)
{
	int64_t low, high, was = hi[symbol];

	hi[symbol] = most;
	poly_range_in(P, e, lo, hi, &low, &high);
	hi[symbol] = was;
	return high >= 1;
}

int64_t sized_least(struct polys *P, poly e, poly_var symbol)
{
	enum { LEAST_MAX = 1 << 20 }; /* of an axis that the group needs to have a result: no model has so large a window */
	size_t n = poly_nvars(P) + 1;
	int64_t *lo = xcalloc(n, sizeof *lo), *hi = xcalloc(n, sizeof *hi);

	for (poly_var v = 1; v < n; v++)
		poly_var_range(P, v, &lo[v], &hi[v]);
	int64_t no = lo[symbol] - 1, yes = hi[symbol] < LEAST_MAX ? hi[symbol] : LEAST_MAX; /* greatest without, least with an element */
	if (!poly_uses(P, e, symbol) || no < -1 || yes <= no || !positive(P, e, symbol, yes, lo, hi))
		yes = 0;
	while (yes - no > 1) {
		int64_t most = no + (yes - no) / 2;
		if (positive(P, e, symbol, most, lo, hi))
			yes = most;
		else
			no = most;
	}
	free(lo);
	free(hi);
	return yes;
}
