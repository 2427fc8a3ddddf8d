/* Loops of no step and of one; state that no step changes. */
#include <string.h>
#include "deadedge.h"

/* How often the body runs: 0, 1, or -1 for more or not known. Operands: trip count, condition, state; the body's first
 * output is the condition of the next step. */
static int steps(struct round *r, const struct node *n, graph_id body)
{
	int64_t trips = INT64_MAX, go = 1, again = 1;
	bool counted = !n->in[0] || known_int(r, n->in[0], &trips), entered = !n->in[1] || known_int(r, n->in[1], &go);

	if ((counted && trips <= 0) || (entered && !go))
		return 0;
	if (!counted || !entered)
		return -1;
	if (!known_int(r, graph(r->m, body)->out.a[0], &again))
		again = 1;
	return trips == 1 || !again ? 1 : -1;
}

/* The results of a Loop that makes no step: state as it was, nothing in a row. */
static bool none(struct round *r, const struct node *n, uint32_t state)
{
	struct module *m = r->m;
	int64_t dims[RANK_MAX];

	for (uint32_t k = state; k < n->nout; k++) {
		const struct type *t = n->out[k] ? &val(m, n->out[k])->type : NULL;
		if (t && (!type_dims(m, t, dims) || !dtype_size(t->dtype) || type_count(m, t) != 0))
			return false;
	}
	for (uint32_t k = 0; k < n->nout; k++) {
		val_id v = n->out[k], by;
		if (!v)
			continue;
		type_dims(m, &val(m, v)->type, dims);
		by = k < state ? n->in[2 + k] : const_new(m, 0, val(m, v)->type.dtype, val(m, v)->type.rank, dims, "", 0);
		replace_result(r, n->graph, v, by);
	}
	return true;
}

/* The body in the loop's place; what it gives for a row gets the axis of the row. */
static bool once(struct round *r, const struct node *n, graph_id body, uint32_t state)
{
	struct module *m = r->m;
	int64_t zero = 0, one = 1;
	bool yes = true;
	val_id *in = arena_copy(&m->arena, n->in, n->nin * sizeof *in), *out = ARENA_ARRAY(&m->arena, val_id, n->nout + 1);

	in[0] = const_copy(m, 0, DT_I64, 0, NULL, &zero, sizeof zero);
	in[1] = const_copy(m, 0, DT_BOOL, 0, NULL, &yes, sizeof yes);
	for (uint32_t k = 0; k < n->nout; k++) {
		out[1 + k] = n->out[k];
		if (!n->out[k] || k < state)
			continue;
		out[1 + k] = value_copy(m, graph(m, body)->out.a[1 + k], n->graph);
		val(m, out[1 + k])->kind = VAL_NODE;
		val(m, out[1 + k])->tensor = NULL;
	}
	vec_reserve(&r->fwd, m->values.n);
	for (size_t v = r->fwd.n; v < m->values.n; v++)
		r->fwd.a[r->fwd.n++] = 0;
	if (!put_body(r, n->graph, body, n->nin, in, n->nout + 1, out))
		return false;
	for (uint32_t k = state; k < n->nout; k++) {
		if (!n->out[k])
			continue;
		val_id row[2] = {out[1 + k], const_copy(m, 0, DT_I64, 1, &one, &zero, sizeof zero)};
		node_id u = node_new_loose(m, n->graph, OP_Unsqueeze, 2, row, 0);
		node(m, u)->nout = 1;
		node(m, u)->out = arena_copy(&m->arena, &n->out[k], sizeof *n->out);
		val(m, n->out[k])->def = u;
		val(m, n->out[k])->index = 0;
		vec_push(&r->order.nodes, u);
	}
	return true;
}

static bool handed_on(struct round *r, const struct graph *b, uint32_t k)
{
	const struct value *v = val(r->m, b->out.a[1 + k]);

	return v->kind == VAL_INPUT && v->index == 2 + k;
}

/* Result k of the Loop and what the body gives for it become the to-th. */
static void move_result(struct module *m, struct node *n, struct graph *b, uint32_t k, uint32_t to)
{
	n->out[to] = n->out[k];
	if (n->out[to])
		val(m, n->out[to])->index = to;
	b->out.a[1 + to] = b->out.a[1 + k];
	b->out_name.a[1 + to] = b->out_name.a[1 + k];
}

/* State that every step hands on as it came is captured: a value that the body reads. What the Loop gives of it is what it
 * began with. Where that is a result of the model it stays: such a result has to be computed by someone. A Loop has one result at least. */
static bool capture_state(struct round *r, node_id id, graph_id body, uint32_t state, uint32_t captures)
{
	struct module *m = r->m;
	struct node *n = node(m, id);
	struct graph *b = graph(m, body);
	VEC(val_id) moved = {0};
	uint32_t results = n->nout;
	uint32_t left = 2; /* operands and inputs before those that move */

	for (uint32_t i = 2; i < n->nin; i++) {
		uint32_t k = i - 2;
		if (k >= state || !handed_on(r, b, k) || results == 1 || (n->out[k] && is_output(r, m->main, n->out[k]))) {
			if (k < state)
				move_result(m, n, b, k, left - 2);
			n->in[left] = n->in[i];
			b->in.a[left++] = b->in.a[i];
			continue;
		}
		if (n->out[k])
			r->fwd.a[n->out[k]] = n->in[i];
		results--;
		vec_push(&moved, n->in[i]);
		vec_push(&moved, b->in.a[i]);
	}
	uint32_t gone = (uint32_t)moved.n / 2;
	for (uint32_t k = 0; k < gone; k++) {
		n->in[left + k] = moved.a[2 * k];
		b->in.a[left + k] = moved.a[2 * k + 1];
	}
	vec_free(&moved);
	if (!gone)
		return false;
	for (uint32_t i = 2; i < n->nin; i++)
		val(m, b->in.a[i])->index = i;
	for (uint32_t k = state; k < n->nout; k++) /* rows */
		move_result(m, n, b, k, k - gone);
	n->nout -= gone;
	b->out.n -= gone;
	b->out_name.n -= gone;
	attr_set_int(m, id, "captures", captures + (int64_t)gone);
	return true;
}

static bool keep_loop(struct round *r, node_id id, graph_id body, uint32_t state, uint32_t captures)
{
	if (r->users[body] == 1 && capture_state(r, id, body, state, captures)) {
		pass_why(r->c, r->m, id, "state that no step changes is read by its body");
		r->changed = true;
	}
	return kept(r, id, "it makes many steps, or how many is not known");
}

bool loop(struct round *r, node_id id)
{
	const struct node n = *node(r->m, id);
	graph_id body = attr_graph(&n, "body");
	int64_t captures = attr_i(&n, "captures");

	if (!body || captures < 0 || n.nin < 2 + captures || graph(r->m, body)->in.n != n.nin || graph(r->m, body)->out.n != n.nout + 1)
		return false; /* in a branch that is not taken */
	uint32_t state = n.nin - 2 - (uint32_t)captures;
	if (state > n.nout)
		return false;
	switch (steps(r, &n, body)) {
	case 0:
		if (!none(r, &n, state))
			return kept(r, id, "it makes no step, but the extents of its results are not known");
		pass_why(r->c, r->m, id, "it makes no step: its results are what it began with");
		return true;
	case 1:
		if (!once(r, &n, body, state))
			return kept(r, id, "the copies of its bodies are too many");
		pass_why(r->c, r->m, id, "it makes one step: its body takes its place");
		return true;
	default: return keep_loop(r, id, body, state, (uint32_t)captures);
	}
}
