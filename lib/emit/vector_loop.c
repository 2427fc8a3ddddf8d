/* Vector loops: the loop variable is the lane. Longer loops run in chunks of as many lanes as a vector has. */
#include "emit/emit_impl.h"

bool only_blocks(struct emit *e, nest_id n)
{
	const struct nest *x = lnest(e->p, n);

	if (x->kind == NEST_BLOCK)
		return true;
	for (size_t i = 0; i < x->kid.n; i++)
		if (!only_blocks(e, x->kid.a[i]))
			return false;
	return x->kind == NEST_SEQ;
}

static void emit_lane_blocks(struct emit *e, nest_id n)
{
	if (lnest(e->p, n)->kind == NEST_BLOCK) {
		emit_block(e, n);
		return;
	}
	for (size_t i = 0; i < lnest(e->p, n)->kid.n; i++)
		emit_lane_blocks(e, lnest(e->p, n)->kid.a[i]);
}

static void emit_lanes(struct emit *e, const struct nest *loop, poly_var lane, int lanes, poly guard)
{
	int64_t lo, hi;

	if (guard) {
		poly_range(e->p->P, guard, &lo, &hi);
		if (hi < 0)
			return;
		if (lo >= 0)
			guard = 0;
	}
	e->lane = lane;
	e->lanes = lanes;
	e->lane_guard = guard;
	emit_lane_blocks(e, loop->kid.a[0]);
	e->lane = 0;
	e->lane_guard = 0;
}

/* Iterations first to first + lanes - 1 of a vector loop. */
static void emit_chunk(struct emit *e, const struct nest *loop, int64_t first, int lanes)
{
	struct polys *P = e->p->P;
	poly_var lane = poly_var_new(P, 0, 0, lanes - 1, 1);

	env_push(e, loop->var, poly_addc(P, poly_of(P, lane), first));
	emit_lanes(e, loop, lane, lanes, 0);
	e->nenv--;
}

/* A vector loop: its variable is the lane, in chunks of vl lanes if there are more. */
void emit_vector(struct emit *e, nest_id id, poly extent)
{
	struct polys *P = e->p->P;
	struct nest n = *lnest(e->p, id);
	int64_t lo, hi, c = 0;
	bool known = poly_is_const(P, extent, &c);
	poly end = poly_addc(P, extent, -1);

	poly_range(P, extent, &lo, &hi);
	if (hi <= e->vl) {
		emit_lanes(e, &n, n.var, (int)hi, known ? 0 : poly_sub(P, end, poly_of(P, n.var)));
		return;
	}
	if (known && c <= 4 * e->vl) { /* fully unrolled: names of registers depend on the lane */
		for (int64_t at = 0; at < c; at += e->vl)
			emit_chunk(e, &n, at, (int)(c - at < e->vl ? c - at : e->vl));
		return;
	}
	poly whole = poly_floordiv(P, extent, e->vl);
	poly chunks = known ? whole : poly_ceildiv(P, extent, e->vl);
	int64_t most = known ? c / e->vl : (hi + e->vl - 1) / e->vl;
	poly_var q = poly_var_new(P, n.name, 0, most > 1 ? most - 1 : 0, 1), lane = poly_var_new(P, 0, 0, e->vl - 1, 1);
	sym name = c_name(e, sym_str(n.name));
	poly at = poly_add(P, poly_mulc(P, poly_of(P, q), e->vl), poly_of(P, lane));
	line(e, "for (long %s = 0; %s < %s; %s++) { /* vectors */", sym_str(name), sym_str(name), poly_text(e, chunks), sym_str(name));
	var_open(e, q, name);
	env_push(e, n.var, at);
	e->depth++;
	emit_lanes(e, &n, lane, e->vl, known ? 0 : poly_sub(P, end, at));
	e->depth--;
	e->nenv--;
	var_close(e, q);
	line(e, "}");
	if (known && c % e->vl)
		emit_chunk(e, &n, c / e->vl * e->vl, (int)(c % e->vl));
}
