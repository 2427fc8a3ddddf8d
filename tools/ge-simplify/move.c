/* Concat, Split, Pad, Expand. */
#include <string.h>
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

/* Attribute axis of n in [0, rank); -1: not known. */
static int axis_of(struct rewrite *rw, node_id n)
{
	int rank = rw_type(rw, rw_in(rw, n, 0))->rank;
	int64_t axis = attr_i(node(rw_module(rw), n), "axis");

	if (rank == RANK_UNKNOWN)
		return -1;
	return (int)(axis < 0 ? axis + rank : axis);
}

/* Extent of v along an axis; 0: not known. */
static dim extent(struct rewrite *rw, val_id v, int axis)
{
	const struct type *t = rw_type(rw, v);

	return axis >= 0 && axis < t->rank ? t->dims[axis] : POLY_UNKNOWN;
}

/* What a Slice takes, axis by axis. */
struct cut {
	int n;
	int64_t start[RANK_MAX], end[RANK_MAX], axis[RANK_MAX], step[RANK_MAX];
};

/* False: not constant, or axes that count from the end of a rank that is not known. */
static bool read_cut(struct rewrite *rw, node_id n, struct cut *c)
{
	int rank = rw_type(rw, rw_in(rw, n, 0))->rank;

	c->n = rw_ints(rw, rw_in(rw, n, 1), c->start, RANK_MAX);
	if (c->n < 0 || rw_ints(rw, rw_in(rw, n, 2), c->end, RANK_MAX) != c->n)
		return false;
	for (int i = 0; i < c->n; i++) {
		c->axis[i] = i;
		c->step[i] = 1;
	}
	if ((rw_in(rw, n, 3) && rw_ints(rw, rw_in(rw, n, 3), c->axis, RANK_MAX) != c->n) ||
	    (rw_in(rw, n, 4) && rw_ints(rw, rw_in(rw, n, 4), c->step, RANK_MAX) != c->n))
		return false;
	for (int i = 0; i < c->n; i++) {
		if (c->axis[i] < 0 && rank == RANK_UNKNOWN)
			return false;
		c->axis[i] += c->axis[i] < 0 ? rank : 0;
	}
	return true;
}

/* A Slice of a Slice that is for it alone, along other axes: one. */
static const char *slice_twice(struct rewrite *rw, node_id n)
{
	node_id inner = rw_def1(rw, rw_in(rw, n, 0), OP_Slice);
	struct cut a, b;

	if (!inner)
		return NO_MATCH;
	if (!read_cut(rw, inner, &a) || !read_cut(rw, n, &b) || a.n + b.n > RANK_MAX)
		return "what is taken is not constant";
	for (int i = 0; i < b.n; i++) {
		for (int k = 0; k < a.n; k++)
			if (a.axis[k] == b.axis[i])
				return "both cut along the same axis";
		a.start[a.n + i] = b.start[i];
		a.end[a.n + i] = b.end[i];
		a.step[a.n + i] = b.step[i];
	}
	memcpy(a.axis + a.n, b.axis, (size_t)b.n * sizeof *b.axis);
	int k = a.n + b.n;
	rw_replace(rw, result(rw, n),
		   rw_node(rw, n, OP_Slice, 5,
			   (val_id[]){rw_in(rw, inner, 0), rw_constant_ints(rw, k, a.start), rw_constant_ints(rw, k, a.end),
				      rw_constant_ints(rw, k, a.axis), rw_constant_ints(rw, k, a.step)}));
	return NULL;
}

/* All the parts of a Split, in their order, put together again. */
static const char *concat_of_split(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id split = rw_def(rw, rw_in(rw, n, 0), OP_Split);
	uint32_t parts = split ? node(m, split)->nout : 0;

	if (!split || parts != node(m, n)->nin || axis_of(rw, n) < 0 || axis_of(rw, n) != axis_of(rw, split))
		return NO_MATCH;
	for (uint32_t i = 0; i < parts; i++)
		if (rw_in(rw, n, i) != node(m, split)->out[i])
			return "the parts are in another order";
	return rw_bypass(rw, n, rw_in(rw, split, 0));
}

/* Operands that are themselves Concats along the same axis, for us alone, are given one by one. */
static const char *concat_of_concat(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	int axis = axis_of(rw, n);
	VEC(val_id) in = {0};
	bool any = false;
	val_id v;

	for (uint32_t i = 0; i < node(m, n)->nin; i++) {
		node_id c = rw_def1(rw, rw_in(rw, n, i), OP_Concat);
		if (!c || axis < 0 || axis_of(rw, c) != axis) {
			vec_push(&in, rw_in(rw, n, i));
			continue;
		}
		any = true;
		for (uint32_t k = 0; k < node(m, c)->nin; k++)
			vec_push(&in, rw_in(rw, c, k));
	}
	if (any) {
		v = rw_node(rw, n, OP_Concat, (int)in.n, in.a);
		attr_set_int(m, rw_node_of(rw, v), "axis", axis);
		rw_replace(rw, result(rw, n), v);
	}
	vec_free(&in);
	return any ? NULL : NO_MATCH;
}

/* One operand has elements along the axis, or none has: the result is that one, or any. */
static const char *concat_of_one(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	int axis = axis_of(rw, n);
	val_id one = rw_in(rw, n, 0);
	int64_t count, some = 0;

	for (uint32_t i = 0; i < node(m, n)->nin; i++) {
		dim d = extent(rw, rw_in(rw, n, i), axis);
		if (d && poly_is_const(m->dims, d, &count) && !count)
			continue;
		one = rw_in(rw, n, i);
		some++;
	}
	return some > 1 ? NO_MATCH : rw_bypass(rw, n, one);
}

/* The parts of a Split that are what a Concat has put together. */
static const char *split_of_concat(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id c = rw_def(rw, rw_in(rw, n, 0), OP_Concat);
	int axis = axis_of(rw, n);

	if (!c || axis < 0 || axis_of(rw, c) != axis || node(m, c)->nin != node(m, n)->nout)
		return NO_MATCH;
	for (uint32_t i = 0; i < node(m, n)->nout; i++) {
		val_id part = node(m, n)->out[i], v = rw_in(rw, c, i);
		if (!part || !extent(rw, v, axis) || extent(rw, v, axis) != extent(rw, part, axis))
			return "the parts are other ones than those put together";
		if (rw_is_output(rw, part))
			return "a part is a result of the graph";
	}
	for (uint32_t i = 0; i < node(m, n)->nout; i++)
		rw_replace(rw, node(m, n)->out[i], rw_in(rw, c, i));
	return NULL;
}

/* Pads of n for each axis of its operand, begin then end; false: not constant, negative or not zeros. */
static bool zero_pads(struct rewrite *rw, node_id n, int64_t pads[2 * RANK_MAX], int *rank)
{
	int64_t p[2 * RANK_MAX], axes[RANK_MAX];
	int k = rw_ints(rw, rw_in(rw, n, 1), p, 2 * RANK_MAX), naxes;
	double value = 0;

	*rank = rw_type(rw, rw_in(rw, n, 0))->rank;
	if (strcmp(attr_s(node(rw_module(rw), n), "mode"), "constant") || k < 0 || *rank < 0)
		return false;
	if (rw_in(rw, n, 2) && (!rw_scalar(rw, rw_in(rw, n, 2), &value) || value != 0))
		return false;
	naxes = *rank;
	for (int i = 0; i < *rank; i++)
		axes[i] = i;
	if (rw_in(rw, n, 3))
		naxes = rw_ints(rw, rw_in(rw, n, 3), axes, RANK_MAX);
	if (naxes < 0 || k != 2 * naxes)
		return false;
	memset(pads, 0, 2 * RANK_MAX * sizeof *pads);
	for (int i = 0; i < naxes; i++) {
		int64_t a = axes[i] + (axes[i] < 0 ? *rank : 0);
		if (a < 0 || a >= *rank || p[i] < 0 || p[naxes + i] < 0)
			return false;
		pads[a] = p[i];
		pads[*rank + a] = p[naxes + i];
	}
	return true;
}

/* The pads of n as they are behind the Transpose. */
static bool turn_pads(struct rewrite *rw, node_id turn, int64_t *pads, int rank)
{
	int64_t p[RANK_MAX], old[2 * RANK_MAX];
	int k;

	if (!transpose_order(rw, turn, p, &k) || k != rank)
		return false;
	memcpy(old, pads, sizeof *old * 2 * (size_t)rank);
	for (int i = 0; i < rank; i++) {
		pads[i] = old[p[i]];
		pads[rank + i] = old[rank + p[i]];
	}
	return true;
}

/* x, or its Transpose as `turn` is one. */
static val_id turned(struct rewrite *rw, node_id root, node_id turn, val_id x)
{
	if (!turn)
		return x;
	x = rw_node(rw, root, OP_Transpose, 1, &x);
	rw_copy_attrs(rw, rw_node_of(rw, x), turn);
	return x;
}

/* Zeros around the operand of a convolution, or of an average that counts them, become its own; through a Transpose, too. */
static const char *pad_into_window(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	const struct node *x = node(m, n);
	node_id turn = rw_def1(rw, rw_in(rw, n, 0), OP_Transpose), pad = rw_def1(rw, rw_in(rw, turn ? turn : n, 0), OP_Pad);
	int64_t pads[2 * RANK_MAX], own[2 * RANK_MAX] = {0};
	const int64_t *p;
	int rank, count, spatial;
	bool average = x->op == OP_AveragePool, none = true;

	if (!pad)
		return NO_MATCH;
	if (!zero_pads(rw, pad, pads, &rank))
		return "the Pad before it does not add a known number of zeros";
	if (turn && !turn_pads(rw, turn, pads, rank))
		return NO_MATCH;
	if (pads[0] || pads[1] || pads[rank] || pads[rank + 1])
		return "the Pad before it changes batch or channels";
	if (strcmp(attr_s(x, "auto_pad"), "NOTSET"))
		return "it has auto_pad";
	spatial = rank - 2;
	p = attr_ints(x, "pads", &count);
	for (int i = 0; p && i < count && count == 2 * spatial; i++)
		none &= (own[i] = p[i]) == 0;
	if (average && (attr_i(x, "ceil_mode") || (!none && !attr_i(x, "count_include_pad"))))
		return "the average does not count its own padding, or rounds up";
	for (int i = 0; i < spatial; i++) {
		own[i] += pads[2 + i];
		own[spatial + i] += pads[rank + 2 + i];
	}
	if (average)
		attr_set_int(m, n, "count_include_pad", 1);
	attr_set_ints(m, n, "pads", 2 * spatial, own);
	rw_set_in(rw, n, 0, turned(rw, n, turn, rw_in(rw, pad, 0)));
	return NULL;
}

/* Elementwise operators broadcast by themselves. */
static const char *expanded_operand(struct rewrite *rw, node_id n)
{
	for (uint32_t i = 0; i < 2; i++) {
		node_id e = rw_def(rw, rw_in(rw, n, i), OP_Expand);
		val_id small, other = rw_in(rw, n, 1 - i);
		if (!e)
			continue;
		small = rw_in(rw, e, 0);
		/* The other operand has every extent of the result, so the small one adds none. */
		const struct type *t = rw_type(rw, result(rw, n)), *o = rw_type(rw, other), *s = rw_type(rw, small);
		if (t->rank == RANK_UNKNOWN || o->rank != t->rank || s->rank == RANK_UNKNOWN || s->rank > t->rank)
			return "the shapes are not known";
		for (int k = 0; k < t->rank; k++)
			if (!t->dims[k] || t->dims[k] != o->dims[k])
				return "the result needs the expanded shape";
		rw_set_in(rw, n, i, small);
		return NULL;
	}
	return NO_MATCH;
}

const struct rule rules_move[] = {
	{"concat-of-split", OP_Concat, concat_of_split, "Concat of all parts of a Split is what was split", MEASURE_WORK},
	{"concat-of-concat", OP_Concat, concat_of_concat, "Concat of Concats becomes one", MEASURE_WORK},
	{"concat-of-one", OP_Concat, concat_of_one, "Concat of which one operand has elements is that one", MEASURE_WORK},
	{"slice-twice", OP_Slice, slice_twice, "Slices along different axes become one", MEASURE_WORK},
	{"split-of-concat", OP_Split, split_of_concat, "Split into what was put together goes", MEASURE_WORK},
	{"pad-into", OP_Conv, pad_into_window, "zeros around the operand become padding", MEASURE_WORK},
	{"pad-into", OP_AveragePool, pad_into_window, "zeros around the operand become padding", MEASURE_WORK},
	{"expand-into", OP_Add, expanded_operand, "an elementwise operator broadcasts by itself", MEASURE_EXPANDED},
	{"expand-into", OP_Sub, expanded_operand, "an elementwise operator broadcasts by itself", MEASURE_EXPANDED},
	{"expand-into", OP_Mul, expanded_operand, "an elementwise operator broadcasts by itself", MEASURE_EXPANDED},
	{"expand-into", OP_Div, expanded_operand, "an elementwise operator broadcasts by itself", MEASURE_EXPANDED},
	{0},
};
