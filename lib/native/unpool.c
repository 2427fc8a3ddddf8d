/* MaxUnpool: elements at the places that their indices name, all else 0. */
#include "native/native.h"

/* The shape that windows over it have left; false: there is none. */
static bool unpool_shape(const struct native *n, const struct native_tensor *x, int64_t *dims)
{
	int axes = x->rank - 2;

	memcpy(dims, x->dims, 2 * sizeof *dims);
	for (int i = 0; i < axes; i++) {
		int64_t stride = native_int_at(n, "strides", i), kernel = native_int_at(n, "kernel_shape", i);
		int64_t pads = native_int_at(n, "pads", i) + native_int_at(n, "pads", axes + i);
		if (stride < 1 || stride > INT32_MAX || kernel < 1 || kernel > INT32_MAX || pads < 0 || pads > INT32_MAX)
			return false;
		dims[2 + i] = (x->dims[2 + i] - 1) * stride - pads + kernel;
		if (dims[2 + i] < 0 || x->dims[2 + i] > INT32_MAX)
			return false;
	}
	return true;
}

/* Where flat index i of a shape lies in another. */
static int64_t unpool_place(int64_t i, int rank, const int64_t *shape, const int64_t *in)
{
	int64_t step = 1, at = 0;

	for (int a = rank - 1; a >= 0; a--) {
		at += i % shape[a] * step;
		i /= shape[a];
		step *= in[a];
	}
	return at;
}

NATIVE const char *native_MaxUnpool(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *at = &n->in[1];
	int64_t shape[NATIVE_RANK_MAX], dims[NATIVE_RANK_MAX], count, places = 1;
	size_t size = native_size(x->type);
	bool same;

	if (!size || at->type != NATIVE_I64)
		return native_no_type();
	if (x->rank < 3 || at->rank != x->rank || memcmp(x->dims, at->dims, (size_t)x->rank * sizeof *dims) || !unpool_shape(n, x, shape))
		return "elements, indices and windows do not fit each other";
	memcpy(dims, shape, (size_t)x->rank * sizeof *dims);
	if (native_has(n, 2) && native_count(&n->in[2]) != x->rank)
		return "the shape has not as many axes as the elements";
	for (int i = 0; native_has(n, 2) && i < x->rank; i++) {
		dims[i] = native_get_int(n->in[2].type, n->in[2].data, i);
		if (dims[i] < shape[i])
			return native_why(n, "the shape has %lld along axis %d, not %lld", (long long)dims[i], i, (long long)shape[i]);
	}
	same = !memcmp(dims, shape, (size_t)x->rank * sizeof *dims);
	char *y = n->room(n, 0, x->type, x->rank, dims);
	if (!y)
		return native_no_room(n);
	memset(y, 0, (size_t)native_count_of(x->rank, dims) * size);
	count = native_count(x);
	for (int i = 0; i < x->rank; i++)
		if (__builtin_mul_overflow(places, shape[i], &places))
			return "the result is too large";
	for (int64_t i = 0; i < count; i++) {
		int64_t to = ((const int64_t *)at->data)[i];
		if (to < 0 || to >= places)
			return native_why(n, "index %lld of %lld", (long long)to, (long long)places);
		to = same ? to : unpool_place(to, x->rank, shape, dims);
		memcpy(y + (size_t)to * size, (const char *)x->data + (size_t)i * size, size);
	}
	return NULL;
}
