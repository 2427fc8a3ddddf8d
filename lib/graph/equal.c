#include "graph/equal.h"
#include <string.h>

bool attr_equal(const struct module *m, const struct attr *a, const struct attr *b)
{
	if (a->name != b->name || a->kind != b->kind || a->n != b->n)
		return false;
	switch (a->kind) {
	case ATTR_INT: return a->u.i == b->u.i;
	case ATTR_FLOAT: return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
	case ATTR_STR: return !memcmp(a->u.s, b->u.s, a->n);
	case ATTR_INTS: return !memcmp(a->u.ints, b->u.ints, sizeof *a->u.ints * a->n);
	case ATTR_FLOATS: return !memcmp(a->u.floats, b->u.floats, sizeof *a->u.floats * a->n);
	case ATTR_STRS: return !memcmp(a->u.strs, b->u.strs, sizeof *a->u.strs * a->n);
	case ATTR_TENSOR: return tensor_equal(m, a->u.tensor, b->u.tensor);
	case ATTR_GRAPH: return a->u.graph == b->u.graph;
	case ATTR_GRAPHS: return !memcmp(a->u.graphs, b->u.graphs, sizeof *a->u.graphs * a->n);
	case ATTR_TYPE: return type_equal(a->u.type, b->u.type);
	}
	return false;
}

bool values_equal(struct module *m, val_id a, val_id b)
{
	const struct value *x = val(m, a), *y = val(m, b);

	return a == b || (a && b && x->kind == VAL_CONST && y->kind == VAL_CONST && !x->overridable && !y->overridable &&
			  tensor_equal(m, x->tensor, y->tensor));
}

/* Values of two bodies that stand at the same place. */
struct pairing {
	struct module *m;
	val_id *of;  /* by value of the first body */
	size_t left; /* nodes that may still be compared */
};

static bool equal(struct pairing *p, graph_id a, graph_id b);

static bool attrs_equal(struct pairing *p, const struct attr *a, const struct attr *b)
{
	if (a->kind == ATTR_GRAPH && b->kind == ATTR_GRAPH && a->name == b->name)
		return equal(p, a->u.graph, b->u.graph);
	if (a->kind != ATTR_GRAPHS || b->kind != ATTR_GRAPHS || a->name != b->name || a->n != b->n)
		return attr_equal(p->m, a, b);
	for (uint32_t k = 0; k < a->n; k++)
		if (!equal(p, a->u.graphs[k], b->u.graphs[k]))
			return false;
	return true;
}

static bool paired(struct pairing *p, val_id a, val_id b)
{
	return !a || !b ? a == b : val(p->m, a)->kind == VAL_CONST ? values_equal(p->m, a, b) : p->of[a] == b;
}

static bool nodes_equal(struct pairing *p, node_id a, node_id b)
{
	const struct node *x = node(p->m, a), *y = node(p->m, b);

	if (!p->left || x->op != y->op || x->optype != y->optype || x->domain != y->domain || x->nin != y->nin || x->nout != y->nout ||
	    x->nattr != y->nattr)
		return false;
	p->left--;
	for (uint32_t i = 0; i < x->nin; i++)
		if (!paired(p, x->in[i], y->in[i]))
			return false;
	for (uint32_t i = 0; i < x->nattr; i++)
		if (!attrs_equal(p, &x->attr[i], &y->attr[i]))
			return false;
	for (uint32_t i = 0; i < x->nout; i++) {
		if (!x->out[i] != !y->out[i])
			return false;
		p->of[x->out[i]] = y->out[i];
	}
	return true;
}

static bool equal(struct pairing *p, graph_id a, graph_id b)
{
	const struct graph *x = graph(p->m, a), *y = graph(p->m, b);

	if (a == b)
		return true;
	if (x->in.n != y->in.n || x->out.n != y->out.n || x->nodes.n != y->nodes.n)
		return false;
	for (size_t i = 0; i < x->in.n; i++)
		p->of[x->in.a[i]] = y->in.a[i];
	for (size_t i = 0; i < x->nodes.n; i++)
		if (!nodes_equal(p, x->nodes.a[i], y->nodes.a[i]))
			return false;
	for (size_t i = 0; i < x->out.n; i++)
		if (!paired(p, x->out.a[i], y->out.a[i]))
			return false;
	return true;
}

enum { COMPARED_MAX = 1000000 };

bool graphs_equal(struct module *m, graph_id a, graph_id b)
{
	struct pairing p = {m, xcalloc(m->values.n, sizeof *p.of), COMPARED_MAX};
	bool is = equal(&p, a, b);

	free(p.of);
	return is;
}
