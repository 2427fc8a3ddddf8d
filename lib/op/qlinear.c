/* Operators that dequantise and quantise inside, taken apart. */
#include "op/qlinear.h"
#include "op/rewrite.h"

static val_id dequantize(struct rewrite *rw, node_id root, val_id q, val_id scale, val_id zero, int64_t axis)
{
	val_id y = rw_node(rw, root, OP_DequantizeLinear, 3, (val_id[]){q, scale, zero});

	attr_set_int(rw_module(rw), rw_node_of(rw, y), "axis", axis);
	return y;
}

static const char *quantize(struct rewrite *rw, node_id n, val_id y, int64_t axis)
{
	struct module *m = rw_module(rw);
	val_id q = rw_node(rw, n, OP_QuantizeLinear, 3, (val_id[]){y, rw_in(rw, n, 6), rw_in(rw, n, 7)});

	attr_set_int(m, rw_node_of(rw, q), "axis", axis);
	rw_replace(rw, node(m, n)->out[0], q);
	return NULL;
}

/* The scale of the bias of a QLinearConv: that of x times those of the weights. */
static val_id bias_scale(struct rewrite *rw, node_id n)
{
	struct tensor *t = rw_const(rw, rw_in(rw, n, 4));
	double x, *s;
	int64_t count;

	if (!t || !rw_scalar(rw, rw_in(rw, n, 1), &x))
		return 0;
	s = rw_doubles(rw, rw_in(rw, n, 4), &count);
	for (int64_t i = 0; i < count; i++)
		s[i] *= x;
	return rw_constant(rw, DT_F32, t->rank, t->dims, s);
}

static const char *conv(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	val_id bias = rw_in(rw, n, 8), scale = bias ? bias_scale(rw, n) : 0;

	if (bias && !scale)
		return "its scales are not constant";
	val_id in[3] = {dequantize(rw, n, rw_in(rw, n, 0), rw_in(rw, n, 1), rw_in(rw, n, 2), 0),
			dequantize(rw, n, rw_in(rw, n, 3), rw_in(rw, n, 4), rw_in(rw, n, 5), 0), 0};
	if (bias) {
		in[2] = rw_node(rw, n, OP_DequantizeLinear, 2, (val_id[]){bias, scale});
		attr_set_int(m, rw_node_of(rw, in[2]), "axis", 0);
	}
	val_id y = rw_node(rw, n, OP_Conv, bias ? 3 : 2, in);
	rw_copy_attrs(rw, rw_node_of(rw, y), n);
	return quantize(rw, n, y, 1);
}

static bool is_small(struct rewrite *rw, val_id scale) { return rw_type(rw, scale)->rank == 0 || rw_type(rw, scale)->rank == 1; }

static const char *matmul(struct rewrite *rw, node_id n)
{
	int a = rw_type(rw, rw_in(rw, n, 0))->rank, b = rw_type(rw, rw_in(rw, n, 3))->rank,
	    y = rw_type(rw, node(rw_module(rw), n)->out[0])->rank;

	if (!is_small(rw, rw_in(rw, n, 1)) || !is_small(rw, rw_in(rw, n, 4)) || !is_small(rw, rw_in(rw, n, 6)))
		return "it has a scale for each matrix";
	if (a < 1 || b < 1 || y < 1)
		return "its ranks are not known";
	val_id in[2] = {dequantize(rw, n, rw_in(rw, n, 0), rw_in(rw, n, 1), rw_in(rw, n, 2), a > 1 ? a - 2 : 0),
			dequantize(rw, n, rw_in(rw, n, 3), rw_in(rw, n, 4), rw_in(rw, n, 5), b - 1)};
	return quantize(rw, n, rw_node(rw, n, OP_MatMul, 2, in), y > 1 ? y - 2 : 0);
}

static const struct rule rules[] = {
	{"qlinear", OP_QLinearConv, conv, "it becomes Conv between DequantizeLinear and QuantizeLinear", MEASURE_WORK},
	{"qlinear", OP_QLinearMatMul, matmul, "it becomes MatMul between DequantizeLinear and QuantizeLinear", MEASURE_WORK},
};

void qlinear_split(struct module *m, const struct pass_ctx *c)
{
	struct rule_run run[sizeof rules / sizeof *rules] = {{0}};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		run[i].rule = &rules[i];
	rewrite_module(m, run, (int)(sizeof rules / sizeof *rules), c, false);
}
