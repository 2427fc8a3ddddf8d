/* Convolutions and pools of com.microsoft: with an activation behind them, and with channels last. */
#include <string.h>
#include "onnx/contrib/rows.h"

static void keep_all(struct contrib *x, val_id v, const char *const *names)
{
	for (; *names; names++)
		keep(x, v, *names);
}

static const char *const window[] = {"auto_pad", "ceil_mode", "dilations", "group", "kernel_shape", "pads", "strides", NULL};

/* Conv, then operand Z is added, then the activation. */
static bool conv(struct contrib *x, bool last)
{
	int rank = contrib_rank(x, operand(x, 0));
	val_id v = operand(x, 0), z = operand(x, 3), y;

	if (!contrib_activation_known(x) || (last && (rank < 3 || rank > RANK_MAX)))
		return false;
	y = tri(x, OP_Conv, last ? contrib_channels(x, v, rank, true) : v, operand(x, 1), operand(x, 2));
	keep_all(x, y, window);
	if (z)
		y = bin(x, OP_Add, y, last ? contrib_channels(x, z, rank, true) : z);
	y = contrib_activated(x, y);
	return done(x, last ? contrib_channels(x, y, rank, false) : y);
}

static bool fused_conv(struct contrib *x) { return conv(x, false); }
static bool nhwc_conv(struct contrib *x) { return conv(x, true); }

static bool nhwc_max_pool(struct contrib *x)
{
	int rank = contrib_rank(x, operand(x, 0));
	val_id y;

	if (rank < 3 || rank > RANK_MAX)
		return false;
	y = un(x, OP_MaxPool, contrib_channels(x, operand(x, 0), rank, true));
	keep_all(x, y, window);
	return done(x, contrib_channels(x, y, rank, false));
}

static bool quantised_conv(struct contrib *x)
{
	int rank = contrib_rank(x, operand(x, 0));
	bool last = attr_int(self(x), "channels_last", 0);
	uint32_t n = self(x)->nin;
	val_id in[9], y;

	if (n > 9 || (last && (rank < 3 || rank > RANK_MAX)))
		return false;
	for (uint32_t i = 0; i < n; i++)
		in[i] = operand(x, i);
	in[0] = last ? contrib_channels(x, in[0], rank, true) : in[0];
	y = make(x, OP_QLinearConv, (int)n, in);
	keep_all(x, y, window);
	return done(x, last ? contrib_channels(x, y, rank, false) : y);
}

/* Pads of a run are known if they are a constant. */
static bool conv_transpose(struct contrib *x)
{
	struct tensor *t = operand(x, 2) ? node_const(x->m, self(x), 2) : NULL;
	int64_t pads[2 * RANK_MAX];
	val_id y;

	if (operand(x, 2) && (!t || t->dtype != DT_I64 || tensor_count(t) > 2 * RANK_MAX))
		return false;
	y = tri(x, OP_ConvTranspose, operand(x, 0), operand(x, 1), operand(x, 3));
	keep_all(x, y, window);
	keep(x, y, "output_padding");
	if (t) {
		tensor_data(x->m, t);
		for (int64_t i = 0; i < tensor_count(t); i++)
			pads[i] = (int64_t)tensor_get(t, i);
		attr_set_ints(x->m, made(x, y), "pads", (int)tensor_count(t), pads);
	}
	return done(x, y);
}

const struct contrib_row contrib_convs[] = {
	{"ConvTransposeWithDynamicPads", 2, conv_transpose},
	{"FusedConv", 2, fused_conv},
	{"NhwcConv", 2, nhwc_conv},
	{"NhwcFusedConv", 2, nhwc_conv},
	{"NhwcMaxPool", 1, nhwc_max_pool},
	{"QLinearConv", 8, quantised_conv},
	{0},
};
