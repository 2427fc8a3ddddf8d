/* Sequences and optionals of numbers. Compiled models call these; the evaluator has its own, for strings too. */
#include "native/native.h"

/* The position that operand i names in a sequence of n, where something is, or goes (more: 1); without the operand, `none`. */
static const char *sequences_position(struct native *n, int i, int64_t count, int64_t more, int64_t none, int64_t *at)
{
	int64_t v = native_has(n, i) && native_count(&n->in[i]) > 0 ? native_get_int(n->in[i].type, n->in[i].data, 0) : none;

	if (v < -count || v >= count + more)
		return native_why(n, "position %lld of a sequence of %lld", (long long)v, (long long)count);
	*at = v < 0 ? v + count : v;
	return NULL;
}

static int64_t sequences_length(const struct native *n, int i)
{
	return native_has(n, i) && native_is_list(n->in[i].type) ? n->in[i].dims[0] : -1;
}

NATIVE const char *native_SequenceConstruct(struct native *n)
{
	const char *why = n->list(n, 0, NATIVE_SEQUENCE, n->nin);

	for (int i = 0; i < n->nin && !why; i++)
		why = n->put(n, 0, i, i, NATIVE_WHOLE);
	return why;
}

NATIVE const char *native_SequenceEmpty(struct native *n) { return n->list(n, 0, NATIVE_SEQUENCE, 0); }

NATIVE const char *native_SequenceAt(struct native *n)
{
	int64_t count = sequences_length(n, 0), at = 0;

	if (count < 0)
		return native_no_type();
	const char *why = sequences_position(n, 1, count, 0, 0, &at);
	return why ? why : n->put(n, 0, NATIVE_WHOLE, 0, at);
}

NATIVE const char *native_SequenceInsert(struct native *n)
{
	int64_t count = sequences_length(n, 0), at = 0;

	if (count < 0 || !native_has(n, 1))
		return native_no_type();
	const char *why = sequences_position(n, 2, count, 1, count, &at);
	if (!why)
		why = n->list(n, 0, NATIVE_SEQUENCE, count + 1);
	for (int64_t k = 0; k <= count && !why; k++)
		why = k == at ? n->put(n, 0, k, 1, NATIVE_WHOLE) : n->put(n, 0, k, 0, k - (k > at));
	return why;
}

NATIVE const char *native_SequenceErase(struct native *n)
{
	int64_t count = sequences_length(n, 0), at = 0;

	if (count < 0)
		return native_no_type();
	const char *why = sequences_position(n, 1, count, 0, count - 1, &at);
	if (!why)
		why = n->list(n, 0, NATIVE_SEQUENCE, count - 1);
	for (int64_t k = 0; k < count - 1 && !why; k++)
		why = n->put(n, 0, k, 0, k + (k >= at));
	return why;
}

NATIVE const char *native_SequenceLength(struct native *n)
{
	int64_t count = sequences_length(n, 0), *y;

	if (count < 0)
		return native_no_type();
	if (!(y = n->room(n, 0, NATIVE_I64, 0, NULL)))
		return native_no_room(n);
	*y = count;
	return NULL;
}

/* ---- from and to tensors ---- */

/* Extents of the parts along an axis of `all`, in scratch. NULL: they do not make it up. */
static int64_t *sequences_parts(struct native *n, int64_t all, int64_t *count)
{
	bool given = native_has(n, 1), each = !given || n->in[1].rank == 0;
	const int64_t *v = NULL;
	int64_t listed = given ? native_ints(n, 1, &v) : 0, part = !given ? 1 : each && listed == 1 ? v[0] : 0, sum = 0, *extent;

	if (listed < 0 || (each && part < 1))
		return NULL;
	*count = each ? all / part + (all % part > 0) : listed;
	if (!(extent = n->scratch(n, (size_t)(*count + 1) * sizeof *extent)))
		return NULL;
	for (int64_t i = 0; i < *count; i++) {
		extent[i] = !each ? v[i] : i == *count - 1 ? all - i * part : part;
		if (extent[i] < 0 || extent[i] > all - sum)
			return NULL;
		sum += extent[i];
	}
	return sum == all ? extent : NULL;
}

/* Bytes before and behind an axis: of so many rows of an element each. */
struct sequences_rows {
	size_t outer, inner;
};

static struct sequences_rows sequences_rows(const struct native_tensor *x, int axis)
{
	return (struct sequences_rows){(size_t)native_count_of(axis, x->dims),
				       (size_t)native_count_of(x->rank - axis - 1, x->dims + axis + 1) * native_size(x->type)};
}

NATIVE const char *native_SplitToSequence(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	bool keep = native_has(n, 1) || native_int(n, "keepdims");
	int axis = native_axis(native_int(n, "axis"), x->rank), rank = 0;
	int64_t count, *extent, *dims, from = 0;
	const char *why;
	char *y;

	if (axis < 0)
		return "axis outside the rank";
	if (!(extent = sequences_parts(n, x->dims[axis], &count)))
		return "the parts do not make up the axis";
	if (!(dims = n->scratch(n, (size_t)(count * x->rank + 1) * sizeof *dims)))
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++)
		for (int k = rank = 0; k < x->rank; k++)
			if (k != axis || keep)
				dims[i * (x->rank - !keep) + rank++] = k == axis ? extent[i] : x->dims[k];
	if ((why = n->list(n, 0, NATIVE_SEQUENCE, count)))
		return why;
	if (!count)
		return NULL;
	if (!(y = n->make(n, 0, x->type, x->rank - !keep, count, dims)))
		return native_no_room(n);
	struct sequences_rows r = sequences_rows(x, axis);
	for (int64_t i = 0; i < count; from += extent[i++])
		for (size_t o = 0, run = (size_t)extent[i] * r.inner; o < r.outer && run; o++, y += run)
			memcpy(y, (const char *)x->data + (o * (size_t)x->dims[axis] + (size_t)from) * r.inner, run);
	return NULL;
}

/* Extents of the elements of a sequence one behind the other; of a new axis: all 1. */
static const char *sequences_joined(struct native *n, int rank, int axis, bool stack, int64_t *dims)
{
	struct native_tensor first = n->item(n, 0, 0);

	for (int k = 0, i = 0; k < rank; k++) {
		dims[k] = k == axis ? 0 : first.dims[i];
		i += k != axis || !stack;
	}
	for (int64_t e = 0; e < n->in[0].dims[0]; e++) {
		struct native_tensor x = n->item(n, 0, e);
		if (x.type != first.type || x.rank + stack != rank)
			return native_why(n, "elements have ranks %d and %d, or other types", rank - stack, x.rank);
		for (int k = 0, i = 0; k < rank; k++) {
			if (k == axis) {
				if (__builtin_add_overflow(dims[k], stack ? 1 : x.dims[i], &dims[k]))
					return "it is larger than any memory";
			} else if (dims[k] != x.dims[i]) {
				return native_why(n, "elements have extents %lld and %lld at axis %d", (long long)dims[k],
						  (long long)x.dims[i], i);
			}
			i += k != axis || !stack;
		}
	}
	return NULL;
}

NATIVE const char *native_ConcatFromSequence(struct native *n)
{
	int64_t count = sequences_length(n, 0), dims[NATIVE_RANK_MAX], at = 0;
	bool stack = native_int(n, "new_axis");
	const char *why;
	char *y;

	if (count < 1)
		return count < 0 ? native_no_type() : "an empty sequence has no shape";
	struct native_tensor first = n->item(n, 0, 0);
	int rank = first.rank + stack, axis = native_axis(native_int(n, "axis"), rank);
	if (native_is_list(first.type))
		return native_no_type();
	if (rank > NATIVE_RANK_MAX || axis < 0)
		return "axis outside the rank";
	if ((why = sequences_joined(n, rank, axis, stack, dims)))
		return why;
	if (!(y = n->room(n, 0, first.type, rank, dims)))
		return native_no_room(n);
	size_t outer = (size_t)native_count_of(axis, dims);
	size_t inner = (size_t)native_count_of(rank - axis - 1, dims + axis + 1) * native_size(first.type);
	for (int64_t e = 0; e < count; e++) {
		struct native_tensor x = n->item(n, 0, e);
		int64_t rows = stack ? 1 : x.dims[axis];
		size_t run = (size_t)rows * inner;
		for (size_t o = 0; o < outer && run; o++)
			memcpy(y + (o * (size_t)dims[axis] + (size_t)at) * inner, (const char *)x.data + o * run, run);
		at += rows;
	}
	return NULL;
}

/* ---- optionals ---- */

NATIVE const char *native_Optional(struct native *n)
{
	bool has = native_has(n, 0);
	const char *why = n->list(n, 0, NATIVE_OPTIONAL, has);

	return why || !has ? why : n->put(n, 0, 0, 0, NATIVE_WHOLE);
}

NATIVE const char *native_OptionalHasElement(struct native *n)
{
	uint8_t *y = n->room(n, 0, NATIVE_BOOL, 0, NULL);

	if (!y)
		return native_no_room(n);
	*y = native_has(n, 0) && (n->in[0].type != NATIVE_OPTIONAL || n->in[0].dims[0]);
	return NULL;
}

NATIVE const char *native_OptionalGetElement(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	void *y;

	if (!native_has(n, 0))
		return native_no_type();
	if (x->type == NATIVE_OPTIONAL && !x->dims[0])
		return "the optional has no value";
	if (native_is_list(x->type))
		return n->put(n, 0, NATIVE_WHOLE, 0, x->type == NATIVE_OPTIONAL ? 0 : NATIVE_WHOLE);
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	memcpy(y, x->data, (size_t)native_count(x) * native_size(x->type));
	return NULL;
}
