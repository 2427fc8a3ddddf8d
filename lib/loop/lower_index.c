/* Lowering of operators that index by values or resample: Gather, GatherElements, OneHot, Resize. */
#include <string.h>
#include "loop/lowering.h"
#include "op/op.h"

static const char *gather(struct lower *L)
{
	int rank = low_rank(L, 0), ri = low_rank(L, 1), a;
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX];
	int64_t fixed;

	if (!low_axis(attr_int(L->n, "axis", 0), rank, &a))
		return "axis outside the rank";
	if (!L->shape[0][a])
		return "an axis of no elements";
	stage_id s = low_result(L, 0, "gather");
	low_index(L, s, at);
	for (int i = 0; i < rank; i++)
		x[i] = i < a ? at[i] : i > a ? at[i + ri - 1] : poly_const(L->p->P, 0);
	if (low_count(L, 1) == 1 && low_ints(L, 1, &fixed, 1) == 1) {
		fixed += fixed < 0 ? L->shape[0][a] : 0;
		if (fixed < 0 || fixed >= L->shape[0][a])
			return "the index is out of range";
		x[a] = poly_const(L->p->P, fixed);
		stage_body(L->p, s, COMB_NONE, low_read(L, 0, x));
		return NULL;
	}
	ex_id value = low_read(L, 1, at + a);
	stage_body(L->p, s, COMB_NONE, ex_read_at(L->p, low_buf(L, 0), rank, x, a, value));
	return NULL;
}

static const char *gather_elements(struct lower *L)
{
	poly at[LOOP_RANK_MAX];
	int rank = low_rank(L, 0), a;

	if (!low_axis(attr_int(L->n, "axis", 0), rank, &a))
		return "axis outside the rank";
	if (!L->shape[0][a])
		return "an axis of no elements";
	stage_id s = low_result(L, 0, "gather");
	low_index(L, s, at);
	ex_id value = low_read(L, 1, at);
	stage_body(L->p, s, COMB_NONE, ex_read_at(L->p, low_buf(L, 0), rank, at, a, value));
	return NULL;
}

/* values = [off, on]; on where the axis is at the index (negative from the end), which may be of a type too small for all places. */
static const char *one_hot(struct lower *L)
{
	int rank = low_out_rank(L, 0), a, k = 0;
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX], v;

	if (!low_axis(attr_int(L->n, "axis", -1), rank, &a))
		return "axis outside the rank";
	stage_id s = low_result(L, 0, "onehot");
	low_index(L, s, at);
	for (int i = 0; i < rank; i++)
		if (i != a)
			x[k++] = at[i];
	ex_id i = ex_cast(L->p, DT_I64, low_read(L, 0, x)), here = ex_index(L->p, DT_I64, at[a]);
	ex_id wrapped = low_fnc(L, FN_ADD, i, (double)L->out_shape[0][a]);
	i = low_select(L, low_fnc(L, FN_LT, i, 0), wrapped, i);
	v = poly_const(L->p->P, 0);
	ex_id off = low_read(L, 2, &v);
	v = poly_const(L->p->P, 1);
	ex_id on = low_read(L, 2, &v);
	stage_body(L->p, s, COMB_NONE, low_select(L, low_fn2(L, FN_EQ, i, here), on, off));
	return NULL;
}

/* Whole-number enlargement to the nearest element; where every usual rounding gives floor(i / factor). */
/* Does each extent grow by the scale that is given? By other scales it may have the same size, and other elements. */
static const char *scales_fit(struct lower *L)
{
	enum { SCALES = 2, SIZES = 3 };
	struct tensor *t = low_const(L, SCALES);
	int rank = low_rank(L, 0), n, a;
	const int64_t *axes = attr_ints(L->n, "axes", &n);

	if (low_has(L, SIZES) && low_count(L, SIZES))
		return strcmp(attr_str(L->n, "keep_aspect_ratio_policy", "stretch"), "stretch") ? "sizes that keep an aspect ratio" : NULL;
	if (!t || tensor_count(t) != (axes ? n : rank))
		return "scales that are not constant";
	tensor_data(L->m, t);
	for (int i = 0; i < tensor_count(t); i++)
		if (!low_axis(axes ? axes[i] : i, rank, &a) || (double)L->shape[0][a] * tensor_get(t, i) != (double)L->out_shape[0][a])
			return "a scale that is not a whole number";
	return NULL;
}

static const char *resize(struct lower *L)
{
	const char *mode = attr_str(L->n, "mode", "nearest");
	const char *where = attr_str(L->n, "coordinate_transformation_mode", "half_pixel");
	const char *round = attr_str(L->n, "nearest_mode", "round_prefer_floor");
	bool floors = !strcmp(where, "asymmetric") && !strcmp(round, "floor");
	bool half = !strcmp(where, "half_pixel") && !strncmp(round, "round_prefer", 12);
	poly at[LOOP_RANK_MAX];

	if (strcmp(mode, "nearest") || !(floors || half))
		return low_why(L, "mode %s, %s, %s", mode, where, round);
	for (int i = 0; i < low_rank(L, 0); i++)
		if (!L->shape[0][i] || L->out_shape[0][i] % L->shape[0][i])
			return "a scale that is not a whole number";
	const char *why = scales_fit(L);
	if (why)
		return why;
	stage_id s = low_result(L, 0, "resize");
	low_index(L, s, at);
	for (int i = 0; i < low_rank(L, 0); i++)
		at[i] = poly_floordiv(L->p->P, at[i], L->out_shape[0][i] / L->shape[0][i]);
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	return NULL;
}

const struct lower_row lower_index[] = {
	{OP_Gather, gather},
	{OP_GatherElements, gather_elements},
	{OP_OneHot, one_hot},
	{OP_Resize, resize},
	{0},
};
