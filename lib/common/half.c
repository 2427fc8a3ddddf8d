#include <math.h>
#include <string.h>
#include "common/half.h"

static uint32_t bits_of(float f)
{
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}

static float of_bits(uint32_t u)
{
	float f;
	memcpy(&f, &u, 4);
	return f;
}

float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
	if (exponent == 31) /* infinity, not a number */
		return of_bits(sign | 0x7f800000 | mantissa << 13);
	if (exponent == 0) { /* zero, subnormal */
		float f = (float)mantissa * 0x1p-24f;
		return of_bits(sign | bits_of(f));
	}
	return of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t float_to_half(float f)
{
	uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
	if (a > 0x7f800000) /* not a number: quiet, the payload's top bits stay */
		return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
	if (a >= 0x477ff000) /* 65520 and more round to infinity */
		return (uint16_t)(sign | 0x7c00);
	if (a < 0x38800000) { /* below 2^-14: units of 2^-24; adding 0.5 leaves them in the low bits */
		float g = of_bits(a) + 0.5f;
		return (uint16_t)(sign | (bits_of(g) - 0x3f000000));
	}
	a += 0xfff + (a >> 13 & 1); /* nearest, ties to even */
	return (uint16_t)(sign | ((a >> 13) - (112 << 10)));
}

float bf16_to_float(uint16_t h) { return of_bits((uint32_t)h << 16); }

uint16_t float_to_bf16(float f)
{
	uint32_t u = bits_of(f);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* d as a float whose last bit is set if it is not exact: what has at least two bits less is then rounded as d would be. */
static float float_to_odd(double d)
{
	float f = (float)d;
	uint32_t u = bits_of(f);
	if ((double)f == d || d != d)
		return f;
	u -= fabs((double)f) > fabs(d);
	return of_bits(u | 1);
}

uint16_t double_to_half(double d) { return float_to_half(float_to_odd(d)); }

uint16_t double_to_bf16(double d) { return float_to_bf16(float_to_odd(d)); }

double u64_to_odd(uint64_t u)
{
	int shift = u >> 53 ? 11 - __builtin_clzll(u) : 0;
	uint64_t low = u & ((UINT64_C(1) << shift) - 1);

	return (double)(low ? (u >> shift | 1) << shift : u);
}

double i64_to_odd(int64_t i) { return i < 0 ? -u64_to_odd(-(uint64_t)i) : u64_to_odd((uint64_t)i); }

static const struct {
	int mantissa, bias;
	double max;
	uint8_t highest, nan;   /* highest: max */
	bool infinity, one_nan; /* one_nan: 0x80 is it, and there is no -0 */
	uint8_t sign;
} f8s[] = {
	[F8E4M3FN] = {3, 7, 448, 0x7e, 0x7f, false, false, 0x80}, [F8E4M3FNUZ] = {3, 8, 240, 0x7f, 0x80, false, true, 0x80},
	[F8E5M2] = {2, 15, 57344, 0x7b, 0x7f, true, false, 0x80}, [F8E5M2FNUZ] = {2, 16, 57344, 0x7f, 0x80, false, true, 0x80},
	[F4E2M1] = {1, 1, 6, 0x7, 0x8, false, false, 0x8},        [F6E2M3] = {3, 1, 7.5, 0x1f, 0x20, false, false, 0x20},
	[F6E3M2] = {2, 3, 28, 0x1f, 0x20, false, false, 0x20},
};

float f8_to_float(enum f8 kind, uint8_t b)
{
	uint8_t minus = f8s[kind].sign;
	int m = f8s[kind].mantissa, exponent = (b & (minus - 1)) >> m, low = b & ((1 << m) - 1);
	float v;

	if (kind == F8E8M0)
		return b == 0xff ? NAN : ldexpf(1, b - 127);
	if (minus == 0x80 && (f8s[kind].one_nan ? b == 0x80 : (kind == F8E4M3FN ? (b & 0x7f) == 0x7f : (b & 0x7f) > 0x7c)))
		return of_bits((uint32_t)(b & 0x80) << 24 | 0x7fc00000);
	if (f8s[kind].infinity && (b & 0x7f) == 0x7c)
		return b & 0x80 ? -INFINITY : INFINITY;
	v = exponent ? ldexpf((float)(low + (1 << m)), exponent - f8s[kind].bias - m) : ldexpf((float)low, 1 - f8s[kind].bias - m);
	return b & minus ? -v : v;
}

uint8_t double_to_f8(enum f8 kind, double d, bool saturate)
{
	int m = f8s[kind].mantissa, least = 1 - f8s[kind].bias, exponent;
	uint8_t sign = signbit(d) ? f8s[kind].sign : 0, nan = sign | f8s[kind].nan;
	double a = fabs(d), q;

	if (kind == F8E8M0)
		return double_to_e8m0(d, saturate, 'u');
	if (d != d)
		return nan;
	saturate |= f8s[kind].sign != 0x80;
	frexp(fmin(a, 0x1p20), &exponent);
	exponent = a == 0 || exponent - 1 < least ? least : exponent - 1;
	q = rint(ldexp(fmin(a, 0x1p20), m - exponent)); /* in units of the last place */
	if (ldexp(q, exponent - m) > f8s[kind].max)
		return saturate ? sign | f8s[kind].highest : f8s[kind].infinity ? sign | 0x7c : nan;
	if (q == 0 && f8s[kind].one_nan)
		return 0;
	/* a carry out of the mantissa goes into the exponent by itself */
	return sign | (uint8_t)(((exponent - least) << m) + (int)q);
}

uint8_t double_to_e8m0(double d, bool saturate, char mode)
{
	enum { LEAST = -127, MOST = 127, BIAS = 127, NAN_CODE = 0xff };
	int exponent;
	double m = frexp(fabs(d), &exponent);

	if (d != d)
		return NAN_CODE;
	exponent += isinf(d) ? MOST + 2 : d == 0 ? LEAST - 2 : -1; /* |d| is m 2^(exponent + 1), m from 1/2 to 1 */
	if (isfinite(d) && (mode == 'u' ? m > 0.5 : mode == 'n' && m >= 0.75))
		exponent++;
	if (exponent < LEAST || exponent > MOST)
		return !saturate ? NAN_CODE : exponent < LEAST ? 0 : MOST + BIAS;
	return (uint8_t)(exponent + BIAS);
}
