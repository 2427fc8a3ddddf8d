#include <string.h>
#include "graph/kinds.h"
#include "onnx/opsets.h"

/* Sets of element types that operators came to accept. */
#define BIT(t) (1u << (t))
#define BFLOAT BIT(DT_BF16)
#define FLOAT8 (BIT(DT_F8E4M3FN) | BIT(DT_F8E4M3FNUZ) | BIT(DT_F8E5M2) | BIT(DT_F8E5M2FNUZ))
#define SMALL  (BIT(DT_U8) | BIT(DT_I8) | BIT(DT_U16) | BIT(DT_I16))
#define SIGNED (BIT(DT_I8) | BIT(DT_I16) | BIT(DT_I32) | BIT(DT_I64))
#define INT16  (BIT(DT_U16) | BIT(DT_I16))
#define INT4   (BIT(DT_U4) | BIT(DT_I4))
#define HALF   (BIT(DT_F16) | BFLOAT)
#define ANY    ~0u

/* Operators and types of operands and results that came after opset 13 (from the operators' histories). */
enum { RESULT = 0x40, ANYWHERE = 0x80 };
static const struct {
	enum opcode op;
	uint8_t since, operand; /* its number, RESULT + its number, or ANYWHERE */
	uint32_t types;
} arrivals[] = {
	{OP_Acos, 22, 0, BFLOAT},
	{OP_Acosh, 22, 0, BFLOAT},
	{OP_Add, 14, 0, SMALL},
	{OP_AffineGrid, 20, 0, ANY},
	{OP_Asin, 22, 0, BFLOAT},
	{OP_Asinh, 22, 0, BFLOAT},
	{OP_Atan, 22, 0, BFLOAT},
	{OP_Atanh, 22, 0, BFLOAT},
	{OP_Attention, 23, 0, ANY},
	{OP_AveragePool, 22, 0, BFLOAT},
	{OP_BatchNormalization, 14, 0, BFLOAT},
	{OP_BatchNormalization, 14, 1, BFLOAT},
	{OP_BatchNormalization, 14, 3, BFLOAT},
	{OP_Bernoulli, 15, 0, ANY},
	{OP_Bernoulli, 22, 0, BFLOAT},
	{OP_BitCast, 26, 0, ANY},
	{OP_BitShift, 28, 0, SIGNED},
	{OP_BitwiseAnd, 18, 0, ANY},
	{OP_BitwiseNot, 18, 0, ANY},
	{OP_BitwiseOr, 18, 0, ANY},
	{OP_BitwiseXor, 18, 0, ANY},
	{OP_BlackmanWindow, 17, 0, ANY},
	{OP_Cast, 19, 0, FLOAT8},
	{OP_Cast, 19, RESULT, FLOAT8},
	{OP_Cast, 21, 0, INT4},
	{OP_Cast, 21, RESULT, INT4},
	{OP_CastLike, 15, 0, ANY},
	{OP_CastLike, 19, 0, FLOAT8},
	{OP_CastLike, 19, 1, FLOAT8},
	{OP_CastLike, 21, 0, INT4},
	{OP_CastLike, 21, 1, INT4},
	{OP_CausalConvWithState, 27, 0, ANY},
	{OP_Celu, 28, 0, HALF | BIT(DT_F64)},
	{OP_CenterCropPad, 18, 0, ANY},
	{OP_Col2Im, 18, 0, ANY},
	{OP_Compress, 28, 0, BFLOAT},
	{OP_ConstantOfShape, 20, RESULT, BFLOAT | FLOAT8},
	{OP_ConstantOfShape, 21, RESULT, INT4},
	{OP_Conv, 22, 0, BFLOAT},
	{OP_ConvTranspose, 22, 0, BFLOAT},
	{OP_Cos, 22, 0, BFLOAT},
	{OP_Cosh, 22, 0, BFLOAT},
	{OP_CumProd, 26, 0, ANY},
	{OP_CumSum, 14, 0, HALF},
	{OP_DFT, 17, 0, ANY},
	{OP_DeformConv, 19, 0, ANY},
	{OP_DeformConv, 22, 0, BFLOAT},
	{OP_DequantizeLinear, 19, 0, FLOAT8},
	{OP_DequantizeLinear, 19, 1, HALF},
	{OP_DequantizeLinear, 19, RESULT, HALF},
	{OP_DequantizeLinear, 21, 0, INT16 | INT4},
	{OP_Det, 22, 0, BFLOAT},
	{OP_Div, 14, 0, SMALL},
	{OP_Dropout, 22, 0, FLOAT8},
	{OP_Dropout, 22, 1, BFLOAT | FLOAT8},
	{OP_Einsum, 28, 0, BFLOAT},
	{OP_Elu, 22, 0, BFLOAT},
	{OP_Equal, 19, 0, BIT(DT_STR)},
	{OP_EyeLike, 22, 0, BFLOAT},
	{OP_EyeLike, 22, RESULT, BFLOAT},
	{OP_Flatten, 21, 0, FLOAT8 | INT4},
	{OP_GRU, 22, 0, BFLOAT},
	{OP_Gelu, 20, 0, ANY},
	{OP_GlobalAveragePool, 22, 0, BFLOAT},
	{OP_GlobalLpPool, 22, 0, BFLOAT},
	{OP_GlobalMaxPool, 22, 0, BFLOAT},
	{OP_GreaterOrEqual, 16, 0, BFLOAT},
	{OP_GridSample, 16, 0, ANY},
	{OP_GridSample, 22, 0, BFLOAT},
	{OP_GridSample, 22, 1, BFLOAT},
	{OP_GroupNormalization, 21, 0, ANY},
	{OP_HammingWindow, 17, 0, ANY},
	{OP_HannWindow, 17, 0, ANY},
	{OP_HardSigmoid, 22, 0, BFLOAT},
	{OP_HardSwish, 14, 0, ANY},
	{OP_HardSwish, 22, 0, BFLOAT},
	{OP_Identity, 19, 0, FLOAT8},
	{OP_Identity, 21, 0, INT4},
	{OP_If, 16, ANYWHERE, BFLOAT},
	{OP_If, 19, ANYWHERE, FLOAT8},
	{OP_If, 21, ANYWHERE, INT4},
	{OP_ImageDecoder, 20, 0, ANY},
	{OP_InstanceNormalization, 22, 0, BFLOAT},
	{OP_IsInf, 20, 0, HALF | FLOAT8},
	{OP_IsNaN, 20, 0, FLOAT8},
	{OP_LSTM, 22, 0, BFLOAT},
	{OP_LayerNormalization, 17, 0, ANY},
	{OP_LeakyRelu, 16, 0, BFLOAT},
	{OP_LessOrEqual, 16, 0, BFLOAT},
	{OP_LinearAttention, 27, 0, ANY},
	{OP_Loop, 16, ANYWHERE, BFLOAT},
	{OP_Loop, 19, ANYWHERE, FLOAT8},
	{OP_Loop, 21, ANYWHERE, INT4},
	{OP_LpNormalization, 22, 0, BFLOAT},
	{OP_LpPool, 22, 0, BFLOAT},
	{OP_MaxPool, 22, 0, BFLOAT},
	{OP_MaxRoiPool, 22, 0, BFLOAT},
	{OP_MaxUnpool, 22, 0, BFLOAT},
	{OP_MelWeightMatrix, 17, 0, ANY},
	{OP_Mish, 18, 0, ANY},
	{OP_Mish, 22, 0, BFLOAT},
	{OP_Mul, 14, 0, SMALL},
	{OP_Multinomial, 22, 0, BFLOAT},
	{OP_NegativeLogLikelihoodLoss, 22, 0, BFLOAT},
	{OP_OneHot, 28, 2, BFLOAT},
	{OP_Optional, 15, 0, ANY},
	{OP_Optional, 28, ANYWHERE, BFLOAT | FLOAT8 | INT4},
	{OP_OptionalGetElement, 15, 0, ANY},
	{OP_OptionalGetElement, 28, ANYWHERE, BFLOAT | FLOAT8},
	{OP_OptionalHasElement, 15, 0, ANY},
	{OP_OptionalHasElement, 28, ANYWHERE, BFLOAT | FLOAT8},
	{OP_PRelu, 16, 0, BFLOAT},
	{OP_Pad, 21, 0, FLOAT8 | INT4},
	{OP_Pow, 15, 1, BFLOAT},
	{OP_QLinearMatMul, 21, 0, FLOAT8},
	{OP_QLinearMatMul, 21, 1, HALF},
	{OP_QLinearMatMul, 21, 3, FLOAT8},
	{OP_QLinearMatMul, 21, 7, FLOAT8},
	{OP_QuantizeLinear, 19, 0, HALF},
	{OP_QuantizeLinear, 19, 1, HALF | BIT(DT_I32)},
	{OP_QuantizeLinear, 19, 2, FLOAT8},
	{OP_QuantizeLinear, 21, 2, INT16 | INT4},
	{OP_RMSNormalization, 23, 0, ANY},
	{OP_RNN, 22, 0, BFLOAT},
	{OP_RandomNormal, 22, RESULT, BFLOAT},
	{OP_RandomNormalLike, 22, 0, BFLOAT},
	{OP_RandomNormalLike, 22, RESULT, BFLOAT},
	{OP_RandomUniform, 22, RESULT, BFLOAT},
	{OP_RandomUniformLike, 22, 0, BFLOAT},
	{OP_RandomUniformLike, 22, RESULT, BFLOAT},
	{OP_Range, 27, 0, HALF},
	{OP_ReduceMax, 20, 0, BIT(DT_BOOL)},
	{OP_ReduceMin, 20, 0, BIT(DT_BOOL)},
	{OP_RegexFullMatch, 20, 0, ANY},
	{OP_Relu, 14, 0, SIGNED},
	{OP_Reshape, 19, 0, FLOAT8},
	{OP_Reshape, 21, 0, INT4},
	{OP_ReverseSequence, 28, 0, BFLOAT},
	{OP_RoiAlign, 22, 0, BFLOAT},
	{OP_RotaryEmbedding, 23, 0, ANY},
	{OP_Round, 22, 0, BFLOAT},
	{OP_STFT, 17, 0, ANY},
	{OP_Scan, 16, ANYWHERE, BFLOAT},
	{OP_Scan, 19, ANYWHERE, FLOAT8},
	{OP_Scan, 21, ANYWHERE, INT4},
	{OP_Selu, 22, 0, BFLOAT},
	{OP_SequenceMap, 17, 0, ANY},
	{OP_Shape, 19, 0, FLOAT8},
	{OP_Shape, 21, 0, INT4},
	{OP_Sin, 22, 0, BFLOAT},
	{OP_Sinh, 22, 0, BFLOAT},
	{OP_Size, 19, 0, FLOAT8},
	{OP_Size, 21, 0, INT4},
	{OP_Softplus, 22, 0, BFLOAT},
	{OP_Softsign, 22, 0, BFLOAT},
	{OP_SplitToSequence, 24, 0, BFLOAT},
	{OP_Squeeze, 21, 0, FLOAT8 | INT4},
	{OP_StringConcat, 20, 0, ANY},
	{OP_StringSplit, 20, 0, ANY},
	{OP_Sub, 14, 0, SMALL},
	{OP_SwiGLU, 28, 0, ANY},
	{OP_Swish, 24, 0, ANY},
	{OP_Tan, 22, 0, BFLOAT},
	{OP_TensorScatter, 24, 0, ANY},
	{OP_ThresholdedRelu, 22, 0, BFLOAT},
	{OP_TopK, 24, 0, BFLOAT},
	{OP_Transpose, 21, 0, FLOAT8 | INT4},
	{OP_Trilu, 14, 0, ANY},
	{OP_Unique, 28, 0, BFLOAT},
	{OP_Unsqueeze, 21, 0, FLOAT8 | INT4},
	{OP_Where, 16, 1, BFLOAT},
};

/* Attributes that came after opset 13, with the value that means what it was before. */
static const struct {
	enum opcode op;
	uint8_t since;
	const char *name, *neutral; /* a number (for lists: of all elements), a string; NULL: none is */
} attributes[] = {
	{OP_Attention, 25, "left_window_size", "-1"},
	{OP_Attention, 25, "right_window_size", "-1"},
	{OP_AveragePool, 19, "dilations", "1"},
	{OP_BatchNormalization, 14, "training_mode", "0"},
	{OP_Cast, 19, "saturate", "1"},
	{OP_Cast, 24, "round_mode", "up"},
	{OP_CastLike, 19, "saturate", "1"},
	{OP_CastLike, 24, "round_mode", "up"},
	{OP_DequantizeLinear, 21, "block_size", "0"},
	{OP_DequantizeLinear, 23, "output_dtype", "0"},
	{OP_GRU, 14, "layout", "0"},
	{OP_LSTM, 14, "layout", "0"},
	{OP_LpPool, 18, "ceil_mode", "0"},
	{OP_LpPool, 18, "dilations", "1"},
	{OP_QuantizeLinear, 19, "saturate", "1"},
	{OP_QuantizeLinear, 21, "block_size", "0"},
	{OP_QuantizeLinear, 21, "output_dtype", "0"},
	{OP_RNN, 14, "layout", "0"},
	{OP_Range, 27, "stash_type", "1"},
	{OP_Reshape, 14, "allowzero", "0"},
	{OP_Resize, 18, "antialias", "0"},
	{OP_Resize, 18, "axes", NULL},
	{OP_Resize, 18, "keep_aspect_ratio_policy", "stretch"},
	{OP_ScatterElements, 16, "reduction", "none"},
	{OP_ScatterND, 16, "reduction", "none"},
	{OP_Shape, 15, "end", NULL},
	{OP_Shape, 15, "start", "0"},
	{OP_SpaceToDepth, 28, "mode", "DCR"},
};

/* Values of string attributes that came later than the attribute. */
static const struct {
	enum opcode op;
	uint8_t since;
	const char *name, *value;
} values[] = {
	{OP_Pad, 19, "mode", "wrap"},
	{OP_Resize, 19, "coordinate_transformation_mode", "half_pixel_symmetric"},
	{OP_ScatterElements, 18, "reduction", "max"},
	{OP_ScatterElements, 18, "reduction", "min"},
	{OP_ScatterND, 18, "reduction", "max"},
	{OP_ScatterND, 18, "reduction", "min"},
};

/* Operands that came later. */
static const struct {
	enum opcode op;
	uint8_t since, operand;
} operands[] = {
	{OP_Attention, 24, 6},
	{OP_Attention, OPSET_NONE, 7}, /* scales of codes: hone's own */
	{OP_Attention, OPSET_NONE, 8},
	{OP_Pad, 18, 3},
};

static void drop(struct lowered *l, const char *name) { l->drop[l->ndrop++] = name; }

static void add_ints(struct module *m, struct lowered *l, const char *name, struct tensor *t)
{
	struct attr *a = &l->add[l->nadd++];
	int64_t n = tensor_count(t), *v = ARENA_ARRAY(&m->arena, int64_t, n + 1);
	tensor_ints(m, t, v, (int)n);
	*a = (struct attr){.name = intern(name), .kind = ATTR_INTS, .n = (uint32_t)n};
	a->u.ints = v;
}

/* Axes were an attribute until opset 18; no axes meant all, and none of them could not be said. */
static int reduce_needs(struct module *m, const struct node *n)
{
	struct tensor *axes = node_const(m, n, 1);
	bool given = n->nin > 1 && n->in[1], noop = attr_i(n, "noop_with_empty_axes") != 0;
	if (given && (!axes || axes->dtype != DT_I64))
		return 18;
	return noop && (!given || tensor_count(axes) == 0) ? 18 : OPSET_OLDEST;
}

static void reduce_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	struct tensor *axes = node_const(m, n, 1);
	if (opset >= 18)
		return;
	l->nin = 1;
	drop(l, "noop_with_empty_axes");
	if (axes && tensor_count(axes))
		add_ints(m, l, "axes", axes);
}

/* Parts of unequal size need num_outputs; equal ones need nothing. */
static int split_needs(struct module *m, const struct node *n)
{
	const struct type *t = &val(m, n->in[0])->type;
	int64_t axis = attr_i(n, "axis"), size;
	if (n->nin > 1 && n->in[1])
		return OPSET_OLDEST;
	if (t->rank < 0 || axis < -t->rank || axis >= t->rank || !poly_is_const(m->dims, t->dims[axis < 0 ? axis + t->rank : axis], &size))
		return 18;
	return n->nout && size % n->nout == 0 ? OPSET_OLDEST : 18;
}

static void split_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	if (opset < 18)
		drop(l, "num_outputs");
}

static int dft_needs(struct module *m, const struct node *n) { return n->nin > 2 && n->in[2] && !node_const(m, n, 2) ? 20 : 17; }

static void dft_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	int64_t axis = -2;
	if (opset >= 20)
		return;
	if (node_const(m, n, 2))
		tensor_ints(m, node_const(m, n, 2), &axis, 1);
	l->nin = n->nin < 2 ? n->nin : 2;
	l->add[l->nadd++] = (struct attr){.name = intern("axis"), .kind = ATTR_INT, .u.i = axis};
}

static int gridsample_needs(struct module *m, const struct node *n) { return val(m, n->in[0])->type.rank == 4 ? 16 : 20; }

static void gridsample_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	const char *mode = attr_s(n, "mode"), *old = mode;
	if (opset >= 20)
		return;
	if (!strcmp(mode, "linear"))
		old = "bilinear";
	else if (!strcmp(mode, "cubic"))
		old = "bicubic";
	drop(l, "mode");
	l->add[l->nadd++] = (struct attr){.name = intern("mode"), .kind = ATTR_STR, .n = (uint32_t)strlen(old), .u.s = old};
}

static int roialign_needs(struct module *m, const struct node *n)
{
	return strcmp(attr_s(n, "coordinate_transformation_mode"), "output_half_pixel") ? 16 : OPSET_OLDEST;
}

static void roialign_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	if (opset < 16)
		drop(l, "coordinate_transformation_mode");
}

/* Since opset 22 no window starts behind the data; before, where that shows in the size, one did. With a stride of at
 * most the window less the padding behind, none can. */
static int pool_needs(struct module *m, const struct node *n)
{
	const struct type *t = &val(m, n->in[0])->type;
	int rank, nstrides, npads, ndilations;
	const int64_t *kernel = attr_ints(n, "kernel_shape", &rank), *strides = attr_ints(n, "strides", &nstrides),
		      *pads = attr_ints(n, "pads", &npads), *dilations = attr_ints(n, "dilations", &ndilations);
	if (!attr_i(n, "ceil_mode") || strcmp(attr_s(n, "auto_pad"), "NOTSET"))
		return OPSET_OLDEST;
	for (int i = 0; i < rank; i++) {
		int64_t stride = i < nstrides ? strides[i] : 1, before = i < npads ? pads[i] : 0,
			behind = i + rank < npads ? pads[i + rank] : 0, size,
			reach = (kernel[i] - 1) * (i < ndilations ? dilations[i] : 1) + 1;
		if (behind + stride <= reach)
			continue;
		if (t->rank != rank + 2 || stride < 1 || t->dims[i + 2] == POLY_UNKNOWN || !poly_is_const(m->dims, t->dims[i + 2], &size) ||
		    size + before + behind < reach)
			return 22;
		if ((size + before + behind - reach + stride - 1) / stride * stride >= size + before)
			return 22;
	}
	return OPSET_OLDEST;
}

static bool is_sequence(struct module *m, val_id v, const char *kind)
{
	const char *other = v ? sym_str(val(m, v)->type.other) : "";
	return !strncmp(other, kind, strlen(kind));
}

/* Types other than tensors came to these one by one. */
static int sequence_needs(struct module *m, const struct node *n)
{
	int need = OPSET_OLDEST;
	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (is_sequence(m, v, "optional("))
			return 16;
		if (n->op == OP_Identity && is_sequence(m, v, "seq("))
			need = 14;
	}
	return need;
}

/* Graphs whose output is no result of theirs get an Identity. */
int opset_needed_by_output(struct module *m, val_id v)
{
	return is_sequence(m, v, "optional(") ? 16 : is_sequence(m, v, "seq(") && val(m, v)->kind != VAL_NODE ? 14 : OPSET_OLDEST;
}

/* Of what is no optional there is one only from 18 on. */
static int optional_needs(struct module *m, const struct node *n) { return n->nin && is_sequence(m, n->in[0], "optional(") ? 15 : 18; }

/* Floats without fmod. */
static int mod_needs(struct module *m, const struct node *n)
{
	return dtype_is_float(val(m, n->in[0])->type.dtype) && !attr_i(n, "fmod") ? 28 : OPSET_OLDEST;
}

/* ONNX's own definition of it reads axes that are not said as none. */
static void mean_variance_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	static const int64_t axes[] = {0, 2, 3};

	if (!attr_find(n, "axes")) {
		l->add[l->nadd] = (struct attr){.name = intern("axes"), .kind = ATTR_INTS, .n = 3};
		l->add[l->nadd++].u.ints = (int64_t *)axes;
	}
}

/* Before opset 23, operand and scale were of one type, and halves were divided in f32. */
static int quantize_needs(struct module *m, const struct node *n)
{
	enum dtype x = val(m, n->in[0])->type.dtype, scale = val(m, n->in[1])->type.dtype;
	int64_t given = attr_i(n, "precision");
	enum dtype in = given ? dtype_from_onnx((int)given) : scale;

	return (x && scale && x != scale) || (in && in != DT_F32 && in != DT_I32) ? 23 : OPSET_OLDEST;
}

static void quantize_lower(struct module *m, const struct node *n, int opset, struct lowered *l)
{
	if (opset < 23)
		drop(l, "precision");
}

static int no_needs(struct module *m, const struct node *n) { return OPSET_OLDEST; }

/* What no table of the above says. */
static const struct {
	enum opcode op;
	int (*needs)(struct module *m, const struct node *n);
	void (*lower)(struct module *m, const struct node *n, int opset, struct lowered *l);
} special[] = {
	{OP_AveragePool, pool_needs, NULL},
	{OP_DFT, dft_needs, dft_lower},
	{OP_GridSample, gridsample_needs, gridsample_lower},
	{OP_Identity, sequence_needs, NULL},
	{OP_If, sequence_needs, NULL},
	{OP_Loop, sequence_needs, NULL},
	{OP_LpPool, pool_needs, NULL},
	{OP_MaxPool, pool_needs, NULL},
	{OP_MeanVarianceNormalization, no_needs, mean_variance_lower},
	{OP_Mod, mod_needs, NULL},
	{OP_OptionalGetElement, optional_needs, NULL},
	{OP_OptionalHasElement, optional_needs, NULL},
	{OP_QuantizeLinear, quantize_needs, quantize_lower},
	{OP_ReduceL1, reduce_needs, reduce_lower},
	{OP_ReduceL2, reduce_needs, reduce_lower},
	{OP_ReduceLogSum, reduce_needs, reduce_lower},
	{OP_ReduceLogSumExp, reduce_needs, reduce_lower},
	{OP_ReduceMax, reduce_needs, reduce_lower},
	{OP_ReduceMean, reduce_needs, reduce_lower},
	{OP_ReduceMin, reduce_needs, reduce_lower},
	{OP_ReduceProd, reduce_needs, reduce_lower},
	{OP_ReduceSumSquare, reduce_needs, reduce_lower},
	{OP_RoiAlign, roialign_needs, roialign_lower},
	{OP_Split, split_needs, split_lower},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Of a tensor, or of what a sequence or an optional has, by ONNX's name. */
static uint32_t type_bit(struct module *m, val_id v)
{
	const struct type *t = v ? &val(m, v)->type : NULL;

	struct type inside = t ? type_innermost(t) : type_none();

	return inside.dtype ? BIT(inside.dtype) : 0;
}

static uint32_t operand_types(struct module *m, const struct node *n, uint32_t which)
{
	uint32_t all = 0, k = which & (RESULT - 1);

	if (which & RESULT)
		return k < n->nout ? type_bit(m, n->out[k]) : 0;
	if (which != ANYWHERE)
		return k < n->nin ? type_bit(m, n->in[k]) : 0;
	for (uint32_t i = 0; i < n->nin + n->nout; i++)
		all |= type_bit(m, i < n->nin ? n->in[i] : n->out[i - n->nin]);
	return all;
}

/* Types that ONNX itself had only later. */
static const struct {
	uint32_t types;
	int since;
} later[] = {{BIT(DT_F4E2M1), 23}, {BIT(DT_F8E8M0), 24}, {BIT(DT_U2) | BIT(DT_I2), 25}, {BIT(DT_F6E2M3) | BIT(DT_F6E3M2), 28}};

bool opset_lacks(struct module *m, const struct node *n, int opset)
{
	static const struct {
		enum opcode op;
		int last;
	} whole[] = {{OP_Erf, 12}, {OP_ReduceLogSum, 27}, {OP_ReduceLogSumExp, 27}};

	for (size_t i = 0; i < COUNT(whole); i++)
		if (whole[i].op == n->op && opset > whole[i].last)
			return dtype_is_int(val(m, n->in[0])->type.dtype);
	return false;
}

int opset_own_operand(const struct node *n)
{
	for (size_t i = 0; i < COUNT(operands); i++)
		if (operands[i].op == n->op && operands[i].since == OPSET_NONE && operands[i].operand < n->nin &&
		    n->in[operands[i].operand])
			return operands[i].operand;
	return -1;
}

int opset_needed(struct module *m, const struct node *n)
{
	int need = older_needed(m, n);
	uint32_t types = operand_types(m, n, ANYWHERE);
#define RAISE(x) (need = (x) > need ? (x) : need)
	for (size_t i = 0; i < COUNT(arrivals); i++)
		if (arrivals[i].op == n->op && (arrivals[i].types == ANY || arrivals[i].types & operand_types(m, n, arrivals[i].operand)))
			RAISE(arrivals[i].since);
	for (size_t i = 0; i < COUNT(later); i++)
		if (later[i].types & types)
			RAISE(later[i].since);
	for (size_t i = 0; i < COUNT(attributes); i++) {
		const struct attr *a = attributes[i].op == n->op ? attr_find(n, attributes[i].name) : NULL;
		if (a && !attr_is_neutral(a, attributes[i].neutral))
			RAISE(attributes[i].since);
	}
	for (size_t i = 0; i < COUNT(values); i++)
		if (values[i].op == n->op && !strcmp(attr_str(n, values[i].name, ""), values[i].value))
			RAISE(values[i].since);
	for (size_t i = 0; i < COUNT(operands); i++)
		if (operands[i].op == n->op && operands[i].operand < n->nin && n->in[operands[i].operand])
			RAISE(operands[i].since);
	for (size_t i = 0; i < COUNT(special); i++)
		if (special[i].op == n->op)
			RAISE(special[i].needs(m, n));
	return need;
}

struct lowered opset_lower(struct module *m, const struct node *n, int opset)
{
	struct lowered l = {.nin = n->nin};
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (attributes[i].op == n->op && attributes[i].since > opset)
			drop(&l, attributes[i].name);
	if (n->op == OP_DequantizeLinear)
		drop(&l, "accuracy_level"); /* hone's own */
	for (size_t i = 0; i < COUNT(special); i++)
		if (special[i].op == n->op && special[i].lower)
			special[i].lower(m, n, opset, &l);
	return l;
}

int opset_ir_version(int opset)
{
	static const int8_t ir[] = {[7] = 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
	return ir[opset];
}
