/* QLinearConv and QLinearMatMul in parts, which passes of quantised models look at. */
#ifndef HONE_QLINEAR_H
#define HONE_QLINEAR_H
#include "op/pass.h"

/* Each becomes Conv or MatMul between DequantizeLinear and QuantizeLinear, where its scales are constants. */
void qlinear_split(struct module *m, const struct pass_ctx *c);
#endif
