/* Attention to a past that comes in and a present that goes out: a Concat each for keys and values, and Attention to what they give. So a
 * cache is one value, which a library that keeps it lets grow (ge-layout --alias). */
#include "op/op.h"
#include "op/past.h"

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID, OPERANDS };

/* ---- heads side by side ---- */

static const int64_t exchanged[] = {0, 2, 1, 3};

static val_id transposed(struct rewrite *rw, node_id n, val_id v)
{
	v = rw_node(rw, n, OP_Transpose, 1, &v);
	attr_set_ints(rw_module(rw), rw_node_of(rw, v), "perm", 4, exchanged);
	return v;
}

static val_id reshaped(struct rewrite *rw, node_id n, val_id v, int rank, const int64_t *shape)
{
	return rw_node(rw, n, OP_Reshape, 2, (val_id[]){v, rw_constant_ints(rw, rank, shape)});
}

static bool from_outside(struct rewrite *rw, node_id n, uint32_t i)
{
	return rw_in(rw, n, i) && val(rw_module(rw), rw_in(rw, n, i))->kind == VAL_INPUT;
}

static const char *heads_apart(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	int64_t heads[] = {attr_i(node(m, n), "q_num_heads"), attr_i(node(m, n), "kv_num_heads"), attr_i(node(m, n), "kv_num_heads")};
	uint32_t nin = node(m, n)->nin, nout = node(m, n)->nout;
	val_id in[VALID] = {0};

	if (rw_type(rw, rw_in(rw, n, QUERY))->rank != 3 || nin != VALID || nout < 3 || !from_outside(rw, n, PAST_KEY) ||
	    !from_outside(rw, n, PAST_VALUE))
		return NO_MATCH;
	for (uint32_t i = 0; i < nin; i++)
		in[i] = i > VALUE ? rw_in(rw, n, i)
				  : transposed(rw, n, reshaped(rw, n, rw_in(rw, n, i), 4, (int64_t[]){0, 0, heads[i], -1}));
	val_id y = rw_nodes_out(rw, n, OP_Attention, (int)nin, in, (int)nout);
	node_id id = rw_node_of(rw, y);
	rw_copy_attrs(rw, id, n);
	for (uint32_t k = 1; k < nout; k++)
		if (node(m, n)->out[k])
			rw_replace(rw, node(m, n)->out[k], node(m, id)->out[k]);
	rw_replace(rw, node(m, n)->out[0], reshaped(rw, n, transposed(rw, n, y), 3, (int64_t[]){0, 0, -1}));
	return NULL;
}

/* No rule of ge-simplify: each time there is an Attention with heads side by side less. */
const struct rule rule_heads_apart = {"heads-apart", OP_Attention, heads_apart, "Attention to a past gets an axis for heads", MEASURE_WORK};

/* ---- past and present ---- */

struct present {
	struct module *m;
	graph_id g;
	node_id root;
	bool counted;
	VEC(node_id) order; /* of the graph, as it becomes */
};

static const struct type *type_of(struct present *p, uint32_t operand) { return &val(p->m, node(p->m, p->root)->in[operand])->type; }

static bool is_operand(struct present *p, uint32_t i) { return i < node(p->m, p->root)->nin && node(p->m, p->root)->in[i]; }

static bool is_result(struct present *p, uint32_t k) { return k < node(p->m, p->root)->nout && node(p->m, p->root)->out[k]; }

static bool is_output(struct present *p, val_id v)
{
	const struct graph *g = graph(p->m, p->g);

	for (size_t k = 0; k < g->out.n; k++)
		if (g->out.a[k] == v)
			return true;
	return false;
}

/* Does it matter at which place a query stands? */
static bool looks_at_place(const struct node *n)
{
	return attr_i(n, "is_causal") || attr_i(n, "left_window_size") >= 0 || attr_i(n, "right_window_size") >= 0;
}

/* NULL, or why it stays. "": there is nothing to do. */
static const char *why_not(struct present *p)
{
	const struct node *n = node(p->m, p->root);

	for (uint32_t i = PAST_KEY; i <= PAST_VALUE; i++)
		if (!is_operand(p, i) || val(p->m, n->in[i])->kind != VAL_INPUT || !is_result(p, i - PAST_KEY + 1) ||
		    !is_output(p, n->out[i - PAST_KEY + 1]))
			return "";
	if (is_operand(p, VALID))
		return "";
	for (uint32_t i = QUERY; i <= VALUE; i++)
		if (type_of(p, i)->rank != 4)
			return "the past is not joined: queries, keys and values are not of four axes";
	if (looks_at_place(n) && (!type_of(p, QUERY)->dims[2] || type_of(p, QUERY)->dims[2] != type_of(p, KEY)->dims[2]))
		return "the past is not joined: there may be more keys than queries, of which each has its place";
	return NULL;
}

static node_id add(struct present *p, enum opcode op, int nin, const val_id *in, int nout)
{
	node_id id = node_new_loose(p->m, p->g, op, nin, in, nout);

	node(p->m, id)->name = node(p->m, p->root)->name;
	vec_push(&p->order, id);
	return id;
}

/* Result k is made by a Concat of the past and what is new. */
static val_id join(struct present *p, uint32_t past, uint32_t now, uint32_t k)
{
	struct module *m = p->m;
	val_id v = node(m, p->root)->out[k], in[2] = {node(m, p->root)->in[past], node(m, p->root)->in[now]};
	node_id id = add(p, OP_Concat, 2, in, 0);

	node(m, id)->nout = 1;
	node(m, id)->out = arena_copy(&m->arena, &v, sizeof v);
	attr_set_int(m, id, "axis", 2);
	val(m, v)->def = id;
	val(m, v)->index = 0;
	node(m, p->root)->out[k] = 0;
	return v;
}

static val_id axis_size(struct present *p, val_id v, int axis)
{
	node_id id = add(p, OP_Shape, 1, &v, 1);

	attr_set_int(p->m, id, "start", axis);
	attr_set_int(p->m, id, "end", axis + 1);
	val(p->m, node(p->m, id)->out[0])->type = type_make(p->m, DT_I64, 1, (int64_t[]){1});
	return node(p->m, id)->out[0];
}

/* How many keys there are, for each of the batch: of as many queries as new keys, the last has the last key's place. */
static val_id valid_keys(struct present *p, val_id keys)
{
	struct module *m = p->m;
	dim batch = type_of(p, QUERY)->dims[0], *dims;
	val_id count = axis_size(p, keys, 2);
	int64_t one;

	if (poly_is_const(m->dims, batch, &one) && one == 1)
		return count;
	val_id in[2] = {count, axis_size(p, node(m, p->root)->in[QUERY], 0)};
	node_id id = add(p, OP_Expand, 2, in, 1);
	dims = arena_copy(&m->arena, &batch, sizeof batch);
	val(m, node(m, id)->out[0])->type = (struct type){.dtype = DT_I64, .rank = 1, .dims = dims};
	return node(m, id)->out[0];
}

static void split(struct present *p)
{
	struct module *m = p->m;
	val_id in[OPERANDS] = {0};
	uint32_t nin = MASK;

	for (uint32_t i = QUERY; i <= MASK; i++)
		in[i] = is_operand(p, i) ? node(m, p->root)->in[i] : 0;
	nin += in[MASK] != 0;
	in[KEY] = join(p, PAST_KEY, KEY, 1);
	in[VALUE] = join(p, PAST_VALUE, VALUE, 2);
	if (p->counted || looks_at_place(node(m, p->root))) {
		in[VALID] = valid_keys(p, in[KEY]);
		nin = OPERANDS;
	}
	struct node *n = node(m, p->root);
	n->nin = nin;
	n->in = arena_copy(&m->arena, in, nin * sizeof *in);
	n->nout = n->nout > 3 ? n->nout : 1;
}

void split_pasts(struct module *m, graph_id g, bool counted, const struct pass_ctx *c)
{
	struct present p = {.m = m, .g = g, .counted = counted};
	bool changed = false;

	if (g != m->main)
		return;
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		p.root = graph(m, g)->nodes.a[i];
		const char *why = node(m, p.root)->op == OP_Attention ? why_not(&p) : "";
		if (!why) {
			split(&p);
			changed = true;
		}
		if (!why || *why)
			pass_why(c, m, p.root, "%s", why ? why : "past and new keys are joined before it");
		vec_push(&p.order, p.root);
	}
	if (changed) {
		graph(m, g)->nodes.n = 0;
		for (size_t i = 0; i < p.order.n; i++)
			vec_push(&graph(m, g)->nodes, p.order.a[i]);
	}
	vec_free(&p.order);
}

void join_pasts(struct module *m, const struct pass_ctx *c)
{
	struct rule_run run = {.rule = &rule_heads_apart};

	rewrite_module(m, &run, 1, c, false);
	if (run.applied)
		infer_module(m, NULL);
	split_pasts(m, m->main, true, c);
	infer_module(m, NULL);
}
