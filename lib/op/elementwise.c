/* Elementwise operators. */
#include "op/native.h"
#include "op/rules.h"

/* What is known of the elements of a result, of those of operands. */
struct elem {
	poly (*known)(struct polys *P, poly a, poly b, bool whole); /* whole: integer arithmetic */
	bool to_bool;                                               /* the result is bool */
};

/* ---- what is known of integer elements ---- */

static poly k_add(struct polys *P, poly a, poly b, bool whole) { return poly_add(P, a, b); }
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

static const struct elem elems[OP_COUNT] = {
	[OP_Abs] = {k_abs},          [OP_Neg] = {k_neg},
	[OP_Relu] = {k_relu},        [OP_Ceil] = {k_same},
	[OP_Floor] = {k_same},       [OP_Round] = {k_same},
	[OP_Not] = {k_not, true},    [OP_IsNaN] = {NULL, true},
	[OP_IsInf] = {NULL, true},   [OP_Add] = {k_add},
	[OP_Sum] = {k_add},          [OP_Sub] = {k_sub},
	[OP_Mul] = {k_mul},          [OP_Div] = {k_div},
	[OP_Max] = {k_max},          [OP_Min] = {k_min},
	[OP_Mod] = {k_mod},          [OP_Equal] = {k_eq, true},
	[OP_Less] = {k_lt, true},    [OP_LessOrEqual] = {k_le, true},
	[OP_Greater] = {k_gt, true}, [OP_GreaterOrEqual] = {k_ge, true},
	[OP_And] = {k_and, true},    [OP_Or] = {k_or, true},
	[OP_Xor] = {NULL, true},
};

/* ---- the rules they share ---- */

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

/* clang-format off */
#define ROW1(name) {OP_##name, shape_unary, eval_native}
#define ROW2(name) {OP_##name, shape_binary, eval_native}
const struct op ops_elementwise[] = {
	ROW1(Acos), ROW1(Acosh), ROW1(Asin), ROW1(Asinh), ROW1(Atan), ROW1(Atanh), ROW1(Cos), ROW1(Cosh), ROW1(Erf), ROW1(Exp), ROW1(HardSwish), ROW1(Log), ROW1(Mish), ROW1(Reciprocal), ROW1(Sigmoid), ROW1(Sin), ROW1(Sinh), ROW1(Softplus), ROW1(Softsign), ROW1(Sqrt), ROW1(Tan), ROW1(Tanh),
	ROW1(Abs), ROW1(BitwiseNot), ROW1(Ceil), ROW1(Celu), ROW1(Elu), ROW1(Floor), ROW1(Gelu), ROW1(HardSigmoid),
	ROW1(IsInf), ROW1(IsNaN), ROW1(LeakyRelu), ROW1(Neg), ROW1(Not), ROW1(Relu), ROW1(Round), ROW1(Selu),
	ROW1(Shrink), ROW1(Sign), ROW1(Swish), ROW1(ThresholdedRelu),
	ROW2(Add), ROW2(And), ROW2(BitwiseAnd), ROW2(BitwiseOr), ROW2(BitwiseXor), ROW2(BitShift), ROW2(Div),
	ROW2(Equal), ROW2(Greater), ROW2(GreaterOrEqual), ROW2(Less), ROW2(LessOrEqual), ROW2(Mod), ROW2(Mul),
	ROW2(Or), ROW2(Sub), ROW2(SwiGLU), ROW2(Xor),
	ROW2(Max), ROW2(Mean), ROW2(Min), ROW2(Sum),
	{OP_Pow, shape_first_type, eval_native},
	{OP_PRelu, shape_first_type, eval_native},
	{0},
};
