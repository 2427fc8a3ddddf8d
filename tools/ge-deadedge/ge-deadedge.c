/* Dead edges: ways through the graph that no run takes.
 *
 * Of an If or Case of known condition the branch that is taken stands in its place; the same where all branches are
 * equal, and of the body of a PartitionedCall; or, if so asked for, a branch is called where it was taken. A result that every branch hands on from the same operand is that operand. A Loop that makes no step is its
 * initial state, one that makes a single step is its body. State that no step changes becomes a value that the body reads.
 *
 * One round: infer shapes, so that what follows from them is known; walk each graph, callers first, and write its
 * nodes anew. What a branch brings with it is looked at in the next round. Rounds repeat until one changes nothing. */
#include <stdlib.h>
#include <string.h>
#include "deadedge.h"
#include "graph/bodies.h"

enum { OPT_CALL = 1000 };
static bool calls; /* --call */

enum { COPIES_MAX = 1000000 }; /* nodes: a body that many nodes share is copied for each */

/* ---- looking ---- */

bool known_int(struct round *r, val_id v, int64_t *c)
{
	const struct value *x = v ? val(r->m, v) : NULL;
	const struct known *k;

	if (!x)
		return false;
	if (x->kind == VAL_CONST)
		return !x->overridable && tensor_count(x->tensor) == 1 && tensor_ints(r->m, x->tensor, c, 1) == 1;
	k = v < r->nvalues ? &r->known[v] : NULL;
	return k && k->yes && k->n == 1 && poly_is_const(r->m->dims, k->e[0], c);
}

static uint32_t branch_count(const struct node *n)
{
	uint32_t k = 0;

	while (node_body(n, k))
		k++;
	return k;
}

/* The branch that is taken, or 0 and why that is not known. Attributes are sorted: else_branch comes first. */
static graph_id taken_branch(struct round *r, const struct node *n, const char **why)
{
	uint32_t count = branch_count(n);
	int64_t pick;

	if (known_int(r, n->in[0], &pick)) {
		*why = "its condition is known: one branch takes its place";
		if (n->op == OP_If)
			pick = pick != 0;
		return node_body(n, pick < 0 || pick >= count ? count - 1 : (uint32_t)pick);
	}
	for (uint32_t k = 1; k < count; k++)
		if (!graphs_equal(r->m, node_body(n, 0), node_body(n, k))) {
			*why = "its condition is not known";
			return 0;
		}
	*why = "its branches are equal: one takes its place";
	return node_body(n, 0);
}

/* What every branch of n gives as result k: an operand or a constant; else 0. */
static val_id common_result(struct round *r, const struct node *n, uint32_t k)
{
	val_id all = 0;
	graph_id b;

	for (uint32_t i = 0; (b = node_body(n, i)); i++) {
		const struct graph *g = graph(r->m, b);
		if (g->in.n + 1 != n->nin || g->out.n != n->nout)
			return 0;
		if (!passes_unchanged(r->m, n, b))
			return 0;
		const struct value *x = val(r->m, g->out.a[k]);
		val_id v = x->kind == VAL_CONST ? g->out.a[k] : x->kind == VAL_INPUT ? n->in[n->nin - g->in.n + x->index] : 0;
		if (!v || (i && v != all && !values_equal(r->m, v, all)))
			return 0;
		if (!i)
			all = v;
	}
	return all;
}

/* ---- changing ---- */

bool is_output(struct round *r, graph_id g, val_id v)
{
	for (size_t i = 0; i < graph(r->m, g)->out.n; i++)
		if (graph(r->m, g)->out.a[i] == v)
			return true;
	return false;
}

void replace_result(struct round *r, graph_id g, val_id old, val_id by)
{
	node_id copy;

	if (g != r->m->main || !is_output(r, g, old)) {
		r->fwd.a[old] = by;
		return;
	}
	copy = node_new_loose(r->m, g, OP_Identity, 1, &by, 0); /* an output has to be computed by someone */
	struct node *n = node(r->m, copy);
	n->nout = 1;
	n->out = arena_copy(&r->m->arena, &old, sizeof old);
	val(r->m, old)->kind = VAL_NODE;
	val(r->m, old)->def = copy;
	val(r->m, old)->index = 0;
	vec_push(&r->order.nodes, copy);
}

bool put_body(struct round *r, graph_id g, graph_id body, uint32_t nin, const val_id *in, uint32_t nout, const val_id *out)
{
	const struct graph *b = graph(r->m, body);
	size_t size = b->nodes.n;

	if (r->copies + size > COPIES_MAX)
		return false;
	for (size_t k = 0; k < b->out.n && k < nout; k++) /* what is handed on has to be there */
		if (out[k] && val(r->m, b->out.a[k])->kind == VAL_INPUT && !in[val(r->m, b->out.a[k])->index])
			return false;
	r->copies += size;
	inline_body(&r->inlined, r->m, body, g, nin, in, nout, out, r->fwd.a, &r->order);
	for (uint32_t k = 0; k < nout; k++) {
		val_id by = out[k] ? r->fwd.a[out[k]] : 0;
		if (!by)
			continue;
		r->fwd.a[out[k]] = 0;
		replace_result(r, g, out[k], by);
	}
	return true;
}

/* What is said of id if it is still there at the end. */
bool kept(struct round *r, node_id id, const char *why)
{
	size_t had = r->why.n;

	vec_reserve(&r->why, r->m->nodes.n);
	memset(r->why.a + had, 0, (r->m->nodes.n - had) * sizeof *r->why.a);
	r->why.n = r->m->nodes.n;
	r->why.a[id] = why;
	return false;
}

static void say_kept(struct round *r)
{
	struct graph_list order = {0};

	module_graph_order(r->m, &order);
	for (size_t k = 0; k < order.n; k++)
		for (size_t i = 0; i < graph(r->m, order.a[k])->nodes.n; i++) {
			node_id id = graph(r->m, order.a[k])->nodes.a[i];
			if (id < r->why.n && r->why.a[id])
				pass_why(r->c, r->m, id, "kept: %s", r->why.a[id]);
		}
	vec_free(&order);
}

/* The node becomes a call of body, with the operands behind the first. */
static void call_branch(struct round *r, node_id id, graph_id body)
{
	struct node *n = node(r->m, id);

	n->op = OP_PartitionedCall;
	n->in++;
	n->nin--;
	n->nattr = 0;
	attr_set_graph(r->m, id, "graph", body);
	r->changed = true;
}

/* A PartitionedCall. False: it stays. */
static bool call(struct round *r, node_id id)
{
	const struct node n = *node(r->m, id);
	graph_id body = attr_graph(&n, "graph");

	if (calls || !body)
		return kept(r, id, "calls are kept");
	if (!put_body(r, n.graph, body, n.nin, n.in, n.nout, n.out))
		return kept(r, id, "the copies of its bodies are too many");
	pass_why(r->c, r->m, id, "its body takes its place");
	return true;
}

/* An If or Case. False: it stays. */
static bool branch(struct round *r, node_id id)
{
	const struct node n = *node(r->m, id);
	const char *why;
	graph_id taken = taken_branch(r, &n, &why);
	bool fits = !taken || passes_unchanged(r->m, &n, taken);

	if (taken && fits && calls && graph(r->m, taken)->out.n == n.nout) {
		pass_why(r->c, r->m, id, "%s, as a call", why);
		call_branch(r, id, taken);
		return false;
	}
	if (taken && fits && put_body(r, n.graph, taken, n.nin - 1, n.in + 1, n.nout, n.out)) {
		pass_why(r->c, r->m, id, "%s", why);
		return true;
	}
	kept(r, id, !fits ? "its operands are not of the branch's size" : taken ? "the copies of its bodies are too many" : why);
	for (uint32_t k = 0; k < n.nout; k++) {
		val_id by = n.out[k] && !is_output(r, n.graph, n.out[k]) ? common_result(r, &n, k) : 0;
		if (!by)
			continue;
		pass_why(r->c, r->m, id, "every branch gives %s as %s", sym_str(val(r->m, by)->name), sym_str(val(r->m, n.out[k])->name));
		r->fwd.a[n.out[k]] = by;
		node(r->m, id)->out[k] = 0;
		r->changed = true;
	}
	return false;
}

static void rewrite_graph(struct round *r, graph_id g, bool *named)
{
	struct module *m = r->m;
	VEC(node_id) old = {0};

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		vec_push(&old, graph(m, g)->nodes.a[i]);
	r->order.nodes.n = 0;
	for (size_t i = 0; i < old.n; i++) {
		enum opcode op = node(m, old.a[i])->op;
		bool gone = op == OP_If || op == OP_Case ? branch(r, old.a[i])
			    : op == OP_Loop              ? loop(r, old.a[i])
			    : op == OP_PartitionedCall   ? call(r, old.a[i])
							 : false;
		if (!gone)
			vec_push(&r->order.nodes, old.a[i]);
		r->changed = r->changed || gone;
	}
	graph(m, g)->nodes.n = 0;
	for (size_t i = 0; i < r->order.nodes.n; i++) {
		const struct node *n = node(m, r->order.nodes.a[i]);
		graph_id b;
		for (uint32_t k = 0; (b = node_body(n, k)); k++)
			named[b] = true;
		vec_push(&graph(m, g)->nodes, r->order.nodes.a[i]);
	}
	vec_free(&old);
}

static void count_users(struct round *r, const struct graph_list *order)
{
	struct module *m = r->m;

	r->users = xcalloc(m->graphs.n, sizeof *r->users);
	for (size_t g = 0; g < order->n; g++)
		for (size_t i = 0; i < graph(m, order->a[g])->nodes.n; i++) {
			const struct node *n = node(m, graph(m, order->a[g])->nodes.a[i]);
			graph_id b;
			for (uint32_t k = 0; (b = node_body(n, k)); k++)
				r->users[b]++;
		}
}

static bool run_round(struct round *r)
{
	struct graph_list order = {0};
	bool *named; /* by graph: by a node that stays */

	r->changed = false;
	infer_module(r->m, &r->known);
	r->nvalues = r->m->values.n;
	vec_reserve(&r->fwd, r->nvalues);
	r->fwd.n = r->nvalues;
	memset(r->fwd.a, 0, r->fwd.n * sizeof *r->fwd.a);
	module_graph_order(r->m, &order);
	count_users(r, &order);
	named = xcalloc(r->m->graphs.n, sizeof *named);
	named[r->m->main] = true;
	for (size_t i = order.n; i-- > 0;)
		if (named[order.a[i]])
			rewrite_graph(r, order.a[i], named);
	free(named);
	free(r->users);
	if (r->changed) {
		vec_reserve(&r->fwd, r->m->values.n);
		memset(r->fwd.a + r->fwd.n, 0, (r->m->values.n - r->fwd.n) * sizeof *r->fwd.a);
		module_forward(r->m, r->fwd.a);
	}
	vec_free(&order);
	return r->changed;
}

/* ---- what is left behind ---- */

/* Marks in dead the nodes that no output needs, by node; but those of keep (of the first nkeep nodes, may be NULL) and what they need. */
static void find_dead(struct module *m, const bool *keep, size_t nkeep, bool *dead)
{
	bool *used = xcalloc(m->values.n, sizeof *used);
	struct graph_list order = {0};

	module_graph_order(m, &order);
	for (size_t k = 0; k < order.n; k++) {
		const struct graph *g = graph(m, order.a[k]);
		for (size_t i = 0; i < g->out.n; i++)
			used[g->out.a[i]] = true;
		for (size_t i = g->nodes.n; i-- > 0;) {
			node_id id = g->nodes.a[i];
			const struct node *n = node(m, id);
			bool any = keep && id < nkeep && keep[id];
			for (uint32_t j = 0; j < n->nout; j++)
				any = any || (n->out[j] && used[n->out[j]]);
			dead[id] = !any;
			for (uint32_t j = 0; any && j < n->nin; j++)
				used[n->in[j]] = n->in[j] != 0;
		}
	}
	vec_free(&order);
	free(used);
}

/* needs: nothing. keeps: inputs and outputs, ONNX's operators, nodes that were unused before. leaves: no branch or
 * loop whose course is known, calls only with --call, and nothing that only the ways not taken used. */
static void deadedge(struct module *m, const struct pass_ctx *c)
{
	struct round r = {.m = m, .c = c};
	size_t nnodes = m->nodes.n;
	bool *unused = xcalloc(nnodes, sizeof *unused), any = false;

	find_dead(m, NULL, 0, unused);
	while (run_round(&r))
		any = true;
	if (any) {
		bool *dead = xcalloc(m->nodes.n, sizeof *dead);
		find_dead(m, unused, nnodes, dead);
		for (size_t i = 1; c->why && i < m->nodes.n; i++)
			if (dead[i])
				pass_why(c, m, (node_id)i, "dropped: only ways that are not taken used it");
		module_drop_nodes(m, dead);
		free(dead);
	}
	say_kept(&r);
	free(unused);
	vec_free(&r.why);
	vec_free(&r.inlined);
	vec_free(&r.order.nodes);
	vec_free(&r.fwd);
}

static error_t option(int key, char *arg)
{
	calls |= key == OPT_CALL;
	return key == OPT_CALL ? 0 : ARGP_ERR_UNKNOWN;
}

static const struct argp_option options[] = {
	{"call", OPT_CALL, 0, 0, "call the branch that is taken (PartitionedCall), and keep calls"},
	{0},
};

static const struct pass pass = {
	.run = deadedge,
	.contract = "Infers shapes itself. Keeps ONNX operators. Leaves no If, Case or Loop whose course is known.",
};

const struct tool tool = {
	.name = "ge-deadedge",
	.summary = "Put the branch that is taken in the place of an If whose condition is known.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
