/* Between which numbers a value lies, as far as the few operators that make it say. */
#include <math.h>
#include "mixed.h"
#include "op/op.h"
#include "op/rules.h"

static const struct interval any = {-INFINITY, INFINITY};

static struct interval of_tensor(struct module *m, struct tensor *t)
{
	struct interval r = {INFINITY, -INFINITY};

	tensor_data(m, t);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
		double x = tensor_get(t, i);
		if (isnan(x))
			return any;
		r.lo = fmin(r.lo, x), r.hi = fmax(r.hi, x);
	}
	return r.lo <= r.hi ? r : any;
}

/* Of what an operation on the ends of two intervals gives, monotone in each. */
static struct interval hull(double a, double b, double c, double d)
{
	if (isnan(a) || isnan(b) || isnan(c) || isnan(d))
		return any;
	return (struct interval){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d))};
}

static struct interval of_two(enum opcode op, struct interval x, struct interval y)
{
	switch (op) {
	case OP_Add: return hull(x.lo + y.lo, x.hi + y.hi, x.lo + y.lo, x.hi + y.hi);
	case OP_Sub: return hull(x.lo - y.hi, x.hi - y.lo, x.lo - y.hi, x.hi - y.lo);
	case OP_Mul: return hull(x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi);
	case OP_Div: return y.lo > 0 || y.hi < 0 ? hull(x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi) : any;
	case OP_Min: return (struct interval){fmin(x.lo, y.lo), fmin(x.hi, y.hi)};
	default: return (struct interval){fmax(x.lo, y.lo), fmax(x.hi, y.hi)};
	}
}

/* Clip; what has no bound there, or one that is computed, is not bounded there. */
static struct interval of_clip(struct module *m, const struct node *n, struct interval x)
{
	struct tensor *lo = n->nin > 1 && n->in[1] ? node_const(m, n, 1) : NULL, *hi = n->nin > 2 && n->in[2] ? node_const(m, n, 2) : NULL;

	if (lo)
		x = of_two(OP_Max, x, of_tensor(m, lo));
	return hi ? of_two(OP_Min, x, of_tensor(m, hi)) : x;
}

/* Of all codes. */
static struct interval of_codes(struct module *m, const struct node *d)
{
	struct tensor *s = node_const(m, d, 1), *z = d->nin > 2 && d->in[2] ? node_const(m, d, 2) : NULL;
	enum dtype t = val(m, d->in[0])->type.dtype;

	if (!s || (d->nin > 2 && d->in[2] && !z) || !dtype_is_int(t) || dtype_size(t) != 1)
		return any;
	struct interval scale = of_tensor(m, s), zero = z ? of_tensor(m, z) : (struct interval){0, 0};
	struct interval code = {(double)dtype_lowest(t), (double)dtype_highest(t)};
	return of_two(OP_Mul, of_two(OP_Sub, code, zero), scale);
}

struct interval interval_of(struct module *m, val_id v, int depth)
{
	struct value *x = val(m, v);
	const struct node *n = x->kind == VAL_NODE ? node(m, x->def) : NULL;

	if (x->kind == VAL_CONST)
		return of_tensor(m, x->tensor);
	if (!n || depth == 0)
		return any;
	struct interval r = n->nin && n->in[0] && n->op != OP_DequantizeLinear ? interval_of(m, n->in[0], depth - 1) : any;
	switch (n->op) {
	case OP_DequantizeLinear: return of_codes(m, n);
	case OP_Clip: return of_clip(m, n, r);
	case OP_Relu: return of_two(OP_Max, r, (struct interval){0, 0});
	case OP_HardSigmoid:
	case OP_Sigmoid:
	case OP_Softmax: return (struct interval){0, 1};
	case OP_Flatten:
	case OP_GlobalAveragePool:
	case OP_MaxPool:
	case OP_Reshape:
	case OP_Slice:
	case OP_Squeeze:
	case OP_Transpose:
	case OP_Unsqueeze: return r;
	case OP_Concat:
		for (uint32_t i = 1; i < n->nin; i++) {
			struct interval y = interval_of(m, n->in[i], depth - 1);
			r = hull(r.lo, r.hi, y.lo, y.hi);
		}
		return r;
	case OP_Add:
	case OP_Div:
	case OP_Mul:
	case OP_Sub: return of_two(n->op, r, interval_of(m, n->in[1], depth - 1));
	default: return any;
	}
}
