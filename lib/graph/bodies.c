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

enum body_use node_body_use(const struct node *n)
{
	switch (n->op) {
	case OP_Fused:
	case OP_Foreign:
	case OP_PartitionedCall: return BODY_CALL;
	case OP_If: return BODY_IF;
	case OP_Case: return BODY_CASE;
	case OP_Loop: return BODY_LOOP;
	case OP_Scan: return BODY_SCAN;
	case OP_SequenceMap: return BODY_MAP;
	default: return BODY_OTHER;
	}
}

struct looping node_looping(const struct node *n)
{
	bool loop = n->op == OP_Loop;
	struct looping l = {.head = loop ? 2 : 0, .ncaptured = node_passing(n).operands};

	l.nscanned = loop ? 0 : (uint32_t)attr_i(n, "num_scan_inputs");
	l.ncarried = n->nin - l.head - l.nscanned - l.ncaptured;
	l.ncollected = n->nout - l.ncarried;
	return l;
}

graph_id node_branch(const struct node *n, uint32_t k)
{
	if (n->op != OP_If)
		return node_body(n, k);
	return k < 2 ? attr_graph(n, k ? "then_branch" : "else_branch") : 0;
}

bool passes_unchanged(struct module *m, const struct node *n, graph_id g)
{
	const struct graph *b = graph(m, g);
	bool same = true;

	if (n->op != OP_Case || !attr_find(n, "fit"))
		return true;
	for (size_t i = 0; i < b->in.n && same; i++) {
		const struct type *t = &val(m, b->in.a[i])->type, *o = i + 1 < n->nin ? &val(m, n->in[i + 1])->type : NULL;
		same = o && type_static(m, t) && type_equal(t, o);
	}
	return same;
}
