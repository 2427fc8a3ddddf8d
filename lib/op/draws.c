/* A row for each operand whose integers mean something; the walk from an input to them. */
#include "op/draws.h"
#include <string.h>

/* What an operand's integers are. */
enum meaning {
	INDEX,   /* of an axis of another operand: from 0 to its extent less 1 */
	COUNT,   /* at most the extent of an axis of another operand, at least 1 */
	TUPLE,   /* of the first axes of another operand: from 0 to the least extent less 1 */
	AXES,    /* of another operand, each once */
	MADE,    /* axes of the result that another operand has not, each once */
	CLASS,   /* from 0 to the constant of another operand less 1 */
	STARTS,  /* 0 */
	ENDS,    /* from 1 to the greatest extent of another operand */
	STEPS,   /* 1 or 2 */
	ONES,    /* extents that broadcast, or are the least */
	FREE,    /* a shape with an open extent */
	PARTS,   /* they add up to the extent of an axis of another operand */
	FEW,     /* from 1 to 3 */
	PADDING, /* 0 or 1 */
};

enum { AXIS_ATTRIBUTE = -1 };

static const struct use {
	enum opcode op;
	uint8_t operand;
	enum meaning meaning;
	uint8_t of;  /* the other operand */
	int8_t axis; /* its axis, or AXIS_ATTRIBUTE */
} rows[] = {
	{OP_CenterCropPad, 1, FEW},
	{OP_ConstantOfShape, 0, FEW},
	{OP_CumProd, 1, AXES, 0},
	{OP_CumSum, 1, AXES, 0},
	{OP_DFT, 1, FEW},
	{OP_Expand, 1, ONES},
	{OP_Gather, 1, INDEX, 0, AXIS_ATTRIBUTE},
	{OP_GatherElements, 1, INDEX, 0, AXIS_ATTRIBUTE},
	{OP_GatherND, 1, TUPLE, 0},
	{OP_Loop, 0, FEW},
	{OP_NegativeLogLikelihoodLoss, 1, INDEX, 0, 1},
	{OP_NonMaxSuppression, 2, FEW},
	{OP_OneHot, 0, CLASS, 1},
	{OP_OneHot, 1, FEW},
	{OP_Pad, 1, PADDING},
	{OP_Pad, 3, AXES, 0},
	{OP_RNN, 4, COUNT, 0, 0},
	{OP_GRU, 4, COUNT, 0, 0},
	{OP_LSTM, 4, COUNT, 0, 0},
	{OP_DynamicQuantizeLSTM, 4, COUNT, 0, 0},
	{OP_ReduceL1, 1, AXES, 0},
	{OP_ReduceL2, 1, AXES, 0},
	{OP_ReduceLogSum, 1, AXES, 0},
	{OP_ReduceLogSumExp, 1, AXES, 0},
	{OP_ReduceMax, 1, AXES, 0},
	{OP_ReduceMean, 1, AXES, 0},
	{OP_ReduceMin, 1, AXES, 0},
	{OP_ReduceProd, 1, AXES, 0},
	{OP_ReduceSum, 1, AXES, 0},
	{OP_ReduceSumSquare, 1, AXES, 0},
	{OP_Reshape, 1, FREE},
	{OP_Resize, 3, FEW},
	{OP_ReverseSequence, 1, COUNT, 0, 0},
	{OP_RoiAlign, 2, INDEX, 0, 0},
	{OP_RotaryEmbedding, 3, INDEX, 1, 0},
	{OP_STFT, 1, FEW},
	{OP_ScatterElements, 1, INDEX, 0, AXIS_ATTRIBUTE},
	{OP_ScatterND, 1, TUPLE, 0},
	{OP_Slice, 1, STARTS},
	{OP_Slice, 2, ENDS, 0},
	{OP_Slice, 3, AXES, 0},
	{OP_Slice, 4, STEPS},
	{OP_SoftmaxCrossEntropyLoss, 1, INDEX, 0, 1},
	{OP_Split, 1, PARTS, 0, AXIS_ATTRIBUTE},
	{OP_Squeeze, 1, AXES, 0},
	{OP_Tile, 1, FEW},
	{OP_TopK, 1, COUNT, 0, AXIS_ATTRIBUTE},
	{OP_Unsqueeze, 1, MADE, 0},
};

/* -1: it is not known. */
static int64_t extent(struct module *m, const struct type *t, int64_t axis)
{
	int64_t e;

	axis += axis < 0 ? t->rank : 0;
	return t->rank > 0 && axis >= 0 && axis < t->rank && poly_is_const(m->dims, t->dims[axis], &e) ? e : -1;
}

/* The axis of a row; TopK and others say it as an attribute. */
static int64_t extent_of(struct module *m, const struct node *n, const struct use *r)
{
	const struct type *t = &val(m, n->in[r->of])->type;

	if (n->op == OP_ReverseSequence)
		return extent(m, t, attr_i(n, "time_axis"));
	if (op_is(n->op, OP_RECURRENT) && attr_i(n, "layout"))
		return extent(m, t, 1);
	return extent(m, t, r->axis == AXIS_ATTRIBUTE ? attr_i(n, "axis") : r->axis);
}

static int64_t extreme_extent(struct module *m, const struct type *t, bool greatest)
{
	int64_t best = -1;

	for (int k = 0; k < t->rank; k++) {
		int64_t e = extent(m, t, k);
		if (e >= 0 && (best < 0 || (greatest ? e > best : e < best)))
			best = e;
	}
	return best;
}

static bool draw_range(struct draw *d, int64_t lo, int64_t hi, bool index)
{
	*d = (struct draw){.lo = (double)lo, .hi = (double)hi, .index = index};
	return hi >= lo;
}

/* What row r asks of node n's operand. */
static bool draw_row(struct module *m, const struct node *n, const struct use *r, struct draw *d)
{
	const struct type *t = r->of < n->nin && n->in[r->of] ? &val(m, n->in[r->of])->type : NULL;
	int64_t c = 0;

	if (!t)
		return false;
	switch (r->meaning) {
	case INDEX: return draw_range(d, 0, extent_of(m, n, r) - 1, true);
	case COUNT: return draw_range(d, 1, extent_of(m, n, r), true);
	case TUPLE: return draw_range(d, 0, extreme_extent(m, t, false) - 1, true);
	case CLASS:
		if (node_const(m, n, r->of))
			tensor_ints(m, node_const(m, n, r->of), &c, 1);
		return draw_range(d, 0, c - 1, true);
	case AXES:
	case MADE:
		if (r->meaning == MADE && (c = extent(m, &val(m, n->in[r->operand])->type, 0)) < 0)
			return false;
		if (t->rank == RANK_UNKNOWN || !draw_range(d, 0, t->rank + c - 1, true))
			return false;
		d->pattern = DRAW_DISTINCT;
		return true;
	case STARTS: return draw_range(d, 0, 0, false);
	case ENDS: c = extreme_extent(m, t, true); return draw_range(d, c < 1 ? 1 : c, c < 1 ? 1 : c, false);
	case STEPS: return draw_range(d, 1, 2, true);
	case ONES: return draw_range(d, 1, 1, false);
	case FREE:
		draw_range(d, -1, 1, false);
		d->pattern = DRAW_FREE;
		return true;
	case PARTS:
		if (!draw_range(d, 0, extent_of(m, n, r), false))
			return false;
		d->pattern = DRAW_PARTS;
		return true;
	case FEW: return draw_range(d, 1, 3, false);
	default: return draw_range(d, 0, 1, false);
	}
}

/* Integers that work for both. */
static void draw_both(struct draw *d, const struct draw *e)
{
	if (d->pattern == DRAW_FREE || e->pattern == DRAW_FREE) {
		*d = d->pattern == DRAW_FREE ? *e : *d;
		return;
	}
	d->lo = e->lo > d->lo ? e->lo : d->lo;
	d->hi = e->hi < d->hi ? e->hi : d->hi;
	d->hi = d->hi < d->lo ? d->lo : d->hi;
	d->index |= e->index;
	d->pattern = d->pattern == DRAW_DISTINCT ? d->pattern : e->pattern;
}

/* Does n hand elements of operand k on as they are? */
static bool hands_on(const struct node *n, uint32_t k)
{
	if (n->op == OP_Concat)
		return true;
	return k == 0 && n->nout == 1 && (n->op == OP_Cast || n->op == OP_Identity || op_is(n->op, OP_MOVE));
}

static bool draw_walk(struct module *m, const struct uses *u, val_id v, int depth, struct draw *d)
{
	enum { DEPTH = 16 };
	bool any = false;

	for (uint32_t i = u->start[v]; depth < DEPTH && i < u->start[v + 1]; i++) {
		const struct node *n = node(m, u->user[i]);
		graph_id g = op_is(n->op, OP_CALL) ? attr_graph(n, "graph") : 0;
		for (uint32_t k = 0; k < n->nin; k++) {
			struct draw e;
			bool found = false;
			if (n->in[k] != v)
				continue;
			for (size_t r = 0; r < sizeof rows / sizeof *rows && !found; r++)
				found = rows[r].op == n->op && rows[r].operand == k && draw_row(m, n, &rows[r], &e);
			if (!found && g && k < graph(m, g)->in.n)
				found = draw_walk(m, u, graph(m, g)->in.a[k], depth + 1, &e);
			if (!found && hands_on(n, k))
				found = draw_walk(m, u, n->out[0], depth + 1, &e);
			if (!found)
				continue;
			if (any)
				draw_both(d, &e);
			else
				*d = e;
			any = true;
		}
	}
	return any;
}

bool draw_of(struct module *m, const struct uses *u, val_id v, struct draw *d) { return draw_walk(m, u, v, 0, d); }
