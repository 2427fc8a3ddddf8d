/* fp16 and bfloat16 to and from float, round to nearest even. */
#ifndef HONE_HALF_H
#define HONE_HALF_H
#include <stdint.h>
float half_to_float(uint16_t h);
uint16_t float_to_half(float f);
float bf16_to_float(uint16_t h);
uint16_t float_to_bf16(float f);
#endif
