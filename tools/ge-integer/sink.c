/* DequantizeLinear sinks through what only moves bytes, so that bytes are moved; QuantizeLinear rises over a Concat of such. */
#include <math.h>
#include <string.h>
#include "integer.h"

/* ---- which operators move bytes ---- */

static const uint8_t mover_column[OP_COUNT] = {
	[OP_Concat] = 1,  [OP_DepthToSpace] = 1, [OP_Expand] = 1,  [OP_Flatten] = 1,   [OP_Gather] = 1,    [OP_Identity] = 1,
	[OP_MaxPool] = 1, [OP_Pad] = 1,          [OP_Reshape] = 1, [OP_Resize] = 1,    [OP_Slice] = 1,     [OP_SpaceToDepth] = 1,
	[OP_Split] = 1,   [OP_Squeeze] = 1,      [OP_Tile] = 1,    [OP_Transpose] = 1, [OP_Unsqueeze] = 1,
};

bool mover_is(struct module *m, node_id id)
{
	const struct node *n = node(m, id);

	if (n->op == OP_MaxPool)
		return n->nout == 1 || !n->out[1];
	if (n->op == OP_Resize)
		return !strcmp(attr_s(n, "mode"), "nearest") && strcmp(attr_s(n, "coordinate_transformation_mode"), "tf_crop_and_resize");
	return mover_column[n->op];
}

uint32_t mover_operands(const struct node *n) { return n->op == OP_Concat ? n->nin : 1; }

static bool pads_constant(const struct node *n) { return n->op == OP_Pad && !strcmp(attr_s(n, "mode"), "constant"); }

/* ---- sinking ---- */

struct sinking {
	struct rewrite *rw;
	node_id n;
	struct grid g;
	val_id *in; /* of the new node */
	int nin;
	val_id scale, zero; /* of the new DequantizeLinear nodes */
	int axis;
};

/* The integer that a Pad fills with, where its float is just that integer's. */
static const char *fill_of(struct sinking *s)
{
	val_id v = rw_in(s->rw, s->n, 2);
	double x = 0, q;

	if (v && !rw_scalar(s->rw, v, &x))
		return "what it pads with is not constant";
	q = rint((double)(float)(x / s->g.scale[0])) + grid_zero(&s->g, 0);
	struct tensor *t = tensor_new(&rw_module(s->rw)->arena, s->g.type, 0, NULL);
	tensor_set(t, 0, q);
	if (tensor_get(t, 0) != q || (float)((q - grid_zero(&s->g, 0)) * s->g.scale[0]) != (float)x)
		return "it pads with what no integer stands for";
	s->in[2] = rw_constant_tensor(s->rw, t);
	s->nin = s->nin < 3 ? 3 : s->nin;
	return NULL;
}

/* A Transpose takes the axis of scales along; others do not know where it goes. */
static const char *axis_of(struct sinking *s)
{
	const struct node *n = node(rw_module(s->rw), s->n);
	int rank = rw_type(s->rw, s->in[0])->rank, count;
	const int64_t *perm = attr_ints(n, "perm", &count);

	if (s->g.n == 1)
		return NULL;
	if (n->op != OP_Transpose || rank == RANK_UNKNOWN)
		return "what it moves has more than one scale";
	for (int i = 0; i < rank; i++)
		if ((perm ? perm[i] : rank - 1 - i) == s->g.axis)
			s->axis = i;
	return NULL;
}

static const char *read_moved(struct sinking *s)
{
	const struct node *n = node(rw_module(s->rw), s->n);

	s->nin = (int)n->nin;
	s->in = ARENA_ARRAY(&rw_module(s->rw)->arena, val_id, n->nin + 3);
	for (uint32_t i = 0; i < n->nin; i++)
		s->in[i] = rw_in(s->rw, s->n, i);
	for (uint32_t i = 0; i < mover_operands(n); i++) {
		node_id d = rw_def(s->rw, s->in[i], OP_DequantizeLinear);
		struct grid g;
		const char *why;
		if (!d)
			return NO_MATCH;
		if ((why = dequantised(s->rw, s->in[i], &g, &s->in[i])))
			return reason(s->rw, "what it moves", why);
		if (!dtype_is_int(g.type) || dtype_size(g.type) != 1)
			return "what it moves is not of 8 bits";
		if (i && !grid_same(&g, &s->g))
			return "its operands have other scales or zero points";
		s->g = g;
		s->scale = rw_in(s->rw, d, 1);
		s->zero = rw_in(s->rw, d, 2);
	}
	return pads_constant(n) ? fill_of(s) : axis_of(s);
}

static bool all_constant(struct rewrite *rw, const val_id *in, int n)
{
	for (int i = 0; i < n; i++)
		if (in[i] && !rw_const(rw, in[i]))
			return false;
	return true;
}

/* Of constants, computed now: a transposed weight is a weight. 0: not of constants. */
static val_id computed(struct sinking *s)
{
	struct module *m = rw_module(s->rw);
	struct tensor **in, *out = NULL;
	node_id n;

	if (!all_constant(s->rw, s->in, s->nin) || node(m, s->n)->nout != 1)
		return 0;
	in = ARENA_ARRAY(&m->arena, struct tensor *, s->nin);
	for (int i = 0; i < s->nin; i++)
		if (s->in[i])
			tensor_data(m, in[i] = rw_const(s->rw, s->in[i]));
	n = node_new_loose(m, node(m, s->n)->graph, node(m, s->n)->op, s->nin, s->in, 1); /* of no graph's order */
	rw_copy_attrs(s->rw, n, s->n);
	return eval_node(m, n, in, &out, &m->arena) ? 0 : rw_constant_tensor(s->rw, out);
}

/* The node on bytes; result i of it. */
static const val_id *moved(struct sinking *s)
{
	struct module *m = rw_module(s->rw);
	val_id c = computed(s), y;

	if (c)
		return arena_copy(&m->arena, &c, sizeof c);
	y = rw_nodes_out(s->rw, s->n, node(m, s->n)->op, s->nin, s->in, (int)node(m, s->n)->nout);
	rw_copy_attrs(s->rw, rw_node_of(s->rw, y), s->n);
	return node(m, rw_node_of(s->rw, y))->out;
}

static const char *sink(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	struct sinking s = {.rw = rw, .n = n};
	uint32_t nout = node(m, n)->nout;

	if (!mover_is(m, n))
		return NO_MATCH;
	const char *why = read_moved(&s);
	if (why)
		return why;
	const val_id *to = moved(&s);
	for (uint32_t i = 0; i < nout; i++) {
		val_id out = node(m, n)->out[i];
		if (!out || !rw_uses(rw, out)) /* of a MaxPool, or nobody's */
			continue;
		val_id d = rw_node(rw, n, OP_DequantizeLinear, s.zero ? 3 : 2, (val_id[]){to[i], s.scale, s.zero});
		if (s.g.n > 1)
			attr_set_int(m, rw_node_of(rw, d), "axis", s.axis);
		rw_replace(rw, out, d);
	}
	return NULL;
}

/* ---- rising ---- */

static const char *rise(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id c = rw_def1(rw, rw_in(rw, n, 0), OP_Concat);
	uint32_t nin = c ? node(m, c)->nin : 0;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 1), zero = rw_in(rw, n, 2);
	struct grid g;

	if (!c || grid_read(rw, n, &g) || g.n != 1)
		return NO_MATCH;
	for (uint32_t i = 0; i < nin; i++)
		if (!rw_def(rw, rw_in(rw, c, i), OP_DequantizeLinear))
			return "the Concat has an operand that is not dequantised";
	for (uint32_t i = 0; i < nin; i++) {
		in[i] = rw_node(rw, n, OP_QuantizeLinear, zero ? 3 : 2, (val_id[]){rw_in(rw, c, i), rw_in(rw, n, 1), zero});
		rw_copy_attrs(rw, rw_node_of(rw, in[i]), n);
	}
	val_id y = rw_node(rw, n, OP_Concat, (int)nin, in);
	rw_copy_attrs(rw, rw_node_of(rw, y), c);
	rw_replace(rw, node(m, n)->out[0], y);
	return NULL;
}

#define SINKS(op) \
	{ \
		"sink", OP_##op, sink, "bytes are moved, then dequantised", MEASURE_WORK \
	}
const struct rule rules_sink[] = {
	SINKS(Concat),
	SINKS(DepthToSpace),
	SINKS(Expand),
	SINKS(Flatten),
	SINKS(Gather),
	SINKS(Identity),
	SINKS(MaxPool),
	SINKS(Pad),
	SINKS(Reshape),
	SINKS(Resize),
	SINKS(Slice),
	SINKS(SpaceToDepth),
	SINKS(Split),
	SINKS(Squeeze),
	SINKS(Tile),
	SINKS(Transpose),
	SINKS(Unsqueeze),
	{"rise", OP_QuantizeLinear, rise, "operands of the Concat are quantised before it", MEASURE_WORK},
	{0},
};
