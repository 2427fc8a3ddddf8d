/* Mixtures of experts of com.microsoft: MoE and QMoE. Each token goes through the k experts that its router likes best. In ONNX's words all
 * experts compute all tokens, in batched products, and those that were not chosen weigh 0. */
#include <math.h>
#include <string.h>
#include "onnx/contrib/rows.h"

struct experts {
	enum dtype type;
	val_id w[3], b[3]; /* fc1, fc2, fc3: [experts, numbers out, numbers in] and [experts, numbers out]; 0: not given */
	val_id mixing;     /* what outputs weigh, [tokens, experts]; 0: the softmax of the router's numbers */
	bool of_chosen;    /* that softmax is of the chosen experts alone */
};

/* v [1 or experts, tokens, numbers] by expert layer i. */
static val_id layer(struct contrib *x, const struct experts *e, int i, val_id v)
{
	v = bin(x, OP_MatMul, v, contrib_transposed(x, e->w[i], 3, (int64_t[]){0, 2, 1}));
	return e->b[i] ? bin(x, OP_Add, v, bin(x, OP_Unsqueeze, e->b[i], contrib_ints(x, 1, (int64_t[]){1}))) : v;
}

static bool is_gated(struct contrib *x) { return !strcmp(attr_str(self(x), "activation_type", "relu"), "swiglu"); }

static bool activation_known(struct contrib *x, const struct experts *e)
{
	static const char *const plain[] = {"relu", "gelu", "silu", "identity"};
	const char *name = attr_str(self(x), "activation_type", "relu");
	int64_t fused = attr_int(self(x), "swiglu_fusion", 0);

	if (is_gated(x))
		return fused == 0 ? e->w[2] != 0 : (fused == 1 || fused == 2) && !e->w[2];
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!strcmp(name, plain[i]))
			return !e->w[2];
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

/* Gate and what it opens, side by side or in turns in the result of fc1, or apart in fc1 and fc3. */
static val_id gated(struct contrib *x, const struct experts *e, val_id v)
{
	int64_t fused = attr_int(self(x), "swiglu_fusion", 0);
	double limit = attr_float(self(x), "swiglu_limit", INFINITY), beta = attr_float(self(x), "activation_beta", 0);
	val_id both = layer(x, e, 0, v), gate = both, up;

	if (fused == 0) {
		up = layer(x, e, 2, v);
	} else if (fused == 1) {
		both = contrib_reshaped(x, both, 4, (int64_t[]){0, 0, -1, 2});
		gate = with_int(x, bin(x, OP_Gather, both, contrib_scalar(x, DT_I64, 0)), "axis", 3);
		up = with_int(x, bin(x, OP_Gather, both, contrib_scalar(x, DT_I64, 1)), "axis", 3);
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

/* The weight of each expert's output for each token: [experts, tokens, 1]. */
static val_id shares(struct contrib *x, const struct experts *e, int64_t k)
{
	val_id router = operand(x, 1), w, best, place;
	bool normalise = attr_int(self(x), "normalize_routing_weights", 0);
	node_id top = node_new(x->m, self(x)->graph, OP_TopK, 2, (val_id[]){router, contrib_ints(x, 1, &k)}, 2);

	best = node(x->m, top)->out[0];
	place = node(x->m, top)->out[1];
	if (e->mixing) {
		w = with_int(x, bin(x, OP_GatherElements, e->mixing, place), "axis", 1);
		if (normalise) {
			val_id sum = bin(x, OP_ReduceSum, w, contrib_ints(x, 1, (int64_t[]){1}));
			w = bin(x, OP_Div, w, sum);
		}
	} else if (e->of_chosen) {
		w = un(x, OP_Softmax, best);
	} else {
		w = with_int(x, bin(x, OP_GatherElements, un(x, OP_Softmax, router), place), "axis", 1);
	}
	w = tri(x, OP_ScatterElements, contrib_filled_like(x, router, e->type, 0), place, w);
	w = contrib_transposed(x, with_int(x, w, "axis", 1), 2, (int64_t[]){1, 0});
	return bin(x, OP_Unsqueeze, w, contrib_ints(x, 1, (int64_t[]){2}));
}

static bool mix(struct contrib *x, const struct experts *e)
{
	int64_t k = attr_int(self(x), "k", 1), first = 0, all;
	val_id v = operand(x, 0);

	if (k < 1 || (contrib_fixed(x, 1, -1, &all) && k > all))
		import_die(x->c, "k is %lld of %lld experts", (long long)k, k < 1 ? 0 : (long long)all);
	if (!dtype_is_float(e->type) || !activation_known(x, e) || attr_int(self(x), "use_sparse_mixer", 0) ||
	    attr_int(self(x), "swiglu_limit_after_activation", 0))
		return false;
	v = with_int(x, un(x, OP_Flatten, v), "axis", -1);
	v = bin(x, OP_Unsqueeze, v, contrib_ints(x, 1, &first));
	v = layer(x, e, 1, is_gated(x) ? gated(x, e, v) : activated(x, layer(x, e, 0, v)));
	v = bin(x, OP_ReduceSum, bin(x, OP_Mul, v, shares(x, e, k)), contrib_ints(x, 1, &first));
	with_int(x, v, "keepdims", 0);
	return done(x, contrib_shaped_like(x, OP_Reshape, v, operand(x, 0)));
}

static bool experts(struct contrib *x)
{
	struct experts e = {contrib_type(x, operand(x, 0))->dtype,
			    {operand(x, 2), operand(x, 4), operand(x, 6)},
			    {operand(x, 3), operand(x, 5), operand(x, 7)},
			    0,
			    attr_int(self(x), "normalize_routing_weights", 0)};

	return operand(x, 4) && mix(x, &e);
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

/* Weights of operands w, w + 1 (scales) and `zero` as numbers [experts, rows, numbers]; 0: not in a form that ONNX has words for. */
static val_id decoded(struct contrib *x, uint32_t w, uint32_t zero, const char *own_bits)
{
	int bits = (int)attr_int(self(x), own_bits, attr_int(self(x), "expert_weight_bits", 4));
	int64_t block = attr_int(self(x), "block_size", 0);
	struct tensor *codes = constant(x, w, true, 3), *scale = constant(x, w + 1, false, 2), *to, *s;

	if (!codes || codes->rank != 3 || !scale || (bits != 2 && bits != 4 && bits != 8) ||
	    (operand(x, zero) && !constant(x, zero, true, 2)))
		return 0;
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
	val_id in[3] = {const_tensor(x->m, 0, to), const_tensor(x->m, 0, s),
			less ? 0 : const_tensor(x->m, 0, zeros(x, zero, bits, dims, blocked))};
	val_id v = with_int(x, make(x, OP_DequantizeLinear, 3, in), "axis", 2);
	return contrib_cast(x, with_int(x, v, "block_size", block > 0 ? block : k), contrib_type(x, operand(x, 0))->dtype);
}

/* The softmax is that of the chosen experts, whatever normalize_routing_weights says: so ONNX Runtime has it. */
static bool quantised_experts(struct contrib *x)
{
	struct experts e = {.type = contrib_type(x, operand(x, 0))->dtype,
			    .b = {operand(x, 4), operand(x, 7), operand(x, 10)},
			    .mixing = operand(x, 14),
			    .of_chosen = true};

	if (strcmp(attr_str(self(x), "quant_type", "int"), "int") || attr_int(self(x), "weights_prepacked", -1) == 1 || !operand(x, 5) ||
	    !(e.w[0] = decoded(x, 2, 11, "fc1_expert_weight_bits")) || !(e.w[1] = decoded(x, 5, 12, "fc2_expert_weight_bits")) ||
	    (operand(x, 8) && !(e.w[2] = decoded(x, 8, 13, "fc3_expert_weight_bits"))))
		return false;
	return mix(x, &e);
}

const struct contrib_row contrib_experts[] = {
	{"MoE", 3, experts},
	{"QMoE", 3, quantised_experts},
	{0},
};
