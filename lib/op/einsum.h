/* What an Einsum's equation says. */
#ifndef HONE_EINSUM_H
#define HONE_EINSUM_H
#include <stdint.h>
#include "graph/module.h"

enum { TERMS_MAX = 8, LETTERS_MAX = 52 + RANK_MAX };

/* Axis k of term t is letter axis[t][k]. Letters below 52 are a-z A-Z; those from 52 on are the axes under the longest "...", and a
 * shorter "..." has the last ones of these. The last term is the result. */
struct einsum {
	int terms, rank[TERMS_MAX + 1], axis[TERMS_MAX + 1][RANK_MAX];
	int ellipsis; /* axes under the longest "..." */
};

/* nin operands of those ranks. NULL, or why not. */
const char *einsum_parse(const char *text, uint32_t nin, const int *rank, struct einsum *s);

/* The letters that the product of a set of operands (bit t: operand t) keeps: those that other operands or the result have, too. */
void einsum_letters(const struct einsum *s, int set, bool *has); /* has[LETTERS_MAX] */
/* The cheapest order of products of two, for each set: first[set] is a part that is multiplied with the rest of it. Extents are by
 * letter. */
struct einsum_ways {
	int first[1 << TERMS_MAX];
	double products[1 << TERMS_MAX];
};
void einsum_find_ways(const struct einsum *s, const int64_t *extent, struct einsum_ways *w);
#endif
