/* Normalisations written out: Sub, Pow, ReduceMean, Sqrt, Div and so on. */
#include <stdlib.h>
#include "op/op.h"
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
		if (attr_i(node(rw_module(rw), n), "noop_with_empty_axes"))
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

	if (!n || !attr_i(node(rw_module(rw), n), "keepdims"))
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

/* Node n = d / rms(d), or d * (1 / rms(d)): d, else 0. */
static val_id normalised(struct rewrite *rw, node_id n, int *axis, double *epsilon)
{
	node_id inverse;
	val_id d = rw_in(rw, n, 0), rms = rw_in(rw, n, 1);

	if (node(rw_module(rw), n)->op == OP_Mul) {
		inverse = rw_operand(rw, n, OP_Reciprocal, &d);
		if (!inverse)
			return 0;
		rms = rw_in(rw, inverse, 0);
	}
	return root_mean_square(rw, rms, axis, epsilon) == d ? d : 0;
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

/* A constant of ones, of the shape of x from `axis` on; 0: not known. */
static val_id ones(struct rewrite *rw, val_id x, int axis)
{
	const struct type *t = rw_type(rw, x);
	int64_t dims[RANK_MAX], n = 1;
	double *one;

	for (int i = axis; i < t->rank; i++) {
		if (!t->dims[i] || !poly_is_const(rw_module(rw)->dims, t->dims[i], &dims[i - axis]))
			return 0;
		n *= dims[i - axis];
	}
	one = ARENA_ARRAY(&rw_module(rw)->arena, double, n);
	for (int64_t i = 0; i < n; i++)
		one[i] = 1;
	return rw_constant(rw, t->dtype, t->rank - axis, dims, one);
}

/* (x - mean) / sqrt(variance + epsilon); Ba et al. 2016. The scale is one until a Mul brings it. */
static const char *layer_norm(struct rewrite *rw, node_id n)
{
	int axis;
	double epsilon;
	val_id d = normalised(rw, n, &axis, &epsilon), x, scale, v;

	if (!d)
		return NO_MATCH;
	if (!(x = centred(rw, d, axis)))
		return "what it divides is not centred by the mean over the same axes";
	if (!dtype_is_float(rw_type(rw, x)->dtype) || !(scale = ones(rw, x, axis)))
		return "the extents that are normalised are not known";
	v = rw_node(rw, n, OP_LayerNormalization, 2, (val_id[]){x, scale});
	attr_set_int(rw_module(rw), rw_node_of(rw, v), "axis", axis - rw_type(rw, x)->rank);
	attr_set_float(rw_module(rw), rw_node_of(rw, v), "epsilon", (float)epsilon);
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

static bool all_ones(struct rewrite *rw, val_id v)
{
	struct tensor *t = rw_const(rw, v);

	if (!t || !dtype_is_float(t->dtype))
		return false;
	tensor_data(rw_module(rw), t);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++)
		if (tensor_get(t, i) != 1)
			return false;
	return true;
}

/* A LayerNormalization without offset before n, for n alone, whose other operand can be its scale (Mul)
 * or offset (Add). */
static const char *into_layer_norm(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	bool offset = node(m, n)->op == OP_Add;
	val_id other, scale, v;
	node_id ln = rw_operand(rw, n, OP_LayerNormalization, &other);
	int axis;

	if (!ln || rw_in(rw, ln, 2))
		return NO_MATCH;
	scale = rw_in(rw, ln, 1);
	if (rw_uses(rw, result(rw, ln)) != 1 || node(m, ln)->nout > 1)
		return "LayerNormalization has other users";
	if (!offset && !all_ones(rw, scale))
		return "LayerNormalization has a scale already";
	axis = (int)attr_i(node(m, ln), "axis");
	axis += axis < 0 ? rw_type(rw, rw_in(rw, ln, 0))->rank : 0;
	if (!last_axes_of(rw, other, rw_in(rw, ln, 0), axis))
		return "the other operand has not the shape of the axes that are normalised";
	v = rw_node(rw, n, OP_LayerNormalization, offset ? 3 : 2, (val_id[]){rw_in(rw, ln, 0), offset ? scale : other, other});
	rw_copy_attrs(rw, rw_node_of(rw, v), ln);
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

/* v with each element `times` times, one after the other; 0: it is not a constant of n floats. */
static val_id repeated(struct rewrite *rw, val_id v, int64_t n, int64_t times)
{
	struct module *m = rw_module(rw);
	struct tensor *from = rw_const(rw, v), *to;
	int64_t count = n * times;

	if (!from || !dtype_is_float(from->dtype) || tensor_count(from) != n)
		return 0;
	tensor_data(m, from);
	to = tensor_new(&m->arena, from->dtype, 1, &count);
	for (int64_t i = 0; i < count; i++)
		tensor_set(to, i, tensor_get(from, i / times));
	return rw_constant_tensor(rw, to);
}

/* Channels of a value of type `image` in equal groups, if its axis 1 is that of type `flat`: channels, else 0. */
static int64_t grouped_channels(struct rewrite *rw, const struct type *image, const struct type *flat, int64_t *groups)
{
	struct polys *P = rw_module(rw)->dims;
	int64_t channels;

	if (image->rank < 3 || flat->rank < 3 || !image->dims[0] || image->dims[0] != flat->dims[0] || !image->dims[1] || !flat->dims[1])
		return 0;
	if (!poly_is_const(P, image->dims[1], &channels) || !poly_is_const(P, flat->dims[1], groups))
		return 0;
	return *groups > 0 && channels % *groups == 0 ? channels : 0;
}

/* InstanceNormalization between Reshapes that make one channel of each group: PyTorch writes GroupNorm so; Wu and He 2018. */
static const char *group_norm(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id in = rw_def1(rw, rw_in(rw, n, 0), OP_InstanceNormalization), before = in ? rw_def(rw, rw_in(rw, in, 0), OP_Reshape) : 0;
	int64_t groups, channels;
	val_id x, scale, bias, v;

	if (!before)
		return NO_MATCH;
	x = rw_in(rw, before, 0);
	if (!rw_same_type(rw, x, result(rw, n)))
		return "the Reshape behind it does not undo the one before it";
	if (!(channels = grouped_channels(rw, rw_type(rw, x), rw_type(rw, rw_in(rw, in, 0)), &groups)))
		return "its channels are no groups of channels of one image";
	scale = repeated(rw, rw_in(rw, in, 1), groups, channels / groups);
	bias = repeated(rw, rw_in(rw, in, 2), groups, channels / groups);
	if (!scale || !bias)
		return "its scale and offset are not constant";
	v = rw_node(rw, n, OP_GroupNormalization, 3, (val_id[]){x, scale, bias});
	attr_set_int(m, rw_node_of(rw, v), "num_groups", groups);
	attr_set_float(m, rw_node_of(rw, v), "epsilon", attr_f(node(m, in), "epsilon"));
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

const struct rule rules_norm[] = {
	{"layer-norm", OP_Div, layer_norm, "(x - mean) / sqrt(variance + eps) becomes LayerNormalization", MEASURE_WORK},
	{"layer-norm", OP_Mul, layer_norm, "(x - mean) / sqrt(variance + eps) becomes LayerNormalization", MEASURE_WORK},
	{"layer-norm-into", OP_Mul, into_layer_norm, "a scale or offset after LayerNormalization goes into it", MEASURE_WORK},
	{"layer-norm-into", OP_Add, into_layer_norm, "a scale or offset after LayerNormalization goes into it", MEASURE_WORK},
	{"group-norm", OP_Reshape, group_norm, "InstanceNormalization between Reshapes becomes GroupNormalization", MEASURE_WORK},
	{0},
};
