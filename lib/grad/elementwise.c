/* Derivatives of elementwise operators. */
#include <math.h>
#include <string.h>
#include "grad/rows.h"

static val_id squared(const struct chain *c, val_id v) { return mul(c, v, v); }
static val_id greater(const struct chain *c, val_id a, double b) { return bin(c, OP_Greater, a, number(c, b)); }
static val_id sigmoid(const struct chain *c, val_id v) { return un(c, OP_Sigmoid, v); }
/* g where a is above b, else other. */
static val_id above(const struct chain *c, double b, val_id other) { return where(c, greater(c, c->a, b), c->g, other); }

/* ---- arithmetic ---- */

val_id grad_by_pass(struct chain *c, int i) { return c->g; }
val_id grad_by_sub(struct chain *c, int i) { return i ? neg(c, c->g) : c->g; }
val_id grad_by_mul(struct chain *c, int i) { return mul(c, c->g, i ? c->a : c->b); }
val_id grad_by_div(struct chain *c, int i) { return i ? neg(c, over(c, mul(c, c->g, c->y), c->b)) : over(c, c->g, c->b); }
val_id grad_by_neg(struct chain *c, int i) { return neg(c, c->g); }
val_id grad_by_abs(struct chain *c, int i) { return mul(c, c->g, un(c, OP_Sign, c->a)); }
val_id grad_by_sqrt(struct chain *c, int i) { return over(c, c->g, add(c, c->y, c->y)); }
val_id grad_by_reciprocal(struct chain *c, int i) { return neg(c, mul(c, c->g, squared(c, c->y))); }
val_id grad_by_mean_of(struct chain *c, int i) { return mul(c, c->g, number(c, 1.0 / c->n->nin)); }

val_id grad_by_pow(struct chain *c, int i)
{
	if (i)
		return mul(c, c->g, mul(c, c->y, un(c, OP_Log, c->a)));
	return mul(c, c->g, mul(c, cast(c, c->b, c->t), bin(c, OP_Pow, c->a, sub(c, cast(c, c->b, c->t), number(c, 1)))));
}

val_id grad_by_cast(struct chain *c, int i) { return cast(c, c->g, grad_type(c->d, c->a)->dtype); }

/* ---- exponentials, angles ---- */

val_id grad_by_exp(struct chain *c, int i) { return mul(c, c->g, c->y); }
val_id grad_by_log(struct chain *c, int i) { return over(c, c->g, c->a); }
val_id grad_by_sin(struct chain *c, int i) { return mul(c, c->g, un(c, OP_Cos, c->a)); }
val_id grad_by_cos(struct chain *c, int i) { return neg(c, mul(c, c->g, un(c, OP_Sin, c->a))); }
val_id grad_by_tan(struct chain *c, int i) { return mul(c, c->g, add(c, number(c, 1), squared(c, c->y))); }
val_id grad_by_sinh(struct chain *c, int i) { return mul(c, c->g, un(c, OP_Cosh, c->a)); }
val_id grad_by_cosh(struct chain *c, int i) { return mul(c, c->g, un(c, OP_Sinh, c->a)); }
val_id grad_by_tanh(struct chain *c, int i) { return mul(c, c->g, sub(c, number(c, 1), squared(c, c->y))); }
/* g / sqrt(sign * a^2 + k) */
static val_id over_root(const struct chain *c, double k, double sign)
{
	val_id a2 = squared(c, c->a);

	return over(c, c->g, un(c, OP_Sqrt, sign < 0 ? sub(c, number(c, k), a2) : add(c, number(c, k), a2)));
}
val_id grad_by_asin(struct chain *c, int i) { return over_root(c, 1, -1); }
val_id grad_by_acos(struct chain *c, int i) { return neg(c, over_root(c, 1, -1)); }
val_id grad_by_asinh(struct chain *c, int i) { return over_root(c, 1, 1); }
val_id grad_by_acosh(struct chain *c, int i) { return over_root(c, -1, 1); }
val_id grad_by_atan(struct chain *c, int i) { return over(c, c->g, add(c, number(c, 1), squared(c, c->a))); }
val_id grad_by_atanh(struct chain *c, int i) { return over(c, c->g, sub(c, number(c, 1), squared(c, c->a))); }
val_id grad_by_erf(struct chain *c, int i) { return mul(c, c->g, mul(c, number(c, M_2_SQRTPI), un(c, OP_Exp, neg(c, squared(c, c->a))))); }

/* ---- activations ---- */

val_id grad_by_relu(struct chain *c, int i) { return above(c, 0, number(c, 0)); }
val_id grad_by_leaky_relu(struct chain *c, int i) { return above(c, 0, mul(c, c->g, number(c, attr_f(c->n, "alpha")))); }
val_id grad_by_thresholded_relu(struct chain *c, int i) { return above(c, attr_f(c->n, "alpha"), number(c, 0)); }
val_id grad_by_sigmoid(struct chain *c, int i) { return mul(c, c->g, mul(c, c->y, sub(c, number(c, 1), c->y))); }
val_id grad_by_softplus(struct chain *c, int i) { return mul(c, c->g, sigmoid(c, c->a)); }

val_id grad_by_softsign(struct chain *c, int i) { return over(c, c->g, squared(c, add(c, number(c, 1), un(c, OP_Abs, c->a)))); }

/* Below zero the result is alpha * (exp(x) - 1), so its derivative is the result plus alpha. */
val_id grad_by_elu(struct chain *c, int i) { return above(c, 0, mul(c, c->g, add(c, c->y, number(c, attr_f(c->n, "alpha"))))); }

val_id grad_by_celu(struct chain *c, int i)
{
	return above(c, 0, mul(c, c->g, un(c, OP_Exp, over(c, c->a, number(c, attr_f(c->n, "alpha"))))));
}

val_id grad_by_selu(struct chain *c, int i)
{
	double gamma = attr_f(c->n, "gamma"), alpha = attr_f(c->n, "alpha");

	return where(c, greater(c, c->a, 0), mul(c, c->g, number(c, gamma)), mul(c, c->g, add(c, c->y, number(c, gamma * alpha))));
}

val_id grad_by_prelu(struct chain *c, int i)
{
	return i ? where(c, greater(c, c->a, 0), number(c, 0), mul(c, c->g, c->a)) : above(c, 0, mul(c, c->g, c->b));
}

/* Is a within lo and hi, both open? */
static val_id within(const struct chain *c, double lo, double hi)
{
	return bin(c, OP_And, greater(c, c->a, lo), bin(c, OP_Less, c->a, number(c, hi)));
}

val_id grad_by_hard_sigmoid(struct chain *c, int i)
{
	double alpha = attr_f(c->n, "alpha"), beta = attr_f(c->n, "beta");

	if (alpha <= 0)
		return refused(c, "alpha is not above 0");
	return where(c, within(c, -beta / alpha, (1 - beta) / alpha), mul(c, c->g, number(c, alpha)), number(c, 0));
}

val_id grad_by_hard_swish(struct chain *c, int i)
{
	val_id slope = add(c, over(c, c->a, number(c, 3)), number(c, 0.5));

	return where(c, within(c, -3, 3), mul(c, c->g, slope), where(c, greater(c, c->a, 0), c->g, number(c, 0)));
}

val_id grad_by_swish(struct chain *c, int i)
{
	val_id alpha = number(c, attr_f(c->n, "alpha")), s = sigmoid(c, mul(c, alpha, c->a));

	return mul(c, c->g, add(c, s, mul(c, mul(c, alpha, c->y), sub(c, number(c, 1), s))));
}

val_id grad_by_mish(struct chain *c, int i)
{
	val_id t = un(c, OP_Tanh, un(c, OP_Softplus, c->a));

	return mul(c, c->g, add(c, t, mul(c, c->a, mul(c, sigmoid(c, c->a), sub(c, number(c, 1), squared(c, t))))));
}

static val_id gelu_tanh(struct chain *c)
{
	const double k = sqrt(2 / M_PI), cubic = 0.044715; /* as ONNX has it */
	val_id a2 = squared(c, c->a), inner = mul(c, mul(c, number(c, k), c->a), add(c, number(c, 1), mul(c, number(c, cubic), a2)));
	val_id t = un(c, OP_Tanh, inner), inside = mul(c, number(c, k), add(c, number(c, 1), mul(c, number(c, 3 * cubic), a2)));
	val_id rest = mul(c, c->a, mul(c, sub(c, number(c, 1), squared(c, t)), inside));

	return mul(c, c->g, mul(c, number(c, 0.5), add(c, add(c, number(c, 1), t), rest)));
}

val_id grad_by_gelu(struct chain *c, int i)
{
	if (!strcmp(attr_s(c->n, "approximate"), "tanh"))
		return gelu_tanh(c);
	val_id cdf = mul(c, number(c, 0.5), add(c, number(c, 1), un(c, OP_Erf, mul(c, c->a, number(c, M_SQRT1_2)))));
	val_id pdf = mul(c, number(c, M_2_SQRTPI * M_SQRT1_2 / 2), un(c, OP_Exp, mul(c, number(c, -0.5), squared(c, c->a))));
	return mul(c, c->g, add(c, cdf, mul(c, c->a, pdf)));
}

/* ---- choices ---- */

/* The first of equal operands is the one that was taken. */
val_id grad_by_extreme(struct chain *c, int i)
{
	val_id is = bin(c, OP_Equal, c->in[i], c->y);

	for (int k = 0; k < i; k++)
		is = bin(c, OP_And, is, un(c, OP_Not, bin(c, OP_Equal, c->in[k], c->y)));
	return where(c, is, c->g, number(c, 0));
}

val_id grad_by_clip(struct chain *c, int i)
{
	val_id lo = c->n->nin > 1 ? c->in[1] : 0, hi = c->n->nin > 2 ? c->in[2] : 0, is = 0;

	if (i)
		return refused(c, "a bound is computed of what is differentiated by");
	if (lo)
		is = bin(c, OP_GreaterOrEqual, c->a, lo);
	if (hi) {
		val_id below = bin(c, OP_LessOrEqual, c->a, hi);
		is = is ? bin(c, OP_And, is, below) : below;
	}
	return is ? where(c, is, c->g, number(c, 0)) : c->g;
}

val_id grad_by_where(struct chain *c, int i)
{
	if (!i)
		return 0;
	return i == 1 ? where(c, c->a, c->g, number(c, 0)) : where(c, c->a, number(c, 0), c->g);
}

val_id grad_by_dropout(struct chain *c, int i)
{
	if (i)
		return 0;
	return dropout_keeps(module_of(c), c->n) ? c->g : refused(c, "it drops elements");
}
