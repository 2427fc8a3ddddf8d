/* Bytes of the other sign: i8 activations become u8, and u8 that are operand 1 of products only become i8.
 *
 * Values that movers join make one set, which is recoded as a whole: every value of it comes from a QuantizeLinear and goes to what
 * has its zero point as a constant. */
#include <string.h>
#include "integer.h"

struct recoding {
	struct module *m;
	enum dtype from, to;
	double move;
	val_id *set;  /* by value: union-find */
	bool *bad;    /* by representative: it stays */
	bool *wanted; /* by representative: a product reads it as operand 1 */
};

static val_id set_of(struct recoding *r, val_id v)
{
	while (r->set[v] != v)
		v = r->set[v] = r->set[r->set[v]];
	return v;
}

static void join(struct recoding *r, val_id a, val_id b)
{
	a = set_of(r, a);
	b = set_of(r, b);
	r->bad[a] |= r->bad[b];
	r->wanted[a] |= r->wanted[b];
	r->set[b] = a;
}

static void spoil(struct recoding *r, val_id v) { r->bad[set_of(r, v)] = true; }

static bool is_byte(struct recoding *r, val_id v) { return v && val(r->m, v)->type.dtype == r->from && !val(r->m, v)->type.other; }

/* Operand i, a zero point or what is padded with, is a constant, or absent and of a known shape. */
static bool is_fixed(struct recoding *r, const struct node *n, uint32_t i)
{
	if (i < n->nin && n->in[i])
		return node_const(r->m, n, i);
	return n->op == OP_Pad || n->op == OP_MatMulInteger || node_const(r->m, n, 1);
}

/* The operand of n that holds the zero point of what goes in at i or comes out; 0: n has none. */
static uint32_t zero_at(const struct node *n, uint32_t i)
{
	if (n->op == OP_DequantizeLinear || n->op == OP_QuantizeLinear)
		return 2;
	return n->op == OP_MatMulInteger && i == 1 ? 3 : 0;
}

static void see_operand(struct recoding *r, node_id id, uint32_t i)
{
	const struct node *n = node(r->m, id);
	uint32_t z = zero_at(n, i);
	val_id v = n->in[i];

	if (!is_byte(r, v) || (val(r->m, v)->kind == VAL_CONST && !(mover_is(r->m, id) && i < mover_operands(n))))
		return;
	if (mover_is(r->m, id) && i < mover_operands(n)) {
		join(r, v, n->out[0]);
		for (uint32_t k = 1; k < n->nout; k++)
			if (is_byte(r, n->out[k]))
				join(r, v, n->out[k]);
		if (val(r->m, v)->kind == VAL_CONST || (n->op == OP_Pad && !is_fixed(r, n, 2)))
			spoil(r, v);
	} else if (!z || i == z || !is_fixed(r, n, z)) {
		spoil(r, v);
	}
	if (n->op == OP_MatMulInteger && i == 1)
		r->wanted[set_of(r, v)] = true;
}

static void see_node(struct recoding *r, node_id id)
{
	const struct node *n = node(r->m, id);

	for (uint32_t i = 0; i < n->nin; i++)
		see_operand(r, id, i);
	for (uint32_t i = 0; i < n->nout; i++)
		if (is_byte(r, n->out[i]) && !(mover_is(r->m, id) && i < n->nout) && !(n->op == OP_QuantizeLinear && is_fixed(r, n, 2)))
			spoil(r, n->out[i]);
}

static void see_graph(struct recoding *r, const struct graph *g)
{
	for (size_t i = 0; i < g->in.n; i++)
		spoil(r, g->in.a[i]);
	for (size_t i = 0; i < g->out.n; i++)
		spoil(r, g->out.a[i]);
	for (size_t i = 0; i < g->nodes.n; i++)
		see_node(r, g->nodes.a[i]);
}

/* ---- changing ---- */

static bool goes(struct recoding *r, val_id v, bool only_wanted)
{
	val_id s = set_of(r, v);

	return is_byte(r, v) && val(r->m, v)->kind != VAL_CONST && !r->bad[s] && (r->wanted[s] || !only_wanted);
}

/* Operand i as a constant of the other type; absent, it was 0. */
static void move_constant(struct recoding *r, node_id id, uint32_t i)
{
	struct node *n = node(r->m, id);
	struct tensor *old = i < n->nin && n->in[i] ? node_const(r->m, n, i) : NULL, *like = old, *t;

	if (!old && (n->op == OP_QuantizeLinear || n->op == OP_DequantizeLinear))
		like = node_const(r->m, n, 1);
	if (old)
		tensor_data(r->m, old);
	t = tensor_new(&r->m->arena, r->to, like ? like->rank : 0, like ? like->dims : NULL);
	for (int64_t k = 0, count = tensor_count(t); k < count; k++)
		tensor_set(t, k, (old ? tensor_get(old, k) : 0) + r->move);
	val_id c = const_tensor(r->m, 0, t);
	n = node(r->m, id);
	if (i >= n->nin) {
		val_id *in = ARENA_ARRAY(&r->m->arena, val_id, i + 1);
		memcpy(in, n->in, sizeof *in * n->nin);
		n->in = in;
		n->nin = i + 1;
	}
	n->in[i] = c;
}

/* What n says of the bytes that go in or come out. */
static void change_node(struct recoding *r, node_id id, bool only_wanted)
{
	const struct node *n = node(r->m, id);
	bool out = n->nout && n->out[0] && goes(r, n->out[0], only_wanted);

	if (n->op == OP_QuantizeLinear && out) {
		move_constant(r, id, 2);
		attr_drop(r->m, id, "output_dtype");
	} else if (n->op == OP_Pad && out && !strcmp(attr_s(n, "mode"), "constant")) {
		move_constant(r, id, 2);
	} else if (n->op == OP_DequantizeLinear && goes(r, n->in[0], only_wanted)) {
		move_constant(r, id, 2);
	} else if (n->op == OP_MatMulInteger && goes(r, n->in[1], only_wanted)) {
		move_constant(r, id, 3);
	}
}

void recode(struct module *m, enum dtype from, enum dtype to, bool only_wanted)
{
	size_t nv = m->values.n;
	struct recoding r = {m,
			     from,
			     to,
			     to == DT_U8 ? 128 : -128,
			     xcalloc(nv, sizeof *r.set),
			     xcalloc(nv, sizeof *r.bad),
			     xcalloc(nv, sizeof *r.wanted)};
	struct graph_list list = {0};

	for (val_id v = 0; v < nv; v++)
		r.set[v] = v;
	module_graph_order(m, &list);
	for (size_t k = 0; k < list.n; k++)
		see_graph(&r, graph(m, list.a[k]));
	for (size_t k = 0; k < list.n; k++)
		for (size_t i = 0; i < graph(m, list.a[k])->nodes.n; i++)
			change_node(&r, graph(m, list.a[k])->nodes.a[i], only_wanted);
	for (val_id v = 1; v < nv; v++)
		if (goes(&r, v, only_wanted))
			val(m, v)->type.dtype = to;
	vec_free(&list);
	free(r.set);
	free(r.bad);
	free(r.wanted);
}
