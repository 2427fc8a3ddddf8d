/* Reductions along axes, ArgMax, ArgMin, running sums and products. */
#include <math.h>
#include "op/rules.h"

enum combine { SUM, PROD, MAX, MIN };
enum before { AS_IS, ABS, SQUARE };
enum after { DONE, MEAN, ROOT, LOG };
struct reduction {
	enum combine combine;
	enum before before;
	enum after after;
};
static const struct reduction reductions[OP_COUNT] = {
	[OP_ReduceL1] = {SUM, ABS},
	[OP_ReduceL2] = {SUM, SQUARE, ROOT},
	[OP_ReduceLogSum] = {SUM, AS_IS, LOG},
	[OP_ReduceMax] = {MAX},
	[OP_ReduceMean] = {SUM, AS_IS, MEAN},
	[OP_ReduceMin] = {MIN},
	[OP_ReduceProd] = {PROD},
	[OP_ReduceSum] = {SUM},
	[OP_ReduceSumSquare] = {SUM, SQUARE},
};

/* Which axes are reduced: red[axis]. NULL, or why not. n < 0: no axes are given. */
static const char *reduce_axes(const struct node *n, int rank, int count, const int64_t *axes, bool *red)
{
	bool all = count <= 0 && !attr_i(n, "noop_with_empty_axes");

	for (int i = 0; i < rank; i++)
		red[i] = all;
	for (int i = 0; i < count; i++) {
		int at;
		if (!rule_axis(axes[i], rank, &at))
			return "an axis is outside the rank";
		red[at] = true;
	}
	return NULL;
}

static void known_reduce(struct infer *I)
{
	const struct reduction *r = &reductions[I->n->op];
	const struct known *k = &I->kin[0];
	struct polys *P = rule_polys(I);
	int64_t c = type_count(I->m, &I->out[0]);
	poly acc, *e;

	if (!k->yes || c != 1 || k->n < 1 || r->before || r->after || !(e = rule_known(I, 0, 1)))
		return;
	acc = k->e[0];
	for (int i = 1; i < k->n; i++)
		acc = r->combine == SUM    ? poly_add(P, acc, k->e[i])
		      : r->combine == PROD ? poly_mul(P, acc, k->e[i])
		      : r->combine == MAX  ? poly_max(P, acc, k->e[i])
					   : poly_min(P, acc, k->e[i]);
	e[0] = rule_fits(P, I->out[0].dtype, acc);
}

static const char *shape_reduce(struct infer *I)
{
	const int64_t *axes = NULL;
	int rank = rule_rank(I, 0), count = rule_has(I, 1) ? rule_ints(I, 1, &axes) : 0, nred = -1;
	bool keep = attr_i(I->n, "keepdims") != 0, red[RANK_MAX];
	const char *why;

	rule_out(I, 0, I->in[0].dtype, RANK_UNKNOWN, NULL);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (count < 0) { /* the axes are not known; their number may be */
		if (rule_rank(I, 1) == 1) {
			int64_t c;
			if (poly_is_const(rule_polys(I), rule_dim(I, 1, 0), &c))
				nred = c == 0 && !attr_i(I->n, "noop_with_empty_axes") ? rank : (int)c;
		}
		if (keep)
			rule_out(I, 0, I->in[0].dtype, rank, rule_dims(I, rank));
		else if (nred >= 0 && nred <= rank)
			rule_out(I, 0, I->in[0].dtype, rank - nred, rule_dims(I, rank - nred));
		return NULL;
	}
	if ((why = reduce_axes(I->n, rank, count, axes, red)))
		return why;
	dim *d = rule_dims(I, rank);
	int n = 0;
	for (int i = 0; i < rank; i++) {
		if (!red[i])
			d[n++] = rule_dim(I, 0, i);
		else if (keep)
			d[n++] = rule_const(I, 1);
	}
	rule_out(I, 0, I->in[0].dtype, n, d);
	known_reduce(I);
	return NULL;
}

/* The operand with neighbouring axes of one kind merged. */
struct walk {
	int rank;
	int64_t dims[RANK_MAX], out_stride[RANK_MAX];
	bool red[RANK_MAX];
	int64_t nout, nred;
};

static void walk_init(struct walk *w, const struct tensor *x, const bool *red)
{
	memset(w, 0, sizeof *w);
	w->nout = w->nred = 1;
	for (int i = 0; i < x->rank; i++) {
		*(red[i] ? &w->nred : &w->nout) *= x->dims[i];
		if (w->rank && w->red[w->rank - 1] == red[i]) {
			w->dims[w->rank - 1] *= x->dims[i];
			continue;
		}
		w->red[w->rank] = red[i];
		w->dims[w->rank++] = x->dims[i];
	}
	if (!w->rank)
		w->dims[w->rank++] = 1;
	int64_t s = 1;
	for (int i = w->rank - 1; i >= 0; i--) {
		w->out_stride[i] = w->red[i] ? 0 : s;
		s *= w->red[i] ? 1 : w->dims[i];
	}
}

/* acc[out] = step(acc[out], x) for every element; exps: x is exp(x - max[out]). */
static void walk_floats(const struct walk *w, const struct tensor *x, const struct reduction *r, double *acc, const double *max)
{
	int last = w->rank - 1;
	int64_t at[RANK_MAX] = {0}, o = 0, off = 0, total = tensor_count(x);
	double v[BLOCK];

	while (off < total) {
		for (int64_t i = 0; i < w->dims[last]; i += BLOCK) {
			int c = w->dims[last] - i < BLOCK ? (int)(w->dims[last] - i) : BLOCK;
			load_d(x, off + i, 1, c, v);
			for (int k = 0; k < c; k++) {
				int64_t to = o + (i + k) * w->out_stride[last];
				double e = r->before == ABS ? fabs(v[k]) : r->before == SQUARE ? v[k] * v[k] : v[k];
				if (max)
					e = isinf(max[to]) ? 0 : exp(e - max[to]);
				switch (r->combine) {
				case SUM: acc[to] += e; break;
				case PROD: acc[to] *= e; break;
				case MAX: acc[to] = e > acc[to] || e != e ? e : acc[to]; break;
				case MIN: acc[to] = e < acc[to] || e != e ? e : acc[to]; break;
				}
			}
		}
		off += w->dims[last];
		for (int k = last - 1; k >= 0; k--) {
			o += w->out_stride[k];
			if (++at[k] < w->dims[k])
				break;
			o -= at[k] * w->out_stride[k];
			at[k] = 0;
		}
	}
}

static void walk_ints(const struct walk *w, const struct tensor *x, const struct reduction *r, int64_t *acc)
{
	int64_t at[RANK_MAX] = {0}, o = 0, total = tensor_count(x);
	bool u64 = x->dtype == DT_U64;

	for (int64_t off = 0; off < total; off++) {
		int64_t e = tensor_get_int(x, off);
		bool less = u64 ? (uint64_t)e < (uint64_t)acc[o] : e < acc[o];
		e = r->before == ABS      ? (e < 0 && !u64 ? (int64_t) - (uint64_t)e : e)
		    : r->before == SQUARE ? (int64_t)((uint64_t)e * (uint64_t)e)
					  : e;
		switch (r->combine) {
		case SUM: acc[o] = (int64_t)((uint64_t)acc[o] + (uint64_t)e); break;
		case PROD: acc[o] = (int64_t)((uint64_t)acc[o] * (uint64_t)e); break;
		case MAX: acc[o] = less ? acc[o] : e; break;
		case MIN: acc[o] = less ? e : acc[o]; break;
		}
		for (int k = w->rank - 1; k >= 0; k--) {
			o += w->out_stride[k];
			if (++at[k] < w->dims[k])
				break;
			o -= at[k] * w->out_stride[k];
			at[k] = 0;
		}
	}
}

static void reduce_floats(struct eval *e, const struct walk *w, const struct tensor *x, struct tensor *y)
{
	struct reduction r = reductions[e->n->op];
	double *acc = eval_scratch(e, sizeof *acc * (size_t)w->nout), *max = NULL;
	bool lse = e->n->op == OP_ReduceLogSumExp;

	if (lse) {
		max = eval_scratch(e, sizeof *max * (size_t)w->nout);
		for (int64_t i = 0; i < w->nout; i++)
			max[i] = -INFINITY;
		walk_floats(w, x, &(struct reduction){MAX}, max, NULL);
		r = (struct reduction){SUM};
	}
	for (int64_t i = 0; i < w->nout; i++)
		acc[i] = r.combine == PROD ? 1 : r.combine == MAX ? -INFINITY : r.combine == MIN ? INFINITY : 0;
	walk_floats(w, x, &r, acc, max);
	for (int64_t i = 0; i < w->nout; i++) {
		double v = acc[i];
		v = r.after == MEAN ? v / (double)w->nred : r.after == ROOT ? sqrt(v) : r.after == LOG ? log(v) : v;
		acc[i] = lse ? (isinf(max[i]) ? max[i] : max[i] + log(v)) : v;
	}
	store_d(y, 0, (int)w->nout, acc);
}

static void reduce_ints(struct eval *e, const struct walk *w, const struct tensor *x, struct tensor *y)
{
	const struct reduction *r = &reductions[e->n->op];
	int64_t *acc = eval_scratch(e, sizeof *acc * (size_t)w->nout);

	for (int64_t i = 0; i < w->nout; i++)
		acc[i] = r->combine == PROD  ? 1
			 : r->combine == MAX ? dtype_lowest(x->dtype)
			 : r->combine == MIN ? (x->dtype == DT_U64 ? -1 : dtype_highest(x->dtype))
					     : 0;
	walk_ints(w, x, r, acc);
	for (int64_t i = 0; r->after == MEAN && i < w->nout; i++) {
		int64_t n = w->nred ? w->nred : 1;
		store_i(y, i, 1, &acc[i]); /* integer sums wrap in their type */
		int64_t sum = tensor_get_int(y, i);
		acc[i] = x->dtype == DT_U64 ? (int64_t)((uint64_t)sum / (uint64_t)n) : sum / n;
	}
	store_i(y, 0, (int)w->nout, acc);
}

static const char *eval_reduce(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const int64_t *axes = NULL;
	int count = eval_ints(e, 1, &axes), n = 0;
	bool keep = attr_i(e->n, "keepdims") != 0, red[RANK_MAX];
	const char *why = reduce_axes(e->n, x->rank, count, axes, red);
	const struct reduction *r = &reductions[e->n->op];
	int64_t dims[RANK_MAX];
	struct walk w;
	struct tensor *y;

	if (why)
		return why;
	for (int i = 0; i < x->rank; i++) {
		if (!red[i])
			dims[n++] = x->dims[i];
		else if (keep)
			dims[n++] = 1;
	}
	walk_init(&w, x, red);
	if (w.nout > INT32_MAX)
		return "too many elements";
	y = eval_out(e, 0, x->dtype, n, dims);
	if (dtype_is_float(x->dtype) || r->after == ROOT || r->after == LOG || e->n->op == OP_ReduceLogSumExp)
		reduce_floats(e, &w, x, y);
	else
		reduce_ints(e, &w, x, y);
	return NULL;
}

/* ---- ArgMax, ArgMin ---- */

static const char *shape_arg(struct infer *I)
{
	int rank = rule_rank(I, 0), axis, n = 0;
	bool keep = attr_i(I->n, "keepdims") != 0;

	rule_out(I, 0, DT_I64, RANK_UNKNOWN, NULL);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)attr_i(I->n, "axis"), rank);
	dim *d = rule_dims(I, rank);
	for (int i = 0; i < rank; i++)
		if (i != axis || keep)
			d[n++] = i == axis ? rule_const(I, 1) : rule_dim(I, 0, i);
	rule_out(I, 0, DT_I64, n, d);
	return NULL;
}

/* NaN wins over any number, as in the specification's reference (numpy). */
static const char *eval_arg(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int axis, n = 0;
	bool keep = attr_i(e->n, "keepdims"), last = attr_i(e->n, "select_last_index");
	bool max = e->n->op == OP_ArgMax;
	int64_t dims[RANK_MAX];

	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis outside the rank";
	for (int i = 0; i < x->rank; i++)
		if (i != axis || keep)
			dims[n++] = i == axis ? 1 : x->dims[i];
	struct tensor *y = eval_out(e, 0, DT_I64, n, dims);
	struct axes3 s = split_at(x, axis);
	for (int64_t o = 0; o < s.outer; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			int64_t best = 0, base = o * s.n * s.inner + i;
			for (int64_t k = 1; k < s.n; k++) {
				int c = element_compare(x, base + k * s.inner, base + best * s.inner);
				if (c ? c == 2 || c == (max ? 1 : -1) : last)
					best = k;
			}
			((int64_t *)y->data)[o * s.inner + i] = best;
		}
	return NULL;
}

/* ---- CumSum, CumProd ---- */

static const char *shape_running(struct infer *I)
{
	const int64_t *v;
	int axis, rank = rule_rank(I, 0);

	rule_like(I, 0, 0);
	if (rank != RANK_UNKNOWN && rule_ints(I, 1, &v) == 1 && !rule_axis(v[0], rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)v[0], rank);
	return NULL;
}

static const char *eval_running(struct eval *e)
{
	const struct tensor *x = e->in[0];
	bool sum = e->n->op == OP_CumSum, whole = dtype_is_int(x->dtype);
	bool exclusive = attr_i(e->n, "exclusive"), reverse = attr_i(e->n, "reverse");
	int axis;

	if (!rule_axis(eval_int(e, 1, 0), x->rank, &axis))
		return "axis outside the rank";
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	struct axes3 s = split_at(x, axis);
	for (int64_t o = 0; o < s.outer; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			double d = !sum;
			int64_t w = !sum;
			for (int64_t k = 0; k < s.n; k++) {
				int64_t at = (o * s.n + (reverse ? s.n - 1 - k : k)) * s.inner + i;
				double d0 = d;
				int64_t w0 = w;
				if (whole) {
					uint64_t v = (uint64_t)tensor_get_int(x, at);
					w = (int64_t)(sum ? (uint64_t)w + v : (uint64_t)w * v);
					store_i(y, at, 1, exclusive ? &w0 : &w);
				} else {
					d = sum ? d + tensor_get(x, at) : d * tensor_get(x, at);
					store_d(y, at, 1, exclusive ? &d0 : &d);
				}
			}
		}
	return NULL;
}

static double flops_reduce(struct module *m, const struct node *n)
{
	int64_t c = type_count(m, &val(m, n->in[0])->type);
	return c < 0 ? 0 : (double)c;
}

#define ROW(name) \
	{ \
		OP_##name, shape_reduce, eval_reduce, flops_reduce \
	}
const struct op ops_reduce[] = {
	ROW(ReduceL1),
	ROW(ReduceL2),
	ROW(ReduceLogSum),
	ROW(ReduceLogSumExp),
	ROW(ReduceMax),
	ROW(ReduceMean),
	ROW(ReduceMin),
	ROW(ReduceProd),
	ROW(ReduceSum),
	ROW(ReduceSumSquare),
	{OP_ArgMax, shape_arg, eval_arg, flops_reduce},
	{OP_ArgMin, shape_arg, eval_arg, flops_reduce},
	{OP_CumSum, shape_running, eval_running},
	{OP_CumProd, shape_running, eval_running},
	{0},
};
