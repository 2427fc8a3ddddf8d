#include "ge-layout.h"
#include "lower/lower.h"
#include "lower/sized.h"
#include "op/native.h"
#include "target/target.h"

bool group_is_native(struct module *m, node_id group)
{
	const struct graph *g = graph(m, attr_graph(node(m, group), "graph"));
	const struct node *x = g->nodes.n == 1 ? node(m, g->nodes.a[0]) : NULL;

	return x && node_native(x) && !lower_has(x->op);
}

bool group_lacks_kernel(struct module *m, node_id group)
{
	const struct graph *g = graph(m, attr_graph(node(m, group), "graph"));
	const struct node *x = g->nodes.n == 1 ? node(m, g->nodes.a[0]) : NULL;
	const char *why;

	if (!x || !node_native(x) || !lower_has(x->op))
		return false;
	struct sized s = lower_sized(m, group, target_host(), (struct sized_for){0}, NULL, &why);
	sized_free(&s);
	return why;
}

bool group_takes_first(struct module *m, node_id group, val_id v)
{
	const struct graph *g = graph(m, attr_graph(node(m, group), "graph"));
	const struct node *f = node(m, group), *x = g->nodes.n == 1 ? node(m, g->nodes.a[0]) : NULL;

	if (!group_is_native(m, group))
		return true;
	for (uint32_t i = 0; i < f->nin; i++)
		for (uint32_t k = 0; k < x->nin && f->in[i] == v; k++)
			if (x->in[k] == g->in.a[i] && !native_takes_first(x, k))
				return false;
	return true;
}
