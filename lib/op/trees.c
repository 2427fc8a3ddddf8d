/* Trees, Coupling, Demand, Unique, in plain C of their own. */
#include <math.h>
#include "op/native.h"
#include "op/rules.h"

static const char *shape_trees(struct infer *I)
{
	static const char *const how[] = {"SUM", "AVERAGE", "MIN", "MAX"};
	const char *aggregate = attr_s(I->n, "aggregate");
	int64_t targets = attr_i(I->n, "targets");
	dim *d = rule_dims(I, 2);
	bool known = false;

	for (int i = 0; i < 4; i++)
		known |= !strcmp(how[i], aggregate);
	if (!known || targets < 1)
		return rule_why(I, "aggregate '%s' of %lld targets", aggregate, (long long)targets);
	d[0] = rule_rank(I, 0) == 2 ? rule_dim(I, 0, 0) : POLY_UNKNOWN;
	d[1] = rule_const(I, targets);
	rule_out(I, 0, I->in[0].dtype, 2, d);
	return NULL;
}

/* A comparison and a vote take as long as an operation; half of the depth that a balanced tree would have is the least. */
static double flops_trees(struct module *m, const struct node *n)
{
	int64_t x[RANK_MAX], nodes[RANK_MAX], roots[RANK_MAX];

	if (!type_dims(m, &val(m, n->in[0])->type, x) || !type_dims(m, &val(m, n->in[1])->type, nodes) ||
	    !type_dims(m, &val(m, n->in[5])->type, roots))
		return 0;
	return (double)x[0] * (double)roots[0] * (1 + log2(1 + (double)nodes[0] / (double)(roots[0] ? roots[0] : 1)));
}

static const char *shape_coupling(struct infer *I)
{
	int64_t classes = attr_i(I->n, "classes");
	dim *d = rule_dims(I, 2);

	const char *why = rule_rank(I, 0) == 2 ? rule_extent(I, 0, 1, rule_const(I, classes * (classes - 1) / 2)) : NULL;
	d[0] = rule_rank(I, 0) == 2 ? rule_dim(I, 0, 0) : POLY_UNKNOWN;
	d[1] = rule_const(I, classes);
	rule_out(I, 0, I->in[0].dtype, 2, d);
	return why;
}

static const char *shape_demand(struct infer *I)
{
	rule_like(I, 0, 0);
	return NULL;
}

static const char *shape_unique(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	bool slices = attr_find(I->n, "axis") != NULL;
	int64_t a = attr_i(I->n, "axis");
	dim *d, *all;

	for (uint32_t k = 1; k < 4; k++)
		rule_out(I, k, DT_I64, 1, rule_dims(I, 1));
	if (!slices) {
		rule_out(I, 0, I->in[0].dtype, 1, rule_dims(I, 1));
		if (rank == RANK_UNKNOWN)
			return NULL;
		all = rule_dims(I, 1);
		all[0] = rule_product(I, I->in[0].dims, 0, rank);
		rule_out(I, 2, DT_I64, 1, all);
		return NULL;
	}
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)a, rank);
	d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	all = rule_dims(I, 1);
	all[0] = d[axis];
	d[axis] = POLY_UNKNOWN;
	rule_out(I, 0, I->in[0].dtype, rank, d);
	rule_out(I, 2, DT_I64, 1, all);
	return NULL;
}

const struct op ops_trees[] = {
	{OP_Coupling, shape_coupling, eval_native},
	{OP_Demand, shape_demand, eval_native},
	{OP_Trees, shape_trees, eval_native, flops_trees},
	{OP_Unique, shape_unique, eval_native},
	{0},
};
