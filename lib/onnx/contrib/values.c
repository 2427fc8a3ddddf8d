/* What is known of values while a file is read, and constants: for operators in the words of others. */
#include "onnx/contrib.h"

enum { CHAIN_MAX = 1000 };

/* Was this node asked before? Only the first time its operands are looked at: what is not known then will not be. */
static bool asked(struct importer *c, node_id n)
{
	while (c->asked.n <= n)
		vec_push(&c->asked, false);
	bool before = c->asked.a[n];
	c->asked.a[n] = true;
	return before;
}

void contrib_name(struct contrib *x, node_id made)
{
	struct node *n = node(x->m, made);
	sym of = self(x)->name;

	for (uint32_t i = 0; !of && i < self(x)->nout; i++)
		of = self(x)->out[i] ? val(x->m, self(x)->out[i])->name : 0;
	if (made >= x->first && !n->name)
		n->name = intern_printf("%s/%s/%zu", of ? sym_str(of) : "", sym_str(self(x)->optype), made - x->first + 1);
}

/* What is known of v's type; nodes before it are inferred for that. */
static const struct type *type_of(struct contrib *x, val_id v, int depth)
{
	const struct value *p = val(x->m, v);
	node_id def = p->def;

	if (p->kind != VAL_NODE || (p->type.dtype && p->type.rank >= 0) || depth > CHAIN_MAX)
		return &val(x->m, v)->type;
	bool first = !asked(x->c, def);
	for (uint32_t i = 0; first && i < node(x->m, def)->nin; i++)
		if (node(x->m, def)->in[i])
			type_of(x, node(x->m, def)->in[i], depth + 1);
	contrib_name(x, def);
	if (node(x->m, def)->op != OP_OTHER && !op_is(node(x->m, def)->op, OP_CONTROL))
		infer_node(x->m, def, NULL);
	return &val(x->m, v)->type;
}

const struct type *contrib_type(struct contrib *x, val_id v) { return type_of(x, v, 0); }

int contrib_rank(struct contrib *x, val_id v) { return contrib_type(x, v)->rank; }

bool contrib_extent(struct contrib *x, val_id v, int axis, int64_t *n)
{
	const struct type *t = contrib_type(x, v);

	return t->rank > axis && t->dims[axis] != POLY_UNKNOWN && poly_is_const(x->m->dims, t->dims[axis], n);
}

bool contrib_fixed(struct contrib *x, uint32_t i, int axis, int64_t *n)
{
	int rank = operand(x, i) ? contrib_rank(x, operand(x, i)) : -1;

	return rank > 0 && axis >= -rank && axis < rank && contrib_extent(x, operand(x, i), axis < 0 ? axis + rank : axis, n);
}

val_id contrib_cast(struct contrib *x, val_id v, enum dtype t)
{
	val_id y;

	if (contrib_type(x, v)->dtype == t)
		return v;
	y = un(x, OP_Cast, v);
	attr_set_int(x->m, made(x, y), "to", dtype_to_onnx(t));
	return y;
}

val_id contrib_ints(struct contrib *x, int n, const int64_t *v)
{
	return const_copy(x->m, 0, DT_I64, 1, (int64_t[]){n}, v, (size_t)n * sizeof *v);
}

val_id contrib_scalar(struct contrib *x, enum dtype t, double c)
{
	struct tensor *s = tensor_new(&x->m->arena, t, 0, NULL);

	if (!dtype_is_int(t) && !dtype_is_float(t) && !dtype_is_float8(t) && t != DT_BOOL)
		import_die(x->c, "an operand is %s; it takes numbers", t ? dtype_name(t) : "of no known type");
	tensor_set(s, 0, c);
	return const_tensor(x->m, 0, s);
}

val_id contrib_number(struct contrib *x, double c) { return contrib_scalar(x, DT_F32, c); }

val_id contrib_reshaped(struct contrib *x, val_id v, int n, const int64_t *dims) { return bin(x, OP_Reshape, v, contrib_ints(x, n, dims)); }

val_id contrib_transposed(struct contrib *x, val_id v, int n, const int64_t *perm)
{
	v = un(x, OP_Transpose, v);
	attr_set_ints(x->m, made(x, v), "perm", n, perm);
	return v;
}

val_id contrib_channels(struct contrib *x, val_id v, int rank, bool first)
{
	int64_t perm[RANK_MAX] = {0};

	for (int k = 1; k < rank; k++)
		perm[k] = first ? (k == 1 ? rank - 1 : k - 1) : k == rank - 1 ? 1 : k + 1;
	return contrib_transposed(x, v, rank, perm);
}

val_id contrib_joined(struct contrib *x, int n, const val_id *v, int64_t axis)
{
	return with_int(x, make(x, OP_Concat, n, v), "axis", axis);
}

val_id contrib_size(struct contrib *x, val_id v, int axis)
{
	val_id y = un(x, OP_Shape, v);

	with_int(x, y, "start", axis);
	return axis == -1 ? y : with_int(x, y, "end", axis + 1);
}

val_id contrib_part(struct contrib *x, val_id v, int64_t axis, val_id from, val_id to)
{
	return make(x, OP_Slice, 4, (val_id[]){v, from, to, contrib_ints(x, 1, &axis)});
}

const val_id *contrib_split(struct contrib *x, val_id v, int64_t axis, int n, const int64_t *sizes)
{
	node_id id = node_new(x->m, self(x)->graph, OP_Split, sizes ? 2 : 1, (val_id[]){v, sizes ? contrib_ints(x, n, sizes) : 0}, n);

	attr_set_int(x->m, id, "axis", axis);
	if (!sizes)
		attr_set_int(x->m, id, "num_outputs", n);
	return node(x->m, id)->out;
}

/* y, which has v's shape, as far as that is known. */
static val_id shaped_like(struct contrib *x, val_id y, val_id v, enum dtype t)
{
	struct type like = *contrib_type(x, v);

	like.dtype = t;
	val(x->m, y)->type = like;
	return y;
}

val_id contrib_shaped_like(struct contrib *x, enum opcode op, val_id g, val_id v)
{
	return shaped_like(x, bin(x, op, g, un(x, OP_Shape, v)), v, contrib_type(x, g)->dtype);
}

val_id contrib_filled_like(struct contrib *x, val_id v, enum dtype t, double c)
{
	val_id y = un(x, OP_ConstantOfShape, un(x, OP_Shape, v));
	struct tensor *s = tensor_new(&x->m->arena, t, 1, (int64_t[]){1});

	tensor_set(s, 0, c);
	attr_set(x->m, made(x, y), (struct attr){.name = intern("value"), .kind = ATTR_TENSOR, .u.tensor = s});
	return shaped_like(x, y, v, t);
}
