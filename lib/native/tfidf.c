/* TfIdfVectorizer: how often the n-grams of a pool are in each row. The pool becomes a tree of words once, in tables that are looked up by hash. */
#include "native/native.h"
#include "native/tfidf.h"

/* A node of the tree, by the one before it and a word: a prefix of n-grams. */
struct tfidf_edge {
	int32_t from, word, to; /* to 0: the place is free */
};

/* A word of the pool. */
struct tfidf_place {
	uint64_t key;
	int32_t word; /* 1 + where it is first in the pool; 0: the place is free */
	int32_t node; /* of the n-grams that begin with it; 0: none does */
};

struct tfidf_tree {
	int64_t made; /* 1: all is there */
	int shift;    /* both tables have 2^(64 - shift) places */
	int64_t nodes;
	struct tfidf_place *word;
	struct tfidf_edge *edge;
	int32_t *gram, *next; /* node -> 1 + the first n-gram that ends there; n-gram -> 1 + the next such, 0: none */
};

/* Words: numbers or strings. */
struct tfidf_words {
	const int64_t *ints;
	const char *const *strs;
};

static uint64_t tfidf_mix(uint64_t h)
{
	h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

/* A string of fewer than 8 bytes: itself, and in the last byte how many they are. Longer ones: a hash, and there 8. */
static uint64_t tfidf_key(const char *s, size_t n)
{
	const bool is_short = n < sizeof(uint64_t);
	uint64_t h = n, v = 0;

	for (; n >= sizeof v; s += sizeof v, n -= sizeof v) {
		memcpy(&v, s, sizeof v);
		h = tfidf_mix(h ^ v);
	}
	v = 0;
	for (size_t k = 0; k < n; k++)
		v |= (uint64_t)(unsigned char)s[k] << 8 * k;
	return is_short ? v | h << 56 : tfidf_mix(h ^ v) >> 8 | UINT64_C(8) << 56;
}

static uint64_t tfidf_at(const struct tfidf_tree *t, uint64_t key) { return (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> t->shift; }

/* The place of a word in the table: of s, or without strings of the number that is the key. */
static struct tfidf_place *tfidf_word(const struct tfidf_tree *t, const struct tfidf_words *pool, uint64_t key, const char *s, size_t n)
{
	const uint64_t last = (UINT64_C(1) << (64 - t->shift)) - 1;
	const bool whole = !pool->strs || n < sizeof key;
	uint64_t at = tfidf_at(t, key);

	for (; t->word[at].word; at = (at + 1) & last) {
		const struct tfidf_place *p = &t->word[at];
		if (p->key == key && (whole || (strlen(pool->strs[p->word - 1]) == n && !memcmp(pool->strs[p->word - 1], s, n))))
			break;
	}
	return &t->word[at];
}

static struct tfidf_edge *tfidf_edge(const struct tfidf_tree *t, int32_t from, int32_t word)
{
	const uint64_t last = (UINT64_C(1) << (64 - t->shift)) - 1;
	uint64_t at = tfidf_at(t, (uint64_t)word << 32 | (uint32_t)from);

	while (t->edge[at].to && (t->edge[at].from != from || t->edge[at].word != word))
		at = (at + 1) & last;
	return &t->edge[at];
}

/* Puts the pool into the tree. Words are numbered by their first places. */
static void tfidf_grow(struct tfidf_tree *t, const struct tfidf *g, const struct tfidf_words *pool)
{
	int32_t gram = 0;

	t->nodes = 1;
	for (int words = 1; words <= g->nstarts; words++) {
		int64_t end = words < g->nstarts ? g->starts[words] : g->pool;
		for (int64_t at = g->starts[words - 1]; at < end; at += words, gram++) {
			int32_t node = 0, *last;
			for (int64_t k = at; k < at + words; k++) {
				const char *s = pool->strs ? pool->strs[k] : "";
				uint64_t key = pool->strs ? tfidf_key(s, strlen(s)) : (uint64_t)pool->ints[k];
				struct tfidf_place *w = tfidf_word(t, pool, key, s, strlen(s));
				w->key = key;
				w->word = w->word ? w->word : (int32_t)k + 1;
				if (k == at) {
					node = w->node = w->node ? w->node : (int32_t)t->nodes++;
					continue;
				}
				struct tfidf_edge *e = tfidf_edge(t, node, w->word);
				if (!e->to)
					*e = (struct tfidf_edge){node, w->word, (int32_t)t->nodes++};
				node = e->to;
			}
			for (last = &t->gram[node]; *last;)
				last = &t->next[*last - 1];
			*last = gram + 1;
		}
	}
	t->made = 1;
}

/* A table of n words is at most half full. */
static int tfidf_shift(int64_t n)
{
	int shift = 62;

	while (UINT64_C(1) << (64 - shift) < 2 * (uint64_t)n)
		shift--;
	return shift;
}

/* The tree of the pool, made in the first run. */
static const struct tfidf_tree *tfidf_tree(struct native *n, const struct tfidf *g, const struct tfidf_words *pool)
{
	const int shift = tfidf_shift(g->pool + 1);
	const size_t head = 64, places = (size_t)1 << (64 - shift), words = places * sizeof(struct tfidf_place),
		     edges = places * sizeof(struct tfidf_edge), nodes = (size_t)(g->pool + 2) * sizeof(int32_t);
	struct tfidf_tree *t = n->memo(n, head + words + edges + 2 * nodes);

	_Static_assert(sizeof *t <= 64, "the head");
	if (!t || t->made)
		return t;
	t->shift = shift;
	t->word = (struct tfidf_place *)((char *)t + head);
	t->edge = (struct tfidf_edge *)((char *)t->word + words);
	t->gram = (int32_t *)((char *)t->edge + edges);
	t->next = (int32_t *)((char *)t->gram + nodes);
	tfidf_grow(t, g, pool);
	return t;
}

struct tfidf_row {
	const struct tfidf_place **word;   /* NULL: not in the pool */
	int64_t count, skips, least, most; /* up to so many others between each two words of an n-gram; words of those that count */
	int32_t *found, *seen;             /* of each node, how often; the nodes that were found */
};

/* Counts the n-grams of the row; how many nodes were found. */
static int64_t tfidf_count(const struct tfidf_tree *t, const struct tfidf_row *r)
{
	int64_t seen = 0;

	for (int64_t step = 1; step <= r->skips + 1 && (step == 1 || step < r->count); step++)
		for (int64_t i = 0; i < r->count; i++) {
			int32_t node = 0;
			for (int64_t k = 0, at = i; k < r->most && at < r->count && r->word[at]; k++, at += step) {
				node = k ? tfidf_edge(t, node, r->word[at]->word)->to : r->word[at]->node;
				if (!node)
					break;
				if (k + 1 < r->least || (k == 0 && step > 1) || !t->gram[node])
					continue;
				if (!r->found[node]++)
					r->seen[seen++] = node;
			}
		}
	return seen;
}

static void tfidf_vector(const struct native *n, const struct tfidf *g, const struct tfidf_tree *t, const struct tfidf_row *r, float *to)
{
	const char *mode = native_str(n, "mode");
	bool weigh = g->weights && strcmp(mode, "TF");
	int64_t seen = tfidf_count(t, r);

	for (int64_t i = 0; i < seen; i++) {
		int32_t found = *mode == 'I' ? 1 : r->found[r->seen[i]];
		for (int32_t gram = t->gram[r->seen[i]]; gram; gram = t->next[gram - 1])
			to[g->places[gram - 1]] += (float)found * (weigh ? g->weights[gram - 1] : 1);
		r->found[r->seen[i]] = 0;
	}
}

/* The words of row i, as tfidf_row has them. What pads a row is one string many times, and is looked up once. */
static void tfidf_words_of(const struct native_tensor *x, const struct tfidf_tree *t, const struct tfidf_words *pool, int64_t i,
			   int64_t words, const struct tfidf_place **to)
{
	const struct native_string *s = (const struct native_string *)x->data + i * words;

	for (int64_t k = 0; k < words; k++) {
		const struct tfidf_place *p;
		if (pool->strs && k && s[k].s == s[k - 1].s && s[k].n == s[k - 1].n) {
			to[k] = to[k - 1];
			continue;
		}
		p = pool->strs ? tfidf_word(t, pool, tfidf_key(s[k].s, s[k].n), s[k].s, s[k].n)
			       : tfidf_word(t, pool, (uint64_t)native_get_int(x->type, x->data, i * words + k), "", 0);
		to[k] = p->word ? p : NULL;
	}
}

NATIVE const char *native_TfIdfVectorizer(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const bool texts = x->type == NATIVE_STR;
	struct tfidf g;
	const char *why = tfidf_read(n, texts ? "pool_strings" : "pool_int64s", &g);

	if (why)
		return why;
	if (x->rank < 1 || x->rank > 2)
		return "operand 0 has neither 1 nor 2 axes";
	if (!texts && (!native_is_number(x->type) || native_is_float(x->type)))
		return native_no_type();
	struct tfidf_words pool = {texts ? NULL : native_attr(n, "pool_int64s")->ints, texts ? native_attr(n, "pool_strings")->strs : NULL};
	int64_t words = x->dims[x->rank - 1], rows = x->rank == 2 ? x->dims[0] : 1, skips = native_int(n, "max_skip_count");
	const struct tfidf_tree *t = tfidf_tree(n, &g, &pool);
	float *y = n->room(n, 0, NATIVE_F32, x->rank, x->rank == 2 ? (int64_t[]){rows, g.width} : (int64_t[]){g.width});
	const struct tfidf_place **row = n->scratch(n, sizeof *row * (size_t)(words + 1));
	int32_t *found = n->scratch(n, sizeof *found * 2 * (size_t)(g.pool + 2));
	if (!t || !y || !row || !found)
		return native_no_room(n);
	memset(y, 0, sizeof *y * (size_t)(rows * g.width));
	memset(found, 0, sizeof *found * (size_t)(g.pool + 2));
	struct tfidf_row r = {row,
			      words,
			      skips < 0       ? 0
			      : skips > words ? words
					      : skips,
			      native_int(n, "min_gram_length"),
			      native_int(n, "max_gram_length"),
			      found,
			      found + g.pool + 2};
	for (int64_t i = 0; i < rows; i++) {
		tfidf_words_of(x, t, &pool, i, words, row);
		tfidf_vector(n, &g, t, &r, y + i * g.width);
	}
	return NULL;
}
