/* Attention becomes the products, the softmax and the few operators between them that it stands for: each has kernels. */
#include <math.h>
#include "fuse.h"
#include "op/op.h"
#include "op/rewrite.h"

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID };

/* Axes of queries, keys and values as they are multiplied: batch, heads of keys, heads of queries for each of those, rows, numbers. The third
 * is left out where it is 1; where there is one query, rows are the heads of queries that share keys. */
struct attention {
	struct rewrite *rw;
	struct module *m;
	node_id n;
	enum dtype type;       /* of the operands */
	enum dtype real;       /* of what is computed */
	bool flat;             /* operands of rank 3: the heads lie side by side */
	bool shared;           /* several heads of queries for one of keys */
	bool single;           /* one query, of heads that share keys */
	int64_t heads, groups; /* of queries, of keys */
	int64_t size, vsize;   /* numbers a head: of queries and keys, of values */
	dim batch, queries, fresh, past, keys;
};

static val_id make1(struct attention *a, enum opcode op, val_id x) { return rw_node(a->rw, a->n, op, 1, &x); }

static val_id make2(struct attention *a, enum opcode op, val_id x, val_id y) { return rw_node(a->rw, a->n, op, 2, (val_id[]){x, y}); }

static val_id make3(struct attention *a, enum opcode op, val_id x, val_id y, val_id z)
{
	return rw_node(a->rw, a->n, op, 3, (val_id[]){x, y, z});
}

static val_id number(struct attention *a, enum dtype t, double x) { return rw_constant(a->rw, t, 0, NULL, &x); }

static val_id with_int(struct attention *a, val_id v, const char *attr, int64_t x)
{
	attr_set_int(a->m, rw_node_of(a->rw, v), attr, x);
	return v;
}

static val_id cast(struct attention *a, val_id x, enum dtype t) { return with_int(a, make1(a, OP_Cast, x), "to", dtype_to_onnx(t)); }

static val_id transpose(struct attention *a, val_id x, int rank, const int64_t *perm)
{
	val_id v = make1(a, OP_Transpose, x);

	attr_set_ints(a->m, rw_node_of(a->rw, v), "perm", rank, perm);
	return v;
}

/* 0 is the extent that x has there. */
static val_id reshape(struct attention *a, val_id x, int rank, const int64_t *shape)
{
	return make2(a, OP_Reshape, x, rw_constant_ints(a->rw, rank, shape));
}

static val_id unsqueeze(struct attention *a, val_id x, int64_t axis)
{
	return make2(a, OP_Unsqueeze, x, rw_constant_ints(a->rw, 1, &axis));
}

static dim axis_of(struct attention *a, uint32_t operand, int axis) { return rw_type(a->rw, rw_in(a->rw, a->n, operand))->dims[axis]; }

static bool known(struct attention *a, dim d, int64_t *c) { return d && poly_is_const(a->m->dims, d, c); }

static bool is_one(struct attention *a, dim d)
{
	int64_t c;

	return known(a, d, &c) && c == 1;
}

/* ---- why not ---- */

/* An extent of the mask's axis, counted from the last: 1 or `want`. */
static bool mask_fits(struct attention *a, int from_last, dim want, bool broadcasts)
{
	const struct type *t = rw_type(a->rw, rw_in(a->rw, a->n, MASK));
	dim d = t->rank < from_last ? 0 : t->dims[t->rank - from_last];

	return t->rank < from_last || (d && d == want) || (broadcasts && is_one(a, d));
}

static const char *why_no_mask(struct attention *a)
{
	const struct type *t = rw_type(a->rw, rw_in(a->rw, a->n, MASK));
	dim heads = poly_const(a->m->dims, a->heads);

	if (t->rank < 1 || t->rank > 4 || !dtype_size(t->dtype) || t->dtype == DT_STR)
		return "the type of its mask is not known";
	if (!mask_fits(a, 1, a->keys, false) || !mask_fits(a, 2, a->queries, true) || !mask_fits(a, 3, heads, true) ||
	    !mask_fits(a, 4, a->batch, true))
		return "the sizes of its mask are not known to be those of the scores";
	if (a->shared && !a->single && t->rank > 2 && !is_one(a, t->dims[t->rank - 3]) && !type_static(a->m, t))
		return "sizes of its mask, which differs from head to head, are not known";
	return NULL;
}

/* The softmax is taken in the type of the sums. */
static bool is_narrow(struct attention *a)
{
	enum dtype t = dtype_from_onnx((int)attr_int(node(a->m, a->n), "softmax_precision", 0));

	return t == DT_F16 || t == DT_BF16 || (t == DT_F32 && a->type == DT_F64);
}

static const char *read_sizes(struct attention *a)
{
	const struct node *n = node(a->m, a->n);
	bool past = rw_in(a->rw, a->n, PAST_KEY) != 0;
	int64_t c;

	for (uint32_t i = QUERY; i <= PAST_VALUE; i++) {
		val_id v = rw_in(a->rw, a->n, i);
		const struct type *t = v ? rw_type(a->rw, v) : NULL;
		if (!v || i == MASK)
			continue;
		if (t->rank != (i < PAST_KEY ? rw_type(a->rw, rw_in(a->rw, a->n, QUERY))->rank : 4) || !dtype_is_float(t->dtype))
			return "the types of its operands are not known";
		for (int k = 0; k < t->rank; k++)
			if (!t->dims[k] || (known(a, t->dims[k], &c) && c == 0))
				return "sizes of its operands are not known, or 0";
	}
	a->type = rw_type(a->rw, rw_in(a->rw, a->n, QUERY))->dtype;
	a->real = a->type == DT_F64 ? DT_F64 : DT_F32;
	a->flat = rw_type(a->rw, rw_in(a->rw, a->n, QUERY))->rank == 3;
	a->heads = attr_int(n, "q_num_heads", 0);
	a->groups = attr_int(n, "kv_num_heads", 0);
	if (!a->flat && (!known(a, axis_of(a, QUERY, 1), &a->heads) || !known(a, axis_of(a, KEY, 1), &a->groups)))
		return "the number of its heads is not known";
	a->batch = axis_of(a, QUERY, 0);
	a->queries = axis_of(a, QUERY, a->flat ? 1 : 2);
	a->fresh = axis_of(a, KEY, a->flat ? 1 : 2);
	a->past = past ? axis_of(a, PAST_KEY, 2) : poly_const(a->m->dims, 0);
	a->keys = poly_add(a->m->dims, a->past, a->fresh);
	a->shared = a->heads != a->groups;
	a->single = a->shared && is_one(a, a->queries);
	if (a->heads < 1 || a->groups < 1 || a->heads % a->groups || !known(a, axis_of(a, QUERY, a->flat ? 2 : 3), &a->size) ||
	    !known(a, axis_of(a, VALUE, a->flat ? 2 : 3), &a->vsize))
		return "its heads and their sizes are not known";
	a->size /= a->flat ? a->heads : 1;
	a->vsize /= a->flat ? a->groups : 1;
	return NULL;
}

static const char *why_not(struct attention *a)
{
	const struct node *n = node(a->m, a->n);
	const char *why;

	if (n->nout > 3 && n->out[3])
		return "its scores are asked for";
	if (rw_in(a->rw, a->n, VALID) || rw_in(a->rw, a->n, PAST_KEY))
		return "it reads a cache, as far as that is filled";
	if ((why = read_sizes(a)))
		return why;
	if (is_narrow(a))
		return "its softmax is in a narrower type";
	return rw_in(a->rw, a->n, MASK) ? why_no_mask(a) : NULL;
}

/* ---- operands ---- */

/* Queries as rows. */
static val_id queries_of(struct attention *a)
{
	val_id q = rw_in(a->rw, a->n, QUERY);
	int64_t g = a->groups, r = a->heads / a->groups;

	if (a->type != a->real)
		q = cast(a, q, a->real);
	if (a->single)
		return reshape(a, q, 4, (int64_t[]){0, g, r, -1});
	if (!a->flat)
		return a->shared ? reshape(a, q, 5, (int64_t[]){0, g, r, -1, a->size}) : q;
	q = reshape(a, q, a->shared ? 5 : 4, a->shared ? (int64_t[]){0, 0, g, r, -1} : (int64_t[]){0, 0, g, -1});
	return a->shared ? transpose(a, q, 5, (int64_t[]){0, 2, 3, 1, 4}) : transpose(a, q, 4, (int64_t[]){0, 2, 1, 3});
}

/* Keys or values, of rank 4, with those of the past before them: result k of the node. */
static val_id all_rows(struct attention *a, uint32_t operand)
{
	val_id v = rw_in(a->rw, a->n, operand), past = rw_in(a->rw, a->n, operand - KEY + PAST_KEY);

	if (a->flat)
		v = transpose(a, reshape(a, v, 4, (int64_t[]){0, 0, a->groups, -1}), 4, (int64_t[]){0, 2, 1, 3});
	return past ? with_int(a, make2(a, OP_Concat, past, v), "axis", 2) : v;
}

/* What all_rows gives, as what is multiplied: keys as columns. */
static val_id factor(struct attention *a, uint32_t operand, val_id rows)
{
	bool wide = a->shared && !a->single, columns = operand == KEY;

	if (rw_type(a->rw, rw_in(a->rw, a->n, operand))->dtype != a->real)
		rows = cast(a, rows, a->real);
	if (wide)
		rows = unsqueeze(a, rows, 2);
	if (!columns)
		return rows;
	return wide ? transpose(a, rows, 5, (int64_t[]){0, 1, 2, 4, 3}) : transpose(a, rows, 4, (int64_t[]){0, 1, 3, 2});
}

/* ---- which keys a query sees ---- */

/* An extent as an i32: a constant, or what a run tells of an axis of an operand. */
static val_id extent(struct attention *a, dim d, uint32_t operand, int axis)
{
	int64_t c;
	val_id v;

	if (known(a, d, &c))
		return number(a, DT_I32, (double)c);
	v = with_int(a, with_int(a, make1(a, OP_Shape, rw_in(a->rw, a->n, operand)), "start", axis), "end", axis + 1);
	return cast(a, make2(a, OP_Squeeze, v, rw_constant_ints(a->rw, 1, (int64_t[]){0})), DT_I32);
}

/* i32: from 0 to n - 1. */
static val_id places(struct attention *a, dim d, val_id n)
{
	int64_t c;

	if (!known(a, d, &c))
		return make3(a, OP_Range, number(a, DT_I32, 0), n, number(a, DT_I32, 1));
	double *x = ARENA_ARRAY(&a->m->arena, double, c);
	for (int64_t i = 0; i < c; i++)
		x[i] = (double)i;
	return rw_constant(a->rw, DT_I32, 1, &c, x);
}

/* How far a query sees: -1 is all the way. */
static int64_t window(struct attention *a, const char *attr)
{
	int64_t w = attr_i(node(a->m, a->n), attr), far = 1 << 30;

	return w < 0 ? -1 : w < far ? w : far;
}

/* May there be a query that sees no key? Its keys begin `left` before its own place. */
static bool may_see_none(struct attention *a, int64_t left)
{
	int64_t q, k;

	if (rw_in(a->rw, a->n, VALID))
		return true;
	return left >= 0 && a->queries != a->fresh && (!known(a, a->queries, &q) || !known(a, a->fresh, &k) || q - 1 - left >= k);
}

static val_id both(struct attention *a, val_id x, val_id y) { return x && y ? make2(a, OP_And, x, y) : x ? x : y; }

/* For each of the batch as many keys as are valid, with axes for heads, queries and keys. */
static val_id valid_keys(struct attention *a)
{
	int64_t shape[] = {-1, 1, 1, 1, 1};

	return reshape(a, cast(a, rw_in(a->rw, a->n, VALID), DT_I32), a->shared && !a->single ? 5 : 4, shape);
}

/* A bool for each query and key: does one see the other? 0: all see all. Query l has the place of key l + before. */
static val_id seen(struct attention *a, bool *none)
{
	int64_t left = window(a, "left_window_size"), right = window(a, "right_window_size");
	bool past = rw_in(a->rw, a->n, PAST_KEY) != 0, valid = rw_in(a->rw, a->n, VALID) != 0;
	val_id before, keys, y = 0;

	if (attr_i(node(a->m, a->n), "is_causal"))
		right = 0;
	*none = may_see_none(a, left);
	if (left < 0 && right < 0 && !valid)
		return 0;
	val_id queries = extent(a, a->queries, QUERY, a->flat ? 1 : 2), count = valid ? valid_keys(a) : 0;
	before = past ? extent(a, a->past, PAST_KEY, 2) : number(a, DT_I32, 0);
	keys = extent(a, a->fresh, KEY, a->flat ? 1 : 2);
	keys = places(a, a->keys, past ? make2(a, OP_Add, before, keys) : keys);
	if (valid) {
		y = make2(a, OP_Less, keys, count);
		before = make2(a, OP_Sub, count, queries);
	}
	if (left < 0 && right < 0)
		return y;
	val_id own = unsqueeze(a, places(a, a->queries, queries), 1), ahead = make2(a, OP_Sub, keys, make2(a, OP_Add, own, before));
	if (right >= 0)
		y = both(a, y, make2(a, OP_LessOrEqual, ahead, number(a, DT_I32, (double)right)));
	if (left >= 0)
		y = both(a, y, make2(a, OP_GreaterOrEqual, ahead, number(a, DT_I32, -(double)left)));
	return y;
}

/* The mask with axes for heads as the scores have them. */
static val_id mask_of(struct attention *a)
{
	val_id v = rw_in(a->rw, a->n, MASK);
	const struct type *t = v ? rw_type(a->rw, v) : NULL;
	int64_t d[RANK_MAX], shape[5];

	if (!v || !a->shared || t->rank < 3)
		return v;
	bool each = !is_one(a, t->dims[t->rank - 3]);
	if (!each && (a->single || t->rank < 4))
		return v;
	if (!each)
		return unsqueeze(a, v, 1);
	if (a->single && t->rank == 3)
		return reshape(a, v, 3, (int64_t[]){a->groups, a->heads / a->groups, -1});
	if (a->single)
		return reshape(a, v, 4, (int64_t[]){0, a->groups, a->heads / a->groups, -1});
	type_dims(a->m, t, d);
	shape[0] = t->rank == 4 ? d[0] : 1;
	shape[1] = a->groups;
	shape[2] = a->heads / a->groups;
	shape[3] = d[t->rank - 2];
	shape[4] = d[t->rank - 1];
	return reshape(a, v, 5, shape);
}

/* What is added to the scores, 0 if nothing; *none: there may be queries that see no key. */
static val_id bias_of(struct attention *a, bool *none)
{
	val_id mask = mask_of(a), sees = seen(a, none), infinity = number(a, a->real, -INFINITY);
	enum dtype t = mask ? rw_type(a->rw, rw_in(a->rw, a->n, MASK))->dtype : DT_NONE;

	if (!mask && !sees)
		return 0;
	*none = *none || mask;
	if (t == DT_BOOL)
		return make3(a, OP_Where, both(a, sees, mask), number(a, a->real, 0), infinity);
	if (mask && t != a->real)
		mask = cast(a, mask, a->real);
	return sees ? make3(a, OP_Where, sees, mask ? mask : number(a, a->real, 0), infinity) : mask;
}

/* ---- the whole ---- */

/* scale * q * k, bent by the cap. */
static val_id scores_of(struct attention *a, val_id q, val_id k)
{
	const struct node *n = node(a->m, a->n);
	bool scale = attr_find(n, "scale") != NULL;
	double cap = attr_f(n, "softcap");
	val_id s = make2(a, OP_MatMul, q, k);

	s = make2(a, OP_Mul, s, number(a, a->real, scale ? attr_f(n, "scale") : 1 / sqrt((double)a->size)));
	if (cap > 0) {
		s = make1(a, OP_Tanh, make2(a, OP_Mul, s, number(a, a->real, 1 / cap)));
		s = make2(a, OP_Mul, s, number(a, a->real, cap));
	}
	return s;
}

/* Zero for a query that sees no key: its largest bias is -infinity. */
static val_id without_blind(struct attention *a, val_id y, val_id bias)
{
	val_id most = make2(a, OP_ReduceMax, bias, rw_constant_ints(a->rw, 1, (int64_t[]){-1}));

	return make3(a, OP_Where, make2(a, OP_Equal, most, number(a, a->real, -INFINITY)), number(a, a->real, 0), y);
}

/* Rows as the node's result has them. */
static val_id result_of(struct attention *a, val_id y)
{
	if (a->type != a->real)
		y = cast(a, y, a->type);
	if (a->single)
		return a->flat ? reshape(a, y, 3, (int64_t[]){0, 1, -1}) : reshape(a, y, 4, (int64_t[]){0, a->heads, 1, -1});
	if (!a->flat)
		return a->shared ? reshape(a, y, 4, (int64_t[]){0, a->heads, -1, a->vsize}) : y;
	y = a->shared ? transpose(a, y, 5, (int64_t[]){0, 3, 1, 2, 4}) : transpose(a, y, 4, (int64_t[]){0, 2, 1, 3});
	return reshape(a, y, 3, (int64_t[]){0, 0, -1});
}

/* Result k is `rows`, which may be an input. */
static void present(struct attention *a, uint32_t k, val_id rows)
{
	const struct node *n = node(a->m, a->n);

	if (k < n->nout && n->out[k])
		rw_replace(a->rw, n->out[k], val(a->m, rows)->kind == VAL_NODE ? rows : make1(a, OP_Identity, rows));
}

static const char *expand(struct rewrite *rw, node_id n)
{
	struct attention a = {.rw = rw, .m = rw_module(rw), .n = n};
	const char *why = why_not(&a);
	bool none;

	if (why)
		return why;
	val_id k = all_rows(&a, KEY), v = all_rows(&a, VALUE);
	val_id s = scores_of(&a, queries_of(&a), factor(&a, KEY, k)), bias = bias_of(&a, &none);
	s = bias ? make2(&a, OP_Add, s, bias) : s;
	val_id y = make2(&a, OP_MatMul, with_int(&a, make1(&a, OP_Softmax, s), "axis", -1), factor(&a, VALUE, v));
	if (none && bias)
		y = without_blind(&a, y, bias);
	present(&a, 1, k);
	present(&a, 2, v);
	rw_replace(rw, node(a.m, n)->out[0], result_of(&a, y));
	return NULL;
}

static const struct rule rule_attention = {"attention", OP_Attention, expand, "Attention becomes MatMul, Softmax, MatMul", MEASURE_WORK};

void expand_attentions(struct module *m, const struct pass_ctx *c)
{
	struct rule_run run = {.rule = &rule_attention};

	rewrite_module(m, &run, 1, c, false);
	if (run.applied)
		infer_module(m, NULL);
}
