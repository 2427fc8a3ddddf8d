/* Resize: along each axis a result is a weighted sum of a few elements; the axes one after the
 * other. */
#include "op/resize.h"
#include <math.h>
#include "op/native.h"
#include "op/rules.h"

/* ---- how much each axis grows ---- */

/* Which axes scales and sizes are for: a list of *n, all of them where there is no attribute. NULL,
 * or why not. */
static const char *axes_of(const struct node *n, int rank, int *axis, int *count)
{
	const int64_t *axes = attr_ints(n, "axes", count);

	if (!axes)
		*count = rank;
	for (int i = 0; i < *count; i++) {
		if (*count > rank || !rule_axis(axes ? axes[i] : i, rank, &axis[i]))
			return "an axis is outside the rank";
		for (int k = 0; k < i; k++)
			if (axis[k] == axis[i])
				return "attribute 'axes' has an axis twice";
	}
	return NULL;
}

/* in * scale, if scale or 1/scale is a whole number; else unknown. */
static dim scaled(struct infer *I, dim in, double scale)
{
	int64_t c;

	if (poly_is_const(rule_polys(I), in, &c))
		return rule_const(I, (int64_t)floor((double)c * scale));
	if (scale >= 1 && scale == floor(scale))
		return poly_mulc(rule_polys(I), in, (int64_t)scale);
	if (scale > 0 && 1 / scale < RESIZE_EXTENT_MAX && 1 / scale == floor(1 / scale))
		return poly_floordiv(rule_polys(I), in, (int64_t)(1 / scale));
	return POLY_UNKNOWN;
}

/* An axis of so many elements becomes one of `out`. */
static const char *check_extent(struct infer *I, int axis, int64_t in, double out)
{
	if (out >= 0 && out < RESIZE_EXTENT_MAX && (out == 0 || in != 0))
		return NULL;
	return rule_why(I, "axis %d of extent %lld cannot be resized to %.0f", axis, (long long)in, out);
}

/* Extents of the sizes given, for axes that may have to keep their ratio. */
static const char *sized(struct infer *I, int count, const int *axis, dim *d)
{
	const char *policy = attr_s(I->n, "keep_aspect_ratio_policy"), *why;
	bool stretch = !strcmp(policy, "stretch"), smaller = !strcmp(policy, "not_larger"), all = true;
	double common = smaller ? INFINITY : 0;
	int64_t in[RANK_MAX], out;

	for (int i = 0; i < count; i++) {
		bool known = poly_is_const(rule_polys(I), rule_dim(I, 0, axis[i]), &in[i]),
		     asked = I->kin[3].yes && i < I->kin[3].n && poly_is_const(rule_polys(I), I->kin[3].e[i], &out);
		d[axis[i]] = stretch && I->kin[3].yes && i < I->kin[3].n ? I->kin[3].e[i] : POLY_UNKNOWN;
		if (asked && (why = check_extent(I, axis[i], known && (in[i] || stretch) ? in[i] : !known, (double)out)))
			return why;
		all &= known && asked;
		if (known && asked && !stretch) {
			double scale = (double)out / (double)in[i];
			common = smaller ? fmin(common, scale) : fmax(common, scale);
		}
	}
	for (int i = 0; i < count && all && !stretch; i++) {
		double ratio = floor((double)in[i] * common + 0.5);
		if ((why = check_extent(I, axis[i], in[i], ratio)))
			return why;
		d[axis[i]] = rule_const(I, (int64_t)ratio);
	}
	return NULL;
}

static const char *scaled_all(struct infer *I, struct tensor *scales, int count, const int *axis, dim *d)
{
	struct tensor s = *scales;

	if (tensor_count(scales) != count)
		return rule_why(I, "%lld scales for %d axes", (long long)tensor_count(scales), count);
	s.data = tensor_data(I->m, scales);
	for (int i = 0; i < count; i++) {
		double c = tensor_get(&s, i);
		int64_t in;
		bool known = poly_is_const(rule_polys(I), d[axis[i]], &in);
		if (!resize_scale_fits(c) || (known && !(c * (double)in < RESIZE_EXTENT_MAX)))
			return rule_why(I, "axis %d cannot be %g times as long", axis[i], c);
		d[axis[i]] = scaled(I, d[axis[i]], c);
	}
	return NULL;
}

/* How many elements operand i has: none if it is absent, -1 if that is not known. */
static int64_t given(struct infer *I, uint32_t i)
{
	int64_t c = -1;

	if (rule_has(I, i) && rule_rank(I, i) == 1)
		poly_is_const(rule_polys(I), rule_dim(I, i, 0), &c);
	return rule_has(I, i) ? c : 0;
}

static const char *shape_resize(struct infer *I)
{
	int rank = rule_rank(I, 0), axis[RANK_MAX], count;
	bool old = I->n->op == OP_Upsample;
	uint32_t at = old ? 1 : 2;
	struct tensor *scales = node_const(I->m, I->n, at);
	int64_t nscales = given(I, at), nsizes = old ? 0 : given(I, 3);
	const char *why = NULL;

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (!nscales && !nsizes)
		return "neither scales nor sizes are given";
	if (nscales > 0 && nsizes > 0)
		return "scales and sizes are given";
	if (rank == RANK_UNKNOWN)
		return NULL;
	if ((why = axes_of(I->n, rank, axis, &count)))
		return why;
	if (nsizes > 0 && nsizes != count)
		return rule_why(I, "%lld sizes for %d axes", (long long)nsizes, count);
	if (nscales > 0 && nscales != count)
		return rule_why(I, "%lld scales for %d axes", (long long)nscales, count);
	if (!old && !strcmp(attr_s(I->n, "coordinate_transformation_mode"), "tf_crop_and_resize") && given(I, 1) >= 0 &&
	    given(I, 1) != 2 * count)
		return rule_why(I, "%lld numbers in operand 1 for %d axes", (long long)given(I, 1), count);
	dim *d = rule_dims(I, rank);
	if (rank)
		memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	if (nsizes && !old)
		why = sized(I, count, axis, d);
	else if (nscales > 0 && scales)
		why = scaled_all(I, scales, count, axis, d);
	else
		for (int i = 0; i < count; i++)
			d[axis[i]] = POLY_UNKNOWN;
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return why;
}

/* ---- for the lowering ---- */

static void *in_arena(struct native *n, size_t bytes) { return arena_alloc(n->ctx, bytes); }

static struct native_tensor operand(const struct tensor *t)
{
	return t ? (struct native_tensor){(int)t->dtype, t->rank, t->dims, (void *)t->data} : (struct native_tensor){0};
}

const char *resize_node(struct module *m, const struct node *n, int rank, const int64_t *dims, const struct tensor *roi,
			const struct tensor *scales, const struct tensor *sizes, struct arena *arena, struct resize_axis *to)
{
	bool old = n->op == OP_Upsample;
	struct native_tensor in[] = {{(int)DT_F32, rank, dims, NULL}, operand(old ? scales : roi), operand(scales), operand(sizes)};
	struct native *call = ARENA_NEW(arena, struct native); /* why not may be in it */
	struct native_attr *attr;

	*call = (struct native){.in = in, .nin = old ? 2 : 4, .scratch = in_arena, .ctx = arena};
	call->nattr = native_attrs(m, n, arena, &attr);
	call->attr = attr;
	return resize_map(call, old, to);
}

const struct op ops_resize[] = {
	{OP_Resize, shape_resize, eval_native},
	{OP_Upsample, shape_resize, eval_native},
	{0},
};
