/* Trees, Coupling, Demand, Find, Unique, in plain C of their own. */
#include <math.h>
#include <stdlib.h>
#include "op/native.h"
#include "op/rules.h"

/* Operand i of a Trees as far as it is a constant of i32; NULL: it is none. */
static const int32_t *tree_words(struct infer *I, uint32_t i, int64_t *count)
{
	struct tensor *t = rule_has(I, i) ? node_const(I->m, I->n, i) : NULL;

	*count = t && t->dtype == DT_I32 ? tensor_count(t) : 0;
	return *count ? tensor_data(I->m, t) : NULL;
}

/* Checks that constants lead to nodes, leaves, votes, targets and features that are there. */
static const char *check_trees(struct infer *I, int64_t targets)
{
	int64_t nodes, starts, votes, roots, features;
	const int32_t *node = tree_words(I, 1, &nodes), *start = tree_words(I, 2, &starts), *target = tree_words(I, 3, &votes),
		      *root = tree_words(I, 5, &roots);
	int64_t words = rule_rank(I, 1) == 2 && poly_is_const(rule_polys(I), rule_dim(I, 1, 1), &words) ? words : 0;
	int all = *attr_s(I->n, "comparison") == 'M' ? -1 : strcmp(attr_s(I->n, "comparison"), "LE") != 0;
	bool known = rule_rank(I, 0) == 2 && poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &features);

	if (node && words != 4 && words != 5)
		return rule_why(I, "records of %lld words", (long long)words);
	nodes = words ? nodes / words : 0;
	for (int64_t i = 0; node && start && i < nodes; i++) {
		const int32_t *r = node + i * words;
		if (r[0] < 0 || (known && r[0] >> 4 >= features))
			return rule_why(I, "node %lld asks for feature %d of %lld", (long long)i, r[0] >> 4, (long long)features);
		if (all >= 0 && (r[0] & 15) >> 1 != all)
			return rule_why(I, "node %lld has another comparison than the attribute says", (long long)i);
		for (int k = 1; k < 3; k++)
			if (r[k] >= 0 ? r[k] <= i || r[k] >= nodes : ~r[k] >= starts - 1)
				return rule_why(I, "node %lld leads to %s %d, which is not there or before it", (long long)i,
						r[k] < 0 ? "leaf" : "node", r[k] < 0 ? ~r[k] : r[k]);
	}
	for (int64_t i = 0; root && start && (node || !words) && i < roots; i++)
		if (root[i] >= 0 ? root[i] >= nodes : ~root[i] >= starts - 1)
			return rule_why(I, "tree %lld begins at %d, which is not there", (long long)i, root[i]);
	for (int64_t i = 0; start && i + 1 < starts; i++)
		if (start[i] < 0 || start[i + 1] < start[i] || (target && start[i + 1] > votes))
			return rule_why(I, "leaf %lld has votes from %d to %d", (long long)i, start[i], start[i + 1]);
	for (int64_t i = 0; target && i < votes; i++)
		if (target[i] < 0 || target[i] >= targets)
			return rule_why(I, "a vote for target %d of %lld", target[i], (long long)targets);
	return NULL;
}

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
	return check_trees(I, targets);
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

static const char *shape_find(struct infer *I)
{
	rule_out(I, 0, DT_I64, rule_rank(I, 0), I->in[0].dims);
	return NULL;
}

/* First places and counts, one for each of the different ones; the one that each of all is. */
static void put_unique(struct infer *I, dim different, dim *all)
{
	for (uint32_t k = 1; k < 4; k += 2) {
		dim *d = rule_dims(I, 1);
		d[0] = different;
		rule_out(I, k, DT_I64, 1, d);
	}
	rule_out(I, 2, DT_I64, 1, all);
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
		all = rule_dims(I, 1);
		if (rank != RANK_UNKNOWN)
			all[0] = rule_product(I, I->in[0].dims, 0, rank);
		d = rule_dims(I, 1);
		d[0] = rule_at_most(I, 0, all[0]);
		rule_out(I, 0, I->in[0].dtype, 1, d);
		put_unique(I, d[0], all);
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
	d[axis] = rule_at_most(I, 0, all[0]);
	rule_out(I, 0, I->in[0].dtype, rank, d);
	put_unique(I, d[axis], all);
	return NULL;
}

const struct op ops_trees[] = {
	{OP_Coupling, shape_coupling, eval_native},        {OP_Demand, shape_demand, eval_native}, {OP_Find, shape_find, eval_native},
	{OP_Trees, shape_trees, eval_native, flops_trees}, {OP_Unique, shape_unique, eval_native}, {0},
};
