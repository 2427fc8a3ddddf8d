/* Where: elements of one operand or the other, by a condition; strings are among them. */
#include "native/native.h"

/* Steps of operand t along the axes of a result of that rank, in elements: 0 where it has one. */
static void where_steps(const struct native_tensor *t, int rank, int64_t *step)
{
	int64_t s = 1;

	for (int i = rank - 1; i >= 0; i--) {
		int at = i - (rank - t->rank);
		step[i] = at < 0 || t->dims[at] == 1 ? 0 : s;
		s *= at < 0 ? 1 : t->dims[at];
	}
}

/* The extents of all three, broadcast. NULL, or why they do not. */
static const char *where_broadcast(struct native *n, int *rank, int64_t *dims)
{
	*rank = 0;
	for (int k = 0; k < 3; k++)
		*rank = n->in[k].rank > *rank ? n->in[k].rank : *rank;
	for (int i = 0; i < *rank; i++) {
		dims[i] = 1;
		for (int k = 0; k < 3; k++) {
			int at = i - (*rank - n->in[k].rank);
			int64_t d = at < 0 ? 1 : n->in[k].dims[at];
			if (d != 1 && dims[i] != 1 && d != dims[i])
				return native_why(n, "extents %lld and %lld do not broadcast", (long long)dims[i], (long long)d);
			dims[i] = dims[i] == 1 ? d : dims[i];
		}
	}
	return NULL;
}

NATIVE const char *native_Where(struct native *n)
{
	const struct native_tensor *a = &n->in[1], *b = &n->in[2];
	int64_t dims[NATIVE_RANK_MAX], at[NATIVE_RANK_MAX] = {0}, step[3][NATIVE_RANK_MAX], from[3] = {0};
	const uint8_t *is = n->in[0].data;
	const size_t size = native_size(a->type);
	const char *why;
	int rank;

	if (!size || a->type != b->type || n->in[0].type != NATIVE_BOOL)
		return native_no_type();
	if ((why = where_broadcast(n, &rank, dims)))
		return why;
	char *y = n->room(n, 0, a->type, rank, dims);
	if (!y)
		return native_no_room(n);
	for (int k = 0; k < 3; k++)
		where_steps(&n->in[k], rank, step[k]);
	for (int64_t count = native_count_of(rank, dims), i = 0; i < count; i++, y += size) {
		const struct native_tensor *t = is[from[0]] ? a : b;
		memcpy(y, (const char *)t->data + (size_t)from[is[from[0]] ? 1 : 2] * size, size);
		for (int k = rank - 1; k >= 0; k--) {
			bool more = ++at[k] < dims[k];
			for (int j = 0; j < 3; j++)
				from[j] += more ? step[j][k] : -step[j][k] * (dims[k] - 1);
			if (more)
				break;
			at[k] = 0;
		}
	}
	return NULL;
}
