/* Lowering of reductions along axes, and of what is divided by one: Reduce*, global pooling, softmax, norms, arg max. */
#include <math.h>
#include <string.h>
#include "lower/along.h"

static const char *const conv_axes[] = {"", "", "", "n c w", "n c h w", "n c d h w"};

/* Reduced axes that the result keeps are axes of it, and the reduction's once more. */
static const char *axes_fit(struct lower *L, const struct along *r)
{
	int n = r->rank;
	for (int a = 0; a < r->rank; a++)
		n += r->keep && r->reduce[a];
	return low_axes_fit(L, n);
}

static const char *read_axes(struct lower *L, struct along *r)
{
	int64_t axes[LOOP_RANK_MAX];
	int n = 0, a;

	*r = (struct along){.rank = low_rank(L, 0), .count = 1, .keep = attr_i(L->n, "keepdims") != 0};
	if (low_has(L, 1) && (n = low_ints(L, 1, axes, LOOP_RANK_MAX)) < 0)
		return "axes are not constant";
	if (!n && !attr_i(L->n, "noop_with_empty_axes"))
		memset(r->reduce, true, (size_t)r->rank);
	for (int i = 0; i < n; i++) {
		if (!low_axis(axes[i], r->rank, &a))
			return low_why(L, "axis %lld outside rank %d", (long long)axes[i], r->rank);
		r->reduce[a] = true;
	}
	for (a = 0; a < r->rank; a++)
		r->count *= r->reduce[a] ? L->shape[0][a] : 1;
	return axes_fit(L, r);
}

enum before { BEFORE_NONE, BEFORE_ABS, BEFORE_SQUARE, BEFORE_POWER };
enum after { AFTER_NONE, AFTER_MEAN, AFTER_SQRT, AFTER_LOG, AFTER_ROOT };

static ex_id apply_before(struct lower *L, enum before f, ex_id x)
{
	if (f == BEFORE_ABS)
		return low_fn1(L, FN_ABS, x);
	if (f == BEFORE_POWER)
		return low_to_norm(L, x, attr_i(L->n, "p"));
	return f == BEFORE_SQUARE ? low_fn2(L, FN_MUL, x, x) : x;
}

static ex_id apply_after(struct lower *L, enum after f, ex_id y, int64_t count)
{
	switch (f) {
	case AFTER_MEAN:
		return dtype_is_float(lex(L->p, y)->dtype) ? low_fnc(L, FN_MUL, y, 1.0 / (double)count)
							   : low_fnc(L, FN_DIV, y, (double)count);
	case AFTER_SQRT: return low_fn1(L, FN_SQRT, y);
	case AFTER_LOG: return low_fn1(L, FN_LOG, y);
	case AFTER_ROOT: return low_from_norm(L, y, attr_i(L->n, "p"));
	default: return y;
	}
}

static const char *reduce_along(struct lower *L, const struct along *r, const char *name, enum before f, enum combiner c, enum after g)
{
	poly x[LOOP_RANK_MAX];
	bool sums = c == COMB_SUM || c == COMB_PROD;
	stage_id s = sums ? low_sums(L, 0, name) : low_scratch(L, 0, name);

	along_reduced(L, r, s, x);
	bool reduces = lstage(L->p, s)->naxes > lstage(L->p, s)->nspatial;
	ex_id e = low_read(L, 0, x);
	stage_body(L->p, s, reduces ? c : COMB_NONE, apply_before(L, f, sums ? low_wide(L, e) : e));
	if (g == AFTER_NONE) {
		low_result_is(L, 0, lstage(L->p, s)->out);
		return NULL;
	}
	stage_id out = low_result(L, 0, g == AFTER_MEAN ? "mean" : g == AFTER_LOG ? "log" : "root");
	low_index(L, out, x);
	stage_body(L->p, out, COMB_NONE, low_round(L, 0, apply_after(L, g, low_of(L, s, x), r->count)));
	return NULL;
}

static const char *reduce(struct lower *L, const char *name, enum before f, enum combiner c, enum after g)
{
	struct along r;
	const char *why = read_axes(L, &r);

	return why ? why : reduce_along(L, &r, name, f, c, g);
}

static const char *reduce_sum(struct lower *L) { return reduce(L, "sum", BEFORE_NONE, COMB_SUM, AFTER_NONE); }
static const char *reduce_mean(struct lower *L) { return reduce(L, "sum", BEFORE_NONE, COMB_SUM, AFTER_MEAN); }
static const char *reduce_prod(struct lower *L) { return reduce(L, "prod", BEFORE_NONE, COMB_PROD, AFTER_NONE); }
static const char *reduce_max(struct lower *L) { return reduce(L, "max", BEFORE_NONE, COMB_MAX, AFTER_NONE); }
static const char *reduce_min(struct lower *L) { return reduce(L, "min", BEFORE_NONE, COMB_MIN, AFTER_NONE); }
static const char *reduce_l1(struct lower *L) { return reduce(L, "sum", BEFORE_ABS, COMB_SUM, AFTER_NONE); }
static const char *reduce_l2(struct lower *L) { return reduce(L, "sum", BEFORE_SQUARE, COMB_SUM, AFTER_SQRT); }
static const char *reduce_sumsq(struct lower *L) { return reduce(L, "sum", BEFORE_SQUARE, COMB_SUM, AFTER_NONE); }
static const char *reduce_logsum(struct lower *L)
{
	return dtype_is_float(low_dtype(L, 0)) ? reduce(L, "sum", BEFORE_NONE, COMB_SUM, AFTER_LOG) : "a logarithm of integers";
}

static const char *global_pool(struct lower *L, const char *name, enum before f, enum combiner c, enum after g)
{
	struct along r = {.rank = low_rank(L, 0), .count = 1, .keep = true};

	if (r.rank < (int)(sizeof conv_axes / sizeof *conv_axes) && r.rank > 2)
		low_name_axes(L, r.rank, conv_axes[r.rank]);
	for (int a = 2; a < r.rank; a++) {
		r.reduce[a] = true;
		r.count *= L->shape[0][a];
	}
	const char *why = axes_fit(L, &r);
	return why ? why : reduce_along(L, &r, name, f, c, g);
}

static const char *global_lp_pool(struct lower *L)
{
	int64_t p = attr_i(L->n, "p");

	if (p == 1)
		return global_pool(L, "sum", BEFORE_ABS, COMB_SUM, AFTER_NONE);
	return p == 2 ? global_pool(L, "sum", BEFORE_SQUARE, COMB_SUM, AFTER_SQRT)
		      : global_pool(L, "sum", BEFORE_POWER, COMB_SUM, AFTER_ROOT);
}

static const char *global_average_pool(struct lower *L) { return global_pool(L, "sum", BEFORE_NONE, COMB_SUM, AFTER_MEAN); }
static const char *global_max_pool(struct lower *L) { return global_pool(L, "max", BEFORE_NONE, COMB_MAX, AFTER_NONE); }

static const char *softmax_along(struct lower *L, struct along *r)
{
	int a;

	*r = (struct along){.rank = low_rank(L, 0), .count = 1};
	if (!low_axis(attr_i(L->n, "axis"), r->rank, &a))
		return "axis outside the rank";
	r->reduce[a] = true;
	return NULL;
}

static const char *softmax(struct lower *L)
{
	struct along r;
	const char *why = softmax_along(L, &r);
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];

	if (why)
		return why;
	struct expsum e = along_exp(L, &r, true, false);
	stage_id scale = along_statistic(L, &r, "scale", low_wide_type(low_dtype(L, 0)));
	low_index(L, scale, at); /* one division a sum, not one an element */
	ex_id sum = low_of(L, e.sum, at);
	stage_body(L->p, scale, COMB_NONE, low_fn2(L, FN_DIV, low_num(L, sum, 1), sum));
	stage_id s = low_result(L, 0, "scaled");
	low_index(L, s, x);
	along_kept(L, &r, x, at);
	stage_body(L->p, s, COMB_NONE, low_round(L, 0, low_fn2(L, FN_MUL, low_of(L, e.exp, x), low_of(L, scale, at))));
	return NULL;
}

static const char *log_softmax(struct lower *L)
{
	struct along r;
	const char *why = softmax_along(L, &r);
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];

	if (why)
		return why;
	struct expsum e = along_exp(L, &r, false, false);
	stage_id s = low_result(L, 0, "logsoftmax");
	low_index(L, s, x);
	along_kept(L, &r, x, at);
	ex_id y = low_fn2(L, FN_SUB, along_less_max(L, e.max, x, at), low_fn1(L, FN_LOG, low_of(L, e.sum, at)));
	stage_body(L->p, s, COMB_NONE, low_round(L, 0, y));
	return NULL;
}

static const char *reduce_logsumexp(struct lower *L)
{
	struct along r;
	const char *why = dtype_is_float(low_dtype(L, 0)) ? read_axes(L, &r) : "a logarithm of integers";
	poly x[LOOP_RANK_MAX];

	if (why)
		return why;
	struct expsum e = along_exp(L, &r, false, true);
	stage_id s = low_result(L, 0, "logsumexp");
	low_index(L, s, x);
	ex_id y = low_fn2(L, FN_ADD, low_fn1(L, FN_LOG, low_of(L, e.sum, x)), along_finite(L, low_wide(L, low_of(L, e.max, x))));
	stage_body(L->p, s, COMB_NONE, low_round(L, 0, y));
	return NULL;
}

/* The place along axis a of the extreme value, which is found first: the least (or greatest) index that has it; a NaN is more extreme than
 * any number. Indices are numbers of the operand's type where it has all of them, so that one vector holds both. */
static stage_id place_of_extreme(struct lower *L, const struct along *r, int a, enum combiner c, bool last)
{
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];
	stage_id m = along_statistic(L, r, c == COMB_MAX ? "max" : "min", low_dtype(L, 0));

	along_reduced(L, r, m, x);
	stage_body(L->p, m, c, low_read(L, 0, x));
	enum dtype t = low_dtype(L, 0) == DT_F32 && L->shape[0][a] <= 1 << 24 ? DT_F32 : DT_I64;
	stage_id s = along_statistic(L, r, "arg", t);
	along_reduced(L, r, s, x);
	along_kept(L, r, x, at);
	ex_id v = low_read(L, 0, x), is = low_fn2(L, FN_EQ, v, low_of(L, m, at));
	if (dtype_is_float(low_dtype(L, 0)))
		is = low_fn2(L, FN_OR, is, low_fn2(L, FN_NE, v, v));
	ex_id none = ex_const(L->p, t, last ? -1 : (double)L->shape[0][a]);
	stage_body(L->p, s, last ? COMB_MAX : COMB_MIN, low_select(L, is, ex_cast(L->p, t, ex_index(L->p, DT_I64, x[a])), none));
	return s;
}

/* Does axis a hold few elements, which lie side by side? Then no vector fills along it, and comparing them one after the other is all. */
static bool few_in_row(struct lower *L, int a)
{
	enum { FEW = 4 };

	for (int i = a + 1; i < low_rank(L, 0); i++)
		if (L->shape[0][i] != 1)
			return false;
	return L->shape[0][a] > 0 && L->shape[0][a] <= FEW && !low_layout(L, 0)->n;
}

/* place_of_extreme by comparison: each element with the best before it. */
static void place_in_row(struct lower *L, const struct along *r, int a, enum combiner c, bool last)
{
	enum math_fn beats = c == COMB_MAX ? (last ? FN_GE : FN_GT) : last ? FN_LE : FN_LT;
	stage_id s = low_result(L, 0, "place");
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX];
	ex_id best = 0, place = 0;

	low_index(L, s, at);
	for (int i = 0, k = 0; i < r->rank; i++)
		x[i] = r->reduce[i] ? poly_const(L->p->P, 0) : at[r->keep ? i : k++];
	for (int64_t i = 0; i < L->shape[0][a]; i++) {
		x[a] = poly_const(L->p->P, i);
		ex_id v = low_read(L, 0, x), here = ex_const_int(L->p, DT_I64, i);
		if (!best) {
			best = v;
			place = here;
			continue;
		}
		ex_id better = low_fn2(L, beats, v, best);
		if (dtype_is_float(low_dtype(L, 0))) {
			ex_id nan = low_fn2(L, FN_NE, v, v);
			better = low_fn2(L, FN_OR, better, last ? nan : low_fn2(L, FN_AND, nan, low_fn2(L, FN_EQ, best, best)));
		}
		place = low_select(L, better, here, place);
		best = low_select(L, better, v, best);
	}
	stage_body(L->p, s, COMB_NONE, place);
}

static const char *arg_extreme(struct lower *L, enum combiner c)
{
	struct along r = {.rank = low_rank(L, 0), .count = 1, .keep = attr_i(L->n, "keepdims") != 0};
	poly x[LOOP_RANK_MAX];
	int a;

	if (!low_axis(attr_i(L->n, "axis"), r.rank, &a))
		return "axis outside the rank";
	r.reduce[a] = true;
	if (few_in_row(L, a)) {
		place_in_row(L, &r, a, c, attr_i(L->n, "select_last_index") != 0);
		return NULL;
	}
	stage_id s = place_of_extreme(L, &r, a, c, attr_i(L->n, "select_last_index") != 0);
	if (lbuf(L->p, lstage(L->p, s)->out)->dtype == DT_I64) {
		low_result_is(L, 0, lstage(L->p, s)->out);
		return NULL;
	}
	stage_id y = low_result(L, 0, "place");
	low_index(L, y, x);
	stage_body(L->p, y, COMB_NONE, ex_cast(L->p, DT_I64, low_of(L, s, x)));
	return NULL;
}

/* 1 at the first of the largest, else 0. */
static const char *hardmax(struct lower *L)
{
	struct along r;
	const char *why = softmax_along(L, &r);
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];
	int a = 0;

	if (why)
		return why;
	while (!r.reduce[a])
		a++;
	stage_id s = place_of_extreme(L, &r, a, COMB_MAX, false), y = low_result(L, 0, "hardmax");
	low_index(L, y, x);
	along_kept(L, &r, x, at);
	ex_id place = low_of(L, s, at),
	      here = low_fn2(L, FN_EQ, place, ex_cast(L->p, lex(L->p, place)->dtype, ex_index(L->p, DT_I64, x[a])));
	stage_body(L->p, y, COMB_NONE, ex_cast(L->p, low_out_dtype(L, 0), here));
	return NULL;
}

/* Each element less the mean along r, if there is one, in the wide type. */
static ex_id less_mean(struct lower *L, const struct along *r, const poly *x, stage_id mean)
{
	poly at[LOOP_RANK_MAX];
	ex_id e = low_read_wide(L, 0, x);

	along_kept(L, r, x, at);
	return mean ? low_fn2(L, FN_SUB, e, low_of(L, mean, at)) : e;
}

/* A sum along r, and a stage of one number for each sum: f(sum * scale). */
static stage_id sum_along(struct lower *L, const struct along *r, const char *name, stage_id mean, enum before f, double scale,
			  ex_id (*g)(struct lower *, ex_id))
{
	enum dtype t = low_wide_type(low_dtype(L, 0));
	stage_id sum = along_statistic(L, r, "sum", t);
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];

	along_reduced(L, r, sum, x);
	stage_body(L->p, sum, COMB_SUM, apply_before(L, f, less_mean(L, r, x, mean)));
	stage_id s = along_statistic(L, r, name, t);
	low_index(L, s, at);
	ex_id e = low_of(L, sum, at);
	stage_body(L->p, s, COMB_NONE, g(L, scale == 1 ? e : low_fnc(L, FN_MUL, e, scale)));
	return s;
}

static ex_id as_it_is(struct lower *L, ex_id x) { return x; }

/* One division a sum. No norm: all are 0, and stay so. */
static ex_id inverse(struct lower *L, ex_id x)
{
	return low_select(L, low_fnc(L, FN_EQ, x, 0), x, low_fn2(L, FN_DIV, low_num(L, x, 1), x));
}

static ex_id inverse_root(struct lower *L, ex_id x) { return inverse(L, low_fn1(L, FN_SQRT, x)); }

static ex_id inverse_deviation(struct lower *L, ex_id x)
{
	return low_fn2(L, FN_DIV, low_num(L, x, 1), low_fnc(L, FN_ADD, low_fn1(L, FN_SQRT, x), 1e-9));
}

/* What is left of each element, times what its sum gave. */
static void times_stat(struct lower *L, const struct along *r, const char *name, stage_id mean, stage_id factor)
{
	poly x[LOOP_RANK_MAX], at[LOOP_RANK_MAX];
	stage_id y = low_result(L, 0, name);

	low_index(L, y, x);
	along_kept(L, r, x, at);
	stage_body(L->p, y, COMB_NONE, low_round(L, 0, low_fn2(L, FN_MUL, less_mean(L, r, x, mean), low_of(L, factor, at))));
}

static const char *lp_normalization(struct lower *L)
{
	struct along r;
	const char *why = softmax_along(L, &r);
	bool square = attr_i(L->n, "p") != 1;

	if (why)
		return why;
	stage_id factor = sum_along(L, &r, "factor", 0, square ? BEFORE_SQUARE : BEFORE_ABS, 1, square ? inverse_root : inverse);
	times_stat(L, &r, "normalised", 0, factor);
	return NULL;
}

static const char *mean_variance(struct lower *L)
{
	struct along r = {.rank = low_rank(L, 0), .count = 1};
	int64_t axes[LOOP_RANK_MAX];
	int count = attr_list(L->n, "axes", axes, LOOP_RANK_MAX), a;

	if (count < 0)
		return "more axes than the rank";
	for (int i = 0; i < count; i++) {
		if (!low_axis(axes[i], r.rank, &a))
			return "axis outside the rank";
		r.count *= r.reduce[a] ? 1 : L->shape[0][a];
		r.reduce[a] = true;
	}
	stage_id mean = sum_along(L, &r, "mean", 0, BEFORE_NONE, 1.0 / (double)r.count, as_it_is);
	stage_id factor = sum_along(L, &r, "factor", mean, BEFORE_SQUARE, 1.0 / (double)r.count, inverse_deviation);
	times_stat(L, &r, "normalised", mean, factor);
	return NULL;
}

static const char *arg_max(struct lower *L) { return arg_extreme(L, COMB_MAX); }
static const char *arg_min(struct lower *L) { return arg_extreme(L, COMB_MIN); }

const struct lower_row lower_reduce[] = {
	{OP_ArgMax, arg_max},
	{OP_ArgMin, arg_min},
	{OP_GlobalAveragePool, global_average_pool},
	{OP_GlobalLpPool, global_lp_pool},
	{OP_GlobalMaxPool, global_max_pool},
	{OP_Hardmax, hardmax},
	{OP_LogSoftmax, log_softmax},
	{OP_LpNormalization, lp_normalization},
	{OP_MeanVarianceNormalization, mean_variance},
	{OP_ReduceL1, reduce_l1, .constant = 1 << 1},
	{OP_ReduceL2, reduce_l2, .constant = 1 << 1},
	{OP_ReduceLogSum, reduce_logsum, .constant = 1 << 1},
	{OP_ReduceLogSumExp, reduce_logsumexp, .constant = 1 << 1},
	{OP_ReduceMax, reduce_max, .constant = 1 << 1},
	{OP_ReduceMean, reduce_mean, .constant = 1 << 1},
	{OP_ReduceMin, reduce_min, .constant = 1 << 1},
	{OP_ReduceProd, reduce_prod, .constant = 1 << 1},
	{OP_ReduceSum, reduce_sum, .constant = 1 << 1},
	{OP_ReduceSumSquare, reduce_sumsq, .constant = 1 << 1},
	{OP_Softmax, softmax},
	{0},
};
