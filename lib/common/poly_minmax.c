/* min and max of polynomials.
 *
 * Canonical form: a list of arguments, none of which is beaten by another for all values, sorted,
 * nested to the right; what all have in common (terms, a constant, a factor) is outside. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/poly_impl.h"

enum { ARGS_MAX = 8 };

struct args {
	bool least; /* min */
	int n;
	poly e[ARGS_MAX];
};

/* e as coef*min(a, b) + rest, where that is the least of two: the one term that is such, or -1. */
static int minmax_term(const struct polys *P, poly e, bool least)
{
	const struct sum *s = sum_of(P, e);
	int at = -1;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct poly_atom *a = term_atom(P, &s->t[i]);
		if (!a || a->kind == POLY_FLOOR)
			continue;
		if (at >= 0 || (a->kind == POLY_MIN) != (least == (s->t[i].coef > 0)))
			return -1;
		at = (int)i;
	}
	return at;
}

/* Adds e, or the arguments it is itself the least of. false: too many. */
static bool add_arg(struct polys *P, struct args *x, poly e)
{
	int at = minmax_term(P, e, x->least);
	if (at >= 0) {
		struct term t = sum_of(P, e)->t[at];
		const struct poly_atom a = *term_atom(P, &t);
		poly rest = poly_sub(P, e, poly_term_only(P, t));
		poly l = poly_add(P, rest, poly_mulc(P, a.a, t.coef)), r = poly_add(P, rest, poly_mulc(P, a.b, t.coef));
		return l && r && add_arg(P, x, l) && add_arg(P, x, r);
	}
	if (x->n == ARGS_MAX)
		return false;
	x->e[x->n++] = e;
	return true;
}

/* Drops each argument that another is at least as good as for all values. */
static void drop_beaten(struct polys *P, struct args *x)
{
	for (int i = 0; i < x->n; i++) {
		for (int j = 0; j < x->n; j++) {
			struct iv d = poly_bounds(P, poly_sub(P, x->e[i], x->e[j]), NULL);
			if (i == j || !(x->least ? d.lo >= 0 : d.hi <= 0))
				continue;
			memmove(&x->e[i], &x->e[i + 1], sizeof x->e[0] * (size_t)(x->n - i - 1));
			x->n--;
			i--;
			break;
		}
	}
}

static int64_t coef_of(const struct polys *P, poly e, uint32_t mono)
{
	const struct sum *s = sum_of(P, e);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->t[i].mono == mono)
			return s->t[i].coef;
	return 0;
}

/* Terms that all arguments have, with coefficients of one sign: the smallest of each. */
static poly common_terms(struct polys *P, const struct args *x)
{
	const struct sum s = *sum_of(P, x->e[0]);
	poly common = ZERO;
	for (uint32_t i = 0; i < s.n; i++) {
		int64_t c = s.t[i].coef;
		if (s.t[i].mono == 0)
			continue;
		for (int k = 1; k < x->n; k++) {
			int64_t d = coef_of(P, x->e[k], s.t[i].mono);
			if ((d < 0) != (c < 0))
				d = 0;
			if ((c > 0 && d < c) || (c < 0 && d > c))
				c = d;
		}
		common = poly_add(P, common, poly_term_only(P, (struct term){c, s.t[i].mono}));
	}
	return common;
}

static bool subtract(struct polys *P, struct args *x, poly from_each)
{
	bool good = true;
	for (int i = 0; i < x->n; i++) {
		x->e[i] = poly_sub(P, x->e[i], from_each);
		good &= x->e[i] != POLY_UNKNOWN;
	}
	return good;
}

/* min(-a, -b) is written -max(a, b), if most terms are negative. */
static bool mostly_negative(const struct polys *P, const struct args *x)
{
	int balance = 0;
	for (int i = 0; i < x->n; i++) {
		const struct sum *s = sum_of(P, x->e[i]);
		for (uint32_t k = 0; k < s->n; k++)
			if (s->t[k].mono)
				balance += s->t[k].coef < 0 ? -1 : 1;
	}
	return balance < 0;
}

static int64_t factor(const struct polys *P, const struct args *x)
{
	int64_t g = 0;
	for (int i = 0; i < x->n; i++) {
		const struct sum *s = sum_of(P, x->e[i]);
		for (uint32_t k = 0; k < s->n; k++)
			g = gcd_of(s->t[k].coef, g);
	}
	return g > 0 ? g : 1;
}

static poly divide_terms(struct polys *P, poly e, int64_t c)
{
	const struct sum s = *sum_of(P, e);
	struct term *t = xmalloc(sizeof *t * (s.n + 1));
	for (uint32_t i = 0; i < s.n; i++)
		t[i] = (struct term){s.t[i].coef / c, s.t[i].mono};
	poly q = poly_from_terms(P, t, s.n);
	free(t);
	return q;
}

static void sort_args(const struct polys *P, struct args *x)
{
	for (int i = 1; i < x->n; i++)
		for (int j = i; j > 0 && poly_cmp(P, x->e[j - 1], x->e[j]) > 0; j--) {
			poly t = x->e[j];
			x->e[j] = x->e[j - 1];
			x->e[j - 1] = t;
		}
}

static poly nest(struct polys *P, const struct args *x)
{
	poly e = x->e[x->n - 1];
	for (int i = x->n - 2; i >= 0 && e; i--)
		e = poly_from_atom(P, (struct poly_atom){.kind = x->least ? POLY_MIN : POLY_MAX, .a = x->e[i], .b = e});
	return e;
}

static poly canonical(struct polys *P, struct args *x)
{
	drop_beaten(P, x);
	if (x->n == 1)
		return x->e[0];
	poly outside = common_terms(P, x);
	if (!outside || !subtract(P, x, outside))
		return POLY_UNKNOWN;
	int64_t sign = 1, k;
	if (mostly_negative(P, x)) {
		sign = -1;
		x->least = !x->least;
		for (int i = 0; i < x->n; i++)
			if (!(x->e[i] = poly_mulc(P, x->e[i], -1)))
				return POLY_UNKNOWN;
	}
	k = coef_of(P, x->e[0], 0);
	for (int i = 1; i < x->n; i++) {
		int64_t c = coef_of(P, x->e[i], 0);
		k = c < k ? c : k;
	}
	if (!subtract(P, x, poly_const(P, k)))
		return POLY_UNKNOWN;
	int64_t g = factor(P, x);
	for (int i = 0; g > 1 && i < x->n; i++)
		x->e[i] = divide_terms(P, x->e[i], g);
	sort_args(P, x);
	poly inside = poly_addc(P, poly_mulc(P, nest(P, x), g), k);
	return poly_add(P, outside, poly_mulc(P, inside, sign));
}

static poly minmax(struct polys *P, bool least, poly a, poly b)
{
	if (!a || !b)
		return POLY_UNKNOWN;
	if (a == b)
		return a;
	struct iv d = poly_bounds(P, poly_sub(P, a, b), NULL);
	if (d.hi <= 0)
		return least ? a : b;
	if (d.lo >= 0)
		return least ? b : a;
	struct args x = {.least = least};
	if (!add_arg(P, &x, a) || !add_arg(P, &x, b))
		x = (struct args){.least = least, .n = 2, .e = {a, b}};
	return canonical(P, &x);
}

poly poly_min(struct polys *P, poly a, poly b) { return minmax(P, true, a, b); }

poly poly_max(struct polys *P, poly a, poly b) { return minmax(P, false, a, b); }
