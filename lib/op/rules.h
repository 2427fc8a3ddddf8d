/* What the operator families share: helpers for shape rules and for evaluators. Private to lib/op. */
#ifndef HONE_RULES_H
#define HONE_RULES_H
#include <string.h>
#include "common/half.h"
#include "op/op.h"

/* Each family is an array of rows that ends with an empty one; op.c registers them. */
extern const struct op ops_elementwise[], ops_select[], ops_reduce[], ops_matmul[], ops_conv[], ops_pool[], ops_norm[], ops_move[],
	ops_index[], ops_shape[], ops_control[], ops_recurrent[], ops_resize[], ops_quant[], ops_loop[], ops_einsum[], ops_topk[],
	ops_sequence[], ops_cast[], ops_text[], ops_image[], ops_signal[], ops_attention[], ops_trees[], ops_maps[], ops_extern[];

/* ---- Demands: what operands and attributes must be, checked before the shape rule sees them. ----
 *
 * operands: a word for each, optional ones too: "TYPE[SHAPE]"; "..." behind the last: all further ones are like it.
 *   F[N,C,*]      a float of rank 2 or more; a letter is the same extent in all operands, ? is any extent, 5 is 5
 *   J{1,3}        an i32 or i64 of rank 1 to 3 ({1,}: 1 or more)
 *   N.            a number: one element, of rank 0 or 1
 *   F=0 F~1 F[M]  of the type of operand 0; of the rank of operand 1; of rank 1
 *   J!            a run may refuse what it holds: places in another operand, sizes, axes (op_refuses)
 * attributes: a word for each; any of them may be absent:
 *   mode{a,b}     one of these words
 *   axis@         an axis of operand 0 (@1: of a tensor with one axis more; @2: or the place behind the last axis)
 *   to=           the number of a type (to~: or 0)
 *   strides#s:1.. as many numbers as operand 0 has spatial axes (#t: twice as many; #2: two), each 1 or more (1..: at most
 *                 2147483647)
 * What is not known is taken to be right. */
struct demand {
	const char *operands, *attributes;
};
extern const struct demand demands[OP_COUNT];
const char *demand_check(struct infer *I); /* NULL, or what is not as demanded */
/* The only rank that operand i may have, and extents that are known of it, where the operands' types are t; RANK_UNKNOWN: any may be. */
int demand_shape(struct module *m, const struct node *n, const struct type *t, uint32_t i, dim *dims);
/* Ranges of symbols without the sizes with which an extent of the main graph would be negative. False: nothing is new. */
bool bounds_found(struct module *m);
/* What is known of the results of a node whose operands are, where its rule does not say it (known.c). */
void known_by_eval(struct infer *I);
/* Would the rules take the types that inputs have now? Nothing is changed, and nothing said. */
bool infer_would(struct module *m);
/* Ranks that no rule knows, as readers demand them (lib/op/ranks.c): they become types of the values. False: there are none. */
bool ranks_asked(struct module *m);

/* ---- Shape rules. All memory comes from the module's arena. ---- */

/* Why nothing can have this type, for sums and products of its extents, which come later, would overflow; NULL: it may be. what, i: for the
 * reason, "operand" or "result". */
const char *type_impossible(struct module *m, const char *what, uint32_t i, const struct type *t);
/* The reason a rule returns. */
const char *rule_why(struct infer *I, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline struct polys *rule_polys(struct infer *I) { return I->m->dims; }
static inline dim rule_const(struct infer *I, int64_t c) { return poly_const(I->m->dims, c); }
dim *rule_dims(struct infer *I, int n); /* n unknown ones */
/* An extent that only a run can tell, of which these bounds are known; POLY_INF: no upper one. */
dim rule_fresh(struct infer *I, int64_t lo, int64_t hi);
/* The same, at most `most`, which may be unknown. */
dim rule_at_most(struct infer *I, int64_t lo, dim most);
/* What is known of elements that are one or the other. */
struct known known_common(struct module *m, const struct known *a, const struct known *b);
bool known_equal(const struct known *a, const struct known *b);
/* Operand i is there. */
static inline bool rule_has(const struct infer *I, uint32_t i) { return i < I->n->nin && I->n->in[i]; }
static inline int rule_rank(const struct infer *I, uint32_t i) { return rule_has(I, i) ? I->in[i].rank : RANK_UNKNOWN; }
static inline dim rule_dim(const struct infer *I, uint32_t i, int axis) { return I->in[i].dims[axis]; }
/* Sets result i; dims are used as they are. Results that are not wanted are accepted too. */
void rule_out(struct infer *I, uint32_t i, enum dtype t, int rank, dim *dims);
/* Result i has the type of operand j. */
void rule_like(struct infer *I, uint32_t i, uint32_t j);
/* axis in [-rank, rank) made nonnegative. */
bool rule_axis(int64_t axis, int rank, int *out);
/* Multidirectional broadcasting of operands first..last. An unknown rank gives an unknown rank. */
const char *rule_broadcast(struct infer *I, uint32_t first, uint32_t last, int *rank, dim **dims);
/* Operand i broadcasts into these dims, which stay as they are. */
const char *rule_into(struct infer *I, uint32_t i, int rank, const dim *dims);
dim rule_broadcast_dim(struct polys *P, dim a, dim b, bool *clash);
/* Operand i wholly known as constants: their number, with them in *v (arena); else -1. */
int rule_ints(struct infer *I, uint32_t i, const int64_t **v);
/* Element j of operand i, of a constant of any size too; false: it is not known. */
bool rule_element(struct infer *I, uint32_t i, int64_t j, int64_t *v);
/* How many elements operand i has that rule_element may know. */
int64_t rule_elements(struct infer *I, uint32_t i);
/* What is known of the elements of operand i lies in an axis of this extent, counted from its end if negative. NULL, or what not. Elements
 * from `from` on, each `step`. */
const char *rule_indices(struct infer *I, uint32_t i, int64_t from, int64_t step, dim extent);
/* What is known of the elements of operand i is from 0 to bound - 1, or *but (NULL: no other). NULL, or what is not. */
const char *rule_below(struct infer *I, uint32_t i, dim bound, const int64_t *but);
/* Operand i has extent `want` at axis k, as far as both are known. NULL, or why not. */
const char *rule_extent(struct infer *I, uint32_t i, int k, dim want);
/* Operand i has no larger extent than operand 0, but along `axis`. */
const char *rule_inside(struct infer *I, uint32_t i, int axis);
/* Known elements for result i: n unknown ones to fill in. NULL if nobody wants them (too many). */
poly *rule_known(struct infer *I, uint32_t i, int n);
/* e as an element of type t: unknown where t may wrap or round it. */
poly rule_fits(struct polys *P, enum dtype t, poly e);
/* Product of dims[a..b). */
dim rule_product(struct infer *I, const dim *d, int a, int b);

const char *shape_same(struct infer *I);      /* result 0 has the type of operand 0 */
const char *shape_broadcast(struct infer *I); /* all operands broadcast, type of operand 0 */

/* Windows of convolution and pooling. */
enum { SPATIAL_MAX = 3 };
struct window {
	int n; /* spatial axes */
	int64_t size[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
	int64_t begin[SPATIAL_MAX], end[SPATIAL_MAX]; /* pads */
	int auto_pad;                                 /* 'E' NOTSET, 'U' same upper, 'L' same lower, 'V' valid */
	bool ceil_mode;
};
/* Reads attributes; kernel: sizes when kernel_shape is absent (may be NULL). NULL, or why not. */
const char *window_read(struct module *m, const struct node *n, int spatial, const int64_t *kernel, struct window *w);
/* The operand of a convolution that has its weights; 0: the window is a pool's. */
uint32_t window_weights(enum opcode op);
/* Output extent and the first pad along axis i for an input extent. */
int64_t window_extent(struct window *w, int i, int64_t in);
dim window_extent_dim(struct infer *I, const struct window *w, int i, dim in);

/* Operand i had better be positive: of others come results that are no numbers, or infinite. */
bool operand_positive(enum opcode op, uint32_t i);

/* ---- Evaluators. ---- */

const char *eval_why(struct eval *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline struct tensor *eval_in(const struct eval *e, uint32_t i) { return i < e->n->nin ? e->in[i] : NULL; }
/* Integers of operand i (any integer type, bool): how many, -1 if it is absent. */
int eval_ints(struct eval *e, uint32_t i, const int64_t **v);
double eval_scalar(const struct eval *e, uint32_t i, double def); /* element 0 of operand i */
int64_t eval_int(const struct eval *e, uint32_t i, int64_t def);  /* the same, of integers to the last bit */
/* t is absent, or has one element for all, or one for each of n. */
static inline bool one_for_each(const struct tensor *t, int64_t n) { return !t || tensor_count(t) == 1 || tensor_count(t) == n; }
/* Result i is operand j under other dims: bytes are shared, not copied. */
void eval_view(struct eval *e, int i, int j, int rank, const int64_t *dims);
/* Memory until the node is done: xmalloc that eval_node frees. */
void *eval_scratch(struct eval *e, size_t n);

/* Result i is a copy of t, whatever kind of value that is. */
void eval_give(struct eval *e, int i, const struct tensor *t);
/* An arena for part of an evaluation; given back by eval_arena_end, or when the run ends in a trap. */
struct arena *eval_arena(void);
void eval_arena_end(struct arena *a);

/* Blocks of elements as double or int64: element off, off+stride, ... */
void load_d(const struct tensor *t, int64_t off, int64_t stride, int n, double *o);
void load_i(const struct tensor *t, int64_t off, int64_t stride, int n, int64_t *o);
void store_d(struct tensor *t, int64_t off, int n, const double *v);  /* integers: truncated, saturated */
void store_i(struct tensor *t, int64_t off, int n, const int64_t *v); /* integers: low bits */
/* The same with the bits of u64. */
void store_u(struct tensor *t, int64_t off, int n, const int64_t *v);
int64_t tensor_get_int(const struct tensor *t, int64_t i);
enum { BLOCK = 256 }; /* elements handled at a time */
static inline char *tensor_bytes(struct tensor *t) { return (char *)t->data; }
bool dtype_fixed(enum dtype t); /* numbers and bool that tensors of this evaluator may hold */
/* The smallest and the largest number of an integer type or bool (u64: as far as int64_t goes). */
int64_t dtype_lowest(enum dtype t);
int64_t dtype_highest(enum dtype t);

/* Walks nop tensors that broadcast to one shape; neighbouring axes are merged if all allow it. */
enum { BCAST_MAX = 4 };
struct bcast {
	int nop, rank;
	int64_t dims[RANK_MAX], stride[BCAST_MAX][RANK_MAX]; /* in elements; 0 where broadcast */
	int out_rank;
	int64_t out_dims[RANK_MAX], count;
	int64_t at[RANK_MAX], off[BCAST_MAX]; /* odometer over all axes but the innermost */
};
/* NULL, or why the shapes do not broadcast. */
const char *bcast_init(struct bcast *b, int nop, const int *rank, const int64_t *const *dims, struct arena *a);
bool bcast_next(struct bcast *b); /* to the next innermost row; false: done */

/* Splits a shape at an axis: extents before, of and behind it. */
struct axes3 {
	int64_t outer, n, inner;
};
struct axes3 split_at(const struct tensor *t, int axis);

/* C = A B with double accumulators. Packers deliver doubles: a writes rows i0..i0+3 as a[k][4], b
 * writes columns j0..j0+n-1 (n at most GEMM_NC) as panels of 8: b[j/8][k][8]; what lies outside is
 * 0. */
enum { GEMM_MR = 4, GEMM_NR = 8, GEMM_NC = 64 };
struct gemm {
	int64_t M, N, K;
	void (*a)(void *arg, int64_t i0, int rows, double *a);
	void (*b)(void *arg, int64_t j0, int cols, double *b);
	void (*store)(void *arg, int64_t i, int64_t j0, int cols, const double *c);
	void *arg;
	bool exact; /* a product of two elements has its digits in a double (gemm_exact) */
};
void gemm_run(const struct gemm *g);
/* Are products of an element of x and one of y, less their zero points, exact in doubles? */
bool gemm_exact(const struct tensor *x, const struct tensor *y);
/* Operand i has one element, or one for each of n; or it is absent, or either is not known. */
bool rule_one_for_each(struct infer *I, uint32_t i, dim n);
#endif
