/* Weights that stay in few bits: the right operand of a product that is a DequantizeLinear of constants of 8 or 4 bits, turned round by
 * a Transpose or not. They are widened where they are multiplied, so that few rows are bound by the bytes of the codes. A lowering looks
 * at their type, not at the weights: stages are the same for all of a type. */
#ifndef HONE_LOWER_PACKED_H
#define HONE_LOWER_PACKED_H
#include "lower/lowering.h"

enum { ROW_AXES_MAX = 4 };

struct packed {
	const struct node *node; /* the DequantizeLinear */
	int64_t (*shape)[LOOP_RANK_MAX];
	bool turned;  /* its operands' first axis is N */
	int64_t K, N; /* of the product */
	int row_axes; /* axes that the rows of the product lie along: of those of one step, none */
	int64_t row_dims[ROW_AXES_MAX];
	int64_t block, count;     /* elements along K that share a scale; blocks of a column */
	buf_id codes;             /* [K, N]; of 4 bits: [K / 8, N], eight of one column in an i32, the first in its low bits; of digits:
			       * [K / 2, N], a byte for one of the first half of a block and, in the high bits, that one of the second */
	bool words, as_is;        /* codes are of 4 bits; they are operand 0 itself */
	bool paired;              /* words hold four such bytes, one after the other, so that a panel of them is what digits read */
	int digits;               /* the rows become so many digits, or are codes, which are multiplied in integers; 0: they do not */
	const struct node *coded; /* the DequantizeLinear of the rows, of bytes in the same blocks; NULL: they are numbers */
};

/* Algorithm of rows times codes in blocks whose sums fit 32 bits, where the target has an instruction for it: each number of a block of a row is
 * three signed digits of base 254 of a fraction of the block's largest, so a block is summed exactly, and as near as f32 is. */
#define ALGO_DIGITS "digits"
bool packed_digits_fit(struct lower *L, bool turned, int64_t rows);
bool packed_digits_chosen(struct lower *L, bool turned, int64_t rows); /* and sched/algorithm.h takes it */

/* Algorithm of rows that are codes of bytes in the same blocks (a DequantizeLinear without zero points): a block is summed in integers. */
#define ALGO_BYTES "bytes"
bool packed_bytes_fit(struct lower *L, bool turned, int64_t rows, int axis);
/* Are rows better made such codes than left floats, for weights in such blocks? */
bool packed_bytes_chosen(const struct target *t, bool four_bits, int64_t block, int64_t columns);

/* Does operand 1 of the product at hand, which has rows of k elements to multiply with columns of it, have such a form?
 * algo: what is taken, which fits; axis: of operand 0, which is summed along. Operand 1 is of rank 2; turned: the product reads its columns as
 * rows (transB). */
bool packed_find(struct lower *L, bool turned, int64_t rows, const char *algo, int axis, struct packed *q);
/* Its element (k, n), as f32: widened where it is read or, for many rows, by a stage of its own. */
ex_id packed_read(struct lower *L, struct packed *q, int64_t rows, poly k, poly n);
/* The product of one row or, of digits, of several; operand 0 is summed along `axis`. Sums of each block are
 * multiplied with its scale; the stage of what they add up to, of the shape of the result. */
stage_id packed_rows(struct lower *L, const struct packed *q, const char *name, int axis);
#endif
