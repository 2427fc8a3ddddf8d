/* Between the files of regular expressions: programs, and how they are followed. */
#ifndef HONE_REGEX_IMPL_H
#define HONE_REGEX_IMPL_H
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include "op/regex.h"

enum assertion { TEXT_BEGIN, TEXT_END, LINE_BEGIN, LINE_END, WORD_EDGE, NO_WORD_EDGE };

struct range {
	int32_t lo, hi;
};

struct set {
	struct range *range;
	size_t n, cap;
	bool not, fold;
};

enum instruction { STEP, SPLIT, JUMP, ASSERT, MATCH };
struct code {
	enum instruction what;
	uint32_t x, y; /* STEP: number of the set; SPLIT: both next; JUMP: next; ASSERT: which */
};

struct regex {
	struct code *code;
	struct set *set;
	size_t ncode, nset;
};

/* Instructions that may be next: those from which a character goes on, or a match. */
struct ways {
	uint32_t *list, n;
	uint32_t *seen, round; /* seen[k] == round: k was here */
	uint32_t *stack;
	uint64_t steps; /* that were taken so far */
};

bool regex_is_word(int32_t c);
/* c < 0: no character; it is in no set. */
bool regex_in_set(const struct set *s, int32_t c, locale_t l);
/* Follows all ways from instruction k that take no character, between these two; -2: there is none. */
void regex_follow(const struct regex *r, struct ways *w, uint32_t k, int32_t before, int32_t behind);
#endif
