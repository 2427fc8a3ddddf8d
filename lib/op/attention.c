/* Attention and what stands around it: rotary embeddings, caches, states from token to token. lib/native computes them. */
#include "op/native.h"
#include "op/rules.h"

/* Heads, length and numbers a head of operand i: of rank 4, or of rank 3 with the heads side by side. */
struct extents {
	dim batch, heads, length, size;
};

static struct extents extents_of(struct infer *I, uint32_t i, const char *heads)
{
	int64_t n = attr_i(I->n, heads);
	int rank = rule_rank(I, i);
	struct extents x = {0};

	if (rank != 3 && rank != 4)
		return x;
	x.batch = rule_dim(I, i, 0);
	x.length = rule_dim(I, i, rank - 2);
	x.heads = rank == 4 ? rule_dim(I, i, 1) : rule_const(I, n);
	x.size = rank == 4 ? rule_dim(I, i, 3) : n > 0 ? poly_floordiv(rule_polys(I), rule_dim(I, i, 2), n) : POLY_UNKNOWN;
	return x;
}

/* Operands of rank 3 hold so many heads. */
static const char *check_heads(struct infer *I, uint32_t i, const char *heads)
{
	int64_t n = attr_i(I->n, heads), c;

	if (rule_rank(I, i) != 3)
		return NULL;
	if (n < 1)
		return rule_why(I, "operand %u has rank 3, and there is no %s", i, heads);
	if (poly_is_const(rule_polys(I), rule_dim(I, i, 2), &c) && c % n)
		return rule_why(I, "operand %u has %lld numbers a token for %lld heads", i, (long long)c, (long long)n);
	return NULL;
}

static void out4(struct infer *I, uint32_t k, enum dtype t, dim a, dim b, dim c, dim d)
{
	dim *o = rule_dims(I, 4);

	o[0] = a, o[1] = b, o[2] = c, o[3] = d;
	rule_out(I, k, t, 4, o);
}

static bool same_extent(struct infer *I, dim a, dim b)
{
	int64_t x, y;

	return !poly_is_const(rule_polys(I), a, &x) || !poly_is_const(rule_polys(I), b, &y) || x == y;
}

/* What is known of the elements of operand i is from 0 to `most`. */
static const char *known_within(struct infer *I, uint32_t i, dim most, const char *what)
{
	int64_t top, v;
	bool bounded = poly_is_const(rule_polys(I), most, &top);

	for (int64_t k = 0; k < rule_elements(I, i); k++)
		if (rule_element(I, i, k, &v) && (v < 0 || (bounded && v > top)))
			return rule_why(I, "%s %lld is not from 0 to %s", what, (long long)v,
					bounded ? poly_str(rule_polys(I), most, &I->m->arena) : "more");
	return NULL;
}

/* Operand i has these extents; what is not known is right. */
static const char *check_extents(struct infer *I, uint32_t i, int rank, const dim *want)
{
	const char *why = NULL;

	if (rule_rank(I, i) >= 0 && rule_rank(I, i) != rank)
		return rule_why(I, "operand %u has rank %d, takes %d", i, rule_rank(I, i), rank);
	for (int k = 0; k < rank && rule_rank(I, i) == rank && !why; k++)
		why = rule_extent(I, i, k, want[k]);
	return why;
}

/* It broadcasts to queries and heads; its last axis may be shorter than the keys. */
static const char *check_mask(struct infer *I, const struct extents *q, dim keys)
{
	int rank = rule_rank(I, 3);
	dim want[3] = {q->batch, q->heads, q->length};
	int64_t c, n;

	if (rank == RANK_UNKNOWN)
		return NULL;
	if (rank < 1 || rank > 4)
		return rule_why(I, "a mask of rank %d", rank);
	for (int k = 0; k + 1 < rank; k++)
		if (poly_is_const(rule_polys(I), rule_dim(I, 3, k), &c) && c != 1 && !same_extent(I, rule_dim(I, 3, k), want[4 - rank + k]))
			return rule_why(I, "a mask of extent %lld at axis %d, takes %s", (long long)c, k,
					poly_str(rule_polys(I), want[4 - rank + k], &I->m->arena));
	if (poly_is_const(rule_polys(I), rule_dim(I, 3, rank - 1), &c) && poly_is_const(rule_polys(I), keys, &n) && c > n)
		return rule_why(I, "a mask of %lld keys for %lld", (long long)c, (long long)n);
	return NULL;
}

static const char *check_past(struct infer *I, const struct extents *k, const struct extents *v, dim keys)
{
	dim length = rule_rank(I, 4) == 4 ? rule_dim(I, 4, 2) : POLY_UNKNOWN;
	const char *why;

	if (rule_has(I, 6) && ((why = check_extents(I, 6, 1, &k->batch)) || (why = known_within(I, 6, keys, "nonpad_kv_seqlen"))))
		return why;
	if (!rule_has(I, 4))
		return NULL;
	if ((why = check_extents(I, 4, 4, (dim[]){k->batch, k->heads, length, k->size})))
		return why;
	return check_extents(I, 5, 4, (dim[]){v->batch, v->heads, length, v->size});
}

static const char *check_precision(struct infer *I)
{
	int64_t p = attr_int(I->n, "softmax_precision", 1);

	return p == 1 || p == 10 || p == 11 || p == 16 ? NULL : rule_why(I, "softmax_precision is %lld; takes 1, 10, 11, 16", (long long)p);
}

/* Keys or values that are codes, `of` which they are, have scales, which broadcast to them. These operands are hone's own: no file has them. */
static const char *check_codes(struct infer *I, uint32_t codes, uint32_t scales, const struct extents *of)
{
	enum dtype t = I->in[codes].dtype;
	bool coded = t == DT_I8 || t == DT_U8;

	if (t && coded != rule_has(I, scales))
		return rule_why(I, "operand %u is %s %s scales", codes, dtype_name(t), coded ? "without" : "with");
	if (!rule_has(I, scales))
		return NULL;
	if (rule_has(I, 4) || (rule_rank(I, codes) >= 0 && rule_rank(I, codes) != 4))
		return rule_why(I, "operand %u is codes, which a cache of four axes has", codes);
	return rule_rank(I, codes) < 0 ? NULL : rule_into(I, scales, 4, (dim[]){of->batch, of->heads, of->length, of->size});
}

static const char *attention_operands(struct infer *I, const struct extents *q, const struct extents *k, const struct extents *v)
{
	int64_t h, g, cap = attr_i(I->n, "qk_matmul_output_mode");
	const char *why;

	for (uint32_t i = 1; i < 3; i++)
		if (rule_rank(I, i) >= 0 && rule_rank(I, 0) >= 0 && rule_rank(I, i) != rule_rank(I, 0))
			return rule_why(I, "operand %u has rank %d, operand 0 %d", i, rule_rank(I, i), rule_rank(I, 0));
	if (!same_extent(I, q->size, k->size) || !same_extent(I, k->length, v->length) || !same_extent(I, k->heads, v->heads) ||
	    !same_extent(I, q->batch, k->batch) || !same_extent(I, q->batch, v->batch))
		return "queries, keys and values do not fit each other";
	if (poly_is_const(rule_polys(I), q->heads, &h) && poly_is_const(rule_polys(I), k->heads, &g) && (g < 1 || h % g))
		return rule_why(I, "%lld heads of queries for %lld of keys", (long long)h, (long long)g);
	if (rule_has(I, 4) != rule_has(I, 5))
		return "past_key and past_value come together";
	if (rule_has(I, 4) && rule_has(I, 6))
		return "nonpad_kv_seqlen does not go with past keys";
	for (uint32_t i = 1; i < 3; i++)
		if ((why = check_codes(I, i, i + 6, i == 1 ? k : v)))
			return why;
	return cap < 0 || cap > 3 ? rule_why(I, "qk_matmul_output_mode is %lld; takes 0 to 3", (long long)cap) : NULL;
}

/* Numbers of a head of keys or values, operand i, that `size` elements hold: a byte has two codes of 4 bits. */
static dim numbers_of(struct infer *I, uint32_t i, dim size)
{
	return I->in[i].dtype == DT_U8 && size != POLY_UNKNOWN ? poly_mulc(rule_polys(I), size, 2) : size;
}

static const char *shape_attention(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = rule_rank(I, 0);
	enum dtype t = I->in[0].dtype;
	struct extents q = extents_of(I, 0, "q_num_heads"), k = extents_of(I, 1, "kv_num_heads"), v = extents_of(I, 2, "kv_num_heads");
	dim keys = k.length, stored[2] = {k.size, v.size};
	const char *why;

	k.size = numbers_of(I, 1, k.size);
	v.size = numbers_of(I, 2, v.size);
	if ((why = check_heads(I, 0, "q_num_heads")) || (why = check_heads(I, 1, "kv_num_heads")) ||
	    (why = check_heads(I, 2, "kv_num_heads")) || (why = attention_operands(I, &q, &k, &v)))
		return why;
	if (rule_has(I, 4))
		keys = rule_rank(I, 4) == 4 ? poly_add(P, keys, rule_dim(I, 4, 2)) : POLY_UNKNOWN;
	if ((why = check_mask(I, &q, keys)) || (why = check_past(I, &k, &v, keys)) || (why = check_precision(I)))
		return why;
	out4(I, 1, I->in[1].dtype, k.batch, k.heads, keys, stored[0]);
	out4(I, 2, I->in[2].dtype, v.batch, v.heads, keys, stored[1]);
	out4(I, 3, t, q.batch, q.heads, q.length, keys);
	if (rank == 4) {
		out4(I, 0, t, q.batch, q.heads, q.length, v.size);
	} else if (rank == 3) {
		dim *o = rule_dims(I, 3);
		o[0] = q.batch, o[1] = q.length, o[2] = poly_mul(P, q.heads, v.size);
		rule_out(I, 0, t, 3, o);
	} else {
		rule_out(I, 0, t, RANK_UNKNOWN, NULL);
	}
	return NULL;
}

/* Two products, and a few operations a score. */
static double flops_attention(struct module *m, const struct node *n)
{
	int64_t q[RANK_MAX], k[RANK_MAX], v[RANK_MAX], past[RANK_MAX] = {0};
	const struct type *tq = &val(m, n->in[0])->type;

	if (!type_dims(m, tq, q) || !type_dims(m, &val(m, n->in[1])->type, k) || !type_dims(m, &val(m, n->in[2])->type, v))
		return 0;
	if (n->nin > 4 && n->in[4] && (!type_dims(m, &val(m, n->in[4])->type, past) || val(m, n->in[4])->type.rank != 4))
		return 0;
	double groups = tq->rank == 4 ? (double)k[1] : (double)attr_i(n, "kv_num_heads"),
	       heads = tq->rank == 4 ? (double)q[1] : (double)attr_i(n, "q_num_heads"), keys = (double)(k[tq->rank - 2] + past[2]),
	       size = tq->rank == 4 ? (double)q[3] : (double)q[2] / heads, vsize = tq->rank == 4 ? (double)v[3] : (double)v[2] / groups;

	vsize *= val(m, n->in[2])->type.dtype == DT_U8 ? 2 : 1; /* codes in a byte */
	return (double)q[0] * heads * (double)q[tq->rank - 2] * keys * (2 * size + 2 * vsize + 4);
}

static const char *shape_rotary(struct infer *I)
{
	int64_t dims = attr_i(I->n, "rotary_embedding_dim"), c;
	struct extents x = extents_of(I, 0, "num_heads");
	const char *why = check_heads(I, 0, "num_heads");
	dim half, rows;

	rule_like(I, 0, 0);
	if (why)
		return why;
	if (poly_is_const(rule_polys(I), x.size, &c) && (dims ? dims < 0 || dims > c || dims % 2 : c % 2))
		return rule_why(I, "%lld of %lld numbers cannot be turned in pairs", (long long)(dims ? dims : c), (long long)c);
	half = dims ? rule_const(I, dims / 2) : poly_floordiv(rule_polys(I), x.size, 2);
	if (rule_rank(I, 3) == 2 && ((why = check_extents(I, 3, 2, (dim[]){x.batch, x.length}))))
		return why;
	rows = rule_rank(I, 1) == 2 ? rule_dim(I, 1, 0) : POLY_UNKNOWN;
	if (rule_has(I, 3) && (why = known_within(I, 3, poly_addc(rule_polys(I), rows, -1), "position")))
		return why;
	for (uint32_t i = 1; i < 3; i++)
		if ((why = rule_has(I, 3) ? check_extents(I, i, 2, (dim[]){rows, half})
					  : check_extents(I, i, 3, (dim[]){x.batch, x.length, half})))
			return why;
	return NULL;
}

static const char *check_rule(struct infer *I, dim heads, dim numbers)
{
	const char *rule = attr_s(I->n, "update_rule");
	bool gated = !strncmp(rule, "gated", 5), delta = strstr(rule, "delta") != NULL;

	if (rule_has(I, 4) != gated || rule_has(I, 5) != delta)
		return rule_why(I, "update_rule '%s' wants %s decay and %s beta", rule, gated ? "a" : "no", delta ? "a" : "no");
	if (rule_rank(I, 4) == 3 && !same_extent(I, rule_dim(I, 4, 2), heads) && !same_extent(I, rule_dim(I, 4, 2), numbers))
		return "the decay is neither for each head nor for each of its numbers";
	if (rule_rank(I, 5) == 3 && !same_extent(I, rule_dim(I, 5, 2), heads) && !same_extent(I, rule_dim(I, 5, 2), rule_const(I, 1)))
		return "beta is neither for each head nor for all";
	return NULL;
}

static const char *shape_linear(struct infer *I)
{
	struct extents q = extents_of(I, 0, "q_num_heads"), k = extents_of(I, 1, "kv_num_heads"), v = extents_of(I, 2, "kv_num_heads");
	const char *why;
	int64_t nq = attr_i(I->n, "q_num_heads"), nk = attr_i(I->n, "kv_num_heads");
	dim *o = rule_dims(I, 3);

	if ((why = check_heads(I, 0, "q_num_heads")) || (why = check_heads(I, 1, "kv_num_heads")) ||
	    (why = check_heads(I, 2, "kv_num_heads")))
		return why;
	if (nq < 1 || nk < 1 || nq % nk)
		return rule_why(I, "%lld heads of queries for %lld of keys", (long long)nq, (long long)nk);
	if (!same_extent(I, q.size, k.size))
		return "queries and keys do not fit each other";
	if ((why = check_rule(I, rule_const(I, nk), poly_mulc(rule_polys(I), k.size, nk))) ||
	    (why = rule_has(I, 3) ? check_extents(I, 3, 4, (dim[]){q.batch, rule_const(I, nk), k.size, v.size}) : NULL))
		return why;
	o[0] = q.batch, o[1] = q.length, o[2] = poly_mulc(rule_polys(I), v.size, nq);
	rule_out(I, 0, I->in[0].dtype, 3, o);
	out4(I, 1, rule_has(I, 3) ? I->in[3].dtype : I->in[0].dtype, q.batch, rule_const(I, nk), k.size, v.size);
	return NULL;
}

static const char *shape_causal(struct infer *I)
{
	const char *why = NULL;

	rule_like(I, 0, 0);
	rule_out(I, 1, I->in[0].dtype, 3, rule_dims(I, 3));
	if (rule_rank(I, 0) != 3 || rule_rank(I, 1) != 3)
		return NULL;
	dim *o = rule_dims(I, 3);
	o[0] = rule_dim(I, 0, 0), o[1] = rule_dim(I, 0, 1), o[2] = poly_addc(rule_polys(I), rule_dim(I, 1, 2), -1);
	rule_out(I, 1, I->in[0].dtype, 3, o);
	if ((why = rule_extent(I, 1, 0, o[1])) || (rule_rank(I, 2) == 1 && (why = rule_extent(I, 2, 0, o[1]))))
		return why;
	for (int i = 0; i < 3 && rule_rank(I, 3) == 3 && !why; i++)
		why = rule_extent(I, 3, i, o[i]);
	return why;
}

static const char *shape_cache(struct infer *I)
{
	int64_t axis = attr_i(I->n, "axis"), a, b;
	int rank = rule_rank(I, 0), at;

	rule_like(I, 0, 0);
	if (rank < 1 || rule_rank(I, 1) != rank)
		return NULL;
	if (!rule_axis(axis, rank, &at) || at == 0)
		return rule_why(I, "axis %lld of rank %d; it cannot be the first", (long long)axis, rank);
	for (int i = 0; i < rank; i++)
		if (poly_is_const(rule_polys(I), rule_dim(I, 0, i), &a) && poly_is_const(rule_polys(I), rule_dim(I, 1, i), &b) &&
		    (i == at ? b > a : b != a))
			return rule_why(I, "the update has extent %lld at axis %d, the cache %lld", (long long)b, i, (long long)a);
	if (!rule_has(I, 2))
		return NULL;
	dim last =
		strcmp(attr_s(I->n, "mode"), "circular") ? poly_sub(rule_polys(I), rule_dim(I, 0, at), rule_dim(I, 1, at)) : POLY_UNKNOWN;
	const char *why = check_extents(I, 2, 1, I->in[0].dims);
	return why ? why : known_within(I, 2, last, "write index");
}

const struct op ops_attention[] = {
	{OP_Attention, shape_attention, eval_native, flops_attention},
	{OP_CausalConvWithState, shape_causal, eval_native},
	{OP_LinearAttention, shape_linear, eval_native},
	{OP_RotaryEmbedding, shape_rotary, eval_native},
	{OP_TensorScatter, shape_cache, eval_native},
	{0},
};
