/* Opsets 1 to 6 to opset 7: a row for each change. */
#include <string.h>
#include "graph/pass.h"
#include "onnx/convert.h"
#include "op/op.h"

noreturn static void refuse(struct importer *c, node_id n, const char *what)
{
	import_unsupported(c, "%s of opset %lld %s", op_name(node(c->m, n)->op), (long long)c->opset, what);
}

static int rank_in(struct importer *c, node_id n, uint32_t i) { return val(c->m, node(c->m, n)->in[i])->type.rank; }

static bool one_number(struct importer *c, node_id n, uint32_t i)
{
	struct tensor *t = node_const(c->m, node(c->m, n), i);
	return t && tensor_count(t) == 1;
}

/* v, whose first dimension is dimension axis of operand 0, as operand 1: ones go behind. */
static void align(struct importer *c, node_id n, val_id v, int64_t axis)
{
	int64_t ones[RANK_MAX];
	int count = 0, rank = rank_in(c, n, 0), own = val(c->m, v)->type.rank;
	const char *where = node_where(c->m, n, &c->m->arena);

	if (rank < 0 || own < 0)
		die(EX_NOTAVAIL, "%s: %s: broadcasts as opsets before %d do, and the rank of an operand is not known", c->path, where,
		    OPSET_NUMPY);
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis > rank - own)
		die(EX_BADDATA, "%s: %s: an operand of rank %d at axis %lld of rank %d", c->path, where, own, (long long)axis, rank);
	for (int i = (int)axis + own; i < rank; i++, count++)
		ones[count] = own + count;
	if (count) {
		val_id axes = convert_ints(c, n, "axes", 1, count, ones);
		v = convert_before(c, n, OP_Unsqueeze, 2, (val_id[]){v, axes}, "aligned");
	}
	node(c->m, n)->in[1] = v;
}

/* Until types are inferred the node has operand 0 twice, which has the right shape. */
static void align_late(struct importer *c, node_id n, int64_t k)
{
	const struct type *t = &val(c->m, node(c->m, n)->in[0])->type;

	if (t->rank <= 1 && (t->dtype == DT_NONE || dtype_is_int(t->dtype))) /* shapes may have been computed from it */
		die(EX_NOTAVAIL, "%s: %s: broadcasts one dimension of integers as opsets before %d do", c->path,
		    node_where(c->m, n, &c->m->arena), OPSET_NUMPY);
	align(c, n, c->aligned.a[k].v, c->aligned.a[k].axis);
}

static void align_when_known(struct importer *c, node_id n, int64_t axis)
{
	val_id v = node(c->m, n)->in[1];

	if (one_number(c, n, 1) && val(c->m, v)->type.rank <= 1)
		return;
	if (rank_in(c, n, 0) >= 0 && rank_in(c, n, 1) >= 0) {
		align(c, n, v, axis);
		return;
	}
	vec_push(&c->aligned, (struct aligned){v, axis});
	node(c->m, n)->in[1] = node(c->m, n)->in[0];
	convert_late(c, n, align_late, (int64_t)c->aligned.n - 1);
}

/* Without an axis the last dimensions stand below each other, as today. */
static void broadcast(struct importer *c, node_id n)
{
	const struct attr *axis = attr_find(node(c->m, n), "axis");
	int64_t at = attr_int(node(c->m, n), "axis", 0);
	if (axis && axis->kind != ATTR_INT)
		import_die(c, "attribute 'axis' is no integer");
	bool on = attr_int(node(c->m, n), "broadcast", 0) && axis;

	attr_drop(c->m, n, "broadcast");
	attr_drop(c->m, n, "axis");
	if (on && convert_has(c, n, 0) && convert_has(c, n, 1))
		align_when_known(c, n, at);
}

static void no_broadcast(struct importer *c, node_id n) { attr_drop(c->m, n, "broadcast"); }

/* A slope for each channel. */
static void prelu_slope(struct importer *c, node_id n)
{
	if (!convert_has(c, n, 0) || !convert_has(c, n, 1) || one_number(c, n, 1) || rank_in(c, n, 1) > 1)
		return;
	const struct type *t = &val(c->m, node(c->m, n)->in[1])->type;
	int64_t size;
	if (t->rank == 0 || (t->rank == 1 && poly_is_const(c->m->dims, t->dims[0], &size) && size == 1))
		return;
	if (t->rank < 0)
		refuse(c, n, "with a slope whose rank is not known is not supported");
	align_when_known(c, n, 1);
}

static void inference_only(struct importer *c, node_id n)
{
	if (!attr_int(node(c->m, n), "is_test", 0))
		refuse(c, n, "in training mode (is_test=0) is not supported; export the model for inference");
	attr_drop(c->m, n, "is_test");
}

static void cast_name(struct importer *c, node_id n)
{
	static const char *const names[] = {"UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
					    "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
	const struct attr *a = attr_find(node(c->m, n), "to");

	for (size_t i = 1; a && a->kind == ATTR_STR && i < sizeof names / sizeof *names; i++)
		if (!strcmp(a->u.s, names[i])) {
			attr_set_int(c->m, n, "to", (int64_t)i);
			return;
		}
	if (!a || a->kind == ATTR_STR)
		import_die(c, "a Cast to no type that ONNX has");
}

static void concat_axis(struct importer *c, node_id n) { attr_set_int(c->m, n, "axis", attr_int(node(c->m, n), "axis", 1)); }

static void rename_attr(struct importer *c, node_id n, const char *from, const char *to)
{
	const struct attr *a = attr_find(node(c->m, n), from);
	struct attr x;

	if (!a)
		return;
	x = *a;
	attr_drop(c->m, n, from);
	x.name = intern(to);
	attr_set(c->m, n, x);
}

static void pad_paddings(struct importer *c, node_id n) { rename_attr(c, n, "paddings", "pads"); }

static void reshape_shape(struct importer *c, node_id n) { convert_to_operand(c, n, "shape", 1); }

/* The sizes may have been an operand, of the type of the data. */
static void split_sizes(struct importer *c, node_id n)
{
	if (!attr_find(node(c->m, n), "axis"))
		refuse(c, n, "without an axis is not supported: runtimes differ in what it means");
	if (!convert_has(c, n, 1))
		return;
	struct tensor *t = node_const(c->m, node(c->m, n), 1);
	if (t && dtype_is_float(t->dtype)) {
		int64_t count = tensor_count(t), *sizes = ARENA_ARRAY(&c->m->arena, int64_t, count + 1);
		tensor_data(c->m, t);
		for (int64_t i = 0; i < count; i++) {
			double x = tensor_get(t, i);
			if (!(x >= 0 && x <= 1e15))
				import_die(c, "a Split into parts of %g", x);
			sizes[i] = (int64_t)x;
		}
		node(c->m, n)->in[1] = convert_ints(c, n, "split", 1, count, sizes);
		return;
	}
	val_id v = convert_before(c, n, OP_Cast, 1, &node(c->m, n)->in[1], "split");
	attr_set_int(c->m, val(c->m, v)->def, "to", dtype_to_onnx(DT_I64));
	node(c->m, n)->in[1] = v;
}

/* So many times operand 0 side by side. */
static void tile_is_concat(struct importer *c, node_id n)
{
	enum { MOST = 1024 };
	int64_t times[2];
	for (uint32_t i = 0; i < 2; i++) {
		struct tensor *t = convert_has(c, n, i + 1) && one_number(c, n, i + 1) ? node_const(c->m, node(c->m, n), i + 1) : NULL;
		if (!t || !(dtype_is_int(t->dtype) || dtype_is_float(t->dtype)))
			refuse(c, n, "is supported with tiles and axis that are constants");
		tensor_data(c->m, t);
		double x = tensor_get(t, 0);
		if (!(x >= -RANK_MAX && x <= MOST))
			refuse(c, n, "is supported up to 1024 times");
		times[i] = (int64_t)x;
	}
	if (times[0] < 1)
		refuse(c, n, "is supported from once on");
	val_id x = node(c->m, n)->in[0], *in = ARENA_ARRAY(&c->m->arena, val_id, (size_t)times[0]);
	for (int64_t i = 0; i < times[0]; i++)
		in[i] = x;
	struct node *p = node(c->m, n);
	p->op = OP_Concat;
	p->in = in;
	p->nin = (uint32_t)times[0];
	attr_set_int(c->m, n, "axis", times[1]);
}

static void whole_p(struct importer *c, node_id n)
{
	const struct attr *a = attr_find(node(c->m, n), "p");
	float p = a && a->kind == ATTR_FLOAT ? a->u.f : 2;

	if (!(p >= 1 && p <= 1 << 20 && p == (float)(int64_t)p))
		refuse(c, n, "with a p that is no whole number is not supported");
	if (a && a->kind == ATTR_FLOAT)
		attr_set_int(c->m, n, "p", (int64_t)p);
}

/* The defaults had fewer digits. */
static void selu_defaults(struct importer *c, node_id n)
{
	attr_set_float(c->m, n, "alpha", attr_float(node(c->m, n), "alpha", 1.6732f));
	attr_set_float(c->m, n, "gamma", attr_float(node(c->m, n), "gamma", 1.0507f));
}

static void rnn_outputs(struct importer *c, node_id n)
{
	attr_drop(c->m, n, "output_sequence");
	if (!strcmp(attr_str(node(c->m, n), "direction", ""), "foward")) /* as the first version had it */
		attr_set_str(c->m, n, "direction", "forward");
}

static void upsample_sizes(struct importer *c, node_id n)
{
	const struct attr *h = attr_find(node(c->m, n), "height_scale"), *w = attr_find(node(c->m, n), "width_scale");

	if (!h || h->kind != ATTR_FLOAT || !w || w->kind != ATTR_FLOAT)
		import_die(c, "an Upsample without scales");
	float *v = ARENA_ARRAY(&c->m->arena, float, 4);
	v[0] = v[1] = 1;
	v[2] = h->u.f;
	v[3] = w->u.f;
	struct attr scales = {.name = intern("scales"), .kind = ATTR_FLOATS, .n = 4};
	scales.u.floats = v;
	attr_drop(c->m, n, "height_scale");
	attr_drop(c->m, n, "width_scale");
	attr_set(c->m, n, scales);
	if (!strcmp(attr_str(node(c->m, n), "mode", ""), "bilinear"))
		attr_set_str(c->m, n, "mode", "linear");
}

static void experimental(struct importer *c, node_id n)
{
	refuse(c, n, "was an experiment that meant something else, and is not supported");
}

/* For nodes older than `since`. */
static const struct {
	enum opcode op;
	int since;
	void (*f)(struct importer *c, node_id n);
} conversions[] = {
	{OP_Add, 7, broadcast},
	{OP_And, 7, broadcast},
	{OP_BatchNormalization, 7, inference_only},
	{OP_Cast, 6, cast_name},
	{OP_Concat, 4, concat_axis},
	{OP_Div, 7, broadcast},
	{OP_Dropout, 7, inference_only},
	{OP_Equal, 7, broadcast},
	{OP_GRU, 7, rnn_outputs},
	{OP_Gemm, 7, no_broadcast},
	{OP_GlobalLpPool, 2, whole_p},
	{OP_Greater, 7, broadcast},
	{OP_LSTM, 7, rnn_outputs},
	{OP_Less, 7, broadcast},
	{OP_LpPool, 2, whole_p},
	{OP_MeanVarianceNormalization, 7, experimental},
	{OP_Mul, 7, broadcast},
	{OP_Or, 7, broadcast},
	{OP_PRelu, 7, prelu_slope},
	{OP_Pad, 2, pad_paddings},
	{OP_Pow, 7, broadcast},
	{OP_RNN, 7, rnn_outputs},
	{OP_Reshape, 5, reshape_shape},
	{OP_Selu, 6, selu_defaults},
	{OP_Split, 2, split_sizes},
	{OP_Sub, 7, broadcast},
	{OP_Tile, 6, tile_is_concat},
	{OP_Upsample, 7, upsample_sizes},
	{OP_Xor, 7, broadcast},
};

void convert_oldest(struct importer *c, node_id n)
{
	attr_drop(c->m, n, "consumed_inputs"); /* which buffers an operator could overwrite */
	for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
		if (conversions[i].op == node(c->m, n)->op && c->opset < conversions[i].since)
			conversions[i].f(c, n);
}
