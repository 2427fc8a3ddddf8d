/* Older versions of operators to the canonical opset: a row for each change of meaning or form. */
#include <string.h>
#include "graph/check.h"
#include "onnx/convert.h"
#include "op/op.h"

static enum opcode op_of(struct importer *c, node_id n) { return node(c->m, n)->op; }

static val_id first_out(struct importer *c, node_id id)
{
	const struct node *n = node(c->m, id);
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i])
			return n->out[i];
	return 0;
}

/* Constants made here are called after the node's result: "y/axes". */
static sym made_name(struct importer *c, node_id n, const char *what)
{
	val_id v = first_out(c, n);
	return intern_printf("%s/%s", v ? sym_str(val(c->m, v)->name) : "", what);
}

val_id convert_ints(struct importer *c, node_id n, const char *what, int rank, int64_t count, const int64_t *v)
{
	return const_copy(c->m, made_name(c, n, what), DT_I64, rank, &count, v, (size_t)count * sizeof *v);
}

/* Operand i; those between are absent. */
void convert_set(struct importer *c, node_id id, uint32_t i, val_id v)
{
	struct node *n = node(c->m, id);
	if (i >= n->nin) {
		val_id *in = ARENA_ARRAY(&c->m->arena, val_id, i + 1);
		memcpy(in, n->in, n->nin * sizeof *in);
		n->in = in;
		n->nin = i + 1;
	}
	n->in[i] = v;
}

bool convert_has(struct importer *c, node_id id, uint32_t i)
{
	const struct node *n = node(c->m, id);
	return i < n->nin && n->in[i];
}

/* An attribute of integers that became operand i. */
void convert_to_operand(struct importer *c, node_id id, const char *name, uint32_t i)
{
	int count;
	if (!attr_find(node(c->m, id), name))
		return;
	const int64_t *v = attr_ints(node(c->m, id), name, &count);
	if (attr_find(node(c->m, id), name)->kind != ATTR_INTS)
		import_die(c, "attribute '%s' is no list of integers", name);
	if (convert_has(c, id, i))
		import_die(c, "'%s' is both an operand and an attribute", name);
	convert_set(c, id, i, convert_ints(c, id, name, 1, count, v));
	attr_drop(c->m, id, name);
}

/* A new node op(in...) before the one at hand. Its result. */
val_id convert_before(struct importer *c, node_id at, enum opcode op, int nin, const val_id *in, const char *what)
{
	node_id n = node_new(c->m, node(c->m, at)->graph, op, nin, in, 1);
	val_id v = node(c->m, n)->out[0];
	val(c->m, v)->name = made_name(c, at, what);
	return v;
}

/* A new node op(result k of n, extra) after n, which takes over the result k: its users see the new
 * node. */
static node_id after(struct importer *c, node_id id, uint32_t k, enum opcode op, int nextra, const val_id *extra)
{
	struct module *m = c->m;
	val_id in[4] = {0};
	node_id p = node_new_loose(m, node(m, id)->graph, op, 1 + nextra, in, 1);
	struct node *n = node(m, id), *q = node(m, p);
	val_id result = n->out[k], inner = q->out[0];
	q->out[0] = result;
	n->out[k] = inner;
	val(m, result)->def = p;
	val(m, result)->index = 0;
	val(m, inner)->def = id;
	val(m, inner)->index = k;
	val(m, inner)->name = made_name(c, p, "inner");
	q->in[0] = inner;
	for (int i = 0; i < nextra; i++)
		q->in[1 + i] = extra[i];
	vec_push(&c->after, p);
	return p;
}

/* Halves were divided in f32 before `precision` came. Types that are not known yet may be halves. */
static void quantize_precision(struct importer *c, node_id n)
{
	enum dtype t = convert_has(c, n, 1) ? val(c->m, node(c->m, n)->in[1])->type.dtype : DT_F32;

	if (c->opset >= 19 && (t == DT_NONE || t == DT_F16 || t == DT_BF16))
		attr_set_int(c->m, n, "precision", dtype_to_onnx(DT_F32));
}

static void axes_operand(struct importer *c, node_id n) { convert_to_operand(c, n, "axes", 1); }
static void split_operand(struct importer *c, node_id n) { convert_to_operand(c, n, "split", 1); }

static void split_count(struct importer *c, node_id n)
{
	if (!convert_has(c, n, 1))
		attr_set_int(c->m, n, "num_outputs", node(c->m, n)->nout);
}

static void slice_operands(struct importer *c, node_id n)
{
	int starts, ends;
	attr_ints(node(c->m, n), "starts", &starts);
	attr_ints(node(c->m, n), "ends", &ends);
	if (starts != ends || !attr_find(node(c->m, n), "starts") || !attr_find(node(c->m, n), "ends"))
		import_die(c, "a Slice needs starts and ends, as many of one as of the other");
	convert_to_operand(c, n, "starts", 1);
	convert_to_operand(c, n, "ends", 2);
	convert_to_operand(c, n, "axes", 3);
}

static void topk_operand(struct importer *c, node_id n)
{
	int64_t k = attr_int(node(c->m, n), "k", -1);
	if (k < 0)
		import_die(c, "a TopK without k");
	convert_set(c, n, 1, convert_ints(c, n, "k", 1, 1, &k));
	attr_drop(c->m, n, "k");
}

/* A scalar of the type of v: a constant where the type is known, else cast. */
static val_id scalar_like(struct importer *c, node_id n, val_id v, float x, const char *what)
{
	enum dtype t = v ? val(c->m, v)->type.dtype : DT_NONE;
	struct tensor *s = tensor_new(&c->m->arena, t == DT_NONE ? DT_F32 : t, 0, NULL);
	tensor_set(s, 0, x);
	val_id k = const_tensor(c->m, made_name(c, n, what), s);
	return t == DT_NONE ? convert_before(c, n, OP_CastLike, 2, (val_id[]){k, v}, arena_printf(&c->m->arena, "%s_cast", what)) : k;
}

void convert_late(struct importer *c, node_id n, void (*f)(struct importer *c, node_id n, int64_t axis), int64_t axis)
{
	vec_push(&c->late, (struct late){n, f, axis});
}

static void pad_value(struct importer *c, node_id n, int64_t axis)
{
	float value = attr_float(node(c->m, n), "value", 0);
	if (value != 0)
		convert_set(c, n, 2, scalar_like(c, n, node(c->m, n)->in[0], value, "value"));
	attr_drop(c->m, n, "value");
}

static void pad_operands(struct importer *c, node_id n)
{
	convert_to_operand(c, n, "pads", 1);
	if (attr_find(node(c->m, n), "value"))
		convert_late(c, n, pad_value, 0);
}

static void clip_bounds(struct importer *c, node_id n, int64_t axis)
{
	static const char *const names[] = {"min", "max"};
	for (uint32_t i = 0; i < 2; i++) {
		const struct attr *a = attr_find(node(c->m, n), names[i]);
		float bound = a && a->kind == ATTR_FLOAT ? a->u.f : 0;
		if (!a)
			continue;
		convert_set(c, n, i + 1, scalar_like(c, n, node(c->m, n)->in[0], bound, names[i]));
		attr_drop(c->m, n, names[i]);
	}
}

static void clip_operands(struct importer *c, node_id n) { convert_late(c, n, clip_bounds, 0); }

/* The mask had the type of the data. */
static void dropout_mask(struct importer *c, node_id n)
{
	const struct node *x = node(c->m, n);
	if (x->nout > 1 && x->out[1])
		after(c, n, 1, OP_CastLike, 1, (val_id[]){x->in[0]});
}

static void dropout_ratio(struct importer *c, node_id n)
{
	float ratio = attr_float(node(c->m, n), "ratio", 0.5f);
	if (ratio >= 0 && ratio < 1) /* of others it was not said what they mean, and nobody trains with it */
		convert_set(c, n, 1, const_copy(c->m, made_name(c, n, "ratio"), DT_F32, 0, NULL, &ratio, sizeof ratio));
	attr_drop(c->m, n, "ratio");
}

static void batchnorm_spatial(struct importer *c, node_id n)
{
	if (attr_int(node(c->m, n), "spatial", 1) != 1)
		import_unsupported(c, "BatchNormalization with spatial=0 is not supported");
	attr_drop(c->m, n, "spatial");
}

static void batchnorm_outputs(struct importer *c, node_id n)
{
	if (node(c->m, n)->nout > 1)
		import_unsupported(c,
				   "BatchNormalization in training mode (opset < 14) is not "
				   "supported; export the model for inference");
}

/* Before opset 13 everything from axis on was one row: Flatten, the operator, Reshape. The same as
 * over one axis when that is the last. */
static void softmax_rows(struct importer *c, node_id n, int64_t axis)
{
	struct module *m = c->m;
	val_id x = node(m, n)->in[0];
	int rank = val(m, x)->type.rank;
	if (axis == -1 || (rank >= 0 && axis == rank - 1)) {
		attr_set_int(m, n, "axis", -1);
		return;
	}
	if (rank >= 0 && (axis < -rank || axis > rank))
		import_die(c, "axis %lld of rank %d", (long long)axis, rank);
	if (!node(m, n)->out[0])
		return;
	val_id shape = convert_before(c, n, OP_Shape, 1, &x, "shape");
	val_id flat = convert_before(c, n, OP_Flatten, 1, &x, "flat");
	attr_set_int(m, val(m, flat)->def, "axis", axis);
	node(m, n)->in[0] = flat;
	attr_set_int(m, n, "axis", -1);
	after(c, n, 0, OP_Reshape, 1, &shape);
}

static void softmax_axis(struct importer *c, node_id n)
{
	convert_late(c, n, softmax_rows, attr_int(node(c->m, n), "axis", 1));
	attr_set_int(c->m, n, "axis", -1); /* good for any rank while shapes are inferred */
}

static void upsample_scales(struct importer *c, node_id n)
{
	int count;
	const float *v = attr_floats(node(c->m, n), "scales", &count);
	if (!v)
		import_die(c, "an Upsample without scales");
	int64_t dims = count;
	convert_set(c, n, 1, const_copy(c->m, made_name(c, n, "scales"), DT_F32, 1, &dims, v, (size_t)count * sizeof *v));
	attr_drop(c->m, n, "scales");
}

static void upsample_is_resize(struct importer *c, node_id n) { node(c->m, n)->op = OP_Resize; }

/* Opset 10 had one way to take coordinates. Nearest took the lower neighbour, in shrinking the
 * upper. */
static void resize_10(struct importer *c, node_id n)
{
	struct module *m = c->m;
	val_id scales = convert_has(c, n, 1) ? node(m, n)->in[1] : 0;
	struct tensor *t = node_const(m, node(m, n), 1);
	bool shrinks = t && t->dtype == DT_F32 && tensor_count(t) > 0, grows = false;
	for (int64_t i = 0; t && t->dtype == DT_F32 && i < tensor_count(t); i++)
		grows |= ((const float *)tensor_data(m, t))[i] > 1;
	node(m, n)->nin = 1;
	convert_set(c, n, 2, scales);
	attr_set_str(m, n, "coordinate_transformation_mode", "asymmetric");
	if (!strcmp(attr_str(node(m, n), "mode", "nearest"), "nearest"))
		attr_set_str(m, n, "nearest_mode", shrinks && !grows ? "ceil" : "floor");
}

/* The mode that opset 13 dropped is half_pixel with another rounding. */
static void resize_tf_half_pixel(struct importer *c, node_id n)
{
	const char *nearest = attr_str(node(c->m, n), "nearest_mode", "round_prefer_floor");
	if (strcmp(attr_str(node(c->m, n), "coordinate_transformation_mode", ""), "tf_half_pixel_for_nn"))
		return;
	if (strcmp(attr_str(node(c->m, n), "mode", "nearest"), "nearest") || !strcmp(nearest, "ceil") ||
	    !strcmp(nearest, "round_prefer_ceil"))
		import_unsupported(c, "tf_half_pixel_for_nn with mode %s, %s is not supported", attr_str(node(c->m, n), "mode", "nearest"),
				   nearest);
	attr_set_str(c->m, n, "nearest_mode", !strcmp(nearest, "floor") ? "round_prefer_ceil" : "ceil");
	attr_set_str(c->m, n, "coordinate_transformation_mode", "half_pixel");
}

/* Empty constants for operands that are not given. */
static void resize_absent(struct importer *c, node_id n)
{
	for (uint32_t i = 1; i < node(c->m, n)->nin && i < 3; i++) {
		struct tensor *t = node_const(c->m, node(c->m, n), i);
		if (t && tensor_count(t) == 0)
			node(c->m, n)->in[i] = 0;
	}
	while (node(c->m, n)->nin > 1 && !node(c->m, n)->in[node(c->m, n)->nin - 1])
		node(c->m, n)->nin--;
}

static void roialign_mode(struct importer *c, node_id n) { attr_set_str(c->m, n, "coordinate_transformation_mode", "output_half_pixel"); }

static void gridsample_mode(struct importer *c, node_id n)
{
	const char *mode = attr_str(node(c->m, n), "mode", "bilinear");
	if (!strcmp(mode, "bilinear"))
		attr_set_str(c->m, n, "mode", "linear");
	else if (!strcmp(mode, "bicubic"))
		attr_set_str(c->m, n, "mode", "cubic");
}

static void dft_axis(struct importer *c, node_id n)
{
	int64_t axis = attr_int(node(c->m, n), "axis", 1);
	convert_set(c, n, 2, convert_ints(c, n, "axis", 0, 1, &axis));
	attr_drop(c->m, n, "axis");
}

/* Scale and bias were one number a group, they are one a channel: each C / groups times. */
static void groupnorm_channels(struct importer *c, node_id n)
{
	struct module *m = c->m;
	int64_t groups = attr_int(node(m, n), "num_groups", 0), two[] = {1, 2}, minus = -1;
	val_id x = node(m, n)->in[0];
	val_id shape = convert_before(c, n, OP_Shape, 1, &x, "channels");
	attr_set_int(m, val(m, shape)->def, "start", two[0]);
	attr_set_int(m, val(m, shape)->def, "end", two[1]);
	val_id g = convert_ints(c, n, "groups", 1, 1, &groups);
	val_id per = convert_before(c, n, OP_Div, 2, (val_id[]){shape, g}, "per_group");
	val_id grid = convert_before(c, n, OP_Concat, 2, (val_id[]){g, per}, "grid");
	attr_set_int(m, val(m, grid)->def, "axis", 0);
	val_id one = convert_ints(c, n, "one", 1, 1, two), flat = convert_ints(c, n, "flat", 1, 1, &minus);
	for (uint32_t i = 1; i < 3 && convert_has(c, n, i); i++) {
		const char *names[][3] = {{"scale_column", "scale_grid", "scale"}, {"bias_column", "bias_grid", "bias"}};
		val_id column = convert_before(c, n, OP_Unsqueeze, 2, (val_id[]){node(m, n)->in[i], one}, names[i - 1][0]);
		val_id full = convert_before(c, n, OP_Expand, 2, (val_id[]){column, grid}, names[i - 1][1]);
		node(m, n)->in[i] = convert_before(c, n, OP_Reshape, 2, (val_id[]){full, flat}, names[i - 1][2]);
	}
}

static void scatter_is_elements(struct importer *c, node_id n) { node(c->m, n)->op = OP_ScatterElements; }

/* Inputs and results had a batch axis in front: a Scan over it, of no states, whose body is the Scan of one sequence. Captured values
 * are operands behind the others, as everywhere. */
static void scan_batched(struct importer *c, node_id n)
{
	struct module *m = c->m;
	uint32_t nin = node(m, n)->nin, nout = node(m, n)->nout;
	int64_t captured = attr_int(node(m, n), "captures", 0);
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 1);

	if (convert_has(c, n, 0))
		import_unsupported(c, "Scan of opset 8 with lengths of sequences is not supported");
	if (captured + 1 > nin--)
		import_die(c, "a Scan without operands");
	graph_id g = graph_new(m, made_name(c, n, "batch"));
	for (uint32_t i = 0; i < nin; i++)
		in[i] = graph_add_input(m, g, intern_printf("in%u", i), type_none());
	node_id of_one = node_new(m, g, OP_Scan, (int)nin, in, (int)nout);
	for (uint32_t i = 0; i < node(m, n)->nattr; i++) {
		struct attr a = node(m, n)->attr[i];
		a.name = strcmp(sym_str(a.name), "directions") ? a.name : intern("scan_input_directions");
		attr_set(m, of_one, a);
	}
	for (uint32_t i = 0; i < nout; i++)
		graph_add_output(m, g, node(m, of_one)->out[i], intern_printf("out%u", i));
	node(m, n)->in++;
	node(m, n)->nin = nin;
	attr_drop(m, n, "directions");
	attr_set_graph(m, n, "body", g);
	attr_set_int(m, n, "num_scan_inputs", (int64_t)nin - captured);
}

enum { ALWAYS = CANONICAL_OPSET + 1 };

/* For nodes older than `since`, in the order of the rows. */
static const struct conversion {
	enum opcode op;
	int since;
	void (*f)(struct importer *c, node_id n);
} conversions[] = {
	{OP_BatchNormalization, 9, batchnorm_spatial},
	{OP_BatchNormalization, 14, batchnorm_outputs},
	{OP_Clip, 11, clip_operands},
	{OP_DFT, 20, dft_axis},
	{OP_Dropout, 10, dropout_mask},
	{OP_Dropout, 12, dropout_ratio},
	{OP_GridSample, 20, gridsample_mode},
	{OP_GroupNormalization, 21, groupnorm_channels},
	{OP_Hardmax, 13, softmax_axis},
	{OP_LogSoftmax, 13, softmax_axis},
	{OP_Pad, 11, pad_operands},
	{OP_ReduceL1, 18, axes_operand},
	{OP_QuantizeLinear, 23, quantize_precision},
	{OP_ReduceL2, 18, axes_operand},
	{OP_ReduceLogSum, 18, axes_operand},
	{OP_ReduceLogSumExp, 18, axes_operand},
	{OP_ReduceMax, 18, axes_operand},
	{OP_ReduceMean, 18, axes_operand},
	{OP_ReduceMin, 18, axes_operand},
	{OP_ReduceProd, 18, axes_operand},
	{OP_ReduceSum, 13, axes_operand},
	{OP_ReduceSumSquare, 18, axes_operand},
	{OP_Upsample, 9, upsample_scales},
	{OP_Upsample, 11, upsample_is_resize},
	{OP_Resize, 11, resize_10},
	{OP_Resize, 13, resize_tf_half_pixel},
	{OP_Resize, ALWAYS, resize_absent},
	{OP_RoiAlign, 16, roialign_mode},
	{OP_Scan, 9, scan_batched},
	{OP_Scatter, 11, scatter_is_elements},
	{OP_Slice, 10, slice_operands},
	{OP_Softmax, 13, softmax_axis},
	{OP_Split, 13, split_operand},
	{OP_Split, 18, split_count},
	{OP_Squeeze, 13, axes_operand},
	{OP_TopK, 10, topk_operand},
	{OP_Unsqueeze, 13, axes_operand},
};

void convert_node(struct importer *c, node_id n)
{
	if (c->opset < OPSET_NUMPY)
		convert_oldest(c, n);
	for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
		if (conversions[i].op == op_of(c, n) && c->opset < conversions[i].since)
			conversions[i].f(c, n);
	struct graph *g = graph(c->m, node(c->m, n)->graph);
	vec_push(&g->nodes, n);
	for (size_t i = 0; i < c->after.n; i++)
		vec_push(&g->nodes, c->after.a[i]);
	c->after.n = 0;
}

void convert_finish(struct importer *c)
{
	if (!c->late.n)
		return;
	module_check_or_die(c->m); /* inference relies on it */
	infer_module(c->m, NULL);
	c->at_graph = NULL;
	for (size_t i = 0; i < c->late.n; i++) {
		const struct late *l = &c->late.a[i];
		l->f(c, l->node, l->axis);
		struct graph *g = graph(c->m, node(c->m, l->node)->graph);
		for (size_t k = 0; k < c->after.n; k++)
			vec_push(&g->nodes, c->after.a[k]);
		c->after.n = 0;
	}
	for (graph_id g = 1; g < c->m->graphs.n; g++)
		graph_sort(c->m, g);
}
