/* Lowering of pooling. */
#include <math.h>
#include <string.h>
#include "lower/windows.h"
#include "sched/algorithm.h"

/* Does what is read lie side by side along its last axis? */
static bool last_is_contiguous(struct lower *L)
{
	const struct layout *l = low_layout(L, 0);

	return !l->n || l->part[l->n - 1].axis == low_rank(L, 0) - 1;
}

/* Elements of the last axis that windows reach over. */
static int64_t last_span(struct lower *L, const struct window *w)
{
	int last = w->n - 1;

	return (L->out_shape[0][last + 2] - 1) * w->stride[last] + (w->size[last] - 1) * w->dilation[last] + 1;
}

/* Is a window better combined along its last axis after the others? Taps side by side are one load for a vector of them; in steps they are one for each step. */
static bool better_apart(struct lower *L, const struct window *w)
{
	int last = w->n - 1;
	double lines = 1, others = 1, apart = last_is_contiguous(L) ? (double)w->stride[last] : 1;
	double size = (double)w->size[last], columns = (double)L->out_shape[0][last + 2];

	for (int i = 0; i < last; i++) {
		others *= (double)w->size[i];
		lines *= (double)L->out_shape[0][i + 2];
	}
	double all = lines * columns * (others * size * apart + 1);
	double two = lines * ((double)last_span(L, w) * (others + 1) + columns * (size * apart + 1));

	return last > 0 && algorithm_in_two(all, two);
}

/* Element x of the operand or of stage from is what taps first to last - 1 of windows read. */
static void tap_index(struct lower *L, const struct window *w, stage_id s, stage_id from, int first, int last, poly *x)
{
	struct polys *P = L->p->P;

	low_index(L, s, x);
	for (int i = first; i < last; i++) {
		poly k = stage_reduce(L->p, s, low_taps[w->n][i], w->size[i]);
		x[2 + i] = poly_add(P, poly_mulc(P, x[2 + i], w->stride[i]), poly_mulc(P, k, w->dilation[i]));
	}
	for (int i = 0; i < w->n && !from; i++)
		x[2 + i] = poly_addc(P, x[2 + i], -w->begin[i]);
}

/* Combines taps from first to last - 1 of each window, of stage from (0: of the operand); those in the padding give fill. */
static void pool_along(struct lower *L, const struct window *w, stage_id s, stage_id from, int first, int last, enum combiner comb,
		       double fill)
{
	poly x[LOOP_RANK_MAX];

	tap_index(L, w, s, from, first, last, x);
	ex_id e = from ? low_of(L, from, x) : low_read_fill(L, 0, x, fill);
	stage_body(L->p, s, comb, comb == COMB_SUM ? low_wide(L, e) : e);
}

/* Combines the taps of each window; those in the padding give fill. */
static stage_id pool_taps(struct lower *L, const struct window *w, const char *name, enum combiner comb, double fill)
{
	stage_id part = 0;
	int64_t shape[LOOP_RANK_MAX];
	int first = 0, rank = w->n + 2;

	if (better_apart(L, w)) { /* lines of windows, with what fills the ends of a line */
		first = w->n - 1;
		memcpy(shape, L->out_shape[0], sizeof shape);
		shape[rank - 1] = last_span(L, w);
		enum dtype t = comb == COMB_SUM ? low_wide_type(low_out_dtype(L, 0)) : low_out_dtype(L, 0);
		part = low_stage(L, "lines", t, rank, shape, low_axes(L, rank));
		pool_along(L, w, part, 0, 0, first, comb, fill);
	}
	stage_id s = comb == COMB_SUM ? low_sums(L, 0, name) : low_scratch(L, 0, name);
	pool_along(L, w, s, part, first, w->n, comb, fill);
	return s;
}

/* Place e in a plane, as if its first axis were the one along which elements lie next to each other. */
static ex_id in_columns(struct lower *L, const struct window *w, ex_id e)
{
	ex_id sum = 0;
	int64_t before = 1;

	for (int i = 0; i < w->n - 1; i++)
		before *= L->shape[0][2 + i];
	for (int i = w->n - 1; i >= 0; i--) {
		int64_t dim = L->shape[0][2 + i];
		ex_id at = low_fnc(L, FN_MUL, low_fnc(L, FN_MOD, e, (double)dim), (double)before);
		sum = sum ? low_fn2(L, FN_ADD, sum, at) : at;
		e = low_fnc(L, FN_DIV, e, (double)dim);
		before /= i > 0 ? L->shape[0][1 + i] : 1;
	}
	return sum;
}

/* The first tap of each window that has its largest element, or is NaN; -1 where a window lies in the padding. Places in a plane are numbers
 * of the operand's type where it has all of them, so that one vector holds both; then all elements before the plane are added. */
static void max_places(struct lower *L, const struct window *w, stage_id max)
{
	struct polys *P = L->p->P;
	int rank = w->n + 2, n = 0;
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX], inside[2 * SPATIAL_MAX], place = poly_const(P, 0);
	int64_t plane = 1;

	for (int i = 2; i < rank; i++)
		plane *= L->shape[0][i];
	enum dtype t = low_dtype(L, 0) == DT_F32 && plane <= 1 << 24 ? DT_F32 : DT_I64;
	stage_id s = low_stage(L, "arg", t, rank, L->out_shape[1], low_axes(L, rank));
	low_index(L, s, at);
	tap_index(L, w, s, 0, 0, w->n, x);
	for (int i = 2; i < rank; i++) {
		place = poly_add(P, poly_mulc(P, place, L->shape[0][i]), x[i]);
		inside[n++] = x[i];
		inside[n++] = poly_sub(P, poly_const(P, L->shape[0][i] - 1), x[i]);
	}
	ex_id v = low_read_fill(L, 0, x, 0), is = low_fn2(L, FN_EQ, v, low_of(L, max, at)), none = ex_const(L->p, t, (double)plane);
	if (dtype_is_float(low_dtype(L, 0)))
		is = low_fn2(L, FN_OR, is, low_fn2(L, FN_NE, v, v));
	ex_id e = low_select(L, is, ex_cast(L->p, t, ex_index(L->p, DT_I64, place)), none);
	stage_body(L->p, s, COMB_MIN, ex_guard(L->p, n, inside, e, none));
	stage_id r = low_result(L, 1, "place");
	low_index(L, r, at);
	ex_id found = low_of(L, s, at), last = low_fnc(L, FN_EQ, found, (double)plane);
	ex_id first = ex_index(L->p, DT_I64, poly_mulc(P, poly_add(P, poly_mulc(P, at[0], L->shape[0][1]), at[1]), plane));
	found = ex_cast(L->p, DT_I64, found);
	found = low_select(L, last, ex_const(L->p, DT_I64, -1), attr_i(L->n, "storage_order") ? in_columns(L, w, found) : found);
	stage_body(L->p, r, COMB_NONE, low_fn2(L, FN_ADD, found, first));
}

static const char *max_pool(struct lower *L)
{
	struct window w;
	const char *why = low_window(L, NULL, low_in_axes, &w);

	if (why)
		return why;
	stage_id max = pool_taps(L, &w, "maxpool", COMB_MAX, -INFINITY);
	low_result_is(L, 0, lstage(L->p, max)->out);
	if (low_wants(L, 1))
		max_places(L, &w, max);
	return NULL;
}

/* The p-norm of each window. */
static const char *lp_pool(struct lower *L)
{
	int64_t p = attr_i(L->n, "p");
	struct window w;
	const char *why = low_window(L, NULL, low_in_axes, &w);
	poly x[LOOP_RANK_MAX];

	if (why)
		return why;
	stage_id s = low_sums(L, 0, "sum");
	tap_index(L, &w, s, 0, 0, w.n, x);
	ex_id e = low_wide(L, low_read_fill(L, 0, x, 0));
	stage_body(L->p, s, COMB_SUM, low_to_norm(L, e, p));
	if (p == 1) {
		low_result_is(L, 0, lstage(L->p, s)->out);
		return NULL;
	}
	stage_id r = low_result(L, 0, "root");
	low_index(L, r, x);
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, low_from_norm(L, low_of(L, s, x), p)));
	return NULL;
}

/* Taps k with lo <= start + k*dilation < hi. */
static poly taps_inside(struct polys *P, const struct window *w, int i, poly start, int64_t lo, int64_t hi)
{
	poly first = poly_ceildiv(P, poly_sub(P, poly_const(P, lo), start), w->dilation[i]);
	poly end = poly_ceildiv(P, poly_sub(P, poly_const(P, hi), start), w->dilation[i]);

	return poly_sub(P, poly_min(P, poly_const(P, w->size[i]), end), poly_max(P, poly_const(P, 0), first));
}

static const char *average_pool(struct lower *L)
{
	struct polys *P = L->p->P;
	bool padding = attr_i(L->n, "count_include_pad") != 0;
	struct window w;
	const char *why = low_window(L, NULL, low_in_axes, &w);
	poly index[LOOP_RANK_MAX], count = poly_const(P, 1);
	int64_t c;

	if (why)
		return why;
	stage_id s = pool_taps(L, &w, "sum", COMB_SUM, 0), r = low_result(L, 0, "avgpool");
	low_index(L, r, index);
	for (int i = 0; i < w.n; i++) {
		poly start = poly_addc(P, poly_mulc(P, index[2 + i], w.stride[i]), -w.begin[i]);
		int64_t in = L->shape[0][2 + i];
		count = poly_mul(P, count, taps_inside(P, &w, i, start, padding ? -w.begin[i] : 0, padding ? in + w.end[i] : in));
	}
	ex_id sum = low_of(L, s, index);
	ex_id y = poly_is_const(P, count, &c) ? low_fnc(L, FN_MUL, sum, 1.0 / (double)c)
					      : low_fn2(L, FN_DIV, sum, ex_index(L->p, lex(L->p, sum)->dtype, count));
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, y));
	return NULL;
}

const struct lower_row lower_pool[] = {
	{OP_AveragePool, average_pool},
	{OP_LpPool, lp_pool},
	{OP_MaxPool, max_pool},
	{0},
};
