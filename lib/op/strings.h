/* Tensors of strings as arrays of them, and back. */
#ifndef HONE_STRINGS_H
#define HONE_STRINGS_H
#include "op/rules.h"
struct regex_table;
struct text {
	const char *s; /* any bytes; not ended by a NUL */
	size_t n;
};
/* The elements, which lie in t. */
struct text *texts_of(struct arena *a, const struct tensor *t);
struct tensor *texts_tensor(struct arena *a, int rank, const int64_t *dims, const struct text *v);
int text_compare(const void *a, const void *b); /* of two struct text, by bytes: as their code points are ordered */
static inline bool text_equal(struct text a, struct text b) { return a.n == b.n && !memcmp(a.s, b.s, a.n); }
/* Result i: strings. */
void eval_texts(struct eval *e, int i, int rank, const int64_t *dims, const struct text *v);
/* Does the evaluator of e's operator only move elements or compare them, and are some of them strings? Then it runs on numbers that stand
 * for them and have their order. */
bool texts_coded(const struct eval *e);
const char *eval_coded(struct eval *e, const char *(*eval)(struct eval *));
/* Makes the automaton that a RegexFullMatch's function in lib/native follows. false: the pattern is none, or has too many states. */
bool match_table(const struct node *n, struct arena *a, struct regex_table *t);
bool match_fits(const struct node *n); /* has it one? */
#endif
