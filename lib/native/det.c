/* Det and Inverse: by elimination with the largest pivot, in double. */
#include "native/native.h"

static double det_of(double *a, int64_t n)
{
	double product = 1;

	for (int64_t k = 0; k < n; k++) {
		int64_t p = k;
		for (int64_t i = k + 1; i < n; i++)
			p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
		for (int64_t j = k; p != k && j < n; j++) {
			double x = a[k * n + j];
			a[k * n + j] = a[p * n + j];
			a[p * n + j] = x;
		}
		product *= p == k ? a[k * n + k] : -a[k * n + k];
		if (a[k * n + k] == 0)
			return 0;
		for (int64_t i = k + 1; i < n; i++) {
			double f = a[i * n + k] / a[k * n + k];
			for (int64_t j = k + 1; j < n; j++)
				a[i * n + j] -= f * a[k * n + j];
		}
	}
	return product;
}

/* a [n, n] to b, its inverse; of a singular matrix infinities or what is no number. */
static void det_inverse(double *a, double *b, int64_t n)
{
	for (int64_t i = 0; i < n * n; i++)
		b[i] = i % (n + 1) == 0;
	for (int64_t k = 0; k < n; k++) {
		int64_t p = k;
		for (int64_t i = k + 1; i < n; i++)
			p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
		double by = 1 / a[p * n + k];
		for (int64_t j = 0; j < n; j++) { /* row p becomes row k, divided by the pivot */
			double x = a[p * n + j] * by, y = b[p * n + j] * by;
			a[p * n + j] = a[k * n + j];
			b[p * n + j] = b[k * n + j];
			a[k * n + j] = x;
			b[k * n + j] = y;
		}
		for (int64_t i = 0; i < n; i++) {
			double f = a[i * n + k];
			for (int64_t j = 0; j < n && i != k; j++) {
				a[i * n + j] -= f * a[k * n + j];
				b[i * n + j] -= f * b[k * n + j];
			}
		}
	}
}

/* Why x is not square matrices of numbers, or NULL. */
static const char *det_refuses(const struct native_tensor *x)
{
	if (!native_is_float(x->type))
		return native_no_type();
	return x->rank < 2 || x->dims[x->rank - 2] != x->dims[x->rank - 1] ? "the matrices are not square" : NULL;
}

/* Scratch for `count` matrices like those of x; of no matrices any size may be said. NULL: there is no memory. */
static double *det_scratch(struct native *n, const struct native_tensor *x, size_t count)
{
	size_t m = native_count_of(x->rank - 2, x->dims) ? (size_t)x->dims[x->rank - 1] : 0;

	return n->scratch(n, count * m * m * sizeof(double));
}

NATIVE const char *native_Inverse(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t m = x->rank < 2 ? 0 : x->dims[x->rank - 1], all;
	const char *why = det_refuses(x);

	if (why)
		return why;
	void *y = n->room(n, 0, x->type, x->rank, x->dims);
	double *a = det_scratch(n, x, 2);
	if (!y || !a)
		return native_no_room(n);
	all = native_count_of(x->rank - 2, x->dims);
	for (int64_t i = 0; i < all; i++) {
		native_load(x->type, x->data, i * m * m, m * m, a);
		det_inverse(a, a + m * m, m);
		for (int64_t k = 0; k < m * m; k++)
			native_set(x->type, y, i * m * m + k, a[m * m + k]);
	}
	return NULL;
}

NATIVE const char *native_Det(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t m = x->rank < 2 ? 0 : x->dims[x->rank - 1], all;
	const char *why = det_refuses(x);

	if (why)
		return why;
	void *y = n->room(n, 0, x->type, x->rank - 2, x->dims);
	double *a = det_scratch(n, x, 1);
	if (!y || !a)
		return native_no_room(n);
	all = native_count_of(x->rank - 2, x->dims);
	for (int64_t i = 0; i < all; i++) {
		native_load(x->type, x->data, i * m * m, m * m, a);
		native_set(x->type, y, i, det_of(a, m));
	}
	return NULL;
}
