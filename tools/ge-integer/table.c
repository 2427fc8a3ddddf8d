/* What is computed of one code and constants alone, up to the next code, is a function of 256 values: a table, which the evaluator
 * fills. Then the number of steps on the way, and which functions they are, costs nothing. */
#include <string.h>
#include "integer.h"

enum { CODES = 256, NODES_MAX = 64, LEAVES_MAX = 4 };

/* The nodes between codes (the leaves) and the result of the root. */
struct cone {
	struct rewrite *rw;
	node_id root;
	node_id node[NODES_MAX];
	struct tensor *made[NODES_MAX]; /* by node, for all codes; NULL: not yet */
	int n;
	val_id leaf[LEAVES_MAX];
	int nleaves;
	val_id stop; /* codes that are looked up are seen through but for this one; 0: none is */
	struct tensor *codes;
};

static bool is_code(struct rewrite *rw, val_id v)
{
	const struct type *t = rw_type(rw, v);

	return !t->other && (t->dtype == DT_U8 || t->dtype == DT_I8);
}

static bool one_element(struct rewrite *rw, val_id v)
{
	struct tensor *t = rw_const(rw, v);

	return t && t->dtype != DT_STR && tensor_count(t) == 1;
}

/* The node of a Gather whose index is a code: its table is a constant. */
static node_id lookup_of(struct rewrite *rw, val_id v)
{
	node_id g = rw_def(rw, v, OP_Gather), c = g ? rw_def(rw, rw_in(rw, g, 1), OP_Cast) : 0;
	struct tensor *t = g ? rw_const(rw, rw_in(rw, g, 0)) : NULL;

	return c && t && t->rank == 1 && t->dims[0] == CODES && is_code(rw, rw_in(rw, c, 0)) ? g : 0;
}

/* Where n stands in c; -1: nowhere. */
static int place_of(const struct cone *c, node_id n)
{
	for (int i = 0; i < c->n; i++)
		if (c->node[i] == n)
			return i;
	return -1;
}

static bool add_leaf(struct cone *c, val_id v)
{
	for (int i = 0; i < c->nleaves; i++)
		if (c->leaf[i] == v)
			return true;
	if (c->nleaves == LEAVES_MAX)
		return false;
	c->leaf[c->nleaves++] = v;
	return true;
}

/* Node n and what it is made of; false: of something else than codes and constants of one element. */
static bool add_node(struct cone *c, node_id n);

static bool add_value(struct cone *c, val_id v)
{
	node_id n = rw_node_of(c->rw, v);

	if (!v || one_element(c->rw, v))
		return true;
	if (!n)
		return is_code(c->rw, v) && !rw_const(c->rw, v) && add_leaf(c, v);
	if (!is_code(c->rw, v) || (c->stop && v != c->stop && lookup_of(c->rw, v)))
		return add_node(c, n);
	return add_leaf(c, v);
}

static bool add_node(struct cone *c, node_id n)
{
	const struct node *x = node(rw_module(c->rw), n);
	bool lookup = x->nout == 1 && lookup_of(c->rw, x->out[0]) == n;

	if (place_of(c, n) >= 0)
		return true;
	if (c->n == NODES_MAX || x->nout != 1 || !(lookup || op_is(x->op, OP_PURE | OP_ELEMENTWISE)))
		return false;
	c->node[c->n++] = n;
	for (uint32_t i = lookup; i < x->nin; i++)
		if (!add_value(c, rw_in(c->rw, n, i)))
			return false;
	return true;
}

static bool collect(struct cone *c, val_id stop)
{
	c->n = c->nleaves = 0;
	c->stop = stop;
	return add_node(c, c->root) && c->nleaves;
}

/* Is v used in the cone alone? */
static bool used_inside(const struct cone *c, val_id v)
{
	node_id user[NODES_MAX];
	int n = rw_is_output(c->rw, v) ? -1 : rw_users(c->rw, v, user, NODES_MAX);

	for (int i = 0; i < n; i++)
		if (place_of(c, user[i]) < 0)
			return false;
	return n >= 0;
}

/* The code that v is looked up by; 0: it is not. */
static val_id source_of(struct rewrite *rw, val_id v)
{
	node_id g = lookup_of(rw, v);

	return g ? rw_in(rw, rw_node_of(rw, rw_in(rw, g, 1)), 0) : 0;
}

static bool comes_from(struct rewrite *rw, val_id v, val_id source)
{
	while (v && v != source)
		v = source_of(rw, v);
	return v;
}

/* The last code that all leaves are looked up by, or are; 0: none. */
static val_id common_source(const struct cone *c)
{
	for (val_id v = c->leaf[0]; v; v = source_of(c->rw, v)) {
		bool all = true;
		for (int i = 1; i < c->nleaves && all; i++)
			all = comes_from(c->rw, c->leaf[i], v);
		if (all)
			return v;
	}
	return 0;
}

/* Of several codes those that are looked up by another are seen through; one that is wanted nowhere else, too. */
static bool single_code(struct cone *c)
{
	val_id v;

	if (!collect(c, 0) || !(v = common_source(c)))
		return false;
	if (c->nleaves > 1 && !collect(c, v))
		return false;
	while (c->nleaves == 1 && lookup_of(c->rw, v) && used_inside(c, v))
		if (!collect(c, v = source_of(c->rw, v)))
			return false;
	return c->nleaves == 1;
}

/* What costs no more as arithmetic than the exchange of codes for others. Sums and products are none of it: a gate, as x * f(x) with every
 * QuantizeLinear on the way, is one table only if f is. */
static const uint8_t few_instructions[OP_COUNT] = {
	[OP_Abs] = 1, [OP_Cast] = 1,  [OP_DequantizeLinear] = 1, [OP_LeakyRelu] = 1,
	[OP_Neg] = 1, [OP_PRelu] = 1, [OP_QuantizeLinear] = 1,   [OP_Relu] = 1,
};

/* Between two codes, and with few instructions on the way, arithmetic is no more work; it also becomes a part of the kernels around it. */
static bool has_function(const struct cone *c)
{
	int steps = 0;

	for (int i = 0; i < c->n; i++) {
		enum opcode op = node(rw_module(c->rw), c->node[i])->op;
		steps += !few_instructions[op] || (op == OP_QuantizeLinear && c->node[i] != c->root);
	}
	return steps > 0;
}

/* ---- the table ---- */

static struct tensor *table_of(struct cone *c, val_id v);

/* Of one element, without axes: so that the codes keep their one. */
static struct tensor *number(struct cone *c, val_id v)
{
	struct module *m = rw_module(c->rw);
	struct tensor *t = rw_const(c->rw, v), *one = tensor_new(&m->arena, t->dtype, 0, NULL);

	memcpy((char *)one->data, tensor_data(m, t), t->nbytes);
	return one;
}

static struct tensor *run(struct cone *c, node_id n)
{
	struct tensor **made = &c->made[place_of(c, n)];
	struct module *m = rw_module(c->rw);
	uint32_t nin = node(m, n)->nin;
	struct tensor **in = ARENA_ARRAY(&m->arena, struct tensor *, nin + 1);

	for (uint32_t i = 0; i < nin && !*made; i++) {
		val_id v = rw_in(c->rw, n, i);
		bool table = !i && lookup_of(c->rw, node(m, n)->out[0]) == n;
		in[i] = !v ? NULL : table ? rw_const(c->rw, v) : table_of(c, v);
		if (v && !in[i])
			return NULL;
		if (table)
			tensor_data(m, in[i]);
	}
	if (!*made && eval_node(m, n, in, made, &m->arena))
		*made = NULL;
	return *made;
}

static struct tensor *table_of(struct cone *c, val_id v)
{
	if (one_element(c->rw, v))
		return number(c, v);
	return v == c->leaf[0] ? c->codes : run(c, rw_node_of(c->rw, v));
}

/* All codes, in the order in which they are indices: those below zero count from the end. */
static struct tensor *all_codes(struct module *m, enum dtype t)
{
	struct tensor *x = tensor_new(&m->arena, t, 1, (int64_t[]){CODES});

	for (int i = 0; i < CODES; i++)
		((uint8_t *)x->data)[i] = (uint8_t)i;
	return x;
}

static bool same_shape(const struct type *a, const struct type *b)
{
	bool same = a->rank == b->rank && a->rank != RANK_UNKNOWN;

	for (int i = 0; i < a->rank && same; i++)
		same = a->dims[i] == b->dims[i] && a->dims[i] != POLY_UNKNOWN;
	return same;
}

static const char *table(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	struct cone c = {.rw = rw, .root = n};

	if (!is_code(rw, node(m, n)->out[0]) || !single_code(&c) || !has_function(&c))
		return NO_MATCH;
	if (!same_shape(rw_type(rw, c.leaf[0]), rw_type(rw, node(m, n)->out[0])))
		return "the code that it is made of has another shape";
	c.codes = all_codes(m, rw_type(rw, c.leaf[0])->dtype);
	struct tensor *t = run(&c, n);
	if (!t || t->rank != 1 || t->dims[0] != CODES)
		return "the evaluator does not run what is before it";
	val_id index = rw_node(rw, n, OP_Cast, 1, &c.leaf[0]);
	attr_set_int(m, rw_node_of(rw, index), "to", dtype_to_onnx(DT_I32));
	rw_replace(rw, node(m, n)->out[0], rw_node(rw, n, OP_Gather, 2, (val_id[]){rw_constant_tensor(rw, t), index}));
	return NULL;
}

const struct rule rules_table[] = {
	{"table", OP_QuantizeLinear, table, "what is before it is a function of one code", MEASURE_WORK},
	{0},
};
