/* Unique: slices that occur, once each. An element is a word, native_order's; a slice is a row of words. */
#include "native/native.h"

struct unique {
	int axis;                    /* -1: of all elements */
	int64_t outer, count, inner; /* extents before, of and behind the axis */
	int64_t width;               /* words of a slice */
	int64_t *word;               /* [count][width] */
	int64_t *order, *group, *spare;
	int64_t groups;
};

static int unique_compare(const struct unique *u, int64_t a, int64_t b)
{
	const int64_t *x = u->word + a * u->width, *y = u->word + b * u->width;

	for (int64_t i = 0; i < u->width; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Sorts u->order, equal ones as they stand, from runs of 1 upward. */
static void unique_sort(struct unique *u)
{
	for (int64_t run = 1; run < u->count; run *= 2) {
		for (int64_t lo = 0; lo < u->count; lo += 2 * run) {
			int64_t mid = lo + run < u->count ? lo + run : u->count, hi = mid + run < u->count ? mid + run : u->count, a = lo,
				b = mid;
			for (int64_t i = lo; i < hi; i++)
				u->spare[i] = b >= hi || (a < mid && unique_compare(u, u->order[a], u->order[b]) <= 0) ? u->order[a++]
														       : u->order[b++];
		}
		int64_t *t = u->order;
		u->order = u->spare;
		u->spare = t;
	}
}

static const char *unique_read(struct native *n, struct unique *u)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_attr *axis = native_attr(n, "axis");
	size_t words;

	*u = (struct unique){.axis = -1, .outer = 1, .count = native_count(x), .inner = 1};
	if (axis) {
		if ((u->axis = native_axis(axis->i, x->rank)) < 0)
			return native_why(n, "axis %lld outside rank %d", (long long)axis->i, x->rank);
		u->outer = native_count_of(u->axis, x->dims);
		u->count = x->dims[u->axis];
		u->inner = native_count_of(x->rank - u->axis - 1, x->dims + u->axis + 1);
	}
	u->width = u->outer * u->inner;
	words = (size_t)u->count;
	if (words > SIZE_MAX / 64 || !(u->order = n->scratch(n, 8 * words)) || !(u->group = n->scratch(n, 8 * words)) ||
	    !(u->spare = n->scratch(n, 8 * words)) || !(u->word = n->scratch(n, 8 * words * (size_t)u->width)))
		return native_no_room(n);
	for (int64_t i = 0; i < u->count; i++) {
		u->order[i] = i;
		for (int64_t o = 0; o < u->outer; o++)
			for (int64_t k = 0; k < u->inner; k++)
				u->word[(i * u->outer + o) * u->inner + k] =
					native_order(x->type, x->data, (o * u->count + i) * u->inner + k);
	}
	return NULL;
}

/* Numbers the groups of equal slices: group[i] of slice i; order: the first slice of each group. */
static void unique_groups(struct unique *u)
{
	unique_sort(u);
	for (int64_t i = 0; i < u->count; i++) {
		if (!i || unique_compare(u, u->order[u->groups - 1], u->order[i]))
			u->order[u->groups++] = u->order[i]; /* the earliest: the sort is stable */
		u->group[u->order[i]] = u->groups - 1;
	}
}

/* The same numbers in the order in which groups occur. */
static void unique_renumber(struct unique *u)
{
	int64_t n = 0;

	for (int64_t g = 0; g < u->groups; g++)
		u->spare[g] = -1;
	for (int64_t i = 0; i < u->count; i++) {
		int64_t g = u->group[i];
		if (u->spare[g] < 0) {
			u->order[n] = i;
			u->spare[g] = n++;
		}
		u->group[i] = u->spare[g];
	}
}

static const char *unique_values(struct native *n, const struct unique *u)
{
	const struct native_tensor *x = &n->in[0];
	size_t size = native_size(x->type), row = (size_t)u->inner * size;
	int64_t dims[NATIVE_RANK_MAX];
	char *y;

	if (x->rank)
		memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	dims[u->axis < 0 ? 0 : u->axis] = u->groups;
	if (!(y = n->room(n, 0, x->type, u->axis < 0 ? 1 : x->rank, dims)))
		return native_no_room(n);
	for (int64_t o = 0; o < u->outer; o++)
		for (int64_t g = 0; g < u->groups; g++, y += row)
			memcpy(y, (const char *)x->data + (size_t)(o * u->count + u->order[g]) * row, row);
	return NULL;
}

/* A result of n integers: *v, NULL if it is not wanted. */
static const char *unique_list(struct native *n, int result, int64_t count, int64_t **v)
{
	*v = NULL;
	if (!native_wants(n, result))
		return NULL;
	*v = n->room(n, result, NATIVE_I64, 1, &count);
	return *v ? NULL : native_no_room(n);
}

NATIVE const char *native_Unique(struct native *n)
{
	struct unique u;
	int64_t *first, *inverse, *counts;
	const char *why;

	if (!native_size(n->in[0].type) || n->in[0].type == NATIVE_C64 || n->in[0].type == NATIVE_C128)
		return native_no_type();
	if ((why = unique_read(n, &u)))
		return why;
	unique_groups(&u);
	if (!native_int(n, "sorted"))
		unique_renumber(&u);
	if ((why = unique_values(n, &u)) || (why = unique_list(n, 1, u.groups, &first)) || (why = unique_list(n, 2, u.count, &inverse)) ||
	    (why = unique_list(n, 3, u.groups, &counts)))
		return why;
	if (first && u.groups)
		memcpy(first, u.order, sizeof *first * (size_t)u.groups);
	if (inverse && u.count)
		memcpy(inverse, u.group, sizeof *inverse * (size_t)u.count);
	for (int64_t g = 0; counts && g < u.groups; g++)
		counts[g] = 0;
	for (int64_t i = 0; counts && i < u.count; i++)
		counts[u.group[i]]++;
	return NULL;
}
