/* Operators that pick or place elements by index: Gather and Scatter in their forms, OneHot, TopK,
 * ... */
#include "op/rules.h"

static const char *bad_axis(struct infer *I, int64_t axis, int rank)
{
	return rule_why(I, "axis %lld outside rank %d", (long long)axis, rank);
}

static void unknown_of_rank(struct infer *I, uint32_t i, enum dtype t, int rank)
{
	rule_out(I, i, t, rank, rank < 0 ? NULL : rule_dims(I, rank));
}

/* ---- shapes ---- */

static const char *shape_gather(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), axis, n = 0;
	int64_t a = attr_int(I->n, "axis", 0);

	unknown_of_rank(I, 0, I->in[0].dtype, RANK_UNKNOWN);
	if (rank == RANK_UNKNOWN || ir == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return bad_axis(I, a, rank);
	dim *d = rule_dims(I, rank - 1 + ir);
	for (int i = 0; i < rank; i++) {
		if (i != axis)
			d[n++] = rule_dim(I, 0, i);
		for (int k = 0; i == axis && k < ir; k++)
			d[n++] = rule_dim(I, 1, k);
	}
	rule_out(I, 0, I->in[0].dtype, n, d);
	return NULL;
}

static const char *shape_gather_elements(struct infer *I)
{
	int r = rule_rank(I, 1), rank = rule_rank(I, 0), axis;

	rule_out(I, 0, I->in[0].dtype, r, r < 0 ? NULL : I->in[1].dims);
	if (r >= 0 && rank >= 0 && r != rank)
		return rule_why(I, "operand 1 has rank %d, operand 0 %d", r, rank);
	if (r >= 0 && !rule_axis(attr_int(I->n, "axis", 0), r, &axis))
		return bad_axis(I, attr_int(I->n, "axis", 0), r);
	return NULL;
}

static const char *shape_gather_nd(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), n = 0;
	int64_t b = attr_int(I->n, "batch_dims", 0), last;

	unknown_of_rank(I, 0, I->in[0].dtype, RANK_UNKNOWN);
	if (rank < 1 || ir < 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, ir - 1), &last))
		return NULL;
	if (b < 0 || b >= ir || b + last > rank)
		return rule_why(I, "indices of %lld and %lld batch axes into rank %d",
				(long long)last, (long long)b, rank);
	dim *d = rule_dims(I, rank + ir);
	for (int i = 0; i < ir - 1; i++)
		d[n++] = rule_dim(I, 1, i);
	for (int i = (int)(b + last); i < rank; i++)
		d[n++] = rule_dim(I, 0, i);
	rule_out(I, 0, I->in[0].dtype, n, d);
	return NULL;
}

static const char *shape_onehot(struct infer *I)
{
	int rank = rule_rank(I, 0), axis, n = 0;
	int64_t a = attr_int(I->n, "axis", -1);

	unknown_of_rank(I, 0, I->in[2].dtype, rank < 0 ? RANK_UNKNOWN : rank + 1);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank + 1, &axis))
		return bad_axis(I, a, rank + 1);
	dim *d = rule_dims(I, rank + 1);
	for (int i = 0; i <= rank; i++)
		d[i] = i == axis
			       ? (I->kin[1].yes && I->kin[1].n == 1 ? I->kin[1].e[0] : POLY_UNKNOWN)
			       : rule_dim(I, 0, n++);
	rule_out(I, 0, I->in[2].dtype, rank + 1, d);
	return NULL;
}

static const char *shape_topk(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	int64_t a = attr_int(I->n, "axis", -1);

	unknown_of_rank(I, 0, I->in[0].dtype, rank);
	unknown_of_rank(I, 1, DT_I64, rank);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return bad_axis(I, a, rank);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	int64_t k, whole;
	bool known = poly_is_const(rule_polys(I), d[axis], &whole);
	d[axis] = I->kin[1].yes && I->kin[1].n == 1 ? I->kin[1].e[0] : POLY_UNKNOWN;
	if (known && poly_is_const(rule_polys(I), d[axis], &k) && (k < 0 || k > whole))
		return rule_why(I, "%lld of %lld elements", (long long)k, (long long)whole);
	rule_out(I, 0, I->in[0].dtype, rank, d);
	rule_out(I, 1, DT_I64, rank, d);
	return NULL;
}

static const char *shape_nonzero(struct infer *I)
{
	int rank = rule_rank(I, 0);
	dim *d = rule_dims(I, 2);

	if (rank >= 0)
		d[0] = rule_const(I, rank);
	rule_out(I, 0, DT_I64, 2, d);
	return NULL;
}

static const char *shape_compress(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;

	if (!attr_find(I->n, "axis")) {
		unknown_of_rank(I, 0, I->in[0].dtype, 1);
		return NULL;
	}
	unknown_of_rank(I, 0, I->in[0].dtype, rank);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(attr_int(I->n, "axis", 0), rank, &axis))
		return bad_axis(I, attr_int(I->n, "axis", 0), rank);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	d[axis] = POLY_UNKNOWN;
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* ---- evaluators ---- */

/* Index element i, counted from the end if negative. False: outside. */
static bool index_at(const struct tensor *t, int64_t i, int64_t extent, int64_t *at)
{
	*at = t->dtype == DT_I64 ? ((const int64_t *)t->data)[i] : tensor_get_int(t, i);
	if (*at < 0)
		*at += extent;
	return *at >= 0 && *at < extent;
}

static const char *outside(struct eval *e, const struct tensor *t, int64_t i, int64_t extent)
{
	return eval_why(e, "index %lld is outside the axis of extent %lld",
			(long long)tensor_get_int(t, i), (long long)extent);
}

static const char *eval_gather(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1];
	int axis, n = 0;
	size_t size = dtype_size(x->dtype);
	int64_t dims[2 * RANK_MAX], count = tensor_count(ix), at;

	if (!size || !rule_axis(attr_int(e->n, "axis", 0), x->rank, &axis) ||
	    x->rank + ix->rank - 1 > RANK_MAX)
		return "axis outside the rank, or strings";
	for (int i = 0; i < x->rank; i++) {
		if (i != axis)
			dims[n++] = x->dims[i];
		for (int k = 0; i == axis && k < ix->rank; k++)
			dims[n++] = ix->dims[k];
	}
	struct tensor *y = eval_out(e, 0, x->dtype, n, dims);
	struct axes3 s = split_at(x, axis);
	size_t run = (size_t)s.inner * size;
	char *o = tensor_bytes(y);
	for (int64_t p = 0; p < s.outer; p++)
		for (int64_t i = 0; i < count; i++, o += run) {
			if (!index_at(ix, i, s.n, &at))
				return outside(e, ix, i, s.n);
			memcpy(o, (const char *)x->data + (size_t)(p * s.n + at) * run, run);
		}
	return NULL;
}

/* Offset into x of element i of t (same rank) with its coordinate along axis replaced by at. */
static int64_t replaced_offset(const struct tensor *x, const struct tensor *t, int64_t i, int axis,
			       int64_t at)
{
	int64_t off = 0, s = 1;

	for (int k = x->rank - 1; k >= 0; k--) {
		off += (k == axis ? at : i % t->dims[k]) * s;
		i /= t->dims[k];
		s *= x->dims[k];
	}
	return off;
}

static const char *eval_gather_elements(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1];
	int axis;
	size_t size = dtype_size(x->dtype);
	int64_t at;

	if (!size || ix->rank != x->rank || !rule_axis(attr_int(e->n, "axis", 0), x->rank, &axis))
		return "axis or ranks do not fit";
	for (int k = 0; k < x->rank; k++)
		if (k != axis && ix->dims[k] > x->dims[k])
			return "indices are larger than the data";
	struct tensor *y = eval_out(e, 0, x->dtype, ix->rank, ix->dims);
	for (int64_t i = 0, n = tensor_count(ix); i < n; i++) {
		if (!index_at(ix, i, x->dims[axis], &at))
			return outside(e, ix, i, x->dims[axis]);
		memcpy(tensor_bytes(y) + (size_t)i * size,
		       (const char *)x->data + (size_t)replaced_offset(x, ix, i, axis, at) * size,
		       size);
	}
	return NULL;
}

/* Offset of the slice that index tuple i of ix (last axis: the tuple) names, from axis b of x on.
 */
static const char *tuple_offset(struct eval *e, const struct tensor *x, const struct tensor *ix,
				int64_t i, int b, int64_t *off)
{
	int64_t n = ix->dims[ix->rank - 1], at, s = 1;

	for (int k = x->rank - 1; k >= b + n; k--)
		s *= x->dims[k];
	*off = 0;
	for (int64_t k = n - 1; k >= 0; k--) {
		if (!index_at(ix, i * n + k, x->dims[b + k], &at))
			return outside(e, ix, i * n + k, x->dims[b + k]);
		*off += at * s;
		s *= x->dims[b + k];
	}
	return NULL;
}

static const char *eval_gather_nd(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1];
	int64_t b = attr_int(e->n, "batch_dims", 0), dims[2 * RANK_MAX], batch = 1, tuples = 1,
		run = 1, whole = 1, off;
	size_t size = dtype_size(x->dtype);
	int n = 0;
	const char *why;

	if (!size || ix->rank < 1 || b < 0 || b >= ix->rank || b + ix->dims[ix->rank - 1] > x->rank)
		return "indices do not fit the data";
	for (int i = 0; i < b; i++)
		if (ix->dims[i] != x->dims[i])
			return eval_why(e, "batch axis %d of the indices does not fit the data", i);
	for (int i = 0; i < ix->rank - 1; i++) {
		dims[n++] = ix->dims[i];
		*(i < b ? &batch : &tuples) *= ix->dims[i];
	}
	for (int i = (int)b; i < x->rank; i++)
		whole *= x->dims[i];
	for (int i = (int)(b + ix->dims[ix->rank - 1]); i < x->rank; i++)
		run *= dims[n++] = x->dims[i];
	if (n > RANK_MAX)
		return "the rank is too large";
	struct tensor *y = eval_out(e, 0, x->dtype, n, dims);
	for (int64_t i = 0; i < batch * tuples; i++) {
		if ((why = tuple_offset(e, x, ix, i, (int)b, &off)))
			return why;
		memcpy(tensor_bytes(y) + (size_t)(i * run) * size,
		       (const char *)x->data + (size_t)(i / tuples * whole + off) * size,
		       (size_t)run * size);
	}
	return NULL;
}

/* y[to] = y[to] combined with u[from]; how: the first letter of the reduction attribute, and its
 * second. */
static void scatter_one(struct tensor *y, int64_t to, const struct tensor *u, int64_t from,
			const char *how)
{
	size_t size = dtype_size(y->dtype);
	double a, b;

	if (*how == 'n') {
		memcpy(tensor_bytes(y) + (size_t)to * size,
		       (const char *)u->data + (size_t)from * size, size);
		return;
	}
	if (dtype_is_int(y->dtype)) {
		int64_t v = tensor_get_int(y, to), w = tensor_get_int(u, from);
		bool less = y->dtype == DT_U64 ? (uint64_t)v < (uint64_t)w : v < w;
		v = !strcmp(how, "add")	  ? (int64_t)((uint64_t)v + (uint64_t)w)
		    : !strcmp(how, "mul") ? (int64_t)((uint64_t)v * (uint64_t)w)
		    : !strcmp(how, "max") ? (less ? w : v)
					  : (less ? v : w);
		store_i(y, to, 1, &v);
		return;
	}
	a = tensor_get(y, to);
	b = tensor_get(u, from);
	tensor_set(y, to,
		   !strcmp(how, "add")	 ? a + b
		   : !strcmp(how, "mul") ? a * b
		   : !strcmp(how, "max") ? (a > b || a != a ? a : b)
					 : (a < b || a != a ? a : b));
}

static const char *eval_scatter_elements(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1], *u = e->in[2];
	int axis;
	int64_t at;

	if (!dtype_fixed(x->dtype) || u->dtype != x->dtype || ix->rank != x->rank ||
	    tensor_count(u) != tensor_count(ix) ||
	    !rule_axis(attr_int(e->n, "axis", 0), x->rank, &axis))
		return "axis, indices or updates do not fit";
	for (int k = 0; k < x->rank; k++)
		if (k != axis && ix->dims[k] > x->dims[k])
			return eval_why(e, "axis %d of the indices does not fit the data", k);
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	const char *how = attr_str(e->n, "reduction", "none");
	memcpy(tensor_bytes(y), x->data, x->nbytes);
	for (int64_t i = 0, n = tensor_count(ix); i < n; i++) {
		if (!index_at(ix, i, x->dims[axis], &at))
			return outside(e, ix, i, x->dims[axis]);
		scatter_one(y, replaced_offset(x, ix, i, axis, at), u, i, how);
	}
	return NULL;
}

static const char *eval_scatter_nd(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1], *u = e->in[2];
	const char *how = attr_str(e->n, "reduction", "none"), *why;
	int64_t tuples = 1, run = 1, off;
	size_t size = dtype_size(x->dtype);

	if (!dtype_fixed(x->dtype) || ix->rank < 1 || ix->dims[ix->rank - 1] > x->rank)
		return "indices do not fit the data";
	for (int i = 0; i < ix->rank - 1; i++)
		tuples *= ix->dims[i];
	for (int i = (int)ix->dims[ix->rank - 1]; i < x->rank; i++)
		run *= x->dims[i];
	if (tensor_count(u) != tuples * run || u->dtype != x->dtype)
		return "updates do not fit the indices";
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	memcpy(tensor_bytes(y), x->data, x->nbytes);
	for (int64_t i = 0; i < tuples; i++) {
		if ((why = tuple_offset(e, x, ix, i, 0, &off)))
			return why;
		if (*how == 'n')
			memcpy(tensor_bytes(y) + (size_t)off * size,
			       (const char *)u->data + (size_t)(i * run) * size, (size_t)run * size);
		for (int64_t k = 0; k < run && *how != 'n'; k++)
			scatter_one(y, off + k, u, i * run + k, how);
	}
	return NULL;
}

static const char *eval_onehot(struct eval *e)
{
	const struct tensor *ix = e->in[0], *values = e->in[2];
	int64_t depth = (int64_t)eval_scalar(e, 1, 0), dims[RANK_MAX + 1];
	int axis, n = 0;
	size_t size = dtype_size(values->dtype);

	if (!size || tensor_count(values) != 2 || depth < 0 || ix->rank >= RANK_MAX ||
	    !rule_axis(attr_int(e->n, "axis", -1), ix->rank + 1, &axis))
		return "depth, values or axis do not fit";
	for (int i = 0; i <= ix->rank; i++)
		dims[i] = i == axis ? depth : ix->dims[n++];
	struct tensor *y = eval_out(e, 0, values->dtype, ix->rank + 1, dims);
	struct axes3 s = split_at(y, axis);
	for (int64_t i = 0, total = tensor_count(y); i < total; i++)
		memcpy(tensor_bytes(y) + (size_t)i * size, values->data, size);
	for (int64_t o = 0; o < s.outer; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			int64_t at = tensor_get_int(ix, o * s.inner + i);
			at = at < 0 && ix->dtype != DT_U64 ? at + depth : at;
			if (at >= 0 && at < depth)
				memcpy(tensor_bytes(y) +
					       (size_t)((o * s.n + at) * s.inner + i) * size,
				       (const char *)values->data + size, size);
		}
	return NULL;
}

/* Elements as numbers that are larger the further in front they belong; of equal ones the first is in front. */
struct ranked {
	int64_t key, at;
};

static inline bool behind(const struct ranked *x, const struct ranked *y)
{
	return x->key != y->key ? x->key < y->key : x->at > y->at;
}

/* h[0..n) is a heap but for its element i: the one furthest behind is h[0]. */
static void sift(struct ranked *h, int64_t n, int64_t i)
{
	struct ranked x = h[i];

	for (int64_t k; (k = 2 * i + 1) < n; i = k) {
		k += k + 1 < n && behind(&h[k + 1], &h[k]);
		if (!behind(&h[k], &x))
			break;
		h[i] = h[k];
	}
	h[i] = x;
}

/* Ranks of n elements, larger for what belongs further in front. */
static void load_ranks(const struct tensor *x, int64_t off, int64_t stride, int64_t n, bool largest, int64_t *key)
{
	element_ranks(x, off, stride, n, key);
	for (int64_t j = 0; j < n && !largest; j++)
		key[j] = ~key[j];
}

/* The first of elements j to end - 1 that may belong before element `last`, which most do not. */
static int64_t next_candidate(const float *p, int64_t stride, int64_t j, int64_t end, int64_t last, bool largest)
{
	float bound = p[last * stride];

	if (largest)
		while (j < end && p[j * stride] <= bound)
			j++;
	else
		while (j < end && p[j * stride] >= bound)
			j++;
	return j;
}

/* The k in front of n elements, in order. */
static void select_ranked(const struct tensor *x, int64_t off, int64_t stride, int64_t n, int64_t k, bool largest, struct ranked *h)
{
	enum { SOME = 64 };
	int64_t key[SOME];

	for (int64_t j = 0; j < k; j += SOME) {
		int64_t m = k - j < SOME ? k - j : SOME;
		load_ranks(x, off + j * stride, stride, m, largest, key);
		for (int64_t i = 0; i < m; i++)
			h[j + i] = (struct ranked){key[i], j + i};
	}
	for (int64_t j = k / 2; j-- > 0;)
		sift(h, k, j);
	for (int64_t j = k; j < n && k;) {
		bool quick = x->dtype == DT_F32;
		if (quick && (j = next_candidate((const float *)x->data + off, stride, j, n, h[0].at, largest)) == n)
			break;
		int64_t m = quick ? 1 : n - j < SOME ? n - j : SOME;
		if (quick)
			key[0] = float_rank(((const float *)x->data)[off + j * stride]) ^ (largest ? 0 : -1);
		else
			load_ranks(x, off + j * stride, stride, m, largest, key);
		for (int64_t i = 0; i < m; i++)
			if (key[i] > h[0].key) {
				h[0] = (struct ranked){key[i], j + i};
				sift(h, k, 0);
			}
		j += m;
	}
	for (int64_t j = k; j-- > 1;) { /* the last one to the end, again and again */
		struct ranked last = h[0];
		h[0] = h[j];
		h[j] = last;
		sift(h, j, 0);
	}
}

static const char *eval_topk(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t k = (int64_t)eval_scalar(e, 1, 0), dims[RANK_MAX];
	bool largest = attr_int(e->n, "largest", 1) != 0;
	size_t size = dtype_size(x->dtype);
	int axis;

	if (!rule_axis(attr_int(e->n, "axis", -1), x->rank, &axis) || k < 0 || k > x->dims[axis])
		return "k or axis does not fit";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	dims[axis] = k;
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, dims),
		      *yi = eval_out(e, 1, DT_I64, x->rank, dims);
	struct axes3 s = split_at(x, axis);
	struct ranked *r = eval_scratch(e, sizeof *r * (size_t)(k + 1));
	for (int64_t o = 0; o < s.outer; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			select_ranked(x, o * s.n * s.inner + i, s.inner, s.n, k, largest, r);
			for (int64_t j = 0; j < k; j++) {
				int64_t to = (o * k + j) * s.inner + i,
					from = (o * s.n + r[j].at) * s.inner + i;
				memcpy(tensor_bytes(y) + (size_t)to * size,
				       (const char *)x->data + (size_t)from * size, size);
				((int64_t *)yi->data)[to] = r[j].at;
			}
		}
	return NULL;
}

static const char *eval_nonzero(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t n = tensor_count(x), found = 0, at = 0;

	for (int64_t i = 0; i < n; i++)
		found += tensor_get(x, i) != 0;
	struct tensor *y = eval_out(e, 0, DT_I64, 2, (int64_t[]){x->rank, found});
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i;
		if (tensor_get(x, i) == 0)
			continue;
		for (int k = x->rank - 1; k >= 0; k--) {
			((int64_t *)y->data)[k * found + at] = rest % x->dims[k];
			rest /= x->dims[k];
		}
		at++;
	}
	return NULL;
}

static const char *eval_compress(struct eval *e)
{
	const struct tensor *x = e->in[0], *cond = e->in[1];
	struct axes3 s = {1, tensor_count(x), 1};
	bool flat = !attr_find(e->n, "axis");
	int64_t kept = 0, dims[RANK_MAX], c = tensor_count(cond);
	size_t size = dtype_size(x->dtype);
	int axis = 0;

	if (!size || (!flat && !rule_axis(attr_int(e->n, "axis", 0), x->rank, &axis)))
		return "axis outside the rank, or strings";
	if (!flat) {
		s = split_at(x, axis);
		memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	}
	c = c > s.n ? s.n : c;
	for (int64_t i = 0; i < c; i++)
		kept += ((const uint8_t *)cond->data)[i] != 0;
	dims[axis] = kept;
	struct tensor *y = eval_out(e, 0, x->dtype, flat ? 1 : x->rank, dims);
	size_t run = (size_t)s.inner * size;
	char *o = tensor_bytes(y);
	for (int64_t p = 0; p < s.outer; p++)
		for (int64_t i = 0; i < c; i++)
			if (((const uint8_t *)cond->data)[i]) {
				memcpy(o, (const char *)x->data + (size_t)(p * s.n + i) * run, run);
				o += run;
			}
	return NULL;
}

const struct op ops_index[] = {
	{OP_Gather, shape_gather, eval_gather},
	{OP_GatherElements, shape_gather_elements, eval_gather_elements},
	{OP_GatherND, shape_gather_nd, eval_gather_nd},
	{OP_ScatterElements, shape_same, eval_scatter_elements},
	{OP_ScatterND, shape_same, eval_scatter_nd},
	{OP_OneHot, shape_onehot, eval_onehot},
	{OP_TopK, shape_topk, eval_topk},
	{OP_NonZero, shape_nonzero, eval_nonzero},
	{OP_Compress, shape_compress, eval_compress},
	{0},
};
