/* Contents of constants of which a task has only the type: the same numbers on every machine, and harmless ones. */
#include <math.h>
#include <string.h>
#include "op/rules.h"
#include "op/task_impl.h"

/* What an operand of an operator may hold. */
struct contents {
	bool positive;  /* else results may be infinite or NaN */
	double scale;   /* standard deviation of normal numbers */
	int64_t lo, hi; /* integers */
	double centre;  /* not 0: numbers around this, */
	double spread;  /* as far away as this */
	int64_t reach;  /* not 0: codes from -reach to reach */
};

/* Operands that must not be negative or zero: bit i is operand i. */
static const uint16_t positive_column[OP_COUNT] = {
	[OP_BatchNormalization] = 1 << 4,
	[OP_DequantizeLinear] = 1 << 1,
	[OP_Div] = 1 << 1,
	[OP_Log] = 1,
	[OP_Mod] = 1 << 1,
	[OP_Pow] = 1,
	[OP_QLinearConv] = 1 << 1 | 1 << 4 | 1 << 6,
	[OP_QLinearMatMul] = 1 << 1 | 1 << 4 | 1 << 6,
	[OP_QuantizeLinear] = 1 << 1,
	[OP_Reciprocal] = 1,
	[OP_ReduceLogSum] = 1,
	[OP_Resize] = 1 << 2,
	[OP_Sqrt] = 1,
	[OP_Upsample] = 1 << 1,
};

bool operand_positive(enum opcode op, uint32_t operand) { return operand < 16 && positive_column[op] >> operand & 1; }

/* How many products with elements of this operand are summed for one result. */
static double fan_in(const struct node *n, uint32_t operand, const struct tensor *x)
{
	bool weights = operand == (n->op == OP_QLinearConv ? 3 : 1);
	int r = x->rank;

	if (op_is(n->op,
		  OP_RECURRENT)) /* smaller, as the steps repeat: else the state is chaotic, and rounding errors grow from step to step */
		return (operand == 1 || operand == 2) && r == 3 ? (operand == 2 ? 3 : 1) * (double)x->dims[2] : 1;
	switch (n->op) {
	case OP_Conv:
	case OP_ConvInteger:
	case OP_QLinearConv: return weights && r > 1 && x->dims[0] ? (double)tensor_count(x) / (double)x->dims[0] : 1;
	case OP_ConvTranspose: return weights && r > 1 && x->dims[1] ? (double)tensor_count(x) / (double)x->dims[1] : 1;
	case OP_MatMulInteger:
	case OP_MatMul: return r < 2 ? r ? (double)x->dims[0] : 1 : (double)x->dims[operand ? r - 2 : r - 1];
	case OP_Gemm:
		if (operand > 1 || r != 2)
			return 1;
		return (double)x->dims[(attr_i(n, operand ? "transB" : "transA") != 0) == (operand == 1)];
	default: return 1;
	}
}

/* The largest index that an integer operand may hold, if it is one. */
static int64_t highest_index(struct module *m, const struct node *n, uint32_t operand)
{
	int64_t dims[RANK_MAX], axis = attr_i(n, "axis");
	const struct type *t = &val(m, n->in[0])->type;

	if ((n->op != OP_Gather && n->op != OP_GatherElements) || operand != 1)
		return op_is(n->op, OP_ELEMENTWISE) ? 1 : 0;
	if (!type_static(m, t) || axis < -t->rank || axis >= t->rank)
		return 0;
	type_dims(m, t, dims);
	int64_t extent = dims[axis < 0 ? axis + t->rank : axis];
	return extent > 0 ? extent - 1 : 0;
}

static void ask(struct contents *c, struct module *m, const struct node *n, uint32_t operand, const struct tensor *x)
{
	double scale = 1 / sqrt(fmax(fan_in(n, operand, x), 1));
	int64_t hi = highest_index(m, n, operand);

	c->positive |= operand_positive(n->op, operand);
	c->scale = fmin(c->scale, scale);
	if (n->op == OP_QLinearConv && operand == 8)
		c->lo = -512, c->hi = 511;
	else
		c->hi = hi < c->hi ? hi : c->hi;
}

/* A sum of four uniform numbers: nearly normal, without any function of libm, which differs between machines. */
static double bell(struct rng *r)
{
	uint64_t u = rng_u64(r);
	double sum = (double)(u & 0xffff) + (double)(u >> 16 & 0xffff) + (double)(u >> 32 & 0xffff) + (double)(u >> 48);

	return (sum - 131070.0) * (1.7320508075688772 / 65536.0);
}

static void fill(struct tensor *x, const struct contents *c, struct rng *r)
{
	int64_t n = tensor_count(x);
	double scale = c->scale;

	if (c->centre != 0) {
		for (int64_t i = 0; i < n; i++)
			tensor_set(x, i, c->centre + c->spread * ((double)(rng_u64(r) >> 48) / 32768.0 - 1));
	} else if (x->dtype == DT_F32 && !c->positive) {
		float *p = (float *)x->data;
		for (int64_t i = 0; i < n; i++)
			p[i] = (float)(bell(r) * scale);
	} else if (!dtype_is_int(x->dtype) && x->dtype != DT_BOOL) {
		for (int64_t i = 0; i < n; i++)
			tensor_set(x, i, c->positive ? 0.25 + 1.0 / 65536 + (double)(rng_u64(r) >> 48) / 65537.0 : bell(r) * scale);
	} else {
		bool small = x->dtype == DT_I8 || x->dtype == DT_U8, is_bool = x->dtype == DT_BOOL;
		int64_t lo = x->dtype == DT_I8 ? -128 : c->lo, hi = small ? lo + 255 : is_bool ? 1 : c->hi;
		if (c->reach && x->dtype == DT_I8)
			lo = -c->reach, hi = c->reach;
		if (c->positive && lo < 1)
			lo = 1, hi = hi > 1 ? hi : 1;
		for (int64_t i = 0; i < n; i++) {
			int64_t v = rng_range(r, lo, hi);
			store_i(x, i, 1, &v);
		}
	}
}

/* ---- what is quantised ---- */

/* The way from a sum of products of codes to where it is quantised. */
struct quantised {
	const struct node *product;
	val_id factor, addend; /* constants, of a type only; 0: there are none */
	double by;             /* product of the factors that are known */
};

static bool number(struct module *m, const bool *by_type, val_id v, double *c)
{
	if (!v || val(m, v)->kind != VAL_CONST || by_type[v] || tensor_count(val(m, v)->tensor) != 1)
		return false;
	tensor_data(m, val(m, v)->tensor);
	*c = tensor_get(val(m, v)->tensor, 0);
	return true;
}

/* One step back from v towards the product; 0: v is the product, or something else. */
static val_id step_up(struct module *m, const bool *by_type, val_id v, struct quantised *q)
{
	const struct node *n = val(m, v)->kind == VAL_NODE ? node(m, val(m, v)->def) : NULL;
	double c;

	if (n && (n->op == OP_MatMulInteger || n->op == OP_ConvInteger))
		q->product = n;
	if (!n || q->product || (n->op != OP_Relu && n->op != OP_Clip && n->op != OP_Cast && n->op != OP_Add && n->op != OP_Mul))
		return 0;
	if (n->op == OP_Add && val(m, n->in[1])->kind == VAL_CONST && by_type[n->in[1]])
		q->addend = n->in[1];
	if (n->op == OP_Mul && val(m, n->in[1])->kind == VAL_CONST && by_type[n->in[1]])
		q->factor = n->in[1];
	else if (n->op == OP_Mul && number(m, by_type, n->in[1], &c))
		q->by *= fabs(c);
	return n->in[0];
}

/* The standard deviation of the product's sums, if all codes are equally likely. */
static double spread_of(struct module *m, const bool *by_type, const struct node *product)
{
	const struct type *w = &val(m, product->in[1])->type;
	int64_t dims[RANK_MAX];
	double zero = 0;

	if (!type_dims(m, w, dims))
		return 1;
	double terms = fan_in(product, 1, &(struct tensor){.rank = w->rank, .dims = dims});

	if (product->nin > 2)
		number(m, by_type, product->in[2], &zero);
	double far = val(m, product->in[0])->type.dtype == DT_U8 ? zero - 127.5 : zero;
	return sqrt(terms * (74.0 * 74 + far * far)) * 74;
}

/* Chooses factors, addends and weights that give results in the middle of their type. */
static void ask_quantised(struct contents *c, struct module *m, const bool *by_type, const struct node *n)
{
	struct quantised q = {.by = 1};
	double scale, zero = 0, third = 50;

	if (n->op != OP_QuantizeLinear || !number(m, by_type, n->in[1], &scale))
		return;
	if (n->nin > 2)
		number(m, by_type, n->in[2], &zero);
	for (val_id v = n->in[0]; v; v = step_up(m, by_type, v, &q))
		;
	if (!q.product)
		return;
	double far = spread_of(m, by_type, q.product) * q.by;
	val_id w = q.product->in[1];
	if (q.addend) {
		bool is_signed = n->nin > 2 && n->in[2] && dtype_is_signed(val(m, n->in[2])->type.dtype);
		double middle = is_signed ? -zero : 127.5 - zero;
		c[q.addend].centre = scale * (middle != 0 ? middle : 1);
		c[q.addend].spread = scale * 20;
	}
	if (q.factor) {
		c[q.factor].centre = third * scale / far;
		c[q.factor].spread = c[q.factor].centre / 2;
	} else if (val(m, w)->kind == VAL_CONST && by_type[w] && far > third * scale) {
		c[w].reach = (int64_t)fmax(1, 127 * third * scale / far);
	}
}

void task_fill(struct module *m, graph_id body, const bool *by_type, uint64_t seed)
{
	struct contents *c = xcalloc(m->values.n, sizeof *c);
	uint64_t number = 0;

	for (val_id v = 1; v < m->values.n; v++)
		c[v] = (struct contents){.scale = 1, .hi = INT64_MAX};
	for (size_t i = 0; i < graph(m, body)->nodes.n; i++) {
		const struct node *n = node(m, graph(m, body)->nodes.a[i]);
		for (uint32_t k = 0; k < n->nin; k++)
			if (n->in[k] && val(m, n->in[k])->kind == VAL_CONST)
				ask(&c[n->in[k]], m, n, k, val(m, n->in[k])->tensor);
		ask_quantised(c, m, by_type, n);
	}
	for (val_id v = 1; v < m->values.n; v++) {
		if (!by_type[v])
			continue;
		struct rng r = {(seed + 1) * 0x9e3779b97f4a7c15u ^ ++number * 0xd1342543de82ef95u};
		fill(val(m, v)->tensor, &c[v], &r);
	}
	free(c);
}
