/* Windows of convolutions and pools: taps that read only padding are cut. */
#include <string.h>
#include "op/op.h"
#include "op/rules.h"
#include "rules.h"

/* Taps from first to last read an element of the operand somewhere; the others never do. */
struct reach {
	int64_t first[SPATIAL_MAX], last[SPATIAL_MAX];
};

/* Is an element of the operand read by tap k of any of `out` windows along axis i, whose operand has extent `in`? */
static bool reads(const struct window *w, int i, int64_t k, int64_t in, int64_t out)
{
	int64_t at = k * w->dilation[i] - w->begin[i], first = at >= 0 ? 0 : (-at + w->stride[i] - 1) / w->stride[i];

	return first < out && at + first * w->stride[i] < in;
}

/* The taps to keep along axis i; the padding that is left is never less than none. False: all taps read something, or none does. */
static bool find_reach(const struct window *w, int i, int64_t in, int64_t out, struct reach *r)
{
	int64_t first = 0, last = w->size[i] - 1;

	while (first < last && !reads(w, i, first, in, out))
		first++;
	while (last > first && !reads(w, i, last, in, out))
		last--;
	while (first > 0 && first * w->dilation[i] > w->begin[i])
		first--;
	while (last < w->size[i] - 1 && (w->size[i] - 1 - last) * w->dilation[i] > w->end[i])
		last++;
	r->first[i] = first;
	r->last[i] = last;
	return first > 0 || last < w->size[i] - 1;
}

/* The window of the taps that are kept. False: the last results would be other ones (ceil_mode). */
static bool shrink(struct window *w, const struct reach *r, int i, int64_t in)
{
	int64_t out = window_extent(w, i, in), last = w->size[i] - 1;

	w->begin[i] -= r->first[i] * w->dilation[i];
	w->end[i] -= (last - r->last[i]) * w->dilation[i];
	w->size[i] = r->last[i] - r->first[i] + 1;
	w->dilation[i] = w->size[i] == 1 ? 1 : w->dilation[i];
	return window_extent(w, i, in) == out;
}

/* Elements first to last of the spatial axes, of a constant of rank n + 2. */
static struct tensor *cut_constant(struct module *m, struct tensor *t, int n, const struct reach *r)
{
	int64_t dims[RANK_MAX], at[RANK_MAX] = {0}, run;
	size_t size = dtype_size(t->dtype);
	const char *from = tensor_data(m, t);
	struct tensor *c;
	char *to;

	memcpy(dims, t->dims, sizeof *dims * (size_t)t->rank);
	for (int i = 0; i < n; i++)
		dims[2 + i] = r->last[i] - r->first[i] + 1;
	c = tensor_new(&m->arena, t->dtype, t->rank, dims);
	to = (char *)c->data;
	run = dims[t->rank - 1];
	for (int64_t left = tensor_count(c); left > 0; left -= run, to += (size_t)run * size) {
		int64_t place = 0;
		for (int k = 0; k < t->rank; k++)
			place = place * t->dims[k] + at[k] + (k < 2 ? 0 : r->first[k - 2]);
		memcpy(to, from + (size_t)place * size, (size_t)run * size);
		for (int k = t->rank - 2; k >= 0 && ++at[k] == dims[k]; k--)
			at[k] = 0;
	}
	return c;
}

static bool is_plain(struct rewrite *rw, val_id v)
{
	struct tensor *t = rw_const(rw, v);

	return t && dtype_size(t->dtype) && t->dtype != DT_STR;
}

/* The weights v without the taps that are cut: a smaller constant, one that is unpacked, or a Slice. */
static val_id cut_weights(struct rewrite *rw, node_id n, val_id v, int spatial, const struct reach *r)
{
	struct module *m = rw_module(rw);
	node_id unpack = rw_def(rw, v, OP_DequantizeLinear);
	int64_t start[SPATIAL_MAX], end[SPATIAL_MAX], axes[SPATIAL_MAX];

	if (is_plain(rw, v))
		return rw_constant_tensor(rw, cut_constant(m, rw_const(rw, v), spatial, r));
	if (unpack && is_plain(rw, rw_in(rw, unpack, 0)) && rw_type(rw, rw_in(rw, unpack, 1))->rank < 2) {
		val_id in[3] = {cut_weights(rw, n, rw_in(rw, unpack, 0), spatial, r), rw_in(rw, unpack, 1), rw_in(rw, unpack, 2)};
		val_id y = rw_node(rw, n, OP_DequantizeLinear, in[2] ? 3 : 2, in);
		rw_copy_attrs(rw, rw_node_of(rw, y), unpack);
		return y;
	}
	for (int i = 0; i < spatial; i++) {
		start[i] = r->first[i];
		end[i] = r->last[i] + 1;
		axes[i] = 2 + i;
	}
	return rw_node(rw, n, OP_Slice, 4,
		       (val_id[]){v, rw_constant_ints(rw, spatial, start), rw_constant_ints(rw, spatial, end),
				  rw_constant_ints(rw, spatial, axes)});
}

static void set_window(struct module *m, node_id n, const struct window *w)
{
	int64_t pads[2 * SPATIAL_MAX];

	for (int i = 0; i < w->n; i++) {
		pads[i] = w->begin[i];
		pads[w->n + i] = w->end[i];
	}
	attr_set_ints(m, n, "kernel_shape", w->n, w->size);
	attr_set_ints(m, n, "dilations", w->n, w->dilation);
	attr_set_ints(m, n, "pads", 2 * w->n, pads);
	attr_set_str(m, n, "auto_pad", "NOTSET");
}

/* An average counts taps in the padding where it is told to. */
static bool counts_padding(const struct node *n) { return n->op == OP_AveragePool && attr_i(n, "count_include_pad"); }

static const char *cut_taps(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	const struct node x = *node(m, n);
	uint32_t iw = window_weights(x.op);
	const struct type *t = rw_type(rw, rw_in(rw, n, 0));
	int64_t in[RANK_MAX], kernel[RANK_MAX] = {0};
	struct window w;
	struct reach r;
	bool cut = false;

	if (!type_dims(m, t, in) || t->rank < 3 || (iw && !type_dims(m, rw_type(rw, rw_in(rw, n, iw)), kernel)) || counts_padding(&x) ||
	    window_read(m, &x, t->rank - 2, iw ? kernel + 2 : NULL, &w))
		return NO_MATCH;
	for (int i = 0; i < w.n; i++) {
		int64_t out = window_extent(&w, i, in[2 + i]);
		if (out < 1 || in[2 + i] < 1)
			return NO_MATCH;
		cut |= find_reach(&w, i, in[2 + i], out, &r);
	}
	if (!cut)
		return NO_MATCH;
	w.auto_pad = 'E';
	for (int i = 0; i < w.n; i++)
		if (!shrink(&w, &r, i, in[2 + i]))
			return "with a window of fewer taps it would have fewer results";
	val_id operands[9];
	for (uint32_t i = 0; i < x.nin; i++)
		operands[i] = iw && i == iw ? cut_weights(rw, n, rw_in(rw, n, i), w.n, &r) : rw_in(rw, n, i);
	val_id y = rw_nodes_out(rw, n, x.op, (int)x.nin, operands, (int)x.nout);
	node_id new_ = rw_node_of(rw, y);
	rw_copy_attrs(rw, new_, n);
	set_window(m, new_, &w);
	for (uint32_t k = 0; k < x.nout; k++)
		if (x.out[k])
			rw_replace(rw, x.out[k], node(m, new_)->out[k]);
	return NULL;
}

#define CUT "taps that read only padding are cut"
const struct rule rules_window[] = {
	{"padding-taps", OP_AveragePool, cut_taps, CUT, MEASURE_TAPS},
	{"padding-taps", OP_Conv, cut_taps, CUT, MEASURE_TAPS},
	{"padding-taps", OP_ConvInteger, cut_taps, CUT, MEASURE_TAPS},
	{"padding-taps", OP_LpPool, cut_taps, CUT, MEASURE_TAPS},
	{"padding-taps", OP_MaxPool, cut_taps, CUT, MEASURE_TAPS},
	{"padding-taps", OP_QLinearConv, cut_taps, CUT, MEASURE_TAPS},
	{0},
};
