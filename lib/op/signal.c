/* Signals, transforms and windows, losses, draws, which lib/native computes: their shapes. */
#include "op/native.h"
#include "op/rules.h"

/* Operand i, of one element, as far as it is known; def without it. */
static dim number(struct infer *I, uint32_t i, dim def)
{
	if (!rule_has(I, i))
		return def;
	return I->kin[i].yes && I->kin[i].n == 1 ? I->kin[i].e[0] : POLY_UNKNOWN;
}

static bool at_least(struct infer *I, dim d, int64_t least)
{
	int64_t c;

	return !poly_is_const(rule_polys(I), d, &c) || c >= least;
}

/* How many of n frequencies there are. */
static dim bins(struct infer *I, dim n) { return poly_addc(rule_polys(I), poly_floordiv(rule_polys(I), n, 2), 1); }

static const char *shape_dft(struct infer *I)
{
	bool inverse = attr_i(I->n, "inverse") != 0, half = attr_i(I->n, "onesided") != 0;
	int rank = rule_rank(I, 0), axis;
	int64_t at, parts;

	if (rank == RANK_UNKNOWN || !poly_is_const(rule_polys(I), number(I, 2, rule_const(I, -2)), &at)) {
		rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
		return NULL;
	}
	if (!rule_axis(at, rank, &axis) || axis == rank - 1)
		return rule_why(I, "axis %lld outside the signal of rank %d", (long long)at, rank - 1);
	if (poly_is_const(rule_polys(I), rule_dim(I, 0, rank - 1), &parts) && parts != 1 && parts != 2)
		return rule_why(I, "a number of %lld parts", (long long)parts);
	dim *d = rule_dims(I, rank), whole = rule_dim(I, 0, axis);
	if (inverse && half)
		whole = poly_mulc(rule_polys(I), poly_addc(rule_polys(I), whole, -1), 2);
	whole = number(I, 1, whole);
	if (!at_least(I, whole, 1))
		return "a transform without elements";
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	d[axis] = half && !inverse ? bins(I, whole) : whole;
	d[rank - 1] = rule_const(I, inverse && half ? 1 : 2);
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

static const char *shape_stft(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = rule_rank(I, 0);
	dim *d = rule_dims(I, 4), length, hop = number(I, 1, POLY_UNKNOWN);
	int64_t step, frame, whole;

	rule_out(I, 0, I->in[0].dtype, 4, d);
	d[3] = rule_const(I, 2);
	if (!at_least(I, hop, 1))
		return "frames do not move";
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (rank != 3)
		return rule_why(I, "operand 0 has rank %d, takes [batch][length][1 or 2]", rank);
	d[0] = rule_dim(I, 0, 0);
	if (poly_is_const(P, rule_dim(I, 0, 2), &whole) && whole != 1 && whole != 2)
		return rule_why(I, "a number of %lld parts", (long long)whole);
	length = rule_has(I, 3)         ? number(I, 3, POLY_UNKNOWN)
		 : !rule_has(I, 2)      ? rule_dim(I, 0, 1)
		 : rule_rank(I, 2) == 1 ? rule_dim(I, 2, 0)
					: POLY_UNKNOWN;
	if (!at_least(I, length, 1))
		return "frames without elements";
	if (rule_has(I, 2) && rule_rank(I, 2) == 1 && length != POLY_UNKNOWN) {
		const char *why = rule_extent(I, 2, 0, length);
		if (why)
			return why;
	}
	if (poly_is_const(P, length, &frame) && poly_is_const(P, rule_dim(I, 0, 1), &whole) && frame > whole)
		return rule_why(I, "frames of %lld of a signal of %lld", (long long)frame, (long long)whole);
	if (poly_is_const(P, hop, &step))
		d[1] = poly_addc(P, poly_floordiv(P, poly_sub(P, rule_dim(I, 0, 1), length), step), 1);
	d[2] = attr_i(I->n, "onesided") ? bins(I, length) : length;
	return NULL;
}

/* The type that an attribute names is a float or an integer, the only ones there may be. */
static const char *number_type(struct infer *I)
{
	enum dtype t = dtype_from_onnx((int)attr_i(I->n, "output_datatype"));

	return t && (dtype_is_float(t) || (dtype_is_int(t) && dtype_bits(t) >= 8))
		       ? NULL
		       : rule_why(I, "attribute 'output_datatype' is %s, takes a float or an integer", dtype_name(t));
}

static const char *shape_window(struct infer *I)
{
	dim *d = rule_dims(I, 1);

	d[0] = number(I, 0, POLY_UNKNOWN);
	if (!at_least(I, d[0], 0))
		return "a window of less than nothing";
	rule_out(I, 0, dtype_from_onnx((int)attr_i(I->n, "output_datatype")), 1, d);
	return number_type(I);
}

/* As lib/native has it. */
static bool is_few(struct infer *I, dim d)
{
	int64_t c;

	return !poly_is_const(rule_polys(I), d, &c) || c < 1 << 28;
}

static const char *shape_mel(struct infer *I)
{
	dim *d = rule_dims(I, 2), length = number(I, 1, POLY_UNKNOWN);

	d[0] = bins(I, length);
	d[1] = number(I, 0, POLY_UNKNOWN);
	if (!at_least(I, length, 0) || !at_least(I, d[1], 0))
		return "a matrix of less than nothing";
	if (!at_least(I, number(I, 2, POLY_UNKNOWN), 1))
		return "a rate below 1";
	if (!is_few(I, length) || !is_few(I, d[1]))
		return "a matrix too large";
	rule_out(I, 0, dtype_from_onnx((int)attr_i(I->n, "output_datatype")), 2, d);
	return number_type(I);
}

/* ---- losses and draws ---- */

static const char *shape_loss(struct infer *I)
{
	bool none = !strcmp(attr_s(I->n, "reduction"), "none");
	int rank = rule_rank(I, 0), labels = rule_rank(I, 1);
	int64_t ignored = attr_int(I->n, "ignore_index", -1);
	const char *why = rank < 2 ? NULL : rule_below(I, 1, rule_dim(I, 0, 1), attr_find(I->n, "ignore_index") ? &ignored : NULL);

	rule_like(I, 0, 1);
	if (none)
		rule_out(I, 0, I->in[0].dtype, rule_rank(I, 1), I->in[1].dims);
	else
		rule_out(I, 0, I->in[0].dtype, 0, NULL);
	if (I->n->nout > 1)
		rule_like(I, 1, 0);
	if (rank != RANK_UNKNOWN && labels != RANK_UNKNOWN && labels != rank - 1)
		return rule_why(I, "scores of rank %d, labels of rank %d", rank, labels);
	for (int k = 2; k < rank && labels != RANK_UNKNOWN && !why; k++)
		why = rule_extent(I, 1, k - 1, rule_dim(I, 0, k));
	return why;
}

static const char *shape_multinomial(struct infer *I)
{
	dim *d = rule_dims(I, 2);
	enum dtype t = dtype_from_onnx((int)attr_i(I->n, "dtype"));
	int64_t rows, classes;

	if (t != DT_I32 && t != DT_I64)
		return rule_why(I, "attribute 'dtype' is %s, takes i32 or i64", dtype_name(t));
	if (rule_rank(I, 0) == 2 && poly_is_const(rule_polys(I), rule_dim(I, 0, 0), &rows) && rows &&
	    poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &classes) && !classes)
		return "there are no classes";
	d[0] = rule_rank(I, 0) == 2 ? rule_dim(I, 0, 0) : POLY_UNKNOWN;
	d[1] = rule_const(I, attr_i(I->n, "sample_size"));
	rule_out(I, 0, dtype_from_onnx((int)attr_i(I->n, "dtype")), 2, d);
	return NULL;
}

const struct op ops_signal[] = {
	{OP_NegativeLogLikelihoodLoss, shape_loss, eval_native},
	{OP_SoftmaxCrossEntropyLoss, shape_loss, eval_native},
	{OP_Multinomial, shape_multinomial, eval_native},
	{OP_DFT, shape_dft, eval_native},
	{OP_STFT, shape_stft, eval_native},
	{OP_HannWindow, shape_window, eval_native},
	{OP_HammingWindow, shape_window, eval_native},
	{OP_BlackmanWindow, shape_window, eval_native},
	{OP_MelWeightMatrix, shape_mel, eval_native},
	{0},
};
