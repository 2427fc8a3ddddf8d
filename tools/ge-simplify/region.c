/* What each kind of operator is in another order of axes. Axis a of a value is axis perm[a] in the new order. */
#include <string.h>
#include "op/op.h"
#include "region.h"
#include "rules.h"

/* How an operator depends on the order of axes. */
enum dependence {
	NO_ORDER, /* it needs the order it has */
	EACH,     /* element by element */
	ALONG,    /* attribute axis; of a Concat all operands are values */
	REDUCES,  /* axes in operand 1, or attribute axis */
	PADS,     /* operand 1 has two numbers an axis */
	SLICES,   /* operand 3 says the axes */
	RESIZES,  /* operands 2 or 3 have a number an axis */
	REPEATS,  /* operand 1 has a number an axis, the last ones */
};

static enum dependence dependence(enum opcode op)
{
	if (op_is(op, OP_ELEMENTWISE))
		return EACH;
	if (op_is(op, OP_REDUCTION))
		return REDUCES;
	switch (op) {
	case OP_Concat:
	case OP_Hardmax:
	case OP_LogSoftmax:
	case OP_LpNormalization:
	case OP_Softmax:
	case OP_Split: return ALONG;
	case OP_Pad: return PADS;
	case OP_Slice: return SLICES;
	case OP_Resize: return RESIZES;
	case OP_Expand:
	case OP_Tile: return REPEATS;
	default: return NO_ORDER;
	}
}

static const struct node *at(const struct region *g, node_id n) { return node(rw_module(g->rw), n); }

static bool quantises(enum opcode op) { return op == OP_QuantizeLinear || op == OP_DequantizeLinear; }

/* Operands from this one on are parameters. */
static uint32_t values_of(enum opcode op)
{
	if (op == OP_Concat || (op_is(op, OP_ELEMENTWISE) && op != OP_Clip && op != OP_CastLike && !quantises(op)))
		return UINT32_MAX;
	return 1;
}

static bool one_element(struct region *g, val_id v) { return type_count(rw_module(g->rw), rw_type(g->rw, v)) == 1; }

enum region_operand region_operand(struct region *g, node_id n, uint32_t i)
{
	enum opcode op = at(g, n)->op;
	val_id v = rw_in(g->rw, n, i);
	const struct type *t = v ? rw_type(g->rw, v) : NULL;

	if (!v || i >= values_of(op))
		return OPERAND_KEPT;
	if (t->other || t->rank == RANK_UNKNOWN || t->rank > g->rank)
		return OPERAND_NEVER;
	if (dependence(op) == EACH && one_element(g, v))
		return OPERAND_KEPT;
	if (rw_const(g->rw, v))
		return dtype_size(t->dtype) && (t->rank == g->rank || dependence(op) == EACH) ? OPERAND_CONST : OPERAND_NEVER;
	return t->rank == g->rank ? OPERAND_MOVED : OPERAND_NEVER;
}

static int64_t axis_from_start(const struct region *g, int64_t axis) { return axis < 0 ? axis + g->rank : axis; }

/* Constant axes of operand i, from the start; -1: they are not known. Without the operand: 0. */
static int axes_of(const struct region *g, node_id n, uint32_t i, int64_t axes[RANK_MAX])
{
	val_id v = rw_in(g->rw, n, i);
	int count = v ? rw_ints(g->rw, v, axes, RANK_MAX) : 0;

	for (int k = 0; k < count; k++) {
		axes[k] = axis_from_start(g, axes[k]);
		if (axes[k] < 0 || axes[k] >= g->rank)
			return -1;
	}
	return count;
}

static bool has_axis(enum opcode op) { return op == OP_ArgMax || op == OP_ArgMin; }

/* All axes that n reduces; false: they are not known. */
static bool reduced_axes(const struct region *g, node_id n, bool reduced[RANK_MAX])
{
	int64_t axes[RANK_MAX];
	int count = has_axis(at(g, n)->op) ? 1 : axes_of(g, n, 1, axes);

	if (has_axis(at(g, n)->op))
		axes[0] = axis_from_start(g, attr_i(at(g, n), "axis"));
	memset(reduced, 0, sizeof *reduced * RANK_MAX);
	for (int k = 0; k < count; k++)
		reduced[axes[k]] = true;
	if (!count && !attr_i(at(g, n), "noop_with_empty_axes"))
		for (int k = 0; k < g->rank; k++)
			reduced[k] = true;
	return count >= 0;
}

bool region_drops_axes(const struct region *g, node_id n, bool reduced[RANK_MAX])
{
	return dependence(at(g, n)->op) == REDUCES && !attr_i(at(g, n), "keepdims") && reduced_axes(g, n, reduced);
}

static int attr_count(const struct node *n, const char *name)
{
	int count;

	attr_ints(n, name, &count);
	return count;
}

static int ints_of(struct region *g, node_id n, uint32_t i)
{
	int64_t v[2 * RANK_MAX];

	return rw_ints(g->rw, rw_in(g->rw, n, i), v, 2 * RANK_MAX);
}

static bool takes_parameters(struct region *g, node_id n)
{
	bool reduced[RANK_MAX];
	int64_t axes[RANK_MAX], count;
	struct tensor *t;
	val_id v;
	int k;

	switch (dependence(at(g, n)->op)) {
	case EACH:
		t = quantises(at(g, n)->op) ? rw_const(g->rw, rw_in(g->rw, n, 1)) : NULL;
		return !quantises(at(g, n)->op) || (t && (tensor_count(t) == 1 || (t->rank == 1 && !attr_i(at(g, n), "block_size"))));
	case ALONG: return true;
	case REDUCES: return reduced_axes(g, n, reduced);
	case PADS: k = axes_of(g, n, 3, axes); return k >= 0 && ints_of(g, n, 1) == 2 * (rw_in(g->rw, n, 3) ? k : g->rank);
	case SLICES: k = axes_of(g, n, 3, axes); return rw_in(g->rw, n, 3) ? k >= 0 : ints_of(g, n, 1) >= 0 && ints_of(g, n, 1) <= g->rank;
	case RESIZES:
		if ((v = rw_in(g->rw, n, 1)) && type_count(rw_module(g->rw), rw_type(g->rw, v)) != 0)
			return false;
		if (attr_count(at(g, n), "axes"))
			return true;
		v = rw_in(g->rw, n, 2);
		return v ? rw_doubles(g->rw, v, &count) && count == g->rank : ints_of(g, n, 3) == g->rank;
	case REPEATS: k = ints_of(g, n, 1); return at(g, n)->op == OP_Tile ? k == g->rank : k >= 0 && k <= g->rank;
	default: return false;
	}
}

bool region_takes(struct region *g, node_id n)
{
	const struct node *x = at(g, n);
	bool moved = false, wanted = false, reduced[RANK_MAX];

	if (dependence(x->op) == NO_ORDER)
		return false;
	for (uint32_t i = 0; i < x->nin; i++) {
		enum region_operand o = region_operand(g, n, i);
		if (o == OPERAND_NEVER)
			return false;
		moved |= o == OPERAND_MOVED;
	}
	for (uint32_t k = 0; k < x->nout; k++) {
		const struct type *t = x->out[k] ? rw_type(g->rw, x->out[k]) : NULL;
		wanted |= t && rw_uses(g->rw, x->out[k]) > 0;
		if (t && (t->other || (t->rank != g->rank && !region_drops_axes(g, n, reduced))))
			return false;
	}
	return moved && wanted && takes_parameters(g, n);
}

/* ---- in the new order ---- */

static void move_axis(struct region *g, node_id to, node_id from)
{
	attr_set_int(rw_module(g->rw), to, "axis", g->perm[axis_from_start(g, attr_i(at(g, from), "axis"))]);
}

static val_id moved_axes(struct region *g, node_id n, uint32_t i)
{
	int64_t axes[RANK_MAX];
	int count = axes_of(g, n, i, axes);

	for (int k = 0; k < count; k++)
		axes[k] = g->perm[axes[k]];
	return rw_constant_ints(g->rw, count, axes);
}

/* So many numbers for each axis, in `sets` rows of count; ones before them where they are too few. */
static val_id moved_numbers(struct region *g, val_id v, int sets)
{
	int64_t old[2 * RANK_MAX], new_[2 * RANK_MAX];
	int count = rw_ints(g->rw, v, old, 2 * RANK_MAX) / sets, missing = g->rank - count;

	for (int s = 0; s < sets; s++)
		for (int i = 0; i < g->rank; i++)
			new_[s * g->rank + g->perm[i]] = i < missing ? 1 : old[s * count + i - missing];
	return rw_constant_ints(g->rw, sets * g->rank, new_);
}

static val_id moved_scales(struct region *g, val_id v)
{
	int64_t count;
	const double *old = rw_doubles(g->rw, v, &count);
	double new_[RANK_MAX];

	for (int i = 0; i < g->rank; i++)
		new_[g->perm[i]] = old[i];
	return rw_constant(g->rw, rw_type(g->rw, v)->dtype, 1, &count, new_);
}

/* Constant v of the region's rank or, broadcast, of a lower one. */
static val_id moved_constant(struct region *g, val_id v)
{
	struct module *m = rw_module(g->rw);
	struct tensor *t = rw_const(g->rw, v), *y;
	const unsigned char *from = tensor_data(m, t);
	size_t size = dtype_size(t->dtype);
	int64_t dims[RANK_MAX], step[RANK_MAX], i[RANK_MAX] = {0}, n = 1;
	int missing = g->rank - t->rank;

	for (int k = g->rank; k-- > 0;) { /* by axes of the old order */
		int64_t d = k < missing ? 1 : t->dims[k - missing];
		dims[g->perm[k]] = d;
		step[g->perm[k]] = n;
		n *= d;
	}
	y = tensor_new(&m->arena, t->dtype, g->rank, dims);
	unsigned char *to = (unsigned char *)y->data;
	for (int64_t k = 0, at = 0; k < n; k++) {
		memcpy(to + (size_t)k * size, from + (size_t)at * size, size);
		for (int a = g->rank; a-- > 0;) {
			at += step[a];
			if (++i[a] < dims[a])
				break;
			at -= step[a] * dims[a];
			i[a] = 0;
		}
	}
	return rw_constant_tensor(g->rw, y);
}

static val_id first_axes(struct region *g, int count)
{
	int64_t axes[RANK_MAX];

	for (int k = 0; k < count; k++)
		axes[k] = g->perm[k];
	return rw_constant_ints(g->rw, count, axes);
}

/* Operands that say something of axes; *nin may grow by one. */
static void move_parameters(struct region *g, node_id n, val_id *in, uint32_t *nin)
{
	switch (dependence(at(g, n)->op)) {
	case REDUCES:
		if (*nin > 1 && in[1])
			in[1] = moved_axes(g, n, 1);
		break;
	case PADS:
		if (*nin > 3 && in[3])
			in[3] = moved_axes(g, n, 3);
		else
			in[1] = moved_numbers(g, in[1], 2);
		break;
	case SLICES:
		in[3] = *nin > 3 && in[3] ? moved_axes(g, n, 3) : first_axes(g, ints_of(g, n, 1));
		*nin = *nin > 4 ? *nin : 4;
		break;
	case RESIZES:
		if (attr_count(at(g, n), "axes"))
			break;
		if (*nin > 2 && in[2])
			in[2] = moved_scales(g, in[2]);
		else
			in[3] = moved_numbers(g, in[3], 1);
		break;
	case REPEATS: in[1] = moved_numbers(g, in[1], 1); break;
	default: break;
	}
}

static void move_attributes(struct region *g, node_id to, node_id n)
{
	struct module *m = rw_module(g->rw);
	enum opcode op = at(g, n)->op;
	int count;
	const int64_t *axes = attr_ints(at(g, n), "axes", &count);
	int64_t moved[RANK_MAX];

	if (dependence(op) == ALONG || has_axis(op) || (quantises(op) && !one_element(g, rw_in(g->rw, n, 1))))
		move_axis(g, to, n);
	if (dependence(op) != RESIZES || !axes || count > g->rank)
		return;
	for (int k = 0; k < count; k++)
		moved[k] = g->perm[axis_from_start(g, axes[k])];
	attr_set_ints(m, to, "axes", count, moved);
}

node_id region_node(struct region *g, node_id n, const val_id *operands)
{
	struct module *m = rw_module(g->rw);
	uint32_t nin = at(g, n)->nin;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 4);

	for (uint32_t i = 0; i < nin; i++)
		in[i] = region_operand(g, n, i) == OPERAND_CONST ? moved_constant(g, operands[i]) : operands[i];
	move_parameters(g, n, in, &nin);
	val_id v = rw_nodes_out(g->rw, n, at(g, n)->op, (int)nin, in, (int)at(g, n)->nout);
	node_id to = rw_node_of(g->rw, v);
	rw_copy_attrs(g->rw, to, n);
	move_attributes(g, to, n);
	return to;
}
