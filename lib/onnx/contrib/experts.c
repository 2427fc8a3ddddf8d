/* Mixtures of experts of com.microsoft: MoE and QMoE. Each token goes through the k experts that its router likes best. Each expert computes
 * the tokens that chose it, gathered in rows; its weights are values of their own. Its rows are then put back in the order of the tokens. */
#include <math.h>
#include <string.h>
#include "onnx/contrib/rows.h"

struct experts {
	enum dtype type;
	int64_t n;
	const val_id *w[3], *b[3]; /* of each expert: fc1, fc2, fc3: [numbers out, numbers in] and [numbers out]; NULL: not given */
	val_id mixing;             /* what outputs weigh, [tokens, experts]; 0: the softmax of the router's numbers */
	bool of_chosen;            /* that softmax is of the chosen experts alone */
};

/* The n parts of v along axis 0, without that axis; NULL where v is not given. */
static const val_id *each(struct contrib *x, val_id v, int64_t n)
{
	val_id *part = ARENA_ARRAY(&x->m->arena, val_id, n), axis = contrib_ints(x, 1, (int64_t[]){0});
	const val_id *whole = v ? contrib_split(x, v, 0, (int)n, NULL) : NULL;

	for (int64_t i = 0; i < n && v; i++)
		part[i] = bin(x, OP_Squeeze, whole[i], axis);
	return v ? part : NULL;
}

/* v [rows, numbers] by layer i of expert k. */
static val_id layer(struct contrib *x, const struct experts *e, int64_t k, int i, val_id v)
{
	v = bin(x, OP_MatMul, v, contrib_transposed(x, e->w[i][k], 2, (int64_t[]){1, 0}));
	return e->b[i] ? bin(x, OP_Add, v, e->b[i][k]) : v;
}

static bool is_gated(struct contrib *x) { return !strcmp(attr_str(self(x), "activation_type", "relu"), "swiglu"); }

static bool activation_known(struct contrib *x, bool gates_apart)
{
	static const char *const plain[] = {"relu", "gelu", "silu", "identity"};
	const char *name = attr_str(self(x), "activation_type", "relu");
	int64_t fused = attr_int(self(x), "swiglu_fusion", 0);

	if (is_gated(x))
		return fused == 0 ? gates_apart : (fused == 1 || fused == 2) && !gates_apart;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!strcmp(name, plain[i]))
			return !gates_apart;
	return false;
}

static val_id activated(struct contrib *x, val_id v)
{
	const char *name = attr_str(self(x), "activation_type", "relu");

	if (!strcmp(name, "identity"))
		return v;
	v = un(x, !strcmp(name, "relu") ? OP_Relu : !strcmp(name, "gelu") ? OP_Gelu : OP_Swish, v);
	if (!strcmp(name, "gelu"))
		attr_set_str(x->m, made(x, v), "approximate", "tanh");
	return v;
}

/* The numbers of v's last axis at `first`, first + 2 and so on. */
static val_id every_second(struct contrib *x, val_id v, int64_t first)
{
	const int64_t end = INT64_MAX, axis = -1, step = 2;

	return make(
		x, OP_Slice, 5,
		(val_id[]){v, contrib_ints(x, 1, &first), contrib_ints(x, 1, &end), contrib_ints(x, 1, &axis), contrib_ints(x, 1, &step)});
}

/* Gate and what it opens, side by side or in turns in the result of fc1, or apart in fc1 and fc3. */
static val_id gated(struct contrib *x, const struct experts *e, int64_t k, val_id v)
{
	int64_t fused = attr_int(self(x), "swiglu_fusion", 0);
	double limit = attr_float(self(x), "swiglu_limit", INFINITY), beta = attr_float(self(x), "activation_beta", 0);
	val_id both = layer(x, e, k, 0, v), gate = both, up;

	if (fused == 0) {
		up = layer(x, e, k, 2, v);
	} else if (fused == 1) {
		gate = every_second(x, both, 0);
		up = every_second(x, both, 1);
	} else {
		const val_id *half = contrib_split(x, both, -1, 2, NULL);
		gate = half[0];
		up = half[1];
	}
	if (isfinite(limit)) {
		gate = tri(x, OP_Clip, gate, 0, contrib_scalar(x, e->type, limit));
		up = tri(x, OP_Clip, up, contrib_scalar(x, e->type, -limit), contrib_scalar(x, e->type, limit));
	}
	gate = with_float(x, un(x, OP_Swish, gate), "alpha", attr_float(self(x), "activation_alpha", 1));
	return bin(x, OP_Mul, gate, beta != 0 ? bin(x, OP_Add, up, contrib_scalar(x, e->type, beta)) : up);
}

/* Which experts each token takes, and what their outputs weigh: [tokens, k]. */
static val_id choice(struct contrib *x, const struct experts *e, int64_t k, val_id *weigh)
{
	val_id router = operand(x, 1), best, place;
	node_id top = node_new(x->m, self(x)->graph, OP_TopK, 2, (val_id[]){router, contrib_ints(x, 1, &k)}, 2);

	best = node(x->m, top)->out[0];
	place = node(x->m, top)->out[1];
	if (e->of_chosen && !e->mixing) {
		*weigh = un(x, OP_Softmax, best);
		return place;
	}
	*weigh = with_int(x, bin(x, OP_GatherElements, e->mixing ? e->mixing : un(x, OP_Softmax, router), place), "axis", 1);
	if (e->mixing && attr_int(self(x), "normalize_routing_weights", 0))
		*weigh = bin(x, OP_Div, *weigh, bin(x, OP_ReduceSum, *weigh, contrib_ints(x, 1, (int64_t[]){1})));
	return place;
}

/* 0, 1, ... n - 1, as i64 [n, 1]. */
static val_id numbers(struct contrib *x, int64_t n)
{
	int64_t *v = ARENA_ARRAY(&x->m->arena, int64_t, n);

	for (int64_t i = 0; i < n; i++)
		v[i] = i;
	return bin(x, OP_Unsqueeze, contrib_ints(x, (int)n, v), contrib_ints(x, 1, (int64_t[]){1}));
}

/* The outputs of the experts that `place` names for the tokens v, [tokens, k, numbers]. */
static val_id outputs(struct contrib *x, const struct experts *e, int64_t k, val_id v, val_id place)
{
	val_id *part = ARENA_ARRAY(&x->m->arena, val_id, e->n), *pair = ARENA_ARRAY(&x->m->arena, val_id, e->n), all, order, back;
	val_id flat = contrib_reshaped(x, place, 1, (int64_t[]){-1}), axis = contrib_ints(x, 1, (int64_t[]){0});
	const val_id *taken = each(x, bin(x, OP_Equal, flat, numbers(x, e->n)), e->n);

	for (int64_t i = 0; i < e->n; i++) {
		pair[i] = bin(x, OP_Squeeze, un(x, OP_NonZero, taken[i]), axis);
		val_id rows = bin(x, OP_Gather, v, bin(x, OP_Div, pair[i], contrib_scalar(x, DT_I64, (double)k)));
		part[i] = layer(x, e, i, 1, is_gated(x) ? gated(x, e, i, rows) : activated(x, layer(x, e, i, 0, rows)));
	}
	all = contrib_joined(x, (int)e->n, part, 0);
	order = contrib_joined(x, (int)e->n, pair, 0);
	back = tri(x, OP_ScatterElements, order, order, contrib_arange(x, contrib_size(x, flat, 0), DT_I64));
	return bin(x, OP_Gather, all, bin(x, OP_Reshape, back, un(x, OP_Shape, place)));
}

static bool can_mix(struct contrib *x, const struct experts *e, bool gates_apart)
{
	return dtype_is_float(e->type) && activation_known(x, gates_apart) && !attr_int(self(x), "use_sparse_mixer", 0) &&
	       !attr_int(self(x), "swiglu_limit_after_activation", 0);
}

static bool mix(struct contrib *x, const struct experts *e)
{
	int64_t k = attr_int(self(x), "k", 1);
	val_id v, place, weigh;

	if (k < 1 || k > e->n)
		import_die(x->c, "k is %lld of %lld experts", (long long)k, (long long)e->n);
	v = with_int(x, un(x, OP_Flatten, operand(x, 0)), "axis", -1);
	place = choice(x, e, k, &weigh);
	v = bin(x, OP_Mul, outputs(x, e, k, v, place), bin(x, OP_Unsqueeze, weigh, contrib_ints(x, 1, (int64_t[]){2})));
	v = with_int(x, bin(x, OP_ReduceSum, v, contrib_ints(x, 1, (int64_t[]){1})), "keepdims", 0);
	return done(x, contrib_shaped_like(x, OP_Reshape, v, operand(x, 0)));
}

/* How many experts weights and router have; 0: that is not known, or of more than a graph has room for. */
static int64_t count(struct contrib *x, const uint32_t *at, size_t n)
{
	enum { MANY = 4096 };
	int64_t all, other;

	if (!contrib_fixed(x, at[0], 0, &all) || all < 1 || all > MANY)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (contrib_fixed(x, at[i], 0, &other) && other != all)
			import_die(x->c, "operand %u is of %lld experts, operand %u of %lld", at[i], (long long)other, at[0],
				   (long long)all);
	if (contrib_fixed(x, 1, -1, &other) && other != all)
		import_die(x->c, "operand 1 is for %lld experts, operand %u of %lld", (long long)other, at[0], (long long)all);
	return all;
}

static bool experts(struct contrib *x)
{
	static const uint32_t at[] = {2, 3, 4, 5, 6, 7}; /* weights and biases by turns */
	struct experts e = {.type = contrib_type(x, operand(x, 0))->dtype,
			    .n = count(x, at, 6),
			    .of_chosen = attr_int(self(x), "normalize_routing_weights", 0)};

	if (!operand(x, 4) || !e.n || !can_mix(x, &e, operand(x, 6)))
		return false;
	for (int i = 0; i < 3; i++) {
		e.w[i] = each(x, operand(x, at[2 * i]), e.n);
		e.b[i] = each(x, operand(x, at[2 * i + 1]), e.n);
	}
	return mix(x, &e);
}

/* ---- in codes ---- */

static int code_at(const struct tensor *t, int64_t row, int64_t row_bytes, int bits, int64_t i)
{
	return ((const uint8_t *)t->data)[row * row_bytes + i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

/* Operand i as a constant of u8 (codes) or of floats, with its data; NULL: it is none. */
static struct tensor *constant(struct contrib *x, uint32_t i, bool codes, int rank)
{
	struct tensor *t = operand(x, i) ? node_const(x->m, self(x), i) : NULL;

	if (!t || (codes ? t->dtype != DT_U8 : !dtype_is_float(t->dtype)) || (t->rank != rank && t->rank != rank + 1))
		return NULL;
	tensor_data(x->m, t);
	return t;
}

static void misfit(struct contrib *x, uint32_t i) { import_die(x->c, "operand %u does not fit the weights, their bits and block_size", i); }

/* Zero points as codes like those of the weights: [experts, rows, blocks]; NULL: none are given. A row of them is that of an expert where
 * there are no blocks. */
static struct tensor *zeros(struct contrib *x, uint32_t i, int bits, const int64_t dims[3], bool blocked)
{
	struct tensor *z = constant(x, i, true, 2), *to = tensor_new(&x->m->arena, bits <= 4 ? DT_U4 : DT_U8, 3, dims);
	int64_t per = blocked ? dims[2] : dims[1], rows = blocked ? dims[0] * dims[1] : dims[0], bytes = (per * bits + 7) / 8;

	if (!z || z->rank != (blocked ? 3 : 2) || tensor_count(z) != rows * bytes)
		misfit(x, i);
	for (int64_t r = 0; r < rows; r++)
		for (int64_t k = 0; k < per; k++)
			((uint8_t *)to->data)[r * per + k] = (uint8_t)code_at(z, r, bytes, bits, k);
	return to;
}

/* Matrix i of t as a constant. */
static val_id matrix(struct contrib *x, const struct tensor *t, int64_t i)
{
	size_t bytes = (size_t)(t->dims[1] * t->dims[2]) * dtype_size(t->dtype);

	return const_copy(x->m, 0, t->dtype, 2, t->dims + 1, (const char *)t->data + (size_t)i * bytes, bytes);
}

/* Weights of operands w, w + 1 (scales) and `zero` as numbers [rows, numbers] of each expert; NULL: not in a form that ONNX has words for. */
static const val_id *decoded(struct contrib *x, uint32_t w, uint32_t zero, const char *own_bits)
{
	int bits = (int)attr_int(self(x), own_bits, attr_int(self(x), "expert_weight_bits", 4));
	int64_t block = attr_int(self(x), "block_size", 0);
	struct tensor *codes = constant(x, w, true, 3), *scale = constant(x, w + 1, false, 2), *to, *s;

	if (!codes || codes->rank != 3 || !scale || (bits != 2 && bits != 4 && bits != 8) ||
	    (operand(x, zero) && !constant(x, zero, true, 2)))
		return NULL;
	int64_t rows = codes->dims[0] * codes->dims[1], k = codes->dims[2] * 8 / bits, count = block > 0 ? k / block : 1;
	bool blocked = scale->rank == 3;
	if (block < 0 || (block > 0 && (k % block || !blocked)) || (!block && blocked) || tensor_count(scale) != rows * count)
		misfit(x, w + 1);
	int less = operand(x, zero) ? 0 : 1 << (bits - 1);
	to = tensor_new(&x->m->arena,
			bits <= 4 ? (less ? DT_I4 : DT_U4)
			: less    ? DT_I8
				  : DT_U8,
			3, (int64_t[]){codes->dims[0], codes->dims[1], k});
	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < k; i++)
			((uint8_t *)to->data)[r * k + i] = (uint8_t)(code_at(codes, r, codes->dims[2], bits, i) - less);
	int64_t dims[] = {codes->dims[0], codes->dims[1], count};
	s = tensor_new(&x->m->arena, scale->dtype, 3, dims);
	for (int64_t i = 0; i < rows * count; i++)
		tensor_set(s, i, tensor_get(scale, i));
	struct tensor *z = less ? NULL : zeros(x, zero, bits, dims, blocked);
	val_id *v = ARENA_ARRAY(&x->m->arena, val_id, dims[0]);
	for (int64_t i = 0; i < dims[0]; i++) {
		v[i] = tri(x, OP_DequantizeLinear, matrix(x, to, i), matrix(x, s, i), z ? matrix(x, z, i) : 0);
		with_int(x, v[i], "axis", 1);
		v[i] = contrib_cast(x, with_int(x, v[i], "block_size", block > 0 ? block : k), contrib_type(x, operand(x, 0))->dtype);
	}
	return v;
}

/* The softmax is that of the chosen experts, whatever normalize_routing_weights says: so ONNX Runtime has it. */
static bool quantised_experts(struct contrib *x)
{
	static const uint32_t at[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
	static const char *const bits[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
	struct experts e = {.type = contrib_type(x, operand(x, 0))->dtype,
			    .n = count(x, at, sizeof at / sizeof *at),
			    .mixing = operand(x, 14),
			    .of_chosen = true};

	if (!e.n || !can_mix(x, &e, operand(x, 8)) || !operand(x, 5) || strcmp(attr_str(self(x), "quant_type", "int"), "int") ||
	    attr_int(self(x), "weights_prepacked", -1) == 1)
		return false;
	for (uint32_t i = 0; i < 3; i++) {
		if (operand(x, 2 + 3 * i) && !(e.w[i] = decoded(x, 2 + 3 * i, 11 + i, bits[i])))
			return false;
		e.b[i] = each(x, operand(x, 4 + 3 * i), e.n);
	}
	return mix(x, &e);
}

const struct contrib_row contrib_experts[] = {
	{"MoE", 3, experts},
	{"QMoE", 3, quantised_experts},
	{0},
};
