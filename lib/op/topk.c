/* TopK: its shape. */
#include "op/native.h"
#include "op/rules.h"

static const char *shape_topk(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	int64_t a = attr_i(I->n, "axis");

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	rule_out(I, 1, DT_I64, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)a, rank);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	int64_t k, whole;
	bool known = poly_is_const(rule_polys(I), d[axis], &whole);
	d[axis] = I->kin[1].yes && I->kin[1].n == 1 ? I->kin[1].e[0] : POLY_UNKNOWN;
	if (poly_is_const(rule_polys(I), d[axis], &k) && (k < 0 || (known && k > whole)))
		return rule_why(I, "%lld of %s elements", (long long)k, poly_str(rule_polys(I), I->in[0].dims[axis], &I->m->arena));
	rule_out(I, 0, I->in[0].dtype, rank, d);
	rule_out(I, 1, DT_I64, rank, d);
	return NULL;
}

const struct op ops_topk[] = {
	{OP_TopK, shape_topk, eval_native},
	{0},
};
