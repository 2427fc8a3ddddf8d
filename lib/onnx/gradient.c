/* Gradient of ai.onnx.preview.training: the nodes from its xs and zs to its y, differentiated backwards, in ONNX's words. */
#include <math.h>
#include "onnx/contrib.h"

struct gradient {
	struct contrib *x;
	size_t nvalues, nnodes; /* of the module and the graph, before anything was made */
	val_id *is;             /* what stands for a value: itself, an operand of the Gradient, a copy that such an operand leads to */
	val_id *sum;            /* derivatives by a value so far, 0: none */
	bool *needed, *active;  /* y depends on this value; it depends on one of xs */
};

/* The node at hand: its operands and its result as they stand, the derivative by the result. */
struct chain {
	struct gradient *d;
	const struct node *n;
	val_id a, b, y, g;
	enum dtype t; /* of the result */
};

static struct contrib *maker(const struct chain *c) { return c->d->x; }
static val_id one(const struct chain *c) { return contrib_scalar(maker(c), c->t, 1); }
static val_id neg(const struct chain *c, val_id v) { return un(maker(c), OP_Neg, v); }
static val_id mul(const struct chain *c, val_id a, val_id b) { return bin(maker(c), OP_Mul, a, b); }
static val_id over(const struct chain *c, val_id a, val_id b) { return bin(maker(c), OP_Div, a, b); }
static val_id less(const struct chain *c, val_id a, val_id b) { return bin(maker(c), OP_Sub, a, b); }

/* ---- rules: the derivative by operand i ---- */

static val_id rule_add(struct chain *c, int i) { return c->g; }
static val_id rule_sub(struct chain *c, int i) { return i ? neg(c, c->g) : c->g; }
static val_id rule_mul(struct chain *c, int i) { return mul(c, c->g, i ? c->a : c->b); }
static val_id rule_div(struct chain *c, int i) { return i ? neg(c, over(c, mul(c, c->g, c->y), c->b)) : over(c, c->g, c->b); }
static val_id rule_neg(struct chain *c, int i) { return neg(c, c->g); }
static val_id rule_exp(struct chain *c, int i) { return mul(c, c->g, c->y); }
static val_id rule_log(struct chain *c, int i) { return over(c, c->g, c->a); }
static val_id rule_sqrt(struct chain *c, int i) { return over(c, c->g, bin(maker(c), OP_Add, c->y, c->y)); }
static val_id rule_reciprocal(struct chain *c, int i) { return neg(c, mul(c, c->g, mul(c, c->y, c->y))); }
static val_id rule_tanh(struct chain *c, int i) { return mul(c, c->g, less(c, one(c), mul(c, c->y, c->y))); }
static val_id rule_sigmoid(struct chain *c, int i) { return mul(c, c->g, mul(c, c->y, less(c, one(c), c->y))); }
static val_id rule_sin(struct chain *c, int i) { return mul(c, c->g, un(maker(c), OP_Cos, c->a)); }
static val_id rule_cos(struct chain *c, int i) { return neg(c, mul(c, c->g, un(maker(c), OP_Sin, c->a))); }
static val_id rule_abs(struct chain *c, int i) { return mul(c, c->g, un(maker(c), OP_Sign, c->a)); }

static val_id rule_relu(struct chain *c, int i)
{
	val_id zero = contrib_scalar(maker(c), c->t, 0);

	return make(maker(c), OP_Where, 3, (val_id[]){bin(maker(c), OP_Greater, c->a, zero), c->g, zero});
}

static val_id rule_pow(struct chain *c, int i)
{
	if (i)
		return mul(c, c->g, mul(c, c->y, un(maker(c), OP_Log, c->a)));
	return mul(c, c->g, mul(c, c->b, bin(maker(c), OP_Pow, c->a, less(c, c->b, one(c)))));
}

static val_id turned(const struct chain *c, val_id v)
{
	int rank = contrib_rank(maker(c), v);
	int64_t perm[RANK_MAX];
	val_id y;

	if (rank < 2)
		return 0;
	for (int k = 0; k < rank; k++)
		perm[k] = k < rank - 2 ? k : 2 * rank - 3 - k;
	y = un(maker(c), OP_Transpose, v);
	attr_set_ints(maker(c)->m, made(maker(c), y), "perm", rank, perm);
	return y;
}

static val_id rule_matmul(struct chain *c, int i)
{
	val_id a = turned(c, c->a), b = turned(c, c->b);

	if (!a || !b)
		return 0;
	return i ? bin(maker(c), OP_MatMul, a, c->g) : bin(maker(c), OP_MatMul, c->g, b);
}

static val_id rule_shape(struct chain *c, int i) { return i ? 0 : contrib_shaped_like(maker(c), OP_Reshape, c->g, c->a); }

static val_id rule_sum(struct chain *c, int i)
{
	val_id g = c->g;

	if (i || (attr_i(c->n, "noop_with_empty_axes") && !c->b))
		return i ? 0 : g;
	if (!attr_i(c->n, "keepdims") && c->b)
		g = bin(maker(c), OP_Unsqueeze, g, c->b);
	return contrib_shaped_like(maker(c), OP_Expand, g, c->a);
}

static val_id rule_mean(struct chain *c, int i)
{
	val_id g = rule_sum(c, i);

	if (!g)
		return 0;
	return mul(c, g,
		   over(c, contrib_cast(maker(c), un(maker(c), OP_Size, c->y), c->t),
			contrib_cast(maker(c), un(maker(c), OP_Size, c->a), c->t)));
}

static const struct {
	enum opcode op;
	val_id (*by)(struct chain *, int i); /* 0: not known */
} rules[] = {
	{OP_Abs, rule_abs},
	{OP_Add, rule_add},
	{OP_Cos, rule_cos},
	{OP_Div, rule_div},
	{OP_Exp, rule_exp},
	{OP_Flatten, rule_shape},
	{OP_Identity, rule_add},
	{OP_Log, rule_log},
	{OP_MatMul, rule_matmul},
	{OP_Mul, rule_mul},
	{OP_Neg, rule_neg},
	{OP_Pow, rule_pow},
	{OP_Reciprocal, rule_reciprocal},
	{OP_ReduceMean, rule_mean},
	{OP_ReduceSum, rule_sum},
	{OP_Relu, rule_relu},
	{OP_Reshape, rule_shape},
	{OP_Sigmoid, rule_sigmoid},
	{OP_Sin, rule_sin},
	{OP_Sqrt, rule_sqrt},
	{OP_Squeeze, rule_shape},
	{OP_Sub, rule_sub},
	{OP_Sum, rule_add},
	{OP_Tanh, rule_tanh},
	{OP_Unsqueeze, rule_shape},
};

/* ---- through the graph ---- */

static noreturn void refuse(const struct gradient *d, const struct node *n)
{
	import_unsupported(d->x->c, "no derivative of %s, here of '%s'", node_op_name(n),
			   n->nout && n->out[0] ? sym_str(val(d->x->m, n->out[0])->name) : "");
}

/* g summed over the axes along which v was broadcast. 0: the extents are not known. */
static val_id as_large(struct contrib *x, val_id g, val_id v)
{
	struct type t = *contrib_type(x, v), big = *contrib_type(x, g);
	int64_t axes[RANK_MAX], one, dims[RANK_MAX];
	int n = 0, more = big.rank - t.rank;

	if (t.rank < 0 || big.rank < t.rank)
		return 0;
	for (int k = 0; k < big.rank; k++) {
		bool known = k < more || (t.dims[k - more] != POLY_UNKNOWN && big.dims[k] != POLY_UNKNOWN);
		if (!known)
			return 0;
		if (k >= more && t.dims[k - more] == big.dims[k])
			continue;
		if (k >= more && !(poly_is_const(x->m->dims, t.dims[k - more], &one) && one == 1))
			return 0;
		axes[n++] = k;
	}
	if (!n)
		return g;
	g = bin(x, OP_ReduceSum, g, contrib_ints(x, n, axes));
	for (int k = 0; k < more; k++)
		dims[k] = k;
	return more ? bin(x, OP_Squeeze, g, contrib_ints(x, more, dims)) : g;
}

/* Operands of the Gradient stand for the values that xs and zs name. */
static void read_names(struct gradient *d, const char *attr, uint32_t first)
{
	struct contrib *x = d->x;
	const struct attr *a = attr_find(self(x), attr);
	val_id v;

	for (uint32_t i = 0; a && a->kind == ATTR_STRS && i < a->n; i++) {
		if (!operand(x, first + i) || !scope_defined_here(x->c, a->u.strs[i], &v) || !v || v >= d->nvalues)
			import_unsupported(x->c, "'%s' is not a value of this graph with an operand", sym_str(a->u.strs[i]));
		d->is[v] = operand(x, first + i);
		d->active[v] = !first;
	}
}

static node_id at(const struct gradient *d, size_t k) { return graph(d->x->m, self(d->x)->graph)->nodes.a[k]; }

/* Marks what y depends on, up to xs and zs. */
static void mark_needed(struct gradient *d)
{
	struct module *m = d->x->m;

	for (size_t k = d->nnodes; k-- > 0;) {
		const struct node *n = node(m, at(d, k));
		bool needed = false;
		for (uint32_t i = 0; i < n->nout; i++)
			needed |= n->out[i] && d->needed[n->out[i]] && !d->is[n->out[i]];
		for (uint32_t i = 0; needed && i < n->nin; i++)
			if (n->in[i])
				d->needed[n->in[i]] = true;
	}
}

static val_id stands(const struct gradient *d, val_id v) { return v && d->is[v] ? d->is[v] : v; }

/* The node again, of what its operands stand for, if one of them is another value. */
static void again(struct gradient *d, node_id id)
{
	struct module *m = d->x->m;
	uint32_t nin = node(m, id)->nin;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 1);
	bool other = false;

	for (uint32_t i = 0; i < nin; i++) {
		in[i] = stands(d, node(m, id)->in[i]);
		other |= in[i] != node(m, id)->in[i];
	}
	if (!other)
		return;
	node_id copy = node_new(m, self(d->x)->graph, node(m, id)->op, (int)nin, in, (int)node(m, id)->nout);
	node(m, copy)->attr = node(m, id)->attr;
	node(m, copy)->nattr = node(m, id)->nattr;
	for (uint32_t i = 0; i < node(m, id)->nout; i++)
		if (node(m, id)->out[i])
			d->is[node(m, id)->out[i]] = node(m, copy)->out[i];
}

/* The nodes in between, forwards: which depend on xs, and those again that depend on other values than the graph has. */
static void run_forward(struct gradient *d)
{
	struct module *m = d->x->m;

	for (size_t k = 0; k < d->nnodes; k++) {
		const struct node *n = node(m, at(d, k));
		bool needed = false, active = false;
		for (uint32_t i = 0; i < n->nout; i++)
			needed |= n->out[i] && d->needed[n->out[i]] && !d->is[n->out[i]];
		for (uint32_t i = 0; needed && i < n->nin; i++)
			active |= n->in[i] && d->active[n->in[i]];
		if (!needed)
			continue;
		for (uint32_t i = 0; active && i < n->nout; i++)
			if (n->out[i])
				d->active[n->out[i]] = true;
		for (size_t l = 0; active && l < d->x->c->late.n; l++)
			if (d->x->c->late.a[l].node == at(d, k))
				refuse(d, n);
		again(d, at(d, k));
	}
}

static void run_back(struct gradient *d, node_id id)
{
	struct contrib *x = d->x;
	struct node n = *node(x->m, id);
	struct chain c = {.d = d, .n = &n};
	size_t r = 0;

	if (!n.nout || !n.out[0] || !d->sum[n.out[0]] || !d->active[n.out[0]])
		return;
	while (r < sizeof rules / sizeof *rules && rules[r].op != n.op)
		r++;
	c.a = n.nin > 0 ? stands(d, n.in[0]) : 0;
	c.b = n.nin > 1 ? stands(d, n.in[1]) : 0;
	c.y = stands(d, n.out[0]);
	c.g = d->sum[n.out[0]];
	c.t = contrib_type(x, c.y)->dtype;
	for (uint32_t i = 0; i < n.nin; i++) {
		if (!n.in[i] || !d->active[n.in[i]])
			continue;
		bool floats = c.t == DT_F32 || c.t == DT_F64 || c.t == DT_F16;
		val_id g = r < sizeof rules / sizeof *rules && floats ? rules[r].by(&c, (int)i) : 0;
		g = g ? as_large(x, g, stands(d, n.in[i])) : 0;
		if (!g)
			refuse(d, &n);
		val_id *sum = &d->sum[n.in[i]];
		*sum = *sum ? bin(x, OP_Add, *sum, g) : g;
	}
}

static void put_results(struct gradient *d, const struct attr *xs)
{
	struct contrib *x = d->x;
	val_id v = 0;

	for (uint32_t i = 0; i < xs->n; i++) {
		if (!wants(x, i))
			continue;
		scope_defined_here(x->c, xs->u.strs[i], &v);
		if (d->sum[v])
			result_is(x, i, un(x, OP_Identity, d->sum[v]));
		else
			result_is(x, i, contrib_filled_like(x, operand(x, i), contrib_type(x, operand(x, i))->dtype, 0));
	}
}

bool gradient_expand(struct contrib *x)
{
	struct module *m = x->m;
	struct gradient d = {.x = x, .nvalues = m->values.n, .nnodes = graph(m, self(x)->graph)->nodes.n};
	const struct attr *xs = attr_find(self(x), "xs");
	const char *name = attr_str(self(x), "y", "");
	val_id y = 0;

	if (!xs || xs->kind != ATTR_STRS || self(x)->nout > xs->n)
		import_die(x->c, "there are %u results, and no 'xs' for each", self(x)->nout);
	if (!scope_defined_here(x->c, intern(name), &y) || !y || val(m, y)->kind == VAL_CONST || x->c->opset < OPSET_NUMPY)
		import_unsupported(x->c, "'%s' is no value of this graph that is defined before, or its opset is older than %d", name,
				   OPSET_NUMPY);
	d.is = ARENA_ARRAY(&m->arena, val_id, d.nvalues);
	d.sum = ARENA_ARRAY(&m->arena, val_id, d.nvalues);
	d.needed = ARENA_ARRAY(&m->arena, bool, d.nvalues);
	d.active = ARENA_ARRAY(&m->arena, bool, d.nvalues);
	read_names(&d, "xs", 0);
	read_names(&d, "zs", xs->n);
	d.needed[y] = true;
	mark_needed(&d);
	run_forward(&d);
	enum dtype t = contrib_type(x, stands(&d, y))->dtype;
	if (t != DT_F32 && t != DT_F64 && t != DT_F16)
		import_unsupported(x->c, "'%s' is not of floats of a known type", name);
	if (d.active[y])
		d.sum[y] = contrib_filled_like(x, stands(&d, y), t, 1);
	for (size_t k = d.nnodes; k-- > 0;)
		run_back(&d, at(&d, k));
	put_results(&d, xs);
	return true;
}
