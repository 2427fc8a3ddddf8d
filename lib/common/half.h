/* Numbers of 16 bits to and from float and double, round to nearest even. */
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
#endif
