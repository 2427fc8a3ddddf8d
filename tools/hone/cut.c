/* Parts of a graph: which nodes stay, what they read and what they give. */
#include "cut.h"
#include <stdlib.h>
#include <string.h>
#include "common/map.h"
#include "common/msg.h"
#include "graph/stream.h"

struct module *cut_read(const char *path)
{
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read_only(r);

	stream_close(r);
	module_name_values(m);
	return m;
}

void cut_write(struct module *m, const char *path)
{
	struct stream_writer *w = stream_create(path, false);

	stream_write(w, m);
	stream_finish(w);
}

val_id cut_find(struct module *m, const char *name)
{
	const struct graph *g = graph(m, m->main);
	sym s = intern(name);

	for (val_id v = 1; v < m->values.n; v++)
		if (val(m, v)->name == s && (val(m, v)->kind == VAL_CONST || val(m, v)->graph == m->main))
			return v;
	for (size_t i = 0; i < g->out.n; i++)
		if (g->out_name.a[i] == s)
			return g->out.a[i];
	return 0;
}

void cut_add_outputs(struct module *m, const val_id *v, size_t n)
{
	struct map named = {0};

	for (size_t i = 0; i < graph(m, m->main)->out.n; i++)
		map_set(&named, graph(m, m->main)->out_name.a[i], 1);
	for (size_t i = 0; i < n; i++) {
		sym name = val(m, v[i])->name;
		if (!map_get(&named, name) && !val(m, v[i])->type.other)
			graph_add_output(m, m->main, v[i], name);
		map_set(&named, name, 1);
	}
	map_free(&named);
}

/* ---- a part ---- */

struct part {
	struct module *m;
	const bool *keep;
	bool *read, *read_outside, *made; /* by value */
};

static void look(struct part *p)
{
	struct module *m = p->m;
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool inside = p->keep[g->nodes.a[i]];
		for (uint32_t k = 0; k < n->nin; k++)
			(inside ? p->read : p->read_outside)[n->in[k]] = true;
		for (uint32_t k = 0; inside && k < n->nout; k++)
			p->made[n->out[k]] = true;
	}
	for (size_t i = 0; i < g->out.n; i++)
		p->read_outside[g->out.a[i]] = true;
}

/* Inputs that are read stay in their order; results of nodes that go come after them. */
static bool set_inputs(struct part *p)
{
	struct module *m = p->m;
	struct graph *g = graph(m, m->main);
	bool tensors = true;

	g->in.n = 0;
	for (int turn = 0; turn < 2; turn++)
		for (val_id v = 1; v < m->values.n; v++) {
			struct value *x = val(m, v);
			if (!p->read[v] || p->made[v] || x->kind == VAL_CONST || x->graph != m->main || (x->kind == VAL_NODE) != turn)
				continue;
			tensors = tensors && !x->type.other;
			x->index = (uint32_t)g->in.n;
			vec_push(&g->in, v);
		}
	for (size_t i = 0; i < g->in.n; i++) {
		val(m, g->in.a[i])->kind = VAL_INPUT;
		val(m, g->in.a[i])->def = 0;
	}
	return tensors;
}

static void set_outputs(struct part *p, val_id last, enum cut_ends ends)
{
	struct module *m = p->m;
	struct graph *g = graph(m, m->main);

	g->out.n = g->out_name.n = 0;
	for (val_id v = 1; v < m->values.n; v++) {
		bool wanted = ends == CUT_UNREAD ? !p->read[v] : p->read_outside[v];
		if (p->made[v] && (v == last || wanted) && !val(m, v)->type.other)
			graph_add_output(m, m->main, v, val(m, v)->name);
	}
}

bool cut_part(struct module *m, const bool *keep, val_id last, enum cut_ends ends)
{
	struct part p = {m, keep, xcalloc(m->values.n, 1), xcalloc(m->values.n, 1), xcalloc(m->values.n, 1)};
	bool *dead = xcalloc(m->nodes.n, sizeof *dead);
	const struct graph *g = graph(m, m->main);

	look(&p);
	p.read[0] = p.made[0] = false;
	for (size_t i = 0; i < g->nodes.n; i++)
		dead[g->nodes.a[i]] = !keep[g->nodes.a[i]];
	bool good = set_inputs(&p);
	set_outputs(&p, last, ends);
	module_drop_nodes(m, dead);
	free(p.read);
	free(p.read_outside);
	free(p.made);
	free(dead);
	return good && graph(m, m->main)->out.n > 0;
}

/* ---- layouts ---- */

/* A loose group that copies v, as it lies, to a new value that lies as `to` says. */
static node_id copying_group(struct module *m, val_id v, sym to)
{
	struct type in = val(m, v)->type, out = in;
	const char *name = sym_str(val(m, v)->name);
	graph_id body = graph_new(m, intern_printf("copy of %s", name));
	val_id a;

	out.layout = to;
	a = graph_add_input(m, body, intern("a"), in);
	node_id n = node_new(m, body, OP_Identity, 1, &a, 1);
	val_id b = node(m, n)->out[0];
	val(m, b)->type = out;
	val(m, b)->name = intern("b");
	graph_add_output(m, body, b, intern("b"));
	node_id f = node_new_loose(m, m->main, OP_Fused, 1, &v, 1);
	attr_set_graph(m, f, "graph", body);
	val(m, node(m, f)->out[0])->type = out;
	val(m, node(m, f)->out[0])->name = intern_printf("copy of %s", name);
	return f;
}

/* Readers of the input read the copy. */
static void lay_input(struct module *m, val_id v, val_id *fwd)
{
	sym layout = val(m, v)->type.layout;

	val(m, v)->type.layout = 0;
	node_id f = copying_group(m, v, layout);
	struct graph *g = graph(m, m->main);
	fwd[v] = node(m, f)->out[0];
	vec_push(&g->nodes, f);
	memmove(g->nodes.a + 1, g->nodes.a, (g->nodes.n - 1) * sizeof *g->nodes.a);
	g->nodes.a[0] = f;
}

void cut_row_major(struct module *m)
{
	size_t before = m->nodes.n, inputs = graph(m, m->main)->in.n;
	val_id *fwd = xcalloc(m->values.n + inputs, sizeof *fwd);

	for (size_t i = 0; i < inputs; i++)
		if (val(m, graph(m, m->main)->in.a[i])->type.layout)
			lay_input(m, graph(m, m->main)->in.a[i], fwd);
	for (node_id n = 1; n < before; n++)
		for (uint32_t k = 0; node(m, n)->graph == m->main && k < node(m, n)->nin; k++)
			if (fwd[node(m, n)->in[k]])
				node(m, n)->in[k] = fwd[node(m, n)->in[k]];
	free(fwd);
	for (size_t i = 0; i < graph(m, m->main)->out.n; i++) {
		val_id v = graph(m, m->main)->out.a[i];
		if (!val(m, v)->type.layout)
			continue;
		node_id f = copying_group(m, v, 0);
		vec_push(&graph(m, m->main)->nodes, f);
		graph(m, m->main)->out.a[i] = node(m, f)->out[0];
	}
}

void cut_no_layouts(struct module *m)
{
	for (val_id v = 1; v < m->values.n; v++)
		val(m, v)->type.layout = 0;
}
