/* Lowering of elementwise operators: each is an expression of its operands, read with broadcasting. */
#include <math.h>
#include <string.h>
#include "lower/lowering.h"

static ex_id clamp01(struct lower *L, ex_id x) { return low_fnc(L, FN_MIN, low_fnc(L, FN_MAX, x, 0), 1); }

static ex_id relu(struct lower *L, const ex_id *a) { return low_fnc(L, FN_MAX, a[0], 0); }

static ex_id leaky(struct lower *L, ex_id x, ex_id scaled) { return low_select(L, low_fnc(L, FN_LT, x, 0), scaled, x); }

static ex_id leaky_relu(struct lower *L, const ex_id *a) { return leaky(L, a[0], low_fnc(L, FN_MUL, a[0], attr_f(L->n, "alpha"))); }

static ex_id prelu(struct lower *L, const ex_id *a) { return leaky(L, a[0], low_fn2(L, FN_MUL, a[0], a[1])); }

static ex_id thresholded_relu(struct lower *L, const ex_id *a)
{
	ex_id above = low_fnc(L, FN_GT, a[0], attr_f(L->n, "alpha"));
	return low_select(L, above, a[0], low_num(L, a[0], 0));
}

/* alpha (exp(x / scale) - 1) below zero. */
static ex_id exp_below(struct lower *L, ex_id x, double alpha, double scale)
{
	ex_id e = low_fn1(L, FN_EXP, scale == 1 ? x : low_fnc(L, FN_DIV, x, scale));
	return leaky(L, x, low_fnc(L, FN_MUL, low_fnc(L, FN_SUB, e, 1), alpha));
}

static ex_id elu(struct lower *L, const ex_id *a) { return exp_below(L, a[0], attr_f(L->n, "alpha"), 1); }

static ex_id celu(struct lower *L, const ex_id *a)
{
	double alpha = attr_f(L->n, "alpha");
	return exp_below(L, a[0], alpha, alpha);
}

static ex_id selu(struct lower *L, const ex_id *a)
{
	double alpha = attr_f(L->n, "alpha");
	return low_fnc(L, FN_MUL, exp_below(L, a[0], alpha, 1), attr_f(L->n, "gamma"));
}

static ex_id hard_sigmoid_of(struct lower *L, ex_id x, double alpha, double beta)
{
	return clamp01(L, low_fnc(L, FN_ADD, low_fnc(L, FN_MUL, x, alpha), beta));
}

static ex_id hard_sigmoid(struct lower *L, const ex_id *a) { return hard_sigmoid_of(L, a[0], attr_f(L->n, "alpha"), attr_f(L->n, "beta")); }

static ex_id hard_swish(struct lower *L, const ex_id *a) { return low_fn2(L, FN_MUL, a[0], hard_sigmoid_of(L, a[0], 1.0 / 6, 0.5)); }

static ex_id swish(struct lower *L, const ex_id *a)
{
	double alpha = attr_f(L->n, "alpha");
	ex_id x = alpha == 1 ? a[0] : low_fnc(L, FN_MUL, a[0], alpha);
	return low_fn2(L, FN_MUL, a[0], low_fn1(L, FN_SIGMOID, x));
}

static ex_id swiglu(struct lower *L, const ex_id *a) { return low_fn2(L, FN_MUL, swish(L, a), a[1]); }

static ex_id gelu(struct lower *L, const ex_id *a)
{
	ex_id x = a[0], f;

	if (!strcmp(attr_s(L->n, "approximate"), "tanh")) {
		ex_id cube = low_fn2(L, FN_MUL, low_fn2(L, FN_MUL, x, x), x);
		ex_id in = low_fn2(L, FN_ADD, x, low_fnc(L, FN_MUL, cube, 0.044715));
		f = low_fn1(L, FN_TANH, low_fnc(L, FN_MUL, in, 0.79788456080286535588)); /* sqrt(2/pi) */
	} else {
		f = low_fn1(L, FN_ERF, low_fnc(L, FN_MUL, x, 0.70710678118654752440));
	}
	return low_fn2(L, FN_MUL, low_fnc(L, FN_MUL, x, 0.5), low_fnc(L, FN_ADD, f, 1));
}

/* log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)). */
static ex_id softplus(struct lower *L, const ex_id *a)
{
	ex_id e = low_fn1(L, FN_EXP, low_fn1(L, FN_NEG, low_fn1(L, FN_ABS, a[0])));
	return low_fn2(L, FN_ADD, low_fnc(L, FN_MAX, a[0], 0), low_fn1(L, FN_LOG, low_fnc(L, FN_ADD, e, 1)));
}

/* x tanh(log(1 + e)), e = exp(x), is x n / (n + 2), n = e (e + 2). The quotient is 1 long before e overflows. */
static ex_id mish(struct lower *L, const ex_id *a)
{
	ex_id x = low_wide(L, a[0]), e = low_fn1(L, FN_EXP, low_fnc(L, FN_MIN, x, 40));
	ex_id n = low_fn2(L, FN_MUL, e, low_fnc(L, FN_ADD, e, 2));
	return low_round(L, 0, low_fn2(L, FN_MUL, x, low_fn2(L, FN_DIV, n, low_fnc(L, FN_ADD, n, 2))));
}

static ex_id softsign(struct lower *L, const ex_id *a) { return low_fn2(L, FN_DIV, a[0], low_fnc(L, FN_ADD, low_fn1(L, FN_ABS, a[0]), 1)); }

/* Integers too are moved by what may be a fraction. */
static ex_id shrink(struct lower *L, const ex_id *a)
{
	double lambd = attr_f(L->n, "lambd"), bias = attr_f(L->n, "bias");
	ex_id x = dtype_is_float(low_dtype(L, 0)) ? a[0] : ex_cast(L->p, DT_F64, a[0]);
	ex_id high = low_select(L, low_fnc(L, FN_GT, x, lambd), low_fnc(L, FN_SUB, x, bias), low_num(L, x, 0));
	return low_round(L, 0, low_select(L, low_fnc(L, FN_LT, x, -lambd), low_fnc(L, FN_ADD, x, bias), high));
}

/* Integers had it before opset 13: cut off. */
static ex_id erf_of(struct lower *L, const ex_id *a)
{
	return dtype_is_float(low_dtype(L, 0)) ? low_fn1(L, FN_ERF, a[0])
					       : low_round(L, 0, low_fn1(L, FN_ERF, ex_cast(L->p, DT_F64, a[0])));
}

static ex_id tangent(struct lower *L, const ex_id *a) { return low_fn2(L, FN_DIV, low_fn1(L, FN_SIN, a[0]), low_fn1(L, FN_COS, a[0])); }

/* (exp(|x|) + exp(-|x|)) / 2; the former as a square, which overflows no sooner than the result does. */
static ex_id cosh_of(struct lower *L, const ex_id *a)
{
	ex_id x = low_fn1(L, FN_ABS, a[0]), half = low_fn1(L, FN_EXP, low_fnc(L, FN_MUL, x, 0.5));
	ex_id up = low_fn2(L, FN_MUL, low_fnc(L, FN_MUL, half, 0.5), half);
	return low_fn2(L, FN_ADD, up, low_fnc(L, FN_MUL, low_fn1(L, FN_EXP, low_fn1(L, FN_NEG, x)), 0.5));
}

static ex_id sinh_of(struct lower *L, const ex_id *a) { return low_fn2(L, FN_MUL, low_fn1(L, FN_TANH, a[0]), cosh_of(L, a)); }

static ex_id clip(struct lower *L, const ex_id *a)
{
	ex_id x = a[0];
	if (L->n->nin > 1 && a[1])
		x = low_fn2(L, FN_MAX, x, a[1]);
	if (L->n->nin > 2 && a[2])
		x = low_fn2(L, FN_MIN, x, a[2]);
	return x;
}

static ex_id fold(struct lower *L, const ex_id *a, enum math_fn f)
{
	ex_id x = a[0];
	for (uint32_t i = 1; i < L->n->nin; i++)
		x = low_fn2(L, f, x, a[i]);
	return x;
}

static ex_id largest(struct lower *L, const ex_id *a) { return fold(L, a, FN_MAX); }
static ex_id least(struct lower *L, const ex_id *a) { return fold(L, a, FN_MIN); }
static ex_id sum(struct lower *L, const ex_id *a) { return fold(L, a, FN_ADD); }

static ex_id mean(struct lower *L, const ex_id *a) { return low_fnc(L, FN_DIV, fold(L, a, FN_ADD), L->n->nin); }

/* x to the power of a half: that of -0 is 0, of -infinity infinity. */
static ex_id root(struct lower *L, ex_id x)
{
	ex_id low = low_fnc(L, FN_EQ, x, -INFINITY);
	return low_select(L, low, low_num(L, x, INFINITY), low_fn1(L, FN_SQRT, low_fnc(L, FN_ADD, x, 0)));
}

/* Bits are multiplied as signed ones. A power beyond theirs has the same low bits as one less by a multiple of 2^62; an unsigned
 * base is not -1. */
static ex_id power_of_ints(struct lower *L, ex_id a, ex_id b)
{
	enum dtype ta = low_dtype(L, 0), tb = low_dtype(L, 1);

	if (tb == DT_U64)
		b = low_select(L, low_fnc(L, FN_GE, b, 0x1p63), low_fnc(L, FN_ADD, low_fnc(L, FN_MOD, b, 0x1p62), 0x1p62), b);
	ex_id y = ex_cast(L->p, DT_I64, b), p = low_fn2(L, FN_POW, ex_cast(L->p, DT_I64, a), y);
	if (ta == DT_U64 && dtype_is_signed(tb))
		p = low_select(L, low_fnc(L, FN_LT, y, 0), ex_cast(L->p, DT_I64, low_fnc(L, FN_EQ, a, 1)), p);
	return low_round(L, 0, p);
}

/* Small constant exponents of floats become products. Integers to the power of integers are exact, and wrap. */
static ex_id power(struct lower *L, const ex_id *a)
{
	enum dtype t = low_wide_type(low_dtype(L, 0));
	ex_id x = low_wide(L, a[0]), y = 0;
	double c;

	if (dtype_is_float(t) && low_scalar(L, 1, &c)) {
		if (c == 1)
			return a[0];
		if (c == 2)
			y = low_fn2(L, FN_MUL, x, x);
		if (c == 3)
			y = low_fn2(L, FN_MUL, low_fn2(L, FN_MUL, x, x), x);
		if (c == 0.5)
			y = root(L, x);
		if (c == -0.5)
			y = low_fn1(L, FN_RECIP, root(L, x));
	}
	if (y)
		return low_round(L, 0, y);
	if (!dtype_is_float(t) && !dtype_is_float(low_dtype(L, 1)))
		return power_of_ints(L, a[0], a[1]);
	t = t == DT_F32 && low_wide_type(low_dtype(L, 1)) == DT_F32 ? DT_F32 : DT_F64;
	return low_round(L, 0, low_fn2(L, FN_POW, ex_cast(L->p, t, a[0]), ex_cast(L->p, t, a[1])));
}

/* mod has the divisor's sign, a zero too; fmod=1 asks for the dividend's. FN_MOD is the former of integers, the latter of floats. */
static ex_id modulo(struct lower *L, const ex_id *a)
{
	bool real = dtype_is_float(low_dtype(L, 0)), dividend = attr_i(L->n, "fmod") != 0;
	ex_id r = low_fn2(L, FN_MOD, a[0], a[1]);

	if (real == dividend)
		return r;
	if (!real) {
		ex_id whole = low_fn2(L, FN_MUL, low_fn2(L, FN_DIV, a[0], a[1]), a[1]); /* div truncates */
		return low_select(L, low_fnc(L, FN_EQ, a[1], 0), low_num(L, a[0], 0), low_fn2(L, FN_SUB, a[0], whole));
	}
	ex_id minus = low_fnc(L, FN_LT, a[1], 0), zero = low_select(L, minus, low_num(L, r, -0.0), low_num(L, r, 0));
	ex_id apart = low_fn2(L, FN_XOR, low_fnc(L, FN_LT, r, 0), minus);
	return low_select(L, low_fnc(L, FN_EQ, r, 0), zero, low_select(L, apart, low_fn2(L, FN_ADD, r, a[1]), r));
}

static ex_id convert(struct lower *L, ex_id x, enum dtype to)
{
	if (to == DT_BOOL && lex(L->p, x)->dtype != DT_BOOL)
		return low_fnc(L, FN_NE, x, 0);
	return ex_cast(L->p, to, x);
}

static ex_id cast(struct lower *L, const ex_id *a) { return convert(L, a[0], low_out_dtype(L, 0)); }

static const struct lower_row casts[] = {{OP_Cast, .map = cast}, {OP_CastLike, .map = cast, .operands = 1}};

/* Numbers beyond a type of fewer than 8 bits lose their high bits, which no function of loops does. */
static const char *cast_stages(struct lower *L)
{
	enum dtype to = low_out_dtype(L, 0), from = low_dtype(L, 0);

	if (dtype_is_int(to) && dtype_bits(to) < 8 && from != to)
		return low_why(L, "a cast to %s, whose bytes have bits that are not the number's", dtype_name(to));
	return lower_map(L, L->n->op == OP_Cast ? &casts[0] : &casts[1]);
}

static ex_id where(struct lower *L, const ex_id *a) { return low_select(L, a[0], a[1], a[2]); }

static ex_id is_nan(struct lower *L, const ex_id *a) { return low_fn2(L, FN_NE, a[0], a[0]); }

static ex_id is_inf(struct lower *L, const ex_id *a)
{
	bool minus = attr_i(L->n, "detect_negative") != 0, plus = attr_i(L->n, "detect_positive") != 0;
	ex_id x = minus && plus ? low_fn1(L, FN_ABS, a[0]) : a[0];

	if (!minus && !plus)
		return low_fn2(L, FN_LT, x, x);
	return low_fnc(L, FN_EQ, x, plus ? INFINITY : -INFINITY);
}

static ex_id bit_shift(struct lower *L, const ex_id *a)
{
	return low_fn2(L, strcmp(attr_s(L->n, "direction"), "LEFT") ? FN_SHR : FN_SHL, a[0], a[1]);
}

static ex_id identity(struct lower *L, const ex_id *a) { return a[0]; }

const struct lower_row lower_elementwise[] = {
	{OP_Abs, .fn = FN_ABS},
	{OP_Acos, .fn = FN_ACOS},
	{OP_Acosh, .fn = FN_ACOSH},
	{OP_Add, .fn = FN_ADD},
	{OP_And, .fn = FN_AND},
	{OP_Asin, .fn = FN_ASIN},
	{OP_Asinh, .fn = FN_ASINH},
	{OP_Atan, .fn = FN_ATAN},
	{OP_Atanh, .fn = FN_ATANH},
	{OP_BitShift, .map = bit_shift},
	{OP_BitwiseAnd, .fn = FN_BITAND},
	{OP_BitwiseNot, .fn = FN_BITNOT},
	{OP_BitwiseOr, .fn = FN_BITOR},
	{OP_BitwiseXor, .fn = FN_BITXOR},
	{OP_Cast, cast_stages},
	{OP_CastLike, cast_stages},
	{OP_Ceil, .fn = FN_CEIL},
	{OP_Celu, .map = celu},
	{OP_Clip, .map = clip},
	{OP_Cos, .fn = FN_COS},
	{OP_Cosh, .map = cosh_of},
	{OP_Div, .fn = FN_DIV},
	{OP_Elu, .map = elu},
	{OP_Equal, .fn = FN_EQ},
	{OP_Erf, .map = erf_of},
	{OP_Exp, .fn = FN_EXP},
	{OP_Floor, .fn = FN_FLOOR},
	{OP_Gelu, .map = gelu},
	{OP_Greater, .fn = FN_GT},
	{OP_GreaterOrEqual, .fn = FN_GE},
	{OP_HardSigmoid, .map = hard_sigmoid},
	{OP_HardSwish, .map = hard_swish},
	{OP_Identity, .map = identity},
	{OP_IsInf, .map = is_inf},
	{OP_IsNaN, .map = is_nan},
	{OP_LeakyRelu, .map = leaky_relu},
	{OP_Less, .fn = FN_LT},
	{OP_LessOrEqual, .fn = FN_LE},
	{OP_Log, .fn = FN_LOG},
	{OP_Max, .map = largest},
	{OP_Mean, .map = mean},
	{OP_Min, .map = least},
	{OP_Mish, .map = mish},
	{OP_Mod, .map = modulo},
	{OP_Mul, .fn = FN_MUL},
	{OP_Neg, .fn = FN_NEG},
	{OP_Not, .fn = FN_NOT},
	{OP_Or, .fn = FN_OR},
	{OP_PRelu, .map = prelu},
	{OP_Pow, .map = power},
	{OP_Reciprocal, .fn = FN_RECIP},
	{OP_Relu, .map = relu},
	{OP_Round, .fn = FN_ROUND},
	{OP_Selu, .map = selu},
	{OP_Shrink, .map = shrink},
	{OP_Sigmoid, .fn = FN_SIGMOID},
	{OP_Sign, .fn = FN_SIGN},
	{OP_Sin, .fn = FN_SIN},
	{OP_Sinh, .map = sinh_of},
	{OP_Softplus, .map = softplus},
	{OP_Softsign, .map = softsign},
	{OP_Sqrt, .fn = FN_SQRT},
	{OP_Sub, .fn = FN_SUB},
	{OP_Sum, .map = sum},
	{OP_SwiGLU, .map = swiglu},
	{OP_Swish, .map = swish},
	{OP_Tan, .map = tangent},
	{OP_Tanh, .fn = FN_TANH},
	{OP_ThresholdedRelu, .map = thresholded_relu},
	{OP_Where, .map = where},
	{OP_Xor, .fn = FN_XOR},
	{0},
};
