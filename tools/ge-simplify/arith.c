/* Scalars and powers. */
#include <math.h>
#include "op/op.h"
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

static bool is_float(struct rewrite *rw, node_id n) { return dtype_is_float(rw_type(rw, result(rw, n))->dtype); }

static const char *replace(struct rewrite *rw, node_id n, enum opcode op, val_id a, val_id b)
{
	rw_replace(rw, result(rw, n), rw_node(rw, n, op, b ? 2 : 1, (val_id[]){a, b}));
	return NULL;
}

/* A scalar constant of rank 0 of n's type. */
static val_id scalar(struct rewrite *rw, node_id n, double c) { return rw_constant(rw, rw_type(rw, result(rw, n))->dtype, 0, NULL, &c); }

/* c as a scalar of n's type has it. */
static double rounded(struct rewrite *rw, node_id n, double c)
{
	struct tensor *t = tensor_new(&rw_module(rw)->arena, rw_type(rw, result(rw, n))->dtype, 0, NULL);

	tensor_set(t, 0, c);
	return tensor_get(t, 0);
}

/* The factor c of n, neither so large nor so small that its type loses it. */
static bool holds_factor(struct rewrite *rw, node_id n, double c)
{
	enum dtype t = rw_type(rw, result(rw, n))->dtype;
	double r = rounded(rw, n, c), least = t == DT_F16 ? 0x1p-14 : t == DT_F64 ? 0x1p-1022 : 0x1p-126;

	return isfinite(r) && fabs(r) >= least;
}

/* Division by powers of two is multiplication, exactly. */
static const char *div_to_mul(struct rewrite *rw, node_id n)
{
	struct tensor *t = rw_const(rw, rw_in(rw, n, 1));
	int64_t count;
	double *e;
	int exponent;

	if (!t || !is_float(rw, n))
		return NO_MATCH;
	if (!(e = rw_doubles(rw, rw_in(rw, n, 1), &count)))
		return NO_MATCH;
	for (int64_t i = 0; i < count; i++) {
		if (!isfinite(e[i]) || fabs(frexp(e[i], &exponent)) != 0.5 || exponent > 100 || exponent < -100)
			return "the reciprocal of the divisor is not exact";
		if (t->dtype == DT_F16 && (exponent > 10 || exponent < -10))
			return "the reciprocal of the divisor may leave the range";
		e[i] = 1 / e[i];
	}
	return replace(rw, n, OP_Mul, rw_in(rw, n, 0), rw_constant(rw, t->dtype, t->rank, t->dims, e));
}

static bool never_below_zero(struct rewrite *rw, val_id v, int depth);

/* All elements of a constant, and no -0 among them. */
static bool all_above(struct rewrite *rw, val_id v)
{
	int64_t count;
	double *x = rw_doubles(rw, v, &count);

	for (int64_t i = 0; x && i < count; i++)
		if (!(x[i] >= 0) || signbit(x[i]))
			return false;
	return x != NULL;
}

static bool operands_never_below(struct rewrite *rw, node_id n, int depth)
{
	for (uint32_t i = 0; i < node(rw_module(rw), n)->nin; i++)
		if (!never_below_zero(rw, rw_in(rw, n, i), depth))
			return false;
	return true;
}

/* Is no element of v less than 0, or -0? Seen are squares, their sums and means, and what is made of such. */
static bool never_below_zero(struct rewrite *rw, val_id v, int depth)
{
	node_id n = rw_node_of(rw, v);
	double c;

	if (rw_const(rw, v))
		return all_above(rw, v);
	if (!n || depth == 0)
		return false;
	switch (node(rw_module(rw), n)->op) {
	case OP_Abs:
	case OP_Exp:
	case OP_Sigmoid:
	case OP_Softplus:
	case OP_ReduceL1:
	case OP_ReduceL2:
	case OP_ReduceSumSquare: return true;
	case OP_Pow: return rw_scalar(rw, rw_in(rw, n, 1), &c) && c == 2;
	case OP_Mul:
		if (rw_in(rw, n, 0) == rw_in(rw, n, 1))
			return true;
		return operands_never_below(rw, n, depth - 1);
	case OP_Add:
	case OP_Div: return operands_never_below(rw, n, depth - 1);
	case OP_ReduceMean:
	case OP_ReduceSum: return never_below_zero(rw, rw_in(rw, n, 0), depth - 1);
	default: return false;
	}
}

/* A root of -infinity is no number, that power of it infinity; a root of -0 is -0, that power 0. */
static const char *pow_to_mul(struct rewrite *rw, node_id n)
{
	enum { DEPTH = 6 };
	val_id x = rw_in(rw, n, 0);
	double c;

	if (!is_float(rw, n) || !rw_scalar(rw, rw_in(rw, n, 1), &c) || !rw_like_type(rw, x, result(rw, n)))
		return NO_MATCH;
	if (c == 2)
		return replace(rw, n, OP_Mul, x, x);
	if (c == 0.5)
		return never_below_zero(rw, x, DEPTH) ? replace(rw, n, OP_Sqrt, x, 0) : "its operand may be below 0, or -0";
	if (c == -1)
		return replace(rw, n, OP_Reciprocal, x, 0);
	return "the exponent is not 2, 1/2 or -1";
}

/* (x * a) * b, (x / a) * b, (x + a) + b and their like, scalars a and b. */
static const char *merge_scalars(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	enum opcode op = node(m, n)->op, inner_op;
	bool product = op == OP_Mul || op == OP_Div;
	val_id x, y;
	double a, b, both;
	node_id inner;

	if (!is_float(rw, n) || !rw_with_scalar(rw, n, &x, &b) || !(inner = rw_node_of(rw, x)))
		return NO_MATCH;
	inner_op = node(m, inner)->op;
	if (product ? inner_op != OP_Mul && inner_op != OP_Div : inner_op != OP_Add && inner_op != OP_Sub)
		return NO_MATCH;
	if (!rw_with_scalar(rw, inner, &y, &a))
		return NO_MATCH;
	if (rw_uses(rw, x) != 1)
		return "the node before it has other users";
	if (!rw_like_type(rw, y, result(rw, n)))
		return "broadcasting changes the shape, or it is not known";
	a = inner_op == OP_Div ? 1 / a : inner_op == OP_Sub ? -a : a;
	b = op == OP_Div ? 1 / b : op == OP_Sub ? -b : b;
	both = product ? a * b : a + b;
	if (product && a != 0 && b != 0 ? !holds_factor(rw, n, both) : !isfinite(rounded(rw, n, both)))
		return "the two constants in one leave the range of their type";
	return replace(rw, n, product ? OP_Mul : OP_Add, y, scalar(rw, n, both));
}

enum { MOVES_MAX = 8 }; /* Transposes and Reshapes between a factor and the MatMul it scales */

/* An operand that is a scalar factor k times x, moved. All of it is for one user alone. */
struct scaled {
	val_id x; /* 0: it is not */
	double k;
	int moves;
	node_id move[MOVES_MAX]; /* the last first */
};

static struct scaled scaled_operand(struct rewrite *rw, val_id v)
{
	struct scaled s = {.k = 1};
	node_id d;

	while (((d = rw_def1(rw, v, OP_Transpose)) || (d = rw_def1(rw, v, OP_Reshape))) && s.moves < MOVES_MAX) {
		s.move[s.moves++] = d;
		v = rw_in(rw, d, 0);
	}
	if (!(d = rw_def1(rw, v, OP_Mul)) || !rw_scalar_factor(rw, d, &s.x, &s.k))
		return (struct scaled){.k = 1};
	return s;
}

/* The operand without its factor, before n. */
static val_id unscaled(struct rewrite *rw, node_id n, const struct scaled *s)
{
	val_id v = s->x;

	for (int i = s->moves; i-- > 0;) {
		enum opcode op = node(rw_module(rw), s->move[i])->op;
		v = rw_node(rw, n, op, op == OP_Reshape ? 2 : 1, (val_id[]){v, rw_in(rw, s->move[i], 1)});
		rw_copy_attrs(rw, rw_node_of(rw, v), s->move[i]);
	}
	return v;
}

/* (a x)(b y) = ab (xy): a scale on small operands becomes an epilogue of the product. In f16 a scale below 1 is
 * there to keep the product in range. */
static const char *scale_after_matmul(struct rewrite *rw, node_id n)
{
	val_id in[2] = {rw_in(rw, n, 0), rw_in(rw, n, 1)}, v;
	struct scaled s[2] = {scaled_operand(rw, in[0]), scaled_operand(rw, in[1])};
	double k = s[0].k * s[1].k;

	if (!is_float(rw, n) || (!s[0].x && !s[1].x))
		return NO_MATCH;
	if (!holds_factor(rw, n, k) || (fabs(k) < 1 && rw_type(rw, result(rw, n))->dtype == DT_F16))
		return "the scale, or the product without it, may leave the range of its type";
	for (uint32_t i = 0; i < 2; i++)
		if (s[i].x)
			in[i] = unscaled(rw, n, &s[i]);
	v = rw_node(rw, n, OP_MatMul, 2, in);
	rw_replace(rw, result(rw, n), rw_node(rw, n, OP_Mul, 2, (val_id[]){v, scalar(rw, n, k)}));
	return NULL;
}

const struct rule rules_arith[] = {
	{"div-to-mul", OP_Div, div_to_mul, "division by a power of two becomes multiplication", MEASURE_WORK},
	{"pow-to-mul", OP_Pow, pow_to_mul, "x^2 becomes x x, x^-1 Reciprocal, x^(1/2) Sqrt where x is not below 0", MEASURE_WORK},
	{"merge-scalars", OP_Mul, merge_scalars, "two scalar factors or terms become one", MEASURE_WORK},
	{"merge-scalars", OP_Div, merge_scalars, "two scalar factors or terms become one", MEASURE_WORK},
	{"merge-scalars", OP_Add, merge_scalars, "two scalar factors or terms become one", MEASURE_WORK},
	{"merge-scalars", OP_Sub, merge_scalars, "two scalar factors or terms become one", MEASURE_WORK},
	{"scale-after-matmul", OP_MatMul, scale_after_matmul, "scalar factors of operands become one of the product", MEASURE_SCALED},
	{0},
};
