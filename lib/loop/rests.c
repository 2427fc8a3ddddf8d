/* What the verifier takes for known of programs with parameters, shown: that the rests are in the ranges of their variables and have
 * their facts, and that what loops say of themselves follows from their having an iteration. */
#include "common/msg.h"
#include "loop/nest.h"

/* FACTS_MAX: of loops around and rests; DEPTH: how many of them are used one behind the other. Both bound the work: what would need more
 * is not shown, and the program is refused. */
enum { FACTS_MAX = NEST_DEPTH_MAX, DEPTH = 4 };

struct known {
	struct loop_prog *p;
	int n;
	poly ge[FACTS_MAX]; /* >= 0 */
};

static void know(struct known *k, poly e)
{
	if (e != POLY_UNKNOWN && k->n < FACTS_MAX)
		k->ge[k->n++] = e;
}

/* e without the factor that all its terms but the constant have; it is negative just if e is. */
static poly lowest(struct polys *P, poly e)
{
	int64_t g = 0, constant = 0;
	const uint32_t *atoms;

	for (int i = 0, n; i < poly_nterms(P, e); i++) {
		int64_t c = poly_term(P, e, i, &n, &atoms);
		constant = n ? constant : c;
		for (int64_t x = n ? c < 0 ? -c : c : 0, rest; x; x = rest) {
			rest = g % x;
			g = x;
		}
	}
	return g > 1 ? poly_addc(P, poly_floordiv(P, poly_addc(P, e, -constant), g), constant / g - (constant % g < 0)) : e;
}

/* rest + floor(a/c) >= 0 just if c rest + a >= 0, and rest - floor(a/c) >= 0 just if c rest + c - 1 - a >= 0. */
poly without_floor(struct polys *P, poly e, int i)
{
	int n;
	const uint32_t *atoms;
	int64_t c = poly_term(P, e, i, &n, &atoms);

	if (n != 1 || (c != 1 && c != -1) || poly_atom(P, atoms[0])->kind != POLY_FLOOR)
		return POLY_UNKNOWN;
	struct poly_atom a = *poly_atom(P, atoms[0]);
	poly rest = poly_sub(P, e, poly_mulc(P, poly_floordiv(P, a.a, a.c), c));
	return poly_add(P, poly_mulc(P, rest, a.c), c > 0 ? a.a : poly_addc(P, poly_mulc(P, a.a, -1), a.c - 1));
}

static bool never_negative(struct known *k, poly e, int depth)
{
	if (e == POLY_UNKNOWN)
		return false;
	if (prog_follows(k->p, e, k->n, k->ge))
		return true;
	e = lowest(k->p->P, e);
	for (int i = 0; depth && e != POLY_UNKNOWN && i < poly_nterms(k->p->P, e); i++)
		if (never_negative(k, without_floor(k->p->P, e, i), depth - 1))
			return true;
	return false;
}

/* The same, if need be with rests written out, the last one first. */
static bool follows_of_rests(struct known *k, poly e)
{
	bool does = never_negative(k, e, DEPTH);

	for (size_t i = k->p->rests.n; i-- > 0 && !does;)
		if (poly_uses(k->p->P, e, k->p->rests.a[i].var)) {
			e = poly_subst(k->p->P, e, k->p->rests.a[i].var, k->p->rests.a[i].value);
			does = never_negative(k, e, DEPTH);
		}
	return does;
}

static const char *check_rest(struct known *k, const struct loop_rest *r)
{
	struct polys *P = k->p->P;
	poly fact = poly_subst(P, r->fact, r->var, r->value);
	int64_t lo, hi;
	bool right = true;

	for (const struct loop_rest *later = r; later < k->p->rests.a + k->p->rests.n; later++)
		right &= !poly_uses(P, r->value, later->var);
	poly_var_range(P, r->var, &lo, &hi);
	right = right && never_negative(k, poly_addc(P, r->value, -lo), DEPTH) &&
		never_negative(k, poly_addc(P, poly_mulc(P, r->value, -1), hi), DEPTH) && never_negative(k, fact, DEPTH);
	know(k, r->fact);
	if (right)
		return NULL;
	return whynot(k->p, "%s = %s is not shown to be in %ld..%ld, with %s >= 0", sym_str(poly_var_name(P, r->var)),
		      poly_str(P, r->value, &k->p->arena), (long)lo, (long)hi, poly_str(P, fact, &k->p->arena));
}

/* e >= 1: what that says of minima and floors. */
static void know_positive(struct known *k, poly e)
{
	struct polys *P = k->p->P;
	const uint32_t *atoms;
	int n;

	know(k, poly_addc(P, e, -1));
	if (poly_nterms(P, e) != 1 || poly_term(P, e, 0, &n, &atoms) != 1 || n != 1)
		return;
	struct poly_atom a = *poly_atom(P, atoms[0]);
	if (a.kind == POLY_FLOOR)
		know(k, poly_addc(P, a.a, -a.c));
	if (a.kind == POLY_MIN) {
		know_positive(k, a.a);
		know_positive(k, a.b);
	}
}

/* What holds in a loop: its extent is 1 at least, so it is that without terms that are not positive. */
static void know_runs(struct known *k, poly extent)
{
	struct polys *P = k->p->P;
	poly some = extent;
	const uint32_t *atoms;
	int64_t lo, hi;

	for (int i = 0, n; i < poly_nterms(P, extent); i++) {
		int64_t c = poly_term(P, extent, i, &n, &atoms);
		if (c > 0 || n != 1)
			continue;
		struct poly_atom a = *poly_atom(P, atoms[0]);
		poly x = a.kind == POLY_VAR     ? poly_of(P, a.var)
			 : a.kind == POLY_FLOOR ? poly_floordiv(P, a.a, a.c)
			 : a.kind == POLY_MIN   ? poly_min(P, a.a, a.b)
						: poly_max(P, a.a, a.b);
		poly_range(P, x, &lo, &hi);
		if (lo >= 0)
			some = poly_sub(P, some, poly_mulc(P, x, c));
	}
	know_positive(k, some);
}

static void check_loop(struct loop_prog *p, nest_id n, void *arg)
{
	const char **why = arg;
	const struct nest *l = lnest(p, n);

	if (*why || l->kind != NEST_FOR || l->known == POLY_UNKNOWN)
		return;
	struct known k = {.p = p};
	for (size_t i = 0; i < p->rests.n; i++)
		know(&k, p->rests.a[i].fact);
	know_runs(&k, l->extent);
	if (!follows_of_rests(&k, l->known))
		*why = whynot(p, "loop %s < %s: %s >= 0 is not shown", sym_str(l->name), poly_str(p->P, l->extent, &p->arena),
			      poly_str(p->P, l->known, &p->arena));
}

const char *rests_shown(struct loop_prog *p)
{
	struct known k = {.p = p};
	const char *why = NULL;

	for (size_t i = 0; i < p->rests.n && !why; i++)
		why = check_rest(&k, &p->rests.a[i]);
	nest_walk(p, p->root, check_loop, &why);
	return why;
}
