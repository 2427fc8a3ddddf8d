/* The graph of a GGUF model, in the layout that onnxruntime-genai's builder writes: input_ids, attention_mask and a cache of keys and values
 * for each layer; logits and the caches. Weights in blocks stay codes (MatMulNBits, GatherBlockQuantized); plain ones keep their type. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "onnx/gguf/family.h"
#include "onnx/gguf/proto.h"

enum { OPSET = 21, NAME_SHOWN = 80 };

struct decoder {
	struct proto proto, *b;
	struct gguf *g;
	struct numbers n;
};

static const struct made in_order; /* rows as they are */

/* ---- weights ---- */

/* A scale that is infinite or no number makes a whole block so. */
static void check_scales(struct decoder *d, const char *name, const struct gguf_tensor *t)
{
	for (size_t at = 0; t->type->bits && at < t->nbytes; at += t->type->bytes)
		if (!block_is_finite(t->type, t->data + at))
			gguf_die(d->g, t->data + at, "tensor '%s': the scale of this block is infinite or no number", name);
	mapping_forget(t->data, t->nbytes);
}

/* Tensor `name`, which must be of rows numbers of rows of k (rows 0: a vector of k). NULL: not there, and it may be missing. */
static struct gguf_tensor *find(struct decoder *d, const char *name, int64_t k, int64_t rows, bool may_miss)
{
	struct gguf_tensor *t = gguf_tensor(d->g, name);

	if (!t && !may_miss)
		gguf_die(d->g, d->g->p, "no tensor '%s', which a model of the family %s has", name, d->n.name);
	if (!t)
		return NULL;
	if (t->dims[0] != k || t->dims[1] != (rows ? rows : 1) || t->dims[2] != 1 || t->dims[3] != 1)
		gguf_die(d->g, d->g->p + t->at, "tensor '%s' has shape [%lld,%lld,%lld,%lld], takes [%lld,%lld]", name,
			 (long long)t->dims[0], (long long)t->dims[1], (long long)t->dims[2], (long long)t->dims[3], (long long)k,
			 (long long)(rows ? rows : 1));
	if (!rows && t->type->bits)
		gguf_unsupported(d->g, d->g->p + t->at, "tensor '%s' is a vector of %s, which is not supported", name, t->type->name);
	if (!t->used)
		check_scales(d, name, t);
	t->used = true;
	return t;
}

/* Plain numbers as a float. of: the order of their rows. */
static const char *plain(struct decoder *d, const char *name, const struct gguf_tensor *t, const struct made *of)
{
	int rank = t->rank == 1 || t->dims[1] == 1 ? 1 : 2;
	int64_t dims[] = {rank == 1 ? t->dims[0] : t->dims[1], t->dims[0]};
	const char *v;

	if (of->size)
		v = proto_const_made(d->b, name, t->type->dtype, rank, dims, (struct made){MADE_ROWS, t, of->size, of->turned});
	else
		v = proto_const_file(d->b, name, t->type->dtype, rank, dims, (uint64_t)(t->data - d->g->p), t->nbytes);
	if (t->type->dtype == DT_F32)
		return v;
	v = NODE(d->b, "Cast", proto_printf(d->b, "%s/Cast/output_0", name), v);
	proto_int(d->b, "to", dtype_to_onnx(DT_F32));
	return v;
}

/* Codes, scales or zero points of rows in blocks, [rows, parts] or, of codes, [rows, parts, bytes of a part]; flat: without the last axis. */
static const char *coded(struct decoder *d, const char *name, enum made_kind kind, const struct gguf_tensor *t, const struct made *of,
			 bool flat)
{
	static const char *const what[] = {
		[MADE_CODES] = "codes", [MADE_SCALES] = "scales", [MADE_ZEROS] = "zeros", [MADE_OFFSETS] = "offsets"};
	int64_t parts = t->dims[0] / t->type->part, bytes = t->type->part * t->type->bits / 8;
	bool codes = kind == MADE_CODES;
	int64_t dims[] = {t->dims[1], codes && flat ? parts * bytes : parts, bytes};

	return proto_const_made(d->b, proto_printf(d->b, "%s_%s%s", name, what[kind], flat ? "_of_rows" : ""), codes ? DT_U8 : DT_F32,
				codes && !flat ? 3 : 2, dims, (struct made){kind, t, of->size, of->turned});
}

/* x times the transpose of weight `name`.weight, [n, k]; plus its bias, if there is one. of: the order of rows. */
static const char *product(struct decoder *d, const char *x, const char *name, const char *as, int64_t k, int64_t n, const struct made *of)
{
	struct gguf_tensor *t = find(d, proto_printf(d->b, "%s.weight", name), k, n, false);
	struct gguf_tensor *bias = find(d, proto_printf(d->b, "%s.bias", name), n, 0, true);
	const char *w = proto_printf(d->b, "%s.weight", as + 1), *y = proto_printf(d->b, "%s/MatMul/output_0", as);

	if (!t->type->bits) {
		w = plain(d, w, t, of);
		if (n == 1)
			w = NODE(d->b, "Reshape", proto_printf(d->b, "%s/Reshape/output_0", as), w,
				 proto_const_ints(d->b, proto_printf(d->b, "%s/row", as), 1, 2, (int64_t[]){1, k}));
		w = NODE(d->b, "Transpose", proto_printf(d->b, "%s/Transpose/output_0", as), w);
		proto_ints(d->b, "perm", 2, (int64_t[]){1, 0});
		y = NODE(d->b, "MatMul", y, x, w);
	} else {
		const char *zeros = t->type->minimums ? coded(d, w, MADE_ZEROS, t, of, false) : "";
		y = NODE(d->b, ".MatMulNBits", y, x, coded(d, w, MADE_CODES, t, of, false), coded(d, w, MADE_SCALES, t, of, false), zeros);
		proto_int(d->b, "K", k);
		proto_int(d->b, "N", n);
		proto_int(d->b, "bits", t->type->bits);
		proto_int(d->b, "block_size", t->type->part);
	}
	if (!bias)
		return y;
	return NODE(d->b, "Add", proto_printf(d->b, "%s/Add/output_0", as), y, plain(d, proto_printf(d->b, "%s.bias", as + 1), bias, of));
}

/* Rows of the table of blocks that ids say: scale * (code - middle) + offset. */
static const char *embedded_blocks(struct decoder *d, const struct gguf_tensor *t, const char *name)
{
	int64_t parts = t->dims[0] / t->type->part, part = t->type->part;
	const char *x, *more;

	x = NODE(d->b, ".GatherBlockQuantized", "/model/embed_tokens/GatherBlockQuantized/output_0",
		 coded(d, name, MADE_CODES, t, &in_order, true), "input_ids", coded(d, name, MADE_SCALES, t, &in_order, true));
	proto_int(d->b, "bits", t->type->bits);
	proto_int(d->b, "block_size", part);
	proto_int(d->b, "gather_axis", 0);
	proto_int(d->b, "quantize_axis", 1);
	if (!t->type->minimums)
		return x;
	more = NODE(d->b, "Gather", "/model/embed_tokens/Gather/output_0", coded(d, name, MADE_OFFSETS, t, &in_order, true), "input_ids");
	more = NODE(d->b, "Unsqueeze", "/model/embed_tokens/Unsqueeze/output_0", more,
		    proto_const_ints(d->b, "/model/embed_tokens/last", 1, 1, (int64_t[]){-1}));
	x = NODE(d->b, "Reshape", "/model/embed_tokens/Reshape_1/output_0", x,
		 proto_const_ints(d->b, "/model/embed_tokens/parts", 1, 4, (int64_t[]){0, 0, parts, part}));
	x = NODE(d->b, "Add", "/model/embed_tokens/Add/output_0", x, more);
	return NODE(d->b, "Reshape", "/model/embed_tokens/Reshape_2/output_0", x,
		    proto_const_ints(d->b, "/model/embed_tokens/whole", 1, 3, (int64_t[]){0, 0, parts * part}));
}

static const char *embedded(struct decoder *d)
{
	struct gguf_tensor *t = gguf_tensor(d->g, "token_embd.weight");
	const char *name = "model.embed_tokens.weight", *x;

	d->n.vocab = t ? t->dims[1] : 1;
	t = find(d, "token_embd.weight", d->n.width, d->n.vocab, false);
	if (t->type->bits) {
		x = embedded_blocks(d, t, name);
	} else {
		const char *table = proto_const_file(d->b, name, t->type->dtype, 2, (int64_t[]){t->dims[1], t->dims[0]},
						     (uint64_t)(t->data - d->g->p), t->nbytes);
		x = NODE(d->b, "Gather", "/model/embed_tokens/Gather/output_0", table, "input_ids");
		if (t->type->dtype != DT_F32) {
			x = NODE(d->b, "Cast", "/model/embed_tokens/Cast/output_0", x);
			proto_int(d->b, "to", dtype_to_onnx(DT_F32));
		}
	}
	if (!d->n.family->scaled)
		return x;
	return NODE(d->b, "Mul", "/model/embed_tokens/Mul/output_0", x,
		    proto_const_float(d->b, "model.embed_tokens.scale", sqrt((double)d->n.width)));
}

/* ---- a layer ---- */

static const char *normed(struct decoder *d, const char *x, const char *weight, const char *as, int64_t size)
{
	const char *w = plain(d, proto_printf(d->b, "%s.weight", as + 1), find(d, weight, size, 0, false), &in_order);

	x = NODE(d->b, "SimplifiedLayerNormalization", proto_printf(d->b, "%s/output_0", as), x, w);
	proto_int(d->b, "axis", -1);
	proto_float(d->b, "epsilon", d->n.epsilon);
	proto_int(d->b, "stash_type", 1);
	return x;
}

/* Each head by itself. */
static const char *normed_heads(struct decoder *d, const char *x, const char *weight, const char *as, int64_t heads)
{
	x = NODE(d->b, "Reshape", proto_printf(d->b, "%s/Reshape_1/output_0", as), x,
		 proto_const_ints(d->b, proto_printf(d->b, "%s/by_head", as), 1, 4, (int64_t[]){0, 0, heads, d->n.size}));
	x = normed(d, x, weight, as, d->n.size);
	return NODE(d->b, "Reshape", proto_printf(d->b, "%s/Reshape_2/output_0", as), x,
		    proto_const_ints(d->b, proto_printf(d->b, "%s/side_by_side", as), 1, 3, (int64_t[]){0, 0, heads * d->n.size}));
}

static const char *past(struct decoder *d, int64_t i, const char *when, const char *what)
{
	return proto_printf(d->b, "%s.%lld.%s", when, (long long)i, what);
}

static void caches(struct decoder *d, int64_t i)
{
	static const char *const what[] = {"key", "value"};
	int64_t dims[] = {0, d->n.groups, 0, d->n.size};

	for (int k = 0; k < 2; k++) {
		proto_input(d->b, past(d, i, "past_key_values", what[k]), DT_F32, 4,
			    (const char *[]){"batch_size", NULL, "past_sequence_length", NULL}, dims);
		proto_output(d->b, past(d, i, "present", what[k]), DT_F32, 4,
			     (const char *[]){"batch_size", NULL, "total_sequence_length", NULL}, dims);
	}
}

static const char *attention(struct decoder *d, const char *x, int64_t i)
{
	const struct numbers *n = &d->n;
	bool window = family_windowed(n, i);
	const char *p = proto_printf(d->b, "/model/layers.%lld/attn", (long long)i), *blk = proto_printf(d->b, "blk.%lld", (long long)i);
	const char *tables = window && n->family->window_base != 0 ? "_of_windows" : "";
	struct made pairs = {.size = n->family->interleaved ? n->size : 0, .turned = n->turned};
	int64_t q = n->heads * n->size, kv = n->groups * n->size;
	const char *in[3];

	in[0] = product(d, x, proto_printf(d->b, "%s.attn_q", blk), proto_printf(d->b, "%s/q_proj", p), n->width, q, &pairs);
	in[1] = product(d, x, proto_printf(d->b, "%s.attn_k", blk), proto_printf(d->b, "%s/k_proj", p), n->width, kv, &pairs);
	in[2] = product(d, x, proto_printf(d->b, "%s.attn_v", blk), proto_printf(d->b, "%s/v_proj", p), n->width, kv, &in_order);
	if (n->family->head_norms) {
		in[0] = normed_heads(d, in[0], proto_printf(d->b, "%s.attn_q_norm.weight", blk), proto_printf(d->b, "%s/q_norm", p),
				     n->heads);
		in[1] = normed_heads(d, in[1], proto_printf(d->b, "%s.attn_k_norm.weight", blk), proto_printf(d->b, "%s/k_norm", p),
				     n->groups);
	}
	caches(d, i);
	x = NODE(d->b, ".GroupQueryAttention", proto_printf(d->b, "%s/GroupQueryAttention/output_0", p), in[0], in[1], in[2],
		 past(d, i, "past_key_values", "key"), past(d, i, "past_key_values", "value"), "seqlens_k", "total_seq_len",
		 proto_printf(d->b, "cos_cache%s", tables), proto_printf(d->b, "sin_cache%s", tables));
	proto_result(d->b, past(d, i, "present", "key"));
	proto_result(d->b, past(d, i, "present", "value"));
	proto_int(d->b, "num_heads", n->heads);
	proto_int(d->b, "kv_num_heads", n->groups);
	proto_int(d->b, "do_rotary", 1);
	proto_int(d->b, "rotary_interleaved", 0);
	proto_float(d->b, "scale", n->scale);
	proto_int(d->b, "local_window_size", window ? n->window : -1);
	if (n->score_cap > 0)
		proto_float(d->b, "softcap", n->score_cap);
	return product(d, x, proto_printf(d->b, "%s.attn_output", blk), proto_printf(d->b, "%s/o_proj", p), q, n->width, &in_order);
}

static const char *feed_forward(struct decoder *d, const char *x, int64_t i)
{
	const struct numbers *n = &d->n;
	const char *p = proto_printf(d->b, "/model/layers.%lld/mlp", (long long)i), *blk = proto_printf(d->b, "blk.%lld", (long long)i),
		   *act;
	const char *gate =
		product(d, x, proto_printf(d->b, "%s.ffn_gate", blk), proto_printf(d->b, "%s/gate_proj", p), n->width, n->inner, &in_order);
	const char *up =
		product(d, x, proto_printf(d->b, "%s.ffn_up", blk), proto_printf(d->b, "%s/up_proj", p), n->width, n->inner, &in_order);

	if (n->family->gelu)
		act = NODE(d->b, ".FastGelu", proto_printf(d->b, "%s/act_fn/FastGelu/output_0", p), gate);
	else
		act = NODE(d->b, "Mul", proto_printf(d->b, "%s/act_fn/Mul/output_0", p), gate,
			   NODE(d->b, "Sigmoid", proto_printf(d->b, "%s/act_fn/Sigmoid/output_0", p), gate));
	x = NODE(d->b, "Mul", proto_printf(d->b, "%s/Mul/output_0", p), act, up);
	return product(d, x, proto_printf(d->b, "%s.ffn_down", blk), proto_printf(d->b, "%s/down_proj", p), n->inner, n->width, &in_order);
}

/* x and what f makes of it, normalised before and perhaps after. */
static const char *added(struct decoder *d, const char *x, int64_t i, const char *(*f)(struct decoder *, const char *, int64_t),
			 const char *before, const char *after)
{
	const char *p = proto_printf(d->b, "/model/layers.%lld", (long long)i), *blk = proto_printf(d->b, "blk.%lld", (long long)i);
	const char *y = normed(d, x, proto_printf(d->b, "%s.%s.weight", blk, before), proto_printf(d->b, "%s/%s", p, before), d->n.width);

	y = f(d, y, i);
	if (d->n.family->post)
		y = normed(d, y, proto_printf(d->b, "%s.%s.weight", blk, after), proto_printf(d->b, "%s/%s", p, after), d->n.width);
	return NODE(d->b, "Add", proto_printf(d->b, "%s/%s/Add/output_0", p, before), x, y);
}

/* ---- the whole ---- */

static void rotary_tables(struct decoder *d)
{
	static const char *const name[] = {"cos_cache", "sin_cache", "cos_cache_of_windows", "sin_cache_of_windows"};
	const struct numbers *n = &d->n;
	int64_t dims[] = {n->longest, n->turned / 2};
	struct gguf_tensor *slower = find(d, "rope_freqs.weight", n->turned / 2, 0, true);

	if (slower && slower->type->dtype != DT_F32)
		gguf_unsupported(d->g, d->g->p + slower->at, "tensor 'rope_freqs.weight' is %s, takes F32", slower->type->name);
	for (int64_t k = 0; slower && k < n->turned / 2; k++) {
		double by = gguf_number_at(GGUF_F32, slower->data + 4 * k);
		if (!(by > 0)) /* infinity stops an angle */
			gguf_die(d->g, d->g->p + slower->at, "tensor 'rope_freqs.weight' has %g; takes more than 0", by);
	}
	for (int k = 0; k < (n->family->window_base != 0 ? 4 : 2); k++) {
		struct made m = {.kind = k % 2 ? MADE_SIN : MADE_COS, .rows = n->longest, .angles = n->turned / 2, .slower = slower};
		m.base = k < 2 ? n->base : n->window_base;
		m.factor = k < 2 ? n->factor : 1;
		proto_const_made(d->b, name[k], DT_F32, 2, dims, m);
	}
}

/* How many tokens each sentence has, less 1, and the longest one, from the mask. */
static void lengths(struct decoder *d)
{
	struct proto *b = d->b;
	const char *p = "/model/attn_mask_reformat", *y;

	y = NODE(b, "ReduceSum", proto_printf(b, "%s/ReduceSum/output_0", p), "attention_mask",
		 proto_const_ints(b, "one_axis", 1, 1, (int64_t[]){1}));
	proto_int(b, "keepdims", 1);
	y = NODE(b, "Sub", proto_printf(b, "%s/Sub/output_0", p), y, proto_const_ints(b, "one", 1, 1, (int64_t[]){1}));
	NODE(b, "Cast", "seqlens_k", y);
	proto_int(b, "to", dtype_to_onnx(DT_I32));
	y = NODE(b, "Shape", proto_printf(b, "%s/Shape/output_0", p), "attention_mask");
	y = NODE(b, "Gather", proto_printf(b, "%s/Gather/output_0", p), y, proto_const_ints(b, "axis_of_tokens", 0, 1, (int64_t[]){1}));
	proto_int(b, "axis", 0);
	NODE(b, "Cast", "total_seq_len", y);
	proto_int(b, "to", dtype_to_onnx(DT_I32));
}

/* The table of the embedding serves as the last weight, where there is no other. */
static void logits(struct decoder *d, const char *x)
{
	const char *last = gguf_tensor(d->g, "output.weight") ? "output" : "token_embd", *cap;

	x = normed(d, x, "output_norm.weight", "/model/norm", d->n.width);
	x = product(d, x, last, "/lm_head", d->n.width, d->n.vocab, &in_order);
	if (d->n.cap > 0) {
		cap = proto_const_float(d->b, "lm_head.cap", d->n.cap);
		x = NODE(d->b, "Div", "/lm_head/Div/output_0", x, cap);
		x = NODE(d->b, "Mul", "/lm_head/Mul/output_0", NODE(d->b, "Tanh", "/lm_head/Tanh/output_0", x), cap);
	}
	NODE(d->b, "Identity", "logits", x);
}

static void refuse_unused(const struct gguf *g, const struct numbers *n)
{
	for (size_t i = 0; i < g->ntensor; i++) {
		const struct gguf_tensor *t = &g->tensor[i];
		if (!t->used)
			gguf_unsupported(g, g->p + t->at, "tensor '%.*s' has no place in a model of the family %s",
					 t->name.n < NAME_SHOWN ? (int)t->name.n : NAME_SHOWN, t->name.p, n->name);
	}
}

struct gguf_model gguf_model(const char *path, const unsigned char *p, size_t n, struct arena *a)
{
	struct gguf *g = ARENA_NEW(a, struct gguf);
	struct decoder d = {.proto.arena = a, .b = &d.proto, .g = g};
	const char *x, *both[] = {"batch_size", "sequence_length", NULL}, *all[] = {"batch_size", "total_sequence_length"};

	gguf_read(g, path, p, n, a);
	family_numbers(g, &d.n, a);
	proto_input(d.b, "input_ids", DT_I64, 2, both, (int64_t[2]){0});
	proto_input(d.b, "attention_mask", DT_I64, 2, all, (int64_t[2]){0});
	lengths(&d);
	x = embedded(&d);
	proto_output(d.b, "logits", DT_F32, 3, both, (int64_t[]){0, 0, d.n.vocab});
	for (int64_t i = 0; i < d.n.layers; i++) {
		x = added(&d, x, i, attention, "attn_norm", "post_attention_norm");
		x = added(&d, x, i, feed_forward, "ffn_norm", "post_ffw_norm");
	}
	logits(&d, x);
	rotary_tables(&d);
	refuse_unused(g, &d.n);
	struct gguf_model m = proto_model(d.b, "main_graph", OPSET);
	gguf_props(g, m.proto, a);
	return m;
}
