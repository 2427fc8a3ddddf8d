/* Activations of com.microsoft, alone, behind a sum, and as an attribute of an operator. */
#include <string.h>
#include "onnx/contrib/rows.h"

static val_id gelu(struct contrib *x, val_id v, const char *approximate)
{
	v = un(x, OP_Gelu, v);
	if (approximate)
		attr_set_str(x->m, made(x, v), "approximate", approximate);
	return v;
}

/* Operand 0, and operand 1 where it is given. */
static val_id biased(struct contrib *x) { return operand(x, 1) ? bin(x, OP_Add, operand(x, 0), operand(x, 1)) : operand(x, 0); }

static bool exact_gelu(struct contrib *x) { return done(x, gelu(x, biased(x), NULL)); }
static bool fast_gelu(struct contrib *x) { return done(x, gelu(x, biased(x), "tanh")); }

static bool quick_gelu(struct contrib *x)
{
	return done(x, with_float(x, un(x, OP_Swish, operand(x, 0)), "alpha", attr_float(self(x), "alpha", 1.702f)));
}

static bool gemm_fast_gelu(struct contrib *x)
{
	val_id v = bin(x, OP_MatMul, operand(x, 0), operand(x, 1));

	return done(x, gelu(x, operand(x, 2) ? bin(x, OP_Add, v, operand(x, 2)) : v, "tanh"));
}

static bool bias_add(struct contrib *x) { return done(x, bin(x, OP_Add, biased(x), operand(x, 2))); }

/* The left half of the numbers times Gelu of the right half. */
static bool bias_split_gelu(struct contrib *x)
{
	const val_id *half = contrib_split(x, biased(x), -1, 2, NULL);

	return done(x, bin(x, OP_Mul, half[0], gelu(x, half[1], NULL)));
}

/* Softmax over all axes from `axis` on. */
static bool bias_softmax(struct contrib *x)
{
	int64_t axis = attr_int(self(x), "axis", 1);
	int rank = contrib_rank(x, operand(x, 0));
	val_id s, y;

	if (rank < 1)
		return false;
	if (axis < -rank || axis >= rank)
		import_die(x->c, "axis %lld of rank %d", (long long)axis, rank);
	s = biased(x);
	if ((axis < 0 ? axis + rank : axis) == rank - 1)
		return done(x, with_int(x, un(x, OP_Softmax, s), "axis", -1));
	y = with_int(x, un(x, OP_Flatten, s), "axis", axis);
	y = with_int(x, un(x, OP_Softmax, y), "axis", -1);
	return done(x, contrib_shaped_like(x, OP_Reshape, y, operand(x, 0)));
}

/* ---- as an attribute ---- */

static const struct activation {
	const char *name;
	enum opcode op;
	const char *number[2]; /* its attributes, in the order of their numbers */
} activations[] = {
	{"Affine", OP_OTHER, {"alpha", "beta"}}, /* alpha x + beta */
	{"Celu", OP_Celu, {"alpha"}},
	{"Clip", OP_Clip, {0}}, /* from alpha to beta */
	{"Elu", OP_Elu, {"alpha"}},
	{"HardSigmoid", OP_HardSigmoid, {"alpha", "beta"}},
	{"HardSwish", OP_HardSwish, {0}},
	{"LeakyRelu", OP_LeakyRelu, {"alpha"}},
	{"Relu", OP_Relu, {0}},
	{"Selu", OP_Selu, {"alpha", "gamma"}},
	{"Sigmoid", OP_Sigmoid, {0}},
	{"Softplus", OP_Softplus, {0}},
	{"Softsign", OP_Softsign, {0}},
	{"Tanh", OP_Tanh, {0}},
	{"ThresholdedRelu", OP_ThresholdedRelu, {"alpha"}},
};

static const struct activation *activation_of(struct contrib *x)
{
	const char *name = attr_str(self(x), "activation", "");

	for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
		if (!strcmp(activations[i].name, name))
			return &activations[i];
	return NULL;
}

bool contrib_activation_known(struct contrib *x)
{
	const char *name = attr_str(self(x), "activation", "");

	return !*name || !strcmp(name, "Identity") || activation_of(x);
}

/* Number k of the activation; false: it is not given. */
static bool number_of(struct contrib *x, const char *name, int k, double *v)
{
	char full[32];
	int n;
	const float *all = attr_floats(self(x), "activation_params", &n);

	snprintf(full, sizeof full, "activation_%s", name);
	if (all && k < n)
		*v = all[k];
	else if (attr_find(self(x), full))
		*v = attr_float(self(x), full, 0);
	else
		return false;
	return true;
}

val_id contrib_activated(struct contrib *x, val_id v)
{
	const struct activation *a = activation_of(x);
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;
	double lo = 0, hi = 0, n;

	if (!a)
		return v;
	if (a->op == OP_Clip || a->op == OP_OTHER) {
		bool low = number_of(x, "alpha", 0, &lo), high = number_of(x, "beta", 1, &hi);
		val_id first = low ? contrib_scalar(x, t, lo) : 0, second = high ? contrib_scalar(x, t, hi) : 0;
		if (a->op == OP_Clip)
			return tri(x, OP_Clip, v, first, second);
		v = low ? bin(x, OP_Mul, v, first) : v;
		return high ? bin(x, OP_Add, v, second) : v;
	}
	v = un(x, a->op, v);
	for (int k = 0; k < 2 && a->number[k]; k++)
		if (number_of(x, a->number[k], k, &n))
			with_float(x, v, a->number[k], n);
	return v;
}

const struct contrib_row contrib_activations[] = {
	{"BiasAdd", 3, bias_add},
	{"BiasGelu", 2, exact_gelu},
	{"BiasSoftmax", 2, bias_softmax},
	{"BiasSplitGelu", 2, bias_split_gelu},
	{"FastGelu", 1, fast_gelu},
	{"Gelu", 1, exact_gelu},
	{"GemmFastGelu", 2, gemm_fast_gelu},
	{"QuickGelu", 1, quick_gelu},
	{0},
};
