/* Reshape and its kin become one Reshape to a constant shape; Transposes are composed. */
#include <string.h>
#include "rules.h"

val_id shape_operand(struct rewrite *rw, const struct type *t)
{
	struct module *m = rw_module(rw);
	int64_t shape[RANK_MAX];
	int open = 0;

	if (t->other || t->rank == RANK_UNKNOWN)
		return 0;
	for (int i = 0; i < t->rank; i++) {
		if (!t->dims[i] || !poly_is_const(m->dims, t->dims[i], &shape[i])) {
			shape[i] = -1;
			open++;
		}
		if (shape[i] == 0)
			return 0;
	}
	return open > 1 ? 0 : rw_constant_ints(rw, t->rank, shape);
}

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

static bool is_reshape(enum opcode op) { return op == OP_Reshape || op == OP_Flatten || op == OP_Squeeze || op == OP_Unsqueeze; }

static const char *replace_by_reshape(struct rewrite *rw, node_id n, val_id x, val_id shape)
{
	val_id v = rw_node(rw, n, OP_Reshape, 2, (val_id[]){x, shape});

	rw_replace(rw, result(rw, n), v);
	return NULL;
}

static const char *to_reshape(struct rewrite *rw, node_id n)
{
	val_id shape = shape_operand(rw, rw_type(rw, result(rw, n)));

	return shape ? replace_by_reshape(rw, n, rw_in(rw, n, 0), shape) : "the shape of the result is not known";
}

/* A shape that is computed, or has 0 for "as the operand", though the result's is known. */
static const char *constant_shape(struct rewrite *rw, node_id n)
{
	int64_t old[RANK_MAX], new_[RANK_MAX];
	int k = rw_ints(rw, rw_in(rw, n, 1), old, RANK_MAX);
	bool zero = false;
	val_id shape;

	for (int i = 0; i < k; i++)
		zero |= old[i] == 0;
	if (k >= 0 && !zero)
		return NO_MATCH;
	shape = shape_operand(rw, rw_type(rw, result(rw, n)));
	if (!shape)
		return "the shape of the result is not known";
	if (rw_ints(rw, shape, new_, RANK_MAX) == k && !memcmp(old, new_, (size_t)k * sizeof *old))
		return NO_MATCH;
	return replace_by_reshape(rw, n, rw_in(rw, n, 0), shape);
}

static const char *reshape_twice(struct rewrite *rw, node_id n)
{
	node_id inner = rw_node_of(rw, rw_in(rw, n, 0));
	val_id shape;

	if (!inner || !is_reshape(node(rw_module(rw), inner)->op))
		return NO_MATCH;
	shape = shape_operand(rw, rw_type(rw, result(rw, n)));
	if (!shape)
		return "the shape of the result is not known";
	return replace_by_reshape(rw, n, rw_in(rw, inner, 0), shape);
}

bool transpose_order(struct rewrite *rw, node_id n, int64_t perm[RANK_MAX], int *rank)
{
	const int64_t *p = attr_ints(node(rw_module(rw), n), "perm", rank);

	if (p) {
		memcpy(perm, p, (size_t)*rank * sizeof *perm);
		return true;
	}
	*rank = rw_type(rw, rw_in(rw, n, 0))->rank;
	for (int i = 0; i < *rank; i++)
		perm[i] = *rank - 1 - i;
	return *rank != RANK_UNKNOWN;
}

static const char *transpose_twice(struct rewrite *rw, node_id n)
{
	node_id inner = rw_def(rw, rw_in(rw, n, 0), OP_Transpose);
	int64_t p[RANK_MAX], q[RANK_MAX], both[RANK_MAX];
	int rank, k;
	val_id v;

	if (!inner || !transpose_order(rw, n, p, &rank) || !transpose_order(rw, inner, q, &k) || rank != k)
		return NO_MATCH;
	for (int i = 0; i < rank; i++)
		both[i] = q[p[i]];
	v = rw_node(rw, n, OP_Transpose, 1, (val_id[]){rw_in(rw, inner, 0)});
	attr_set_ints(rw_module(rw), rw_node_of(rw, v), "perm", rank, both);
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

static const char *same_order(struct rewrite *rw, node_id n)
{
	int64_t p[RANK_MAX];
	int rank;

	if (!transpose_order(rw, n, p, &rank))
		return NO_MATCH;
	for (int i = 0; i < rank; i++)
		if (p[i] != i)
			return NO_MATCH;
	return rw_bypass(rw, n, rw_in(rw, n, 0));
}

/* Axes of more than one element keep their order: no element moves in memory. */
static const char *transpose_of_ones(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	const struct type *t = rw_type(rw, rw_in(rw, n, 0));
	int64_t p[RANK_MAX], d, last = -1;
	int rank;
	val_id shape;

	if (!transpose_order(rw, n, p, &rank) || t->rank != rank)
		return NO_MATCH;
	for (int i = 0; i < rank; i++) {
		if (t->dims[p[i]] && poly_is_const(m->dims, t->dims[p[i]], &d) && d == 1)
			continue;
		if (p[i] < last)
			return NO_MATCH;
		last = p[i];
	}
	shape = shape_operand(rw, rw_type(rw, result(rw, n)));
	return shape ? replace_by_reshape(rw, n, rw_in(rw, n, 0), shape) : "the shape of the result is not known";
}

/* v before the Reshapes that only it goes through. */
static val_id before_reshapes(struct rewrite *rw, val_id v)
{
	node_id r;

	while ((r = rw_def1(rw, v, OP_Reshape)))
		v = rw_in(rw, r, 0);
	return v;
}

static bool for_one_user(struct rewrite *rw, val_id v) { return rw_node_of(rw, v) && rw_uses(rw, v) < 2; }

/* Constant c is one number, or one along the last axis, which x and y have in common. */
static bool follows_last_axis(struct rewrite *rw, val_id c, val_id x, val_id y)
{
	struct tensor *t = rw_const(rw, c);
	const struct type *a = rw_type(rw, x), *b = rw_type(rw, y);

	if (!t || a->rank < 1 || b->rank < 1)
		return false;
	if (tensor_count(t) == 1)
		return t->rank <= 1;
	return t->rank == 1 && a->dims[a->rank - 1] && a->dims[a->rank - 1] == b->dims[b->rank - 1];
}

/* Elementwise after Reshape becomes Reshape after elementwise, so that what computed the elements can
 * take it in. The other operand is a constant, or a value with other users: where both are for n alone
 * neither is moved, or they would change places for ever. */
static const char *reshape_later(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	enum opcode op = node(m, n)->op;

	for (uint32_t i = 0; i < node(m, n)->nin && i < 2; i++) {
		bool binary = node(m, n)->nin == 2;
		val_id x = before_reshapes(rw, rw_in(rw, n, i)), other = binary ? rw_in(rw, n, 1 - i) : 0, back, shape, v;
		if (x == rw_in(rw, n, i) || !for_one_user(rw, x) || rw_same_type(rw, x, rw_in(rw, n, i)))
			continue;
		if (!rw_same_type(rw, rw_in(rw, n, i), result(rw, n)))
			return "broadcasting changes the shape";
		if (!(back = shape_operand(rw, rw_type(rw, result(rw, n)))))
			return "the shape of the result is not known";
		if (other && !follows_last_axis(rw, other, x, rw_in(rw, n, i))) {
			if (rw_const(rw, other) || !rw_same_type(rw, other, result(rw, n)))
				return "the other operand does not follow the elements through the Reshape";
			if (for_one_user(rw, before_reshapes(rw, other)))
				return "both operands are computed for this node alone";
			if (!(shape = shape_operand(rw, rw_type(rw, x))))
				return "the shape before the Reshape is not known";
			other = rw_node(rw, n, OP_Reshape, 2, (val_id[]){other, shape});
		}
		v = rw_node(rw, n, op, binary ? 2 : 1, (val_id[]){i ? other : x, i ? x : other});
		rw_copy_attrs(rw, rw_node_of(rw, v), n);
		return replace_by_reshape(rw, n, v, back);
	}
	return NO_MATCH;
}

#define LATER "an elementwise operator changes places with the Reshape before it"
const struct rule rules_shape[] = {
	{"reshape-twice", OP_Reshape, reshape_twice, "Reshape of a Reshape becomes one", MEASURE_RESHAPED},
	{"reshape-twice", OP_Flatten, reshape_twice, "Reshape of a Reshape becomes one", MEASURE_WORK},
	{"reshape-twice", OP_Squeeze, reshape_twice, "Reshape of a Reshape becomes one", MEASURE_WORK},
	{"reshape-twice", OP_Unsqueeze, reshape_twice, "Reshape of a Reshape becomes one", MEASURE_WORK},
	{"to-reshape", OP_Flatten, to_reshape, "becomes Reshape to a constant shape", MEASURE_WORK},
	{"to-reshape", OP_Squeeze, to_reshape, "becomes Reshape to a constant shape", MEASURE_WORK},
	{"to-reshape", OP_Unsqueeze, to_reshape, "becomes Reshape to a constant shape", MEASURE_WORK},
	{"constant-shape", OP_Reshape, constant_shape, "the shape becomes a constant", MEASURE_RESHAPED},
	{"same-order", OP_Transpose, same_order, "Transpose to the same order goes", MEASURE_WORK},
	{"transpose-twice", OP_Transpose, transpose_twice, "Transpose of a Transpose becomes one", MEASURE_REORDERED},
	{"transpose-of-ones", OP_Transpose, transpose_of_ones, "Transpose of axes of one element becomes Reshape", MEASURE_WORK},
	{"reshape-later", OP_Add, reshape_later, LATER, MEASURE_MISPLACED},
	{"reshape-later", OP_Mul, reshape_later, LATER, MEASURE_MISPLACED},
	{"reshape-later", OP_Relu, reshape_later, LATER, MEASURE_MISPLACED},
	{"reshape-later", OP_Gelu, reshape_later, LATER, MEASURE_MISPLACED},
	{"reshape-later", OP_Sigmoid, reshape_later, LATER, MEASURE_MISPLACED},
	{"reshape-later", OP_Swish, reshape_later, LATER, MEASURE_MISPLACED},
	{"reshape-later", OP_Tanh, reshape_later, LATER, MEASURE_MISPLACED},
	{0},
};
