/* Operators that read or write elements by index: Gather and Scatter in their forms, OneHot, TopK, ... */
#include "op/native.h"
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
	int64_t a = attr_i(I->n, "axis");

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
	return rule_indices(I, 1, 0, 1, rule_dim(I, 0, axis));
}

static const char *shape_gather_elements(struct infer *I)
{
	int r = rule_rank(I, 1), rank = rule_rank(I, 0), axis;

	rule_out(I, 0, I->in[0].dtype, r, r < 0 ? NULL : I->in[1].dims);
	if (r >= 0 && rank >= 0 && r != rank)
		return rule_why(I, "operand 1 has rank %d, operand 0 %d", r, rank);
	if (r >= 0 && !rule_axis(attr_i(I->n, "axis"), r, &axis))
		return bad_axis(I, attr_i(I->n, "axis"), r);
	if (r < 0 || rank < 0)
		return NULL;
	const char *why = rule_inside(I, 1, axis);
	return why ? why : rule_indices(I, 1, 0, 1, rule_dim(I, 0, axis));
}

/* Checks that index tuples of `last` elements lie within operand 0, from axis b on. */
static const char *check_tuples(struct infer *I, int64_t b, int64_t last)
{
	const char *why = NULL;

	for (int64_t k = 0; k < last && !why; k++)
		why = rule_indices(I, 1, k, last, rule_dim(I, 0, (int)(b + k)));
	return why;
}

static const char *shape_scatter_elements(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	const char *why = NULL;

	rule_like(I, 0, 0);
	for (int k = 0; rule_rank(I, 1) >= 0 && rule_rank(I, 2) == rule_rank(I, 1) && k < rule_rank(I, 1) && !why; k++)
		why = rule_extent(I, 2, k, rule_dim(I, 1, k));
	if (why || rank == RANK_UNKNOWN || rule_rank(I, 1) != rank)
		return why;
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return bad_axis(I, attr_i(I->n, "axis"), rank);
	why = rule_inside(I, 1, axis);
	return why ? why : rule_indices(I, 1, 0, 1, rule_dim(I, 0, axis));
}

static const char *shape_scatter_nd(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), ur = rule_rank(I, 2);
	int64_t last;
	const char *why = NULL;

	rule_like(I, 0, 0);
	if (rank < 0 || ir < 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, ir - 1), &last))
		return NULL;
	if (last > rank)
		return rule_why(I, "indices of %lld axes into rank %d", (long long)last, rank);
	int n = ir - 1 + rank - (int)last;
	if (ur >= 0 && ur != n)
		return rule_why(I, "operand 2 has rank %d, takes %d", ur, n);
	for (int k = 0; k < ur && !why; k++)
		why = rule_extent(I, 2, k, k < ir - 1 ? rule_dim(I, 1, k) : rule_dim(I, 0, k - (ir - 1) + (int)last));
	return why ? why : check_tuples(I, 0, last);
}

static const char *shape_gather_nd(struct infer *I)
{
	int rank = rule_rank(I, 0), ir = rule_rank(I, 1), n = 0;
	int64_t b = attr_i(I->n, "batch_dims"), last;

	unknown_of_rank(I, 0, I->in[0].dtype, RANK_UNKNOWN);
	if (rank < 1 || ir < 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, ir - 1), &last))
		return NULL;
	if (b < 0 || b >= ir || b + last > rank)
		return rule_why(I, "indices of %lld and %lld batch axes into rank %d", (long long)last, (long long)b, rank);
	const char *why = NULL;
	for (int i = 0; i < b && !why; i++)
		why = rule_extent(I, 1, i, rule_dim(I, 0, i));
	dim *d = rule_dims(I, rank + ir);
	for (int i = 0; i < ir - 1; i++)
		d[n++] = rule_dim(I, 1, i);
	for (int i = (int)(b + last); i < rank; i++)
		d[n++] = rule_dim(I, 0, i);
	rule_out(I, 0, I->in[0].dtype, n, d);
	return why ? why : check_tuples(I, b, last);
}

static const char *shape_onehot(struct infer *I)
{
	int rank = rule_rank(I, 0), axis, n = 0;
	int64_t a = attr_i(I->n, "axis");

	unknown_of_rank(I, 0, I->in[2].dtype, rank < 0 ? RANK_UNKNOWN : rank + 1);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank + 1, &axis))
		return bad_axis(I, a, rank + 1);
	int64_t depth;
	if (I->kin[1].yes && I->kin[1].n == 1 && poly_is_const(rule_polys(I), I->kin[1].e[0], &depth) && depth < 0)
		return rule_why(I, "depth %lld", (long long)depth);
	dim *d = rule_dims(I, rank + 1);
	for (int i = 0; i <= rank; i++)
		d[i] = i == axis ? (I->kin[1].yes && I->kin[1].n == 1 ? I->kin[1].e[0] : POLY_UNKNOWN) : rule_dim(I, 0, n++);
	rule_out(I, 0, I->in[2].dtype, rank + 1, d);
	return NULL;
}

static const char *shape_nonzero(struct infer *I)
{
	int rank = rule_rank(I, 0);
	dim *d = rule_dims(I, 2);

	if (rank >= 0)
		d[0] = rule_const(I, rank);
	d[1] = rule_at_most(I, 0, rank >= 0 ? rule_product(I, I->in[0].dims, 0, rank) : POLY_UNKNOWN);
	rule_out(I, 0, DT_I64, 2, d);
	return NULL;
}

static const char *compress_length(struct infer *I, dim whole)
{
	int64_t c, w;

	if (rule_rank(I, 1) != 1 || !poly_is_const(rule_polys(I), rule_dim(I, 1, 0), &c) || !poly_is_const(rule_polys(I), whole, &w) ||
	    c <= w)
		return NULL;
	return rule_why(I, "%lld conditions for %lld elements", (long long)c, (long long)w);
}

/* As many as there are elements, and as there are conditions. */
static dim compressed_most(struct infer *I, dim whole)
{
	dim conditions = rule_rank(I, 1) == 1 ? rule_dim(I, 1, 0) : POLY_UNKNOWN;

	return whole && conditions ? poly_min(rule_polys(I), whole, conditions) : whole ? whole : conditions;
}

static const char *shape_compress(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;

	bool flat = !attr_find(I->n, "axis");

	unknown_of_rank(I, 0, I->in[0].dtype, flat ? 1 : rank);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (flat) {
		dim whole = rule_product(I, I->in[0].dims, 0, rank);
		I->out[0].dims[0] = rule_at_most(I, 0, compressed_most(I, whole));
		return compress_length(I, whole);
	}
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return bad_axis(I, attr_i(I->n, "axis"), rank);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	d[axis] = rule_at_most(I, 0, compressed_most(I, d[axis]));
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return compress_length(I, rule_dim(I, 0, axis));
}

/* ---- evaluators ---- */

/* Element i of an index tensor; a negative one counts from the end. false: out of range. */
static bool index_at(const struct tensor *t, int64_t i, int64_t extent, int64_t *at)
{
	*at = t->dtype == DT_I64 ? ((const int64_t *)t->data)[i] : tensor_get_int(t, i);
	if (*at < 0)
		*at += extent;
	return *at >= 0 && *at < extent;
}

static const char *outside(struct eval *e, const struct tensor *t, int64_t i, int64_t extent)
{
	return eval_why(e, "index %lld is outside the axis of extent %lld", (long long)tensor_get_int(t, i), (long long)extent);
}

static const char *eval_gather(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1];
	int axis, n = 0;
	size_t size = dtype_size(x->dtype);
	int64_t dims[2 * RANK_MAX], count = tensor_count(ix), at;

	if (!size || !rule_axis(attr_i(e->n, "axis"), x->rank, &axis) || x->rank + ix->rank - 1 > RANK_MAX)
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

/* Walks the elements of t in order, and for each knows its offset in x, a tensor of the same rank, except for the coordinate along one
 * axis. */
struct walk {
	int rank, axis;
	int64_t at[RANK_MAX], dims[RANK_MAX], stride[RANK_MAX], off, along; /* along: stride of the axis in x */
};

static void walk_start(struct walk *w, const struct tensor *t, const struct tensor *x, int axis)
{
	int64_t s = 1;

	*w = (struct walk){.rank = t->rank, .axis = axis};
	for (int k = x->rank - 1; k >= 0; k--) {
		w->dims[k] = t->dims[k];
		w->stride[k] = k == axis ? 0 : s;
		if (k == axis)
			w->along = s;
		s *= x->dims[k];
	}
}

/* The next row: elements of all axes but the last. */
static void walk_next(struct walk *w)
{
	for (int k = w->rank - 2; k >= 0; k--) {
		w->off += w->stride[k];
		if (++w->at[k] < w->dims[k])
			return;
		w->off -= w->stride[k] * w->dims[k];
		w->at[k] = 0;
	}
}

/* Offsets in x of the n elements that indices ix[i], ix[i + 1], ... name. -1, or the number of an index that is out of range. */
static int64_t row_offsets(const struct walk *w, const struct tensor *ix, int64_t i, int n, int64_t extent, int64_t first, int64_t *off)
{
	int64_t step = w->stride[w->rank - 1], at;

	load_i(ix, i, 1, n, off);
	for (int k = 0; k < n; k++) {
		at = off[k] < 0 ? off[k] + extent : off[k];
		if (at < 0 || at >= extent)
			return i + k;
		off[k] = w->off + at * w->along + (first + k) * step;
	}
	return -1;
}

/* to[off[k]] = from[k], or to[k] = from[off[k]]. */
#define MOVE(T) \
	do { \
		for (int k = 0; k < n && gather; k++) \
			((T *)to)[k] = ((const T *)from)[off[k]]; \
		for (int k = 0; k < n && !gather; k++) \
			((T *)to)[off[k]] = ((const T *)from)[k]; \
	} while (0)

static void move_elements(size_t size, char *to, const char *from, const int64_t *off, int n, bool gather)
{
	switch (size) {
	case 1: MOVE(uint8_t); break;
	case 2: MOVE(uint16_t); break;
	case 4: MOVE(uint32_t); break;
	case 8: MOVE(uint64_t); break;
	default:
		for (int k = 0; k < n; k++)
			memcpy(to + size * (size_t)(gather ? k : off[k]), from + size * (size_t)(gather ? off[k] : k), size);
	}
}

static const char *eval_gather_elements(struct eval *e)
{
	const struct tensor *x = e->in[0], *ix = e->in[1];
	int axis;
	size_t size = dtype_size(x->dtype);
	int64_t off[BLOCK], bad;
	struct walk w;

	if (!size || ix->rank != x->rank || !rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis or ranks do not fit";
	for (int k = 0; k < x->rank; k++)
		if (k != axis && ix->dims[k] > x->dims[k])
			return "indices are larger than the data";
	struct tensor *y = eval_out_raw(e, 0, x->dtype, ix->rank, ix->dims);
	int64_t last = ix->dims[ix->rank - 1], total = tensor_count(ix);
	walk_start(&w, ix, x, axis);
	for (int64_t i = 0; i < total; walk_next(&w))
		for (int64_t j = 0; j < last; j += BLOCK) {
			int n = last - j < BLOCK ? (int)(last - j) : BLOCK;
			if ((bad = row_offsets(&w, ix, i, n, x->dims[axis], j, off)) >= 0)
				return outside(e, ix, bad, x->dims[axis]);
			move_elements(size, tensor_bytes(y) + (size_t)i * size, x->data, off, n, true);
			i += n;
		}
	return NULL;
}

/* The offset of the slice that index tuple i of ix names (the tuple is along its last axis), in x from axis b on. */
static const char *tuple_offset(struct eval *e, const struct tensor *x, const struct tensor *ix, int64_t i, int b, int64_t *off)
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
	int64_t b = attr_i(e->n, "batch_dims"), dims[2 * RANK_MAX], batch = 1, tuples = 1, run = 1, whole = 1, off;
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
		memcpy(tensor_bytes(y) + (size_t)(i * run) * size, (const char *)x->data + (size_t)(i / tuples * whole + off) * size,
		       (size_t)run * size);
	}
	return NULL;
}

static const char *eval_onehot(struct eval *e)
{
	const struct tensor *ix = e->in[0], *values = e->in[2];
	int64_t depth = eval_int(e, 1, 0), dims[RANK_MAX + 1];
	int axis, n = 0;
	size_t size = dtype_size(values->dtype);

	if (!size || tensor_count(values) != 2 || depth < 0 || ix->rank >= RANK_MAX ||
	    !rule_axis(attr_i(e->n, "axis"), ix->rank + 1, &axis))
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
				memcpy(tensor_bytes(y) + (size_t)((o * s.n + at) * s.inner + i) * size, (const char *)values->data + size,
				       size);
		}
	return NULL;
}

const struct op ops_index[] = {
	{OP_Gather, shape_gather, eval_gather},
	{OP_GatherElements, shape_gather_elements, eval_gather_elements},
	{OP_GatherND, shape_gather_nd, eval_gather_nd},
	{OP_ScatterElements, shape_scatter_elements, eval_native},
	{OP_ScatterND, shape_scatter_nd, eval_native},
	{OP_OneHot, shape_onehot, eval_onehot},
	{OP_NonZero, shape_nonzero, eval_native},
	{OP_Compress, shape_compress, eval_native},
	{0},
};
