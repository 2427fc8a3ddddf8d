/* Normalisations: BatchNormalization, LayerNormalization and kin, LRN, softmaxes. */
#include <math.h>
#include "op/native.h"
#include "op/rules.h"

/* ---- shapes ---- */

static const char *shape_batch(struct infer *I)
{
	int rank = rule_rank(I, 0);
	int64_t channels = 1, n;

	for (uint32_t i = 1; rank >= 1 && i < 5; i++)
		if (rule_rank(I, i) == 1 && poly_is_const(rule_polys(I), rule_dim(I, i, 0), &n) &&
		    (rank == 1 || poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &channels)) && n != channels)
			return rule_why(I, "operand %u has %lld elements for %lld channels", i, (long long)n, (long long)channels);
	rule_like(I, 0, 0);
	if (attr_i(I->n, "training_mode")) {
		rule_like(I, 1, 3);
		rule_like(I, 2, 4);
		return NULL;
	}
	for (uint32_t k = 1; k < I->n->nout; k++)
		if (I->n->out[k])
			return rule_why(I, "result %u is made in training mode only", k);
	return NULL;
}

static const char *shape_axis(struct infer *I)
{
	int axis, rank = rule_rank(I, 0);
	int64_t a = attr_i(I->n, "axis");

	rule_like(I, 0, 0);
	if (rank > 0 && !rule_axis(a, rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)a, rank);
	return NULL;
}

static const char *shape_rms(struct infer *I)
{
	int rank = rule_rank(I, 0);
	const char *why = shape_axis(I);

	return why || rank < 1 ? why : rule_into(I, 1, rank, I->in[0].dims);
}

static const char *shape_layer(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	enum dtype stash = dtype_from_onnx((int)attr_i(I->n, "stash_type"));
	const char *why = shape_axis(I);

	if (why || rank < 1 || !rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return why;
	dim *d = rule_dims(I, rank);
	for (uint32_t k = 1; k < 3; k++)
		if ((why = rule_into(I, k, rank, I->in[0].dims)))
			return why;
	for (int i = 0; i < rank; i++)
		d[i] = i < axis ? rule_dim(I, 0, i) : rule_const(I, 1);
	rule_out(I, 1, stash, rank, d);
	rule_out(I, 2, stash, rank, d);
	return NULL;
}

/* ---- rows ---- */

/* n doubles of x from off, stride apart, and back. */
static void gather_row(const struct tensor *x, int64_t off, int64_t stride, int64_t n, double *v)
{
	for (int64_t i = 0; i < n; i += BLOCK)
		load_d(x, off + i * stride, stride, n - i < BLOCK ? (int)(n - i) : BLOCK, v + i);
}

static void scatter_row(struct tensor *y, int64_t off, int64_t stride, int64_t n, const double *v)
{
	if (stride == 1) {
		store_d(y, off, (int)n, v);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		store_d(y, off + i * stride, 1, v + i);
}

/* v = (v - mean) / sqrt(variance + epsilon); the two in *mean and *inv. */
static void standardise(double *v, int64_t n, double epsilon, double *mean, double *inv)
{
	double s = 0, q = 0;

	for (int64_t i = 0; i < n; i++)
		s += v[i];
	*mean = n ? s / (double)n : 0;
	for (int64_t i = 0; i < n; i++)
		q += (v[i] - *mean) * (v[i] - *mean);
	*inv = 1 / sqrt((n ? q / (double)n : 0) + epsilon);
	for (int64_t i = 0; i < n; i++)
		v[i] = (v[i] - *mean) * *inv;
}

/* ---- BatchNormalization ---- */

/* ---- LayerNormalization, RMSNormalization: over the axes from `axis` on ---- */

/* Scale and bias broadcast to the operand: *v has an element for each of n that are normalised, or for each of all *count. */
static const char *row_operand(struct eval *e, uint32_t i, const struct tensor *x, int axis, double **v, int64_t *count)
{
	const struct tensor *t = eval_in(e, i);
	struct bcast b;
	double *o;
	const char *why;

	*v = NULL;
	*count = 0;
	if (!t)
		return NULL;
	if (t->rank > x->rank - axis)
		axis = 0;
	if ((why = bcast_init(&b, 2, (int[]){t->rank, x->rank - axis}, (const int64_t *const[]){t->dims, x->dims + axis}, e->tmp)))
		return why;
	*count = 1;
	for (int k = axis; k < x->rank; k++)
		*count *= x->dims[k];
	if (b.count != *count || t->rank > x->rank)
		return "scale or bias is larger than the operand";
	o = *v = eval_scratch(e, sizeof *o * (size_t)*count);
	if (*count)
		do {
			for (int64_t k = 0; k < b.dims[b.rank - 1]; k++)
				*o++ = tensor_get(t, b.off[0] + k * b.stride[0][b.rank - 1]);
		} while (bcast_next(&b));
	return NULL;
}

static const char *eval_layer(struct eval *e)
{
	const struct tensor *x = e->in[0];
	bool rms = e->n->op == OP_RMSNormalization;
	double eps = attr_f(e->n, "epsilon"), *scale, *bias = NULL;
	enum dtype stash = dtype_from_onnx((int)attr_i(e->n, "stash_type"));
	int axis;
	int64_t rows = 1, n = 1, dims[RANK_MAX], nscale, nbias = 0;
	const char *why;

	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis outside the rank";
	for (int i = 0; i < x->rank; i++) {
		*(i < axis ? &rows : &n) *= x->dims[i];
		dims[i] = i < axis ? x->dims[i] : 1;
	}
	if ((why = row_operand(e, 1, x, axis, &scale, &nscale)) || (!rms && (why = row_operand(e, 2, x, axis, &bias, &nbias))))
		return why;
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims), *ym = NULL, *yi = NULL;
	if (!rms) {
		ym = eval_out(e, 1, stash, x->rank, dims);
		yi = eval_out(e, 2, stash, x->rank, dims);
	}
	double *v = eval_scratch(e, sizeof *v * (size_t)n);
	for (int64_t r = 0; r < rows; r++) {
		double mean = 0, inv, q = 0;
		gather_row(x, r * n, 1, n, v);
		if (rms) {
			for (int64_t i = 0; i < n; i++)
				q += v[i] * v[i];
			inv = 1 / sqrt(q / (double)n + eps);
			for (int64_t i = 0; i < n; i++)
				v[i] *= inv;
		} else {
			standardise(v, n, eps, &mean, &inv);
			tensor_set(ym, r, mean);
			tensor_set(yi, r, inv);
		}
		for (int64_t i = 0; scale && i < n; i++)
			v[i] *= scale[nscale > n ? r * n + i : i];
		for (int64_t i = 0; bias && i < n; i++)
			v[i] += bias[nbias > n ? r * n + i : i];
		scatter_row(y, r * n, 1, n, v);
	}
	return NULL;
}

/* ---- InstanceNormalization, GroupNormalization: over channels of a group and all space ---- */

static const char *shape_group(struct infer *I)
{
	int64_t groups = attr_i(I->n, "num_groups"), c;

	rule_like(I, 0, 0);
	if (rule_rank(I, 0) > 1 && poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &c) && c % groups)
		return rule_why(I, "%lld channels do not divide into %lld groups", (long long)c, (long long)groups);
	return NULL;
}

static const char *eval_group(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t N, C, n = 1, groups;
	double eps = attr_f(e->n, "epsilon"), mean, inv;

	if (x->rank < 2)
		return "an image of rank below 2";
	N = x->dims[0];
	C = x->dims[1];
	groups = e->n->op == OP_GroupNormalization ? attr_i(e->n, "num_groups") : C ? C : 1;
	for (int i = 2; i < x->rank; i++)
		n *= x->dims[i];
	if (groups < 1 || C % groups || tensor_count(e->in[1]) != C || tensor_count(e->in[2]) != C)
		return eval_why(e, "%lld channels do not fit scale, bias or groups", (long long)C);
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	int64_t per = C / groups;
	double *v = eval_scratch(e, sizeof *v * (size_t)(per * n));
	for (int64_t g = 0; g < N * groups; g++) {
		gather_row(x, g * per * n, 1, per * n, v);
		standardise(v, per * n, eps, &mean, &inv);
		for (int64_t c = 0; c < per; c++) {
			int64_t ch = g % groups * per + c;
			double s = tensor_get(e->in[1], ch), b = tensor_get(e->in[2], ch);
			for (int64_t i = 0; i < n; i++)
				v[c * n + i] = v[c * n + i] * s + b;
		}
		scatter_row(y, g * per * n, 1, per * n, v);
	}
	return NULL;
}

/* ---- MeanVarianceNormalization ---- */

static const char *shape_mvn(struct infer *I)
{
	rule_like(I, 0, 0);
	if (rule_rank(I, 0) >= 0 && rule_rank(I, 0) < 4 && !attr_find(I->n, "axes"))
		return rule_why(I, "attribute 'axes' is not there, and means 0, 2, 3; operand 0 has rank %d", rule_rank(I, 0));
	return NULL;
}

static const char *eval_mvn(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t axes[RANK_MAX];
	int count = attr_list(e->n, "axes", axes, RANK_MAX);
	bool red[RANK_MAX] = {0};
	int64_t at[RANK_MAX] = {0}, total = tensor_count(x), out = 0, nout = 1, stride[RANK_MAX];

	if (count < 0)
		return "more axes than a tensor can have";
	for (int i = 0; i < count; i++) {
		int k;
		if (!rule_axis(axes[i], x->rank, &k))
			return "axis outside the rank";
		red[k] = true;
	}
	for (int i = x->rank - 1; i >= 0; i--) {
		stride[i] = red[i] ? 0 : nout;
		nout *= red[i] ? 1 : x->dims[i];
	}
	double *sum = eval_scratch(e, sizeof *sum * (size_t)nout), *sq = eval_scratch(e, sizeof *sq * (size_t)nout);
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	double n = nout ? (double)(total / nout) : 1;
	memset(sum, 0, sizeof *sum * (size_t)nout);
	memset(sq, 0, sizeof *sq * (size_t)nout);
	for (int pass = 0; pass < 3; pass++)
		for (int64_t i = 0; i < total; i++) {
			double v = tensor_get(x, i) - (pass ? sum[out] / n : 0);
			if (pass == 0)
				sum[out] += v;
			else if (pass == 1)
				sq[out] += v * v;
			else
				tensor_set(y, i, v / (sqrt(sq[out] / n) + 1e-9));
			for (int k = x->rank - 1; k >= 0; k--) {
				out += stride[k];
				if (++at[k] < x->dims[k])
					break;
				out -= at[k] * stride[k];
				at[k] = 0;
			}
		}
	return NULL;
}

/* ---- along one axis: Softmax, LogSoftmax, Hardmax, LpNormalization ---- */

static void along_axis(const struct node *n, double *v, int64_t count)
{
	double max = -INFINITY, s = 0;
	int64_t p = attr_i(n, "p"), best = 0;

	for (int64_t i = 0; i < count; i++)
		if (v[i] > max || (v[i] != v[i] && max == max)) { /* the first NaN */
			max = v[i];
			best = i;
		}
	switch (n->op) {
	case OP_Softmax:
		for (int64_t i = 0; i < count; i++)
			s += v[i] = exp(v[i] - max);
		for (int64_t i = 0; i < count; i++)
			v[i] /= s;
		break;
	case OP_LogSoftmax:
		for (int64_t i = 0; i < count; i++)
			s += exp(v[i] - max);
		for (int64_t i = 0; i < count; i++)
			v[i] = v[i] - max - log(s);
		break;
	case OP_Hardmax:
		for (int64_t i = 0; i < count; i++)
			v[i] = i == best;
		break;
	default: /* LpNormalization */
		for (int64_t i = 0; i < count; i++)
			s += p == 1 ? fabs(v[i]) : v[i] * v[i];
		s = p == 1 ? s : sqrt(s);
		for (int64_t i = 0; i < count; i++)
			v[i] = s ? v[i] / s : 0;
	}
}

static const char *eval_axis(struct eval *e)
{
	const struct tensor *x = e->in[0];
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	struct axes3 s = {1, 1, 1};
	int axis;

	if (x->rank) {
		if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
			return "axis outside the rank";
		s = split_at(x, axis);
	}
	double *v = eval_scratch(e, sizeof *v * (size_t)s.n);
	for (int64_t o = 0; o < s.outer; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			gather_row(x, o * s.n * s.inner + i, s.inner, s.n, v);
			along_axis(e->n, v, s.n);
			scatter_row(y, o * s.n * s.inner + i, s.inner, s.n, v);
		}
	return NULL;
}

/* ---- LRN ---- */

static const char *eval_lrn(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t size = attr_i(e->n, "size"), C, n = 1;
	double alpha = attr_f(e->n, "alpha"), beta = attr_f(e->n, "beta"), bias = attr_f(e->n, "bias");

	if (x->rank < 2 || size < 1)
		return "an image of rank below 2, or no size";
	C = x->dims[1];
	for (int i = 2; i < x->rank; i++)
		n *= x->dims[i];
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	for (int64_t b = 0; b < x->dims[0]; b++)
		for (int64_t c = 0; c < C; c++)
			for (int64_t i = 0; i < n; i++) {
				int64_t from = c - (size - 1) / 2, to = c + size / 2;
				double s = 0, v = tensor_get(x, (b * C + c) * n + i);
				for (int64_t k = from < 0 ? 0 : from; k <= to && k < C; k++)
					s += pow(tensor_get(x, (b * C + k) * n + i), 2);
				tensor_set(y, (b * C + c) * n + i, v / pow(bias + alpha / (double)size * s, beta));
			}
	return NULL;
}

/* A handful of operations an element. */
static double flops_norm(struct module *m, const struct node *n)
{
	int64_t c = type_count(m, &val(m, n->out[0])->type);
	return c < 0 ? 0 : 5.0 * (double)c;
}

const struct op ops_norm[] = {
	{OP_BatchNormalization, shape_batch, eval_native, flops_norm},
	{OP_LayerNormalization, shape_layer, eval_layer, flops_norm},
	{OP_RMSNormalization, shape_rms, eval_layer, flops_norm},
	{OP_InstanceNormalization, shape_same, eval_group, flops_norm},
	{OP_GroupNormalization, shape_group, eval_group, flops_norm},
	{OP_MeanVarianceNormalization, shape_mvn, eval_mvn, flops_norm},
	{OP_LRN, shape_same, eval_lrn, flops_norm},
	{OP_Softmax, shape_axis, eval_axis, flops_norm},
	{OP_LogSoftmax, shape_axis, eval_axis, flops_norm},
	{OP_Hardmax, shape_axis, eval_axis, flops_norm},
	{OP_LpNormalization, shape_axis, eval_axis, flops_norm},
	{0},
};
