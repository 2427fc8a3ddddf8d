/* Changing many nodes at once: replacing values, dropping nodes, order, names. */
#include <string.h>
#include "common/msg.h"
#include "graph/module.h"

/* Every chain is followed once: its members are then pointed at its end. */
static val_id *chase(size_t nvalues, const val_id *fwd)
{
	val_id *to = xmalloc(sizeof *to * nvalues);
	for (val_id v = 0; v < nvalues; v++)
		to[v] = fwd[v] ? fwd[v] : v;
	for (val_id v = 0; v < nvalues; v++) {
		val_id end = v;
		for (size_t steps = 0; to[end] != end; end = to[end])
			if (steps++ > nvalues)
				BUG("value %u is replaced by itself", v);
		for (val_id w = v; to[w] != end && w != end;) {
			val_id next = to[w];
			to[w] = end;
			w = next;
		}
	}
	return to;
}

void val_adopt_type(struct module *m, val_id to, const struct type *from)
{
	struct type *t = &val(m, to)->type;
	if (val(m, to)->kind == VAL_CONST || t->other)
		return;
	if (t->dtype == DT_NONE) {
		*t = *from;
		return;
	}
	if (from->other || t->dtype != from->dtype || from->rank == RANK_UNKNOWN)
		return;
	if (t->rank != RANK_UNKNOWN && t->rank != from->rank)
		return;
	dim *dims = ARENA_ARRAY(&m->arena, dim, from->rank + 1);
	for (int i = 0; i < from->rank; i++)
		dims[i] = t->rank != RANK_UNKNOWN && t->dims[i] != POLY_UNKNOWN ? t->dims[i] : from->dims[i];
	t->rank = from->rank;
	t->dims = dims;
}

void module_forward(struct module *m, const val_id *fwd)
{
	val_id *to = chase(m->values.n, fwd);
	for (val_id v = 1; v < m->values.n; v++)
		if (to[v] != v)
			val_adopt_type(m, to[v], &val(m, v)->type);
	for (graph_id g = 1; g < m->graphs.n; g++) {
		struct graph *x = graph(m, g);
		for (size_t i = 0; i < x->nodes.n; i++) {
			struct node *n = node(m, x->nodes.a[i]);
			for (uint32_t j = 0; j < n->nin; j++)
				n->in[j] = to[n->in[j]];
		}
		for (size_t i = 0; i < x->out.n; i++)
			x->out.a[i] = to[x->out.a[i]];
	}
	free(to);
}

void module_drop_nodes(struct module *m, const bool *dead)
{
	for (graph_id g = 1; g < m->graphs.n; g++) {
		struct graph *x = graph(m, g);
		size_t kept = 0;
		for (size_t i = 0; i < x->nodes.n; i++)
			if (!dead[x->nodes.a[i]])
				x->nodes.a[kept++] = x->nodes.a[i];
		x->nodes.n = kept;
	}
}

/* The node of g that makes v, 0 for inputs, constants and values from elsewhere. */
static node_id maker(struct module *m, graph_id g, val_id v)
{
	const struct value *x = val(m, v);
	return v && x->kind == VAL_NODE && x->graph == g ? x->def : 0;
}

enum { OUTSIDE, WAITING, ON_PATH, PLACED };

static bool in_order(struct module *m, graph_id g, uint8_t *state)
{
	struct graph *x = graph(m, g);
	bool good = true;
	for (size_t i = 0; i < x->nodes.n; i++)
		state[x->nodes.a[i]] = WAITING;
	for (size_t i = 0; i < x->nodes.n && good; i++) {
		const struct node *n = node(m, x->nodes.a[i]);
		for (uint32_t j = 0; j < n->nin; j++)
			good &= state[maker(m, g, n->in[j])] != WAITING;
		state[x->nodes.a[i]] = PLACED;
	}
	return good;
}

/* Depth first from each node in the old order: what it needs is placed just before it. */
node_id graph_sort(struct module *m, graph_id g)
{
	struct graph *x = graph(m, g);
	uint8_t *state = xcalloc(m->nodes.n, 1);
	if (in_order(m, g, state)) {
		free(state);
		return 0;
	}
	struct frame {
		node_id n;
		uint32_t next; /* operand */
	};
	VEC(struct frame) path = {0};
	VEC(node_id) order = {0};
	node_id cycle = 0;
	for (size_t i = 0; i < x->nodes.n; i++)
		state[x->nodes.a[i]] = WAITING;
	for (size_t i = 0; i < x->nodes.n && !cycle; i++) {
		if (state[x->nodes.a[i]] != WAITING)
			continue;
		state[x->nodes.a[i]] = ON_PATH;
		vec_push(&path, (struct frame){x->nodes.a[i], 0});
		while (path.n && !cycle) {
			struct frame *f = &path.a[path.n - 1];
			const struct node *n = node(m, f->n);
			if (f->next == n->nin) {
				state[f->n] = PLACED;
				vec_push(&order, f->n);
				path.n--;
				continue;
			}
			node_id d = maker(m, g, n->in[f->next++]);
			if (state[d] == ON_PATH)
				cycle = d;
			if (state[d] != WAITING)
				continue;
			state[d] = ON_PATH;
			vec_push(&path, (struct frame){d, 0});
		}
	}
	if (!cycle && order.n)
		memcpy(x->nodes.a, order.a, sizeof *order.a * order.n);
	vec_free(&path);
	vec_free(&order);
	free(state);
	return cycle;
}

/* Graphs named by the attributes of g's nodes, in order. */
static void callees(struct module *m, graph_id g, struct graph_list *out)
{
	const struct graph *x = graph(m, g);
	for (size_t i = 0; i < x->nodes.n; i++) {
		const struct node *n = node(m, x->nodes.a[i]);
		for (uint32_t j = 0; j < n->nattr; j++) {
			const struct attr *a = &n->attr[j];
			if (a->kind == ATTR_GRAPH)
				vec_push(out, a->u.graph);
			for (uint32_t k = 0; a->kind == ATTR_GRAPHS && k < a->n; k++)
				vec_push(out, a->u.graphs[k]);
		}
	}
}

/* Depth first without recursion; the stack of callees still to visit is one array: a graph pushes its
 * own, and is placed when the array is back at its length. */
void module_graph_order(struct module *m, struct graph_list *out)
{
	struct graph_list todo = {0};
	struct frame {
		graph_id g;
		size_t base; /* of its callees in todo */
		size_t next;
	};
	VEC(struct frame) path = {0};
	bool *seen = xcalloc(m->graphs.n, sizeof *seen);
	out->n = 0;
	if (m->main) {
		seen[m->main] = true;
		vec_push(&path, (struct frame){m->main, 0, 0});
		callees(m, m->main, &todo);
	}
	while (path.n) {
		struct frame *f = &path.a[path.n - 1];
		if (f->next == todo.n) {
			vec_push(out, f->g);
			todo.n = f->base;
			path.n--;
			continue;
		}
		graph_id g = todo.a[f->next++];
		if (!g || g >= m->graphs.n || seen[g])
			continue;
		seen[g] = true;
		vec_push(&path, (struct frame){g, todo.n, todo.n});
		callees(m, g, &todo);
	}
	vec_free(&path);
	vec_free(&todo);
	free(seen);
}
