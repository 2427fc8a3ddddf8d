/* Conv, MatMul and Gemm of dequantised operands: the product of the integers, Cast, Mul by the scales, Add of the bias.
 *
 * The zero point of x stays an operand of the product, whose padding is then zero in x's own terms. Weights are s8, without a
 * zero point where they fit without. A sum that 32 bits may not hold keeps the node as it is. */
#include <math.h>
#include <string.h>
#include "integer.h"

struct island {
	struct rewrite *rw;
	node_id n;
	val_id x, w; /* the integers */
	struct grid gx, gw;
	int axis;         /* of w's channels */
	int64_t channels; /* of w along it; 0: not known */
	val_id xzero, wzero;
	double alpha;
};

static bool is_byte(enum dtype t) { return t == DT_U8 || t == DT_I8; }

static bool takes_no_part(struct rewrite *rw, node_id n)
{
	return !rw_def(rw, rw_in(rw, n, 0), OP_DequantizeLinear) || !rw_def(rw, rw_in(rw, n, 1), OP_DequantizeLinear);
}

static const char *read_operands(struct island *I)
{
	const char *why;

	if (takes_no_part(I->rw, I->n))
		return NO_MATCH;
	if ((why = dequantised(I->rw, rw_in(I->rw, I->n, 0), &I->gx, &I->x)))
		return reason(I->rw, "operand 0", why);
	if ((why = dequantised(I->rw, rw_in(I->rw, I->n, 1), &I->gw, &I->w)))
		return reason(I->rw, "operand 1", why);
	if (!is_byte(I->gx.type) || !is_byte(I->gw.type))
		return "its operands are not of 8 bits";
	if (I->gx.n != 1)
		return "operand 0 has more than one scale";
	if (rw_const(I->rw, I->x))
		return "operand 0 is constant";
	return NULL;
}

/* What the sum of channel i is multiplied by. */
static double factor(struct island *I, int64_t i) { return I->alpha * I->gx.scale[0] * grid_scale(&I->gw, i); }

/* The channels of the weights, which their scales are for. */
static const char *read_channels(struct island *I, int axis)
{
	const struct type *t = rw_type(I->rw, I->w);

	I->axis = axis;
	if (I->gw.n != 1 && I->gw.axis != axis)
		return "the scales of operand 1 are along another axis than its channels";
	if (!poly_is_const(rw_module(I->rw)->dims, t->dims[axis], &I->channels))
		I->channels = 0;
	if (I->gw.n != 1 && I->gw.n != I->channels)
		return "the scales of operand 1 do not fit its channels";
	for (int64_t i = 0; i < I->gw.n; i++)
		if (factor(I, i) != 0 && !isnormal((float)factor(I, i)))
			return "the product of its scales is too large or too small for f32";
	return NULL;
}

/* ---- weights ---- */

static int byte_at(const struct tensor *t, int64_t i)
{
	return t->dtype == DT_U8 ? ((const uint8_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

static int64_t inner_of(const struct tensor *t, int axis)
{
	int64_t inner = 1;

	for (int i = axis + 1; i < t->rank; i++)
		inner *= t->dims[i];
	return inner;
}

/* The largest |x - zero| of x's type. */
static double farthest(const struct grid *g)
{
	double lo = g->type == DT_U8 ? 0 : -128, z = grid_zero(g, 0);

	return fmax(z - lo, lo + 255 - z);
}

/* Do all weights fit s8 once their zero point is taken away? *sum: the largest sum of their absolute values, of one channel. */
static bool weigh(const struct island *I, const struct tensor *w, double *sum)
{
	int64_t inner = inner_of(w, I->axis), count = tensor_count(w), channels = w->dims[I->axis];
	double *sums = xcalloc((size_t)channels + 1, sizeof *sums);
	bool fit = true;

	for (int64_t i = 0; i < count; i++) {
		int64_t c = i / inner % channels;
		double v = byte_at(w, i) - grid_zero(&I->gw, c);
		fit &= v >= -128 && v <= 127;
		sums[c] += fabs(v);
	}
	*sum = 0;
	for (int64_t c = 0; c < channels; c++)
		*sum = fmax(*sum, sums[c]);
	free(sums);
	return fit;
}

static bool all_equal(const double *x, int64_t n)
{
	for (int64_t i = 1; i < n; i++)
		if (x[i] != x[0])
			return false;
	return true;
}

/* s8 weights: without zero points, or (they do not fit without) those and the weights moved by the same. */
static void recode_weights(struct island *I, const struct tensor *w, bool fit)
{
	int64_t inner = inner_of(w, I->axis), count = tensor_count(w), channels = w->dims[I->axis];
	double move = w->dtype == DT_U8 ? 128 : 0, zero[2] = {grid_zero(&I->gw, 0) - move}, *z = zero;
	struct tensor *to;

	if (w->dtype == DT_U8 || (fit && I->gw.zero)) {
		to = tensor_new(&rw_module(I->rw)->arena, DT_I8, w->rank, w->dims);
		for (int64_t i = 0; i < count; i++)
			((int8_t *)to->data)[i] = (int8_t)(byte_at(w, i) - (fit ? grid_zero(&I->gw, i / inner % channels) : move));
		I->w = rw_constant_tensor(I->rw, to);
	}
	if (fit || (!I->gw.zero && !move))
		return;
	if (I->gw.n > 1)
		z = ARENA_ARRAY(&rw_module(I->rw)->arena, double, I->gw.n);
	for (int64_t i = 0; i < I->gw.n; i++)
		z[i] = grid_zero(&I->gw, i) - move;
	I->wzero = all_equal(z, I->gw.n) ? scalar_of(I->rw, DT_I8, z[0]) : rw_constant(I->rw, DT_I8, 1, &I->gw.n, z);
}

#define SUM_MAX 2147483647.0

/* Weights that are constant. */
static const char *constant_weights(struct island *I)
{
	struct tensor *w = rw_const(I->rw, I->w);
	double sum;

	tensor_data(rw_module(I->rw), w);
	bool fit = weigh(I, w, &sum);
	if (sum * farthest(&I->gx) > SUM_MAX)
		return "its sums may need more than 32 bits";
	recode_weights(I, w, fit);
	return NULL;
}

/* Operand 1 of a MatMul that is computed. */
static const char *computed_weights(struct island *I)
{
	const struct type *t = rw_type(I->rw, I->w);
	int64_t k;

	if (I->gw.n != 1)
		return "operand 1 is not constant and has more than one scale";
	if (!poly_is_const(rw_module(I->rw)->dims, t->dims[t->rank - 2], &k))
		return "the length of its sums is not known";
	if ((double)k * farthest(&I->gx) * farthest(&I->gw) > SUM_MAX)
		return "its sums may need more than 32 bits";
	I->wzero = I->gw.zero ? scalar_of(I->rw, I->gw.type, I->gw.zero[0]) : 0;
	return NULL;
}

/* ---- what is built ---- */

/* x as u8, with its zero point. */
static void recode_x(struct island *I)
{
	double zero = grid_zero(&I->gx, 0);

	if (I->gx.type == DT_I8) {
		val_id f = rw_node(I->rw, I->n, OP_Cast, 1, &I->x);
		attr_set_int(rw_module(I->rw), rw_node_of(I->rw, f), "to", dtype_to_onnx(DT_F32));
		val(rw_module(I->rw), f)->type = *rw_type(I->rw, I->x);
		val(rw_module(I->rw), f)->type.dtype = DT_F32;
		I->x = rw_node(I->rw, I->n, OP_QuantizeLinear, 3, (val_id[]){f, scalar_f32(I->rw, 1), scalar_of(I->rw, DT_U8, 128)});
		zero += 128;
	}
	I->xzero = zero != 0 || I->wzero ? scalar_of(I->rw, DT_U8, zero) : 0;
}

static val_id product(struct island *I, enum opcode op)
{
	val_id in[4] = {I->x, I->w, I->xzero, I->wzero};
	val_id y = rw_node(I->rw, I->n, op, I->wzero ? 4 : I->xzero ? 3 : 2, in);

	if (op == OP_ConvInteger)
		rw_copy_attrs(I->rw, rw_node_of(I->rw, y), I->n);
	node(rw_module(I->rw), rw_node_of(I->rw, y))->name = node(rw_module(I->rw), I->n)->name; /* as reports call it */
	return y;
}

/* A constant of one element a channel of the result, behind which are `inner` axes. Equal ones, too: a kernel reads them, and so is
 * that of other layers of this shape. */
static val_id by_channel(struct island *I, const double *x, int64_t n, int inner)
{
	int64_t dims[RANK_MAX] = {n};

	for (int i = 1; i <= inner; i++)
		dims[i] = 1;
	return rw_constant(I->rw, DT_F32, inner + 1, dims, x);
}

/* Mul(Cast(y), m). */
static val_id scaled(struct island *I, val_id y, int inner)
{
	int64_t n = I->channels ? I->channels : 1;
	double *m = ARENA_ARRAY(&rw_module(I->rw)->arena, double, n);
	val_id f = rw_node(I->rw, I->n, OP_Cast, 1, &y);

	attr_set_int(rw_module(I->rw), rw_node_of(I->rw, f), "to", dtype_to_onnx(DT_F32));
	for (int64_t i = 0; i < n; i++)
		m[i] = factor(I, i);
	return rw_node(I->rw, I->n, OP_Mul, 2, (val_id[]){f, I->channels ? by_channel(I, m, n, inner) : scalar_f32(I->rw, m[0])});
}

static val_id plus(struct island *I, val_id y, val_id b) { return b ? rw_node(I->rw, I->n, OP_Add, 2, (val_id[]){y, b}) : y; }

static const char *replace(struct island *I, val_id y)
{
	sym name = node(rw_module(I->rw), I->n)->name;

	node(rw_module(I->rw), I->n)->name = 0; /* the product has it */
	rw_replace(I->rw, node(rw_module(I->rw), I->n)->out[0], y);
	node(rw_module(I->rw), I->n)->name = name;
	return NULL;
}

/* ---- the operators ---- */

static const char *conv(struct rewrite *rw, node_id n)
{
	struct island I = {.rw = rw, .n = n, .alpha = 1};
	int64_t nb = 0;
	double *b = NULL;
	const char *why = read_operands(&I);

	if (why)
		return why;
	if (!rw_const(rw, I.w))
		return "its weights are not constant";
	if (rw_in(rw, n, 2) && !(b = rw_doubles(rw, rw_in(rw, n, 2), &nb)))
		return "its bias is not constant";
	if ((why = read_channels(&I, 0)) || (why = constant_weights(&I)))
		return why;
	int inner = rw_type(rw, I.w)->rank - 2;
	recode_x(&I);
	return replace(&I, plus(&I, scaled(&I, product(&I, OP_ConvInteger), inner), b ? by_channel(&I, b, nb, inner) : 0));
}

static const char *matmul(struct rewrite *rw, node_id n)
{
	struct island I = {.rw = rw, .n = n, .alpha = 1};
	const char *why = read_operands(&I);

	if (why)
		return why;
	int rank = rw_type(rw, I.w)->rank;
	if (rank < 2 || rw_type(rw, I.x)->rank < 1)
		return "its ranks are not known, or it has a vector for weights";
	if ((why = read_channels(&I, rank - 1)) || (why = rw_const(rw, I.w) ? constant_weights(&I) : computed_weights(&I)))
		return why;
	recode_x(&I);
	return replace(&I, scaled(&I, product(&I, OP_MatMulInteger), 0));
}

static val_id transposed_constant(struct rewrite *rw, const struct tensor *t)
{
	int64_t rows = t->dims[0], cols = t->dims[1];
	struct tensor *to = tensor_new(&rw_module(rw)->arena, t->dtype, 2, (int64_t[]){cols, rows});

	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			((int8_t *)to->data)[j * rows + i] = ((const int8_t *)t->data)[i * cols + j];
	return rw_constant_tensor(rw, to);
}

static val_id transposed(struct island *I, val_id v)
{
	val_id y;

	if (rw_const(I->rw, v))
		return transposed_constant(I->rw, rw_const(I->rw, v));
	y = rw_node(I->rw, I->n, OP_Transpose, 1, &v);
	attr_set_ints(rw_module(I->rw), rw_node_of(I->rw, y), "perm", 2, (int64_t[]){1, 0});
	return y;
}

/* beta times operand 2 of the Gemm; 0: there is none. */
static val_id addend(struct island *I)
{
	val_id c = rw_in(I->rw, I->n, 2);
	struct tensor *t = rw_const(I->rw, c);
	double beta = attr_f(node(rw_module(I->rw), I->n), "beta"), *x;
	int64_t n;

	if (!c || beta == 1)
		return c;
	if (!t)
		return rw_node(I->rw, I->n, OP_Mul, 2, (val_id[]){c, scalar_f32(I->rw, beta)});
	x = rw_doubles(I->rw, c, &n);
	for (int64_t i = 0; i < n; i++)
		x[i] *= beta;
	return rw_constant(I->rw, DT_F32, t->rank, t->dims, x);
}

static const char *gemm(struct rewrite *rw, node_id n)
{
	const struct node *g = node(rw_module(rw), n);
	struct island I = {.rw = rw, .n = n, .alpha = attr_f(g, "alpha")};
	bool ta = attr_i(g, "transA"), tb = attr_i(g, "transB");
	const char *why = read_operands(&I);

	if (why)
		return why;
	if (rw_type(rw, I.w)->rank != 2)
		return "its ranks are not known";
	if ((why = read_channels(&I, tb ? 0 : 1)))
		return why;
	if (!rw_const(rw, I.w) && tb)
		return "operand 1 is transposed and not constant";
	if ((why = rw_const(rw, I.w) ? constant_weights(&I) : computed_weights(&I)))
		return why;
	recode_x(&I);
	I.x = ta ? transposed(&I, I.x) : I.x;
	I.w = tb ? transposed(&I, I.w) : I.w;
	return replace(&I, plus(&I, scaled(&I, product(&I, OP_MatMulInteger), 0), addend(&I)));
}

/* A bias is as many bytes in f32. */
static const char *bias(struct rewrite *rw, node_id n)
{
	val_id y = node(rw_module(rw), n)->out[0];
	struct tensor *t = rw_const(rw, rw_in(rw, n, 0));
	struct grid g;
	int64_t count;
	double *x;

	if (!t || t->dtype != DT_I32 || rw_is_output(rw, y) || grid_read(rw, n, &g) || (g.n > 1 && (g.axis < 0 || g.axis >= t->rank)))
		return NO_MATCH;
	x = rw_doubles(rw, rw_in(rw, n, 0), &count);
	int64_t inner = g.n > 1 ? inner_of(t, g.axis) : 1;
	for (int64_t i = 0; i < count; i++)
		x[i] = (x[i] - grid_zero(&g, i / inner % g.n)) * grid_scale(&g, i / inner % g.n);
	rw_replace(rw, y, rw_constant(rw, DT_F32, t->rank, t->dims, x));
	return NULL;
}

const struct rule rules_island[] = {
	{"bias", OP_DequantizeLinear, bias, "an i32 constant is dequantised now", MEASURE_WORK},
	{"conv", OP_Conv, conv, "it becomes ConvInteger, Cast, Mul, Add", MEASURE_WORK},
	{"gemm", OP_Gemm, gemm, "it becomes MatMulInteger, Cast, Mul, Add", MEASURE_WORK},
	{"matmul", OP_MatMul, matmul, "it becomes MatMulInteger, Cast, Mul", MEASURE_WORK},
	{0},
};
