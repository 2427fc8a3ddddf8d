/* Quantised operators of the domain com.microsoft, in ONNX's words. What is not as they have it stays an unknown operator.
 * QLinearX(x, scale, zero..., scale, zero of the result) is X between DequantizeLinear and QuantizeLinear. */
#include <string.h>
#include "onnx/contrib/rows.h"

static val_id dequantize(struct contrib *x, uint32_t q, uint32_t scale, uint32_t zero)
{
	return make(x, OP_DequantizeLinear, 3, (val_id[]){operand(x, q), operand(x, scale), operand(x, zero)});
}

/* The result has the type of its zero point; without one, that of the operand `like`. */
static bool quantized(struct contrib *x, val_id v, uint32_t scale, uint32_t zero, uint32_t like)
{
	val_id q = make(x, OP_QuantizeLinear, 3, (val_id[]){v, operand(x, scale), operand(x, zero)});
	enum dtype t = operand(x, like) ? val(x->m, operand(x, like))->type.dtype : DT_NONE;

	if (!operand(x, zero) && t == DT_I8)
		attr_set_int(x->m, made(x, q), "output_dtype", dtype_to_onnx(t));
	return done(x, q);
}

static bool has(struct contrib *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!operand(x, i) && i % 3 != 2)
			return false;
	return self(x)->nout == 1 && self(x)->out[0];
}

static bool binary(struct contrib *x, enum opcode op)
{
	if (!has(x, 6) || !operand(x, 6))
		return false;
	return quantized(x, bin(x, op, dequantize(x, 0, 1, 2), dequantize(x, 3, 4, 5)), 6, 7, 0);
}

static bool unary(struct contrib *x, enum opcode op)
{
	bool last = attr_int(self(x), "channels_last", 0);
	int rank = last ? contrib_rank(x, operand(x, 0)) : 3;
	val_id d;

	if (!has(x, 4) || rank < 3 || rank > RANK_MAX)
		return false;
	d = dequantize(x, 0, 1, 2);
	d = un(x, op, last ? contrib_channels(x, d, rank, true) : d);
	for (uint32_t i = 0; i < self(x)->nattr; i++)
		if (strcmp(sym_str(self(x)->attr[i].name), "channels_last") && strcmp(sym_str(self(x)->attr[i].name), "opset"))
			attr_set(x->m, made(x, d), self(x)->attr[i]);
	return quantized(x, last ? contrib_channels(x, d, rank, false) : d, 3, 4, 0);
}

static bool add(struct contrib *x) { return binary(x, OP_Add); }
static bool mul(struct contrib *x) { return binary(x, OP_Mul); }
static bool sigmoid(struct contrib *x) { return unary(x, OP_Sigmoid); }
static bool leaky_relu(struct contrib *x) { return unary(x, OP_LeakyRelu); }
static bool average_pool(struct contrib *x) { return unary(x, OP_AveragePool); }
static bool global_average_pool(struct contrib *x) { return unary(x, OP_GlobalAveragePool); }
static bool softmax(struct contrib *x) { return attr_int(self(x), "opset", 0) >= 13 && unary(x, OP_Softmax); }

static bool concat(struct contrib *x)
{
	uint32_t n = self(x)->nin < 5 ? 0 : (self(x)->nin - 2 + 2) / 3;
	val_id *in = ARENA_ARRAY(&x->m->arena, val_id, n + 1), y;

	if (!n || !self(x)->out[0])
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!operand(x, 2 + 3 * i) || !operand(x, 3 + 3 * i))
			return false;
	for (uint32_t i = 0; i < n; i++)
		in[i] = dequantize(x, 2 + 3 * i, 3 + 3 * i, 4 + 3 * i);
	y = make(x, OP_Concat, (int)n, in);
	keep(x, y, "axis");
	return quantized(x, y, 0, 1, 2);
}

/* Cond ? x : y. */
static bool where(struct contrib *x)
{
	val_id in[3];

	if (!operand(x, 0) || !operand(x, 1) || !operand(x, 2) || !operand(x, 4) || !operand(x, 5) || !operand(x, 7))
		return false;
	in[0] = operand(x, 0);
	in[1] = dequantize(x, 1, 2, 3);
	in[2] = dequantize(x, 4, 5, 6);
	return quantized(x, make(x, OP_Where, 3, in), 7, 8, 1);
}

/* C is i32, its scale alpha times those of A and B. Without a scale of the result it is a float. */
static bool gemm(struct contrib *x)
{
	val_id in[3] = {0}, y, s;
	float alpha = attr_float(self(x), "alpha", 1);

	if (!has(x, 6))
		return false;
	in[0] = dequantize(x, 0, 1, 2);
	in[1] = dequantize(x, 3, 4, 5);
	attr_set_int(x->m, made(x, in[1]), "axis", attr_int(self(x), "transB", 0) ? 0 : 1);
	if (operand(x, 6)) {
		s = bin(x, OP_Mul, operand(x, 1), operand(x, 4));
		s = alpha == 1 ? s : bin(x, OP_Mul, s, contrib_number(x, alpha));
		in[2] = make(x, OP_DequantizeLinear, 2, (val_id[]){operand(x, 6), s});
		attr_set_int(x->m, made(x, in[2]), "axis", -1);
	}
	y = make(x, OP_Gemm, 3, in);
	keep(x, y, "alpha");
	keep(x, y, "transA");
	keep(x, y, "transB");
	return operand(x, 7) ? quantized(x, y, 7, 8, 0) : done(x, y);
}

/* Cast(MatMulInteger(a, b)) * scale_a * scale_b + bias */
static bool product(struct contrib *x, val_id a, val_id b, val_id za, val_id zb, val_id scale, val_id bias)
{
	val_id y = make(x, OP_MatMulInteger, 4, (val_id[]){a, b, za, zb});

	y = make(x, OP_Cast, 1, &y);
	attr_set_int(x->m, made(x, y), "to", dtype_to_onnx(DT_F32));
	y = bin(x, OP_Mul, y, scale);
	return done(x, bias ? bin(x, OP_Add, y, bias) : y);
}

static bool matmul_integer_to_float(struct contrib *x)
{
	if (!operand(x, 0) || !operand(x, 1) || !operand(x, 2) || !operand(x, 3))
		return false;
	return product(x, operand(x, 0), operand(x, 1), operand(x, 4), operand(x, 5), bin(x, OP_Mul, operand(x, 2), operand(x, 3)),
		       operand(x, 6));
}

static bool dynamic_quantize_matmul(struct contrib *x)
{
	val_id a = operand(x, 0);

	if (!a || !operand(x, 1) || !operand(x, 2))
		return false;
	node_id q = node_new(x->m, self(x)->graph, OP_DynamicQuantizeLinear, 1, &a, 3);
	const val_id *out = node(x->m, q)->out;
	return product(x, out[0], operand(x, 1), out[2], operand(x, 3), bin(x, OP_Mul, out[1], operand(x, 2)), operand(x, 4));
}

/* The same operators as ONNX's, of more types. */
static val_id same_of(struct contrib *x, enum opcode op)
{
	val_id y = make(x, op, 3, (val_id[]){operand(x, 0), operand(x, 1), operand(x, 2)});

	keep(x, y, "axis");
	return y;
}
/* Halves are divided in f32. */
static bool quantize_linear(struct contrib *x)
{
	val_id scale = operand(x, 1);
	enum dtype t = scale ? val(x->m, scale)->type.dtype : DT_NONE;

	if (!scale)
		return false;
	val_id y = same_of(x, OP_QuantizeLinear);
	if (t != DT_F32)
		attr_set_int(x->m, val(x->m, y)->def, "precision", dtype_to_onnx(DT_F32));
	return done(x, y);
}
static bool dequantize_linear(struct contrib *x) { return operand(x, 1) && done(x, same_of(x, OP_DequantizeLinear)); }

const struct contrib_row contrib_quantised[] = {
	{"DequantizeLinear", 1, dequantize_linear},
	{"DynamicQuantizeMatMul", 1, dynamic_quantize_matmul},
	{"MatMulIntegerToFloat", 1, matmul_integer_to_float},
	{"QGemm", 1, gemm},
	{"QLinearAdd", 1, add},
	{"QLinearAveragePool", 1, average_pool},
	{"QLinearConcat", 1, concat},
	{"QLinearGlobalAveragePool", 1, global_average_pool},
	{"QLinearLeakyRelu", 1, leaky_relu},
	{"QLinearMul", 1, mul},
	{"QLinearSigmoid", 1, sigmoid},
	{"QLinearSoftmax", 1, softmax},
	{"QLinearWhere", 1, where},
	{"QuantizeLinear", 1, quantize_linear},
	{0},
};
