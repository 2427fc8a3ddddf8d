/* Elements of arrays: between NumPy's files and tensors. */
#include <stdlib.h>
#include <string.h>
#include "common/shown.h"
#include "common/utf8.h"
#include "op/npy_elements.h"
#include "op/strings.h"

enum { UCS4 = 4 };

/* ---- types ---- */

static struct npy_type number_type(enum dtype t)
{
	bool number = t == DT_F16 || t == DT_F32 || t == DT_F64 || t == DT_C64 || t == DT_C128 || t == DT_BOOL ||
		      (dtype_is_int(t) && dtype_bits(t) >= 8);
	char kind = dtype_is_float(t) ? 'f' : t == DT_C64 || t == DT_C128 ? 'c' : t == DT_BOOL ? 'b' : dtype_is_signed(t) ? 'i' : 'u';

	return (struct npy_type){number ? kind : 0, dtype_size(t), false};
}

struct npy_type npy_type_parse(const char *text, size_t n)
{
	struct npy_type t = {0}, none = {0};
	char *end;
	unsigned long size = n > 1 ? strtoul(text + 1, &end, 10) : 0;

	if (n < 2 || end != text + n || size > UINT32_MAX / UCS4)
		return none;
	t = (struct npy_type){text[0], text[0] == 'U' ? UCS4 * size : size, false};
	if (t.kind == 'f' && t.size == 1) /* so ml_dtypes calls its f8e5m2 */
		t.kind = 'V';
	return npy_dtype(t) ? t : none;
}

enum dtype npy_dtype(struct npy_type t)
{
	if (t.kind == 'U' || t.kind == 'S')
		return DT_STR;
	if (t.kind == 'V')
		return t.size == 1 ? DT_U8 : t.size == 2 ? DT_U16 : DT_NONE;
	for (enum dtype d = DT_NONE + 1; d < DT_COUNT; d++)
		if (number_type(d).kind == t.kind && number_type(d).size == t.size)
			return d;
	return DT_NONE;
}

enum dtype npy_written_as(enum dtype t)
{
	if (dtype_is_int(t) && dtype_bits(t) < 8)
		return dtype_is_signed(t) ? DT_I8 : DT_U8;
	return dtype_fixed(t) && !number_type(t).kind ? DT_F32 : t;
}

/* ---- strings ---- */

/* The characters of one element, without the zeros behind them; NULL: one is no character. */
static char *from_ucs4(const unsigned char *p, struct npy_type t, struct arena *a, size_t *n)
{
	size_t count = t.size / UCS4, bytes = 0;
	static const unsigned char zero[UCS4];

	while (count && !memcmp(p + UCS4 * (count - 1), zero, UCS4))
		count--;
	char *s = arena_alloc(a, UTF8_MAX * count);
	for (size_t i = 0; i < count; i++, p += UCS4) {
		uint32_t c = t.swap ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
				    : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
		int k = utf8_encode(c, s + bytes);
		if (!k)
			return NULL;
		bytes += (size_t)k;
	}
	*n = bytes;
	return s;
}

static struct tensor *decode_strings(struct npy_type t, int rank, const int64_t *dims, const unsigned char *p, struct arena *a,
				     const char **why)
{
	struct tensor shape = {.rank = rank, .dims = (int64_t *)dims};
	int64_t count = tensor_count(&shape);
	struct text *v = ARENA_ARRAY(a, struct text, count + 1);

	for (int64_t i = 0; i < count; i++, p += t.size) {
		v[i] = (struct text){(const char *)p, t.size};
		if (t.kind == 'U')
			v[i].s = from_ucs4(p, t, a, &v[i].n);
		for (; t.kind == 'S' && v[i].n && !v[i].s[v[i].n - 1]; v[i].n--)
			;
		if (!v[i].s) {
			*why = "a string has what is no character";
			return NULL;
		}
	}
	return texts_tensor(a, rank, dims, v);
}

/* Strings of UTF-8 are written as characters, others as bytes. Zeros at the end would be lost. */
static struct npy_type string_type(const struct tensor *t, const char **why)
{
	struct arena a = {0};
	struct text *v = texts_of(&a, t);
	size_t most = 1, longest = 1;
	bool text = true;

	for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
		int64_t k = utf8_count(v[i].s, v[i].n);
		text &= k >= 0;
		longest = k > (int64_t)longest ? (size_t)k : longest;
		most = v[i].n > most ? v[i].n : most;
		if (v[i].n && !v[i].s[v[i].n - 1])
			*why = "a string ends in a zero, which NumPy's files do not keep";
	}
	arena_release(&a);
	return *why ? (struct npy_type){0} : text ? (struct npy_type){'U', UCS4 * longest, false} : (struct npy_type){'S', most, false};
}

static void encode_strings(const struct tensor *t, struct npy_type as, unsigned char *to)
{
	struct arena a = {0};
	struct text *v = texts_of(&a, t);

	memset(to, 0, (size_t)tensor_count(t) * as.size);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++, to += as.size) {
		const char *s = v[i].s, *end = s + v[i].n;
		if (as.kind == 'S')
			memcpy(to, s, v[i].n);
		for (size_t at = 0; as.kind == 'U' && s < end; at += UCS4) {
			int k = utf8_length(s, (size_t)(end - s));
			uint32_t c = utf8_decode(s, k);
			for (int b = 0; b < UCS4; b++)
				to[at + (size_t)b] = (unsigned char)(c >> 8 * b);
			s += k;
		}
	}
	arena_release(&a);
}

/* ---- all elements ---- */

static void swap_bytes(unsigned char *p, size_t n, size_t size)
{
	for (; n >= size; n -= size, p += size)
		for (size_t i = 0; i < size / 2; i++) {
			unsigned char c = p[i];
			p[i] = p[size - 1 - i];
			p[size - 1 - i] = c;
		}
}

struct tensor *npy_decode(struct npy_type t, int rank, const int64_t *dims, const void *p, struct arena *a, const char **why)
{
	if (npy_dtype(t) == DT_STR)
		return decode_strings(t, rank, dims, p, a, why);
	struct tensor *x = tensor_new(a, npy_dtype(t), rank, dims);
	memcpy(tensor_bytes(x), p, x->nbytes);
	if (t.swap)
		swap_bytes((unsigned char *)tensor_bytes(x), x->nbytes, t.kind == 'c' ? t.size / 2 : t.size);
	if (t.kind == 'V')
		x->kind = KIND_OTHER;
	return x;
}

struct npy_type npy_type_of(const struct tensor *t, const char **why)
{
	*why = NULL;
	if (t->dtype == DT_STR)
		return string_type(t, why);
	if (t->kind != KIND_TENSOR)
		*why = "not a tensor";
	return *why ? (struct npy_type){0} : number_type(npy_written_as(t->dtype));
}

void npy_encode(const struct tensor *t, struct npy_type as, unsigned char *to)
{
	if (t->dtype == DT_STR)
		encode_strings(t, as, to);
	else if (npy_written_as(t->dtype) == DT_F32 && t->dtype != DT_F32)
		for (int64_t i = 0, n = tensor_count(t); i < n; i++)
			memcpy(to + 4 * i, &(float){(float)tensor_get(t, i)}, 4);
	else
		memcpy(to, t->data, (size_t)tensor_count(t) * as.size);
}

/* ---- the type that is wanted ---- */

/* The bytes are elements of this type, as ml_dtypes keeps them: of small integers only the low bits count. */
static struct tensor *take_bits(struct tensor *x, enum dtype want, struct arena *a)
{
	struct tensor *y = tensor_copy(a, x);
	int bits = dtype_is_int(want) ? dtype_bits(want) : 8;

	if (dtype_size(want) != dtype_size(x->dtype) || npy_written_as(want) == want)
		return NULL;
	y->kind = KIND_TENSOR;
	y->dtype = want;
	for (int64_t i = 0, n = bits < 8 ? tensor_count(x) : 0; i < n; i++) {
		unsigned v = ((const uint8_t *)x->data)[i] & ((1u << bits) - 1);
		bool negative = dtype_is_signed(want) && v >> (bits - 1);
		((uint8_t *)tensor_bytes(y))[i] = (uint8_t)(negative ? v | ~0u << bits : v);
	}
	return y;
}

struct tensor *npy_take(struct tensor *x, enum dtype want, struct arena *a, const char **why)
{
	*why = NULL;
	if (x->kind == KIND_OTHER)
		return want ? take_bits(x, want, a) : NULL;
	if (x->dtype == want || !want)
		return x;
	if (npy_written_as(want) != x->dtype)
		return NULL;
	struct tensor *y = tensor_new(a, want, x->rank, x->dims);
	for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
		double v = tensor_get(x, i);
		tensor_set(y, i, v);
		if (dtype_is_int(want) && tensor_get(y, i) != v)
			*why = arena_printf(a, "%g is no number of type %s", v, dtype_name(want));
	}
	return *why ? NULL : y;
}
