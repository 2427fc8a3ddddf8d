/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, of every type. */
#include "native/native.h"

/* Which element of scale and zero point belongs to element i of the operand. */
struct quantize_grid {
	int64_t inner, count, block; /* behind the axis, its extent; elements along it that share a scale */
	int64_t blocks;
	bool one, blocked;
};

/* Is there a zero point for each scale? */
static bool quantize_pairs(const struct native_tensor *scale, const struct native_tensor *zero)
{
	if (zero->rank != scale->rank)
		return native_count(scale) == 1 && native_count(zero) == 1;
	return !scale->rank || !memcmp(zero->dims, scale->dims, (size_t)scale->rank * sizeof *scale->dims);
}

/* Is there a scale for each index of the axis, or for each block? */
static bool quantize_scales_fit(const struct native_tensor *x, const struct native_tensor *scale, int axis, int64_t block)
{
	int64_t blocks = block ? x->dims[axis] / block + (x->dims[axis] % block != 0) : 0;

	if (!block)
		return scale->rank == 1 && scale->dims[0] == x->dims[axis];
	for (int k = 0; k < x->rank && scale->rank == x->rank; k++)
		if (scale->dims[k] != (k == axis ? blocks : x->dims[k]))
			return false;
	return scale->rank == x->rank;
}

static const char *quantize_grid(const struct native *n, struct quantize_grid *g)
{
	const struct native_tensor *x = &n->in[0];
	int64_t block = native_int(n, "block_size"), scales = native_count(&n->in[1]);
	int axis = native_axis(native_int(n, "axis"), x->rank);

	if (block < 0)
		return "block_size is negative";
	if (native_has(n, 2) && !quantize_pairs(&n->in[1], &n->in[2]))
		return "the zero points do not fit the scales";
	*g = (struct quantize_grid){.one = scales == 1, .inner = 1, .count = 1, .block = 1, .blocks = 1, .blocked = block > 0};
	if (g->one)
		return NULL;
	if (axis < 0)
		return "axis outside the rank";
	g->inner = native_count_of(x->rank - axis - 1, x->dims + axis + 1);
	g->count = x->dims[axis];
	g->block = block ? block : 1;
	g->blocks = g->count / g->block + (g->count % g->block != 0);
	if (!quantize_scales_fit(x, &n->in[1], axis, block))
		return "the scales do not fit the axis";
	return NULL;
}

static int64_t quantize_at(const struct quantize_grid *g, int64_t i)
{
	int64_t at;

	if (g->one)
		return 0;
	at = i / g->inner % g->count;
	return g->blocked ? (i / g->inner / g->count * g->blocks + at / g->block) * g->inner + i % g->inner : at;
}

static bool quantize_is_code(int type)
{
	return native_is_small(type) || type == NATIVE_U4 || type == NATIVE_I4 || type == NATIVE_U2 || type == NATIVE_I2 ||
	       (native_is_number(type) && !native_is_float(type));
}

static bool quantize_has(int type) { return native_is_float(type) || quantize_is_code(type) || type == NATIVE_BOOL; }

/* The type in which is divided: that of `precision`, by default the scale's; a half, else f32. */
static int quantize_precision(const struct native *n)
{
	int type = (int)native_int(n, "precision");

	type = type ? type : n->in[1].type;
	return type == NATIVE_F16 || type == NATIVE_BF16 ? type : NATIVE_F32;
}

static double quantize_rounded(int type, double v)
{
	switch (type) {
	case NATIVE_F16: return native_widen(native_narrow(v, 5, 10), 5, 10);
	case NATIVE_BF16: return native_widen(native_narrow(v, 8, 7), 8, 7);
	default: return (double)(float)v;
	}
}

/* Codes of f32 of one grid. */
static void quantize_bytes(int type, const float *x, int64_t count, float scale, float zero, void *y)
{
	float least = (float)native_least(type), most = (float)native_most(type);

	for (int64_t i = 0; i < count; i++) {
		float v = x[i] / scale, q = rintf(v) + zero;
		q = !(v == v) || q < least ? least : q > most ? most : q;
		((uint8_t *)y)[i] = (uint8_t)(int)q;
	}
}

static void quantize_each(const struct native *n, const struct quantize_grid *g, int type, void *y)
{
	const struct native_tensor *x = &n->in[0], *scale = &n->in[1], *zero = native_has(n, 2) ? &n->in[2] : NULL;
	bool saturate = native_int(n, "saturate") != 0;
	int precision = quantize_precision(n);

	for (int64_t i = 0, count = native_count(x); i < count; i++) {
		int64_t s = quantize_at(g, i);
		double z = zero ? native_get(zero->type, zero->data, s) : 0;
		double over = quantize_rounded(precision, native_get(scale->type, scale->data, s));
		double v = quantize_rounded(precision, quantize_rounded(precision, native_get(x->type, x->data, i)) / over);
		if (native_is_small(type))
			((uint8_t *)y)[i] = native_put_small(type, v + z, saturate);
		else
			native_set(type, y, i, v != v ? (double)native_least(type) : rint(v) + z);
	}
}

NATIVE const char *native_QuantizeLinear(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t wanted = native_int(n, "output_dtype");
	int type = native_has(n, 2) ? n->in[2].type : wanted ? (int)wanted : NATIVE_U8;
	struct quantize_grid g;
	const char *why = quantize_grid(n, &g);
	void *y;

	if (why)
		return why;
	if (!quantize_is_code(type) || !quantize_has(x->type) || !quantize_has(n->in[1].type))
		return native_no_type();
	if (!(y = n->room(n, 0, type, x->rank, x->dims)))
		return native_no_room(n);
	if (g.one && x->type == NATIVE_F32 && n->in[1].type == NATIVE_F32 && quantize_precision(n) == NATIVE_F32 &&
	    (type == NATIVE_U8 || type == NATIVE_I8))
		quantize_bytes(type, x->data, native_count(x), *(const float *)n->in[1].data, (float)native_number(n, 2, 0), y);
	else
		quantize_each(n, &g, type, y);
	return NULL;
}

NATIVE const char *native_DequantizeLinear(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *scale = &n->in[1], *zero = native_has(n, 2) ? &n->in[2] : NULL;
	int64_t wanted = native_int(n, "output_dtype");
	int type = wanted ? (int)wanted : scale->type;
	struct quantize_grid g;
	const char *why = quantize_grid(n, &g);
	void *y;

	if (why)
		return why;
	if (!quantize_has(x->type) || !quantize_has(scale->type) || !native_is_float(type))
		return native_no_type();
	if (!(y = n->room(n, 0, type, x->rank, x->dims)))
		return native_no_room(n);
	for (int64_t i = 0, count = native_count(x); i < count; i++) {
		int64_t s = quantize_at(&g, i);
		double z = zero ? native_get(zero->type, zero->data, s) : 0;
		native_set(type, y, i, (native_get(x->type, x->data, i) - z) * native_get(scale->type, scale->data, s));
	}
	return NULL;
}

NATIVE const char *native_DynamicQuantizeLinear(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const float *v = native_floats(n, x);
	int64_t count = native_count(x);
	float lo = 0, hi = 0, scale, zero;
	uint8_t *y = n->room(n, 0, NATIVE_U8, x->rank, x->dims), *z = n->room(n, 2, NATIVE_U8, 0, x->dims);
	float *s = n->room(n, 1, NATIVE_F32, 0, x->dims);

	if (!v || !y || !z || !s)
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++) {
		lo = v[i] < lo ? v[i] : lo;
		hi = v[i] > hi ? v[i] : hi;
	}
	scale = hi == lo ? 1 : (hi - lo) / 255; /* of zeros alone the standard's formula divides by 0; as ONNX Runtime has it */
	zero = scale != 0 ? rintf(fminf(fmaxf(-lo / scale, 0), 255)) : 0;
	native_set(NATIVE_U8, z, 0, zero);
	*s = scale;
	for (int64_t i = 0; i < count; i++)
		native_set(NATIVE_U8, y, i, scale != 0 ? rintf(v[i] / scale) + zero : zero);
	return NULL;
}
