/* Operators about shapes, and those that make tensors from them: Shape, Size, Constant, Range, ... */
#include "native/shapes.h"
#include "op/native.h"
#include "op/rules.h"

/* ---- Shape, Size ---- */

static void shape_bounds(const struct node *n, int rank, int64_t *start, int64_t *end)
{
	*start = attr_i(n, "start");
	*end = attr_int(n, "end", rank);
	*start = *start < 0 ? *start + rank : *start;
	*end = *end < 0 ? *end + rank : *end;
	*start = *start < 0 ? 0 : *start > rank ? rank : *start;
	*end = *end < *start ? *start : *end > rank ? rank : *end;
}

static const char *shape_shape(struct infer *I)
{
	int rank = rule_rank(I, 0);
	int64_t start, end;
	dim *d = rule_dims(I, 1);
	poly *e;

	rule_out(I, 0, DT_I64, 1, d);
	if (rank == RANK_UNKNOWN)
		return NULL;
	shape_bounds(I->n, rank, &start, &end);
	d[0] = rule_const(I, end - start);
	if ((e = rule_known(I, 0, (int)(end - start))))
		memcpy(e, I->in[0].dims + start, sizeof *e * (size_t)(end - start));
	return NULL;
}

static const char *shape_size(struct infer *I)
{
	poly *e = rule_known(I, 0, 1);

	rule_out(I, 0, DT_I64, 0, NULL);
	if (e && rule_rank(I, 0) != RANK_UNKNOWN)
		e[0] = rule_product(I, I->in[0].dims, 0, I->in[0].rank);
	return NULL;
}

/* ---- Constant ---- */

static const char *shape_constant(struct infer *I)
{
	const struct attr *a = I->n->nattr ? &I->n->attr[0] : NULL;
	enum dtype t = a ? a->kind == ATTR_INT || a->kind == ATTR_INTS           ? DT_I64
			       : a->kind == ATTR_FLOAT || a->kind == ATTR_FLOATS ? DT_F32
										 : DT_STR
			 : DT_NONE;
	poly *e;

	if (!a)
		return "no value";
	if (a->kind == ATTR_TENSOR) {
		struct type ty = tensor_type(I->m, a->u.tensor);
		rule_out(I, 0, ty.dtype, ty.rank, ty.dims);
		return NULL;
	}
	if (a->kind == ATTR_INTS || a->kind == ATTR_FLOATS || a->kind == ATTR_STRS) {
		dim *d = rule_dims(I, 1);
		d[0] = rule_const(I, a->n);
		rule_out(I, 0, t, 1, d);
	} else {
		rule_out(I, 0, t, 0, NULL);
	}
	if (t == DT_I64 && (e = rule_known(I, 0, a->kind == ATTR_INT ? 1 : (int)a->n)))
		for (uint32_t i = 0; i < (a->kind == ATTR_INT ? 1 : a->n); i++)
			e[i] = rule_const(I, a->kind == ATTR_INT ? a->u.i : a->u.ints[i]);
	return NULL;
}

static const char *eval_constant(struct eval *e)
{
	const struct attr *a = e->n->nattr ? &e->n->attr[0] : NULL;
	struct tensor *y;

	if (!a)
		return "no value";
	switch (a->kind) {
	case ATTR_TENSOR:
		y = eval_out(e, 0, a->u.tensor->dtype, a->u.tensor->rank, a->u.tensor->dims);
		y->nbytes = a->u.tensor->nbytes;
		y->data = tensor_data(e->m, a->u.tensor);
		return NULL;
	case ATTR_INT: *(int64_t *)eval_out(e, 0, DT_I64, 0, NULL)->data = a->u.i; return NULL;
	case ATTR_FLOAT: *(float *)eval_out(e, 0, DT_F32, 0, NULL)->data = a->u.f; return NULL;
	case ATTR_INTS:
		y = eval_out(e, 0, DT_I64, 1, (int64_t[]){a->n});
		memcpy(tensor_bytes(y), a->u.ints, y->nbytes);
		return NULL;
	case ATTR_FLOATS:
		y = eval_out(e, 0, DT_F32, 1, (int64_t[]){a->n});
		memcpy(tensor_bytes(y), a->u.floats, y->nbytes);
		return NULL;
	default: return "no evaluator for such a value";
	}
}

/* ---- ConstantOfShape, EyeLike ---- */

static const char *shape_of_shape(struct infer *I)
{
	struct tensor *v = attr_tensor(I->n, "value");
	const struct known *k = &I->kin[0];
	enum dtype t = v ? v->dtype : DT_F32;
	int64_t c, fill = 0;
	poly *e;

	if (!k->yes) {
		int rank = rule_rank(I, 0) == 1 && poly_is_const(rule_polys(I), rule_dim(I, 0, 0), &c) && c <= RANK_MAX ? (int)c
															: RANK_UNKNOWN;
		rule_out(I, 0, t, rank, rank < 0 ? NULL : rule_dims(I, rank));
		return NULL;
	}
	dim *d = rule_dims(I, k->n);
	memcpy(d, k->e, sizeof *d * (size_t)k->n);
	rule_out(I, 0, t, k->n, d);
	c = type_count(I->m, &I->out[0]);
	if (c < 0 || c > KNOWN_MAX || !(dtype_is_int(t) || t == DT_BOOL) || (v && tensor_ints(I->m, v, &fill, 1) != 1) ||
	    !(e = rule_known(I, 0, (int)c)))
		return NULL;
	for (int i = 0; i < c; i++)
		e[i] = rule_fits(rule_polys(I), t, rule_const(I, fill));
	return NULL;
}

static const char *shape_eye(struct infer *I)
{
	int64_t t = attr_i(I->n, "dtype");

	rule_like(I, 0, 0);
	if (t)
		I->out[0].dtype = dtype_from_onnx((int)t);
	return NULL;
}

/* ---- Range ---- */

/* The extent of a Range of constants that need not be whole. */
static const char *real_range(struct infer *I, dim *extent)
{
	double v[3];

	for (uint32_t i = 0; i < 3; i++) {
		struct tensor *c = node_const(I->m, I->n, i), t;
		if (!c || !dtype_is_float(c->dtype) || tensor_count(c) != 1)
			return NULL;
		t = *c;
		t.data = tensor_data(I->m, c);
		v[i] = tensor_get(&t, 0);
	}
	if (v[2] == 0)
		return "the step is 0";
	double n = shapes_real(v);
	if (!(n < SHAPES_RANGE_MAX))
		return rule_why(I, "%.0f elements, at most %.0f are supported", n, SHAPES_RANGE_MAX);
	*extent = rule_const(I, n > 0 ? (int64_t)n : 0);
	return NULL;
}

static const char *shape_range(struct infer *I)
{
	struct polys *P = rule_polys(I);
	const struct known *s = &I->kin[0], *l = &I->kin[1], *st = &I->kin[2];
	dim *d = rule_dims(I, 1);
	int64_t start, limit, step, n;
	poly *e;

	rule_out(I, 0, I->in[0].dtype, 1, d);
	const char *why = real_range(I, &d[0]);
	if (why)
		return why;
	if (!st->yes || st->n != 1 || !poly_is_const(P, st->e[0], &step))
		return NULL;
	if (!step)
		return "the step is 0";
	if (!s->yes || !l->yes || s->n != 1 || l->n != 1 || step == INT64_MIN)
		return NULL;
	bool from = poly_is_const(P, s->e[0], &start);
	if (d[0]) {
		/* of constants that need not be whole: known already */
	} else if (from && poly_is_const(P, l->e[0], &limit)) {
		double count = shapes_count((__int128[]){start, limit, step});
		if (!(count < SHAPES_RANGE_MAX))
			return rule_why(I, "%.0f elements, at most %.0f are supported", count, SHAPES_RANGE_MAX);
		d[0] = rule_const(I, (int64_t)count);
	} else {
		d[0] = step > 0 ? poly_ceildiv(P, poly_sub(P, l->e[0], s->e[0]), step)
				: poly_ceildiv(P, poly_sub(P, s->e[0], l->e[0]), -step);
		d[0] = poly_max(P, d[0], rule_const(I, 0));
	}
	if (!poly_is_const(P, d[0], &n) || n > KNOWN_MAX || !(e = rule_known(I, 0, (int)n)))
		return NULL;
	for (int i = 0; i < n; i++)
		e[i] = from ? rule_const(I, (int64_t)((uint64_t)start + (uint64_t)step * (uint64_t)i)) : poly_addc(P, s->e[0], step * i);
	return NULL;
}

/* ---- random numbers: a shape, never an evaluator, since nothing here may depend on them ---- */

static const char *shape_random(struct infer *I)
{
	enum dtype t = dtype_from_onnx((int)attr_i(I->n, "dtype"));
	int n;
	const int64_t *shape = attr_ints(I->n, "shape", &n);
	enum dtype of = t ? t : I->n->nin ? I->in[0].dtype : DT_F32;

	if (of && !dtype_is_float(of) && (I->n->op != OP_Bernoulli || !(dtype_is_int(of) || of == DT_BOOL) || dtype_bits(of) < 8))
		return rule_why(I, "random numbers of type %s", dtype_name(of));

	if (I->n->nin) { /* like the operand */
		rule_like(I, 0, 0);
		I->out[0].dtype = t ? t : I->in[0].dtype;
		return NULL;
	}
	dim *d = rule_dims(I, n);
	for (int i = 0; i < n; i++)
		d[i] = rule_const(I, shape[i]);
	rule_out(I, 0, t ? t : DT_F32, n, d);
	return NULL;
}

const struct op ops_shape[] = {
	{OP_Shape, shape_shape, eval_native},          {OP_Size, shape_size, eval_native},
	{OP_Constant, shape_constant, eval_constant},  {OP_ConstantOfShape, shape_of_shape, eval_native},
	{OP_EyeLike, shape_eye, eval_native},          {OP_Range, shape_range, eval_native},
	{OP_RandomNormal, shape_random, eval_native},  {OP_RandomNormalLike, shape_random, eval_native},
	{OP_RandomUniform, shape_random, eval_native}, {OP_RandomUniformLike, shape_random, eval_native},
	{OP_Bernoulli, shape_random, eval_native},     {0},
};
