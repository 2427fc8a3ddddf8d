/* The same elements in another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity. */
#include "native/native.h"

static const char *views_share(struct native *n, int rank, const int64_t *dims)
{
	int64_t count = 1, elements = native_count(&n->in[0]);
	bool none = false, many = false;

	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return native_why(n, "an extent of %lld", (long long)dims[i]);
		none |= !dims[i];
		many |= __builtin_mul_overflow(count, dims[i], &count);
	}
	count = none ? 0 : many ? INT64_MAX : count;
	if (count != elements)
		return native_why(n, "%lld elements do not reshape to %lld", (long long)elements, (long long)count);
	return n->share(n, 0, rank, dims);
}

NATIVE const char *native_Reshape(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *v = NULL;
	int64_t rank = native_ints(n, 1, &v), dims[NATIVE_RANK_MAX], rest = 1, elements = native_count(x);
	int hole = -1;
	bool none = false, many = false;

	if (rank < 0 || rank > NATIVE_RANK_MAX)
		return "no shape, or its rank is too large";
	for (int i = 0; i < rank; i++) {
		dims[i] = v[i];
		if (v[i] == 0 && !native_int(n, "allowzero")) {
			if (i >= x->rank)
				return "a 0 in the shape lies outside the rank";
			dims[i] = x->dims[i];
		}
		if (v[i] == -1)
			hole = i;
		else
			many |= __builtin_mul_overflow(rest, dims[i], &rest);
		none |= !dims[i];
	}
	if (many && !none)
		return "a shape of more elements than can be";
	rest = none ? 0 : rest;
	if (hole >= 0 && rest && elements % rest)
		return native_why(n, "%lld elements are no multiple of %lld", (long long)elements, (long long)rest);
	if (hole >= 0)
		dims[hole] = rest ? elements / rest : 0;
	return views_share(n, (int)rank, dims);
}

NATIVE const char *native_Flatten(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t axis = native_int(n, "axis"), dims[2] = {1, 1};

	axis = axis < 0 ? axis + x->rank : axis;
	for (int i = 0; i < x->rank; i++)
		if (__builtin_mul_overflow(dims[i >= axis], x->dims[i], &dims[i >= axis]))
			return "a shape of more elements than can be";
	return views_share(n, 2, dims);
}

NATIVE const char *native_Squeeze(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *axes = NULL;
	int64_t count = native_ints(n, 1, &axes), dims[NATIVE_RANK_MAX];
	bool drop[NATIVE_RANK_MAX] = {0};
	int rank = 0;

	for (int64_t i = 0; i < count; i++) {
		int axis = native_axis(axes[i], x->rank);
		if (axis < 0 || x->dims[axis] != 1)
			return "an axis is outside the rank or not of extent 1";
		drop[axis] = true;
	}
	for (int i = 0; i < x->rank; i++)
		if (!(count < 0 ? x->dims[i] == 1 : drop[i]))
			dims[rank++] = x->dims[i];
	return views_share(n, rank, dims);
}

NATIVE const char *native_Unsqueeze(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *axes = NULL;
	int64_t count = native_ints(n, 1, &axes), dims[NATIVE_RANK_MAX];
	bool added[NATIVE_RANK_MAX] = {0};
	int from = 0;

	if (count < 0 || x->rank + count > NATIVE_RANK_MAX)
		return "no axes, or the rank is too large";
	for (int64_t i = 0; i < count; i++) {
		int axis = native_axis(axes[i], x->rank + (int)count);
		if (axis < 0 || added[axis])
			return "an axis is outside the rank or given twice";
		added[axis] = true;
	}
	for (int i = 0; i < x->rank + count; i++)
		dims[i] = added[i] ? 1 : x->dims[from++];
	return views_share(n, x->rank + (int)count, dims);
}

NATIVE const char *native_Identity(struct native *n)
{
	if (native_is_list(n->in[0].type))
		return n->put(n, 0, NATIVE_WHOLE, 0, NATIVE_WHOLE);
	return n->share(n, 0, n->in[0].rank, n->in[0].dims);
}
