/* Dead code: nodes, constants, and inputs and outputs of bodies that the module's outputs do not need.
 *
 * Need flows backwards from the outputs. Where a body's inputs and outputs are a node's operands and
 * results, each is needed by itself. Graphs that one node names (branches), and a graph that several
 * nodes name (functions), share one signature; such graphs form a family. */
#include <stdlib.h>
#include <string.h>
#include "graph/bodies.h"
#include "op/pass.h"

static VEC(const char *) chosen; /* --output */
static bool codes;               /* --codes */

struct prune {
	struct module *m;
	const struct pass_ctx *ctx;
	bool *live_node, *live_value, *live_graph;
	graph_id *family; /* by graph: union-find */
	struct family {
		VEC(graph_id) graphs;
		VEC(node_id) sites; /* live nodes that name one of them */
		bool *in, *out;     /* needed; `in` counts from the last input */
		uint32_t nin, nout;
	} * families; /* by representative */
	VEC(val_id) todo;
};

static void need(struct prune *p, val_id v)
{
	if (!v || p->live_value[v])
		return;
	p->live_value[v] = true;
	vec_push(&p->todo, v);
}

static graph_id family_of(struct prune *p, graph_id g)
{
	while (p->family[g] != g)
		g = p->family[g] = p->family[p->family[g]];
	return g;
}

static void find_families(struct prune *p, const struct graph_list *order)
{
	struct module *m = p->m;
	for (graph_id g = 0; g < m->graphs.n; g++)
		p->family[g] = g;
	for (size_t k = 0; k < order->n; k++) {
		const struct graph *g = graph(m, order->a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			graph_id b, first = node_body(n, 0);
			for (uint32_t j = 1; (b = node_body(n, j)); j++)
				p->family[family_of(p, b)] = family_of(p, first);
		}
	}
	for (size_t k = 0; k < order->n; k++) {
		graph_id g = order->a[k];
		struct family *f = &p->families[family_of(p, g)];
		vec_push(&f->graphs, g);
		f->nin = graph(m, g)->in.n > f->nin ? (uint32_t)graph(m, g)->in.n : f->nin;
		f->nout = graph(m, g)->out.n > f->nout ? (uint32_t)graph(m, g)->out.n : f->nout;
	}
	for (size_t k = 0; k < order->n; k++) {
		struct family *f = &p->families[order->a[k]];
		if (f->graphs.n) {
			f->in = xcalloc(f->nin, sizeof *f->in);
			f->out = xcalloc(f->nout, sizeof *f->out);
		}
	}
}

static void need_output(struct prune *p, struct family *f, uint32_t i)
{
	if (f->out[i])
		return;
	f->out[i] = true;
	for (size_t k = 0; k < f->graphs.n; k++) {
		const struct graph *g = graph(p->m, f->graphs.a[k]);
		if (i < g->out.n)
			need(p, g->out.a[i]);
	}
}

/* The last input but `back` of the family's graphs: the operand that stands there, at every site. */
static void need_passed(struct prune *p, const struct node *n, uint32_t back)
{
	if (back < node_passing(n).operands)
		need(p, n->in[n->nin - 1 - back]);
}

static void need_input(struct prune *p, graph_id g, uint32_t i)
{
	struct family *f = &p->families[family_of(p, g)];
	uint32_t back = (uint32_t)graph(p->m, g)->in.n - 1 - i;
	if (f->in[back])
		return;
	f->in[back] = true;
	for (size_t k = 0; k < f->sites.n; k++)
		need_passed(p, node(p->m, f->sites.a[k]), back);
}

/* A node comes to life: its own operands, and of its bodies what they are known to need. */
static void enliven(struct prune *p, node_id id)
{
	const struct node *n = node(p->m, id);
	graph_id b = node_body(n, 0);
	bool shrinks = b && n->op != OP_Foreign; /* an operator of a file keeps its operands and results */
	struct passing passing = shrinks ? node_passing(n) : (struct passing){0, false};
	p->live_node[id] = true;
	for (uint32_t i = 0; i + passing.operands < n->nin; i++)
		need(p, n->in[i]);
	if (!b)
		return;
	struct family *f = &p->families[family_of(p, b)];
	vec_push(&f->sites, id);
	for (size_t k = 0; k < f->graphs.n; k++)
		p->live_graph[f->graphs.a[k]] = true;
	for (uint32_t i = 0; !passing.results && i < f->nout; i++)
		need_output(p, f, i);
	/* inputs that are not passed belong to the operator (a loop's counter and state) */
	for (uint32_t back = 0; back < f->nin; back++) {
		if (back >= passing.operands)
			f->in[back] = true;
		else if (f->in[back])
			need_passed(p, n, back);
	}
}

static void spread(struct prune *p)
{
	while (p->todo.n) {
		const struct value *v = val(p->m, p->todo.a[--p->todo.n]);
		if (v->kind == VAL_INPUT && v->graph != p->m->main)
			need_input(p, v->graph, v->index);
		if (v->kind != VAL_NODE)
			continue;
		const struct node *n = node(p->m, v->def);
		if (!p->live_node[v->def])
			enliven(p, v->def);
		if (node_passing(n).results && node_body(n, 0))
			need_output(p, &p->families[family_of(p, node_body(n, 0))], v->index);
	}
}

/* Taking away what is not needed. */

static void shrink_graph(struct prune *p, graph_id id)
{
	struct module *m = p->m;
	struct graph *g = graph(m, id);
	const struct family *f = &p->families[family_of(p, id)];
	size_t kept = 0, n = g->in.n;
	for (size_t i = 0; i < n; i++) {
		if (!f->in[n - 1 - i])
			continue;
		val(m, g->in.a[i])->index = (uint32_t)kept;
		g->in.a[kept++] = g->in.a[i];
	}
	g->in.n = kept;
	kept = 0;
	for (size_t i = 0; i < g->out.n; i++) {
		if (!f->out[i])
			continue;
		g->out_name.a[kept] = g->out_name.a[i];
		g->out.a[kept++] = g->out.a[i];
	}
	g->out.n = g->out_name.n = kept;
}

/* Of a list that has an element for each of the last `count` operands, or for each result: those of the ones that stay. */
static void shrink_list(struct prune *p, node_id id, const char *name, uint32_t count, const bool *stays, bool from_end)
{
	int n;
	const int64_t *v = attr_ints(node(p->m, id), name, &n);
	int64_t *left = ARENA_ARRAY(&p->m->arena, int64_t, count + 1);
	int kept = 0;

	if (!v || (uint32_t)n != count)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (stays[from_end ? count - 1 - i : i])
			left[kept++] = v[i];
	attr_set_ints(p->m, id, name, kept, left);
}

static void shrink_site(struct prune *p, node_id id)
{
	struct module *m = p->m;
	struct node *n = node(m, id);
	const struct family *f = &p->families[family_of(p, node_body(n, 0))];
	struct passing passing = node_passing(n);
	uint32_t own = n->nin - passing.operands, kept = own, results = 0;
	if (n->op == OP_Case) {
		shrink_list(p, id, "fit", passing.operands, f->in, true);
		shrink_list(p, id, "cut", n->nout, f->out, false);
		n = node(m, id);
	}
	for (uint32_t i = own; i < n->nin; i++)
		if (f->in[n->nin - 1 - i])
			n->in[kept++] = n->in[i];
	n->nin = kept;
	if (op_is(n->op, OP_CONTROL) && attr_find(n, "captures"))
		attr_set_int(m, id, "captures", kept - own);
	for (uint32_t i = 0; passing.results && i < n->nout; i++) {
		if (!f->out[i])
			continue;
		if (n->out[i])
			val(m, n->out[i])->index = results;
		n->out[results++] = n->out[i];
	}
	if (!passing.results || results == n->nout)
		return;
	n->nout = results;
	attr_drop(m, id, "offsets"); /* of ge-plan: a place for each result that there was */
}

static void shrink(struct prune *p, const struct graph_list *order)
{
	struct module *m = p->m;
	bool *dead = xcalloc(m->nodes.n, sizeof *dead);
	for (size_t k = 0; k < order->n; k++) {
		const struct graph *g = graph(m, order->a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			node_id id = g->nodes.a[i];
			dead[id] = !p->live_node[id];
			pass_why(p->ctx, m, id, dead[id] ? "dropped: no output needs it" : "kept: an output needs it");
			if (!dead[id] && node_body(node(m, id), 0))
				shrink_site(p, id);
		}
		if (order->a[k] != m->main && p->live_graph[order->a[k]])
			shrink_graph(p, order->a[k]);
	}
	module_drop_nodes(m, dead);
	free(dead);
}

/* An output of that name, else any value of the main graph. */
static val_id find_value(struct module *m, sym name)
{
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->out.n; i++)
		if (g->out_name.a[i] == name)
			return g->out.a[i];
	for (val_id v = 1; v < m->values.n; v++)
		if (val(m, v)->name == name && val(m, v)->graph == m->main)
			return v;
	return 0;
}

static void choose_outputs(struct module *m)
{
	struct graph *g = graph(m, m->main);
	VEC(val_id) v = {0};
	for (size_t i = 0; i < chosen.n; i++) {
		val_id x = find_value(m, intern(chosen.a[i]));
		if (!x)
			die(EX_BADUSE, "%s: no output or value '%s'; ge-stat lists the outputs", m->source ? m->source : "standard input",
			    chosen.a[i]);
		vec_push(&v, x);
	}
	if (!chosen.n)
		return;
	g->out.n = g->out_name.n = 0;
	for (size_t i = 0; i < v.n; i++)
		graph_add_output(m, m->main, v.a[i], intern(chosen.a[i]));
	vec_free(&v);
}

static bool is_output(struct module *m, val_id v)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->out.n; i++)
		if (g->out.a[i] == v)
			return true;
	return false;
}

/* What a QuantizeLinear of the main graph computes is an output, too, by its name. */
static void add_codes(struct module *m)
{
	size_t n = graph(m, m->main)->nodes.n;

	module_name_values(m);
	for (size_t i = 0; i < n; i++) {
		const struct node *x = node(m, graph(m, m->main)->nodes.a[i]);
		if (x->op == OP_QuantizeLinear && val(m, x->in[0])->kind != VAL_CONST && !is_output(m, x->out[0]))
			graph_add_output(m, m->main, x->out[0], val(m, x->out[0])->name);
	}
}

/* needs: nothing. keeps: the outputs (those chosen), all inputs of the main graph. leaves: nodes that
 * an output needs, bodies with the inputs they read and the outputs that are read. */
static void prune(struct module *m, const struct pass_ctx *ctx)
{
	struct prune p = {
		.m = m,
		.ctx = ctx,
		.live_node = xcalloc(m->nodes.n, sizeof *p.live_node),
		.live_value = xcalloc(m->values.n, sizeof *p.live_value),
		.live_graph = xcalloc(m->graphs.n, sizeof *p.live_graph),
		.family = xcalloc(m->graphs.n, sizeof *p.family),
		.families = xcalloc(m->graphs.n, sizeof *p.families),
	};
	struct graph_list order = {0};
	choose_outputs(m);
	if (codes)
		add_codes(m);
	module_graph_order(m, &order);
	find_families(&p, &order);
	for (size_t i = 0; i < graph(m, m->main)->out.n; i++)
		need(&p, graph(m, m->main)->out.a[i]);
	spread(&p);
	shrink(&p, &order);
	for (graph_id g = 0; g < m->graphs.n; g++) {
		struct family *f = &p.families[g];
		vec_free(&f->graphs);
		vec_free(&f->sites);
		free(f->in);
		free(f->out);
	}
	vec_free(&p.todo);
	vec_free(&order);
	free(p.live_node);
	free(p.live_value);
	free(p.live_graph);
	free(p.family);
	free(p.families);
}

enum { KEY_OUTPUT = 'O', KEY_CODES = 0x100 };
static const struct argp_option options[] = {
	{"codes", KEY_CODES, 0, 0, "make the codes of every QuantizeLinear outputs as well, for run-cmp --layers", 0},
	{"output", KEY_OUTPUT, "NAME", 0, "keep this output only, or make this value one (may be repeated)", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case KEY_CODES: codes = true; return 0;
	case KEY_OUTPUT: vec_push(&chosen, arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = prune,
	.contract = "needs nothing; keeps the outputs; leaves nothing that no output needs",
};

const struct tool tool = {
	.name = "ge-prune",
	.summary = "Drop whatever no output needs: nodes, constants, inputs and outputs of bodies.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
