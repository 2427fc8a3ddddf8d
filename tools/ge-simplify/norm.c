/* Normalisations written out: Sub, Pow, ReduceMean, Sqrt, Div and so on. */
#include <stdlib.h>
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int const_axes(struct rewrite *rw, node_id n, uint32_t i, int rank, int64_t axes[RANK_MAX])
{
	int k = rw_in(rw, n, i) ? rw_ints(rw, rw_in(rw, n, i), axes, RANK_MAX) : 0;

	if (k < 0 || rank < 0)
		return -1;
	if (k == 0) {
		if (attr_int(node(rw_module(rw), n), "noop_with_empty_axes", 0))
			return 0;
		for (k = 0; k < rank; k++)
			axes[k] = k;
		return k;
	}
	for (int j = 0; j < k; j++)
		axes[j] += axes[j] < 0 ? rank : 0;
	qsort(axes, (size_t)k, sizeof *axes, by_value);
	return k;
}

/* n is a mean over the last axes, from `axis` on, kept as axes of 1. */
static bool mean_of_last(struct rewrite *rw, node_id n, int *axis)
{
	int64_t axes[RANK_MAX];
	int rank, k;

	if (!n || !attr_int(node(rw_module(rw), n), "keepdims", 1))
		return false;
	rank = rw_type(rw, rw_in(rw, n, 0))->rank;
	k = const_axes(rw, n, 1, rank, axes);
	for (int j = 0; j < k; j++)
		if (axes[j] != rank - k + j)
			return false;
	*axis = rank - k;
	return k > 0;
}

/* v = ReduceMean(d * d) over the axes from `axis`: d, else 0. */
static val_id mean_of_squares(struct rewrite *rw, val_id v, int *axis)
{
	node_id mean = rw_def(rw, v, OP_ReduceMean);
	struct product p;

	if (!mean_of_last(rw, mean, axis) || !product_of_value(rw, rw_in(rw, mean, 0), &p))
		return 0;
	return p.n == 2 && p.k == 1 && p.factor[0] == p.factor[1] ? p.factor[0] : 0;
}

/* v = sqrt(mean square of d + epsilon): d, else 0. */
static val_id root_mean_square(struct rewrite *rw, val_id v, int *axis, double *epsilon)
{
	node_id root = rw_def(rw, v, OP_Sqrt), add;

	if (!root || !(add = rw_def(rw, rw_in(rw, root, 0), OP_Add)))
		return 0;
	for (uint32_t i = 0; i < 2; i++)
		if (rw_scalar(rw, rw_in(rw, add, i), epsilon))
			return mean_of_squares(rw, rw_in(rw, add, 1 - i), axis);
	return 0;
}

/* v = d / rms(d), or d * (1 / rms(d)): d, else 0. */
static val_id normalised(struct rewrite *rw, val_id v, int *axis, double *epsilon)
{
	node_id div = rw_def1(rw, v, OP_Div), mul = rw_def1(rw, v, OP_Mul), inv;
	val_id d;

	if (div) {
		d = rw_in(rw, div, 0);
		return root_mean_square(rw, rw_in(rw, div, 1), axis, epsilon) == d ? d : 0;
	}
	if (!mul || !(inv = rw_operand(rw, mul, OP_Reciprocal, &d)))
		return 0;
	return root_mean_square(rw, rw_in(rw, inv, 0), axis, epsilon) == d ? d : 0;
}

/* d = x - mean(x) over the axes from `axis`: x, else 0. */
static val_id centred(struct rewrite *rw, val_id d, int axis)
{
	node_id sub = rw_def(rw, d, OP_Sub), mean;
	int a;

	if (!sub || !(mean = rw_def(rw, rw_in(rw, sub, 1), OP_ReduceMean)))
		return 0;
	if (!mean_of_last(rw, mean, &a) || a != axis || rw_in(rw, mean, 0) != rw_in(rw, sub, 0))
		return 0;
	return rw_in(rw, sub, 0);
}

/* The shape of v is that of x from `axis` on. */
static bool last_axes_of(struct rewrite *rw, val_id v, val_id x, int axis)
{
	const struct type *s = rw_type(rw, v), *t = rw_type(rw, x);

	if (s->rank != t->rank - axis || s->dtype != t->dtype)
		return false;
	for (int i = 0; i < s->rank; i++)
		if (!s->dims[i] || s->dims[i] != t->dims[axis + i])
			return false;
	return true;
}

/* scale * (x - mean) / sqrt(variance + epsilon); Ba et al. 2016. */
static const char *layer_norm(struct rewrite *rw, node_id n)
{
	for (uint32_t i = 0; i < 2; i++) {
		int axis;
		double epsilon;
		val_id d = normalised(rw, rw_in(rw, n, i), &axis, &epsilon), scale = rw_in(rw, n, 1 - i), x, v;
		if (!d || !(x = centred(rw, d, axis)))
			continue;
		if (!last_axes_of(rw, scale, d, axis))
			return "the scale has not the shape of the axes that are normalised";
		v = rw_node(rw, n, OP_LayerNormalization, 2, (val_id[]){x, scale});
		attr_set_int(rw_module(rw), rw_node_of(rw, v), "axis", axis - rw_type(rw, d)->rank);
		attr_set_float(rw_module(rw), rw_node_of(rw, v), "epsilon", (float)epsilon);
		rw_replace(rw, result(rw, n), v);
		return NULL;
	}
	return NO_MATCH;
}

static const char *layer_norm_bias(struct rewrite *rw, node_id n)
{
	val_id bias, v;
	node_id ln = rw_operand(rw, n, OP_LayerNormalization, &bias);
	int axis;

	if (!ln || rw_in(rw, ln, 2))
		return NO_MATCH;
	if (rw_uses(rw, result(rw, ln)) != 1 || node(rw_module(rw), ln)->nout > 1)
		return "LayerNormalization has other users";
	axis = (int)attr_int(node(rw_module(rw), ln), "axis", -1);
	axis += axis < 0 ? rw_type(rw, rw_in(rw, ln, 0))->rank : 0;
	if (!last_axes_of(rw, bias, rw_in(rw, ln, 0), axis))
		return "the offset has not the shape of the axes that are normalised";
	v = rw_node(rw, n, OP_LayerNormalization, 3, (val_id[]){rw_in(rw, ln, 0), rw_in(rw, ln, 1), bias});
	rw_copy_attrs(rw, rw_node_of(rw, v), ln);
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

const struct rule rules_norm[] = {
	{"layer-norm", OP_Mul, layer_norm, "scale (x - mean) / sqrt(variance + eps) becomes LayerNormalization"},
	{"layer-norm-bias", OP_Add, layer_norm_bias, "an offset after LayerNormalization goes into it"},
	{0},
};
