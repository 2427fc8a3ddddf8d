/* Operators on images and matrices that lib/native computes: their shapes. */
#include "op/native.h"
#include "op/rules.h"

static const char *shape_grid_sample(struct infer *I)
{
	int rank = rule_rank(I, 0) == RANK_UNKNOWN ? rule_rank(I, 1) : rule_rank(I, 0);

	if (rank == RANK_UNKNOWN || rank < 3) {
		rule_out(I, 0, I->in[0].dtype, RANK_UNKNOWN, NULL);
		return NULL;
	}
	dim *d = rule_dims(I, rank);
	if (rule_rank(I, 0) == rank)
		memcpy(d, I->in[0].dims, 2 * sizeof *d);
	if (rule_rank(I, 1) == rank) {
		const char *why = rule_extent(I, 1, rank - 1, rule_const(I, rank - 2));
		if (why)
			return why;
		memcpy(d + 2, I->in[1].dims + 1, (size_t)(rank - 2) * sizeof *d);
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* Operand i as extents, as far as they are known, of so many axes: more than that, or none: not known. */
static const poly *extents(struct infer *I, uint32_t i, int axes)
{
	return rule_has(I, i) && I->kin[i].yes && I->kin[i].n == axes ? I->kin[i].e : NULL;
}

static bool negative(struct infer *I, dim d)
{
	int64_t c;

	return poly_is_const(rule_polys(I), d, &c) && c < 0;
}

static const char *shape_affine_grid(struct infer *I)
{
	int64_t axes;
	int rank = rule_rank(I, 0) == 3 && poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &axes) && axes >= 2 && axes <= 3 ? (int)axes + 2
															    : RANK_UNKNOWN;

	if (rank == RANK_UNKNOWN && I->kin[1].yes)
		rank = I->kin[1].n;
	if (rank != RANK_UNKNOWN && rank != 4 && rank != 5)
		return rule_why(I, "a size of %d axes", rank);
	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	dim *d = rule_dims(I, rank);
	const poly *size = extents(I, 1, rank);
	const char *why;
	d[0] = size ? size[0] : rule_rank(I, 0) == 3 ? rule_dim(I, 0, 0) : POLY_UNKNOWN;
	if (rule_rank(I, 1) == 1 && (why = rule_extent(I, 1, 0, rule_const(I, rank))))
		return why;
	if (rule_rank(I, 0) == 3 && ((why = rule_extent(I, 0, 0, d[0])) || (why = rule_extent(I, 0, 1, rule_const(I, rank - 2))) ||
				     (why = rule_extent(I, 0, 2, rule_const(I, rank - 1)))))
		return why;
	for (int i = 2; size && i < rank; i++)
		if (negative(I, d[i - 1] = size[i]))
			return "a size that there is not";
	d[rank - 1] = rule_const(I, rank - 2);
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

static const char *shape_crop(struct infer *I)
{
	int rank = rule_rank(I, 0), n, axis;
	const int64_t *axes = attr_ints(I->n, "axes", &n);

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	n = axes ? n : rank;
	if (rule_rank(I, 1) == 1 && rule_extent(I, 1, 0, rule_const(I, n)))
		return rule_why(I, "sizes for %d axes", n);
	const poly *size = extents(I, 1, n);
	for (int i = 0; i < n; i++) {
		if (!rule_axis(axes ? axes[i] : i, rank, &axis))
			return "an axis is outside";
		d[axis] = size ? size[i] : POLY_UNKNOWN;
		if (negative(I, d[axis]))
			return "a size that there is not";
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

static const char *shape_inverse(struct infer *I)
{
	int rank = rule_rank(I, 0);

	rule_like(I, 0, 0);
	return rank < 2 ? NULL : rule_extent(I, 0, rank - 2, rule_dim(I, 0, rank - 1));
}

static const char *shape_det(struct infer *I)
{
	int rank = rule_rank(I, 0);

	rule_out(I, 0, I->in[0].dtype, RANK_UNKNOWN, NULL);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (rank < 2)
		return rule_why(I, "rank %d is no matrix", rank);
	rule_out(I, 0, I->in[0].dtype, rank - 2, I->in[0].dims);
	return rule_extent(I, 0, rank - 2, rule_dim(I, 0, rank - 1));
}

/* Groups, offsets and mask fit a result of dims d. */
static const char *deform_fits(struct infer *I, const dim *d, int rank, int64_t taps)
{
	int64_t group = attr_i(I->n, "group"), groups = attr_i(I->n, "offset_group"), c;
	const char *why = NULL;

	if (poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &c) && c % groups)
		return rule_why(I, "%lld channels do not divide into %lld groups", (long long)c, (long long)groups);
	if (poly_is_const(rule_polys(I), d[1], &c) && c % group)
		return rule_why(I, "%lld outputs do not divide into %lld groups", (long long)c, (long long)group);
	for (uint32_t i = 2; i < 5 && !why; i += 2) {
		int64_t rows = groups;
		if (rule_rank(I, i) == RANK_UNKNOWN)
			continue;
		if (rule_rank(I, i) != rank)
			return rule_why(I, "operand %u has rank %d, the image %d", i, rule_rank(I, i), rank);
		if (__builtin_mul_overflow(rows, taps * (i == 2 ? rank - 2 : 1), &rows))
			return "too many groups";
		if (!(why = rule_extent(I, i, 0, d[0])))
			why = rule_extent(I, i, 1, rule_const(I, rows));
		for (int k = 2; k < rank && !why; k++)
			why = rule_extent(I, i, k, d[k]);
	}
	return why;
}

static const char *shape_deform(struct infer *I)
{
	int rank = rule_rank(I, 0);
	int64_t kernel[SPATIAL_MAX], group = attr_i(I->n, "group"), cx, cw;
	struct window w;

	if (rank == RANK_UNKNOWN)
		rank = rule_rank(I, 1);
	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN || rule_rank(I, 0) != rank || rule_rank(I, 1) != rank || rank - 2 > SPATIAL_MAX)
		return NULL;
	for (int i = 0; i < rank - 2; i++)
		if (!poly_is_const(rule_polys(I), rule_dim(I, 1, 2 + i), &kernel[i]))
			return NULL;
	const char *why = window_read(I->m, I->n, rank - 2, kernel, &w);
	if (why)
		return why;
	dim *d = rule_dims(I, rank);
	d[0] = rule_dim(I, 0, 0);
	d[1] = rule_dim(I, 1, 0);
	if (poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &cx) && poly_is_const(rule_polys(I), rule_dim(I, 1, 1), &cw) &&
	    cx != cw * group)
		return rule_why(I, "%lld channels, the weights take %lld in %lld groups", (long long)cx, (long long)cw, (long long)group);
	int64_t taps = 1;
	for (int i = 0; i < w.n; i++) {
		d[2 + i] = window_extent_dim(I, &w, i, rule_dim(I, 0, 2 + i));
		taps *= w.size[i];
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return deform_fits(I, d, rank, taps);
}

/* The n numbers of an attribute; false: it has not so many. */
static bool numbers(struct infer *I, const char *name, int64_t *v, int n)
{
	int count = attr_list(I->n, name, v, n);

	for (int i = 1; i < n && !attr_find(I->n, name); i++)
		v[i] = v[0];
	return count == n || !attr_find(I->n, name);
}

/* There are as many columns as the image has blocks. */
static const char *columns_fit(struct infer *I, int axes)
{
	const int64_t *image, *block;
	int64_t stride[RANK_MAX], dilation[RANK_MAX], pads[2 * RANK_MAX], all = 1, columns;

	if (!numbers(I, "strides", stride, axes) || !numbers(I, "dilations", dilation, axes) || !numbers(I, "pads", pads, 2 * axes))
		return rule_why(I, "attributes are not for %d axes", axes);
	if (rule_ints(I, 1, &image) != axes || rule_ints(I, 2, &block) != axes)
		return NULL;
	for (int i = 0; i < axes; i++) {
		if (image[i] > INT32_MAX || block[i] > INT32_MAX || stride[i] > INT32_MAX || dilation[i] > INT32_MAX ||
		    pads[i] > INT32_MAX || pads[axes + i] > INT32_MAX)
			return rule_why(I, "axis %d is too long", i);
		int64_t n = image[i] + pads[i] + pads[axes + i] - dilation[i] * (block[i] - 1) - 1;
		if (__builtin_mul_overflow(all, n < 0 ? 0 : n / stride[i] + 1, &all))
			return "too many blocks";
	}
	if (poly_is_const(rule_polys(I), rule_dim(I, 0, 2), &columns) && columns != all)
		return rule_why(I, "%lld columns, the image has %lld blocks", (long long)columns, (long long)all);
	return NULL;
}

static const char *shape_columns(struct infer *I)
{
	int64_t n, taps = 1, rows;
	int axes = rule_rank(I, 1) == 1 && poly_is_const(rule_polys(I), rule_dim(I, 1, 0), &n) && n >= 0 && n < RANK_MAX - 2 ? (int)n
															     : RANK_UNKNOWN;
	const int64_t *block;

	rule_out(I, 0, I->in[0].dtype, axes < 0 ? RANK_UNKNOWN : axes + 2, axes < 0 ? NULL : rule_dims(I, axes + 2));
	if (axes == RANK_UNKNOWN || rule_rank(I, 0) != 3)
		return NULL;
	dim *d = rule_dims(I, axes + 2);
	const poly *image = extents(I, 1, axes);
	d[0] = rule_dim(I, 0, 0);
	if (rule_ints(I, 2, &block) == axes && poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &rows)) {
		for (int i = 0; i < axes; i++)
			if (block[i] < 1 || __builtin_mul_overflow(taps, block[i], &taps))
				return "a block that there is not";
		if (rows % taps)
			return rule_why(I, "%lld rows are no blocks of %lld", (long long)rows, (long long)taps);
		d[1] = rule_const(I, rows / taps);
	}
	for (int i = 0; image && i < axes; i++)
		if (negative(I, d[2 + i] = image[i]))
			return "an image that there is not";
	rule_out(I, 0, I->in[0].dtype, axes + 2, d);
	if (rule_rank(I, 2) == 1 && rule_extent(I, 2, 0, rule_const(I, axes)))
		return rule_why(I, "a block for %d axes", axes);
	return columns_fit(I, axes);
}

/* [regions, channels, height, width] */
static const char *regions_out(struct infer *I, int64_t height, int64_t width)
{
	int64_t regions, images;
	dim *d = rule_dims(I, 4);

	d[0] = rule_rank(I, 1) == 2 ? rule_dim(I, 1, 0) : POLY_UNKNOWN;
	d[1] = rule_rank(I, 0) == 4 ? rule_dim(I, 0, 1) : POLY_UNKNOWN;
	d[2] = rule_const(I, height);
	d[3] = rule_const(I, width);
	rule_out(I, 0, I->in[0].dtype, 4, d);
	if (rule_rank(I, 0) == 4 && poly_is_const(rule_polys(I), rule_dim(I, 0, 0), &images) && !images &&
	    poly_is_const(rule_polys(I), d[0], &regions) && regions)
		return "regions of no images";
	return NULL;
}

static const char *shape_roi_align(struct infer *I)
{
	const char *why = regions_out(I, attr_i(I->n, "output_height"), attr_i(I->n, "output_width"));

	if (why)
		return why;
	return rule_rank(I, 0) == 4 ? rule_below(I, 2, rule_dim(I, 0, 0), NULL) : NULL;
}

static const char *shape_max_roi(struct infer *I)
{
	int n;
	const int64_t *size = attr_ints(I->n, "pooled_shape", &n);

	if (n != 2)
		return rule_why(I, "pooled_shape has %d numbers, takes 2", n);
	const char *why = regions_out(I, size[0], size[1]);
	if (why)
		return why;
	struct tensor *rois = node_const(I->m, I->n, 1);
	int64_t images, k = 0;
	if (!rois || rule_rank(I, 0) != 4 || !poly_is_const(rule_polys(I), rule_dim(I, 0, 0), &images))
		return NULL;
	struct tensor t = *rois;
	for (t.data = tensor_data(I->m, rois); k < tensor_count(&t); k += 5) {
		double image = trunc(tensor_get(&t, k));
		if (!(image >= 0 && image < (double)images))
			return rule_why(I, "a region of image %g of %lld", image, (long long)images);
	}
	return NULL;
}

/* A result of dims d holds what windows have left, and indices lie in that. */
static const char *unpool_fits(struct infer *I, int rank, const dim *d, const dim *whole)
{
	int64_t a, b;
	const char *why = NULL;

	if (rule_has(I, 2) && rule_rank(I, 2) == 1 && rule_extent(I, 2, 0, rule_const(I, rank)))
		return rule_why(I, "a shape that has not %d axes", rank);
	for (int i = 0; i < rank; i++)
		if (poly_is_const(rule_polys(I), d[i], &a) && poly_is_const(rule_polys(I), whole[i], &b) && a < b)
			return rule_why(I, "a shape of %lld along axis %d, the elements lie in %lld", (long long)a, i, (long long)b);
	for (int i = 0; i < rank && rule_rank(I, 1) == rank && !why; i++)
		why = rule_extent(I, 1, i, rule_dim(I, 0, i));
	return why ? why : rule_below(I, 1, rule_product(I, whole, 0, rank), NULL);
}

static const char *shape_unpool(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = rule_rank(I, 0), axes = rank - 2, nk;
	const int64_t *kernel = attr_ints(I->n, "kernel_shape", &nk);
	int64_t stride[RANK_MAX], pads[2 * RANK_MAX];

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN || rank < 3)
		return NULL;
	dim *d = rule_dims(I, rank);
	const poly *shape = extents(I, 2, rank);
	int ns = attr_list(I->n, "strides", stride, RANK_MAX), np = attr_list(I->n, "pads", pads, 2 * RANK_MAX);
	memcpy(d, I->in[0].dims, 2 * sizeof *d);
	for (int i = 0; i < axes && nk == axes; i++) {
		int64_t less = (np > i ? pads[i] : 0) + (np > axes + i ? pads[axes + i] : 0);
		d[2 + i] = poly_mulc(P, poly_addc(P, rule_dim(I, 0, 2 + i), -1), ns > i ? stride[i] : 1);
		d[2 + i] = poly_addc(P, d[2 + i], kernel[i] - less);
		if (negative(I, d[2 + i]))
			return "windows that there are not";
	}
	const dim *whole = d;
	if (rule_has(I, 2)) {
		d = rule_dims(I, rank);
		for (int i = 0; i < rank; i++)
			if (negative(I, d[i] = shape ? shape[i] : POLY_UNKNOWN))
				return "a shape that there is not";
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return unpool_fits(I, rank, d, whole);
}

static const char *shape_suppression(struct infer *I)
{
	dim *d = rule_dims(I, 2);

	d[0] = rule_fresh(I, 0, POLY_INF);
	d[1] = rule_const(I, 3);
	rule_out(I, 0, DT_I64, 2, d);
	return NULL;
}

static const char *unable_complex(struct module *m, const struct node *n)
{
	enum dtype t = val(m, n->in[0])->type.dtype;
	bool picks = n->op == OP_GridSample && !strcmp(attr_s(n, "mode"), "nearest");

	return (t == DT_C64 || t == DT_C128) && !picks ? "no evaluator for complex numbers" : NULL;
}

const struct op ops_image[] = {
	{OP_GridSample, shape_grid_sample, eval_native, .unable = unable_complex},
	{OP_AffineGrid, shape_affine_grid, eval_native},
	{OP_CenterCropPad, shape_crop, eval_native},
	{OP_Col2Im, shape_columns, eval_native, .unable = unable_complex},
	{OP_DeformConv, shape_deform, eval_native},
	{OP_Det, shape_det, eval_native},
	{OP_Inverse, shape_inverse, eval_native},
	{OP_MaxRoiPool, shape_max_roi, eval_native},
	{OP_MaxUnpool, shape_unpool, eval_native},
	{OP_NonMaxSuppression, shape_suppression, eval_native},
	{OP_RoiAlign, shape_roi_align, eval_native},
	{0},
};
