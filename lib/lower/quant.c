/* Lowering of quantising and back. */
#include <math.h>
#include <string.h>
#include "lower/lowering.h"
#include "op/rules.h"

/* ---- grids ---- */

/* Of all, of an index of the axis, or of a block of it. */
ex_id low_grid(struct lower *L, uint32_t i, const poly *index)
{
	int64_t block = attr_i(L->n, "block_size");
	int rank = low_rank(L, 0), axis = 0;
	poly at[LOOP_RANK_MAX];

	low_axis(attr_i(L->n, "axis"), rank, &axis);
	if (low_count(L, i) == 1)
		axis = -1;
	for (int k = 0; k < low_rank(L, i); k++) {
		int of = block ? k : axis;
		at[k] = axis < 0 ? poly_const(L->p->P, 0) : block && k == axis ? poly_floordiv(L->p->P, index[k], block) : index[of];
	}
	return low_read(L, i, at);
}

static const char *check_grid(struct lower *L)
{
	int axis, want = attr_i(L->n, "block_size") ? low_rank(L, 0) : 1;

	if (attr_i(L->n, "block_size") < 0)
		return "block_size is negative";
	if (low_count(L, 1) == 1)
		return NULL;
	if (!low_axis(attr_i(L->n, "axis"), low_rank(L, 0), &axis))
		return "axis outside the rank";
	return low_rank(L, 1) == want && (!low_has(L, 2) || low_rank(L, 2) == want) ? NULL : "the scales do not fit the axis";
}

/* ---- codes of numbers ---- */

/* x / scale, in f32. A quotient by a power of two is a product. */
static ex_id over(struct lower *L, ex_id x, ex_id scale)
{
	const struct ex *s = lex(L->p, scale);
	int e;

	if (s->kind == EX_CONST && frexp(s->c, &e) == 0.5 && e > -120 && e < 120)
		return s->c == 1 ? x : low_fnc(L, FN_MUL, x, 1 / s->c);
	return low_fn2(L, FN_DIV, x, scale);
}

/* The type in which is divided: that of `precision`, by default the scale's; a half, else f32. */
static enum dtype division_type(struct lower *L)
{
	int64_t given = attr_i(L->n, "precision");
	enum dtype t = given ? dtype_from_onnx((int)given) : low_dtype(L, 1);

	return t == DT_F16 || t == DT_BF16 ? t : DT_F32;
}

/* x in f32, rounded to type t. */
static ex_id rounded(struct lower *L, enum dtype t, ex_id x) { return ex_cast(L->p, DT_F32, ex_cast(L->p, t, ex_cast(L->p, DT_F32, x))); }

/* round(x) + zero, in f32, as the nearest integer that type t has; of NaN the lowest. As an unsigned integer that is what it converts
 * to. */
static ex_id code_of(struct lower *L, ex_id x, ex_id zero, enum dtype t)
{
	ex_id y = low_fn1(L, FN_ROUND, x);

	if (zero && !(lex(L->p, zero)->kind == EX_CONST && lex(L->p, zero)->ic == 0 && lex(L->p, zero)->c == 0))
		y = low_fn2(L, FN_ADD, y, ex_cast(L->p, DT_F32, zero));
	y = low_fnc(L, dtype_is_signed(t) ? FN_MAX2 : FN_MAX, y, (double)dtype_lowest(t));
	return ex_cast(L->p, t, low_fnc(L, FN_MIN, y, (double)dtype_highest(t)));
}

static const char *quantize(struct lower *L)
{
	enum dtype t = low_out_dtype(L, 0);
	const char *why = check_grid(L);
	poly index[LOOP_RANK_MAX];

	if (why)
		return why;
	if (!dtype_is_int(t) || dtype_size(t) > 2)
		return low_why(L, "codes of type %s", dtype_name(t));
	stage_id s = low_result(L, 0, "quantize");
	low_index(L, s, index);
	enum dtype in = division_type(L);
	ex_id x = rounded(L, in, low_read(L, 0, index)), scale = rounded(L, in, low_grid(L, 1, index));
	x = rounded(L, in, over(L, x, scale));
	stage_body(L->p, s, COMB_NONE, code_of(L, x, low_has(L, 2) ? low_float(L, low_grid(L, 2, index)) : 0, t));
	return NULL;
}

static const char *dequantize(struct lower *L)
{
	const char *why = check_grid(L);
	poly index[LOOP_RANK_MAX];

	if (why)
		return why;
	stage_id s = low_result(L, 0, "dequantize");
	low_index(L, s, index);
	/* Differences of codes of 8 and 16 bits are exact in f32, those of 32 bits not. */
	bool wide = dtype_size(low_dtype(L, 0)) > 2 && low_has(L, 2);
	ex_id x = ex_cast(L->p, wide ? DT_F64 : DT_F32, low_read(L, 0, index)), scale = low_float(L, low_grid(L, 1, index));
	if (low_has(L, 2)) {
		ex_id zero = low_float(L, low_grid(L, 2, index));
		bool none = lex(L->p, zero)->kind == EX_CONST && lex(L->p, zero)->c == 0;
		x = none ? x : low_fn2(L, FN_SUB, x, ex_cast(L->p, wide ? DT_F64 : DT_F32, zero));
	}
	x = low_fn2(L, FN_MUL, ex_cast(L->p, DT_F32, x), scale);
	stage_body(L->p, s, COMB_NONE, low_round(L, 0, x));
	return NULL;
}

/* ---- a scale of what there is ---- */

/* The axes of operand i as they lie in memory, the innermost last. */
static void memory_order(struct lower *L, uint32_t i, int *axis)
{
	struct layout l = *low_layout(L, i);
	int n = 0;

	for (int a = 0; a < low_rank(L, i) && !l.n; a++)
		axis[a] = a;
	for (int k = 0; k < l.n; k++) {
		bool again = false;
		for (int j = k + 1; j < l.n; j++)
			again |= l.part[j].axis == l.part[k].axis;
		if (!again)
			axis[n++] = l.part[k].axis;
	}
}

/* The greatest of all elements that are numbers, and the same of their negatives: [2], read together. */
static stage_id extremes(struct lower *L)
{
	static const char *const names[] = {"r", "s", "t", "u", "v", "w", "r6", "r7", "r8", "r9", "r10", "r11"};
	stage_id s = low_stage(L, "range", DT_F32, 1, (int64_t[]){2}, "e");
	poly x[LOOP_RANK_MAX], first = poly_mulc(L->p->P, stage_axis(L->p, s, 0), -1);
	int axis[LOOP_RANK_MAX];

	memory_order(L, 0, axis);
	for (int a = 0; a < low_rank(L, 0); a++)
		x[axis[a]] = stage_reduce(L->p, s, names[a], L->shape[0][axis[a]]);
	ex_id e = low_read(L, 0, x);
	ex_id up = low_fnc(L, FN_MAX2, e, -INFINITY), down = low_fnc(L, FN_MAX2, low_fn1(L, FN_NEG, e), -INFINITY);
	stage_body(L->p, s, low_rank(L, 0) ? COMB_MAX : COMB_NONE, ex_guard(L->p, 1, &first, up, down));
	return s;
}

/* The greatest number, at least 0 (there may be none at all), or the least, at most 0. */
static ex_id end_of_range(struct lower *L, stage_id range, bool greatest)
{
	poly at = poly_const(L->p->P, !greatest);
	ex_id x = low_fnc(L, FN_MAX, low_of(L, range, &at), 0);

	return greatest ? x : low_fn1(L, FN_NEG, x);
}

/* The stage of result k, of one number, wanted or not. */
static stage_id one_number(struct lower *L, uint32_t k, const char *name, enum dtype t, ex_id e)
{
	stage_id s = low_wants(L, k) ? low_result(L, k, name) : low_stage(L, name, t, 0, NULL, "");

	stage_body(L->p, s, COMB_NONE, e);
	return s;
}

static const char *dynamic(struct lower *L)
{
	poly index[LOOP_RANK_MAX];
	stage_id range = extremes(L);
	ex_id hi = end_of_range(L, range, true), lo = end_of_range(L, range, false), one = low_num(L, lo, 1);

	/* of zeros alone the standard's formula divides by 0 */
	ex_id step = low_fnc(L, FN_DIV, low_fn2(L, FN_SUB, hi, lo), 255);
	ex_id scale = low_of(L, one_number(L, 1, "scale", DT_F32, low_select(L, low_fn2(L, FN_EQ, hi, lo), one, step)), NULL);
	/* a range that is none in f32: all codes are 0 */
	stage_id divisor = low_stage(L, "divisor", DT_F32, 0, NULL, "");
	stage_body(L->p, divisor, COMB_NONE, low_select(L, low_fnc(L, FN_EQ, scale, 0), low_num(L, scale, INFINITY), scale));
	ex_id by = low_of(L, divisor, NULL);
	ex_id none = code_of(L, low_fn2(L, FN_DIV, low_fn1(L, FN_NEG, lo), by), 0, DT_U8);
	ex_id zero = low_of(L, one_number(L, 2, "zero", DT_U8, none), NULL);
	if (!low_wants(L, 0))
		return NULL;
	stage_id inverse = low_stage(L, "inverse", DT_F32, 0, NULL, "");
	stage_body(L->p, inverse, COMB_NONE, low_fn2(L, FN_DIV, one, by));
	stage_id s = low_result(L, 0, "quantize");
	low_index(L, s, index);
	ex_id y = ex_call(L->p, FN_OVER, low_read(L, 0, index), by, low_of(L, inverse, NULL));
	stage_body(L->p, s, COMB_NONE, code_of(L, y, zero, DT_U8));
	return NULL;
}

const struct lower_row lower_quant[] = {
	{OP_DequantizeLinear, dequantize},
	{OP_DynamicQuantizeLinear, dynamic},
	{OP_QuantizeLinear, quantize},
	{0},
};
