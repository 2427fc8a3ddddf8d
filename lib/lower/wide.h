/* Products of operands in 16 bits whose elements are read many times: they are widened to f32 once, by stages of their own, weights when the
 * library is built. Else each read widens. Where an instruction sums products in 16 bits itself there is nothing to widen.
 * products: of the node, multiplications of two elements. */
#ifndef HONE_LOWER_WIDE_H
#define HONE_LOWER_WIDE_H
#include "lower/lowering.h"

#define ALGO_WIDE "wide"
/* Operands are copied in 16 bits, with zeros behind each line of products, so that lines are whole steps of an instruction that sums them. */
#define ALGO_SPREAD "spread"

/* The algorithm fits: both operands are f16, or bf16. */
bool wide_fits(struct lower *L, const char *algo);
/* Products that an instruction of the target adds at a time to a sum in f32; 0: no instruction does, or it was not measured to be faster
 * than multiply-adds. *speed: how many times as fast. */
int64_t wide_step(struct lower *L, double *speed);
/* It is usual: no instruction sums such products, which come in lines of so many, and each element of both operands is in more than
 * one product. */
bool wide_chosen(struct lower *L, double products, int64_t line);
/* Products of a line of so many, of one of `rows` rows, in whole steps: of the instruction that takes several rows, where it is there, there
 * are several, and it takes fewer steps; else of that which takes one. line itself: no instruction sums such products. */
int64_t wide_spread(struct lower *L, int64_t line, int64_t rows);
/* Both operands are better copied for it. */
bool wide_spread_chosen(struct lower *L, double products, int64_t line, int64_t rows);
/* Operand i, in its type, with its axis made as long as extent with 0. */
buf_id wide_spread_buf(struct lower *L, uint32_t i, int axis, int64_t extent);
/* Operand i as f32: its own buffer, or that of a stage. */
buf_id wide_buf(struct lower *L, uint32_t i);
/* The same of the second operand, whose elements come in vectors; 0: they are read as they are, for that takes less time than twice the
 * bytes. */
buf_id wide_weights(struct lower *L, double products);
bool wide_weights_chosen(struct lower *L, double products);
#endif
