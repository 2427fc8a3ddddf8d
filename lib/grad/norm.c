/* Derivatives of sums, normalisations and losses. */
#include <string.h>
#include "grad/rows.h"

/* ---- sums and means ---- */

val_id grad_by_sum(struct chain *c, int i)
{
	val_id g = c->g, axes = c->n->nin > 1 ? c->b : 0;

	if (i || (attr_i(c->n, "noop_with_empty_axes") && !axes))
		return i ? 0 : g;
	if (!attr_i(c->n, "keepdims") && axes)
		g = bin(c, OP_Unsqueeze, g, axes);
	return grad_shaped_like(c->d, OP_Expand, g, c->a);
}

val_id grad_by_mean(struct chain *c, int i)
{
	val_id g = grad_by_sum(c, i);
	int64_t a, y;

	if (!g)
		return 0;
	a = type_count(module_of(c), grad_type(c->d, c->a));
	y = type_count(module_of(c), grad_type(c->d, c->y));
	if (a > 0 && y > 0)
		return mul(c, g, number(c, (double)y / (double)a));
	return mul(c, g, over(c, cast(c, un(c, OP_Size, c->y), c->t), cast(c, un(c, OP_Size, c->a), c->t)));
}

val_id grad_by_sum_square(struct chain *c, int i)
{
	val_id g = grad_by_sum(c, i);

	return g ? mul(c, g, add(c, c->a, c->a)) : 0;
}

/* ---- normalisations ---- */

val_id grad_by_softmax(struct chain *c, int i)
{
	int64_t axis = attr_i(c->n, "axis");
	val_id gy = mul(c, c->g, c->y);

	return sub(c, gy, mul(c, c->y, reduced(c, OP_ReduceSum, gy, 1, &axis)));
}

val_id grad_by_log_softmax(struct chain *c, int i)
{
	int64_t axis = attr_i(c->n, "axis");

	return sub(c, c->g, mul(c, un(c, OP_Exp, c->y), reduced(c, OP_ReduceSum, c->g, 1, &axis)));
}

/* (x - mean) / sqrt(variance + epsilon) along axes, and the divisor's reciprocal. */
static val_id centred(struct chain *c, int n, const int64_t *axes, val_id *inverse)
{
	val_id x = sub(c, c->a, reduced(c, OP_ReduceMean, c->a, n, axes)), variance = reduced(c, OP_ReduceMean, mul(c, x, x), n, axes);

	*inverse = un(c, OP_Reciprocal, un(c, OP_Sqrt, add(c, variance, number(c, attr_f(c->n, "epsilon")))));
	return mul(c, x, *inverse);
}

/* By x, where g is the derivative by the normalised value h: what mean and variance take from it. */
static val_id by_normalised(struct chain *c, val_id g, val_id h, val_id inverse, int n, const int64_t *axes)
{
	val_id along = mul(c, h, reduced(c, OP_ReduceMean, mul(c, g, h), n, axes));

	return mul(c, inverse, sub(c, sub(c, g, reduced(c, OP_ReduceMean, g, n, axes)), along));
}

val_id grad_by_layer_norm(struct chain *c, int i)
{
	int rank = rank_of(c, c->a), first = (int)attr_i(c->n, "axis");
	int64_t axes[RANK_MAX];
	val_id inverse;

	if (rank < 1)
		return refused(c, "its rank is not known");
	first += first < 0 ? rank : 0;
	for (int k = first; k < rank; k++)
		axes[k - first] = k;
	if (i == 2)
		return c->g;
	val_id h = centred(c, rank - first, axes, &inverse);
	return i ? mul(c, c->g, h) : by_normalised(c, mul(c, c->g, c->b), h, inverse, rank - first, axes);
}

/* With statistics that stay as they are. */
val_id grad_by_batch_norm(struct chain *c, int i)
{
	int rank = rank_of(c, c->a);
	int64_t axes[RANK_MAX];
	int n = 0;

	if (attr_i(c->n, "training_mode"))
		return refused(c, "it is in training mode");
	if (i > 2)
		return refused(c, "its statistics depend on what is differentiated by");
	if (rank < 2)
		return refused(c, "its rank is not known");
	for (int k = 0; k < rank; k++)
		if (k != 1)
			axes[n++] = k;
	if (i == 2)
		return with_int(c, reduced(c, OP_ReduceSum, c->g, n, axes), "keepdims", 0);
	val_id epsilon = grad_scalar(c->d, grad_type(c->d, c->in[4])->dtype, attr_f(c->n, "epsilon"));
	val_id inverse = cast(c, un(c, OP_Reciprocal, un(c, OP_Sqrt, add(c, c->in[4], epsilon))), c->t);
	if (!i)
		return mul(c, c->g, channelwise(c, mul(c, cast(c, c->b, c->t), inverse), rank));
	val_id h = sub(c, c->a, channelwise(c, cast(c, c->in[3], c->t), rank));
	val_id sum = with_int(c, reduced(c, OP_ReduceSum, mul(c, c->g, h), n, axes), "keepdims", 0);
	return cast(c, mul(c, sum, inverse), grad_type(c->d, c->b)->dtype);
}

/* ---- losses ---- */

/* By the scores: softmax less one at the label, times the weight of the label's class, and of that what the reduction has. */
val_id grad_by_cross_entropy(struct chain *c, int i)
{
	struct module *m = module_of(c);
	int rank = rank_of(c, c->a);
	int64_t dims[RANK_MAX], one = 1;
	val_id labels = c->b, weights = c->n->nin > 2 ? c->in[2] : 0, share = 0, g = c->g;
	const char *reduction = attr_str(c->n, "reduction", "mean");
	const struct attr *ignored = attr_find(c->n, "ignore_index");
	enum dtype index = grad_type(c->d, labels)->dtype;

	if (i)
		return refused(c, "its weights depend on what is differentiated by");
	if (rank < 2 || !extents(c, c->a, dims))
		return refused(c, "its sizes are not all known");
	if (ignored) {
		val_id counts = un(c, OP_Not, bin(c, OP_Equal, labels, grad_scalar(c->d, index, (double)ignored->u.i)));
		share = cast(c, counts, c->t);
		labels = make(c, OP_Where, 3, (val_id[]){counts, labels, grad_scalar(c->d, index, 0)});
	}
	if (weights) {
		val_id w = bin(c, OP_Gather, weights, labels);
		share = share ? mul(c, w, share) : w;
	}
	int64_t *class = ARENA_ARRAY(&m->arena, int64_t, dims[1] + 1), across[RANK_MAX], all[RANK_MAX];
	for (int64_t k = 0; k < dims[1]; k++)
		class[k] = k;
	for (int k = 0; k < rank - 1; k++) {
		across[k] = k ? 1 : dims[1];
		all[k] = k;
	}
	val_id classes = reshaped(c, const_copy(m, 0, DT_I64, 1, &dims[1], class, (size_t)dims[1] * sizeof *class), rank - 1, across);
	val_id is = bin(c, OP_Equal, bin(c, OP_Unsqueeze, cast(c, labels, DT_I64), grad_ints(c->d, 1, &one)), classes);
	val_id off = sub(c, with_int(c, un(c, OP_Softmax, c->a), "axis", 1), where(c, is, number(c, 1), number(c, 0)));
	if (!strcmp(reduction, "mean") && share)
		g = over(c, mul(c, share, g), reduced(c, OP_ReduceSum, share, rank - 1, all));
	else if (!strcmp(reduction, "mean"))
		g = mul(c, g, number(c, (double)dims[1] / (double)type_count(m, grad_type(c->d, c->a))));
	else if (share)
		g = mul(c, share, g);
	if (share || !strcmp(reduction, "none"))
		g = bin(c, OP_Unsqueeze, g, grad_ints(c->d, 1, &one));
	return mul(c, off, g);
}
