/* Shapes as data, and tensors made from them: Shape, Size, ConstantOfShape, EyeLike, Range. */
#include "native/native.h"
#include "native/shapes.h"

NATIVE const char *native_Shape(struct native *n)
{
	int rank = n->in[0].rank;
	const struct native_attr *last = native_attr(n, "end");
	int64_t start = native_int(n, "start"), end = last ? last->i : rank, *y;

	start = start < 0 ? start + rank : start;
	end = end < 0 ? end + rank : end;
	start = start < 0 ? 0 : start > rank ? rank : start;
	end = end < start ? start : end > rank ? rank : end;
	if (!(y = n->room(n, 0, NATIVE_I64, 1, (int64_t[]){end - start})))
		return native_no_room(n);
	for (int64_t i = start; i < end; i++)
		*y++ = n->in[0].dims[i];
	return NULL;
}

NATIVE const char *native_Size(struct native *n)
{
	int64_t *y = n->room(n, 0, NATIVE_I64, 0, NULL);

	if (!y)
		return native_no_room(n);
	*y = native_count(&n->in[0]);
	return NULL;
}

/* Bytes that a result of that shape has; -1: more than can be. */
static int64_t shapes_bytes(int type, int64_t rank, const int64_t *dims)
{
	int64_t bytes = (int64_t)native_size(type);
	bool none = false, many = false;

	for (int64_t i = 0; i < rank; i++) {
		none |= !dims[i];
		many |= dims[i] < 0 || __builtin_mul_overflow(bytes, dims[i], &bytes);
	}
	return none ? 0 : many ? -1 : bytes;
}

NATIVE const char *native_ConstantOfShape(struct native *n)
{
	const struct native_attr *value = native_attr(n, "value");
	const struct native_tensor *v = value ? value->tensor : NULL;
	const int64_t *dims = NULL;
	int64_t rank = native_ints(n, 0, &dims), bytes;
	int type = v ? v->type : NATIVE_F32;
	size_t size = native_size(type);
	char *y;

	if (rank < 0 || rank > NATIVE_RANK_MAX || !size || (v && native_count(v) != 1))
		return "the rank is too large, or strings";
	for (int64_t i = 0; i < rank; i++)
		if (dims[i] < 0)
			return "a negative extent";
	if ((bytes = shapes_bytes(type, rank, dims)) < 0)
		return "more elements than can be";
	if (!(y = n->room(n, 0, type, (int)rank, dims)))
		return native_no_room(n);
	if (!v)
		memset(y, 0, (size_t)bytes);
	else if (size == 1)
		memset(y, *(const unsigned char *)v->data, (size_t)bytes);
	else
		for (int64_t i = 0; i < bytes; i += (int64_t)size)
			memcpy(y + i, v->data, size);
	return NULL;
}

NATIVE const char *native_EyeLike(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_attr *of = native_attr(n, "dtype");
	int64_t k = native_int(n, "k"), column;
	int type = of && of->i ? (int)of->i : x->type;
	char *y;

	if (x->rank != 2)
		return "takes a matrix";
	if (!native_is_number(type) && type != NATIVE_BOOL && type != NATIVE_U4 && type != NATIVE_I4)
		return native_no_type();
	if (!(y = n->room(n, 0, type, 2, x->dims)))
		return native_no_room(n);
	memset(y, 0, (size_t)native_count(x) * native_size(type));
	for (int64_t i = 0; i < x->dims[0]; i++)
		if (!__builtin_add_overflow(i, k, &column) && column >= 0 && column < x->dims[1])
			native_set(type, y, i * x->dims[1] + column, 1);
	return NULL;
}

/* ---- Range ---- */

/* The low bits of v as element i. */
static void shapes_put(int type, void *p, int64_t i, uint64_t v)
{
	switch (native_size(type)) {
	case 1: ((uint8_t *)p)[i] = (uint8_t)v; break;
	case 2: ((uint16_t *)p)[i] = (uint16_t)v; break;
	case 4: ((uint32_t *)p)[i] = (uint32_t)v; break;
	default: ((uint64_t *)p)[i] = v;
	}
}

NATIVE const char *native_Range(struct native *n)
{
	int type = n->in[0].type;
	bool real = native_is_float(type);
	double d[3], count;
	__int128 v[3];
	void *y;

	if (!native_is_number(type))
		return native_no_type();
	for (int i = 0; i < 3; i++) {
		if (native_count(&n->in[i]) < 1 || n->in[i].type != type)
			return "takes three numbers of one type";
		int64_t whole = native_get_int(type, n->in[i].data, 0);
		d[i] = native_get(type, n->in[i].data, 0);
		v[i] = type == NATIVE_U64 ? (__int128)(uint64_t)whole : whole;
	}
	if (real ? d[2] == 0 : v[2] == 0)
		return "the step is 0";
	count = real ? shapes_real(d) : shapes_count(v);
	if (!(count < SHAPES_RANGE_MAX))
		return "too many elements";
	int64_t many = count > 0 ? (int64_t)count : 0;
	if (!(y = n->room(n, 0, type, 1, &many)))
		return native_no_room(n);
	for (int64_t i = 0; i < many; i++)
		if (real)
			native_set(type, y, i, d[0] + (double)i * d[2]);
		else
			shapes_put(type, y, i, (uint64_t)v[0] + (uint64_t)i * (uint64_t)v[2]);
	return NULL;
}
