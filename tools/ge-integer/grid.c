/* Scales and zero points. */
#include <string.h>
#include "integer.h"

val_id scalar_of(struct rewrite *rw, enum dtype t, double x) { return rw_constant(rw, t, 0, NULL, &x); }
val_id scalar_f32(struct rewrite *rw, double x) { return scalar_of(rw, DT_F32, x); }

const char *reason(struct rewrite *rw, const char *name, const char *why)
{
	return arena_printf(&rw_module(rw)->arena, "%s %s", name, why);
}

static bool all_zero(const double *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (x[i] != 0)
			return false;
	return true;
}

static enum dtype integer_type(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	const struct node *x = node(m, n);
	val_id v = x->op == OP_QuantizeLinear ? x->out[0] : rw_in(rw, n, 0);

	return rw_type(rw, v)->dtype;
}

const char *grid_read(struct rewrite *rw, node_id n, struct grid *g)
{
	struct module *m = rw_module(rw);
	const struct node *x = node(m, n);
	val_id s = rw_in(rw, n, 1), z = rw_in(rw, n, 2), f = x->op == OP_QuantizeLinear ? rw_in(rw, n, 0) : x->out[0];
	int64_t nz;

	*g = (struct grid){.type = integer_type(rw, n)};
	if (rw_type(rw, f)->dtype != DT_F32 || rw_type(rw, s)->dtype != DT_F32)
		return "is not quantised from f32";
	if (attr_i(x, "block_size"))
		return "has a scale for each block";
	if (!(g->scale = rw_doubles(rw, s, &g->n)))
		return "has scales that are not constant";
	if (g->n < 1)
		return "has no scales";
	if (z && !(g->zero = rw_doubles(rw, z, &nz)))
		return "has zero points that are not constant";
	if (z && nz != g->n)
		return "has zero points that do not fit the scales";
	if (z && all_zero(g->zero, nz))
		g->zero = NULL;
	if (g->n == 1)
		return NULL;
	g->axis = (int)attr_i(x, "axis");
	if (rw_type(rw, f)->rank == RANK_UNKNOWN)
		return "has an unknown rank";
	if (g->axis < 0)
		g->axis += rw_type(rw, f)->rank;
	return NULL;
}

const char *dequantised(struct rewrite *rw, val_id v, struct grid *g, val_id *q)
{
	node_id d = rw_def(rw, v, OP_DequantizeLinear);

	if (!d)
		return "is not dequantised";
	*q = rw_in(rw, d, 0);
	return grid_read(rw, d, g);
}

bool grid_same(const struct grid *a, const struct grid *b)
{
	return a->type == b->type && a->n == 1 && b->n == 1 && a->scale[0] == b->scale[0] && grid_zero(a, 0) == grid_zero(b, 0);
}
