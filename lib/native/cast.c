/* Cast, CastLike, BitCast between numbers and bool. */
#include "native/casting.h"
#include "native/native.h"

enum { CAST_BLOCK = 256 };

/* f(NATIVE_ type, C type) of types whose elements convert by a plain C cast. */
#define CAST_INTEGERS(f) \
	f(U8, uint8_t) f(I8, int8_t) f(U16, uint16_t) f(I16, int16_t) f(U32, uint32_t) f(I32, int32_t) f(U64, uint64_t) f(I64, int64_t)
#define CAST_FLOATS(f) f(F32, float) f(F64, double)

static void cast_load(int type, const void *p, int64_t at, int64_t count, double *v)
{
	switch (type) {
#define CAST_LOAD(id, T) \
	case NATIVE_##id: \
		for (int64_t i = 0; i < count; i++) \
			v[i] = (double)((const T *)p)[at + i]; \
		return;
		CAST_INTEGERS(CAST_LOAD)
		CAST_FLOATS(CAST_LOAD)
#undef CAST_LOAD
	default:
		for (int64_t i = 0; i < count; i++)
			v[i] = native_get(type, p, at + i);
	}
}

static void cast_load_ints(int type, const void *p, int64_t at, int64_t count, int64_t *v)
{
	switch (type) {
#define CAST_LOAD(id, T) \
	case NATIVE_##id: \
		for (int64_t i = 0; i < count; i++) \
			v[i] = (int64_t)((const T *)p)[at + i]; \
		return;
		CAST_INTEGERS(CAST_LOAD)
#undef CAST_LOAD
	default:
		for (int64_t i = 0; i < count; i++)
			v[i] = native_get_int(type, p, at + i);
	}
}

static void cast_store_ints(int type, void *p, int64_t at, int64_t count, const int64_t *v)
{
	switch (type) {
#define CAST_STORE(id, T) \
	case NATIVE_##id: \
		for (int64_t i = 0; i < count; i++) \
			((T *)p)[at + i] = (T)v[i]; \
		return;
		CAST_INTEGERS(CAST_STORE)
		CAST_FLOATS(CAST_STORE)
#undef CAST_STORE
	default:
		for (int64_t i = 0; i < count; i++)
			native_set_int(type, p, at + i, v[i]);
	}
}

/* The bits of u64. */
static void cast_store_unsigned(int type, void *p, int64_t at, int64_t count, const int64_t *v)
{
	for (int64_t i = 0; i < count; i++) {
		uint64_t u = (uint64_t)v[i];
		switch (type) {
		case NATIVE_F32: ((float *)p)[at + i] = (float)u; break;
		case NATIVE_F64: ((double *)p)[at + i] = (double)u; break;
		default: native_set(type, p, at + i, native_odd(u)); break;
		}
	}
}

static void cast_numbers(const struct cast_to *c, void *y, const struct native_tensor *x)
{
	bool whole = cast_is_whole(x->type) && (!c->special || cast_is_whole(c->type));
	int64_t count = native_count(x), w[CAST_BLOCK];
	double v[CAST_BLOCK];

	for (int64_t at = 0; at < count; at += CAST_BLOCK) {
		int64_t k = count - at < CAST_BLOCK ? count - at : CAST_BLOCK;
		if (whole) {
			cast_load_ints(x->type, x->data, at, k, w);
			(x->type == NATIVE_U64 && !cast_is_whole(c->type) ? cast_store_unsigned : cast_store_ints)(c->type, y, at, k, w);
			continue;
		}
		cast_load(x->type, x->data, at, k, v);
		if (c->special)
			cast_store_special(c, y, at, k, v);
		else
			native_store(c->type, y, at, k, v);
	}
}

static bool cast_has(int type)
{
	return native_is_number(type) || native_is_small(type) || type == NATIVE_BOOL || type == NATIVE_U4 || type == NATIVE_I4 ||
	       type == NATIVE_U2 || type == NATIVE_I2;
}

static const char *cast_run(struct native *n, int type)
{
	const struct native_tensor *x = &n->in[0];
	const struct cast_to c = cast_to(type, native_int(n, "saturate") != 0, native_str(n, "round_mode")[0]);
	void *y;

	if (!cast_has(type) || !cast_has(x->type))
		return native_no_type();
	if (!(y = n->room(n, 0, type, x->rank, x->dims)))
		return native_no_room(n);
	if (type == x->type)
		memcpy(y, x->data, (size_t)native_count(x) * native_size(type));
	else
		cast_numbers(&c, y, x);
	return NULL;
}

NATIVE const char *native_Cast(struct native *n) { return cast_run(n, (int)native_int(n, "to")); }
NATIVE const char *native_CastLike(struct native *n) { return cast_run(n, n->in[1].type); }

/* The bits as they are; of a type of fewer than 8 the low ones of the byte. */
NATIVE const char *native_BitCast(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int type = (int)native_int(n, "to"), bits = native_is_small(type) ? native_small_bits(type) : native_bits(type);
	int64_t count = native_count(x);
	uint8_t *y;

	if (!native_size(x->type) || native_size(type) != native_size(x->type))
		return "the types are not of one size";
	if (!(y = n->room(n, 0, type, x->rank, x->dims)))
		return native_no_room(n);
	memcpy(y, x->data, (size_t)count * native_size(type));
	for (int64_t i = 0; i < count && bits < 8 && type != NATIVE_BOOL; i++)
		if (native_is_small(type))
			y[i] &= (uint8_t)((1u << bits) - 1);
		else
			native_set_int(type, y, i, y[i]);
	return NULL;
}
