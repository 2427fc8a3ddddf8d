/* Opsets before 13: what nodes need of them, and how they are said there. The mirror of convert.c. */
#include <stdlib.h>
#include <string.h>
#include "onnx/opsets.h"
#include "op/op.h"

#define BIT(t)   (1u << (t))
#define FLOATS   (BIT(DT_F16) | BIT(DT_F32) | BIT(DT_F64))
#define ANY      ~0u
#define NO_FLOAT ~FLOATS
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Operators, and element types of operand 0, that came with opsets 8 to 13. */
static const struct {
	enum opcode op;
	uint8_t since;
	uint32_t types;
} arrivals[] = {
	{OP_Acosh, 9, ANY},
	{OP_Asinh, 9, ANY},
	{OP_Atanh, 9, ANY},
	{OP_BitShift, 11, ANY},
	{OP_Cast, 9, BIT(DT_STR)},
	{OP_Celu, 12, ANY},
	{OP_Clip, 12, NO_FLOAT},
	{OP_Compress, 9, ANY},
	{OP_ConcatFromSequence, 11, ANY},
	{OP_ConstantOfShape, 9, ANY},
	{OP_ConvInteger, 10, ANY},
	{OP_Cosh, 9, ANY},
	{OP_CumSum, 11, ANY},
	{OP_DequantizeLinear, 10, ANY},
	{OP_Det, 11, ANY},
	{OP_DynamicQuantizeLinear, 11, ANY},
	{OP_Einsum, 12, ANY},
	{OP_Equal, 11, ~(BIT(DT_BOOL) | BIT(DT_I32) | BIT(DT_I64))},
	{OP_Erf, 9, ANY},
	{OP_Expand, 8, ANY},
	{OP_EyeLike, 9, ANY},
	{OP_Flatten, 9, NO_FLOAT},
	{OP_GatherElements, 11, ANY},
	{OP_GatherND, 11, ANY},
	{OP_Gemm, 9, NO_FLOAT},
	{OP_Greater, 9, NO_FLOAT},
	{OP_GreaterOrEqual, 12, ANY},
	{OP_IsInf, 10, ANY},
	{OP_IsNaN, 9, ANY},
	{OP_Less, 9, NO_FLOAT},
	{OP_LessOrEqual, 12, ANY},
	{OP_MatMul, 9, NO_FLOAT},
	{OP_MatMulInteger, 10, ANY},
	{OP_Max, 12, NO_FLOAT},
	{OP_MaxPool, 12, NO_FLOAT},
	{OP_MaxUnpool, 9, ANY},
	{OP_MeanVarianceNormalization, 9, ANY},
	{OP_Min, 12, NO_FLOAT},
	{OP_Mod, 10, ANY},
	{OP_NegativeLogLikelihoodLoss, 12, ANY},
	{OP_NonMaxSuppression, 10, ANY},
	{OP_NonZero, 9, ANY},
	{OP_OneHot, 9, ANY},
	{OP_PRelu, 9, NO_FLOAT},
	{OP_Pad, 11, NO_FLOAT},
	{OP_Pad, 13, BIT(DT_BOOL) | BIT(DT_STR) | BIT(DT_C64) | BIT(DT_C128)},
	{OP_Pow, 12, NO_FLOAT},
	{OP_QLinearConv, 10, ANY},
	{OP_QLinearMatMul, 10, ANY},
	{OP_QuantizeLinear, 10, ANY},
	{OP_Range, 11, ANY},
	{OP_ReduceMax, 12, BIT(DT_U8) | BIT(DT_I8)},
	{OP_ReduceMin, 12, BIT(DT_U8) | BIT(DT_I8)},
	{OP_ReverseSequence, 10, ANY},
	{OP_RoiAlign, 10, ANY},
	{OP_Round, 11, ANY},
	{OP_Scan, 9, ANY},
	{OP_ScatterElements, 9, ANY},
	{OP_ScatterND, 11, ANY},
	{OP_SequenceAt, 11, ANY},
	{OP_SequenceConstruct, 11, ANY},
	{OP_SequenceEmpty, 11, ANY},
	{OP_SequenceErase, 11, ANY},
	{OP_SequenceInsert, 11, ANY},
	{OP_SequenceLength, 11, ANY},
	{OP_Shrink, 9, ANY},
	{OP_Sign, 9, ANY},
	{OP_Sinh, 9, ANY},
	{OP_SoftmaxCrossEntropyLoss, 12, ANY},
	{OP_SplitToSequence, 11, ANY},
	{OP_StringNormalizer, 10, ANY},
	{OP_TfIdfVectorizer, 9, ANY},
	{OP_ThresholdedRelu, 10, ANY},
	{OP_TopK, 11, NO_FLOAT},
	{OP_Unique, 11, ANY},
	{OP_Where, 9, ANY},
};

/* Attributes that came then, with the value that means what it was before. */
static const struct {
	enum opcode op;
	uint8_t since;
	const char *name, *neutral;
} attributes[] = {
	{OP_ArgMax, 12, "select_last_index", "0"},
	{OP_ArgMin, 12, "select_last_index", "0"},
	{OP_AveragePool, 10, "ceil_mode", "0"},
	{OP_DepthToSpace, 11, "mode", "DCR"},
	{OP_GatherND, 12, "batch_dims", "0"},
	{OP_MaxPool, 8, "storage_order", "0"},
	{OP_MaxPool, 10, "ceil_mode", "0"},
	{OP_MaxPool, 10, "dilations", "1"},
	{OP_TopK, 11, "largest", "1"},
	{OP_TopK, 11, "sorted", "1"},
};

/* ---- looking ---- */

static bool given(const struct node *n, uint32_t i) { return i < n->nin && n->in[i]; }

static bool constant(struct module *m, const struct node *n, uint32_t i) { return !given(n, i) || node_const(m, n, i); }

static const struct type *type_in(struct module *m, const struct node *n, uint32_t i) { return &val(m, n->in[i])->type; }

/* Operand i as a number that f32 holds, if it is one constant number. */
static bool number(struct module *m, const struct node *n, uint32_t i, float *x)
{
	struct tensor *t = given(n, i) ? node_const(m, n, i) : NULL;
	if (!t || tensor_count(t) != 1 || !(dtype_is_float(t->dtype) || dtype_is_int(t->dtype)))
		return false;
	tensor_data(m, t);
	*x = (float)tensor_get(t, 0);
	return (double)*x == tensor_get(t, 0);
}

/* ---- changing ---- */

static void keep_operands(struct node *n, uint32_t count) { n->nin = n->nin < count ? n->nin : count; }

static void set_operand(struct module *m, struct node *n, uint32_t i, val_id v)
{
	if (i >= n->nin) {
		val_id *in = ARENA_ARRAY(&m->arena, val_id, i + 1);
		memcpy(in, n->in, n->nin * sizeof *in);
		n->in = in;
		n->nin = i + 1;
	}
	n->in[i] = v;
}

/* Integer operand i becomes an attribute. */
static void to_ints(struct module *m, node_id id, uint32_t i, const char *name)
{
	struct tensor *t = given(node(m, id), i) ? node_const(m, node(m, id), i) : NULL;
	if (!t)
		return;
	int64_t count = tensor_count(t), *v = ARENA_ARRAY(&m->arena, int64_t, count + 1);
	tensor_ints(m, t, v, (int)count);
	attr_set_ints(m, id, name, (int)count, v);
}

/* ---- operators of which no table says it ---- */

static int axes_needs(struct module *m, const struct node *n) { return constant(m, n, 1) ? OPSET_OLDEST : 13; }

static int squeeze_needs(struct module *m, const struct node *n) { return given(n, 1) ? axes_needs(m, n) : OPSET_OLDEST; }

static void axes_lower(struct module *m, node_id id, int opset)
{
	to_ints(m, id, 1, "axes");
	keep_operands(node(m, id), 1);
}

/* No axes meant all. */
static int sum_needs(struct module *m, const struct node *n)
{
	bool none = !given(n, 1) || (node_const(m, n, 1) && !tensor_count(node_const(m, n, 1)));
	if (none)
		return attr_i(n, "noop_with_empty_axes") ? 13 : OPSET_OLDEST;
	return axes_needs(m, n);
}

static void sum_lower(struct module *m, node_id id, int opset)
{
	struct tensor *t = given(node(m, id), 1) ? node_const(m, node(m, id), 1) : NULL;
	if (t && tensor_count(t))
		to_ints(m, id, 1, "axes");
	keep_operands(node(m, id), 1);
	attr_drop(m, id, "noop_with_empty_axes");
}

static void split_lower(struct module *m, node_id id, int opset)
{
	to_ints(m, id, 1, "split");
	keep_operands(node(m, id), 1);
}

static int clip_needs(struct module *m, const struct node *n)
{
	float x;
	return (!given(n, 1) || number(m, n, 1, &x)) && (!given(n, 2) || number(m, n, 2, &x)) ? OPSET_OLDEST : 11;
}

static void clip_lower(struct module *m, node_id id, int opset)
{
	float x;
	if (opset >= 11)
		return;
	if (number(m, node(m, id), 1, &x))
		attr_set_float(m, id, "min", x);
	if (number(m, node(m, id), 2, &x))
		attr_set_float(m, id, "max", x);
	keep_operands(node(m, id), 1);
}

static int pad_needs(struct module *m, const struct node *n)
{
	float x;
	return constant(m, n, 1) && (!given(n, 2) || number(m, n, 2, &x)) ? OPSET_OLDEST : 11;
}

static void pad_lower(struct module *m, node_id id, int opset)
{
	float x;
	if (opset >= 11)
		return;
	to_ints(m, id, 1, "pads");
	if (number(m, node(m, id), 2, &x))
		attr_set_float(m, id, "value", x);
	keep_operands(node(m, id), 1);
}

static int slice_needs(struct module *m, const struct node *n)
{
	int64_t steps[RANK_MAX];
	int count = given(n, 4) && node_const(m, n, 4) ? tensor_ints(m, node_const(m, n, 4), steps, RANK_MAX) : 0;
	bool ones = count >= 0;
	for (int i = 0; i < count; i++)
		ones &= steps[i] == 1;
	return ones && constant(m, n, 1) && constant(m, n, 2) && constant(m, n, 3) && constant(m, n, 4) ? OPSET_OLDEST : 10;
}

static void slice_lower(struct module *m, node_id id, int opset)
{
	if (opset >= 10)
		return;
	to_ints(m, id, 1, "starts");
	to_ints(m, id, 2, "ends");
	to_ints(m, id, 3, "axes");
	keep_operands(node(m, id), 1);
}

static int topk_needs(struct module *m, const struct node *n) { return constant(m, n, 1) ? OPSET_OLDEST : 10; }

static void topk_lower(struct module *m, node_id id, int opset)
{
	int64_t k;
	if (opset >= 10 || !given(node(m, id), 1) || tensor_ints(m, node_const(m, node(m, id), 1), &k, 1) != 1)
		return;
	attr_set_int(m, id, "k", k);
	keep_operands(node(m, id), 1);
}

/* Older files cannot say whether it trains, and have another mask where it does not. */
static int dropout_needs(struct module *m, const struct node *n)
{
	float x = 0, training = 0;
	if ((given(n, 1) && !number(m, n, 1, &x)) || !constant(m, n, 2))
		return 12;
	if (given(n, 2)) {
		struct tensor *t = node_const(m, n, 2);
		tensor_data(m, t);
		training = tensor_count(t) ? (float)tensor_get(t, 0) : 0;
	}
	return training != 0 || (n->nout > 1 && n->out[1]) ? 12 : OPSET_OLDEST;
}

static void dropout_lower(struct module *m, node_id id, int opset)
{
	float x;
	if (opset >= 12)
		return;
	if (number(m, node(m, id), 1, &x))
		attr_set_float(m, id, "ratio", x);
	attr_drop(m, id, "seed");
	keep_operands(node(m, id), 1);
}

/* Until opset 13 these took all axes from `axis` on for one. */
static int softmax_needs(struct module *m, const struct node *n)
{
	const struct type *t = type_in(m, n, 0);
	int64_t axis = attr_i(n, "axis"), c;
	if (axis == -1)
		return OPSET_OLDEST;
	if (t->rank < 0 || axis < -t->rank || axis >= t->rank)
		return 13;
	for (int64_t i = (axis < 0 ? axis + t->rank : axis) + 1; i < t->rank; i++)
		if (!t->dims[i] || !poly_is_const(m->dims, t->dims[i], &c) || c != 1)
			return 13;
	return OPSET_OLDEST;
}

static void softmax_lower(struct module *m, node_id id, int opset)
{
	attr_set_int(m, id, "axis", attr_i(node(m, id), "axis")); /* older opsets have another default */
}

/* One scale for the whole tensor. */
static int quantize_needs(struct module *m, const struct node *n) { return type_count(m, type_in(m, n, 1)) == 1 ? OPSET_OLDEST : 13; }

static void quantize_lower(struct module *m, node_id id, int opset) { attr_drop(m, id, "axis"); }

static void gemm_lower(struct module *m, node_id id, int opset)
{
	struct node *n = node(m, id);
	int64_t one = 1;
	if (opset >= 11 || given(n, 2))
		return;
	struct tensor *zero = tensor_new(&m->arena, type_in(m, n, 0)->dtype, 1, &one);
	val_id v = const_tensor(m, 0, zero);
	set_operand(m, node(m, id), 2, v);
}

static bool same_types(struct module *m, const struct node *n) { return type_in(m, n, 0)->dtype == type_in(m, n, 1)->dtype; }

static int pow_needs(struct module *m, const struct node *n) { return same_types(m, n) || node_const(m, n, 1) ? OPSET_OLDEST : 12; }

static void pow_lower(struct module *m, node_id id, int opset)
{
	if (opset >= 12 || same_types(m, node(m, id)))
		return;
	struct tensor *t = node_const(m, node(m, id), 1);
	struct tensor *like = tensor_new(&m->arena, type_in(m, node(m, id), 0)->dtype, t->rank, t->dims);
	tensor_data(m, t);
	for (int64_t i = 0; i < tensor_count(t); i++)
		tensor_set(like, i, tensor_get(t, i));
	val_id v = const_tensor(m, 0, like);
	set_operand(m, node(m, id), 1, v);
}

/* Max and others broadcast since opset 8. */
static int variadic_needs(struct module *m, const struct node *n)
{
	for (uint32_t i = 1; i < n->nin; i++)
		if (!type_equal(type_in(m, n, 0), type_in(m, n, i)))
			return 8;
	return OPSET_OLDEST;
}

static int cast_needs(struct module *m, const struct node *n)
{
	return n->nout && n->out[0] && val(m, n->out[0])->type.dtype == DT_STR ? 9 : OPSET_OLDEST;
}

static int maxpool_needs(struct module *m, const struct node *n) { return n->nout > 1 && n->out[1] ? 8 : OPSET_OLDEST; }

static void scatter_lower(struct module *m, node_id id, int opset)
{
	if (opset < 11)
		node(m, id)->op = OP_Scatter;
}

/* Opset 10 has one way to take coordinates; before it only growing is there, by Upsample. */
static int resize_needs(struct module *m, const struct node *n)
{
	struct tensor *t = given(n, 2) ? node_const(m, n, 2) : NULL;
	const char *mode = attr_s(n, "mode");
	bool shrinks = t && t->dtype == DT_F32, grows = false;
	if (given(n, 3) || !given(n, 2) || strcmp(attr_s(n, "coordinate_transformation_mode"), "asymmetric") || !strcmp(mode, "cubic"))
		return 11;
	for (int64_t i = 0; t && t->dtype == DT_F32 && i < tensor_count(t); i++) {
		float s = ((const float *)tensor_data(m, t))[i];
		grows |= s > 1;
		shrinks &= s <= 1;
	}
	if (!strcmp(mode, "nearest") && strcmp(attr_s(n, "nearest_mode"), shrinks && !grows ? "ceil" : "floor"))
		return 11;
	return !t ? 9 : grows && !shrinks ? OPSET_OLDEST : 10;
}

static void resize_lower(struct module *m, node_id id, int opset)
{
	static const char *const news[] = {"coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value",
					   "nearest_mode"};
	int64_t none = 0;
	for (uint32_t i = 1; opset >= 11 && i < 3; i++) { /* these opsets want them, if empty */
		if (given(node(m, id), i))
			continue;
		val_id v = const_tensor(m, 0, tensor_new(&m->arena, DT_F32, 1, &none));
		set_operand(m, node(m, id), i, v);
	}
	if (opset >= 11)
		return;
	for (size_t i = 0; i < COUNT(news); i++)
		attr_drop(m, id, news[i]);
	struct node *n = node(m, id);
	n->in[1] = n->in[2];
	n->nin = 2;
	if (opset >= 10)
		return;
	n->op = OP_Upsample;
	if (opset >= 9)
		return;
	struct tensor *t = node_const(m, n, 1);
	struct attr scales = {.name = intern("scales"), .kind = ATTR_FLOATS, .n = (uint32_t)tensor_count(t)};
	scales.u.floats = tensor_data(m, t);
	n->nin = 1;
	attr_set(m, id, scales);
}

static int body_needs(struct module *m, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (v && val(m, v)->type.other)
			return 13;
	}
	return OPSET_OLDEST;
}

static const struct {
	enum opcode op;
	int (*needs)(struct module *m, const struct node *n);
	void (*lower)(struct module *m, node_id id, int opset);
} special[] = {
	{OP_Cast, cast_needs, NULL},
	{OP_Clip, clip_needs, clip_lower},
	{OP_DequantizeLinear, quantize_needs, quantize_lower},
	{OP_Dropout, dropout_needs, dropout_lower},
	{OP_Gemm, NULL, gemm_lower},
	{OP_Hardmax, softmax_needs, softmax_lower},
	{OP_If, body_needs, NULL},
	{OP_LogSoftmax, softmax_needs, softmax_lower},
	{OP_Loop, body_needs, NULL},
	{OP_Max, variadic_needs, NULL},
	{OP_MaxPool, maxpool_needs, NULL},
	{OP_Mean, variadic_needs, NULL},
	{OP_Min, variadic_needs, NULL},
	{OP_Pad, pad_needs, pad_lower},
	{OP_Pow, pow_needs, pow_lower},
	{OP_QuantizeLinear, quantize_needs, quantize_lower},
	{OP_ReduceL1, NULL, sum_lower},
	{OP_ReduceL2, NULL, sum_lower},
	{OP_ReduceLogSum, NULL, sum_lower},
	{OP_ReduceLogSumExp, NULL, sum_lower},
	{OP_ReduceMax, NULL, sum_lower},
	{OP_ReduceMean, NULL, sum_lower},
	{OP_ReduceMin, NULL, sum_lower},
	{OP_ReduceProd, NULL, sum_lower},
	{OP_ReduceSum, sum_needs, sum_lower},
	{OP_ReduceSumSquare, NULL, sum_lower},
	{OP_Resize, resize_needs, resize_lower},
	{OP_ScatterElements, NULL, scatter_lower},
	{OP_Slice, slice_needs, slice_lower},
	{OP_Softmax, softmax_needs, softmax_lower},
	{OP_Split, axes_needs, split_lower},
	{OP_Squeeze, squeeze_needs, axes_lower},
	{OP_Sum, variadic_needs, NULL},
	{OP_TopK, topk_needs, topk_lower},
	{OP_Unsqueeze, axes_needs, axes_lower},
};

bool attr_is_neutral(const struct attr *a, const char *neutral)
{
	if (!neutral)
		return false;
	if (a->kind == ATTR_STR)
		return !strcmp(a->u.s, neutral);
	if (a->kind == ATTR_INT)
		return a->u.i == atoll(neutral);
	for (uint32_t i = 0; a->kind == ATTR_INTS && i < a->n; i++)
		if (a->u.ints[i] != atoll(neutral))
			return false;
	return a->kind == ATTR_INTS;
}

int older_needed(struct module *m, const struct node *n)
{
	int need = OPSET_OLDEST;
#define RAISE(x) (need = (x) > need ? (x) : need)
	enum dtype first = n->nin && n->in[0] ? type_in(m, n, 0)->dtype : DT_NONE;
	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (v && val(m, v)->type.dtype == DT_BF16)
			RAISE(13);
	}
	for (size_t i = 0; i < COUNT(arrivals); i++)
		if (arrivals[i].op == n->op && (arrivals[i].types == ANY || arrivals[i].types & ~1u & BIT(first)))
			RAISE(arrivals[i].since);
	for (size_t i = 0; i < COUNT(attributes); i++) {
		const struct attr *a = attributes[i].op == n->op ? attr_find(n, attributes[i].name) : NULL;
		if (a && !attr_is_neutral(a, attributes[i].neutral))
			RAISE(attributes[i].since);
	}
	for (size_t i = 0; i < COUNT(special); i++)
		if (special[i].op == n->op && special[i].needs)
			RAISE(special[i].needs(m, n));
	return need;
}

/* Axes counted from the end, and in any order, came with opset 11. */
static void count_from_front(struct module *m, node_id id)
{
	struct node *n = node(m, id);
	int rank = n->nin && n->in[0] ? type_in(m, n, 0)->rank : RANK_UNKNOWN, count;
	const int64_t *axes = attr_ints(n, "axes", &count);
	int64_t axis = attr_i(n, "axis");
	if (n->op == OP_OneHot || n->op == OP_OTHER)
		return;
	if (rank != RANK_UNKNOWN && axis < 0)
		attr_set_int(m, id, "axis", axis + rank);
	if (n->op == OP_Unsqueeze)
		rank = rank == RANK_UNKNOWN ? rank : rank + count;
	if (rank == RANK_UNKNOWN || !axes)
		return;
	int64_t *front = ARENA_ARRAY(&m->arena, int64_t, count + 1);
	for (int i = 0; i < count; i++)
		front[i] = axes[i] + (axes[i] < 0 ? rank : 0);
	for (int i = 1; i < count && n->op != OP_Slice; i++) /* there they stand beside starts and ends */
		for (int k = i; k > 0 && front[k] < front[k - 1]; k--) {
			int64_t t = front[k];
			front[k] = front[k - 1];
			front[k - 1] = t;
		}
	attr_set_ints(m, id, "axes", count, front);
}

void older_lower(struct module *m, node_id id, int opset)
{
	if (opset >= 13)
		return;
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (attributes[i].op == node(m, id)->op && attributes[i].since > opset)
			attr_drop(m, id, attributes[i].name);
	for (size_t i = 0; i < COUNT(special); i++)
		if (special[i].op == node(m, id)->op && special[i].lower) {
			special[i].lower(m, id, opset);
			break; /* the node may be another operator from here on */
		}
	if (opset < 11)
		count_from_front(m, id);
}
