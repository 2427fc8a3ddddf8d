/* Quantising and back. */
#include <math.h>
#include "native/native.h"
#include "op/rules.h"

static bool may_be_one(struct infer *I, uint32_t i)
{
	int64_t c;

	for (int k = 0; k < rule_rank(I, i); k++)
		if (poly_is_const(rule_polys(I), rule_dim(I, i, k), &c) && c != 1)
			return false;
	return true;
}

/* Scales are one for all, one for each index of an axis, or one for each block of it. */
static const char *check_scales(struct infer *I)
{
	int rank = rule_rank(I, 0), sr = rule_rank(I, 1), axis;
	int64_t block = attr_i(I->n, "block_size");
	const char *why = NULL;
	bool one = may_be_one(I, 1);

	if (rule_rank(I, 2) >= 0 && sr >= 0 && rule_rank(I, 2) != sr && !(one && may_be_one(I, 2)))
		return rule_why(I, "operand 2 has rank %d, operand 1 %d", rule_rank(I, 2), sr);
	for (int k = 0; rule_rank(I, 2) == sr && k < sr && !why; k++)
		why = rule_extent(I, 2, k, rule_dim(I, 1, k));
	if (why || one || rank < 0)
		return why;
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)attr_i(I->n, "axis"), rank);
	if (sr != (block ? rank : 1))
		return rule_why(I, "operand 1 has rank %d, takes %d", sr, block ? rank : 1);
	if (!block)
		return rule_extent(I, 1, 0, rule_dim(I, 0, axis));
	for (int k = 0; k < rank && !why; k++)
		why = rule_extent(I, 1, k, k == axis ? poly_ceildiv(rule_polys(I), rule_dim(I, 0, k), block) : rule_dim(I, 0, k));
	return why;
}

static const char *shape_quantize(struct infer *I)
{
	int64_t t = attr_i(I->n, "output_dtype");

	rule_like(I, 0, 0);
	I->out[0].dtype = rule_has(I, 2) ? I->in[2].dtype : t ? dtype_from_onnx((int)t) : DT_U8;
	if (t && I->out[0].dtype && I->out[0].dtype != dtype_from_onnx((int)t))
		return rule_why(I, "attribute 'output_dtype' is %s, the zero point %s", dtype_name(dtype_from_onnx((int)t)),
				dtype_name(I->out[0].dtype));
	if (t && !dtype_is_float8(I->out[0].dtype) && !(dtype_is_int(I->out[0].dtype) && dtype_size(I->out[0].dtype) < 4))
		return rule_why(I, "attribute 'output_dtype' is %s, which nothing is quantised to", dtype_name(I->out[0].dtype));
	return check_scales(I);
}

static const char *shape_dequantize(struct infer *I)
{
	int64_t t = attr_i(I->n, "output_dtype");

	rule_like(I, 0, 0);
	I->out[0].dtype = t ? dtype_from_onnx((int)t) : I->in[1].dtype;
	if (I->out[0].dtype && !dtype_is_float(I->out[0].dtype))
		return rule_why(I, "%s is %s, no float to dequantise to", t ? "attribute 'output_dtype'" : "the scale's type",
				dtype_name(I->out[0].dtype));
	return check_scales(I);
}

/* Which element of scale and zero point belongs to element i of x. */
struct grid {
	int64_t inner, n, block; /* of x: behind the axis, its extent; elements that share a scale
				    (0: no axis) */
	int64_t blocks;
	bool one;
};

static const char *grid_of(struct eval *e, const struct tensor *x, const struct tensor *scale, const struct tensor *zero, struct grid *g)
{
	int axis;
	int64_t block = attr_i(e->n, "block_size");

	if (block < 0)
		return "block_size is negative";
	if (zero && tensor_count(zero) != tensor_count(scale))
		return "the zero points do not fit the scales";
	*g = (struct grid){.one = tensor_count(scale) == 1, .inner = 1, .n = 1, .block = 1, .blocks = 1};
	if (g->one)
		return NULL;
	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis outside the rank";
	struct axes3 s = split_at(x, axis);
	g->inner = s.inner;
	g->n = s.n;
	g->block = block ? block : 1;
	g->blocks = (s.n + g->block - 1) / g->block;
	if (tensor_count(scale) != (block ? s.outer * g->blocks * s.inner : s.n))
		return "the scales do not fit the axis";
	if (!block)
		g->inner = s.inner;
	return NULL;
}

static int64_t grid_at(const struct grid *g, int64_t i, bool blocked)
{
	int64_t at;

	if (g->one)
		return 0;
	at = i / g->inner % g->n;
	return blocked ? (i / g->inner / g->n * g->blocks + at / g->block) * g->inner + i % g->inner : at;
}

static const char *eval_quantize(struct eval *e)
{
	const struct tensor *x = e->in[0], *scale = e->in[1], *zero = eval_in(e, 2);
	int64_t t = attr_i(e->n, "output_dtype");
	enum dtype to = zero ? zero->dtype : t ? dtype_from_onnx((int)t) : DT_U8;
	bool blocked = attr_i(e->n, "block_size") != 0, saturate = attr_i(e->n, "saturate") != 0;
	struct grid g;
	const char *why = grid_of(e, x, scale, zero, &g);

	if (why)
		return why;
	if (!(dtype_is_int(to) || dtype_is_float8(to)) || !dtype_fixed(x->dtype))
		return eval_why(e, "no evaluator for %s to %s", dtype_name(x->dtype), dtype_name(to));
	struct tensor *y = eval_out(e, 0, to, x->rank, x->dims);
	for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
		int64_t s = grid_at(&g, i, blocked);
		double v = (double)(float)(tensor_get(x, i) / tensor_get(scale, s)), z = zero ? tensor_get(zero, s) : 0;
		if (dtype_is_float8(to)) {
			((uint8_t *)y->data)[i] = native_put_small((int)to, v + z, saturate);
			continue;
		}
		v = v != v ? (double)dtype_lowest(to) : rint(v) + z;
		store_d(y, i, 1, &v);
	}
	return NULL;
}

static const char *eval_dequantize(struct eval *e)
{
	const struct tensor *x = e->in[0], *scale = e->in[1], *zero = eval_in(e, 2);
	int64_t t = attr_i(e->n, "output_dtype");
	enum dtype to = t ? dtype_from_onnx((int)t) : scale->dtype;
	bool blocked = attr_i(e->n, "block_size") != 0;
	struct grid g;
	const char *why = grid_of(e, x, scale, zero, &g);

	if (why)
		return why;
	if (!dtype_fixed(x->dtype) || !dtype_is_float(to))
		return eval_why(e, "no evaluator for %s to %s", dtype_name(x->dtype), dtype_name(to));
	struct tensor *y = eval_out(e, 0, to, x->rank, x->dims);
	for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
		int64_t s = grid_at(&g, i, blocked);
		tensor_set(y, i, (tensor_get(x, i) - (zero ? tensor_get(zero, s) : 0)) * tensor_get(scale, s));
	}
	return NULL;
}

static const char *shape_dynamic(struct infer *I)
{
	rule_like(I, 0, 0);
	I->out[0].dtype = DT_U8;
	rule_out(I, 1, DT_F32, 0, NULL);
	rule_out(I, 2, DT_U8, 0, NULL);
	return NULL;
}

static const char *eval_dynamic(struct eval *e)
{
	const struct tensor *x = e->in[0];
	float lo = 0, hi = 0, scale, zero;

	for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
		float v = (float)tensor_get(x, i);
		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
	}
	scale = hi == lo ? 1 : (hi - lo) / 255; /* of zeros alone the standard's formula divides by 0; as ONNX Runtime has it */
	zero = scale != 0 ? rintf(fminf(fmaxf(-lo / scale, 0), 255)) : 0;
	struct tensor *y = eval_out(e, 0, DT_U8, x->rank, x->dims);
	tensor_set(eval_out(e, 1, DT_F32, 0, NULL), 0, scale);
	tensor_set(eval_out(e, 2, DT_U8, 0, NULL), 0, zero);
	for (int64_t i = 0, n = tensor_count(x); i < n; i++)
		tensor_set(y, i, scale != 0 ? rintf((float)tensor_get(x, i) / scale) + zero : zero);
	return NULL;
}

const struct op ops_quant[] = {
	{OP_QuantizeLinear, shape_quantize, eval_quantize},
	{OP_DequantizeLinear, shape_dequantize, eval_dequantize},
	{OP_DynamicQuantizeLinear, shape_dynamic, eval_dynamic},
	{0},
};
