/* Recurrent operators. */
#include <math.h>
#include "op/op.h"
#include "rules.h"

static bool plain_zero(double x) { return x == 0 && !signbit(x); }

static bool zeros(struct rewrite *rw, struct tensor *t)
{
	tensor_data(rw_module(rw), t);
	for (int64_t i = 0, n = tensor_count(t); i < n; i++)
		if (!plain_zero(tensor_get(t, i)))
			return false;
	return true;
}

/* Every element of v is +0, whatever its shape. At most *steps values are looked at. */
static bool is_zero(struct rewrite *rw, val_id v, int *steps)
{
	struct module *m = rw_module(rw);
	enum dtype t = rw_type(rw, v)->dtype;
	node_id n = rw_node_of(rw, v), fill = rw_def(rw, v, OP_ConstantOfShape);

	if (!dtype_is_float(t) || --*steps < 0)
		return false;
	if (rw_const(rw, v))
		return zeros(rw, rw_const(rw, v));
	if (fill) {
		struct tensor *value = attr_tensor(node(m, fill), "value");
		return !value || zeros(rw, value);
	}
	if (!n || !op_is(node(m, n)->op, OP_MOVE))
		return false;
	for (uint32_t i = 0; i < node(m, n)->nin; i++) {
		val_id in = rw_in(rw, n, i);
		if (in && rw_type(rw, in)->dtype != DT_NONE && rw_type(rw, in)->dtype != t)
			continue; /* it says where */
		if (in && !is_zero(rw, in, steps))
			return false;
	}
	return true;
}

/* Initial state is zero where none is given. */
static const char *zero_state(struct rewrite *rw, node_id n)
{
	bool any = false;

	for (uint32_t i = 5; i < node(rw_module(rw), n)->nin && i < 7; i++) {
		int steps = 32;
		val_id v = rw_in(rw, n, i);
		if (!v || !is_zero(rw, v, &steps))
			continue;
		rw_set_in(rw, n, i, 0);
		any = true;
	}
	return any ? NULL : NO_MATCH;
}

#define ZERO "initial state of zeros goes"
const struct rule rules_recurrent[] = {
	{"zero-state", OP_GRU, zero_state, ZERO, MEASURE_WORK},
	{"zero-state", OP_LSTM, zero_state, ZERO, MEASURE_WORK},
	{"zero-state", OP_RNN, zero_state, ZERO, MEASURE_WORK},
	{0},
};
