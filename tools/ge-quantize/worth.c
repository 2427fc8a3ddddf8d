/* Additions and averages that are worth bytes: where an operand is bytes anyway, or becomes bytes in place of floats, and the sum becomes
 * bytes, too. Elsewhere rounding costs accuracy and a cast, and saves nothing: the sum of two squares, the stream past the layers of a
 * transformer and what is normalized of it, the average of what is read as floats, too. */
#include <stdlib.h>
#include "op/op.h"
#include "quantize.h"

struct worth {
	const struct plan *p;
	struct module *m;
	struct uses uses;
	bool *layer; /* by node */
	bool *bytes; /* by value */
	bool *turns; /* by value: some reader makes bytes of it, element by element */
};

/* What n adds a bias to, multiplies by factors, or only gives another shape; 0: nothing of that. */
static val_id biased(struct module *m, const struct node *n)
{
	bool maps = n->op == OP_Add || n->op == OP_Sub || n->op == OP_Mul || n->op == OP_Div;
	bool moves = part_of(n->op) == PART_MOVES && n->op != OP_Concat && n->nout == 1;
	val_id v = 0;

	for (uint32_t i = 0; (maps || moves) && i < n->nin; i++) {
		if (!n->in[i] || val(m, n->in[i])->kind == VAL_CONST)
			continue;
		if (v)
			return 0;
		v = n->in[i];
	}
	return v;
}

static bool only_added(struct module *m, const struct uses *u, val_id v)
{
	bool all = !u->nout[v] && u->start[v] < u->start[v + 1];

	for (uint32_t i = u->start[v]; all && i < u->start[v + 1]; i++)
		all = node(m, u->user[i])->op == OP_Add;
	return all;
}

bool is_joined(struct module *m, const struct uses *u, val_id v)
{
	for (bool last = true; v && val(m, v)->kind == VAL_NODE; last = false) {
		const struct node *n = node(m, val(m, v)->def);
		if (last ? !only_added(m, u, v) : uses_count(u, v) != 1)
			return false;
		if (part_of(n->op) == PART_WEIGHTS)
			return true;
		v = biased(m, n);
	}
	return false;
}

static bool moves_bytes(const struct worth *w, const struct node *n)
{
	return part_of(n->op) == PART_MOVES && n->out[0] && w->bytes[n->out[0]];
}

static void mark_moved(struct worth *w, const struct node *n)
{
	for (uint32_t i = 0; i < (n->op == OP_Concat ? n->nin : 1); i++)
		if (n->in[i])
			w->bytes[n->in[i]] = true;
}

static bool all_take_bytes(const struct worth *w, val_id v)
{
	const struct uses *u = &w->uses;
	bool all = !u->nout[v];

	for (uint32_t i = u->start[v]; i < u->start[v + 1] && all; i++)
		all = w->layer[u->user[i]] || moves_bytes(w, node(w->m, u->user[i]));
	return all;
}

/* By a layer, and then by what only moves or maps elements. */
static bool is_made_by_layer(const struct worth *w, val_id v)
{
	while (val(w->m, v)->kind == VAL_NODE) {
		const struct node *n = node(w->m, val(w->m, v)->def);
		if (w->layer[val(w->m, v)->def])
			return true;
		bool maps = op_is(n->op, OP_ELEMENTWISE) || part_of(n->op) == PART_MOVES;
		for (uint32_t i = 1; i < n->nin; i++)
			maps &= !n->in[i] || val(w->m, n->in[i])->kind == VAL_CONST;
		if (!maps || !n->nin || !n->in[0])
			return false;
		v = n->in[0];
	}
	return false;
}

/* Readers of n's result are done. */
static void pass_turns(struct worth *w, const struct node *n)
{
	bool turns = false;

	for (uint32_t k = 0; k < n->nout; k++)
		turns |= n->out[k] && (w->bytes[n->out[k]] || w->turns[n->out[k]]);
	if (!turns || !(op_is(n->op, OP_ELEMENTWISE) || part_of(n->op) == PART_MOVES))
		return;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			w->turns[n->in[i]] = true;
}

static bool is_worth(const struct worth *w, const struct node *n)
{
	bool left = false;

	if (n->nin > 1 && !w->bytes[n->out[0]] && !w->turns[n->out[0]])
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		val_id v = n->in[i];
		if (n->nin > 1 && !left && is_joined(w->m, &w->uses, v))
			left = true;
		else if (!w->bytes[v] && !(all_take_bytes(w, v) && is_made_by_layer(w, v)))
			return false;
	}
	return true;
}

/* Readers before makers. inputs: additions and averages are decided, too. */
static void mark_backwards(struct worth *w, bool inputs)
{
	const struct graph *g = graph(w->m, w->m->main);

	for (size_t i = g->nodes.n; i-- > 0;) {
		node_id id = g->nodes.a[i];
		const struct node *n = node(w->m, id);
		pass_turns(w, n);
		if (moves_bytes(w, n))
			mark_moved(w, n);
		else if (w->layer[id] && part_of(n->op) == PART_WEIGHTS)
			w->bytes[n->in[0]] = true;
		else if (inputs && w->layer[id] && (w->layer[id] = is_worth(w, n)))
			for (uint32_t k = 0; k < n->nin; k++)
				w->bytes[n->in[k]] |= !is_joined(w->m, &w->uses, n->in[k]);
	}
}

void keep_worth(struct plan *p, struct module *m)
{
	struct worth w = {p, m, uses_new(m), xcalloc(m->nodes.n, 1), xcalloc(m->values.n, 1), xcalloc(m->values.n, 1)};
	size_t kept = 0;

	for (size_t i = 0; i < p->layers.n; i++)
		w.layer[p->layers.a[i].node] = p->layers.a[i].part != PART_TABLE;
	mark_backwards(&w, false);
	mark_backwards(&w, true);
	for (size_t i = 0; i < p->layers.n; i++)
		if (w.layer[p->layers.a[i].node] || p->layers.a[i].part == PART_TABLE)
			p->layers.a[kept++] = p->layers.a[i];
	p->layers.n = kept;
	uses_free(&w.uses);
	free(w.layer);
	free(w.bytes);
	free(w.turns);
}
