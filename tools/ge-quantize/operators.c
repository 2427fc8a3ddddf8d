/* Which operators are quantised, and how. */
#include "quantize.h"

static const struct {
	uint8_t part;
	int8_t bias; /* its operand; 0: none */
} column[OP_COUNT] = {
	[OP_Add] = {PART_INPUTS},
	[OP_AveragePool] = {PART_INPUTS},
	[OP_Concat] = {PART_MOVES},
	[OP_Conv] = {PART_WEIGHTS, 2},
	[OP_ConvTranspose] = {PART_WEIGHTS, 2},
	[OP_DepthToSpace] = {PART_MOVES},
	[OP_Flatten] = {PART_MOVES},
	[OP_Gather] = {PART_TABLE},
	[OP_Gemm] = {PART_WEIGHTS, 2},
	[OP_GlobalAveragePool] = {PART_INPUTS},
	[OP_MatMul] = {PART_WEIGHTS},
	[OP_MaxPool] = {PART_MOVES},
	[OP_Reshape] = {PART_MOVES},
	[OP_Slice] = {PART_MOVES},
	[OP_SpaceToDepth] = {PART_MOVES},
	[OP_Split] = {PART_MOVES},
	[OP_Squeeze] = {PART_MOVES},
	[OP_Transpose] = {PART_MOVES},
	[OP_Unsqueeze] = {PART_MOVES},
};

enum part part_of(enum opcode op) { return column[op].part; }

static bool plain_gemm(const struct node *n) { return !attr_i(n, "transA") && attr_f(n, "alpha") == 1 && attr_f(n, "beta") == 1; }

bool weights_of(struct module *m, const struct node *n, struct weights_at *w)
{
	struct tensor *t = n->nin > 1 ? node_const(m, n, 1) : NULL;

	if (part_of(n->op) != PART_WEIGHTS || !t || t->dtype != DT_F32 || t->rank < 2 || !tensor_count(t))
		return false;
	*w = (struct weights_at){1, 0, column[n->op].bias ? column[n->op].bias : -1};
	if (n->op == OP_ConvTranspose) {
		w->axis = 1;
		return attr_i(n, "group") == 1;
	}
	if (n->op == OP_Gemm) {
		w->axis = attr_i(n, "transB") ? 0 : 1;
		return plain_gemm(n);
	}
	if (n->op == OP_MatMul)
		w->axis = t->rank - 1;
	return true;
}

/* What two more nodes and their names take in a file is nothing beside that. */
enum { TABLE_LEAST = 1 << 14 };

static bool takes_rows(struct module *m, node_id id, val_id v)
{
	const struct node *n = node(m, id);

	return n->op == OP_Gather && n->in[0] == v && n->in[1] != v && attr_i(n, "axis") == 0;
}

bool is_table(struct module *m, const struct uses *u, const struct node *n)
{
	struct tensor *t = part_of(n->op) == PART_TABLE ? node_const(m, n, 0) : NULL;

	if (!t || t->dtype != DT_F32 || t->rank < 2 || tensor_count(t) < TABLE_LEAST || u->nout[n->in[0]])
		return false;
	for (uint32_t i = u->start[n->in[0]]; i < u->start[n->in[0] + 1]; i++)
		if (!takes_rows(m, u->user[i], n->in[0]))
			return false;
	return true;
}
