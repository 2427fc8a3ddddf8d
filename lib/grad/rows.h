/* Rows of lib/grad: an operator, and the rule that gives its derivative by operand i. A rule reads the chain, makes nodes, and returns
 * their result, of the shape of the node's result or of the operand; 0: not of this node, and d->why may say why. */
#ifndef HONE_GRAD_ROWS_H
#define HONE_GRAD_ROWS_H
#include "grad/grad.h"
#include "op/op.h"

/* The node at hand. */
struct chain {
	struct grad *d;
	const struct node *n;
	node_id id;
	const val_id *in, *out; /* as they stand */
	const val_id *gs;       /* the derivative by each result, 0: none */
	val_id a, b, y, g;      /* operands 0 and 1, result 0, the derivative by that */
	enum dtype t;           /* of result 0 */
};

static inline struct module *module_of(const struct chain *c) { return c->d->m; }
static inline val_id make(const struct chain *c, enum opcode op, int nin, const val_id *in) { return grad_make(c->d, op, nin, in); }
static inline val_id un(const struct chain *c, enum opcode op, val_id a) { return grad_make(c->d, op, 1, &a); }
static inline val_id bin(const struct chain *c, enum opcode op, val_id a, val_id b) { return grad_make(c->d, op, 2, (val_id[]){a, b}); }
static inline val_id where(const struct chain *c, val_id p, val_id a, val_id b)
{
	return grad_make(c->d, OP_Where, 3, (val_id[]){p, a, b});
}
static inline val_id number(const struct chain *c, double x) { return grad_scalar(c->d, c->t, x); }
static inline val_id add(const struct chain *c, val_id a, val_id b) { return bin(c, OP_Add, a, b); }
static inline val_id sub(const struct chain *c, val_id a, val_id b) { return bin(c, OP_Sub, a, b); }
static inline val_id mul(const struct chain *c, val_id a, val_id b) { return bin(c, OP_Mul, a, b); }
static inline val_id over(const struct chain *c, val_id a, val_id b) { return bin(c, OP_Div, a, b); }
static inline val_id neg(const struct chain *c, val_id v) { return un(c, OP_Neg, v); }
static inline node_id made(const struct chain *c, val_id v) { return val(module_of(c), v)->def; }
static inline val_id with_int(const struct chain *c, val_id v, const char *attr, int64_t n)
{
	attr_set_int(module_of(c), made(c, v), attr, n);
	return v;
}
static inline val_id with_ints(const struct chain *c, val_id v, const char *attr, int n, const int64_t *x)
{
	attr_set_ints(module_of(c), made(c, v), attr, n, x);
	return v;
}
static inline val_id refused(const struct chain *c, const char *why)
{
	c->d->why = why;
	return 0;
}

/* shapes.c */
int rank_of(const struct chain *c, val_id v);
/* The extents of v, all known. False: they are not. */
bool extents(const struct chain *c, val_id v, int64_t *dims);
val_id cast(const struct chain *c, val_id v, enum dtype t);
val_id reshaped(const struct chain *c, val_id v, int n, const int64_t *dims);
val_id transposed(const struct chain *c, val_id v, int n, const int64_t *perm);
/* The sum, or the mean, along axes, which stay as extents of one. */
val_id reduced(const struct chain *c, enum opcode op, val_id v, int n, const int64_t *axes);
/* v, with an element a channel, as [C, 1, 1 ...] for an operand of that rank. */
val_id channelwise(const struct chain *c, val_id v, int rank);

/* X(operator, rule): what has a derivative. */
/* clang-format off: a row is an operator */
#define GRAD_RULES(X) \
	X(Abs, abs) \
	X(Acos, acos) \
	X(Acosh, acosh) \
	X(Add, pass) \
	X(Asin, asin) \
	X(Asinh, asinh) \
	X(Atan, atan) \
	X(Atanh, atanh) \
	X(AveragePool, average_pool) \
	X(BatchNormalization, batch_norm) \
	X(Cast, cast) \
	X(Celu, celu) \
	X(Clip, clip) \
	X(Concat, concat) \
	X(Conv, conv) \
	X(Cos, cos) \
	X(Cosh, cosh) \
	X(Div, div) \
	X(Dropout, dropout) \
	X(Elu, elu) \
	X(Erf, erf) \
	X(Exp, exp) \
	X(Expand, expand) \
	X(Flatten, shape) \
	X(Gather, gather) \
	X(Gelu, gelu) \
	X(Gemm, gemm) \
	X(GlobalAveragePool, global_average) \
	X(HardSigmoid, hard_sigmoid) \
	X(HardSwish, hard_swish) \
	X(Identity, pass) \
	X(LayerNormalization, layer_norm) \
	X(LeakyRelu, leaky_relu) \
	X(Log, log) \
	X(LogSoftmax, log_softmax) \
	X(MatMul, matmul) \
	X(Max, extreme) \
	X(MaxPool, max_pool) \
	X(Mean, mean_of) \
	X(Min, extreme) \
	X(Mish, mish) \
	X(Mul, mul) \
	X(Neg, neg) \
	X(PRelu, prelu) \
	X(Pad, pad) \
	X(Pow, pow) \
	X(Reciprocal, reciprocal) \
	X(ReduceMean, mean) \
	X(ReduceSum, sum) \
	X(ReduceSumSquare, sum_square) \
	X(Relu, relu) \
	X(Reshape, shape) \
	X(Selu, selu) \
	X(Sigmoid, sigmoid) \
	X(Sin, sin) \
	X(Sinh, sinh) \
	X(Slice, slice) \
	X(Softmax, softmax) \
	X(SoftmaxCrossEntropyLoss, cross_entropy) \
	X(Softplus, softplus) \
	X(Softsign, softsign) \
	X(Split, split) \
	X(Sqrt, sqrt) \
	X(Squeeze, shape) \
	X(Sub, sub) \
	X(Sum, pass) \
	X(Swish, swish) \
	X(Tan, tan) \
	X(Tanh, tanh) \
	X(ThresholdedRelu, thresholded_relu) \
	X(Transpose, transpose) \
	X(Unsqueeze, shape) \
	X(Where, where)
/* clang-format on */

#define X(op, rule) val_id grad_by_##rule(struct chain *c, int i);
GRAD_RULES(X)
#undef X
#endif
