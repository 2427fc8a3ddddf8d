/* Quantising and back. */
#include <math.h>
#include "op/native.h"
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

static const char *shape_dynamic(struct infer *I)
{
	rule_like(I, 0, 0);
	I->out[0].dtype = DT_U8;
	rule_out(I, 1, DT_F32, 0, NULL);
	rule_out(I, 2, DT_U8, 0, NULL);
	return NULL;
}

const struct op ops_quant[] = {
	{OP_QuantizeLinear, shape_quantize, eval_native},
	{OP_DequantizeLinear, shape_dequantize, eval_native},
	{OP_DynamicQuantizeLinear, shape_dynamic, eval_native},
	{0},
};
