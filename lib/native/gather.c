/* Elements and slices at places that indices name: Gather, GatherElements, GatherND; and OneHot. */
#include "native/native.h"

/* Element i of the indices, not negative; -1: out of range. */
static int64_t gather_index(const struct native_tensor *t, int64_t i, int64_t extent)
{
	int64_t at = native_get_int(t->type, t->data, i);

	at += at < 0 ? extent : 0;
	return at >= 0 && at < extent ? at : -1;
}

static const char *gather_outside(struct native *n, int64_t i, int64_t extent)
{
	return native_why(n, "index %lld is outside the axis of extent %lld", (long long)native_get_int(n->in[1].type, n->in[1].data, i),
			  (long long)extent);
}

/* The product of extents; 0 where one is 0, whatever the others are. */
static int64_t gather_product(const int64_t *dims, int from, int to)
{
	int64_t c = 1;

	for (int i = from; i < to; i++)
		if (!dims[i] || __builtin_mul_overflow(c, dims[i], &c))
			return 0;
	return c;
}

static inline void gather_each(char *y, const char *x, const int64_t *from, int64_t count, size_t run)
{
	for (int64_t i = 0; i < count; i++)
		memcpy(y + (size_t)i * run, x + (size_t)from[i] * run, run);
}

/* Runs of so many bytes: number from[i] of x is number i of y. */
static void gather_runs(char *y, const char *x, const int64_t *from, int64_t count, size_t run)
{
	switch (run) {
	case 1: gather_each(y, x, from, count, 1); break;
	case 4: gather_each(y, x, from, count, 4); break;
	case 8: gather_each(y, x, from, count, 8); break;
	default: gather_each(y, x, from, count, run);
	}
}

NATIVE const char *native_Gather(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1];
	int axis = native_axis(native_int(n, "axis"), x->rank), rank = 0;
	int64_t dims[2 * NATIVE_RANK_MAX], count = native_count(ix), extent, outer, *from;
	size_t size = native_size(x->type), run;
	char *y;

	if (!size || !native_is_int(ix->type))
		return native_no_type();
	if (axis < 0 || x->rank + ix->rank - 1 > NATIVE_RANK_MAX)
		return "axis outside the rank";
	for (int i = 0; i < x->rank; i++) {
		if (i != axis)
			dims[rank++] = x->dims[i];
		for (int k = 0; i == axis && k < ix->rank; k++)
			dims[rank++] = ix->dims[k];
	}
	if (!(y = n->room(n, 0, x->type, rank, dims)))
		return native_no_room(n);
	extent = x->dims[axis];
	outer = gather_product(x->dims, 0, axis);
	run = (size_t)gather_product(x->dims, axis + 1, x->rank) * size;
	if (!(from = n->scratch(n, sizeof *from * (size_t)count)))
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++)
		if ((from[i] = gather_index(ix, i, extent)) < 0)
			return gather_outside(n, i, extent);
	for (int64_t p = 0; run && p < outer; p++)
		gather_runs(y + (size_t)(p * count) * run, (const char *)x->data + (size_t)(p * extent) * run, from, count, run);
	return NULL;
}

/* y[k] = x[offset[k]]. */
static void gather_elements(size_t size, char *y, const char *x, const int64_t *offset, int count)
{
	for (int k = 0; k < count && size == 4; k++)
		memcpy(y + 4 * k, x + 4 * offset[k], 4);
	for (int k = 0; k < count && size != 4; k++)
		memcpy(y + size * (size_t)k, x + size * (size_t)offset[k], size);
}

NATIVE const char *native_GatherElements(struct native *n)
{
	enum { BLOCK = 64 };
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1];
	int axis = native_axis(native_int(n, "axis"), x->rank), last = x->rank - 1;
	int64_t stride[NATIVE_RANK_MAX + 1], at[NATIVE_RANK_MAX] = {0}, offset[BLOCK], total = native_count(ix), s = 1;
	size_t size = native_size(x->type);
	char *y;

	if (!size || !native_is_int(ix->type))
		return native_no_type();
	if (ix->rank != x->rank || axis < 0)
		return "axis or ranks do not fit";
	for (int k = 0; k < x->rank; k++)
		if (k != axis && ix->dims[k] > x->dims[k])
			return "indices are larger than the data";
	if (!(y = n->room(n, 0, x->type, ix->rank, ix->dims)))
		return native_no_room(n);
	for (int k = last; total && k >= 0; k--) {
		stride[k] = s;
		s *= x->dims[k] ? x->dims[k] : 1;
	}
	for (int64_t i = 0; i < total;) { /* i: the first of a row */
		int64_t base = 0;
		for (int k = 0; k < last; k++)
			base += k == axis ? 0 : at[k] * stride[k];
		for (int64_t j = 0; j < ix->dims[last]; j += BLOCK) {
			int count = ix->dims[last] - j < BLOCK ? (int)(ix->dims[last] - j) : BLOCK;
			for (int k = 0; k < count; k++) {
				int64_t to = gather_index(ix, i + j + k, x->dims[axis]);
				if (to < 0)
					return gather_outside(n, i + j + k, x->dims[axis]);
				offset[k] = base + to * stride[axis] + (axis == last ? 0 : j + k);
			}
			gather_elements(size, y + (size_t)(i + j) * size, x->data, offset, count);
		}
		i += ix->dims[last];
		for (int k = last - 1; k >= 0 && ++at[k] == ix->dims[k]; k--)
			at[k] = 0;
	}
	return NULL;
}

/* The offset of the slice that index tuple i names (the tuple is along the last axis), in x from axis b on. */
static const char *gather_tuple(struct native *n, int64_t i, int b, int64_t *offset)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1];
	int64_t count = ix->dims[ix->rank - 1], s = gather_product(x->dims, b + (int)count, x->rank);

	*offset = 0;
	for (int64_t k = count - 1; k >= 0; k--) {
		int64_t at = gather_index(ix, i * count + k, x->dims[b + k]);
		if (at < 0)
			return gather_outside(n, i * count + k, x->dims[b + k]);
		*offset += at * s;
		s *= x->dims[b + k];
	}
	return NULL;
}

NATIVE const char *native_GatherND(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1];
	int64_t b = native_int(n, "batch_dims"), dims[2 * NATIVE_RANK_MAX], batch, tuples, run, whole, last;
	size_t size = native_size(x->type);
	const char *why;
	int rank = 0;
	char *y;

	if (!size || !native_is_int(ix->type))
		return native_no_type();
	if (ix->rank < 1 || b < 0 || b >= ix->rank || ix->dims[ix->rank - 1] > x->rank || b + ix->dims[ix->rank - 1] > x->rank)
		return "indices do not fit the data";
	for (int i = 0; i < b; i++)
		if (ix->dims[i] != x->dims[i])
			return native_why(n, "batch axis %d of the indices does not fit the data", i);
	last = b + ix->dims[ix->rank - 1];
	for (int i = 0; i < ix->rank - 1; i++)
		dims[rank++] = ix->dims[i];
	for (int i = (int)last; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	if (rank > NATIVE_RANK_MAX)
		return "the rank is too large";
	if (!(y = n->room(n, 0, x->type, rank, dims)))
		return native_no_room(n);
	batch = gather_product(ix->dims, 0, (int)b);
	tuples = gather_product(ix->dims, (int)b, ix->rank - 1);
	whole = gather_product(x->dims, (int)b, x->rank);
	run = gather_product(x->dims, (int)last, x->rank);
	for (int64_t i = 0, offset; i < batch * tuples; i++) {
		if ((why = gather_tuple(n, i, (int)b, &offset)))
			return why;
		memcpy(y + (size_t)(i * run) * size, (const char *)x->data + (size_t)(i / tuples * whole + offset) * size,
		       (size_t)run * size);
	}
	return NULL;
}

NATIVE const char *native_OneHot(struct native *n)
{
	const struct native_tensor *ix = &n->in[0], *values = &n->in[2];
	int64_t depth = native_has(n, 1) && !native_is_int(n->in[1].type) ? (int64_t)native_get(n->in[1].type, n->in[1].data, 0)
									  : native_number(n, 1, 0),
		dims[NATIVE_RANK_MAX + 1], inner, total;
	int axis = native_axis(native_int(n, "axis"), ix->rank + 1), k = 0;
	size_t size = native_size(values->type);
	char *y;

	if (!size)
		return native_no_type();
	if (native_count(values) != 2 || depth < 0 || ix->rank >= NATIVE_RANK_MAX || axis < 0)
		return "depth, values or axis do not fit";
	for (int i = 0; i <= ix->rank; i++)
		dims[i] = i == axis ? depth : ix->dims[k++];
	if (!(y = n->room(n, 0, values->type, ix->rank + 1, dims)))
		return native_no_room(n);
	total = gather_product(dims, 0, ix->rank + 1);
	inner = gather_product(dims, axis + 1, ix->rank + 1);
	for (int64_t i = 0; i < total; i++)
		memcpy(y + (size_t)i * size, values->data, size);
	for (int64_t i = 0; total && i < native_count(ix); i++) {
		bool whole = native_is_int(ix->type);
		double v = whole ? 0 : native_get(ix->type, ix->data, i);
		int64_t at = whole ? native_get_int(ix->type, ix->data, i) : native_whole(v, -depth - 1, depth);
		at = at < 0 && ix->type != NATIVE_U64 ? at + depth : at;
		if (at >= 0 && at < depth)
			memcpy(y + (size_t)((i / inner * depth + at) * inner + i % inner) * size, (const char *)values->data + size, size);
	}
	return NULL;
}
