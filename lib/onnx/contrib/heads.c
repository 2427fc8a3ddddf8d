/* What operators of attention share: heads, positions, rotary tables. */
#include "onnx/contrib/rows.h"

static const int64_t exchanged[] = {0, 2, 1, 3};

val_id contrib_heads(struct contrib *x, val_id v, int64_t heads)
{
	return contrib_transposed(x, contrib_reshaped(x, v, 4, (int64_t[]){0, 0, heads, -1}), 4, exchanged);
}

val_id contrib_flat(struct contrib *x, val_id v)
{
	return contrib_reshaped(x, contrib_transposed(x, v, 4, exchanged), 3, (int64_t[]){0, 0, -1});
}

val_id contrib_arange(struct contrib *x, val_id n, enum dtype t)
{
	val_id end = contrib_cast(x, bin(x, OP_Squeeze, n, contrib_ints(x, 1, (int64_t[]){0})), t);

	return tri(x, OP_Range, contrib_scalar(x, t, 0), end, contrib_scalar(x, t, 1));
}

val_id contrib_positions(struct contrib *x, val_id first, val_id batch, val_id rows)
{
	val_id v = bin(x, OP_Add, bin(x, OP_Unsqueeze, first, contrib_ints(x, 1, (int64_t[]){1})), contrib_arange(x, rows, DT_I64));

	return bin(x, OP_Expand, v, contrib_joined(x, 2, (val_id[]){batch, rows}, 0));
}

val_id contrib_rotary(struct contrib *x, val_id v, val_id cos, val_id sin, val_id positions, bool interleaved)
{
	int64_t half, size;
	bool part = contrib_extent(x, cos, 1, &half) && !(contrib_extent(x, v, 3, &size) && half * 2 == size);

	v = make(x, OP_RotaryEmbedding, 4, (val_id[]){v, cos, sin, positions});
	if (part)
		with_int(x, v, "rotary_embedding_dim", half * 2);
	return interleaved ? with_int(x, v, "interleaved", 1) : v;
}

/* ---- attention ---- */

/* v [batch] compared with the keys' positions [keys]. */
static val_id against(struct contrib *x, enum opcode op, val_id keys, val_id v)
{
	return bin(x, op, keys, bin(x, OP_Unsqueeze, v, contrib_ints(x, 3, (int64_t[]){1, 2, 3})));
}

/* Is the only extent of v n times that of the batch, which is the first of operand 0? */
static bool is_times_batch(struct contrib *x, val_id v, int64_t n)
{
	const struct type *t = contrib_type(x, v), *u = contrib_type(x, operand(x, 0));

	return t->rank == 1 && u->rank > 0 && t->dims[0] != POLY_UNKNOWN && u->dims[0] != POLY_UNKNOWN &&
	       t->dims[0] == poly_mulc(x->m->dims, u->dims[0], n);
}

bool contrib_padding_known(struct contrib *x, val_id mask)
{
	int rank = mask ? contrib_rank(x, mask) : 2;

	return rank >= 1 && rank <= 3;
}

/* Ends of sentences and, behind them, starts: from[0] and from[1], i32 [batch]. Where the sizes do not say whether there are starts, a run
 * does; without starts sentences begin at 0. */
static void ends_and_starts(struct contrib *x, val_id v, val_id from[2])
{
	val_id batch, twice, none, zero = contrib_scalar(x, DT_I32, 0);

	from[0] = v;
	from[1] = 0;
	if (is_times_batch(x, v, 1))
		return;
	if (is_times_batch(x, v, 2)) {
		const val_id *half = contrib_split(x, v, 0, 2, NULL);
		from[0] = half[0];
		from[1] = half[1];
		return;
	}
	batch = contrib_size(x, operand(x, 0), 0);
	twice = bin(x, OP_Mul, batch, contrib_ints(x, 1, (int64_t[]){2}));
	none = bin(x, OP_Expand, zero, batch);
	from[0] = contrib_part(x, v, 0, contrib_ints(x, 1, (int64_t[]){0}), batch);
	from[1] = contrib_part(x, contrib_joined(x, 2, (val_id[]){v, none}, 0), 0, batch, twice);
	from[1] = tri(x, OP_Where, bin(x, OP_Equal, un(x, OP_Shape, v), twice), from[1], zero);
}

/* Which keys are seen, as a bool that broadcasts to [batch, heads, queries, keys]. */
static val_id seen(struct contrib *x, const struct contrib_attention *a)
{
	val_id keys, from[2], see;
	int rank = contrib_rank(x, a->padding);

	if (rank == 2)
		return bin(x, OP_Unsqueeze, contrib_cast(x, a->padding, DT_BOOL), contrib_ints(x, 2, (int64_t[]){1, 2}));
	if (rank == 3)
		return bin(x, OP_Unsqueeze, contrib_cast(x, a->padding, DT_BOOL), contrib_ints(x, 1, (int64_t[]){1}));
	keys = contrib_size(x, a->k, 2);
	keys = contrib_arange(x, a->past_k ? bin(x, OP_Add, keys, contrib_size(x, a->past_k, 2)) : keys, DT_I32);
	ends_and_starts(x, a->padding, from);
	see = against(x, OP_Less, keys, from[0]);
	return from[1] ? bin(x, OP_And, see, against(x, OP_GreaterOrEqual, keys, from[1])) : see;
}

const val_id *contrib_attend(struct contrib *x, const struct contrib_attention *a)
{
	val_id bias = a->bias, see, in[9] = {a->q, a->k, a->v, 0, a->past_k, a->past_v, a->valid, a->scale_k, a->scale_v}, *y;
	node_id id;

	if (a->padding) {
		see = tri(x, OP_Where, seen(x, a), contrib_scalar(x, a->type, 0), contrib_scalar(x, a->type, a->hidden));
		bias = bias ? bin(x, OP_Add, bias, see) : see;
	}
	in[3] = bias;
	id = node_new(x->m, self(x)->graph, OP_Attention,
		      a->scale_k  ? 9
		      : a->valid  ? 7
		      : a->past_k ? 6
		      : bias      ? 4
				  : 3,
		      in,
		      a->scores   ? 4
		      : a->past_k ? 3
				  : 1);
	if (attr_float(self(x), "scale", 0) != 0)
		attr_set_float(x->m, id, "scale", attr_float(self(x), "scale", 0));
	if (a->causal)
		attr_set_int(x->m, id, "is_causal", 1);
	if (a->window > 0)
		attr_set_int(x->m, id, "left_window_size", a->window - 1);
	if (a->softcap > 0)
		attr_set_float(x->m, id, "softcap", a->softcap);
	if (a->scores)
		attr_set_int(x->m, id, "qk_matmul_output_mode", a->scores);
	if (a->scores && !a->past_k)
		node(x->m, id)->out[1] = node(x->m, id)->out[2] = 0;
	y = ARENA_ARRAY(&x->m->arena, val_id, 4);
	for (uint32_t k = 0; k < node(x->m, id)->nout; k++)
		y[k] = node(x->m, id)->out[k];
	y[1] = y[1] ? y[1] : a->k;
	y[2] = y[2] ? y[2] : a->v;
	return y;
}
