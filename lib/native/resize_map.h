/* Resize, axis by axis: a result is a weighted sum of a few elements. */
#ifndef HONE_NATIVE_RESIZE_MAP_H
#define HONE_NATIVE_RESIZE_MAP_H
#include "native/native.h"

enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
#define RESIZE_EXTENT_MAX 0x1p40 /* of an axis, and of the result */
#define RESIZE_SCALE_MAX  0x1p31

struct resize_axis {
	int64_t in, out;
	int taps;       /* elements that a result is made of; 0: the axis does not change */
	int64_t *index; /* [out][taps]: which elements of the operand */
	double *weight; /* [out][taps] */
	bool *outside;  /* [out]: is it the extrapolation value? NULL: none is */
};

/* What to do along one axis. */
struct resize_plan {
	const struct native *n;
	double scale, roi_begin, roi_end;
	int mode;
	bool old; /* Upsample */
	struct resize_axis *to;
};

/* Where result i lies among the elements of the operand. */
static inline double resize_coordinate(const struct resize_plan *a, int64_t i)
{
	const char *mode = native_str(a->n, "coordinate_transformation_mode");
	double x = (double)i, in = (double)a->to->in, out = a->scale * in, whole = (double)a->to->out;

	if (a->old || !strcmp(mode, "asymmetric"))
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

static inline int64_t resize_nearest(const struct resize_plan *a, double x)
{
	const char *mode = a->old ? "floor" : native_str(a->n, "nearest_mode");

	if (!strcmp(mode, "round_prefer_ceil"))
		return (int64_t)floor(x + 0.5);
	if (!strcmp(mode, "floor"))
		return (int64_t)floor(x);
	if (!strcmp(mode, "ceil"))
		return (int64_t)ceil(x);
	return (int64_t)ceil(x - 0.5);
}

/* Weight of an element at distance x, by the mode's kernel (cubic: Keys 1981). */
static inline double resize_kernel(int mode, double x, double a)
{
	x = fabs(x);
	if (mode == RESIZE_LINEAR)
		return x < 1 ? 1 - x : 0;
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Limits a coordinate, so that sums of indices do not overflow; NaN (0 times infinity) becomes a limit, too. */
static inline double resize_within_reach(double x) { return x >= -0x1p52 ? x <= 0x1p52 ? x : 0x1p52 : -0x1p52; }

static inline bool resize_axis_room(struct native *n, struct resize_axis *t, bool crop)
{
	int64_t count;

	if (__builtin_mul_overflow(t->out, (int64_t)t->taps, &count) || count > INT64_MAX / 64)
		return false;
	t->index = (int64_t *)n->scratch(n, sizeof *t->index * (size_t)count);
	t->weight = (double *)n->scratch(n, sizeof *t->weight * (size_t)count);
	t->outside = crop ? (bool *)n->scratch(n, sizeof *t->outside * (size_t)t->out) : NULL;
	return t->index && t->weight && (t->outside || !crop);
}

/* Result i of an axis whose first tap is `first`. */
static inline void resize_taps(const struct resize_plan *a, int64_t i, int64_t first, double x, double stretch, bool antialias)
{
	struct resize_axis *t = a->to;
	bool exclude = native_int(a->n, "exclude_outside") != 0;
	double sum = 0, cubic = native_float(a->n, "cubic_coeff_a");

	for (int k = 0; k < t->taps; k++) {
		int64_t at = first + k, clamped = at < 0 ? 0 : at >= t->in ? t->in - 1 : at;
		double w = a->mode == RESIZE_NEAREST ? 1 : resize_kernel(a->mode, (x - (double)at) / stretch, cubic);
		if (exclude && clamped != at && a->mode != RESIZE_NEAREST)
			w = 0;
		t->index[i * t->taps + k] = clamped;
		t->weight[i * t->taps + k] = w;
		sum += w;
	}
	for (int k = 0; (exclude || antialias) && sum != 0 && k < t->taps; k++)
		t->weight[i * t->taps + k] /= sum;
}

static inline bool resize_map_axis(struct native *n, const struct resize_plan *a)
{
	struct resize_axis *t = a->to;
	bool antialias = native_int(n, "antialias") && a->scale < 1 && a->mode != RESIZE_NEAREST;
	bool crop = !strcmp(native_str(n, "coordinate_transformation_mode"), "tf_crop_and_resize");
	double stretch = antialias ? 1 / a->scale : 1, wide = ceil((a->mode == RESIZE_CUBIC ? 2 : 1) * stretch);
	int reach = wide < 1 << 24 ? (int)wide : 1 << 24;

	t->taps = a->mode == RESIZE_NEAREST ? 1 : 2 * reach;
	if (!resize_axis_room(n, t, crop))
		return false;
	for (int64_t i = 0; i < t->out; i++) {
		double x = resize_within_reach(resize_coordinate(a, i));
		if (crop)
			t->outside[i] = x < 0 || x > (double)(t->in - 1);
		resize_taps(a, i, a->mode == RESIZE_NEAREST ? resize_nearest(a, x) : (int64_t)floor(x) - reach + 1, x, stretch, antialias);
	}
	return true;
}

/* Which axes scales and sizes are for: how many; -1: not so. */
static inline int resize_axes(const struct native *n, int rank, int *axis)
{
	const struct native_attr *axes = native_attr(n, "axes");
	int count = axes ? axes->n : rank;

	if (count > rank)
		return -1;
	for (int i = 0; i < count; i++) {
		axis[i] = axes ? native_axis(axes->ints[i], rank) : i;
		for (int k = 0; k < i; k++)
			if (axis[k] == axis[i])
				return -1;
		if (axis[i] < 0)
			return -1;
	}
	return count;
}

/* Operand i, if it has elements; of Upsample there are but the scales. */
static inline const struct native_tensor *resize_operand(const struct native *n, int i)
{
	return native_has(n, i) && native_count(&n->in[i]) > 0 ? &n->in[i] : NULL;
}

static inline bool resize_scale_fits(double scale) { return scale > 0 && scale < RESIZE_SCALE_MAX; }

static inline bool resize_extent_fits(double out, int64_t in) { return out >= 0 && out < RESIZE_EXTENT_MAX && (out == 0 || in != 0); }

/* Reads sizes or scales into a. */
static inline const char *resize_extents(struct native *n, bool old, int rank, struct resize_plan *a)
{
	static const char no[] = "an extent cannot be resized like that";
	const struct native_tensor *roi = old ? NULL : resize_operand(n, 1), *scales = resize_operand(n, old ? 1 : 2),
				   *sizes = old ? NULL : resize_operand(n, 3);
	const char *policy = native_str(n, "keep_aspect_ratio_policy");
	bool stretch = !*policy || !strcmp(policy, "stretch"), smaller = !strcmp(policy, "not_larger");
	double common = smaller ? INFINITY : 0;
	int axis[NATIVE_RANK_MAX], count = resize_axes(n, rank, axis);

	if (count < 0)
		return "the axes do not fit the rank";
	if (sizes ? native_count(sizes) != count : !scales || native_count(scales) != count)
		return "scales or sizes do not fit the axes";
	for (int i = 0; i < count; i++) {
		struct resize_plan *m = &a[axis[i]];
		struct resize_axis *t = m->to;
		m->scale = sizes ? native_get(sizes->type, sizes->data, i) / (double)t->in : native_get(scales->type, scales->data, i);
		if (!sizes && !resize_scale_fits(m->scale))
			return native_why(n, "axis %d cannot be %g times as long", axis[i], m->scale);
		double out = sizes ? native_get(sizes->type, sizes->data, i) : floor((double)t->in * m->scale);
		if (!resize_extent_fits(out, t->in) || (sizes && t->in == 0 && !stretch))
			return no;
		t->out = (int64_t)out;
		common = smaller ? fmin(common, m->scale) : fmax(common, m->scale);
		if (roi && native_count(roi) == 2 * count) {
			m->roi_begin = native_get(roi->type, roi->data, i);
			m->roi_end = native_get(roi->type, roi->data, count + i);
		}
	}
	for (int i = 0; i < count && sizes && !stretch; i++) {
		a[axis[i]].scale = common;
		double out = floor((double)a[axis[i]].to->in * common + 0.5);
		if (!(out >= 0 && out < RESIZE_EXTENT_MAX))
			return no;
		a[axis[i]].to->out = (int64_t)out;
	}
	return NULL;
}

/* Every axis of the operand; arrays are scratch of n. old: n is an Upsample. NULL, or why not. */
static inline const char *resize_map(struct native *n, bool old, struct resize_axis *to)
{
	const char *mode = native_str(n, "mode"), *why;
	struct resize_plan a[NATIVE_RANK_MAX];
	int rank = n->in[0].rank, kind = !strcmp(mode, "cubic")        ? RESIZE_CUBIC
					 : !strncmp(mode, "linear", 6) ? RESIZE_LINEAR
								       : RESIZE_NEAREST;
	double all = 1;

	for (int k = 0; k < rank; k++) {
		to[k] = (struct resize_axis){.in = n->in[0].dims[k], .out = n->in[0].dims[k]};
		a[k] = (struct resize_plan){.n = n, .scale = 1, .roi_end = 1, .to = &to[k], .mode = kind, .old = old};
	}
	if ((why = resize_extents(n, old, rank, a)))
		return why;
	for (int k = 0; k < rank; k++)
		all *= (double)to[k].out;
	if (all >= RESIZE_EXTENT_MAX)
		return "a result larger than any memory";
	for (int k = 0; k < rank; k++)
		if ((to[k].out != to[k].in || a[k].scale != 1 || a[k].roi_begin != 0 || a[k].roi_end != 1) && !resize_map_axis(n, &a[k]))
			return native_no_room(n);
	return NULL;
}
#endif
