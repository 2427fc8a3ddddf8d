#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "quant/exact.h"

static void add_shifted(struct exact *s, uint64_t mantissa, int shift, bool negative)
{
	unsigned __int128 wide = (unsigned __int128)mantissa << (shift & 63);
	int at = shift >> 6;
	uint64_t part[2] = {(uint64_t)wide, (uint64_t)(wide >> 64)}, carry = 0;

	for (int i = at; i < EXACT_LIMBS && (i < at + 2 || carry); i++) {
		uint64_t p = i < at + 2 ? part[i - at] : 0, old = s->limb[i];
		if (negative) {
			s->limb[i] = old - p - carry;
			carry = old < p || old - p < carry;
		} else {
			s->limb[i] = old + p + carry;
			carry = s->limb[i] < p || (carry && s->limb[i] == p);
		}
	}
}

/* A float is mantissa * 2^(place of its exponent). */
static uint32_t exponent_of(uint32_t bits) { return bits >> 23 & 255; }
static uint32_t mantissa_of(uint32_t bits) { return (bits & 0x7fffff) | (uint32_t)(exponent_of(bits) > 0) << 23; }
static int place(uint32_t exponent) { return exponent ? (int)exponent - 1 : 0; }

void exact_add(struct exact *s, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	add_shifted(s, mantissa_of(bits), place(exponent_of(bits)), bits >> 31);
}

/* A sum for each exponent: of mantissas of 24 bits there is room for 2^39. */
static void add_by_exponent(struct exact *s, const float *x, int64_t n, int64_t stride)
{
	enum { NOT_FINITE = 255 };
	int64_t sum[NOT_FINITE + 1] = {0};

	for (int64_t i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, &x[i * stride], sizeof bits);
		int32_t sign = -(int32_t)(bits >> 31);
		sum[exponent_of(bits)] += ((int32_t)mantissa_of(bits) ^ sign) - sign;
	}
	for (uint32_t e = 0; e < NOT_FINITE; e++)
		if (sum[e])
			add_shifted(s, sum[e] < 0 ? -(uint64_t)sum[e] : (uint64_t)sum[e], place(e), sum[e] < 0);
}

void exact_add_all(struct exact *s, const float *x, int64_t n, int64_t stride)
{
	enum { FEW = 32 }; /* elements that are not worth a table */
	const int64_t most = (int64_t)1 << 38;

	for (int64_t i = 0; n >= FEW && i < n; i += most)
		add_by_exponent(s, x + i * stride, n - i < most ? n - i : most, stride);
	for (int64_t i = 0; n < FEW && i < n; i++)
		if (isfinite(x[i * stride]))
			exact_add(s, x[i * stride]);
}

static bool exact_negative(const struct exact *s) { return s->limb[EXACT_LIMBS - 1] >> 63; }

double exact_value(const struct exact *s)
{
	bool negative = exact_negative(s);
	uint64_t borrow = negative;
	double v = 0;

	for (int i = 0; i < EXACT_LIMBS; i++) {
		uint64_t limb = negative ? ~s->limb[i] + borrow : s->limb[i];
		borrow = borrow && !limb;
		v += ldexp((double)limb, 64 * i + EXACT_UNIT);
	}
	return negative ? -v : v;
}

void exact_merge(struct exact *s, const struct exact *from)
{
	unsigned __int128 carry = 0;

	for (int i = 0; i < EXACT_LIMBS; i++) {
		carry += (unsigned __int128)s->limb[i] + from->limb[i];
		s->limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
}
