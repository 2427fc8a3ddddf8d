/* Resize, Upsample: of sizes that may be operands. */
#include "native/native.h"
#include "native/resize_map.h"

/* ---- one element for each ---- */

static bool resize_picks(const struct resize_axis *a, int rank)
{
	for (int k = 0; k < rank; k++)
		if (a[k].taps > 1 || a[k].outside)
			return false;
	return true;
}

/* A row of the last axis, of elements of so many bytes. */
static void resize_row(const struct resize_axis *a, size_t size, const char *x, char *y)
{
	switch (a->taps ? size : 0) {
	case 0: memcpy(y, x, (size_t)a->out * size); break;
	case 1:
		for (int64_t i = 0; i < a->out; i++)
			y[i] = x[a->index[i]];
		break;
	case 4:
		for (int64_t i = 0; i < a->out; i++)
			((uint32_t *)y)[i] = ((const uint32_t *)x)[a->index[i]];
		break;
	default:
		for (int64_t i = 0; i < a->out; i++)
			memcpy(y + (size_t)i * size, x + (size_t)a->index[i] * size, size);
	}
}

static void resize_pick(const struct resize_axis *a, int rank, size_t size, const char *x, char *y)
{
	int64_t rows = 1, at[NATIVE_RANK_MAX] = {0};

	for (int k = 0; k < rank - 1; k++)
		rows *= a[k].out;
	for (int64_t r = 0; r < rows; r++, y += (size_t)a[rank - 1].out * size) {
		int64_t from = 0;
		for (int k = 0; k < rank - 1; k++)
			from = from * a[k].in + (a[k].taps ? a[k].index[at[k]] : at[k]);
		resize_row(&a[rank - 1], size, x + (size_t)(from * a[rank - 1].in) * size, y);
		for (int k = rank - 2; k >= 0 && ++at[k] == a[k].out; k--)
			at[k] = 0;
	}
}

/* ---- sums ---- */

typedef double resize_lanes __attribute__((vector_size(64), aligned(8), may_alias));
enum { RESIZE_LANES = sizeof(resize_lanes) / sizeof(double) };

/* Place i of the axis: elements from number j on of so many that lie beside each other. x: where the axis begins. */
static double resize_one(const struct resize_axis *a, int64_t i, const double *x, int64_t inner, int64_t j)
{
	const double *w = a->weight + i * a->taps;
	double sum = 0;

	for (int k = 0; k < a->taps; k++)
		if (w[k] != 0)
			sum += w[k] * x[a->index[i * a->taps + k] * inner + j];
	return sum;
}

static void resize_many(const struct resize_axis *a, int64_t i, const double *x, int64_t inner, double *y)
{
	const double *w = a->weight + i * a->taps;
	int64_t j = 0;

	for (; j + RESIZE_LANES <= inner; j += RESIZE_LANES) {
		resize_lanes sum = {0};
		for (int k = 0; k < a->taps; k++)
			if (w[k] != 0)
				sum += w[k] * *(const resize_lanes *)(x + a->index[i * a->taps + k] * inner + j);
		*(resize_lanes *)(y + j) = sum;
	}
	for (; j < inner; j++)
		y[j] = resize_one(a, i, x, inner, j);
}

static void resize_move(const struct resize_axis *a, const double *x, double *y, int64_t outer, int64_t inner)
{
	for (int64_t o = 0; o < outer; o++, x += a->in * inner)
		for (int64_t i = 0; i < a->out; i++, y += inner)
			if (inner == 1)
				*y = resize_one(a, i, x, 1, 0);
			else
				resize_many(a, i, x, inner, y);
}

/* Axis after axis; NULL: there is no memory. */
static double *resize_sums(struct native *n, const struct resize_axis *a)
{
	const struct native_tensor *x = &n->in[0];
	int64_t outer = 1, inner = native_count(x);
	double *v = n->scratch(n, sizeof *v * (size_t)inner);

	if (!v)
		return NULL;
	native_load(x->type, x->data, 0, inner, v);
	for (int k = 0; k < x->rank; k++) {
		inner = a[k].in ? inner / a[k].in : 0;
		if (a[k].taps) {
			double *w = n->scratch(n, sizeof *w * (size_t)(outer * a[k].out * inner));
			if (!w)
				return NULL;
			resize_move(&a[k], v, w, outer, inner);
			v = w;
		}
		outer *= a[k].out;
	}
	return v;
}

static void resize_extrapolate(const struct resize_axis *a, int rank, int64_t count, double value, double *v)
{
	int64_t at[NATIVE_RANK_MAX] = {0};

	for (int64_t i = 0; i < count; i++) {
		for (int k = 0; k < rank; k++)
			if (a[k].outside && a[k].outside[at[k]])
				v[i] = value;
		for (int k = rank - 1; k >= 0 && ++at[k] == a[k].out; k--)
			at[k] = 0;
	}
}

static const char *resize_run(struct native *n, bool old)
{
	const struct native_tensor *x = &n->in[0];
	struct resize_axis a[NATIVE_RANK_MAX];
	int64_t dims[NATIVE_RANK_MAX], count;
	bool outside = false;
	const char *why = resize_map(n, old, a);
	double *v;
	void *y;

	if (why)
		return why;
	if (!native_size(x->type) || x->type == NATIVE_C64 || x->type == NATIVE_C128)
		return native_no_type();
	for (int k = 0; k < x->rank; k++) {
		dims[k] = a[k].out;
		outside |= a[k].outside != NULL;
	}
	if (!(y = n->room(n, 0, x->type, x->rank, dims)))
		return native_no_room(n);
	count = native_count_of(x->rank, dims);
	if (!count || (x->rank && resize_picks(a, x->rank))) {
		if (count)
			resize_pick(a, x->rank, native_size(x->type), x->data, y);
		return NULL;
	}
	if (!(v = resize_sums(n, a)))
		return native_no_room(n);
	if (outside)
		resize_extrapolate(a, x->rank, count, native_float(n, "extrapolation_value"), v);
	for (int64_t i = 0; i < count && !native_is_float(x->type); i++)
		v[i] = rint(v[i]);
	native_store(x->type, y, 0, count, v);
	return NULL;
}

NATIVE const char *native_Resize(struct native *n) { return resize_run(n, false); }
NATIVE const char *native_Upsample(struct native *n) { return resize_run(n, true); }
