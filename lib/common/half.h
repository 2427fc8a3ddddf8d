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

/* The four of ONNX: bits of exponent and mantissa; FN: no infinity, UZ: no -0 and one NaN. */
enum f8 { F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ };
float f8_to_float(enum f8 kind, uint8_t b);
/* What is too large, and an infinity, is the largest number (saturate), else an infinity or NaN, by what the type has. */
uint8_t double_to_f8(enum f8 kind, double d, bool saturate);
#endif
