/* Which node of one module is which of another. */
#include "ge-diff.h"
#include <stdlib.h>
#include <string.h>
#include "common/map.h"
#include "graph/plan_text.h"

static const struct type *value_type(struct module *m, val_id v) { return &val(m, v)->type; }

bool same_type(struct diff *d, const struct type *a, const struct type *b)
{
	struct module *m = d->side[A].m, *o = d->side[B].m;
	struct arena *scratch = &d->side[A].w.scratch;

	if (a->dtype != b->dtype || a->rank != b->rank || a->layout != b->layout || a->other != b->other)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (strcmp(poly_str(m->dims, a->dims[i], scratch), poly_str(o->dims, b->dims[i], scratch)))
			return false;
	return true;
}

bool same_tensor(struct diff *d, struct tensor *a, struct tensor *b)
{
	return a->dtype == b->dtype && a->rank == b->rank && a->nbytes == b->nbytes &&
	       !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) &&
	       digest_eq(tensor_digest(d->side[A].m, a), tensor_digest(d->side[B].m, b));
}

bool same_attr(struct diff *d, const struct attr *a, const struct attr *b)
{
	if (a->name != b->name || a->kind != b->kind || (a->kind != ATTR_TENSOR && a->kind != ATTR_TYPE && a->n != b->n))
		return false;
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: return a->u.i == b->u.i;
	case ATTR_FLOAT: return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
	case ATTR_STR: return !memcmp(a->u.s, b->u.s, a->n);
	case ATTR_INTS: return !memcmp(a->u.ints, b->u.ints, sizeof *a->u.ints * a->n);
	case ATTR_FLOATS: return !memcmp(a->u.floats, b->u.floats, sizeof *a->u.floats * a->n);
	case ATTR_STRS: return !memcmp(a->u.strs, b->u.strs, sizeof *a->u.strs * a->n);
	case ATTR_TENSOR: return same_tensor(d, a->u.tensor, b->u.tensor);
	case ATTR_TYPE: return same_type(d, a->u.type, b->u.type);
	case ATTR_GRAPH: return d->side[A].graph[a->u.graph] == b->u.graph;
	case ATTR_GRAPHS:
		for (uint32_t i = 0; i < a->n; i++)
			if (d->side[A].graph[a->u.graphs[i]] != b->u.graphs[i])
				return false;
		return true;
	}
	return false;
}

bool same_value(struct diff *d, val_id a, val_id b)
{
	if (!a || !b)
		return !a && !b;
	const struct value *x = val(d->side[A].m, a), *y = val(d->side[B].m, b);
	bool constant = x->kind == VAL_CONST;
	if (constant != (y->kind == VAL_CONST))
		return false;
	if (x->name == y->name)
		return true;
	if (constant)
		return same_tensor(d, x->tensor, y->tensor);
	return x->kind == VAL_NODE && y->kind == VAL_NODE && d->side[A].node[x->def] == y->def && x->index == y->index;
}

static bool same_attrs(struct diff *d, const struct node *x, const struct node *y)
{
	bool same = x->nattr == y->nattr;

	for (uint32_t i = 0; same && i < x->nattr; i++)
		same = same_attr(d, &x->attr[i], &y->attr[i]);
	return same;
}

static bool same_op(const struct node *x, const struct node *y)
{
	return x->op == y->op && x->domain == y->domain && x->optype == y->optype;
}

/* Operator, attributes and operands. */
static bool same_work(struct diff *d, const struct node *x, const struct node *y)
{
	bool same = same_op(x, y) && x->nin == y->nin && same_attrs(d, x, y);

	for (uint32_t i = 0; same && i < x->nin; i++)
		same = same_value(d, x->in[i], y->in[i]);
	return same;
}

bool changed(struct diff *d, node_id a, node_id b)
{
	struct module *m = d->side[A].m, *o = d->side[B].m;
	const struct node *x = node(m, a), *y = node(o, b);
	bool same = same_work(d, x, y) && x->name == y->name && x->nout == y->nout;

	for (uint32_t i = 0; same && i < x->nout; i++)
		same = !x->out[i] == !y->out[i] && (!x->out[i] || (val(m, x->out[i])->name == val(o, y->out[i])->name &&
								   same_type(d, value_type(m, x->out[i]), value_type(o, y->out[i]))));
	return !same;
}

static void pair(struct diff *d, node_id a, node_id b)
{
	d->side[A].node[a] = b;
	d->side[B].node[b] = a;
}

/* Name of the first result; 0: it has none. */
static sym result_name(struct side *s, node_id n)
{
	val_id v = plan_result(node(s->m, n));
	return v ? val(s->m, v)->name : 0;
}

static void match_graphs(struct diff *d)
{
	struct side *a = &d->side[A], *b = &d->side[B];
	struct map first = {0}; /* name: the last of A's graphs that has it */
	graph_id *before = xcalloc(a->m->graphs.n, sizeof *before);

	for (size_t i = 0; i < a->w.order.n; i++) {
		sym name = graph(a->m, a->w.order.a[i])->name + 1;
		before[a->w.order.a[i]] = map_get(&first, name);
		map_set(&first, name, a->w.order.a[i]);
	}
	for (size_t i = 0; i < b->w.order.n; i++) {
		graph_id g = b->w.order.a[i], h = map_get(&first, graph(b->m, g)->name + 1);
		while (h && a->w.ordinal[h] != b->w.ordinal[g])
			h = before[h];
		if (h) {
			a->graph[h] = g;
			b->graph[g] = h;
		}
	}
	if (!a->graph[a->m->main] && !b->graph[b->m->main]) { /* the main graph is the main graph, whatever its name */
		a->graph[a->m->main] = b->m->main;
		b->graph[b->m->main] = a->m->main;
	}
	free(before);
	map_free(&first);
}

static void match_in_graph(struct diff *d, graph_id g, graph_id h)
{
	struct side *a = &d->side[A], *b = &d->side[B];
	struct map by_name = {0};

	for (size_t i = 0; i < graph(a->m, g)->nodes.n; i++) {
		node_id n = graph(a->m, g)->nodes.a[i];
		if (result_name(a, n))
			map_set(&by_name, result_name(a, n), n);
	}
	for (size_t i = 0; i < graph(b->m, h)->nodes.n; i++) {
		node_id n = graph(b->m, h)->nodes.a[i], other = result_name(b, n) ? map_get(&by_name, result_name(b, n)) : 0;
		/* A group is no node that stood in its place before. */
		if (other && (node(a->m, other)->op == OP_Fused) == (node(b->m, n)->op == OP_Fused))
			pair(d, other, n);
	}
	map_free(&by_name);
}

/* Calls f for each node without a pair, in the order of graphs and nodes. */
static void each_left(struct diff *d, int which, void (*f)(struct diff *d, node_id n, void *arg), void *arg)
{
	struct side *s = &d->side[which];

	for (size_t k = 0; k < s->w.order.n; k++) {
		const struct graph *g = graph(s->m, s->w.order.a[k]);
		for (size_t i = 0; i < g->nodes.n; i++)
			if (!s->node[g->nodes.a[i]])
				f(d, g->nodes.a[i], arg);
	}
}

enum { SEVERAL = UINT32_MAX };

struct left {
	struct map node[SIDES]; /* by name of the first result: the node, or SEVERAL */
	int side;
};

static void add_left(struct diff *d, node_id n, void *arg)
{
	struct left *l = arg;
	sym name = result_name(&d->side[l->side], n);

	if (name && node(d->side[l->side].m, n)->op != OP_Fused)
		map_set(&l->node[l->side], name, map_get(&l->node[l->side], name) ? SEVERAL : n);
}

static void pair_left(struct diff *d, node_id n, void *arg)
{
	struct left *l = arg;
	sym name = result_name(&d->side[B], n);
	node_id a = name ? map_get(&l->node[A], name) : 0;

	if (a && a != SEVERAL && map_get(&l->node[B], name) == n)
		pair(d, a, n);
}

static void match_moved(struct diff *d)
{
	struct left l = {0};

	for (l.side = A; l.side < SIDES; l.side++)
		each_left(d, l.side, add_left, &l);
	each_left(d, B, pair_left, &l);
	map_free(&l.node[A]);
	map_free(&l.node[B]);
}

/* A hash of what same_work compares, the same on both sides: a result is known by its name in A. */
static uint32_t work_hash(struct diff *d, int which, node_id id)
{
	struct side *s = &d->side[which];
	const struct node *n = node(s->m, id);
	uint64_t h = hash64(&n->op, sizeof n->op, n->optype);

	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *v = n->in[i] ? val(s->m, n->in[i]) : NULL;
		uint64_t word = v && v->kind == VAL_CONST ? tensor_digest(s->m, v->tensor).lo : v ? v->name : 0;
		if (which == B && v && v->kind == VAL_NODE && s->node[v->def]) { /* it may have another name there */
			const struct node *def = node(d->side[A].m, s->node[v->def]);
			val_id there = v->index < def->nout ? def->out[v->index] : 0;
			word = there ? val(d->side[A].m, there)->name : word;
		}
		h = hash64(&word, sizeof word, h);
	}
	for (uint32_t i = 0; i < n->nattr; i++)
		h = hash64(&n->attr[i].name, sizeof n->attr[i].name, h);
	return (uint32_t)h | 1;
}

static void add_work(struct diff *d, node_id n, void *arg)
{
	struct map *work = arg;
	uint32_t h = work_hash(d, A, n);

	map_set(work, h, map_get(work, h) ? SEVERAL : n);
}

static void pair_work(struct diff *d, node_id n, void *arg)
{
	struct map *work = arg;
	node_id a = map_get(work, work_hash(d, B, n));

	if (a && a != SEVERAL && !d->side[A].node[a] && same_work(d, node(d->side[A].m, a), node(d->side[B].m, n)))
		pair(d, a, n);
}

void match(struct diff *d)
{
	struct map work = {0};

	for (int i = 0; i < SIDES; i++) {
		struct side *s = &d->side[i];
		s->graph = xcalloc(s->m->graphs.n, sizeof *s->graph);
		s->node = xcalloc(s->m->nodes.n, sizeof *s->node);
		s->in = xcalloc(s->m->nodes.n, sizeof *s->in);
		for (size_t k = 0; k < s->w.order.n; k++)
			for (size_t j = 0; j < graph(s->m, s->w.order.a[k])->nodes.n; j++)
				s->in[graph(s->m, s->w.order.a[k])->nodes.a[j]] = s->w.order.a[k];
	}
	match_graphs(d);
	for (size_t i = 0; i < d->side[B].w.order.n; i++) {
		graph_id h = d->side[B].w.order.a[i];
		if (d->side[B].graph[h])
			match_in_graph(d, d->side[B].graph[h], h);
	}
	match_moved(d);
	each_left(d, A, add_work, &work);
	each_left(d, B, pair_work, &work);
	map_free(&work);
}

void match_free(struct diff *d)
{
	for (int i = 0; i < SIDES; i++) {
		free(d->side[i].graph);
		free(d->side[i].node);
		free(d->side[i].in);
	}
}
