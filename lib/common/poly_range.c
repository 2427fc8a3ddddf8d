/* Bounds of polynomials by interval arithmetic.
 *
 * Terms that share no variable are bounded apart and added. Where they do, the naive sum is met with
 * what follows from floor(a/c) = (a - m)/c, 0 <= m < c, after which the terms of a may cancel, and from
 * the two branches of min and max. */
#include <string.h>
#include "common/msg.h"
#include "common/poly_impl.h"

enum { TERMS_STUDIED = 24, TERMS_FACTORED = 6, DEPTH_STUDIED = 8 };

static const struct iv everything = {INT64_MIN, INT64_MAX};

static int64_t clamp(__int128 x) { return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : (int64_t)x; }

static bool infinite(int64_t x) { return x == INT64_MIN || x == INT64_MAX; }

static int64_t mul_end(int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return 0;
	if (infinite(a) || infinite(b))
		return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
	return clamp((__int128)a * b);
}

static struct iv iv_mul(struct iv a, struct iv b)
{
	int64_t p[4] = {mul_end(a.lo, b.lo), mul_end(a.lo, b.hi), mul_end(a.hi, b.lo), mul_end(a.hi, b.hi)};
	struct iv r = {p[0], p[0]};
	for (int i = 1; i < 4; i++) {
		r.lo = p[i] < r.lo ? p[i] : r.lo;
		r.hi = p[i] > r.hi ? p[i] : r.hi;
	}
	return r;
}

static struct iv iv_mulc(struct iv a, int64_t c) { return iv_mul(a, (struct iv){c, c}); }

static struct iv iv_add(struct iv a, struct iv b)
{
	return (struct iv){
		a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : clamp((__int128)a.lo + b.lo),
		a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : clamp((__int128)a.hi + b.hi),
	};
}

/* Both hold. (They overlap, unless a variable's range is empty.) */
static struct iv iv_meet(struct iv a, struct iv b)
{
	struct iv r = {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
	return r.lo <= r.hi ? r : a;
}

static struct iv iv_floor(struct iv a, int64_t c)
{
	return (struct iv){
		a.lo == INT64_MIN ? INT64_MIN : floor_div(a.lo, c),
		a.hi == INT64_MAX ? INT64_MAX : floor_div(a.hi, c),
	};
}

static struct iv iv_minmax(bool least, struct iv a, struct iv b)
{
	if (least)
		return (struct iv){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
	return (struct iv){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static struct iv var_range(const struct polys *P, poly_var v, const struct ranges *r)
{
	if (r && r->lo)
		return (struct iv){r->lo[v], r->hi[v]};
	if (r && r->v == v)
		return r->of_v;
	return P->vars.a[v].range;
}

static struct iv atom_range(struct polys *P, const struct poly_atom *a, const struct ranges *r)
{
	if (a->kind == POLY_VAR)
		return var_range(P, a->var, r);
	struct iv x = poly_bounds(P, a->a, r);
	if (a->kind == POLY_FLOOR)
		return iv_floor(x, a->c);
	return iv_minmax(a->kind == POLY_MIN, x, poly_bounds(P, a->b, r));
}

/* Atoms are sorted, so powers are neighbours; an even power is not negative. */
static struct iv term_range(struct polys *P, struct term t, const struct ranges *r)
{
	const struct mono m = *mono_of(P, t.mono);
	struct iv x = {1, 1};
	for (uint32_t i = 0, n; i < m.n; i += n) {
		struct iv base = atom_range(P, P->atoms.a[m.atoms[i]], r), power = base;
		for (n = 1; i + n < m.n && m.atoms[i + n] == m.atoms[i]; n++)
			power = iv_mul(power, base);
		if (n % 2 == 0 && power.lo < 0)
			power.lo = 0;
		x = iv_mul(x, power);
	}
	return iv_mulc(x, t.coef);
}

static struct iv sum_naive(struct polys *P, const struct sum *s, const struct ranges *r)
{
	struct iv x = {0, 0};
	for (uint32_t i = 0; i < s->n; i++)
		x = iv_add(x, term_range(P, s->t[i], r));
	return x;
}

/* L*e with floor terms written out, and the range of what their remainders add; L*e = sum + rest. */
struct relaxed {
	poly sum;
	int64_t L;
	struct iv rest;
};

static bool is_floor(const struct polys *P, const struct term *t)
{
	const struct poly_atom *a = term_atom(P, t);
	return a && a->kind == POLY_FLOOR;
}

/* Writes out term t = q*floor(a/c) of x: L*q*floor(a/c) = L*q/c*(a - m). Multiplies L as needed. */
static bool write_out(struct polys *P, struct relaxed *x, struct term t)
{
	const struct poly_atom *a = term_atom(P, &t);
	int64_t more = a->c / gcd_of(t.coef, a->c), q, L;
	if (x->L % more == 0)
		more = 1;
	else
		more /= gcd_of(x->L, more);
	if (__builtin_mul_overflow(x->L, more, &L) || __builtin_mul_overflow(t.coef, L, &q))
		return false;
	poly rest = poly_sub(P, poly_mulc(P, x->sum, more), poly_mulc(P, poly_term_only(P, (struct term){1, t.mono}), q));
	poly sum = poly_add(P, rest, poly_mulc(P, a->a, q / a->c));
	if (!sum)
		return false;
	*x = (struct relaxed){sum, L, iv_add(iv_mulc(x->rest, more), iv_mulc((struct iv){0, a->c - 1}, -(q / a->c)))};
	return true;
}

static struct iv relaxed_range(struct polys *P, const struct relaxed *x, const struct ranges *r)
{
	struct iv s = iv_add(poly_bounds(P, x->sum, r), x->rest);
	return (struct iv){
		infinite(s.lo) ? s.lo : -floor_div(-s.lo, x->L),
		infinite(s.hi) ? s.hi : floor_div(s.hi, x->L),
	};
}

/* All floors written out; and those only that make other terms vanish. */
static struct iv without_floors(struct polys *P, poly e, struct iv known, const struct ranges *r)
{
	const struct sum s = *sum_of(P, e);
	struct relaxed all = {e, 1, {0, 0}}, some = all;
	int nall = 0, nsome = 0;
	for (uint32_t i = 0; i < s.n; i++) {
		if (!is_floor(P, &s.t[i]))
			continue;
		nall += write_out(P, &all, s.t[i]);
		struct relaxed one = some;
		if (write_out(P, &one, s.t[i]) && one.L == some.L && sum_of(P, one.sum)->n < sum_of(P, some.sum)->n) {
			some = one;
			nsome++;
		}
	}
	if (nsome && nsome < nall)
		known = iv_meet(known, relaxed_range(P, &some, r));
	if (nall)
		known = iv_meet(known, relaxed_range(P, &all, r));
	return known;
}

/* coef*min(a, b) + rest is the least (coef < 0: the greatest) of coef*a + rest and coef*b + rest. */
static struct iv by_branches(struct polys *P, poly e, struct iv known, const struct ranges *r)
{
	const struct sum s = *sum_of(P, e);
	int n = 0;
	for (uint32_t i = 0; i < s.n; i++) {
		const struct poly_atom *a = term_atom(P, &s.t[i]);
		if (!a || a->kind == POLY_FLOOR || ++n > 1)
			continue;
		poly rest = poly_sub(P, e, poly_term_only(P, s.t[i]));
		poly x = poly_add(P, rest, poly_mulc(P, a->a, s.t[i].coef));
		poly y = poly_add(P, rest, poly_mulc(P, a->b, s.t[i].coef));
		if (x && y)
			known = iv_meet(known,
					iv_minmax((a->kind == POLY_MIN) == (s.t[i].coef > 0), poly_bounds(P, x, r), poly_bounds(P, y, r)));
	}
	return known;
}

/* The terms that have the atom, with it (of) or without, divided by it. */
static poly split_terms(struct polys *P, const struct term *t, uint32_t n, uint32_t atom, bool of)
{
	poly sum = poly_const(P, 0);

	for (uint32_t i = 0; i < n; i++) {
		const struct mono m = *mono_of(P, t[i].mono);
		uint32_t at = 0, rest[TERMS_STUDIED];
		while (at < m.n && m.atoms[at] != atom)
			at++;
		if ((at < m.n) != of || m.n > TERMS_STUDIED)
			continue;
		for (uint32_t k = 0; k + of < m.n; k++)
			rest[k] = m.atoms[k + (of && k >= at)];
		sum = poly_add(P, sum, poly_from_atoms(P, t[i].coef, rest, m.n - of));
	}
	return sum;
}

/* Are there terms of both signs that have the atom, and is none too long? */
static bool both_signs(const struct polys *P, const struct term *t, uint32_t n, uint32_t atom)
{
	bool plus = false, minus = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct mono *m = mono_of(P, t[i].mono);
		if (m->n > TERMS_STUDIED)
			return false;
		for (uint32_t k = 0; k < m->n; k++)
			if (m->atoms[k] == atom) {
				plus |= t[i].coef > 0;
				minus |= t[i].coef < 0;
			}
	}
	return plus && minus;
}

/* a*x - a*y + rest is a*(x - y) + rest: where terms have no bound they may have one together. */
static struct iv by_factors(struct polys *P, const struct term *t, uint32_t n, struct iv known, const struct ranges *r)
{
	for (uint32_t i = 0; i < n && n <= TERMS_FACTORED; i++)
		for (uint32_t k = 0; k < mono_of(P, t[i].mono)->n && t[i].coef < 0; k++) {
			uint32_t atom = mono_of(P, t[i].mono)->atoms[k];
			if ((!infinite(known.lo) && !infinite(known.hi)) || !both_signs(P, t, n, atom))
				continue;
			poly x = split_terms(P, t, n, atom, true), rest = split_terms(P, t, n, atom, false);
			if (!x || !rest)
				continue;
			struct iv of = iv_mul(atom_range(P, P->atoms.a[atom], r), poly_bounds(P, x, r));
			known = iv_meet(known, iv_add(of, poly_bounds(P, rest, r)));
		}
	return known;
}

/* Terms that share variables with one another. A common factor is taken out: between its multiples
 * there is nothing. */
static struct iv component_range(struct polys *P, struct term *t, uint32_t n, const struct ranges *r)
{
	struct sum s = {.t = t, .n = n};
	struct iv known = sum_naive(P, &s, r);
	bool studied = false;
	int64_t g = 0;
	for (uint32_t i = 0; i < n; i++) {
		studied |= term_atom(P, &t[i]) != NULL;
		g = gcd_of(t[i].coef, g);
	}
	known = by_factors(P, t, n, known, r);
	if (n < 2 || !studied || known.lo == known.hi || g < 1)
		return known;
	for (uint32_t i = 0; i < n; i++)
		t[i].coef /= g;
	poly e = poly_from_terms(P, t, n);
	if (!e)
		return known;
	if (g > 1)
		return iv_meet(known, iv_mulc(poly_bounds(P, e, r), g));
	known = without_floors(P, e, known, r);
	return by_branches(P, e, known, r);
}

static struct iv sum_range(struct polys *P, poly e, const struct ranges *r)
{
	const struct sum s = *sum_of(P, e);
	struct iv total = {0, 0};
	bool taken[TERMS_STUDIED] = {false};
	if (s.n > TERMS_STUDIED || s.depth == 0 || s.depth > DEPTH_STUDIED)
		return by_factors(P, s.t, s.n, sum_naive(P, &s, r), r);
	for (uint32_t i = 0; i < s.n; i++) {
		struct term t[TERMS_STUDIED];
		uint32_t n = 0;
		uint64_t vars = mono_of(P, s.t[i].mono)->vars, before;
		if (taken[i])
			continue;
		t[n++] = s.t[i];
		taken[i] = true;
		do {
			before = vars;
			for (uint32_t j = i + 1; j < s.n; j++) {
				uint64_t of_j = mono_of(P, s.t[j].mono)->vars;
				if (taken[j] || !(of_j & vars))
					continue;
				taken[j] = true;
				t[n++] = s.t[j];
				vars |= of_j;
			}
		} while (vars != before);
		total = iv_add(total, component_range(P, t, n, r));
	}
	return total;
}

struct iv poly_bounds(struct polys *P, poly e, const struct ranges *r)
{
	if (!e)
		return everything;
	if (!r)
		r = P->assumed;
	if (r && sum_of(P, e)->vars & r->vars)
		return sum_range(P, e, r);
	if (!sum_of(P, e)->ranged) {
		const struct ranges *before = P->assumed;
		P->assumed = NULL;
		struct iv range = sum_range(P, e, NULL);
		P->assumed = before;
		P->sums.a[e].range = range;
		P->sums.a[e].ranged = true;
	}
	return sum_of(P, e)->range;
}

/* Looking at a polynomial may add others to the context, which is why the cast is harmless. */
void poly_range(const struct polys *P, poly e, int64_t *lo, int64_t *hi)
{
	struct iv x = poly_bounds((struct polys *)P, e, NULL);
	*lo = x.lo;
	*hi = x.hi;
}

void poly_range_in(const struct polys *P, poly e, const int64_t *vlo, const int64_t *vhi, int64_t *lo, int64_t *hi)
{
	struct ranges r = {.lo = vlo, .hi = vhi, .vars = ~0ull};
	struct iv x = poly_bounds((struct polys *)P, e, &r);
	*lo = x.lo;
	*hi = x.hi;
}
