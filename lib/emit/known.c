/* What the loops around a block say of its guards, where sizes vary: ranges of variables alone do not tell that a whole tile ends before
 * its line does. */
#include "emit/emit_impl.h"

enum { FACTS_MAX = 16 };

/* Adds f >= 0, unless it is another fact in each copy of an unrolled loop. */
static int add_fact(struct emit *e, poly f, poly *fact, int n)
{
	if (n < FACTS_MAX && f != POLY_UNKNOWN && env_subst(e, f) == f)
		fact[n++] = f;
	return n;
}

/* Adds what holds in the loop, of its variable if g is about that. Returns how many facts there are then. */
static int add_facts(struct emit *e, const struct nest *l, poly g, poly *fact, int n)
{
	struct polys *P = e->p->P;

	n = add_fact(e, l->known, fact, n);
	if (!poly_uses(P, g, l->var) || poly_is_const(P, l->extent, NULL))
		return n;
	return add_fact(e, poly_addc(P, poly_sub(P, l->extent, poly_of(P, l->var)), -1), fact, n);
}

static enum guard_state state_of(struct emit *e, poly g)
{
	nest_id loop[NEST_DEPTH_MAX];
	poly fact[FACTS_MAX];
	int n = 0;

	for (int k = nest_loops(e->p, e->block, loop), i = 0; i < k; i++)
		n = add_facts(e, lnest(e->p, loop[i]), g, fact, n);
	if (prog_follows(e->p, g, n, fact))
		return GUARD_ALWAYS;
	return prog_follows(e->p, poly_addc(e->p->P, poly_mulc(e->p->P, g, -1), -1), n, fact) ? GUARD_NEVER : GUARD_ASKED;
}

enum guard_state guard_state(struct emit *e, poly g)
{
	int64_t lo, hi;
	uint32_t known;

	poly_range(e->p->P, g, &lo, &hi);
	if (lo >= 0 || hi < 0)
		return lo >= 0 ? GUARD_ALWAYS : GUARD_NEVER;
	if (!e->p->params.n || (e->lane && poly_uses(e->p->P, g, e->lane)))
		return GUARD_ASKED;
	if (e->states_of != e->block) {
		map_free(&e->states);
		e->states_of = e->block;
	}
	if ((known = map_get(&e->states, g)))
		return known - 1;
	enum guard_state s = state_of(e, g);
	map_set(&e->states, g, (uint32_t)s + 1);
	return s;
}
