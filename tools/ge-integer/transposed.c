/* A ConvTranspose whose windows do not overlap, of dequantised operands: each pixel becomes a square of pixels, which is a Conv of one tap
 * to as many channels and a DepthToSpace. The Conv becomes one of integers, and the QuantizeLinear rises over the DepthToSpace. */
#include <string.h>
#include "integer.h"

static bool all_are(const struct node *n, const char *attr, int64_t want)
{
	int count;
	const int64_t *x = attr_ints(n, attr, &count);

	for (int i = 0; x && i < count; i++)
		if (x[i] != want)
			return false;
	return true;
}

/* The side of the squares; 0: windows overlap, or more is computed than they. */
static int64_t side_of(const struct node *n, const struct tensor *w)
{
	int64_t b = w->rank == 4 ? w->dims[2] : 0;
	int count;
	bool squares = b > 1 && w->dims[3] == b && attr_ints(n, "strides", &count) && all_are(n, "strides", b);
	bool plain = all_are(n, "pads", 0) && all_are(n, "output_padding", 0) && all_are(n, "dilations", 1) && attr_i(n, "group") == 1;

	return squares && plain && !attr_ints(n, "output_shape", &count) && strcmp(attr_s(n, "auto_pad"), "SAME_UPPER") &&
			       strcmp(attr_s(n, "auto_pad"), "SAME_LOWER")
		       ? b
		       : 0;
}

/* The weights, channels by inputs: those of a place in the square behind those of the place before. */
static val_id weights_of(struct rewrite *rw, const struct tensor *w, int64_t b)
{
	int64_t in = w->dims[0], out = w->dims[1];
	struct tensor *t = tensor_new(&rw_module(rw)->arena, w->dtype, 4, (int64_t[]){b * b * out, in, 1, 1});

	for (int64_t place = 0; place < b * b; place++)
		for (int64_t o = 0; o < out; o++)
			for (int64_t i = 0; i < in; i++)
				((char *)t->data)[(place * out + o) * in + i] = ((const char *)w->data)[(i * out + o) * b * b + place];
	return rw_constant_tensor(rw, t);
}

/* A constant with a number for each channel: for those of all places. 0: it is no constant. */
static val_id repeated(struct rewrite *rw, val_id v, int64_t places)
{
	int64_t n;
	double *x = rw_doubles(rw, v, &n), *to = x ? ARENA_ARRAY(&rw_module(rw)->arena, double, n *places) : NULL;

	if (!x)
		return 0;
	for (int64_t i = 0; i < n * places; i++)
		to[i] = x[i % n];
	return rw_constant(rw, rw_type(rw, v)->dtype, 1, (int64_t[]){n * places}, to);
}

/* The weights of the Conv, dequantised as those of node d are. */
static val_id dequantised_again(struct rewrite *rw, node_id n, node_id d, val_id w, int64_t places)
{
	val_id scale = rw_in(rw, d, 1), zero = rw_in(rw, d, 2);
	bool one = tensor_count(rw_const(rw, scale)) == 1; /* for all channels */
	val_id in[3] = {w, one ? scale : repeated(rw, scale, places), one || !zero ? zero : repeated(rw, zero, places)};
	val_id y = rw_node(rw, n, OP_DequantizeLinear, zero ? 3 : 2, in);

	attr_set_int(rw_module(rw), rw_node_of(rw, y), "axis", 0);
	return y;
}

static const char *transposed(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	val_id x = rw_in(rw, n, 0), dw = rw_in(rw, n, 1), bias = rw_in(rw, n, 2), q;
	struct grid g;
	const char *why;

	if (!rw_def(rw, x, OP_DequantizeLinear) || !rw_def(rw, dw, OP_DequantizeLinear))
		return NO_MATCH;
	if ((why = dequantised(rw, dw, &g, &q)))
		return reason(rw, "operand 1", why);
	struct tensor *w = rw_const(rw, q);
	if (!w || dtype_size(w->dtype) != 1)
		return "its weights are no constant bytes";
	if (g.n != 1 && g.axis != 1)
		return "the scales of operand 1 are along another axis than its channels";
	int64_t b = side_of(node(m, n), w);
	if (!b)
		return "its windows overlap, or it computes more than they";
	tensor_data(m, w);
	if (bias && !(bias = repeated(rw, bias, b * b)))
		return "its bias is not constant";
	val_id in[3] = {x, dequantised_again(rw, n, rw_node_of(rw, dw), weights_of(rw, w, b), b * b), bias};
	val_id y = rw_node(rw, n, OP_Conv, bias ? 3 : 2, in);
	attr_set_ints(m, rw_node_of(rw, y), "kernel_shape", 2, (int64_t[]){1, 1});
	y = rw_node(rw, n, OP_DepthToSpace, 1, &y);
	attr_set_int(m, rw_node_of(rw, y), "blocksize", b);
	rw_replace(rw, node(m, n)->out[0], y);
	return NULL;
}

static const char *rise(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id d = rw_def1(rw, rw_in(rw, n, 0), OP_DepthToSpace);
	val_id zero = rw_in(rw, n, 2);
	struct grid g;

	if (!d || grid_read(rw, n, &g) || g.n != 1)
		return NO_MATCH;
	val_id y = rw_node(rw, n, OP_QuantizeLinear, zero ? 3 : 2, (val_id[]){rw_in(rw, d, 0), rw_in(rw, n, 1), zero});
	rw_copy_attrs(rw, rw_node_of(rw, y), n);
	y = rw_node(rw, n, OP_DepthToSpace, 1, &y);
	rw_copy_attrs(rw, rw_node_of(rw, y), d);
	rw_replace(rw, node(m, n)->out[0], y);
	return NULL;
}

const struct rule rules_transposed[] = {
	{"transposed", OP_ConvTranspose, transposed, "a Conv and a DepthToSpace do it", MEASURE_WORK},
	{"rise", OP_QuantizeLinear, rise, "what the DepthToSpace moves is quantised before it", MEASURE_WORK},
	{0},
};
