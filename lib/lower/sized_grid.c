/* How many sizes a symbol must be tried at, so that they say what a number is at all others.
 *
 * Lowering makes numbers from the sizes that it sees by adding, multiplying and dividing by constants: strides and counts are products of
 * sizes of one value, each used once, and a window's positions are quotients. In each residue class of the symbols, for the period of the
 * quotients in the sizes, such a number is a polynomial whose degree in a symbol is at most that of a value's product of sizes. A polynomial
 * of degree d[k] in symbol k is determined by its values on a grid of d[k] + 1 points for each k. So two that agree on such a grid in every
 * class agree everywhere.
 *
 * Sizes that are one quotient of a symbol and nothing else are seen as a variable of their own: only multiples of its divisor are tried. */
#include "lower/sized_impl.h"

/* What is found in the sizes of a symbol. */
struct found {
	poly_var symbol;
	int64_t step;   /* what all its quotients divide by; 1 where it stands outside of one; 0: nothing seen yet */
	int64_t period; /* a multiple of what each divides by; 0: too large */
};

static void add(struct found *x, int64_t step, int64_t period)
{
	enum { PERIOD_MAX = 1 << 12 };

	x->step = sized_gcd(x->step, step);
	x->period = x->period / sized_gcd(x->period, period) * period;
	x->period = x->period > PERIOD_MAX ? 0 : x->period;
	if (!x->period)
		x->period = PERIOD_MAX; /* no grid has so many */
}

/* Is e the symbol and numbers that do not vary? */
static bool is_shifted(struct polys *P, poly e, poly_var symbol)
{
	int64_t coef;
	poly rest;

	return poly_linear_in(P, e, symbol, &coef, &rest) && coef == 1 && poly_is_const(P, rest, NULL);
}

/* by: what the quotients around e divide by, together. plain: each is of the one inside it and numbers. Returns the degree in the symbol. */
static int look(struct polys *P, poly e, int64_t by, bool plain, struct found *x)
{
	const uint32_t *atom;
	int most = 0;

	for (int i = 0, n; i < poly_nterms(P, e); i++) {
		int degree = 0;
		poly_term(P, e, i, &n, &atom);
		for (int k = 0; k < n; k++) {
			poly_term(P, e, i, &n, &atom);
			struct poly_atom a = *poly_atom(P, atom[k]);
			if (a.kind == POLY_VAR) {
				degree += a.var == x->symbol;
				if (a.var == x->symbol)
					add(x, plain ? by : 1, by);
			} else if (a.kind == POLY_FLOOR) {
				bool deeper = plain && by < 1 << 12 && is_shifted(P, a.a, x->symbol);
				degree += look(P, a.a, by < 1 << 12 ? by * a.c : by, deeper, x);
			} else {
				int d = look(P, a.a, by, false, x), b = look(P, a.b, by, false, x);
				degree += d > b ? d : b;
			}
		}
		most = degree > most ? degree : most;
	}
	return most;
}

struct sized_axis sized_axis(struct polys *P, poly_var symbol, size_t n, const int *rank, dim *const *size)
{
	struct found x = {symbol, 0, 1};
	int degree = 1;

	for (size_t i = 0; i < n; i++) {
		int sum = 0;
		for (int d = 0; d < rank[i]; d++)
			sum += look(P, size[i][d], 1, true, &x);
		degree = sum > degree ? sum : degree;
	}
	int64_t step = x.step ? x.step : 1;
	return (struct sized_axis){step, x.period / sized_gcd(x.period, step) * (degree + 1)};
}
