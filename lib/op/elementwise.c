/* Elementwise operators: one function of doubles, one of integers where they have a meaning. */
#include <math.h>
#include <string.h>
#include "op/rules.h"

/* An operator of one operand or two. p: values of its attributes; without any, of two operands whether each is u64. */
struct elem {
	void (*d1)(double *v, int n, const double *p);
	void (*i1)(int64_t *v, int n, const double *p);
	void (*d2)(double *a, const double *b, int n, const double *p); /* into a */
	void (*i2)(int64_t *a, const int64_t *b, int n, const double *p);
	void (*u1)(uint64_t *v, int n, const double *p);                    /* where unsigned integers of 64 bits differ */
	void (*u2)(uint64_t *a, const uint64_t *b, int n, const double *p); /* the same: by the type of the first */
	poly (*known)(struct polys *P, poly a, poly b, bool whole);         /* whole: integer arithmetic */
	bool to_bool;                                                       /* the result is bool */
	struct {
		const char *name;
		const char *one; /* a string attribute: 1 if it has this value, else 0 */
	} attr[2];
};
static const struct elem elems[OP_COUNT];

/* ---- functions of one operand ---- */

#define D1(name, ...) \
	static void d1_##name(double *v, int n, const double *p) \
	{ \
		for (int i = 0; i < n; i++) { \
			double x = v[i]; \
			v[i] = (__VA_ARGS__); \
		} \
	}
#define I1(name, ...) \
	static void i1_##name(int64_t *v, int n, const double *p) \
	{ \
		for (int i = 0; i < n; i++) { \
			int64_t x = v[i]; \
			v[i] = (__VA_ARGS__); \
		} \
	}

#define U1(name, ...) \
	static void u1_##name(uint64_t *v, int n, const double *p) \
	{ \
		for (int i = 0; i < n; i++) { \
			uint64_t x = v[i]; \
			v[i] = (__VA_ARGS__); \
		} \
	}

static double erf_gelu(double x) { return 0.5 * x * (1 + erf(x * M_SQRT1_2)); }
static double tanh_gelu(double x) { return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return x > 30 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double shrink(double x, const double *p) { return x < -p[1] ? x + p[0] : x > p[1] ? x - p[0] : 0; }
static int64_t wrap_neg(int64_t x) { return (int64_t) - (uint64_t)x; }

/* clang-format off */
D1(Abs, fabs(x)) I1(Abs, x < 0 ? wrap_neg(x) : x) U1(Abs, x)
D1(Acos, acos(x)) D1(Acosh, acosh(x)) D1(Asin, asin(x)) D1(Asinh, asinh(x)) D1(Atan, atan(x)) D1(Atanh, atanh(x))
D1(Ceil, ceil(x))
D1(Celu, x > 0 ? x : p[0] * expm1(x / p[0]))
D1(Cos, cos(x)) D1(Cosh, cosh(x))
D1(Elu, x > 0 ? x : p[0] * expm1(x))
D1(Erf, erf(x)) D1(Exp, exp(x)) D1(Floor, floor(x))
D1(Gelu, p[0] ? tanh_gelu(x) : erf_gelu(x))
D1(HardSigmoid, clamp01(p[0] * x + p[1]))
D1(HardSwish, x * clamp01(x / 6 + 0.5))
D1(IsInf, (x == INFINITY && p[1]) || (x == -INFINITY && p[0]))
D1(IsNaN, x != x) I1(IsNaN, x != x)
D1(LeakyRelu, x < 0 ? p[0] * x : x)
D1(Log, log(x))
D1(Mish, x * tanh(softplus(x)))
D1(Neg, -x) I1(Neg, wrap_neg(x))
D1(Not, !x) I1(Not, !x)
I1(BitwiseNot, ~x)
D1(Reciprocal, 1 / x)
D1(Relu, x < 0 ? 0 : x) I1(Relu, x < 0 ? 0 : x) U1(Relu, x)
D1(Round, rint(x))
D1(Selu, x > 0 ? p[1] * x : p[1] * p[0] * expm1(x))
D1(Shrink, shrink(x, p))
D1(Sigmoid, sigmoid(x))
D1(Sign, x != x ? x : (x > 0) - (x < 0)) I1(Sign, (x > 0) - (x < 0)) U1(Sign, x > 0)
D1(Sin, sin(x)) D1(Sinh, sinh(x))
D1(Softplus, softplus(x))
D1(Softsign, x / (1 + fabs(x)))
D1(Sqrt, sqrt(x))
D1(Swish, x * sigmoid(p[0] * x))
D1(Tan, tan(x)) D1(Tanh, tanh(x))
D1(ThresholdedRelu, x > p[0] ? x : 0)
/* clang-format on */

/* ---- functions of two operands ---- */

#define F2(kind, T, name, ...) \
	static void kind##_##name(T *a, const T *b, int n, const double *p) \
	{ \
		for (int i = 0; i < n; i++) { \
			T x = a[i], y = b[i]; \
			a[i] = (T)(__VA_ARGS__); \
		} \
	}
#define D2(name, ...) F2(d2, double, name, __VA_ARGS__)
#define I2(name, ...) F2(i2, int64_t, name, __VA_ARGS__)
#define U2(name, ...) F2(u2, uint64_t, name, __VA_ARGS__)

											static double max_nan(double x, double y)
{
	return x != x || x > y ? x : y != y || y >= x ? y : x;
}
static double min_nan(double x, double y) { return x != x || x < y ? x : y; }
static double py_fmod(double x, double y)
{
	double r = fmod(x, y);
	return r == 0 ? copysign(0, y) : (r < 0) != (y < 0) ? r + y : r;
}
static int64_t int_div(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? wrap_neg(x) : x / y; }
static int64_t int_rem(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
static int64_t py_mod(int64_t x, int64_t y)
{
	int64_t r = int_rem(x, y);
	return r && (r < 0) != (y < 0) ? r + y : r;
}
/* p: are base and exponent unsigned? */
static int64_t int_pow(int64_t x, int64_t y, const double *p)
{
	uint64_t r = 1, b = (uint64_t)x, n = (uint64_t)y;

	if (y < 0 && !p[1])
		return x == 1 ? 1 : x == -1 && !p[0] ? (y & 1 ? -1 : 1) : 0;
	for (; n; n >>= 1, b *= b)
		if (n & 1)
			r *= b;
	return (int64_t)r;
}

/* clang-format off */
D2(Add, x + y) I2(Add, (uint64_t)x + (uint64_t)y)
D2(Sub, x - y) I2(Sub, (uint64_t)x - (uint64_t)y)
D2(Mul, x * y) I2(Mul, (uint64_t)x * (uint64_t)y)
D2(Div, x / y) I2(Div, int_div(x, y)) U2(Div, y ? x / y : 0)
D2(Max, max_nan(x, y)) I2(Max, x > y ? x : y) U2(Max, x > y ? x : y)
D2(Min, min_nan(x, y)) I2(Min, x < y ? x : y) U2(Min, x < y ? x : y)
D2(Mod, p[0] ? fmod(x, y) : py_fmod(x, y)) I2(Mod, p[0] ? int_rem(x, y) : py_mod(x, y)) U2(Mod, y ? x % y : 0)
D2(Pow, pow(x, y)) I2(Pow, int_pow(x, y, p))
D2(PRelu, x < 0 ? x * y : x) I2(PRelu, x < 0 ? (uint64_t)x * (uint64_t)y : (uint64_t)x) U2(PRelu, (void)y, x)
D2(Equal, x == y) I2(Equal, x == y)
D2(Less, x < y) I2(Less, x < y) U2(Less, x < y)
D2(LessOrEqual, x <= y) I2(LessOrEqual, x <= y) U2(LessOrEqual, x <= y)
D2(Greater, x > y) I2(Greater, x > y) U2(Greater, x > y)
D2(GreaterOrEqual, x >= y) I2(GreaterOrEqual, x >= y) U2(GreaterOrEqual, x >= y)
I2(And, x && y) I2(Or, x || y) I2(Xor, !x != !y)
I2(BitwiseAnd, x & y) I2(BitwiseOr, x | y) I2(BitwiseXor, x ^ y)
I2(BitShift, p[0] ? (int64_t)((uint64_t)y > 63 ? 0 : (uint64_t)x << y) : x >> ((uint64_t)y > 63 ? 63 : y))
U2(BitShift, y > 63 ? 0 : p[0] ? x << y : x >> y)
D2(SwiGLU, x * sigmoid(p[0] * x) * y)
	/* clang-format on */

	/* ---- what is known of integer elements ---- */

	static poly k_add(struct polys *P, poly a, poly b, bool whole)
{
	return poly_add(P, a, b);
}
static poly k_sub(struct polys *P, poly a, poly b, bool whole) { return poly_sub(P, a, b); }
static poly k_mul(struct polys *P, poly a, poly b, bool whole) { return poly_mul(P, a, b); }
static poly k_max(struct polys *P, poly a, poly b, bool whole) { return poly_max(P, a, b); }
static poly k_min(struct polys *P, poly a, poly b, bool whole) { return poly_min(P, a, b); }
static poly k_neg(struct polys *P, poly a, poly b, bool whole) { return poly_mulc(P, a, -1); }
static poly k_same(struct polys *P, poly a, poly b, bool whole) { return a; }
static poly k_relu(struct polys *P, poly a, poly b, bool whole) { return poly_max(P, a, poly_const(P, 0)); }
static poly k_abs(struct polys *P, poly a, poly b, bool whole) { return poly_max(P, a, poly_mulc(P, a, -1)); }
/* False and anything, true or anything. */
static bool is(struct polys *P, poly a, int64_t what)
{
	int64_t c;

	return poly_is_const(P, a, &c) && c == what;
}
static poly k_and(struct polys *P, poly a, poly b, bool whole)
{
	return is(P, a, 0) || is(P, b, 0) ? poly_const(P, 0) : a && b ? poly_min(P, a, b) : POLY_UNKNOWN;
}
static poly k_or(struct polys *P, poly a, poly b, bool whole)
{
	return is(P, a, 1) || is(P, b, 1) ? poly_const(P, 1) : a && b ? poly_max(P, a, b) : POLY_UNKNOWN;
}
static poly k_not(struct polys *P, poly a, poly b, bool whole) { return poly_sub(P, poly_const(P, 1), a); }

/* Integer division truncates: it is floor where the dividend cannot be negative. */
static poly k_div(struct polys *P, poly a, poly b, bool whole)
{
	int64_t c, lo, hi;
	poly q;

	if (!a || !b || (poly_is_const(P, b, &c) && c == 0))
		return POLY_UNKNOWN;
	q = poly_divide(P, a, b);
	poly_range(P, a, &lo, &hi);
	if (!q && whole && lo >= 0 && poly_is_const(P, b, &c) && c > 0)
		q = poly_floordiv(P, a, c);
	return q;
}

static poly k_mod(struct polys *P, poly a, poly b, bool whole)
{
	int64_t c, lo, hi;

	poly_range(P, a, &lo, &hi);
	return a && whole && lo >= 0 && poly_is_const(P, b, &c) && c > 0 ? poly_mod(P, a, c) : POLY_UNKNOWN;
}

/* A comparison that has the same answer for all values of the symbols. */
static poly k_sign(struct polys *P, poly a, poly b, int when_less, int when_equal, int when_more)
{
	poly d = poly_sub(P, a, b);
	int64_t lo, hi;
	int r = -1;

	if (!d)
		return POLY_UNKNOWN;
	poly_range(P, d, &lo, &hi);
	if (hi < 0)
		r = when_less;
	else if (lo > 0)
		r = when_more;
	else if (lo == 0 && hi == 0)
		r = when_equal;
	else if (lo >= 0 && when_equal == when_more)
		r = when_more;
	else if (hi <= 0 && when_equal == when_less)
		r = when_less;
	return r < 0 ? POLY_UNKNOWN : poly_const(P, r);
}
static poly k_eq(struct polys *P, poly a, poly b, bool whole) { return k_sign(P, a, b, 0, 1, 0); }
static poly k_lt(struct polys *P, poly a, poly b, bool whole) { return k_sign(P, a, b, 1, 0, 0); }
static poly k_le(struct polys *P, poly a, poly b, bool whole) { return k_sign(P, a, b, 1, 1, 0); }
static poly k_gt(struct polys *P, poly a, poly b, bool whole) { return k_sign(P, a, b, 0, 0, 1); }
static poly k_ge(struct polys *P, poly a, poly b, bool whole) { return k_sign(P, a, b, 0, 1, 1); }

/* clang-format off */
/* Operators that are one function of one operand and nothing else: their rows. */
#define FUNCTIONS(X) \
	X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cos) X(Cosh) X(Erf) X(Exp) X(HardSwish) X(Log) X(Mish) \
	X(Reciprocal) X(Sigmoid) X(Sin) X(Sinh) X(Softplus) X(Softsign) X(Sqrt) X(Tan) X(Tanh)

#define FUNCTION(name) [OP_##name] = {.d1 = d1_##name},
static const struct elem elems[OP_COUNT] = {
	FUNCTIONS(FUNCTION)
	[OP_Abs] = {d1_Abs, i1_Abs, .u1 = u1_Abs, .known = k_abs},
	[OP_Neg] = {d1_Neg, i1_Neg, .known = k_neg},
	[OP_Relu] = {d1_Relu, i1_Relu, .u1 = u1_Relu, .known = k_relu},
	[OP_Sign] = {d1_Sign, i1_Sign, .u1 = u1_Sign},
	[OP_Ceil] = {d1_Ceil, .known = k_same},
	[OP_Floor] = {d1_Floor, .known = k_same},
	[OP_Round] = {d1_Round, .known = k_same},
	[OP_Not] = {d1_Not, i1_Not, .known = k_not, .to_bool = true},
	[OP_BitwiseNot] = {.i1 = i1_BitwiseNot},
	[OP_IsNaN] = {d1_IsNaN, i1_IsNaN, .to_bool = true},
	[OP_IsInf] = {d1_IsInf, .to_bool = true, .attr = {{"detect_negative"}, {"detect_positive"}}},
	[OP_Celu] = {d1_Celu, .attr = {{"alpha"}}},
	[OP_Elu] = {d1_Elu, .attr = {{"alpha"}}},
	[OP_Gelu] = {d1_Gelu, .attr = {{"approximate", "tanh"}}},
	[OP_HardSigmoid] = {d1_HardSigmoid, .attr = {{"alpha"}, {"beta"}}},
	[OP_LeakyRelu] = {d1_LeakyRelu, .attr = {{"alpha"}}},
	[OP_Selu] = {d1_Selu, .attr = {{"alpha"}, {"gamma"}}},
	[OP_Shrink] = {d1_Shrink, .attr = {{"bias"}, {"lambd"}}},
	[OP_Swish] = {d1_Swish, .attr = {{"alpha"}}},
	[OP_ThresholdedRelu] = {d1_ThresholdedRelu, .attr = {{"alpha"}}},

	[OP_Add] = {.d2 = d2_Add, .i2 = i2_Add, .known = k_add},
	[OP_Sum] = {.d2 = d2_Add, .i2 = i2_Add, .known = k_add},
	[OP_Mean] = {.d2 = d2_Add},
	[OP_Sub] = {.d2 = d2_Sub, .i2 = i2_Sub, .known = k_sub},
	[OP_Mul] = {.d2 = d2_Mul, .i2 = i2_Mul, .known = k_mul},
	[OP_Div] = {.d2 = d2_Div, .i2 = i2_Div, .u2 = u2_Div, .known = k_div},
	[OP_Max] = {.d2 = d2_Max, .i2 = i2_Max, .u2 = u2_Max, .known = k_max},
	[OP_Min] = {.d2 = d2_Min, .i2 = i2_Min, .u2 = u2_Min, .known = k_min},
	[OP_Mod] = {.d2 = d2_Mod, .i2 = i2_Mod, .u2 = u2_Mod, .known = k_mod, .attr = {{"fmod"}}},
	[OP_Pow] = {.d2 = d2_Pow, .i2 = i2_Pow},
	[OP_PRelu] = {.d2 = d2_PRelu, .i2 = i2_PRelu, .u2 = u2_PRelu},
	[OP_SwiGLU] = {.d2 = d2_SwiGLU, .attr = {{"alpha"}}},
	[OP_Equal] = {.d2 = d2_Equal, .i2 = i2_Equal, .known = k_eq, .to_bool = true},
	[OP_Less] = {.d2 = d2_Less, .i2 = i2_Less, .u2 = u2_Less, .known = k_lt, .to_bool = true},
	[OP_LessOrEqual] = {.d2 = d2_LessOrEqual, .i2 = i2_LessOrEqual, .u2 = u2_LessOrEqual, .known = k_le, .to_bool = true},
	[OP_Greater] = {.d2 = d2_Greater, .i2 = i2_Greater, .u2 = u2_Greater, .known = k_gt, .to_bool = true},
	[OP_GreaterOrEqual] = {.d2 = d2_GreaterOrEqual, .i2 = i2_GreaterOrEqual, .u2 = u2_GreaterOrEqual, .known = k_ge, .to_bool = true},
	[OP_And] = {.i2 = i2_And, .known = k_and, .to_bool = true},
	[OP_Or] = {.i2 = i2_Or, .known = k_or, .to_bool = true},
	[OP_Xor] = {.i2 = i2_Xor, .to_bool = true},
	[OP_BitwiseAnd] = {.i2 = i2_BitwiseAnd},
	[OP_BitwiseOr] = {.i2 = i2_BitwiseOr},
	[OP_BitwiseXor] = {.i2 = i2_BitwiseXor},
	[OP_BitShift] = {.i2 = i2_BitShift, .u2 = u2_BitShift, .attr = {{"direction", "LEFT"}}},
};
/* clang-format on */

/* ---- the rules and evaluators they share ---- */

static void elem_attrs(const struct node *n, const struct elem *f, double *p)
{
	for (int i = 0; i < 2; i++) {
		const char *name = f->attr[i].name;
		char kind = name ? op_attr_kind(n->op, name) : 0;
		if (kind == 's')
			p[i] = !strcmp(attr_s(n, name), f->attr[i].one);
		else
			p[i] = kind == 'f' ? attr_f(n, name) : kind ? (double)attr_i(n, name) : 0;
	}
}

/* Elements are followed as whole numbers only as far as the type has them, and floating point ones not
 * where the sign of a zero would matter. */
static poly trusted(struct infer *I, poly e)
{
	enum dtype t = I->out[0].dtype;
	int64_t c;

	if (dtype_is_float(t) && poly_is_const(rule_polys(I), e, &c) && c == 0)
		return POLY_UNKNOWN;
	return rule_fits(rule_polys(I), t, e);
}

static void known_unary(struct infer *I, const struct elem *f)
{
	poly *e;

	if (!f->known || !I->kin[0].yes || !(e = rule_known(I, 0, I->kin[0].n)))
		return;
	for (int i = 0; i < I->kin[0].n; i++)
		e[i] = trusted(I, f->known(rule_polys(I), I->kin[0].e[i], POLY_UNKNOWN, dtype_is_int(I->in[0].dtype)));
}

static const char *shape_unary(struct infer *I)
{
	const struct elem *f = &elems[I->n->op];

	rule_like(I, 0, 0);
	if (f->to_bool)
		I->out[0].dtype = DT_BOOL;
	known_unary(I, f);
	return NULL;
}

/* Elements of operand i; of a truth value that is not known, unknown ones: the other may decide. NULL: not known. */
static const poly *known_operand(struct infer *I, uint32_t i)
{
	int64_t n = type_count(I->m, &I->in[i]);

	if (I->kin[i].yes)
		return I->kin[i].e;
	if ((I->n->op != OP_And && I->n->op != OP_Or) || n < 0 || n > KNOWN_MAX)
		return NULL;
	return ARENA_ARRAY(&I->m->arena, poly, n); /* POLY_UNKNOWN is 0 */
}

static void known_binary(struct infer *I, const struct elem *f)
{
	struct bcast b;
	int rank[2] = {I->in[0].rank, I->in[1].rank};
	int64_t d0[RANK_MAX], d1[RANK_MAX];
	const int64_t *dims[2] = {d0, d1};
	const poly *x, *y;
	poly *e;
	bool whole = dtype_is_int(I->in[0].dtype);

	if (!f->known || I->n->nin != 2 || (!I->kin[0].yes && !I->kin[1].yes) || !(x = known_operand(I, 0)) || !(y = known_operand(I, 1)) ||
	    !type_dims(I->m, &I->in[0], d0) || !type_dims(I->m, &I->in[1], d1) || bcast_init(&b, 2, rank, dims, &I->m->arena) ||
	    b.count > KNOWN_MAX || !(e = rule_known(I, 0, (int)b.count)) || b.count == 0)
		return;
	do {
		int last = b.rank - 1;
		for (int64_t i = 0; i < b.dims[last]; i++)
			*e++ = trusted(I, f->known(rule_polys(I), x[b.off[0] + i * b.stride[0][last]], y[b.off[1] + i * b.stride[1][last]],
						   whole));
	} while (bcast_next(&b));
}

static const char *shape_binary(struct infer *I)
{
	const struct elem *f = &elems[I->n->op];
	const char *why = shape_broadcast(I);

	if (why)
		return why;
	if (f->to_bool)
		I->out[0].dtype = DT_BOOL;
	known_binary(I, f);
	return NULL;
}

/* The exponent may be of another type; PRelu's slope broadcasts one way. */
static const char *shape_first_type(struct infer *I)
{
	int rank;
	dim *dims;
	const char *why = rule_broadcast(I, 0, 1, &rank, &dims);

	if (!why && I->n->op == OP_PRelu && rule_rank(I, 0) >= 0)
		why = rule_into(I, 1, rule_rank(I, 0), I->in[0].dims);
	if (!why)
		rule_out(I, 0, I->in[0].dtype, rank, dims);
	return why;
}

static const char *eval_unary(struct eval *e)
{
	const struct elem *f = &elems[e->n->op];
	const struct tensor *x = e->in[0];
	bool whole = f->i1 && !dtype_is_float(x->dtype);
	struct tensor *y;
	int64_t n = tensor_count(x);
	double p[2], v[BLOCK];
	int64_t w[BLOCK];

	if (!dtype_fixed(x->dtype) || (!f->d1 && !whole))
		return eval_why(e, "no evaluator for %s", dtype_name(x->dtype));
	y = eval_out(e, 0, f->to_bool ? DT_BOOL : x->dtype, x->rank, x->dims);
	elem_attrs(e->n, f, p);
	for (int64_t at = 0; at < n; at += BLOCK) {
		int c = n - at < BLOCK ? (int)(n - at) : BLOCK;
		if (whole) {
			load_i(x, at, 1, c, w);
			if (f->u1 && x->dtype == DT_U64)
				f->u1((uint64_t *)w, c, p);
			else
				f->i1(w, c, p);
			store_i(y, at, c, w);
		} else {
			load_d(x, at, 1, c, v);
			f->d1(v, c, p);
			store_d(y, at, c, v);
		}
	}
	return NULL;
}

/* *y = f(a, b), broadcasting: result 0 of e, or on the way to it. */
static const char *binary(struct eval *e, const struct elem *f, const struct tensor *a, const struct tensor *b, enum dtype t, bool result,
			  struct tensor **y)
{
	struct bcast w;
	int rank[2] = {a->rank, b->rank};
	const int64_t *dims[2] = {a->dims, b->dims};
	const struct tensor *x[2] = {a, b};
	const char *why = bcast_init(&w, 2, rank, dims, e->tmp);
	bool whole = f->i2 && !dtype_is_float(a->dtype) && !dtype_is_float(b->dtype);
	double p[2], v[2][BLOCK];
	int64_t i[2][BLOCK], done = 0;

	if (why)
		return why;
	if (!dtype_fixed(a->dtype) || !dtype_fixed(b->dtype) || (!f->d2 && !whole))
		return eval_why(e, "no evaluator for %s", dtype_name(a->dtype));
	elem_attrs(e->n, f, p);
	for (int o = 0; o < 2 && !f->attr[0].name; o++)
		p[o] = x[o]->dtype == DT_U64;
	*y = result ? eval_out(e, 0, t, w.out_rank, w.out_dims) : tensor_new(e->tmp, t, w.out_rank, w.out_dims);
	if (w.count == 0)
		return NULL;
	do {
		int64_t n = w.dims[w.rank - 1];
		for (int64_t at = 0; at < n; at += BLOCK) {
			int c = n - at < BLOCK ? (int)(n - at) : BLOCK;
			for (int o = 0; o < 2; o++) {
				int64_t s = w.stride[o][w.rank - 1], off = w.off[o] + at * s;
				if (whole)
					load_i(x[o], off, s, c, i[o]);
				else
					load_d(x[o], off, s, c, v[o]);
			}
			if (whole && f->u2 && a->dtype == DT_U64)
				f->u2((uint64_t *)i[0], (const uint64_t *)i[1], c, p);
			else if (whole)
				f->i2(i[0], i[1], c, p);
			else
				f->d2(v[0], v[1], c, p);
			if (whole)
				store_i(*y, done, c, i[0]);
			else
				store_d(*y, done, c, v[0]);
			done += c;
		}
	} while (bcast_next(&w));
	return NULL;
}

static const char *eval_binary(struct eval *e)
{
	const struct elem *f = &elems[e->n->op];
	struct tensor *y;

	return binary(e, f, e->in[0], e->in[1], f->to_bool ? DT_BOOL : e->in[0]->dtype, true, &y);
}

/* Max, Min, Sum, Mean: the operands one after the other. */
static const char *eval_variadic(struct eval *e)
{
	const struct elem *f = &elems[e->n->op];
	struct tensor *acc = e->in[0];
	uint32_t nin = e->n->nin;
	const char *why;

	if (nin == 1) {
		eval_view(e, 0, 0, acc->rank, acc->dims);
		return NULL;
	}
	for (uint32_t i = 1; i < nin; i++)
		if ((why = binary(e, f, acc, e->in[i], e->in[0]->dtype, i + 1 == nin, &acc)))
			return why;
	for (int64_t i = 0, n = tensor_count(acc); e->n->op == OP_Mean && i < n; i++)
		tensor_set(acc, i, tensor_get(acc, i) / nin);
	return NULL;
}

/* clang-format off */
#define ROW1(name) {OP_##name, shape_unary, eval_unary}
#define FUNCTION_ROW(name) ROW1(name),
#define ROW2(name) {OP_##name, shape_binary, eval_binary}
#define ROWN(name) {OP_##name, shape_binary, eval_variadic}
const struct op ops_elementwise[] = {
	FUNCTIONS(FUNCTION_ROW)
	ROW1(Abs), ROW1(BitwiseNot), ROW1(Ceil), ROW1(Celu), ROW1(Elu), ROW1(Floor), ROW1(Gelu), ROW1(HardSigmoid),
	ROW1(IsInf), ROW1(IsNaN), ROW1(LeakyRelu), ROW1(Neg), ROW1(Not), ROW1(Relu), ROW1(Round), ROW1(Selu),
	ROW1(Shrink), ROW1(Sign), ROW1(Swish), ROW1(ThresholdedRelu),
	ROW2(Add), ROW2(And), ROW2(BitwiseAnd), ROW2(BitwiseOr), ROW2(BitwiseXor), ROW2(BitShift), ROW2(Div),
	ROW2(Equal), ROW2(Greater), ROW2(GreaterOrEqual), ROW2(Less), ROW2(LessOrEqual), ROW2(Mod), ROW2(Mul),
	ROW2(Or), ROW2(Sub), ROW2(SwiGLU), ROW2(Xor),
	ROWN(Max), ROWN(Mean), ROWN(Min), ROWN(Sum),
	{OP_Pow, shape_first_type, eval_binary},
	{OP_PRelu, shape_first_type, eval_binary},
	{0},
};
