/* TfIdfVectorizer of integers: how often the n-grams of a pool are in each row. */
#include "native/native.h"
#include "native/tfidf.h"

struct tfidf_row {
	const int64_t *word;
	int64_t count, skips; /* up to so many others between each two words of an n-gram */
};

/* How often the n words of gram are in the row. */
static int64_t tfidf_count(const int64_t *gram, int64_t n, const struct tfidf_row *r)
{
	int64_t found = 0;

	for (int64_t step = 1; step <= (n > 1 ? r->skips + 1 : 1) && (n - 1) * step < r->count; step++)
		for (int64_t i = 0; i + (n - 1) * step < r->count; i++) {
			int64_t k = 0;
			while (k < n && r->word[i + k * step] == gram[k])
				k++;
			found += k == n;
		}
	return found;
}

static void tfidf_vector(const struct native *n, const struct tfidf *g, const int64_t *pool, const struct tfidf_row *r, float *to)
{
	int64_t least = native_int(n, "min_gram_length"), most = native_int(n, "max_gram_length"), i = 0;
	const char *mode = native_str(n, "mode");

	for (int words = 1; words <= g->nstarts; words++) {
		int64_t end = words < g->nstarts ? g->starts[words] : g->pool;
		for (int64_t at = g->starts[words - 1]; at < end; at += words, i++) {
			int64_t found = words < least || words > most ? 0 : tfidf_count(pool + at, words, r);
			if (*mode == 'I' && found > 1)
				found = 1;
			to[g->places[i]] += (float)found * (g->weights && strcmp(mode, "TF") ? g->weights[i] : 1);
		}
	}
}

NATIVE const char *native_TfIdfVectorizer(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	struct tfidf g;
	const char *why = tfidf_read(n, "pool_int64s", &g);

	if (why)
		return why;
	if (x->rank < 1 || x->rank > 2)
		return "operand 0 has neither 1 nor 2 axes";
	if (!native_is_number(x->type) || native_is_float(x->type))
		return native_no_type();
	int64_t words = x->dims[x->rank - 1], rows = x->rank == 2 ? x->dims[0] : 1, skips = native_int(n, "max_skip_count");
	float *y = n->room(n, 0, NATIVE_F32, x->rank, x->rank == 2 ? (int64_t[]){rows, g.width} : (int64_t[]){g.width});
	int64_t *row = words ? n->scratch(n, sizeof *row * (size_t)words) : NULL;
	if (!y || (words && !row))
		return native_no_room(n);
	memset(y, 0, sizeof *y * (size_t)(rows * g.width));
	struct tfidf_row r = {row, words, skips < 0 ? 0 : skips > words ? words : skips};
	for (int64_t i = 0; i < rows; i++) {
		for (int64_t k = 0; k < words; k++)
			row[k] = native_get_int(x->type, x->data, i * words + k);
		tfidf_vector(n, &g, native_attr(n, "pool_int64s")->ints, &r, y + i * g.width);
	}
	return NULL;
}
