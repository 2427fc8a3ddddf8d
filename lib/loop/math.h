/* Functions of stage bodies, a row each: name, arity, evaluator in double, error bound, and C text for scalars
 * and vectors. */
#ifndef HONE_MATH_H
#define HONE_MATH_H
#include <stdbool.h>
#include <stdio.h>
#include "graph/types.h"

/* X(id, "name", arity). Comparisons and logic give bool; select(c, a, b); round is to nearest even; max and min hand
 * on NaN; max2 and min2 are their second operand where either is NaN. nibble(a, b), of integers: the four bits of a from bit b on.
 * over(a, b, c): the quotient a / b, where c is 1 / b as f32 rounds it, and 0 if b is infinite; the quotient is normal or 0.
 * Of integers, too: bits, shl and shr; they shift by any number, taken as unsigned: beyond 63 nothing is left but the sign. */
/* clang-format off */
#define MATH_FNS(X) \
	X(ADD, "add", 2) X(SUB, "sub", 2) X(MUL, "mul", 2) X(DIV, "div", 2) \
	X(MAX, "max", 2) X(MIN, "min", 2) X(POW, "pow", 2) X(MOD, "mod", 2) \
	X(MAX2, "max2", 2) X(MIN2, "min2", 2) \
	X(NEG, "neg", 1) X(ABS, "abs", 1) X(SQRT, "sqrt", 1) X(RSQRT, "rsqrt", 1) \
	X(RECIP, "recip", 1) X(EXP, "exp", 1) X(LOG, "log", 1) X(TANH, "tanh", 1) \
	X(SIGMOID, "sigmoid", 1) X(ERF, "erf", 1) X(SIN, "sin", 1) X(COS, "cos", 1) \
	X(FLOOR, "floor", 1) X(CEIL, "ceil", 1) X(ROUND, "round", 1) X(SIGN, "sign", 1) \
	X(EQ, "eq", 2) X(NE, "ne", 2) X(LT, "lt", 2) X(LE, "le", 2) X(GT, "gt", 2) X(GE, "ge", 2) \
	X(AND, "and", 2) X(OR, "or", 2) X(XOR, "xor", 2) X(NOT, "not", 1) X(SELECT, "select", 3) \
	X(NIBBLE, "nibble", 2) X(BITAND, "bitand", 2) X(BITOR, "bitor", 2) X(BITXOR, "bitxor", 2) X(BITNOT, "bitnot", 1) \
	X(SHL, "shl", 2) X(SHR, "shr", 2) X(OVER, "over", 3) \
	X(ACOS, "acos", 1) X(ACOSH, "acosh", 1) X(ASIN, "asin", 1) X(ASINH, "asinh", 1) X(ATAN, "atan", 1) X(ATANH, "atanh", 1)
/* clang-format on */

enum math_fn {
	FN_NONE,
#define X(id, name, arity) FN_##id,
	MATH_FNS(X)
#undef X
		FN_COUNT
};

struct math_row {
	const char *name;
	int arity;
	double (*eval)(double a, double b, double c); /* in double; what the interpreter uses */
	double ulps;                                  /* error bound of the emitted float code, in units in the last place */
	const char *scalar; /* C expression, operands as %a %b %c, %t the element type, %f libm's suffix: "max_%t(%a, %b)" */
	const char *vector; /* C expression on vectors of float (NULL: of integers only); may call a helper of the prelude */
	const char *helper; /* prelude text this needs (a static inline function, in vector extensions), or NULL */
	enum math_fn needs; /* a row whose helper this one's calls, or FN_NONE */
	const char *whole;  /* C expression on vectors of int of 32 bits (generic/typed.c of lib/target), or NULL */
	const char *mask;   /* on masks: operands and result are bool; or NULL */
};
const struct math_row *math_row(enum math_fn f);
/* What the lanes of a vector are for values of type t: as many of 32 bits whatever t is. Of narrow integers they hold the value. */
enum lane_type { LANE_NONE /* no vectors of it */, LANE_FLOAT, LANE_INT, LANE_BOOL /* a mask */ };
enum lane_type math_lanes(enum dtype t);
/* Has f vectors where its operands (of select: the last two) are of type t? */
bool math_in_lanes(enum math_fn f, enum dtype t);
/* The value of f on numbers of a floating type. */
double math_eval(enum math_fn f, double a, double b, double c);
/* On integers and bools of type t, by their bits: sums wrap, div truncates, mod has the divisor's sign (floats: the dividend's), by 0
 * gives 0, also 0 to a negative power; comparisons and logic give 0 or 1. */
int64_t math_eval_int(enum math_fn f, enum dtype t, int64_t a, int64_t b);
/* The nearest integer of type t; what is out of range is the lowest or the highest, NaN 0. */
int64_t math_whole(enum dtype t, double v);
int64_t math_wrap(enum dtype t, int64_t v); /* low bits; bool: is it not 0? */
#endif
