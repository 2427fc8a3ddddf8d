/* Shapes and types while derivatives are made, and the nodes that change them. */
#include "grad/rows.h"

enum { CHAIN_MAX = 1000 };

static const struct type *type_of(struct grad *d, val_id v, int depth)
{
	const struct value *p = val(d->m, v);
	node_id def = p->def;

	if (p->kind != VAL_NODE || v < d->nvalues || (p->type.dtype && p->type.rank >= 0) || depth > CHAIN_MAX)
		return &val(d->m, v)->type;
	for (uint32_t i = 0; i < node(d->m, def)->nin; i++)
		if (node(d->m, def)->in[i])
			type_of(d, node(d->m, def)->in[i], depth + 1);
	infer_node(d->m, def, NULL);
	return &val(d->m, v)->type;
}

const struct type *grad_type(struct grad *d, val_id v) { return d->type ? d->type(d->arg, v) : type_of(d, v, 0); }

val_id grad_make(struct grad *d, enum opcode op, int nin, const val_id *in)
{
	while (nin && !in[nin - 1])
		nin--;
	node_id n = node_new(d->m, d->graph, op, nin, in, 1);
	return node(d->m, n)->out[0];
}

val_id grad_scalar(struct grad *d, enum dtype t, double c)
{
	struct tensor *s = tensor_new(&d->m->arena, t, 0, NULL);

	tensor_set(s, 0, c);
	return const_tensor(d->m, 0, s);
}

val_id grad_ints(struct grad *d, int n, const int64_t *v)
{
	return const_copy(d->m, 0, DT_I64, 1, (int64_t[]){n}, v, (size_t)n * sizeof *v);
}

/* v's shape at run time; a constant where it is known. */
static val_id shape_of(struct grad *d, val_id v)
{
	int64_t dims[RANK_MAX];
	const struct type *t = grad_type(d, v);

	if (t->rank >= 0 && type_dims(d->m, t, dims))
		return grad_ints(d, t->rank, dims);
	return grad_make(d, OP_Shape, 1, &v);
}

/* y, which has v's shape, as far as that is known. */
static val_id typed_like(struct grad *d, val_id y, val_id v, enum dtype t)
{
	struct type like = *grad_type(d, v);

	like.dtype = t;
	val(d->m, y)->type = like;
	return y;
}

val_id grad_shaped_like(struct grad *d, enum opcode op, val_id g, val_id v)
{
	val_id y = grad_make(d, op, 2, (val_id[]){g, shape_of(d, v)});

	return typed_like(d, y, v, grad_type(d, g)->dtype);
}

val_id grad_filled_like(struct grad *d, val_id v, enum dtype t, double c)
{
	val_id shape = shape_of(d, v), y = grad_make(d, OP_ConstantOfShape, 1, &shape);
	struct tensor *s = tensor_new(&d->m->arena, t, 1, (int64_t[]){1});

	tensor_set(s, 0, c);
	attr_set(d->m, val(d->m, y)->def, (struct attr){.name = intern("value"), .kind = ATTR_TENSOR, .u.tensor = s});
	return typed_like(d, y, v, t);
}

val_id grad_as_large(struct grad *d, val_id g, val_id v)
{
	struct type t = *grad_type(d, v), big = *grad_type(d, g);
	int64_t axes[RANK_MAX], one, front[RANK_MAX];
	int n = 0, more = big.rank - t.rank;

	if (t.rank < 0 || big.rank < t.rank)
		return 0;
	for (int k = 0; k < big.rank; k++) {
		bool known = k < more || (t.dims[k - more] != POLY_UNKNOWN && big.dims[k] != POLY_UNKNOWN);
		if (!known)
			return 0;
		if (k >= more && t.dims[k - more] == big.dims[k])
			continue;
		if (k >= more && !(poly_is_const(d->m->dims, t.dims[k - more], &one) && one == 1))
			return 0;
		axes[n++] = k;
	}
	if (!n)
		return g;
	g = grad_make(d, OP_ReduceSum, 2, (val_id[]){g, grad_ints(d, n, axes)});
	if (n == more)
		attr_set_int(d->m, val(d->m, g)->def, "keepdims", 0);
	if (!more || n == more)
		return g;
	for (int k = 0; k < more; k++)
		front[k] = k;
	return grad_make(d, OP_Squeeze, 2, (val_id[]){g, grad_ints(d, more, front)});
}

int rank_of(const struct chain *c, val_id v) { return grad_type(c->d, v)->rank; }

bool extents(const struct chain *c, val_id v, int64_t *dims)
{
	const struct type *t = grad_type(c->d, v);

	return t->rank >= 0 && type_dims(module_of(c), t, dims);
}

val_id cast(const struct chain *c, val_id v, enum dtype t)
{
	return grad_type(c->d, v)->dtype == t ? v : with_int(c, un(c, OP_Cast, v), "to", dtype_to_onnx(t));
}

val_id reshaped(const struct chain *c, val_id v, int n, const int64_t *dims) { return bin(c, OP_Reshape, v, grad_ints(c->d, n, dims)); }

val_id transposed(const struct chain *c, val_id v, int n, const int64_t *perm)
{
	return with_ints(c, un(c, OP_Transpose, v), "perm", n, perm);
}

val_id reduced(const struct chain *c, enum opcode op, val_id v, int n, const int64_t *axes)
{
	return bin(c, op, v, grad_ints(c->d, n, axes));
}

val_id channelwise(const struct chain *c, val_id v, int rank)
{
	int64_t dims[RANK_MAX];

	for (int k = 0; k < rank - 1; k++)
		dims[k] = k ? 1 : -1;
	return rank > 2 ? reshaped(c, v, rank - 1, dims) : v;
}
