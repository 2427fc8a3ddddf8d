#include "graph/inline.h"
#include <string.h>

val_id value_copy(struct module *m, val_id v, graph_id g)
{
	struct value x = *val(m, v);

	x.graph = g;
	vec_push(&m->values, x);
	return (val_id)(m->values.n - 1);
}

static void grow(struct inlined *x, size_t n)
{
	size_t had = x->n;

	if (n <= had)
		return;
	vec_reserve(x, n);
	memset(x->a + had, 0, (n - had) * sizeof *x->a);
	x->n = n;
}

static void copy_node(struct inlined *to, struct module *m, node_id id, graph_id g, struct graph *order)
{
	struct node x = *node(m, id);
	node_id copy;

	x.in = arena_copy(&m->arena, x.in, x.nin * sizeof *x.in);
	x.out = arena_copy(&m->arena, x.out, x.nout * sizeof *x.out);
	x.attr = arena_copy(&m->arena, x.attr, x.nattr * sizeof *x.attr);
	x.graph = g;
	vec_push(&m->nodes, x);
	copy = (node_id)(m->nodes.n - 1);
	for (uint32_t i = 0; i < x.nin; i++)
		if (x.in[i] && val(m, x.in[i])->kind != VAL_CONST)
			x.in[i] = to->a[x.in[i]];
	for (uint32_t i = 0; i < x.nout; i++) {
		val_id v = x.out[i];
		if (!v)
			continue;
		if (!to->a[v])
			to->a[v] = value_copy(m, v, g);
		x.out[i] = to->a[v];
		val(m, to->a[v])->kind = VAL_NODE;
		val(m, to->a[v])->def = copy;
		val(m, to->a[v])->index = i;
	}
	vec_push(&order->nodes, copy);
}

void inline_body(struct inlined *x, struct module *m, graph_id body, graph_id g, uint32_t nin, const val_id *in, uint32_t nout,
		 const val_id *out, val_id *fwd, struct graph *order)
{
	const struct graph b = *graph(m, body);

	grow(x, m->values.n);
	for (size_t i = 0; i < b.in.n; i++)
		x->a[b.in.a[i]] = i < nin ? in[i] : 0;
	for (size_t k = 0; k < b.out.n && k < nout; k++) {
		val_id v = b.out.a[k];
		if (!out[k])
			continue;
		if (val(m, v)->kind == VAL_CONST)
			fwd[out[k]] = v;
		else if (x->a[v])
			fwd[out[k]] = x->a[v];
		else
			x->a[v] = out[k];
	}
	for (size_t i = 0; i < b.nodes.n; i++)
		copy_node(x, m, b.nodes.a[i], g, order);
	for (size_t i = 0; i < b.in.n; i++)
		x->a[b.in.a[i]] = 0;
	for (size_t i = 0; i < b.nodes.n; i++) {
		const struct node *n = node(m, b.nodes.a[i]);
		for (uint32_t k = 0; k < n->nout; k++)
			x->a[n->out[k]] = 0;
	}
}
