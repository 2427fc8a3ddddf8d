/* Inside lib/loop: lines of traces as words. */
#ifndef HONE_TRACE_H
#define HONE_TRACE_H
#include <stdbool.h>
#include "common/arena.h"

enum { TRACE_WORDS_MAX = 80 };

/* Words before '=', the primitive and its operands, words after ':='. */
struct trace_line {
	int nres, narg, ndec;
	const char *res[TRACE_WORDS_MAX], *arg[TRACE_WORDS_MAX], *dec[TRACE_WORDS_MAX];
};
/* The line from s to end, its words in the arena; comments vanish. false: too many words. */
bool trace_line(struct arena *a, const char *s, const char *end, struct trace_line *l);
/* Choices are numbers, or words: the first one decides. */
static inline bool trace_is_number(const char *w) { return *w == '-' || (*w >= '0' && *w <= '9'); }
#endif
