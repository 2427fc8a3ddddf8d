/* TfIdfVectorizer: how often the n-grams of a pool are in each row. The pool becomes a tree of words once, in tables that are looked up by hash. */
#include "native/native.h"
#include "native/tfidf.h"

/* A node of the tree, by the one before it and a word: a prefix of n-grams. */
struct tfidf_edge {
	int32_t from, word, to; /* to 0: the place is free */
};

struct tfidf_tree {
	int64_t made;            /* 1: all is there */
	uint64_t nwords, nedges; /* places of the tables, powers of two */
	int64_t nodes;
	int32_t *word; /* 1 + the place of a word in the pool, 0: free */
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

static uint64_t tfidf_hash(const char *s, size_t n)
{
	uint64_t h = n, v;

	for (; n >= sizeof v; s += sizeof v, n -= sizeof v) {
		memcpy(&v, s, sizeof v);
		h = tfidf_mix(h ^ v);
	}
	v = 0;
	if (n)
		memcpy(&v, s, n);
	return tfidf_mix(h ^ v);
}

/* The place of a word, s or i, in the table. */
static int32_t *tfidf_word(const struct tfidf_tree *t, const struct tfidf_words *pool, const char *s, size_t n, int64_t i)
{
	uint64_t at = (pool->strs ? tfidf_hash(s, n) : tfidf_mix((uint64_t)i)) & (t->nwords - 1);

	for (; t->word[at]; at = (at + 1) & (t->nwords - 1)) {
		int32_t k = t->word[at] - 1;
		if (pool->strs ? strlen(pool->strs[k]) == n && (!n || !memcmp(pool->strs[k], s, n)) : pool->ints[k] == i)
			break;
	}
	return &t->word[at];
}

static struct tfidf_edge *tfidf_edge(const struct tfidf_tree *t, int32_t from, int32_t word)
{
	uint64_t at = tfidf_mix((uint64_t)from << 32 | (uint32_t)word) & (t->nedges - 1);

	while (t->edge[at].to && (t->edge[at].from != from || t->edge[at].word != word))
		at = (at + 1) & (t->nedges - 1);
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
				int32_t *w = tfidf_word(t, pool, s, strlen(s), pool->strs ? 0 : pool->ints[k]);
				*w = *w ? *w : (int32_t)k + 1;
				struct tfidf_edge *e = tfidf_edge(t, node, *w);
				if (!e->to)
					*e = (struct tfidf_edge){node, *w, (int32_t)t->nodes++};
				node = e->to;
			}
			for (last = &t->gram[node]; *last;)
				last = &t->next[*last - 1];
			*last = gram + 1;
		}
	}
	t->made = 1;
}

static uint64_t tfidf_power(int64_t n)
{
	uint64_t p = 4;

	while (p < 2 * (uint64_t)n)
		p *= 2;
	return p;
}

/* The tree of the pool, made in the first run. */
static const struct tfidf_tree *tfidf_tree(struct native *n, const struct tfidf *g, const struct tfidf_words *pool)
{
	const uint64_t places = tfidf_power(g->pool + 1);
	const size_t head = 64, words = places * sizeof(int32_t), edges = places * sizeof(struct tfidf_edge),
		     nodes = (size_t)(g->pool + 2) * sizeof(int32_t);
	struct tfidf_tree *t = n->memo(n, head + words + edges + 2 * nodes);

	_Static_assert(sizeof *t <= 64, "the head");
	if (!t || t->made)
		return t;
	t->nwords = t->nedges = places;
	t->word = (int32_t *)((char *)t + head);
	t->edge = (struct tfidf_edge *)((char *)t->word + words);
	t->gram = (int32_t *)((char *)t->edge + edges);
	t->next = (int32_t *)((char *)t->gram + nodes);
	tfidf_grow(t, g, pool);
	return t;
}

struct tfidf_row {
	const int32_t *word;               /* 1 + places in the pool; 0: not in it */
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
				node = tfidf_edge(t, node, r->word[at])->to;
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

/* The words of row i, as tfidf_row has them. */
static void tfidf_words_of(const struct native_tensor *x, const struct tfidf_tree *t, const struct tfidf_words *pool, int64_t i,
			   int64_t words, int32_t *to)
{
	const struct native_string *s = (const struct native_string *)x->data + i * words;

	for (int64_t k = 0; k < words; k++)
		to[k] = pool->strs ? *tfidf_word(t, pool, s[k].s, s[k].n, 0)
				   : *tfidf_word(t, pool, NULL, 0, native_get_int(x->type, x->data, i * words + k));
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
	int32_t *row = n->scratch(n, sizeof *row * (size_t)(words + 1)), *found = n->scratch(n, sizeof *found * 2 * (size_t)(g.pool + 2));
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
