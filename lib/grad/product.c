/* Derivatives of products and convolutions. */
#include "grad/rows.h"
#include "op/rules.h"

static val_id turned(const struct chain *c, val_id v)
{
	int rank = rank_of(c, v);
	int64_t perm[RANK_MAX];

	if (rank < 2)
		return 0;
	for (int k = 0; k < rank; k++)
		perm[k] = k < rank - 2 ? k : 2 * rank - 3 - k;
	return transposed(c, v, rank, perm);
}

/* v as rows of its last axis. 0: its extent is not known. */
static val_id as_rows(const struct chain *c, val_id v)
{
	const struct type *t = grad_type(c->d, v);
	int64_t last;

	if (t->rank < 2 || !t->dims[t->rank - 1] || !poly_is_const(module_of(c)->dims, t->dims[t->rank - 1], &last))
		return 0;
	return t->rank == 2 ? v : reshaped(c, v, 2, (int64_t[]){-1, last});
}

val_id grad_by_matmul(struct chain *c, int i)
{
	if (rank_of(c, c->a) < 2 || rank_of(c, c->b) < 2)
		return refused(c, "an operand is a vector");
	if (!i)
		return bin(c, OP_MatMul, c->g, turned(c, c->b));
	val_id rows = rank_of(c, c->b) == 2 ? as_rows(c, c->a) : 0, g = rows ? as_rows(c, c->g) : 0;
	return g ? bin(c, OP_MatMul, turned(c, rows), g) : bin(c, OP_MatMul, turned(c, c->a), c->g);
}

static val_id gemm(const struct chain *c, val_id a, bool turn_a, val_id b, bool turn_b)
{
	val_id y = bin(c, OP_Gemm, a, b);
	float alpha = attr_f(c->n, "alpha");

	if (alpha != 1)
		attr_set_float(module_of(c), made(c, y), "alpha", alpha);
	if (turn_a)
		with_int(c, y, "transA", 1);
	return turn_b ? with_int(c, y, "transB", 1) : y;
}

val_id grad_by_gemm(struct chain *c, int i)
{
	bool a = attr_i(c->n, "transA"), b = attr_i(c->n, "transB");

	if (i == 2)
		return attr_f(c->n, "beta") == 1 ? c->g : mul(c, c->g, number(c, attr_f(c->n, "beta")));
	if (i)
		return b ? gemm(c, c->g, true, c->a, a) : gemm(c, c->a, !a, c->g, false);
	return a ? gemm(c, c->b, b, c->g, true) : gemm(c, c->g, false, c->b, !b);
}

/* ---- convolutions ---- */

/* A convolution of known extents: x [N, C, in...], weights [K, C / group, size...]. */
struct convolution {
	struct window w;
	int rank;
	int64_t x[RANK_MAX], k[RANK_MAX], y[RANK_MAX], group;
};

static bool convolution_read(const struct chain *c, struct convolution *v)
{
	v->rank = rank_of(c, c->a);
	v->group = attr_i(c->n, "group");
	if (v->rank < 3 || v->rank - 2 > SPATIAL_MAX || rank_of(c, c->b) != v->rank)
		return false;
	if (!extents(c, c->a, v->x) || !extents(c, c->b, v->k) || !extents(c, c->y, v->y) ||
	    window_read(module_of(c), c->n, v->rank - 2, v->k + 2, &v->w))
		return false;
	for (int i = 0; i < v->w.n; i++) /* sets the pads where they are computed */
		if (window_extent(&v->w, i, v->x[2 + i]) != v->y[2 + i])
			return false;
	return true;
}

/* What the last window leaves at the end of axis i, padding counted; below 0: nothing reads the last of it. */
static int64_t left_over(const struct convolution *v, int i)
{
	return v->x[2 + i] + v->w.begin[i] + v->w.end[i] - (v->y[2 + i] - 1) * v->w.stride[i] - (v->w.size[i] - 1) * v->w.dilation[i] - 1;
}

/* Each element of g goes where its window was, times the weights: the transposed convolution, cut or filled to x's extents by its pads. */
static val_id by_picture(struct chain *c, const struct convolution *v)
{
	val_id y = bin(c, OP_ConvTranspose, c->g, c->b);
	int64_t pads[2 * SPATIAL_MAX], more[SPATIAL_MAX];

	for (int i = 0; i < v->w.n; i++) {
		pads[i] = v->w.begin[i];
		pads[v->w.n + i] = v->w.end[i];
		more[i] = left_over(v, i);
	}
	with_ints(c, y, "pads", 2 * v->w.n, pads);
	with_ints(c, y, "strides", v->w.n, v->w.stride);
	with_ints(c, y, "dilations", v->w.n, v->w.dilation);
	with_ints(c, y, "output_padding", v->w.n, more);
	return v->group == 1 ? y : with_int(c, y, "group", v->group);
}

/* [N, group * C, ...] as [C, group * N, ...]: the batch is what is summed over. */
static val_id batch_second(struct chain *c, const struct convolution *v)
{
	int64_t wide[RANK_MAX + 1] = {v->x[0], v->group, v->x[1] / v->group}, perm[RANK_MAX + 1] = {2, 1, 0},
				narrow[RANK_MAX] = {v->x[1] / v->group, v->group * v->x[0]};

	if (v->group == 1) {
		for (int i = 0; i < v->rank; i++)
			perm[i] = i < 2 ? 1 - i : i;
		return transposed(c, c->a, v->rank, perm);
	}
	for (int i = 2; i < v->rank; i++) {
		wide[i + 1] = narrow[i] = v->x[i];
		perm[i + 1] = i + 1;
	}
	return reshaped(c, transposed(c, reshaped(c, c->a, v->rank + 1, wide), v->rank + 1, perm), v->rank, narrow);
}

/* The picture convolved with g, where strides and dilations change places. What the last window left at the end makes more taps than there
 * are weights: the padding is less by that, or they are cut off. */
static val_id by_weights(struct chain *c, const struct convolution *v)
{
	int64_t swap[RANK_MAX], pads[2 * SPATIAL_MAX], from[SPATIAL_MAX], to[SPATIAL_MAX], axes[SPATIAL_MAX];
	int cut = 0;

	for (int i = 0; i < v->rank; i++)
		swap[i] = i < 2 ? 1 - i : i;
	for (int i = 0; i < v->w.n; i++) {
		int64_t left = left_over(v, i);
		bool fits = left <= v->w.end[i];
		pads[i] = v->w.begin[i];
		pads[v->w.n + i] = fits ? v->w.end[i] - left : 0;
		if (fits || left - v->w.end[i] < v->w.dilation[i])
			continue;
		axes[cut] = 2 + i;
		from[cut] = 0;
		to[cut++] = v->w.size[i];
	}
	val_id y = bin(c, OP_Conv, batch_second(c, v), transposed(c, c->g, v->rank, swap));
	with_ints(c, y, "pads", 2 * v->w.n, pads);
	with_ints(c, y, "strides", v->w.n, v->w.dilation);
	with_ints(c, y, "dilations", v->w.n, v->w.stride);
	if (v->group > 1)
		with_int(c, y, "group", v->group);
	y = transposed(c, y, v->rank, swap);
	return cut ? make(c, OP_Slice, 4, (val_id[]){y, grad_ints(c->d, cut, from), grad_ints(c->d, cut, to), grad_ints(c->d, cut, axes)})
		   : y;
}

val_id grad_by_conv(struct chain *c, int i)
{
	struct convolution v;
	int64_t axes[RANK_MAX];
	int rank = rank_of(c, c->g), n = 0;

	for (int k = 0; k < rank; k++)
		if (k != 1)
			axes[n++] = k;
	if (i == 2)
		return rank < 3 ? 0 : with_int(c, reduced(c, OP_ReduceSum, c->g, n, axes), "keepdims", 0);
	if (!convolution_read(c, &v))
		return refused(c, "its sizes are not all known");
	return i ? by_weights(c, &v) : by_picture(c, &v);
}

/* ---- pools ---- */

/* Every element of the picture, as many as a plane has, had an equal part in the mean. */
val_id grad_by_global_average(struct chain *c, int i)
{
	int64_t dims[RANK_MAX];
	double plane = 1;

	if (!extents(c, c->a, dims))
		return refused(c, "its sizes are not all known");
	for (int k = 2; k < rank_of(c, c->a); k++)
		plane *= (double)dims[k];
	return grad_shaped_like(c->d, OP_Expand, mul(c, c->g, number(c, 1 / plane)), c->a);
}

/* A depthwise convolution with weights of one; without padding in the count, g is first divided by how many elements each window had. */
val_id grad_by_average_pool(struct chain *c, int i)
{
	int64_t x[RANK_MAX], y[RANK_MAX], kernel[RANK_MAX], pads[2 * SPATIAL_MAX], more[SPATIAL_MAX];
	int rank = rank_of(c, c->a), n = rank - 2;
	struct window w;
	double count = 1;
	bool padded = false;

	if (rank < 3 || n > SPATIAL_MAX || !extents(c, c->a, x) || !extents(c, c->y, y) || window_read(module_of(c), c->n, n, NULL, &w))
		return refused(c, "its sizes are not all known");
	kernel[0] = x[1];
	kernel[1] = 1;
	for (int k = 0; k < n; k++) {
		window_extent(&w, k, x[2 + k]);
		kernel[2 + k] = w.size[k];
		count *= (double)w.size[k];
		pads[k] = w.begin[k];
		pads[n + k] = w.end[k];
		more[k] = x[2 + k] + w.begin[k] + w.end[k] - (y[2 + k] - 1) * w.stride[k] - (w.size[k] - 1) * w.dilation[k] - 1;
		padded |= w.begin[k] || w.end[k];
		if (more[k] < 0)
			return refused(c, "a window goes beyond the padding (ceil_mode)");
	}
	if (padded && !attr_i(c->n, "count_include_pad"))
		return refused(c, "its padding is not counted");
	struct tensor *ones = tensor_new(&module_of(c)->arena, c->t, rank, kernel);
	for (int64_t k = 0; k < tensor_count(ones); k++)
		tensor_set(ones, k, 1 / count);
	val_id v = bin(c, OP_ConvTranspose, c->g, const_tensor(module_of(c), 0, ones));
	with_ints(c, v, "pads", 2 * n, pads);
	with_ints(c, v, "strides", n, w.stride);
	with_ints(c, v, "dilations", n, w.dilation);
	with_ints(c, v, "output_padding", n, more);
	return with_int(c, v, "group", x[1]);
}

/* Each element of g is added where the pool says that its window's largest was, the first of equal ones. */
val_id grad_by_max_pool(struct chain *c, int i)
{
	struct module *m = module_of(c);
	int64_t all = -1;

	if (attr_i(c->n, "storage_order"))
		return refused(c, "its places are column-major (storage_order)");
	if (c->n->nout > 1 && !c->out[1])
		return refused(c, "its second result has no name");
	val_id at = c->n->nout > 1 ? c->out[1] : node_add_output(m, val(m, c->y)->def);
	infer_node(m, val(m, c->y)->def, NULL);
	val_id zeros = reshaped(c, grad_filled_like(c->d, c->a, c->t, 0), 1, &all);
	val_id sum = make(c, OP_ScatterElements, 3, (val_id[]){zeros, reshaped(c, at, 1, &all), reshaped(c, c->g, 1, &all)});
	attr_set_str(m, made(c, sum), "reduction", "add");
	return grad_shaped_like(c->d, OP_Reshape, sum, c->a);
}
