/* Normalisations of com.microsoft: of what was added, of embeddings, of groups of channels. */
#include <math.h>
#include <string.h>
#include "onnx/contrib/rows.h"

static double epsilon(struct contrib *x, double none) { return attr_float(self(x), "epsilon", (float)none); }

/* ---- root mean square ---- */

/* 1 / sqrt(mean(v * v) + epsilon) over the axes from `axis` of `rank` on, in f32. */
static val_id inverse_rms(struct contrib *x, val_id v, int64_t axis, int rank, double eps)
{
	int64_t *axes = ARENA_ARRAY(&x->m->arena, int64_t, rank + 1);
	int n = 0;

	for (int64_t a = axis < 0 ? axis + rank : axis; a < rank; a++)
		axes[n++] = a;
	v = contrib_cast(x, v, DT_F32);
	v = bin(x, OP_ReduceMean, bin(x, OP_Mul, v, v), contrib_ints(x, n, axes));
	return un(x, OP_Reciprocal, un(x, OP_Sqrt, bin(x, OP_Add, v, contrib_number(x, eps))));
}

static val_id rms(struct contrib *x, val_id v, val_id scale, int64_t axis, double eps)
{
	v = with_int(x, bin(x, OP_RMSNormalization, v, scale), "axis", axis);
	return with_float(x, v, "epsilon", eps);
}

/* The result has the type of the scale. */
static bool simplified(struct contrib *x)
{
	val_id v = operand(x, 0), scale = operand(x, 1);
	enum dtype t = contrib_type(x, v)->dtype, s = contrib_type(x, scale)->dtype;
	int rank = contrib_rank(x, v);
	int64_t axis = attr_int(self(x), "axis", -1);
	double eps = epsilon(x, 1e-5);

	if (!t || !s || rank < 1)
		return false;
	if (axis < -rank || axis >= rank)
		import_die(x->c, "axis %lld of rank %d", (long long)axis, rank);
	also(x, 1, wants(x, 1) ? inverse_rms(x, v, axis, rank, eps) : 0);
	if (t == s)
		return done(x, rms(x, v, scale, axis, eps));
	return done(x, contrib_cast(x, rms(x, contrib_cast(x, v, DT_F32), contrib_cast(x, scale, DT_F32), axis, eps), s));
}

/* Operands 0 and 1 and the bias, where it is given. */
static val_id sum(struct contrib *x, uint32_t bias)
{
	val_id v = bin(x, OP_Add, operand(x, 0), operand(x, 1));

	return operand(x, bias) ? bin(x, OP_Add, v, operand(x, bias)) : v;
}

static bool skip_simplified(struct contrib *x)
{
	int rank = contrib_rank(x, operand(x, 0));
	val_id v;

	if (rank < 1 || wants(x, 1))
		return false;
	v = sum(x, 3);
	also(x, 2, wants(x, 2) ? inverse_rms(x, v, -1, rank, epsilon(x, 1e-12)) : 0);
	done(x, rms(x, v, operand(x, 2), -1, epsilon(x, 1e-12)));
	also(x, 3, v);
	return true;
}

/* ---- mean and variance ---- */

/* LayerNormalization of v over its last axis, which is result 0. */
static void layer(struct contrib *x, val_id v, val_id scale, val_id bias)
{
	node_id id = node_new(x->m, self(x)->graph, OP_LayerNormalization, bias ? 3 : 2, (val_id[]){v, scale, bias}, 1);

	attr_set_float(x->m, id, "epsilon", epsilon(x, 1e-12));
	done(x, node(x->m, id)->out[0]);
}

static bool skip_layer(struct contrib *x)
{
	val_id v;

	if (wants(x, 1) || wants(x, 2))
		return false;
	v = sum(x, 4);
	layer(x, v, operand(x, 2), operand(x, 3));
	also(x, 3, v);
	return true;
}

/* ---- embeddings ---- */

/* The first rows of a table of positions, one for each word of a sentence. */
static val_id first_rows(struct contrib *x, val_id table, val_id ids)
{
	return contrib_part(x, table, 0, contrib_ints(x, 1, (int64_t[]){0}), contrib_size(x, ids, 1));
}

/* Sums over the last axis, where the mask is 1; zeros without a mask. */
static val_id words(struct contrib *x, val_id ids, val_id mask)
{
	val_id v = mask ? mask : bin(x, OP_Sub, ids, ids);

	v = mask ? contrib_cast(x, bin(x, OP_Equal, v, contrib_scalar(x, DT_I32, 1)), DT_I32) : v;
	return with_int(x, bin(x, OP_ReduceSum, v, contrib_ints(x, 1, (int64_t[]){1})), "keepdims", 0);
}

struct embedding {
	val_id ids, segments, word, position, segment, scale, bias, mask, positions;
};

static bool embed(struct contrib *x, const struct embedding *e)
{
	val_id v = bin(x, OP_Gather, e->word, e->ids);

	if (!!e->segments != !!e->segment)
		import_die(x->c, "segment_ids and segment_embedding come together");
	v = bin(x, OP_Add, v, e->positions ? bin(x, OP_Gather, e->position, e->positions) : first_rows(x, e->position, e->ids));
	if (e->segment)
		v = bin(x, OP_Add, v, bin(x, OP_Gather, e->segment, e->segments));
	layer(x, v, e->scale, e->bias);
	also(x, 1, wants(x, 1) ? words(x, e->ids, e->mask) : 0);
	also(x, 2, v);
	return true;
}

static bool embed_layer(struct contrib *x)
{
	struct embedding e = {operand(x, 0), operand(x, 1), operand(x, 2), operand(x, 3), operand(x, 4),
			      operand(x, 5), operand(x, 6), operand(x, 7), operand(x, 8)};

	return e.word && e.position && e.scale && e.bias && embed(x, &e);
}

/* Tables and parameters are codes; scales are operands 8 to 12, zero points 13 to 17. */
static val_id decoded(struct contrib *x, uint32_t i, uint32_t k)
{
	if (!operand(x, i))
		return 0;
	return tri(x, OP_DequantizeLinear, operand(x, i), operand(x, 8 + k), operand(x, 13 + k));
}

static bool quantised_embed_layer(struct contrib *x)
{
	static const uint32_t at[] = {2, 3, 4, 5, 6};

	for (uint32_t k = 0; k < 5; k++)
		if (k != 2 ? !operand(x, at[k]) || !operand(x, 8 + k) : operand(x, 4) && !operand(x, 10))
			import_die(x->c, "operand %u or its scale, operand %u, is not there", at[k], 8 + k);
	struct embedding e = {operand(x, 0),    operand(x, 1),    decoded(x, 2, 0),
			      decoded(x, 3, 1), decoded(x, 4, 2), decoded(x, 5, 3),
			      decoded(x, 6, 4), operand(x, 7),    0};
	return embed(x, &e);
}

/* ---- groups of channels ---- */

static const int64_t to_first[] = {0, 3, 1, 2}, to_last[] = {0, 2, 3, 1};

static bool group(struct contrib *x, val_id v)
{
	int64_t groups = attr_int(self(x), "groups", 0), silu = attr_int(self(x), "activation", 0);
	bool last = attr_int(self(x), "channels_last", 1);

	v = last ? contrib_transposed(x, v, 4, to_first) : v;
	v = tri(x, OP_GroupNormalization, v, operand(x, 1), operand(x, 2));
	with_int(x, v, "num_groups", groups);
	with_float(x, v, "epsilon", epsilon(x, 1e-5));
	v = silu ? un(x, OP_Swish, v) : v;
	return done(x, last ? contrib_transposed(x, v, 4, to_last) : v);
}

/* Is it of a form that ONNX has words for? */
static bool group_readable(struct contrib *x)
{
	int64_t silu = attr_int(self(x), "activation", 0);

	if (attr_int(self(x), "groups", 0) < 1 || silu < 0 || silu > 1)
		import_die(x->c, "groups %lld, activation %lld; takes 1 and more, and 0 or 1", (long long)attr_int(self(x), "groups", 0),
			   (long long)silu);
	return contrib_rank(x, operand(x, 0)) == 4 && contrib_type(x, operand(x, 0))->dtype == contrib_type(x, operand(x, 1))->dtype;
}

static bool group_norm(struct contrib *x) { return group_readable(x) && group(x, operand(x, 0)); }

/* What is skipped to may have an image's channels alone: [N, C] or [N, 1, 1, C]. */
static bool skip_group_norm(struct contrib *x)
{
	bool last = attr_int(self(x), "channels_last", 1);
	val_id skip = operand(x, 3), v;
	int rank = contrib_rank(x, skip);

	if (!group_readable(x) || (rank != 2 && rank != 4))
		return false;
	if (rank == 2)
		skip = bin(x, OP_Unsqueeze, skip, contrib_ints(x, 2, last ? (int64_t[]){1, 2} : (int64_t[]){2, 3}));
	v = bin(x, OP_Add, operand(x, 0), skip);
	if (operand(x, 4))
		v = bin(x, OP_Add, v, last ? operand(x, 4) : bin(x, OP_Unsqueeze, operand(x, 4), contrib_ints(x, 2, (int64_t[]){1, 2})));
	also(x, 1, v);
	return group(x, v);
}

const struct contrib_row contrib_norms[] = {
	{"EmbedLayerNormalization", 1, embed_layer},
	{"GroupNorm", 3, group_norm},
	{"QEmbedLayerNormalization", 1, quantised_embed_layer},
	{"SimplifiedLayerNormalization", 2, simplified},
	{"SkipGroupNorm", 4, skip_group_norm},
	{"SkipLayerNormalization", 3, skip_layer},
	{"SkipSimplifiedLayerNormalization", 3, skip_simplified},
	{0},
};
