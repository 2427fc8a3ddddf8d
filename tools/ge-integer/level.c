/* Products whose rows may become bytes, as accuracy_level 4 of MatMulNBits says: those whose weights carry the word (DequantizeLinear's
 * accuracy_level), or all with --accuracy-level 4. With weights in blocks, rows times their codes is a sum of integers in each block. Each
 * block of a row gets a scale, a 127th of its largest magnitude:
 *
 *   x -> DequantizeLinear(QuantizeLinear(x, s), s), s = max(|x|) / 127 of each block
 *
 * So the graph says what is computed. Rows are rounded where the target multiplies such integers faster than floats, else nowhere. */
#include <float.h>
#include "common/map.h"
#include "graph/constants.h"
#include "integer.h"
#include "lower/packed.h"
#include "op/pass.h"

enum {
	MOST = 127,  /* the largest code of a row */
	ROUNDED = 4, /* the level that allows bytes */
};

/* A value in codes: of blocks so long. */
struct rounded {
	int64_t block;
	val_id result;
};

struct level {
	struct module *m;
	const struct pass_ctx *c;
	const struct target *target;
	bool all;        /* else those that the model allows */
	struct map done; /* by value: 1 + the last of `rounded` that was made of it */
	VEC(struct rounded) rounded;
	VEC(node_id) order; /* of the graph at hand, so far */
	graph_id graph;
	int products;
};

/* A product of x, with blocks of so many weights along what is summed up. */
struct product {
	val_id x;
	int64_t block, columns;
	bool four_bits, allowed;
};

static const struct type *type_of(struct level *l, val_id v) { return &val(l->m, v)->type; }

static node_id maker(struct level *l, val_id v, enum opcode op)
{
	const struct value *x = v ? val(l->m, v) : NULL;

	return x && x->kind == VAL_NODE && node(l->m, x->def)->op == op ? x->def : 0;
}

/* The axis of the weights that node n sums up along; -1: it is no product of rows of f32. */
static int summed_axis(struct level *l, const struct node *n)
{
	const struct type *x = n->nin > 1 ? type_of(l, n->in[0]) : NULL;
	bool gemm = n->op == OP_Gemm;

	if ((!gemm && n->op != OP_MatMul) || x->dtype != DT_F32 || x->rank < 2 || val(l->m, n->in[0])->kind == VAL_CONST ||
	    (gemm && attr_i(n, "transA")))
		return -1;
	return gemm && attr_i(n, "transB");
}

/* Is node n a product of rows that are no codes yet, and weights in blocks of few bits? */
static bool find_product(struct level *l, const struct node *n, struct product *p)
{
	int summed = summed_axis(l, n), count;
	val_id v = summed < 0 ? 0 : n->in[1];
	node_id t = maker(l, v, OP_Transpose), d = maker(l, t ? node(l->m, t)->in[0] : v, OP_DequantizeLinear);
	int64_t dims[RANK_MAX];

	if (!d || maker(l, n->in[0], OP_DequantizeLinear))
		return false;
	const int64_t *perm = t ? attr_ints(node(l->m, t), "perm", &count) : NULL;
	summed ^= t && (!perm || perm[0] == 1);
	const struct node *w = node(l->m, d);
	struct tensor *codes = node_const(l->m, w, 0);
	if (!codes || codes->rank != 2 || !type_dims(l->m, type_of(l, n->in[1]), dims))
		return false;
	int64_t axis = attr_i(w, "axis"), K = codes->dims[summed];
	*p = (struct product){.x = n->in[0], .block = attr_i(w, "block_size"), .columns = codes->dims[!summed]};
	p->four_bits = dtype_is_int4(codes->dtype);
	p->allowed = l->all || attr_i(w, "accuracy_level") == ROUNDED;
	return (p->four_bits || codes->dtype == DT_I8 || codes->dtype == DT_U8) && (axis < 0 ? axis + 2 : axis) == summed && p->block > 1 &&
	       p->block < K && K % p->block == 0;
}

static val_id make(struct level *l, enum opcode op, int nin, const val_id *in)
{
	node_id id = node_new_loose(l->m, l->graph, op, nin, in, 1);

	vec_push(&l->order, id);
	return node(l->m, id)->out[0];
}

static val_id typed(struct level *l, val_id v)
{
	infer_node(l->m, val(l->m, v)->def, NULL);
	return v;
}

static val_id number(struct level *l, float x) { return const_copy(l->m, 0, DT_F32, 0, NULL, &x, sizeof x); }

static val_id ints(struct level *l, int64_t n, const int64_t *x) { return const_copy(l->m, 0, DT_I64, 1, &n, x, (size_t)n * sizeof *x); }

static val_id in_blocks(struct level *l, val_id v, int axis, int64_t block)
{
	attr_set_int(l->m, val(l->m, v)->def, "axis", axis);
	attr_set_int(l->m, val(l->m, v)->def, "block_size", block);
	return typed(l, v);
}

/* A 127th of the largest magnitude of each block of x's rows. Never so small that a quotient by it is none. */
static val_id scales(struct level *l, val_id x, int64_t block)
{
	int rank = type_of(l, x)->rank;
	int64_t shape[RANK_MAX + 1] = {0}, last = -1; /* 0: the extent stays */

	shape[rank - 1] = -1;
	shape[rank] = block;
	val_id v = typed(l, make(l, OP_Reshape, 2, (val_id[]){x, ints(l, rank + 1, shape)}));
	v = typed(l, make(l, OP_Abs, 1, &v));
	v = make(l, OP_ReduceMax, 2, (val_id[]){v, ints(l, 1, &last)});
	attr_set_int(l->m, val(l->m, v)->def, "keepdims", 0);
	v = typed(l, make(l, OP_Max, 2, (val_id[]){typed(l, v), number(l, 2 * MOST * FLT_MIN)}));
	return typed(l, make(l, OP_Mul, 2, (val_id[]){v, number(l, 1.0F / MOST)}));
}

/* x as its codes say it is, made once for all products that read it in such blocks. */
static val_id as_codes(struct level *l, val_id x, int64_t block)
{
	uint32_t at = map_get(&l->done, x);
	int axis = type_of(l, x)->rank - 1;

	if (at && l->rounded.a[at - 1].block == block)
		return l->rounded.a[at - 1].result;
	val_id s = scales(l, x, block), q = make(l, OP_QuantizeLinear, 2, (val_id[]){x, s});
	attr_set_int(l->m, val(l->m, q)->def, "output_dtype", dtype_to_onnx(DT_I8));
	in_blocks(l, q, axis, block);
	val_id y = in_blocks(l, make(l, OP_DequantizeLinear, 2, (val_id[]){q, s}), axis, block);
	vec_push(&l->rounded, (struct rounded){block, y});
	map_set(&l->done, x, (uint32_t)l->rounded.n);
	return y;
}

static void round_rows(struct level *l, node_id id)
{
	struct product p;

	if (!find_product(l, node(l->m, id), &p) || !p.allowed)
		return;
	if (!packed_bytes_chosen(l->target, p.four_bits, p.block, p.columns)) {
		pass_why(l->c, l->m, id, "its rows stay floats: the target is not faster with blocks of bytes");
		return;
	}
	val_id y = as_codes(l, p.x, p.block);
	node(l->m, id)->in[0] = y;
	l->products++;
	pass_why(l->c, l->m, id, "its rows are rounded to bytes, in blocks of %ld", (long)p.block);
}

static void round_graph(struct level *l, graph_id g)
{
	struct graph *x = graph(l->m, g);

	l->graph = g;
	l->order.n = l->rounded.n = 0;
	for (size_t i = 0; i < x->nodes.n; i++) {
		node_id n = x->nodes.a[i];
		round_rows(l, n);
		vec_push(&l->order, n);
	}
	x = graph(l->m, g);
	x->nodes.n = 0;
	for (size_t i = 0; i < l->order.n; i++)
		vec_push(&x->nodes, l->order.a[i]);
	map_free(&l->done);
}

int level_rows(struct module *m, const struct pass_ctx *c, const struct target *t, bool all)
{
	struct level l = {.m = m, .c = c, .target = t, .all = all};
	struct graph_list list = {0};

	module_graph_order(m, &list);
	for (size_t i = 0; i < list.n; i++)
		round_graph(&l, list.a[i]);
	vec_free(&list);
	vec_free(&l.rounded);
	vec_free(&l.order);
	return l.products;
}

bool level_allowed(struct module *m)
{
	for (node_id n = 1; n < m->nodes.n; n++)
		if (node(m, n)->op == OP_DequantizeLinear && attr_i(node(m, n), "accuracy_level") == ROUNDED)
			return true;
	return false;
}

void level_forget(struct module *m)
{
	for (node_id n = 1; n < m->nodes.n; n++)
		if (node(m, n)->op == OP_DequantizeLinear)
			attr_drop(m, n, "accuracy_level");
}
