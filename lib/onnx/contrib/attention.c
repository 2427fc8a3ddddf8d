/* Attention of com.microsoft: with the product that makes queries, keys and values (Attention, QAttention), and without
 * (MultiHeadAttention, DecoderMaskedMultiHeadAttention). */
#include "onnx/contrib/rows.h"

static const float HIDDEN = -10000; /* what is added to scores of padding, if nothing else is asked for */

static double hidden(struct contrib *x) { return attr_float(self(x), "mask_filter_value", HIDDEN); }

static int64_t head_count(struct contrib *x, const char *name)
{
	int64_t n = attr_int(self(x), name, 0);

	if (n < 1)
		import_die(x->c, "%s is %lld", name, (long long)n);
	return n;
}

/* Part k of v's first axis. */
static val_id part(struct contrib *x, val_id v, int64_t k)
{
	return with_int(x, bin(x, OP_Gather, v, contrib_scalar(x, DT_I64, (double)k)), "axis", 0);
}

/* ---- with the product ---- */

struct projected {
	val_id input, weights, bias, padding, past, scores;
	enum dtype type;
};

/* Columns of the weights for queries, keys and values. */
static bool columns(struct contrib *x, int64_t heads, int64_t size[3])
{
	int n;
	const int64_t *given = attr_ints(self(x), "qkv_hidden_sizes", &n);
	int64_t all;

	if (!contrib_fixed(x, 1, -1, &all))
		return false;
	for (int i = 0; i < 3; i++)
		size[i] = given && n == 3 ? given[i] : all / 3;
	if ((given && n && n != 3) || size[0] < 1 || size[2] < 1 || size[0] != size[1] || size[0] + size[1] + size[2] != all ||
	    size[0] % heads || size[2] % heads)
		import_die(x->c, "%lld columns of weights are not queries, keys and values of %lld heads", (long long)all,
			   (long long)heads);
	return true;
}

static bool project(struct contrib *x, const struct projected *p)
{
	int64_t heads = head_count(x, "num_heads"), size[3];
	struct contrib_attention a = {.type = p->type, .bias = p->scores, .padding = p->padding, .hidden = hidden(x)};
	const val_id *y, *qkv;

	if (!dtype_is_float(p->type) || attr_int(self(x), "do_rotary", 0) || attr_int(self(x), "past_present_share_buffer", 0) ||
	    !contrib_padding_known(x, p->padding) || !columns(x, heads, size))
		return false;
	val_id v = bin(x, OP_MatMul, p->input, p->weights);
	qkv = contrib_split(x, p->bias ? bin(x, OP_Add, v, p->bias) : v, -1, 3, size);
	a.q = contrib_heads(x, qkv[0], heads);
	a.k = contrib_heads(x, qkv[1], heads);
	a.v = contrib_heads(x, qkv[2], heads);
	if (p->past) {
		a.past_k = part(x, p->past, 0);
		a.past_v = part(x, p->past, 1);
	}
	a.causal = attr_int(self(x), "unidirectional", 0);
	y = contrib_attend(x, &a);
	if (wants(x, 1)) {
		val_id in[2], first = contrib_ints(x, 1, (int64_t[]){0});
		for (int i = 0; i < 2; i++)
			in[i] = bin(x, OP_Unsqueeze, y[1 + i], first);
		result_is(x, 1, contrib_joined(x, 2, in, 0));
	}
	return done(x, contrib_flat(x, y[0]));
}

static bool attention(struct contrib *x)
{
	return !operand(x, 6) && project(x, &(struct projected){operand(x, 0), operand(x, 1), operand(x, 2), operand(x, 3), operand(x, 4),
								operand(x, 5), contrib_type(x, operand(x, 0))->dtype});
}

static bool quantised_attention(struct contrib *x)
{
	struct projected p = {
		.bias = operand(x, 2), .padding = operand(x, 5), .past = operand(x, 8), .type = contrib_type(x, operand(x, 3))->dtype};
	int rank = contrib_rank(x, operand(x, 4));

	if (rank < 0 || !contrib_padding_known(x, p.padding) || attr_int(self(x), "do_rotary", 0))
		return false;
	p.input = tri(x, OP_DequantizeLinear, operand(x, 0), operand(x, 3), operand(x, 6));
	p.weights = tri(x, OP_DequantizeLinear, operand(x, 1), operand(x, 4), operand(x, 7));
	with_int(x, p.weights, "axis", 1);
	return project(x, &p);
}

/* ---- without it ---- */

/* Parts of a bias whose sizes only a run knows: queries are [batch, rows, numbers]. */
static void bias_parts_in_run(struct contrib *x, val_id bias, val_id part[3])
{
	static const int64_t first = 0, last = INT64_MAX;
	val_id width = contrib_size(x, operand(x, 0), 2), both = bin(x, OP_Add, width, width);

	part[0] = contrib_part(x, bias, 0, contrib_ints(x, 1, &first), width);
	part[1] = contrib_part(x, bias, 0, width, both);
	part[2] = contrib_part(x, bias, 0, both, contrib_ints(x, 1, &last));
}

/* Bias [hq + hk + hv] in parts. The first is as wide as the queries, the second as the keys, which are as wide as these. */
static bool bias_parts(struct contrib *x, uint32_t i, int64_t heads, val_id part[3])
{
	int64_t all, size[3], n;

	part[0] = part[1] = part[2] = 0;
	if (!operand(x, i))
		return true;
	if (!contrib_fixed(x, i, 0, &all))
		return false;
	if (contrib_rank(x, operand(x, 0)) == 5) {
		size[0] = contrib_fixed(x, 0, 4, &n) ? n * heads : all / 3;
	} else if (contrib_fixed(x, 0, 2, &n)) {
		size[0] = n;
	} else {
		bias_parts_in_run(x, operand(x, i), part);
		return true;
	}
	size[1] = size[0];
	size[2] = all - size[0] - size[1];
	if (size[0] < 1 || size[2] < 1)
		import_die(x->c, "a bias of %lld numbers for queries of %lld", (long long)all, (long long)size[0]);
	const val_id *p = contrib_split(x, operand(x, i), 0, 3, size);
	for (int k = 0; k < 3; k++)
		part[k] = p[k];
	return true;
}

/* [batch, rows, numbers] with its bias, in heads. */
static val_id biased_heads(struct contrib *x, val_id v, val_id bias, int64_t heads)
{
	return contrib_heads(x, bias ? bin(x, OP_Add, v, bias) : v, heads);
}

/* Part k of n of [batch, rows, heads, n, numbers], with its bias, in heads. */
static val_id packed(struct contrib *x, const val_id *parts, int k, val_id bias, int64_t heads)
{
	return biased_heads(x, contrib_reshaped(x, parts[k], 3, (int64_t[]){0, 0, -1}), bias, heads);
}

/* Queries, keys and values of operands 0, 1 and 2, packed in one or two of them or not. */
static bool separate(struct contrib *x, uint32_t bias, int64_t heads, struct contrib_attention *a)
{
	int rank = contrib_rank(x, operand(x, 0)), krank = operand(x, 1) ? contrib_rank(x, operand(x, 1)) : 0;
	val_id b[3];

	if (!(rank == 5 && !operand(x, 1)) && !(rank == 3 && (krank == 5 || ((krank == 3 || krank == 4) && operand(x, 2)))))
		return false;
	if (!bias_parts(x, bias, heads, b))
		return false;
	if (rank == 5) {
		const val_id *p = contrib_split(x, operand(x, 0), 3, 3, NULL);
		a->q = packed(x, p, 0, b[0], heads);
		a->k = packed(x, p, 1, b[1], heads);
		a->v = packed(x, p, 2, b[2], heads);
		return true;
	}
	a->q = biased_heads(x, operand(x, 0), b[0], heads);
	if (krank == 5) {
		const val_id *p = contrib_split(x, operand(x, 1), 3, 2, NULL);
		a->k = packed(x, p, 0, b[1], heads);
		a->v = packed(x, p, 1, b[2], heads);
	} else {
		a->k = krank == 4 ? operand(x, 1) : biased_heads(x, operand(x, 1), b[1], heads);
		a->v = krank == 4 ? operand(x, 2) : biased_heads(x, operand(x, 2), b[2], heads);
	}
	return true;
}

/* Attention of operands 0, 1 and 2 as a has the others; operand `bias` is of all three. */
static bool attend(struct contrib *x, struct contrib_attention *a, uint32_t bias)
{
	const val_id *y;

	a->type = contrib_type(x, operand(x, 0))->dtype;
	a->hidden = hidden(x);
	a->scores = wants(x, 3) ? 3 : 0;
	if (!dtype_is_float(a->type) || !contrib_padding_known(x, a->padding) || !a->past_k != !a->past_v ||
	    !separate(x, bias, head_count(x, "num_heads"), a))
		return false;
	y = contrib_attend(x, a);
	also(x, 1, y[1]);
	also(x, 2, y[2]);
	also(x, 3, a->scores ? y[3] : 0);
	return done(x, contrib_flat(x, y[0]));
}

static bool multi_head(struct contrib *x)
{
	struct contrib_attention a = {.bias = operand(x, 5),
				      .padding = operand(x, 4),
				      .past_k = operand(x, 6),
				      .past_v = operand(x, 7),
				      .causal = attr_int(self(x), "unidirectional", 0)};

	return !operand(x, 8) && !operand(x, 9) && attend(x, &a, 3);
}

static bool decoder_multi_head(struct contrib *x)
{
	struct contrib_attention a = {.bias = operand(x, 4), .padding = operand(x, 3), .past_k = operand(x, 5), .past_v = operand(x, 6)};

	return !operand(x, 7) && !operand(x, 9) && !attr_int(self(x), "past_present_share_buffer", 0) && attend(x, &a, 10);
}

/* Tables of rotary embeddings have half as many columns as a head has numbers that are turned. */
static bool rotary(struct contrib *x)
{
	val_id v = operand(x, 0), positions = operand(x, 1);
	int rank = contrib_rank(x, v), prank = contrib_rank(x, positions);
	int64_t heads = attr_int(self(x), "num_heads", 0), half, numbers;

	if (attr_int(self(x), "is_packed_batching", 0) || attr_float(self(x), "scale", 1) != 1 || (rank != 3 && rank != 4) ||
	    (prank != 1 && prank != 2))
		return false;
	if (rank == 3 && !heads) {
		if (!contrib_fixed(x, 2, 1, &half) || !contrib_fixed(x, 0, 2, &numbers) || half < 1)
			return false;
		heads = numbers / (2 * half);
	}
	if (rank == 3 && heads < 1)
		import_die(x->c, "there is no head");
	v = rank == 3 ? contrib_heads(x, v, heads) : v;
	if (prank == 1)
		positions = contrib_positions(x, positions, contrib_size(x, v, 0), contrib_size(x, v, 2));
	v = contrib_rotary(x, v, operand(x, 2), operand(x, 3), positions, attr_int(self(x), "interleaved", 0));
	if (rank == 4)
		return done(x, v);
	return done(x, contrib_flat(x, v));
}

const struct contrib_row contrib_attentions[] = {
	{"Attention", 2, attention},
	{"DecoderMaskedMultiHeadAttention", 1, decoder_multi_head},
	{"GroupQueryAttention", 1, contrib_grouped_query},
	{"MultiHeadAttention", 1, multi_head},
	{"QAttention", 5, quantised_attention},
	{"RotaryEmbedding", 4, rotary},
	{0},
};
