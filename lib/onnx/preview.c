/* Operators of the domains ai.onnx.preview and ai.onnx.preview.training in ONNX's words: FlexAttention, and steps of optimizers. */
#include <math.h>
#include "onnx/contrib.h"

static val_id add(struct contrib *x, val_id a, val_id b) { return bin(x, OP_Add, a, b); }
static val_id mul(struct contrib *x, val_id a, val_id b) { return bin(x, OP_Mul, a, b); }
static val_id sub(struct contrib *x, val_id a, val_id b) { return bin(x, OP_Sub, a, b); }
static val_id quotient(struct contrib *x, val_id a, val_id b) { return bin(x, OP_Div, a, b); }
static val_id root(struct contrib *x, val_id a) { return un(x, OP_Sqrt, a); }

/* ---- FlexAttention ---- */

/* v after the graph that attribute `name` holds, if there is one. What it captures are the operands behind the first three. */
static val_id modified(struct contrib *x, const char *name, val_id v)
{
	graph_id g = attr_graph(self(x), name);
	uint32_t captured = self(x)->nin > 3 ? self(x)->nin - 3 : 0;
	val_id *in = ARENA_ARRAY(&x->m->arena, val_id, captured + 1), y;

	if (!g)
		return v;
	if (graph(x->m, g)->in.n != captured + 1 || graph(x->m, g)->out.n != 1)
		import_die(x->c, "the graph '%s' takes one operand and gives one result", name);
	in[0] = v;
	for (uint32_t i = 0; i < captured; i++)
		in[i + 1] = operand(x, i + 3);
	y = make(x, OP_PartitionedCall, (int)captured + 1, in);
	attr_set_graph(x->m, made(x, y), "graph", g);
	return y;
}

static val_id scale_of(struct contrib *x, val_id q, enum dtype t)
{
	int64_t n;
	const struct attr *a = attr_find(self(x), "scale");

	if (a)
		return contrib_scalar(x, t, attr_float(self(x), "scale", 1));
	if (contrib_extent(x, q, 3, &n) && n > 0)
		return contrib_scalar(x, t, 1 / sqrt((double)n));
	return un(x, OP_Reciprocal, root(x, contrib_cast(x, contrib_size(x, q, 3), t)));
}

/* Heads of queries in groups, one for each head of keys: [N, Hkv, H / Hkv, L, E]. */
static val_id grouped(struct contrib *x, val_id q, val_id k)
{
	val_id heads = contrib_size(x, k, 1), in[5] = {contrib_size(x, q, 0), heads, 0, contrib_size(x, q, 2), contrib_size(x, q, 3)};

	in[2] = quotient(x, contrib_size(x, q, 1), heads);
	return bin(x, OP_Reshape, q, contrib_joined(x, 5, in, 0));
}

static bool same_heads(struct contrib *x, val_id q, val_id k)
{
	int64_t a, b;

	return contrib_extent(x, q, 1, &a) && contrib_extent(x, k, 1, &b) && a == b;
}

/* a times b, for each head; groups of heads of a where b has fewer. */
static val_id product(struct contrib *x, val_id a, val_id b, bool same)
{
	val_id in[4], axis, y;

	if (same)
		return bin(x, OP_MatMul, a, b);
	axis = contrib_ints(x, 1, (int64_t[]){2});
	y = bin(x, OP_MatMul, grouped(x, a, b), bin(x, OP_Unsqueeze, b, axis));
	for (int i = 0; i < 4; i++)
		in[i] = contrib_size(x, i < 3 ? a : b, i);
	return bin(x, OP_Reshape, y, contrib_joined(x, 4, in, 0));
}

static bool narrow(enum dtype t) { return t == DT_F16 || t == DT_BF16; }

static bool flex_attention(struct contrib *x)
{
	val_id q = operand(x, 0), k = operand(x, 1), v = operand(x, 2), s;
	enum dtype type, within;

	if (!q || !k || !v)
		return false;
	type = contrib_type(x, q)->dtype;
	if (type != DT_F32 && type != DT_F64 && !narrow(type))
		return false;
	within = dtype_from_onnx((int)attr_int(self(x), "softmax_precision", dtype_to_onnx(type == DT_F64 ? DT_F64 : DT_F32)));
	if (within != DT_F32 && within != DT_F64 && !narrow(within))
		import_die(x->c, "attribute 'softmax_precision' is no type of floats");
	bool same = same_heads(x, q, k), wide = narrow(type) && !narrow(within);
	s = wide ? contrib_cast(x, k, within) : k;
	s = un(x, OP_Transpose, s);
	attr_set_ints(x->m, made(x, s), "perm", 4, (int64_t[]){0, 1, 3, 2});
	s = product(x, wide ? contrib_cast(x, q, within) : q, s, same);
	s = mul(x, s, scale_of(x, q, wide ? within : type));
	s = modified(x, "score_mod", contrib_cast(x, s, within));
	s = modified(x, "prob_mod", un(x, OP_Softmax, s));
	return done(x, product(x, contrib_cast(x, s, type), v, same));
}

/* ---- optimizers ---- */

/* One step for tensor i of n: operands are R and T, then all X, all gradients, all of each state. */
struct step {
	enum dtype t;
	uint32_t i, n;
	val_id rate, count; /* R, and T as a number of X's type */
	val_id later;       /* is T more than 0? */
	val_id x, g;        /* g: with the gradient of half the squared norm */
};

static val_id constant(struct contrib *x, const struct step *s, double c) { return contrib_scalar(x, s->t, c); }
static val_id state(struct contrib *x, const struct step *s, uint32_t k) { return operand(x, 2 + (2 + k) * s->n + s->i); }
static double parameter(struct contrib *x, const char *name, float def) { return attr_float(self(x), name, def); }

/* Result k of tensor i, if it is wanted. */
static void put(struct contrib *x, const struct step *s, uint32_t k, val_id v)
{
	if (wants(x, k * s->n + s->i))
		result_is(x, k * s->n + s->i, un(x, OP_Identity, v));
}

static void adagrad(struct contrib *x, const struct step *s)
{
	val_id r = quotient(x, s->rate, add(x, constant(x, s, 1), mul(x, s->count, constant(x, s, parameter(x, "decay_factor", 0))))), h, d;

	h = add(x, state(x, s, 0), mul(x, s->g, s->g));
	d = add(x, root(x, h), constant(x, s, parameter(x, "epsilon", 1e-6f)));
	put(x, s, 0, sub(x, s->x, quotient(x, mul(x, r, s->g), d)));
	put(x, s, 1, h);
}

static void momentum(struct contrib *x, const struct step *s)
{
	val_id alpha = constant(x, s, parameter(x, "alpha", 0)), v, d;

	v = make(x, OP_Where, 3, (val_id[]){s->later, constant(x, s, parameter(x, "beta", 0)), constant(x, s, 1)});
	v = add(x, mul(x, alpha, state(x, s, 0)), mul(x, v, s->g));
	d = strcmp(attr_str(self(x), "mode", ""), "nesterov") ? v : add(x, s->g, mul(x, alpha, v));
	put(x, s, 0, sub(x, s->x, mul(x, s->rate, d)));
	put(x, s, 1, v);
}

/* 1 less the T-th power of c. */
static val_id decayed(struct contrib *x, const struct step *s, double c)
{
	return sub(x, constant(x, s, 1), bin(x, OP_Pow, constant(x, s, c), s->count));
}

static void adam(struct contrib *x, const struct step *s)
{
	double alpha = parameter(x, "alpha", 0.9f), beta = parameter(x, "beta", 0.999f), post = parameter(x, "norm_coefficient_post", 0);
	val_id v, h, r, y;

	v = add(x, mul(x, constant(x, s, alpha), state(x, s, 0)), mul(x, constant(x, s, 1 - alpha), s->g));
	h = add(x, mul(x, constant(x, s, beta), state(x, s, 1)), mul(x, constant(x, s, 1 - beta), mul(x, s->g, s->g)));
	r = quotient(x, mul(x, s->rate, root(x, decayed(x, s, beta))), decayed(x, s, alpha));
	r = make(x, OP_Where, 3, (val_id[]){s->later, r, s->rate});
	y = quotient(x, mul(x, r, v), add(x, root(x, h), constant(x, s, parameter(x, "epsilon", 1e-6f))));
	y = sub(x, s->x, y);
	put(x, s, 0, post != 0 ? mul(x, constant(x, s, 1 - post), y) : y);
	put(x, s, 1, v);
	put(x, s, 2, h);
}

/* An optimizer of so many states a tensor. */
static bool optimizer(struct contrib *x, uint32_t states, void (*one)(struct contrib *, const struct step *))
{
	uint32_t all = self(x)->nin - 2;
	struct step s = {.n = all / (2 + states)};

	if (self(x)->nin < 2 || !s.n || s.n * (2 + states) != all || self(x)->nout > s.n * (1 + states))
		import_die(x->c, "%u operands and %u results are not a tensor, its gradient and %u states each", self(x)->nin,
			   self(x)->nout, states);
	for (uint32_t i = 0; i < self(x)->nin; i++)
		if (!operand(x, i))
			import_die(x->c, "operand %u is not there", i);
	for (; s.i < s.n; s.i++) {
		s.x = operand(x, 2 + s.i);
		s.t = contrib_type(x, s.x)->dtype;
		if (s.t != DT_F32 && s.t != DT_F64)
			return false;
		s.rate = contrib_cast(x, operand(x, 0), s.t);
		s.count = contrib_cast(x, operand(x, 1), s.t);
		s.later = bin(x, OP_Greater, operand(x, 1), contrib_scalar(x, DT_I64, 0));
		s.g = add(x, mul(x, constant(x, &s, parameter(x, "norm_coefficient", 0)), s.x), operand(x, 2 + s.n + s.i));
		one(x, &s);
	}
	return true;
}

bool preview_expand(struct contrib *x)
{
	const char *name = sym_str(self(x)->optype);

	if (!strcmp(name, "FlexAttention"))
		return self(x)->nout == 1 && self(x)->out[0] && flex_attention(x);
	if (!strcmp(name, "Adagrad"))
		return optimizer(x, 1, adagrad);
	if (!strcmp(name, "Momentum"))
		return optimizer(x, 1, momentum);
	if (!strcmp(name, "Adam"))
		return optimizer(x, 2, adam);
	if (!strcmp(name, "Gradient"))
		return gradient_expand(x);
	return false;
}
