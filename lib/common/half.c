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
