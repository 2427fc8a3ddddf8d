/* The table of operators. */
#include "op/rules.h"

static const struct op *const families[] = {
	ops_elementwise, ops_select,  ops_reduce,    ops_matmul, ops_conv,      ops_pool,  ops_norm,   ops_move,   ops_index,
	ops_shape,       ops_control, ops_recurrent, ops_resize, ops_quant,     ops_loop,  ops_einsum, ops_topk,   ops_sequence,
	ops_cast,        ops_text,    ops_image,     ops_signal, ops_attention, ops_trees, ops_maps,   ops_extern,
};

static const struct op *rows[OP_COUNT];

__attribute__((constructor)) static void rows_fill(void)
{
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		for (const struct op *o = families[f]; o->op; o++)
			rows[o->op] = o;
}

const struct op *op_row(enum opcode op) { return (unsigned)op < OP_COUNT ? rows[op] : NULL; }

static double graph_flops(struct module *m, graph_id g, int depth)
{
	double f = 0;

	for (size_t i = 0; depth < 64 && i < graph(m, g)->nodes.n; i++) {
		const struct node *n = node(m, graph(m, g)->nodes.a[i]);
		f += node_flops(m, n);
	}
	return f;
}

enum agreement op_sizes_agree(const struct node *n, int axis, int rank)
{
	int64_t joined = n->op == OP_Concat ? attr_i(n, "axis") : rank;

	if (n->op == OP_Concat && axis != joined + (joined < 0 ? rank : 0))
		return SIZES_EQUAL;
	return op_is(n->op, OP_ELEMENTWISE) ? SIZES_EQUAL_OR_1 : SIZES_ANY;
}

double node_flops(struct module *m, const struct node *n)
{
	const struct op *o = op_row(n->op);
	double f = 0;

	for (uint32_t i = 0; i < n->nattr; i++) {
		if (n->attr[i].kind == ATTR_GRAPH)
			f += graph_flops(m, n->attr[i].u.graph, 0);
		else if (n->attr[i].kind == ATTR_GRAPHS)
			for (uint32_t k = 0; k < n->attr[i].n; k++)
				f += graph_flops(m, n->attr[i].u.graphs[k], 0);
	}
	if (o && o->flops)
		return f + o->flops(m, n);
	if (f || op_info(n->op)->traits & (OP_MOVE | OP_SHAPE_ONLY | OP_CONTROL | OP_CALL))
		return f;
	if (n->nout && n->out[0]) {
		int64_t c = type_count(m, &val(m, n->out[0])->type);
		return c < 0 ? 0 : (double)c;
	}
	return 0;
}

int op_least(struct module *m, const struct node *n, poly *e)
{
	const struct op *row = op_row(n->op);

	return row && row->least ? row->least(m, n, e) : 0;
}

const char *op_unable(struct module *m, const struct node *n)
{
	const struct op *row = op_row(n->op);

	if (n->op == OP_OTHER)
		return op_unknown(m);
	return !row || !row->eval ? "there is no implementation of this operator" : row->unable ? row->unable(m, n) : NULL;
}
