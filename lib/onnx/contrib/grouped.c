/* GroupQueryAttention of com.microsoft. New keys and values are written into the cache behind what it holds of each sentence, then the
 * queries attend to it: TensorScatter and Attention. The cache becomes as long as it must be: what comes in may be the buffer of all tokens
 * to come, or hold just those that were. */
#include <string.h>
#include "onnx/contrib/rows.h"

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK, K_SCALE, V_SCALE, Q_NORM, K_NORM, CHUNKS };
enum { SCORES = 3 }; /* a result */

struct grouped {
	enum dtype type;
	int64_t heads, groups, size; /* of queries, of keys; numbers a head, 0: not known */
	val_id batch, rows;          /* i64[1] */
	val_id total;                /* i64[1]: rows of the longest sentence */
	val_id first;                /* i64[batch]: where new rows begin */
	int bits;                    /* caches are of codes of 8 or 4 bits; 0: of numbers */
};

static const char *const quant_type[] = {"k_quant_type", "v_quant_type"};

static bool has_quantised_cache(struct contrib *x)
{
	return operand(x, K_SCALE) || operand(x, V_SCALE) || strcmp(attr_str(self(x), quant_type[0], "NONE"), "NONE") ||
	       strcmp(attr_str(self(x), quant_type[1], "NONE"), "NONE");
}

/* Both caches are of codes, i8 or two of 4 bits in a u8, with scales. */
static bool codes_known(struct contrib *x, struct grouped *g)
{
	g->bits = (int)attr_int(self(x), "kv_cache_bit_width", 8);
	for (uint32_t i = 0; i < 2; i++) {
		const char *by = attr_str(self(x), quant_type[i], "NONE");
		if (!operand(x, PAST_KEY + i) || !operand(x, K_SCALE + i) || (strcmp(by, "PER_TENSOR") && strcmp(by, "PER_CHANNEL")) ||
		    contrib_type(x, operand(x, PAST_KEY + i))->dtype != (g->bits == 8 ? DT_I8 : DT_U8))
			return false;
	}
	return g->bits == 8 || g->bits == 4;
}

static bool has_sinks(struct contrib *x) { return operand(x, SINK) || attr_int(self(x), "smooth_softmax", -1) == 1; }

/* Result 3 is scores before the softmax (1) or after it (2). */
static bool scores_known(struct contrib *x)
{
	int64_t what = attr_int(self(x), "qk_output", 0);

	return !wants(x, SCORES) || ((what == 1 || what == 2) && !has_sinks(x));
}

static bool read(struct contrib *x, struct grouped *g)
{
	int64_t all, heads = attr_int(self(x), "num_heads", 0), groups = attr_int(self(x), "kv_num_heads", 0);

	*g = (struct grouped){.type = contrib_type(x, operand(x, QUERY))->dtype, .heads = heads, .groups = groups};
	if (heads < 1 || groups < 1 || heads % groups)
		import_die(x->c, "%lld heads of queries for %lld of keys", (long long)heads, (long long)groups);
	if (!operand(x, LENGTHS) || !operand(x, TOTAL))
		import_die(x->c, "seqlens_k or total_sequence_length is not there");
	if (!operand(x, KEY) != !operand(x, VALUE) || !operand(x, PAST_KEY) != !operand(x, PAST_VALUE) ||
	    !operand(x, COS) != !operand(x, SIN) || !operand(x, Q_NORM) != !operand(x, K_NORM))
		import_die(x->c, "of two operands that come together one is not there");
	if (attr_int(self(x), "do_rotary", 0) && !operand(x, COS))
		import_die(x->c, "do_rotary without cos_cache and sin_cache");
	if ((operand(x, CHUNKS) || has_quantised_cache(x)) && !operand(x, PAST_KEY))
		import_die(x->c, "query_seqlens or scales of a cache without past_key");
	if (has_quantised_cache(x) && !codes_known(x, g))
		return false;
	if (contrib_fixed(x, PAST_KEY, 3, &g->size))
		g->size *= g->bits == 4 ? 2 : 1;
	else if (contrib_fixed(x, QUERY, 2, &all))
		g->size = all / (operand(x, KEY) ? heads : heads + 2 * groups);
	return dtype_is_float(g->type) && contrib_rank(x, operand(x, QUERY)) == 3 && !attr_int(self(x), "sliding_window_cache", 0) &&
	       (operand(x, KEY) || g->size) && scores_known(x);
}

/* v as i64[1] or i64[batch]. */
static val_id counted(struct contrib *x, val_id v) { return contrib_reshaped(x, contrib_cast(x, v, DT_I64), 1, (int64_t[]){-1}); }

/* A first prompt begins at 0, also where it is padded behind its end. Chunks say how many rows of theirs are no padding; what these write into
 * the cache is overwritten by the next. */
static val_id first_rows(struct contrib *x, const struct grouped *g)
{
	val_id one = contrib_ints(x, 1, (int64_t[]){1});
	val_id fresh = operand(x, CHUNKS) ? counted(x, operand(x, CHUNKS)) : g->rows;
	val_id later = bin(x, OP_Sub, bin(x, OP_Add, counted(x, operand(x, LENGTHS)), one), fresh);
	int64_t rows;

	if (operand(x, CHUNKS))
		return later;
	if (contrib_fixed(x, QUERY, 1, &rows) && rows == 1)
		return later;
	return tri(x, OP_Where, bin(x, OP_Equal, g->total, g->rows), contrib_ints(x, 1, (int64_t[]){0}), later);
}

/* A sentence that is longer than its cache has no rows there: new ones go to where TensorScatter refuses them. */
static val_id within(struct contrib *x, const struct grouped *g, val_id first)
{
	val_id have = contrib_size(x, operand(x, PAST_KEY), 2);

	return tri(x, OP_Where, bin(x, OP_Greater, first, have), bin(x, OP_Add, first, g->total), first);
}

/* Queries, keys and values, [batch, rows, numbers]. */
static void separate(struct contrib *x, const struct grouped *g, val_id v[3])
{
	int64_t size[3] = {g->heads * g->size, g->groups * g->size, g->groups * g->size};
	const val_id *p = operand(x, KEY) ? NULL : contrib_split(x, operand(x, QUERY), -1, 3, size);

	for (uint32_t i = 0; i < 3; i++)
		v[i] = p ? p[i] : operand(x, i);
}

/* Each head's numbers divided by their root mean square. */
static val_id normed(struct contrib *x, val_id v, uint32_t weight, const char *own)
{
	double eps = attr_float(self(x), "qk_norm_epsilon", 1e-6f);

	if (!operand(x, weight))
		return v;
	v = bin(x, OP_RMSNormalization, v, operand(x, weight));
	return with_float(x, v, "epsilon", attr_float(self(x), own, (float)eps));
}

/* The cache with the new rows in their places. It is lengthened by rows of zeros first where it is too short. */
static val_id cached(struct contrib *x, const struct grouped *g, uint32_t past, val_id fresh)
{
	val_id v = operand(x, past), have, more, size[4];

	if (!v)
		return fresh;
	have = contrib_size(x, v, 2);
	more = bin(x, OP_Sub, bin(x, OP_Max, have, g->total), have);
	for (int i = 0; i < 4; i++)
		size[i] = i == 2 ? more : contrib_size(x, v, i);
	more = bin(x, OP_Expand, contrib_scalar(x, contrib_type(x, v)->dtype, 0), contrib_joined(x, 4, size, 0));
	v = contrib_joined(x, 2, (val_id[]){v, more}, 2);
	return with_int(x, tri(x, OP_TensorScatter, v, fresh, g->first), "axis", 2);
}

/* The scale of cache i as it multiplies [batch, groups, rows, numbers]. */
static val_id code_scale(struct contrib *x, const struct grouped *g, uint32_t i)
{
	bool channels = !strcmp(attr_str(self(x), quant_type[i], ""), "PER_CHANNEL");

	return contrib_reshaped(x, contrib_cast(x, operand(x, K_SCALE + i), DT_F32), channels ? 4 : 1,
				channels ? (int64_t[]){1, g->groups, 1, -1} : (int64_t[]){1});
}

/* New rows as codes of cache i; of 4 bits two stand in a byte, from 0 on, the first of them low. */
static val_id coded(struct contrib *x, const struct grouped *g, uint32_t i, val_id v)
{
	const int64_t pairs[] = {0, 0, 0, -1, 2};
	double least = g->bits == 8 ? -128 : -8;
	val_id q = un(x, OP_Round, bin(x, OP_Div, contrib_cast(x, v, DT_F32), code_scale(x, g, i)));

	q = tri(x, OP_Clip, q, contrib_number(x, least), contrib_number(x, -least - 1));
	if (g->bits == 8)
		return contrib_cast(x, q, DT_I8);
	q = contrib_reshaped(x, bin(x, OP_Add, q, contrib_number(x, -least)), 5, pairs);
	q = bin(x, OP_MatMul, q, const_copy(x->m, 0, DT_F32, 1, (int64_t[]){2}, (float[]){1, 16}, 2 * sizeof(float)));
	return contrib_cast(x, q, DT_U8);
}

/* Numbers that the codes v of cache i stand for, in the type of the queries. */
static val_id uncoded(struct contrib *x, const struct grouped *g, uint32_t i, val_id v)
{
	const int64_t flat[] = {0, 0, 0, -1};

	if (g->bits == 4) {
		val_id high = bin(x, OP_Div, v, contrib_scalar(x, DT_U8, 16)), one = contrib_ints(x, 1, (int64_t[]){-1});
		val_id low = bin(x, OP_Sub, v, bin(x, OP_Mul, high, contrib_scalar(x, DT_U8, 16)));
		v = contrib_joined(x, 2, (val_id[]){bin(x, OP_Unsqueeze, low, one), bin(x, OP_Unsqueeze, high, one)}, -1);
		v = bin(x, OP_Sub, contrib_cast(x, contrib_reshaped(x, v, 4, flat), DT_F32), contrib_number(x, 8));
	}
	return contrib_cast(x, bin(x, OP_Mul, contrib_cast(x, v, DT_F32), code_scale(x, g, i)), g->type);
}

/* What a sink takes of each head's weights: as if there was one more key, of that score and of value 0. */
static val_id sunk(struct contrib *x, const struct grouped *g, val_id y, val_id scores)
{
	val_id sum = bin(x, OP_ReduceLogSumExp, contrib_cast(x, scores, DT_F32), contrib_ints(x, 1, (int64_t[]){-1}));
	val_id sink = operand(x, SINK) ? contrib_cast(x, contrib_reshaped(x, operand(x, SINK), 3, (int64_t[]){-1, 1, 1}), DT_F32)
				       : contrib_number(x, 0);

	return bin(x, OP_Mul, y, contrib_cast(x, un(x, OP_Sigmoid, bin(x, OP_Sub, sum, sink)), g->type));
}

/* Scores of all tokens so far; those of keys that a query does not see are 0. */
static void put_scores(struct contrib *x, const struct grouped *g, val_id v)
{
	if (attr_int(self(x), "qk_output", 0) == 1)
		v = tri(x, OP_Where, un(x, OP_IsInf, v), contrib_scalar(x, g->type, 0), v);
	also(x, SCORES, contrib_part(x, v, 3, contrib_ints(x, 1, (int64_t[]){0}), g->total));
}

bool contrib_grouped_query(struct contrib *x)
{
	struct grouped g;
	bool rotary = attr_int(self(x), "do_rotary", 0), past = operand(x, PAST_KEY) != 0;
	val_id v[3], positions, cache[2];
	const val_id *y;

	if (!read(x, &g))
		return false;
	g.batch = contrib_size(x, operand(x, QUERY), 0);
	g.rows = contrib_size(x, operand(x, QUERY), 1);
	g.total = counted(x, operand(x, TOTAL));
	g.first = first_rows(x, &g);
	if (past)
		g.first = within(x, &g, g.first);
	separate(x, &g, v);
	for (uint32_t i = 0; i < 3; i++)
		v[i] = contrib_heads(x, v[i], i ? g.groups : g.heads);
	v[0] = normed(x, v[0], Q_NORM, "q_norm_epsilon");
	v[1] = normed(x, v[1], K_NORM, "k_norm_epsilon");
	if (rotary) {
		positions = operand(x, POSITIONS) ? operand(x, POSITIONS) : contrib_positions(x, g.first, g.batch, g.rows);
		for (uint32_t i = 0; i < 2; i++)
			v[i] = contrib_rotary(x, v[i], operand(x, COS), operand(x, SIN), positions,
					      attr_int(self(x), "rotary_interleaved", 0));
	}
	for (uint32_t i = 0; i < 2; i++)
		cache[i] = cached(x, &g, PAST_KEY + i, g.bits ? coded(x, &g, i, v[1 + i]) : v[1 + i]);
	bool codes = g.bits && g.type == DT_F32; /* are read as they are */
	struct contrib_attention a = {.type = g.type,
				      .q = v[0],
				      .k = g.bits && !codes ? uncoded(x, &g, 0, cache[0]) : cache[0],
				      .v = g.bits && !codes ? uncoded(x, &g, 1, cache[1]) : cache[1],
				      .scale_k = codes ? code_scale(x, &g, 0) : 0,
				      .scale_v = codes ? code_scale(x, &g, 1) : 0,
				      .bias = operand(x, BIAS),
				      .causal = attr_int(self(x), "causal", 1),
				      .window = attr_int(self(x), "local_window_size", -1),
				      .softcap = attr_float(self(x), "softcap", 0)};
	bool sinks = has_sinks(x);
	a.valid = past ? bin(x, OP_Add, g.first, g.rows) : 0;
	a.scores = sinks ? 2 : !wants(x, SCORES) ? 0 : attr_int(self(x), "qk_output", 0) == 1 ? 2 : 3;
	y = contrib_attend(x, &a);
	for (uint32_t k = 1; k < 3; k++)
		also(x, k, cache[k - 1]);
	if (wants(x, SCORES))
		put_scores(x, &g, y[3]);
	return done(x, contrib_flat(x, sinks ? sunk(x, &g, y[0], y[3]) : y[0]));
}
