/* Fewer nodes for those who count them (--fewest): a compiler does as well, or better, with what these take in. */
#include <string.h>
#include "op/op.h"
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

/* Value c spreads over the matrix y as it is: it has no axis that y lacks, and none is longer. */
static bool spreads_over(struct rewrite *rw, val_id c, val_id y)
{
	const struct type *s = rw_type(rw, c), *t = rw_type(rw, y);
	int64_t d;

	if (s->rank == RANK_UNKNOWN || s->rank > t->rank || s->dtype != t->dtype)
		return false;
	for (int i = 0; i < s->rank; i++) {
		dim from = s->dims[i], to = t->dims[t->rank - s->rank + i];
		if (!from || ((!poly_is_const(rw_module(rw)->dims, from, &d) || d != 1) && from != to))
			return false;
	}
	return true;
}

/* A product of two matrices, then a sum. */
static const char *to_gemm(struct rewrite *rw, node_id n)
{
	for (uint32_t i = 0; i < 2; i++) {
		node_id mul = rw_def1(rw, rw_in(rw, n, i), OP_MatMul);
		val_id c = rw_in(rw, n, 1 - i), v;
		if (!mul)
			continue;
		if (rw_type(rw, rw_in(rw, mul, 0))->rank != 2 || rw_type(rw, rw_in(rw, mul, 1))->rank != 2)
			return "its operands are no matrices";
		if (rw_type(rw, c)->dtype != DT_F32 && rw_type(rw, c)->dtype != DT_F64)
			return "Gemm of this type is not everywhere";
		if (!rw_like_type(rw, result(rw, mul), result(rw, n)) || !spreads_over(rw, c, result(rw, mul)))
			return "what is added does not spread over the product";
		v = rw_node(rw, n, OP_Gemm, 3, (val_id[]){rw_in(rw, mul, 0), rw_in(rw, mul, 1), c});
		rw_replace(rw, result(rw, n), v);
		return NULL;
	}
	return NO_MATCH;
}

/* Slice n takes one place, *at, along one axis, and step 1. */
static bool one_place(struct rewrite *rw, node_id n, int64_t *axis, int64_t *at)
{
	const struct type *t = rw_type(rw, rw_in(rw, n, 0));
	int64_t end, step = 1;

	*axis = 0;
	if (t->rank == RANK_UNKNOWN || rw_ints(rw, rw_in(rw, n, 1), at, 1) != 1 || rw_ints(rw, rw_in(rw, n, 2), &end, 1) != 1)
		return false;
	if ((rw_in(rw, n, 3) && rw_ints(rw, rw_in(rw, n, 3), axis, 1) != 1) ||
	    (rw_in(rw, n, 4) && rw_ints(rw, rw_in(rw, n, 4), &step, 1) != 1))
		return false;
	*axis += *axis < 0 ? t->rank : 0;
	return step == 1 && *at >= 0 && *at < INT64_MAX && end == *at + 1 && *axis >= 0 && *axis < t->rank;
}

/* The shape of v is that of x without the axis. */
static bool shape_without(struct rewrite *rw, val_id v, val_id x, int64_t axis)
{
	const struct type *s = rw_type(rw, v), *t = rw_type(rw, x);

	if (s->rank != t->rank - 1)
		return false;
	for (int i = 0; i < s->rank; i++)
		if (!s->dims[i] || s->dims[i] != t->dims[i < axis ? i : i + 1])
			return false;
	return true;
}

/* A Slice of one place that only n uses, whose axis n drops. */
static const char *to_gather(struct rewrite *rw, node_id n)
{
	node_id slice = rw_def1(rw, rw_in(rw, n, 0), OP_Slice);
	int64_t axis, at, dropped;
	struct tensor *index;
	val_id v;

	if (!slice || !one_place(rw, slice, &axis, &at))
		return NO_MATCH;
	if (node(rw_module(rw), n)->op == OP_Squeeze && rw_in(rw, n, 1)) {
		if (rw_ints(rw, rw_in(rw, n, 1), &dropped, 1) != 1 ||
		    dropped + (dropped < 0 ? rw_type(rw, rw_in(rw, n, 0))->rank : 0) != axis)
			return "it drops another axis";
	} else if (!shape_without(rw, result(rw, n), rw_in(rw, slice, 0), axis)) {
		return "the shape is not known, or another axis goes";
	}
	index = tensor_new(&rw_module(rw)->arena, DT_I64, 0, NULL);
	*(int64_t *)index->data = at;
	v = rw_node(rw, n, OP_Gather, 2, (val_id[]){rw_in(rw, slice, 0), rw_constant_tensor(rw, index)});
	attr_set_int(rw_module(rw), rw_node_of(rw, v), "axis", axis);
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

/* A product of x with constant weights, and the constant that is added to it. */
struct column {
	val_id weight, bias, out; /* bias 0: nothing is added */
};
enum { COLUMNS_MAX = 16 };

static bool read_column(struct rewrite *rw, node_id n, val_id x, struct column *c)
{
	struct tensor *w, *b;
	node_id add;

	if (node(rw_module(rw), n)->op != OP_MatMul || rw_in(rw, n, 0) != x)
		return false;
	*c = (struct column){.weight = rw_in(rw, n, 1), .out = result(rw, n)};
	w = rw_const(rw, c->weight);
	if (!w || w->rank != 2 || w->dims[1] < 1 || !dtype_is_float(w->dtype) || rw_uses(rw, c->weight) != 1)
		return false;
	add = rw_user1(rw, c->out, OP_Add);
	for (uint32_t i = 0; add && i < 2; i++) {
		b = rw_const(rw, rw_in(rw, add, i));
		if (b && b->rank == 1 && b->dims[0] == w->dims[1] && b->dtype == w->dtype) {
			c->bias = rw_in(rw, add, i);
			c->out = result(rw, add);
		}
	}
	return true;
}

/* The columns' weights (or biases: rows 1, rank 1) beside each other. */
static val_id beside(struct rewrite *rw, const struct column *c, int n, int64_t rows, int rank, const int64_t *width, int64_t all)
{
	struct module *m = rw_module(rw);
	struct tensor *first = rw_const(rw, rank == 2 ? c[0].weight : c[0].bias);
	struct tensor *to = tensor_new(&m->arena, first->dtype, rank, rank == 2 ? (int64_t[]){rows, all} : &all);
	size_t size = dtype_size(first->dtype), at = 0;

	for (int k = 0; k < n; k++) {
		const char *from = tensor_data(m, rw_const(rw, rank == 2 ? c[k].weight : c[k].bias));
		size_t part = (size_t)width[k] * size;
		for (int64_t i = 0; i < rows; i++)
			memcpy((char *)to->data + (size_t)i * (size_t)all * size + at, from + (size_t)i * part, part);
		at += part;
	}
	return rw_constant_tensor(rw, to);
}

/* Products of one value with constant weights become one product, whose columns are split: all with something added to
 * each, or all without. */
static const char *side_by_side(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id user[COLUMNS_MAX];
	struct column c[COLUMNS_MAX], own;
	int64_t width[COLUMNS_MAX], all = 0, rows;
	val_id x = rw_in(rw, n, 0), v;
	enum dtype t;
	int count = 0, users;

	if (rw_const(rw, x) || !read_column(rw, n, x, &own))
		return NO_MATCH;
	if ((users = rw_users(rw, x, user, COLUMNS_MAX)) < 2)
		return users < 0 ? "too many nodes use its operand" : NO_MATCH;
	rows = rw_const(rw, own.weight)->dims[0];
	t = rw_const(rw, own.weight)->dtype;
	for (int i = 0; i < users; i++) {
		struct tensor *w;
		if (!read_column(rw, user[i], x, &c[count]) || !c[count].bias != !own.bias)
			continue;
		w = rw_const(rw, c[count].weight);
		if (w->dtype != t || w->dims[0] != rows || w->dims[1] > INT32_MAX)
			continue;
		all += width[count++] = w->dims[1];
	}
	if (count < (own.bias ? 2 : 3))
		return "too few products of its operand";
	v = rw_node(rw, n, OP_MatMul, 2, (val_id[]){x, beside(rw, c, count, rows, 2, width, all)});
	if (own.bias)
		v = rw_node(rw, n, OP_Add, 2, (val_id[]){v, beside(rw, c, count, 1, 1, width, all)});
	v = rw_nodes_out(rw, n, OP_Split, 2, (val_id[]){v, rw_constant_ints(rw, count, width)}, count);
	attr_set_int(m, rw_node_of(rw, v), "axis", -1);
	for (int i = 0; i < count; i++)
		rw_replace(rw, c[i].out, node(m, rw_node_of(rw, v))->out[i]);
	return NULL;
}

const struct rule rules_fewest[] = {
	{"to-gemm", OP_Add, to_gemm, "a product of matrices and a sum become Gemm", MEASURE_WORK},
	{"to-gather", OP_Squeeze, to_gather, "Slice of one place whose axis goes becomes Gather", MEASURE_WORK},
	{"to-gather", OP_Reshape, to_gather, "Slice of one place whose axis goes becomes Gather", MEASURE_RESHAPED},
	{"side-by-side", OP_MatMul, side_by_side, "products of one value with constants become one, then Split", MEASURE_WORK},
	{0},
};
