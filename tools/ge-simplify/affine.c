/* Constant scales and offsets per channel, folded into the weights before them. All sums in double,
 * rounded once. */
#include <math.h>
#include "op/op.h"
#include "rules.h"

static val_id result(struct rewrite *rw, node_id n) { return node(rw_module(rw), n)->out[0]; }

/* y = scale[c] * x + offset[c] along the channel axis. */
struct affine {
	int64_t channels;
	double *scale, *offset;
};

/* What a linear operator's weights look like. A normalisation whose weights are a scale of each channel counts as one. */
struct linear {
	node_id node;
	val_id weight, bias; /* bias 0: none */
	int64_t channels;    /* of the result */
	int axis;            /* of the result's channels, from the end: -1 last */
	node_id turn;        /* the Transpose that the result goes through, 0: none; axis is that of its result */
};

/* Element c of axis `axis` (negative: from the end) of constant v, which is 1 along all others, repeated if it
 * is 1 there too. */
static double *per_channel(struct rewrite *rw, val_id v, int axis, int64_t channels)
{
	struct tensor *t = rw_const(rw, v);
	int64_t n;
	double *x, *y;

	if (!t || !dtype_is_float(t->dtype))
		return NULL;
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] != 1 && (i - t->rank != axis || t->dims[i] != channels))
			return NULL;
	x = rw_doubles(rw, v, &n);
	if (!x || n != 1)
		return x;
	y = ARENA_ARRAY(&rw_module(rw)->arena, double, channels);
	for (int64_t c = 0; c < channels; c++)
		y[c] = x[0];
	return y;
}

/* The axis of l's result, from the end, that its axis is after its Transpose. */
static bool turned_axis(struct rewrite *rw, struct linear *l)
{
	int64_t p[RANK_MAX];
	int rank;

	if (!transpose_order(rw, l->turn, p, &rank))
		return false;
	for (int i = 0; i < rank; i++)
		if (p[i] - rank == l->axis) {
			l->axis = i - rank;
			return true;
		}
	return false;
}

static bool is_norm(enum opcode op) { return op == OP_InstanceNormalization || op == OP_GroupNormalization; }

/* The linear operator with constant weights that computes v, or what v is a Transpose of, for us alone. */
static const char *linear_of(struct rewrite *rw, val_id v, struct linear *l)
{
	node_id turn = rw_def1(rw, v, OP_Transpose);
	if (turn)
		v = rw_in(rw, turn, 0);
	node_id n = rw_node_of(rw, v);
	const struct node *x = n ? node(rw_module(rw), n) : NULL;
	bool norm = n && is_norm(x->op);
	struct tensor *w;

	if (!n || (x->op != OP_Conv && x->op != OP_ConvTranspose && x->op != OP_Gemm && x->op != OP_MatMul && !norm))
		return NO_MATCH;
	*l = (struct linear){.node = n, .weight = rw_in(rw, n, 1), .bias = rw_in(rw, n, 2), .turn = turn};
	w = rw_const(rw, l->weight);
	if (!w || (l->bias && !rw_const(rw, l->bias)))
		return NO_MATCH;
	if (rw_uses(rw, v) != 1)
		return "the operator before it has other users";
	if (!dtype_is_float(w->dtype) || w->rank < (norm ? 1 : 2) || (norm && rw_type(rw, rw_in(rw, n, 0))->rank < 2))
		return "the weights before it are not floats";
	switch (x->op) {
	case OP_InstanceNormalization:
	case OP_GroupNormalization:
	case OP_Conv: l->channels = w->dims[0]; break;
	case OP_ConvTranspose: l->channels = w->dims[1] * attr_i(x, "group"); break;
	case OP_Gemm: l->channels = w->dims[attr_i(x, "transB") ? 0 : 1]; break;
	default: l->channels = w->dims[w->rank - 1]; break;
	}
	l->axis = norm ? 1 - rw_type(rw, rw_in(rw, n, 0))->rank : x->op == OP_Conv || x->op == OP_ConvTranspose ? 1 - w->rank : -1;
	return turn && !turned_axis(rw, l) ? NO_MATCH : NULL;
}

/* Channel of the result that element i of the weights belongs to. */
static int64_t weight_channel(struct rewrite *rw, const struct linear *l, const struct tensor *w, int64_t i)
{
	const struct node *x = node(rw_module(rw), l->node);
	int64_t inner = 1, per_group;

	for (int k = 2; k < w->rank; k++)
		inner *= w->dims[k];
	switch (x->op) {
	case OP_InstanceNormalization:
	case OP_GroupNormalization: return i;
	case OP_Conv: return i / (inner * w->dims[1]);
	case OP_ConvTranspose:
		per_group = w->dims[0] / attr_i(x, "group");
		return i / (inner * w->dims[1]) / per_group * w->dims[1] + i / inner % w->dims[1];
	case OP_Gemm: return attr_i(x, "transB") ? i / w->dims[1] : i % w->dims[1];
	default: return i % w->dims[w->rank - 1];
	}
}

static val_id scaled_weight(struct rewrite *rw, const struct linear *l, const struct affine *a)
{
	struct module *m = rw_module(rw);
	struct tensor *w = rw_const(rw, l->weight), *y = tensor_new(&m->arena, w->dtype, w->rank, w->dims);

	tensor_data(m, w);
	for (int64_t i = 0, n = tensor_count(w); i < n; i++)
		tensor_set(y, i, tensor_get(w, i) * a->scale[weight_channel(rw, l, w, i)]);
	return rw_constant_tensor(rw, y);
}

static bool all_are(const double *x, int64_t n, double want)
{
	for (int64_t i = 0; i < n; i++)
		if (x[i] != want)
			return false;
	return true;
}

/* The new linear operator in place of root: a applied to what l computes. */
static const char *fold(struct rewrite *rw, node_id root, const struct linear *l, const struct affine *a)
{
	struct module *m = rw_module(rw);
	enum opcode op = node(m, l->node)->op;
	enum dtype t = rw_const(rw, l->weight)->dtype;
	double beta = op == OP_Gemm ? attr_f(node(m, l->node), "beta") : 1;
	double *old = l->bias ? per_channel(rw, l->bias, -1, l->channels) : NULL;
	double *bias = ARENA_ARRAY(&m->arena, double, l->channels);
	val_id weight = l->weight, v;

	if (l->bias && !old)
		return "the bias before it is no vector";
	for (int64_t c = 0; c < l->channels; c++) {
		bias[c] = a->offset[c] + (old ? a->scale[c] * beta * old[c] : 0);
		if (!isfinite(bias[c]) || !isfinite(a->scale[c]))
			return "a scale or offset is not finite";
	}
	if (op == OP_MatMul && !all_are(bias, l->channels, 0))
		return "MatMul has no bias to take the offset";
	if (!all_are(a->scale, l->channels, 1))
		weight = scaled_weight(rw, l, a);
	v = l->bias || !all_are(bias, l->channels, 0) ? rw_constant(rw, t, 1, &l->channels, bias) : 0;
	v = rw_node(rw, root, op, v ? 3 : 2, (val_id[]){rw_in(rw, l->node, 0), weight, v});
	rw_copy_attrs(rw, rw_node_of(rw, v), l->node);
	if (op == OP_Gemm)
		attr_drop(m, rw_node_of(rw, v), "beta");
	if (l->turn) {
		v = rw_node(rw, root, OP_Transpose, 1, &v);
		rw_copy_attrs(rw, rw_node_of(rw, v), l->turn);
	}
	rw_replace(rw, result(rw, root), v);
	return NULL;
}

static bool read_batch_norm(struct rewrite *rw, node_id n, struct affine *a)
{
	double epsilon = attr_f(node(rw_module(rw), n), "epsilon"), *p[4];
	int64_t count;

	for (uint32_t i = 0; i < 4; i++) {
		p[i] = rw_doubles(rw, rw_in(rw, n, i + 1), &count);
		if (!p[i] || (i > 0 && count != a->channels))
			return false;
		a->channels = count;
	}
	a->scale = ARENA_ARRAY(&rw_module(rw)->arena, double, count);
	a->offset = ARENA_ARRAY(&rw_module(rw)->arena, double, count);
	for (int64_t c = 0; c < count; c++) {
		a->scale[c] = p[0][c] / sqrt(p[3][c] + epsilon);
		a->offset[c] = p[1][c] - p[2][c] * a->scale[c];
	}
	return true;
}

/* In inference: one wanted result and the running statistics as operands. */
static const char *why_not_inference(struct rewrite *rw, node_id n)
{
	const struct node *x = node(rw_module(rw), n);

	if (attr_i(x, "training_mode"))
		return "it is in training mode";
	for (uint32_t i = 1; i < x->nout; i++)
		if (x->out[i] && rw_uses(rw, x->out[i]))
			return "its statistics are used";
	return NULL;
}

static const char *batch_norm_into(struct rewrite *rw, node_id n)
{
	struct affine a;
	struct linear l;
	const char *why = why_not_inference(rw, n);

	if (why || (why = linear_of(rw, rw_in(rw, n, 0), &l)))
		return why;
	int rank = rw_type(rw, rw_in(rw, n, 0))->rank;
	if (rank == RANK_UNKNOWN ? l.turn || l.axis == -1 : l.axis != 1 - rank)
		return "its channels are not the columns of the product";
	if (!read_batch_norm(rw, n, &a) || a.channels != l.channels)
		return "its parameters are not constant";
	return fold(rw, n, &l, &a);
}

/* What n does to operand i, if the other operand is a constant vector along the channels. */
static bool read_affine(struct rewrite *rw, node_id n, uint32_t i, const struct linear *l, struct affine *a)
{
	double *c = per_channel(rw, rw_in(rw, n, 1 - i), l->axis, l->channels);

	if (!c)
		return false;
	a->channels = l->channels;
	a->scale = ARENA_ARRAY(&rw_module(rw)->arena, double, l->channels);
	a->offset = ARENA_ARRAY(&rw_module(rw)->arena, double, l->channels);
	for (int64_t k = 0; k < l->channels; k++) {
		a->scale[k] = 1;
		switch (node(rw_module(rw), n)->op) {
		case OP_Add: a->offset[k] = c[k]; break;
		case OP_Sub:
			a->offset[k] = i == 0 ? -c[k] : c[k];
			a->scale[k] = i == 0 ? 1 : -1;
			break;
		case OP_Mul: a->scale[k] = c[k]; break;
		default: a->scale[k] = 1 / c[k]; break;
		}
	}
	return true;
}

/* Add, Sub, Mul, Div by a constant after a linear operator. */
static const char *affine_into(struct rewrite *rw, node_id n)
{
	const char *why = NO_MATCH;

	for (uint32_t i = 0; i < 2; i++) {
		struct affine a;
		struct linear l;
		val_id x = rw_in(rw, n, i);
		const char *not = linear_of(rw, x, &l);
		if (not || (i == 1 && node(rw_module(rw), n)->op == OP_Div)) {
			why = not &&*not ? not : why;
			continue;
		}
		if (!rw_like_type(rw, x, result(rw, n)))
			return "broadcasting changes the shape, or it is not known";
		if (!read_affine(rw, n, i, &l, &a))
			return "the other operand is no constant per channel";
		return fold(rw, n, &l, &a);
	}
	return why;
}

/* c * (x W + b) with constant W and b: the scale of attention's queries. */
static const char *scale_into_matmul(struct rewrite *rw, node_id n)
{
	struct linear l;
	double c;
	val_id sum, b, w, v;
	node_id add, mul;
	int64_t count;
	double *e;

	if (!rw_with_scalar(rw, n, &sum, &c) || !(add = rw_def1(rw, sum, OP_Add)))
		return NO_MATCH;
	if (!(mul = rw_operand(rw, add, OP_MatMul, &b)) || linear_of(rw, result(rw, mul), &l) || !rw_const(rw, b))
		return NO_MATCH;
	if (!rw_like_type(rw, sum, result(rw, n)) || !(e = rw_doubles(rw, b, &count)))
		return NO_MATCH;
	struct affine a = {.channels = l.channels, .scale = ARENA_ARRAY(&rw_module(rw)->arena, double, l.channels)};
	for (int64_t k = 0; k < l.channels; k++)
		a.scale[k] = c;
	for (int64_t k = 0; k < count; k++)
		e[k] *= c;
	w = scaled_weight(rw, &l, &a);
	v = rw_node(rw, n, OP_MatMul, 2, (val_id[]){rw_in(rw, mul, 0), w});
	b = rw_constant(rw, rw_const(rw, b)->dtype, rw_const(rw, b)->rank, rw_const(rw, b)->dims, e);
	rw_replace(rw, result(rw, n), rw_node(rw, n, OP_Add, 2, (val_id[]){v, b}));
	return NULL;
}

#define INTO "a constant scale or offset per channel goes into the weights"
const struct rule rules_affine[] = {
	{"batch-norm-into", OP_BatchNormalization, batch_norm_into, "BatchNormalization goes into the weights", MEASURE_WORK},
	{"affine-into", OP_Mul, affine_into, INTO, MEASURE_WORK},
	{"affine-into", OP_Div, affine_into, INTO, MEASURE_WORK},
	{"affine-into", OP_Add, affine_into, INTO, MEASURE_WORK},
	{"affine-into", OP_Sub, affine_into, INTO, MEASURE_WORK},
	{"scale-into", OP_Mul, scale_into_matmul, "a scale after MatMul and Add goes into both constants", MEASURE_WORK},
	{0},
};
