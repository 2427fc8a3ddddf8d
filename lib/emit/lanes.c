/* Which lanes of a vector are active, as masks; and conditions for what is the same in all of them. */
#include "emit/vector.h"
#include "target/target.h"

bool all_lanes(struct emit *e, const struct lanes *m) { return m->n == e->vl && !m->guard; }

bool has_no_masks(struct emit *e, enum dtype t) { return dtype_size(t) < 4 && t != DT_F16 && !target_filled(e->p->target).masks; }

int first_lanes(struct emit *e, const struct lanes *m, enum dtype t)
{
	bool known = m->exact && !m->lo && m->hi > 0 && m->hi < e->vl;

	return known && has_no_masks(e, t) ? m->hi : 0;
}

bool lane_in(struct emit *e, poly x) { return poly_uses(e->p->P, x, e->lane); }

poly lane_at(struct emit *e, poly x, int l) { return poly_subst(e->p->P, x, e->lane, poly_const(e->p->P, l)); }

const char *with_lanes(struct emit *e, const char *m, const char *more) { return m ? text(e, "(%s & %s)", m, more) : more; }

/* Are the lanes that meet the guard known, and neighbours? They are lanes lo to hi - 1. */
static bool known_lanes(struct emit *e, poly guard, int *lo, int *hi)
{
	int64_t least, most;
	bool after = false;

	*lo = *hi = 0;
	for (int l = 0; l < e->lanes; l++) {
		poly_range(e->p->P, lane_at(e, guard, l), &least, &most);
		if ((least < 0 && most >= 0) || (least >= 0 && after))
			return false;
		if (least >= 0) {
			*lo = *hi ? *lo : l;
			*hi = l + 1;
		}
		after = least < 0 && *hi;
	}
	return true;
}

const char *guard_lanes(struct emit *e, poly guard)
{
	struct polys *P = e->p->P;
	int64_t c;
	poly rest;
	int lo, hi;

	if (!poly_linear_in(P, guard, e->lane, &c, &rest))
		return known_lanes(e, guard, &lo, &hi) ? text(e, "vlanes(%d, %d)", lo, hi) : NULL;
	if (c < 0)
		return text(e, "vlanes(0, %s)", poly_text(e, poly_addc(P, poly_floordiv(P, rest, -c), 1)));
	return text(e, "vlanes(%s, VL)", poly_text(e, poly_ceildiv(P, poly_mulc(P, rest, -1), c)));
}

void narrow_exactly(struct emit *e, struct lanes *m, poly guard)
{
	int64_t c, at;
	poly rest;
	int lo, hi;

	if (!poly_linear_in(e->p->P, guard, e->lane, &c, &rest) && known_lanes(e, guard, &lo, &hi)) {
		m->lo = m->lo > lo ? m->lo : lo;
		m->hi = m->hi < hi ? m->hi : hi;
		return;
	}
	if (!poly_linear_in(e->p->P, guard, e->lane, &c, &rest) || !poly_is_const(e->p->P, rest, &at) || at > INT32_MAX ||
	    at < -INT32_MAX) {
		m->exact = false;
		return;
	}
	while (m->lo < m->hi && c * m->lo + at < 0)
		m->lo++;
	while (m->hi > m->lo && c * (m->hi - 1) + at < 0)
		m->hi--;
}

/* A mask keeps the loads of single lanes within bounds, but not the load of an element that all lanes share: if no lane is active, that
 * element may lie out of bounds. The functions below find such loads, and add the condition that some lane is active. */

static bool share_variable(struct emit *e, poly x, poly y)
{
	for (poly_var v = 1; v <= poly_nvars(e->p->P); v++)
		if (poly_uses(e->p->P, x, v) && poly_uses(e->p->P, y, v))
			return true;
	return false;
}

/* Do all lanes share the element of b at index, and may it lie out of bounds if no lane has guard >= 0? */
static bool shared_outside(struct emit *e, buf_id b, const poly *index, int dyn, poly guard)
{
	struct polys *P = e->p->P;
	const struct loop_buf *x = lbuf(e->p, b);
	poly at[LOOP_RANK_MAX];
	bool found = false;

	for (int d = 0; d < x->rank; d++)
		at[d] = d == dyn ? x->base[d] : index[d];
	if (x->scope == SCOPE_REGISTER || lane_in(e, env_subst(e, buf_offset(e->p, b, at))))
		return false;
	for (int d = 0; d < x->rank && !found; d++) {
		int64_t lo, hi, room = x->scope == SCOPE_CONST ? buf_room(e->p, b, d) : x->extent[d];
		poly in = env_subst(e, poly_sub(P, at[d], x->base[d]));
		poly_range(P, in, &lo, &hi);
		if (x->size[d] != POLY_UNKNOWN) { /* beyond its end: in >= size */
			int64_t before;
			poly_range(P, poly_sub(P, in, x->size[d]), &before, &hi);
			room = 0;
		}
		found = (lo < 0 || hi >= room) && share_variable(e, in, guard);
	}
	return found;
}

struct outside_query {
	struct emit *e;
	poly guard;
};

static bool shared_read_outside(struct loop_prog *p, ex_id ex, void *arg)
{
	const struct outside_query *s = arg;
	struct ex x = *lex(p, ex);
	poly index[LOOP_RANK_MAX];

	for (int i = 0; x.kind == EX_READ && i < x.n; i++)
		index[i] = here(s->e, x.index[i]);
	return x.kind == EX_READ && shared_outside(s->e, x.buf, index, x.dyn_dim, s->guard);
}

/* cond, and that guard >= 0 in one of the lanes. */
static const char *in_some_lane(struct emit *e, const char *cond, poly guard)
{
	struct polys *P = e->p->P;
	int64_t c, lo, hi;
	poly rest;

	if (!poly_linear_in(P, guard, e->lane, &c, &rest))
		return cond; /* it is written lane after lane */
	poly most = c < 0 ? rest : poly_addc(P, rest, c * (e->lanes - 1));
	poly_range(P, most, &lo, &hi);
	return lo >= 0 ? cond : text(e, "%s%s%s", cond, *cond ? " && " : "", cond_text(e, most));
}

const char *guard_shared(struct emit *e, const char *cond, ex_id ex, poly guard)
{
	return ex_find(e->p, ex, shared_read_outside, &(struct outside_query){e, guard}) ? in_some_lane(e, cond, guard) : cond;
}

const char *vector_cond(struct emit *e, const char *cond)
{
	const struct nest *n = lnest(e->p, e->block);
	const struct stage *s = lstage(e->p, n->stage);
	int64_t lo, hi;

	for (size_t i = 0; i <= n->guard.n && n->phase == BLOCK_UPDATE; i++) {
		poly g = i < n->guard.n ? env_subst(e, n->guard.a[i]) : e->lane_guard;
		if (g == POLY_UNKNOWN || !lane_in(e, g))
			continue;
		poly_range(e->p->P, g, &lo, &hi);
		if (lo < 0)
			cond = shared_outside(e, s->out, n->bind, -1, g) ? in_some_lane(e, cond, g) : guard_shared(e, cond, s->body, g);
	}
	return cond;
}

bool block_lanes(struct emit *e, struct lanes *m)
{
	const struct nest *n = lnest(e->p, e->block);
	const char *s = NULL;
	int64_t lo, hi, c;
	poly rest;
	int nopen = 0, count = e->lanes;

	for (size_t i = 0; i <= n->guard.n; i++) {
		poly g = i < n->guard.n ? env_subst(e, n->guard.a[i]) : e->lane_guard;
		if (g == POLY_UNKNOWN || !lane_in(e, g))
			continue; /* tested by the caller */
		poly_range(e->p->P, g, &lo, &hi);
		if (lo >= 0)
			continue;
		if (poly_linear_in(e->p->P, g, e->lane, &c, &rest) && c < 0 && poly_is_const(e->p->P, rest, &lo)) {
			if (lo / -c + 1 < count) /* the lanes up to a fixed one; lo >= 0, for hi >= 0 */
				count = (int)(lo / -c) + 1;
			continue;
		}
		const char *l = guard_lanes(e, g);
		if (!l)
			return false;
		s = with_lanes(e, s, l);
		for (int k = nopen; k < e->nopen; k++)
			if (poly_uses(e->p->P, g, e->open_var[k]))
				nopen = k + 1;
	}
	*m = (struct lanes){s, count, s != NULL, s ? intern(s) : 0, nopen, .exact = !s, .hi = count};
	if (count < e->vl || !s)
		m->s = s ? with_lanes(e, text(e, "vlanes(0, %d)", count), s) : text(e, "vlanes(0, %d)", count);
	if (s) {
		vec_push(&e->lines, text(e, "const vm m = %s;", m->s));
		m->s = "m";
	}
	return true;
}
