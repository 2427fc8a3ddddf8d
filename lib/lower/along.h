/* Reductions of operand 0 along some of its axes: indices, statistics, sums of exponentials. */
#ifndef HONE_LOWER_ALONG_H
#define HONE_LOWER_ALONG_H
#include "lower/lowering.h"

/* Which axes of operand 0 are combined; result axis a of the kept ones. */
struct along {
	int rank;
	bool reduce[LOOP_RANK_MAX];
	int64_t count; /* elements combined into one */
	bool keep;     /* result has the reduced axes, of extent 1 */
};
/* The names of axes that are summed along. */
extern const char *const along_names[LOOP_RANK_MAX];
/* Index of operand 0 in stage s, whose spatial axes are those of the result; adds the reduce axes. */
void along_reduced(struct lower *L, const struct along *r, stage_id s, poly *x);
/* Index of the result of r that element at (of operand 0) goes into. */
void along_kept(struct lower *L, const struct along *r, const poly *at, poly *index);
/* A statistic along r: a stage of the kept axes only, with elements of type t. */
stage_id along_statistic(struct lower *L, const struct along *r, const char *name, enum dtype t);
/* m, or 0 where that is infinite: no number less it would be one. */
ex_id along_finite(struct lower *L, ex_id m);
/* Element x of operand 0 less max at `at`, in the wide type. */
ex_id along_less_max(struct lower *L, stage_id max, const poly *x, const poly *at);
/* Stages max and (exp, sum): the sum of exp(x - max) along r. exp is kept in a stage where it is wanted. infinite: what is so
 * counts, by along_finite(max). */
struct expsum {
	stage_id max, exp, sum;
};
struct expsum along_exp(struct lower *L, const struct along *r, bool keep_exp, bool infinite);
#endif
