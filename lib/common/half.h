/* Numbers of 16 and of 8 bits to and from float and double, round to nearest even. */
#ifndef HONE_HALF_H
#define HONE_HALF_H
#include <stdbool.h>
#include <stdint.h>
float half_to_float(uint16_t h);
uint16_t float_to_half(float f);
float bf16_to_float(uint16_t h);
uint16_t float_to_bf16(float f);
/* In one rounding: by way of the nearest float there would be two. */
uint16_t double_to_half(double d);
uint16_t double_to_bf16(double d);
/* u, or of its two neighbours among doubles the one whose last bit is odd: what has two bits less is then rounded as u would be. */
double u64_to_odd(uint64_t u);
double i64_to_odd(int64_t i);

/* Those of ONNX: bits of exponent and mantissa; FN: no infinity, UZ: no -0 and one NaN; those of 4 and 6 bits have neither, and NaN becomes
 * -0. F8E8M0: powers of two and NaN; no sign, no 0. */
enum f8 { F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F4E2M1, F8E8M0, F6E2M3, F6E3M2, F8_COUNT };
float f8_to_float(enum f8 kind, uint8_t b);
/* What is too large, and an infinity, is the largest number (saturate), else an infinity or NaN, by what the type has. */
uint8_t double_to_f8(enum f8 kind, double d, bool saturate);
/* |d| as a power of two: mode 'u' away from 0, 'd' towards 0, 'n' to the nearest, of two the larger. Too large or too small: the last
 * one there is (saturate), else NaN. double_to_f8 is 'u'. */
uint8_t double_to_e8m0(double d, bool saturate, char mode);
#endif
