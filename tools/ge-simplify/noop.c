/* Nodes that change nothing. */
#include <string.h>
#include "op/op.h"
#include "rules.h"

static const char *bypass(struct rewrite *rw, node_id n) { return rw_bypass(rw, n, rw_in(rw, n, 0)); }

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

/* Result 1 of n, where there is one, is wanted. */
static bool second_wanted(struct rewrite *rw, node_id n)
{
	const struct node *x = node(rw_module(rw), n);

	return x->nout > 1 && x->out[1] && rw_uses(rw, x->out[1]);
}

/* Its mask, where that is wanted, has every element true. */
static const char *dropout(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	val_id x = rw_in(rw, n, 0), shape, mask;
	const int64_t one = 1;
	int64_t dims[RANK_MAX];

	for (uint32_t i = 1; i < node(m, n)->nin; i++)
		rw_in(rw, n, i);
	if (!dropout_keeps(m, node(m, n)))
		return rw_const(rw, rw_in(rw, n, 2)) ? "it is in training mode" : "training_mode is not constant";
	if (second_wanted(rw, n)) {
		if (rw_is_output(rw, result(rw, n)) && !rw_node_of(rw, x))
			return "its mask is used, and it computes a result of the graph";
		shape = type_dims(m, rw_type(rw, x), dims) ? rw_constant_ints(rw, rw_type(rw, x)->rank, dims)
							   : rw_node(rw, n, OP_Shape, 1, &x);
		mask = rw_node(rw, n, OP_ConstantOfShape, 1, &shape);
		struct tensor *t = tensor_new(&m->arena, DT_BOOL, 1, &one);
		tensor_set(t, 0, 1);
		attr_set(m, rw_node_of(rw, mask), (struct attr){.name = intern("value"), .kind = ATTR_TENSOR, .u.tensor = t});
		rw_replace(rw, node(m, n)->out[1], mask);
	}
	return rw_uses(rw, result(rw, n)) ? bypass(rw, n) : NULL;
}

/* Nodes that keep every element where it is if they keep the shape. */
static const char *same_shape(struct rewrite *rw, node_id n)
{
	if (!rw_same_type(rw, rw_in(rw, n, 0), result(rw, n)))
		return NO_MATCH;
	return bypass(rw, n);
}

static const char *cast(struct rewrite *rw, node_id n)
{
	const struct type *x = rw_type(rw, rw_in(rw, n, 0)), *y = rw_type(rw, result(rw, n));

	return x->dtype && x->dtype == y->dtype && !x->other && !y->other ? bypass(rw, n) : NO_MATCH;
}

static const char *slice(struct rewrite *rw, node_id n)
{
	int64_t step[RANK_MAX];
	int k = 0;

	if (rw_in(rw, n, 4) && (k = rw_ints(rw, rw_in(rw, n, 4), step, RANK_MAX)) < 0)
		return "steps are not constant";
	for (int i = 0; i < k; i++)
		if (step[i] != 1)
			return NO_MATCH;
	return same_shape(rw, n);
}

static const char *pad(struct rewrite *rw, node_id n)
{
	int64_t p[2 * RANK_MAX];
	int k = rw_ints(rw, rw_in(rw, n, 1), p, 2 * RANK_MAX);

	if (k < 0)
		return "pads are not constant";
	for (int i = 0; i < k; i++)
		if (p[i] != 0)
			return NO_MATCH;
	return bypass(rw, n);
}

static const char *one_operand(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->nin == 1 ? bypass(rw, n) : NO_MATCH; }

static const char *clip(struct rewrite *rw, node_id n) { return rw_in(rw, n, 1) || rw_in(rw, n, 2) ? NO_MATCH : bypass(rw, n); }

static bool all_are(struct rewrite *rw, struct tensor *t, double want)
{
	tensor_data(rw_module(rw), t);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++)
		if (tensor_get(t, i) != want)
			return false;
	return true;
}

/* In these modes a Resize to the same size by a scale of 1 reads each element where it is. Scales a little larger
 * may give the same size too; sizes that stretch make the scale. */
static const char *resize(struct rewrite *rw, node_id n)
{
	const struct node *x = node(rw_module(rw), n);
	val_id scales = rw_in(rw, n, 2), sizes = rw_in(rw, n, 3);
	struct tensor *t = scales ? rw_const(rw, scales) : NULL;
	const char *mode = attr_s(x, "mode");
	const char *coord = attr_s(x, "coordinate_transformation_mode");

	if (strcmp(mode, "nearest") && strcmp(mode, "linear"))
		return NO_MATCH;
	if (strcmp(coord, "half_pixel") && strcmp(coord, "asymmetric") && strcmp(coord, "align_corners"))
		return NO_MATCH;
	if (!rw_same_type(rw, rw_in(rw, n, 0), result(rw, n)))
		return NO_MATCH;
	if (scales && (!t || !dtype_is_float(t->dtype) || !all_are(rw, t, 1)))
		return "its scales are not all 1";
	if (sizes && strcmp(attr_s(x, "keep_aspect_ratio_policy"), "stretch"))
		return "its sizes keep an aspect ratio";
	return scales || sizes ? bypass(rw, n) : NO_MATCH;
}

/* x op c with c all equal to what leaves x as it is, and broadcasting that changes no shape. */
static const char *neutral(struct rewrite *rw, node_id n)
{
	enum opcode op = node(rw_module(rw), n)->op;
	double want = op == OP_Add || op == OP_Sub ? 0 : 1;
	bool either = op == OP_Add || op == OP_Mul;

	for (int i = 1; i >= !either; i--) {
		struct tensor *c = rw_const(rw, rw_in(rw, n, (uint32_t)i));
		val_id x = rw_in(rw, n, (uint32_t)(1 - i));
		if (!c || !(dtype_is_float(c->dtype) || dtype_is_int(c->dtype)) || !all_are(rw, c, want))
			continue;
		if (!rw_same_type(rw, x, result(rw, n)))
			return "broadcasting changes the shape";
		return rw_bypass(rw, n, x);
	}
	return NO_MATCH;
}

/* Where all take the same side. */
static const char *where(struct rewrite *rw, node_id n)
{
	struct tensor *c = rw_const(rw, rw_in(rw, n, 0));
	val_id side;

	if (!c || tensor_count(c) < 1)
		return NO_MATCH;
	tensor_data(rw_module(rw), c);
	side = rw_in(rw, n, tensor_get(c, 0) != 0 ? 1 : 2);
	for (int64_t i = 1; i < tensor_count(c); i++)
		if ((tensor_get(c, i) != 0) != (tensor_get(c, 0) != 0))
			return "its condition has both values";
	if (!rw_same_type(rw, side, result(rw, n)))
		return "broadcasting changes the shape";
	return rw_bypass(rw, n, side);
}

/* f(f(x)) is f(x). */
static const char *idempotent(struct rewrite *rw, node_id n)
{
	return rw_def(rw, rw_in(rw, n, 0), node(rw_module(rw), n)->op) ? bypass(rw, n) : NO_MATCH;
}

/* f(f(x)) is x. */
static const char *involution(struct rewrite *rw, node_id n)
{
	node_id inner = rw_def(rw, rw_in(rw, n, 0), node(rw_module(rw), n)->op);

	return inner ? rw_bypass(rw, n, rw_in(rw, inner, 0)) : NO_MATCH;
}

#define SAME "the result has the operand's type and elements"
const struct rule rules_noop[] = {
	{"identity", OP_Identity, bypass, "Identity goes", MEASURE_WORK},
	{"dropout", OP_Dropout, dropout, "Dropout outside training goes", MEASURE_WORK},
	{"same-cast", OP_Cast, cast, SAME, MEASURE_WORK},
	{"same-shape", OP_Reshape, same_shape, SAME, MEASURE_RESHAPED},
	{"same-shape", OP_Flatten, same_shape, SAME, MEASURE_WORK},
	{"same-shape", OP_Squeeze, same_shape, SAME, MEASURE_WORK},
	{"same-shape", OP_Unsqueeze, same_shape, SAME, MEASURE_WORK},
	{"same-shape", OP_Expand, same_shape, SAME, MEASURE_WORK},
	{"same-shape", OP_Tile, same_shape, SAME, MEASURE_WORK},
	{"same-slice", OP_Slice, slice, SAME, MEASURE_WORK},
	{"same-pad", OP_Pad, pad, SAME, MEASURE_WORK},
	{"same-resize", OP_Resize, resize, SAME, MEASURE_WORK},
	{"one-operand", OP_Concat, one_operand, "an operation on one operand goes", MEASURE_WORK},
	{"one-operand", OP_Sum, one_operand, "an operation on one operand goes", MEASURE_WORK},
	{"one-operand", OP_Max, one_operand, "an operation on one operand goes", MEASURE_WORK},
	{"one-operand", OP_Min, one_operand, "an operation on one operand goes", MEASURE_WORK},
	{"one-operand", OP_Mean, one_operand, "an operation on one operand goes", MEASURE_WORK},
	{"open-clip", OP_Clip, clip, "Clip without bounds goes", MEASURE_WORK},
	{"neutral", OP_Add, neutral, "x + 0, x - 0, x * 1, x / 1, x ^ 1 are x", MEASURE_WORK},
	{"neutral", OP_Sub, neutral, "x + 0, x - 0, x * 1, x / 1, x ^ 1 are x", MEASURE_WORK},
	{"neutral", OP_Mul, neutral, "x + 0, x - 0, x * 1, x / 1, x ^ 1 are x", MEASURE_WORK},
	{"neutral", OP_Div, neutral, "x + 0, x - 0, x * 1, x / 1, x ^ 1 are x", MEASURE_WORK},
	{"neutral", OP_Pow, neutral, "x + 0, x - 0, x * 1, x / 1, x ^ 1 are x", MEASURE_WORK},
	{"one-sided", OP_Where, where, "Where that takes one side everywhere is that side", MEASURE_WORK},
	{"twice", OP_Relu, idempotent, "doing it twice is doing it once", MEASURE_WORK},
	{"twice", OP_Abs, idempotent, "doing it twice is doing it once", MEASURE_WORK},
	{"twice", OP_Floor, idempotent, "doing it twice is doing it once", MEASURE_WORK},
	{"twice", OP_Ceil, idempotent, "doing it twice is doing it once", MEASURE_WORK},
	{"undone", OP_Neg, involution, "doing it twice undoes it", MEASURE_WORK},
	{"undone", OP_Not, involution, "doing it twice undoes it", MEASURE_WORK},
	{0},
};
