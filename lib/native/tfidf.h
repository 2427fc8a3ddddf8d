/* The n-grams of a TfIdfVectorizer. */
#ifndef HONE_NATIVE_TFIDF_H
#define HONE_NATIVE_TFIDF_H
#include "native/native.h"

struct tfidf {
	const int64_t *starts, *places; /* of the n-grams of 1, 2, ... words in the pool; of n-gram i in the result */
	const float *weights;           /* of n-gram i; NULL: 1 */
	int nstarts;
	int64_t pool, width; /* words of the pool; elements of a row of the result */
};

/* pool: the attribute that has the words. NULL, or what is wrong. */
static inline const char *tfidf_read(const struct native *n, const char *pool, struct tfidf *g)
{
	const struct native_attr *words = native_attr(n, pool), *counts = native_attr(n, "ngram_counts"),
				 *indexes = native_attr(n, "ngram_indexes"), *weights = native_attr(n, "weights");
	int64_t count = 0;

	*g = (struct tfidf){0};
	if (!words || native_attr(n, strcmp(pool, "pool_strings") ? "pool_strings" : "pool_int64s"))
		return "the pool is not of the operand's type";
	if (!counts || !indexes)
		return "there are no n-grams";
	*g = (struct tfidf){counts->ints, indexes->ints, weights ? weights->floats : NULL, counts->n, words->n, 0};
	for (int i = 0; i < g->nstarts; i++) {
		int64_t end = i + 1 < g->nstarts ? g->starts[i + 1] : g->pool;
		if (g->starts[i] < 0 || end < g->starts[i] || end > g->pool || (end - g->starts[i]) % (i + 1))
			return "ngram_counts does not divide the pool into n-grams";
		count += (end - g->starts[i]) / (i + 1);
	}
	if (count != indexes->n || (g->weights && weights->n != indexes->n))
		return "ngram_indexes or weights are not one for each n-gram";
	for (int i = 0; i < indexes->n; i++) {
		if (g->places[i] < 0 || g->places[i] >= INT32_MAX)
			return "ngram_indexes holds no index";
		g->width = g->places[i] >= g->width ? g->places[i] + 1 : g->width;
	}
	return NULL;
}
#endif
