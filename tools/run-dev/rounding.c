#include "rounding.h"
#include <math.h>

enum { DEPTH_MAX = 16 };

/* Sums up to here are exact in f32. */
#define EXACT_MAX 16777216.0

static struct tensor *scalar_of(struct module *m, val_id v)
{
	return v && val(m, v)->kind == VAL_CONST && tensor_count(val(m, v)->tensor) == 1 ? val(m, v)->tensor : NULL;
}

static bool is_power_of_two(struct module *m, val_id v)
{
	struct tensor *t = scalar_of(m, v);
	int e;

	if (!t || t->dtype != DT_F32)
		return false;
	tensor_data(m, t);
	return frexp(fabs(tensor_get(t, 0)), &e) == 0.5;
}

/* Terms of a sum of products of codes that f32 has for certain. */
static bool fits(struct module *m, const struct node *n)
{
	int64_t count = type_count(m, &val(m, n->out[0])->type);

	return count > 0 && node_flops(m, n) / 2 / (double)count * 255 * 255 <= EXACT_MAX;
}

/* Is v of f32 computed without any rounding, whatever the order? */
static bool is_exact(struct module *m, val_id v, int depth)
{
	const struct value *x = val(m, v);
	const struct node *n = x->kind == VAL_NODE ? node(m, x->def) : NULL;

	if (!n)
		return true;
	if (depth == 0)
		return false;
	switch (n->op) {
	case OP_Relu:
	case OP_Clip:
	case OP_Transpose: return is_exact(m, n->in[0], depth - 1);
	case OP_Mul: return is_power_of_two(m, n->in[1]) && is_exact(m, n->in[0], depth - 1);
	case OP_Cast:
		x = val(m, n->in[0]);
		if (x->type.dtype == DT_I32 && x->kind == VAL_NODE) {
			n = node(m, x->def);
			return (n->op == OP_MatMulInteger || n->op == OP_ConvInteger) && fits(m, n);
		}
		return dtype_is_int(x->type.dtype) && dtype_size(x->type.dtype) <= 2;
	default: return false;
	}
}

static bool is_input_or_const(struct module *m, val_id v) { return !v || val(m, v)->kind != VAL_NODE; }

enum oracle_rounded rounding_of(struct module *m, graph_id body, val_id v, node_id *id)
{
	const struct value *x = val(m, v);
	const struct node *n = x->kind == VAL_NODE ? node(m, x->def) : NULL;

	if (!n || n->op != OP_QuantizeLinear || attr_i(n, "block_size") || !dtype_is_int(x->type.dtype) || x->graph != body ||
	    !is_input_or_const(m, n->in[1]) || (n->nin > 2 && !is_input_or_const(m, n->in[2])) || val(m, n->in[0])->type.dtype != DT_F32)
		return ROUNDED_NOT;
	*id = x->def;
	return is_exact(m, n->in[0], DEPTH_MAX) ? ROUNDED_EXACT : ROUNDED_NEAR;
}

void rounding_before(const struct node *n, const struct tensor *x, const struct tensor *scale, const struct tensor *zero, float *to)
{
	int64_t count = tensor_count(x), scales = tensor_count(scale), zeros = zero ? tensor_count(zero) : 0, inner = 1;
	int axis = (int)attr_i(n, "axis");

	for (int k = (axis < 0 ? axis + x->rank : axis) + 1; k < x->rank; k++)
		inner *= x->dims[k];
	for (int64_t i = 0; i < count; i++) {
		double s = tensor_get(scale, i / inner % scales), z = zeros ? tensor_get(zero, i / inner % zeros) : 0;
		to[i] = (float)(tensor_get(x, i) / s + z);
	}
}
