/* Reductions along axes that may be operands, of extents that may be 0. Floats are combined in double, integers in 64 bits that wrap. */
#include "native/native.h"

enum { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN };
enum { REDUCE_AS_IS, REDUCE_ABS, REDUCE_SQUARE };
enum { REDUCE_DONE, REDUCE_MEAN, REDUCE_ROOT, REDUCE_LOG, REDUCE_LOG_EXP };

/* before: of each element; after: of what they give together. */
struct reduce_kind {
	int combine, before, after;
};

/* The operand with neighbouring axes of one kind taken together. */
struct reduce_walk {
	int rank;
	int64_t dims[NATIVE_RANK_MAX], stride[NATIVE_RANK_MAX]; /* stride: in the result; 0 along reduced axes */
	int64_t nout, nred;
};

/* ---- axes ---- */

static const char *reduce_axes(struct native *n, bool *reduced)
{
	const struct native_tensor *x = &n->in[0];
	int64_t count = native_has(n, 1) ? native_count(&n->in[1]) : 0;
	bool all = !count && !native_int(n, "noop_with_empty_axes");

	for (int a = 0; a < x->rank; a++)
		reduced[a] = all;
	for (int64_t i = 0; i < count; i++) {
		int a = native_axis(native_get_int(n->in[1].type, n->in[1].data, i), x->rank);
		if (a < 0)
			return "an axis is outside the rank";
		if (reduced[a])
			return native_why(n, "axis %d is given twice", a);
		reduced[a] = true;
	}
	return NULL;
}

/* Its rank. */
static int reduce_shape(const struct native_tensor *x, const bool *reduced, bool keep, int64_t *dims)
{
	int rank = 0;

	for (int a = 0; a < x->rank; a++)
		if (!reduced[a] || keep)
			dims[rank++] = reduced[a] ? 1 : x->dims[a];
	return rank;
}

static void reduce_walk(struct reduce_walk *w, const struct native_tensor *x, const bool *reduced)
{
	int64_t stride = 1;
	bool last = false;

	*w = (struct reduce_walk){.nout = 1, .nred = 1};
	for (int a = 0; a < x->rank; a++) {
		*(reduced[a] ? &w->nred : &w->nout) *= x->dims[a];
		if (w->rank && last == reduced[a]) {
			w->dims[w->rank - 1] *= x->dims[a];
			continue;
		}
		last = reduced[a];
		w->stride[w->rank] = !last;
		w->dims[w->rank++] = x->dims[a];
	}
	if (!w->rank)
		w->dims[w->rank++] = 1;
	for (int a = w->rank - 1; a >= 0; a--) {
		int64_t kept = w->stride[a];
		w->stride[a] *= stride;
		stride *= kept ? w->dims[a] : 1;
	}
}

/* To the next row of the last axis: where it lies in the result. */
static int64_t reduce_next(const struct reduce_walk *w, int64_t *at, int64_t to)
{
	for (int a = w->rank - 2; a >= 0; a--) {
		to += w->stride[a];
		if (++at[a] < w->dims[a])
			break;
		to -= at[a] * w->stride[a];
		at[a] = 0;
	}
	return to;
}

/* ---- floats ---- */

static double reduce_step(int combine, double sum, double e)
{
	switch (combine) {
	case REDUCE_SUM: return sum + e;
	case REDUCE_PROD: return sum * e;
	case REDUCE_MAX: return e > sum || e != e ? e : sum;
	default: return e < sum || e != e ? e : sum;
	}
}

static double reduce_start(int combine)
{
	return combine == REDUCE_PROD ? 1 : combine == REDUCE_MAX ? -INFINITY : combine == REDUCE_MIN ? INFINITY : 0;
}

/* count elements of one result. Several sums at a time do not wait for each other. */
static double reduce_row(int combine, double sum, int64_t count, const double *v)
{
	enum { SUMS = 8 };
	double part[SUMS] = {0};
	int64_t k = 0;

	if (combine == REDUCE_SUM) {
		for (; k + SUMS <= count; k += SUMS)
			for (int i = 0; i < SUMS; i++)
				part[i] += v[k + i];
		for (int i = 0; i < SUMS; i++)
			sum += part[i];
	}
	for (; k < count; k++)
		sum = reduce_step(combine, sum, v[k]);
	return sum;
}

/* An element for each result. */
static void reduce_rows(int combine, double *sum, int64_t count, const double *v)
{
	if (combine == REDUCE_SUM)
		for (int64_t k = 0; k < count; k++)
			sum[k] += v[k];
	else
		for (int64_t k = 0; k < count; k++)
			sum[k] = reduce_step(combine, sum[k], v[k]);
}

static void reduce_before(int before, int64_t count, double *v)
{
	for (int64_t k = 0; k < count && before == REDUCE_ABS; k++)
		v[k] = fabs(v[k]);
	for (int64_t k = 0; k < count && before == REDUCE_SQUARE; k++)
		v[k] *= v[k];
}

/* What each result is made of, in sum. most: not NULL: of exp(x - most). */
static void reduce_floats(const struct reduce_walk *w, const struct native_tensor *x, int combine, int before, double *sum,
			  const double *most)
{
	enum { BLOCK = 256 };
	int64_t at[NATIVE_RANK_MAX] = {0}, to = 0, row = w->dims[w->rank - 1], step = w->stride[w->rank - 1], total = native_count(x);
	double v[BLOCK];

	for (int64_t i = 0; i < w->nout; i++)
		sum[i] = reduce_start(combine);
	for (int64_t from = 0; from < total; from += row, to = reduce_next(w, at, to))
		for (int64_t i = 0; i < row; i += BLOCK) {
			int64_t count = row - i < BLOCK ? row - i : BLOCK;
			native_load(x->type, x->data, from + i, count, v);
			reduce_before(before, count, v);
			for (int64_t k = 0; k < count && most; k++) {
				double m = most[to + (i + k) * step];
				v[k] = isinf(m) ? 0 : exp(v[k] - m);
			}
			if (step)
				reduce_rows(combine, sum + to + i, count, v);
			else
				sum[to] = reduce_row(combine, sum[to], count, v);
		}
}

static const char *reduce_real(struct native *n, const struct reduce_walk *w, const struct reduce_kind *k, void *y)
{
	const struct native_tensor *x = &n->in[0];
	bool log_exp = k->after == REDUCE_LOG_EXP;
	double *sum = n->scratch(n, (size_t)w->nout * sizeof *sum), *most = NULL;

	if (!sum || (log_exp && !(most = n->scratch(n, (size_t)w->nout * sizeof *most))))
		return native_no_room(n);
	if (log_exp)
		reduce_floats(w, x, REDUCE_MAX, REDUCE_AS_IS, most, NULL);
	reduce_floats(w, x, k->combine, k->before, sum, most);
	for (int64_t i = 0; i < w->nout; i++)
		switch (k->after) {
		case REDUCE_MEAN: sum[i] /= (double)w->nred; break;
		case REDUCE_ROOT: sum[i] = sqrt(sum[i]); break;
		case REDUCE_LOG: sum[i] = log(sum[i]); break;
		case REDUCE_LOG_EXP: sum[i] = isinf(most[i]) ? most[i] : most[i] + log(sum[i]); break;
		default: break;
		}
	native_store(x->type, y, 0, w->nout, sum);
	return NULL;
}

/* ---- integers ---- */

static int64_t reduce_int_step(const struct reduce_kind *k, bool is_unsigned, int64_t sum, int64_t e)
{
	bool less = is_unsigned ? (uint64_t)e < (uint64_t)sum : e < sum;

	if (k->before == REDUCE_ABS && e < 0 && !is_unsigned)
		e = (int64_t) - (uint64_t)e;
	if (k->before == REDUCE_SQUARE)
		e = (int64_t)((uint64_t)e * (uint64_t)e);
	switch (k->combine) {
	case REDUCE_SUM: return (int64_t)((uint64_t)sum + (uint64_t)e);
	case REDUCE_PROD: return (int64_t)((uint64_t)sum * (uint64_t)e);
	case REDUCE_MAX: return less ? sum : e;
	default: return less ? e : sum;
	}
}

static int64_t reduce_int_start(int combine, int type)
{
	if (combine == REDUCE_MAX)
		return native_least(type);
	return combine == REDUCE_MIN ? native_most(type) : combine == REDUCE_PROD;
}

/* Sums wrap in their type before they are divided. */
static const char *reduce_whole(struct native *n, const struct reduce_walk *w, const struct reduce_kind *k, void *y)
{
	const struct native_tensor *x = &n->in[0];
	int64_t at[NATIVE_RANK_MAX] = {0}, to = 0, row = w->dims[w->rank - 1], step = w->stride[w->rank - 1], total = native_count(x);
	int64_t *sum = n->scratch(n, (size_t)w->nout * sizeof *sum);
	bool is_unsigned = x->type == NATIVE_U64;

	if (!sum)
		return native_no_room(n);
	for (int64_t i = 0; i < w->nout; i++)
		sum[i] = reduce_int_start(k->combine, x->type);
	for (int64_t from = 0; from < total; from += row, to = reduce_next(w, at, to))
		for (int64_t i = 0; i < row; i++) {
			int64_t *s = sum + to + i * step;
			*s = reduce_int_step(k, is_unsigned, *s, native_get_int(x->type, x->data, from + i));
		}
	for (int64_t i = 0; i < w->nout; i++) {
		native_set_int(x->type, y, i, sum[i]);
		if (k->after != REDUCE_MEAN || !w->nred)
			continue;
		int64_t s = native_get_int(x->type, y, i);
		native_set_int(x->type, y, i, is_unsigned ? (int64_t)((uint64_t)s / (uint64_t)w->nred) : s / w->nred);
	}
	return NULL;
}

static const char *reduce_run(struct native *n, int combine, int before, int after)
{
	const struct reduce_kind k = {combine, before, after};
	const struct native_tensor *x = &n->in[0];
	int64_t dims[NATIVE_RANK_MAX];
	bool reduced[NATIVE_RANK_MAX];
	struct reduce_walk w;
	const char *why = reduce_axes(n, reduced);
	void *y;

	if (why)
		return why;
	if (!native_is_number(x->type) && x->type != NATIVE_BOOL)
		return native_no_type();
	reduce_walk(&w, x, reduced);
	if (!(y = n->room(n, 0, x->type, reduce_shape(x, reduced, native_int(n, "keepdims") != 0, dims), dims)))
		return native_no_room(n);
	return native_is_float(x->type) || after > REDUCE_MEAN ? reduce_real(n, &w, &k, y) : reduce_whole(n, &w, &k, y);
}

NATIVE const char *native_ReduceL1(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_ABS, REDUCE_DONE); }
NATIVE const char *native_ReduceL2(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_SQUARE, REDUCE_ROOT); }
NATIVE const char *native_ReduceLogSum(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_AS_IS, REDUCE_LOG); }
NATIVE const char *native_ReduceLogSumExp(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_AS_IS, REDUCE_LOG_EXP); }
NATIVE const char *native_ReduceMax(struct native *n) { return reduce_run(n, REDUCE_MAX, REDUCE_AS_IS, REDUCE_DONE); }
NATIVE const char *native_ReduceMean(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_AS_IS, REDUCE_MEAN); }
NATIVE const char *native_ReduceMin(struct native *n) { return reduce_run(n, REDUCE_MIN, REDUCE_AS_IS, REDUCE_DONE); }
NATIVE const char *native_ReduceProd(struct native *n) { return reduce_run(n, REDUCE_PROD, REDUCE_AS_IS, REDUCE_DONE); }
NATIVE const char *native_ReduceSum(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_AS_IS, REDUCE_DONE); }
NATIVE const char *native_ReduceSumSquare(struct native *n) { return reduce_run(n, REDUCE_SUM, REDUCE_SQUARE, REDUCE_DONE); }
