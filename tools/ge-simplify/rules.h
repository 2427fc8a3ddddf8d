/* The rules of ge-simplify, one table a family, each ended by a row without a name. */
#ifndef GE_SIMPLIFY_RULES_H
#define GE_SIMPLIFY_RULES_H
#include "op/rewrite.h"

extern const struct rule rules_noop[];       /* nodes that change nothing */
extern const struct rule rules_shape[];      /* Reshape and its kin, Transpose */
extern const struct rule rules_order[];      /* Transposes around nodes that take any order of axes */
extern const struct rule rules_move[];       /* Concat, Split, Pad */
extern const struct rule rules_activation[]; /* decomposed activations */
extern const struct rule rules_norm[];       /* decomposed normalisations */
extern const struct rule rules_affine[];     /* constant scales and offsets into weights */
extern const struct rule rules_arith[];      /* scalars, powers */
extern const struct rule rules_pool[];       /* pooling and Gemm in other forms */
extern const struct rule rules_window[];     /* taps of convolutions and pools */
extern const struct rule rules_recurrent[];  /* GRU, LSTM, RNN */
extern const struct rule rules_fewest[];     /* fewer nodes, no less work: only with --fewest */

/* A product of floats taken apart: k times the factors. Div by a constant, Neg and integer powers count. */
enum { FACTORS_MAX = 6 };
struct product {
	double k;
	int n;
	val_id factor[FACTORS_MAX];
};
/* The product that node n (Mul, Div) computes, seen through operands that only n's tree uses. False: it
 * is no product, or has more factors. */
bool product_of(struct rewrite *rw, node_id n, struct product *p);
/* The product that value v is; a value that is no product is 1 times itself. */
bool product_of_value(struct rewrite *rw, val_id v, struct product *p);
/* p is k times x to the power n, within tol. */
bool product_is(const struct product *p, double k, double tol, val_id x, int n);

/* Constants in published decompositions are rounded to float, some to six digits. */
#define CONST_TOL 1e-5

/* An i64 constant for Reshape that gives type t; 0 if more than one dimension is not a number, or
 * one may be 0. */
val_id shape_operand(struct rewrite *rw, const struct type *t);
/* The permutation of a Transpose; false where neither attribute nor rank is there. */
bool transpose_order(struct rewrite *rw, node_id n, int64_t perm[RANK_MAX], int *rank);
/* Axes of a Reduce or Squeeze node (operand i), in [0, rank), ascending; how many, -1: not known. All: rank. */
int const_axes(struct rewrite *rw, node_id n, uint32_t i, int rank, int64_t axes[RANK_MAX]);
#endif
