/* Operators that have no stages: each a function in plain C that the evaluator calls, and that compiled models carry along as text and
 * call too. What such a file has at file scope begins with the file's name and _, but for the functions native_OPERATOR; it includes
 * standard headers, this one and headers of this folder. It trusts neither indices nor shapes nor attributes. */
#ifndef HONE_NATIVE_H
#define HONE_NATIVE_H
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef NATIVE /* how a function native_OPERATOR is declared */
#define NATIVE
#endif

/* Where the target has an instruction for it (lib/target): NATIVE_EIGHT_HALVES(p), 8 floats of 16 bits at p, which is aligned as one of them,
 * as a vector of float; NATIVE_EIGHT_CODES(p), 8 bytes at p, with their signs, as a vector of int32_t. */

/* The numbers of enum dtype. Elements of fewer than 8 bits have a byte each; of a bool every byte but 0 is true. */
enum native_type {
	NATIVE_NONE,
	NATIVE_F32,
	NATIVE_U8,
	NATIVE_I8,
	NATIVE_U16,
	NATIVE_I16,
	NATIVE_I32,
	NATIVE_I64,
	NATIVE_STR,
	NATIVE_BOOL,
	NATIVE_F16,
	NATIVE_F64,
	NATIVE_U32,
	NATIVE_U64,
	NATIVE_C64,
	NATIVE_C128,
	NATIVE_BF16,
	NATIVE_F8E4M3FN,
	NATIVE_F8E4M3FNUZ,
	NATIVE_F8E5M2,
	NATIVE_F8E5M2FNUZ,
	NATIVE_U4,
	NATIVE_I4,
	NATIVE_F4E2M1,
	NATIVE_F8E8M0,
	NATIVE_U2,
	NATIVE_I2,
	NATIVE_F6E2M3,
	NATIVE_F6E3M2,
};

enum { NATIVE_RANK_MAX = 64 };

/* Types of lists: their rank is 1, dims[0] says how many they hold, an optional one or none. */
enum { NATIVE_SEQUENCE = -1, NATIVE_OPTIONAL = -2 };
enum { NATIVE_WHOLE = -1 }; /* in place of the number of an element: the value itself */

/* An element of a tensor of strings: as struct hone_text and the evaluator's struct text. */
struct native_string {
	const char *s; /* any bytes; not ended by a NUL; where n is 0 it may be NULL */
	size_t n;
} __attribute__((may_alias));

/* Row-major, or one axis before the others; data is aligned as its elements are. */
struct native_tensor {
	int type; /* NATIVE_NONE: the operand is not there, or the result is not wanted */
	int rank;
	/* None is negative. The bytes of all can be counted in an int64_t, but where one is 0 a product of others may not fit. */
	const int64_t *dims;
	void *data; /* not written to, in operands */
	int first;  /* 1 + the axis that comes first in memory, of operands that the function takes so; 0: row-major */
	bool fixed; /* a constant: the same bytes in each run of the step */
};

struct native_attr {
	const char *name;
	bool given; /* false: it is the default */
	int n;      /* elements of a list, bytes of a string, else 1 */
	int64_t i;
	double f;
	const char *s;
	const int64_t *ints;
	const float *floats;
	const char *const *strs;
	const struct native_tensor *tensor;
};

/* One call. */
struct native {
	const struct native_tensor *in;
	int nin;
	struct native_tensor *out; /* what room makes of them */
	int nout;
	const struct native_attr *attr; /* those that are given or have a default */
	int nattr;
	const char *demand; /* of a caller that has not looked at sizes yet: what the operands must be, in its words; NULL: they are */
	uint64_t step;      /* a number of the step's own: of the name of its first result */
	/* Storage for result i, not cleared; for one that is not wanted, too. NULL: there is none, and `why` says so. */
	void *(*room)(struct native *, int i, int type, int rank, const int64_t *dims);
	/* Storage for result i of strings (NATIVE_STR), and behind its elements so many bytes for their characters. Elements may also point into
	 * strings of operands. */
	struct native_string *(*texts)(struct native *, int i, int rank, const int64_t *dims, size_t bytes);
	/* Result i is operand 0 in another shape of as many elements: its bytes, shared or copied. NULL, or why not. */
	const char *(*share)(struct native *, int i, int rank, const int64_t *dims);
	/* Memory that this step finds again in its next run, as it left it; zeros at first, always of the same size. The evaluator forgets it. NULL:
	 * there is none. */
	void *(*memo)(struct native *, size_t bytes);
	/* Memory until the step is done, aligned to 64 bytes, not cleared; NULL: there is none. */
	void *(*scratch)(struct native *, size_t bytes);
	/* Of lists, where there are any; data of one is the caller's own. Element k of operand i. */
	struct native_tensor (*item)(struct native *, int i, int64_t k);
	/* Result i becomes a list of that type, of n elements, each to be put or made. NULL, or why not. */
	const char *(*list)(struct native *, int i, int type, int64_t n);
	/* Element k of result i, or the whole, is element l of operand j, or the whole. NULL, or why not. */
	const char *(*put)(struct native *, int i, int64_t k, int j, int64_t l);
	/* Storage for elements of list i, as many as have a shape here, one behind the other from element 0 on, not cleared. NULL: there is
	 * none, and `why` says so. */
	void *(*make)(struct native *, int i, int type, int rank, int64_t n, const int64_t *dims);
	/* Of functions whose result 0 may lie where operand 0 does: called before they change bytes there. NULL, or why not. The member may be
	 * NULL: nobody wants to know. */
	const char *(*change)(struct native *, void *at, size_t bytes);
	/* Calls work for parts of [0, n), each once, on several threads at once; thread is below `threads`. NULL: there is one thread. */
	void (*share_out)(struct native *, void (*work)(void *args, long begin, long end, int thread), void *args, long n);
	int threads;
	void *ctx;     /* the caller's */
	char why[240]; /* native_why writes here */
};

/* A function native_OPERATOR: NULL, or why not, in one line. */
typedef const char *native_function(struct native *);

static inline const char *native_why(struct native *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline const char *native_why(struct native *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(n->why, sizeof n->why, fmt, ap);
	va_end(ap);
	return n->why;
}

/* What to return where room or scratch gave NULL. */
static inline const char *native_no_room(const struct native *n) { return *n->why ? n->why : "no memory"; }
/* What to return for types that the operator is not made for here. */
static inline const char *native_no_type(void) { return "no evaluator for these types"; }

/* ---- operands and attributes ---- */

static inline bool native_has(const struct native *n, int i) { return i < n->nin && n->in[i].type != NATIVE_NONE; }
static inline bool native_wants(const struct native *n, int i) { return i < n->nout && n->out[i].type != NATIVE_NONE; }

static inline int64_t native_count_of(int rank, const int64_t *dims)
{
	int64_t c = 1;

	for (int i = 0; i < rank; i++)
		c *= dims[i];
	return c;
}

static inline int64_t native_count(const struct native_tensor *t) { return native_count_of(t->rank, t->dims); }

static inline const struct native_attr *native_attr(const struct native *n, const char *name)
{
	for (int i = 0; i < n->nattr; i++)
		if (!strcmp(n->attr[i].name, name))
			return &n->attr[i];
	return NULL;
}

/* 0, 0 and "" without it. */
static inline int64_t native_int(const struct native *n, const char *name) { return native_attr(n, name) ? native_attr(n, name)->i : 0; }
static inline double native_float(const struct native *n, const char *name) { return native_attr(n, name) ? native_attr(n, name)->f : 0; }
static inline const char *native_str(const struct native *n, const char *name)
{
	const struct native_attr *a = native_attr(n, name);

	return a && a->s ? a->s : "";
}

/* Element i of a list; a default of one element stands for as many as are wanted. */
static inline int64_t native_int_at(const struct native *n, const char *name, int i)
{
	const struct native_attr *a = native_attr(n, name);

	return !a || !a->n || !a->ints || (a->given && i >= a->n) ? 0 : a->ints[i < a->n ? i : a->n - 1];
}

static inline bool native_is_int(int type);

/* An integer operand of one element; def without it. */
static inline int64_t native_get_int(int type, const void *p, int64_t i);
static inline int64_t native_number(const struct native *n, int i, int64_t def)
{
	return native_has(n, i) && native_count(&n->in[i]) > 0 ? native_get_int(n->in[i].type, n->in[i].data, 0) : def;
}

/* The integers of operand i: how many, -1 if it is not there, is of another type, or there is no memory. */
static inline int64_t native_ints(struct native *n, int i, const int64_t **v)
{
	const struct native_tensor *t = &n->in[i];
	int64_t count, *copy;

	if (!native_has(n, i) || (t->type != NATIVE_BOOL && !native_is_int(t->type)))
		return -1;
	count = native_count(t);
	*v = t->data;
	if (t->type == NATIVE_I64 || t->type == NATIVE_U64)
		return count;
	*v = copy = (int64_t *)n->scratch(n, (size_t)count * sizeof *copy);
	for (int64_t k = 0; copy && k < count; k++)
		copy[k] = native_get_int(t->type, t->data, k);
	return copy ? count : -1;
}

/* The same of a number of any type. */
static inline double native_get(int type, const void *p, int64_t i);
static inline double native_real(const struct native *n, int i, double def)
{
	return native_has(n, i) && native_count(&n->in[i]) > 0 ? native_get(n->in[i].type, n->in[i].data, 0) : def;
}

static inline bool native_is_list(int type) { return type == NATIVE_SEQUENCE || type == NATIVE_OPTIONAL; }

/* An axis in [-rank, rank) made nonnegative; -1: it is not there. */
static inline int native_axis(int64_t axis, int rank) { return axis < -rank || axis >= rank ? -1 : (int)(axis < 0 ? axis + rank : axis); }

/* ---- elements ---- */

static inline size_t native_size(int type)
{
	static const unsigned char size[] = {0, 4, 1, 1, 2, 2, 4, 8, sizeof(struct native_string), 1, 2, 8, 4, 8, 8, 16, 2, 1, 1, 1, 1,
					     1, 1, 1, 1, 1, 1, 1, 1};

	return type >= 0 && (size_t)type < sizeof size ? size[type] : 0;
}

static inline bool native_is_float(int type)
{
	return type == NATIVE_F32 || type == NATIVE_F64 || type == NATIVE_F16 || type == NATIVE_BF16;
}

static inline bool native_is_int(int type)
{
	return (type >= NATIVE_U8 && type <= NATIVE_I64) || type == NATIVE_U32 || type == NATIVE_U64 || type == NATIVE_U4 ||
	       type == NATIVE_I4 || type == NATIVE_U2 || type == NATIVE_I2;
}

/* Floats and integers. */
static inline bool native_is_number(int type)
{
	return native_is_float(type) || (type >= NATIVE_U8 && type <= NATIVE_I64) || type == NATIVE_U32 || type == NATIVE_U64;
}

/* Bits of a float of that many bits of exponent and mantissa, which has infinities, as a number. */
static inline double native_widen(uint32_t b, int ebits, int mbits)
{
	uint32_t sign = b >> (ebits + mbits) & 1, e = b >> mbits & ((1u << ebits) - 1), m = b & ((1u << mbits) - 1);
	double v;

	if (e == (1u << ebits) - 1)
		return m ? NAN : sign ? -INFINITY : INFINITY;
	v = ldexp((double)(e ? m | 1u << mbits : m), (e ? (int)e : 1) - ((1 << (ebits - 1)) - 1) - mbits);
	return sign ? -v : v;
}

/* The bits of d in such a float that has infinities, rounded to even. */
static inline uint32_t native_narrow(double d, int ebits, int mbits)
{
	uint64_t u, all, rest, half;
	int bias = (1 << (ebits - 1)) - 1, x, shift = 52 - mbits;
	uint32_t sign, infinity = ((1u << ebits) - 1) << mbits, v;

	memcpy(&u, &d, sizeof u);
	sign = (uint32_t)(u >> 63) << (ebits + mbits);
	u &= INT64_MAX;
	if (u > 0x7ffull << 52)
		return sign | infinity | 1u << (mbits - 1);
	x = (int)(u >> 52) - 1023;
	if (x > bias)
		return sign | infinity;
	if (x < 1 - bias) {
		shift += 1 - bias - x;
		all = (u & ((1ull << 52) - 1)) | 1ull << 52;
		if (shift > 60)
			return sign;
	} else {
		all = (uint64_t)(x + bias) << 52 | (u & ((1ull << 52) - 1));
	}
	rest = all & ((1ull << shift) - 1);
	half = 1ull << (shift - 1);
	v = (uint32_t)(all >> shift);
	return sign | (v + (rest > half || (rest == half && v & 1)));
}

/* Floats of 8 bits and fewer, a byte each. Some have no infinities, some one NaN and no -0; those of 4 and 6 bits have neither, and NaN
 * becomes -0; f8e8m0 is powers of two and NaN. */
struct native_small {
	int mantissa, bias;
	double max;
	uint8_t highest, nan;   /* highest: max */
	bool infinity, one_nan; /* one_nan: 0x80 is it, and there is no -0 */
	uint8_t sign;
};

static inline struct native_small native_small(int type)
{
	switch (type) {
	case NATIVE_F8E4M3FN: return (struct native_small){3, 7, 448, 0x7e, 0x7f, false, false, 0x80};
	case NATIVE_F8E4M3FNUZ: return (struct native_small){3, 8, 240, 0x7f, 0x80, false, true, 0x80};
	case NATIVE_F8E5M2: return (struct native_small){2, 15, 57344, 0x7b, 0x7f, true, false, 0x80};
	case NATIVE_F8E5M2FNUZ: return (struct native_small){2, 16, 57344, 0x7f, 0x80, false, true, 0x80};
	case NATIVE_F4E2M1: return (struct native_small){1, 1, 6, 0x7, 0x8, false, false, 0x8};
	case NATIVE_F6E2M3: return (struct native_small){3, 1, 7.5, 0x1f, 0x20, false, false, 0x20};
	default: return (struct native_small){2, 3, 28, 0x1f, 0x20, false, false, 0x20};
	}
}

static inline bool native_is_small(int type)
{
	return (type >= NATIVE_F8E4M3FN && type <= NATIVE_F8E5M2FNUZ) || type == NATIVE_F4E2M1 || type == NATIVE_F8E8M0 ||
	       type == NATIVE_F6E2M3 || type == NATIVE_F6E3M2;
}

static inline int native_small_bits(int type) { return type == NATIVE_F4E2M1 ? 4 : type == NATIVE_F6E2M3 || type == NATIVE_F6E3M2 ? 6 : 8; }

static inline double native_get_small(int type, uint8_t b)
{
	const struct native_small k = native_small(type);
	int exponent = (b & (k.sign - 1)) >> k.mantissa, low = b & ((1 << k.mantissa) - 1);
	uint8_t size = b & 0x7f;
	double v;

	if (type == NATIVE_F8E8M0)
		return b == 0xff ? NAN : ldexp(1, b - 127);
	if (k.sign == 0x80 && (k.one_nan ? b == 0x80 : k.infinity ? size > 0x7c : size == 0x7f))
		return b & 0x80 ? -NAN : NAN;
	if (k.infinity && size == 0x7c)
		return b & 0x80 ? -INFINITY : INFINITY;
	v = exponent ? ldexp(low + (1 << k.mantissa), exponent - k.bias - k.mantissa) : ldexp(low, 1 - k.bias - k.mantissa);
	return b & k.sign ? -v : v;
}

/* |d| as a power of two: round 'u' away from 0, 'd' towards 0, 'n' to the nearest, of two the larger. Too large or too small: the last
 * one there is (saturate), else NaN. */
static inline uint8_t native_power(double d, bool saturate, char round)
{
	enum { LEAST = -127, MOST = 127, BIAS = 127, NAN_CODE = 0xff };
	int exponent;
	double m = frexp(fabs(d), &exponent);

	if (d != d)
		return NAN_CODE;
	exponent += isinf(d) ? MOST + 2 : d == 0 ? LEAST - 2 : -1; /* |d| is m 2^(exponent + 1), m from 1/2 to 1 */
	if (isfinite(d) && (round == 'u' ? m > 0.5 : round == 'n' && m >= 0.75))
		exponent++;
	if (exponent < LEAST || exponent > MOST)
		return !saturate ? NAN_CODE : exponent < LEAST ? 0 : MOST + BIAS;
	return (uint8_t)(exponent + BIAS);
}

/* To the nearest, of two the even one; f8e8m0 away from 0. What is too large, and an infinity, is the largest number (saturate), else an
 * infinity or NaN, by what the type has. */
static inline uint8_t native_put_small(int type, double d, bool saturate)
{
	const struct native_small k = native_small(type);
	int least = 1 - k.bias, exponent;
	uint8_t sign = signbit(d) ? k.sign : 0, nan = sign | k.nan;
	double a = fmin(fabs(d), 0x1p20), q;

	if (type == NATIVE_F8E8M0)
		return native_power(d, saturate, 'u');
	if (d != d)
		return nan;
	saturate |= k.sign != 0x80;
	frexp(a, &exponent);
	exponent = a == 0 || exponent - 1 < least ? least : exponent - 1;
	q = rint(ldexp(a, k.mantissa - exponent)); /* in units of the last place */
	if (ldexp(q, exponent - k.mantissa) > k.max)
		return saturate ? sign | k.highest : k.infinity ? sign | 0x7c : nan;
	if (q == 0 && k.one_nan)
		return 0;
	/* a carry out of the mantissa goes into the exponent by itself */
	return sign | (uint8_t)(((exponent - least) << k.mantissa) + (int)q);
}

/* Element i as a double. */
static inline double native_get(int type, const void *p, int64_t i)
{
	switch (type) {
	case NATIVE_F32: return ((const float *)p)[i];
	case NATIVE_F64: return ((const double *)p)[i];
	case NATIVE_F16: return native_widen(((const uint16_t *)p)[i], 5, 10);
	case NATIVE_BF16: return native_widen(((const uint16_t *)p)[i], 8, 7);
	case NATIVE_U2:
	case NATIVE_U4:
	case NATIVE_U8: return ((const uint8_t *)p)[i];
	case NATIVE_I2:
	case NATIVE_I4:
	case NATIVE_I8: return ((const int8_t *)p)[i];
	case NATIVE_BOOL: return ((const uint8_t *)p)[i] != 0;
	case NATIVE_U16: return ((const uint16_t *)p)[i];
	case NATIVE_I16: return ((const int16_t *)p)[i];
	case NATIVE_U32: return ((const uint32_t *)p)[i];
	case NATIVE_I32: return ((const int32_t *)p)[i];
	case NATIVE_U64: return (double)((const uint64_t *)p)[i];
	case NATIVE_I64: return (double)((const int64_t *)p)[i];
	default: return native_is_small(type) ? native_get_small(type, ((const uint8_t *)p)[i]) : 0;
	}
}

/* v cut off to a whole number from least to most; NaN: 0. */
static inline int64_t native_whole(double v, int64_t least, int64_t most)
{
	return v != v ? 0 : v <= (double)least ? least : v >= (double)most ? most : (int64_t)v;
}

/* The least and the most that an integer type or bool has; u64: the bits. */
static inline int native_bits(int type)
{
	return type == NATIVE_BOOL                      ? 1
	       : type == NATIVE_U4 || type == NATIVE_I4 ? 4
	       : type == NATIVE_U2 || type == NATIVE_I2 ? 2
							: 8 * (int)native_size(type);
}
static inline bool native_is_signed(int type)
{
	return type == NATIVE_I8 || type == NATIVE_I16 || type == NATIVE_I32 || type == NATIVE_I64 || type == NATIVE_I4 ||
	       type == NATIVE_I2;
}
static inline int64_t native_least(int type) { return native_is_signed(type) ? INT64_MIN >> (64 - native_bits(type)) : 0; }
static inline int64_t native_most(int type)
{
	return native_is_signed(type) ? INT64_MAX >> (64 - native_bits(type)) : (int64_t)(UINT64_MAX >> (64 - native_bits(type)));
}

/* Writes element i, of a float, an integer or bool: floats rounded to even, integers cut off, and the nearest that there is. */
static inline void native_set(int type, void *p, int64_t i, double v)
{
	switch (type) {
	case NATIVE_F32: ((float *)p)[i] = (float)v; break;
	case NATIVE_F64: ((double *)p)[i] = v; break;
	case NATIVE_F16: ((uint16_t *)p)[i] = (uint16_t)native_narrow(v, 5, 10); break;
	case NATIVE_BF16: ((uint16_t *)p)[i] = (uint16_t)native_narrow(v, 8, 7); break;
	case NATIVE_U8: ((uint8_t *)p)[i] = (uint8_t)native_whole(v, 0, UINT8_MAX); break;
	case NATIVE_I8: ((int8_t *)p)[i] = (int8_t)native_whole(v, INT8_MIN, INT8_MAX); break;
	case NATIVE_BOOL: ((uint8_t *)p)[i] = v != 0; break;
	case NATIVE_U16: ((uint16_t *)p)[i] = (uint16_t)native_whole(v, 0, UINT16_MAX); break;
	case NATIVE_I16: ((int16_t *)p)[i] = (int16_t)native_whole(v, INT16_MIN, INT16_MAX); break;
	case NATIVE_U32: ((uint32_t *)p)[i] = (uint32_t)native_whole(v, 0, UINT32_MAX); break;
	case NATIVE_I32: ((int32_t *)p)[i] = (int32_t)native_whole(v, INT32_MIN, INT32_MAX); break;
	case NATIVE_U64: ((uint64_t *)p)[i] = v != v || v <= 0 ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v; break;
	case NATIVE_I64: ((int64_t *)p)[i] = native_whole(v, INT64_MIN, INT64_MAX); break;
	case NATIVE_U2:
	case NATIVE_U4:
	case NATIVE_I2:
	case NATIVE_I4: ((uint8_t *)p)[i] = (uint8_t)native_whole(v, native_least(type), native_most(type)); break;
	default:
		if (native_is_small(type))
			((uint8_t *)p)[i] = native_put_small(type, v, true);
	}
}

/* Element i of an integer type or bool, to the last bit; u64 from 2^63 on is negative. */
static inline int64_t native_get_int(int type, const void *p, int64_t i)
{
	switch (type) {
	case NATIVE_U2:
	case NATIVE_U4:
	case NATIVE_U8: return ((const uint8_t *)p)[i];
	case NATIVE_I2:
	case NATIVE_I4:
	case NATIVE_I8: return ((const int8_t *)p)[i];
	case NATIVE_BOOL: return ((const uint8_t *)p)[i] != 0;
	case NATIVE_U16: return ((const uint16_t *)p)[i];
	case NATIVE_I16: return ((const int16_t *)p)[i];
	case NATIVE_U32: return ((const uint32_t *)p)[i];
	case NATIVE_I32: return ((const int32_t *)p)[i];
	case NATIVE_U64:
	case NATIVE_I64: return ((const int64_t *)p)[i];
	default: return 0;
	}
}

/* A whole number that is larger exactly where the double is; NaN is larger than any number, both zeros are equal. */
static inline int64_t native_order_of(double d)
{
	int64_t bits;

	d += 0.0;
	memcpy(&bits, &d, sizeof bits);
	return d != d ? INT64_MAX : bits < 0 ? INT64_MIN - bits : bits;
}

/* The same of element i, of any type but complex numbers and strings. */
static inline int64_t native_order(int type, const void *p, int64_t i)
{
	if (native_is_int(type) || type == NATIVE_BOOL)
		return native_get_int(type, p, i) ^ (type == NATIVE_U64 ? INT64_MIN : 0);
	return native_order_of(native_get(type, p, i));
}

/* u, or of its two neighbours among doubles the one whose last bit is odd: what has two bits less is then rounded as u would be. */
static inline double native_odd(uint64_t u)
{
	int shift = u >> 53 ? 11 - __builtin_clzll(u) : 0;
	uint64_t low = u & ((UINT64_C(1) << shift) - 1);

	return (double)(low ? (u >> shift | 1) << shift : u);
}

static inline double native_odd_of(int64_t v) { return v < 0 ? -native_odd(-(uint64_t)v) : native_odd((uint64_t)v); }

/* Writes element i: of an integer type the low bits of v, of bool whether it is not 0, of a float the nearest. */
static inline void native_set_int(int type, void *p, int64_t i, int64_t v)
{
	int unused = 64 - native_bits(type);

	switch (type) {
	case NATIVE_U8:
	case NATIVE_I8: ((uint8_t *)p)[i] = (uint8_t)v; break;
	case NATIVE_U2:
	case NATIVE_U4: ((uint8_t *)p)[i] = (uint8_t)((uint64_t)v << unused >> unused); break;
	case NATIVE_I2:
	case NATIVE_I4: ((int8_t *)p)[i] = (int8_t)((int64_t)((uint64_t)v << unused) >> unused); break;
	case NATIVE_BOOL: ((uint8_t *)p)[i] = v != 0; break;
	case NATIVE_U16:
	case NATIVE_I16: ((uint16_t *)p)[i] = (uint16_t)v; break;
	case NATIVE_U32:
	case NATIVE_I32: ((uint32_t *)p)[i] = (uint32_t)v; break;
	case NATIVE_U64:
	case NATIVE_I64: ((int64_t *)p)[i] = v; break;
	case NATIVE_F32: ((float *)p)[i] = (float)v; break;
	case NATIVE_F64: ((double *)p)[i] = (double)v; break;
	default: native_set(type, p, i, native_odd_of(v)); break;
	}
}

/* The elements as f32 or as f64: those of t itself if it has that type, else in scratch. NULL: there is no memory. */
static inline const float *native_floats(struct native *n, const struct native_tensor *t)
{
	int64_t count = native_count(t);
	float *v = t->type == NATIVE_F32 ? (float *)t->data : (float *)n->scratch(n, (size_t)count * sizeof *v);

	for (int64_t i = 0; v && i < count && t->type != NATIVE_F32; i++)
		v[i] = (float)native_get(t->type, t->data, i);
	return v;
}

static inline const double *native_doubles(struct native *n, const struct native_tensor *t)
{
	int64_t count = native_count(t);
	double *v = t->type == NATIVE_F64 ? (double *)t->data : (double *)n->scratch(n, (size_t)count * sizeof *v);

	for (int64_t i = 0; v && i < count && t->type != NATIVE_F64; i++)
		v[i] = native_get(t->type, t->data, i);
	return v;
}

/* n doubles from element i on, and n elements of them. */
static inline void native_load(int type, const void *p, int64_t i, int64_t n, double *v)
{
	if (type == NATIVE_F32)
		for (int64_t k = 0; k < n; k++)
			v[k] = ((const float *)p)[i + k];
	else
		for (int64_t k = 0; k < n; k++)
			v[k] = native_get(type, p, i + k);
}

static inline void native_store(int type, void *p, int64_t i, int64_t n, const double *v)
{
	if (type == NATIVE_F32)
		for (int64_t k = 0; k < n; k++)
			((float *)p)[i + k] = (float)v[k];
	else
		for (int64_t k = 0; k < n; k++)
			native_set(type, p, i + k, v[k]);
}
#endif
