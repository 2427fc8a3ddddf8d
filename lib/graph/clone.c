#include "graph/clone.h"
#include <stdlib.h>
#include "graph/inline.h"

struct cloning {
	struct module *m;
	const char *suffix;
	size_t nvalues; /* that there were before */
	val_id *copy;   /* of a value */
	graph_id *body; /* of a graph */
};

static val_id copy_of(struct cloning *c, val_id v, graph_id g)
{
	if (!v || v >= c->nvalues || val(c->m, v)->kind == VAL_CONST)
		return v;
	if (!c->copy[v])
		c->copy[v] = value_copy(c->m, v, g);
	return c->copy[v];
}

static graph_id clone(struct cloning *c, graph_id g);

static struct attr clone_attr(struct cloning *c, struct attr a)
{
	if (a.kind == ATTR_GRAPH)
		a.u.graph = clone(c, a.u.graph);
	if (a.kind == ATTR_GRAPHS) {
		graph_id *list = arena_copy(&c->m->arena, a.u.graphs, a.n * sizeof *list);
		for (uint32_t k = 0; k < a.n; k++)
			list[k] = clone(c, list[k]);
		a.u.graphs = list;
	}
	return a;
}

static void clone_node(struct cloning *c, node_id id, graph_id to)
{
	struct module *m = c->m;
	struct node x = *node(m, id);

	x.graph = to;
	x.in = arena_copy(&m->arena, x.in, x.nin * sizeof *x.in);
	x.out = arena_copy(&m->arena, x.out, x.nout * sizeof *x.out);
	x.attr = arena_copy(&m->arena, x.attr, x.nattr * sizeof *x.attr);
	for (uint32_t i = 0; i < x.nattr; i++)
		x.attr[i] = clone_attr(c, x.attr[i]);
	for (uint32_t i = 0; i < x.nin; i++)
		x.in[i] = copy_of(c, x.in[i], to);
	vec_push(&m->nodes, x);
	id = (node_id)(m->nodes.n - 1);
	for (uint32_t k = 0; k < x.nout; k++) {
		x.out[k] = copy_of(c, x.out[k], to);
		if (x.out[k])
			val(m, x.out[k])->def = id;
	}
	vec_push(&graph(m, to)->nodes, id);
}

static graph_id clone(struct cloning *c, graph_id g)
{
	struct module *m = c->m;

	if (c->body[g])
		return c->body[g];
	graph_id to = c->body[g] = graph_new(m, intern_printf("%s%s", sym_str(graph(m, g)->name), c->suffix));
	for (size_t i = 0; i < graph(m, g)->in.n; i++)
		vec_push(&graph(m, to)->in, copy_of(c, graph(m, g)->in.a[i], to));
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		clone_node(c, graph(m, g)->nodes.a[i], to);
	for (size_t k = 0; k < graph(m, g)->out.n; k++)
		graph_add_output(m, to, copy_of(c, graph(m, g)->out.a[k], to), graph(m, g)->out_name.a[k]);
	return to;
}

graph_id graph_clone(struct module *m, graph_id g, const char *suffix)
{
	struct cloning c = {.m = m, .suffix = suffix, .nvalues = m->values.n};

	c.copy = xcalloc(m->values.n, sizeof *c.copy);
	c.body = xcalloc(m->graphs.n, sizeof *c.body);
	graph_id to = clone(&c, g);
	free(c.copy);
	free(c.body);
	return to;
}
