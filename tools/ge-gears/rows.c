/* Does each row of the results depend on the same row of the inputs only? Rows are counted by a symbol, so the type of a value says along
 * which axis it has them; what is left to see is that no operator looks across rows, and that none uses their number but as a size.
 * In an axis of c rows' elements each (a batch times heads), the elements of a row are neighbours. */
#include <string.h>
#include "gears.h"
#include "op/op.h"

enum { ROWS_NONE = -1, ROWS_SIZES = -2 }; /* the same for any number of rows; whole numbers that may depend on it */

struct rows {
	struct module *m;
	poly_var v;
	const struct known *known;
	int *axis; /* by value */
};

/* A node that is looked at. */
struct look {
	struct rows *r;
	const struct node *n;
};

static int rank_of(const struct rows *r, val_id v) { return val(r->m, v)->type.rank; }
static int axis_in(const struct look *l, uint32_t i) { return i < l->n->nin && l->n->in[i] ? l->r->axis[l->n->in[i]] : ROWS_NONE; }
static int axis_out(const struct look *l) { return l->n->nout && l->n->out[0] ? l->r->axis[l->n->out[0]] : ROWS_NONE; }
static int rank_in(const struct look *l, uint32_t i) { return i < l->n->nin && l->n->in[i] ? rank_of(l->r, l->n->in[i]) : RANK_UNKNOWN; }
static int rank_out(const struct look *l) { return l->n->nout && l->n->out[0] ? rank_of(l->r, l->n->out[0]) : RANK_UNKNOWN; }

/* Is d a multiple of the symbol? */
static bool is_multiple(struct rows *r, dim d)
{
	struct polys *P = r->m->dims;
	poly one = poly_subst(P, d, r->v, poly_const(P, 1));
	int64_t zero;

	if (!poly_is_const(P, poly_subst(P, d, r->v, poly_const(P, 0)), &zero) || zero)
		return false;
	for (int64_t k = 2; k < 5; k++)
		if (poly_subst(P, d, r->v, poly_const(P, k)) != poly_mulc(P, one, k))
			return false;
	return true;
}

/* The axis along which a type has rows; NULL, or why that cannot be said. */
static const char *axis_of_type(struct rows *r, const struct type *t, int *axis)
{
	*axis = ROWS_NONE;
	if (t->other || t->rank == RANK_UNKNOWN)
		return "its shape is not known";
	for (int k = 0; k < t->rank; k++) {
		if (!t->dims[k])
			return "its shape is not known";
		if (!poly_uses(r->m->dims, t->dims[k], r->v))
			continue;
		if (*axis != ROWS_NONE || !is_multiple(r, t->dims[k]))
			return "its shape depends on their number in another way";
		*axis = k;
	}
	return NULL;
}

/* ---- operators; each has an operand with rows. true: it does not look across them ---- */

/* Only operand 0 has rows, along its first axis. */
static bool first_axis(const struct look *l)
{
	for (uint32_t i = 1; i < l->n->nin; i++)
		if (axis_in(l, i) != ROWS_NONE)
			return false;
	return axis_in(l, 0) == 0 && axis_out(l) == 0;
}

static bool batch_norm(const struct look *l) { return first_axis(l) && !attr_i(l->n, "training_mode"); }

/* Aligned from the last axis on. Who has no rows is broadcast. */
static bool elementwise(const struct look *l)
{
	int to = rank_out(l) - axis_out(l);
	int64_t one;

	if (axis_out(l) < 0)
		return false;
	for (uint32_t i = 0; i < l->n->nin; i++) {
		int rank = rank_in(l, i), axis = axis_in(l, i);
		if (axis == ROWS_SIZES || (axis >= 0 && rank - axis != to))
			return false;
		if (axis == ROWS_NONE && rank >= to &&
		    !(poly_is_const(l->r->m->dims, val(l->r->m, l->n->in[i])->type.dims[rank - to], &one) && one == 1))
			return false;
	}
	return true;
}

/* Elementwise in operand 0; the others belong to channels, which rows are not, or to all. */
static bool quantizing(const struct look *l)
{
	for (uint32_t i = 1; i < l->n->nin; i++)
		if (axis_in(l, i) != ROWS_NONE || (rank_in(l, i) != 0 && attr_i(l->n, "block_size")))
			return false;
	int64_t axis = attr_i(l->n, "axis"), rank = rank_in(l, 0);
	return axis_in(l, 0) >= 0 && axis_out(l) == axis_in(l, 0) &&
	       (rank_in(l, 1) == 0 || (axis < 0 ? axis + rank : axis) != axis_in(l, 0));
}

/* Axes of rows of matrices and of stacks of them, from the last on: 1, 2, and 3 and more. */
static bool product(const struct look *l)
{
	int a = axis_in(l, 0) < 0 ? 0 : rank_in(l, 0) - axis_in(l, 0), b = axis_in(l, 1) < 0 ? 0 : rank_in(l, 1) - axis_in(l, 1);
	int64_t one;

	for (uint32_t i = 0; i < l->n->nin; i++)
		if (axis_in(l, i) == ROWS_SIZES || (i > 1 && axis_in(l, i) != ROWS_NONE))
			return false;
	if (a == 1 || b == 2 || (b == 1 && rank_in(l, 1) == 1) || axis_out(l) < 0)
		return false;
	if (a && b)
		return a == b && a >= 3;
	if (a <= 2 && b <= 2)
		return true;
	uint32_t other = a ? 1 : 0; /* a stack of matrices times one matrix, or a stack of one */
	int rank = rank_in(l, other), at = rank - (a ? a : b);
	return at < 0 || (poly_is_const(l->r->m->dims, val(l->r->m, l->n->in[other])->type.dims[at], &one) && one == 1);
}

static bool gemm(const struct look *l)
{
	int row = attr_i(l->n, "transA") ? 1 : 0;
	int64_t one;
	bool c = axis_in(l, 2) == ROWS_NONE;

	if (c && rank_in(l, 2) == 2)
		c = poly_is_const(l->r->m->dims, val(l->r->m, l->n->in[2])->type.dims[0], &one) && one == 1;
	return axis_in(l, 0) == row && axis_in(l, 1) == ROWS_NONE && axis_out(l) == 0 && (c || (axis_in(l, 2) == 0 && rank_in(l, 2) == 2));
}

/* What works along `axis`. */
static bool not_along(const struct look *l, int64_t axis)
{
	int rank = rank_in(l, 0);

	for (uint32_t i = 1; i < l->n->nin; i++)
		if (axis_in(l, i) != ROWS_NONE)
			return false;
	return axis_in(l, 0) >= 0 && axis_out(l) >= 0 && (axis < 0 ? axis + rank : axis) != axis_in(l, 0);
}

static bool along_axis(const struct look *l) { return not_along(l, attr_i(l->n, "axis")); }

/* Of all axes from `axis` on. */
static bool from_axis(const struct look *l)
{
	int64_t axis = attr_i(l->n, "axis");

	return not_along(l, axis) && axis_in(l, 0) < (axis < 0 ? axis + rank_in(l, 0) : axis);
}

/* The axis is operand 1. */
static bool along_operand(const struct look *l)
{
	struct tensor *t = node_const(l->r->m, l->n, 1);
	int64_t axis;

	return t && tensor_ints(l->r->m, t, &axis, 1) == 1 && not_along(l, axis);
}

/* Are the axes of operand i known, and none of them is that of rows? */
static bool axes_without(const struct look *l, uint32_t i)
{
	struct tensor *t = node_const(l->r->m, l->n, i);
	int64_t axes[RANK_MAX];
	int n = t ? tensor_ints(l->r->m, t, axes, RANK_MAX) : -1;

	for (int k = 0; k < n; k++)
		if ((axes[k] < 0 ? axes[k] + rank_in(l, 0) : axes[k]) == axis_in(l, 0))
			return false;
	return n >= 0;
}

static bool reduction(const struct look *l)
{
	bool all = !(l->n->nin > 1 && l->n->in[1]);

	if (all)
		return attr_i(l->n, "noop_with_empty_axes") && axis_in(l, 0) >= 0;
	struct tensor *t = node_const(l->r->m, l->n, 1);
	if (!t || (!tensor_count(t) && !attr_i(l->n, "noop_with_empty_axes")))
		return false;
	return axis_in(l, 0) >= 0 && axis_out(l) >= 0 && axes_without(l, 1);
}

static bool list_without(const struct look *l)
{
	int64_t axes[RANK_MAX];
	int n = attr_list(l->n, "axes", axes, RANK_MAX);

	for (int k = 0; k < n; k++)
		if ((axes[k] < 0 ? axes[k] + rank_in(l, 0) : axes[k]) == axis_in(l, 0))
			return false;
	return n > 0 && axis_in(l, 0) >= 0 && axis_out(l) == axis_in(l, 0);
}

static dim product_before(const struct rows *r, const struct type *t, int axis)
{
	dim d = poly_const(r->m->dims, 1);

	for (int k = 0; k < axis; k++)
		d = poly_mul(r->m->dims, d, t->dims[k]);
	return d;
}

/* Another shape for the same elements: as many blocks of rows as before, so that a row is the same elements. */
static bool view(const struct look *l)
{
	const struct rows *r = l->r;
	int a = axis_in(l, 0), b = axis_out(l);

	if (a < 0 || b < 0)
		return false;
	return product_before(r, &val(r->m, l->n->in[0])->type, a) == product_before(r, &val(r->m, l->n->out[0])->type, b);
}

static bool transpose(const struct look *l)
{
	int64_t perm[RANK_MAX];
	int n = attr_list(l->n, "perm", perm, RANK_MAX), rank = rank_in(l, 0), a = axis_in(l, 0), b = axis_out(l);

	return a >= 0 && b >= 0 && (n > 0 ? b < n && perm[b] == a : b == rank - 1 - a);
}

static bool concat(const struct look *l)
{
	int64_t axis = attr_i(l->n, "axis");

	for (uint32_t i = 0; i < l->n->nin; i++)
		if (axis_in(l, i) < 0 || axis_in(l, i) != axis_out(l))
			return false;
	return (axis < 0 ? axis + rank_out(l) : axis) != axis_out(l);
}

static bool split(const struct look *l) { return along_axis(l) && axis_out(l) == axis_in(l, 0); }

/* Are all steps 1? */
static bool steps_of_one(const struct look *l)
{
	struct tensor *t = node_const(l->r->m, l->n, 4);
	int64_t step[RANK_MAX];
	int n = l->n->nin > 4 && l->n->in[4] ? t ? tensor_ints(l->r->m, t, step, RANK_MAX) : -1 : 0;

	for (int k = 0; k < n; k++)
		if (step[k] != 1)
			return false;
	return n >= 0;
}

/* Rows stay as they are, or all of them are taken. */
static bool slice(const struct look *l)
{
	const struct rows *r = l->r;
	int axis = axis_in(l, 0);

	for (uint32_t i = 1; i < l->n->nin; i++)
		if (axis_in(l, i) != ROWS_NONE && i != 2)
			return false;
	if (axis < 0 || axis_out(l) != axis)
		return false;
	if (steps_of_one(l) && val(r->m, l->n->in[0])->type.dims[axis] == val(r->m, l->n->out[0])->type.dims[axis])
		return true;
	return axis_in(l, 2) == ROWS_NONE && l->n->nin > 3 && l->n->in[3] && axes_without(l, 3);
}

static bool gather(const struct look *l)
{
	if (axis_in(l, 0) == ROWS_NONE)
		return axis_in(l, 1) >= 0 && axis_out(l) >= 0;
	return along_axis(l);
}

static bool pad(const struct look *l)
{
	struct tensor *t = node_const(l->r->m, l->n, 1);
	int64_t pads[2 * RANK_MAX];
	int axis = axis_in(l, 0), n = t ? tensor_ints(l->r->m, t, pads, 2 * RANK_MAX) : -1, rank = rank_in(l, 0);

	for (uint32_t i = 1; i < l->n->nin; i++)
		if (axis_in(l, i) != ROWS_NONE)
			return false;
	if (l->n->nin > 3 && l->n->in[3])
		return axis >= 0 && axes_without(l, 3);
	return axis >= 0 && n == 2 * rank && !pads[axis] && !pads[rank + axis];
}

/* Operand 0 is repeated to a shape, which may tell the number of rows. */
static bool expand(const struct look *l)
{
	int axis = axis_in(l, 0);

	return axis_out(l) >= 0 && (axis == ROWS_NONE || (axis >= 0 && rank_in(l, 0) - axis == rank_out(l) - axis_out(l)));
}

static bool filled(const struct look *l) { return axis_out(l) >= 0; }

static bool tile(const struct look *l)
{
	struct tensor *t = node_const(l->r->m, l->n, 1);
	int64_t times[RANK_MAX];
	int axis = axis_in(l, 0), n = t ? tensor_ints(l->r->m, t, times, RANK_MAX) : -1;

	return axis >= 0 && axis < n && times[axis] == 1 && axis_out(l) == axis;
}

/* The first axis stays, whatever the others become; sizes may be those of the operand. */
static bool resize(const struct look *l)
{
	const struct rows *r = l->r;

	if (axis_in(l, 0) != 0 || axis_out(l) != 0 || !strcmp(attr_s(l->n, "coordinate_transformation_mode"), "tf_crop_and_resize"))
		return false;
	return val(r->m, l->n->in[0])->type.dims[0] == val(r->m, l->n->out[0])->type.dims[0];
}

/* All operands with rows have them along their first axis. */
static bool all_first(const struct look *l)
{
	for (uint32_t i = 0; i < l->n->nin; i++)
		if (axis_in(l, i) > 0 || axis_in(l, i) == ROWS_SIZES)
			return false;
	return axis_in(l, 0) == 0 && axis_out(l) == 0;
}

static bool attention(const struct look *l)
{
	for (uint32_t i = 0; i < 3; i++)
		if (axis_in(l, i) != 0)
			return false;
	if (axis_in(l, 3) == ROWS_NONE && rank_in(l, 3) == 4) {
		int64_t one;
		if (!poly_is_const(l->r->m->dims, val(l->r->m, l->n->in[3])->type.dims[0], &one) || one != 1)
			return false;
	}
	return (axis_in(l, 3) != 0 || rank_in(l, 3) == 4) && all_first(l);
}

/* Steps first, or sequences first. */
static bool recurrent(const struct look *l)
{
	bool first = attr_i(l->n, "layout");

	if (axis_in(l, 0) != !first || axis_in(l, 1) != ROWS_NONE || axis_in(l, 2) != ROWS_NONE || axis_in(l, 3) != ROWS_NONE)
		return false;
	if (axis_in(l, 4) > 0 || axis_in(l, 4) == ROWS_SIZES)
		return false;
	for (uint32_t i = 5; i < l->n->nin && i < 7; i++)
		if (axis_in(l, i) != ROWS_NONE && axis_in(l, i) != !first)
			return false;
	return axis_in(l, 7) == ROWS_NONE;
}

static bool (*const rules[OP_COUNT])(const struct look *) = {
	[OP_ArgMax] = along_axis,
	[OP_ArgMin] = along_axis,
	[OP_Attention] = attention,
	[OP_AveragePool] = first_axis,
	[OP_BatchNormalization] = batch_norm,
	[OP_CausalConvWithState] = all_first,
	[OP_Concat] = concat,
	[OP_ConstantOfShape] = filled,
	[OP_Conv] = first_axis,
	[OP_ConvInteger] = first_axis,
	[OP_ConvTranspose] = first_axis,
	[OP_CumProd] = along_operand,
	[OP_CumSum] = along_operand,
	[OP_DeformConv] = all_first,
	[OP_DepthToSpace] = first_axis,
	[OP_DequantizeLinear] = quantizing,
	[OP_Expand] = expand,
	[OP_Flatten] = view,
	[OP_GRU] = recurrent,
	[OP_Gather] = gather,
	[OP_Gemm] = gemm,
	[OP_GlobalAveragePool] = first_axis,
	[OP_GlobalLpPool] = first_axis,
	[OP_GlobalMaxPool] = first_axis,
	[OP_GridSample] = all_first,
	[OP_GroupNormalization] = first_axis,
	[OP_Hardmax] = along_axis,
	[OP_InstanceNormalization] = first_axis,
	[OP_LRN] = first_axis,
	[OP_LSTM] = recurrent,
	[OP_LayerNormalization] = from_axis,
	[OP_LogSoftmax] = along_axis,
	[OP_LinearAttention] = all_first,
	[OP_LpNormalization] = along_axis,
	[OP_LpPool] = first_axis,
	[OP_MatMul] = product,
	[OP_MatMulInteger] = product,
	[OP_MaxPool] = first_axis,
	[OP_MeanVarianceNormalization] = list_without,
	[OP_Pad] = pad,
	[OP_QuantizeLinear] = quantizing,
	[OP_RMSNormalization] = from_axis,
	[OP_RNN] = recurrent,
	[OP_Reshape] = view,
	[OP_Resize] = resize,
	[OP_RotaryEmbedding] = all_first,
	[OP_Slice] = slice,
	[OP_Softmax] = along_axis,
	[OP_SpaceToDepth] = first_axis,
	[OP_Split] = split,
	[OP_Squeeze] = view,
	[OP_TensorScatter] = all_first,
	[OP_Tile] = tile,
	[OP_TopK] = along_axis,
	[OP_Transpose] = transpose,
	[OP_Unsqueeze] = view,
};

static bool does_not_mix(const struct look *l)
{
	enum opcode op = l->n->op;

	if (rules[op])
		return rules[op](l);
	if (op_is(op, OP_ELEMENTWISE) && l->n->nout == 1)
		return elementwise(l);
	if (op_is(op, OP_REDUCTION))
		return reduction(l);
	return false;
}

/* ---- the graph ---- */

/* Are all elements known, and is none the number of rows? */
static bool without_number(const struct rows *r, val_id v)
{
	const struct known *k = &r->known[v];
	bool without = k->yes;

	for (int i = 0; i < k->n && without; i++)
		without = k->e[i] && !poly_uses(r->m->dims, k->e[i], r->v);
	return without;
}

/* Whole numbers that are made of sizes stay such numbers. */
static bool counts_sizes(const struct look *l)
{
	for (uint32_t k = 0; k < l->n->nout; k++) {
		const struct type *t = l->n->out[k] ? &val(l->r->m, l->n->out[k])->type : NULL;
		if (t && (!(dtype_is_int(t->dtype) || t->dtype == DT_BOOL) || l->r->axis[l->n->out[k]] != ROWS_NONE))
			return false;
	}
	return op_is(l->n->op, OP_PURE) && !op_is(l->n->op, OP_CONTROL) && !op_is(l->n->op, OP_CALL);
}

/* An operand that is only a shape may be made of sizes. */
static bool sizes_allowed(const struct look *l, uint32_t i)
{
	enum opcode op = l->n->op;

	return (i == 0 && op == OP_ConstantOfShape) || (i == 1 && (op == OP_Reshape || op == OP_Expand)) || (i == 2 && op == OP_Slice) ||
	       (i == 3 && op == OP_Resize);
}

static const char *look_at(struct rows *r, node_id id)
{
	struct look l = {r, node(r->m, id)};
	bool rows = false, sizes = l.n->op == OP_Shape || l.n->op == OP_Size, elsewhere = false;
	const char *why = NULL;

	for (uint32_t k = 0; k < l.n->nout; k++)
		if (l.n->out[k])
			why = why ? why : axis_of_type(r, &val(r->m, l.n->out[k])->type, &r->axis[l.n->out[k]]);
	for (uint32_t i = 0; i < l.n->nin; i++) {
		rows |= axis_in(&l, i) >= 0;
		sizes |= axis_in(&l, i) == ROWS_SIZES;
		elsewhere |= axis_in(&l, i) == ROWS_SIZES && !sizes_allowed(&l, i);
	}
	if (!rows && !sizes)
		return axis_out(&l) == ROWS_NONE ? NULL : why ? why : "its shape depends on their number";
	if (why)
		return why;
	if ((l.n->op == OP_Shape || l.n->op == OP_Size) || (elsewhere && !rows)) {
		if (!counts_sizes(&l))
			return "it computes with their number";
		for (uint32_t k = 0; k < l.n->nout; k++)
			if (l.n->out[k] && !without_number(r, l.n->out[k]))
				r->axis[l.n->out[k]] = ROWS_SIZES;
		return NULL;
	}
	return !elsewhere && does_not_mix(&l) ? NULL : "it may look at more than one of them";
}

const char *rows_follow(struct module *m, poly_var v, const struct known *known, int *axis)
{
	struct rows r = {m, v, known, axis};
	const struct graph *g = graph(m, m->main);
	const char *why;

	for (val_id k = 1; k < m->values.n; k++)
		axis[k] = ROWS_NONE;
	for (size_t i = 0; i < g->in.n; i++) {
		if ((why = axis_of_type(&r, &val(m, g->in.a[i])->type, &axis[g->in.a[i]])))
			return arena_printf(&m->arena, "input %s: %s", sym_str(val(m, g->in.a[i])->name), why);
		int a = axis[g->in.a[i]];
		if (a >= 0 && poly_is_var(m->dims, val(m, g->in.a[i])->type.dims[a]) != v)
			return arena_printf(&m->arena, "input %s has several elements for each", sym_str(val(m, g->in.a[i])->name));
	}
	for (size_t i = 0; i < g->nodes.n; i++)
		if ((why = look_at(&r, g->nodes.a[i])))
			return arena_printf(&m->arena, "%s: %s", node_where(m, g->nodes.a[i], &m->arena), why);
	for (size_t k = 0; k < g->out.n; k++) {
		int a = axis[g->out.a[k]];
		if (a == ROWS_SIZES || (a >= 0 && poly_is_var(m->dims, val(m, g->out.a[k])->type.dims[a]) != v))
			return arena_printf(&m->arena, "output %s is not as many rows", sym_str(graph(m, m->main)->out_name.a[k]));
	}
	return NULL;
}
