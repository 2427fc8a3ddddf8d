/* Nodes whose result is an operand, bit by bit. */
#include <math.h>
#include "op/op.h"

/* Same element type, rank and extents, all of them known. */
static bool same_type(struct module *m, val_id a, val_id b)
{
	const struct type *x = &val(m, a)->type, *y = &val(m, b)->type;

	if (x->dtype != y->dtype || !x->dtype || x->rank != y->rank || x->rank == RANK_UNKNOWN || x->other || y->other ||
	    x->layout != y->layout)
		return false;
	for (int i = 0; i < x->rank; i++)
		if (!x->dims[i] || x->dims[i] != y->dims[i])
			return false;
	return true;
}

/* The same element type, which is known. */
static bool same_elements(struct module *m, val_id a, val_id b)
{
	const struct type *x = &val(m, a)->type, *y = &val(m, b)->type;

	return x->dtype && x->dtype == y->dtype && !x->other && !y->other && x->layout == y->layout;
}

/* Is operand i a constant with all elements v (for zero: of that sign)? */
static bool all_are(struct module *m, const struct node *n, uint32_t i, double v)
{
	struct tensor *c = i < n->nin ? node_const(m, n, i) : NULL, t;

	if (!c || tensor_count(c) > 64 || !(dtype_is_float(c->dtype) || dtype_is_int(c->dtype) || c->dtype == DT_BOOL))
		return false;
	t = *c;
	t.data = tensor_data(m, c);
	for (int64_t k = 0; k < tensor_count(&t); k++) {
		double x = tensor_get(&t, k);
		if (x != v || (dtype_is_float(t.dtype) && !signbit(x) != !signbit(v)))
			return false;
	}
	return true;
}

/* Do all axes of extents other than 1 keep their order? */
static bool transpose_keeps(struct module *m, const struct node *n)
{
	int count;
	const int64_t *perm = attr_ints(n, "perm", &count), *p = perm;
	const struct type *t = &val(m, n->in[0])->type;
	int64_t last = -1, c;

	for (int i = 0; i < t->rank; i++) {
		int64_t a = p && count == t->rank ? p[i] : t->rank - 1 - i;
		if (poly_is_const(m->dims, t->dims[a], &c) && c == 1)
			continue;
		if (a < last)
			return false;
		last = a;
	}
	return true;
}

static bool forward_steps(struct module *m, const struct node *n)
{
	int64_t step[RANK_MAX];
	int count;

	if (n->nin < 5 || !n->in[4])
		return true;
	if (!node_const(m, n, 4) || (count = tensor_ints(m, node_const(m, n, 4), step, RANK_MAX)) < 0)
		return false;
	for (int i = 0; i < count; i++)
		if (step[i] != 1)
			return false;
	return true;
}

bool dropout_keeps(struct module *m, const struct node *n)
{
	bool training = n->nin > 2 && n->in[2] && !all_are(m, n, 2, 0);

	return !training || all_are(m, n, 1, 0.0) || all_are(m, n, 1, -0.0);
}

val_id node_identity(struct module *m, node_id id)
{
	const struct node *n = node(m, id);
	bool zero;

	if (n->nin < 1 || !n->in[0] || n->nout < 1 || !n->out[0] || (n->nout > 1 && (n->nout > 2 || n->out[1])))
		return 0;
	if (n->op == OP_Identity)
		return n->in[0];
	if ((n->op == OP_Cast || n->op == OP_CastLike) && same_elements(m, n->in[0], n->out[0]))
		return n->in[0]; /* whatever the shape */
	zero = dtype_is_int(val(m, n->out[0])->type.dtype);
	switch (n->op) { /* an operand that makes the node do nothing */
	case OP_Add:
		for (uint32_t i = 0; i < 2; i++)
			if (same_type(m, n->in[i], n->out[0]) && all_are(m, n, 1 - i, zero ? 0.0 : -0.0))
				return n->in[i];
		return 0;
	case OP_Mul:
		for (uint32_t i = 0; i < 2; i++)
			if (same_type(m, n->in[i], n->out[0]) && all_are(m, n, 1 - i, 1))
				return n->in[i];
		return 0;
	default: break;
	}
	if (!same_type(m, n->in[0], n->out[0]))
		return 0;
	switch (n->op) {
	case OP_Cast:
	case OP_CastLike:
	case OP_Reshape:
	case OP_Flatten:
	case OP_Squeeze:
	case OP_Unsqueeze:
	case OP_Expand:
	case OP_Tile: return n->in[0];
	case OP_Slice: return forward_steps(m, n) ? n->in[0] : 0;
	case OP_Transpose: return transpose_keeps(m, n) ? n->in[0] : 0;
	case OP_Pad: return all_are(m, n, 1, 0) ? n->in[0] : 0;
	case OP_Sub: return all_are(m, n, 1, 0) ? n->in[0] : 0;
	case OP_Div: return all_are(m, n, 1, 1) ? n->in[0] : 0;
	case OP_Split:
	case OP_Concat:
	case OP_Sum:
	case OP_Mean:
	case OP_Max:
	case OP_Min: return n->nin == 1 || n->op == OP_Split ? n->in[0] : 0;
	case OP_Dropout: return dropout_keeps(m, n) ? n->in[0] : 0;
	default: return 0;
	}
}

bool node_maps_codes(struct module *m, const struct node *n)
{
	enum { CODES = 256 };
	const struct type *t = n->op == OP_Gather ? &val(m, n->in[0])->type : NULL;
	int64_t count;

	return t && (t->dtype == DT_U8 || t->dtype == DT_I8) && t->rank == 1 && poly_is_const(m->dims, t->dims[0], &count) &&
	       count == CODES;
}

val_id node_identity_of(struct module *m, graph_id g, val_id v)
{
	val_id y = node(m, node_new(m, g, OP_Identity, 1, &v, 1))->out[0];

	val(m, y)->type = val(m, v)->type;
	return y;
}
