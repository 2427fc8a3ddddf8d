/* Pooling: MaxPool, AveragePool, LpPool and their global forms. */
#include <math.h>
#include "op/rules.h"

/* A window that covers no element has no maximum and no mean. */
static bool must_cover(const struct node *n) { return n->op != OP_LpPool && !attr_i(n, "count_include_pad"); }

static int64_t span_of(const struct window *w, int i) { return (w->size[i] - 1) * w->dilation[i] + 1; }

/* Does every window along axis i, of extent in, cover an element? */
static bool covers(struct window w, int i, int64_t in)
{
	int64_t out = window_extent(&w, i, in), first = -w.begin[i], last = (out - 1) * w.stride[i] - w.begin[i];
	bool all = first + span_of(&w, i) > 0 && last < in && in > 0;

	if (out <= 0)
		return true;
	for (int64_t s = first; all && in < w.dilation[i] && s <= last; s += w.stride[i]) {
		int64_t k = s < 0 ? (w.dilation[i] - 1 - s) / w.dilation[i] : 0;
		all = k < w.size[i] && s + k * w.dilation[i] < in;
	}
	return all;
}

static const char *covers_some(struct infer *I, const struct window *w, int i)
{
	int64_t span = span_of(w, i), in;
	bool open = !poly_is_const(rule_polys(I), rule_dim(I, 0, 2 + i), &in), all;

	if (!must_cover(I->n))
		return NULL;
	all = open ? w->begin[i] < span && (w->end[i] < span || w->ceil_mode || w->stride[i] > 1) : covers(*w, i, in);
	return all ? NULL : rule_why(I, "a window at spatial axis %d has nothing but padding", i);
}

/* The last window starts before the end, and the extent is none of those small ones with a window of nothing but padding. */
static int least_pool(struct module *m, const struct node *n, poly *e)
{
	enum { SMALL = 1 << 12 };
	const struct type *x = &val(m, n->in[0])->type, *y = &val(m, n->out[0])->type;
	struct window w;
	int count = 0;

	if (!must_cover(n) || x->rank < 3 || y->rank != x->rank || window_read(m, n, x->rank - 2, NULL, &w))
		return 0;
	for (int i = 0; i < w.n; i++) {
		dim in = x->dims[2 + i], out = y->dims[2 + i];
		int64_t least = 0;
		if (!in || !out || poly_is_const(m->dims, in, NULL))
			continue;
		for (int64_t size = 0; size < w.dilation[i] + 1 && size < SMALL; size++)
			least = covers(w, i, size) ? least : size + 1;
		e[count++] = poly_addc(m->dims, in, -least);
		if (w.auto_pad != 'U' && w.auto_pad != 'L')
			e[count++] = poly_sub(m->dims, poly_addc(m->dims, in, w.begin[i] + w.stride[i] - 1),
					      poly_mulc(m->dims, out, w.stride[i]));
	}
	return count;
}

static const char *shape_pool(struct infer *I)
{
	int rank = rule_rank(I, 0);
	struct window w;
	const char *why;

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	rule_out(I, 1, DT_I64, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	if ((why = window_read(I->m, I->n, rank - 2, NULL, &w)))
		return why;
	dim *d = rule_dims(I, rank);
	d[0] = rule_dim(I, 0, 0);
	d[1] = rule_dim(I, 0, 1);
	for (int i = 0; i < w.n; i++) {
		d[2 + i] = window_extent_dim(I, &w, i, rule_dim(I, 0, 2 + i));
		if ((why = covers_some(I, &w, i)))
			return why;
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	rule_out(I, 1, DT_I64, rank, d);
	return NULL;
}

static const char *shape_global(struct infer *I)
{
	int rank = rule_rank(I, 0);

	rule_like(I, 0, 0);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (rank < 2)
		return rule_why(I, "an image of rank %d", rank);
	dim *d = rule_dims(I, rank);
	for (int i = 0; i < rank; i++)
		d[i] = i < 2 ? rule_dim(I, 0, i) : rule_const(I, 1);
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

struct pool {
	const struct tensor *x;
	struct tensor *y, *index;
	struct window w; /* of SPATIAL_MAX axes */
	int64_t in[SPATIAL_MAX], out[SPATIAL_MAX];
	bool count_pad, column_major;
	enum opcode op;
	double p; /* of LpPool */
};

/* One window of one plane that starts at s. */
static double pool_window(const struct pool *q, const double *x, const int64_t *s, int64_t *best_at)
{
	const struct window *w = &q->w;
	bool max = q->op == OP_MaxPool;
	double acc = max ? -INFINITY : 0;
	int64_t count = 0, k[SPATIAL_MAX], at[SPATIAL_MAX];

	*best_at = -1;
	for (k[0] = 0; k[0] < w->size[0]; k[0]++)
		for (k[1] = 0; k[1] < w->size[1]; k[1]++)
			for (k[2] = 0; k[2] < w->size[2]; k[2]++) {
				bool inside = true, padded = true;
				for (int i = 0; i < SPATIAL_MAX; i++) {
					at[i] = s[i] + k[i] * w->dilation[i];
					inside = inside && at[i] >= 0 && at[i] < q->in[i];
					padded = padded && at[i] < q->in[i] + w->end[i];
				}
				count += q->count_pad ? padded : inside;
				if (!inside)
					continue;
				int64_t off = (at[0] * q->in[1] + at[1]) * q->in[2] + at[2];
				double v = x[off];
				if (!max) {
					acc += q->op == OP_LpPool ? pow(fabs(v), q->p) : v;
				} else if (*best_at < 0 || v > acc || (v != v && acc == acc)) { /* the first NaN */
					acc = v;
					*best_at = q->column_major ? (at[2] * q->in[1] + at[1]) * q->in[0] + at[0] : off;
				}
			}
	return max ? acc : q->op == OP_LpPool ? pow(acc, 1 / q->p) : acc / (double)count;
}

static void pool_planes(const struct pool *q, double *plane)
{
	int64_t n = q->in[0] * q->in[1] * q->in[2], o[SPATIAL_MAX], s[SPATIAL_MAX], best, to = 0;
	int64_t planes = q->x->dims[0] * q->x->dims[1];

	for (int64_t c = 0; c < planes; c++) {
		for (int64_t i = 0; i < n; i += BLOCK)
			load_d(q->x, c * n + i, 1, n - i < BLOCK ? (int)(n - i) : BLOCK, plane + i);
		for (o[0] = 0; o[0] < q->out[0]; o[0]++)
			for (o[1] = 0; o[1] < q->out[1]; o[1]++)
				for (o[2] = 0; o[2] < q->out[2]; o[2]++, to++) {
					for (int i = 0; i < SPATIAL_MAX; i++)
						s[i] = o[i] * q->w.stride[i] - q->w.begin[i];
					double v = pool_window(q, plane, s, &best);
					store_d(q->y, to, 1, &v);
					if (q->index)
						((int64_t *)q->index->data)[to] = best + c * n;
				}
	}
}

static const char *eval_pool(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int spatial = x->rank - 2, lead = SPATIAL_MAX - spatial;
	struct pool q = {.x = x,
			 .op = e->n->op,
			 .count_pad = attr_i(e->n, "count_include_pad"),
			 .column_major = attr_i(e->n, "storage_order"),
			 .p = (double)attr_i(e->n, "p")};
	int64_t dims[2 + SPATIAL_MAX], plane = 1;
	struct window w;
	const char *why = window_read(e->m, e->n, spatial, NULL, &w);

	if (why)
		return why;
	dims[0] = x->dims[0];
	dims[1] = x->dims[1];
	for (int i = 0; i < SPATIAL_MAX; i++)
		q.in[i] = q.out[i] = q.w.size[i] = q.w.stride[i] = q.w.dilation[i] = 1;
	for (int i = 0; i < spatial; i++) {
		q.in[lead + i] = x->dims[2 + i];
		dims[2 + i] = q.out[lead + i] = window_extent(&w, i, x->dims[2 + i]);
		q.w.size[lead + i] = w.size[i];
		q.w.stride[lead + i] = w.stride[i];
		q.w.dilation[lead + i] = w.dilation[i];
		q.w.begin[lead + i] = w.begin[i];
		q.w.end[lead + i] = w.end[i];
		plane *= x->dims[2 + i];
	}
	q.y = eval_out(e, 0, x->dtype, x->rank, dims);
	if (e->n->nout > 1 && e->n->out[1])
		q.index = eval_out(e, 1, DT_I64, x->rank, dims);
	pool_planes(&q, eval_scratch(e, sizeof(double) * (size_t)plane));
	return NULL;
}

static const char *eval_global(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t dims[RANK_MAX], n = 1;
	double p = (double)attr_i(e->n, "p"), v[BLOCK];

	if (x->rank < 2)
		return "an image of rank below 2";
	for (int i = 0; i < x->rank; i++) {
		dims[i] = i < 2 ? x->dims[i] : 1;
		n *= i < 2 ? 1 : x->dims[i];
	}
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims);
	for (int64_t c = 0; c < dims[0] * dims[1]; c++) {
		double acc = e->n->op == OP_GlobalMaxPool ? -INFINITY : 0;
		for (int64_t i = 0; i < n; i += BLOCK) {
			int m = n - i < BLOCK ? (int)(n - i) : BLOCK;
			load_d(x, c * n + i, 1, m, v);
			for (int k = 0; k < m; k++)
				acc = e->n->op == OP_GlobalMaxPool ? (v[k] > acc || v[k] != v[k] ? v[k] : acc)
								   : acc + (e->n->op == OP_GlobalLpPool ? pow(fabs(v[k]), p) : v[k]);
		}
		acc = e->n->op == OP_GlobalAveragePool ? acc / (double)n : e->n->op == OP_GlobalLpPool ? pow(acc, 1 / p) : acc;
		store_d(y, c, 1, &acc);
	}
	return NULL;
}

static double flops_pool(struct module *m, const struct node *n)
{
	int64_t c = type_count(m, &val(m, n->out[0])->type);
	double taps = 1;
	int k;
	const int64_t *size = attr_ints(n, "kernel_shape", &k);

	for (int i = 0; size && i < k; i++)
		taps *= (double)size[i];
	return c < 0 ? 0 : (double)c * taps;
}

static double flops_global(struct module *m, const struct node *n)
{
	int64_t c = type_count(m, &val(m, n->in[0])->type);
	return c < 0 ? 0 : (double)c;
}

const struct op ops_pool[] = {
	{OP_MaxPool, shape_pool, eval_pool, flops_pool, .least = least_pool},
	{OP_AveragePool, shape_pool, eval_pool, flops_pool, .least = least_pool},
	{OP_LpPool, shape_pool, eval_pool, flops_pool},
	{OP_GlobalMaxPool, shape_global, eval_global, flops_global},
	{OP_GlobalAveragePool, shape_global, eval_global, flops_global},
	{OP_GlobalLpPool, shape_global, eval_global, flops_global},
	{0},
};
