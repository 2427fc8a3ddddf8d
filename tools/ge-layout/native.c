#include "ge-layout.h"
#include "lower/lower.h"
#include "op/native.h"

bool group_is_native(struct module *m, node_id group)
{
	const struct graph *g = graph(m, attr_graph(node(m, group), "graph"));
	const struct node *x = g->nodes.n == 1 ? node(m, g->nodes.a[0]) : NULL;

	return x && node_native(x) && !lower_has(x->op);
}
