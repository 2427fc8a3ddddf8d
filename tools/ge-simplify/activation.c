/* Activations that exporters write out in several nodes. Each rule sees one product of factors, however
 * the multiplications are nested. */
#include <math.h>
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

/* Node n becomes op(x). */
static node_id become(struct rewrite *rw, node_id n, enum opcode op, val_id x)
{
	val_id v = rw_node(rw, n, op, 1, &x);

	rw_replace(rw, result(rw, n), v);
	return rw_node_of(rw, v);
}

/* The result takes the type of the product: x must have it already. */
static bool keeps_type(struct rewrite *rw, node_id n, val_id x) { return rw_like_type(rw, x, result(rw, n)); }

/* v is op(inner) that only we use, as a factor of p next to x. */
static node_id factor_by(struct rewrite *rw, const struct product *p, enum opcode op, val_id *x)
{
	*x = 0;
	for (int i = 0; p->n == 2 && i < 2; i++) {
		node_id d = rw_def1(rw, p->factor[i], op);
		if (d) {
			*x = p->factor[1 - i];
			return d;
		}
	}
	return 0;
}

/* n = inner + c, either way round. */
static node_id plus(struct rewrite *rw, node_id add, double c, enum opcode op)
{
	for (uint32_t i = 0; add && i < 2; i++)
		if (rw_is(rw, rw_in(rw, add, 1 - i), c, CONST_TOL))
			return rw_def1(rw, rw_in(rw, add, i), op);
	return 0;
}

/* x/2 * (1 + erf(x / sqrt 2)); Hendrycks and Gimpel 2016. */
static const char *gelu_erf(struct rewrite *rw, node_id n)
{
	struct product p, arg;
	val_id x;
	node_id erf;

	if (!product_of(rw, n, &p) || !(erf = plus(rw, factor_by(rw, &p, OP_Add, &x), 1, OP_Erf)))
		return NO_MATCH;
	if (fabs(p.k - 0.5) > CONST_TOL)
		return "a constant is not 1/2";
	if (!product_of_value(rw, rw_in(rw, erf, 0), &arg) || !product_is(&arg, M_SQRT1_2, CONST_TOL, x, 1))
		return "the operand of Erf is not x / sqrt(2)";
	if (!keeps_type(rw, n, x))
		return "the shape is not known";
	become(rw, n, OP_Gelu, x);
	return NULL;
}

/* v = x + 0.044715 x^3 times k, or x * (1 + 0.044715 x^2) times k: true, and k. */
static bool gelu_cubic(struct rewrite *rw, val_id v, val_id x, double *k)
{
	struct product p, q;

	if (!product_of_value(rw, v, &p) || p.n < 1 || p.n > 2)
		return false;
	*k = p.k;
	for (int i = 0; i < p.n; i++) {
		node_id add = rw_def1(rw, p.factor[i], OP_Add);
		if (!add || (p.n == 2 && p.factor[1 - i] != x))
			continue;
		for (uint32_t j = 0; j < 2; j++) {
			val_id a = rw_in(rw, add, j), b = rw_in(rw, add, 1 - j);
			bool one = p.n == 2 ? rw_is(rw, a, 1, CONST_TOL) : a == x;
			if (one && product_of_value(rw, b, &q) && product_is(&q, 0.044715, 1e-4, x, p.n == 2 ? 2 : 3))
				return true;
		}
	}
	return false;
}

static const char *gelu_tanh(struct rewrite *rw, node_id n)
{
	struct product p;
	val_id x;
	node_id tanh_;
	double k;

	if (!product_of(rw, n, &p) || !(tanh_ = plus(rw, factor_by(rw, &p, OP_Add, &x), 1, OP_Tanh)))
		return NO_MATCH;
	if (fabs(p.k - 0.5) > CONST_TOL)
		return "a constant is not 1/2";
	if (!gelu_cubic(rw, rw_in(rw, tanh_, 0), x, &k) || fabs(k - sqrt(2 / M_PI)) > 1e-4)
		return "the operand of Tanh is not sqrt(2/pi) (x + 0.044715 x^3)";
	if (!keeps_type(rw, n, x))
		return "the shape is not known";
	attr_set_str(rw_module(rw), become(rw, n, OP_Gelu, x), "approximate", "tanh");
	return NULL;
}

/* Clip(x + 3, 0, 6), or Clip of a Clip's bounds in another form: x, else 0. */
static val_id relu6_of_plus_3(struct rewrite *rw, node_id clip)
{
	node_id add;

	if (!clip || !rw_is(rw, rw_in(rw, clip, 1), 0, 0) || !rw_is(rw, rw_in(rw, clip, 2), 6, 0))
		return 0;
	add = rw_def1(rw, rw_in(rw, clip, 0), OP_Add);
	for (uint32_t i = 0; add && i < 2; i++)
		if (rw_is(rw, rw_in(rw, add, 1 - i), 3, 0))
			return rw_in(rw, add, i);
	return 0;
}

static const char *hard_sigmoid(struct rewrite *rw, node_id n)
{
	struct product p;
	val_id x;
	node_id h;

	if (!product_of(rw, n, &p) || p.n != 1 || fabs(p.k - 1.0 / 6) > CONST_TOL)
		return NO_MATCH;
	x = relu6_of_plus_3(rw, rw_def1(rw, p.factor[0], OP_Clip));
	if (!x || !keeps_type(rw, n, x))
		return NO_MATCH;
	h = become(rw, n, OP_HardSigmoid, x);
	attr_set_float(rw_module(rw), h, "alpha", 1.0f / 6);
	attr_set_float(rw_module(rw), h, "beta", 0.5f);
	return NULL;
}

/* x * relu6(x + 3) / 6; Howard et al. 2019. */
static const char *hard_swish(struct rewrite *rw, node_id n)
{
	struct product p;
	val_id x;
	node_id h;

	if (!product_of(rw, n, &p))
		return NO_MATCH;
	h = factor_by(rw, &p, OP_HardSigmoid, &x);
	if (h) {
		const struct node *a = node(rw_module(rw), h);
		if (fabs(p.k - 1) > CONST_TOL || rw_in(rw, h, 0) != x || fabs(attr_f(a, "alpha") - 1.0 / 6) > CONST_TOL ||
		    fabs(attr_f(a, "beta") - 0.5) > CONST_TOL)
			return "its factors are not x and max(0, min(1, x/6 + 1/2))";
	} else if (!(h = factor_by(rw, &p, OP_Clip, &x)) || relu6_of_plus_3(rw, h) != x) {
		return NO_MATCH;
	} else if (fabs(p.k - 1.0 / 6) > CONST_TOL) {
		return "a constant is not 1/6";
	}
	if (!keeps_type(rw, n, x))
		return "the shape is not known";
	become(rw, n, OP_HardSwish, x);
	return NULL;
}

/* x * sigmoid(a x); Ramachandran et al. 2017. */
static const char *swish(struct rewrite *rw, node_id n)
{
	struct product p, arg;
	val_id x;
	node_id s;

	if (!product_of(rw, n, &p) || !(s = factor_by(rw, &p, OP_Sigmoid, &x)) || p.k != 1)
		return NO_MATCH;
	if (!product_of_value(rw, rw_in(rw, s, 0), &arg) || arg.n != 1 || arg.factor[0] != x)
		return "the operand of Sigmoid is not the other factor";
	if (!keeps_type(rw, n, x))
		return "the shape is not known";
	s = become(rw, n, OP_Swish, x);
	if (arg.k != 1)
		attr_set_float(rw_module(rw), s, "alpha", (float)arg.k);
	return NULL;
}

/* x * tanh(softplus(x)); Misra 2019. */
/* Is v Softplus(x), or log(exp(x) + 1)? */
static bool is_softplus(struct rewrite *rw, val_id v, val_id x)
{
	node_id s = rw_def1(rw, v, OP_Softplus), l, add;
	val_id e;
	double c;

	if (s)
		return rw_in(rw, s, 0) == x;
	if (!(l = rw_def1(rw, v, OP_Log)) || !(add = rw_def1(rw, rw_in(rw, l, 0), OP_Add)) || !rw_with_scalar(rw, add, &e, &c) || c != 1)
		return false;
	return (s = rw_def1(rw, e, OP_Exp)) && rw_in(rw, s, 0) == x;
}

static const char *mish(struct rewrite *rw, node_id n)
{
	struct product p;
	val_id x;
	node_id t;

	if (!product_of(rw, n, &p) || !(t = factor_by(rw, &p, OP_Tanh, &x)) || p.k != 1)
		return NO_MATCH;
	if (!is_softplus(rw, rw_in(rw, t, 0), x) || !keeps_type(rw, n, x))
		return NO_MATCH;
	become(rw, n, OP_Mish, x);
	return NULL;
}

/* Relu is of signed types; where there is no sign, the maximum with 0 changes nothing. */
static bool has_relu(struct rewrite *rw, val_id x) { return dtype_is_signed(rw_type(rw, x)->dtype); }

static const char *clip_to_relu(struct rewrite *rw, node_id n)
{
	if (!has_relu(rw, rw_in(rw, n, 0)) || rw_in(rw, n, 2) || !rw_is(rw, rw_in(rw, n, 1), 0, 0))
		return NO_MATCH;
	become(rw, n, OP_Relu, rw_in(rw, n, 0));
	return NULL;
}

static const char *max_to_relu(struct rewrite *rw, node_id n)
{
	val_id x;
	double c;

	if (node(rw_module(rw), n)->nin != 2 || !rw_with_scalar(rw, n, &x, &c) || c != 0 || !keeps_type(rw, n, x) || !has_relu(rw, x))
		return NO_MATCH;
	become(rw, n, OP_Relu, x);
	return NULL;
}

/* The other bound is that of a node for this one alone: Max or Relu before Min, Min before Max. */
static const char *to_clip(struct rewrite *rw, node_id n)
{
	enum opcode op = node(rw_module(rw), n)->op, before = op == OP_Min ? OP_Max : OP_Min;
	val_id v, x;
	double bound[2] = {0}; /* of Min, of Max or Relu */
	node_id inner;

	if (node(rw_module(rw), n)->nin != 2 || !rw_with_scalar(rw, n, &v, &bound[op == OP_Max]) || !keeps_type(rw, n, v) ||
	    !dtype_is_float(rw_type(rw, v)->dtype))
		return NO_MATCH;
	if (op == OP_Min && (inner = rw_def1(rw, v, OP_Relu)))
		x = rw_in(rw, inner, 0);
	else if (!(inner = rw_def1(rw, v, before)) || node(rw_module(rw), inner)->nin != 2 ||
		 !rw_with_scalar(rw, inner, &x, &bound[before == OP_Max]) || !keeps_type(rw, inner, x))
		return NO_MATCH;
	if (!(bound[1] <= bound[0]))
		return "the lower bound is above the upper one";
	enum dtype t = rw_type(rw, x)->dtype;
	v = rw_node(rw, n, OP_Clip, 3, (val_id[]){x, rw_constant(rw, t, 0, NULL, &bound[1]), rw_constant(rw, t, 0, NULL, &bound[0])});
	rw_replace(rw, node(rw_module(rw), n)->out[0], v);
	return NULL;
}

const struct rule rules_activation[] = {
	{"gelu-erf", OP_Mul, gelu_erf, "x/2 (1 + erf(x/sqrt 2)) becomes Gelu", MEASURE_WORK},
	{"gelu-erf", OP_Div, gelu_erf, "x/2 (1 + erf(x/sqrt 2)) becomes Gelu", MEASURE_WORK},
	{"gelu-tanh", OP_Mul, gelu_tanh, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) becomes Gelu", MEASURE_WORK},
	{"hard-sigmoid", OP_Div, hard_sigmoid, "Clip(x + 3, 0, 6) / 6 becomes HardSigmoid", MEASURE_WORK},
	{"hard-sigmoid", OP_Mul, hard_sigmoid, "Clip(x + 3, 0, 6) / 6 becomes HardSigmoid", MEASURE_WORK},
	{"hard-swish", OP_Mul, hard_swish, "x Clip(x + 3, 0, 6) / 6 becomes HardSwish", MEASURE_WORK},
	{"hard-swish", OP_Div, hard_swish, "x Clip(x + 3, 0, 6) / 6 becomes HardSwish", MEASURE_WORK},
	{"swish", OP_Mul, swish, "x sigmoid(a x) becomes Swish", MEASURE_WORK},
	{"mish", OP_Mul, mish, "x tanh(softplus(x)) becomes Mish", MEASURE_WORK},
	{"to-clip", OP_Min, to_clip, "min(max(x, a), b) becomes Clip", MEASURE_WORK},
	{"to-clip", OP_Max, to_clip, "min(max(x, a), b) becomes Clip", MEASURE_WORK},
	{"relu", OP_Clip, clip_to_relu, "max(x, 0) becomes Relu", MEASURE_WORK},
	{"relu", OP_Max, max_to_relu, "max(x, 0) becomes Relu", MEASURE_WORK},
	{0},
};
