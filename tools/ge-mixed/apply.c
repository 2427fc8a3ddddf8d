/* Nodes get their forms. */
#include "mixed.h"
#include "op/op.h"

static uint32_t maker_of(struct mixed *x, val_id v) { return val(x->m, v)->kind == VAL_NODE ? x->of[val(x->m, v)->def] : 0; }

/* ---- a quantised model: what is high reads values as they are before QuantizeLinear ---- */

/* The weight that v is, in floats; 0: v is none. */
static val_id plain_weight(struct mixed *x, val_id v)
{
	struct module *m = x->m;
	node_id d = val(m, v)->kind == VAL_NODE ? val(m, v)->def : 0;
	struct tensor *in[3] = {0}, *out[1];

	if (!d || node(m, d)->op != OP_DequantizeLinear)
		return 0;
	for (uint32_t i = 0; i < node(m, d)->nin; i++) {
		if (node(m, d)->in[i] && !(in[i] = node_const(m, node(m, d), i)))
			return 0;
		if (in[i])
			tensor_data(m, in[i]);
	}
	const char *why = eval_node(m, d, in, out, &m->arena);
	if (why)
		graph_die(m, d, "%s", why);
	return const_tensor(m, val(m, v)->name, out[0]);
}

/* What thing t reads instead of v. */
static val_id plain_operand(struct mixed *x, uint32_t t, val_id v, val_id *weight)
{
	if (!v || v >= x->uses_values || x->is_low[t])
		return v;
	if (x->plain[v] != v) {
		uint32_t maker = maker_of(x, x->plain[v]);
		return !x->is_low[maker] && (t || maker) ? x->plain[v] : v;
	}
	if (t && !weight[v])
		weight[v] = plain_weight(x, v);
	return t && weight[v] ? weight[v] : v;
}

static void apply_plain(struct mixed *x)
{
	struct graph *g = graph(x->m, x->m->main);
	val_id *weight = ARENA_ARRAY(x->arena, val_id, x->uses_values);

	for (size_t i = 0; i < g->nodes.n; i++) {
		node_id id = g->nodes.a[i];
		for (uint32_t k = 0; k < node(x->m, id)->nin; k++) {
			val_id v = plain_operand(x, x->of[id], node(x->m, id)->in[k], weight);
			node(x->m, id)->in[k] = v;
		}
	}
	for (size_t i = 0; i < g->out.n; i++)
		g->out.a[i] = plain_operand(x, 0, g->out.a[i], weight);
}

/* ---- floats: casts between the two types ---- */

/* v in the type t: by a Cast, one for all readers. */
static val_id cast(struct mixed *x, val_id v, enum dtype t, val_id *made)
{
	struct module *m = x->m;

	if (made[v])
		return made[v];
	node_id n = node_new(m, m->main, OP_Cast, 1, &v, 1);
	attr_set_int(m, n, "to", dtype_to_onnx(t));
	val_id out = node(m, n)->out[0];
	val(m, out)->type = val(m, v)->type;
	val(m, out)->type.dtype = t;
	return made[v] = out;
}

static val_id typed_operand(struct mixed *x, bool low, val_id v, val_id *down, val_id *up)
{
	if (!v || v >= x->uses_values)
		return v;
	bool is_low = x->is_low[maker_of(x, v)];
	if (!is_low && val(x->m, v)->type.dtype != DT_F32)
		return v;
	if (low == is_low)
		return v;
	return low ? cast(x, v, x->low, down) : cast(x, v, DT_F32, up);
}

static void apply_types(struct mixed *x)
{
	struct module *m = x->m;
	graph_id g = m->main;
	val_id *down = ARENA_ARRAY(x->arena, val_id, x->uses_values), *up = ARENA_ARRAY(x->arena, val_id, x->uses_values);
	size_t n = graph(m, g)->nodes.n;

	for (size_t i = 1; i < x->thing.n; i++)
		if (x->is_low[i])
			val(m, node(m, x->thing.a[i].node)->out[0])->type.dtype = x->low;
	for (size_t i = 0; i < n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		for (uint32_t k = 0; k < node(m, id)->nin; k++) {
			val_id v = typed_operand(x, x->is_low[x->of[id]], node(m, id)->in[k], down, up);
			node(m, id)->in[k] = v;
		}
	}
	for (size_t i = 0; i < graph(m, g)->out.n; i++) {
		val_id v = typed_operand(x, false, graph(m, g)->out.a[i], down, up);
		graph(m, g)->out.a[i] = v;
	}
	if (graph_sort(m, g))
		BUG("casts made a cycle");
}

void mixed_apply(struct mixed *x)
{
	if (x->low == DT_U8)
		apply_plain(x);
	else
		apply_types(x);
	module_name_values(x->m);
}
