/* Making Fused nodes from groups, and dissolving them. */
#include <string.h>
#include "common/vec.h"
#include "graph/clone.h"
#include "graph/fused.h"
#include "graph/inline.h"

#define PICOSECONDS "picoseconds"

/* Members of the groups of one graph: those of group g are node[start[g]] .. node[start[g+1]], in order. */
struct members {
	uint32_t *start;
	node_id *node;
};

static struct members list_members(struct module *m, const struct grouping *p, graph_id g)
{
	const struct graph *x = graph(m, g);
	struct members s = {xcalloc(p->n + 2, sizeof *s.start), xcalloc(x->nodes.n + 1, sizeof *s.node)};

	for (size_t i = 0; i < x->nodes.n; i++)
		s.start[p->group[x->nodes.a[i]] + 2]++;
	for (size_t k = 2; k < p->n + 2; k++)
		s.start[k] += s.start[k - 1];
	for (size_t i = 0; i < x->nodes.n; i++)
		s.node[s.start[p->group[x->nodes.a[i]] + 1]++] = x->nodes.a[i];
	return s;
}

static bool used_outside(const struct grouping *p, val_id v, uint32_t g)
{
	if (p->uses->nout[v])
		return true;
	for (uint32_t i = p->uses->start[v]; i < p->uses->start[v + 1]; i++)
		if (p->group[p->uses->user[i]] != g)
			return true;
	return false;
}

/* One Fused node being made. */
struct form {
	struct module *m;
	const struct grouping *p;
	graph_id body;
	uint32_t group;
	VEC(val_id) in, out; /* operands and results, outer */
};

static void move_node(struct form *f, node_id id)
{
	struct module *m = f->m;
	val_id *inner = f->p->inner;
	struct node *n = node(m, id);

	for (uint32_t i = 0; i < n->nin; i++) {
		val_id v = n->in[i];
		if (!v || val(m, v)->kind == VAL_CONST)
			continue;
		if (!inner[v] && !(val(m, v)->kind == VAL_NODE && val(m, v)->graph == f->body)) {
			inner[v] = graph_add_input(m, f->body, val(m, v)->name, val(m, v)->type);
			vec_push(&f->in, v);
		}
		if (inner[v])
			n->in[i] = inner[v];
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		val_id v = n->out[i];
		if (!v)
			continue;
		if (used_outside(f->p, v, f->group)) {
			inner[v] = n->out[i] = value_copy(m, v, f->body);
			graph_add_output(m, f->body, n->out[i], val(m, v)->name);
			vec_push(&f->out, v);
		} else {
			val(m, v)->graph = f->body;
		}
	}
	n->graph = f->body;
	vec_push(&graph(m, f->body)->nodes, id);
}

/* The Fused node of a group; not in the graph's order yet. */
static node_id form_group(struct form *f, graph_id g, const node_id *member, size_t n)
{
	struct module *m = f->m;
	node_id head = f->p->head[f->group], fused;
	sym name = node(m, head)->name;

	f->in.n = f->out.n = 0;
	if (!name && node(m, member[n - 1])->nout)
		name = val(m, node(m, member[n - 1])->out[0])->name;
	f->body = graph_new(m, name);
	for (size_t i = 0; i < n; i++)
		move_node(f, member[i]);
	fused = node_new_loose(m, g, OP_Fused, (int)f->in.n, f->in.a, 0);
	struct node *x = node(m, fused);
	x->name = name;
	x->nout = (uint32_t)f->out.n;
	x->out = arena_copy(&m->arena, f->out.a, f->out.n * sizeof *f->out.a);
	for (size_t k = 0; k < f->out.n; k++) {
		val(m, f->out.a[k])->def = fused;
		val(m, f->out.a[k])->index = (uint32_t)k;
		f->p->inner[f->out.a[k]] = 0;
	}
	for (size_t k = 0; k < f->in.n; k++)
		f->p->inner[f->in.a[k]] = 0;
	attr_set_graph(m, fused, "graph", f->body);
	return fused;
}

void groups_form(struct module *m, graph_id g, const struct grouping *p)
{
	struct members s = list_members(m, p, g);
	struct form f = {.m = m, .p = p};
	VEC(node_id) old = {0};
	size_t k = 0;

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		vec_push(&old, graph(m, g)->nodes.a[i]);
	for (size_t i = 0; i < old.n; i++) {
		node_id n = old.a[i];
		uint32_t h = p->group[n];
		if (h && s.node[s.start[h + 1] - 1] != n)
			continue; /* the group stands where its last member stood */
		if (h) {
			f.group = h;
			n = form_group(&f, g, s.node + s.start[h], s.start[h + 1] - s.start[h]);
		}
		graph(m, g)->nodes.a[k++] = n;
	}
	graph(m, g)->nodes.n = k;
	vec_free(&old);
	vec_free(&f.in);
	vec_free(&f.out);
	free(s.start);
	free(s.node);
}

/* ---- two groups as one ---- */

/* The joined body takes the outer operand where a body had its own input for it. */
static void join_operand(struct form *f, val_id inner, val_id outer)
{
	struct module *m = f->m;
	size_t k = 0;

	while (k < f->in.n && f->in.a[k] != outer)
		k++;
	if (k == f->in.n) {
		vec_push(&f->in, outer);
		graph_add_input(m, f->body, val(m, inner)->name, val(m, inner)->type);
	}
	f->p->inner[inner] = graph(m, f->body)->in.a[k];
}

/* Moves the nodes of a copied body into the joined one. */
static void join_body(struct form *f, graph_id from, const struct node *fused)
{
	struct module *m = f->m;
	val_id *inner = f->p->inner;

	for (uint32_t i = 0; i < fused->nin; i++)
		if (!inner[graph(m, from)->in.a[i]])
			join_operand(f, graph(m, from)->in.a[i], fused->in[i]);
	for (size_t i = 0; i < graph(m, from)->nodes.n; i++) {
		node_id id = graph(m, from)->nodes.a[i];
		struct node *n = node(m, id);
		for (uint32_t k = 0; k < n->nin; k++)
			if (n->in[k] && inner[n->in[k]])
				n->in[k] = inner[n->in[k]];
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k])
				val(m, n->out[k])->graph = f->body;
		n->graph = f->body;
		vec_push(&graph(m, f->body)->nodes, id);
	}
	graph(m, from)->nodes.n = 0;
}

node_id fused_join(struct module *m, node_id a, node_id b, const char *suffix)
{
	const struct node first = *node(m, a), second = *node(m, b);
	struct grouping p = {0};
	struct form f = {.m = m, .p = &p};
	graph_id one = graph_clone(m, attr_graph(&first, "graph"), suffix), two = graph_clone(m, attr_graph(&second, "graph"), suffix);

	f.body = graph_new(m, intern_printf("%s%s and %s", sym_str(graph(m, attr_graph(&first, "graph"))->name), suffix,
					    sym_str(graph(m, attr_graph(&second, "graph"))->name)));
	p.inner = xcalloc(m->values.n + first.nin + second.nin, sizeof *p.inner);
	join_body(&f, one, &first);
	for (uint32_t i = 0; i < second.nin; i++)
		if (second.in[i] == first.out[0])
			p.inner[graph(m, two)->in.a[i]] = graph(m, one)->out.a[0];
	join_body(&f, two, &second);
	for (uint32_t k = 0; k < second.nout; k++)
		graph_add_output(m, f.body, graph(m, two)->out.a[k], val(m, graph(m, two)->out.a[k])->name);
	node_id id = node_new_loose(m, second.graph, OP_Fused, (int)f.in.n, f.in.a, (int)second.nout);
	node(m, id)->name = second.name;
	for (uint32_t k = 0; k < second.nout; k++)
		val(m, node(m, id)->out[k])->type = val(m, second.out[k])->type;
	attr_set_graph(m, id, "graph", f.body);
	free(p.inner);
	vec_free(&f.in);
	return id;
}

/* ---- schedules ---- */

void fused_set_trace(struct module *m, node_id n, const char *trace)
{
	if (trace)
		attr_set_str(m, n, "trace", trace);
	else
		attr_drop(m, n, "trace");
	attr_drop(m, n, PICOSECONDS);
}

void fused_set_seconds(struct module *m, node_id n, double seconds)
{
	enum { DIGITS_BELOW = 1000 };
	double left = seconds * 1e12, most = 9e18;
	int64_t unit = 1;

	if (!(left >= 1) || left > most)
		return;
	for (; left >= DIGITS_BELOW; left /= 10)
		unit *= 10;
	attr_set_int(m, n, PICOSECONDS, (int64_t)(left + 0.5) * unit);
}

bool fused_is_row_major(struct module *m, node_id n) { return attr_i(node(m, n), "row_major"); }

void fused_set_row_major(struct module *m, node_id n) { attr_set_int(m, n, "row_major", 1); }

int fused_threads(struct module *m, node_id n) { return (int)attr_int(node(m, n), "threads", 0); }

void fused_set_threads(struct module *m, node_id n, int threads) { attr_set_int(m, n, "threads", threads); }

double fused_seconds(struct module *m, node_id n) { return (double)attr_int(node(m, n), PICOSECONDS, 0) * 1e-12; }

/* ---- and back ---- */

static bool has_fused(struct module *m, graph_id g)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		if (node(m, graph(m, g)->nodes.a[i])->op == OP_Fused)
			return true;
	return false;
}

void groups_dissolve(struct module *m, graph_id g, const struct pass_ctx *c)
{
	size_t nval = m->values.n;
	struct inlined outer = {0};
	VEC(node_id) old = {0};
	struct graph order = {0};
	VEC(val_id) fwd = {0};

	if (!has_fused(m, g))
		return;
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		vec_push(&old, graph(m, g)->nodes.a[i]);
	vec_reserve(&fwd, nval);
	memset(fwd.a, 0, nval * sizeof *fwd.a);
	for (size_t i = 0; i < old.n; i++) {
		if (node(m, old.a[i])->op != OP_Fused) {
			vec_push(&order.nodes, old.a[i]);
			continue;
		}
		pass_why(c, m, old.a[i], "dissolved");
		const struct node f = *node(m, old.a[i]);
		inline_body(&outer, m, attr_graph(&f, "graph"), g, f.nin, f.in, f.nout, f.out, fwd.a, &order);
	}
	graph(m, g)->nodes.n = 0;
	for (size_t i = 0; i < order.nodes.n; i++)
		vec_push(&graph(m, g)->nodes, order.nodes.a[i]);
	vec_reserve(&fwd, m->values.n);
	memset(fwd.a + nval, 0, (m->values.n - nval) * sizeof *fwd.a);
	module_forward(m, fwd.a);
	vec_free(&old);
	vec_free(&order.nodes);
	vec_free(&fwd);
	vec_free(&outer);
}
