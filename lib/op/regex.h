/* Regular expressions in RE2's syntax, matched against whole strings in time linear in them. Left out, and refused by name: \C, \p and \P. */
#ifndef HONE_REGEX_H
#define HONE_REGEX_H
#include "common/arena.h"
#include <stdbool.h>

struct regex;
/* NULL: *why says, in words, why it is none. */
struct regex *regex_compile(const char *s, size_t n, struct arena *a, const char **why);
/* Does it match all n bytes of s? */
bool regex_matches(const struct regex *r, const char *s, size_t n, struct arena *scratch);
/* The automaton of an expression, which finds the longest match that begins at a place. */
struct regex_table {
	int64_t classes, states;
	int32_t *first; /* code point with which each class of them begins, ascending from 0 */
	/* [states][classes + 1], last the end of the text: twice (1 + the state after a character of the class; 0: no match goes on), plus 1 if what
	 * was read before it is a match. */
	int32_t *next;
};
enum {
	REGEX_FIRST,
	REGEX_WORD,
	REGEX_LINE,
	REGEX_OTHER
}; /* states to begin with: at the start of the text, after a letter, a newline, others */
/* false: it would have too many states, or take too long. */
bool regex_table(const struct regex *r, struct arena *a, struct regex_table *t);
#endif
