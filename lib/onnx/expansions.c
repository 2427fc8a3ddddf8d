/* Operators in the words of older opsets: a row for each that has some. */
#include <math.h>
#include <string.h>
#include "common/outfile.h"
#include "onnx/opsets.h"
#include "op/op.h"

struct expander {
	struct module *m;
	int opset;
	bool spread;         /* operators that few runtimes have go, too */
	node_id at;          /* the node that is being expanded */
	VEC(node_id) made;   /* before it */
	VEC(enum opcode) by; /* of each node: what it was made for; nodes behind these were here before */
};

static struct node *at(struct expander *x) { return node(x->m, x->at); }

static val_id operand(struct expander *x, uint32_t i) { return i < at(x)->nin ? at(x)->in[i] : 0; }

/* New nodes are inferred when they are asked for: their attributes come after them. */
static const struct type *type_of(struct expander *x, val_id v)
{
	if (val(x->m, v)->type.dtype == DT_NONE)
		for (size_t i = 0; i < x->made.n; i++)
			infer_node(x->m, x->made.a[i], NULL);
	return &val(x->m, v)->type;
}

static bool wants(struct expander *x, uint32_t i) { return i < at(x)->nout && at(x)->out[i]; }

static struct tensor *constant(struct expander *x, uint32_t i) { return operand(x, i) ? node_const(x->m, at(x), i) : NULL; }

/* ---- new nodes and constants ---- */

static val_id make(struct expander *x, enum opcode op, int nin, const val_id *in)
{
	node_id n = node_new_loose(x->m, at(x)->graph, op, nin, in, 1);
	vec_push(&x->made, n);
	return node(x->m, n)->out[0];
}

static node_id made(struct expander *x, val_id v) { return val(x->m, v)->def; }

static val_id un(struct expander *x, enum opcode op, val_id a) { return make(x, op, 1, &a); }

static val_id bin(struct expander *x, enum opcode op, val_id a, val_id b) { return make(x, op, 2, (val_id[]){a, b}); }

/* c as a scalar of v's type. */
static val_id num(struct expander *x, val_id v, double c)
{
	struct tensor *t = tensor_new(&x->m->arena, type_of(x, v)->dtype, 0, NULL);
	tensor_set(t, 0, c);
	return const_tensor(x->m, 0, t);
}

static val_id ints(struct expander *x, int n, const int64_t *v)
{
	int64_t dims = n;
	return const_copy(x->m, 0, DT_I64, 1, &dims, v, (size_t)n * sizeof *v);
}

static val_id cast(struct expander *x, val_id v, enum dtype t)
{
	val_id y = un(x, OP_Cast, v);
	attr_set_int(x->m, made(x, y), "to", dtype_to_onnx(t));
	return y;
}

/* v takes the place of the first result. */
static bool done(struct expander *x, val_id v)
{
	struct module *m = x->m;
	val_id out = at(x)->out[0];
	if (val(m, v)->kind != VAL_NODE || !x->made.n || made(x, v) != x->made.a[x->made.n - 1])
		v = un(x, OP_Identity, v);
	node_id p = made(x, v);
	node(m, p)->out[0] = out;
	node(m, p)->name = at(x)->name;
	val(m, out)->def = p;
	val(m, out)->index = 0;
	return true;
}

static bool is_float(struct expander *x, val_id v) { return v && dtype_is_float(type_of(x, v)->dtype); }

static int rank_of(struct expander *x, val_id v) { return v ? type_of(x, v)->rank : RANK_UNKNOWN; }

static bool extent(struct expander *x, val_id v, int64_t axis, int64_t *c)
{
	const struct type *t = type_of(x, v);
	axis += axis < 0 ? t->rank : 0;
	return t->rank != RANK_UNKNOWN && axis >= 0 && axis < t->rank && t->dims[axis] != POLY_UNKNOWN &&
	       poly_is_const(x->m->dims, t->dims[axis], c);
}

/* ---- activations ---- */

static bool hard_swish(struct expander *x)
{
	val_id v = operand(x, 0), h = un(x, OP_HardSigmoid, v);
	attr_set_float(x->m, made(x, h), "alpha", 1.0f / 6);
	attr_set_float(x->m, made(x, h), "beta", 0.5f);
	return done(x, bin(x, OP_Mul, v, h));
}

static bool swish(struct expander *x)
{
	val_id v = operand(x, 0), s = v;
	float alpha = attr_f(at(x), "alpha");
	if (!is_float(x, v))
		return false;
	if (alpha != 1)
		s = bin(x, OP_Mul, v, num(x, v, alpha));
	return done(x, bin(x, OP_Mul, v, un(x, OP_Sigmoid, s)));
}

static bool mish(struct expander *x)
{
	val_id v = operand(x, 0);
	return done(x, bin(x, OP_Mul, v, un(x, OP_Tanh, un(x, OP_Softplus, v))));
}

/* x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): node by node as PyTorch writes them, for that is what other
 * runtimes fuse. */
static bool gelu(struct expander *x)
{
	val_id v = operand(x, 0), y;
	if (!is_float(x, v))
		return false;
	if (!strcmp(attr_s(at(x), "approximate"), "tanh")) {
		y = bin(x, OP_Mul, bin(x, OP_Pow, v, num(x, v, 3)), num(x, v, 0.044715));
		y = un(x, OP_Tanh, bin(x, OP_Mul, bin(x, OP_Add, v, y), num(x, v, sqrt(2 / M_PI))));
		return done(x, bin(x, OP_Mul, bin(x, OP_Mul, v, num(x, v, 0.5)), bin(x, OP_Add, y, num(x, v, 1))));
	}
	y = un(x, OP_Erf, bin(x, OP_Div, v, num(x, v, M_SQRT2)));
	y = bin(x, OP_Mul, v, bin(x, OP_Add, y, num(x, v, 1)));
	return done(x, bin(x, OP_Mul, y, num(x, v, 0.5)));
}

/* a Elu(x / a) */
static bool celu(struct expander *x)
{
	val_id v = operand(x, 0);
	float alpha = attr_f(at(x), "alpha");
	if (!is_float(x, v))
		return false;
	if (alpha == 1)
		return done(x, un(x, OP_Elu, v));
	return done(x, bin(x, OP_Mul, un(x, OP_Elu, bin(x, OP_Div, v, num(x, v, alpha))), num(x, v, alpha)));
}

/* ---- normalisations ---- */

/* Statistics are of f32, where the operator says so. */
static val_id widened(struct expander *x, val_id v)
{
	enum dtype t = type_of(x, v)->dtype;
	bool half = (t == DT_F16 || t == DT_BF16) && attr_i(at(x), "stash_type") == 1;
	return half ? cast(x, v, DT_F32) : v;
}

/* How many they are; 0: not known. */
static int last_axes(struct expander *x, val_id *axes)
{
	int64_t axis = attr_i(at(x), "axis"), list[RANK_MAX];
	int n = 0, rank = rank_of(x, operand(x, 0));
	if (axis >= 0 && rank == RANK_UNKNOWN)
		return 0;
	for (axis -= axis < 0 ? 0 : rank; axis < 0 && n < RANK_MAX; axis++)
		list[n++] = axis;
	*axes = ints(x, n, list);
	return n;
}

/* v / sqrt(mean(v^2) + epsilon), then scale and offset, scales of 1 too: node by node as PyTorch writes it, for that is what other runtimes
 * fuse. */
static bool normalise(struct expander *x, val_id v, val_id axes)
{
	val_id y = bin(x, OP_ReduceMean, bin(x, OP_Pow, v, num(x, v, 2)), axes);
	y = bin(x, OP_Add, y, num(x, v, attr_f(at(x), "epsilon")));
	y = bin(x, OP_Div, v, un(x, OP_Sqrt, y));
	if (type_of(x, y)->dtype != type_of(x, operand(x, 0))->dtype)
		y = cast(x, y, type_of(x, operand(x, 0))->dtype);
	y = bin(x, OP_Mul, y, operand(x, 1));
	return done(x, operand(x, 2) ? bin(x, OP_Add, y, operand(x, 2)) : y);
}

static bool layer_norm(struct expander *x)
{
	val_id axes, v = operand(x, 0);
	if (!is_float(x, v) || wants(x, 1) || wants(x, 2) || !last_axes(x, &axes))
		return false;
	v = widened(x, v);
	return normalise(x, bin(x, OP_Sub, v, bin(x, OP_ReduceMean, v, axes)), axes);
}

static bool rms_norm(struct expander *x)
{
	val_id axes, v = operand(x, 0);
	if (!is_float(x, v) || !last_axes(x, &axes))
		return false;
	return normalise(x, widened(x, v), axes);
}

/* A vector of channels as it broadcasts over v. */
static val_id along_channels(struct expander *x, val_id v, int rank)
{
	int64_t shape[RANK_MAX];
	for (int i = 0; i < rank - 1; i++)
		shape[i] = i ? 1 : -1;
	return bin(x, OP_Reshape, v, ints(x, rank - 1, shape));
}

/* By InstanceNormalization of the groups. What opsets 18 to 20 call GroupNormalization was another operator and is
 * withdrawn. */
static bool group_norm(struct expander *x)
{
	val_id v = operand(x, 0), shape, y;
	int64_t groups = attr_i(at(x), "num_groups"), dims[RANK_MAX], two[] = {0, groups, -1};
	int rank = rank_of(x, v);
	if (groups < 1 || !is_float(x, v) || rank < 3)
		return false;
	struct tensor *one = tensor_new(&x->m->arena, type_of(x, v)->dtype, 1, &groups),
		      *zero = tensor_new(&x->m->arena, type_of(x, v)->dtype, 1, &groups);
	for (int64_t g = 0; g < groups; g++)
		tensor_set(one, g, 1);
	shape = type_dims(x->m, type_of(x, v), dims) ? ints(x, rank, dims) : un(x, OP_Shape, v);
	y = bin(x, OP_Reshape, v, ints(x, 3, two));
	y = make(x, OP_InstanceNormalization, 3, (val_id[]){y, const_tensor(x->m, 0, one), const_tensor(x->m, 0, zero)});
	attr_set_float(x->m, made(x, y), "epsilon", attr_f(at(x), "epsilon"));
	y = bin(x, OP_Reshape, y, shape);
	y = bin(x, OP_Mul, y, along_channels(x, operand(x, 1), rank));
	return done(x, bin(x, OP_Add, y, along_channels(x, operand(x, 2), rank)));
}

/* ---- elements ---- */

static bool or_equal(struct expander *x)
{
	val_id a = operand(x, 0), b = operand(x, 1);
	enum opcode op = at(x)->op == OP_GreaterOrEqual ? OP_Greater : OP_Less;
	val_id strict = bin(x, op, a, b);
	return done(x, bin(x, OP_Or, strict, bin(x, OP_Equal, a, b)));
}

static bool cast_like(struct expander *x)
{
	enum dtype t = operand(x, 1) ? type_of(x, operand(x, 1))->dtype : DT_NONE;
	if (t == DT_NONE)
		return false;
	val_id y = cast(x, operand(x, 0), t);
	for (uint32_t i = 0; i < at(x)->nattr; i++)
		attr_set(x->m, made(x, y), at(x)->attr[i]);
	return done(x, y);
}

/* Softmax and its kind over an axis that is not the last. */
static bool over_last_axis(struct expander *x)
{
	val_id v = operand(x, 0), y;
	int rank = rank_of(x, v);
	int64_t axis = attr_i(at(x), "axis"), perm[RANK_MAX];
	axis += axis < 0 ? rank : 0;
	if (rank < 2 || axis < 0 || axis >= rank)
		return false;
	for (int i = 0; i < rank; i++)
		perm[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
	y = un(x, OP_Transpose, v);
	attr_set_ints(x->m, made(x, y), "perm", rank, perm);
	y = un(x, at(x)->op, y);
	attr_set_int(x->m, made(x, y), "axis", -1);
	y = un(x, OP_Transpose, y);
	attr_set_ints(x->m, made(x, y), "perm", rank, perm);
	return done(x, y);
}

static bool trilu(struct expander *x)
{
	val_id v = operand(x, 0);
	int64_t dims[2], k = 0;
	bool upper = attr_i(at(x), "upper") != 0;
	if (rank_of(x, v) < 2 || !extent(x, v, -2, &dims[0]) || !extent(x, v, -1, &dims[1]))
		return false;
	if (operand(x, 1) && (!constant(x, 1) || tensor_ints(x->m, constant(x, 1), &k, 1) != 1))
		return false;
	struct tensor *mask = tensor_new(&x->m->arena, DT_BOOL, 2, dims);
	for (int64_t i = 0; i < dims[0] * dims[1]; i++) {
		int64_t diagonal = i % dims[1] - i / dims[1];
		tensor_set(mask, i, upper ? diagonal >= k : diagonal <= k);
	}
	return done(x, make(x, OP_Where, 3, (val_id[]){const_tensor(x->m, 0, mask), v, num(x, v, 0)}));
}

static bool part_of_shape(struct expander *x)
{
	int64_t start = attr_i(at(x), "start"), end = attr_int(at(x), "end", INT32_MAX), axis = 0;
	val_id s = un(x, OP_Shape, operand(x, 0));
	return done(x, make(x, OP_Slice, 4, (val_id[]){s, ints(x, 1, &start), ints(x, 1, &end), ints(x, 1, &axis)}));
}

/* ---- operands that older opsets want whole ---- */

/* One of n is set: axes[i] of rank gets from[i], the rest `other`. */
static bool spread(struct expander *x, const int64_t *axes, int n, int rank, const int64_t *from, int64_t *to)
{
	for (int i = 0; i < n; i++) {
		int64_t a = axes[i] + (axes[i] < 0 ? rank : 0);
		if (a < 0 || a >= rank)
			return false;
		to[a] = from[i];
	}
	return true;
}

static bool pad_all_axes(struct expander *x)
{
	int64_t axes[RANK_MAX], pads[2 * RANK_MAX], all[2 * RANK_MAX] = {0};
	int rank = rank_of(x, operand(x, 0)), n;
	if (rank < 1 || !constant(x, 1) || !constant(x, 3))
		return false;
	n = tensor_ints(x->m, constant(x, 3), axes, RANK_MAX);
	if (n < 0 || tensor_ints(x->m, constant(x, 1), pads, 2 * RANK_MAX) != 2 * n)
		return false;
	if (!spread(x, axes, n, rank, pads, all) || !spread(x, axes, n, rank, pads + n, all + rank))
		return false;
	at(x)->in[1] = ints(x, 2 * rank, all);
	at(x)->nin = operand(x, 2) ? 3 : 2;
	return false;
}

static bool split_parts(struct expander *x)
{
	int64_t size, parts[64], n = at(x)->nout, each;
	if (operand(x, 1) || n < 1 || n > 64 || !extent(x, operand(x, 0), attr_i(at(x), "axis"), &size))
		return false;
	each = (size + n - 1) / n;
	for (int64_t i = 0; i < n; i++)
		parts[i] = i + 1 < n ? each : size - each * (n - 1);
	if (parts[n - 1] < 0)
		return false;
	val_id in[2] = {operand(x, 0), ints(x, (int)n, parts)};
	at(x)->in = arena_copy(&x->m->arena, in, sizeof in);
	at(x)->nin = 2;
	attr_drop(x->m, x->at, "num_outputs");
	return false;
}

/* Codes of bytes v, of four axes: two in each byte of a u8, of 4 bits from -8 on, the first of them low. */
static val_id codes_of(struct expander *x, val_id v)
{
	static const int64_t flat[] = {0, 0, 0, -1}, last = -1;
	val_id in[2], high;

	if (type_of(x, v)->dtype != DT_U8)
		return cast(x, v, DT_F32);
	high = bin(x, OP_Div, v, num(x, v, 16));
	in[0] = bin(x, OP_Unsqueeze, bin(x, OP_Sub, v, bin(x, OP_Mul, high, num(x, v, 16))), ints(x, 1, &last));
	in[1] = bin(x, OP_Unsqueeze, high, ints(x, 1, &last));
	v = make(x, OP_Concat, 2, in);
	attr_set_int(x->m, made(x, v), "axis", -1);
	v = cast(x, bin(x, OP_Reshape, v, ints(x, 4, flat)), DT_F32);
	return bin(x, OP_Sub, v, const_copy(x->m, 0, DT_F32, 0, NULL, &(float){8}, sizeof(float)));
}

/* Keys and values that are codes become numbers before it. */
static bool codes_apart(struct expander *x)
{
	if (opset_own_operand(at(x)) < 0)
		return false;
	for (uint32_t i = 1; i < 3; i++)
		if (operand(x, i + 6)) {
			val_id v = bin(x, OP_Mul, codes_of(x, operand(x, i)), operand(x, i + 6));
			at(x)->in[i] = v;
			at(x)->in[i + 6] = 0;
		}
	while (at(x)->nin && !at(x)->in[at(x)->nin - 1])
		at(x)->nin--;
	vec_push(&x->made, x->at);
	return true;
}

/* What takes the place of a node; false: the node stays, as it is or with other operands. */
static const struct {
	enum opcode op;
	bool (*f)(struct expander *x);
} rows[] = {
	{OP_Attention, codes_apart},
	{OP_CastLike, cast_like},
	{OP_Celu, celu},
	{OP_Gelu, gelu},
	{OP_GreaterOrEqual, or_equal},
	{OP_GroupNormalization, group_norm},
	{OP_HardSwish, hard_swish},
	{OP_Hardmax, over_last_axis},
	{OP_LayerNormalization, layer_norm},
	{OP_LessOrEqual, or_equal},
	{OP_LogSoftmax, over_last_axis},
	{OP_Mish, mish},
	{OP_Pad, pad_all_axes},
	{OP_RMSNormalization, rms_norm},
	{OP_Shape, part_of_shape},
	{OP_Softmax, over_last_axis},
	{OP_Split, split_parts},
	{OP_Swish, swish},
	{OP_Trilu, trilu},
};

/* An operator of one operand of integers in f64, which has all that a double computes of them. */
static bool in_floats(struct expander *x)
{
	enum dtype t = type_of(x, operand(x, 0))->dtype;
	uint32_t nin = at(x)->nin;
	val_id in[2] = {cast(x, operand(x, 0), DT_F64), operand(x, 1)}, y = make(x, at(x)->op, (int)(nin < 2 ? nin : 2), in);

	node(x->m, made(x, y))->attr = at(x)->attr;
	node(x->m, made(x, y))->nattr = at(x)->nattr;
	return done(x, cast(x, y, t));
}

static void note_made(struct expander *x, node_id id, enum opcode by)
{
	while (x->by.n <= id)
		vec_push(&x->by, OP_OTHER);
	x->by.a[id] = by;
}

static bool expand_node(struct expander *x, node_id id)
{
	x->at = id;
	if (id < x->by.n && x->by.a[id] == node(x->m, id)->op) /* what it still needs, as for its type, another of its kind needs too */
		return false;
	if (opset_lacks(x->m, node(x->m, id), x->opset))
		return in_floats(x);
	if (opset_needed(x->m, node(x->m, id)) <= x->opset && !(x->spread && node(x->m, id)->op == OP_Swish))
		return false;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].op == node(x->m, id)->op)
			return rows[i].f(x);
	return false;
}

/* Expansions are made of operators that may have expansions of their own, so until nothing changes; that is
 * soon, for none of them leads back, and what an operator is made of is not the same operator expanded again. */
static bool expand_graph(struct expander *x, graph_id g)
{
	VEC(node_id) order = {0};
	bool changed = false;
	for (size_t i = 0; i < graph(x->m, g)->nodes.n; i++) {
		node_id id = graph(x->m, g)->nodes.a[i];
		enum opcode op = node(x->m, id)->op;
		bool gone = expand_node(x, id);
		for (size_t k = 0; k < x->made.n && gone; k++) {
			note_made(x, x->made.a[k], op);
			infer_node(x->m, x->made.a[k], NULL);
			vec_push(&order, x->made.a[k]);
		}
		x->made.n = 0;
		if (!gone)
			vec_push(&order, id);
		changed |= gone;
	}
	graph(x->m, g)->nodes.n = 0;
	for (size_t i = 0; i < order.n; i++)
		vec_push(&graph(x->m, g)->nodes, order.a[i]);
	vec_free(&order);
	return changed;
}

void opset_expand(struct module *m, int opset, bool spread)
{
	struct expander x = {.m = m, .opset = opset, .spread = spread};
	struct graph_list order = {0};
	module_graph_order(m, &order);
	for (size_t i = 0; i < order.n; i++)
		while (expand_graph(&x, order.a[i]))
			;
	vec_free(&order);
	vec_free(&x.made);
	vec_free(&x.by);
}
