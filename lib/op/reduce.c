/* Reductions along axes, ArgMax, ArgMin, running sums and products. */
#include <math.h>
#include "op/native.h"
#include "op/rules.h"

/* Which axes are reduced: red[axis]. NULL, or why not. n < 0: no axes are given. */
static const char *reduce_axes(struct infer *I, int rank, int count, const int64_t *axes, bool *red)
{
	bool all = count <= 0 && !attr_i(I->n, "noop_with_empty_axes");

	for (int i = 0; i < rank; i++)
		red[i] = all;
	for (int i = 0; i < count; i++) {
		int at;
		if (!rule_axis(axes[i], rank, &at))
			return "an axis is outside the rank";
		if (red[at])
			return rule_why(I, "axis %d is given twice", at);
		red[at] = true;
	}
	return NULL;
}

static void known_reduce(struct infer *I)
{
	enum opcode op = I->n->op;
	const struct known *k = &I->kin[0];
	struct polys *P = rule_polys(I);
	int64_t c = type_count(I->m, &I->out[0]);
	poly acc, *e;

	if (!k->yes || c != 1 || k->n < 1 || !(op == OP_ReduceSum || op == OP_ReduceProd || op == OP_ReduceMax || op == OP_ReduceMin) ||
	    !(e = rule_known(I, 0, 1)))
		return;
	acc = k->e[0];
	for (int i = 1; i < k->n; i++)
		acc = op == OP_ReduceSum    ? poly_add(P, acc, k->e[i])
		      : op == OP_ReduceProd ? poly_mul(P, acc, k->e[i])
		      : op == OP_ReduceMax  ? poly_max(P, acc, k->e[i])
					    : poly_min(P, acc, k->e[i]);
	e[0] = rule_fits(P, I->out[0].dtype, acc);
}

static const char *shape_reduce(struct infer *I)
{
	const int64_t *axes = NULL;
	int rank = rule_rank(I, 0), count = rule_has(I, 1) ? rule_ints(I, 1, &axes) : 0, nred = -1;
	bool keep = attr_i(I->n, "keepdims") != 0, red[RANK_MAX];
	const char *why;

	rule_out(I, 0, I->in[0].dtype, RANK_UNKNOWN, NULL);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (count < 0) { /* the axes are not known; their number may be */
		if (rule_rank(I, 1) == 1) {
			int64_t c;
			if (poly_is_const(rule_polys(I), rule_dim(I, 1, 0), &c))
				nred = c == 0 && !attr_i(I->n, "noop_with_empty_axes") ? rank : (int)c;
		}
		if (keep)
			rule_out(I, 0, I->in[0].dtype, rank, rule_dims(I, rank));
		else if (nred >= 0 && nred <= rank)
			rule_out(I, 0, I->in[0].dtype, rank - nred, rule_dims(I, rank - nred));
		return NULL;
	}
	if ((why = reduce_axes(I, rank, count, axes, red)))
		return why;
	dim *d = rule_dims(I, rank);
	int n = 0;
	for (int i = 0; i < rank; i++) {
		if (!red[i])
			d[n++] = rule_dim(I, 0, i);
		else if (keep)
			d[n++] = rule_const(I, 1);
	}
	rule_out(I, 0, I->in[0].dtype, n, d);
	known_reduce(I);
	return NULL;
}

/* ---- ArgMax, ArgMin ---- */

static const char *shape_arg(struct infer *I)
{
	int rank = rule_rank(I, 0), axis, n = 0;
	bool keep = attr_i(I->n, "keepdims") != 0;
	int64_t extent;

	rule_out(I, 0, DT_I64, RANK_UNKNOWN, NULL);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)attr_i(I->n, "axis"), rank);
	if (poly_is_const(rule_polys(I), rule_dim(I, 0, axis), &extent) && extent < 1)
		return rule_why(I, "axis %d has no elements", axis);
	dim *d = rule_dims(I, rank);
	for (int i = 0; i < rank; i++)
		if (i != axis || keep)
			d[n++] = i == axis ? rule_const(I, 1) : rule_dim(I, 0, i);
	rule_out(I, 0, DT_I64, n, d);
	return NULL;
}

static int least_arg(struct module *m, const struct node *n, poly *e)
{
	const struct type *x = &val(m, n->in[0])->type;
	int axis;

	if (x->rank < 0 || !rule_axis(attr_i(n, "axis"), x->rank, &axis) || !x->dims[axis])
		return 0;
	e[0] = poly_addc(m->dims, x->dims[axis], -1);
	return 1;
}

/* -1, 0, 1 as element i is less than element k, equal or more; 2: it is NaN, and the other is a number; -2: the other way round. */
static int compare(const struct tensor *t, int64_t i, int64_t k)
{
	int64_t a = native_order((int)t->dtype, t->data, i), b = native_order((int)t->dtype, t->data, k);
	bool real = !dtype_is_int(t->dtype), apart = (a == INT64_MAX) != (b == INT64_MAX);

	return ((a > b) - (a < b)) * (real && apart ? 2 : 1);
}

/* NaN wins over any number, as in the specification's reference (numpy). */
static const char *eval_arg(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int axis, n = 0;
	bool keep = attr_i(e->n, "keepdims"), last = attr_i(e->n, "select_last_index");
	bool max = e->n->op == OP_ArgMax;
	int64_t dims[RANK_MAX];

	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis outside the rank";
	for (int i = 0; i < x->rank; i++)
		if (i != axis || keep)
			dims[n++] = i == axis ? 1 : x->dims[i];
	struct tensor *y = eval_out(e, 0, DT_I64, n, dims);
	struct axes3 s = split_at(x, axis);
	for (int64_t o = 0; o < s.outer; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			int64_t best = 0, base = o * s.n * s.inner + i;
			for (int64_t k = 1; k < s.n; k++) {
				int c = compare(x, base + k * s.inner, base + best * s.inner);
				if (c ? c == 2 || c == (max ? 1 : -1) : last)
					best = k;
			}
			((int64_t *)y->data)[o * s.inner + i] = best;
		}
	return NULL;
}

/* ---- CumSum, CumProd ---- */

static const char *shape_running(struct infer *I)
{
	const int64_t *v;
	int axis, rank = rule_rank(I, 0);

	rule_like(I, 0, 0);
	if (rank != RANK_UNKNOWN && rule_ints(I, 1, &v) == 1 && !rule_axis(v[0], rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)v[0], rank);
	return NULL;
}

static double flops_reduce(struct module *m, const struct node *n)
{
	int64_t c = type_count(m, &val(m, n->in[0])->type);
	return c < 0 ? 0 : (double)c;
}

#define ROW(name) \
	{ \
		OP_##name, shape_reduce, eval_native, flops_reduce \
	}
const struct op ops_reduce[] = {
	ROW(ReduceL1),
	ROW(ReduceL2),
	ROW(ReduceLogSum),
	ROW(ReduceLogSumExp),
	ROW(ReduceMax),
	ROW(ReduceMean),
	ROW(ReduceMin),
	ROW(ReduceProd),
	ROW(ReduceSum),
	ROW(ReduceSumSquare),
	{OP_ArgMax, shape_arg, eval_arg, flops_reduce, .least = least_arg},
	{OP_ArgMin, shape_arg, eval_arg, flops_reduce, .least = least_arg},
	{OP_CumSum, shape_running, eval_native},
	{OP_CumProd, shape_running, eval_native},
	{0},
};
