/* floor, mod and exact division of polynomials. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/poly_impl.h"

/* The numerator of a floor while it is taken apart. */
struct split {
	VEC(struct term) out; /* divisible: leave the floor */
	VEC(struct term) in;  /* remainders, constant apart */
	int64_t k;            /* constant, in [0, c) */
};

static void split_free(struct split *s)
{
	vec_free(&s->out);
	vec_free(&s->in);
}

/* coef = c*q + r with r of coef's sign: q leaves, r stays. Of the constant r >= 0. */
static void split_terms(struct polys *P, poly e, int64_t c, struct split *s)
{
	const struct sum x = *sum_of(P, e);
	for (uint32_t i = 0; i < x.n; i++) {
		struct term t = x.t[i];
		int64_t q = t.coef / c, r = t.coef % c;
		if (t.mono == 0) {
			q = floor_div(t.coef, c);
			s->k = t.coef - c * q;
			r = 0;
		} else if (r && poly_content(P, poly_term_only(P, t)) % c == 0) {
			/* a multiple of c by what is known of its variables: a floor of its own */
			int64_t g = gcd_of(r, c);
			poly own = poly_from_atom(
				P,
				(struct poly_atom){.kind = POLY_FLOOR, .a = poly_term_only(P, (struct term){r / g, t.mono}), .c = c / g});
			const struct sum *o = sum_of(P, own);
			if (own && o->n == 1) {
				vec_push(&s->out, o->t[0]);
				r = 0;
			}
		}
		if (q)
			vec_push(&s->out, (struct term){q, t.mono});
		if (r)
			vec_push(&s->in, (struct term){r, t.mono});
	}
}

static poly sum_up(struct polys *P, const struct term *t, size_t n, int64_t k)
{
	struct term *copy = xmalloc(sizeof *copy * (n + 1));
	if (n)
		memcpy(copy, t, sizeof *copy * n);
	copy[n] = (struct term){k, 0};
	poly e = poly_from_terms(P, copy, n + 1);
	free(copy);
	return e;
}

/* For g dividing c: R = g*X + S with the terms of S those g does not divide. When floor(S/g) is the
 * same for all values, floor(R/c) = floor((X + floor(S/g)) / (c/g)). Tries the g that the coefficients
 * suggest; POLY_UNKNOWN if none will do. S empty is the case of a common factor. */
static poly drop_low_part(struct polys *P, const struct split *s, int64_t c)
{
	int64_t tried = INT64_MAX;
	for (;;) { /* largest first */
		int64_t g = 1;
		for (size_t i = 0; i < s->in.n; i++) {
			int64_t d = gcd_of(s->in.a[i].coef, c);
			if (d < tried && d > g)
				g = d;
		}
		if (g == 1)
			return POLY_UNKNOWN;
		tried = g;
		VEC(struct term) high = {0}, low = {0};
		for (size_t i = 0; i < s->in.n; i++) {
			struct term t = s->in.a[i];
			if (t.coef % g == 0)
				vec_push(&high, (struct term){t.coef / g, t.mono});
			else
				vec_push(&low, t);
		}
		struct iv r = poly_bounds(P, sum_up(P, low.a, low.n, s->k), NULL);
		poly e = POLY_UNKNOWN;
		if (r.lo != INT64_MIN && r.hi != INT64_MAX && floor_div(r.lo, g) == floor_div(r.hi, g))
			e = poly_floordiv(P, sum_up(P, high.a, high.n, floor_div(r.lo, g)), c / g);
		vec_free(&high);
		vec_free(&low);
		if (e)
			return e;
	}
}

/* floor((f + S)/c) with f = floor(a/d): floor((a + d*S)/(d*c)); with f = -floor(a/d), which is
 * floor((d - 1 - a)/d), likewise. Only where one term is such. POLY_UNKNOWN: there is none, or overflow. */
static poly flatten(struct polys *P, const struct split *s, int64_t c)
{
	const struct poly_atom *a = NULL;
	size_t at = 0;
	int64_t dc;
	for (size_t i = 0; i < s->in.n; i++) {
		const struct poly_atom *x = term_atom(P, &s->in.a[i]);
		int64_t coef = s->in.a[i].coef;
		if (!x || x->kind != POLY_FLOOR || (coef != 1 && coef != -1))
			continue;
		if (a)
			return POLY_UNKNOWN;
		a = x;
		at = i;
	}
	if (!a || __builtin_mul_overflow(c, a->c, &dc))
		return POLY_UNKNOWN;
	poly f = a->a;
	if (s->in.a[at].coef == -1)
		f = poly_addc(P, poly_mulc(P, f, -1), a->c - 1);
	poly S = sum_up(P, s->in.a, s->in.n, s->k);
	S = poly_sub(P, S, poly_term_only(P, s->in.a[at]));
	poly n = poly_add(P, f, poly_mulc(P, S, a->c));
	return poly_floordiv(P, n, dc);
}

/* floor of a remainder: |coefficients| < c, the first positive, 0 <= k < c. */
static poly floor_remainder(struct polys *P, const struct split *s, int64_t c)
{
	if (s->in.n == 0)
		return ZERO;
	poly R = sum_up(P, s->in.a, s->in.n, s->k);
	struct iv r = poly_bounds(P, R, NULL);
	if (r.lo != INT64_MIN && r.hi != INT64_MAX && floor_div(r.lo, c) == floor_div(r.hi, c))
		return poly_const(P, floor_div(r.lo, c));
	poly e = drop_low_part(P, s, c);
	if (!e)
		e = flatten(P, s, c);
	if (!e && R)
		e = poly_from_atom(P, (struct poly_atom){.kind = POLY_FLOOR, .a = R, .c = c});
	return e;
}

/* A remainder such as 2*floor(v/4), v a multiple of 4, has a simpler form: floor(v/2). */
static bool has_exact(struct polys *P, const struct split *s)
{
	for (size_t i = 0; i < s->in.n; i++) {
		const struct sum *x = sum_of(P, poly_term_only(P, s->in.a[i]));
		if (x->n != 1 || x->t->mono != s->in.a[i].mono)
			return true;
	}
	return false;
}

poly poly_floordiv(struct polys *P, poly a, int64_t c)
{
	if (c <= 0)
		BUG("division of an index by %lld", (long long)c);
	if (!a || c == 1)
		return a;
	struct split s = {0};
	split_terms(P, a, c, &s);
	bool negative = s.in.n && s.in.a[0].coef < 0;
	if (negative) { /* floor(R/c) = -floor((c - 1 - R)/c) */
		for (size_t i = 0; i < s.in.n; i++)
			s.in.a[i].coef = -s.in.a[i].coef;
		s.k = c - 1 - s.k;
	}
	poly inner = has_exact(P, &s) ? poly_floordiv(P, sum_up(P, s.in.a, s.in.n, s.k), c) : floor_remainder(P, &s, c);
	if (negative)
		inner = poly_mulc(P, inner, -1);
	poly e = poly_add(P, sum_up(P, s.out.a, s.out.n, 0), inner);
	split_free(&s);
	return e;
}

poly poly_ceildiv(struct polys *P, poly a, int64_t c) { return poly_floordiv(P, poly_addc(P, a, c - 1), c); }

poly poly_mod(struct polys *P, poly a, int64_t c) { return poly_sub(P, a, poly_mulc(P, poly_floordiv(P, a, c), c)); }

/* Division by the leading term, again and again (monomials are in graded lexicographic order). */
poly poly_divide(struct polys *P, poly a, poly b)
{
	int64_t c;
	if (!a || !b || b == ZERO)
		return POLY_UNKNOWN;
	if (poly_is_const(P, b, &c) && c > 0 && poly_content(P, a) % c == 0)
		return poly_floordiv(P, a, c);
	const struct sum d = *sum_of(P, b);
	poly quotient = ZERO;
	while (a && a != ZERO) {
		struct term lead = sum_of(P, a)->t[0];
		const struct mono x = *mono_of(P, lead.mono), y = *mono_of(P, d.t[0].mono);
		uint32_t rest[DEGREE_MAX], n = 0, j = 0;
		for (uint32_t i = 0; i < x.n; i++) {
			if (j < y.n && x.atoms[i] == y.atoms[j])
				j++;
			else
				rest[n++] = x.atoms[i];
		}
		if (j < y.n || (d.t[0].coef == -1 && lead.coef == INT64_MIN) || lead.coef % d.t[0].coef)
			return POLY_UNKNOWN;
		poly q = poly_from_atoms(P, lead.coef / d.t[0].coef, rest, n);
		quotient = poly_add(P, quotient, q);
		a = poly_sub(P, a, poly_mul(P, q, b));
	}
	return a ? quotient : POLY_UNKNOWN;
}
