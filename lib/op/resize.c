/* Resize: along each axis a result is a weighted sum of a few elements; the axes one after the
 * other. */
#include "op/resize.h"
#include <math.h>
#include "op/rules.h"

enum { NEAREST, LINEAR, CUBIC };
#define EXTENT_MAX 0x1p40 /* of an axis, and of the result */

/* ---- how much each axis grows ---- */

/* Which axes scales and sizes are for: a list of *n, all of them where there is no attribute. NULL,
 * or why not. */
static const char *resize_axes(const struct node *n, int rank, int *axis, int *count)
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

static bool has_elements(const struct tensor *t) { return t && tensor_count(t) > 0; }

/* in * scale, if scale or 1/scale is a whole number; else unknown. */
static dim scaled(struct infer *I, dim in, double scale)
{
	int64_t c;

	if (poly_is_const(rule_polys(I), in, &c))
		return rule_const(I, (int64_t)floor((double)c * scale));
	if (scale >= 1 && scale == floor(scale))
		return poly_mulc(rule_polys(I), in, (int64_t)scale);
	if (scale > 0 && 1 / scale == floor(1 / scale))
		return poly_floordiv(rule_polys(I), in, (int64_t)(1 / scale));
	return POLY_UNKNOWN;
}

/* An axis of so many elements becomes one of `out`. */
static const char *check_extent(struct infer *I, int axis, int64_t in, double out)
{
	if (out >= 0 && out < EXTENT_MAX && (out == 0 || in != 0))
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
		if (!(c > 0 && c < 0x1p31) || (known && !(c * (double)in < EXTENT_MAX)))
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
	if ((why = resize_axes(I->n, rank, axis, &count)))
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

/* ---- one axis ---- */

struct axis_map {
	const struct node *n;
	double scale, roi_begin, roi_end;
	int mode;
	struct resize_axis *to;
};

/* Where result i lies among the elements of the operand. */
static double coordinate(const struct axis_map *a, int64_t i)
{
	const char *mode = attr_s(a->n, "coordinate_transformation_mode");
	double x = (double)i, in = (double)a->to->in, out = a->scale * in, whole = (double)a->to->out;

	if (a->n->op == OP_Upsample || !strcmp(mode, "asymmetric"))
		return x / a->scale;
	if (!strcmp(mode, "align_corners"))
		return out <= 1 ? 0 : x * (in - 1) / (out - 1);
	if (!strcmp(mode, "pytorch_half_pixel"))
		return whole > 1 ? (x + 0.5) / a->scale - 0.5 : 0;
	if (!strcmp(mode, "tf_half_pixel_for_nn"))
		return (x + 0.5) / a->scale;
	if (!strcmp(mode, "tf_crop_and_resize"))
		return whole > 1 ? a->roi_begin * (in - 1) + x * (a->roi_end - a->roi_begin) * (in - 1) / (whole - 1)
				 : 0.5 * (a->roi_begin + a->roi_end) * (in - 1);
	if (!strcmp(mode, "half_pixel_symmetric")) {
		double adjust = whole / out, center = in / 2;
		return center * (1 - adjust) + (x + 0.5) / a->scale - 0.5;
	}
	return (x + 0.5) / a->scale - 0.5;
}

static int64_t nearest(const struct node *n, double x)
{
	const char *mode = n->op == OP_Upsample ? "floor" : attr_s(n, "nearest_mode");

	if (!strcmp(mode, "round_prefer_ceil"))
		return (int64_t)floor(x + 0.5);
	if (!strcmp(mode, "floor"))
		return (int64_t)floor(x);
	if (!strcmp(mode, "ceil"))
		return (int64_t)ceil(x);
	return (int64_t)ceil(x - 0.5);
}

/* Weight of an element at distance x, by the mode's kernel (cubic: Keys 1981). */
static double kernel(int mode, double x, double a)
{
	x = fabs(x);
	if (mode == LINEAR)
		return x < 1 ? 1 - x : 0;
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Limits a coordinate, so that sums of indices do not overflow; NaN (0 times infinity) becomes a limit, too. */
static double within_reach(double x) { return x >= -0x1p52 ? x <= 0x1p52 ? x : 0x1p52 : -0x1p52; }

static void map_axis(const struct axis_map *a, struct arena *arena)
{
	struct resize_axis *t = a->to;
	bool antialias = attr_i(a->n, "antialias") && a->scale < 1 && a->mode != NEAREST;
	bool crop = !strcmp(attr_s(a->n, "coordinate_transformation_mode"), "tf_crop_and_resize");
	bool exclude = attr_i(a->n, "exclude_outside");
	double stretch = antialias ? 1 / a->scale : 1, cubic = attr_f(a->n, "cubic_coeff_a");
	double wide = ceil((a->mode == CUBIC ? 2 : 1) * stretch);
	int reach = wide < 1 << 24 ? (int)wide : 1 << 24;

	t->taps = a->mode == NEAREST ? 1 : 2 * reach;
	t->index = arena_alloc(arena, sizeof *t->index * (size_t)(t->out * t->taps));
	t->weight = arena_alloc(arena, sizeof *t->weight * (size_t)(t->out * t->taps));
	t->outside = crop ? arena_alloc(arena, sizeof *t->outside * (size_t)t->out) : NULL;
	for (int64_t i = 0; i < t->out; i++) {
		double x = within_reach(coordinate(a, i)), sum = 0;
		int64_t first = a->mode == NEAREST ? nearest(a->n, x) : (int64_t)floor(x) - reach + 1;
		if (crop)
			t->outside[i] = x < 0 || x > (double)(t->in - 1);
		for (int k = 0; k < t->taps; k++) {
			int64_t at = first + k, clamped = at < 0 ? 0 : at >= t->in ? t->in - 1 : at;
			double w = a->mode == NEAREST ? 1 : kernel(a->mode, (x - (double)at) / stretch, cubic);
			if (exclude && clamped != at && a->mode != NEAREST)
				w = 0;
			t->index[i * t->taps + k] = clamped;
			t->weight[i * t->taps + k] = w;
			sum += w;
		}
		for (int k = 0; (exclude || antialias) && sum != 0 && k < t->taps; k++)
			t->weight[i * t->taps + k] /= sum;
	}
}

/* ---- all axes ---- */

static void move_axis(const struct resize_axis *a, const double *x, double *y, int64_t outer, int64_t inner)
{
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < a->out; i++) {
			double *to = y + (o * a->out + i) * inner;
			memset(to, 0, sizeof *to * (size_t)inner);
			for (int k = 0; k < a->taps; k++) {
				double w = a->weight[i * a->taps + k];
				const double *from = x + (o * a->in + a->index[i * a->taps + k]) * inner;
				for (int64_t j = 0; w != 0 && j < inner; j++)
					to[j] += w * from[j];
			}
		}
}

/* Reads sizes or scales into a. */
static const char *resize_extents(const struct node *n, int rank, const struct tensor *roi, const struct tensor *scales,
				  const struct tensor *sizes, struct axis_map *a)
{
	const char *policy = attr_s(n, "keep_aspect_ratio_policy");
	int axis[RANK_MAX], count;
	const char *why = resize_axes(n, rank, axis, &count);
	bool stretch = !strcmp(policy, "stretch"), smaller = !strcmp(policy, "not_larger");
	double common = smaller ? INFINITY : 0;

	if (why)
		return why;
	if (has_elements(sizes) ? tensor_count(sizes) != count : !has_elements(scales) || tensor_count(scales) != count)
		return "scales or sizes do not fit the axes";
	for (int i = 0; i < count; i++) {
		struct axis_map *m = &a[axis[i]];
		struct resize_axis *t = m->to;
		m->scale = has_elements(sizes) ? tensor_get(sizes, i) / (double)t->in : tensor_get(scales, i);
		double out = has_elements(sizes) ? tensor_get(sizes, i) : floor((double)t->in * m->scale);
		if (!(out >= 0 && out < EXTENT_MAX) || (out > 0 && t->in == 0))
			return "an extent cannot be resized like that";
		t->out = (int64_t)out;
		if (has_elements(sizes) && t->in == 0 && !stretch)
			return "an extent cannot be resized like that";
		common = smaller ? fmin(common, m->scale) : fmax(common, m->scale);
		if (n->op == OP_Resize && has_elements(roi) && tensor_count(roi) == 2 * count) {
			m->roi_begin = tensor_get(roi, i);
			m->roi_end = tensor_get(roi, count + i);
		}
	}
	for (int i = 0; i < count && has_elements(sizes) && !stretch; i++) {
		a[axis[i]].scale = common;
		double out = floor((double)a[axis[i]].to->in * common + 0.5);
		if (!(out >= 0 && out < EXTENT_MAX))
			return "an extent cannot be resized like that";
		a[axis[i]].to->out = (int64_t)out;
	}
	return NULL;
}

const char *resize_map(const struct node *n, int rank, const int64_t *dims, const struct tensor *roi, const struct tensor *scales,
		       const struct tensor *sizes, struct arena *arena, struct resize_axis *to)
{
	const char *mode = attr_s(n, "mode");
	struct axis_map a[RANK_MAX];
	const char *why;

	for (int k = 0; k < rank; k++) {
		to[k] = (struct resize_axis){.in = dims[k], .out = dims[k]};
		a[k] = (struct axis_map){.n = n,
					 .scale = 1,
					 .roi_end = 1,
					 .to = &to[k],
					 .mode = !strcmp(mode, "cubic")        ? CUBIC
						 : !strncmp(mode, "linear", 6) ? LINEAR
									       : NEAREST};
	}
	if ((why = resize_extents(n, rank, roi, scales, sizes, a)))
		return why;
	double all = 1;
	for (int k = 0; k < rank; k++)
		all *= (double)to[k].out;
	if (all >= EXTENT_MAX)
		return "a result larger than any memory";
	for (int k = 0; k < rank; k++)
		if (to[k].out != to[k].in || a[k].scale != 1 || a[k].roi_begin != 0 || a[k].roi_end != 1)
			map_axis(&a[k], arena);
	return NULL;
}

static const char *eval_resize(struct eval *e)
{
	const struct tensor *x = e->in[0];
	bool old = e->n->op == OP_Upsample;
	struct resize_axis a[RANK_MAX];
	int64_t dims[RANK_MAX], outer = 1, inner = tensor_count(x), total = inner;
	double extrapolation = attr_f(e->n, "extrapolation_value");
	const char *why;

	if (!dtype_fixed(x->dtype))
		return eval_why(e, "no evaluator for %s", dtype_name(x->dtype));
	if ((why = resize_map(e->n, x->rank, x->dims, old ? NULL : eval_in(e, 1), eval_in(e, old ? 1 : 2), eval_in(e, 3), e->tmp, a)))
		return why;
	double *v = eval_scratch(e, sizeof *v * (size_t)total);
	for (int64_t i = 0; i < total; i += BLOCK)
		load_d(x, i, 1, total - i < BLOCK ? (int)(total - i) : BLOCK, v + i);
	bool outside = false;
	for (int k = 0; k < x->rank; k++) {
		dims[k] = a[k].out;
		inner = a[k].in ? inner / a[k].in : 0;
		if (a[k].taps) {
			double *w = eval_scratch(e, sizeof *w * (size_t)(outer * a[k].out * inner));
			move_axis(&a[k], v, w, outer, inner);
			v = w;
			outside |= a[k].outside != NULL;
		}
		outer *= a[k].out;
	}
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims);
	total = tensor_count(y);
	for (int64_t i = 0; outside && i < total; i++)
		for (int64_t k = x->rank - 1, rest = i; k >= 0; rest /= dims[k], k--)
			if (a[k].outside && a[k].outside[rest % dims[k]])
				v[i] = extrapolation;
	if (dtype_is_int(x->dtype))
		for (int64_t i = 0; i < total; i++)
			v[i] = rint(v[i]);
	for (int64_t i = 0; i < total; i += BLOCK)
		store_d(y, i, total - i < BLOCK ? (int)(total - i) : BLOCK, v + i);
	return NULL;
}

const struct op ops_resize[] = {
	{OP_Resize, shape_resize, eval_resize},
	{OP_Upsample, shape_resize, eval_resize},
	{0},
};
