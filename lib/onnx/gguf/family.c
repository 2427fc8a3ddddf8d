/* A family is a row. Its numbers are keys "FAMILY.WHAT"; names and defaults are those of llama.cpp. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "onnx/gguf/family.h"

enum { SIZE_LIMIT = 1 << 24, HEADS_LIMIT = 1 << 12, LAYERS_LIMIT = 1 << 14, TABLE_LIMIT = 1 << 26 };

static const struct family families[] = {
	{"llama", .interleaved = true},
	{"qwen2"},
	{"qwen3", .head_norms = true},
	{"gemma", .gelu = true, .scaled = true},
	{"gemma2", .gelu = true, .scaled = true, .post = true, .window_every = 2, .score_cap = 50, .cap = 30, .wide_layers = 46},
	{"gemma3", .gelu = true, .scaled = true, .post = true, .head_norms = true, .window_every = 6, .window_base = 10000,
	 .wide_layers = 62},
};

static const struct family *family_of(const struct gguf *g)
{
	const struct gguf_value *v = gguf_value(g, "general.architecture");
	const unsigned char *p = v ? v->at : NULL;
	struct gguf_text t;

	if (!v || v->type != GGUF_STRING)
		gguf_die(g, v ? v->at : g->p, "no string 'general.architecture' that says which family the model is of");
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (gguf_is_string(v, families[i].name))
			return &families[i];
	t = gguf_text_at(&p);
	gguf_unsupported(g, v->at, "a model of the family '%.*s'; read are llama, qwen2, qwen3, gemma, gemma2 and gemma3",
			 t.n < 80 ? (int)t.n : 80, t.p);
}

static const char *key(const struct numbers *n, const char *what, struct arena *a) { return arena_printf(a, "%s.%s", n->name, what); }

/* An integer of 1 to most. otherwise 0: it must be there. */
static int64_t size(const struct gguf *g, const struct numbers *n, const char *what, int64_t otherwise, int64_t most, struct arena *a)
{
	const char *k = key(n, what, a);
	const struct gguf_value *v = gguf_value(g, k);
	int64_t is = gguf_int(g, k, otherwise);

	if (!v && !otherwise)
		gguf_die(g, g->p, "no value '%s'", k);
	if (is < 1 || is > most)
		gguf_die(g, v ? v->at : g->p, "'%s' is %lld; takes 1 to %lld", k, (long long)is, (long long)most);
	return is;
}

static double positive(const struct gguf *g, const struct numbers *n, const char *what, double otherwise, struct arena *a)
{
	const char *k = key(n, what, a);
	double d = gguf_float(g, k, otherwise);

	if (!(d > 0))
		gguf_die(g, gguf_value(g, k) ? gguf_value(g, k)->at : g->p, "'%s' is %g; takes more than 0", k, d);
	return d;
}

/* A number above 0, as `positive` takes it, or 0, which says that there is none. */
static double positive_or_none(const struct gguf *g, const struct numbers *n, const char *what, double otherwise, struct arena *a)
{
	return gguf_float(g, key(n, what, a), otherwise) == 0 ? 0 : positive(g, n, what, otherwise, a);
}

/* Angles are divided by the factor. Other ways to reach further are not read. */
static double rotary_factor(const struct gguf *g, const struct numbers *n, struct arena *a)
{
	const struct gguf_value *way = gguf_value(g, key(n, "rope.scaling.type", a));

	if (gguf_is_string(way, "none"))
		return 1;
	if (way && !gguf_is_string(way, "linear"))
		gguf_unsupported(g, way->at, "'%s' is not none or linear; other ways to scale rotary angles are not supported",
				 key(n, "rope.scaling.type", a));
	double old = positive_or_none(g, n, "rope.scale_linear", 1, a), factor = positive_or_none(g, n, "rope.scaling.factor", old, a);
	return factor > 0 ? factor : 1;
}

static void refuse_others(const struct gguf *g, const struct numbers *n, struct arena *a)
{
	static const struct {
		const char *what;
		int64_t plain;
		const char *why;
	} row[] = {{"expert_count", 0, "experts"}, {"attention.causal", 1, "attention to later tokens"}};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const char *k = key(n, row[i].what, a);
		if (gguf_int(g, k, row[i].plain) != row[i].plain)
			gguf_unsupported(g, gguf_value(g, k)->at, "'%s': %s, which is not supported", k, row[i].why);
	}
	if (gguf_int(g, "split.count", 1) > 1)
		gguf_unsupported(g, gguf_value(g, "split.count")->at,
				 "one of several files of a model; join them with llama-gguf-split --merge");
}

static void heads(const struct gguf *g, struct numbers *n, struct arena *a)
{
	n->heads = size(g, n, "attention.head_count", 0, HEADS_LIMIT, a);
	n->groups = size(g, n, "attention.head_count_kv", n->heads, HEADS_LIMIT, a);
	if (n->heads % n->groups)
		gguf_die(g, g->p, "%lld heads of queries for %lld of keys", (long long)n->heads, (long long)n->groups);
	n->size = size(g, n, "attention.key_length", n->width / n->heads ? n->width / n->heads : 1, SIZE_LIMIT, a);
	if (size(g, n, "attention.value_length", n->size, SIZE_LIMIT, a) != n->size)
		gguf_unsupported(g, g->p, "heads of keys and of values of different sizes, which are not supported");
	n->turned = size(g, n, "rope.dimension_count", n->size, SIZE_LIMIT, a);
	if (n->turned > n->size || n->turned % 2)
		gguf_die(g, g->p, "a rotary embedding of %lld numbers in heads of %lld; takes an even number, no more than a head has",
			 (long long)n->turned, (long long)n->size);
	if (n->longest > TABLE_LIMIT / (n->turned / 2))
		gguf_unsupported(g, g->p, "rotary tables of %lld tokens and %lld angles, which are more than %d numbers",
				 (long long)n->longest, (long long)n->turned / 2, TABLE_LIMIT);
}

void family_numbers(const struct gguf *g, struct numbers *n, struct arena *a)
{
	const struct family *f = family_of(g);

	*n = (struct numbers){.family = f, .name = f->name};
	refuse_others(g, n, a);
	n->layers = size(g, n, "block_count", 0, LAYERS_LIMIT, a);
	n->width = size(g, n, "embedding_length", 0, SIZE_LIMIT, a);
	n->inner = size(g, n, "feed_forward_length", 0, SIZE_LIMIT, a);
	n->longest = size(g, n, "context_length", 0, INT32_MAX, a);
	heads(g, n, a);
	n->window = f->window_every ? size(g, n, "attention.sliding_window", f->window_base ? 0 : 4096, INT32_MAX, a) : 0;
	if (f->window_every && gguf_value(g, key(n, "attention.sliding_window_pattern", a)) &&
	    gguf_int(g, key(n, "attention.sliding_window_pattern", a), 0) != f->window_every)
		gguf_unsupported(g, g->p, "windows in other layers than those of %s, which are not supported", f->name);
	n->epsilon = positive(g, n, "attention.layer_norm_rms_epsilon", 0, a);
	n->base = positive(g, n, "rope.freq_base", 10000, a);
	n->window_base = f->window_base ? positive(g, n, "rope.freq_base_swa", f->window_base, a) : n->base;
	n->factor = rotary_factor(g, n, a);
	n->score_cap = positive_or_none(g, n, "attn_logit_softcapping", f->score_cap, a);
	n->cap = positive_or_none(g, n, "final_logit_softcapping", f->cap, a);
	n->scale = 1 / sqrt(f->wide_layers && n->layers == f->wide_layers ? (double)n->width / (double)n->heads : (double)n->size);
}

bool family_windowed(const struct numbers *n, int64_t i)
{
	return n->family->window_every && i % n->family->window_every < n->family->window_every - 1;
}
