/* What unpacks (DequantizeLinear) is for its reader to do: values stay in the smaller form until then. */
#include "fuse.h"

/* Node `of` for the nth time, right behind it in order[]. */
static val_id copy_of(struct module *m, node_id of, int nth, struct graph *order)
{
	const struct node n = *node(m, of);
	sym name = val(m, n.out[0])->name;
	node_id id = node_new_loose(m, n.graph, n.op, (int)n.nin, n.in, 1);
	struct node *x = node(m, id);

	x->nattr = n.nattr;
	x->attr = arena_copy(&m->arena, n.attr, n.nattr * sizeof *n.attr);
	val(m, x->out[0])->type = val(m, n.out[0])->type;
	if (name)
		val(m, x->out[0])->name = intern(arena_printf(&m->arena, "%s_%d", sym_str(name), nth));
	vec_push(&order->nodes, id);
	return x->out[0];
}

static void replace(struct module *m, node_id user, val_id from, val_id to)
{
	for (uint32_t i = 0; i < node(m, user)->nin; i++)
		if (node(m, user)->in[i] == from)
			node(m, user)->in[i] = to;
}

/* Is user k of those of a value, which are listed once for each operand, one with a kernel that has not been met yet? */
static bool reads(struct module *m, const struct uses *uses, uint32_t k, uint32_t first)
{
	return (k == first || uses->user[k] != uses->user[k - 1]) && has_kernel(m, uses->user[k]);
}

/* A copy of n for each of its users that have a kernel; one of them keeps n, if nobody else does. */
static bool split(struct module *m, const struct uses *uses, node_id n, struct graph *order)
{
	val_id v = node(m, n)->out[0];
	uint32_t first = uses->start[v], end = uses->start[v + 1];
	bool kept = uses->nout[v] > 0;
	int copies = 0;

	for (uint32_t i = first; i < end; i++)
		kept |= !has_kernel(m, uses->user[i]);
	for (uint32_t i = first; i < end; i++) {
		if (!reads(m, uses, i, first))
			continue;
		if (kept) {
			copies++;
			replace(m, uses->user[i], v, copy_of(m, n, copies + 1, order));
		}
		kept = true;
	}
	return copies > 0;
}

void split_unpacking(struct module *m, graph_id g, const struct pass_ctx *c)
{
	struct uses uses = uses_new(m);
	struct graph order = {0};
	bool changed = false;

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id n = graph(m, g)->nodes.a[i];
		vec_push(&order.nodes, n);
		if (op_is(node(m, n)->op, OP_UNPACK) && node(m, n)->nout == 1 && has_kernel(m, n) && split(m, &uses, n, &order)) {
			pass_why(c, m, n, "once for each of its users");
			changed = true;
		}
	}
	if (changed) {
		graph(m, g)->nodes.n = 0;
		for (size_t i = 0; i < order.nodes.n; i++)
			vec_push(&graph(m, g)->nodes, order.nodes.a[i]);
	}
	vec_free(&order.nodes);
	uses_free(&uses);
}

/* Is v made of constants alone, one of them unpacked? depth: of nodes that are looked at. */
bool made_of_packed(struct module *m, val_id v, int depth)
{
	const struct value *x = val(m, v);
	bool packed = false;

	if (x->kind != VAL_NODE || depth == 0)
		return false;
	const struct node *n = node(m, x->def);
	if (!op_is(n->op, OP_ELEMENTWISE) && n->op != OP_Transpose)
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i] || val(m, n->in[i])->kind == VAL_CONST)
			continue;
		if (!made_of_packed(m, n->in[i], depth - 1))
			return false;
		packed = true;
	}
	return packed || op_is(n->op, OP_UNPACK);
}
