/* Integer sums: products of codes of 8 bits in i32, and the zero points of their operands. A lowering looks at the types of the
 * weights and at zero points of one number, not at the weights: stages are the same for all of a type. */
#ifndef HONE_LOWER_INTEGER_H
#define HONE_LOWER_INTEGER_H
#include "lower/lowering.h"

/* Operands of an integer product. */
enum { INT_X, INT_W, INT_X_ZERO, INT_W_ZERO };

/* Products in one step of a dot product: the extent of the axis that is summed first is a multiple. */
enum { INT_STEP = 4 };
/* n products of bytes in whole steps, with zeros behind them: of the instruction that takes several rows of x, where it is there, x has
 * more than one row, and it takes fewer steps. */
int64_t int_padded(struct lower *L, int64_t n, int64_t rows);

/* An algorithm of where products of bytes are not summed by an instruction, but those of i16 are, in pairs: the operands are copied to
 * i16, less their zero points, and nothing is left to do after the sum. A pair of products cannot overflow. */
extern const char *const int_algos[];
bool int_words_fit(struct lower *L, const char *algo);
/* Is there an instruction that sums products of bytes? */
bool int_bytes_fit(struct lower *L);
/* Products in one step of the instruction that sums those of words or of bytes; 1: there is none. */
int64_t int_step(struct lower *L, bool words);
/* Products in one step of the instruction that sums those of words with bytes; 1: there is none. */
int64_t int_mixed_step(struct lower *L);
const char *int_words_best(struct lower *L);
/* The type of the weights for it: i8, as codes, where they are constant and the instruction makes words of them, else i16. */
enum dtype int_words_weights(struct lower *L);
/* As int_padded, for that algorithm. */
int64_t int_words_padded(struct lower *L, int64_t n);
/* Element e of operand i less its zero point, as type t; at, batch: as for int_zero. */
ex_id int_less_zero(struct lower *L, uint32_t i, ex_id e, poly at, const poly *batch, enum dtype t);
/* Buffer of them, its axis made as long as extent with 0; along: the axis that zero points are along (-1: there is one). */
buf_id int_copies(struct lower *L, uint32_t i, enum dtype t, int axis, int64_t extent, int along);

/* The type of x's codes: u8, or i8 where the target sums products of bytes with a sign only. Those of w are i8. An operand of the other
 * type is moved by 128. */
enum dtype int_x_type(struct lower *L);
ex_id int_code(struct lower *L, uint32_t i, ex_id e);
/* Buffer of the codes of operand i, its axis made as long as extent with codes 0; a stage where there is anything to do. */
buf_id int_codes(struct lower *L, uint32_t i, int axis, int64_t extent);
/* The zero point of the codes of x or w, in i32; at: which, if there are several; batch: the operand's first indices, which say of which
 * matrix (NULL: all have the same). 0: it is zero. */
ex_id int_zero(struct lower *L, uint32_t i, poly at, const poly *batch);
/* A product of two codes, in i32. */
ex_id int_product(struct lower *L, ex_id a, ex_id b);
/* Stage of the sums of the codes in b along one axis; or along all but one (`but`). */
stage_id int_sums(struct lower *L, const char *name, buf_id b, int axis, bool but);
/* Stage of what x's zero point x_zero takes from each sum of `count` products, of the sums of w's codes; to be multiplied with
 * x_zero where that is not a constant. */
stage_id int_offsets(struct lower *L, stage_id w_sums, ex_id x_zero, int64_t count);
/* y less an offset of int_offsets, if there is one. */
ex_id int_less_offset(struct lower *L, ex_id y, ex_id x_zero, ex_id offset);
#endif
