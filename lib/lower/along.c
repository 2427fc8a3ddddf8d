/* Reductions of operand 0 along some of its axes. */
#include "lower/along.h"
#include <math.h>

const char *const along_names[LOOP_RANK_MAX] = {"r", "s", "t", "u", "v", "w", "r6", "r7", "r8", "r9", "r10", "r11"};

void along_reduced(struct lower *L, const struct along *r, stage_id s, poly *x)
{
	int k = 0, nred = 0;

	for (int a = 0; a < r->rank; a++) {
		if (r->reduce[a])
			x[a] = stage_reduce(L->p, s, along_names[nred++], L->shape[0][a]);
		else
			x[a] = stage_axis(L->p, s, r->keep ? a : k);
		k += !r->reduce[a];
	}
}

void along_kept(struct lower *L, const struct along *r, const poly *at, poly *index)
{
	int k = 0;
	for (int a = 0; a < r->rank; a++)
		if (r->keep || !r->reduce[a])
			index[k++] = r->reduce[a] ? poly_const(L->p->P, 0) : at[a];
}

stage_id along_statistic(struct lower *L, const struct along *r, const char *name, enum dtype t)
{
	int64_t shape[LOOP_RANK_MAX];
	int k = 0;

	for (int a = 0; a < r->rank; a++)
		if (r->keep || !r->reduce[a])
			shape[k++] = r->reduce[a] ? 1 : L->shape[0][a];
	return low_stage(L, name, t, k, shape, low_axes(L, k));
}

ex_id along_finite(struct lower *L, ex_id m)
{
	return low_select(L, low_fnc(L, FN_EQ, low_fn1(L, FN_ABS, m), INFINITY), low_num(L, m, 0), m);
}

ex_id along_less_max(struct lower *L, stage_id max, const poly *x, const poly *at)
{
	return low_fn2(L, FN_SUB, low_read_wide(L, 0, x), low_wide(L, low_of(L, max, at)));
}

struct expsum along_exp(struct lower *L, const struct along *r, bool keep_exp, bool infinite)
{
	enum dtype t = low_wide_type(low_dtype(L, 0));
	struct expsum e = {.max = along_statistic(L, r, "max", low_dtype(L, 0))};
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];

	along_reduced(L, r, e.max, x);
	stage_body(L->p, e.max, COMB_MAX, low_read(L, 0, x));
	if (keep_exp) {
		e.exp = low_stage(L, "exp", t, r->rank, L->shape[0], low_axes(L, r->rank));
		low_index(L, e.exp, x);
		along_kept(L, r, x, at);
		stage_body(L->p, e.exp, COMB_NONE, low_fn1(L, FN_EXP, along_less_max(L, e.max, x, at)));
	}
	e.sum = along_statistic(L, r, "sum", t);
	along_reduced(L, r, e.sum, x);
	along_kept(L, r, x, at);
	ex_id top = low_wide(L, low_of(L, e.max, at));
	ex_id less = low_fn2(L, FN_SUB, low_read_wide(L, 0, x), infinite ? along_finite(L, top) : top);
	stage_body(L->p, e.sum, COMB_SUM, keep_exp ? low_of(L, e.exp, x) : low_fn1(L, FN_EXP, less));
	return e;
}
