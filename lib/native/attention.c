/* Attention: for each query, scores of the keys that it may see, their softmax, and the sum of the values by it. Keys and values are
 * those of the past, then those of the call. */
#include "native/native.h"

struct attention {
	int64_t batch, heads, groups, queries, keys, past, size, vsize; /* groups: heads of K and V; keys: those of the past too */
	bool flat;                                                      /* operands of rank 3: heads lie side by side */
	bool causal;
	int64_t left, right; /* -1: no bound */
	double scale, softcap;
	int mode, precision; /* precision: the type of the softmax, NATIVE_NONE: that of the sums */
	const struct native_tensor *q, *k, *v, *mask, *past_k, *past_v, *nonpad;
	const struct native_tensor *k_scale, *v_scale; /* of keys and values that are codes; NULL: they are numbers */
	int64_t mask_stride[3], mask_keys;             /* of batch, head, query; extent along keys */
	void *y, *qk;                                  /* qk NULL: not wanted */
	int type;
};

/* Keys and values are numbers, codes of 8 bits (i8), or codes of 4 bits from -8 on, two in a byte (u8), the first of them low. */
static bool attention_are_codes(const struct native_tensor *t) { return t->type == NATIVE_I8 || t->type == NATIVE_U8; }

static int64_t attention_in_byte(int type) { return type == NATIVE_U8 ? 2 : 1; }

/* Bytes that n numbers of a tensor of this type take. */
static int64_t attention_bytes_of(int type, int64_t n) { return n * (int64_t)native_size(type) / attention_in_byte(type); }

static bool attention_dims_are(const struct native_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
	return t->rank == 4 && t->dims[0] == a && t->dims[1] == b && t->dims[2] == c && t->dims[3] == d;
}

/* Heads, length and size of an operand; its size is that of numbers. */
static const char *attention_extents(struct native *n, int i, int64_t heads, int64_t *nheads, int64_t *length, int64_t *size)
{
	const struct native_tensor *t = &n->in[i];

	if (t->rank == 4) {
		*nheads = t->dims[1];
		*length = t->dims[2];
		*size = t->dims[3] * attention_in_byte(t->type);
		return NULL;
	}
	if (t->rank != 3)
		return native_why(n, "operand %d has rank %d, takes 3 or 4", i, t->rank);
	if (heads < 1 || t->dims[2] % heads)
		return native_why(n, "operand %d has %lld numbers a token for %lld heads", i, (long long)t->dims[2], (long long)heads);
	*nheads = heads;
	*length = t->dims[1];
	*size = t->dims[2] / heads;
	return NULL;
}

static const char *attention_past(struct native *n, struct attention *a)
{
	bool k = native_has(n, 4), v = native_has(n, 5);

	if (k != v)
		return "past_key and past_value come together";
	a->nonpad = native_has(n, 6) ? &n->in[6] : NULL;
	if (a->nonpad && k)
		return "nonpad_kv_seqlen does not go with past keys";
	if (a->nonpad && (a->nonpad->type != NATIVE_I64 || a->nonpad->rank != 1 || a->nonpad->dims[0] != a->batch))
		return "nonpad_kv_seqlen is not an i64 for each of the batch";
	for (int64_t b = 0; a->nonpad && b < a->batch; b++) {
		int64_t valid = ((const int64_t *)a->nonpad->data)[b];
		if (valid < 0 || valid > a->keys)
			return native_why(n, "nonpad_kv_seqlen is %lld of %lld keys", (long long)valid, (long long)a->keys);
	}
	if (!k)
		return NULL;
	a->past_k = &n->in[4];
	a->past_v = &n->in[5];
	a->past = a->past_k->rank == 4 ? a->past_k->dims[2] : 0;
	if (!attention_dims_are(a->past_k, a->batch, a->groups, a->past, a->size) ||
	    !attention_dims_are(a->past_v, a->batch, a->groups, a->past, a->vsize) || a->past_k->type != a->k->type ||
	    a->past_v->type != a->v->type)
		return "past keys or values do not fit";
	a->keys += a->past;
	return NULL;
}

/* The scales of operand `codes` are f32 and broadcast to it. *scale NULL: it is numbers. */
static const char *attention_codes(struct native *n, int codes, int scales, const struct native_tensor **scale)
{
	const struct native_tensor *t = &n->in[codes], *s = native_has(n, scales) ? &n->in[scales] : NULL;

	*scale = s;
	if (attention_are_codes(t) != (s != NULL))
		return native_why(n, "operand %d %s", codes, s ? "has scales and is no i8 or u8" : "is codes without scales");
	if (!s)
		return NULL;
	if (s->type != NATIVE_F32 || s->rank > t->rank || t->rank != 4 || native_has(n, 4) || (s->first && (s->first != 3 || s->rank != 4)))
		return native_why(n, "operand %d is no scales of caches", scales);
	for (int i = 0; i < s->rank; i++)
		if (s->dims[i] != 1 && s->dims[i] != t->dims[4 - s->rank + i] * (i == s->rank - 1 ? attention_in_byte(t->type) : 1))
			return native_why(n, "operand %d does not broadcast to operand %d", scales, codes);
	return NULL;
}

static const char *attention_mask(struct native *n, struct attention *a)
{
	const struct native_tensor *t = &n->in[3];
	int64_t extent[3] = {a->batch, a->heads, a->queries}, step;

	if (!native_has(n, 3))
		return NULL;
	if (t->rank < 1 || t->rank > 4 || !native_size(t->type))
		return native_why(n, "a mask of rank %d", t->rank);
	a->mask = t;
	a->mask_keys = step = t->dims[t->rank - 1];
	for (int i = 2; i >= 0; i--) {
		int axis = t->rank - 4 + i;
		int64_t d = axis >= 0 ? t->dims[axis] : 1;
		if (d != 1 && d != extent[i])
			return native_why(n, "a mask of extent %lld at axis %d, takes %lld", (long long)d, axis, (long long)extent[i]);
		a->mask_stride[i] = d == 1 ? 0 : step;
		step *= d;
	}
	if (a->mask_keys > a->keys)
		return native_why(n, "a mask of %lld keys for %lld", (long long)a->mask_keys, (long long)a->keys);
	return NULL;
}

static const char *attention_read(struct native *n, struct attention *a)
{
	int64_t k, groups, vlength, size;
	const char *why;

	if (n->nin < 3 || !native_is_float(n->in[0].type))
		return native_no_type();
	for (int i = 1; i < 3; i++)
		if (!native_is_float(n->in[i].type) && !attention_are_codes(&n->in[i]))
			return native_no_type();
	*a = (struct attention){.q = &n->in[0], .k = &n->in[1], .v = &n->in[2], .type = n->in[0].type};
	if ((why = attention_codes(n, 1, 7, &a->k_scale)) || (why = attention_codes(n, 2, 8, &a->v_scale)))
		return why;
	a->flat = a->q->rank == 3;
	if ((why = attention_extents(n, 0, native_int(n, "q_num_heads"), &a->heads, &a->queries, &a->size)) ||
	    (why = attention_extents(n, 1, native_int(n, "kv_num_heads"), &a->groups, &k, &size)) ||
	    (why = attention_extents(n, 2, native_int(n, "kv_num_heads"), &groups, &vlength, &a->vsize)))
		return why;
	if ((a->k->first && (a->k->first != 3 || a->flat)) || (a->v->first && (a->v->first != 3 || a->flat)))
		return "keys or values lie in an order that it does not take";
	a->batch = a->q->dims[0];
	a->keys = k;
	if (a->k->rank != a->q->rank || a->v->rank != a->q->rank || a->k->dims[0] != a->batch || a->v->dims[0] != a->batch ||
	    vlength != k || groups != a->groups || size != a->size || !a->groups || a->heads % a->groups)
		return "queries, keys and values do not fit each other";
	if ((why = attention_past(n, a)) || (why = attention_mask(n, a)))
		return why;
	a->causal = native_int(n, "is_causal") == 1;
	a->left = native_int(n, "left_window_size");
	a->right = native_int(n, "right_window_size");
	a->softcap = native_float(n, "softcap");
	a->mode = (int)native_int(n, "qk_matmul_output_mode");
	a->scale = native_attr(n, "scale") ? native_float(n, "scale") : 1 / sqrt((double)a->size);
	return NULL;
}

/* The softmax is computed in the type of the sums unless a narrower one is asked for. */
static const char *attention_precision(struct native *n, struct attention *a)
{
	int64_t p = native_int(n, "softmax_precision");

	if (p != 0 && p != 1 && p != 10 && p != 11 && p != 16)
		return native_why(n, "softmax_precision is %lld; takes 1, 10, 11, 16", (long long)p);
	a->precision = p == 10 ? NATIVE_F16 : p == 16 ? NATIVE_BF16 : p == 1 && a->type == NATIVE_F64 ? NATIVE_F32 : NATIVE_NONE;
	return NULL;
}

/* Keys that query l of batch b may see: from *lo on, to before *hi. */
static void attention_range(const struct attention *a, int64_t b, int64_t l, int64_t *lo, int64_t *hi)
{
	int64_t valid = a->nonpad ? ((const int64_t *)a->nonpad->data)[b] : a->keys, at;

	at = l + (a->nonpad ? valid - a->queries : a->past);
	*lo = a->left >= 0 && at > a->left ? at - a->left : 0;
	*hi = valid;
	if (a->causal && at + 1 < *hi)
		*hi = at + 1;
	if (a->right >= 0 && a->right < a->keys && at + a->right + 1 < *hi)
		*hi = at + a->right + 1;
	*lo = *lo > a->keys ? a->keys : *lo;
	*hi = *hi < *lo ? *lo : *hi;
}

/* What is added to the score of key s; -infinity: it is not seen. */
static double attention_bias(const struct attention *a, int64_t row, int64_t s)
{
	double v;

	if (!a->mask)
		return 0;
	if (s >= a->mask_keys)
		return -INFINITY;
	v = native_get(a->mask->type, a->mask->data, row + s);
	return a->mask->type == NATIVE_BOOL ? (v != 0 ? 0 : -INFINITY) : v;
}

/* Where row 0 of head g of batch b is, of keys or values t, in numbers; *stride: from one row to the next. */
static int64_t attention_at(const struct attention *a, const struct native_tensor *t, int64_t b, int64_t g, int64_t size, int64_t *stride)
{
	int64_t fresh = a->keys - a->past;

	if (t->first || a->flat) {
		*stride = (t->first ? a->batch : 1) * a->groups * size;
		return (b * (t->first ? 1 : fresh) * a->groups + g) * size;
	}
	*stride = size;
	return (b * a->groups + g) * fresh * size;
}

/* Copies past and new rows behind one another: the present. */
static const char *attention_present(struct native *n, const struct attention *a, int result, const struct native_tensor *past,
				     const struct native_tensor *now, int64_t size)
{
	int64_t dims[4] = {a->batch, a->groups, a->keys, size / attention_in_byte(now->type)}, fresh = a->keys - a->past, at, stride;
	size_t row = (size_t)attention_bytes_of(now->type, size);
	char *to;

	if (!native_wants(n, result))
		return NULL;
	if (!(to = n->room(n, result, now->type, 4, dims)))
		return native_no_room(n);
	for (int64_t b = 0; b < a->batch; b++)
		for (int64_t g = 0; g < a->groups; g++) {
			if (a->past)
				memcpy(to, (const char *)past->data + (size_t)((b * a->groups + g) * a->past) * row, (size_t)a->past * row);
			to += (size_t)a->past * row;
			at = attention_at(a, now, b, g, size, &stride);
			for (int64_t s = 0; s < fresh; s++, to += row)
				memcpy(to, (const char *)now->data + attention_bytes_of(now->type, at + s * stride), row);
		}
	return NULL;
}

/* Keys of batch b that are looked at: all, or those before the first that none sees. */
static int64_t attention_used(const struct attention *a, int64_t b)
{
	return a->nonpad && (!a->qk || a->mode == 3) ? ((const int64_t *)a->nonpad->data)[b] : a->keys;
}

/* ---- vectors ---- */

enum {
	ATTENTION_QUERIES = 4,     /* whose sums registers hold, with .. */
	ATTENTION_KEYS = 2,        /* as many keys */
	ATTENTION_ACROSS = 4,      /* keys at once, of rows that fill vectors */
	ATTENTION_PARTS = 4,       /* registers of numbers of a value, whose sums registers hold */
	ATTENTION_AHEAD = 16,      /* keys, until memory has answered */
	ATTENTION_LINE = 64,       /* bytes that memory is asked for at once */
	ATTENTION_BLOCK = 64,      /* keys that stay in the nearest cache for all rows of a tile */
	ATTENTION_ROWS = 16,       /* in a tile: their scores stay in a cache */
	ATTENTION_ALONE = 1 << 14, /* products of scores that are not worth other threads */
};

/* As many of n queries as registers hold. */
static int attention_few(int n) { return n < ATTENTION_QUERIES ? n : ATTENTION_QUERIES; }

typedef float attention_float_vec __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef double attention_double_vec __attribute__((vector_size(32), aligned(sizeof(double)), may_alias));
typedef int32_t attention_ints __attribute__((vector_size(32)));
typedef uint32_t attention_words __attribute__((vector_size(32)));
typedef float attention_floats __attribute__((vector_size(32)));
typedef int32_t attention_float_bits __attribute__((vector_size(32)));
typedef int64_t attention_double_bits __attribute__((vector_size(32)));
enum { attention_float_lanes = 8, attention_double_lanes = 4 };
#if __BIGGEST_ALIGNMENT__ >= 64
#define ATTENTION_WIDE /* a register holds two of these vectors */
typedef float attention_float_wide __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
typedef double attention_double_wide __attribute__((vector_size(64), aligned(sizeof(double)), may_alias));
typedef attention_float_wide attention_float_full;
typedef attention_double_wide attention_double_full;
#else
typedef attention_float_vec attention_float_full;
typedef attention_double_vec attention_double_full;
#endif

/* A float of 16 bits. */
static inline float attention_half(uint16_t h)
{
	uint32_t bits = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
	float v;

	if ((h & 0x7c00) == 0 || (h & 0x7c00) == 0x7c00)
		return (float)native_get(NATIVE_F16, &h, 0);
	bits += (uint32_t)(127 - 15) << 23 | sign;
	memcpy(&v, &bits, sizeof v);
	return v;
}

typedef int16_t attention_shorts __attribute__((vector_size(16), aligned(sizeof(uint16_t)), may_alias));

/* As many of n bf16 as whole vectors hold. */
static int64_t attention_brains(const uint16_t *from, int64_t n, float *to)
{
	int64_t k = 0;

	for (; k + attention_float_lanes <= n; k += attention_float_lanes)
		*(attention_float_vec *)(to + k) =
			(attention_float_vec)(__builtin_convertvector(*(const attention_shorts *)(from + k), attention_ints) << 16);
	return k;
}

#ifdef NATIVE_EIGHT_HALVES
/* As many of n floats of 16 bits as whole vectors hold. */
static int64_t attention_halves(const uint16_t *half, int64_t n, float *to)
{
	int64_t k = 0;

	for (; k + attention_float_lanes <= n; k += attention_float_lanes)
		*(attention_float_vec *)(to + k) = NATIVE_EIGHT_HALVES(half + k);
	return k;
}
#else
/* As many of n floats of 16 bits as whole vectors hold; none, where one is no finite number. */
static int64_t attention_halves(const uint16_t *half, int64_t n, float *to)
{
	const int32_t keeps = (int32_t)0x8fffe000, exponent = 0x0f800000, fraction = 0x007fe000, bias = (127 - 15) << 23, one = 113 << 23;
	attention_ints endless = {0};
	int64_t k = 0;

	for (; k + attention_float_lanes <= n; k += attention_float_lanes) {
		attention_ints x = __builtin_convertvector(*(const attention_shorts *)(half + k), attention_ints) << 13 & keeps;
		attention_ints e = x & exponent, small = e == 0;
		attention_ints s = (attention_ints)((attention_floats)((x & fraction) | one) - 0x1p-14f) | (x & INT32_MIN);
		endless |= e == exponent;
		*(attention_float_vec *)(to + k) = (attention_float_vec)((s & small) | ((x + bias) & ~small));
	}
	for (int i = 0; i < attention_float_lanes; i++)
		k = endless[i] ? 0 : k;
	return k;
}
#endif

#ifdef NATIVE_EIGHT_CODES
#define ATTENTION_CODES(p) NATIVE_EIGHT_CODES(p)
#else
#define ATTENTION_CODES(p) __builtin_convertvector(*(const attention_bytes *)(p), attention_ints)
#endif
typedef int8_t attention_bytes __attribute__((vector_size(8), aligned(sizeof(int8_t)), may_alias));

/* As many of n codes of 8 bits as whole vectors hold. */
static int64_t attention_eights(const int8_t *from, int64_t n, float *to)
{
	int64_t k = 0;

	for (; k + attention_float_lanes <= n; k += attention_float_lanes)
		*(attention_float_vec *)(to + k) = __builtin_convertvector((attention_ints)ATTENTION_CODES(from + k), attention_float_vec);
	return k;
}

/* As many of n codes of 4 bits as whole vectors hold. */
static int64_t attention_pairs(const uint8_t *from, int64_t n, float *to)
{
	const attention_words shift = {0, 4, 8, 12, 16, 20, 24, 28};
	int64_t k = 0;

	for (; k + attention_float_lanes <= n; k += attention_float_lanes) {
		const uint8_t *p = from + k / 2;
		uint32_t eight = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
		attention_words x = (attention_words){0} + eight;
		*(attention_float_vec *)(to + k) = __builtin_convertvector((attention_ints)(x >> shift & 15) - 8, attention_float_vec);
	}
	return k;
}

/* Number i of p. */
static double attention_number(int type, const void *p, int64_t i)
{
	return type == NATIVE_U8 ? (((const uint8_t *)p)[i / 2] >> (i % 2 ? 4 : 0) & 15) - 8 : native_get(type, p, i);
}

/* Numbers [i, i + n) of p; codes of 4 bits begin at a whole byte. */
static void attention_float_widen(int type, const void *p, int64_t i, int64_t n, float *to)
{
	const uint16_t *half = (const uint16_t *)p + i;
	int64_t k = type == NATIVE_F16    ? attention_halves(half, n, to)
		    : type == NATIVE_BF16 ? attention_brains(half, n, to)
		    : type == NATIVE_I8   ? attention_eights((const int8_t *)p + i, n, to)
		    : type == NATIVE_U8   ? attention_pairs((const uint8_t *)p + i / 2, n, to)
					  : 0;

	switch (type) {
	case NATIVE_F32: memcpy(to, (const float *)p + i, sizeof *to * (size_t)n); return;
	case NATIVE_F16:
		for (; k < n; k++)
			to[k] = attention_half(half[k]);
		return;
	case NATIVE_BF16:
		for (; k < n; k++) {
			uint32_t bits = (uint32_t)half[k] << 16;
			memcpy(to + k, &bits, sizeof *to);
		}
		return;
	default:
		for (; k < n; k++)
			to[k] = (float)attention_number(type, p, i + k);
	}
}

static void attention_double_widen(int type, const void *p, int64_t i, int64_t n, double *to)
{
	for (int64_t k = 0; k < n; k++)
		to[k] = attention_number(type, p, i + k);
}

/* The sums of each of four vectors. */
static inline void attention_float_sums(const attention_float_vec *a, const attention_float_vec *b, const attention_float_vec *c,
					const attention_float_vec *d, float *out)
{
	typedef float quad __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
	attention_float_vec x =
		__builtin_shufflevector(*a, *b, 0, 8, 1, 9, 4, 12, 5, 13) + __builtin_shufflevector(*a, *b, 2, 10, 3, 11, 6, 14, 7, 15);
	attention_float_vec y =
		__builtin_shufflevector(*c, *d, 0, 8, 1, 9, 4, 12, 5, 13) + __builtin_shufflevector(*c, *d, 2, 10, 3, 11, 6, 14, 7, 15);
	attention_float_vec z =
		__builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13) + __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);

	*(quad *)out = __builtin_shufflevector(z, z, 0, 1, 2, 3) + __builtin_shufflevector(z, z, 4, 5, 6, 7);
}

static inline void attention_double_sums(const attention_double_vec *a, const attention_double_vec *b, const attention_double_vec *c,
					 const attention_double_vec *d, double *out)
{
	attention_double_vec x = __builtin_shufflevector(*a, *b, 0, 4, 2, 6) + __builtin_shufflevector(*a, *b, 1, 5, 3, 7);
	attention_double_vec y = __builtin_shufflevector(*c, *d, 0, 4, 2, 6) + __builtin_shufflevector(*c, *d, 1, 5, 3, 7);

	*(attention_double_vec *)out = __builtin_shufflevector(x, y, 0, 1, 4, 5) + __builtin_shufflevector(x, y, 2, 3, 6, 7);
}

/* The sum of p[0], p[step], .. in the order in which the lanes of a vector are summed above. */
static inline void attention_float_in_order(const attention_float_vec *p, int step, attention_float_vec *sum)
{
	*sum = ((p[0] + p[2 * step]) + (p[step] + p[3 * step])) + ((p[4 * step] + p[6 * step]) + (p[5 * step] + p[7 * step]));
}

static inline void attention_double_in_order(const attention_double_vec *p, int step, attention_double_vec *sum)
{
	*sum = (p[0] + p[step]) + (p[2 * step] + p[3 * step]);
}

/* Element j of each of the four goes to to[j][s], to[j][s + 1], .. */
static inline void attention_float_fours(const attention_float_vec *a, const attention_float_vec *b, const attention_float_vec *c,
					 const attention_float_vec *d, float *const *to, int64_t s)
{
	typedef float quad __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
	attention_float_vec v = __builtin_shufflevector(*a, *b, 0, 8, 1, 9, 4, 12, 5, 13),
			    w = __builtin_shufflevector(*a, *b, 2, 10, 3, 11, 6, 14, 7, 15);
	attention_float_vec x = __builtin_shufflevector(*c, *d, 0, 8, 1, 9, 4, 12, 5, 13),
			    y = __builtin_shufflevector(*c, *d, 2, 10, 3, 11, 6, 14, 7, 15);
	attention_float_vec both[4] = {
		__builtin_shufflevector(v, x, 0, 1, 8, 9, 4, 5, 12, 13), __builtin_shufflevector(v, x, 2, 3, 10, 11, 6, 7, 14, 15),
		__builtin_shufflevector(w, y, 0, 1, 8, 9, 4, 5, 12, 13), __builtin_shufflevector(w, y, 2, 3, 10, 11, 6, 7, 14, 15)};

	for (int j = 0; j < 4; j++) {
		*(quad *)(to[j] + s) = __builtin_shufflevector(both[j], both[j], 0, 1, 2, 3);
		*(quad *)(to[j + 4] + s) = __builtin_shufflevector(both[j], both[j], 4, 5, 6, 7);
	}
}

static inline void attention_double_fours(const attention_double_vec *a, const attention_double_vec *b, const attention_double_vec *c,
					  const attention_double_vec *d, double *const *to, int64_t s)
{
	for (int j = 0; j < attention_double_lanes; j++) {
		to[j][s] = (*a)[j];
		to[j][s + 1] = (*b)[j];
		to[j][s + 2] = (*c)[j];
		to[j][s + 3] = (*d)[j];
	}
}

/* e to the power of x, which is at most 0, or no number: 2^k times Cephes' polynomial of what is left. */
static inline void attention_powers(attention_floats *x)
{
	const float to_int = 0x1.8p23f, least = -87.3f;
	const int32_t bits = 0x4b400000 - 127; /* of to_int, less the bias of exponents */
	attention_floats v = *x, k, r, p;

	k = v * 0x1.715476p0f + to_int;
	r = v - (k - to_int) * 0.693359375f + (k - to_int) * 2.12194440e-4f;
	p = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r + 1.6666665459e-1f) * r +
	    5.0000001201e-1f;
	p = (p * r * r + r + 1) * (attention_floats)(((attention_ints)k - bits) << 23);
	*x = (attention_floats)((attention_ints)p & ~(attention_ints)(v < least));
}

/* Kernels' tanh (lib/loop/math.c), of any x. */
static inline void attention_tanhs(attention_floats *x)
{
	const float to_int = 0x1.8p23f + 127;
	const attention_ints sign = (attention_ints)*x & INT32_MIN;
	attention_floats t = (attention_floats)((attention_ints)*x & INT32_MAX), ten = (attention_floats){0} + 10, k, n, h, z, s, p;
	attention_ints far = t > 10;

	t = (attention_floats)(((attention_ints)ten & far) | ((attention_ints)t & ~far));
	k = t * 0x1.715476p1f + to_int;
	n = k - to_int;
	h = (t - n * 0x1.62e4p-2f) - n * 7.14303385e-7f;
	z = h * h;
	s = (attention_floats)((attention_ints)k << 23);
	p = h * z * ((-0.0527175888f * z + 0.133311465f) * z - 0.333333224f) + h;
	p = (p * (s + 1) + (s - 1)) / (p * (s - 1) + (s + 1));
	*x = (attention_floats)((attention_ints)p | sign);
}

/* x[i] becomes e to the power of x[i] - most; the sum of all. Zeros at the end change nothing. */
static float attention_float_exps(float *x, int64_t n, float most)
{
	attention_floats sum = {0}, rest = {0};
	float all = 0;
	int64_t i = 0;

	for (; i + attention_float_lanes <= n; i += attention_float_lanes) {
		attention_floats p = *(const attention_float_vec *)(x + i) - most;
		attention_powers(&p);
		*(attention_float_vec *)(x + i) = p;
		sum += p;
	}
	if (i < n) {
		size_t bytes = sizeof *x * (size_t)(n - i);
		memcpy(&rest, x + i, bytes);
		rest -= most;
		attention_powers(&rest);
		memcpy(x + i, &rest, bytes);
		rest = (attention_floats){0};
		memcpy(&rest, x + i, bytes);
		sum += rest;
	}
	for (int k = 0; k < attention_float_lanes; k++)
		all += sum[k];
	return all;
}

/* x[i] becomes cap tanh(x[i] / cap). */
static void attention_float_caps(float *x, int64_t n, float cap)
{
	attention_floats v, rest = {0};
	int64_t i = 0;

	for (; i + attention_float_lanes <= n; i += attention_float_lanes) {
		v = *(const attention_float_vec *)(x + i) / cap;
		attention_tanhs(&v);
		*(attention_float_vec *)(x + i) = v * cap;
	}
	memcpy(&rest, x + i, sizeof *x * (size_t)(n - i));
	rest /= cap;
	attention_tanhs(&rest);
	rest *= cap;
	memcpy(x + i, &rest, sizeof *x * (size_t)(n - i));
}

static double attention_double_exps(double *x, int64_t n, double most)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += x[i] = exp(x[i] - most);
	return sum;
}

static void attention_double_caps(double *x, int64_t n, double cap)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = cap * tanh(x[i] / cap);
}

#define ATTENTION_REAL float
#define ATTENTION_TYPE NATIVE_F32
#define ATTENTION(x)   attention_float_##x
#include "native/attention_real.h"
#undef ATTENTION_REAL
#undef ATTENTION_TYPE
#undef ATTENTION
#define ATTENTION_REAL double
#define ATTENTION_TYPE NATIVE_F64
#define ATTENTION(x)   attention_double_##x
#include "native/attention_real.h"
#undef ATTENTION_REAL
#undef ATTENTION_TYPE
#undef ATTENTION

NATIVE const char *native_Attention(struct native *n)
{
	struct attention a;
	const char *why = attention_read(n, &a);
	int64_t dims[4];

	if (why || (why = attention_precision(n, &a)) || (why = attention_present(n, &a, 1, a.past_k, a.k, a.size)) ||
	    (why = attention_present(n, &a, 2, a.past_v, a.v, a.vsize)))
		return why;
	dims[0] = a.batch;
	dims[1] = a.flat ? a.queries : a.heads;
	dims[2] = a.flat ? a.heads * a.vsize : a.queries;
	dims[3] = a.vsize;
	if (!(a.y = n->room(n, 0, a.type, a.flat ? 3 : 4, dims)))
		return native_no_room(n);
	dims[0] = a.batch, dims[1] = a.heads, dims[2] = a.queries, dims[3] = a.keys;
	if (native_wants(n, 3) && !(a.qk = n->room(n, 3, a.type, 4, dims)))
		return native_no_room(n);
	if (!a.batch || !a.heads)
		return NULL;
	return a.type == NATIVE_F64 ? attention_double_run(n, &a) : attention_float_run(n, &a);
}
