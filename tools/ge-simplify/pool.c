/* Pooling and Gemm in their plainest form. */
#include <string.h>
#include "op/op.h"
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

/* A mean over all spatial axes. Without keepdims, a Reshape drops them. */
static const char *mean_to_global_pool(struct rewrite *rw, node_id n)
{
	const struct type *t = rw_type(rw, rw_in(rw, n, 0));
	int64_t axes[RANK_MAX];
	int rank = t->rank, k = const_axes(rw, n, 1, rank, axes);
	val_id shape = 0, v;

	if (rank != 4 || k != 2 || axes[0] != 2 || axes[1] != 3 || !dtype_is_float(t->dtype))
		return NO_MATCH;
	if (!attr_i(node(rw_module(rw), n), "keepdims")) {
		shape = shape_operand(rw, rw_type(rw, result(rw, n)));
		if (!shape)
			return "the shape of the result is not known";
	}
	v = rw_node(rw, n, OP_GlobalAveragePool, 1, (val_id[]){rw_in(rw, n, 0)});
	if (shape)
		v = rw_node(rw, n, OP_Reshape, 2, (val_id[]){v, shape});
	rw_replace(rw, result(rw, n), v);
	return NULL;
}

/* A window as large as its operand, without padding. */
static const char *window_to_global_pool(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	const struct node *x = node(m, n);
	const struct type *t = rw_type(rw, rw_in(rw, n, 0));
	int count, npads, ndil;
	const int64_t *size = attr_ints(x, "kernel_shape", &count), *pads = attr_ints(x, "pads", &npads);
	const int64_t *dil = attr_ints(x, "dilations", &ndil);
	int64_t d;

	if (x->nout > 1 && x->out[1] && rw_uses(rw, x->out[1]))
		return NO_MATCH;
	if (!size || t->rank != count + 2)
		return NO_MATCH;
	for (int i = 0; i < count; i++)
		if (!t->dims[2 + i] || !poly_is_const(m->dims, t->dims[2 + i], &d) || d != size[i] || d == 1)
			return NO_MATCH;
	for (int i = 0; pads && i < npads; i++)
		if (pads[i])
			return "it has padding";
	for (int i = 0; dil && i < ndil; i++)
		if (dil[i] != 1)
			return "it has dilations";
	if (strcmp(attr_s(x, "auto_pad"), "NOTSET") && strcmp(attr_s(x, "auto_pad"), "VALID"))
		return "it has auto_pad";
	rw_replace(rw, result(rw, n),
		   rw_node(rw, n, x->op == OP_MaxPool ? OP_GlobalMaxPool : OP_GlobalAveragePool, 1, (val_id[]){rw_in(rw, n, 0)}));
	return NULL;
}

enum { TRANSPOSE_MAX = 1 << 20 }; /* bytes: larger weights stay where they are, a kernel packs its own copy */

/* Constant weights are stored as they are used. */
static const char *gemm_transposed(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	struct tensor *b = rw_const(rw, rw_in(rw, n, 1));
	struct tensor *to;
	size_t size;

	if (!attr_i(node(m, n), "transB"))
		return NO_MATCH;
	if (!b || b->rank != 2 || !(size = dtype_size(b->dtype)))
		return "the weights are not constant";
	if (b->nbytes > TRANSPOSE_MAX)
		return "the weights are large";
	const char *from = tensor_data(m, b);
	int64_t rows = b->dims[0], cols = b->dims[1];
	to = tensor_new(&m->arena, b->dtype, 2, (int64_t[]){cols, rows});
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			memcpy((char *)to->data + (size_t)(j * rows + i) * size, from + (size_t)(i * cols + j) * size, size);
	attr_drop(m, n, "transB");
	rw_set_in(rw, n, 1, rw_constant_tensor(rw, to));
	return NULL;
}

const struct rule rules_pool[] = {
	{"global-pool", OP_ReduceMean, mean_to_global_pool, "a mean over height and width becomes GlobalAveragePool", MEASURE_WORK},
	{"global-pool", OP_AveragePool, window_to_global_pool, "a window as large as its operand becomes global", MEASURE_WORK},
	{"global-pool", OP_MaxPool, window_to_global_pool, "a window as large as its operand becomes global", MEASURE_WORK},
	{"gemm-transposed", OP_Gemm, gemm_transposed, "small constant weights are transposed beforehand", MEASURE_WORK},
	{0},
};
