/* Derivatives of what moves elements. */
#include <string.h>
#include "grad/rows.h"
#include "graph/constants.h"

val_id grad_by_shape(struct chain *c, int i) { return i ? 0 : grad_shaped_like(c->d, OP_Reshape, c->g, c->a); }

val_id grad_by_expand(struct chain *c, int i) { return i ? 0 : c->g; }

val_id grad_by_transpose(struct chain *c, int i)
{
	int count, rank = rank_of(c, c->a);
	const int64_t *perm = attr_ints(c->n, "perm", &count);
	int64_t back[RANK_MAX];

	if (rank < 0)
		return refused(c, "its rank is not known");
	for (int k = 0; k < rank; k++)
		back[perm ? perm[k] : rank - 1 - k] = k;
	return transposed(c, c->g, rank, back);
}

static val_id cut(const struct chain *c, val_id v, int n, const int64_t *from, const int64_t *to, const int64_t *axes)
{
	return make(c, OP_Slice, 4, (val_id[]){v, grad_ints(c->d, n, from), grad_ints(c->d, n, to), grad_ints(c->d, n, axes)});
}

val_id grad_by_concat(struct chain *c, int i)
{
	int64_t axis = attr_i(c->n, "axis"), dims[RANK_MAX], from = 0;

	for (int k = 0; k <= i; k++) {
		int rank = rank_of(c, c->in[k]);
		if (!extents(c, c->in[k], dims))
			return refused(c, "its sizes are not all known");
		int64_t to = from + dims[axis < 0 ? axis + rank : axis];
		if (k == i)
			return cut(c, c->g, 1, &from, &to, &axis);
		from = to;
	}
	return 0;
}

val_id grad_by_split(struct chain *c, int i)
{
	struct module *m = module_of(c);
	val_id *part = ARENA_ARRAY(&m->arena, val_id, c->n->nout + 1);

	if (i)
		return 0;
	for (uint32_t k = 0; k < c->n->nout; k++) {
		if (!c->out[k])
			return refused(c, "a result has no name");
		part[k] = c->gs[k] ? c->gs[k] : grad_filled_like(c->d, c->out[k], c->t, 0);
	}
	return with_int(c, make(c, OP_Concat, (int)c->n->nout, part), "axis", attr_i(c->n, "axis"));
}

/* Constant integers of operand k; how many, -1: they are none. */
static int constants(const struct chain *c, uint32_t k, int64_t *v)
{
	struct tensor *t = k < c->n->nin && c->n->in[k] ? node_const(module_of(c), c->n, k) : NULL;

	return t ? tensor_ints(module_of(c), t, v, RANK_MAX) : -1;
}

/* g with zeros where the Slice left elements out. */
val_id grad_by_slice(struct chain *c, int i)
{
	int64_t from[RANK_MAX], axes[RANK_MAX], steps[RANK_MAX], x[RANK_MAX], y[RANK_MAX], pads[2 * RANK_MAX] = {0};
	int rank = rank_of(c, c->a), n = constants(c, 1, from), given = constants(c, 3, axes), stepped = constants(c, 4, steps);

	if (i)
		return 0;
	if (n < 0 || !extents(c, c->a, x) || !extents(c, c->y, y))
		return refused(c, "its places or sizes are not all known");
	for (int k = 0; k < n; k++) {
		int64_t axis = given > k ? axes[k] : k;
		axis += axis < 0 ? rank : 0;
		if (stepped > k && steps[k] != 1)
			return refused(c, "its step is not 1");
		int64_t first = from[k] < 0 ? from[k] + x[axis] : from[k];
		first = first < 0 ? 0 : first > x[axis] ? x[axis] : first;
		pads[axis] = first;
		pads[rank + axis] = x[axis] - first - y[axis];
	}
	return bin(c, OP_Pad, c->g, grad_ints(c->d, 2 * rank, pads));
}

val_id grad_by_pad(struct chain *c, int i)
{
	int64_t pads[RANK_MAX], x[RANK_MAX], to[RANK_MAX], all[RANK_MAX];
	int rank = rank_of(c, c->a), n = constants(c, 1, pads);

	if (i)
		return refused(c, "what it pads with depends on what is differentiated by");
	if (strcmp(attr_s(c->n, "mode"), "constant") || n != 2 * rank || !extents(c, c->a, x))
		return refused(c, "it does not pad all axes with a constant, by known sizes");
	for (int k = 0; k < rank; k++) {
		if (pads[k] < 0 || pads[rank + k] < 0)
			return refused(c, "it cuts off");
		to[k] = pads[k] + x[k];
		all[k] = k;
	}
	return cut(c, c->g, rank, pads, to, all);
}

/* Rows of g are added to those that were read, along axis 0. */
val_id grad_by_gather(struct chain *c, int i)
{
	int64_t last = -1;

	if (i)
		return 0;
	if (attr_i(c->n, "axis"))
		return refused(c, "its axis is not 0");
	val_id at = bin(c, OP_Unsqueeze, cast(c, c->b, DT_I64), grad_ints(c->d, 1, &last));
	val_id y = make(c, OP_ScatterND, 3, (val_id[]){grad_filled_like(c->d, c->a, c->t, 0), at, c->g});
	attr_set_str(module_of(c), made(c, y), "reduction", "add");
	return y;
}
