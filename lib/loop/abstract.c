/* Sizes in which parameters occur only together: the same polynomials in one variable. */
#include "loop/nest.h"

static poly in_terms(struct loop_prog *p, poly e, poly base, poly_var v);

static bool has_parameters(struct loop_prog *p, poly e)
{
	for (size_t i = 0; i < p->params.n; i++)
		if (poly_uses(p->P, e, p->params.a[i].var))
			return true;
	return false;
}

static poly atom_poly(struct polys *P, const struct poly_atom *a)
{
	switch (a->kind) {
	case POLY_VAR: return poly_of(P, a->var);
	case POLY_FLOOR: return poly_floordiv(P, a->a, a->c);
	case POLY_MIN: return poly_min(P, a->a, a->b);
	case POLY_MAX: return poly_max(P, a->a, a->b);
	}
	return POLY_UNKNOWN;
}

/* floor(e/c) where base has a floor of a divisor d of c: floor(floor(e/d) / (c/d)). */
static poly rewrite_floor(struct loop_prog *p, poly e, int64_t c, poly base, poly_var v)
{
	struct polys *P = p->P;
	const uint32_t *atoms;
	poly x = in_terms(p, e, base, v);

	for (int i = 0, n; x == POLY_UNKNOWN && i < poly_nterms(P, base); i++) {
		poly_term(P, base, i, &n, &atoms);
		struct poly_atom a = n == 1 ? *poly_atom(P, atoms[0]) : (struct poly_atom){.kind = POLY_VAR};
		if (a.kind != POLY_FLOOR || a.c == c || c % a.c)
			continue;
		x = in_terms(p, poly_floordiv(P, e, a.c), base, v);
		if (x != POLY_UNKNOWN)
			return poly_floordiv(P, x, c / a.c);
	}
	return poly_floordiv(P, x, c);
}

/* The atom with its operands rewritten. */
static poly rewrite_atom(struct loop_prog *p, const struct poly_atom *a, poly base, poly_var v)
{
	if (a->kind == POLY_VAR || a->kind == POLY_FLOOR)
		return a->kind == POLY_VAR ? POLY_UNKNOWN : rewrite_floor(p, a->a, a->c, base, v);
	poly x = in_terms(p, a->a, base, v), y = in_terms(p, a->b, base, v);
	return a->kind == POLY_MIN ? poly_min(p->P, x, y) : poly_max(p->P, x, y);
}

/* Term i of e goes to one of the sums: of those without parameters, or that are rewritten, and of those in parameters alone. */
static void add_term(struct loop_prog *p, poly e, int i, poly base, poly_var v, poly *done, poly *sum)
{
	struct polys *P = p->P;
	int n;
	const uint32_t *atoms;
	int64_t c = poly_term(P, e, i, &n, &atoms);
	struct poly_atom first = n ? *poly_atom(P, atoms[0]) : (struct poly_atom){0};
	poly term = poly_const(P, c);

	for (int k = 0; k < n; k++) {
		poly_term(P, e, i, &n, &atoms); /* they may have moved */
		struct poly_atom a = *poly_atom(P, atoms[k]);
		term = poly_mul(P, term, atom_poly(P, &a));
	}
	if (!has_parameters(p, term)) {
		*done = poly_add(P, *done, term);
		return;
	}
	poly whole = n == 1 ? rewrite_atom(p, &first, base, v) : POLY_UNKNOWN;
	if (whole != POLY_UNKNOWN)
		*done = poly_add(P, *done, poly_mulc(P, whole, c));
	else
		*sum = poly_add(P, *sum, term);
}

/* The factor by which sum is base; 0: it is none. */
static int64_t factor_of(struct polys *P, poly sum, poly base)
{
	int n;
	const uint32_t *atoms;

	if (sum == POLY_UNKNOWN || !poly_nterms(P, sum) || !poly_nterms(P, base))
		return 0;
	int64_t a = poly_term(P, sum, 0, &n, &atoms), b = poly_term(P, base, 0, &n, &atoms);
	return b && a % b == 0 && poly_mulc(P, base, a / b) == sum ? a / b : 0;
}

static poly in_terms(struct loop_prog *p, poly e, poly base, poly_var v)
{
	struct polys *P = p->P;
	poly done = poly_const(P, 0), sum = done;

	if (e == POLY_UNKNOWN || !has_parameters(p, e))
		return e;
	for (int i = 0; i < poly_nterms(P, e); i++)
		add_term(p, e, i, base, v, &done, &sum);
	if (poly_is_const(P, sum, NULL))
		return done;
	int64_t c = factor_of(P, sum, base);
	return c ? poly_add(P, done, poly_mulc(P, poly_of(P, v), c)) : POLY_UNKNOWN;
}

poly prog_abstract(struct loop_prog *p, poly e, poly base, poly_var v) { return in_terms(p, e, base, v); }

/* Without its constant, and what divides the rest. */
static poly primitive(struct polys *P, poly e)
{
	int64_t constant = 0, divisor = 0;
	int natoms;
	const uint32_t *atoms;

	for (int i = 0; i < poly_nterms(P, e); i++) {
		int64_t c = poly_term(P, e, i, &natoms, &atoms), a = c < 0 ? -c : c;
		constant = natoms ? constant : c;
		for (int64_t b = natoms ? divisor : a; b;) {
			int64_t r = a % b;
			a = b;
			b = r;
		}
		divisor = natoms ? a : divisor;
	}
	e = poly_addc(P, e, -constant);
	return divisor > 1 ? poly_floordiv(P, e, divisor) : e;
}

static int add_base(struct polys *P, poly e, poly *base, int n, int max)
{
	e = primitive(P, e);
	for (int i = 0; i < n; i++)
		if (base[i] == e)
			return n;
	if (n < max)
		base[n++] = e;
	return n;
}

int prog_bases(struct loop_prog *p, poly e, poly *base, int n, int max)
{
	struct polys *P = p->P;
	int natoms;
	const uint32_t *atoms;

	if (e == POLY_UNKNOWN || !has_parameters(p, e))
		return n;
	if (prog_fixed(p, e))
		n = add_base(P, e, base, n, max);
	for (int i = 0; i < poly_nterms(P, e); i++) {
		poly_term(P, e, i, &natoms, &atoms);
		struct poly_atom a = natoms == 1 ? *poly_atom(P, atoms[0]) : (struct poly_atom){.kind = POLY_VAR};
		if (a.kind != POLY_VAR)
			n = prog_bases(p, a.a, base, n, max);
	}
	return n;
}
