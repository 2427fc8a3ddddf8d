#include "rounding.h"
#include <math.h>
#include "runner/problem.h"

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

/* Digits of the fraction. */
static int digits(enum dtype t) { return t == DT_BF16 ? 7 : t == DT_F16 ? 10 : t == DT_F32 ? 23 : t == DT_F64 ? 52 : 64; }

enum dtype step_of(struct module *m, graph_id body, val_id v)
{
	const struct graph *g = graph(m, body);
	bool *behind = xcalloc(m->values.n, sizeof *behind);
	enum dtype step = DT_NONE;

	behind[v] = true;
	for (size_t i = g->nodes.n; i-- > 0;) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool wanted = false;
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && behind[n->out[k]]) {
				enum dtype t = val(m, n->out[k])->type.dtype;
				wanted = true;
				step = digits(t) < digits(step) ? t : step;
			}
		for (uint32_t k = 0; wanted && k < n->nin; k++)
			behind[n->in[k]] = true;
	}
	free(behind);
	return step;
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

/* ---- inputs ---- */

static bool number(struct module *m, const struct node *n, uint32_t i, double *c)
{
	struct tensor *t = i < n->nin ? scalar_of(m, n->in[i]) : NULL;

	if (!t)
		return i >= n->nin || !n->in[i];
	tensor_data(m, t);
	*c = tensor_get(t, 0);
	return true;
}

/* Does n hand on numbers of the size of those of its operand v, which is the first? */
static bool hands_on(const struct node *n, val_id v)
{
	return n->nin && n->in[0] == v && (n->nin == 1 || op_is(n->op, OP_MOVE) || op_is(n->op, OP_REDUCTION) || n->op == OP_Clip);
}

/* The nodes from value v on: c of it becomes c * scale + offset where it is quantised, in codes. */
static const struct node *follow(struct module *m, const struct graph *body, val_id v, double *scale, double *offset)
{
	*scale = 1, *offset = 0;
	for (size_t i = 0; i < body->nodes.n; i++) {
		const struct node *n = node(m, body->nodes.a[i]);
		double s = 1, z = 0;
		if (n->op == OP_DequantizeLinear && n->in[0] == v && number(m, n, 1, &s) && number(m, n, 2, &z)) {
			*offset = (*offset - z) * s;
			*scale *= s;
		} else if (n->op == OP_QuantizeLinear && n->in[0] == v && number(m, n, 1, &s) && number(m, n, 2, &z)) {
			*offset = *offset / s + z;
			*scale /= s;
			return n;
		} else if (!hands_on(n, v)) {
			continue;
		}
		v = n->out[0];
	}
	return NULL;
}

void rounding_centre(struct module *m, const struct graph *body, uint32_t i, struct tensor *x)
{
	double scale, offset, lo, hi;
	const struct node *n = follow(m, body, body->in.a[i], &scale, &offset);

	if (!n || !dtype_is_int(val(m, n->out[0])->type.dtype))
		return;
	problem_ends(val(m, n->out[0])->type.dtype, &lo, &hi);
	double middle = ((lo + hi) / 2 - offset) / scale, reach = (hi - lo) / 5 / scale;
	bool codes = dtype_is_int(x->dtype);
	for (int64_t k = 0; k < tensor_count(x); k++) /* codes are equally likely, others normal */
		tensor_set(x, k,
			   codes ? middle + reach * (tensor_get(x, k) - (x->dtype == DT_U8 ? 127.5 : -0.5)) / 64
				 : middle + reach * tensor_get(x, k));
}
