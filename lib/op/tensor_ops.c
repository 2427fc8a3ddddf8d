/* Tensors without a module: storage, elements as double or int64, random contents. */
#include <math.h>
#include "common/half.h"
#include "common/msg.h"
#include "native/native.h"
#include "op/rules.h"

bool dtype_fixed(enum dtype t) { return dtype_is_float(t) || dtype_is_float8(t) || dtype_is_int(t) || t == DT_BOOL; }

int64_t dtype_lowest(enum dtype t) { return dtype_is_signed(t) ? INT64_MIN >> (64 - dtype_bits(t)) : 0; }

int64_t dtype_highest(enum dtype t)
{
	return t == DT_BOOL ? 1 : dtype_is_signed(t) || t == DT_U64 ? INT64_MAX >> (64 - dtype_bits(t)) : (INT64_C(1) << dtype_bits(t)) - 1;
}

struct tensor *tensor_new(struct arena *a, enum dtype t, int rank, const int64_t *dims)
{
	struct tensor *x = ARENA_NEW(a, struct tensor);

	x->dtype = t;
	x->rank = rank;
	x->dims = arena_copy(a, dims, sizeof *dims * (size_t)rank);
	x->nbytes = dtype_size(t);
	bool overflow = false, zero = false;
	for (int i = 0; i < rank; i++) {
		zero |= dims[i] == 0;
		overflow |= __builtin_mul_overflow(x->nbytes, (size_t)dims[i], &x->nbytes);
	}
	if (zero)
		x->nbytes = 0;
	else if (overflow)
		die(EX_SYSTEM, "out of memory (a tensor of more than 2^64 bytes wanted)");
	x->data = arena_alloc(a, x->nbytes);
	return x;
}

struct tensor *tensor_wrap(struct arena *a, enum kind kind, enum dtype t, size_t n, struct tensor **item)
{
	struct tensor *x = tensor_new(a, t, 1, &(int64_t){0});

	x->kind = (uint8_t)kind;
	x->nitem = n;
	x->item = arena_copy(a, item, sizeof *item * n);
	return x;
}

struct tensor *tensor_copy(struct arena *a, const struct tensor *t)
{
	struct tensor *c = arena_copy(a, t, sizeof *c);

	c->dims = arena_copy(a, t->dims, sizeof *t->dims * (size_t)t->rank);
	c->data = arena_copy(a, t->data, t->nbytes);
	c->item = arena_copy(a, t->item, sizeof *t->item * t->nitem);
	for (size_t i = 0; i < t->nitem; i++)
		c->item[i] = tensor_copy(a, t->item[i]);
	return c;
}

size_t tensor_size(const struct tensor *t)
{
	size_t sum = t->nbytes;

	for (size_t i = 0; i < t->nitem; i++)
		sum += tensor_size(t->item[i]);
	return sum;
}

bool tensor_like(const struct tensor *a, const struct tensor *b)
{
	if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->nitem != b->nitem ||
	    memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank))
		return false;
	for (size_t i = 0; i < a->nitem; i++)
		if (!tensor_like(a->item[i], b->item[i]))
			return false;
	return true;
}

/* Saturating; NaN gives 0. */
static int64_t to_int(double v, int64_t lo, int64_t hi)
{
	if (v != v)
		return 0;
	return v <= (double)lo ? lo : v >= (double)hi ? hi : (int64_t)v;
}

static uint64_t to_u64(double v) { return !(v > 0) ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v; }

/* clang-format off */
/* f(member of enum dtype, name, bytes, number, type) for all types whose elements convert to numbers by a plain cast. */
#define INTEGERS(f) INT_DTYPES(f) f(BOOL, , , , uint8_t)
#define FLOATS(f) f(F32, , , , float) f(F64, , , , double)

void load_d(const struct tensor *t, int64_t off, int64_t stride, int n, double *o)
{
	switch (t->dtype) {
#define LOAD(id, name, size, onnx, T)                                                              \
	case DT_##id: {                                                                            \
		const T *p = (const T *)t->data + off;                                             \
		for (int i = 0; i < n; i++)                                                        \
			o[i] = (double)p[i * stride];                                              \
		return;                                                                            \
	}
		INTEGERS(LOAD) FLOATS(LOAD)
#undef LOAD
	case DT_F16:
		for (int i = 0; i < n; i++)
			o[i] = half_to_float(((const uint16_t *)t->data)[off + i * stride]);
		return;
	case DT_BF16:
		for (int i = 0; i < n; i++)
			o[i] = bf16_to_float(((const uint16_t *)t->data)[off + i * stride]);
		return;
	case DT_F8E4M3FN:
	case DT_F8E4M3FNUZ:
	case DT_F8E5M2:
	case DT_F8E5M2FNUZ:
	case DT_F4E2M1:
	case DT_F8E8M0:
	case DT_F6E2M3:
	case DT_F6E3M2:
		for (int i = 0; i < n; i++)
			o[i] = native_get_small((int)t->dtype, ((const uint8_t *)t->data)[off + i * stride]);
		return;
	default: BUG("elements of %s", dtype_name(t->dtype));
	}
}

void load_i(const struct tensor *t, int64_t off, int64_t stride, int n, int64_t *o)
{
	switch (t->dtype) {
#define LOAD(id, name, size, onnx, T)                                                              \
	case DT_##id: {                                                                            \
		const T *p = (const T *)t->data + off;                                             \
		for (int i = 0; i < n; i++)                                                        \
			o[i] = (int64_t)p[i * stride];                                             \
		return;                                                                            \
	}
		INTEGERS(LOAD)
#undef LOAD
	default: {
		double d;
		for (int i = 0; i < n; i++) {
			load_d(t, off + i * stride, 1, 1, &d);
			o[i] = to_int(d, INT64_MIN, INT64_MAX);
		}
	}
	}
}

void store_d(struct tensor *t, int64_t off, int n, const double *v)
{
	bool u64 = t->dtype == DT_U64;
	int64_t lo = 0, hi = 0;

	if (dtype_is_int(t->dtype))
		lo = dtype_lowest(t->dtype), hi = dtype_highest(t->dtype);
	switch (t->dtype) {
#define STORE(id, name, size, onnx, T)                                                             \
	case DT_##id:                                                                              \
		for (int i = 0; i < n; i++)                                                        \
			((T *)t->data)[off + i] = u64 ? (T)to_u64(v[i]) : (T)to_int(v[i], lo, hi);     \
		return;
		INT_DTYPES(STORE)
#undef STORE
	case DT_BOOL:
		for (int i = 0; i < n; i++)
			((uint8_t *)t->data)[off + i] = v[i] != 0;
		return;
#define STORE(id, name, size, onnx, T)                                                             \
	case DT_##id:                                                                              \
		for (int i = 0; i < n; i++)                                                        \
			((T *)t->data)[off + i] = (T)v[i];                                         \
		return;
		FLOATS(STORE)
#undef STORE
	case DT_F16:
		for (int i = 0; i < n; i++)
			((uint16_t *)t->data)[off + i] = double_to_half(v[i]);
		return;
	case DT_BF16:
		for (int i = 0; i < n; i++)
			((uint16_t *)t->data)[off + i] = double_to_bf16(v[i]);
		return;
	case DT_F8E4M3FN:
	case DT_F8E4M3FNUZ:
	case DT_F8E5M2:
	case DT_F8E5M2FNUZ:
	case DT_F4E2M1:
	case DT_F8E8M0:
	case DT_F6E2M3:
	case DT_F6E3M2:
		for (int i = 0; i < n; i++)
			((uint8_t *)t->data)[off + i] = native_put_small((int)t->dtype, v[i], true);
		return;
	default: BUG("elements of %s", dtype_name(t->dtype));
	}
}

/* The low bits of an integer of fewer than 8, as the byte that it has. */
static uint8_t low_bits(enum dtype t, int64_t v)
{
	int unused = 64 - dtype_bits(t);

	return dtype_is_signed(t) ? (uint8_t)((int64_t)((uint64_t)v << unused) >> unused) : (uint8_t)((uint64_t)v << unused >> unused);
}

void store_i(struct tensor *t, int64_t off, int n, const int64_t *v)
{
	if (dtype_is_int(t->dtype) && dtype_bits(t->dtype) < 8) {
		for (int i = 0; i < n; i++)
			((uint8_t *)t->data)[off + i] = low_bits(t->dtype, v[i]);
		return;
	}
	if (t->dtype == DT_BOOL) {
		for (int i = 0; i < n; i++)
			((uint8_t *)t->data)[off + i] = v[i] != 0;
		return;
	}
	switch (t->dtype) {
#define STORE(id, name, size, onnx, T)                                                             \
	case DT_##id:                                                                              \
		for (int i = 0; i < n; i++)                                                        \
			((T *)t->data)[off + i] = (T)v[i];                                         \
		return;
		INT_DTYPES(STORE) FLOATS(STORE)
#undef STORE
	default:
		for (int i = 0; i < n; i++)
			store_d(t, off + i, 1, &(double){native_odd_of(v[i])});
	}
}
/* clang-format on */

void store_u(struct tensor *t, int64_t off, int n, const int64_t *v)
{
	if (dtype_is_int(t->dtype) || t->dtype == DT_BOOL) {
		store_i(t, off, n, v);
		return;
	}
	for (int i = 0; i < n; i++) {
		uint64_t u = (uint64_t)v[i];
		store_d(t, off + i, 1, &(double){t->dtype == DT_F64 ? (double)u : native_odd(u)});
	}
}

double tensor_get(const struct tensor *t, int64_t i)
{
	double d;
	load_d(t, i, 1, 1, &d);
	return d;
}

int64_t tensor_get_int(const struct tensor *t, int64_t i)
{
	int64_t v;
	load_i(t, i, 1, 1, &v);
	return v;
}

void tensor_set(struct tensor *t, int64_t i, double v)
{
	if (dtype_is_int(t->dtype))
		v = rint(v);
	store_d(t, i, 1, &v);
}

void tensor_random(struct tensor *t, struct rng *r, double lo, double hi)
{
	int64_t n = tensor_count(t);
	struct tensor parts = *t;

	if (t->dtype == DT_C64 || t->dtype == DT_C128) { /* real and imaginary parts */
		parts.dtype = t->dtype == DT_C64 ? DT_F32 : DT_F64;
		parts.rank = 1;
		parts.dims = &(int64_t){2 * n};
		tensor_random(&parts, r, lo, hi);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		if (dtype_is_float(t->dtype) || dtype_is_float8(t->dtype))
			tensor_set(t, i, lo <= hi ? lo + (hi - lo) * rng_unit(r) : rng_normal(r));
		else
			store_i(t, i, 1, &(int64_t){rng_range(r, (int64_t)lo, (int64_t)hi)});
	}
}
