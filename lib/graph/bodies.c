#include "graph/bodies.h"

struct passing node_passing(const struct node *n)
{
	if (op_is(n->op, OP_CALL))
		return (struct passing){n->nin, true};
	if (n->op == OP_If || n->op == OP_Case)
		return (struct passing){n->nin - 1, true};
	int64_t captures = attr_i(n, "captures");
	if (!op_is(n->op, OP_CONTROL) || captures <= 0)
		return (struct passing){0, false};
	return (struct passing){captures < n->nin ? (uint32_t)captures : n->nin, false};
}

graph_id node_body(const struct node *n, uint32_t k)
{
	for (uint32_t i = 0; i < n->nattr; i++) {
		const struct attr *a = &n->attr[i];
		if (a->kind != ATTR_GRAPH && a->kind != ATTR_GRAPHS)
			continue;
		uint32_t count = a->kind == ATTR_GRAPH ? 1 : a->n;
		if (k < count)
			return a->kind == ATTR_GRAPH ? a->u.graph : a->u.graphs[k];
		k -= count;
	}
	return 0;
}
