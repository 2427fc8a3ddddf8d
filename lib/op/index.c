/* Operators that read or write elements by index: Gather and Scatter in their forms, OneHot, TopK, ... */
#include "op/native.h"
#include "op/rules.h"

static const char *bad_axis(struct infer *I, int64_t axis, int rank)
{
	return rule_why(I, "axis %lld outside rank %d", (long long)axis, rank);
}

static void unknown_of_rank(struct infer *I, uint32_t i, enum dtype t, int rank)
{
	rule_out(I, i, t, rank, rank < 0 ? NULL : rule_dims(I, rank));
}

/* ---- shapes ---- */

static const char *shape_gather(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), axis, n = 0;
	int64_t a = attr_i(I->n, "axis");

	unknown_of_rank(I, 0, I->in[0].dtype, RANK_UNKNOWN);
	if (rank == RANK_UNKNOWN || ir == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return bad_axis(I, a, rank);
	dim *d = rule_dims(I, rank - 1 + ir);
	for (int i = 0; i < rank; i++) {
		if (i != axis)
			d[n++] = rule_dim(I, 0, i);
		for (int k = 0; i == axis && k < ir; k++)
			d[n++] = rule_dim(I, 1, k);
	}
	rule_out(I, 0, I->in[0].dtype, n, d);
	return rule_indices(I, 1, 0, 1, rule_dim(I, 0, axis));
}

static const char *shape_gather_elements(struct infer *I)
{
	int r = rule_rank(I, 1), rank = rule_rank(I, 0), axis;

	rule_out(I, 0, I->in[0].dtype, r, r < 0 ? NULL : I->in[1].dims);
	if (r >= 0 && rank >= 0 && r != rank)
		return rule_why(I, "operand 1 has rank %d, operand 0 %d", r, rank);
	if (r >= 0 && !rule_axis(attr_i(I->n, "axis"), r, &axis))
		return bad_axis(I, attr_i(I->n, "axis"), r);
	if (r < 0 || rank < 0)
		return NULL;
	const char *why = rule_inside(I, 1, axis);
	return why ? why : rule_indices(I, 1, 0, 1, rule_dim(I, 0, axis));
}

/* Checks that index tuples of `last` elements lie within operand 0, from axis b on. */
static const char *check_tuples(struct infer *I, int64_t b, int64_t last)
{
	const char *why = NULL;

	for (int64_t k = 0; k < last && !why; k++)
		why = rule_indices(I, 1, k, last, rule_dim(I, 0, (int)(b + k)));
	return why;
}

static const char *shape_scatter_elements(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	const char *why = NULL;

	rule_like(I, 0, 0);
	for (int k = 0; rule_rank(I, 1) >= 0 && rule_rank(I, 2) == rule_rank(I, 1) && k < rule_rank(I, 1) && !why; k++)
		why = rule_extent(I, 2, k, rule_dim(I, 1, k));
	if (why || rank == RANK_UNKNOWN || rule_rank(I, 1) != rank)
		return why;
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return bad_axis(I, attr_i(I->n, "axis"), rank);
	why = rule_inside(I, 1, axis);
	return why ? why : rule_indices(I, 1, 0, 1, rule_dim(I, 0, axis));
}

static const char *shape_scatter_nd(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), ur = rule_rank(I, 2);
	int64_t last;
	const char *why = NULL;

	rule_like(I, 0, 0);
	if (rank < 0 || ir < 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, ir - 1), &last))
		return NULL;
	if (last > rank)
		return rule_why(I, "indices of %lld axes into rank %d", (long long)last, rank);
	int n = ir - 1 + rank - (int)last;
	if (ur >= 0 && ur != n)
		return rule_why(I, "operand 2 has rank %d, takes %d", ur, n);
	for (int k = 0; k < ur && !why; k++)
		why = rule_extent(I, 2, k, k < ir - 1 ? rule_dim(I, 1, k) : rule_dim(I, 0, k - (ir - 1) + (int)last));
	return why ? why : check_tuples(I, 0, last);
}

static const char *shape_gather_nd(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), n = 0;
	int64_t b = attr_i(I->n, "batch_dims"), last;

	unknown_of_rank(I, 0, I->in[0].dtype, RANK_UNKNOWN);
	if (rank < 1 || ir < 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, ir - 1), &last))
		return NULL;
	if (b < 0 || b >= ir || b + last > rank)
		return rule_why(I, "indices of %lld and %lld batch axes into rank %d", (long long)last, (long long)b, rank);
	const char *why = NULL;
	for (int i = 0; i < b && !why; i++)
		why = rule_extent(I, 1, i, rule_dim(I, 0, i));
	dim *d = rule_dims(I, rank + ir);
	for (int i = 0; i < ir - 1; i++)
		d[n++] = rule_dim(I, 1, i);
	for (int i = (int)(b + last); i < rank; i++)
		d[n++] = rule_dim(I, 0, i);
	rule_out(I, 0, I->in[0].dtype, n, d);
	return why ? why : check_tuples(I, b, last);
}

static const char *shape_onehot(struct infer *I)
{
	int rank = rule_rank(I, 0), axis, n = 0;
	int64_t a = attr_i(I->n, "axis");

	unknown_of_rank(I, 0, I->in[2].dtype, rank < 0 ? RANK_UNKNOWN : rank + 1);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank + 1, &axis))
		return bad_axis(I, a, rank + 1);
	int64_t depth;
	if (I->kin[1].yes && I->kin[1].n == 1 && poly_is_const(rule_polys(I), I->kin[1].e[0], &depth) && depth < 0)
		return rule_why(I, "depth %lld", (long long)depth);
	dim *d = rule_dims(I, rank + 1);
	for (int i = 0; i <= rank; i++)
		d[i] = i == axis ? (I->kin[1].yes && I->kin[1].n == 1 ? I->kin[1].e[0] : POLY_UNKNOWN) : rule_dim(I, 0, n++);
	rule_out(I, 0, I->in[2].dtype, rank + 1, d);
	return NULL;
}

static const char *shape_nonzero(struct infer *I)
{
	int rank = rule_rank(I, 0);
	dim *d = rule_dims(I, 2);

	if (rank >= 0)
		d[0] = rule_const(I, rank);
	d[1] = rule_at_most(I, 0, rank >= 0 ? rule_product(I, I->in[0].dims, 0, rank) : POLY_UNKNOWN);
	rule_out(I, 0, DT_I64, 2, d);
	return NULL;
}

static const char *compress_length(struct infer *I, dim whole)
{
	int64_t c, w;

	if (rule_rank(I, 1) != 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, 0), &c) || !poly_is_const(rule_polys(I), whole, &w) ||
	    c <= w)
		return NULL;
	return rule_why(I, "%lld conditions for %lld elements", (long long)c, (long long)w);
}

/* As many as there are elements, and as there are conditions. */
static dim compressed_most(struct infer *I, dim whole)
{
	dim conditions = rule_rank(I, 1) == 1 ? rule_dim(I, 1, 0) : POLY_UNKNOWN;

	return whole && conditions ? poly_min(rule_polys(I), whole, conditions) : whole ? whole : conditions;
}

static const char *shape_compress(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;

	bool flat = !attr_find(I->n, "axis");

	unknown_of_rank(I, 0, I->in[0].dtype, flat ? 1 : rank);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (flat) {
		dim whole = rule_product(I, I->in[0].dims, 0, rank);
		I->out[0].dims[0] = rule_at_most(I, 0, compressed_most(I, whole));
		return compress_length(I, whole);
	}
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return bad_axis(I, attr_i(I->n, "axis"), rank);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	d[axis] = rule_at_most(I, 0, compressed_most(I, d[axis]));
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return compress_length(I, rule_dim(I, 0, axis));
}

const struct op ops_index[] = {
	{OP_Gather, shape_gather, eval_native},
	{OP_GatherElements, shape_gather_elements, eval_native},
	{OP_GatherND, shape_gather_nd, eval_native},
	{OP_ScatterElements, shape_scatter_elements, eval_native},
	{OP_ScatterND, shape_scatter_nd, eval_native},
	{OP_OneHot, shape_onehot, eval_native},
	{OP_NonZero, shape_nonzero, eval_native},
	{OP_Compress, shape_compress, eval_native},
	{0},
};
