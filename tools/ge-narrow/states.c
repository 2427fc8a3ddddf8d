/* --state-type: caches in fewer bits. Rows are rounded where they come in, and widened where they are read. */
#include <stdlib.h>
#include <string.h>
#include "ge-narrow.h"
#include "common/msg.h"
#include "model/state.h"
#include "op/native.h"
#include "op/op.h"

struct kept {
	struct module *m;
	enum dtype type;
	val_id in, out;
	bool *path;  /* by node: it takes rows of the state */
	bool *value; /* by value: the state, as a run goes on */
	VEC(node_id) order;
};

/* The value that node n adds rows to, or puts rows into; 0: it does something else. */
static val_id taken(struct module *m, const struct node *n)
{
	int rank = n->nin ? val(m, n->in[0])->type.rank : -1;

	return n->nout == 1 && (node_joins(n, rank) >= 0 || node_puts_rows(n, rank) >= 0) ? n->in[0] : 0;
}

static bool is_rows(struct module *m, const struct node *n, uint32_t i)
{
	return i == 1 || (i > 1 && node_joins(n, val(m, n->in[0])->type.rank) >= 0);
}

/* Follows the state from its output to its input. NULL, or why it cannot be narrower. */
static const char *follow(struct kept *k)
{
	struct module *m = k->m;
	const struct graph *g = graph(m, m->main);
	uint32_t outputs = 0;

	for (val_id v = k->out, next; v != k->in; v = next) {
		node_id n = val(m, v)->kind == VAL_NODE ? val(m, v)->def : 0;
		if (!n || !(next = taken(m, node(m, n))))
			return n ? arena_printf(&m->arena, "%s makes it anew", node_where(m, n, &m->arena)) : "it is another input";
		k->path[n] = k->value[v] = true;
	}
	k->value[k->in] = true;
	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t o = 1; o < node(m, g->nodes.a[i])->nin && k->path[g->nodes.a[i]]; o++)
			if (k->value[node(m, g->nodes.a[i])->in[o]])
				return "it is joined to itself";
	for (size_t i = 0; i < g->out.n; i++)
		outputs += k->value[g->out.a[i]];
	return outputs > 1 ? "it is several outputs" : NULL;
}

/* v in the type, of a new node. */
static val_id cast(struct kept *k, val_id v, enum dtype to)
{
	node_id id = node_new_loose(k->m, k->m->main, OP_Cast, 1, &v, 1);

	attr_set_int(k->m, id, "to", dtype_to_onnx(to));
	vec_push(&k->order, id);
	return node(k->m, id)->out[0];
}

/* Does who reads v, and does not take its rows, look at its elements? */
static bool looks_at(const struct kept *k, node_id id, val_id v)
{
	const struct node *n = node(k->m, id);
	bool reads = false;

	for (uint32_t i = 0; i < n->nin && !k->path[id] && n->op != OP_Shape && n->op != OP_Size; i++)
		reads |= n->in[i] == v;
	return reads;
}

/* Those that look at v read it widened. */
static void widen(struct kept *k, const node_id *nodes, size_t n, val_id v)
{
	val_id wide = 0;

	for (size_t i = 0; i < n; i++) {
		if (!looks_at(k, nodes[i], v))
			continue;
		wide = wide ? wide : cast(k, v, val(k->m, v)->type.dtype);
		for (uint32_t o = 0; o < node(k->m, nodes[i])->nin; o++)
			if (node(k->m, nodes[i])->in[o] == v)
				node(k->m, nodes[i])->in[o] = wide;
	}
	val(k->m, v)->type.dtype = k->type;
}

static void store(struct kept *k)
{
	struct module *m = k->m;
	size_t n = graph(m, m->main)->nodes.n;
	node_id *nodes = arena_copy(&m->arena, graph(m, m->main)->nodes.a, n * sizeof *nodes);

	widen(k, nodes, n, k->in);
	for (size_t i = 0; i < n; i++) {
		for (uint32_t o = 1; o < node(m, nodes[i])->nin && k->path[nodes[i]]; o++)
			if (is_rows(m, node(m, nodes[i]), o)) {
				val_id rows = cast(k, node(m, nodes[i])->in[o], k->type);
				node(m, nodes[i])->in[o] = rows;
			}
		vec_push(&k->order, nodes[i]);
		if (k->path[nodes[i]])
			widen(k, nodes, n, node(m, nodes[i])->out[0]);
	}
	graph(m, m->main)->nodes.n = 0;
	for (size_t i = 0; i < k->order.n; i++)
		vec_push(&graph(m, m->main)->nodes, k->order.a[i]);
	vec_free(&k->order);
}

/* The value that input `in` is next; 0: it is not kept. */
static val_id next_of(struct module *m, val_id in)
{
	const struct graph *g = graph(m, m->main);
	const char *name = module_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", sym_str(val(m, in)->name)));

	for (size_t i = 0; i < g->out.n && name; i++)
		if (!strcmp(name, sym_str(g->out_name.a[i])))
			return g->out.a[i];
	return 0;
}

/* False: the state stays as it is. */
static bool narrow_state(struct module *m, val_id in, val_id out, enum dtype type)
{
	struct kept k = {.m = m, .type = type, .in = in, .out = out};
	const struct type *t = &val(m, in)->type;
	const char *why = t->other || t->dtype != DT_F32 ? "it is not of f32" : NULL;

	k.path = xcalloc(m->nodes.n + 1, sizeof *k.path);
	k.value = xcalloc(m->values.n + 1, sizeof *k.value);
	if (!why && !(why = follow(&k)))
		store(&k);
	else if (t->dtype != type)
		note("state %s stays %s: %s", sym_str(val(m, in)->name), type_str(m, t, &m->arena), why);
	free(k.path);
	free(k.value);
	return !why;
}

void narrow_states(struct module *m, const struct pass_ctx *c, enum dtype type)
{
	const struct graph *g = graph(m, m->main);
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < g->in.n; i++) {
		val_id in = g->in.a[i], out = next_of(m, in);
		kept += out != 0;
		if (!out || !narrow_state(m, in, out, type))
			continue;
		count++;
		pass_why(c, m, 0, "%s is kept in %s", sym_str(val(m, in)->name), dtype_name(type));
	}
	if (!kept)
		die(EX_BADUSE, "--state-type: no state is named; --alias INPUT=OUTPUT names one");
	if (!count)
		return;
	infer_module(m, NULL);
	note("%zu states kept in %s: each element is rounded, to a part in %d, when it comes in", count, dtype_name(type),
	     type == DT_F16 ? 2048 : 256);
}
