/* What stands before a QuantizeLinear: nothing where it gives back what was there, no bounds that its range has, and its scale
 * goes into the constants behind which only sums, maxima and moves follow. */
#include <math.h>
#include <string.h>
#include "integer.h"

/* How f(x) / s is had by dividing operands of f by s, which is positive. */
enum scaling {
	NOT,
	FIRST,  /* operand 0 */
	EVERY,  /* all of them */
	ONE,    /* any one, a constant rather than another */
	BOUNDS, /* operand 0, and the other two, which are constants or absent */
	WEIGHTS /* operands 1 and 2, which are constants; 2 may be absent */
};
static const uint8_t scaling_column[OP_COUNT] = {
	[OP_Abs] = FIRST,
	[OP_Add] = EVERY,
	[OP_AveragePool] = FIRST,
	[OP_Clip] = BOUNDS,
	[OP_Concat] = EVERY,
	[OP_Conv] = WEIGHTS,
	[OP_ConvTranspose] = WEIGHTS,
	[OP_DepthToSpace] = FIRST,
	[OP_Div] = FIRST,
	[OP_Expand] = FIRST,
	[OP_Flatten] = FIRST,
	[OP_Gather] = FIRST,
	[OP_Gemm] = WEIGHTS,
	[OP_GlobalAveragePool] = FIRST,
	[OP_GlobalMaxPool] = FIRST,
	[OP_Identity] = FIRST,
	[OP_LeakyRelu] = FIRST,
	[OP_MatMul] = ONE,
	[OP_Max] = EVERY,
	[OP_MaxPool] = FIRST,
	[OP_Min] = EVERY,
	[OP_Mul] = ONE,
	[OP_Neg] = FIRST,
	[OP_PRelu] = FIRST,
	[OP_ReduceMax] = FIRST,
	[OP_ReduceMean] = FIRST,
	[OP_ReduceMin] = FIRST,
	[OP_ReduceSum] = FIRST,
	[OP_Relu] = FIRST,
	[OP_Reshape] = FIRST,
	[OP_Slice] = FIRST,
	[OP_SpaceToDepth] = FIRST,
	[OP_Squeeze] = FIRST,
	[OP_Sub] = EVERY,
	[OP_Tile] = FIRST,
	[OP_Transpose] = FIRST,
	[OP_Unsqueeze] = FIRST,
};

enum { DEPTH_MAX = 32 };

static bool f32_constant(struct rewrite *rw, val_id v) { return rw_const(rw, v) && rw_const(rw, v)->dtype == DT_F32; }

struct division {
	struct rewrite *rw;
	node_id root;
	double by;
};

/* Are the quotients of x, of f32, what they are in f32: neither infinite nor too small for a full mantissa? */
static bool quotients_fit(const struct division *d, const double *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (isfinite(x[i]) && x[i] != 0 && !isnormal((float)(x[i] / d->by)))
			return false;
	return true;
}

static bool divisible_constant(const struct division *d, val_id v)
{
	int64_t n = 0;
	const double *x = f32_constant(d->rw, v) ? rw_doubles(d->rw, v, &n) : NULL;

	return x && quotients_fit(d, x, n);
}

static bool scalable(const struct division *d, val_id v, int depth);

/* How many operands of n are. */
static uint32_t count_scalable(const struct division *d, node_id n, int depth)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < node(rw_module(d->rw), n)->nin; i++)
		count += rw_in(d->rw, n, i) && scalable(d, rw_in(d->rw, n, i), depth + 1);
	return count;
}

static bool fixed_bound(const struct division *d, val_id v) { return !v || divisible_constant(d, v); }

static bool operands_scalable(const struct division *d, node_id n, int depth)
{
	struct rewrite *rw = d->rw;

	switch (scaling_column[node(rw_module(rw), n)->op]) {
	case FIRST: return scalable(d, rw_in(rw, n, 0), depth + 1);
	case EVERY: return count_scalable(d, n, depth) == node(rw_module(rw), n)->nin;
	case ONE: return count_scalable(d, n, depth) > 0;
	case BOUNDS: return scalable(d, rw_in(rw, n, 0), depth + 1) && fixed_bound(d, rw_in(rw, n, 1)) && fixed_bound(d, rw_in(rw, n, 2));
	case WEIGHTS: return divisible_constant(d, rw_in(rw, n, 1)) && fixed_bound(d, rw_in(rw, n, 2));
	default: return false;
	}
}

static bool scalable(const struct division *d, val_id v, int depth)
{
	struct rewrite *rw = d->rw;
	node_id n = rw_node_of(rw, v);
	struct grid g;

	if (f32_constant(rw, v))
		return divisible_constant(d, v);
	if (!n || depth > DEPTH_MAX || val(rw_module(rw), v)->index || rw_type(rw, v)->dtype != DT_F32)
		return false;
	if (node(rw_module(rw), n)->op == OP_DequantizeLinear)
		return !grid_read(rw, n, &g) && quotients_fit(d, g.scale, g.n);
	if (rw_uses(rw, v) != 1 || rw_is_output(rw, v) || node(rw_module(rw), n)->nout != 1)
		return false;
	return operands_scalable(d, n, depth);
}

static val_id divided(struct division *d, val_id v);

static val_id divided_constant(struct division *d, val_id v)
{
	struct tensor *t = rw_const(d->rw, v);
	int64_t n;
	double *x = rw_doubles(d->rw, v, &n);

	for (int64_t i = 0; i < n; i++)
		x[i] /= d->by;
	return rw_constant(d->rw, DT_F32, t->rank, t->dims, x);
}

/* The operand that ONE stands for. */
static uint32_t chosen(struct division *d, node_id n)
{
	for (uint32_t i = 0; i < 2; i++)
		if (divisible_constant(d, rw_in(d->rw, n, i)))
			return i;
	return scalable(d, rw_in(d->rw, n, 0), 0) ? 0 : 1;
}

static bool takes_share(struct division *d, node_id n, uint32_t i)
{
	switch (scaling_column[node(rw_module(d->rw), n)->op]) {
	case FIRST: return i == 0;
	case ONE: return i == chosen(d, n);
	case WEIGHTS: return i > 0;
	default: return true;
	}
}

static val_id divided(struct division *d, val_id v)
{
	struct module *m = rw_module(d->rw);
	node_id n = rw_node_of(d->rw, v);

	if (!v)
		return 0;
	if (f32_constant(d->rw, v))
		return divided_constant(d, v);
	uint32_t nin = node(m, n)->nin;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin);
	bool dequantize = node(m, n)->op == OP_DequantizeLinear;
	for (uint32_t i = 0; i < nin; i++) {
		in[i] = rw_in(d->rw, n, i);
		if (dequantize ? i == 1 : takes_share(d, n, i))
			in[i] = divided(d, in[i]);
	}
	val_id y = rw_node(d->rw, d->root, node(m, n)->op, (int)nin, in);
	rw_copy_attrs(d->rw, rw_node_of(d->rw, y), n);
	return y;
}

/* No constants before it can take its scale: a product with 1 / s costs less than a quotient. One by a power of two is a product as it is. */
static const char *multiply(struct rewrite *rw, node_id n, double s)
{
	double by = (double)(float)(1 / s);
	int e;

	if (frexp(s, &e) == 0.5 || !isnormal((float)by))
		return "no constants before it can take its scale";
	rw_set_in(rw, n, 0, rw_node(rw, n, OP_Mul, 2, (val_id[]){rw_in(rw, n, 0), scalar_f32(rw, by)}));
	rw_set_in(rw, n, 1, scalar_f32(rw, 1));
	return NULL;
}

static const char *scale(struct rewrite *rw, node_id n)
{
	struct grid g;
	const char *why = grid_read(rw, n, &g);

	if (why)
		return reason(rw, "it", why);
	if (g.n != 1)
		return "it has more than one scale";
	if (g.scale[0] == 1)
		return NO_MATCH;
	struct division d = {rw, n, g.scale[0]};
	if (!rw_node_of(rw, rw_in(rw, n, 0)) || !scalable(&d, rw_in(rw, n, 0), 0))
		return multiply(rw, n, g.scale[0]);
	rw_set_in(rw, n, 0, divided(&d, rw_in(rw, n, 0)));
	rw_set_in(rw, n, 1, scalar_f32(rw, 1));
	return NULL;
}

/* ---- products in f32 ---- */

/* The operand of product n that holds its weights, which are constant; -1: none. *x: the other. */
static int weights_of(struct rewrite *rw, node_id n, uint32_t *x)
{
	bool either = node(rw_module(rw), n)->op == OP_MatMul;

	*x = !f32_constant(rw, rw_in(rw, n, 1));
	if (!*x)
		return 1;
	return either && f32_constant(rw, rw_in(rw, n, 0)) ? 0 : -1;
}

/* A code less a constant, or without: what is read of it is whole. */
static bool is_whole(struct rewrite *rw, val_id v)
{
	node_id sub = rw_def(rw, v, OP_Sub), cast;
	double zero;

	if (sub && rw_scalar(rw, rw_in(rw, sub, 1), &zero))
		v = rw_in(rw, sub, 0);
	cast = rw_def(rw, v, OP_Cast);
	return cast && dtype_is_int(rw_type(rw, rw_in(rw, cast, 0))->dtype) && dtype_size(rw_type(rw, rw_in(rw, cast, 0))->dtype) == 1;
}

/* v is a whole number times a scale, which is not 1: dequantised, or a Mul of what is_whole. *whole: that number, made here where it
 * is not there. */
static const char *scaled_whole(struct rewrite *rw, node_id root, val_id v, val_id *whole, double *scale)
{
	node_id mul = rw_def(rw, v, OP_Mul);
	struct grid g;

	if (mul && rw_scalar(rw, rw_in(rw, mul, 1), scale) && is_whole(rw, rw_in(rw, mul, 0))) {
		*whole = rw_in(rw, mul, 0);
		return NULL;
	}
	if (!rw_def(rw, v, OP_DequantizeLinear))
		return NO_MATCH;
	const char *why = dequantised(rw, v, &g, whole);
	if (why)
		return reason(rw, "an operand", why);
	if (g.n != 1)
		return "what it reads has more than one scale";
	if (g.scale[0] == 1)
		return NO_MATCH;
	*scale = g.scale[0];
	val_id zero = rw_in(rw, rw_node_of(rw, v), 2);
	*whole = rw_node(rw, root, OP_DequantizeLinear, zero ? 3 : 2, (val_id[]){*whole, scalar_f32(rw, 1), zero});
	return NULL;
}

/* The weights take the scale of what is dequantised: then a code less its zero point is all that is computed of it. */
static const char *lift(struct rewrite *rw, node_id n)
{
	uint32_t at = 0;
	int w = weights_of(rw, n, &at);
	val_id whole;
	double s;

	if (w < 0)
		return NO_MATCH;
	const char *why = scaled_whole(rw, n, rw_in(rw, n, at), &whole, &s);
	if (why)
		return why;
	struct division d = {rw, n, 1 / s};
	if (!divisible_constant(&d, rw_in(rw, n, (uint32_t)w)))
		return "its weights times the scale are no normal numbers of f32";
	val_id scaled = divided_constant(&d, rw_in(rw, n, (uint32_t)w));
	rw_set_in(rw, n, at, whole);
	rw_set_in(rw, n, (uint32_t)w, scaled);
	return NULL;
}

/* ---- what is there already ---- */

static const char *pair(struct rewrite *rw, node_id n)
{
	struct grid to, from;
	val_id x;

	if (!rw_def(rw, rw_in(rw, n, 0), OP_DequantizeLinear))
		return NO_MATCH;
	const char *why = grid_read(rw, n, &to);
	if (why)
		return reason(rw, "it", why);
	if ((why = dequantised(rw, rw_in(rw, n, 0), &from, &x)))
		return reason(rw, "operand 0", why);
	if (!grid_same(&to, &from))
		return "its scale or zero point is another";
	return rw_bypass(rw, n, x);
}

static double lowest(enum dtype t) { return t == DT_U8 || t == DT_U16 ? 0 : t == DT_I8 ? -128 : -32768; }
static double highest(enum dtype t) { return t == DT_U8 ? 255 : t == DT_U16 ? 65535 : t == DT_I8 ? 127 : 32767; }

/* Bound i of Clip node c (operand 1 or 2) saturates. */
static bool implied(struct rewrite *rw, node_id c, uint32_t i, const struct grid *g)
{
	val_id b = rw_in(rw, c, i);
	double x;

	if (!b)
		return true;
	if (!rw_scalar(rw, b, &x))
		return false;
	x = rint((double)(float)(x / g->scale[0])) + grid_zero(g, 0);
	return i == 1 ? x <= lowest(g->type) : x >= highest(g->type);
}

static const char *range(struct rewrite *rw, node_id n)
{
	node_id relu = rw_def(rw, rw_in(rw, n, 0), OP_Relu), clip = rw_def(rw, rw_in(rw, n, 0), OP_Clip);
	struct grid g;

	if ((!relu && !clip) || grid_read(rw, n, &g) || g.n != 1 || dtype_size(g.type) > 2 || !dtype_is_int(g.type))
		return NO_MATCH;
	if (relu && grid_zero(&g, 0) > lowest(g.type))
		return "its range has negative numbers, which the Relu takes away";
	if (clip && !(implied(rw, clip, 1, &g) && implied(rw, clip, 2, &g)))
		return "its range is wider than that of the Clip";
	rw_set_in(rw, n, 0, rw_in(rw, relu ? relu : clip, 0));
	return NULL;
}

const struct rule rules_range[] = {
	{"pair", OP_QuantizeLinear, pair, "it gives back what was dequantised", MEASURE_WORK},
	{"range", OP_QuantizeLinear, range, "its range bounds what it quantises", MEASURE_WORK},
	{0},
};

/* What is quantised and the scales times 2^24, which is exact: a library may take a scale below the normal numbers for 0. */
static const char *tiny(struct rewrite *rw, node_id n)
{
	val_id s = rw_in(rw, n, 1);
	struct tensor *t = rw_const(rw, s);
	double low = INFINITY, high = 0, up = 0x1p24, *x;
	int64_t count;

	if (!t || t->dtype != DT_F32 || rw_type(rw, rw_in(rw, n, 0))->dtype != DT_F32)
		return NO_MATCH;
	x = rw_doubles(rw, s, &count);
	for (int64_t i = 0; i < count; i++) {
		low = fmin(low, x[i]);
		high = fmax(high, x[i]);
		x[i] *= up;
	}
	if (low >= 0x1p-126 || high >= 0x1p80) /* what the product makes infinite must saturate */
		return NO_MATCH;
	rw_set_in(rw, n, 0, rw_node(rw, n, OP_Mul, 2, (val_id[]){rw_in(rw, n, 0), scalar_f32(rw, up)}));
	rw_set_in(rw, n, 1, rw_constant(rw, DT_F32, t->rank, t->dims, x));
	return NULL;
}

const struct rule rules_tiny[] = {
	{"tiny", OP_QuantizeLinear, tiny, "its scales become normal numbers", MEASURE_WORK},
	{0},
};

const struct rule rules_scale[] = {
	{"lift", OP_Conv, lift, "its weights take the scale of what it reads", MEASURE_WORK},
	{"lift", OP_ConvTranspose, lift, "its weights take the scale of what it reads", MEASURE_WORK},
	{"lift", OP_Gemm, lift, "its weights take the scale of what it reads", MEASURE_WORK},
	{"lift", OP_MatMul, lift, "its weights take the scale of what it reads", MEASURE_WORK},
	{"scale", OP_QuantizeLinear, scale, "the constants before it take its scale, or a product has it", MEASURE_WORK},
	{0},
};
